//! `POST /app/{orgSlug}/roles/{id}/decide`: decisions on the chosen candidates of a board.

use serde_json::json;

use crate::support::console::{follow, form_body};
use crate::support::hiring::{first_role_of, set_steps};
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    an_advance_leads_back_to_the_board_with_a_message,
    a_move_forward_appends_the_card_to_its_new_step,
    a_move_back_puts_the_card_at_its_old_position,
    a_rejection_can_have_a_documented_reason_and_a_note,
    several_candidates_are_decided_on_together,
    a_candidate_whom_somebody_else_has_moved_is_not_decided_on,
    the_other_candidates_are_decided_on_if_the_decision_on_one_is_refused,
    many_refusals_are_counted,
    an_advance_at_the_last_step_shows_what_to_do,
    a_move_to_an_unknown_step_or_to_the_current_step_is_refused,
    a_form_without_candidates_shows_the_board_again,
    an_invalid_form_changes_nothing,
    at_most_500_candidates_are_decided_on,
    a_form_sent_twice_decides_once,
    a_plain_member_may_not_decide,
    steps_of_other_organizations_are_unknown,
    the_forms_ask_for_the_step_and_for_the_reason,
    the_menu_of_a_candidate_offers_the_decisions,
    the_menu_is_refused_without_exactly_one_candidate_of_the_role,
    the_same_person_can_undo_a_decision_for_ten_minutes,
    an_undo_of_several_decisions_restores_each_application,
    only_the_person_who_decided_can_undo_a_decision,
    hostile_names_are_shown_as_text,
    a_candidate_whom_two_people_advance_at_the_same_time_moves_one_step,
];

fn path(hiring: &Hiring) -> String {
    format!("/app/{}/roles/{}/decide", hiring.slug, hiring.role_id)
}

/// Returns the value of a candidate's card while the candidate is at the second step.
fn card(hiring: &Hiring, candidate: usize) -> &str {
    &hiring.candidates[candidate].steps[1]
}

fn advance(owner: &Client, hiring: &Hiring, candidate: usize) -> Answer {
    owner.submit(&path(hiring), &[("act", "advance"), ("card", card(hiring, candidate))])
}

fn an_advance_leads_back_to_the_board_with_a_message() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let fields = [("act", "advance"), ("card", card(&hiring, 0)), ("view", hiring.role_steps[1].as_str())];
    let answer = owner.submit(&path(&hiring), &fields).expect(303);
    let board = format!("/app/{}/roles/{}", hiring.slug, hiring.role_id);
    let expected = format!("{board}?step={}&done={}", hiring.role_steps[1], hiring.candidates[0].application_id);
    assert_eq!(answer.header("location"), Some(expected.as_str()));
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    let page = owner.get(&expected).expect(200).text();
    assert!(page.contains("Candidate 1 is now at Interview."), "{page}");
    let undo = format!("/app/{}/applications/{}/undo", hiring.slug, hiring.candidates[0].application_id);
    assert!(page.contains(&format!("action=\"{undo}\"")), "{page}");
    let sql = "SELECT action, user_id FROM activities ORDER BY number DESC LIMIT 1";
    assert_eq!(app.sql(sql), [format!("candidate_step.validated|{}", hiring.staff("owner"))]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_move_forward_appends_the_card_to_its_new_step() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let to = &hiring.role_steps[3];
    let fields = [("to", to.as_str()), ("card", card(&hiring, 0)), ("next", "n-somebody")];
    let parts = owner.submit_for_parts(&path(&hiring), &fields).expect(200).text();
    let id = &hiring.candidates[0].application_id;
    for text in [
        format!("<template data-for=\"c-{id}\"></template>"),
        format!("<template data-append=\"end-{to}\"><li class=\"card\" id=\"c-{id}\">"),
        format!("value=\"{}\"", hiring.candidates[0].steps[3]),
        format!("id=\"count-{to}\">1</span>"),
        format!("id=\"count-{}\">2</span>", hiring.role_steps[1]),
        "Candidate 1 is now at Offer.".to_owned(),
        "<template data-focus=\"n-somebody\">".to_owned(),
    ] {
        assert!(parts.contains(&text), "{text}: {parts}");
    }
    assert!(!parts.contains("<html"), "{parts}");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "skipped", "in_progress"]);
}

fn a_move_back_puts_the_card_at_its_old_position() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.pass(60);
    advance(&owner, &hiring, 0).expect(303);
    let fields = [("to", hiring.role_steps[1].as_str()), ("card", hiring.candidates[0].steps[2].as_str())];
    let parts = owner.submit_for_parts(&path(&hiring), &fields).expect(200).text();
    let next = format!("data-before=\"c-{}\"", hiring.candidates[1].application_id);
    assert!(parts.contains(&next) && parts.contains("18 days here"), "{parts}");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
}

fn a_rejection_can_have_a_documented_reason_and_a_note() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let reject = |reason, notes| {
        let fields = [("act", "reject"), ("card", card(&hiring, 0)), ("reason", reason), ("notes", notes)];
        owner.submit_for_parts(&path(&hiring), &fields)
    };
    reject("no_such_reason", "").expect(400);
    let parts = reject("lacking_skills", "No Rust\r\nyet").expect(200).text();
    assert!(parts.contains("Candidate 1 was rejected at Call.") && !parts.contains("data-append"), "{parts}");
    // The first rejection adds the link to the candidates who were not selected.
    assert!(parts.contains("<p class=\"ended quiet\" id=\"ended\"><a href"), "{parts}");
    assert!(parts.contains("id=\"count-ended\">1</span>"), "{parts}");
    let sql = format!(
        "SELECT outcome_type, outcome_reason, rejection_reason FROM candidate_role_steps WHERE id = '{}'",
        card(&hiring, 0)
    );
    assert_eq!(app.sql(&sql), ["rejected_by_organization|lacking_skills|No Rust\nyet"]);
    // A reason and a note are optional.
    owner.submit(&path(&hiring), &[("act", "reject"), ("card", card(&hiring, 1))]).expect(303);
}

fn several_candidates_are_decided_on_together() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let all = |act| [("act", act), ("card", card(&hiring, 0)), ("card", card(&hiring, 1)), ("card", card(&hiring, 2))];
    let answer = owner.submit(&path(&hiring), &all("advance")).expect(303);
    let location = answer.header("location").unwrap();
    let batch = app.sql("SELECT id FROM decision_batches").remove(0);
    assert!(location.ends_with(&format!("?decided=3&batch={batch}")), "{location}");
    let page = owner.get(location).expect(200).text();
    assert!(page.contains("The decision about 3 candidates is saved."), "{page}");
    assert!(page.contains(&format!("name=\"batch\" value=\"{batch}\"")), "{page}");
    // Only the person who decided gets the form that undoes the decision.
    let page = app.browser(&hiring, "moderator").get(location).expect(200).text();
    assert!(page.contains("The decision about 3 candidates is saved.") && !page.contains(&batch), "{page}");
    for candidate in 0..3 {
        assert_eq!(hiring.step_statuses(&app, candidate)[2], "in_progress");
    }
    let cards = [0, 1, 2].map(|candidate| ("card", hiring.candidates[candidate].steps[2].as_str()));
    let parts = owner.submit_for_parts(&path(&hiring), &[&cards[..], &[("act", "reject")]].concat()).expect(200).text();
    assert!(parts.contains("3 candidates were rejected."), "{parts}");
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_candidate_whom_somebody_else_has_moved_is_not_decided_on() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, moderator) = (app.browser(&hiring, "owner"), app.browser(&hiring, "moderator"));
    advance(&moderator, &hiring, 0).expect(303);
    app.pass(120);
    for act in ["advance", "reject"] {
        let page = owner.submit(&path(&hiring), &[("act", act), ("card", card(&hiring, 0))]).expect(409).text();
        for text in ["Nothing was changed", "by The moderator, 2 minutes ago", "Candidate 1 is at Interview."] {
            assert!(page.contains(text), "{act} {text}: {page}");
        }
    }
    // The answer to a partial request has the card at its current step.
    let fields = [("to", hiring.role_steps[3].as_str()), ("card", card(&hiring, 0))];
    let parts = owner.submit_for_parts(&path(&hiring), &fields).expect(409).text();
    assert!(parts.contains(&format!("data-append=\"end-{}\"", hiring.role_steps[2])), "{parts}");
    assert!(parts.contains("by The moderator, 2 minutes ago"), "{parts}");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
}

fn the_other_candidates_are_decided_on_if_the_decision_on_one_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    advance(&owner, &hiring, 0).expect(303);
    let fields =
        [("act", "advance"), ("card", card(&hiring, 0)), ("card", card(&hiring, 1)), ("card", "cstep_unknown")];
    let page = owner.submit(&path(&hiring), &fields).expect(200).text();
    for text in [
        "Not everything was changed",
        "Candidate 2 is now at Interview.",
        "Candidate 1 is at Interview.",
        "1 candidate is no longer in progress at this role.",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

fn many_refusals_are_counted() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let people = (0..7).map(|nth| {
            json!({ "applicationId": format!("app_{nth}"), "name": format!("P{nth}"), "email": format!("p{nth}@a.example"),
                "steps": [{ "id": format!("cs_{nth}"), "roleStepId": "step_only", "status": "in_progress" }] })
        });
        let role = first_role_of(document);
        role["candidates"] = people.collect();
        role["steps"] = json!([{ "id": "step_only", "name": "Only" }]);
    });
    let owner = app.browser(&hiring, "owner");
    let values: Vec<String> = (0..7).map(|nth| format!("cs_{nth}")).collect();
    let mut fields: Vec<(&str, &str)> = values.iter().map(|value| ("card", value.as_str())).collect();
    fields.push(("act", "advance"));
    let page = owner.submit(&path(&hiring), &fields).expect(409).text();
    assert_eq!(page.matches("is at the last step, Only.").count(), 5, "{page}");
    assert!(page.contains("2 more applications were not changed."), "{page}");
}

fn an_advance_at_the_last_step_shows_what_to_do() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["validated", "validated", "validated", "in_progress"]);
    });
    let fields = [("act", "advance"), ("card", hiring.candidates[0].steps[3].as_str())];
    let page = app.browser(&hiring, "owner").submit(&path(&hiring), &fields).expect(409).text();
    assert!(page.contains("Candidate 1 is at the last step, Offer. Hire or reject them"), "{page}");
}

fn a_move_to_an_unknown_step_or_to_the_current_step_is_refused() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    for (to, message) in [
        (other.role_steps[2].as_str(), "The role has no such step."),
        ("step_unknown", "The role has no such step."),
        (&hiring.role_steps[1], "This decision is not possible for Candidate 1."),
    ] {
        let page = owner.submit(&path(&hiring), &[("to", to), ("card", card(&hiring, 0))]).expect(409).text();
        assert!(page.contains(message), "{page}");
    }
}

fn a_form_without_candidates_shows_the_board_again() {
    let app = App::start();
    let hiring = app.hiring();
    let page = app.browser(&hiring, "owner").submit(&path(&hiring), &[("act", "advance")]).expect(400).text();
    assert!(page.contains("Select the candidates first") && page.contains("id=\"board\""), "{page}");
}

fn an_invalid_form_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let long = "a".repeat(10_001);
    for fields in [
        &[("act", "hire")][..],
        &[("act", "")],
        &[],
        &[("act", "advance"), ("act", "reject")],
        &[("to", "not an id")],
        &[("act", "reject"), ("notes", long.as_str())],
        &[("act", "advance"), ("next", long.as_str())],
    ] {
        owner.submit(&path(&hiring), &[fields, &[("card", card(&hiring, 0))]].concat()).expect(400);
    }
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
}

fn at_most_500_candidates_are_decided_on() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let mut fields = vec![("act", "advance"), ("card", card(&hiring, 0))];
    fields.extend([("card", "cstep_unknown"); 500]);
    owner.submit(&path(&hiring), &fields).expect(400);
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
    fields.pop();
    let page = owner.submit(&path(&hiring), &fields).expect(200).text();
    assert!(page.contains("499 candidates are no longer in progress at this role."), "{page}");
    assert_eq!(hiring.step_statuses(&app, 0)[2], "in_progress");
}

fn a_form_sent_twice_decides_once() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    advance(&owner, &hiring, 0).expect(303);
    advance(&owner, &hiring, 0).expect(409);
    let both = [("act", "advance"), ("card", card(&hiring, 1)), ("card", card(&hiring, 1))];
    owner.submit(&path(&hiring), &both).expect(200);
    for candidate in [0, 1] {
        assert_eq!(hiring.step_statuses(&app, candidate), ["validated", "validated", "in_progress", "pending"]);
    }
}

fn a_plain_member_may_not_decide() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.browser(&hiring, "member");
    for fields in [
        &[("act", "advance")][..],
        &[("act", "ask-move")],
        &[("act", "undo")],
        &[("to", hiring.role_steps[2].as_str())],
    ] {
        member.submit(&path(&hiring), &[fields, &[("card", card(&hiring, 0))]].concat()).expect(403);
    }
    member.get(&format!("{}?card={}", path(&hiring), card(&hiring, 0))).expect(403);
    let board = member.get(&format!("/app/{}/roles/{}", hiring.slug, hiring.role_id)).expect(200).text();
    assert!(!board.contains("type=\"checkbox\"") && !board.contains("name=\"act\""), "{board}");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
}

fn steps_of_other_organizations_are_unknown() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    let shown = |value| {
        let answer = owner.submit(&path(&hiring), &[("act", "advance"), ("card", value)]).expect(409);
        answer.text().replace(answer.header("x-request-id").unwrap(), "")
    };
    assert_eq!(shown(card(&other, 0)), shown("cstep_unknown"));
    assert_eq!(shown("<script>"), shown("cstep_unknown"));
    assert_eq!(other.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
    // A member of both organizations names a candidate of one organization on the board of the other.
    app.change(&format!(
        "INSERT INTO memberships VALUES ('{}', '{}', 'owner', 0)",
        hiring.staff("owner"),
        other.organization_id
    ));
    assert_eq!(shown(card(&other, 0)), shown("cstep_unknown"));
    owner.get(&format!("{}?card={}", path(&hiring), card(&other, 0))).expect(404);
}

fn the_forms_ask_for_the_step_and_for_the_reason() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let ask = |act| [("act", act), ("card", card(&hiring, 0)), ("next", "n-next")];
    let page = owner.submit(&path(&hiring), &ask("ask-move")).expect(200).text();
    assert!(page.contains("<h1 id=\"title\">Move Candidate 1 to</h1>"), "{page}");
    for (step, is_offered) in [(0, true), (1, false), (2, true), (3, true)] {
        let button = format!("<button name=\"to\" value=\"{}\"", hiring.role_steps[step]);
        assert_eq!(page.contains(&button), is_offered, "{step}: {page}");
    }
    let dialog = owner.submit_for_parts(&path(&hiring), &ask("ask-reject")).expect(200).text();
    for text in [
        "<template data-dialog>",
        "Reject Candidate 1",
        "name=\"next\" value=\"n-next\"",
        "value=\"lacking_skills\" data-key=\"1\"",
    ] {
        assert!(dialog.contains(text), "{text}: {dialog}");
    }
    assert!(!dialog.contains("name=\"to\""), "{dialog}");
    let both = [("act", "ask-reject"), ("card", card(&hiring, 0)), ("card", card(&hiring, 1))];
    let page = owner.submit(&path(&hiring), &both).expect(200).text();
    assert!(page.contains("Reject 2 candidates") && page.matches("name=\"card\"").count() == 2, "{page}");
    assert_eq!(hiring.step_statuses(&app, 0), ["validated", "in_progress", "pending", "pending"]);
}

fn the_menu_of_a_candidate_offers_the_decisions() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let page = owner.get(&format!("{}?card={}", path(&hiring), card(&hiring, 0))).expect(200).text();
    let hire = format!("href=\"/app/{}/applications/{}/hire?back=", hiring.slug, hiring.candidates[0].application_id);
    for text in ["Decide about Candidate 1", "value=\"advance\"", "name=\"to\"", "value=\"reject\"", &hire] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let last = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["validated", "validated", "validated", "in_progress"]);
    });
    let path = format!("{}?card={}", path(&last), last.candidates[0].steps[3]);
    let page = app.browser(&last, "owner").with_header("X-Part", "1").get(&path).expect(200).text();
    assert!(page.contains("<template data-dialog>") && !page.contains("value=\"advance\""), "{page}");
}

fn the_menu_is_refused_without_exactly_one_candidate_of_the_role() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for query in ["", "?card=", "?card=cstep_unknown", "?card=%3Cscript%3E"] {
        owner.get(&format!("{}{query}", path(&hiring))).expect(404);
    }
    owner.get(&format!("{}?card=a&card=b", path(&hiring))).expect(400);
}

fn newest_batch(app: &App) -> String {
    app.sql("SELECT id FROM decision_batches ORDER BY number DESC LIMIT 1").remove(0)
}

fn the_same_person_can_undo_a_decision_for_ten_minutes() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let before = hiring.step_statuses(&app, 0);
    let parts =
        owner.submit_for_parts(&path(&hiring), &[("act", "reject"), ("card", card(&hiring, 0))]).expect(200).text();
    let batch = newest_batch(&app);
    let undo = [("act", "undo"), ("batch", batch.as_str())];
    assert!(parts.contains("<button data-key=\"z\">") && parts.contains(&format!("value=\"{batch}\"")), "{parts}");
    app.pass(599);
    let parts = owner.submit_for_parts(&path(&hiring), &undo).expect(200).text();
    assert!(parts.contains(&format!("data-append=\"end-{}\"", hiring.role_steps[1])), "{parts}");
    assert!(!parts.contains("data-key=\"z\""), "an undo cannot be undone: {parts}");
    assert_eq!(hiring.step_statuses(&app, 0), before);
    // A batch can be undone only once.
    owner.submit(&path(&hiring), &undo).expect(409);
    advance(&owner, &hiring, 0).expect(303);
    let batch = newest_batch(&app);
    app.pass(600);
    let page = owner.submit(&path(&hiring), &[("act", "undo"), ("batch", &batch)]).expect(409).text();
    assert!(page.contains("Nothing was changed") && page.contains("can no longer be undone"), "{page}");
    assert_eq!(hiring.step_statuses(&app, 0)[2], "in_progress");
}

fn an_undo_of_several_decisions_restores_each_application() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let all = |act| [("act", act), ("card", card(&hiring, 0)), ("card", card(&hiring, 1)), ("card", card(&hiring, 2))];
    owner.submit(&path(&hiring), &all("reject")).expect(303);
    let undo = newest_batch(&app);
    let parts = owner.submit_for_parts(&path(&hiring), &[("act", "undo"), ("batch", &undo)]).expect(200).text();
    assert!(parts.contains("3 decisions were undone."), "{parts}");
    // Without JavaScript, the next page shows the board with the same message.
    owner.submit(&path(&hiring), &all("reject")).expect(303);
    let undo = newest_batch(&app);
    let page = follow(&owner, owner.submit(&path(&hiring), &[("act", "undo"), ("batch", &undo)])).text();
    assert!(page.contains("3 decisions were undone.") && !page.contains("data-key=\"z\""), "{page}");
    // If somebody has acted on one candidate since, only the decisions on the others are undone.
    owner.submit(&path(&hiring), &all("reject")).expect(303);
    let undo = newest_batch(&app);
    let reopen = hiring.decision(1, 1, "reopen");
    app.user_with_all(&hiring.staff("moderator")).post(&reopen, &json!({ "reason": "Again." })).expect(200);
    let page = owner.submit(&path(&hiring), &[("act", "undo"), ("batch", &undo)]).expect(200).text();
    assert!(page.contains("2 decisions were undone.") && page.contains("by The moderator"), "{page}");
    for candidate in 0..3 {
        assert_eq!(hiring.step_statuses(&app, candidate), ["validated", "in_progress", "pending", "pending"]);
    }
    assert_eq!(app.check(), Vec::<String>::new());
}

fn only_the_person_who_decided_can_undo_a_decision() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, moderator) = (app.browser(&hiring, "owner"), app.browser(&hiring, "moderator"));
    advance(&owner, &hiring, 0).expect(303);
    let batch = newest_batch(&app);
    moderator.submit(&path(&hiring), &[("act", "undo"), ("batch", &batch)]).expect(409);
    let other = app.hiring();
    app.browser(&other, "owner").submit(&path(&other), &[("act", "undo"), ("batch", &batch)]).expect(409);
    owner.submit(&path(&hiring), &[("act", "undo"), ("batch", "not an id")]).expect(400);
    owner.submit(&path(&hiring), &[("act", "undo"), ("batch", "batch_unknown")]).expect(409);
    assert_eq!(hiring.step_statuses(&app, 0)[2], "in_progress");
}

fn hostile_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let hostile = json!("<script>alert(1)</script>\"'&");
        first_role_of(document)["candidates"][0]["name"] = hostile.clone();
        first_role_of(document)["steps"][2]["name"] = hostile;
    });
    let owner = app.browser(&hiring, "owner");
    let answers = [
        owner.get(&format!("{}?card={}", path(&hiring), card(&hiring, 0))).expect(200),
        owner.submit_for_parts(&path(&hiring), &[("act", "ask-move"), ("card", card(&hiring, 0))]).expect(200),
        owner.submit_for_parts(&path(&hiring), &[("act", "advance"), ("card", card(&hiring, 0))]).expect(200),
        owner.submit(&path(&hiring), &[("act", "advance"), ("card", card(&hiring, 0))]).expect(409),
    ];
    for answer in answers {
        let text = answer.text();
        assert!(text.contains("&#60;script&#62;alert(1)") && !text.contains("<script>alert"), "{text}");
    }
}

fn a_candidate_whom_two_people_advance_at_the_same_time_moves_one_step() {
    let app = App::start();
    for _ in 0..5 {
        let hiring = app.hiring();
        let body = form_body(&[("act", "advance"), ("card", card(&hiring, 0))]);
        let runner = |org_role| Runner {
            client: app.browser(&hiring, org_role).with_header("Content-Type", "application/x-www-form-urlencoded"),
            method: "POST",
            path: path(&hiring),
            body: body.clone(),
        };
        let mut statuses: Vec<u16> =
            race(vec![runner("owner"), runner("moderator")]).iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [303, 409]);
        assert_eq!(hiring.step_statuses(&app, 0), ["validated", "validated", "in_progress", "pending"]);
    }
}
