//! A document has the same data after an import and an export.

use appliance::interchange::{self, Secrets};
use serde_json::{Value, json};

use crate::support::{CANDIDATES, DEMO, File, NOW, ORGANIZATION, ROLE, read, set, sound, with, world};

/// Imports a document into a file and returns the file's export. Checks that a second round trip gives the same bytes.
fn through(document: &Value) -> Value {
    let first = File::new();
    first.import(&read(document)).unwrap();
    assert_eq!(first.unsound(), Vec::<String>::new());
    let exported = first.export(Secrets::Included);
    let second = File::new();
    second.import(&interchange::parse(exported.as_bytes(), world()).unwrap()).unwrap();
    assert_eq!(second.export(Secrets::Included), exported);
    serde_json::from_str(&exported).unwrap()
}

/// Asserts that `whole` contains everything in `part`. The objects in `whole` can have more members.
fn assert_within(part: &Value, whole: &Value, location: &str) {
    match (part, whole) {
        (Value::Object(part), Value::Object(whole)) => {
            for (name, value) in part {
                assert_within(value, whole.get(name).unwrap_or(&Value::Null), &format!("{location}/{name}"));
            }
        }
        (Value::Array(part), Value::Array(whole)) => {
            assert_eq!(part.len(), whole.len(), "{location}");
            for (index, (part, whole)) in part.iter().zip(whole).enumerate() {
                assert_within(part, whole, &format!("{location}/{index}"));
            }
        }
        _ => assert_eq!(part, whole, "{location}"),
    }
}

#[test]
fn the_sample_company_survives_the_round_trip() {
    let file = File::new();
    let document = interchange::parse(DEMO, world()).unwrap();
    let counts = file.import(&document).unwrap();
    let applications = document.applications();
    assert_eq!((counts.users, counts.organizations, counts.applications), (9, 2, applications));
    assert_eq!(file.unsound(), Vec::<String>::new());
    let exported = file.export(Secrets::LeftOut);
    let again = File::new();
    assert_eq!(again.import(&interchange::parse(exported.as_bytes(), world()).unwrap()).unwrap(), counts);
    assert_eq!(again.export(Secrets::LeftOut), exported);
    let (input, output): (Value, Value) =
        (serde_json::from_slice(DEMO).unwrap(), serde_json::from_str(&exported).unwrap());
    assert_within(&input["users"], &output["users"], "/users, in the document's order");
    assert_eq!(output["organizations"][0]["members"], input["organizations"][0]["members"]);
}

#[test]
fn every_given_field_is_exported() {
    let mut document = sound();
    set(
        &mut document,
        &format!("{ROLE}/description"),
        json!({ "n": [0.1, 1e300, 0.300_000_000_000_000_04, -5, null], "text": "ä\u{1f600}\"\\\n" }),
    );
    let role = json!({ "id": "role_2", "name": "ä\u{1f600}\"\\", "createdAt": "2030-01-01T00:00:00.000000Z",
        "department": "D", "location": "L", "workType": "remote", "collarType": "blue", "salaryMin": 0.1,
        "salaryMax": 1234567.89, "salaryCurrency": "CHF", "salaryPeriod": "month", "status": "closed", "public": true,
        "positions": 7, "closesOn": "2026-10-31", "steps": [], "candidates": [] });
    set(&mut document, "/organizations/0/roles/-", role);
    for (name, value) in [
        ("enabled", json!(false)),
        ("timeZone", json!("Europe/Berlin")),
        ("payTransparency", json!(true)),
        ("retentionDays", json!(180)),
        ("privacyNotice", json!("ä".repeat(20_000))),
        ("decisionVisibleAfterHours", json!(8_760)),
        ("requireSecondFactor", json!(true)),
    ] {
        set(&mut document, &format!("{ORGANIZATION}/{name}"), value);
    }
    set(&mut document, "/users/0/enabled", json!(false));
    set(&mut document, &format!("{CANDIDATES}/1/hiredDate"), json!("2026-11-01T00:00:00.000000Z"));
    set(&mut document, &format!("{CANDIDATES}/0/laterDueOn"), json!("2026-11-01"));
    assert_within(&document, &through(&document), "");
}

#[test]
fn missing_fields_are_exported_with_their_defaults() {
    let output = through(&json!({ "organizations": [
        { "slug": "a", "name": "A", "roles": [{ "name": "R", "steps": [{ "name": "S" }] }] },
    ], "users": [{ "email": "a@b", "name": "A" }] }));
    let organization = &output["organizations"][0];
    let expected = json!({ "domain": "", "logo": "", "portal": { "enabled": false, "theme": {} },
        "requireExternalPositionId": false, "enabled": true, "timeZone": "UTC", "payTransparency": false,
        "decisionVisibleAfterHours": 72, "requireSecondFactor": false, "members": [] });
    assert_within(&expected, organization, "");
    assert_eq!(organization.get("retentionDays"), None);
    assert_eq!(organization.get("privacyNotice"), None);
    assert_eq!(organization.get("hrIntegration"), None);
    let role = &organization["roles"][0];
    let expected = json!({ "description": {}, "department": "", "location": "", "status": "draft", "public": false,
        "positions": 1, "createdAt": NOW, "steps": [{ "stepType": "other" }], "candidates": [] });
    assert_within(&expected, role, "");
    assert_eq!((role.get("workType"), role.get("salaryMin")), (None, None));
    assert_within(&json!({ "platformRole": "user", "enabled": true }), &output["users"][0], "");
    for (thing, prefix) in [(organization, "org_"), (role, "role_"), (&role["steps"][0], "step_")] {
        assert!(thing["id"].as_str().unwrap().starts_with(prefix));
    }
}

#[test]
fn decision_delays_of_zero_and_null_survive_the_round_trip() {
    for hours in [json!(0), Value::Null] {
        let mut document = sound();
        set(&mut document, &format!("{ORGANIZATION}/decisionVisibleAfterHours"), hours.clone());
        let output = through(&document);
        assert_eq!(output["organizations"][0].get("decisionVisibleAfterHours"), Some(&hours));
        assert_eq!(through(&output)["organizations"][0]["decisionVisibleAfterHours"], hours);
    }
}

#[test]
fn an_application_without_steps_gets_the_steps_of_its_role() {
    let output = through(&sound());
    let statuses = |candidate: usize| -> Vec<&str> {
        let steps = output.pointer(&format!("{CANDIDATES}/{candidate}/steps")).unwrap().as_array().unwrap();
        steps.iter().map(|step| step["status"].as_str().unwrap()).collect()
    };
    assert_eq!(statuses(0), ["in_progress", "pending"]);
    assert_eq!(statuses(1), ["skipped", "validated"]);
    let candidate = &output.pointer(CANDIDATES).unwrap()[1];
    assert_within(&json!({ "name": "Offer", "stepType": "offer", "validatedAt": NOW }), &candidate["steps"][1], "");
    assert_eq!(candidate["hireNotes"], Value::Null);
    let rejected = &output.pointer(CANDIDATES).unwrap()[2]["steps"][0];
    assert_within(&json!({ "name": "Call", "rejectedAt": NOW, "rejectionReason": "" }), rejected, "");
}

#[test]
fn steps_are_sorted_into_the_order_of_the_pipeline() {
    let steps = json!([
        { "id": "b", "roleStepId": "step_2", "status": "pending", "name": "Own", "stepType": "interview" },
        { "id": "a", "roleStepId": "step_1", "status": "rejected" },
    ]);
    let output = through(&with(&format!("{CANDIDATES}/2/steps"), steps));
    let steps = output.pointer(&format!("{CANDIDATES}/2/steps")).unwrap();
    assert_within(&json!([{ "id": "a" }, { "id": "b", "name": "Own", "stepType": "interview" }]), steps, "");
}

#[test]
fn an_address_under_two_roles_becomes_one_candidate_with_the_name_given_first() {
    let mut document = sound();
    let role = json!({ "name": "Other", "createdAt": "2030-01-01", "steps": [{ "name": "Call" }],
        "candidates": [{ "name": "Cleopatra", "email": "CLEO@example.org" }] });
    set(&mut document, "/organizations/0/roles/-", role);
    for (name, value) in [
        ("enabled", json!(false)),
        ("timeZone", json!("Europe/Berlin")),
        ("payTransparency", json!(true)),
        ("retentionDays", json!(180)),
    ] {
        set(&mut document, &format!("{ORGANIZATION}/{name}"), value);
    }
    set(&mut document, "/users/0/enabled", json!(false));
    let file = File::new();
    let counts = file.import(&read(&document)).unwrap();
    assert_eq!((counts.candidates, counts.applications), (4, 5));
    let output: Value = serde_json::from_str(&file.export(Secrets::LeftOut)).unwrap();
    let second = &output["organizations"][0]["roles"][1]["candidates"][0];
    assert_within(&json!({ "id": "cand_1", "name": "Cleo", "email": "cleo@example.org" }), second, "");
}

#[test]
fn a_candidate_id_can_be_given_with_the_second_application() {
    let mut document = with(&format!("{CANDIDATES}/0/id"), Value::Null);
    let role = json!({ "name": "Other", "steps": [{ "name": "Call" }],
        "candidates": [{ "id": "cand_9", "name": "Cleo", "email": "cleo@example.org" }] });
    set(&mut document, "/organizations/0/roles/-", role);
    for (name, value) in [
        ("enabled", json!(false)),
        ("timeZone", json!("Europe/Berlin")),
        ("payTransparency", json!(true)),
        ("retentionDays", json!(180)),
    ] {
        set(&mut document, &format!("{ORGANIZATION}/{name}"), value);
    }
    set(&mut document, "/users/0/enabled", json!(false));
    let output = through(&document);
    let roles = output["organizations"][0]["roles"].as_array().unwrap();
    let of_cleo = |candidate: &&Value| candidate["email"] == "cleo@example.org";
    let ids = roles.iter().flat_map(|role| role["candidates"].as_array().unwrap()).filter(of_cleo);
    assert_eq!(ids.map(|candidate| candidate["id"].as_str().unwrap()).collect::<Vec<_>>(), ["cand_9", "cand_9"]);
}

#[test]
fn steps_can_follow_the_candidates_that_refer_to_them() {
    let text = br#"{"organizations":[{"slug":"a","name":"A","roles":[{"name":"R","candidates":[
        {"name":"C","email":"c@d","status":"Withdrawn","steps":[{"roleStepId":"s","status":"in_progress"}]}],
        "steps":[{"id":"s","name":"S"}]}]}]}"#;
    assert_eq!(interchange::parse(text, world()).unwrap().applications(), 1);
}

#[test]
fn secrets_are_exported_on_request_and_integrations_without_a_secret_are_disabled() {
    let file = File::new();
    let document = read(&sound());
    assert_eq!(document.notices(), Vec::<String>::new());
    file.import(&document).unwrap();
    assert!(file.export(Secrets::Included).contains("whsec_MDEyMw"));
    let without = file.export(Secrets::LeftOut);
    assert!(!without.contains("whsec_") && without.contains("https://hr.example.com/hooks"));
    let document = interchange::parse(without.as_bytes(), world()).unwrap();
    assert_eq!(
        document.notices(),
        ["the HR integration of acme has no secret, so it is disabled and its deliveries wait"]
    );
    let again = File::new();
    again.import(&document).unwrap();
    let output: Value = serde_json::from_str(&again.export(Secrets::Included)).unwrap();
    let integration = output.pointer(&format!("{ORGANIZATION}/hrIntegration")).unwrap();
    assert_eq!(integration, &json!({ "url": "https://hr.example.com/hooks", "enabled": false }));
}

#[test]
fn whole_amounts_have_no_fraction_and_fields_have_the_documented_order() {
    let file = File::new();
    file.import(&read(&with(&format!("{ROLE}/salaryMin"), json!(10.0)))).unwrap();
    let exported = file.export(Secrets::LeftOut);
    assert!(exported.contains("\"salaryMin\": 10,\n") && exported.contains("\"salaryMax\": 20.5,\n"));
    assert!(exported.starts_with("{\n  \"users\": [\n    {\n      \"id\": \"user_1\",\n      \"email\""));
    assert!(exported.ends_with("\n}\n"));
    let locations: Vec<usize> =
        ["\"slug\"", "\"portal\"", "\"hrIntegration\"", "\"members\"", "\"roles\"", "\"steps\""]
            .iter()
            .map(|name| exported.find(name).unwrap())
            .collect();
    assert!(locations.is_sorted(), "{locations:?}");
}

/// Returns the valid document with another pipeline: the step Trial was added before the step Offer, and the step Call
/// was removed. Two applications still have the steps of earlier pipelines.
fn with_a_pipeline_that_was_changed() -> Value {
    let mut document = sound();
    let pipeline = json!([
        { "id": "step_3", "name": "Trial", "stepType": "assessment" },
        { "id": "step_2", "name": "Offer", "stepType": "offer" },
        { "id": "step_1", "name": "Call", "stepType": "other", "removed": true },
    ]);
    set(&mut document, &format!("{ROLE}/steps"), pipeline);
    let step = |id: &str, of: &str, order: i64, status: &str| json!({ "id": id, "roleStepId": of, "order": order, "status": status });
    let rejected = json!([step("cs_2", "step_2", 2, "pending"), step("cs_1", "step_1", 1, "rejected")]);
    let withdrawn = json!([step("cs_4", "step_2", 1, "validated"), step("cs_3", "step_3", 2, "in_progress")]);
    set(&mut document, &format!("{CANDIDATES}/2/steps"), rejected);
    set(&mut document, &format!("{CANDIDATES}/3/steps"), withdrawn);
    document
}

#[test]
fn applications_retain_their_steps_after_a_change_to_the_pipeline() {
    let document = with_a_pipeline_that_was_changed();
    let output = through(&document);
    assert_within(
        document.pointer(&format!("{ROLE}/steps")).unwrap(),
        output.pointer(&format!("{ROLE}/steps")).unwrap(),
        "",
    );
    let steps = |candidate: usize| -> Vec<String> {
        let steps = output.pointer(&format!("{CANDIDATES}/{candidate}/steps")).unwrap().as_array().unwrap();
        let words = |step: &Value| format!("{} {} {}", step["order"], step["roleStepId"], step["status"]);
        steps.iter().map(|step| words(step).replace('"', "")).collect()
    };
    assert_eq!(
        steps(0),
        ["1 step_3 in_progress", "2 step_2 pending"],
        "an application without steps gets the current steps"
    );
    assert_eq!(steps(2), ["1 step_1 rejected", "2 step_2 pending"]);
    assert_eq!(steps(3), ["1 step_2 validated", "2 step_3 in_progress"]);
    let step = &output.pointer(&format!("{CANDIDATES}/2/steps")).unwrap()[0];
    assert_within(&json!({ "name": "Call", "stepType": "other" }), step, "");
}

#[test]
fn the_steps_of_an_application_are_renumbered_from_one() {
    let mut document = with_a_pipeline_that_was_changed();
    set(&mut document, &format!("{CANDIDATES}/2/steps/0/order"), json!(900));
    set(&mut document, &format!("{CANDIDATES}/2/steps/1/order"), json!(7));
    let output = through(&document);
    let steps = output.pointer(&format!("{CANDIDATES}/2/steps")).unwrap();
    assert_eq!((&steps[0]["id"], &steps[0]["order"], &steps[1]["order"]), (&json!("cs_1"), &json!(1), &json!(2)));
}

#[test]
fn a_draft_whose_steps_are_all_removed_survives_the_round_trip() {
    let mut document = with_a_pipeline_that_was_changed();
    set(&mut document, &format!("{ROLE}/status"), json!("draft"));
    for step in 0..2 {
        set(&mut document, &format!("{ROLE}/steps/{step}/removed"), json!(true));
    }
    let candidates = document.pointer_mut(CANDIDATES).unwrap().as_array_mut().unwrap();
    candidates.drain(..2);
    let output = through(&document);
    assert_eq!(output.pointer(&format!("{ROLE}/steps")).unwrap().as_array().unwrap().len(), 3);
}

#[test]
fn close_reasons_are_exported() {
    let mut document = with(&format!("{ROLE}/status"), json!("closed"));
    set(&mut document, &format!("{ROLE}/closeReason"), json!("no budget"));
    assert_eq!(through(&document).pointer(&format!("{ROLE}/closeReason")), Some(&json!("no budget")));
    assert_eq!(through(&sound()).pointer(&format!("{ROLE}/closeReason")), None);
}

#[test]
fn legal_holds_and_erasures_survive_the_round_trip() {
    let mut document = with(&format!("{CANDIDATES}/0/holdReason"), json!("a case"));
    let erased = json!({ "name": "Erased", "email": "cand_3@erased.invalid", "erasedAt": NOW });
    for (name, value) in erased.as_object().unwrap() {
        set(&mut document, &format!("{CANDIDATES}/2/{name}"), value.clone());
    }
    let output = through(&document);
    let candidates = output.pointer(CANDIDATES).unwrap();
    assert_within(&json!({ "holdReason": "a case" }), &candidates[0], "");
    assert_within(&erased, &candidates[2], "");
    assert_eq!(candidates[0].get("erasedAt"), None);
    assert_eq!(candidates[1].get("holdReason"), None);
}

#[test]
fn an_open_role_without_steps_gets_a_step() {
    let mut document = sound();
    set(&mut document, &format!("{ROLE}/steps"), json!([]));
    set(&mut document, CANDIDATES, json!([]));
    let notice = format!("{ROLE}: the role is open but has no steps, so the step Application was added");
    assert_eq!(read(&document).notices(), [notice]);
    let output = through(&document);
    let step = &output.pointer(&format!("{ROLE}/steps")).unwrap()[0];
    assert_within(&json!({ "name": "Application", "stepType": "application" }), step, "");
    assert_eq!(through(&output), output);
    for status in ["draft", "closed"] {
        set(&mut document, &format!("{ROLE}/status"), json!(status));
        assert_eq!(through(&document).pointer(&format!("{ROLE}/steps")), Some(&json!([])), "{status}");
    }
}
