//! `GET /api/admin/api-keys/{id}/usage`: a key's usage log in pages.

use appliance::domain::timestamp::{Rounding, Timestamp};
use serde_json::{Value, json};

use crate::support::{App, Client};

crate::tests![
    a_page_has_every_field,
    an_unused_key_has_an_empty_page,
    a_page_has_100_rows_by_default,
    a_limit_out_of_range_is_clamped,
    a_limit_that_is_not_an_integer_is_refused,
    has_more_is_exact_at_the_page_boundary,
    the_before_parameter_selects_strictly_older_rows,
    a_plus_decoded_as_a_space_is_read_as_a_plus,
    a_before_parameter_is_rounded_up_to_microseconds,
    a_before_parameter_that_is_not_a_timestamp_is_refused,
    a_repeated_parameter_is_refused,
    all_invalid_parameters_are_reported_together,
    unknown_parameters_are_ignored,
    pages_neither_skip_nor_repeat_a_row,
    pages_neither_skip_nor_repeat_a_row_while_rows_arrive,
    pages_neither_skip_nor_repeat_a_row_after_the_clock_is_set_back,
    an_admin_reads_the_log_of_their_own_key,
    rows_of_other_keys_are_not_shown,
    the_log_of_a_revoked_key_is_readable,
    an_unknown_key_is_not_found,
    invalid_parameters_are_reported_before_an_unknown_key,
    only_admins_read_the_log,
    a_head_request_returns_no_body,
];

const ME: &str = "/api/v1/me";

fn path(id: &str, query: &str) -> String {
    format!("/api/admin/api-keys/{id}/usage{query}")
}

/// Reads one page as the admin and returns its `data`.
fn page(app: &App, id: &str, query: &str) -> Value {
    let answer = app.admin().get(&path(id, query)).expect(200).json();
    assert_eq!(answer["success"], true);
    answer["data"].clone()
}

/// Returns the timestamps of a page's rows, in order.
fn times(page: &Value) -> Vec<String> {
    page["rows"].as_array().unwrap().iter().map(|row| row["timestamp"].as_str().unwrap().to_owned()).collect()
}

/// Creates a member's key and sends this many requests with it.
fn key_with_requests(app: &App, times: usize) -> (String, Client) {
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("member"));
    let client = app.key(&secret);
    for _ in 0..times {
        client.get(ME).expect(200);
    }
    (id, client)
}

/// Creates a member's key and sends this many requests with it, one at the end of each minute.
fn key_with_a_request_each_minute(app: &App, minutes: usize) -> (String, Client) {
    let (id, client) = key_with_requests(app, 0);
    for _ in 0..minutes {
        app.pass(60);
        client.get(ME).expect(200);
    }
    (id, client)
}

/// Returns the number in a row's id: `use_` and digits of Crockford's base 32.
fn number(id: &Value) -> i64 {
    const DIGITS: &str = "0123456789abcdefghjkmnpqrstvwxyz";
    let digits = id.as_str().unwrap().strip_prefix("use_").unwrap();
    digits.chars().fold(0, |number, digit| number * 32 + DIGITS.find(digit).unwrap() as i64)
}

fn a_page_has_every_field() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key_with(&json!({ "name": "Payroll", "userId": hiring.staff("member") }));
    let client = app.key(&secret).with_header("User-Agent", "curl/8.16");
    app.pass(60);
    client.get("/api/v1/me?a=b").expect(200);
    app.pass(60);
    client.post_empty("/api/v1/candidate-steps/none/hire").expect(404);
    let data = page(&app, &id, "?limit=2");
    let ids = [data["rows"][0]["id"].clone(), data["rows"][1]["id"].clone()];
    let expected = json!({
        "key": {
            "id": id,
            "name": "Payroll",
            "createdAt": "2026-11-21T09:00:00.000000Z",
            "lastRequest": "2026-11-21T09:02:00.000000Z",
            "requestCount": 2,
            "owner": { "id": "user_1_member", "email": "member@org-1.example", "name": "The member" },
        },
        "rows": [
            {
                "id": ids[0],
                "timestamp": "2026-11-21T09:02:00.000000Z",
                "method": "POST",
                "path": "/api/v1/candidate-steps/none/hire",
                "ip": "127.0.0.1",
                "userAgent": "curl/8.16",
                "authEndpoint": "/api/v1/candidate-steps/{id}/hire",
            },
            {
                "id": ids[1],
                "timestamp": "2026-11-21T09:01:00.000000Z",
                "method": "GET",
                "path": "/api/v1/me",
                "ip": "127.0.0.1",
                "userAgent": "curl/8.16",
                "authEndpoint": "/api/v1/me",
            },
        ],
        "pagination": { "limit": 2, "hasMore": false, "nextBefore": null },
    });
    assert_eq!(data, expected);
    for row in data["rows"].as_array().unwrap() {
        let at = Timestamp::parse(row["timestamp"].as_str().unwrap(), Rounding::Down).unwrap();
        assert_eq!(number(&row["id"]), at.micros());
    }
}

fn an_unused_key_has_an_empty_page() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 0);
    let data = page(&app, &id, "");
    assert_eq!((&data["key"]["requestCount"], &data["key"]["lastRequest"]), (&json!(0), &Value::Null));
    assert_eq!(data["rows"], json!([]));
    assert_eq!(data["pagination"], json!({ "limit": 100, "hasMore": false, "nextBefore": null }));
}

fn a_page_has_100_rows_by_default() {
    let app = App::start();
    let (id, client) = key_with_requests(&app, 100);
    let data = page(&app, &id, "");
    assert_eq!(times(&data).len(), 100);
    assert_eq!(data["pagination"], json!({ "limit": 100, "hasMore": false, "nextBefore": null }));
    client.get(ME).expect(200);
    let data = page(&app, &id, "");
    assert_eq!(times(&data).len(), 100);
    let expected = json!({ "limit": 100, "hasMore": true, "nextBefore": data["rows"][99]["timestamp"] });
    assert_eq!(data["pagination"], expected);
    assert_eq!(data["key"]["requestCount"], 101);
}

fn a_limit_out_of_range_is_clamped() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 502);
    let digits = "9".repeat(300);
    let zeros = format!("{}2", "0".repeat(300));
    for (limit, rows) in [
        ("1", 1),
        ("2", 2),
        ("499", 499),
        ("500", 500),
        ("501", 500),
        ("0", 1),
        ("-0", 1),
        ("-1", 1),
        ("-5", 1),
        ("-501", 1),
        ("007", 7),
        (&zeros, 2),
        ("4294967297", 500),
        ("18446744073709551617", 500),
        (&digits, 500),
        (&format!("-{digits}"), 1),
        ("%31", 1),
    ] {
        let data = page(&app, &id, &format!("?limit={limit}"));
        assert_eq!(times(&data).len(), rows, "{limit}");
        assert_eq!((&data["pagination"]["limit"], &data["pagination"]["hasMore"]), (&json!(rows), &json!(true)));
    }
}

fn a_limit_that_is_not_an_integer_is_refused() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 1);
    for limit in [
        "abc", "", "1.5", "1.0", "+5", "%2B5", "5+", "%205", "5%20", "1e2", "0x10", "-", "--5", "5-", "1,000", "null",
        "%D9%A3", "%FF", "5%00",
    ] {
        let answer = app.admin().get(&path(&id, &format!("?limit={limit}"))).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["limit"], "{limit}");
    }
    let answer = app.admin().get(&path(&id, "?limit")).refused(400, "validation_error");
    assert_eq!(
        answer.json()["errors"],
        json!([{ "field": "limit", "detail": "must be an integer; a page has 1 to 500 rows" }])
    );
}

fn has_more_is_exact_at_the_page_boundary() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 7);
    let all = times(&page(&app, &id, ""));
    assert_eq!(all.len(), 7);
    for limit in 1..=8 {
        let data = page(&app, &id, &format!("?limit={limit}"));
        assert_eq!(times(&data), all[..limit.min(7)]);
        let more = limit < 7;
        let next_before = if more { json!(all[limit - 1]) } else { Value::Null };
        assert_eq!(data["pagination"], json!({ "limit": limit, "hasMore": more, "nextBefore": next_before }));
    }
    // Pages after the first: full, partly filled, followed by another page, and empty.
    for (before, limit, left, more) in [(3, 3, 3, false), (3, 4, 3, false), (3, 2, 2, true), (6, 1, 0, false)] {
        let data = page(&app, &id, &format!("?limit={limit}&before={}", all[before]));
        assert_eq!(times(&data), all[before + 1..before + 1 + left]);
        assert_eq!(data["pagination"]["hasMore"], more);
    }
}

fn the_before_parameter_selects_strictly_older_rows() {
    let app = App::start();
    let (id, _) = key_with_a_request_each_minute(&app, 3);
    let all = times(&page(&app, &id, ""));
    let minutes = ["2026-11-21T09:03:00.000000Z", "2026-11-21T09:02:00.000000Z", "2026-11-21T09:01:00.000000Z"];
    assert_eq!(all, minutes);
    for (before, left) in [
        ("2026-11-21T09:03:00.000001Z", 3),
        ("2026-11-21T09:03:00.000000Z", 2),
        ("2026-11-21T09:03:00Z", 2),
        ("2026-11-21t09:03:00z", 2),
        ("2026-11-21T09:02:59.999999Z", 2),
        ("2026-11-21T09:02:00.5Z", 2),
        ("2026-11-21T11:02:00%2B02:00", 1),
        ("2026-11-21T04:02:00-05:00", 1),
        ("2026-11-21T09%3A01%3A00.000001Z", 1),
        ("2026-11-21T09:01:00.000000Z", 0),
        ("2026-11-21", 0),
        ("2026-11-22", 3),
        ("0001-01-01", 0),
        ("9999-01-01T00:00:00Z", 3),
    ] {
        let data = page(&app, &id, &format!("?before={before}"));
        assert_eq!(times(&data), all[3 - left..], "{before}");
        assert_eq!(data["pagination"], json!({ "limit": 100, "hasMore": false, "nextBefore": null }));
        assert_eq!(data["key"]["requestCount"], 3, "requestCount counts the key's requests, not the page's rows");
    }
}

fn a_plus_decoded_as_a_space_is_read_as_a_plus() {
    let app = App::start();
    let (id, _) = key_with_a_request_each_minute(&app, 3);
    for plus in ["+", "%20", "%2B", "%2b"] {
        let data = page(&app, &id, &format!("?before=2026-11-21T11:02:00{plus}02:00"));
        assert_eq!(times(&data), ["2026-11-21T09:01:00.000000Z"], "{plus}");
    }
}

fn a_before_parameter_is_rounded_up_to_microseconds() {
    let app = App::start();
    let (id, _) = key_with_a_request_each_minute(&app, 2);
    for (before, left) in [
        ("2026-11-21T09:02:00.0000000Z", 1),
        ("2026-11-21T09:02:00.000000000000Z", 1),
        ("2026-11-21T09:02:00.0000001Z", 2),
        ("2026-11-21T09:02:00.000000000001Z", 2),
        ("2026-11-21T09:01:59.9999999Z", 1),
        ("2026-11-21T09:00:59.9999991Z", 0),
        ("2026-11-21T09:01:00.0000009Z", 1),
    ] {
        assert_eq!(times(&page(&app, &id, &format!("?before={before}"))).len(), left, "{before}");
    }
}

fn a_before_parameter_that_is_not_a_timestamp_is_refused() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 1);
    for before in [
        "yesterday",
        "",
        "null",
        "1795251600",
        "2026-11-21T09:00:00",
        "2026-11-21T09:00Z",
        "2026-11-21+09:00:00Z",
        "2026-11-21%2009:00:00Z",
        "2026-02-30",
        "2026-13-01T00:00:00Z",
        "2026-11-21T24:00:00Z",
        "2026-11-21T09:00:60Z",
        "2026-11-21T09:00:00.Z",
        "2026-11-21T09:00:00+0200",
        "2026-11-21T09:00:00Z%20",
        "20261121",
        "2026-W47-6",
        "%FF",
        "-2026-11-21",
    ] {
        let answer = app.admin().get(&path(&id, &format!("?before={before}"))).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["before"], "{before}");
    }
    app.admin().get(&path(&id, "?before")).refused(400, "validation_error");
}

fn a_repeated_parameter_is_refused() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 1);
    for (query, field) in [
        ("?limit=1&limit=2", "limit"),
        ("?limit=5&limit=5", "limit"),
        ("?limit=5&%6Cimit=5", "limit"),
        ("?limit=5&limit", "limit"),
        ("?before=2026-11-21&before=2026-11-21", "before"),
        ("?before=2026-11-21&limit=3&before=2026-11-22", "before"),
    ] {
        let answer = app.admin().get(&path(&id, query)).refused(400, "validation_error");
        assert_eq!(
            answer.json()["errors"],
            json!([{ "field": field, "detail": "must be given only once" }]),
            "{query}"
        );
    }
}

fn all_invalid_parameters_are_reported_together() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 1);
    for query in
        ["?limit=abc&before=yesterday", "?before=&limit=", "?limit=1&limit=1&before=x", "?limit=x&before=1&before=1"]
    {
        let answer = app.admin().get(&path(&id, query)).refused(400, "validation_error");
        assert_eq!(answer.fields(), ["limit", "before"], "{query}");
    }
}

fn unknown_parameters_are_ignored() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 3);
    let data = page(&app, &id, "?offset=2&Limit=1&LIMIT=x&offset=3&after=never&limit=2&&=&x");
    assert_eq!(times(&data).len(), 2);
}

/// Returns all timestamps from the newest row to the oldest, read page by page. `between` runs before each page except
/// the first.
fn walk(app: &App, id: &str, limit: usize, mut between: impl FnMut()) -> Vec<String> {
    let mut found = Vec::new();
    let mut query = format!("?limit={limit}");
    loop {
        let data = page(app, id, &query);
        let rows = times(&data);
        assert!(rows.len() <= limit);
        found.extend(rows);
        let pagination = &data["pagination"];
        if pagination["hasMore"] == false {
            assert_eq!(pagination["nextBefore"], Value::Null);
            return found;
        }
        query = format!("?limit={limit}&before={}", pagination["nextBefore"].as_str().unwrap());
        between();
    }
}

fn pages_neither_skip_nor_repeat_a_row() {
    let app = App::start();
    // The test clock does not advance, so all requests arrive at the same time.
    let (id, _) = key_with_requests(&app, 13);
    let all = times(&page(&app, &id, "?limit=500"));
    assert_eq!(all.len(), 13);
    assert!(all.is_sorted_by(|newer, older| newer > older));
    for limit in 1..=7 {
        assert_eq!(walk(&app, &id, limit, || {}), all, "{limit}");
    }
}

fn pages_neither_skip_nor_repeat_a_row_while_rows_arrive() {
    let app = App::start();
    let (id, client) = key_with_requests(&app, 13);
    for limit in 1..=7 {
        let all = times(&page(&app, &id, "?limit=500"));
        let found = walk(&app, &id, limit, || drop(client.get(ME).expect(200)));
        assert_eq!(found, all, "{limit}");
    }
}

fn pages_neither_skip_nor_repeat_a_row_after_the_clock_is_set_back() {
    let app = App::start();
    let (id, client) = key_with_requests(&app, 4);
    for hours_back in [1, 5, 2, 24] {
        let now = Timestamp::parse("2026-11-21T09:00:00Z", Rounding::Down).unwrap();
        app.world.set(Timestamp::from_micros(now.micros() - hours_back * 3_600_000_000));
        client.get(ME).expect(200);
        client.get(ME).expect(200);
    }
    let all = times(&page(&app, &id, "?limit=500"));
    assert_eq!(all.len(), 12);
    assert!(all.is_sorted_by(|newer, older| newer > older));
    for limit in 1..=7 {
        assert_eq!(walk(&app, &id, limit, || {}), all, "{limit}");
    }
}

fn an_admin_reads_the_log_of_their_own_key() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    let own = app.key(&secret);
    let first = own.get(&path(&id, "?limit=5")).expect(200).json();
    assert_eq!((&first["data"]["rows"], &first["data"]["key"]["requestCount"]), (&json!([]), &json!(0)));
    let second = own.get(&path(&id, "?limit=5")).expect(200).json();
    assert_eq!(second["data"]["key"]["requestCount"], 1);
    let row = &second["data"]["rows"][0];
    assert_eq!(row["path"], json!(path(&id, "")));
    assert_eq!(row["authEndpoint"], "/api/admin/api-keys/{id}/usage");
}

fn rows_of_other_keys_are_not_shown() {
    let app = App::start();
    let hiring = app.hiring();
    let (first, first_secret) = app.make_key(&hiring.staff("member"));
    let (second, second_secret) = app.make_key(&hiring.staff("member"));
    app.key(&first_secret).get(ME).expect(200);
    app.key(&second_secret).get("/api/v1/me").expect(200);
    app.key(&first_secret).get("/api/admin/api-keys").expect(403);
    let paths = |id: &str| -> Vec<Value> {
        page(&app, id, "")["rows"].as_array().unwrap().iter().map(|row| row["path"].clone()).collect()
    };
    assert_eq!(paths(&first), ["/api/admin/api-keys", "/api/v1/me"]);
    assert_eq!(paths(&second), ["/api/v1/me"]);
}

fn the_log_of_a_revoked_key_is_readable() {
    let app = App::start();
    let (id, client) = key_with_requests(&app, 3);
    let before = page(&app, &id, "");
    app.admin().delete(&format!("/api/admin/api-keys/{id}")).expect(200);
    client.get(ME).expect(401);
    assert_eq!(page(&app, &id, ""), before);
}

fn an_unknown_key_is_not_found() {
    let app = App::start();
    let long = "x".repeat(65);
    for id in ["key_01k00000000000000000000000", "nope", "%20", "a%2Fb", "%C3%A4", "%00", &long, "rpk_", "1"] {
        app.admin().get(&path(id, "")).refused(404, "not_found");
        app.admin().get(&path(id, "?limit=1&before=2026-11-21")).refused(404, "not_found");
    }
}

fn invalid_parameters_are_reported_before_an_unknown_key() {
    let app = App::start();
    for query in ["?limit=abc", "?before=yesterday", "?limit=1&limit=1"] {
        app.admin().get(&path("nope", query)).refused(400, "validation_error");
        app.admin().get(&path("no%20id", query)).refused(400, "validation_error");
    }
}

fn only_admins_read_the_log() {
    let app = App::start();
    let hiring = app.hiring();
    for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        let (id, secret) = app.make_key(&hiring.staff(org_role));
        // Staff cannot read even the log of their own key. They are refused before the query is checked.
        app.key(&secret).get(&path(&id, "")).refused(403, "forbidden");
        app.key(&secret).get(&path("nope", "?limit=abc")).refused(403, "forbidden");
    }
    app.anonymous().get(&path("nope", "?limit=abc")).refused(401, "unauthorized");
    app.key("rpk_no").get(&path("nope", "")).refused(401, "unauthorized");
    app.set_password("admin@appliance.example", "correct horse battery");
    let session = app.sign_in("admin@appliance.example", "correct horse battery");
    session.get(&path("nope", "")).refused(401, "unauthorized");
}

fn a_head_request_returns_no_body() {
    let app = App::start();
    let (id, _) = key_with_requests(&app, 1);
    let got = app.admin().get(&path(&id, "")).expect(200);
    let head = app.admin().send("HEAD", &path(&id, ""), &[], b"").expect(200);
    assert_eq!((head.body.len(), head.header("content-length")), (0, got.header("content-length")));
    app.admin().send("HEAD", &path("nope", ""), &[], b"").expect(404);
    app.admin().send("HEAD", &path(&id, "?limit=abc"), &[], b"").expect(400);
}
