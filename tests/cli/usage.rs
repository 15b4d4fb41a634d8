//! The usage log stays small: paths are cut, and old rows are pruned while the counts of requests go on.

use serde_json::Value;

use crate::support::{Place, Serving, eventually};

/// The admin's own key with its usage, as the admin sees it.
fn usage(serving: &Serving, key: &str) -> Value {
    let keys = serving.get("/api/admin/api-keys", key).expect(200).json();
    let id = keys["data"][0]["id"].as_str().unwrap().to_owned();
    serving.get(&format!("/api/admin/api-keys/{id}/usage?limit=500"), key).expect(200).json()["data"].clone()
}

fn paths(usage: &Value) -> Vec<&str> {
    usage["rows"].as_array().unwrap().iter().map(|row| row["path"].as_str().unwrap()).collect()
}

#[test]
fn a_path_is_cut_at_512_bytes() {
    let place = Place::new();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let prefix = "/api/v1/candidates/";
    let (fits, longer) = ("x".repeat(512 - prefix.len()), "y".repeat(2_000));
    for id in [&fits, &longer] {
        serving.get(&format!("{prefix}{id}"), &key).expect(404);
    }
    let usage = usage(&serving, &key);
    let paths = paths(&usage);
    assert!(paths.contains(&format!("{prefix}{fits}").as_str()), "{paths:?}");
    assert!(paths.contains(&format!("{prefix}{}", &longer[..512 - prefix.len()]).as_str()), "{paths:?}");
    assert!(paths.iter().all(|path| path.len() <= 512));
}

/// Makes every row of the log older by so many days.
fn age(place: &Place, days: i64) {
    let micros = days * 86_400_000_000;
    place.change(
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
fn rows_are_pruned_after_400_days_and_the_counts_go_on() {
    const ROWS: i64 = 700;
    let place = Place::new();
    let key = place.admin_key("a.db");
    let serving = place.serve(&["--db", "a.db", "--rate-limit", "0"]);
    for _ in 0..ROWS {
        serving.get("/api/v1/me", &key).expect(200);
    }
    serving.stop("TERM").succeeded();
    age(&place, 399);
    // Not yet: one more start marks all of them, so that they could be pruned.
    let serving = place.serve(&["--db", "a.db"]);
    eventually(|| place.number("a.db", "SELECT coalesce(max(number), 0) FROM api_key_usage_newest") == ROWS);
    serving.stop("TERM").succeeded();
    assert_eq!(place.number("a.db", "SELECT count(*) FROM api_key_usage"), ROWS);
    age(&place, 2);
    place.serve(&["--db", "a.db", "--usage-retention-days", "0"]).stop("TERM").succeeded();
    place.serve(&["--db", "a.db", "--usage-retention-days", "402"]).stop("TERM").succeeded();
    assert_eq!(place.number("a.db", "SELECT count(*) FROM api_key_usage"), ROWS);

    let serving = place.serve(&["--db", "a.db"]);
    eventually(|| place.number("a.db", "SELECT count(*) FROM api_key_usage") == 0);
    let keys = serving.get("/api/admin/api-keys", &key).expect(200).json();
    assert_eq!(keys["data"][0]["requestCount"], ROWS, "{keys}");
    assert!(keys["data"][0]["lastRequest"].is_string(), "{keys}");
    let usage = usage(&serving, &key);
    // The list and its own request are all that is left to see.
    assert_eq!((usage["key"]["requestCount"].as_i64().unwrap(), paths(&usage).len()), (ROWS + 2, 2), "{usage}");
    assert_eq!(usage["pagination"]["hasMore"], false);
    serving.stop("TERM").succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
    place.run(&["serve", "--db", "a.db", "--usage-retention-days", "36526"]).misused("36526");
}
