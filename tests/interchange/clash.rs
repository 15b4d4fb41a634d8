//! In documents that contradict themselves, the finding is at the object that contains the contradiction.

use serde_json::{Value, json};

use crate::support::{CANDIDATES, ORGANIZATION, ROLE, assert_refused, findings, read, set, sound, with};

fn hired(number: usize) -> Value {
    json!({ "name": "Hired", "email": format!("hired-{number}@example.org"), "status": "Hired" })
}

#[test]
fn a_role_status_that_contradicts_the_roles_hires_is_a_finding() {
    let mut full = with(&format!("{CANDIDATES}/-"), hired(1));
    assert_refused(&full, ROLE, "the role is open but all its positions are filled");
    set(&mut full, &format!("{ROLE}/status"), json!("filled"));
    assert_eq!(findings(&full), Vec::<String>::new());
    set(&mut full, &format!("{CANDIDATES}/-"), hired(2));
    assert_refused(&full, ROLE, "more candidates are hired than the role has positions (3 hired, 2 positions)");
    assert_refused(
        &with(&format!("{ROLE}/status"), json!("filled")),
        ROLE,
        "the role is filled but has free positions",
    );
    assert_refused(&with(&format!("{ROLE}/positions"), json!(1)), ROLE, "all its positions are filled");
}

#[test]
fn a_salary_minimum_above_its_maximum_is_a_finding() {
    assert_refused(&with(&format!("{ROLE}/salaryMin"), json!(20.6)), ROLE, "salaryMin is more than salaryMax");
    assert!(findings(&with(&format!("{ROLE}/salaryMin"), json!(20.5))).is_empty());
}

#[test]
fn a_role_with_candidates_needs_a_step() {
    assert_refused(&with(&format!("{ROLE}/steps"), json!([])), ROLE, "so it needs at least one step");
    let mut empty = with(&format!("{ROLE}/steps"), Value::Null);
    set(&mut empty, &format!("{ROLE}/candidates"), json!([]));
    assert!(findings(&empty).is_empty());
}

#[test]
fn a_duplicate_id_is_a_finding_at_the_second_object() {
    for (pointer, id, location) in [
        ("/users/1/id", "user_1", "/users/1"),
        (&format!("{ROLE}/steps/1/id"), "step_1", &format!("{ROLE}/steps/1")),
        (&format!("{CANDIDATES}/1/applicationId"), "app_1", &format!("{CANDIDATES}/1")),
        (&format!("{CANDIDATES}/3/steps/0/id"), "cs_1", &format!("{CANDIDATES}/3/steps/0")),
    ] {
        let mut document = with(pointer, json!(id));
        // In the first case, a membership refers to the id that was replaced. Let it refer to a user outside the
        // document, because that reference is not under test.
        set(&mut document, "/organizations/0/members/1", json!({ "userId": "user_9" }));
        assert_refused(&document, location, &format!("the document uses the id {id} twice"));
    }
    let second = json!({ "id": "org_1", "slug": "other", "name": "Other" });
    assert_refused(&with("/organizations/-", second), "/organizations/1", "the document uses the id org_1 twice");
    let second = json!({ "id": "role_1", "name": "Other" });
    assert_refused(
        &with("/organizations/0/roles/-", second),
        "/organizations/0/roles/1",
        "the document uses the id role_1 twice",
    );
    let mut same = sound();
    set(&mut same, "/users/0/id", json!("one"));
    set(&mut same, "/organizations/0/members/0/userId", json!("one"));
    set(&mut same, "/organizations/0/id", json!("one"));
    assert!(findings(&same).is_empty(), "objects of different kinds can share an id");
}

#[test]
fn duplicate_addresses_and_slugs_are_findings_regardless_of_letter_case() {
    assert_refused(
        &with("/users/1/email", json!(" ADA@example.org ")),
        "/users/1",
        "two users have the email ADA@example.org",
    );
    let second = json!({ "slug": "ACME", "name": "Other" });
    assert_refused(&with("/organizations/-", second), "/organizations/1", "two organizations have the slug ACME");
}

#[test]
fn a_user_has_only_one_membership_in_an_organization() {
    let again = json!({ "userId": "user_1", "orgRole": "member" });
    let location = "/organizations/0/members/2";
    assert_refused(&with("/organizations/0/members/-", again.clone()), location, "the user user_1 is listed twice");
    let second = json!({ "slug": "other", "name": "Other", "members": [again] });
    assert!(findings(&with("/organizations/-", second)).is_empty());
}

#[test]
fn a_candidate_can_apply_to_a_role_only_once() {
    let again = json!({ "name": "Cleo", "email": "CLEO@example.org" });
    let location = format!("{CANDIDATES}/4");
    assert_refused(&with(&format!("{CANDIDATES}/-"), again.clone()), &location, "listed twice under this role");
    let role = json!({ "name": "Other", "steps": [{ "name": "Call" }], "candidates": [again] });
    assert!(
        findings(&with("/organizations/0/roles/-", role)).is_empty(),
        "under another role it is a second application"
    );
}

#[test]
fn within_an_organization_an_address_has_only_one_candidate_id() {
    let role = |id: &str, email: &str| {
        let candidate = json!({ "id": id, "name": "Cleo", "email": email });
        json!({ "name": "Other", "steps": [{ "name": "Call" }], "candidates": [candidate] })
    };
    let second = |role| with("/organizations/0/roles/-", role);
    let location = "/organizations/0/roles/1/candidates/0";
    assert!(findings(&second(role("cand_1", "cleo@example.org"))).is_empty());
    assert_refused(&second(role("cand_9", "cleo@example.org")), location, "has the ids cand_1 and cand_9");
    assert_refused(
        &second(role("cand_1", "other@example.org")),
        location,
        "the id cand_1 belongs to a candidate with another",
    );
    let elsewhere = |role| with("/organizations/-", json!({ "slug": "other", "name": "Other", "roles": [role] }));
    let location = "/organizations/1/roles/0/candidates/0";
    assert_refused(&elsewhere(role("cand_1", "cleo@example.org")), location, "or in another organization");
    assert!(
        findings(&elsewhere(role("cand_9", "cleo@example.org"))).is_empty(),
        "in another organization it is another candidate"
    );
}

#[test]
fn only_a_hired_application_has_hire_fields() {
    for name in ["hiredDate", "offerAcceptedDate", "externalPositionId", "hireNotes"] {
        let document = with(&format!("{CANDIDATES}/0/{name}"), json!("2026-11-01"));
        assert_refused(&document, &format!("{CANDIDATES}/0"), "only an application that is Hired");
    }
}

#[test]
fn only_an_application_in_progress_has_a_later_mark() {
    for candidate in [1, 2] {
        let document = with(&format!("{CANDIDATES}/{candidate}/laterDueOn"), json!("2026-11-01"));
        assert_refused(&document, &format!("{CANDIDATES}/{candidate}"), "only an application that is In Progress");
    }
}

#[test]
fn only_a_decided_step_has_decision_fields() {
    let step = format!("{CANDIDATES}/3/steps/0");
    for name in ["rejectedAt", "rejectionReason", "outcomeType", "outcomeReason"] {
        let document = with(&format!("{step}/{name}"), json!("2026-11-01"));
        assert_refused(&document, &step, "only a rejected step may have rejectedAt");
    }
    let step = format!("{CANDIDATES}/2/steps/0");
    assert_refused(&with(&format!("{step}/validatedAt"), json!("2026-11-01")), &step, "only a validated step may have");
}

#[test]
fn a_status_that_contradicts_the_steps_is_a_finding_at_the_candidate() {
    for (status, first, last, words) in [
        ("In Progress", "rejected", "pending", "In Progress but a step is rejected"),
        ("In Progress", "validated", "validated", "In Progress but its final step is validated"),
        ("Hired", "validated", "pending", "Hired but its final step is not validated"),
        ("Hired", "pending", "validated", "Hired but a step is pending"),
        ("Hired", "rejected", "validated", "Hired but a step is rejected"),
        ("Not Selected", "validated", "pending", "Not Selected but no step is rejected"),
    ] {
        let steps = json!([{ "roleStepId": "step_1", "status": first }, { "roleStepId": "step_2", "status": last }]);
        let candidate = json!({ "name": "Gus", "email": "gus@example.org", "status": status, "steps": steps });
        let mut document = with(&format!("{ROLE}/positions"), json!(9));
        set(&mut document, &format!("{CANDIDATES}/-"), candidate);
        assert_refused(&document, &format!("{CANDIDATES}/4"), words);
    }
}

#[test]
fn an_application_without_orders_has_each_step_of_its_role_once() {
    let steps = format!("{CANDIDATES}/2/steps");
    let step = |of: &str, status: &str| json!({ "roleStepId": of, "status": status });
    assert_refused(&with(&steps, json!([])), &steps, "lacks the role's steps step_1, step_2");
    assert_refused(&with(&steps, json!([step("step_1", "rejected")])), &steps, "lacks the role's steps step_2");
    let twice = json!([step("step_1", "rejected"), step("step_1", "pending")]);
    assert_refused(&with(&steps, twice), &format!("{steps}/1"), "the application has the role's step step_1 twice");
}

#[test]
fn if_one_step_of_an_application_states_its_order_all_others_must_too() {
    let steps = format!("{CANDIDATES}/2/steps");
    let step = |of: &str, order: Value, status: &str| json!({ "roleStepId": of, "order": order, "status": status });
    let given = |first: Value, second: Value| {
        with(&steps, json!([step("step_1", first, "rejected"), step("step_2", second, "pending")]))
    };
    assert!(findings(&given(json!(1), json!(2))).is_empty());
    assert!(findings(&with(&steps, json!([step("step_2", json!(1), "rejected")]))).is_empty());
    assert_refused(&given(json!(1), Value::Null), &format!("{steps}/1"), "has no `order`");
    assert_refused(&given(Value::Null, json!(1)), &format!("{steps}/0"), "has no `order`");
    assert_refused(&given(json!(1), json!(1)), &format!("{steps}/1/order"), "another step of the application (1)");
    for wrong in [json!(0), json!(-1), json!(1.5), json!("1")] {
        assert_refused(&given(json!(1), wrong), &format!("{steps}/1/order"), "must be an integer of at least 1");
    }
    let twice = json!([step("step_1", json!(1), "rejected"), step("step_1", json!(2), "pending")]);
    assert_refused(&with(&steps, twice), &format!("{steps}/1"), "the application has the role's step step_1 twice");
}

#[test]
fn a_role_lists_removed_steps_last_and_applications_with_them_state_each_order() {
    let at = format!("{ROLE}/steps");
    let removed = |first: bool, second: bool| {
        let steps = json!([
            { "id": "step_1", "name": "Call", "removed": first },
            { "id": "step_2", "name": "Offer", "removed": second },
        ]);
        let mut document = with(&at, steps);
        document.pointer_mut(CANDIDATES).unwrap().as_array_mut().unwrap().truncate(3);
        document.pointer_mut(CANDIDATES).unwrap().as_array_mut().unwrap().drain(..2);
        document
    };
    assert_refused(&removed(true, false), &at, "list removed steps last");
    let steps = format!("{CANDIDATES}/0/steps");
    let words = "the role's step step_2 was removed, so each step of the application must state its `order`";
    assert_refused(&removed(false, true), &format!("{steps}/1"), words);
    let mut none = removed(true, true);
    set(&mut none, &steps, Value::Null);
    assert_refused(&none, &steps, "the role has no steps to copy");
    set(&mut none, &steps, json!([]));
    assert_refused(&none, &steps, "must have at least one");
    assert_refused(&with(&format!("{at}/0/removed"), json!(1)), &format!("{at}/0/removed"), "must be true or false");
}

#[test]
fn only_a_closed_role_has_a_close_reason() {
    let reason = |status: &str, reason: Value| {
        let mut document = with(&format!("{ROLE}/status"), json!(status));
        set(&mut document, &format!("{ROLE}/closeReason"), reason);
        document
    };
    assert!(findings(&reason("closed", json!("x".repeat(1_000)))).is_empty());
    assert!(findings(&reason("open", Value::Null)).is_empty());
    assert_refused(&reason("open", json!("")), ROLE, "only a closed role may have a closeReason");
    let long = reason("closed", json!("x".repeat(1_001)));
    assert_refused(&long, &format!("{ROLE}/closeReason"), "at most 1000 characters");
}

#[test]
fn a_wrong_value_causes_no_findings_at_dependent_fields() {
    assert_refused(
        &with(&format!("{ROLE}/steps/0/name"), json!(1)),
        &format!("{ROLE}/steps/0/name"),
        "must be a string",
    );
    let mut document = with(&format!("{ROLE}/status"), json!("filled"));
    set(&mut document, &format!("{CANDIDATES}/0/name"), json!(1));
    assert_refused(&document, &format!("{CANDIDATES}/0/name"), "must be a string");
    assert_refused(&with(&format!("{ORGANIZATION}/slug"), json!("a b")), &format!("{ORGANIZATION}/slug"), "must be");
}

#[test]
fn an_erased_candidate_has_no_data_and_no_legal_hold() {
    let candidate = format!("{CANDIDATES}/2");
    let erased = |change: &dyn Fn(&mut Value)| {
        let mut document = with(&format!("{candidate}/erasedAt"), json!("2026-11-01"));
        set(&mut document, &format!("{candidate}/name"), json!("Erased"));
        set(&mut document, &format!("{candidate}/email"), json!("cand_3@erased.invalid"));
        change(&mut document);
        document
    };
    read(&erased(&|_| {}));
    for (name, value) in [("name", "Ada"), ("email", "ada@example.org"), ("holdReason", "a case")] {
        let document = erased(&|document| set(document, &format!("{candidate}/{name}"), json!(value)));
        assert_refused(&document, &candidate, "an erased candidate");
    }
    let mut running = with(&format!("{CANDIDATES}/0/erasedAt"), json!("2026-11-01"));
    set(&mut running, &format!("{CANDIDATES}/0/name"), json!("Erased"));
    set(&mut running, &format!("{CANDIDATES}/0/email"), json!("cand_1@erased.invalid"));
    assert_refused(&running, &format!("{CANDIDATES}/0"), "cannot be In Progress");
}
