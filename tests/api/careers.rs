//! `GET /careers/{orgSlug}`: the career page with its list of roles, filters, search and paging.

use serde_json::{Value, json};

use crate::portal::{add_role, change_role, change_theme};
use crate::support::{Answer, App, Hiring};

crate::tests![
    the_list_shows_each_role_with_its_details,
    only_public_open_roles_are_listed_newest_first,
    the_salary_is_shown_only_where_show_salary_is_true,
    absent_details_are_left_out,
    a_portal_without_roles_shows_a_message,
    filters_offer_the_existing_values_with_their_counts,
    each_filter_narrows_the_list_and_preserves_the_others,
    a_filter_that_excludes_nothing_is_not_offered,
    a_search_matches_words_of_name_department_and_location,
    a_search_ignores_case_and_accents,
    search_and_filters_preserve_each_other,
    a_search_without_matches_links_to_all_roles,
    fifty_roles_fit_on_one_page_and_fifty_one_need_two,
    a_page_number_out_of_range_is_clamped_and_an_invalid_one_means_the_first_page,
    a_request_with_a_repeated_parameter_gets_a_400_page,
    a_filtered_list_is_not_indexed_by_search_engines,
    a_slug_matches_regardless_of_case_and_outer_spaces,
    requests_for_unknown_and_disabled_portals_get_the_same_page,
    requests_with_an_unsupported_method_get_a_405_page,
    a_head_request_returns_the_header_fields_of_a_get_and_no_body,
    a_conditional_request_for_an_unchanged_page_gets_304,
];

/// Returns the path of an organization's career page.
pub(crate) fn careers(hiring: &Hiring) -> String {
    format!("/careers/{}", hiring.slug)
}

/// Requests a page that must exist, and returns its text.
#[track_caller]
pub(crate) fn page(app: &App, path: &str) -> String {
    let answer = app.anonymous().get(path).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let text = answer.text();
    assert!(text.starts_with("<!doctype html>\n<html lang=\""), "{text}");
    text
}

/// Removes from a page the JSON-LD block, which search engines read and browsers do not run.
pub(crate) fn without_data(text: &str) -> String {
    let Some((before, rest)) = text.split_once("<script type=\"application/ld+json\">") else { return text.to_owned() };
    format!("{before}{}", rest.split_once("</script>").unwrap().1)
}

/// Asserts that a page contains all of these strings.
#[track_caller]
pub(crate) fn has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part} is not in {text}");
    }
}

/// Asserts that a page contains none of these strings.
#[track_caller]
pub(crate) fn lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part} is in {text}");
    }
}

/// Returns the names of the roles that a page lists.
pub(crate) fn listed(text: &str) -> Vec<&str> {
    let links = text.split("<h3><a href=\"").skip(1);
    links.map(|link| link.split('>').nth(1).unwrap().split('<').next().unwrap()).collect()
}

/// Creates an organization with these roles in addition to `Engineer`. The roles are created in this order, one second
/// apart.
fn with_roles(app: &App, roles: &[Value]) -> Hiring {
    app.hiring_with(|document| {
        for (nth, role) in roles.iter().enumerate() {
            let mut role = role.clone();
            role["createdAt"] = json!(format!("2026-10-02T08:{:02}:{:02}Z", nth / 60, nth % 60));
            add_role(document, &role);
        }
    })
}

fn with_four_roles(app: &App) -> Hiring {
    let roles = [
        json!({ "name": "Gardener", "department": "Grounds", "location": "Bremen" }),
        json!({ "name": "Network engineer", "department": "IT & Ops", "location": "Genève", "workType": "remote" }),
        json!({ "name": "Developer", "department": "IT & Ops", "location": "Bremen", "workType": "remote" }),
    ];
    with_roles(app, &roles)
}

fn the_list_shows_each_role_with_its_details() {
    let app = App::start();
    let hiring = app.hiring();
    let text = page(&app, &careers(&hiring));
    has(
        &text,
        &[
            "<title>Careers at Acme 1</title>",
            "<h1>Careers at Acme 1</h1>",
            "<h2 id=\"found\" class=\"count\">1 open role</h2>",
            "<h3><a href=\"/careers/acme-1/roles/role_1?lang=en\">Engineer</a></h3>",
            "<li>Engineering</li><li>Bremen</li><li>Hybrid</li><li>€60,000 – €75,000.50 a year</li>",
            "<link rel=\"stylesheet\" href=\"/careers/acme-1/theme.css\">",
            &format!("<link rel=\"canonical\" href=\"http://{}/careers/acme-1\">", app.address),
            "<a href=\"/careers/acme-1/privacy?lang=en\">Privacy notice</a>",
        ],
    );
    lacks(&text, &["noindex", "<script", "style=", "http://acme", "https://acme", "class=\"filters\"", "paging"]);
}

fn only_public_open_roles_are_listed_newest_first() {
    let app = App::start();
    let roles = [
        json!({ "name": "Draft", "status": "draft" }),
        json!({ "name": "Closed", "status": "closed" }),
        json!({ "name": "Private", "public": false }),
        json!({ "name": "Older" }),
        json!({ "name": "Newer" }),
    ];
    let hiring = with_roles(&app, &roles);
    app.hiring();
    assert_eq!(listed(&page(&app, &careers(&hiring))), ["Newer", "Older", "Engineer"]);
}

fn the_salary_is_shown_only_where_show_salary_is_true() {
    let app = App::start();
    for theme in [json!({}), json!({ "showSalary": false })] {
        let hiring = app.hiring_with(|document| change_theme(document, theme));
        lacks(&page(&app, &careers(&hiring)), &["€", "60,000"]);
        let role = format!("{}/roles/{}", careers(&hiring), hiring.role_id);
        lacks(&page(&app, &role), &["€", "60,000", "Salary"]);
    }
}

fn absent_details_are_left_out() {
    let app = App::start();
    let document = json!({ "organizations": [{ "slug": "bare", "name": "Bare", "portal": { "enabled": true },
        "roles": [{ "id": "role_bare", "name": "Gardener", "status": "open", "public": true }] }] });
    app.import(&document);
    let text = page(&app, "/careers/bare");
    assert_eq!(listed(&text), ["Gardener"]);
    lacks(&text, &["class=\"facts\"", "<img", "null", "None"]);
    let text = page(&app, "/careers/bare/roles/role_bare");
    has(&text, &["<h1>Gardener</h1>", "<div class=\"prose\"></div>", "21 November 2026"]);
    lacks(&without_data(&text), &["Department", "Location", "Work type", "Salary", "description\"", "null", "None"]);
}

fn a_portal_without_roles_shows_a_message() {
    let app = App::start();
    let hiring = app.hiring_with(|document| change_role(document, &json!({ "public": false })));
    let text = page(&app, &careers(&hiring));
    has(&text, &["<h2>No open roles right now</h2>", "Acme 1 is not hiring"]);
    lacks(&text, &["<form", "class=\"roles\"", "matches"]);
    // Without roles, a search shows the same message.
    has(&page(&app, &format!("{}?q=x&page=7", careers(&hiring))), &["<h2>No open roles right now</h2>"]);
}

fn filters_offer_the_existing_values_with_their_counts() {
    let app = App::start();
    let hiring = with_four_roles(&app);
    let text = page(&app, &careers(&hiring));
    has(
        &text,
        &[
            "<a href=\"/careers/acme-1?lang=en\" aria-current=\"true\">All departments</a>",
            "<a href=\"/careers/acme-1?department=IT%20%26%20Ops&#38;lang=en\">IT &#38; Ops <span class=\"quiet\">2</span></a>",
            "<a href=\"/careers/acme-1?department=Grounds&#38;lang=en\">Grounds <span class=\"quiet\">1</span></a>",
            "<a href=\"/careers/acme-1?location=Bremen&#38;lang=en\">Bremen <span class=\"quiet\">3</span></a>",
            "<a href=\"/careers/acme-1?location=Gen%C3%A8ve&#38;lang=en\">Genève <span class=\"quiet\">1</span></a>",
            "<a href=\"/careers/acme-1?workType=remote&#38;lang=en\">Remote <span class=\"quiet\">2</span></a>",
        ],
    );
    let positions: Vec<_> = ["IT &#38; Ops <", "Engineering <", "Grounds <"].map(|name| text.find(name)).into();
    assert!(positions.is_sorted(), "the most frequent value comes first: {text}");
    lacks(&text, &["<details class=\"filters\" open"]);
}

fn each_filter_narrows_the_list_and_preserves_the_others() {
    let app = App::start();
    let hiring = with_four_roles(&app);
    let found = |query: &str| {
        let text = page(&app, &format!("{}?{query}", careers(&hiring)));
        listed(&text).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(found("department=IT%20%26%20Ops"), ["Developer", "Network engineer"]);
    assert_eq!(found("department=IT+%26+Ops&location=Bremen"), ["Developer"]);
    assert_eq!(found("workType=remote&location=Bremen"), ["Developer"]);
    assert_eq!(found("workType=hybrid"), ["Engineer"]);
    assert_eq!(
        found("department=&location=&workType=&q=&page="),
        ["Developer", "Network engineer", "Gardener", "Engineer"]
    );
    let text = page(&app, &format!("{}?department=IT%20%26%20Ops", careers(&hiring)));
    has(
        &text,
        &[
            "<details class=\"filters\" open>",
            "<a href=\"/careers/acme-1?department=IT%20%26%20Ops&#38;lang=en\" aria-current=\"true\">IT &#38; Ops",
            "<a href=\"/careers/acme-1?department=IT%20%26%20Ops&#38;location=Bremen&#38;lang=en\">Bremen <span class=\"quiet\">1</span>",
            "<a href=\"/careers/acme-1?lang=en\">All departments</a>",
            "<p><a href=\"/careers/acme-1?lang=en\">Show all roles</a></p>",
            "<h2 id=\"found\" class=\"count\">2 open roles</h2>",
            // This link leads to the same list in another language.
            "<a href=\"/careers/acme-1?department=IT%20%26%20Ops&#38;lang=de\"",
        ],
    );
}

fn a_filter_that_excludes_nothing_is_not_offered() {
    let app = App::start();
    let roles = [json!({ "name": "Cook", "department": "Engineering", "location": "Bremen" })];
    let hiring = with_roles(&app, &roles);
    lacks(&page(&app, &careers(&hiring)), &["class=\"filters\""]);
    // A chosen filter can be removed.
    let text = page(&app, &format!("{}?location=Bremen", careers(&hiring)));
    has(&text, &["aria-current=\"true\">Bremen", "All locations</a>"]);
    lacks(&text, &["All departments", "All work types"]);
}

fn a_search_matches_words_of_name_department_and_location() {
    let app = App::start();
    let hiring = with_four_roles(&app);
    for (search, expected) in [
        ("engineer", 2),
        ("NET", 1),
        ("geneve", 1),
        ("grounds", 1),
        ("bremen+dev", 1),
        ("++ops%20", 2),
        ("gineer", 0),
        ("%21%3F", 0),
        ("%00", 0),
        (&"a".repeat(4_000), 0),
    ] {
        let text = page(&app, &format!("{}?q={search}", careers(&hiring)));
        assert_eq!(listed(&text).len(), expected, "{search}: {text}");
    }
}

fn a_search_ignores_case_and_accents() {
    let app = App::start();
    let names = ["Βοηθός κουζίνας", "Кладовщик-приёмщик", "Trợ lý"];
    let hiring = with_roles(&app, &names.map(|name| json!({ "name": name })));
    for (search, expected) in [
        ("%CE%92%CE%9F%CE%97%CE%98%CE%9F%CE%A3", names[0]),
        ("%D0%BF%D1%80%D0%B8%D0%B5%D0%BC%D1%89%D0%B8%D0%BA", names[1]),
        ("tro+ly", names[2]),
        ("tr%C6%A1%CC%A3", names[2]),
    ] {
        let text = page(&app, &format!("{}?q={search}", careers(&hiring)));
        assert_eq!(listed(&text), [expected], "{search}");
    }
}

fn search_and_filters_preserve_each_other() {
    let app = App::start();
    let hiring = with_four_roles(&app);
    let text = page(&app, &format!("{}?q=%22e%3C&location=Bremen&lang=de", careers(&hiring)));
    assert_eq!(listed(&text), ["Engineer"]);
    has(
        &text,
        &[
            "<form class=\"search\" role=\"search\" action=\"/careers/acme-1\">",
            "value=\"&#34;e&#60;\"",
            "<input type=\"hidden\" name=\"location\" value=\"Bremen\">",
            "<input type=\"hidden\" name=\"lang\" value=\"de\">",
            "<a href=\"/careers/acme-1?q=%22e%3C&#38;lang=de\">Alle Orte</a>",
        ],
    );
    lacks(&text, &["name=\"department\"", "name=\"page\""]);
}

fn a_search_without_matches_links_to_all_roles() {
    let app = App::start();
    let hiring = with_four_roles(&app);
    for query in ["q=nothing", "department=Nowhere", "workType=sometimes", "location=Bremen&department=Nowhere"] {
        let text = page(&app, &format!("{}?{query}", careers(&hiring)));
        has(
            &text,
            &["No roles match</h2>", "<a class=\"button second\" href=\"/careers/acme-1?lang=en\">Show all roles</a>"],
        );
        assert!(listed(&text).is_empty(), "{query}");
    }
}

fn fifty_roles_fit_on_one_page_and_fifty_one_need_two() {
    let app = App::start();
    let many = |count: usize| (1..count).map(|nth| json!({ "name": format!("Role {nth:02}") })).collect::<Vec<_>>();
    let fifty = careers(&with_roles(&app, &many(50)));
    let text = page(&app, &fifty);
    assert_eq!(listed(&text).len(), 50);
    has(&text, &["50 open roles"]);
    lacks(&text, &["class=\"paging\"", "Page 1"]);
    let path = careers(&with_roles(&app, &many(51)));
    let first = page(&app, &path);
    assert_eq!((listed(&first).len(), listed(&first)[0]), (50, "Role 50"));
    has(
        &first,
        &["51 open roles", "Page 1 of 2", &format!("rel=\"next\" href=\"{path}?page=2&#38;lang=en\">Next page")],
    );
    lacks(&first, &["rel=\"prev\""]);
    let second = page(&app, &format!("{path}?page=2"));
    assert_eq!(listed(&second), ["Engineer"]);
    has(
        &second,
        &[
            "<title>Careers at Acme 2, page 2</title>",
            "Page 2 of 2",
            &format!("rel=\"prev\" href=\"{path}?lang=en\">Previous page"),
            &format!("<link rel=\"canonical\" href=\"http://{}{path}?page=2\">", app.address),
        ],
    );
    lacks(&second, &["rel=\"next\""]);
    // Paging applies to the matches, not to all roles.
    has(&page(&app, &format!("{path}?q=role&page=2")), &["50 open roles"]);
}

fn a_page_number_out_of_range_is_clamped_and_an_invalid_one_means_the_first_page() {
    let app = App::start();
    let roles: Vec<_> = (1..51).map(|nth| json!({ "name": format!("Role {nth:02}") })).collect();
    let path = careers(&with_roles(&app, &roles));
    for (number, shown) in
        [("3", 2), ("18446744073709551615", 2), ("18446744073709551616", 1), ("0", 1), ("-1", 1), ("x", 1), ("", 1)]
    {
        has(&page(&app, &format!("{path}?page={number}")), &[&format!("Page {shown} of 2")]);
    }
}

fn a_request_with_a_repeated_parameter_gets_a_400_page() {
    let app = App::start();
    let path = careers(&app.hiring());
    for name in ["department", "location", "workType", "q", "page", "lang"] {
        let answer = app.anonymous().get(&format!("{path}?{name}=a&{name}=b")).expect(400);
        has(&answer.text(), &["<h1>That did not work</h1>"]);
    }
}

fn a_filtered_list_is_not_indexed_by_search_engines() {
    let app = App::start();
    let path = careers(&with_four_roles(&app));
    for query in ["q=e", "location=Bremen", "department=Nowhere"] {
        let text = page(&app, &format!("{path}?{query}"));
        has(&text, &["<meta name=\"robots\" content=\"noindex\">"]);
        lacks(&text, &["canonical"]);
    }
    lacks(&page(&app, &format!("{path}?lang=de&q=&page=1")), &["noindex"]);
}

fn a_slug_matches_regardless_of_case_and_outer_spaces() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["slug"] = json!("Acme"));
    for slug in ["acme", "ACME", "%20aCme%20"] {
        let text = page(&app, &format!("/careers/{slug}"));
        has(&text, &[&format!("/careers/Acme/roles/{}?lang=en", hiring.role_id)]);
    }
}

/// Asserts that an answer is the page for an absent portal, and returns its main part.
#[track_caller]
pub(crate) fn no_portal(answer: Answer) -> String {
    let answer = answer.expect(404);
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let text = answer.text();
    has(&text, &["<h1>There is no career page here</h1>", "noindex", "lang=de"]);
    lacks(&text, &["theme.css", "canonical"]);
    text.split("<main").nth(1).unwrap().to_owned()
}

fn requests_for_unknown_and_disabled_portals_get_the_same_page() {
    let app = App::start();
    let hiring = app.hiring();
    let unknown = no_portal(app.anonymous().get("/careers/nobody"));
    for slug in ["a_b", "%22%3E%3Cscript%3E", "%20", &"a".repeat(65)] {
        assert_eq!(no_portal(app.anonymous().get(&format!("/careers/{slug}"))), unknown, "{slug}");
    }
    let role = format!("{}/roles/{}", careers(&hiring), hiring.role_id);
    for (off, on) in [
        ("UPDATE organizations SET portal_enabled = 0", "UPDATE organizations SET portal_enabled = 1"),
        ("UPDATE organizations SET enabled = 0", "UPDATE organizations SET enabled = 1"),
    ] {
        app.change(off);
        // Another process made the change, so the cached response is invalidated a moment later.
        app.anonymous().get_until(&careers(&hiring), |answer| answer.status == 404);
        for path in [careers(&hiring), role.clone(), format!("{}/privacy", careers(&hiring))] {
            assert_eq!(no_portal(app.anonymous().get(&path)), unknown, "{off} {path}");
        }
        assert_eq!(no_portal(app.anonymous().post_empty(&format!("{role}/apply"))), unknown);
        app.anonymous().get(&format!("{}/theme.css", careers(&hiring))).refused(404, "not_found");
        app.change(on);
        app.anonymous().get_until(&careers(&hiring), |answer| answer.status == 200);
    }
}

fn requests_with_an_unsupported_method_get_a_405_page() {
    let app = App::start();
    let path = careers(&app.hiring());
    let answer = app.anonymous().send("POST", &path, &[], b"").expect(405);
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    has(&answer.text(), &["<h1>That did not work</h1>"]);
}

fn a_head_request_returns_the_header_fields_of_a_get_and_no_body() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous();
    let posting = format!("{}/roles/{}", careers(&hiring), hiring.role_id);
    for path in [
        careers(&hiring),
        posting,
        format!("{}/privacy", careers(&hiring)),
        format!("{}/theme.css", careers(&hiring)),
        "/assets/page.css".to_owned(),
        "/careers/nobody".to_owned(),
    ] {
        let (get, head) = (client.get(&path), client.send("HEAD", &path, &[], b""));
        assert_eq!((head.status, head.text().as_str()), (get.status, ""), "{path}");
        for name in ["content-type", "content-length", "etag", "vary", "content-language", "cache-control"] {
            assert_eq!(head.header(name), get.header(name), "{path} {name}");
        }
    }
}

fn a_conditional_request_for_an_unchanged_page_gets_304() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let posting = format!("{}/roles/{}", careers(&hiring), hiring.role_id);
    let mut tags = Vec::new();
    for path in
        [careers(&hiring), posting, format!("{}/privacy", careers(&hiring)), format!("{}/theme.css", careers(&hiring))]
    {
        let tag = app.anonymous().get(&path).expect(200).header("etag").unwrap().to_owned();
        let client = app.anonymous().with_header("If-None-Match", &tag);
        client.get(&path).expect(304);
        tags.push((path, client));
    }
    owner.patch(&format!("/api/v1/roles/{}", hiring.role_id), &json!({ "name": "Builder" })).expect(200);
    for (path, client) in &tags[..2] {
        has(&client.get(path).expect(200).text(), &["Builder"]);
    }
    for path in ["/assets/page.css", "/assets/icon.svg"] {
        let tag = app.anonymous().get(path).expect(200).header("etag").unwrap().to_owned();
        app.anonymous().with_header("If-None-Match", &tag).get(path).expect(304);
    }
}
