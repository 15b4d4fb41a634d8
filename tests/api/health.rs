//! `GET /`, `/healthz` and `/readyz`.

use serde_json::json;

use crate::support::App;

crate::tests![
    the_root_names_the_service,
    healthz_says_that_the_process_lives,
    readyz_says_that_the_file_can_be_read_and_written,
    readyz_writes_to_the_file,
    head_works_wherever_get_does,
    another_method_is_405_with_allow,
    no_credential_is_needed_and_a_bad_one_is_ignored,
    a_path_beside_them_is_404,
    a_reader_that_stands_still_is_named_until_it_is_gone,
];

const PATHS: [&str; 3] = ["/", "/healthz", "/readyz"];

fn the_root_names_the_service() {
    let app = App::start();
    let answer = app.anonymous().get("/").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(answer.json(), json!({ "name": "Recruiting appliance", "version": version }));
}

fn healthz_says_that_the_process_lives() {
    let app = App::start();
    let answer = app.anonymous().get("/healthz").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.text(), "ok\n");
}

fn readyz_says_that_the_file_can_be_read_and_written() {
    let app = App::start();
    let answer = app.anonymous().get("/readyz").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.text(), "ready\n");
}

fn readyz_writes_to_the_file() {
    let app = App::start();
    let written = || app.sql("SELECT id, at FROM readiness");
    app.anonymous().get("/healthz").expect(200);
    assert_eq!(written(), Vec::<String>::new());
    app.anonymous().get("/readyz").expect(200);
    assert_eq!(written(), ["1|1795251600000000"]);
    app.pass(10);
    app.anonymous().get("/readyz").expect(200);
    assert_eq!(written(), ["1|1795251610000000"]);
}

fn head_works_wherever_get_does() {
    let app = App::start();
    let client = app.anonymous();
    for path in PATHS {
        let get = client.get(path).expect(200);
        let head = client.send("HEAD", path, &[], b"").expect(200);
        for name in ["content-type", "content-length", "cache-control"] {
            assert!(get.header(name).is_some(), "{name} of {path}");
            assert_eq!(head.header(name), get.header(name), "{name} of {path}");
        }
    }
}

fn another_method_is_405_with_allow() {
    let app = App::start();
    for path in PATHS {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            let answer = app.anonymous().send(method, path, &[], b"").refused(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
}

fn no_credential_is_needed_and_a_bad_one_is_ignored() {
    let app = App::start();
    for path in PATHS {
        app.key("rpk_wrong").get(path).expect(200);
        app.admin().get(path).expect(200);
    }
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), ["0"]);
}

fn a_path_beside_them_is_404() {
    let app = App::start();
    for path in ["/healthz/", "/readyz/x", "//", "/HEALTHZ", "/metrics", "/favicon.ico"] {
        app.anonymous().get(path).refused(404, "not_found");
    }
}

/// Lets time pass until readiness is so; the job's next look may still be on its way.
fn pass_until(app: &App, is_so: impl Fn(&str, u16) -> bool) {
    let began = std::time::Instant::now();
    loop {
        let answer = app.anonymous().get("/readyz");
        if is_so(&answer.text(), answer.status) {
            return;
        }
        assert!(began.elapsed().as_secs() < 120, "it never is so: {}", answer.text());
        app.pass(20);
    }
}

fn a_reader_that_stands_still_is_named_until_it_is_gone() {
    let app = App::start();
    let reader = rusqlite::Connection::open(&app.path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM users", [], |row| row.get::<_, i64>(0)).unwrap();
    app.hiring();
    // A backup may take minutes.
    app.pass(20);
    app.anonymous().get("/readyz").expect(200);
    pass_until(&app, |text, status| status == 503 && text.contains("failing: reader; the log says why"));
    app.anonymous().get("/readyz").refused(503, "unavailable");
    reader.execute_batch("ROLLBACK").unwrap();
    pass_until(&app, |_, status| status == 200);
}
