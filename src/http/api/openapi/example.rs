//! Composes an example for a schema from the examples of its members.

use serde_json::{Map, Value, json};

/// The timestamp in composed examples.
const MOMENT: &str = "2026-11-21T09:12:33.123456Z";

/// Returns the name of the schema that `$ref` refers to.
pub(super) fn referred(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.rsplit('/').next()
}

/// Returns the types of a schema, including null.
pub(super) fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// Returns an example for the schema: its first example, constant, default or enumerated value. Without these, returns
/// the example of the referenced schema or of the first alternative, or composes one from the members of the schema.
pub(super) fn of(schema: &Value, schemas: &Map<String, Value>) -> Value {
    let first = |name: &str| schema.get(name).and_then(|list| list.get(0));
    if let Some(stated) = first("examples").or(schema.get("const")).or(schema.get("default")).or(first("enum")) {
        return stated.clone();
    }
    if let Some(known) = referred(schema).and_then(|name| schemas.get(name)) {
        return of(known, schemas);
    }
    if let Some(choice) = first("anyOf").or(first("oneOf")) {
        return of(choice, schemas);
    }
    match types(schema).first() {
        Some(&"object") => {
            let members = schema.get("properties").and_then(Value::as_object);
            let members = members.into_iter().flatten().map(|(name, member)| (name.clone(), of(member, schemas)));
            Value::Object(members.collect())
        }
        Some(&"array") => schema.get("items").map_or(json!([]), |items| json!([of(items, schemas)])),
        Some(&"string") if schema.get("format").is_some_and(|format| format == "date-time") => json!(MOMENT),
        Some(&"string") => json!("text"),
        Some(&"integer" | &"number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
        Some(&"boolean") => json!(true),
        _ => Value::Null,
    }
}
