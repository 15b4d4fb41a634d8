//! The response cache of career pages. The cache has one response for each page, language and filter. It never returns
//! a response that is older than an acknowledged change, and stores no response for an invented query.

use serde_json::json;

use crate::portal::add_role;
use crate::support::{Answer, App, Client, Hiring};

crate::tests![
    each_language_has_its_own_cached_response,
    requests_that_select_the_same_language_share_a_cached_response,
    each_filter_has_its_own_cached_response,
    equivalent_queries_share_a_cached_response,
    searches_and_queries_with_unknown_parameters_are_never_cached,
    a_repeated_parameter_is_refused_even_if_the_page_is_cached,
    each_cached_response_has_its_own_etag,
    a_change_invalidates_every_cached_response_at_once,
    invented_queries_evict_no_cached_response,
    a_large_feed_is_cached_and_evicts_no_page,
    rendered_and_cached_styles_do_not_vary_by_language,
    a_head_request_for_a_cached_page_has_no_body,
];

const LANGUAGES: [&str; 4] = ["en", "de", "fr", "es"];

fn organization_with_departments(app: &App) -> Hiring {
    app.hiring_with(|document| {
        for (nth, department) in ["Sales", "Sales", "Legal"].into_iter().enumerate() {
            add_role(document, &json!({ "name": format!("Other {nth}"), "department": department }));
        }
    })
}

fn list(hiring: &Hiring, query: &str) -> String {
    format!("/careers/{}{query}", hiring.slug)
}

fn get(client: &Client, path: &str, language: &str) -> Answer {
    client.send("GET", path, &[("Accept-Language", language)], b"").expect(200)
}

/// Changes every organization's name without invalidating the cache. Cached responses keep the old name, and rendered
/// responses show the new name.
fn rename_behind_the_cache(app: &App, name: &str) {
    for trigger in app.triggers("organizations") {
        app.drop_trigger(&trigger, "organizations");
    }
    app.change(&format!("UPDATE organizations SET name = '{name}'"));
}

/// Returns whether the answer is a cached response, which lacks the new name after [`rename_behind_the_cache`].
fn is_cached(client: &Client, path: &str, language: &str) -> bool {
    !get(client, path, language).text().contains("Renamed Works")
}

fn each_language_has_its_own_cached_response() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    let role = format!("/careers/{}/roles/{}", hiring.slug, hiring.role_id);
    for path in [list(&hiring, ""), role, format!("/careers/{}/privacy", hiring.slug)] {
        let pages: Vec<_> = LANGUAGES.iter().map(|language| get(&client, &path, language)).collect();
        for (nth, (language, page)) in LANGUAGES.iter().zip(&pages).enumerate() {
            assert_eq!(page.header("content-language"), Some(*language));
            assert!(page.text().contains(&format!("<html lang=\"{language}\"")), "{path} in {language}");
            assert_eq!(page.header("vary"), Some("Accept-Language, Accept-Encoding"));
            assert_eq!(page.header("cache-control"), Some("no-cache"));
            let again = get(&client, &path, language);
            assert_eq!((&again.body, again.header("etag")), (&page.body, page.header("etag")));
            assert!(pages[..nth].iter().all(|other| other.header("etag") != page.header("etag")));
        }
    }
}

fn requests_that_select_the_same_language_share_a_cached_response() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    let german = get(&client, &list(&hiring, ""), "de");
    for (query, accepted) in
        [("", "de-CH, en;q=0.5"), ("?lang=de", "fr"), ("?lang=de-AT", ""), ("?lang=", "de"), ("?lang=tlh", "tlh, de")]
    {
        let page = get(&client, &list(&hiring, query), accepted);
        assert_eq!(page.header("etag"), german.header("etag"), "{query} {accepted}");
        assert_eq!(page.body, german.body);
    }
}

fn each_filter_has_its_own_cached_response() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    for _ in 0..2 {
        for (query, here, not_here) in [
            ("?department=Sales", "Other 1", "Other 2"),
            ("?department=Legal", "Other 2", "Other 1"),
            ("?department=Engineering&workType=hybrid", "Engineer", "Other 1"),
            ("?department=Sales&lang=de", "Other 0", "Other 2"),
            ("", "Other 2", "nobody"),
        ] {
            let page = client.get(&list(&hiring, query)).expect(200).text();
            let cards = page.split("<main").nth(1).unwrap();
            assert!(cards.contains(here) && !cards.contains(not_here), "{query}");
        }
    }
}

fn equivalent_queries_share_a_cached_response() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    client.get(&list(&hiring, "?department=Engineering&workType=hybrid")).expect(200);
    client.get(&list(&hiring, "")).expect(200);
    rename_behind_the_cache(&app, "Renamed Works");
    for query in [
        "?workType=hybrid&department=Engineering",
        "?page=&department=%45ngineering&workType=hybrid&lang=en",
        "?department=Engineering&workType=hybrid&page=1",
        "?department=Engineering&workType=hybrid&page=x&location=%20",
        "?",
        "?q=",
        "?page=0",
        "?page=%2B01",
    ] {
        assert!(is_cached(&client, &list(&hiring, query), "en"), "{query}");
    }
    for query in ["?workType=hybrid", "?lang=fr", "?department=Engineering&location=x"] {
        assert!(!is_cached(&client, &list(&hiring, query), "en"), "{query}");
        assert!(!get(&client, &list(&hiring, query), "en").text().is_empty());
    }
}

fn searches_and_queries_with_unknown_parameters_are_never_cached() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    let queries = ["?q=other", "?q=other&department=Sales", "?utm_source=x", "?department=Sales&x=1"];
    for query in queries {
        client.get(&list(&hiring, query)).expect(200);
    }
    rename_behind_the_cache(&app, "Renamed Works");
    for query in queries {
        assert!(!is_cached(&client, &list(&hiring, query), "en"), "{query}");
    }
}

fn a_repeated_parameter_is_refused_even_if_the_page_is_cached() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    client.get(&list(&hiring, "")).expect(200);
    client.get(&list(&hiring, "?page=1")).expect(200);
    for query in ["?page=1&page=1", "?lang=de&lang=de", "?department=&department="] {
        client.get(&list(&hiring, query)).expect(400);
    }
}

fn each_cached_response_has_its_own_etag() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    let tag = |path: &str, language: &str| get(&client, path, language).header("etag").unwrap().to_owned();
    let (plain, filtered) = (list(&hiring, ""), list(&hiring, "?department=Sales"));
    let english = tag(&plain, "en");
    for (path, language, status) in [(&plain, "en", 304), (&plain, "de", 200), (&filtered, "en", 200)] {
        let headers = [("Accept-Language", language), ("If-None-Match", english.as_str())];
        let answer = client.send("GET", path, &headers, b"").expect(status);
        assert_eq!(answer.header("vary"), Some("Accept-Language, Accept-Encoding"));
        assert_eq!(answer.header("etag") == Some(english.as_str()), status == 304);
    }
}

fn a_change_invalidates_every_cached_response_at_once() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    let path = format!("/api/admin/organizations/{}", hiring.organization_id);
    for round in 0..10 {
        let name = format!("Acme {round} & Co");
        app.admin().patch(&path, &json!({ "name": name })).expect(200);
        for query in ["", "?department=Sales", "?q=other"] {
            for language in LANGUAGES {
                let page = get(&client, &list(&hiring, query), language).text();
                assert!(page.contains(&format!("Acme {round} &#38; Co")), "{query} in {language}: {page}");
            }
        }
    }
}

fn invented_queries_evict_no_cached_response() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    client.get(&list(&hiring, "?department=Sales")).expect(200);
    for nth in 0..200 {
        client.get(&list(&hiring, &format!("?department=None-{nth}"))).expect(200);
        client.get(&list(&hiring, &format!("?page={nth}&lang=x{nth}"))).expect(200);
        // These are other spellings of cached queries.
        let zeros = "0".repeat(nth);
        client
            .get(&list(&hiring, &format!("?department=Sales&page={zeros}1&location={}", "+".repeat(nth))))
            .expect(200);
    }
    for language in LANGUAGES {
        get(&client, &list(&hiring, ""), language);
    }
    rename_behind_the_cache(&app, "Renamed Works");
    assert!(is_cached(&client, &list(&hiring, "?department=Sales"), "en"));
    for language in LANGUAGES {
        assert!(is_cached(&client, &list(&hiring, ""), language), "{language}");
    }
    for query in ["?department=None-0", "?department=None-199", "?page=199"] {
        assert!(!is_cached(&client, &list(&hiring, query), "en"), "{query}");
    }
    // The cache still has room for more responses.
    client.get(&list(&hiring, "?department=Legal")).expect(200);
    app.change("UPDATE organizations SET name = 'Acme'");
    assert!(get(&client, &list(&hiring, "?department=Legal"), "en").text().contains("Renamed Works"));
}

fn a_large_feed_is_cached_and_evicts_no_page() {
    let app = App::start();
    let client = app.anonymous();
    let text = "An engineer who likes to write. ".repeat(3_000);
    let hiring = app.hiring_with(|document| {
        for nth in 0..50 {
            let description = json!({ "format": "markdown", "body": format!("{nth} {text}") });
            add_role(document, &json!({ "name": format!("Other {nth}"), "description": description }));
        }
    });
    let paths = ["", "/jobs.xml", "?department=Engineering", "/feed.atom", "/sitemap.xml", "/privacy"];
    for (nth, path) in paths.iter().enumerate() {
        let answer = client.get(&list(&hiring, path)).expect(200);
        assert_eq!(answer.body.len() > 4 * 1_024 * 1_024, [1, 3].contains(&nth), "{path}");
    }
    rename_behind_the_cache(&app, "Renamed Works");
    for path in paths {
        assert!(is_cached(&client, &list(&hiring, path), "en"), "{path}");
    }
}

fn rendered_and_cached_styles_do_not_vary_by_language() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    for _ in 0..2 {
        let style = get(&client, &format!("/careers/{}/theme.css?x=1", hiring.slug), "de");
        assert_eq!((style.header("content-type"), style.header("vary")), (Some("text/css; charset=utf-8"), None));
        let style = get(&client, "/assets/page.css", "de");
        assert_eq!(style.header("vary"), Some("Accept-Encoding"));
        let compressed = client.send("GET", "/assets/page.css", &[("Accept-Encoding", "gzip")], b"").expect(200);
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
        assert!(compressed.body.len() * 2 < style.body.len(), "{} of {}", compressed.body.len(), style.body.len());
    }
}

fn a_head_request_for_a_cached_page_has_no_body() {
    let app = App::start();
    let (hiring, client) = (organization_with_departments(&app), app.anonymous());
    for _ in 0..2 {
        let head = client.send("HEAD", &list(&hiring, "?lang=fr"), &[], b"").expect(200);
        let page = client.get(&list(&hiring, "?lang=fr")).expect(200);
        assert!(head.body.is_empty());
        for name in ["content-length", "etag", "vary", "content-language", "content-type"] {
            assert_eq!(head.header(name), page.header(name), "{name}");
        }
    }
}
