//! The usage log stays small: paths are truncated, and old rows are pruned without a change to the request counts.

use serde_json::Value;

use crate::support::{RunningService, WorkDir, eventually};

/// Returns the usage of the admin's own key.
fn usage(service: &RunningService, key: &str) -> Value {
    let keys = service.get("/api/admin/api-keys", key).expect(200).json();
    let id = keys["data"][0]["id"].as_str().unwrap().to_owned();
    service.get(&format!("/api/admin/api-keys/{id}/usage?limit=500"), key).expect(200).json()["data"].clone()
}

fn paths(usage: &Value) -> Vec<&str> {
    usage["rows"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect()
}

#[test]
fn paths_are_truncated_to_512_bytes() {
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let prefix = "/api/v1/candidates/";
    let (fits, longer) = ("x".repeat(512 - prefix.len()), "y".repeat(2_000));
    for id in [&fits, &longer] {
        service.get(&format!("{prefix}{id}"), &key).expect(404);
    }
    let usage = usage(&service, &key);
    let paths = paths(&usage);
    assert!(paths.contains(&format!("{prefix}{fits}").as_str()), "{paths:?}");
    assert!(paths.contains(&format!("{prefix}{}", &longer[..512 - prefix.len()]).as_str()), "{paths:?}");
    assert!(paths.iter().all(|path| path.len() <= 512));
}

/// Makes every usage row older by this many days.
fn age(dir: &WorkDir, days: i64) {
    let micros = days * 86_400_000_000;
    dir.change(
        "a.db",
        &format!(
            "PRAGMA foreign_keys = OFF;
             BEGIN;
             UPDATE api_key_usage SET at = -at, previous_at = NULL;
             UPDATE api_key_usage SET at = -at - {micros};
             UPDATE api_key_usage SET previous_at =
               (SELECT at FROM api_key_usage p WHERE p.key_number = api_key_usage.key_number AND p.number = api_key_usage.number - 1);
             UPDATE api_key_usage_marks SET at = at - {micros};
             UPDATE api_key_usage_newest SET at = at - {micros};
             UPDATE api_key_usage_marking SET marked_to = marked_to - {micros} WHERE marked_to > 0;
             COMMIT"
        ),
    );
}

#[test]
fn rows_are_pruned_after_400_days_and_the_counts_do_not_change() {
    const ROWS: i64 = 700;
    let dir = WorkDir::new();
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db", "--rate-limit", "0"]);
    for _ in 0..ROWS {
        service.get("/api/v1/me", &key).expect(200);
    }
    service.stop("TERM").succeeded();
    age(&dir, 399);
    // The rows are a day too young. Another start indexes all of them, so only their age prevents pruning.
    let service = dir.serve(&["--db", "a.db"]);
    eventually(|| dir.number("a.db", "SELECT coalesce(max(number), 0) FROM api_key_usage_newest") == ROWS);
    service.stop("TERM").succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM api_key_usage"), ROWS);
    age(&dir, 2);
    dir.serve(&["--db", "a.db", "--usage-retention-days", "0"]).stop("TERM").succeeded();
    dir.serve(&["--db", "a.db", "--usage-retention-days", "402"]).stop("TERM").succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM api_key_usage"), ROWS);

    let service = dir.serve(&["--db", "a.db"]);
    eventually(|| dir.number("a.db", "SELECT count(*) FROM api_key_usage") == 0);
    let keys = service.get("/api/admin/api-keys", &key).expect(200).json();
    assert_eq!(keys["data"][0]["requestCount"], ROWS, "{keys}");
    assert!(keys["data"][0]["lastRequest"].is_string(), "{keys}");
    let usage = usage(&service, &key);
    // Only the rows of the two requests for the list of keys are left.
    assert_eq!((usage["key"]["requestCount"].as_i64().unwrap(), paths(&usage).len()), (ROWS + 2, 2), "{usage}");
    assert_eq!(usage["pagination"]["hasMore"], false);
    service.stop("TERM").succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
    dir.run(&["serve", "--db", "a.db", "--usage-retention-days", "36526"]).misused("36526");
}
