//! `GET /`, `/healthz` and `/readyz`.

use serde_json::json;

use crate::support::App;
use crate::support::app::{Options, daily_backups, wait_for_backup};

crate::tests![
    the_root_names_the_service,
    healthz_reports_that_the_process_is_alive,
    readyz_reports_that_the_file_can_be_read_and_written,
    readyz_writes_to_the_file,
    head_requests_work_like_get_requests,
    requests_with_an_unsupported_method_get_405_with_an_allow_field,
    credentials_are_ignored,
    similar_paths_are_not_found,
    a_stalled_read_transaction_is_reported_until_it_ends,
    old_and_missing_backups_cause_a_warning,
];

const PATHS: [&str; 3] = ["/", "/healthz", "/readyz"];

fn the_root_names_the_service() {
    let app = App::start();
    let answer = app.anonymous().get("/").expect(200);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(answer.json(), json!({ "name": "Recruiting appliance", "version": version }));
}

fn healthz_reports_that_the_process_is_alive() {
    let app = App::start();
    let answer = app.anonymous().get("/healthz").expect(200);
    assert_eq!(answer.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.text(), "ok\n");
}

fn readyz_reports_that_the_file_can_be_read_and_written() {
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

fn head_requests_work_like_get_requests() {
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

fn requests_with_an_unsupported_method_get_405_with_an_allow_field() {
    let app = App::start();
    for path in PATHS {
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            let answer = app.anonymous().send(method, path, &[], b"").refused(405, "method_not_allowed");
            assert_eq!(answer.header("allow"), Some("GET, HEAD"), "{method} {path}");
        }
    }
}

fn credentials_are_ignored() {
    let app = App::start();
    for path in PATHS {
        app.key("rpk_wrong").get(path).expect(200);
        app.admin().get(path).expect(200);
    }
    assert_eq!(app.sql("SELECT count(*) FROM api_key_usage"), ["0"]);
}

fn similar_paths_are_not_found() {
    let app = App::start();
    for path in ["/healthz/", "/readyz/x", "//", "/HEALTHZ", "/metrics", "/favicon.ico"] {
        app.anonymous().get(path).refused(404, "not_found");
    }
}

/// Advances the clock until readiness is as expected. A background job notices a change only at its next poll.
fn pass_until(app: &App, is_expected: impl Fn(&str, u16) -> bool) {
    let began = std::time::Instant::now();
    loop {
        let answer = app.anonymous().get("/readyz");
        if is_expected(&answer.text(), answer.status) {
            return;
        }
        assert!(began.elapsed().as_secs() < 120, "readiness never reached the expected state: {}", answer.text());
        app.pass(20);
    }
}

fn old_and_missing_backups_cause_a_warning() {
    const HOUR: u64 = 3_600;
    let dir = tempfile::tempdir().unwrap();
    let app = App::with(Options { backups: Some(daily_backups(&dir, "backups")), ..Options::default() });
    wait_for_backup(&dir);
    assert_eq!(ready(&app), "ready\n");
    // From now on, no backup can be made.
    std::fs::remove_dir_all(dir.path().join("backups")).unwrap();
    app.pass(47 * HOUR);
    assert_eq!(ready(&app), "ready\n");
    app.pass(2 * HOUR);
    assert_eq!(ready(&app), "ready\nwarning: the newest backup is 49 hours old; the log shows the reason\n");
    let app = App::with(Options { backups: Some(daily_backups(&dir, "missing/backups")), ..Options::default() });
    assert_eq!(ready(&app), "ready\n");
    let began = std::time::Instant::now();
    while ready(&app) != "ready\nwarning: there is no backup; the log shows the reason\n" {
        assert!(began.elapsed().as_secs() < 120, "no warning");
        app.pass(HOUR);
    }
}

/// Waits until the service is ready, and returns the text. After hours of scripted time, a background job that was
/// waiting for a reader counts as failing until its next try.
fn ready(app: &App) -> String {
    let began = std::time::Instant::now();
    loop {
        let answer = app.anonymous().get("/readyz");
        if answer.status == 200 {
            return answer.text();
        }
        assert!(began.elapsed().as_secs() < 120, "the service stays unready: {}", answer.text());
        app.pass(1);
    }
}

fn a_stalled_read_transaction_is_reported_until_it_ends() {
    let app = App::start();
    let reader = rusqlite::Connection::open(&app.path).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    reader.query_row("SELECT count(*) FROM users", [], |row| row.get::<_, i64>(0)).unwrap();
    app.hiring();
    // A read transaction that lasts 20 seconds is not reported, because a backup can take minutes.
    app.pass(20);
    app.anonymous().get("/readyz").expect(200);
    pass_until(&app, |text, status| status == 503 && text.contains("failing: reader; the log shows the reason"));
    app.anonymous().get("/readyz").refused(503, "unavailable");
    reader.execute_batch("ROLLBACK").unwrap();
    pass_until(&app, |_, status| status == 200);
}
