//! `import` and `export` of interchange documents.

use serde_json::{Value, json};

use crate::support::{HR_SECRET, WorkDir, document, eventually};

const DEMO: &str = include_str!("../../examples/demo.json");

fn export(dir: &WorkDir, db: &str) -> String {
    dir.run(&["export", "--db", db]).succeeded().stdout
}

/// Returns an interchange document with one organization, one role and this many candidates.
fn large(candidates: usize) -> String {
    let candidate = |number| json!({ "name": "A", "email": format!("a{number}@example.net") });
    let candidates: Vec<Value> = (0..candidates).map(candidate).collect();
    let role = json!({ "name": "R", "steps": [{ "name": "S" }], "candidates": candidates });
    json!({ "organizations": [{ "slug": "large", "name": "Large", "roles": [role] }] }).to_string()
}

#[test]
fn an_import_reports_its_counts_on_standard_error() {
    let dir = WorkDir::new();
    dir.write("document.json", document().to_string());
    let output = dir.run(&["import", "--db", "a.db", "document.json"]).succeeded();
    assert_eq!(output.stdout, "");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines.len(), 1, "{output:?}");
    let counts = "imported into a.db: users 2, organizations 1, roles 1, candidates 2, applications 2";
    assert!(lines[0].starts_with(counts), "{output:?}");
    assert!(lines[0].contains("the write lock was held for ") && lines[0].ends_with(" ms"), "{output:?}");
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_document_can_be_read_from_standard_input() {
    let dir = WorkDir::new();
    dir.run_with(&["import", "--db", "a.db", "-"], &[], document().to_string().as_bytes()).succeeded();
    dir.imported("b.db");
    assert_eq!(dir.names().contains(&"a.db".to_owned()), dir.names().contains(&"b.db".to_owned()));
    assert_eq!(export(&dir, "a.db"), export(&dir, "b.db"));
}

#[test]
fn an_imported_export_is_exported_identically() {
    for original in [document().to_string(), DEMO.to_owned(), "{}".to_owned()] {
        let dir = WorkDir::new();
        dir.run_with(&["import", "--db", "a.db", "-"], &[], original.as_bytes()).succeeded();
        let secret = ["export", "--db", "a.db", "--with-secrets"];
        let exported = dir.run(&secret).succeeded();
        assert_eq!(exported.stderr, "");
        dir.run_with(&["import", "--db", "b.db", "-"], &[], exported.stdout.as_bytes()).succeeded();
        dir.run(&["check", "--db", "b.db"]).succeeded();
        let again = dir.run(&["export", "--db", "b.db", "--with-secrets"]).succeeded();
        assert_eq!(again.stdout, exported.stdout);
        assert!(serde_json::from_str::<Value>(&exported.stdout).unwrap().is_object());
    }
}

#[test]
fn an_export_contains_secrets_only_on_request() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.admin_key("a.db");
    let args = ["set-password", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run_with(&args, &[], b"correct horse battery").succeeded();
    let plain = export(&dir, "a.db");
    let whole = dir.run(&["export", "--db", "a.db", "--with-secrets"]).succeeded().stdout;
    assert!(!plain.contains("whsec_") && whole.contains(HR_SECRET), "{plain}");
    for text in [&plain, &whole] {
        for secret in ["rpk_", "argon2", "password", "apiKey", "usage", "activit"] {
            assert!(!text.contains(secret), "{secret}: {text}");
        }
        assert!(text.contains("root@example.org"), "the admin is exported like any user: {text}");
    }
}

#[test]
fn an_integration_without_its_secret_is_imported_disabled_with_a_warning() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let plain = export(&dir, "a.db");
    let output = dir.run_with(&["import", "--db", "b.db", "-"], &[], plain.as_bytes()).succeeded();
    assert!(output.stderr.lines().any(|line| line.contains("acme") && line.contains("disabled")), "{output:?}");
    let again: Value = serde_json::from_str(&export(&dir, "b.db")).unwrap();
    assert_eq!(again["organizations"][0]["hrIntegration"]["enabled"], false);
}

/// Introduces an error into an interchange document.
type Change = fn(&mut Value);

#[test]
fn an_error_names_its_location_and_leaves_no_file() {
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
        let dir = WorkDir::new();
        let mut wrong = document();
        change(&mut wrong);
        dir.write("document.json", wrong.to_string());
        let output = dir.run(&["import", "--db", "a.db", "document.json"]);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{pointer}: {output:?}");
        let first = output.stderr.lines().next().unwrap();
        assert_eq!(first, "appliance: 1 error in the document; nothing was imported", "{pointer}: {output:?}");
        assert!(output.stderr.lines().nth(1).unwrap().starts_with(pointer), "{pointer}: {output:?}");
        assert_eq!(dir.names(), ["document.json"], "{pointer}");
    }
}

#[test]
fn an_import_reports_all_errors_together() {
    let dir = WorkDir::new();
    let mut wrong = document();
    wrong["users"][0]["platformRole"] = json!("king");
    wrong["organizations"][0]["roles"][0]["status"] = json!("Open");
    let output = dir.run_with(&["import", "--db", "a.db", "-"], &[], wrong.to_string().as_bytes());
    assert_eq!(output.code, Some(1), "{output:?}");
    let lines: Vec<&str> = output.stderr.lines().collect();
    assert_eq!(lines[0], "appliance: 2 errors in the document; nothing was imported");
    // Errors are in the order of the document.
    assert!(lines[1].starts_with("/users/0/platformRole: "), "{output:?}");
    assert!(lines[2].starts_with("/organizations/0/roles/0/status: "), "{output:?}");
    assert_eq!(lines.len(), 3, "{output:?}");
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn a_conflict_with_the_file_leaves_it_unchanged() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let before = export(&dir, "a.db");
    let mut conflict = json!({ "users": [{ "email": "new@example.org", "name": "New" }], "organizations": [] });
    for (member, value, pointer) in [
        ("users", json!({ "email": "OWNER@acme.example", "name": "Again" }), "/users/1: "),
        ("users", json!({ "id": "user_owner", "email": "other@example.org", "name": "Again" }), "/users/1: "),
        ("organizations", json!({ "slug": "acme", "name": "Again" }), "/organizations/0: "),
        ("organizations", json!({ "id": "org_acme", "slug": "other", "name": "Again" }), "/organizations/0: "),
    ] {
        let without_conflict = conflict.clone();
        conflict[member].as_array_mut().unwrap().push(value);
        let output = dir.run_with(&["import", "--db", "a.db", "-"], &[], conflict.to_string().as_bytes());
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
        assert!(output.stderr.lines().any(|line| line.starts_with(pointer)), "{pointer}: {output:?}");
        assert_eq!(export(&dir, "a.db"), before);
        conflict = without_conflict;
    }
    dir.run_with(&["import", "--db", "a.db", "-"], &[], conflict.to_string().as_bytes()).succeeded();
}

#[test]
fn unreadable_and_malformed_documents_are_refused() {
    let dir = WorkDir::new();
    dir.run(&["import", "--db", "a.db", "none.json"]).failed(1, "none.json cannot be read");
    std::fs::create_dir(dir.path("folder")).unwrap();
    dir.run(&["import", "--db", "a.db", "folder"]).failed(1, "folder cannot be read");
    for bytes in [b"{", &b"[]"[..], b"{\xff}", b"{\"users\":[],\"users\":[]}", b"\xef\xbb\xbf{}"] {
        let output = dir.run_with(&["import", "--db", "a.db", "-"], &[], bytes);
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{output:?}");
        assert!(output.stderr.starts_with("appliance: 1 error in the document"), "{output:?}");
    }
    assert_eq!(dir.names(), ["folder"]);
}

#[test]
fn control_characters_in_a_document_are_escaped_on_the_terminal() {
    let dir = WorkDir::new();
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
        let output = dir.run_with(&["import", "--db", "a.db", "-"], &[], document.as_bytes());
        assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""), "{document}: {output:?}");
        let raw: Vec<char> = output.stderr.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert_eq!(raw, Vec::<char>::new(), "{document}: {output:?}");
    }
    let output =
        dir.run_with(&["import", "--db", "a.db", "-"], &[], format!(r#"{{"{escape}":1,"{escape}":2}}"#).as_bytes());
    assert!(output.stderr.contains(r"\u{1b}[31m"), "the escaped text is shown: {output:?}");
    let named = ["import", "--db", "a.db", "\u{1b}[31m.json"];
    dir.run(&named).failed(1, "cannot be read");
}

#[test]
fn a_running_service_sees_an_import() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db"]);
    let key = dir.admin_key("a.db");
    service.send("GET", "/api/public/portal/acme", &[], "").expect(404);
    dir.imported("a.db");
    // The cached response for the portal can be a moment old. Requests with a key see the import immediately.
    let body = json!({ "name": "a", "userId": "user_owner" }).to_string();
    service.send("POST", "/api/admin/api-keys", &[("Authorization", &format!("Bearer {key}"))], &body).expect(200);
    eventually(|| service.send("GET", "/api/public/portal/acme", &[], "").status == 200);
    let portal = service.send("GET", "/api/public/portal/acme", &[], "").expect(200).json();
    assert_eq!(portal["roles"][0]["id"], "role_1");
    // Conversely, an export contains the changes that the running service has made.
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    let exported: Value = serde_json::from_str(&export(&dir, "a.db")).unwrap();
    assert_eq!(exported["organizations"][0]["roles"][0]["candidates"][0]["status"], "Hired");
    service.stop("TERM").succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn a_running_service_sees_candidates_imported_from_a_table() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let key = dir.admin_key("a.db");
    let roles = || service.send("GET", "/api/public/portal/acme", &[], "").expect(200).json()["roles"].clone();
    assert_eq!(roles()[0]["id"], "role_1");
    let positions = dir.number("a.db", "SELECT positions - hired FROM roles WHERE id = 'role_1'");
    let row = |number| format!("Ann,ann{number}@example.org,Hired\n");
    dir.write("table.csv", "name,email,status\n".to_owned() + &(0..positions).map(row).collect::<String>());
    let import =
        ["import", "--db", "a.db", "--format", "csv", "--organization", "acme", "--role", "role_1", "table.csv"];
    dir.run(&import).succeeded();
    // The last position is filled, so the role leaves the portal and nobody else can be hired.
    eventually(|| roles() == json!([]));
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    let refused = service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(400);
    assert_eq!(refused.json()["code"], "bad_request");
    let again = dir.run(&import);
    assert!(again.code == Some(1) && again.stdout.contains("has already applied"), "{again:?}");
    service.stop("TERM").succeeded();
    dir.run(&["check", "--db", "a.db"]).succeeded();
}

#[test]
fn an_import_of_more_than_20_000_candidates_requires_a_stopped_service() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db"]);
    dir.write("large.json", large(20_001));
    let output = dir.run(&["import", "--db", "a.db", "large.json"]).failed(1, "nothing was imported");
    assert!(output.stderr.contains("20001 applications") && output.stderr.contains("stop that process"), "{output:?}");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM organizations"), 0);
    service.send("GET", "/readyz", &[], "").expect(200);
    // The limit allows 20,000, so a conflict with the file is the only error. Because of the conflict, the test does
    // not wait for 20,000 inserts.
    dir.write("small.json", large(1));
    dir.run(&["import", "--db", "a.db", "small.json"]).succeeded();
    dir.write("large.json", large(20_000));
    let output = dir.run(&["import", "--db", "a.db", "large.json"]);
    assert!(output.code == Some(1) && output.stderr.contains("\n/organizations/0: "), "{output:?}");
    service.send("GET", "/readyz", &[], "").expect(200);
    service.stop("TERM").succeeded();
    dir.write("large.json", large(20_001));
    dir.run(&["import", "--db", "b.db", "large.json"]).succeeded();
    assert_eq!(dir.number("b.db", "SELECT count(*) FROM candidate_roles"), 20_001);
}
