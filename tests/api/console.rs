//! The rules that hold for every page and every form of the staff console.

use std::collections::BTreeMap;

use crate::support::app::Options;
use crate::support::console::{PASSWORD, SAME_ORIGIN, app_path, form_body, staff_path, staff_routes};
use crate::support::{Answer, App};

crate::tests![
    a_page_requested_without_a_session_leads_to_the_sign_in_page_and_back,
    a_form_sent_without_a_session_gets_a_sign_in_page_with_the_fields_of_the_form,
    a_partial_request_without_a_session_gets_a_dialog,
    the_refusal_of_a_partial_request_is_explained_in_a_dialog,
    an_api_key_does_not_open_the_console,
    a_form_from_another_origin_is_forbidden,
    a_body_of_another_type_or_over_the_limit_is_refused,
    a_repeated_language_parameter_is_refused,
    every_route_is_rate_limited,
    other_organizations_and_their_records_are_treated_like_unknown_ones,
    a_disabled_user_is_signed_out,
    each_form_admits_exactly_the_callers_who_may_submit_it,
    a_demoted_user_can_no_longer_decide,
    pages_have_the_policy_of_the_console,
    the_script_and_the_style_are_cacheable_until_they_change,
];

/// Returns the status and the body of an answer, without the request id that a problem page shows.
fn shown(answer: &Answer) -> (u16, String) {
    let text = answer.text().replace(answer.header("x-request-id").unwrap(), "");
    (answer.status, text)
}

fn a_page_requested_without_a_session_leads_to_the_sign_in_page_and_back() {
    let app = App::start();
    let hiring = app.hiring();
    for route in staff_routes().into_iter().filter(|route| route.method == "GET") {
        let path = staff_path(route, &hiring.slug, &hiring);
        let answer = app.anonymous().get(&path).expect(303);
        let next: String = form_body(&[("next", &path)]);
        assert_eq!(answer.header("location"), Some(format!("/sign-in?{next}").as_str()), "{path}");
        let forged = app.anonymous().with_header("Cookie", "appliance_session=none").get(&path).expect(303);
        assert_eq!(forged.header("location"), answer.header("location"), "{path}");
    }
}

fn a_form_sent_without_a_session_gets_a_sign_in_page_with_the_fields_of_the_form() {
    let app = App::start();
    let hiring = app.hiring();
    for route in staff_routes().into_iter().filter(|route| route.method == "POST") {
        let path = staff_path(route, &hiring.slug, &hiring);
        let answer = app.anonymous().submit(&path, &[("note", "typed <text>")]).expect(401);
        let page = answer.text();
        assert!(page.contains(r#"<form method="post" action="/sign-in""#), "{path}: {page}");
        let is_carried = page.contains(r#"name="sent.note" value="typed &#60;text&#62;""#);
        // The sign-in page does not carry the fields of a form that has a password field. A confirmation is an
        // exception: its password field has its own name, so the sign-in page leaves out only this field.
        let has_other_passwords = route.hashes_password && path != "/app/confirm";
        assert_eq!(is_carried, !has_other_passwords, "{path}: {page}");
        assert!(page.contains(&format!(r#"name="to" value="{path}""#)), "{path}: {page}");
    }
}

fn a_partial_request_without_a_session_gets_a_dialog() {
    let app = App::start();
    let hiring = app.hiring();
    let client = app.anonymous().with_header("X-Part", "1");
    for route in staff_routes() {
        let path = staff_path(route, &hiring.slug, &hiring);
        let answer = if route.method == "GET" { client.get(&path) } else { client.submit(&path, &[]) }.expect(401);
        assert!(answer.text().contains("<template data-dialog>"), "{path}");
        assert!(answer.header("vary").is_some_and(|vary| vary.contains("X-Part")), "{path}");
    }
}

fn the_refusal_of_a_partial_request_is_explained_in_a_dialog() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let absent = app_path(&hiring, "roles/role_none/decide");
    let part = owner.submit_for_parts(&absent, &[("act", "advance")]).expect(404).text();
    assert!(part.starts_with("<template data-dialog>") && part.contains("This page does not exist"), "{part}");
    assert!(part.contains("data-dismiss>Close<") && !part.contains("<html"), "{part}");
    let session = app.sign_in(&hiring.email("owner"), PASSWORD).with_header("Origin", "http://other.example");
    let part = session.submit_for_parts("/app/sign-out", &[]).expect(403).text();
    assert!(part.starts_with("<template data-dialog>") && part.contains("http://other.example"), "{part}");
}

fn an_api_key_does_not_open_the_console() {
    let app = App::start();
    let hiring = app.hiring();
    for route in staff_routes() {
        let path = staff_path(route, &hiring.slug, &hiring);
        let client = app.admin().with_header(SAME_ORIGIN.0, SAME_ORIGIN.1);
        let answer = if route.method == "GET" { client.get(&path) } else { client.submit(&path, &[]) };
        assert!(matches!(answer.status, 303 | 401), "{path}: {}", answer.status);
        assert!(answer.status == 401 || answer.header("location").unwrap().starts_with("/sign-in"), "{path}");
    }
}

fn a_form_from_another_origin_is_forbidden() {
    let app = App::start();
    let hiring = app.hiring();
    app.browser(&hiring, "owner");
    let session = app.sign_in(&hiring.email("owner"), PASSWORD);
    for route in staff_routes().into_iter().filter(|route| route.method == "POST") {
        let path = staff_path(route, &hiring.slug, &hiring);
        for origin in [None, Some(("Sec-Fetch-Site", "cross-site")), Some(("Origin", "http://evil.example"))] {
            let client = origin
                .map_or_else(|| session.with_header("Accept", "*/*"), |(name, value)| session.with_header(name, value));
            client.submit(&path, &[]).expect(403);
        }
    }
    // The page names the form's origin and the configured address, because a wrong base URL also leads to this refusal.
    let answer = session.with_header("Origin", "http://other.example").submit("/app/sign-out", &[]).expect(403);
    assert!(answer.text().contains("http://other.example"), "{}", answer.text());
    session.get("/app").expect(200);
}

fn a_body_of_another_type_or_over_the_limit_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for route in staff_routes().into_iter().filter(|route| route.accepts_body) {
        let path = staff_path(route, &hiring.slug, &hiring);
        let json = [("Content-Type", "application/json")];
        owner.send("POST", &path, &json, b"{}").expect(415);
        let long = form_body(&[("note", &"a".repeat(4 << 20))]);
        owner
            .send("POST", &path, &[("Content-Type", "application/x-www-form-urlencoded")], long.as_bytes())
            .expect(413);
    }
}

fn a_repeated_language_parameter_is_refused() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    for route in staff_routes() {
        let path = format!("{}?lang=de&lang=fr", staff_path(route, &hiring.slug, &hiring));
        let answer = if route.method == "GET" { owner.get(&path) } else { owner.submit(&path, &[]) };
        answer.expect(400);
    }
}

fn every_route_is_rate_limited() {
    let app = App::with(Options { per_minute: Some(1), ..Options::default() });
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    owner.get("/app").expect(200);
    for route in staff_routes() {
        let path = staff_path(route, &hiring.slug, &hiring);
        let answer = if route.method == "GET" { owner.get(&path) } else { owner.submit(&path, &[]) }.expect(429);
        assert_eq!(answer.header("retry-after"), Some("60"), "{path}");
    }
}

fn other_organizations_and_their_records_are_treated_like_unknown_ones() {
    let app = App::start();
    let (own, other) = (app.hiring(), app.hiring());
    let owner = app.browser(&own, "owner");
    let before = app.sql("SELECT count(*) FROM activities");
    for route in staff_routes().into_iter().filter(|route| route.path.contains("{orgSlug}")) {
        let mut paths = vec![
            staff_path(route, "no-such-organization", &own.unknown()),
            staff_path(route, "no-such-organization", &own),
            staff_path(route, &other.slug, &other),
            staff_path(route, &other.slug, &own),
        ];
        if route.path.matches('{').count() > 1 {
            paths.extend([staff_path(route, &own.slug, &other), staff_path(route, &own.slug, &own.unknown())]);
        }
        let mut answers: BTreeMap<(u16, String), Vec<String>> = BTreeMap::new();
        for path in paths {
            let answer = if route.method == "GET" { owner.get(&path) } else { owner.submit(&path, &[]) };
            assert!(answer.status >= 400, "{path}: {}", answer.status);
            answers.entry(shown(&answer)).or_default().push(path);
        }
        assert_eq!(answers.len(), 1, "{} {}: {answers:#?}", route.method, route.path);
    }
    assert_eq!(app.sql("SELECT count(*) FROM activities"), before);
}

fn a_disabled_user_is_signed_out() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    owner.get("/app").expect(200);
    app.change(&format!("UPDATE users SET enabled = 0 WHERE id = '{}'", hiring.staff("owner")));
    owner.get("/app").expect(303);
    owner.submit("/app/sign-out", &[]).expect(401);
}

fn each_form_admits_exactly_the_callers_who_may_submit_it() {
    let org_roles = ["owner", "admin", "moderator", "hr_representative", "member", "platform admin"];
    let forms =
        || staff_routes().into_iter().filter(|route| route.method == "POST" && route.path.contains("{orgSlug}"));
    assert!(forms().count() > 15);
    let mut findings = Vec::new();
    for org_role in org_roles {
        let app = App::start();
        for route in forms() {
            // Some forms succeed without any field, so each form is sent to a new organization.
            let hiring = app.hiring();
            let browser = match org_role {
                "platform admin" => app.browser_of("admin@appliance.example"),
                _ => app.browser(&hiring, org_role),
            };
            let is_allowed = match org_role {
                "owner" | "admin" | "platform admin" => true,
                "moderator" | "hr_representative" => {
                    !["/members", "/settings"].iter().any(|part| route.path.contains(part))
                }
                // The organization role `member` may submit only the preview of a role, which changes nothing.
                _ => route.path.ends_with("/preview"),
            };
            let path = staff_path(route, &hiring.slug, &hiring);
            // A decision names a step, and a change to a membership names the new organization role.
            let fields = [("step", &*hiring.candidates[0].steps[1]), ("orgRole", "moderator")];
            let fields = if path.contains("/applications/") {
                &fields[..1]
            } else if path.ends_with("/role") {
                &fields[1..]
            } else {
                &[]
            };
            let status = browser.submit(&path, fields).status;
            if (status != 403) != is_allowed {
                findings.push(format!("{org_role} at {path}: {status}"));
            }
        }
        assert_eq!(app.check(), Vec::<String>::new(), "{org_role}");
    }
    assert_eq!(findings, Vec::<String>::new());
}

fn a_demoted_user_can_no_longer_decide() {
    let app = App::start();
    let hiring = app.hiring();
    let moderator = app.browser(&hiring, "moderator");
    let path = format!("/app/{}/applications/{}/advance", hiring.slug, hiring.candidates[0].application_id);
    let form = [("step", &*hiring.candidates[0].steps[1])];
    let user = hiring.staff("moderator");
    app.change(&format!("UPDATE memberships SET org_role = 'member' WHERE user_id = '{user}'"));
    moderator.submit(&path, &form).expect(403);
    app.change(&format!("DELETE FROM memberships WHERE user_id = '{user}'"));
    moderator.submit(&path, &form).expect(404);
    assert_eq!(hiring.step_statuses(&app, 0)[1], "in_progress");
}

fn pages_have_the_policy_of_the_console() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.browser(&hiring, "owner");
    let answers = [owner.get("/app").expect(200), owner.get("/app/me").expect(200), app.anonymous().get("/sign-in")];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types console"] {
            assert!(policy.contains(rule), "{rule}: {policy}");
        }
        assert_eq!(answer.header("referrer-policy"), Some("same-origin"));
        assert_eq!(answer.header("cache-control"), Some("no-store"));
    }
}

fn the_script_and_the_style_are_cacheable_until_they_change() {
    let app = App::start();
    let hiring = app.hiring();
    let page = app.browser(&hiring, "owner").get("/app").expect(200).text();
    for name in ["console.css", "console.js"] {
        let url = page.split('"').find(|value| value.contains(name)).unwrap();
        let answer = app.anonymous().get(url).expect(200);
        assert!(answer.header("cache-control").unwrap().contains("immutable"), "{name}");
        let etag = answer.header("etag").unwrap();
        app.anonymous().with_header("If-None-Match", etag).get(url).expect(304);
    }
}
