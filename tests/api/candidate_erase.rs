//! `DELETE /api/v1/candidates/{id}`: what an erasure removes, what it leaves, and when it is refused.

use serde_json::{Value, json};

use crate::hr_send::integrate;
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Hiring};

crate::tests![
    an_erasure_removes_the_name_the_address_and_the_indexed_words,
    an_erasure_leaves_the_counts_and_the_activity_chain,
    an_erasure_removes_notes_and_reasons_but_not_the_outcome_type,
    an_erasure_withdraws_each_application_in_progress_and_records_it,
    the_activity_of_an_erasure_has_no_personal_data,
    repeating_an_erasure_changes_nothing,
    repeating_an_erasure_adds_no_line_to_the_erasure_list,
    a_candidate_under_legal_hold_is_not_erased,
    decisions_on_an_erased_candidate_are_refused,
    an_erasure_leaves_an_owed_delivery_with_only_ids_and_dates,
    an_erasure_removes_stored_responses,
    an_erasure_removes_the_samples_of_analyze,
    an_erasure_succeeds_when_its_placeholder_address_is_taken,
    a_start_on_an_older_copy_repeats_listed_erasures,
    a_damaged_erasure_list_prevents_opening_the_file,
    an_erasure_fails_when_the_erasure_list_cannot_be_written,
    an_unknown_or_invalid_id_is_not_found,
    adding_the_placeholder_address_of_an_erased_candidate_is_a_conflict,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";

/// Starts a service with an organization whose candidates have names that occur nowhere else.
pub(crate) fn start() -> (App, Hiring) {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for (nth, candidate) in first_role_of(document)["candidates"].as_array_mut().unwrap().iter_mut().enumerate() {
            candidate["name"] = json!(format!("Zoë Quixworth {nth}"));
            candidate["email"] = json!(format!("Zoe.Quixworth+{nth}@mail.example"));
        }
    });
    (app, hiring)
}

pub(crate) fn path(hiring: &Hiring, candidate: usize) -> String {
    format!("/api/v1/candidates/{}", hiring.candidates[candidate].candidate_id)
}

fn erase(app: &App, hiring: &Hiring, candidate: usize) -> Value {
    app.user_with_all(&hiring.staff("owner")).delete(&path(hiring, candidate)).expect(200).json()
}

/// Returns, as lower-case text, the rows that can identify a candidate who has no signup.
fn personal_data(app: &App) -> String {
    let tables = [
        "SELECT * FROM candidates",
        "SELECT * FROM candidate_words",
        "SELECT * FROM candidate_roles",
        "SELECT * FROM candidate_role_steps",
        "SELECT detail FROM activities",
        "SELECT payload FROM hr_deliveries",
        "SELECT answer FROM hr_attempts",
        "SELECT answer FROM idempotency_keys",
    ];
    tables.iter().flat_map(|sql| app.sql(sql)).collect::<Vec<_>>().join("\n").to_lowercase()
}

fn an_erasure_removes_the_name_the_address_and_the_indexed_words() {
    let (app, hiring) = start();
    app.set_clock(NOW);
    let id = &hiring.candidates[0].candidate_id;
    assert_eq!(erase(&app, &hiring, 0), json!({ "success": true, "data": { "id": id, "erasedAt": NOW } }));
    let row = app.sql(&format!("SELECT name, email, email_key, hold_reason FROM candidates WHERE id = '{id}'"));
    assert_eq!(row, [format!("Erased|{id}@erased.invalid|{id}@erased.invalid|null")]);
    let words = "SELECT word FROM candidate_words WHERE candidate_number =
                   (SELECT number FROM candidates WHERE erased_at IS NOT NULL)";
    assert_eq!(app.sql(words), Vec::<String>::new());
    // Searches still find the other candidates.
    assert_eq!(app.sql("SELECT count(*) FROM candidate_words WHERE word = 'quixworth'"), ["2"]);
    assert!(!personal_data(&app).contains("quixworth 0") && personal_data(&app).contains("quixworth 1"));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_leaves_the_counts_and_the_activity_chain() {
    let (app, hiring) = start();
    app.admin().post(&hiring.hire(0), &json!({ "notes": "Zoë Quixworth is good" })).expect(200);
    app.admin().post(&hiring.reject(1), &json!({ "outcomeNotes": "Zoë Quixworth is not" })).expect(200);
    let figures = "SELECT open_roles, open_positions, hired, not_selected FROM organization_statuses";
    let chain = "SELECT number, id, at, action, user_id, detail_hash, hash FROM activities WHERE number <= 2";
    let (figures_before, chain_before) = (app.sql(figures), app.sql(chain));
    erase(&app, &hiring, 0);
    erase(&app, &hiring, 1);
    assert_eq!(app.sql(figures), figures_before);
    assert_eq!(app.sql(chain), chain_before);
    assert_eq!(app.sql("SELECT detail, salt FROM activities WHERE number <= 2"), ["{}|null", "{}|null"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_removes_notes_and_reasons_but_not_the_outcome_type() {
    let (app, hiring) = start();
    let hire = json!({ "notes": "a note", "externalPositionId": "P-1", "hiredDate": "2026-12-01" });
    app.admin().post(&hiring.hire(0), &hire).expect(200);
    let reject = json!({ "outcomeNotes": "a note", "outcomeType": "candidate", "outcomeReason": "a reason" });
    app.admin().post(&hiring.reject(1), &reject).expect(200);
    erase(&app, &hiring, 0);
    erase(&app, &hiring, 1);
    let hires = "SELECT status, hired_date IS NOT NULL, external_position_id, hire_notes FROM candidate_roles
                 WHERE status = 'Hired'";
    assert_eq!(app.sql(hires), ["Hired|1|null|null"]);
    let steps = "SELECT rejected_at IS NOT NULL, rejection_reason, outcome_type, outcome_reason
                 FROM candidate_role_steps WHERE status = 'rejected'";
    assert_eq!(app.sql(steps), ["1||candidate|null"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_withdraws_each_application_in_progress_and_records_it() {
    let (app, hiring) = start();
    erase(&app, &hiring, 0);
    let status = "SELECT in_progress, hired, not_selected, withdrawn FROM organization_statuses";
    assert_eq!(app.sql(status), ["2|0|0|1"]);
    let application = &hiring.candidates[0].application_id;
    let row = "SELECT status, at_role_step_id, at_since FROM candidate_roles WHERE status <> 'In Progress'";
    assert_eq!(app.sql(row), ["Withdrawn|null|null"]);
    let activities = app.sql("SELECT action, candidate_role_id, role_id, detail FROM activities ORDER BY number");
    let detail = json!({ "before": { "application": "In Progress" }, "after": { "application": "Withdrawn" } });
    assert_eq!(activities.len(), 2);
    assert_eq!(activities[0], format!("candidate_role.withdrawn|{application}|{}|{detail}", hiring.role_id));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_activity_of_an_erasure_has_no_personal_data() {
    let (app, hiring) = start();
    app.set_clock(NOW);
    app.admin().post(&hiring.reject(0), &json!({})).expect(200);
    let (key_id, secret) = app.make_key_with_all(&hiring.staff("admin"));
    app.key(&secret).delete(&path(&hiring, 0)).expect(200);
    let row =
        "SELECT action, user_id, api_key_id, candidate_id, candidate_role_id, detail FROM activities WHERE number = 2";
    let (user, candidate) = (hiring.staff("admin"), &hiring.candidates[0].candidate_id);
    let detail = json!({ "before": null, "after": { "erasedAt": NOW } });
    assert_eq!(app.sql(row), [format!("candidate.erased|{user}|{key_id}|{candidate}|null|{detail}")]);
}

fn repeating_an_erasure_changes_nothing() {
    let (app, hiring) = start();
    let first = erase(&app, &hiring, 0);
    let before = (app.sql("SELECT * FROM candidates"), app.sql("SELECT count(*) FROM activities"));
    app.pass(60);
    assert_eq!(erase(&app, &hiring, 0), first);
    assert_eq!((app.sql("SELECT * FROM candidates"), app.sql("SELECT count(*) FROM activities")), before);
}

fn repeating_an_erasure_adds_no_line_to_the_erasure_list() {
    let (app, hiring) = start();
    let first = erase(&app, &hiring, 0);
    assert_eq!(erase(&app, &hiring, 0), first);
    let list = std::fs::read_to_string(erasure_list(&app)).unwrap();
    assert_eq!(list.lines().count(), 1, "{list}");
    assert!(list.starts_with(&format!("{} at=", hiring.candidates[0].candidate_id)), "{list}");
}

fn a_candidate_under_legal_hold_is_not_erased() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let hold = format!("{}/hold", path(&hiring, 0));
    owner.put(&hold, &json!({ "reason": "a case" })).expect(200);
    let problem = owner.delete(&path(&hiring, 0)).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("legal hold"), "{problem}");
    assert!(personal_data(&app).contains("quixworth 0") && !erasure_list(&app).exists());
    owner.delete(&hold).expect(200);
    owner.delete(&path(&hiring, 0)).expect(200);
    assert!(!personal_data(&app).contains("quixworth 0"));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn decisions_on_an_erased_candidate_are_refused() {
    let (app, hiring) = start();
    app.admin().post(&hiring.hire(0), &json!({})).expect(200);
    erase(&app, &hiring, 0);
    erase(&app, &hiring, 1);
    let notes = json!({ "notes": "Zoë Quixworth", "outcomeNotes": "Zoë Quixworth" });
    for path in [hiring.reject(0), hiring.hire(1), hiring.reject(1), hiring.decision(1, 2, "move")] {
        let problem = app.admin().post(&path, &notes).refused(409, "conflict").json();
        assert!(problem["detail"].as_str().unwrap().contains("erased"), "{path}: {problem}");
    }
    app.user(&hiring.staff("member")).post(&hiring.reject(0), &notes).refused(403, "forbidden");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_leaves_an_owed_delivery_with_only_ids_and_dates() {
    let (app, hiring) = start();
    integrate(&app, &hiring.organization_id, "http://127.0.0.1:9/hook", false);
    let hire = json!({ "notes": "Zoë Quixworth", "externalPositionId": "P-1", "hiredDate": "2026-12-01" });
    app.admin().post(&hiring.hire(0), &hire).expect(200);
    // No delivery worker runs in this test, so the erasure itself creates the owed delivery.
    assert_eq!(app.sql("SELECT count(*) FROM hr_deliveries"), ["0"]);
    erase(&app, &hiring, 0);
    assert_eq!(app.sql("SELECT state, next_attempt_at IS NOT NULL FROM hr_deliveries"), ["pending|1"]);
    let payload: Value = serde_json::from_str(&app.sql("SELECT payload FROM hr_deliveries")[0]).unwrap();
    let (data, candidate) = (&payload["data"], &hiring.candidates[0]);
    let id = &candidate.candidate_id;
    let who = json!({ "id": id, "name": "Erased", "email": format!("{id}@erased.invalid") });
    assert_eq!(data["candidate"], who);
    assert_eq!((&data["note"], &data["externalPositionId"]), (&Value::Null, &Value::Null));
    assert_eq!(data["hiredDate"], "2026-12-01T00:00:00.000000Z");
    assert_eq!(data["application"]["id"], candidate.application_id.as_str());
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_removes_stored_responses() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let add = |name: &str| {
        // Clients choose their idempotency keys, so a key can contain personal data.
        let client = owner.with_header("Idempotency-Key", &format!("add-{name}@mail.example"));
        let body = json!({ "name": name, "email": format!("{name}@mail.example"), "roleId": hiring.role_id });
        client.post(&format!("/api/v1/organizations/{}/candidates", hiring.organization_id), &body)
    };
    let id = add("hapax").expect(200).json()["data"]["id"].as_str().unwrap().to_owned();
    let other = add("legomenon").expect(200);
    owner.delete(&format!("/api/v1/candidates/{id}")).expect(200);
    assert_eq!(app.sql("SELECT count(*) FROM idempotency_keys WHERE idempotency_key LIKE '%hapax%'"), ["0"]);
    let stored = "SELECT answer, fingerprint = zeroblob(32), made_id FROM idempotency_keys WHERE answer IS NULL";
    assert_eq!(app.sql(stored), ["null|1|null"]);
    // A repeat does not add the candidate again.
    add("hapax").refused(410, "gone");
    assert_eq!(app.sql("SELECT count(*) FROM candidates WHERE name = 'hapax'"), ["0"]);
    assert_eq!(add("legomenon").expect(200).json(), other.json());
    assert_eq!(app.check(), Vec::<String>::new());
}

fn an_erasure_removes_the_samples_of_analyze() {
    let (app, hiring) = start();
    app.change("ANALYZE");
    assert_ne!(app.sql("SELECT count(*) FROM sqlite_stat4"), ["0"]);
    erase(&app, &hiring, 0);
    assert_eq!(app.sql("SELECT count(*) FROM sqlite_stat4"), ["0"]);
    assert_ne!(app.sql("SELECT count(*) FROM sqlite_stat1"), ["0"]);
}

fn an_erasure_succeeds_when_its_placeholder_address_is_taken() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        first_role_of(document)["candidates"][1]["email"] = json!("Cand_1_1@Erased.invalid");
        set_steps(document, 2, "Withdrawn", &["validated", "pending", "pending", "pending"]);
    });
    for candidate in 0..3 {
        erase(&app, &hiring, candidate);
    }
    let addresses = app.sql("SELECT email FROM candidates ORDER BY number");
    assert_eq!(addresses, ["cand_1_1.1.1@erased.invalid", "cand_1_2@erased.invalid", "cand_1_3@erased.invalid"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_start_on_an_older_copy_repeats_listed_erasures() {
    let (app, hiring) = start();
    app.stop();
    std::fs::copy(&app.path, app.path.with_extension("copy")).unwrap();
    app.start_again();
    erase(&app, &hiring, 0);
    app.stop();
    std::fs::copy(app.path.with_extension("copy"), &app.path).unwrap();
    // In the older copy, the candidates are under legal hold. A hold that is older than the candidate's line in the
    // erasure list does not prevent the repeated erasure, because the older copy lacks the release of the hold.
    app.change("UPDATE candidates SET hold_reason = 'a case'");
    app.start_again();
    assert!(!personal_data(&app).contains("quixworth 0") && personal_data(&app).contains("quixworth 1"));
    let row = "SELECT action, user_id, detail = '{}' FROM activities ORDER BY number";
    assert_eq!(app.sql(row), ["candidate_role.withdrawn|null|0", "candidate.erased|null|0"]);
    assert_eq!(app.sql("SELECT name FROM candidates WHERE erased_at IS NOT NULL"), ["Erased"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_damaged_erasure_list_prevents_opening_the_file() {
    let (app, hiring) = start();
    erase(&app, &hiring, 0);
    app.stop();
    let world = std::sync::Arc::clone(&app.world);
    std::fs::write(erasure_list(&app), "cand_1_1\nZoë\n").unwrap();
    let error =
        appliance::store::Store::open(&app.path, world).err().expect("opening fails, because the list is damaged");
    assert!(!error.may_pass() && error.to_string().contains("line 2 of "), "{error}");
    std::fs::write(erasure_list(&app), "cand_1_1\nZoë").unwrap();
    app.start_again();
}

fn an_erasure_fails_when_the_erasure_list_cannot_be_written() {
    let (app, hiring) = start();
    std::fs::create_dir(erasure_list(&app)).unwrap();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.delete(&path(&hiring, 0)).refused(503, "unavailable");
    assert!(personal_data(&app).contains("quixworth 0"));
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
    std::fs::remove_dir(erasure_list(&app)).unwrap();
    owner.delete(&path(&hiring, 0)).expect(200);
}

fn an_unknown_or_invalid_id_is_not_found() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for id in ["none", "a%20b", "%C3%A4"] {
        owner.delete(&format!("/api/v1/candidates/{id}")).refused(404, "not_found");
    }
}

fn adding_the_placeholder_address_of_an_erased_candidate_is_a_conflict() {
    let (app, hiring) = start();
    erase(&app, &hiring, 0);
    let address = format!("{}@erased.invalid", hiring.candidates[0].candidate_id);
    let body = json!({ "name": "Ada", "email": address, "roleId": hiring.role_id });
    let path = format!("/api/v1/organizations/{}/candidates", hiring.organization_id);
    let problem = app.admin().post(&path, &body).refused(409, "conflict").json();
    assert!(problem["detail"].as_str().unwrap().contains("erased"), "{problem}");
}

fn erasure_list(app: &App) -> std::path::PathBuf {
    appliance::store::file::beside(&app.path, ".erased")
}
