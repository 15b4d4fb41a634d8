//! `/app/{orgSlug}/roles/{id}/close-out`: the candidates who are still in progress when a role ends are rejected
//! together.

use serde_json::json;

use crate::support::console::{app_path, follow};
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Client, Hiring, crowd};

crate::tests![
    the_console_offers_to_close_out_a_role_that_has_ended,
    all_candidates_are_preselected_and_those_who_stay_selected_are_rejected_together,
    the_same_person_can_undo_the_whole_batch_for_ten_minutes,
    a_candidate_who_was_moved_in_the_meantime_is_not_rejected,
    a_rejection_that_cannot_be_saved_is_reported_as_such,
    a_candidate_without_a_current_step_is_rejected_too,
    more_than_500_candidates_are_rejected_page_by_page,
    an_open_role_is_not_closed_out,
    an_invalid_form_changes_nothing_and_is_shown_again,
    the_page_shows_when_candidates_see_the_rejection,
    a_plain_member_may_not_close_out,
    roles_batches_and_candidates_of_other_organizations_are_unknown,
];

fn path(hiring: &Hiring) -> String {
    app_path(hiring, &format!("roles/{}/close-out", hiring.role_id))
}

fn close(app: &App, hiring: &Hiring) {
    let path = format!("/api/v1/roles/{}/close", hiring.role_id);
    app.user_with_all(&hiring.staff("owner")).post(&path, &json!({ "reason": "a hiring freeze" })).expect(200);
}

/// Starts a service with a closed role that has three candidates in progress.
fn closed() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    close(&app, &hiring);
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

fn step(hiring: &Hiring, candidate: usize) -> (&str, &str) {
    ("step", &hiring.candidates[candidate].steps[1])
}

fn statuses(app: &App) -> Vec<String> {
    app.sql("SELECT status FROM candidate_roles ORDER BY id")
}

#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text} is not in:\n{page}");
    }
}

fn the_console_offers_to_close_out_a_role_that_has_ended() {
    let app = App::start();
    let hiring = app.hiring_with(|document| first_role_of(document)["positions"] = json!(1));
    let recruiter = app.browser(&hiring, "hr_representative");
    let offer = format!("href=\"{}\"", path(&hiring));
    let role = app_path(&hiring, &format!("roles/{}", hiring.role_id));
    let pages = [role.clone(), format!("{role}/edit"), app_path(&hiring, "roles?status=filled")];
    assert!(!recruiter.get(&role).expect(200).text().contains(&offer));
    let hire = app_path(&hiring, &format!("applications/{}/hire", hiring.candidates[0].application_id));
    let page = follow(&recruiter, recruiter.submit(&hire, &[])).text();
    assert_has(&page, &["2 candidates are still in progress here.", &offer]);
    for page in &pages {
        assert_has(&recruiter.get(page).expect(200).text(), &["still in progress", &offer]);
        let seen = app.browser(&hiring, "member").get(page).expect(200).text();
        assert!(seen.contains("still in progress") && !seen.contains(&offer), "{seen}");
    }
    follow(&recruiter, recruiter.submit(&path(&hiring), &[step(&hiring, 1), step(&hiring, 2)]));
    for page in pages {
        assert!(!recruiter.get(&page).expect(200).text().contains(&offer), "{page}");
    }
}

fn all_candidates_are_preselected_and_those_who_stay_selected_are_rejected_together() {
    let (app, hiring, recruiter) = closed();
    let page = recruiter.get(&path(&hiring)).expect(200).text();
    assert_eq!(page.matches("name=\"step\"").count(), 3);
    assert_eq!(page.matches("\" checked><label").count(), 3, "everybody is selected");
    assert_has(
        &page,
        &["The role is closed.", "3 candidates are still in progress here.", "value=\"role_closed\" checked"],
    );
    let fields = [step(&hiring, 0), step(&hiring, 2), ("reason", "role_closed"), ("notes", "The freeze")];
    let page = follow(&recruiter, recruiter.submit(&path(&hiring), &fields)).text();
    assert_has(&page, &["2 candidates were rejected.", "Candidate 2", "1 candidate is still in progress here."]);
    assert_eq!(statuses(&app), ["Not Selected", "In Progress", "Not Selected"]);
    let sql = "SELECT DISTINCT outcome_type, outcome_reason, rejection_reason FROM candidate_role_steps
               WHERE status = 'rejected'";
    assert_eq!(app.sql(sql), ["rejected_by_organization|role_closed|The freeze"]);
    let page = follow(&recruiter, recruiter.submit(&path(&hiring), &[step(&hiring, 1)])).text();
    assert_has(&page, &["No application is in progress here anymore."]);
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    assert_has(&recruiter.get(&candidate).expect(200).text(), &["The role was closed"]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_same_person_can_undo_the_whole_batch_for_ten_minutes() {
    let (app, hiring, recruiter) = closed();
    let all = [step(&hiring, 0), step(&hiring, 1), step(&hiring, 2)];
    let answer = recruiter.submit(&path(&hiring), &all).expect(303);
    let done = answer.header("location").unwrap().to_owned();
    let batch = done.split_once("batch=").unwrap().1;
    let page = recruiter.get(&done).expect(200).text();
    assert_has(&page, &["3 candidates were rejected.", &format!("value=\"{batch}\""), "data-key=\"z\""]);
    let owner = app.browser(&hiring, "owner");
    assert!(!owner.get(&done).expect(200).text().contains("were rejected"));
    let undo = |client: &Client| client.submit(&format!("{}/undo", path(&hiring)), &[("batch", batch)]);
    undo(&owner).expect(403);
    app.pass(599);
    let page = follow(&recruiter, undo(&recruiter)).text();
    assert_has(&page, &["3 decisions were undone.", "3 candidates are still in progress here."]);
    assert_eq!(statuses(&app), ["In Progress"; 3]);
    assert_has(&undo(&recruiter).expect(409).text(), &["These rejections can no longer be undone."]);
    let answer = recruiter.submit(&path(&hiring), &all).expect(303);
    let late = answer.header("location").unwrap().split_once("batch=").unwrap().1.to_owned();
    let reopen = hiring.decision(0, 1, "reopen");
    app.user_with_all(&hiring.staff("owner")).post(&reopen, &json!({ "reason": "a mistake" })).expect(200);
    let page = recruiter.submit(&format!("{}/undo", path(&hiring)), &[("batch", &late)]).expect(200).text();
    assert_has(&page, &["2 decisions were undone.", "1 rejection was not undone"]);
    let answer = recruiter.submit(&path(&hiring), &all).expect(303);
    let late = answer.header("location").unwrap().split_once("batch=").unwrap().1.to_owned();
    app.pass(600);
    recruiter.submit(&format!("{}/undo", path(&hiring)), &[("batch", &late)]).expect(409);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_candidate_who_was_moved_in_the_meantime_is_not_rejected() {
    let (app, hiring, recruiter) = closed();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    let page = recruiter.submit(&path(&hiring), &[step(&hiring, 0), step(&hiring, 1)]).expect(200).text();
    assert_has(&page, &["1 candidate was rejected.", "The owner", "Candidate 1 is at Interview.", "data-key=\"z\""]);
    assert_eq!(statuses(&app), ["In Progress", "Not Selected", "In Progress"]);
    let page = recruiter.submit(&path(&hiring), &[step(&hiring, 0), ("step", "no step")]).expect(409).text();
    assert_has(&page, &["Candidate 1 is at Interview.", "1 candidate is no longer in progress at this role."]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_rejection_that_cannot_be_saved_is_reported_as_such() {
    let (app, hiring, recruiter) = closed();
    app.forbid_where("UPDATE", "candidate_roles", &format!("old.id = '{}'", hiring.candidates[1].application_id));
    let page = recruiter.submit(&path(&hiring), &[step(&hiring, 0), step(&hiring, 1)]).expect(200).text();
    assert_has(&page, &["1 candidate was rejected.", "The decision about Candidate 2 could not be saved."]);
    assert_eq!(statuses(&app), ["Not Selected", "In Progress", "In Progress"]);
    app.allow("candidate_roles");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_candidate_without_a_current_step_is_rejected_too() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["validated", "validated", "skipped", "skipped"]);
    });
    close(&app, &hiring);
    let recruiter = app.browser(&hiring, "hr_representative");
    let application = hiring.candidates[0].application_id.as_str();
    let page = recruiter.get(&path(&hiring)).expect(200).text();
    assert_has(&page, &[&format!("name=\"application\" value=\"{application}\"")]);
    recruiter.submit(&path(&hiring), &[("application", application), step(&hiring, 1)]).expect(303);
    assert_eq!(statuses(&app), ["Not Selected", "Not Selected", "In Progress"]);
}

fn more_than_500_candidates_are_rejected_page_by_page() {
    let (app, hiring, recruiter) = closed();
    crowd::add(&app, &hiring, 499);
    let shown = |page: &str| -> Vec<(String, String)> {
        let values = page.split("name=\"step\" value=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        values.map(|value| ("step".to_owned(), value.to_owned())).collect()
    };
    let page = recruiter.get(&path(&hiring)).expect(200).text();
    assert_has(
        &page,
        &["This page shows the first 500 of 502 candidates. The others follow after you have rejected these."],
    );
    let fields = shown(&page);
    assert_eq!(fields.len(), 500);
    let fields: Vec<(&str, &str)> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let one_more: Vec<_> = fields.iter().copied().chain([("step", "step_501")]).collect();
    assert_has(&recruiter.submit(&path(&hiring), &one_more).expect(400).text(), &["Nothing was changed."]);
    let page = follow(&recruiter, recruiter.submit(&path(&hiring), &fields)).text();
    assert_has(&page, &["500 candidates were rejected.", "2 candidates are still in progress here."]);
    assert_eq!(shown(&page).len(), 2);
}

fn an_open_role_is_not_closed_out() {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.browser(&hiring, "hr_representative");
    assert_has(
        &recruiter.get(&path(&hiring)).expect(200).text(),
        &["The role is neither filled nor closed, so it cannot be closed out."],
    );
    let page = recruiter.submit(&path(&hiring), &[step(&hiring, 0)]).expect(409).text();
    assert_has(&page, &["The role is neither filled nor closed, so it cannot be closed out."]);
    assert_eq!(statuses(&app), ["In Progress"; 3]);
}

fn an_invalid_form_changes_nothing_and_is_shown_again() {
    let (app, hiring, recruiter) = closed();
    let long = "x".repeat(10_001);
    for fields in
        [vec![("notes", "typed")], vec![step(&hiring, 0), ("notes", &long)], vec![step(&hiring, 0), ("reason", "x")]]
    {
        let page = recruiter.submit(&path(&hiring), &fields).expect(400).text();
        assert_has(&page, &["Nothing was changed."]);
    }
    let page = recruiter.submit(&path(&hiring), &[("notes", "typed"), ("reason", "other")]).expect(400).text();
    assert_has(&page, &["Select at least one candidate.", ">typed</textarea>", "value=\"other\" checked"]);
    assert_eq!(page.matches("\" checked><label").count(), 0);
    recruiter.submit(&path(&hiring), &[("notes", "a"), ("notes", "b")]).expect(400);
    assert_eq!(statuses(&app), ["In Progress"; 3]);
    let fields = [step(&hiring, 0), step(&hiring, 0)];
    recruiter.submit(&path(&hiring), &fields).expect(200);
    assert_eq!(statuses(&app), ["Not Selected", "In Progress", "In Progress"]);
}

fn the_page_shows_when_candidates_see_the_rejection() {
    let (app, hiring, recruiter) = closed();
    for (hours, text) in [
        ("NULL", "The candidates’ status pages never show a rejection."),
        ("0", "The candidates’ status pages show the rejection at once."),
        ("48", "The candidates’ status pages show the rejection from 23 November 2026, 09:00."),
    ] {
        app.change(&format!("UPDATE organizations SET decision_visible_after_hours = {hours}"));
        assert_has(&recruiter.get(&path(&hiring)).expect(200).text(), &[text, "Candidates without a status page"]);
    }
    for (language, text) in
        [("de", "Was die Personen sehen"), ("fr", "Ce que voient les personnes"), ("es", "Qué ven las personas")]
    {
        assert_has(&recruiter.get(&format!("{}?lang={language}", path(&hiring))).expect(200).text(), &[text]);
    }
}

fn a_plain_member_may_not_close_out() {
    let (app, hiring, _) = closed();
    let member = app.browser(&hiring, "member");
    member.get(&path(&hiring)).expect(403);
    member.submit(&path(&hiring), &[step(&hiring, 0)]).expect(403);
    member.submit(&format!("{}/undo", path(&hiring)), &[("batch", "batch_1")]).expect(403);
    assert_eq!(statuses(&app), ["In Progress"; 3]);
}

fn roles_batches_and_candidates_of_other_organizations_are_unknown() {
    let (app, hiring, recruiter) = closed();
    let other = app.hiring();
    close(&app, &other);
    let foreign = app_path(&hiring, &format!("roles/{}/close-out", other.role_id));
    recruiter.get(&foreign).expect(404);
    recruiter.submit(&foreign, &[step(&other, 0)]).expect(404);
    recruiter.submit(&path(&hiring), &[step(&other, 0)]).expect(409);
    let answer = app.browser(&other, "owner").submit(&path(&other), &[step(&other, 0)]).expect(303);
    let batch = answer.header("location").unwrap().split_once("batch=").unwrap().1.to_owned();
    recruiter.submit(&format!("{}/undo", path(&hiring)), &[("batch", &batch)]).expect(404);
    recruiter.submit(&format!("{}/undo", path(&hiring)), &[]).expect(404);
    let page = recruiter.get(&format!("{}?batch={batch}", path(&hiring))).expect(200).text();
    assert!(!page.contains("rejected."), "{page}");
}
