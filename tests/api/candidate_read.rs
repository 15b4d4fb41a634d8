//! `GET /api/v1/candidates/{id}`: a candidate with their applications and the steps of each.

use serde_json::{Value, json};

use crate::support::App;
use crate::support::hiring::set_steps;

crate::tests![
    a_candidate_is_shown_with_their_applications_and_steps,
    hire_details_are_shown_until_the_hire_is_reversed,
    a_step_looks_the_same_as_in_the_answer_to_a_decision,
    members_and_admins_read_a_candidate_and_other_callers_get_a_404,
    erased_and_held_candidates_are_shown_as_such,
];

fn a_candidate_is_shown_with_their_applications_and_steps() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.user_with_all(&hiring.staff("member")).get(&hiring.candidate_path(1)).expect(200).json();
    let candidate = &answer["data"];
    assert_eq!(candidate["id"], hiring.candidates[1].candidate_id);
    assert_eq!(candidate["name"], "Candidate 2");
    let application = &candidate["applications"][0];
    assert_eq!(application["id"], hiring.candidates[1].application_id);
    assert_eq!(application["candidateId"], hiring.candidates[1].candidate_id);
    assert_eq!(application["appliedAt"], "2026-11-01T10:00:00.000000Z");
    let current = json!({
        "id": hiring.candidates[1].steps[1],
        "roleStepId": hiring.role_steps[1],
        "name": "Call",
        "order": 2,
        "stepType": "screening",
        "since": "2026-11-02T10:00:00.000000Z",
    });
    assert_eq!(application["currentStep"], current);
    let statuses: Vec<&Value> = application["steps"].as_array().unwrap().iter().map(|step| &step["status"]).collect();
    assert_eq!(statuses, ["validated", "in_progress", "pending", "pending"]);
    assert!(application.get("hiredDate").is_none());
}

fn hire_details_are_shown_until_the_hire_is_reversed() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let body = json!({ "hiredDate": "2026-12-01", "externalPositionId": "POS-1", "notes": "Starts late" });
    owner.post(&hiring.hire(0), &body).expect(200);
    let read = || owner.get(&hiring.candidate_path(0)).expect(200).json()["data"]["applications"][0].take();
    let hired = read();
    assert_eq!((&hired["status"], &hired["currentStep"]), (&json!("Hired"), &Value::Null));
    assert_eq!(hired["hiredDate"], "2026-12-01T00:00:00.000000Z");
    assert_eq!(hired["offerAcceptedDate"], Value::Null);
    assert_eq!((&hired["externalPositionId"], &hired["hireNotes"]), (&json!("POS-1"), &json!("Starts late")));
    owner.post_empty(&hiring.reject(0)).expect(200);
    let reversed = read();
    assert_eq!(reversed["status"], "Not Selected");
    for gone in ["hiredDate", "offerAcceptedDate", "externalPositionId", "hireNotes"] {
        assert!(reversed.get(gone).is_none(), "{gone}");
    }
}

fn a_step_looks_the_same_as_in_the_answer_to_a_decision() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let body = json!({ "outcomeNotes": "no", "outcomeType": "other", "outcomeReason": "lacking_skills" });
    let decided = owner.post(&hiring.reject(0), &body).expect(200).json()["step"].take();
    let read = owner.get(&hiring.candidate_path(0)).expect(200).json();
    assert_eq!(read["data"]["applications"][0]["steps"][1], decided);
}

fn members_and_admins_read_a_candidate_and_other_callers_get_a_404() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    app.user(&hiring.staff("member")).get(&hiring.candidate_path(0)).expect(200);
    app.user("user_admin").get(&hiring.candidate_path(0)).expect(200);
    for path in [hiring.candidate_path(0), "/api/v1/candidates/none".to_owned(), "/api/v1/candidates/%20".to_owned()] {
        let hidden = app.user(&other.staff("owner")).get(&path).refused(404, "not_found");
        assert_eq!(hidden.json()["detail"], "there is no such candidate, or the caller may not see them");
    }
}

fn erased_and_held_candidates_are_shown_as_such() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "Not Selected", &["validated", "rejected", "pending", "pending"]);
        document["organizations"][0]["roles"][0]["candidates"][0]["steps"][1]["rejectedAt"] = json!("2026-11-03");
    });
    super::candidate_add::erase(&app, &hiring.candidates[0].candidate_id);
    app.change(&format!(
        "UPDATE candidates SET hold_reason = 'case' WHERE id = '{}'",
        hiring.candidates[1].candidate_id
    ));
    let member = app.user(&hiring.staff("member"));
    let seen = |candidate: usize| {
        let read = member.get(&hiring.candidate_path(candidate)).expect(200).json()["data"].take();
        (read["erased"].as_bool().unwrap(), read["held"].as_bool().unwrap())
    };
    assert_eq!([seen(0), seen(1), seen(2)], [(true, false), (false, true), (false, false)]);
}
