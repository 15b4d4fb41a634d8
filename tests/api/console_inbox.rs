//! `GET /app`: the inbox, which covers all organizations of a user.

use serde_json::json;

use crate::support::App;
use crate::support::hiring::{first_role_of, set_steps};

crate::tests![
    the_inbox_counts_the_candidates_of_open_roles,
    roles_without_candidates_and_roles_that_are_not_open_are_left_out,
    the_inbox_shows_withdrawals_of_the_last_two_weeks,
    a_user_sees_only_their_organizations,
    a_user_without_organizations_gets_an_explanation,
];

fn the_inbox_counts_the_candidates_of_open_roles() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        set_steps(document, 0, "In Progress", &["in_progress", "pending", "pending", "pending"]);
        first_role_of(document)["candidates"][1]["steps"][0]["validatedAt"] = json!("2026-11-11T09:00:00Z");
        first_role_of(document)["candidates"][2]["steps"][0]["validatedAt"] = json!("2026-11-11T08:59:59Z");
    });
    let owner = app.browser(&hiring, "owner");
    let page = owner.get("/app").expect(200).text();
    assert!(page.contains(&format!("href=\"/app/{}/roles/{}\"", hiring.slug, hiring.role_id)), "{page}");
    for text in ["<b>1 new</b>", "2 in review", "2 waiting for over 10 days"] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let page = owner.get("/app?lang=de").expect(200).text();
    assert!(page.contains("2 warten seit über 10 Tagen"), "{page}");
}

fn roles_without_candidates_and_roles_that_are_not_open_are_left_out() {
    let app = App::start();
    let closed = app.hiring_with(|document| first_role_of(document)["status"] = json!("closed"));
    let page = app.browser(&closed, "owner").get("/app").expect(200).text();
    assert!(page.contains("Nobody is waiting for a decision.") && !page.contains("Engineer"), "{page}");
    let empty = app.hiring_with(|document| first_role_of(document)["candidates"] = json!([]));
    let page = app.browser(&empty, "owner").get("/app").expect(200).text();
    assert!(page.contains("Nobody is waiting for a decision.") && !page.contains("Engineer"), "{page}");
}

fn the_inbox_shows_withdrawals_of_the_last_two_weeks() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("/api/v1/candidate-roles/{}/withdraw", hiring.candidates[0].application_id);
    app.user(&hiring.staff("owner")).post(&path, &json!({})).expect(200);
    let shows = || {
        let page = app.browser(&hiring, "member").get("/app").expect(200).text();
        page.contains("Withdrew in the last 14 days") && page.contains(">Candidate 1</a>")
    };
    assert!(shows());
    app.pass(14 * 24 * 60 * 60 - 1);
    assert!(shows());
    app.pass(1);
    assert!(!shows());
}

fn a_user_sees_only_their_organizations() {
    let app = App::start();
    let (own, other) = (app.hiring(), app.hiring());
    let page = app.browser(&own, "owner").get("/app").expect(200).text();
    assert!(page.contains(&own.slug) && !page.contains(&other.slug), "{page}");
}

fn a_user_without_organizations_gets_an_explanation() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.change(&format!("DELETE FROM memberships WHERE user_id = '{}'", hiring.staff("owner")));
    let page = owner.get("/app").expect(200).text();
    assert!(page.contains("You are not a member of any organization yet"), "{page}");
}
