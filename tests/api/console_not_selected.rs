//! `GET /app/{orgSlug}/roles/{id}/not-selected`: the candidates of a role who were not selected.

use serde_json::json;

use crate::support::console::{app_path, follow};
use crate::support::{App, Client, Hiring};

crate::tests![
    the_list_shows_the_reason_and_the_person_who_decided_and_offers_to_reopen_the_step,
    the_list_has_pages,
    an_empty_list_states_that_nobody_has_been_rejected,
    a_plain_member_reads_the_list_without_forms,
    an_erased_candidate_has_no_form,
    a_role_of_another_organization_is_not_found,
];

fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

fn path(hiring: &Hiring) -> String {
    app_path(hiring, &format!("roles/{}/not-selected", hiring.role_id))
}

fn reject(app: &App, hiring: &Hiring, candidate: usize) {
    let body = json!({ "outcomeReason": "lacking_skills", "outcomeNotes": "<script>Quixworth" });
    app.user_with_all(&hiring.staff("owner")).post(&hiring.reject(candidate), &body).expect(200);
}

#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text} is not in:\n{page}");
    }
}

fn the_list_shows_the_reason_and_the_person_who_decided_and_offers_to_reopen_the_step() {
    let (app, hiring, recruiter) = start();
    reject(&app, &hiring, 0);
    let board = recruiter.get(&app_path(&hiring, &format!("roles/{}", hiring.role_id))).expect(200).text();
    assert_has(&board, &[&format!("href=\"{}\"", path(&hiring))]);
    let page = recruiter.get(&path(&hiring)).expect(200).text();
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    assert_has(
        &page,
        &[
            &candidate,
            "Call, by The owner",
            "just now",
            "Skills do not match",
            "&#60;script&#62;Quixworth",
            "Reopen at Call",
        ],
    );
    assert!(!page.contains("Candidate 2") && !page.contains("<script>Q"), "{page}");
    let reopen = app_path(&hiring, &format!("applications/{}/reopen", hiring.candidates[0].application_id));
    let step = hiring.candidates[0].steps[1].as_str();
    let fields = [("step", step), ("seen", "Not Selected"), ("reason", "a mistake"), ("back", &path(&hiring))];
    let page = follow(&recruiter, recruiter.submit(&reopen, &fields)).text();
    assert_has(&page, &["Candidate 1 is back at Call.", "Nobody has been rejected"]);
}

fn the_list_has_pages() {
    let (app, hiring, recruiter) = start();
    for candidate in 0..3 {
        reject(&app, &hiring, candidate);
    }
    let mut next = format!("{}?limit=1", path(&hiring));
    for name in ["Candidate 3", "Candidate 2", "Candidate 1"] {
        let page = recruiter.get(&next).expect(200).text();
        assert_has(&page, &[&format!(">{name}</a>")]);
        assert_eq!(page.matches("Reopen at Call").count(), 1);
        match page.split("rel=\"next\" href=\"").nth(1) {
            Some(rest) => next = format!("{}&limit=1", rest.split('"').next().unwrap()),
            None => assert_eq!(name, "Candidate 1"),
        }
    }
    for query in ["cursor=x", "cursor=Y2FuZF9ub25l", "limit=x"] {
        recruiter.get(&format!("{}?{query}", path(&hiring))).expect(400);
    }
}

fn an_empty_list_states_that_nobody_has_been_rejected() {
    let (_app, hiring, recruiter) = start();
    for (language, text) in [
        ("en", "Nobody has been rejected"),
        ("de", "Noch keine Absagen"),
        ("fr", "Aucun refus pour l’instant"),
        ("es", "Todavía no hay rechazos"),
    ] {
        assert_has(&recruiter.get(&format!("{}?lang={language}", path(&hiring))).expect(200).text(), &[text]);
    }
}

fn a_plain_member_reads_the_list_without_forms() {
    let (app, hiring, _) = start();
    reject(&app, &hiring, 0);
    let page = app.browser(&hiring, "member").get(&path(&hiring)).expect(200).text();
    assert!(page.contains("Skills do not match") && !page.contains("<form"), "{page}");
}

fn an_erased_candidate_has_no_form() {
    let (app, hiring, recruiter) = start();
    reject(&app, &hiring, 0);
    app.user_with_all(&hiring.staff("owner")).delete(&hiring.candidate_path(0)).expect(200);
    let page = recruiter.get(&path(&hiring)).expect(200).text();
    assert!(!page.contains("Reopen") && !page.contains("Quixworth"), "{page}");
}

fn a_role_of_another_organization_is_not_found() {
    let (app, hiring, recruiter) = start();
    let other = app.hiring();
    reject(&app, &other, 0);
    recruiter.get(&app_path(&hiring, &format!("roles/{}/not-selected", other.role_id))).expect(404);
    let cursor = recruiter.get(&format!("{}?limit=1", path(&hiring)));
    assert!(!cursor.expect(200).text().contains("Candidate 1"));
}
