//! Later marks in the staff console: on the board, on the candidate's page, in the review queue and in the inbox.

use serde_json::json;

use crate::support::console::{app_path, follow};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_candidate_is_put_aside_until_a_day_and_brought_back,
    the_board_puts_several_candidates_aside_and_undoes_the_whole_batch,
    the_board_undoes_several_marks_without_javascript,
    the_board_asks_for_another_day_if_the_day_is_refused,
    an_invalid_day_changes_nothing_and_is_explained,
    the_same_person_can_undo_a_mark_for_ten_minutes,
    a_due_mark_is_restored_by_an_undo,
    a_mark_from_an_old_page_is_refused_with_the_current_step,
    a_candidate_who_is_put_aside_leaves_the_review_queue_until_the_due_day,
    a_queue_that_has_begun_shows_who_was_put_aside,
    the_inbox_shows_who_came_back_until_somebody_decides,
    the_list_of_candidates_who_came_back_has_pages,
    a_plain_member_may_not_put_candidates_aside,
    applications_of_other_organizations_are_not_found,
    due_days_are_named_in_each_language,
];

/// Starts a service whose clock is at 2026-11-21T09:00:00Z, a Saturday.
fn start() -> (App, Hiring, Client) {
    let app = App::start();
    let hiring = app.hiring();
    let recruiter = app.browser(&hiring, "hr_representative");
    (app, hiring, recruiter)
}

fn later_path(hiring: &Hiring, candidate: usize) -> String {
    app_path(hiring, &format!("applications/{}/later", hiring.candidates[candidate].application_id))
}

fn candidate_page(client: &Client, hiring: &Hiring, candidate: usize) -> String {
    client
        .get(&app_path(hiring, &format!("candidates/{}", hiring.candidates[candidate].candidate_id)))
        .expect(200)
        .text()
}

fn board(client: &Client, hiring: &Hiring) -> String {
    client.get(&app_path(hiring, &format!("roles/{}", hiring.role_id))).expect(200).text()
}

fn decide(client: &Client, hiring: &Hiring, candidates: &[usize], fields: &[(&str, &str)], is_part: bool) -> Answer {
    let cards = candidates.iter().map(|candidate| ("card", hiring.candidates[*candidate].steps[1].as_str()));
    let fields: Vec<(&str, &str)> = fields.iter().copied().chain(cards).collect();
    let path = app_path(hiring, &format!("roles/{}/decide", hiring.role_id));
    if is_part { client.submit_for_parts(&path, &fields) } else { client.submit(&path, &fields) }
}

/// Returns the due day of each application in the database, or an empty string if the application has no later mark.
fn marks(app: &App) -> Vec<String> {
    app.sql("SELECT coalesce(later_due_on, '') FROM candidate_roles ORDER BY id")
}

#[track_caller]
fn assert_has(page: &str, texts: &[&str]) {
    for text in texts {
        assert!(page.contains(text), "{text} is not in:\n{page}");
    }
}

fn a_candidate_is_put_aside_until_a_day_and_brought_back() {
    let (app, hiring, recruiter) = start();
    let seen = hiring.candidates[0].steps[1].as_str();
    for (field, value, day, words) in [
        ("days", "1", "2026-11-22", "Sunday"),
        ("days", "7", "2026-11-28", "28 November 2026"),
        ("dueOn", "2026-11-27", "2026-11-27", "Friday"),
        ("dueOn", "2027-11-21", "2027-11-21", "21 November 2027"),
    ] {
        let fields = [("seen", seen), (field, value)];
        let page = follow(&recruiter, recruiter.submit(&later_path(&hiring, 0), &fields)).text();
        assert_eq!(marks(&app)[0], day);
        let done = format!("Candidate 1 is put aside until {words}.");
        assert_has(
            &page,
            &[
                &done,
                "The candidate does not see this.",
                &format!("<span class=\"tag\">put aside until {words}</span>"),
                "Bring back now",
            ],
        );
        assert_has(&board(&recruiter, &hiring), &[&format!("<span class=\"mark\">put aside until {words}</span>")]);
    }
    let take_up = later_path(&hiring, 0).replace("/later", "/take-up");
    let page = follow(&recruiter, recruiter.submit(&take_up, &[])).text();
    assert_has(&page, &["Candidate 1 is no longer put aside."]);
    assert!(!page.contains("put aside until") && !page.contains("Bring back now"), "{page}");
    recruiter.submit(&take_up, &[]).expect(303);
    assert_eq!(marks(&app).concat(), "");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_board_puts_several_candidates_aside_and_undoes_the_whole_batch() {
    let (app, hiring, recruiter) = start();
    decide(&recruiter, &hiring, &[1], &[("act", "later"), ("days", "7")], false).expect(303);
    let dialog = decide(&recruiter, &hiring, &[0, 1], &[("act", "ask-later")], true).expect(200).text();
    assert_has(
        &dialog,
        &["Put 2 candidates aside", "data-key=\"1\">1 day", "data-key=\"3\">1 week", "min=\"2026-11-22\""],
    );
    let parts = decide(&recruiter, &hiring, &[0, 1], &[("act", "later"), ("days", "3")], true).expect(200).text();
    assert_has(
        &parts,
        &["2 candidates were put aside.", "put aside until Tuesday", "name=\"batch\"", "data-key=\"z\""],
    );
    assert_eq!(marks(&app), ["2026-11-24", "2026-11-24", ""]);
    let undo = [("act", "undo"), ("batch", &newest_batch(&app))];
    let parts = decide(&recruiter, &hiring, &[], &undo, true).expect(200).text();
    assert_has(&parts, &["The decision to put 2 candidates aside was undone."]);
    assert_eq!(marks(&app), ["", "2026-11-28", ""], "the earlier mark is restored");
    decide(&recruiter, &hiring, &[], &undo, false).expect(409);
    let page =
        follow(&recruiter, decide(&recruiter, &hiring, &[2], &[("act", "later"), ("dueOn", "2026-12-24")], false));
    assert_has(&page.text(), &["Candidate 3 is put aside until 24 December 2026.", "/later/undo\""]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_board_undoes_several_marks_without_javascript() {
    let (app, hiring, recruiter) = start();
    let fields = [("act", "later"), ("days", "3")];
    let page = follow(&recruiter, decide(&recruiter, &hiring, &[0, 1, 2], &fields, false)).text();
    let batch = newest_batch(&app);
    assert_has(&page, &[&format!("name=\"batch\" value=\"{batch}\""), "data-key=\"z\""]);
    app.user(&hiring.staff("owner")).post_empty(&hiring.reject(1)).expect(200);
    let undo = [("act", "undo"), ("batch", batch.as_str())];
    let page = decide(&recruiter, &hiring, &[], &undo, false).expect(200).text();
    assert_has(&page, &["The decision to put 2 candidates aside was undone.", "The owner"]);
    assert_eq!(marks(&app).concat(), "");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn newest_batch(app: &App) -> String {
    app.sql("SELECT id FROM decision_batches ORDER BY number DESC LIMIT 1").remove(0)
}

fn the_board_asks_for_another_day_if_the_day_is_refused() {
    let (app, hiring, recruiter) = start();
    for fields in [vec![("dueOn", "2026-11-21")], vec![("days", "0")], vec![("dueOn", "soon")], vec![]] {
        for is_part in [true, false] {
            let fields: Vec<_> = [("act", "later")].into_iter().chain(fields.iter().copied()).collect();
            let page = decide(&recruiter, &hiring, &[0, 1], &fields, is_part).expect(400).text();
            assert_has(
                &page,
                &["Choose a day after today and within a year.", "Put 2 candidates aside", "name=\"dueOn\""],
            );
        }
    }
    assert_eq!(marks(&app).concat(), "");
}

fn an_invalid_day_changes_nothing_and_is_explained() {
    let (app, hiring, recruiter) = start();
    for fields in [
        vec![("dueOn", "2026-11-21")],
        vec![("dueOn", "2027-11-22")],
        vec![("dueOn", "2027-02-29")],
        vec![("days", "0")],
        vec![("days", "366")],
        vec![("days", "one")],
        vec![("days", "1"), ("dueOn", "2026-12-01")],
        vec![],
    ] {
        let page = recruiter.submit(&later_path(&hiring, 0), &fields).expect(400).text();
        assert_has(&page, &["Choose a day after today and within a year."]);
        assert_eq!(marks(&app).concat(), "", "{fields:?}");
    }
    for fields in [[("days", "365")], [("dueOn", "2027-11-21")]] {
        recruiter.submit(&later_path(&hiring, 0), &fields).expect(303);
        assert_eq!(marks(&app)[0], "2027-11-21");
    }
}

fn the_same_person_can_undo_a_mark_for_ten_minutes() {
    let (app, hiring, recruiter) = start();
    let undo = |client: &Client| client.submit(&format!("{}/undo", later_path(&hiring, 0)), &[]);
    let page = follow(&recruiter, recruiter.submit(&later_path(&hiring, 0), &[("days", "1")])).text();
    assert_has(&page, &[&format!("action=\"{}/undo\"", later_path(&hiring, 0)), "data-key=\"z\""]);
    undo(&app.browser(&hiring, "owner")).expect(403);
    app.pass(599);
    let page = follow(&recruiter, undo(&recruiter)).text();
    assert_has(&page, &["Candidate 1 is no longer put aside."]);
    assert_eq!(marks(&app).concat(), "");
    recruiter.submit(&later_path(&hiring, 0), &[("days", "1")]).expect(303);
    app.pass(600);
    undo(&recruiter).expect(409);
    recruiter.submit(&later_path(&hiring, 0), &[("days", "3")]).expect(303);
    app.user_with_all(&hiring.staff("owner")).post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    let page = undo(&recruiter).expect(409).text();
    assert_has(&page, &["The owner"]);
    assert_eq!(marks(&app).concat(), "");
}

fn a_due_mark_is_restored_by_an_undo() {
    let (app, hiring, recruiter) = start();
    recruiter.submit(&later_path(&hiring, 0), &[("days", "1")]).expect(303);
    app.set_clock("2026-11-23T09:00:00Z");
    let recruiter = app.browser(&hiring, "hr_representative");
    recruiter.submit(&later_path(&hiring, 0), &[("days", "7")]).expect(303);
    recruiter.submit(&format!("{}/undo", later_path(&hiring, 0)), &[]).expect(303);
    assert_eq!(marks(&app)[0], "2026-11-22");
    assert_has(&candidate_page(&recruiter, &hiring, 0), &["back since 22 November 2026"]);
}

fn a_mark_from_an_old_page_is_refused_with_the_current_step() {
    let (app, hiring, recruiter) = start();
    let owner = app.user_with_all(&hiring.staff("owner"));
    owner.post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    owner.post_empty(&hiring.reject(1)).expect(200);
    let fields = [("seen", hiring.candidates[0].steps[1].as_str()), ("days", "1")];
    let page = recruiter.submit(&later_path(&hiring, 0), &fields).expect(409).text();
    assert_has(&page, &["The owner", "Candidate 1 is at Interview."]);
    recruiter.submit(&later_path(&hiring, 1), &[("days", "1")]).expect(409);
    let page = decide(&recruiter, &hiring, &[0, 1], &[("act", "later"), ("days", "1")], false).expect(409).text();
    assert_has(&page, &["Candidate 1 is at Interview."]);
    let page = decide(&recruiter, &hiring, &[0, 2], &[("act", "later"), ("days", "1")], false).expect(200).text();
    assert_has(&page, &["Candidate 3 is put aside until Sunday."]);
    assert_eq!(marks(&app), ["", "", "2026-11-22"]);
}

fn review(client: &Client, hiring: &Hiring) -> Answer {
    let path = format!("review?role={}&step={}", hiring.role_id, hiring.role_steps[1]);
    follow(client, client.get(&app_path(hiring, &path)))
}

fn a_candidate_who_is_put_aside_leaves_the_review_queue_until_the_due_day() {
    let (app, hiring, recruiter) = start();
    app.change("UPDATE organizations SET time_zone = 'Europe/Berlin'");
    for candidate in [0, 1] {
        recruiter.submit(&later_path(&hiring, candidate), &[("days", "1")]).expect(303);
    }
    app.pass(1);
    let listed = |page: &Answer| page.text().matches("data-queue").count();
    let page = review(&recruiter, &hiring);
    assert!(!page.text().contains("Candidate 1<") && page.text().contains("Candidate 3"), "{}", page.text());
    app.set_clock("2026-11-21T22:59:59Z");
    let recruiter = app.browser(&hiring, "hr_representative");
    let before = listed(&review(&recruiter, &hiring));
    app.set_clock("2026-11-21T23:00:00Z");
    let page = review(&recruiter, &hiring);
    assert!(listed(&page) > before, "the day begins in the organization's time zone");
    assert_has(&page.text(), &["Candidate 1", "Candidate 2", "back today"]);
}

fn a_queue_that_has_begun_shows_who_was_put_aside() {
    let (app, hiring, recruiter) = start();
    app.pass(1);
    let page = review(&recruiter, &hiring).text();
    let back = page.split("name=\"back\" value=\"").nth(1).unwrap().split('"').next().unwrap().replace("&#38;", "&");
    let back = back.replace("&amp;", "&");
    app.pass(1);
    let fields = [("days", "1"), ("back", back.as_str())];
    let next = follow(&recruiter, recruiter.submit(&later_path(&hiring, 0), &fields)).text();
    assert_has(
        &next,
        &["Candidate 1 is put aside until Sunday.", "put aside</bdi>", "<h1 id=\"title\">Candidate 2</h1>"],
    );
    let own = app.browser(&hiring, "owner");
    assert_has(&own.get(&back).expect(200).text(), &["put aside by The hr_representative"]);
    let undone = recruiter.submit(&format!("{}/undo", later_path(&hiring, 0)), &[("back", back.as_str())]);
    assert!(!follow(&recruiter, undone).text().contains("put aside</bdi>"));
}

fn the_inbox_shows_who_came_back_until_somebody_decides() {
    let (app, hiring, recruiter) = start();
    for candidate in [0, 1] {
        recruiter.submit(&later_path(&hiring, candidate), &[("days", "1")]).expect(303);
    }
    let inbox = || app.browser(&hiring, "hr_representative").get("/app").expect(200).text();
    let page = inbox();
    assert!(!page.contains("Came back"), "{page}");
    assert_has(&page, &["1 in review"]);
    app.set_clock("2026-11-22T00:00:00Z");
    let page = inbox();
    let link = format!("href=\"{}\"", app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id)));
    assert_has(
        &page,
        &["<h3>Came back</h3>", &link, ">Candidate 2</a>", "Engineer · Call", "back today", "3 in review"],
    );
    let recruiter = app.browser(&hiring, "hr_representative");
    recruiter.submit(&later_path(&hiring, 0), &[("days", "1")]).expect(303);
    app.user_with_all(&hiring.staff("owner")).post_empty(&hiring.reject(1)).expect(200);
    assert!(!inbox().contains("Came back"));
}

fn the_list_of_candidates_who_came_back_has_pages() {
    let (app, hiring, recruiter) = start();
    let list = app_path(&hiring, "later");
    assert_has(&recruiter.get(&list).expect(200).text(), &["Nobody has come back"]);
    for (candidate, days) in [(0, "2"), (1, "1"), (2, "2")] {
        recruiter.submit(&later_path(&hiring, candidate), &[("days", days)]).expect(303);
    }
    app.set_clock("2026-11-24T09:00:00Z");
    let member = app.browser(&hiring, "member");
    let mut path = format!("{list}?limit=1");
    for name in ["Candidate 2", "Candidate 1", "Candidate 3"] {
        let page = member.get(&path).expect(200).text();
        assert_has(&page, &[&format!(">{name}</a>")]);
        if let Some(rest) = page.split("rel=\"next\" href=\"").nth(1) {
            path = format!("{}&limit=1", rest.split('"').next().unwrap());
        }
    }
    assert!(!member.get(&path).expect(200).text().contains("rel=\"next\""));
    member.get(&format!("{list}?cursor=x")).expect(400);
}

fn a_plain_member_may_not_put_candidates_aside() {
    let (app, hiring, _) = start();
    let member = app.browser(&hiring, "member");
    member.submit(&later_path(&hiring, 0), &[("days", "1")]).expect(403);
    member.submit(&format!("{}/undo", later_path(&hiring, 0)), &[]).expect(403);
    member.submit(&later_path(&hiring, 0).replace("/later", "/take-up"), &[]).expect(403);
    for act in ["later", "undo", "ask-later"] {
        let fields = [("act", act), ("days", "1"), ("batch", "batch_1")];
        decide(&member, &hiring, &[0], &fields, false).expect(403);
    }
    assert!(!candidate_page(&member, &hiring, 0).contains("/later\""));
    assert_eq!(marks(&app).concat(), "");
}

fn applications_of_other_organizations_are_not_found() {
    let (app, hiring, recruiter) = start();
    let other = app.hiring();
    let foreign = &other.candidates[0].application_id;
    for act in ["later", "later/undo", "take-up"] {
        recruiter.submit(&app_path(&hiring, &format!("applications/{foreign}/{act}")), &[("days", "1")]).expect(404);
    }
    let fields = [("act", "later"), ("days", "1"), ("card", other.candidates[0].steps[1].as_str())];
    recruiter.submit(&app_path(&hiring, &format!("roles/{}/decide", hiring.role_id)), &fields).expect(409);
    assert_eq!(marks(&app).concat(), "");
}

fn due_days_are_named_in_each_language() {
    let (app, hiring, recruiter) = start();
    recruiter.submit(&later_path(&hiring, 0), &[("dueOn", "2026-11-26")]).expect(303);
    let candidate = app_path(&hiring, &format!("candidates/{}", hiring.candidates[0].candidate_id));
    for (language, words) in [
        ("en", "<span class=\"tag\">put aside until Thursday</span>"),
        ("de", "zurückgestellt bis Donnerstag"),
        ("fr", "<span class=\"tag\">mise de côté jusqu’à jeudi</span>"),
        ("es", "aplazada hasta el jueves"),
    ] {
        assert_has(&recruiter.get(&format!("{candidate}?lang={language}")).expect(200).text(), &[words]);
    }
    assert_eq!(
        app.sql("SELECT detail FROM activities WHERE action = 'candidate_role.put_aside'"),
        [json!({
            "before": { "laterDueOn": null }, "after": { "laterDueOn": "2026-11-26" }
        })
        .to_string()]
    );
}
