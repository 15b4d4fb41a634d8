//! Tests of reading the members of a body.

use super::*;

fn fields(text: &str) -> BodyFields {
    match serde_json::from_str(text).unwrap() {
        Value::Object(object) => BodyFields::new(object),
        _ => panic!("the test needs an object"),
    }
}

#[test]
fn integers_have_no_fraction_exponent_or_quotes_and_lie_within_bounds() {
    for (value, is_valid) in [
        ("1", true),
        ("365", true),
        ("0", false),
        ("366", false),
        ("90.0", false),
        ("\"90\"", false),
        ("true", false),
        ("1e2", false),
        ("99999999999999999999", false),
        ("18446744073709551615", false),
        ("[90]", false),
        ("-1", false),
    ] {
        let mut fields = fields(&format!(r#"{{"days":{value}}}"#));
        assert_eq!(fields.integer("days", 1..=365).is_some(), is_valid, "{value}");
        assert_eq!(fields.valid().is_ok(), is_valid, "{value}");
    }
}

#[test]
fn null_is_treated_as_absent_and_is_refused_for_a_required_field() {
    let mut fields = fields(r#"{"a":null,"b":null}"#);
    assert_eq!(fields.text("a", 5), None);
    assert_eq!(fields.required_text("b", 5), None);
    assert!(matches!(fields.valid(), Err(Refusal::Invalid(errors)) if errors.len() == 1));
}

#[test]
fn unread_members_are_reported_as_unknown_with_their_path() {
    let text = r#"{"a":"x","b":null,"nmae":1,"portal":{"on":true,"theme":{"own":1},"colour":2},"steps":[{"name":"x"},{"kind":1}],"c":null}"#;
    let Ok(Value::Object(object)) = serde_json::from_str(text) else { panic!("the test needs an object") };
    let unknown_members = UnknownMembers::default();
    let mut fields = BodyFields::of_body(object, unknown_members.clone());
    fields.text("a", 5);
    fields.strings("b");
    fields.change("c", |fields, name| fields.text(name, 5));
    fields.object("portal", |portal| {
        portal.boolean("on");
        portal.object("theme", |theme| theme.free_members(|_| {}));
    });
    fields.objects("steps", 5, |step| step.text("name", 5));
    fields.valid().unwrap();
    let unknown_names: Vec<Value> = unknown_members.warnings().iter().map(|warning| warning["field"].clone()).collect();
    assert_eq!(unknown_names, ["nmae", "portal.colour", "steps[1].kind"]);
}

#[test]
fn lengths_are_measured_in_code_points() {
    let mut fields = fields(r#"{"a":"ääääa","b":"ääääab"}"#);
    assert!(fields.text("a", 5).is_some());
    assert!(fields.text("b", 5).is_none());
}
