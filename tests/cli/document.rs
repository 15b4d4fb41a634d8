//! `import` and `export`.

use serde_json::{Value, json};

use crate::support::{HR_SECRET, Place, document, eventually};

const DEMO: &str = include_str!("../../examples/demo.json");

fn export(place: &Place, db: &str) -> String {
    place.run(&["export", "--db", db]).succeeded().stdout
}

/// A document with one organization, its role and so many candidates.
fn large(candidates: usize) -> String {
    let candidate = |number| json!({ "name": "A", "email": format!("a{number}@example.net") });
    let candidates: Vec<Value> = (0..candidates).map(candidate).collect();
    let role = json!({ "name": "R", "steps": [{ "name": "S" }], "candidates": candidates });
    json!({ "organizations": [{ "slug": "large", "name": "Large", "roles": [role] }] }).to_string()
}

#[test]
fn an_import_says_on_standard_error_what_it_did() {
    let place = Place::new();
    place.write("document.json", document().to_string());
    let ended = place.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    assert_eq!(ended.stdout, "");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{ended:?}");
    let counts = "imported into a.db: users 2, organizations 1, roles 1, candidates 2, applications 2";
    assert!(lines[0].starts_with(counts), "{ended:?}");
    assert!(lines[0].contains("the write lock was held for ") && lines[0].ends_with(" ms"), "{ended:?}");
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_document_may_come_from_standard_input() {
    let place = Place::new();
    place.run_with(&["import", "--db", "a.db", "-"], &[], document().to_string().as_bytes()).succeeded();
    place.imported("b.db");
    assert_eq!(place.names().contains(&"a.db".to_owned()), place.names().contains(&"b.db".to_owned()));
    assert_eq!(export(&place, "a.db"), export(&place, "b.db"));
}

#[test]
fn what_was_exported_can_be_imported_and_is_the_same() {
    for original in [document().to_string(), DEMO.to_owned(), "{}".to_owned()] {
        let place = Place::new();
        place.run_with(&["import", "--db", "a.db", "-"], &[], original.as_bytes()).succeeded();
        let secret = ["export", "--db", "a.db", "--with-secrets"];
        let exported = place.run(&secret).succeeded();
        assert_eq!(exported.stderr, "");
        place.run_with(&["import", "--db", "b.db", "-"], &[], exported.stdout.as_bytes()).succeeded();
        place.run(&["check", "--db", "b.db"]).succeeded();
        let again = place.run(&["export", "--db", "b.db", "--with-secrets"]).succeeded();
        assert_eq!(again.stdout, exported.stdout);
        assert!(serde_json::from_str::<Value>(&exported.stdout).unwrap().is_object());
    }
}

#[test]
fn an_export_has_secrets_only_when_asked() {
    let place = Place::new();
    place.imported("a.db");
    place.admin_key("a.db");
    let args = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    place.run_with(&args, &[], b"correct horse battery").succeeded();
    let plain = export(&place, "a.db");
    let whole = place.run(&["export", "--db", "a.db", "--with-secrets"]).succeeded().stdout;
    assert!(!plain.contains("whsec_") && whole.contains(HR_SECRET), "{plain}");
    for text in [&plain, &whole] {
        for secret in ["rpk_", "argon2", "password", "apiKey", "usage", "activit"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("root@example.org"), "the admin is a user as any other: {text}");
    }
}

#[test]
fn an_integration_without_its_secret_is_imported_disabled_and_said_so() {
    let place = Place::new();
    place.imported("a.db");
    let plain = export(&place, "a.db");
    let ended = place.run_with(&["import", "--db", "b.db", "-"], &[], plain.as_bytes()).succeeded();
    assert!(ended.stderr.lines().any(|line| line.contains("acme") && line.contains("disabled")), "{ended:?}");
    let again: Value = serde_json::from_str(&export(&place, "b.db")).unwrap();
    assert_eq!(again["organizations"][0]["hrIntegration"]["enabled"], false);
}

/// What makes a good document a wrong one.
type Change = fn(&mut Value);

#[test]
fn an_error_names_its_place_and_leaves_no_file() {
    let changes: [(Change, &str); 8] = [
        (|d| d["users"][1]["email"] = json!("nobody"), "/users/1/email: "),
        (|d| drop(d["users"][0].as_object_mut().unwrap().remove("name")), "/users/0/name: "),
        (|d| d["organizations"][0]["slug"] = json!("A B"), "/organizations/0/slug: "),
        (|d| d["organizations"][0]["members"][1]["orgRole"] = json!("king"), "/organizations/0/members/1/orgRole: "),
        (|d| d["organizations"][0]["roles"][0]["positions"] = json!(0), "/organizations/0/roles/0/positions: "),
        (
            |d| d["organizations"][0]["roles"][0]["candidates"][1]["appliedAt"] = json!("soon"),
            "/organizations/0/roles/0/candidates/1/appliedAt: ",
        ),
        (|d| d["organizations"][0]["members"][0]["userId"] = json!("user_none"), "/organizations/0/members/0/userId: "),
        (|d| d["users"][1]["id"] = json!("user_owner"), "/users/1"),
    ];
    for (change, pointer) in changes {
        let place = Place::new();
        let mut wrong = document();
        change(&mut wrong);
        place.write("document.json", wrong.to_string());
        let ended = place.run(&["import", "--db", "a.db", "document.json"]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{pointer}: {ended:?}");
        let first = ended.stderr.lines().next().unwrap();
        assert_eq!(
            first, "appliance: 1 thing is wrong with the document, nothing was imported",
            "{pointer}: {ended:?}"
        );
        assert!(ended.stderr.lines().nth(1).unwrap().starts_with(pointer), "{pointer}: {ended:?}");
        assert_eq!(place.names(), ["document.json"], "{pointer}");
    }
}

#[test]
fn every_error_is_told_at_once() {
    let place = Place::new();
    let mut wrong = document();
    wrong["users"][0]["platformRole"] = json!("king");
    wrong["organizations"][0]["roles"][0]["status"] = json!("Open");
    let ended = place.run_with(&["import", "--db", "a.db", "-"], &[], wrong.to_string().as_bytes());
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    assert_eq!(lines[0], "appliance: 2 things are wrong with the document, nothing was imported");
    // In the order in which the document has them.
    assert!(lines[1].starts_with("/users/0/platformRole: "), "{ended:?}");
    assert!(lines[2].starts_with("/organizations/0/roles/0/status: "), "{ended:?}");
    assert_eq!(lines.len(), 3, "{ended:?}");
    assert_eq!(place.names(), Vec::<String>::new());
}

#[test]
fn a_clash_with_the_file_leaves_it_as_it_was() {
    let place = Place::new();
    place.imported("a.db");
    let before = export(&place, "a.db");
    let mut clash = json!({ "users": [{ "email": "new@example.org", "name": "New" }], "organizations": [] });
    for (member, value, pointer) in [
        ("users", json!({ "email": "OWNER@acme.example", "name": "Again" }), "/users/1: "),
        ("users", json!({ "id": "user_owner", "email": "other@example.org", "name": "Again" }), "/users/1: "),
        ("organizations", json!({ "slug": "acme", "name": "Again" }), "/organizations/0: "),
        ("organizations", json!({ "id": "org_acme", "slug": "other", "name": "Again" }), "/organizations/0: "),
    ] {
        let kept = clash.clone();
        clash[member].as_array_mut().unwrap().push(value);
        let ended = place.run_with(&["import", "--db", "a.db", "-"], &[], clash.to_string().as_bytes());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.lines().any(|line| line.starts_with(pointer)), "{pointer}: {ended:?}");
        assert_eq!(export(&place, "a.db"), before);
        clash = kept;
    }
    place.run_with(&["import", "--db", "a.db", "-"], &[], clash.to_string().as_bytes()).succeeded();
}

#[test]
fn a_document_that_cannot_be_read_is_named() {
    let place = Place::new();
    place.run(&["import", "--db", "a.db", "none.json"]).failed(1, "none.json cannot be read");
    std::fs::create_dir(place.path("folder")).unwrap();
    place.run(&["import", "--db", "a.db", "folder"]).failed(1, "folder cannot be read");
    for bytes in [&b""[..], b"{", b"[]", b"\xff", b"{\"users\":[],\"users\":[]}", b"\xef\xbb\xbf{}"] {
        let ended = place.run_with(&["import", "--db", "a.db", "-"], &[], bytes);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        assert!(ended.stderr.starts_with("appliance: 1 thing is wrong with the document"), "{ended:?}");
    }
    assert_eq!(place.names(), ["folder"]);
}

#[test]
fn what_a_document_holds_does_not_steer_the_terminal() {
    let place = Place::new();
    let escape = r"\u001b[31m\u0007\u009b31m";
    let user = |members: &str| format!(r#"{{"users":[{{"email":"a@b.example","name":"A",{members}}}]}}"#);
    for document in [
        format!(r#"{{"{escape}":1,"{escape}":2}}"#),
        user(&format!(r#""{escape}":1,"{escape}":2"#)),
        user(&format!(r#""id":"{escape}""#)),
        user(&format!(r#""platformRole":"{escape}""#)),
        format!(
            r#"{{"users":[{{"email":"a{escape}@b.example","name":"A"}},{{"email":"a{escape}@b.example","name":"A"}}]}}"#
        ),
        format!(r#"{{"organizations":[{{"slug":"{escape}","name":"A"}}]}}"#),
        format!(
            r#"{{"organizations":[{{"slug":"a","name":"A","members":[{{"userId":"{escape}","orgRole":"owner"}}]}}]}}"#
        ),
        format!(r#"{{"organizations":[{{"slug":"a","name":"A","portal":{{"{escape}":1,"{escape}":2}}}}]}}"#),
        format!(
            r#"{{"organizations":[{{"slug":"a","name":"A","roles":[{{"name":"R","description":{{"{escape}":1,"{escape}":2}}}}]}}]}}"#
        ),
    ] {
        let ended = place.run_with(&["import", "--db", "a.db", "-"], &[], document.as_bytes());
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{document}: {ended:?}");
        let raw: Vec<char> = ended.stderr.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert_eq!(raw, Vec::<char>::new(), "{document}: {ended:?}");
    }
    let ended =
        place.run_with(&["import", "--db", "a.db", "-"], &[], format!(r#"{{"{escape}":1,"{escape}":2}}"#).as_bytes());
    assert!(ended.stderr.contains(r"\u{1b}[31m"), "it is shown all the same: {ended:?}");
    let named = ["import", "--db", "a.db", "\u{1b}[31m.json"];
    place.run(&named).failed(1, "cannot be read");
}

#[test]
fn an_import_is_seen_by_the_service_that_runs() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db"]);
    let key = place.admin_key("a.db");
    serving.send("GET", "/api/public/portal/acme", &[], "").expect(404);
    place.imported("a.db");
    // What is kept of a portal may be a moment old; what is behind a key may not.
    let body = json!({ "name": "a", "userId": "user_owner" }).to_string();
    serving.send("POST", "/api/admin/api-keys", &[("Authorization", &format!("Bearer {key}"))], &body).expect(200);
    eventually(|| serving.send("GET", "/api/public/portal/acme", &[], "").status == 200);
    let portal = serving.send("GET", "/api/public/portal/acme", &[], "").expect(200).json();
    assert_eq!(portal["roles"][0]["id"], "role_1");
    // And the other way round: what the service has answered is in an export.
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    serving.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    let exported: Value = serde_json::from_str(&export(&place, "a.db")).unwrap();
    assert_eq!(exported["organizations"][0]["roles"][0]["candidates"][0]["status"], "Hired");
    serving.stop("TERM").succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn candidates_from_elsewhere_are_seen_by_the_service_that_runs() {
    let place = Place::new();
    place.imported("a.db");
    let serving = place.serve(&["--db", "a.db"]);
    let key = place.admin_key("a.db");
    let roles = || serving.send("GET", "/api/public/portal/acme", &[], "").expect(200).json()["roles"].clone();
    assert_eq!(roles()[0]["id"], "role_1");
    let positions = place.number("a.db", "SELECT positions - hired FROM roles WHERE id = 'role_1'");
    let row = |number| format!("Ann,ann{number}@example.org,Hired\n");
    place.write("table.csv", "name,email,status\n".to_owned() + &(0..positions).map(row).collect::<String>());
    let import =
        ["import", "--db", "a.db", "--format", "csv", "--organization", "acme", "--role", "role_1", "table.csv"];
    place.run(&import).succeeded();
    // Its last position is taken, so it goes from the portal, and nobody else can be hired for it.
    eventually(|| roles() == json!([]));
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    let refused = serving.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(400);
    assert_eq!(refused.json()["code"], "bad_request");
    let again = place.run(&import);
    assert!(again.code == Some(1) && again.stdout.contains("has already applied"), "{again:?}");
    serving.stop("TERM").succeeded();
    place.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn more_than_20_000_candidates_want_the_service_stopped() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db"]);
    place.write("large.json", large(20_001));
    let ended = place.run(&["import", "--db", "a.db", "large.json"]).failed(1, "nothing was imported");
    assert!(ended.stderr.contains("20001 candidates") && ended.stderr.contains("stop it"), "{ended:?}");
    assert_eq!(place.number("a.db", "SELECT count(*) FROM organizations"), 0);
    serving.send("GET", "/readyz", &[], "").expect(200);
    place.write("large.json", large(20_000));
    place.run(&["import", "--db", "a.db", "large.json"]).succeeded();
    serving.send("GET", "/readyz", &[], "").expect(200);
    serving.stop("TERM").succeeded();
    place.write("large.json", large(20_001));
    place.run(&["import", "--db", "b.db", "large.json"]).succeeded();
    assert_eq!(place.number("b.db", "SELECT count(*) FROM candidate_roles"), 20_001);
}
