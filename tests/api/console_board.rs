//! `GET /app/{orgSlug}/roles/{id}`: the board of a role.

use serde_json::json;

use crate::support::hiring::{first_role_of, set_steps};
use crate::support::{App, Hiring};

crate::tests![
    the_board_shows_candidates_at_their_steps,
    hired_candidates_have_a_column_and_other_ended_applications_are_counted,
    a_candidate_who_has_waited_for_a_long_time_is_marked_as_late,
    a_candidate_with_other_applications_is_marked,
    a_candidate_with_an_attachment_is_marked,
    a_removed_step_is_shown_while_a_candidate_is_at_it,
    a_narrow_screen_shows_one_step,
    the_board_of_a_role_without_candidates_shows_what_to_do,
    the_board_of_a_disabled_organization_does_not_link_to_the_posting,
    the_board_of_a_role_without_steps_shows_what_to_do,
    a_plain_member_sees_that_they_may_look_but_not_decide,
    hostile_names_are_shown_as_text,
    all_candidates_of_a_large_role_are_on_the_page,
    the_board_is_in_the_users_language,
];

fn path(hiring: &Hiring) -> String {
    format!("/app/{}/roles/{}", hiring.slug, hiring.role_id)
}

/// Returns the column of a step on a board. The step `hired` stands for the column of hired candidates.
fn column<'a>(page: &'a str, step: &str) -> &'a str {
    let start = page.find(&format!("aria-labelledby=\"h-{step}\"")).unwrap_or_else(|| panic!("no {step}: {page}"));
    page[start..].split("</section>").next().unwrap()
}

/// Removes the candidates from the document's role.
fn without_candidates(document: &mut serde_json::Value) {
    first_role_of(document)["candidates"] = json!([]);
}

fn the_board_shows_candidates_at_their_steps() {
    let app = App::start();
    let hiring = app.hiring();
    let page = app.browser(&hiring, "member").get(&path(&hiring)).expect(200).text();
    assert!(page.contains("<h1 id=\"title\">Engineer</h1>") && page.contains("Open positions: 2 of 2"), "{page}");
    for (step, count) in [(0, 0), (1, 3), (2, 0), (3, 0)] {
        let id = &hiring.role_steps[step];
        let column = column(&page, id);
        assert_eq!(column.matches("class=\"card\"").count(), count, "{column}");
        assert!(column.contains(&format!("id=\"count-{id}\">{count}</span>")), "{column}");
    }
    for candidate in &hiring.candidates {
        let link = format!("href=\"/app/{}/candidates/{}\"", hiring.slug, candidate.candidate_id);
        assert!(column(&page, &hiring.role_steps[1]).contains(&link), "{page}");
    }
    assert!(page.contains("18 days here"), "{page}");
}

fn hired_candidates_have_a_column_and_other_ended_applications_are_counted() {
    let app = App::start();
    let hiring = app.hiring();
    app.user(&hiring.staff("owner")).post(&hiring.hire(0), &json!({ "hiredDate": "2026-11-20" })).expect(200);
    app.user(&hiring.staff("owner")).post(&hiring.reject(1), &json!({})).expect(200);
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    let hired = column(&page, "hired");
    assert!(hired.contains("Candidate 1") && hired.contains("on 20 November 2026"), "{hired}");
    assert!(hired.contains("Not selected</a> <span class=\"quiet\" id=\"count-ended\">1</span>"), "{hired}");
    assert_eq!(page.matches("class=\"card\"").count(), 2, "{page}");
    assert!(page.contains("Open positions: 1 of 2"), "{page}");
}

fn a_candidate_who_has_waited_for_a_long_time_is_marked_as_late() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for (nth, day) in [(0, "2026-11-06"), (1, "2026-11-19"), (2, "2026-11-20")] {
            let at = json!(format!("{day}T09:00:00Z"));
            first_role_of(document)["candidates"][nth]["steps"][0]["validatedAt"] = at;
        }
    });
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert_eq!(page.matches("class=\"late\"").count(), 1, "{page}");
    assert!(page.contains("class=\"late\">15 days here"), "{page}");
}

fn a_candidate_with_other_applications_is_marked() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let roles = document["organizations"][0]["roles"].as_array_mut().unwrap();
        let mut other = roles[0].clone();
        other["id"] = json!("role_other");
        other["name"] = json!("Controller");
        other["steps"] = json!([{ "id": "step_other", "name": "Application" }]);
        let email = roles[0]["candidates"][0]["email"].clone();
        other["candidates"] = json!([{ "name": "Candidate 1", "email": email }]);
        roles.push(other);
    });
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert_eq!(page.matches("also applied to Controller").count(), 1, "{page}");
}

fn a_candidate_with_an_attachment_is_marked() {
    let app = App::start();
    let hiring = app.hiring();
    let (application, organization) = (&hiring.candidates[0].application_id, &hiring.organization_id);
    app.change(&format!(
        "INSERT INTO signups (id, organization_id, role_id, candidate_role_id, name, email, email_key, phone, links, note,
           locale, consented_at, created_at)
         VALUES ('sign_1', '{organization}', '{}', '{application}', 'x', 'x', 'x', '', '[]', '', 'en', 0, 0);
         INSERT INTO documents (id, signup_id, file_name, media_type, bytes, created_at)
         VALUES ('doc_1', 'sign_1', 'cv.pdf', 'application/pdf', 1, 1);",
        hiring.role_id
    ));
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert_eq!(page.matches("<span>CV</span>").count(), 1, "{page}");
}

fn a_removed_step_is_shown_while_a_candidate_is_at_it() {
    let app = App::start();
    let hiring = app.hiring();
    let [removed, unused] = [&hiring.role_steps[1], &hiring.role_steps[2]];
    app.change(&format!("UPDATE role_steps SET step_order = NULL WHERE id IN ('{removed}', '{unused}')"));
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert!(column(&page, removed).contains("removed step"), "{page}");
    assert!(!page.contains(&format!("h-{unused}")), "{page}");
}

fn a_narrow_screen_shows_one_step() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let [first, second] = [&hiring.role_steps[0], &hiring.role_steps[1]];
    for (query, shown) in [
        (String::new(), second.as_str()),
        (format!("?step={first}"), first),
        ("?step=unknown".to_owned(), second),
        ("?step=hired".to_owned(), "hired"),
    ] {
        let page = owner.get(&format!("{}{query}", path(&hiring))).expect(200).text();
        assert_eq!(page.matches("class=\"column here\"").count(), 1, "{query}: {page}");
        let column = page.split("class=\"column here\"").nth(1).unwrap().split('>').next().unwrap();
        assert!(column.contains(&format!("aria-labelledby=\"h-{shown}\"")), "{query}: {page}");
        assert!(page.contains(&format!("?step={shown}\" aria-current=\"page\"")), "{query}: {page}");
    }
    owner.get(&format!("{}?step=a&step=b", path(&hiring))).expect(400);
}

fn the_board_of_a_role_without_candidates_shows_what_to_do() {
    for (status, public, expected) in [
        ("open", true, "Share the public page"),
        ("open", false, "Make the role public"),
        ("draft", true, "Open it so that people can apply"),
        ("closed", true, "no longer accepts applications"),
    ] {
        let app = App::start();
        let hiring = app.hiring_with(|document| {
            without_candidates(document);
            first_role_of(document)["status"] = json!(status);
            first_role_of(document)["public"] = json!(public);
        });
        let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
        assert!(page.contains(expected), "{status} {public}: {page}");
        let posting = format!("value=\"http://{}/careers/{}/roles/{}\"", app.address, hiring.slug, hiring.role_id);
        assert_eq!(page.contains(&posting), (status, public) == ("open", true), "{page}");
    }
}

fn the_board_of_a_disabled_organization_does_not_link_to_the_posting() {
    let app = App::start();
    let hiring = app.hiring_with(without_candidates);
    let posting = format!("/careers/{}/roles/{}\"", hiring.slug, hiring.role_id);
    for enabled in [true, false] {
        let organization = format!("/api/admin/organizations/{}", hiring.organization_id);
        app.admin().patch(&organization, &json!({ "enabled": enabled })).expect(200);
        let page = app.browser_of("admin@appliance.example").get(&path(&hiring)).expect(200).text();
        assert_eq!(page.contains(&posting), enabled, "{page}");
    }
}

fn the_board_of_a_role_without_steps_shows_what_to_do() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        without_candidates(document);
        first_role_of(document)["status"] = json!("draft");
        first_role_of(document)["steps"] = json!([]);
    });
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert!(page.contains("This role has no steps yet"), "{page}");
}

fn a_plain_member_sees_that_they_may_look_but_not_decide() {
    let app = App::start();
    let hiring = app.hiring();
    let page = app.browser(&hiring, "member").get(&path(&hiring)).expect(200).text();
    assert!(page.contains("You may look at this board, but not decide."), "{page}");
    let page = app.browser(&hiring, "hr_representative").get(&path(&hiring)).expect(200).text();
    assert!(!page.contains("You may look at this board"), "{page}");
}

fn hostile_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let hostile = json!("<script>alert(1)</script>\"'&");
        let role = first_role_of(document);
        role["name"] = hostile.clone();
        role["steps"][1]["name"] = hostile.clone();
        role["candidates"][0]["name"] = hostile.clone();
        role["candidates"][1]["name"] = hostile;
        set_steps(document, 1, "Hired", &["validated", "validated", "validated", "validated"]);
    });
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    assert!(page.matches("&#60;script&#62;alert(1)").count() >= 4 && !page.contains("<script>alert"), "{page}");
}

fn all_candidates_of_a_large_role_are_on_the_page() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let candidates: Vec<_> = (0..130)
            .map(|nth| json!({ "name": format!("Person {nth}"), "email": format!("person-{nth}@people.example") }))
            .collect();
        first_role_of(document)["candidates"] = json!(candidates);
    });
    let page = app.browser(&hiring, "owner").get(&path(&hiring)).expect(200).text();
    let first = column(&page, &hiring.role_steps[0]);
    assert_eq!(first.matches("class=\"card\"").count(), 130);
    assert_eq!(first.matches("<ol class=\"full\">").count(), 2, "full lists of 50 are laid out only while in view");
    assert_eq!(first.matches("<ol id=\"end-").count(), 1);
}

fn the_board_is_in_the_users_language() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for (tag, word) in [("de", "seit 18 Tagen"), ("fr", "depuis 18 jours"), ("es", "desde hace 18 días")] {
        let page = owner.get(&format!("{}?lang={tag}", path(&hiring))).expect(200).text();
        assert!(page.contains(word), "{tag}: {page}");
    }
}
