//! Assembles the OpenAPI document from the fragments and the route table.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::operation::{Object, Operation, RATE_LIMIT, REPLAYED, header_references, is_repeatable, member, reference};
use super::{example, refusals};
use crate::http::server::access_rule::AccessRule;

/// The member of the common fragment that describes the refusal codes. The document does not contain this member.
const PROBLEMS: &str = "x-problems";

pub(super) fn document(common: &str, fragments: &[&str], routes: &[Operation], cookie: &str) -> Value {
    let mut document = read(common);
    let problems = object(document.remove(PROBLEMS));
    let mut paths = Object::new();
    let mut components = object(document.remove("components"));
    document["info"]["version"] = json!(env!("CARGO_PKG_VERSION"));
    components["securitySchemes"]["session"]["name"] = json!(cookie);
    let mut tags = Vec::new();
    for fragment in fragments {
        let mut fragment = read(fragment);
        let tag = fragment.remove("tag").unwrap_or_default();
        for (path, operations) in object(fragment.remove("paths")) {
            let known = member(&mut paths, &path);
            for (method, mut operation) in object(Some(operations)) {
                operation["tags"] = json!([tag["name"]]);
                known.insert(method, operation);
            }
        }
        for (kind, more) in object(fragment.remove("components")) {
            member(&mut components, &kind).extend(object(Some(more)));
        }
        tags.push(tag);
    }
    flatten(member(&mut components, "schemas"));
    for route in routes {
        let method = route.method.as_str().to_ascii_lowercase();
        let operation = paths.get_mut(route.path).and_then(|operations| operations.get_mut(&method));
        let Some(operation) = operation else { continue };
        let fragment = object(Some(operation.take()));
        *operation = Value::Object(complete(fragment, route, &mut components, &problems));
    }
    for operation in paths.values().filter_map(Value::as_object).flat_map(|operations| operations.values()) {
        accept_warnings(operation, member(&mut components, "schemas"));
    }
    document.insert("tags".to_owned(), Value::Array(tags));
    document.insert("paths".to_owned(), Value::Object(paths));
    prune(&mut components, &document["paths"]);
    document.insert("components".to_owned(), Value::Object(components));
    Value::Object(document)
}

/// Replaces an `allOf` of one schema with that schema's properties, because some client generators ignore `properties`
/// next to `allOf`.
fn flatten(schemas: &mut Object) {
    while let Some((name, part)) =
        schemas.iter().find_map(|(name, schema)| Some((name.clone(), schema.get("allOf")?[0].clone())))
    {
        let base = example::referred(&part).and_then(|base| schemas.get(base)).cloned().unwrap_or_default();
        let Some(whole) = schemas.get_mut(&name).and_then(Value::as_object_mut) else { return };
        whole.remove("allOf");
        let mut members = object(base.get("properties").cloned());
        members.extend(object(whole.remove("properties")));
        whole.insert("properties".to_owned(), Value::Object(members));
    }
}

/// Removes components, other than security schemes, that no operation refers to directly or indirectly.
fn prune(components: &mut Object, paths: &Value) {
    let mut reached = BTreeSet::new();
    let mut next = vec![paths.clone()];
    while let Some(value) = next.pop() {
        if let Some(to) = value.get("$ref").and_then(Value::as_str)
            && reached.insert(to.to_owned())
        {
            let mut path = to.trim_start_matches("#/components/").split('/');
            let kind = path.next().and_then(|kind| components.get(kind));
            next.extend(kind.zip(path.next()).and_then(|(kind, name)| kind.get(name)).cloned());
        }
        match value {
            Value::Object(members) => next.extend(members.into_iter().map(|(_, member)| member)),
            Value::Array(items) => next.extend(items),
            _ => {}
        }
    }
    for (kind, members) in components.iter_mut().filter(|(kind, _)| *kind != "securitySchemes") {
        let members = members.as_object_mut().into_iter();
        members.for_each(|all| all.retain(|name, _| reached.contains(&format!("#/components/{kind}/{name}"))));
    }
}

/// Builds an OpenAPI operation from its fragment and its route.
fn complete(mut fragment: Object, route: &Operation, components: &mut Object, problems: &Object) -> Object {
    let mut whole = Object::new();
    for name in ["tags", "operationId", "summary"] {
        whole.insert(name.to_owned(), fragment.remove(name).unwrap_or_default());
    }
    let own = fragment.remove("description").unwrap_or_default();
    let description = [own.as_str().unwrap_or_default(), &credential_sentence(route.access)].join("\n\n");
    whole.insert("description".to_owned(), json!(description.trim()));
    if let AccessRule::Scoped(scope) = route.access {
        whole.insert("x-scope".to_owned(), json!(scope.as_str()));
    }
    whole.insert("security".to_owned(), security(route.access));
    let parameters = parameters(&fragment, route);
    if !parameters.is_empty() {
        whole.insert("parameters".to_owned(), Value::Array(parameters));
    }
    if let Some(body) = fragment.get("body").and_then(Value::as_str) {
        whole.insert("requestBody".to_owned(), request_body(body, member(components, "schemas")));
    } else if let Some(body) = fragment.remove("requestBody") {
        whole.insert("requestBody".to_owned(), body);
    }
    let mut responses = object(fragment.remove("responses"));
    if let Some(content) = content(&fragment, member(components, "schemas")) {
        let status =
            route.answers.iter().find(|(status, _)| (200..300).contains(status)).map_or(200, |(status, _)| *status);
        let returns = fragment.get("returns").cloned().unwrap_or(json!(default_returns(&fragment)));
        responses.insert(status.to_string(), json!({ "description": returns, "content": content }));
    }
    if fragment.contains_key("versioned") {
        let tag = json!({ "ETag": { "$ref": "#/components/headers/RoleETag" } });
        responses.values_mut().for_each(|response| response["headers"] = tag.clone());
    }
    if has_etag(route) {
        responses.insert("304".to_owned(), json!({ "description": "The caller's copy is current." }));
    }
    for response in responses.values_mut().filter_map(Value::as_object_mut) {
        let headers = member(response, "headers");
        let own = std::mem::take(headers);
        headers.extend(header_references(&success_headers(route)));
        headers.extend(own);
    }
    responses.extend(refusals::of(route, components, problems));
    whole.insert("responses".to_owned(), Value::Object(responses));
    whole
}

/// Returns whether the route can answer 304. If it can, its successful answers have ETags.
fn has_etag(route: &Operation) -> bool {
    route.answers.contains(&(304, ""))
}

fn credential_sentence(access: AccessRule) -> String {
    match access {
        AccessRule::Open => String::new(),
        AccessRule::Authenticated => "Needs an API key or a session.".to_owned(),
        AccessRule::Session | AccessRule::Staff => "Needs a session.".to_owned(),
        AccessRule::Scoped(scope) => format!("Needs an API key with the scope `{}`.", scope.as_str()),
        AccessRule::Admin(scope) => {
            format!("Needs an API key of a platform admin. A key with explicit scopes needs `{}`.", scope.as_str())
        }
    }
}

fn security(access: AccessRule) -> Value {
    match access {
        AccessRule::Open => json!([]),
        AccessRule::Authenticated => json!([{ "apiKey": [] }, { "session": [] }]),
        AccessRule::Session | AccessRule::Staff => json!([{ "session": [] }]),
        AccessRule::Scoped(scope) => json!([{ "apiKey": [scope.as_str()] }]),
        AccessRule::Admin(scope) => json!([{ "apiKey": [scope.as_str()] }]),
    }
}

fn parameters(fragment: &Object, route: &Operation) -> Vec<Value> {
    let common = |name: &str| json!({ "$ref": format!("#/components/parameters/{name}") });
    let own = fragment.get("parameters").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_defined = |name: &str| own.iter().any(|parameter| parameter["name"] == name);
    let mut parameters = Vec::new();
    let mut before = "";
    for segment in route.path.split('/') {
        if let Some(name) = segment.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'))
            && !is_defined(name)
        {
            parameters.push(path_parameter(name, before));
        }
        before = segment;
    }
    parameters.extend(own);
    if fragment.contains_key("page") {
        // A list with other page sizes defines its own `limit`.
        let has_limit = parameters.iter().any(|parameter| parameter["name"] == "limit");
        parameters.extend([(!has_limit).then(|| common("Limit")), Some(common("Cursor"))].into_iter().flatten());
    }
    if has_etag(route) {
        parameters.push(common("IfNoneMatch"));
    }
    if route.answers.contains(&(412, "precondition_failed")) {
        parameters.push(common("IfMatch"));
    }
    if is_repeatable(route) {
        parameters.push(common("IdempotencyKey"));
    }
    parameters
}

/// Describes a path parameter that the fragment does not define. `{stepId}` is the id of a step. `{id}` is the id of an
/// item of the collection that the preceding segment names, such as a role after `roles`.
fn path_parameter(name: &str, before: &str) -> Value {
    let noun = match (name.strip_suffix("Id"), before.strip_suffix("ies")) {
        (Some(noun), _) => noun.to_owned(),
        (None, Some(stem)) => format!("{stem}y"),
        (None, None) => before.strip_suffix('s').unwrap_or(before).to_owned(),
    };
    let noun = noun.replace('-', " ").replace("api ", "API ").replace("hr ", "HR ");
    json!({
        "name": name,
        "in": "path",
        "required": true,
        "description": format!("The id of the {noun}."),
        "schema": { "$ref": "#/components/schemas/Id" }
    })
}

fn request_body(name: &str, schemas: &mut Object) -> Value {
    let (mut done, mut next) = (BTreeSet::new(), vec![name.to_owned()]);
    while let Some(name) = next.pop() {
        if !done.insert(name.clone()) {
            continue;
        }
        if let Some(schema) = schemas.get_mut(&name).filter(|schema| schema.get("properties").is_some()) {
            accept_null(schema, &mut next);
        }
    }
    let schema = schemas.get(name).cloned().unwrap_or_default();
    let names_members = schema.get("required").and_then(Value::as_array).is_some_and(|names| !names.is_empty());
    let is_required = names_members || schema.get("minProperties").is_some();
    json!({
        "required": is_required,
        "content": { "application/json": { "schema": reference(name), "example": example::of(&schema, schemas) } }
    })
}

/// Allows null for every member that is not required, because the service treats null as missing. `nested` collects the
/// names of the schemas that members refer to.
fn accept_null(schema: &mut Value, nested: &mut Vec<String>) {
    let required: Vec<String> = schema["required"].as_array().into_iter().flatten().map(text).collect();
    if let Some(items) = schema.get_mut("items") {
        accept_null(items, nested);
    }
    nested.extend(example::referred(schema).map(str::to_owned));
    let members = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, member) in members.into_iter().flatten() {
        accept_null(member, nested);
        if required.contains(name) {
            continue;
        }
        let types: Vec<String> = example::types(member).into_iter().map(str::to_owned).collect();
        let choices = ["anyOf", "oneOf"].into_iter().find(|name| member.get(name).is_some());
        if types.iter().any(|name| name == "null") {
            continue;
        } else if let Some(name) = choices {
            let null = json!({ "type": "null" });
            let choices = member[name].as_array_mut().filter(|choices| !choices.contains(&null));
            choices.into_iter().for_each(|choices| choices.push(null.clone()));
        } else if types.is_empty() {
            let schema = member.take();
            *member = json!({ "anyOf": [schema, { "type": "null" }] });
        } else {
            member["type"] = types.into_iter().chain(["null".to_owned()]).collect();
            if let Some(words) = member.get_mut("enum").and_then(Value::as_array_mut) {
                words.push(Value::Null);
            }
        }
    }
}

/// Builds the content of a successful response that the fragment defines with a keyword such as `data`. The schema of
/// the response becomes a component, so that generated clients have a name for the schema.
fn content(fragment: &Object, schemas: &mut Object) -> Option<Value> {
    let named = |kind: &str| fragment.get(kind).and_then(Value::as_str);
    let own = fragment.get("example").cloned();
    let mut response = |name: &str, suffix: &str, data: Value, more: Option<Value>| {
        let whole = format!("{name}{suffix}");
        let mut schema = json!({
            "type": "object",
            "required": ["success", "data"],
            "properties": { "success": { "type": "boolean", "const": true }, "data": data }
        });
        if let Some(pagination) = more {
            schema["required"] = json!(["success", "data", "pagination"]);
            schema["properties"]["pagination"] = pagination;
        }
        schemas.insert(whole.clone(), schema);
        whole
    };
    let is_list = fragment.contains_key("list") || fragment.contains_key("page");
    let name = if let Some(name) = named("data") {
        response(name, "Answer", reference(name), None)
    } else if let Some(name) = named("list") {
        response(name, "List", json!({ "type": "array", "items": reference(name) }), None)
    } else if let Some(name) = named("page") {
        response(name, "Page", json!({ "type": "array", "items": reference(name) }), Some(reference("Pagination")))
    } else if fragment.contains_key("success") {
        "Success".to_owned()
    } else {
        named("answer")?.to_owned()
    };
    let mut example = example::of(&reference(&name), schemas);
    match own {
        Some(own) if is_list => example["data"] = json!([own]),
        Some(own) if fragment.contains_key("data") => example["data"] = own,
        Some(own) => example = own,
        None => {}
    }
    Some(json!({ "application/json": { "schema": reference(&name), "example": example } }))
}

/// Adds `warnings` about unknown members to the schemas of an operation's successful responses, if the operation has a
/// JSON body. Runs after all operations are complete, so that no example contains warnings.
fn accept_warnings(operation: &Value, schemas: &mut Object) {
    if operation["requestBody"]["content"].get("application/json").is_none() {
        return;
    }
    let responses = operation["responses"].as_object().into_iter().flatten();
    for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let name = example::referred(&response["content"]["application/json"]["schema"]).unwrap_or_default();
        let Some(schema) = schemas.get_mut(name).and_then(Value::as_object_mut) else { continue };
        member(schema, "properties").entry("warnings").or_insert_with(|| {
            json!({
                "type": "array",
                "description": "Warnings about unknown members, which the service ignored. Missing if there are none.",
                "items": reference("Warning")
            })
        });
    }
}

fn default_returns(fragment: &Object) -> &'static str {
    match () {
        () if fragment.contains_key("page") => "A page of the list.",
        () if fragment.contains_key("list") => "The whole list.",
        () if fragment.contains_key("success") => "Success.",
        () => "The current state.",
    }
}

fn success_headers(route: &Operation) -> Vec<&'static str> {
    let mut names = vec!["X-Request-Id"];
    if route.access != AccessRule::Open {
        names.extend(RATE_LIMIT);
    }
    if has_etag(route) {
        names.push("ETag");
    }
    if is_repeatable(route) {
        names.push(REPLAYED);
    }
    names
}

fn read(fragment: &str) -> Object {
    serde_json::from_str(fragment).expect("a test checks that every fragment is a JSON object")
}

fn object(value: Option<Value>) -> Object {
    match value {
        Some(Value::Object(object)) => object,
        _ => Object::new(),
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
