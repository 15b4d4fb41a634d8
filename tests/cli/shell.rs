//! `completions` prints a script for each shell, and `man` prints the manual.

use crate::support::WorkDir;

/// Loads the printed script into bash. Returns the completions that bash offers for the last of these words.
fn completed(dir: &WorkDir, words: &[&str]) -> Vec<String> {
    let script = dir.run(&["completions", "bash"]).succeeded().stdout;
    let line = format!(
        "{script}
COMP_WORDS=(appliance {}); COMP_CWORD={}; _appliance
printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words.len()
    );
    let output = std::process::Command::new("bash").args(["--norc", "-c", &line]).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let dir = WorkDir::new();
    assert_eq!(completed(&dir, &["us"]), ["user"]);
    assert_eq!(completed(&dir, &["user", ""]), ["list", "create", "disable", "enable", "help"]);
    assert_eq!(completed(&dir, &["key", "create", "--sc"]), ["--scope"]);
    assert_eq!(completed(&dir, &["key", "--db", "a.db", "create", "--em"]), ["--email"]);
    assert_eq!(completed(&dir, &["user", "create", "--platform-role", ""]), ["user", "admin"]);
    assert_eq!(completed(&dir, &["serve", "--log-format", "j"]), ["json"]);
    assert_eq!(completed(&dir, &["completions", "--he"]), ["--help"]);
    // The shell itself completes file names.
    for nothing in [&["serve", "--db", ""][..], &["import", ""], &["user", "create", "--name", "se"]] {
        assert_eq!(completed(&dir, nothing), Vec::<String>::new(), "{nothing:?}");
    }
}

#[test]
fn the_script_of_each_shell_contains_commands_and_flags() {
    let dir = WorkDir::new();
    for (shell, beginning) in [("bash", "_appliance() {"), ("zsh", "#compdef appliance\n"), ("fish", "function __")] {
        let script = dir.run(&["completions", shell]).succeeded();
        assert_eq!(script.stderr, "");
        assert!(script.stdout.starts_with(beginning), "{shell}");
        for word in
            ["bootstrap-admin", "hr-deliveries", "organization", "revoke", "base-url", "expires-in-days", "greenhouse"]
        {
            assert!(script.stdout.contains(word), "{word} is not in the script for {shell}");
        }
    }
    dir.run(&["completions", "tcsh"]).misused("[possible values: bash, zsh, fish]");
    dir.run(&["completions"]).misused("<SHELL>");
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn the_manual_describes_commands_with_their_flags() {
    let dir = WorkDir::new();
    let manual = dir.run(&["man"]).succeeded();
    assert_eq!(manual.stderr, "");
    assert!(manual.stdout.starts_with(".TH APPLIANCE 1 "), "{}", manual.stdout);
    for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "NOTES"] {
        assert!(manual.stdout.contains(&format!("\n.SH {section}\n")), "{section}");
    }
    for part in [
        "\n.SS appliance serve [OPTIONS]\n",
        "\n.SS appliance key revoke [OPTIONS] <ID>\n",
        "\\fB\\-\\-expires\\-in\\-days \\fR\\fIDAYS\\fR",
        "Variable: APPLIANCE_HR_RETRY_SCHEDULE.",
        "Default: 90.",
        "Without this flag, the key has candidates:read, roles:read and pipeline:write",
        "One of: candidates:read, candidates:write, roles:read, roles:write, pipeline:write, admin:read, admin:write.",
        "One of: bash, zsh, fish.",
    ] {
        assert!(manual.stdout.contains(part), "{part}: {}", manual.stdout);
    }
    // Every line that begins with a dot or an apostrophe is a known roff request.
    for line in manual.stdout.lines().filter(|line| line.starts_with(['.', '\''])) {
        let request = line.split(' ').next().unwrap();
        assert!(
            [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I", ".RI", ".br", ".nf", ".fi"].contains(&request),
            "{line}"
        );
    }
}

#[test]
fn a_closed_pipe_is_an_error_only_for_commands_that_print_a_secret() {
    let dir = WorkDir::new();
    let bootstrap = ["bootstrap-admin", "--db", "a.db", "--email", "owner@acme.example"];
    dir.run(&bootstrap).succeeded();
    for args in [&["man"][..], &["completions", "bash"], &["user", "list", "--db", "a.db"]] {
        assert_eq!(dir.run_with_closed_stdout(args).succeeded().stderr, "", "{args:?}");
    }
    dir.run_with_closed_stdout(&bootstrap).failed(1, "cannot write to standard output");
}
