//! `GET /careers/{orgSlug}/roles/{roleId}`: the posting of a role. `POST …/apply`: the redirect to the role's
//! application form.

use serde_json::{Value, json};

use crate::careers::{careers, has, lacks, listed, page, without_data};
use crate::portal::{add_role, change_role};
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    a_posting_shows_the_role_with_its_details,
    only_markdown_descriptions_are_shown,
    the_posting_date_is_in_the_organizations_time_zone,
    a_posting_has_metadata_for_search_engines_and_link_previews,
    a_posting_with_its_styles_is_small,
    apply_redirects_to_the_form_in_the_language_of_the_page,
    apply_reuses_the_signup_link_that_the_api_returned,
    a_request_for_a_closed_or_filled_public_role_gets_a_410_page,
    requests_for_hidden_and_unknown_roles_get_a_404_page_with_links_to_open_roles,
    a_request_for_a_role_of_another_organization_gets_a_404_page,
    error_pages_link_to_the_five_newest_roles,
    a_reopened_role_is_shown_again,
    requests_with_an_unsupported_method_get_a_405_page,
    a_request_with_a_repeated_language_parameter_gets_a_400_page,
];

/// Returns the path of the posting of an organization's role.
pub(crate) fn role_path(hiring: &Hiring) -> String {
    format!("{}/roles/{}", careers(hiring), hiring.role_id)
}

fn apply(app: &App, path: &str) -> Answer {
    app.anonymous().post_empty(path)
}

fn a_posting_shows_the_role_with_its_details() {
    let app = App::start();
    let hiring = app.hiring();
    let text = page(&app, &role_path(&hiring));
    has(
        &text,
        &[
            "<title>Engineer at Acme 1</title>",
            "<h1>Engineer</h1>",
            "<dt>Department</dt><dd>Engineering</dd>",
            "<dt>Location</dt><dd>Bremen</dd>",
            "<dt>Work type</dt><dd>Hybrid</dd>",
            "<dt>Salary</dt><dd>€60,000 – €75,000.50 a year</dd>",
            "<dt>Posted on</dt><dd><time datetime=\"2026-10-01\">1 October 2026</time></dd>",
            "<h2>Engineer</h2>",
            "<form class=\"apply\" method=\"post\" action=\"/careers/acme-1/roles/role_1/apply?lang=en\">",
            "<button>Apply for this role</button>",
            "<a href=\"/careers/acme-1?lang=en\">All roles at Acme 1</a>",
        ],
    );
    assert_eq!(
        (text.matches("<form").count(), text.matches("<button").count()),
        (1, 1),
        "there is exactly one way to apply"
    );
    lacks(&without_data(&text), &["noindex", "candidate", "positions", "http://acme", "https://acme", "style="]);
}

fn only_markdown_descriptions_are_shown() {
    let app = App::start();
    let body = "Keeps *turbines* turning.\n\n- climbs\n- [reads](https://halmwind.example/manual)\n\n## Pay\n\nGood.";
    for (description, shown) in [
        (json!({ "format": "markdown", "body": body }), true),
        (json!({ "format": "html", "body": body }), false),
        (json!({ "format": "markdown", "body": 7 }), false),
        (json!({ "text": body }), false),
        (json!({}), false),
    ] {
        let hiring = app.hiring_with(|document| change_role(document, &json!({ "description": description })));
        let text = page(&app, &role_path(&hiring));
        let parts = ["<em>turbines</em>", "<li>climbs</li>", "href=\"https://halmwind.example/manual\"", "Pay</h"];
        if shown { has(&text, &parts) } else { lacks(&text, &["turbines", "markdown"]) }
    }
}

fn the_posting_date_is_in_the_organizations_time_zone() {
    let app = App::start();
    for (zone, day) in [
        ("UTC", "<time datetime=\"2026-11-20\">20 November 2026</time>"),
        ("Europe/Berlin", "<time datetime=\"2026-11-21\">21 November 2026</time>"),
        ("America/New_York", "<time datetime=\"2026-11-20\">20 November 2026</time>"),
    ] {
        let hiring = app.hiring_with(|document| {
            document["organizations"][0]["timeZone"] = json!(zone);
            change_role(document, &json!({ "createdAt": "2026-11-20T23:30:00Z" }));
        });
        let text = page(&app, &role_path(&hiring));
        let posted = day.split('"').nth(1).unwrap();
        // Search engines see the same date as people do.
        has(&text, &[day, &format!("\"datePosted\":\"{posted}\"")]);
    }
}

fn a_posting_has_metadata_for_search_engines_and_link_previews() {
    let app = App::start();
    let body = format!("# Hello\n\n{}", "word ".repeat(100));
    let hiring = app.hiring_with(|document| {
        change_role(document, &json!({ "description": { "format": "markdown", "body": body } }));
    });
    let text = page(&app, &format!("{}?lang=fr", role_path(&hiring)));
    let url = format!("http://{}{}", app.address, role_path(&hiring));
    has(
        &text,
        &[
            &format!("<link rel=\"canonical\" href=\"{url}\">"),
            &format!("<meta property=\"og:url\" content=\"{url}\">"),
            "<meta property=\"og:title\" content=\"Engineer chez Acme 1\">",
            "<meta property=\"og:site_name\" content=\"Acme 1\">",
            "<meta property=\"og:description\" content=\"Hello word word",
        ],
    );
    let description = text.split("<meta name=\"description\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(description.chars().count() <= 200 && description.ends_with('…'), "{description}");
    lacks(&text, &["og:image"]);
    let data = text.split("<script type=\"application/ld+json\">").nth(1).unwrap().split("</script>").next().unwrap();
    let posting: Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        (&posting["@type"], &posting["title"], &posting["url"]),
        (&json!("JobPosting"), &json!("Engineer"), &json!(url))
    );
    assert_eq!(text.matches("<script").count(), 1);
    lacks(&page(&app, &careers(&hiring)), &["<script"]);
}

fn a_posting_with_its_styles_is_small() {
    let app = App::start();
    let body = "A paragraph of a description, as long as any.\n\n".repeat(200);
    let hiring = app.hiring_with(|document| {
        change_role(document, &json!({ "description": { "format": "markdown", "body": body } }));
    });
    let bytes = |path: &str| app.anonymous().get(path).expect(200).body.len();
    let theme = format!("{}/theme.css", careers(&hiring));
    let whole = bytes(&role_path(&hiring)) + bytes("/assets/page.css") + bytes(&theme);
    assert!(body.len() > 9_000 && whole < 50 * 1_024, "{whole} bytes");
}

fn apply_redirects_to_the_form_in_the_language_of_the_page() {
    let app = App::start();
    let hiring = app.hiring();
    let path = format!("{}/apply", role_path(&hiring));
    for (query, header, language) in [
        ("?lang=de", "fr", "de"),
        ("", "fr-CH, en;q=0.5", "fr"),
        ("", "*", "en"),
        ("?lang=%0d%0aX-Evil:%201", "es", "es"),
        ("?lang=xx", "", "en"),
    ] {
        let client = app.anonymous().with_header("Accept-Language", header);
        let answer = client.post_empty(&format!("{path}{query}")).expect(303);
        let location = answer.header("location").unwrap();
        let token =
            location.strip_prefix("/signup/").and_then(|rest| rest.strip_suffix(&format!("?locale={language}")));
        assert!(token.is_some_and(|token| token.len() >= 26), "{location}");
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        app.anonymous().get(location).expect(200);
    }
    // A browser sends the form with a body and a media type. The service ignores both.
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    app.anonymous().send("POST", &path, &form, b"lang=de&lang=fr").expect(303);
}

fn apply_reuses_the_signup_link_that_the_api_returned() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "roleId": hiring.role_id, "locale": "de" });
    let answer = app.anonymous().post(&format!("{}/apply", hiring.portal()), &body).expect(200).json();
    let by_api = answer["inviteUrl"].as_str().unwrap().to_owned();
    let answer = apply(&app, &format!("{}/apply?lang=de", role_path(&hiring))).expect(303);
    assert_eq!(format!("http://{}{}", app.address, answer.header("location").unwrap()), by_api);
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["1"]);
}

fn close(owner: &Client, hiring: &Hiring) {
    owner.post(&format!("/api/v1/roles/{}/close", hiring.role_id), &json!({ "reason": "no budget" })).expect(200);
}

/// Asserts that requests for the posting and its apply path both get this status and the same page with this heading.
/// Returns the page.
#[track_caller]
fn assert_missing(app: &App, path: &str, status: u16, heading: &str) -> String {
    let text = app.anonymous().get(path).expect(status).text();
    has(&text, &[&format!("<h1>{heading}</h1>"), "noindex", "All roles at Acme 1</a>"]);
    lacks(&text, &["canonical", "<form"]);
    let applied = apply(app, &format!("{path}/apply")).expect(status);
    assert_eq!(applied.header("cache-control"), Some("no-store"));
    assert_eq!(applied.text(), text, "the button leads to the same page");
    text
}

fn a_request_for_a_closed_or_filled_public_role_gets_a_410_page() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        let filled = json!({
            "id": "role_filled", "name": "Cook <b>", "status": "filled", "steps": [{ "name": "Offer" }],
            "candidates": [{ "name": "Ada", "email": "ada@example.org", "status": "Hired" }],
        });
        add_role(document, &filled);
        add_role(document, &json!({ "id": "role_closed", "name": "Gardener", "status": "closed" }));
    });
    let path = |id: &str| format!("{}/roles/{id}", careers(&hiring));
    let text = assert_missing(&app, &path("role_filled"), 410, "Cook &#60;b&#62; is no longer open");
    assert_eq!(listed(&text), ["Engineer"]);
    assert_missing(&app, &path("role_closed"), 410, "Gardener is no longer open");
    let owner = app.user_with_all(&hiring.staff("owner"));
    close(&owner, &hiring);
    let text = assert_missing(&app, &role_path(&hiring), 410, "Engineer is no longer open");
    assert!(listed(&text).is_empty() && !text.contains("<h2>Open roles"), "{text}");
    assert_eq!(app.sql("SELECT count(*) FROM invitations"), ["0"]);
}

fn requests_for_hidden_and_unknown_roles_get_a_404_page_with_links_to_open_roles() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        add_role(document, &json!({ "id": "role_draft", "name": "Secret", "status": "draft" }));
        add_role(document, &json!({ "id": "role_private", "name": "Secret", "public": false }));
        add_role(document, &json!({ "id": "role_over", "name": "Secret", "status": "closed", "public": false }));
    });
    for id in ["role_draft", "role_private", "role_over", "role_none", "x", "%22%3E", &"a".repeat(65)] {
        let text = assert_missing(&app, &format!("{}/roles/{id}", careers(&hiring)), 404, "This role does not exist");
        assert_eq!(listed(&text), ["Engineer"]);
        lacks(&text, &["Secret"]);
    }
}

fn a_request_for_a_role_of_another_organization_gets_a_404_page() {
    let app = App::start();
    let (ours, theirs) = (app.hiring(), app.hiring());
    assert_missing(&app, &format!("{}/roles/{}", careers(&ours), theirs.role_id), 404, "This role does not exist");
}

fn error_pages_link_to_the_five_newest_roles() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        for nth in 1..=6 {
            let created_at = format!("2026-11-0{nth}T08:00:00Z");
            add_role(document, &json!({ "name": format!("Role {nth}"), "createdAt": created_at }));
        }
    });
    let text = app.anonymous().get(&format!("{}/roles/none", careers(&hiring))).expect(404).text();
    assert_eq!(listed(&text), ["Role 6", "Role 5", "Role 4", "Role 3", "Role 2"]);
}

fn a_reopened_role_is_shown_again() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    for _ in 0..2 {
        page(&app, &role_path(&hiring));
        close(&owner, &hiring);
        app.anonymous().get(&role_path(&hiring)).expect(410);
        lacks(&page(&app, &careers(&hiring)), &["Engineer</a>"]);
        owner.post_empty(&format!("/api/v1/roles/{}/reopen", hiring.role_id)).expect(200);
    }
    page(&app, &role_path(&hiring));
}

fn requests_with_an_unsupported_method_get_a_405_page() {
    let app = App::start();
    let path = role_path(&app.hiring());
    for (method, path, allow) in [("POST", path.clone(), "GET, HEAD"), ("GET", format!("{path}/apply"), "POST")] {
        let answer = app.anonymous().send(method, &path, &[], b"").expect(405);
        assert_eq!(answer.header("allow"), Some(allow));
        has(&answer.text(), &["<h1>That did not work</h1>"]);
    }
}

fn a_request_with_a_repeated_language_parameter_gets_a_400_page() {
    let app = App::start();
    let hiring = app.hiring();
    let (role, query) = (role_path(&hiring), "lang=de&lang=fr");
    let read = |path: &str| app.anonymous().get(&format!("{path}?{query}"));
    let invitations = "SELECT count(*) FROM invitations";
    for answer in
        [read(&role), read(&format!("{}/privacy", careers(&hiring))), apply(&app, &format!("{role}/apply?{query}"))]
    {
        assert_eq!(answer.expect(400).header("content-type"), Some("text/html; charset=utf-8"));
    }
    assert_eq!(app.sql(invitations), ["0"]);
}
