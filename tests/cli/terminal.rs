//! The output of commands: for people on a terminal, and for programs that read a pipe.

use crate::support::WorkDir;

#[test]
fn lists_have_headings_and_aligned_columns_on_a_terminal_and_tabs_in_a_pipe() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.run(&["key", "create", "--db", "a.db", "--email", "owner@acme.example", "--name", "Ours"]).succeeded();
    for (list, heading) in [
        (&["user", "list"][..], "EMAIL"),
        (&["organization", "list"], "SLUG"),
        (&["key", "list"], "LAST REQUEST"),
        (&["activity"], "ACTION"),
    ] {
        let args = [list, &["--db", "a.db"]].concat();
        let piped = dir.run(&args).succeeded().stdout;
        let shown = dir.run_on_terminal(&args, "xterm").succeeded().stdout;
        let lines: Vec<&str> = shown.lines().map(|line| line.trim_end_matches('\r')).collect();
        assert!(!shown.contains('\t') && lines[0].contains(heading), "{shown}");
        assert_eq!(lines.len(), piped.lines().count() + 1, "{shown}");
        let at = lines[0].find(heading).unwrap();
        for (line, row) in lines[1..].iter().zip(piped.lines()) {
            let cells: Vec<&str> = row.split('\t').collect();
            let words = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(words(line), words(row), "{shown}");
            assert!(line[..at].ends_with("  ") && !line[at..].starts_with(' '), "{shown}");
            assert!(cells.iter().any(|cell| line[at..].starts_with(cell)), "{shown}");
        }
    }
    let json = dir.run_on_terminal(&["user", "list", "--db", "a.db", "--json"], "xterm").succeeded().stdout;
    assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{json}");
}

#[test]
fn a_closed_pipe_is_not_an_error_unless_a_secret_would_be_lost() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let on = |args: &[&str]| dir.run_with_closed_stdout(&[args, &["--db", "a.db"]].concat());
    for args in [&["--help"][..], &["help", "serve"], &["--version"]] {
        assert_eq!(dir.run_with_closed_stdout(args).succeeded().stderr, "", "{args:?}");
    }
    for args in [
        &["user", "list", "--json"][..],
        &["organization", "list"],
        &["activity"],
        &["user", "create", "--email", "new@acme.example", "--name", "New"],
        &["organization", "create", "--slug", "new", "--name", "New"],
        &["check"],
        &["backup", "copy.db"],
    ] {
        let output = on(args).succeeded();
        assert!(!output.stderr.contains("panicked") && !output.stderr.contains("pipe"), "{args:?}: {output:?}");
    }
    assert!(!on(&["export"]).succeeded().stderr.contains("pipe"));
    dir.write("people.csv", "name,email,role\nA,a@acme.example,None\nB,b@acme.example,role_1\n");
    let partial = on(&["import", "--format", "csv", "--organization", "acme", "--partial", "people.csv"]);
    assert!(partial.stderr.ends_with("appliance: 1 of 2 rows was refused; the others were imported\n"), "{partial:?}");
    for args in [
        &["key", "create", "--email", "new@acme.example", "--name", "k"][..],
        &["sign-in-link", "--email", "new@acme.example"],
    ] {
        on(args).failed(1, "cannot write to standard output");
    }
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM api_keys"), 0);
}

#[test]
fn percentages_are_shown_on_a_terminal_only_and_removed_at_the_end() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let shown = dir.run_on_terminal(&["backup", "--db", "a.db", "b.db"], "xterm").succeeded().stdout;
    assert!(shown.starts_with("\rcopying: 0 %, "), "{shown:?}");
    assert!(shown.contains("\r\x1b[Ka.db copied to b.db"), "{shown:?}");
    for (terminal, copy) in [("dumb", "c.db"), ("", "d.db")] {
        let shown = dir.run_on_terminal(&["backup", "--db", "a.db", copy], terminal).succeeded().stdout;
        assert!(shown.starts_with("a.db copied to ") && !shown.contains('\x1b'), "{shown:?}");
    }
    assert!(dir.run(&["backup", "--db", "a.db", "e.db"]).succeeded().stderr.starts_with("a.db copied to e.db"));
    for (args, verb) in [
        (&["check", "--db", "a.db"][..], "checking"),
        (&["import", "--db", "f.db", "document.json"], "importing"),
        (&["restore", "--db", "f.db", "b.db"], "restoring"),
    ] {
        let shown = dir.run_on_terminal(args, "xterm").succeeded().stdout;
        // The first percentage that a command shows depends on the machine.
        assert!(shown.contains(&format!("\r{verb}: ")) && shown.contains(" %, "), "{shown:?}");
        let (_, rest) = shown.rsplit_once("\x1b[K").unwrap();
        assert!(rest.trim_end().lines().all(|line| !line.contains('%')), "{shown:?}");
    }
    let piped = dir.run(&["check", "--db", "a.db"]).succeeded();
    assert!(piped.stderr.starts_with("checking: reading every page\nchecking: ") && !piped.stderr.contains('%'));
    let document = dir.run_on_terminal(&["export", "--db", "a.db"], "xterm").succeeded().stdout;
    assert!(document.starts_with('{') && !document.contains('\x1b'), "{document:?}");
}
