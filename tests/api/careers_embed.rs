//! `/careers/{orgSlug}/embed.js`: the script that shows an organization's roles on pages of other sites.

use serde_json::json;

use crate::support::App;

crate::tests![
    the_script_is_open_to_any_origin_and_cacheable_for_an_hour,
    the_script_is_small_and_the_same_for_every_organization,
    the_script_adds_no_globals_and_inserts_data_as_text_only,
    a_conditional_request_for_the_unchanged_script_gets_304,
    requests_for_unknown_and_disabled_portals_get_a_404_answer,
];

/// The maximum size of the script. A script of 9 kB does not noticeably slow down a page of another site.
const BYTES_MAX: usize = 9_000;

fn the_script_is_open_to_any_origin_and_cacheable_for_an_hour() {
    let app = App::start();
    let hiring = app.hiring();
    let answer = app.anonymous().get(&format!("/careers/{}/embed.js", hiring.slug)).expect(200);
    assert_eq!(answer.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert_eq!(answer.header("cache-control"), Some("public, max-age=3600"));
    assert_eq!(answer.header("set-cookie"), None);
}

fn the_script_is_small_and_the_same_for_every_organization() {
    let app = App::start();
    let (first, second) = (app.hiring(), app.hiring());
    let script = |slug: &str| app.anonymous().get(&format!("/careers/{slug}/embed.js")).expect(200).text();
    assert_eq!(script(&first.slug), script(&second.slug));
    assert!(script(&first.slug).len() <= BYTES_MAX, "{} bytes", script(&first.slug).len());
}

fn the_script_adds_no_globals_and_inserts_data_as_text_only() {
    let app = App::start();
    let hiring = app.hiring();
    let script = app.anonymous().get(&format!("/careers/{}/embed.js", hiring.slug)).expect(200).text();
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "cookie =",
        "localStorage",
        "window.",
        "globalThis",
    ] {
        assert!(!script.contains(word), "{word}");
    }
    let statements =
        script.lines().filter(|line| !line.starts_with("//") && !line.starts_with(' ') && !line.is_empty());
    assert_eq!(statements.collect::<Vec<_>>(), ["(() => {", "})();"], "the whole script is inside one function");
}

fn a_conditional_request_for_the_unchanged_script_gets_304() {
    let app = App::start();
    let path = format!("/careers/{}/embed.js", app.hiring().slug);
    let tag = app.anonymous().get(&path).expect(200).header("etag").unwrap().to_owned();
    let again = app.anonymous().send("GET", &path, &[("If-None-Match", &tag)], b"").expect(304);
    assert_eq!(again.header("cache-control"), Some("public, max-age=3600"));
}

fn requests_for_unknown_and_disabled_portals_get_a_404_answer() {
    let app = App::start();
    let hiring = app.hiring_with(|document| document["organizations"][0]["portal"]["enabled"] = json!(false));
    for slug in [hiring.slug.as_str(), "nobody", "no%20slug"] {
        app.anonymous().get(&format!("/careers/{slug}/embed.js")).refused(404, "not_found");
    }
}
