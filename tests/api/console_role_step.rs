//! `/app/{orgSlug}/roles/{id}/steps`: staff add, change, reorder and remove the steps of a role in the console.

use serde_json::json;

use crate::support::console::follow;
use crate::support::{App, Client, Hiring};

crate::tests![
    a_role_without_steps_can_begin_with_the_default_pipeline,
    a_step_is_added_at_the_end_once,
    an_invalid_step_has_an_error_beside_its_field,
    the_fiftieth_step_is_the_last,
    a_step_is_renamed_unless_somebody_else_has_renamed_it,
    a_conflict_names_the_person_who_changed_the_step,
    a_step_moves_by_one_position_once,
    a_step_is_dragged_to_a_position_once,
    a_step_is_removed_once_and_its_candidates_stay_there,
    the_only_step_of_an_open_role_cannot_be_removed,
    the_page_counts_the_candidates_at_each_step,
    plain_members_see_disabled_forms_and_may_not_send_them,
    a_step_of_another_role_is_treated_like_an_unknown_step,
    scripts_in_names_are_shown_as_text,
];

fn path(hiring: &Hiring, page: &str) -> String {
    format!("/app/{}/roles/{}/steps{page}", hiring.slug, hiring.role_id)
}

fn names(app: &App, hiring: &Hiring) -> Vec<String> {
    let id = &hiring.role_id;
    app.sql(&format!("SELECT name FROM role_steps WHERE role_id = '{id}' AND step_order > 0 ORDER BY step_order"))
}

/// Returns the value of the hidden field with the id for a new step.
fn new_id(client: &Client, hiring: &Hiring) -> String {
    let page = client.get(&path(hiring, "")).expect(200).text();
    page.split_once(r#"name="id" value=""#).unwrap().1.split('"').next().unwrap().to_owned()
}

fn empty_draft(app: &App) -> Hiring {
    app.hiring_with(|document| {
        let role = &mut document["organizations"][0]["roles"][0];
        (role["status"], role["steps"], role["candidates"]) = (json!("draft"), json!([]), json!([]));
    })
}

fn a_role_without_steps_can_begin_with_the_default_pipeline() {
    let app = App::start();
    let hiring = empty_draft(&app);
    let owner = app.browser(&hiring, "owner");
    owner.submit("/app/me/preferences", &[("language", "de")]).expect(303);
    let page = owner.get(&path(&hiring, "")).expect(200).text();
    assert!(page.contains("Mit Bewerbung, Vorauswahl, Vorstellungsgespräch, Angebot beginnen"), "{page}");
    for _ in 0..2 {
        let page = follow(&owner, owner.submit(&path(&hiring, "/default"), &[])).text();
        assert_eq!(names(&app, &hiring), ["Bewerbung", "Vorauswahl", "Vorstellungsgespräch", "Angebot"]);
        assert!(page.contains("Stelle öffnen") && page.contains("Die Schritte wurden hinzugefügt."), "{page}");
    }
}

fn a_step_is_added_at_the_end_once() {
    let app = App::start();
    let hiring = app.hiring();
    let hr = app.browser(&hiring, "hr_representative");
    let id = new_id(&hr, &hiring);
    for _ in 0..2 {
        let fields = [("name", " Trial day "), ("stepType", "assessment"), ("id", &*id)];
        let page = follow(&hr, hr.submit(&path(&hiring, ""), &fields)).text();
        assert!(page.contains("The step was added."), "{page}");
    }
    assert_eq!(names(&app, &hiring), ["Application", "Call", "Interview", "Offer", "Trial day"]);
    assert_eq!(app.sql(&format!("SELECT step_type FROM role_steps WHERE id = '{id}'")), ["assessment"]);
    // An id that belongs to another organization's step is not used.
    let other = app.hiring();
    let foreign = app.browser(&other, "owner");
    foreign.submit(&path(&other, ""), &[("name", "Mine"), ("stepType", "other"), ("id", &id)]).expect(303);
    assert_eq!(names(&app, &other).len(), 5);
    assert_eq!(app.sql(&format!("SELECT name FROM role_steps WHERE id = '{id}'")), ["Trial day"]);
}

fn an_invalid_step_has_an_error_beside_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let long = "n".repeat(256);
    for (name, step_type, field) in [("", "other", "name"), (&*long, "other", "name"), ("x", "moon", "type")] {
        let typed = [("name", name), ("stepType", step_type)];
        let page = owner.submit(&path(&hiring, ""), &typed).expect(400).text();
        assert!(page.contains(&format!(r#"id="{field}-new-error""#)) && page.contains(name), "{page}");
        let step = &hiring.role_steps[1];
        let page = owner.submit(&path(&hiring, &format!("/{step}")), &typed).expect(400).text();
        assert!(page.contains(&format!(r#"id="{field}-{step}-error""#)) && page.contains("<details open>"), "{page}");
    }
    assert_eq!(names(&app, &hiring), ["Application", "Call", "Interview", "Offer"]);
    owner.submit(&path(&hiring, ""), &[("name", &long[1..]), ("stepType", "other")]).expect(303);
}

fn the_fiftieth_step_is_the_last() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for number in 5..=50 {
        owner.submit(&path(&hiring, ""), &[("name", &format!("Step {number}")), ("stepType", "other")]).expect(303);
    }
    let page = owner.submit(&path(&hiring, ""), &[("name", "Typed"), ("stepType", "other")]).expect(409).text();
    assert!(page.contains("The role has 50 steps") && page.contains("Typed"), "{page}");
}

fn a_step_is_renamed_unless_somebody_else_has_renamed_it() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.browser(&hiring, "admin"));
    let step = path(&hiring, &format!("/{}", hiring.role_steps[1]));
    let form = |name: &'static str, before: &'static str| {
        [("name", name), ("stepType", "screening"), ("nameBefore", before), ("stepTypeBefore", "screening")]
    };
    owner.submit(&step, &form("Phone call", "Call")).expect(303);
    owner.submit(&step, &form("Phone call", "Call")).expect(303);
    let page = admin.submit(&step, &form("Video call", "Call")).expect(409).text();
    assert!(page.contains("changed this step in the meantime") && page.contains(r#"value="Video call""#), "{page}");
    assert!(page.contains(r#"<td dir="auto">Phone call</td><td dir="auto">Video call</td>"#), "{page}");
    assert!(page.contains("saved it just now") && !page.contains(r#"<th scope="row">Type</th>"#), "{page}");
    assert!(page.contains(r#"name="nameBefore" value="Phone call""#), "{page}");
    admin.submit(&step, &form("Video call", "Phone call")).expect(303);
    assert_eq!(names(&app, &hiring)[1], "Video call");
    let actions = app.sql("SELECT action FROM activities");
    assert_eq!(actions, ["role_step.changed", "role_step.changed"]);
}

fn a_conflict_names_the_person_who_changed_the_step() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.browser(&hiring, "admin"));
    let step = |number: usize| path(&hiring, &format!("/{}", hiring.role_steps[number]));
    let form = |name: &'static str, before: &'static str| [("name", name), ("nameBefore", before)];
    let types = [("stepType", "screening"), ("stepTypeBefore", "screening")];
    let submit = |client: &Client, number: usize, fields: [(&'static str, &'static str); 2]| {
        client.submit(&step(number), &[&fields[..], &types].concat())
    };
    submit(&owner, 1, form("Phone call", "Call")).expect(303);
    let other = &names(&app, &hiring)[2].clone();
    let step_type =
        app.sql(&format!("SELECT step_type FROM role_steps WHERE id = '{}'", hiring.role_steps[2])).concat();
    let fields = [("name", "Other"), ("nameBefore", other), ("stepType", &step_type), ("stepTypeBefore", &step_type)];
    admin.submit(&step(2), &fields).expect(303);
    let moderator = app.browser(&hiring, "moderator");
    let page = submit(&moderator, 1, form("Video call", "Call")).expect(409).text();
    assert!(page.contains("The owner saved it") && !page.contains("The admin"), "{page}");
}

fn a_step_moves_by_one_position_once() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let step = path(&hiring, &format!("/{}/move", hiring.role_steps[2]));
    for _ in 0..2 {
        owner.submit(&step, &[("from", "3"), ("to", "up")]).expect(303);
        assert_eq!(names(&app, &hiring), ["Application", "Interview", "Call", "Offer"]);
    }
    for _ in 0..2 {
        owner.submit(&step, &[("from", "2"), ("to", "down")]).expect(303);
        assert_eq!(names(&app, &hiring), ["Application", "Call", "Interview", "Offer"]);
    }
    for fields in [
        &[("from", "1"), ("to", "up")][..],
        &[("from", "1"), ("to", "down")],
        &[("from", "5"), ("to", "down")],
        &[("from", "-1"), ("to", "up")],
        &[("from", "x")],
        &[],
    ] {
        let page = owner.submit(&step, fields).expect(409).text();
        assert!(page.contains("somebody else has changed the steps"), "{fields:?}: {page}");
    }
    let last = path(&hiring, &format!("/{}/move", hiring.role_steps[3]));
    owner.submit(&last, &[("from", "4"), ("to", "down")]).expect(409);
    let first = path(&hiring, &format!("/{}/move", hiring.role_steps[0]));
    owner.submit(&first, &[("from", "1"), ("to", "up")]).expect(409);
    owner.submit(&first, &[("from", "1"), ("from", "1")]).expect(400);
    assert_eq!(names(&app, &hiring), ["Application", "Call", "Interview", "Offer"]);
}

fn a_step_is_dragged_to_a_position_once() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let drag = |step: usize, from: &str, to: &str| {
        let target = path(&hiring, &format!("/{}/move", hiring.role_steps[step]));
        owner.submit(&target, &[("from", from), ("to", to)])
    };
    for _ in 0..2 {
        drag(0, "1", "4").expect(303);
        assert_eq!(names(&app, &hiring), ["Call", "Interview", "Offer", "Application"]);
    }
    drag(3, "3", "1").expect(303);
    assert_eq!(names(&app, &hiring), ["Offer", "Call", "Interview", "Application"]);
    for (from, to) in
        [("3", "1"), ("2", "0"), ("2", "5"), ("2", "x"), ("2", "-1"), ("", ""), ("2", "99999999999999999999")]
    {
        let page = drag(1, from, to).expect(409).text();
        assert!(page.contains("somebody else has changed the steps"), "{page}");
    }
    assert_eq!(names(&app, &hiring), ["Offer", "Call", "Interview", "Application"]);
    assert_eq!(app.sql("SELECT count(*) FROM activities WHERE action = 'role_step.reordered'"), ["2"]);
}

fn a_step_is_removed_once_and_its_candidates_stay_there() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let step = path(&hiring, &format!("/{}", hiring.role_steps[1]));
    for _ in 0..2 {
        owner.submit(&format!("{step}/remove"), &[]).expect(303);
    }
    assert_eq!(names(&app, &hiring), ["Application", "Interview", "Offer"]);
    let page = owner.get(&path(&hiring, "?done=removed")).expect(200).text();
    assert!(page.contains("<span class=\"tag\">removed</span>") && page.contains("3 candidates are here"), "{page}");
    let typed = [("name", "Late"), ("stepType", "other"), ("nameBefore", "Call"), ("stepTypeBefore", "screening")];
    owner.submit(&step, &typed).expect(409);
    owner.submit(&format!("{step}/move"), &[("from", "2"), ("to", "up")]).expect(409);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn the_only_step_of_an_open_role_cannot_be_removed() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let remove = |step: &str| owner.submit(&path(&hiring, &format!("/{step}/remove")), &[]);
    for step in &hiring.role_steps[1..] {
        remove(step).expect(303);
    }
    let page = remove(&hiring.role_steps[0]).expect(409).text();
    assert!(page.contains("This is the only step."), "{page}");
    assert_eq!(names(&app, &hiring), ["Application"]);
}

fn the_page_counts_the_candidates_at_each_step() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    app.user(&hiring.staff("owner")).post_empty(&hiring.decision(0, 1, "validate")).expect(200);
    let page = owner.get(&path(&hiring, "")).expect(200).text();
    assert!(page.contains("2 candidates are here") && page.contains("1 candidate is here"), "{page}");
}

fn plain_members_see_disabled_forms_and_may_not_send_them() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.browser(&hiring, "member");
    let page = member.get(&path(&hiring, "")).expect(200).text();
    assert!(page.contains("<fieldset disabled aria-describedby=\"only\">"), "{page}");
    let step = format!("/{}", hiring.role_steps[0]);
    for act in ["", "/default", &*step, &format!("{step}/move"), &format!("{step}/remove")] {
        member.submit(&path(&hiring, act), &[("name", "x"), ("stepType", "other")]).expect(403);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn a_step_of_another_role_is_treated_like_an_unknown_step() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    for step in [other.role_steps[0].as_str(), "step_unknown", "%20"] {
        for act in ["", "/move", "/remove"] {
            owner.submit(&path(&hiring, &format!("/{step}{act}")), &[("name", "x")]).expect(404);
        }
    }
}

fn scripts_in_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let script = "\"><script>alert(1)</script>";
    owner.submit(&path(&hiring, ""), &[("name", script), ("stepType", "other")]).expect(303);
    for page in [
        owner.get(&path(&hiring, "")).expect(200),
        owner.submit(&path(&hiring, ""), &[("name", script), ("stepType", script)]).expect(400),
        owner.get(&path(&hiring, &format!("?done={}", "%3Cscript%3Ealert"))).expect(200),
    ] {
        assert!(!page.text().contains("<script>alert"), "{}", page.text());
    }
}
