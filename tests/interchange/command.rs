//! The commands `appliance import` and `appliance export`.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use appliance::store::file::Lock;
use serde_json::{Value, json};

use crate::rounds::rounds;
use crate::support::{sound, with};

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    fn db(&self) -> PathBuf {
        self.dir.path().join("a.db")
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn import(&self, document: &Value) -> Output {
        let path = self.file("document.json", &document.to_string());
        run(Command::new(BINARY).arg("import").arg("--db").arg(self.db()).arg(path), "")
    }

    fn export(&self) -> Output {
        run(Command::new(BINARY).arg("export").arg("--db").arg(self.db()), "")
    }

    /// Returns the names of all files in the folder.
    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.dir.path()).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

const BINARY: &str = env!("CARGO_BIN_EXE_appliance");

fn run(command: &mut Command, input: &str) -> Output {
    let command = command.env_remove("APPLIANCE_DB").env_remove("APPLIANCE_WITH_SECRETS");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // A command that ends before it has read its whole input closes the pipe.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn words(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn an_import_reports_its_counts_and_the_duration_of_the_lock() {
    let folder = Folder::new();
    let output = folder.import(&sound());
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let expected = "users 2, organizations 1, roles 1, candidates 4, applications 4; the write lock was held for ";
    assert!(words(&output).contains(expected) && words(&output).ends_with(" ms\n"), "{}", words(&output));
    assert!(output.stdout.is_empty(), "messages for people are on standard error");
}

#[test]
fn a_wrong_document_creates_no_file() {
    let folder = Folder::new();
    for (document, pointer) in [
        (with("/users/0/email", json!("ada")), "\n/users/0/email: "),
        (with("/organizations/0/members/0/userId", json!("user_9")), "\n/organizations/0/members/0/userId: "),
        (json!([]), "\nthe document: must be an object"),
    ] {
        let output = folder.import(&document);
        assert_eq!(output.status.code(), Some(1));
        assert!(words(&output).contains("1 error in the document; nothing was imported"));
        assert!(words(&output).contains(pointer), "{}", words(&output));
        assert_eq!(folder.names(), ["document.json"]);
    }
}

#[test]
fn a_document_that_conflicts_with_the_file_changes_nothing() {
    let folder = Folder::new();
    assert!(folder.import(&sound()).status.success());
    let before = folder.export().stdout;
    let output = folder.import(&sound());
    assert_eq!(output.status.code(), Some(1));
    assert!(
        words(&output).contains("\n/users/0: the user id user_1 already exists in the database\n"),
        "{}",
        words(&output)
    );
    assert_eq!(folder.export().stdout, before);
}

#[test]
fn a_document_is_read_from_standard_input() {
    let folder = Folder::new();
    let mut command = Command::new(BINARY);
    let output = run(command.arg("import").arg("--db").arg(folder.db()).arg("-"), &sound().to_string());
    assert!(output.status.success(), "{}", words(&output));
    let exported: Value = serde_json::from_slice(&folder.export().stdout).unwrap();
    assert_eq!(exported["users"][1]["name"], "Bob");
}

#[test]
fn an_integration_without_a_secret_is_reported() {
    let folder = Folder::new();
    let output = folder.import(&with("/organizations/0/hrIntegration/secret", Value::Null));
    assert!(output.status.success());
    assert!(words(&output).starts_with("the HR integration of acme has no secret, so it is disabled"));
}

#[test]
fn an_export_includes_secrets_only_with_the_flag() {
    let folder = Folder::new();
    assert!(folder.import(&sound()).status.success());
    let export = |arguments: &[&str]| {
        let mut command = Command::new(BINARY);
        let output = run(command.arg("export").arg("--db").arg(folder.db()).args(arguments), "");
        assert!(output.status.success(), "{}", words(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(!export(&[]).contains("whsec_"));
    assert!(export(&["--with-secrets"]).contains("whsec_"));
}

#[test]
fn a_missing_file_is_reported_and_not_created() {
    let folder = Folder::new();
    let output = folder.export();
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("does not exist"), "{}", words(&output));
    let missing = folder.dir.path().join("missing.json");
    let output = run(Command::new(BINARY).arg("import").arg("--db").arg(folder.db()).arg(missing), "");
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("missing.json cannot be read"), "{}", words(&output));
    assert_eq!(folder.names(), Vec::<String>::new());
}

#[test]
fn a_file_of_another_program_is_not_changed() {
    let folder = Folder::new();
    let text = "not a database, but long enough to look like something: ".repeat(40);
    fs::write(folder.db(), &text).unwrap();
    let output = folder.import(&sound());
    assert_eq!(output.status.code(), Some(1));
    assert!(words(&output).contains("is not an appliance database file"), "{}", words(&output));
    assert_eq!(fs::read_to_string(folder.db()).unwrap(), text);
}

/// Returns the valid document with this many candidates.
fn crowd(candidates: usize) -> Value {
    let candidate = |number: usize| json!({ "name": "C", "email": format!("{number}@example.org") });
    with("/organizations/0/roles/0/candidates", (0..candidates).map(candidate).collect())
}

fn import_with_lock(path: &Path, folder: &Folder, document: &Value) -> Output {
    let _lock = Lock::take(path).unwrap();
    folder.import(document)
}

#[test]
fn more_than_20_000_applications_are_refused_while_a_service_runs() {
    let folder = Folder::new();
    let output = import_with_lock(&folder.db(), &folder, &crowd(20_001));
    assert_eq!(output.status.code(), Some(1));
    let message = words(&output);
    assert!(message.contains("20001 applications") && message.contains("stop that process"), "{message}");
    assert!(!folder.db().exists(), "no file was created");
    let output = folder.import(&crowd(20_001));
    assert!(output.status.success(), "{}", words(&output));
}

#[test]
fn up_to_20_000_applications_are_imported_while_a_service_runs() {
    let folder = Folder::new();
    let output = import_with_lock(&folder.db(), &folder, &crowd(rounds(2_000, 20_000)));
    assert!(output.status.success(), "{}", words(&output));
}

#[test]
fn an_export_to_a_closed_pipe_succeeds() {
    let folder = Folder::new();
    assert!(folder.import(&crowd(2_000)).status.success());
    let mut command = Command::new(BINARY);
    let command = command.arg("export").arg("--db").arg(folder.db()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), words(&output).as_str()), (Some(0), ""));
}
