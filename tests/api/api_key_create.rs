//! `POST /api/admin/api-keys`: the fields of a new key, its scopes, and every refusal.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Answer, App, Client};

crate::tests![
    creating_a_key_returns_every_field,
    a_key_has_42_characters_and_ends_with_its_checksum,
    keys_are_unique,
    a_key_expires_after_the_given_number_of_24_hour_days,
    expiry_days_other_than_1_to_365_are_refused,
    a_name_has_1_to_255_characters,
    all_validation_errors_are_reported_together,
    a_field_of_the_wrong_type_is_refused,
    null_is_treated_as_omitted,
    a_key_has_the_scopes_of_its_request,
    unknown_scopes_are_refused,
    a_key_with_no_scopes_cannot_decide,
    an_unknown_user_is_not_found,
    validation_errors_are_reported_before_an_unknown_user,
    unknown_fields_are_ignored,
    a_body_that_is_not_a_json_object_is_a_bad_request,
    every_json_media_type_is_accepted,
    media_types_other_than_json_are_refused,
    a_body_over_128_kib_is_refused,
    a_new_key_acts_as_its_user_at_once,
    an_admin_key_created_without_explicit_scopes_has_admin_access,
    only_admins_create_keys,
    callers_without_access_are_refused_before_their_body_is_read,
    a_refused_request_creates_no_key,
    the_secret_is_shown_only_once,
    the_file_stores_the_digest_and_not_the_secret,
];

const KEYS: &str = "/api/admin/api-keys";

fn create(app: &App, body: &Value) -> Answer {
    app.admin().post(KEYS, body)
}

/// Posts these bytes as JSON, as the admin.
fn create_raw(app: &App, body: &[u8]) -> Answer {
    app.admin().send("POST", KEYS, &[("Content-Type", "application/json")], body)
}

fn key_count(app: &App) -> usize {
    app.admin().get(KEYS).expect(200).json()["data"].as_array().unwrap().len()
}

fn creating_a_key_returns_every_field() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": " Nightly export ", "userId": hiring.staff("moderator") });
    let answer = create(&app, &body).expect(200);
    let (id, key) = (answer.json()["data"]["id"].clone(), answer.json()["data"]["key"].clone());
    let expected = json!({
        "success": true,
        "data": {
            "id": id,
            "name": " Nightly export ",
            "key": key,
            "prefix": "rpk_",
            "start": key.as_str().unwrap()[..8],
            "scopes": ["candidates:read", "roles:read", "pipeline:write"],
            "expiresAt": "2027-02-19T09:00:00.000000Z",
            "userId": "user_1_moderator",
        },
    });
    assert_eq!(answer.json(), expected);
    let unique = id.as_str().unwrap().strip_prefix("key_").unwrap();
    assert!(unique.len() == 26 && unique.bytes().all(|byte| b"0123456789abcdefghjkmnpqrstvwxyz".contains(&byte)));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

/// Computes the CRC-32 (IEEE 802.3) independently of the service's own code. The function divides the bit-reversed
/// bytes, most significant bit first.
fn crc32(bytes: &[u8]) -> u32 {
    let mut rest = u32::MAX;
    for byte in bytes {
        rest ^= u32::from(byte.reverse_bits()) << 24;
        for _ in 0..8 {
            rest = if rest & 0x8000_0000 == 0 { rest << 1 } else { (rest << 1) ^ 0x04c1_1db7 };
        }
    }
    !rest.reverse_bits()
}

fn base62(digits: &str) -> u64 {
    const DIGITS: &str = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    digits.chars().fold(0, |number, digit| number * 62 + DIGITS.find(digit).expect("a base-62 digit") as u64)
}

fn a_key_has_42_characters_and_ends_with_its_checksum() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926, "the published check value of CRC-32");
    let app = App::start();
    for _ in 0..20 {
        let (_, key) = app.make_key("user_admin");
        assert_eq!(key.len(), 42);
        assert!(key.starts_with("rpk_") && key[4..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{key}");
        assert_eq!(base62(&key[36..]), u64::from(crc32(&key.as_bytes()[..36])), "{key}");
    }
}

fn keys_are_unique() {
    let app = App::start();
    let created: Vec<(String, String)> = (0..10).map(|_| app.make_key("user_admin")).collect();
    let mut ids: Vec<&String> = created.iter().map(|(id, _)| id).collect();
    let mut keys: Vec<&str> = created.iter().map(|(_, key)| &key[4..36]).collect();
    ids.sort_unstable();
    ids.dedup();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!((ids.len(), keys.len()), (10, 10));
}

fn a_key_expires_after_the_given_number_of_24_hour_days() {
    let app = App::start();
    // The test clock begins at 2026-11-21T09:00:00Z.
    for (days, expires_at) in [
        (json!(1), "2026-11-22T09:00:00.000000Z"),
        (json!(30), "2026-12-21T09:00:00.000000Z"),
        (json!(90), "2027-02-19T09:00:00.000000Z"),
        (json!(365), "2027-11-21T09:00:00.000000Z"),
        (Value::Null, "2027-02-19T09:00:00.000000Z"),
    ] {
        let body = json!({ "name": "n", "userId": "user_admin", "expiresInDays": days });
        let data = create(&app, &body).expect(200).json()["data"].clone();
        assert_eq!(data["expiresAt"], expires_at, "{days}");
        let listed = app.admin().get(KEYS).expect(200).json()["data"][0].clone();
        assert_eq!((&listed["id"], &listed["expiresAt"]), (&data["id"], &data["expiresAt"]));
        assert_eq!(listed["createdAt"], "2026-11-21T09:00:00.000000Z");
    }
}

fn expiry_days_other_than_1_to_365_are_refused() {
    let app = App::start();
    let range = "must be between 1 and 365";
    let integer = "must be an integer";
    for (days, detail) in [
        ("0", range),
        ("366", range),
        ("-1", range),
        ("9223372036854775808", range),
        ("90.0", integer),
        ("90.5", integer),
        ("9e1", integer),
        ("\"90\"", integer),
        ("\"\"", integer),
        ("true", integer),
        ("[90]", integer),
        ("{}", integer),
    ] {
        let body = format!(r#"{{"name":"n","userId":"user_admin","expiresInDays":{days}}}"#);
        let answer = create_raw(&app, body.as_bytes()).refused(400, "validation_error");
        assert_eq!(answer.json()["errors"], json!([{ "field": "expiresInDays", "detail": detail }]), "{days}");
    }
    let huge = format!(r#"{{"name":"n","userId":"user_admin","expiresInDays":{}}}"#, "9".repeat(400));
    create_raw(&app, huge.as_bytes()).expect(400);
}

fn a_name_has_1_to_255_characters() {
    let app = App::start();
    for name in ["x".to_owned(), "x".repeat(255), "ä".repeat(255), "😀".repeat(255), " a ".to_owned()] {
        let data = create(&app, &json!({ "name": name, "userId": "user_admin" })).expect(200).json();
        assert_eq!(data["data"]["name"], json!(name));
        assert_eq!(app.admin().get(KEYS).expect(200).json()["data"][0]["name"], json!(name));
    }
    let long = "must have at most 255 characters";
    let blank = "must not be blank";
    for (name, detail) in [
        ("x".repeat(256), long),
        ("ä".repeat(256), long),
        ("😀".repeat(256), long),
        ("e\u{301}".repeat(128), long),
        (String::new(), blank),
        ("   ".to_owned(), blank),
        ("\t\r\n\u{a0}\u{3000}".to_owned(), blank),
    ] {
        let answer = create(&app, &json!({ "name": name, "userId": "user_admin" })).refused(400, "validation_error");
        assert_eq!(answer.json()["errors"], json!([{ "field": "name", "detail": detail }]), "{name:?}");
    }
}

fn all_validation_errors_are_reported_together() {
    let app = App::start();
    let answer = create(&app, &json!({})).refused(400, "validation_error");
    let required =
        json!([{ "field": "name", "detail": "is required" }, { "field": "userId", "detail": "is required" }]);
    assert_eq!(answer.json()["errors"], required);
    assert_eq!(answer.json()["detail"], "name is required; userId is required");
    assert_eq!(app.admin().post_empty(KEYS).refused(400, "validation_error").json()["errors"], required);
    let body = json!({ "name": "x".repeat(256), "userId": 7, "expiresInDays": 0, "scopes": ["everything"] });
    let answer = create(&app, &body).refused(400, "validation_error");
    let expected = json!([
        { "field": "name", "detail": "must have at most 255 characters" },
        { "field": "userId", "detail": "must be a string" },
        { "field": "expiresInDays", "detail": "must be between 1 and 365" },
        { "field": "scopes", "detail": "must be a list; each item must be one of candidates:read, candidates:write, roles:read, roles:write, pipeline:write, admin:read, admin:write" },
    ]);
    assert_eq!(answer.json()["errors"], expected);
}

fn a_field_of_the_wrong_type_is_refused() {
    let app = App::start();
    for field in ["name", "userId"] {
        for wrong in [json!(7), json!(true), json!(["n"]), json!({ "n": 1 })] {
            let mut body = json!({ "name": "n", "userId": "user_admin" });
            body[field] = wrong.clone();
            let answer = create(&app, &body).refused(400, "validation_error");
            let expected = json!([{ "field": field, "detail": "must be a string" }]);
            assert_eq!(answer.json()["errors"], expected, "{field} {wrong}");
        }
    }
}

fn null_is_treated_as_omitted() {
    let app = App::start();
    let body = json!({ "name": "n", "userId": "user_admin", "expiresInDays": null, "scopes": null });
    let data = create(&app, &body).expect(200).json()["data"].clone();
    assert_eq!(data["expiresAt"], "2027-02-19T09:00:00.000000Z");
    assert_eq!(data["scopes"], json!(["candidates:read", "roles:read", "pipeline:write"]));
    let answer = create(&app, &json!({ "name": null, "userId": null })).refused(400, "validation_error");
    assert_eq!(answer.fields(), ["name", "userId"]);
}

fn a_key_has_the_scopes_of_its_request() {
    let app = App::start();
    let all = ["candidates:read", "candidates:write", "roles:read", "roles:write", "pipeline:write"];
    let mut cases: Vec<(Value, Value)> = all.iter().map(|one| (json!([one]), json!([one]))).collect();
    cases.extend([
        (json!(all), json!(all)),
        (json!([]), json!([])),
        (
            json!(["roles:read", "roles:read", "candidates:read", "roles:read"]),
            json!(["roles:read", "candidates:read"]),
        ),
    ]);
    for (given, expected) in cases {
        let body = json!({ "name": "n", "userId": "user_admin", "scopes": given });
        let data = create(&app, &body).expect(200).json()["data"].clone();
        assert_eq!(data["scopes"], expected);
        let me = app.key(data["key"].as_str().unwrap()).get("/api/v1/me").expect(200).json();
        assert_eq!(me["auth"]["scopes"], expected);
        assert_eq!(app.admin().get(KEYS).expect(200).json()["data"][0]["scopes"], expected);
    }
}

fn unknown_scopes_are_refused() {
    let app = App::start();
    for wrong in [
        json!(["pipeline:write", "pipeline:read"]),
        json!(["Pipeline:Write"]),
        json!(["pipeline:write "]),
        json!(["*"]),
        json!([""]),
        json!([null]),
        json!([1]),
        json!([["pipeline:write"]]),
        json!("pipeline:write"),
        json!(5),
        json!({ "pipeline:write": true }),
    ] {
        let body = json!({ "name": "n", "userId": "user_admin", "scopes": wrong });
        assert_eq!(create(&app, &body).refused(400, "validation_error").fields(), ["scopes"], "{wrong}");
    }
}

fn a_key_with_no_scopes_cannot_decide() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "n", "userId": hiring.staff("owner"), "scopes": [] });
    let client = app.key(&app.make_key_with(&body).1);
    for path in [hiring.hire(0), hiring.reject(0)] {
        let answer = client.post_empty(&path).refused(403, "insufficient_scope");
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.ends_with("error=\"insufficient_scope\", scope=\"pipeline:write\""), "{challenge}");
    }
    client.get("/api/v1/me").expect(200);
}

fn an_unknown_user_is_not_found() {
    let app = App::start();
    let long = "x".repeat(65);
    for user_id in ["user_nobody", "USER_ADMIN", "user_admin ", "no id", "ä", "../user_admin", "user_admin\0", &long] {
        create(&app, &json!({ "name": "n", "userId": user_id })).refused(404, "not_found");
    }
    for user_id in ["", "  "] {
        let answer = create(&app, &json!({ "name": "n", "userId": user_id })).refused(400, "validation_error");
        assert_eq!(answer.json()["errors"], json!([{ "field": "userId", "detail": "must not be blank" }]));
    }
}

fn validation_errors_are_reported_before_an_unknown_user() {
    let app = App::start();
    let body = json!({ "name": "n", "userId": "user_nobody", "expiresInDays": 366 });
    assert_eq!(create(&app, &body).refused(400, "validation_error").fields(), ["expiresInDays"]);
    let body = json!({ "name": "n", "userId": "user_nobody", "expiresInDays": 365 });
    create(&app, &body).refused(404, "not_found");
}

fn unknown_fields_are_ignored() {
    let app = App::start();
    let body = json!({
        "name": "n", "userId": "user_admin", "expiresindays": 1, "user_id": 5, "prefix": "x_", "enabled": false,
        "key": "rpk_mine", "id": "key_mine", "": null, "role": { "deep": [1, [2]] },
    });
    let data = create(&app, &body).expect(200).json()["data"].clone();
    assert_eq!((&data["prefix"], &data["expiresAt"]), (&json!("rpk_"), &json!("2027-02-19T09:00:00.000000Z")));
    assert!(data["key"] != "rpk_mine" && data["id"] != "key_mine");
    app.key(data["key"].as_str().unwrap()).get("/api/v1/me").expect(200);
}

fn a_body_that_is_not_a_json_object_is_a_bad_request() {
    let app = App::start();
    let good = r#"{"name":"n","userId":"user_admin"}"#;
    for body in [
        " ",
        "null",
        "[]",
        "\"name\"",
        "5",
        "{",
        "{\"name\":}",
        "{\"name\":\"n\",\"userId\":\"user_admin\",}",
        "{'name':'n','userId':'user_admin'}",
        "name=n&userId=user_admin",
        "{\"name\":\"n\",\"userId\":\"user_admin\"} {}",
        "{\"name\":\"n\",\"name\":\"m\",\"userId\":\"user_admin\"}",
        "{\"name\":\"n\",\"n\\u0061me\":\"m\",\"userId\":\"user_admin\"}",
        "{\"name\":\"\\ud800\",\"userId\":\"user_admin\"}",
    ] {
        create_raw(&app, body.as_bytes()).refused(400, "bad_request");
    }
    create_raw(&app, b"{\"name\":\"\xff\",\"userId\":\"user_admin\"}").refused(400, "bad_request");
    create_raw(&app, good.as_bytes()).expect(200);
}

fn every_json_media_type_is_accepted() {
    let app = App::start();
    let body = br#"{"name":"n","userId":"user_admin"}"#;
    for media_type in ["application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"] {
        app.admin().send("POST", KEYS, &[("Content-Type", media_type)], body).expect(200);
    }
    app.admin().send("POST", KEYS, &[], body).expect(200);
}

fn media_types_other_than_json_are_refused() {
    let app = App::start();
    let body = br#"{"name":"n","userId":"user_admin"}"#;
    for media_type in
        ["text/plain", "application/x-www-form-urlencoded", "application/jsonp", "application/xml", "json"]
    {
        let answer = app.admin().send("POST", KEYS, &[("Content-Type", media_type)], body);
        answer.refused(415, "unsupported_media_type");
    }
    assert_eq!(key_count(&app), 1);
}

fn a_body_over_128_kib_is_refused() {
    let app = App::start();
    let mut body = br#"{"name":"n","userId":"user_admin"}"#.to_vec();
    body.resize(128 * 1_024, b' ');
    create_raw(&app, &body).expect(200);
    body.push(b' ');
    create_raw(&app, &body).refused(413, "payload_too_large");
    assert_eq!(key_count(&app), 2);
}

fn a_new_key_acts_as_its_user_at_once() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.user(&hiring.staff("member"));
    assert_eq!(member.get("/api/v1/me").expect(200).json()["user"]["email"], "member@org-1.example");
    member.post_empty(&hiring.reject(0)).refused(403, "forbidden");
    let hr = app.user(&hiring.staff("hr_representative"));
    assert_eq!(hr.post_empty(&hiring.reject(0)).expect(200).json()["step"]["status"], "rejected");
    // The key has none of the rights of the admin who created it.
    hr.get(KEYS).refused(403, "forbidden");
    let other = app.hiring();
    hr.post_empty(&other.reject(0)).refused(404, "not_found");
}

fn an_admin_key_created_without_explicit_scopes_has_admin_access() {
    let app = App::start();
    let (_, secret) = app.make_key_with(&json!({ "name": "n", "userId": "user_admin" }));
    let client = app.key(&secret);
    let data = client.post(KEYS, &json!({ "name": "from it", "userId": "user_admin" })).expect(200).json();
    let listed = client.get(KEYS).expect(200).json();
    assert_eq!(listed["data"][0]["id"], data["data"]["id"]);
}

fn only_admins_create_keys() {
    let app = App::start();
    let hiring = app.hiring();
    let body = json!({ "name": "n", "userId": hiring.staff("owner") });
    for org_role in ["owner", "admin", "moderator", "hr_representative", "member"] {
        app.user(&hiring.staff(org_role)).post(KEYS, &body).refused(403, "forbidden");
    }
    app.anonymous().post(KEYS, &body).refused(401, "unauthorized");
    app.key("rpk_no").post(KEYS, &body).refused(401, "unauthorized");
    app.set_password("admin@appliance.example", "correct horse battery");
    let session = app.sign_in("admin@appliance.example", "correct horse battery");
    session.with_header("Sec-Fetch-Site", "same-origin").post(KEYS, &body).refused(401, "unauthorized");
    assert_eq!(key_count(&app), 6);
}

fn callers_without_access_are_refused_before_their_body_is_read() {
    let app = App::start();
    let hiring = app.hiring();
    let member = app.user(&hiring.staff("member"));
    let long = vec![b' '; 128 * 1_024 + 1];
    let bodies: [(&str, &[u8]); 4] =
        [("application/json", b"{"), ("application/json", b"{}"), ("text/plain", b"x"), ("application/json", &long)];
    for (media_type, body) in bodies {
        let send = |client: &Client| client.send("POST", KEYS, &[("Content-Type", media_type)], body);
        send(&member).refused(403, "forbidden");
        send(&app.anonymous()).refused(401, "unauthorized");
    }
}

fn a_refused_request_creates_no_key() {
    let app = App::start();
    create(&app, &json!({ "name": "n", "userId": "user_nobody" })).expect(404);
    create(&app, &json!({ "name": "n", "userId": "user_admin", "expiresInDays": 0 })).expect(400);
    assert_eq!(key_count(&app), 1);
    app.make_key("user_admin");
    assert_eq!(key_count(&app), 2);
}

fn the_secret_is_shown_only_once() {
    let app = App::start();
    let hiring = app.hiring();
    let (id, secret) = app.make_key(&hiring.staff("owner"));
    let client = app.key(&secret);
    let answers = [
        client.get("/api/v1/me").expect(200),
        client.post_empty(&hiring.reject(0)).expect(200),
        client.post_empty(&hiring.reject(0)).expect(409),
        client.get(KEYS).expect(403),
        app.admin().get(KEYS).expect(200),
        app.admin().get(&format!("{KEYS}/{id}/usage")).expect(200),
        app.admin().delete(&format!("{KEYS}/{id}")).expect(200),
        client.get("/api/v1/me").expect(401),
    ];
    for answer in answers {
        let text = format!("{} {:?}", answer.text(), answer.headers);
        assert!(!text.contains(&secret[8..36]) && !text.contains(&secret[36..]), "{text}");
    }
}

fn the_file_stores_the_digest_and_not_the_secret() {
    let app = App::start();
    let (id, secret) = app.make_key("user_admin");
    app.key(&secret).get("/api/v1/me").expect(200);
    let digest = Sha256::digest(secret.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    assert_eq!(
        app.sql(&format!("SELECT lower(hex(digest)), start FROM api_keys WHERE id = '{id}'")),
        [format!("{digest}|{}", &secret[..8])]
    );
    app.stop();
    assert!(!app.stores(&secret[8..36]));
    assert!(app.stores(&secret[..8]));
}
