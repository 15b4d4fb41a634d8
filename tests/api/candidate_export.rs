//! `GET /api/v1/candidates/{id}/export`: the subject-access export of a candidate. Each export is recorded as activity.

use serde_json::{Value, json};

use crate::candidate_erase::{path, start};
use crate::hr_send::{delivering, eventually, integrate, newest};
use crate::support::app::Hr;
use crate::support::{Behaviour, Receiver};

crate::tests![
    an_export_has_every_application_step_note_and_reason,
    an_export_has_the_activity_and_is_itself_recorded,
    a_head_request_for_an_export_returns_no_body_and_is_not_recorded,
    an_export_has_the_deliveries_to_hr_systems_and_their_answers,
    an_export_has_the_stored_responses,
    the_export_of_an_erased_candidate_has_only_the_tombstone,
];

const NOW: &str = "2026-11-21T09:12:33.123456Z";

fn an_export_has_every_application_step_note_and_reason() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let reject = json!({ "outcomeNotes": "a note", "outcomeType": "other", "outcomeReason": "a reason" });
    owner.post(&hiring.reject(0), &reject).expect(200);
    owner.put(&format!("{}/hold", path(&hiring, 0)), &json!({ "reason": "a case" })).expect(200);
    app.set_clock(NOW);
    let data = owner.get(&format!("{}/export", path(&hiring, 0))).expect(200).json()["data"].clone();
    assert_eq!(data["exportedAt"], NOW);
    assert_eq!((&data["holdReason"], &data["erasedAt"]), (&json!("a case"), &Value::Null));
    assert_eq!(data["candidate"], owner.get(&path(&hiring, 0)).expect(200).json()["data"]);
    assert_eq!(data["candidate"]["name"], "Zoë Quixworth 0");
    let step = &data["candidate"]["applications"][0]["steps"][1];
    assert_eq!((&step["rejectionReason"], &step["outcomeReason"]), (&json!("a note"), &json!("a reason")));
    assert_eq!((&data["hrDeliveries"], &data["storedAnswers"]), (&json!([]), &json!([])));
}

fn an_export_has_the_activity_and_is_itself_recorded() {
    let (app, hiring) = start();
    let (key_id, secret) = app.make_key_with_all(&hiring.staff("hr_representative"));
    let staff = app.key(&secret);
    staff.post(&hiring.reject(0), &json!({ "outcomeNotes": "a note" })).expect(200);
    let export = |count: usize| {
        let data = staff.get(&format!("{}/export", path(&hiring, 0))).expect(200).json()["data"].clone();
        assert_eq!(data["activity"].as_array().unwrap().len(), count, "{data}");
        data
    };
    let first = export(1);
    assert_eq!(first["activity"][0]["action"], "candidate_step.rejected");
    assert_eq!(first["activity"][0]["after"]["steps"][0]["rejectionReason"], "a note");
    let second = export(2);
    let recorded = &second["activity"][0];
    assert_eq!((&recorded["action"], &recorded["apiKeyId"]), (&json!("candidate.exported"), &json!(key_id)));
    assert_eq!(recorded["user"]["id"], hiring.staff("hr_representative"));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_head_request_for_an_export_returns_no_body_and_is_not_recorded() {
    let (app, hiring) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let answer = owner.send("HEAD", &format!("{}/export", path(&hiring, 0)), &[], b"").expect(200);
    assert!(answer.body.is_empty() && answer.header("content-length") != Some("0"));
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn an_export_has_the_deliveries_to_hr_systems_and_their_answers() {
    let receiver = Receiver::start();
    receiver.will([Behaviour::Answer(200, Vec::new(), b"welcome".to_vec())]);
    let app = delivering(Hr::default());
    let hiring = app.hiring();
    integrate(&app, &hiring.organization_id, &receiver.url("/hook"), true);
    app.admin().post(&hiring.hire(0), &json!({ "notes": "a note" })).expect(200);
    let delivered = eventually(&app, &newest(&app, &hiring), |delivery| delivery["state"] == "delivered");
    let data = app.admin().get(&format!("{}/export", path(&hiring, 0))).expect(200).json()["data"].clone();
    assert_eq!(data["hrDeliveries"], json!([delivered]));
    assert_eq!(data["hrDeliveries"][0]["payload"]["data"]["note"], "a note");
    assert_eq!(data["hrDeliveries"][0]["history"][0]["answer"], "welcome");
}

fn an_export_has_the_stored_responses() {
    let (app, hiring) = start();
    let id = &hiring.candidates[0].candidate_id;
    app.change(&format!(
        "INSERT INTO idempotency_keys (key_number, idempotency_key, fingerprint, created_at, status, answer, candidate_id)
         VALUES (1, 'one', zeroblob(32), 0, 200, '{{\"success\":true}}', '{id}'),
           (1, 'two', zeroblob(32), 1, 409, NULL, '{id}'), (1, 'three', zeroblob(32), 2, 200, 'plain', '{id}')"
    ));
    let data = app.admin().get(&format!("{}/export", path(&hiring, 0))).expect(200).json()["data"].clone();
    let at = |micros: u8| format!("1970-01-01T00:00:00.00000{micros}Z");
    let expected = json!([
        { "at": at(0), "status": 200, "answer": { "success": true } },
        { "at": at(1), "status": 409, "answer": null },
        { "at": at(2), "status": 200, "answer": "plain" },
    ]);
    assert_eq!(data["storedAnswers"], expected);
}

fn the_export_of_an_erased_candidate_has_only_the_tombstone() {
    let (app, hiring) = start();
    app.set_clock(NOW);
    app.admin().post(&hiring.reject(0), &json!({ "outcomeNotes": "Quixworth" })).expect(200);
    app.admin().delete(&path(&hiring, 0)).expect(200);
    let answer = app.admin().get(&format!("{}/export", path(&hiring, 0))).expect(200);
    assert!(!answer.text().contains("Quixworth"), "{}", answer.text());
    let data = &answer.json()["data"];
    assert_eq!((&data["candidate"]["name"], &data["erasedAt"]), (&json!("Erased"), &json!(NOW)));
    assert_eq!(data["activity"][1]["erased"], true);
    assert_eq!(app.check(), Vec::<String>::new());
}
