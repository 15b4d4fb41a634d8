//! A database file with two organizations, into which tests import candidates with the command `appliance import`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{File, read};

/// A file with two organizations. After each import, `import` asserts that `appliance check` has no findings.
pub(crate) struct Company {
    file: File,
}

/// The outcome of an import.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ended {
    /// Asserts that everything was imported.
    #[track_caller]
    pub(crate) fn fine(self) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// Asserts that exactly these refusals were reported.
    #[track_caller]
    pub(crate) fn refused(self, lines: &[&str]) -> Self {
        assert_eq!(self.out.lines().collect::<Vec<_>>(), lines, "{self:?}");
        assert_eq!(self.code, Some(1), "{self:?}");
        self
    }

    /// Asserts that the whole import failed for this reason, with nothing on standard output.
    #[track_caller]
    pub(crate) fn failed(self, code: i32, sentence: &str) -> Self {
        assert_eq!((self.code, self.out.as_str()), (Some(code), ""), "{self:?}");
        assert!(self.err.contains(sentence), "{sentence}: {self:?}");
        self
    }

    #[track_caller]
    pub(crate) fn says(self, words: &str) -> Self {
        assert!(self.err.contains(words), "{words}: {self:?}");
        self
    }
}

impl Company {
    pub(crate) fn new() -> Self {
        let file = File::new();
        let step = |id: &str, name: &str| json!({ "id": id, "name": name });
        let role = |id: &str, name: &str, status: &str, positions: u32, steps: Vec<Value>| json!({ "id": id, "name": name, "status": status, "positions": positions, "steps": steps });
        let mut engineer = role(
            "role_eng",
            "Engineer",
            "open",
            2,
            vec![step("step_read", "Review"), step("step_call", "Call"), step("step_offer", "Offer")],
        );
        engineer["candidates"] = json!([{ "id": "cand_cleo", "name": "Cleo", "email": "cleo@example.org" }]);
        let mut elsewhere = role("role_far", "Engineer", "open", 1, vec![step("step_far", "Call")]);
        elsewhere["candidates"] = json!([{ "id": "cand_dan", "name": "Dan", "email": "dan@example.org" }]);
        let roles = [
            engineer,
            role("role_wri", "Writer", "open", 1, vec![step("step_talk", "Talk")]),
            role("role_d1", "Double", "closed", 1, vec![step("step_d1", "Talk")]),
            role("role_d2", "DOUBLE ", "draft", 1, vec![step("step_d2", "Talk"), step("step_d3", " talk")]),
            role("role_none", "Stepless", "draft", 1, vec![]),
        ];
        let document = json!({ "organizations": [
            { "id": "org_acme", "slug": "acme", "name": "Acme", "roles": roles },
            { "id": "org_far", "slug": "far", "name": "Far", "roles": [elsewhere] },
        ] });
        file.import(&read(&document)).unwrap();
        Self { file }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Runs `appliance import` with these flags and this standard input.
    pub(crate) fn import(&self, args: &[&str], input: &[u8]) -> Ended {
        let mut command = Command::new(env!("CARGO_BIN_EXE_appliance"));
        for variable in ["DB", "FORMAT", "ORGANIZATION", "ROLE", "PARTIAL"] {
            command.env_remove(format!("APPLIANCE_{variable}"));
        }
        let command = command.arg("import").arg("--db").arg(self.file.path()).args(args);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        // A command that ends before it has read its whole input closes the pipe.
        let writing = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let output = child.wait_with_output().unwrap();
        writing.join().unwrap();
        assert_eq!(self.file.unsound(), Vec::<String>::new(), "{args:?}");
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Ended { code: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
    }

    /// Imports a table into Acme.
    pub(crate) fn csv(&self, table: impl AsRef<[u8]>) -> Ended {
        self.csv_with(&[], table)
    }

    pub(crate) fn csv_with(&self, args: &[&str], table: impl AsRef<[u8]>) -> Ended {
        self.import(&[&["--format", "csv", "--organization", "acme"], args, &["-"]].concat(), table.as_ref())
    }

    /// Returns the export of the file.
    pub(crate) fn export(&self) -> Value {
        serde_json::from_str(&self.file.export(appliance::interchange::Secrets::LeftOut)).unwrap()
    }

    /// Returns one of Acme's roles, from the export.
    pub(crate) fn role(&self, id: &str) -> Value {
        let document = self.export();
        let roles = document["organizations"][0]["roles"].as_array().unwrap().clone();
        roles.into_iter().find(|role| role["id"] == id).unwrap_or_else(|| panic!("{id}: {document}"))
    }

    /// Returns a candidate's application to a role, from the export.
    pub(crate) fn application(&self, role: &str, email: &str) -> Value {
        let role = self.role(role);
        let candidates = role["candidates"].as_array().unwrap();
        candidates.iter().find(|one| one["email"] == email).unwrap_or_else(|| panic!("{email}: {role}")).clone()
    }
}

/// Returns this member of each item.
pub(crate) fn each<'a>(items: &'a Value, member: &str) -> Vec<&'a str> {
    items.as_array().unwrap().iter().map(|item| item[member].as_str().unwrap_or("-")).collect()
}
