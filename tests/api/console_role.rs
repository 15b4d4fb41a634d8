//! `/app/{orgSlug}/roles/new` and `/app/{orgSlug}/roles/{id}/…`: staff create, change, preview, copy, open, close,
//! reopen and delete a role in the console.

use serde_json::json;

use crate::support::console::{follow, form_body};
use crate::support::race::{Runner, race};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_role_is_created_previewed_and_opened,
    a_form_that_is_sent_twice_creates_one_role,
    the_id_in_a_form_is_not_used_if_it_is_invalid_or_belongs_to_another_role,
    each_refused_value_has_an_error_beside_its_field,
    fewer_positions_than_hires_give_an_error_beside_the_field,
    a_copy_has_the_values_and_the_steps_of_its_source,
    a_change_by_somebody_else_shows_both_versions,
    a_renamed_step_and_a_hire_do_not_conflict_with_a_change_to_the_role_but_a_second_save_does,
    a_reverted_change_is_a_conflict,
    an_added_step_and_a_hire_do_not_conflict_with_a_change_to_the_role,
    two_forms_that_race_save_one_version,
    saving_and_opening_shows_why_a_role_stays_a_draft,
    a_role_is_closed_with_a_reason_and_reopened,
    an_act_that_the_state_forbids_shows_the_role_as_it_is,
    the_board_and_the_list_of_roles_show_the_closing_date_until_the_role_is_closed,
    a_draft_is_deleted_unless_it_has_applications,
    acts_that_are_sent_twice_take_effect_once,
    the_preview_shows_what_was_typed_and_saves_nothing,
    the_preview_has_its_own_content_security_policy,
    the_form_explains_what_pay_transparency_requires,
    a_description_that_a_program_wrote_stays_as_it_is,
    plain_members_see_disabled_forms_and_may_not_send_them,
    a_user_who_is_demoted_while_editing_may_not_save,
    scripts_in_every_field_are_shown_as_text,
    pages_are_in_the_language_of_the_user,
];

const SCRIPT: &str = "</textarea><script>alert(1)</script>\"'";

fn new_path(hiring: &Hiring) -> String {
    format!("/app/{}/roles/new", hiring.slug)
}

fn path(hiring: &Hiring, page: &str) -> String {
    format!("/app/{}/roles/{}/{page}", hiring.slug, hiring.role_id)
}

/// Returns the value of a hidden field.
fn hidden(page: &str, name: &str) -> String {
    let rest = page.split_once(&format!(r#"name="{name}" value=""#)).unwrap_or_else(|| panic!("{name}: {page}")).1;
    rest.split('"').next().unwrap().to_owned()
}

/// Returns the fields of the form with the values of the organization's role, except for these changes.
fn fields<'a>(changes: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let saved = [
        ("name", "Engineer"),
        ("department", "Engineering"),
        ("location", "Bremen"),
        ("workType", "hybrid"),
        ("collarType", "white"),
        ("salaryMin", "60000"),
        ("salaryMax", "75000.5"),
        ("salaryCurrency", "EUR"),
        ("salaryPeriod", "year"),
        ("positions", "2"),
        ("closesOn", ""),
        ("public", "1"),
        ("description", "# Engineer"),
    ];
    let changed = |name: &str| changes.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let fields = saved.map(|(name, value)| (name, changed(name).unwrap_or(value)));
    let more = changes.iter().filter(|(name, _)| saved.iter().all(|(known, _)| known != name)).copied();
    fields.into_iter().filter(|(name, value)| *name != "public" || !value.is_empty()).chain(more).collect()
}

/// Submits the form of the organization's role with these changes and the role's current version.
fn save(client: &Client, hiring: &Hiring, changes: &[(&str, &str)]) -> Answer {
    let version = hidden(&client.get(&path(hiring, "edit")).expect(200).text(), "version");
    let mut fields = fields(changes);
    fields.push(("version", &version));
    client.submit(&path(hiring, "edit"), &fields)
}

fn role(app: &App, hiring: &Hiring, columns: &str) -> String {
    app.sql(&format!("SELECT {columns} FROM roles WHERE id = '{}'", hiring.role_id)).remove(0)
}

fn a_role_is_created_previewed_and_opened() {
    let app = App::start();
    let hiring = app.hiring();
    let moderator = app.browser(&hiring, "moderator");
    let id = hidden(&moderator.get(&new_path(&hiring)).expect(200).text(), "id");
    let typed =
        fields(&[("name", " Welder "), ("closesOn", "2026-12-31"), ("id", &id), ("description", "# A\r\n\r\nb")]);
    let answer = moderator.submit(&new_path(&hiring), &typed).expect(303);
    let pages = format!("/app/{}/roles/{id}", hiring.slug);
    assert_eq!(answer.header("location"), Some(format!("{pages}/steps?done=created").as_str()));
    let sql = format!("SELECT name, status, public, positions, closes_on, description FROM roles WHERE id = '{id}'");
    let expected = r##"Welder|draft|1|2|2026-12-31|{"format":"markdown","body":"# A\n\nb"}"##;
    assert_eq!(app.sql(&sql), [expected]);
    let page = moderator.get(&format!("{pages}/edit")).expect(200).text();
    assert!(page.contains(r#"<button name="then" value="open" disabled>"#), "{page}");
    assert!(page.contains("Add steps to the role before you open it."), "{page}");
    assert!(moderator.get(&format!("{pages}/preview")).expect(200).text().contains("<h1>Welder</h1>"));
    moderator.submit(&format!("{pages}/open"), &[]).expect(409);
    moderator.submit(&format!("{pages}/steps/default"), &[]).expect(303);
    let answer = moderator.submit(&format!("{pages}/open"), &[]).expect(303);
    assert_eq!(answer.header("location"), Some(format!("{pages}/edit?done=opened").as_str()));
    let page = moderator.get(&format!("{pages}/edit?done=opened")).expect(200).text();
    assert!(page.contains("people can apply now."), "{page}");
    assert!(app.anonymous().get(&hiring.portal()).text().contains("Welder"));
    assert_eq!(app.check(), Vec::<String>::new());
}

fn a_form_that_is_sent_twice_creates_one_role() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let id = hidden(&owner.get(&new_path(&hiring)).expect(200).text(), "id");
    let typed = fields(&[("name", "Twice"), ("id", &id)]);
    let locations = [(); 2].map(|()| owner.submit(&new_path(&hiring), &typed).expect(303));
    assert_eq!(locations[0].header("location"), locations[1].header("location"));
    assert_eq!(app.sql("SELECT count(*) FROM roles WHERE name = 'Twice'"), ["1"]);
}

fn the_id_in_a_form_is_not_used_if_it_is_invalid_or_belongs_to_another_role() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let (owner, foreign) = (app.browser(&hiring, "owner"), app.browser(&other, "owner"));
    let id = hidden(&foreign.get(&new_path(&other)).expect(200).text(), "id");
    foreign.submit(&new_path(&other), &fields(&[("name", "Theirs"), ("id", &id)])).expect(303);
    for offered in [id.as_str(), "", "x", "role_own", "role_\"><script>aaaaaaaaaaaaaaaa", &"a".repeat(31)] {
        let typed = fields(&[("name", "Mine"), ("id", offered)]);
        let answer = owner.submit(&new_path(&hiring), &typed).expect(303);
        assert!(!answer.header("location").unwrap().contains(&id), "{offered}");
    }
    assert_eq!(app.sql(&format!("SELECT name, organization_id FROM roles WHERE id = '{id}'")), ["Theirs|org_2"]);
}

fn each_refused_value_has_an_error_beside_its_field() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let long = "n".repeat(256);
    let before = app.sql("SELECT * FROM roles");
    for (name, value) in [
        ("name", ""),
        ("name", long.as_str()),
        ("department", long.as_str()),
        ("location", "a\u{202e}b"),
        ("workType", "moon"),
        ("collarType", "pink"),
        ("salaryMin", "much"),
        ("salaryMax", "1"),
        ("salaryMax", "-1"),
        ("salaryCurrency", "Euro"),
        ("salaryPeriod", "moment"),
        ("positions", "0"),
        ("positions", "10001"),
        ("positions", "1.5"),
        ("closesOn", "2026-11-20"),
        ("closesOn", "soon"),
        ("description", "a\u{0}b"),
    ] {
        for answer in [
            owner.submit(&new_path(&hiring), &fields(&[(name, value), ("department", value)])[..]),
            save(&owner, &hiring, &[(name, value)]),
        ] {
            let page = answer.expect(400).text();
            assert!(page.contains(&format!(r#"id="{name}-error""#)), "{name}={value}: {page}");
            // Every value must be shown again, except an invalid choice and a value with a forbidden character.
            let is_choice = ["workType", "collarType", "salaryPeriod"].contains(&name);
            let is_shown = is_choice || value.contains(['\u{0}', '\u{202e}']) || page.contains(value);
            assert!(is_shown && page.contains("was not saved"), "{name}={value}: {page}");
        }
    }
    assert_eq!(app.sql("SELECT * FROM roles"), before);
    for (name, value) in
        [("positions", "10000"), ("salaryMax", "60000"), ("closesOn", "2026-11-21"), ("name", &long[1..])]
    {
        save(&owner, &hiring, &[(name, value)]).expect(303);
    }
    let twice = form_twice("name");
    owner.submit(&new_path(&hiring), &twice).expect(400);
    owner.submit(&path(&hiring, "edit"), &twice).expect(400);
    owner.submit(&path(&hiring, "preview"), &twice).expect(400);
    owner.submit(&format!("{}/preview", new_path(&hiring)), &twice).expect(400);
}

fn form_twice(name: &str) -> Vec<(&str, &str)> {
    vec![(name, "a"), (name, "b")]
}

fn fewer_positions_than_hires_give_an_error_beside_the_field() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for candidate in [0, 1] {
        app.user(&hiring.staff("owner")).post_empty(&hiring.hire(candidate)).expect(200);
    }
    let page = save(&owner, &hiring, &[("positions", "1")]).expect(409).text();
    assert!(page.contains(r#"id="positions-error""#) && page.contains("Hires for this role so far: 2."), "{page}");
    save(&owner, &hiring, &[("positions", "3")]).expect(303);
    assert_eq!(role(&app, &hiring, "status, positions"), "open|3");
}

fn a_copy_has_the_values_and_the_steps_of_its_source() {
    let app = App::start();
    let (hiring, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&hiring, "owner");
    let form = owner.get(&format!("{}?copy={}", new_path(&hiring), hiring.role_id)).expect(200).text();
    assert!(form.contains(r#"value="Engineer (copy)""#) && form.contains("75000.5"), "{form}");
    assert!(form.contains("The steps of Engineer are copied too."), "{form}");
    let id = hidden(&form, "id");
    let typed = fields(&[("name", "Second"), ("id", &id), ("copy", &hiring.role_id)]);
    owner.submit(&new_path(&hiring), &typed).expect(303);
    let sql = format!("SELECT name, step_type FROM role_steps WHERE role_id = '{id}' ORDER BY step_order");
    assert_eq!(app.sql(&sql), ["Application|application", "Call|screening", "Interview|interview", "Offer|offer"]);
    assert_eq!(app.sql(&format!("SELECT status, hired FROM roles WHERE id = '{id}'")), ["draft|0"]);
    for foreign in [other.role_id.as_str(), "role_unknown", "%22"] {
        owner.get(&format!("{}?copy={foreign}", new_path(&hiring))).expect(404);
    }
    let typed = fields(&[("name", "Foreign"), ("copy", &other.role_id)]);
    owner.submit(&new_path(&hiring), &typed).expect(303);
    let sql = "SELECT count(*) FROM role_steps s JOIN roles r ON r.id = s.role_id WHERE r.name = 'Foreign'";
    assert_eq!(app.sql(sql), ["0"]);
}

fn a_change_by_somebody_else_shows_both_versions() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.browser(&hiring, "admin"));
    let version = hidden(&owner.get(&path(&hiring, "edit")).expect(200).text(), "version");
    save(&admin, &hiring, &[("name", "Theirs <b>"), ("public", "")]).expect(303);
    let mine = fields(&[("name", "Mine"), ("location", "Bremen Nord"), ("version", &version)]);
    let page = owner.submit(&path(&hiring, "edit"), &mine).expect(409).text();
    assert!(page.contains("The admin saved it just now."), "{page}");
    assert!(page.contains("<td dir=\"auto\">Theirs &#60;b&#62;</td><td dir=\"auto\">Mine</td>"), "{page}");
    assert!(page.contains("<td dir=\"auto\">no</td><td dir=\"auto\">yes</td>"), "{page}");
    assert!(page.contains(r#"value="Bremen Nord""#) && page.contains("Save my version"), "{page}");
    assert_eq!(role(&app, &hiring, "name, location"), "Theirs <b>|Bremen");
    let newer = hidden(&page, "version");
    let mine = fields(&[("name", "Mine"), ("location", "Bremen Nord"), ("version", &newer)]);
    owner.submit(&path(&hiring, "edit"), &mine).expect(303);
    assert_eq!(role(&app, &hiring, "name, location, public"), "Mine|Bremen Nord|1");
    // The same form is accepted again, because its changes have already been saved.
    owner.submit(&path(&hiring, "edit"), &mine).expect(303);
    let missing = fields(&[("name", "Without a version")]);
    owner.submit(&path(&hiring, "edit"), &missing).expect(409);
}

fn an_added_step_and_a_hire_do_not_conflict_with_a_change_to_the_role() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let version = hidden(&owner.get(&path(&hiring, "edit")).expect(200).text(), "version");
    app.user(&hiring.staff("owner")).post_empty(&hiring.hire(0)).expect(200);
    owner.submit(&path(&hiring, "steps"), &[("name", "Trial day"), ("stepType", "other")]).expect(303);
    owner.submit(&path(&hiring, "edit"), &fields(&[("name", "New"), ("version", &version)])).expect(303);
    assert_eq!(role(&app, &hiring, "name, hired"), "New|1");
}

fn a_renamed_step_and_a_hire_do_not_conflict_with_a_change_to_the_role_but_a_second_save_does() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.user_with_all(&hiring.staff("admin")));
    let version = hidden(&owner.get(&path(&hiring, "edit")).expect(200).text(), "version");
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    assert_eq!(admin.get(&role).header("etag"), Some(format!("\"{version}\"").as_str()));
    admin.patch(&format!("{role}/steps/{}", hiring.role_steps[1]), &json!({ "name": "Chat" })).expect(200);
    admin.post(&hiring.hire(0), &json!({})).expect(200);
    owner.submit(&path(&hiring, "edit"), &fields(&[("name", "New"), ("version", &version)])).expect(303);
    owner.submit(&path(&hiring, "edit"), &fields(&[("name", "Newer"), ("version", &version)])).expect(409);
}

fn a_reverted_change_is_a_conflict() {
    let app = App::start();
    let hiring = app.hiring();
    let (owner, admin) = (app.browser(&hiring, "owner"), app.user_with_all(&hiring.staff("admin")));
    let version = hidden(&owner.get(&path(&hiring, "edit")).expect(200).text(), "version");
    let role = format!("/api/v1/roles/{}", hiring.role_id);
    for department in ["Research", "Engineering"] {
        admin.patch(&role, &json!({ "department": department })).expect(200);
    }
    let page = owner.submit(&path(&hiring, "edit"), &fields(&[("name", "New"), ("version", &version)])).expect(409);
    assert!(page.text().contains("The admin saved it just now"), "{}", page.text());
}

fn two_forms_that_race_save_one_version() {
    let app = App::start();
    let hiring = app.hiring();
    let browsers = ["owner", "admin"].map(|org_role| app.browser(&hiring, org_role));
    let version = hidden(&browsers[0].get(&path(&hiring, "edit")).expect(200).text(), "version");
    let runner = |(browser, name): (&Client, &str)| Runner {
        client: browser.with_header("Content-Type", "application/x-www-form-urlencoded"),
        method: "POST",
        path: path(&hiring, "edit"),
        body: form_body(&fields(&[("name", name), ("version", &version)])),
    };
    let answers = race(browsers.iter().zip(["First", "Second"]).map(runner).collect());
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [303, 409]);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn saving_and_opening_shows_why_a_role_stays_a_draft() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = &mut document["organizations"][0]["roles"][0];
        role["status"] = "draft".into();
        role["closesOn"] = "2026-11-01".into();
    });
    let owner = app.browser(&hiring, "owner");
    let answer = save(&owner, &hiring, &[("name", "New"), ("closesOn", "2026-11-01"), ("then", "open")]).expect(303);
    assert_eq!(answer.header("location"), Some(path(&hiring, "edit?done=not-opened").as_str()));
    let page = owner.get(&path(&hiring, "edit?done=not-opened")).expect(200).text();
    assert!(page.contains("The closing date has passed."), "{page}");
    assert_eq!(role(&app, &hiring, "name, status"), "New|draft");
    let answer = save(&owner, &hiring, &[("then", "open")]).expect(303);
    assert_eq!(answer.header("location"), Some(path(&hiring, "edit?done=opened").as_str()));
    assert_eq!(role(&app, &hiring, "status"), "open");
    let answer = save(&owner, &hiring, &[("name", "Open"), ("then", "open")]).expect(303);
    assert_eq!(answer.header("location"), Some(path(&hiring, "edit?done=saved").as_str()));
}

fn a_role_is_closed_with_a_reason_and_reopened() {
    let app = App::start();
    let hiring = app.hiring();
    let hr = app.browser(&hiring, "hr_representative");
    let long = "r".repeat(1_001);
    for reason in ["", " \r\n ", long.as_str(), "a\u{7}b"] {
        let page = hr.submit(&path(&hiring, "close"), &[("reason", reason)]).expect(400).text();
        assert!(page.contains(r#"id="reason-error""#) && page.contains("<details open>"), "{reason}: {page}");
    }
    hr.submit(&path(&hiring, "close"), &form_twice("reason")).expect(400);
    hr.submit(&path(&hiring, "close"), &[("reason", "Budget\r\ncut")]).expect(303);
    assert_eq!(role(&app, &hiring, "status, close_reason"), "closed|Budget\ncut");
    let page = hr.get(&path(&hiring, "edit?done=closed")).expect(200).text();
    assert!(page.contains("This role is closed. Budget\ncut"), "{page}");
    hr.submit(&path(&hiring, "reopen"), &[]).expect(303);
    assert_eq!(role(&app, &hiring, "status, close_reason"), "open|null");
}

fn an_act_that_the_state_forbids_shows_the_role_as_it_is() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    owner.submit(&path(&hiring, "close"), &[("reason", "First")]).expect(303);
    let page = owner.submit(&path(&hiring, "close"), &[("reason", "Second")]).expect(409).text();
    assert!(page.contains("current state does not allow this action") && page.contains("First"), "{page}");
    owner.submit(&path(&hiring, "open"), &[]).expect(409);
    owner.submit(&path(&hiring, "delete"), &[]).expect(409);
    assert_eq!(role(&app, &hiring, "status, close_reason"), "closed|First");
    save(&owner, &hiring, &[("closesOn", "2026-11-21")]).expect(303);
    app.pass(2 * 24 * 60 * 60);
    let owner = app.browser(&hiring, "owner");
    let page = owner.submit(&path(&hiring, "reopen"), &[]).expect(409).text();
    assert!(page.contains("The closing date has passed."), "{page}");
}

fn the_board_and_the_list_of_roles_show_the_closing_date_until_the_role_is_closed() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let list = format!("/app/{}/roles", hiring.slug);
    let board = format!("{list}/{}", hiring.role_id);
    let texts = |query: &str| [&list, &board].map(|path| owner.get(&format!("{path}?{query}")).expect(200).text());
    assert!(!texts("status=open").concat().contains("Applications accepted until"));
    save(&owner, &hiring, &[("closesOn", "2026-12-31")]).expect(303);
    for (query, closing) in [
        ("status=open", "Applications accepted until 31 December 2026"),
        ("lang=de", "Bewerbungen bis 31. Dezember 2026"),
    ] {
        for text in texts(query) {
            assert!(text.contains(closing), "{closing} is not in:\n{text}");
        }
    }
    owner.submit(&path(&hiring, "close"), &[("reason", "Enough people have applied")]).expect(303);
    assert!(!texts("status=closed").concat().contains("Applications accepted until"));
}

fn a_draft_is_deleted_unless_it_has_applications() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"][0]["status"] = "draft".into());
    let owner = app.browser(&hiring, "owner");
    let page = owner.submit(&path(&hiring, "delete"), &[]).expect(409).text();
    assert!(page.contains("This draft has applications"), "{page}");
    let id = hidden(&owner.get(&new_path(&hiring)).expect(200).text(), "id");
    owner.submit(&new_path(&hiring), &fields(&[("id", &id)])).expect(303);
    let pages = format!("/app/{}/roles/{id}", hiring.slug);
    let answer = owner.submit(&format!("{pages}/delete"), &[]).expect(303);
    assert_eq!(answer.header("location"), Some(format!("/app/{}/roles?done=deleted", hiring.slug).as_str()));
    assert!(follow(&owner, answer).text().contains("The draft was deleted."));
    owner.get(&format!("{pages}/edit")).expect(404);
    assert_eq!(app.check(), Vec::<String>::new());
}

fn acts_that_are_sent_twice_take_effect_once() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for (act, fields) in [("close", &[("reason", "No")][..]), ("reopen", &[]), ("open", &[])] {
        for _ in 0..2 {
            owner.submit(&path(&hiring, act), fields).expect(303);
        }
    }
    let actions = app.sql("SELECT action FROM activities WHERE action LIKE 'role.%' ORDER BY number");
    assert_eq!(actions, ["role.closed", "role.reopened"]);
}

fn the_preview_shows_what_was_typed_and_saves_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.browser(&hiring, "member");
    let preview = |changes: &[(&str, &str)]| {
        let page = member.submit(&path(&hiring, "preview"), &fields(changes)).expect(200).text();
        assert!(page.contains(r#"<base target="_blank">"#) && page.contains("<button disabled>"), "{page}");
        page
    };
    assert!(
        preview(&[("description", "## Two\n\n**bold** <b>raw</b>")]).contains("<strong>bold</strong> &lt;b&gt;raw")
    );
    assert!(preview(&[("name", "Typed")]).contains("<h1>Typed</h1>"));
    // A value that would be refused is left out, and the others are shown.
    for (name, value) in
        [("salaryMax", "1"), ("positions", "no"), ("closesOn", "2020-01-01"), ("workType", "moon"), ("name", "")]
    {
        assert!(preview(&[("location", "Typed"), (name, value)]).contains("Typed"), "{name}");
    }
    let empty = member.submit(&format!("{}/preview", new_path(&hiring)), &[]).expect(200).text();
    assert!(empty.contains("<h1>Name of the role</h1>"), "{empty}");
    assert!(member.get(&format!("{}/preview", new_path(&hiring))).expect(200).text().contains("<h1>Name of the role"));
    assert_eq!(role(&app, &hiring, "name, location"), "Engineer|Bremen");
}

fn the_preview_has_its_own_content_security_policy() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = false.into());
    let owner = app.browser(&hiring, "owner");
    let answer = owner.get(&path(&hiring, "preview")).expect(200);
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.contains("frame-ancestors 'self'") && policy.contains("form-action 'none'"), "{policy}");
    assert!(policy.contains("default-src 'none'") && !policy.contains("script-src"), "{policy}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let page = owner.get(&path(&hiring, "edit")).expect(200);
    assert!(page.header("content-security-policy").unwrap().contains("frame-src 'self'"));
    assert!(page.text().contains("is switched off"), "{}", page.text());
}

fn the_form_explains_what_pay_transparency_requires() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["payTransparency"] = true.into();
        document["organizations"][0]["portal"]["theme"]["showSalary"] = false.into();
    });
    let owner = app.browser(&hiring, "owner");
    let page = || owner.get(&path(&hiring, "edit")).expect(200).text();
    assert!(page().contains("the career page hides salaries"), "{}", page());
    save(&owner, &hiring, &[("salaryMin", ""), ("salaryMax", "")]).expect(303);
    assert!(page().contains("this role has no salary"), "{}", page());
    save(&owner, &hiring, &[("salaryMin", ""), ("salaryMax", ""), ("public", "")]).expect(303);
    assert!(!page().contains("Pay transparency"), "{}", page());
}

fn a_description_that_a_program_wrote_stays_as_it_is() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["roles"][0]["description"] = serde_json::json!({ "html": "<p>a</p>" });
    });
    let owner = app.browser(&hiring, "owner");
    let page = owner.get(&path(&hiring, "edit")).expect(200).text();
    assert!(
        page.contains("A program wrote the description") && !page.contains("<textarea id=\"description\""),
        "{page}"
    );
    save(&owner, &hiring, &[("name", "New"), ("description", "")]).expect(303);
    assert_eq!(role(&app, &hiring, "name, description"), r#"New|{"html":"<p>a</p>"}"#);
}

fn plain_members_see_disabled_forms_and_may_not_send_them() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.browser(&hiring, "member");
    for page in [new_path(&hiring), path(&hiring, "edit")] {
        let text = member.get(&page).expect(200).text();
        assert!(text.contains("<fieldset class=\"stack\" disabled aria-describedby=\"only\">"), "{text}");
        assert!(text.contains("Only moderators, HR representatives, admins and owners may"), "{text}");
        member.submit(&page, &fields(&[])).expect(403);
    }
    for act in ["open", "close", "reopen", "delete"] {
        member.submit(&path(&hiring, act), &[("reason", "x")]).expect(403);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), ["0"]);
}

fn a_user_who_is_demoted_while_editing_may_not_save() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let version = hidden(&owner.get(&path(&hiring, "edit")).expect(200).text(), "version");
    let memberships =
        format!("/api/admin/organizations/{}/memberships/{}", hiring.organization_id, hiring.staff("owner"));
    app.admin().put(&memberships, &serde_json::json!({ "orgRole": "member" })).expect(200);
    owner.submit(&path(&hiring, "edit"), &fields(&[("name", "Late"), ("version", &version)])).expect(403);
    app.admin().delete(&memberships).expect(200);
    owner.submit(&path(&hiring, "edit"), &fields(&[("name", "Late"), ("version", &version)])).expect(404);
    owner.get(&path(&hiring, "edit")).expect(404);
    assert_eq!(role(&app, &hiring, "name"), "Engineer");
}

fn scripts_in_every_field_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let hostile = [("name", SCRIPT), ("department", SCRIPT), ("location", SCRIPT), ("description", SCRIPT)];
    save(&owner, &hiring, &hostile).expect(303);
    owner.submit(&path(&hiring, "close"), &[("reason", SCRIPT)]).expect(303);
    let refused: Vec<(&str, &str)> = fields(&[]).into_iter().map(|(name, _)| (name, SCRIPT)).collect();
    let pages = [
        owner.get(&path(&hiring, "edit")).expect(200),
        owner.get(&path(&hiring, "preview")).expect(200),
        owner.get(&path(&hiring, "steps")).expect(200),
        owner.get(&format!("{}?copy={}", new_path(&hiring), hiring.role_id)).expect(200),
        owner.submit(&new_path(&hiring), &refused).expect(400),
        owner.submit(&path(&hiring, "edit"), &refused).expect(409),
        owner.submit(&path(&hiring, "preview"), &refused).expect(200),
    ];
    for page in pages {
        assert!(!page.text().contains("<script>alert") && !page.text().contains("\"'\""), "{}", page.text());
    }
}

fn pages_are_in_the_language_of_the_user() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for (tag, title) in [("en", "New role"), ("de", "Neue Stelle"), ("fr", "Nouveau poste"), ("es", "Nuevo puesto")] {
        owner.submit("/app/me/preferences", &[("language", tag)]).expect(303);
        let page = owner.get(&new_path(&hiring)).expect(200).text();
        assert!(page.contains(&format!("<html lang=\"{tag}\"")) && page.contains(title), "{page}");
        let page = owner.get(&path(&hiring, "preview")).expect(200).text();
        assert!(page.contains(&format!("<html lang=\"{tag}\"")), "{page}");
    }
}
