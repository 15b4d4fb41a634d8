//! `GET /status/{token}`: the status page, where a candidate sees one application.

use serde_json::json;

use crate::support::stored_signup::{add_candidate, insert_signup, new_status_link, status_link_in, status_link_path};
use crate::support::{Answer, App};

crate::tests![
    the_page_shows_the_role_the_steps_and_the_available_acts,
    the_page_shows_the_signup_and_no_other_data_of_the_candidate,
    the_page_is_not_cached_and_runs_no_scripts,
    the_page_after_a_signup_asks_the_candidate_to_save_the_link,
    the_page_is_in_the_language_of_the_signup_or_the_request,
    every_language_has_the_complete_page,
    all_dead_links_lead_to_the_same_page,
    a_request_with_a_repeated_parameter_gets_a_400_page,
    the_page_does_not_refer_to_career_pages_while_the_portal_is_disabled,
    the_page_of_a_later_signup_looks_like_the_page_of_an_application,
    hostile_names_are_shown_as_text,
    the_link_of_an_erased_candidate_is_dead,
    opening_the_page_changes_nothing,
];

/// Asserts that an answer is the page of a dead link, and returns its text.
#[track_caller]
fn assert_dead_link(answer: Answer) -> String {
    let answer = answer.expect(404);
    let text = answer.text();
    assert!(text.contains("<h1>This link does not work</h1>") && text.contains("ask the organization"), "{text}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert!(answer.header("x-robots-tag").unwrap().starts_with("noindex"));
    text
}

fn the_page_shows_the_role_the_steps_and_the_available_acts() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let text = app.anonymous().get(&path).expect(200).text();
    for part in [
        "<html lang=\"en\">",
        "<meta name=\"robots\" content=\"noindex\">",
        "<h1>Engineer at Acme 1: your application</h1>",
        "<h2>Your application is in progress</h2>",
        "Sent on 1 November 2026",
        "<li class=\"done\">Application <span class=\"state\">Done</span></li>",
        "<li class=\"current\" aria-current=\"step\">Call <span class=\"state\">You are here</span></li>",
        "<li class=\"upcoming\">Interview <span class=\"state\">Still to come</span></li>",
        "<h2>Your details</h2>",
        "Candidate 1",
        &format!("href=\"{path}/data\""),
        &format!("<form method=\"post\" action=\"{path}/withdraw\">"),
        &format!("<form method=\"post\" action=\"{path}/delete\">"),
        "This cannot be undone",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!text.contains("Save this link") && !text.contains("Candidate 2"), "{text}");
}

fn the_page_shows_the_signup_and_no_other_data_of_the_candidate() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    let path = insert_signup(&app, &hiring, Some(&application), "ADA@example.org", "typed");
    let text = app.anonymous().get(&path).expect(200).text();
    for part in [
        "<h2>What you sent</h2>",
        "Ada &#60;b&#62;Typed&#60;/b&#62;",
        "ADA@example.org",
        "+44 20 7946",
        "https://ada.example",
        "First line<br>Second line",
        "My CV.pdf (1\u{a0}kB)",
        "You agreed to the privacy notice on 21 November 2026.",
        "Sent on 21 November 2026",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    // The page does not show the stored name and address to the person who typed the address.
    assert!(!text.contains("Ada Original") && !text.contains("ada@example.org"), "{text}");
}

fn the_page_is_not_cached_and_runs_no_scripts() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let client = app.anonymous().with_header("Accept-Encoding", "gzip, br");
    for method in ["GET", "HEAD"] {
        let answer = client.send(method, &path, &[("If-None-Match", "*")], b"").expect(200);
        assert_eq!(answer.header("cache-control"), Some("no-store"));
        assert_eq!(answer.header("x-robots-tag"), Some("noindex, nofollow"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("content-encoding"), None);
        assert_eq!(answer.header("etag"), None);
        assert_eq!(answer.header("content-language"), Some("en"));
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'self'") && !policy.contains("unsafe"), "{policy}");
    }
    let text = client.get(&path).text();
    for word in ["<script", "<style", " style=", " onclick", "http-equiv"] {
        assert!(!text.contains(word), "{word}");
    }
}

fn the_page_after_a_signup_asks_the_candidate_to_save_the_link() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    let known = insert_signup(&app, &hiring, Some(&application), "ada@example.org", "first");
    let later = insert_signup(&app, &hiring, None, "ada@example.org", "again");
    for path in [known, later] {
        let text = app.anonymous().get(&format!("{path}?new=1")).expect(200).text();
        let link = format!("<p class=\"copy\">http://{}{path}</p>", app.address);
        for part in
            ["Your application has been sent", "Save this link", "Have you applied for this role before?", &link]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        assert!(text.contains(&format!("href=\"{path}?new=1&#38;lang=de\"")), "{text}");
        assert!(!app.anonymous().get(&format!("{path}?new=2")).expect(200).text().contains("Save this link"));
    }
}

fn the_page_is_in_the_language_of_the_signup_or_the_request() {
    let app = App::start();
    let hiring = app.hiring();
    let owner = app.user_with_all(&hiring.staff("owner"));
    let german =
        status_link_in(&owner.post(&status_link_path(&hiring, 0), &json!({ "locale": "de-CH" })).expect(200).json());
    let tag = |path: &str, accepted: &str| {
        let client = app.anonymous().with_header("Accept-Language", accepted);
        let answer = client.get(path).expect(200);
        let tag = answer.header("content-language").unwrap().to_owned();
        assert!(answer.text().contains(&format!("<html lang=\"{tag}\">")));
        tag
    };
    assert_eq!(tag(&german, "fr"), "de");
    assert_eq!(tag(&format!("{german}?lang=fr"), "es"), "fr");
    assert_eq!(tag(&format!("{german}?lang=xx"), "es"), "es");
    let italian =
        status_link_in(&owner.post(&status_link_path(&hiring, 1), &json!({ "locale": "it" })).expect(200).json());
    assert_eq!(tag(&italian, "fr"), "en");
    // The links on the page preserve a chosen language.
    let text = app.anonymous().get(&format!("{german}?lang=fr")).expect(200).text();
    for act in ["data", "withdraw", "delete"] {
        assert!(text.contains(&format!("{german}/{act}?lang=fr\"")), "{act}: {text}");
    }
    let answer = app.anonymous().post_empty(&format!("{german}/withdraw?lang=fr")).expect(303);
    assert_eq!(answer.header("location"), Some(format!("{german}?lang=fr").as_str()));
}

fn every_language_has_the_complete_page() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    let path = insert_signup(&app, &hiring, Some(&application), "ada@example.org", "languages");
    for (tag, words) in [
        ("en", ["Engineer at Acme 1: your application", "Sent on 21 November 2026", "Withdraw now", "Delete for good"]),
        (
            "de",
            ["Engineer bei Acme 1: Ihre Bewerbung", "Gesendet am 21. November 2026", "Jetzt zurückziehen", "löschen"],
        ),
        (
            "fr",
            ["Engineer chez Acme 1", "Envoyée le 21 novembre 2026", "Retirer maintenant", "Supprimer définitivement"],
        ),
        ("es", ["Engineer en Acme 1", "Enviada el 21 de noviembre de 2026", "Retirar ahora", "Eliminar para siempre"]),
    ] {
        let text = app.anonymous().get(&format!("{path}?new=1&lang={tag}")).expect(200).text();
        for part in words {
            assert!(text.contains(part), "{tag}: {part}: {text}");
        }
        assert!(!text.contains('{') && !text.contains('}'), "{tag}: a placeholder was not filled: {text}");
    }
}

fn all_dead_links_lead_to_the_same_page() {
    let app = App::start();
    let hiring = app.hiring();
    let old = new_status_link(&app, &hiring, 0);
    new_status_link(&app, &hiring, 0);
    let unknown = assert_dead_link(app.anonymous().get(&format!("/status/{}", "A".repeat(43))));
    let long = "a".repeat(4_000);
    for path in [old.as_str(), "/status/x", "/status/%00", "/status/%C3%A4", "/status/%3Cscript%3E"] {
        assert_eq!(assert_dead_link(app.anonymous().get(path)), unknown);
    }
    assert_eq!(assert_dead_link(app.anonymous().get(&format!("/status/{long}"))), unknown);
    assert_dead_link(app.anonymous().get(&format!("{old}/data")));
    for act in ["withdraw", "delete"] {
        assert_dead_link(app.anonymous().post_empty(&format!("{old}/{act}")));
        let answer = app.anonymous().get(&format!("{old}/{act}"));
        assert_eq!(answer.expect(405).header("allow"), Some("POST"));
    }
    assert!(app.anonymous().get(&format!("{old}?lang=de")).expect(404).text().contains("<html lang=\"de\">"));
}

fn a_request_with_a_repeated_parameter_gets_a_400_page() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let before = app.sql("SELECT withdrawn_at FROM status_pages");
    let get = |path: &str| app.anonymous().get(&format!("{path}?lang=de&lang=fr"));
    let post = |path: &str| app.anonymous().post_empty(&format!("{path}?lang=de&lang=fr"));
    for answer in
        [get(&path), get(&format!("{path}/data")), post(&format!("{path}/withdraw")), post(&format!("{path}/delete"))]
    {
        assert_eq!(answer.expect(400).header("content-type"), Some("text/html; charset=utf-8"));
    }
    assert_eq!(app.sql("SELECT withdrawn_at FROM status_pages"), before);
}

fn the_page_does_not_refer_to_career_pages_while_the_portal_is_disabled() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let theme = format!("/careers/{}/theme.css", hiring.slug);
    assert!(app.anonymous().get(&path).expect(200).text().contains(&theme));
    for off in ["portal_enabled = 0", "enabled = 0"] {
        app.change(&format!("UPDATE organizations SET {off}"));
        let text = app.anonymous().get(&path).expect(200).text();
        assert!(text.contains("Engineer at Acme 1") && !text.contains("/careers/"), "{text}");
    }
}

fn the_page_of_a_later_signup_looks_like_the_page_of_an_application() {
    let app = App::start();
    let hiring = app.hiring();
    let application = add_candidate(&app, &hiring, "ada@example.org");
    let known = insert_signup(&app, &hiring, Some(&application), "ada@example.org", "token-1");
    let later = insert_signup(&app, &hiring, None, "ada@example.org", "token-2");
    let assert_same = |request: &dyn Fn(&str) -> Answer| {
        // The request for the later signup is sent first, because deleting the other signup would turn the later one
        // into the application.
        let answers = [request(&later), request(&known)].map(|mut answer| {
            answer.headers.retain(|(name, _)| name != "x-request-id" && name != "date");
            let text = answer.text();
            let headers: Vec<_> = answer
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), value.replace("token-1", "token-2")))
                .collect();
            (answer.status, headers, text.replace("token-1", "token-2"))
        });
        assert_eq!(answers[0], answers[1]);
    };
    for query in ["", "?new=1", "?lang=de"] {
        assert_same(&|path| app.anonymous().get(&format!("{path}{query}")));
        assert_same(&|path| app.anonymous().get(&format!("{path}/data{query}")));
    }
    assert_same(&|path| app.anonymous().post_empty(&format!("{path}/withdraw")));
    app.pass(60);
    assert_same(&|path| app.anonymous().get(path));
    assert_same(&|path| app.anonymous().get(&format!("{path}/data")));
    assert_same(&|path| app.anonymous().post_empty(&format!("{path}/withdraw")));
    assert_same(&|path| app.anonymous().post_empty(&format!("{path}/delete")));
    assert_same(&|path| app.anonymous().get(path));
}

fn hostile_names_are_shown_as_text() {
    let app = App::start();
    let hiring = app.hiring_with(|document| {
        document["organizations"][0]["name"] = json!("\"><img src=x onerror='alert(1)'>{organization}");
        document["organizations"][0]["roles"][0]["name"] = json!("<script>alert(1)</script>{role}");
        document["organizations"][0]["roles"][0]["steps"][1]["name"] = json!("<svg onload=alert(1)>");
        document["organizations"][0]["roles"][0]["candidates"][0]["name"] = json!("</dd><script>alert(2)</script>");
    });
    let path = new_status_link(&app, &hiring, 0);
    let text = app.anonymous().get(&format!("{path}?new=1")).expect(200).text();
    for word in ["<script", "<img src=x", "<svg", "</dd><script"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    assert!(text.contains("{organization}") && text.contains("{role}"), "{text}");
}

fn the_link_of_an_erased_candidate_is_dead() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    app.user_with_all(&hiring.staff("owner")).delete(&hiring.candidate_path(0)).expect(200);
    assert_dead_link(app.anonymous().get(&path));
    assert_dead_link(app.anonymous().get(&format!("{path}/data")));
    assert_dead_link(app.anonymous().post_empty(&format!("{path}/withdraw")));
    assert_dead_link(app.anonymous().post_empty(&format!("{path}/delete")));
}

fn opening_the_page_changes_nothing() {
    let app = App::start();
    let hiring = app.hiring();
    let path = new_status_link(&app, &hiring, 0);
    let rows = || (app.sql("SELECT * FROM status_pages"), app.sql("SELECT count(*) FROM activities"));
    let before = rows();
    let first = app.anonymous().get(&path).expect(200).text();
    app.pass(60);
    assert_eq!(app.anonymous().get(&path).expect(200).text(), first);
    app.anonymous().get(&format!("{path}/data")).expect(200);
    assert_eq!(rows(), before);
}
