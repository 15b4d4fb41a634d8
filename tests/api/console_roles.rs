//! `GET /app/{orgSlug}/roles`: the organization's roles by status, with counts of their candidates.

use serde_json::json;

use crate::support::App;

crate::tests![
    each_role_shows_its_candidate_counts,
    the_first_status_with_roles_is_shown,
    every_status_has_its_roles_and_its_count,
    the_list_of_a_status_without_roles_shows_a_message,
    the_list_of_an_organization_without_roles_shows_what_to_do,
    roles_are_paged,
    plain_members_get_no_button_for_a_new_role,
    hostile_names_are_shown_as_text,
    an_unknown_status_and_an_invalid_cursor_are_refused,
    the_list_is_in_the_users_language,
];

/// Adds copies of the document's role with these statuses and without candidates.
fn with_roles(document: &mut serde_json::Value, statuses: &[&str]) {
    let roles = document["organizations"][0]["roles"].as_array_mut().unwrap();
    for (status, nth) in statuses.iter().zip(1..) {
        let mut role = roles[0].clone();
        role["id"] = json!(format!("{}_{nth}", role["id"].as_str().unwrap()));
        role["name"] = json!(format!("Copy {nth}"));
        role["status"] = json!(status);
        role["candidates"] = json!([]);
        role["createdAt"] = json!(format!("2026-10-02T08:00:{nth:02}Z"));
        for step in role["steps"].as_array_mut().unwrap() {
            step["id"] = json!(format!("{}_{nth}", step["id"].as_str().unwrap()));
        }
        roles.push(role);
    }
}

fn each_role_shows_its_candidate_counts() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let steps = ["in_progress", "pending", "pending", "pending"];
        crate::support::hiring::set_steps(document, 0, "In Progress", &steps);
    });
    let page = app.browser(&hiring, "member").get(&format!("/app/{}/roles", hiring.slug)).expect(200).text();
    let expected = [
        format!(r#"<a href="/app/{}/roles/{}" dir="auto">Engineer</a>"#, hiring.slug, hiring.role_id),
        r#"<td data-label="New">1</td>"#.to_owned(),
        r#"<td data-label="In review">2</td>"#.to_owned(),
        // The candidate at the first step applied on 1 November, and the others reached the second step on 2 November.
        r#"<td data-label="Longest wait">19 days</td>"#.to_owned(),
        r#"<td data-label="Filled">0 of 2</td>"#.to_owned(),
        "Engineering · Bremen".to_owned(),
    ];
    for text in expected {
        assert!(page.contains(&text), "{text}: {page}");
    }
}

fn the_first_status_with_roles_is_shown() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        with_roles(document, &["closed", "draft"]);
        document["organizations"][0]["roles"].as_array_mut().unwrap().remove(0);
    });
    let page = app.browser(&hiring, "owner").get(&format!("/app/{}/roles", hiring.slug)).expect(200).text();
    assert!(page.contains(r#"?status=draft" aria-current="page""#), "{page}");
    assert!(page.contains("Copy 2") && !page.contains("Copy 1"), "{page}");
}

fn every_status_has_its_roles_and_its_count() {
    let app = App::start();
    let hiring = app.hiring_with(|document| with_roles(document, &["draft", "draft", "closed"]));
    let owner = app.browser(&hiring, "owner");
    for (status, count, names) in [
        ("open", 1, &["Engineer"][..]),
        ("draft", 2, &["Copy 1", "Copy 2"]),
        ("filled", 0, &[]),
        ("closed", 1, &["Copy 3"]),
    ] {
        let page = owner.get(&format!("/app/{}/roles?status={status}", hiring.slug)).expect(200).text();
        assert_eq!(page.matches("<th scope=\"row\">").count(), names.len(), "{status}: {page}");
        for name in names {
            assert!(page.contains(&format!(">{name}</a>")), "{status}: {page}");
        }
        let tab = format!("?status={status}\" aria-current=\"page\">");
        let after = page.split(&tab).nth(1).expect(&tab);
        assert!(
            after.split("</a>").next().unwrap().ends_with(&format!("<span class=\"quiet\">{count}</span>")),
            "{after}"
        );
    }
}

fn the_list_of_a_status_without_roles_shows_a_message() {
    let app = App::start();
    let hiring = app.hiring();
    let page = app.browser(&hiring, "owner").get(&format!("/app/{}/roles?status=closed", hiring.slug)).expect(200);
    assert!(page.text().contains("No role has been closed."), "{}", page.text());
}

fn the_list_of_an_organization_without_roles_shows_what_to_do() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["roles"] = json!([]));
    let path = format!("/app/{}/roles", hiring.slug);
    let page = app.browser(&hiring, "owner").get(&path).expect(200).text();
    assert!(page.contains("No roles yet") && page.contains(&format!("href=\"{path}/new\"")), "{page}");
    let page = app.browser(&hiring, "member").get(&path).expect(200).text();
    assert!(page.contains("may create roles") && !page.contains("/roles/new"), "{page}");
}

fn roles_are_paged() {
    let app = App::start();
    let hiring = app.hiring_with(|document| with_roles(document, &["open"; 4]));
    let owner = app.browser(&hiring, "owner");
    let mut path = format!("/app/{}/roles?limit=2", hiring.slug);
    let mut seen = Vec::new();
    loop {
        let page = owner.get(&path).expect(200).text();
        let rows = page.split("<th scope=\"row\">").skip(1);
        seen.extend(rows.map(|row| row.split("</a>").next().unwrap().rsplit('>').next().unwrap().to_owned()));
        let Some(next) = page.split("<a class=\"button\" href=\"").nth(1) else { break };
        path = format!("{}&limit=2", next.split('"').next().unwrap().replace("&amp;", "&"));
    }
    assert_eq!(seen, ["Copy 4", "Copy 3", "Copy 2", "Copy 1", "Engineer"]);
}

fn plain_members_get_no_button_for_a_new_role() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("/app/{}/roles", hiring.slug);
    for (org_role, has_button) in
        [("owner", true), ("admin", true), ("moderator", true), ("hr_representative", true), ("member", false)]
    {
        let page = app.browser(&hiring, org_role).get(&path).expect(200).text();
        assert_eq!(page.contains(&format!("href=\"{path}/new\"")), has_button, "{org_role}: {page}");
    }
}

fn hostile_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let role = crate::support::hiring::first_role_of(document);
        for member in ["name", "department", "location"] {
            role[member] = json!("<script>alert(1)</script>\"'&");
        }
    });
    let page = app.browser(&hiring, "owner").get(&format!("/app/{}/roles", hiring.slug)).expect(200).text();
    assert!(page.contains("&#60;script&#62;alert(1)") && !page.contains("<script>alert"), "{page}");
}

fn an_unknown_status_and_an_invalid_cursor_are_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for query in ["status=lost", "status=open&status=draft", "cursor=x", "limit=x"] {
        owner.get(&format!("/app/{}/roles?{query}", hiring.slug)).expect(400);
    }
}

fn the_list_is_in_the_users_language() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for (tag, word) in [("de", "Längste Wartezeit"), ("fr", "Attente la plus longue"), ("es", "Espera más larga")] {
        let page = owner.get(&format!("/app/{}/roles?lang={tag}", hiring.slug)).expect(200).text();
        assert!(page.contains(word) && page.contains(&format!("<html lang=\"{tag}\"")), "{tag}: {page}");
    }
}
