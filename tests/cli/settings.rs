//! `appliance settings` and the settings file: precedence, origins and mistakes.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Output, WorkDir};
use crate::tls_client::{Authority, CERT, KEY};

/// An option with its values: as a flag, as a variable, as TOML in the file, and as `settings` shows the value from the
/// file.
struct Forms {
    option: String,
    flag: &'static str,
    variable: &'static str,
    in_file: &'static str,
    shown_from_file: &'static str,
}

/// The fields of [`Forms`] for each option. An option that is not listed here makes the tests fail.
const VALUES: [(&str, &str, &str, &str, &str); 27] = [
    ("db", "a.db", "b.db", "'c.db'", "c.db"),
    ("listen", "1", "127.0.0.1:2", "3", "3"),
    ("base-url", "http://a.example", "http://b.example", "'http://c.example'", "http://c.example"),
    ("tls-cert", "a.pem", "b.pem", "'c.pem'", "c.pem"),
    ("tls-key", "a.pem", "b.pem", "'c.pem'", "c.pem"),
    ("acme-domain", "a.example", "b.example", "'c.example'", "c.example"),
    ("acme-contact", "a@a.example", "b@a.example", "'c@a.example'", "c@a.example"),
    ("acme-directory", "https://a.example/", "https://b.example/", "'https://c.example/'", "https://c.example/"),
    ("acme-ca-file", "a.pem", "b.pem", "'c.pem'", "c.pem"),
    ("redirect-from", "1", "2", "':3'", ":3"),
    ("demo", "", "false", "true", "true"),
    ("rate-limit", "1", "2", "1_003", "1003"),
    ("signup-limit", "1", "2", "'3'", "3"),
    ("min-free", "1M", "2M", "3", "3"),
    ("attachments-max", "1G", "2G", "'3G'", "3G"),
    ("backup-dir", "a", "b", "'c'", "c"),
    ("backup-every", "1h", "2h", "'3h'", "3h"),
    ("backup-keep", "1", "daily=2", "3", "3"),
    ("backup-hook", "a", "b", "'c'", "c"),
    ("trusted-proxy", "10.0.0.1", "10.0.0.2,10.0.1.2", "['10.0.0.3', '::1']", "10.0.0.3,::1"),
    ("security-contact", "a@example.com", "b@example.com", "'c@example.com'", "c@example.com"),
    ("metrics-listen", "1", "2", "'localhost:3'", "localhost:3"),
    ("hr-retry-schedule", "1s", "2s", "'3s,4s'", "3s,4s"),
    ("hr-timeout", "1s", "2s", "'3s'", "3s"),
    ("allow-private-hr-targets", "", "false", "true", "true"),
    ("usage-retention-days", "1", "2", "3", "3"),
    ("log-format", "text", "json", "'json'", "json"),
];

/// Returns the value and the origin of an option in the output of `appliance settings`.
fn shown(output: &Output, option: &str) -> (String, String) {
    let rows = output.stdout.lines().map(|line| line.split('\t').collect::<Vec<_>>());
    let row = rows.into_iter().find(|row| row[0] == option).unwrap_or_else(|| panic!("{option}: {output:?}"));
    (row[1].to_owned(), row[2].to_owned())
}

/// Returns the options of `serve` that the help lists, except `settings`.
fn options(dir: &WorkDir) -> Vec<String> {
    let help = dir.run(&["serve", "-h"]).succeeded().stdout;
    let flags = help.lines().filter_map(|line| line.trim_start().strip_prefix("--"));
    let names = flags.map(|line| line.split_whitespace().next().unwrap().trim_end_matches("...").to_owned());
    names.filter(|name| name != "settings").collect()
}

fn forms(dir: &WorkDir) -> Vec<Forms> {
    let forms = |option: String| {
        let value = VALUES.iter().find(|value| value.0 == option);
        let &(_, flag, variable, in_file, shown_from_file) =
            value.unwrap_or_else(|| panic!("--{option} has no values"));
        Forms { option, flag, variable, in_file, shown_from_file }
    };
    options(dir).into_iter().map(forms).collect()
}

#[test]
fn every_option_can_be_set_by_flag_variable_and_file_in_this_order_of_precedence() {
    let dir = WorkDir::new();
    let all = forms(&dir);
    assert!(all.len() >= 23, "{}", all.len());
    for (line, forms) in all.iter().enumerate() {
        // Other lines before the option prove that the origin names the right line.
        dir.write("a.toml", format!("{}{} = {}\n", "# a comment\n".repeat(line), forms.option, forms.in_file));
        let flag = if forms.flag.is_empty() {
            format!("--{}", forms.option)
        } else {
            format!("--{}={}", forms.option, forms.flag)
        };
        let by_flag = if forms.flag.is_empty() { "true" } else { forms.flag };
        let variable = format!("APPLIANCE_{}", forms.option.replace('-', "_").to_uppercase());
        let variables = [(variable.as_str(), forms.variable)];
        let run = |flags: &[&str], variables: &[(&str, &str)]| {
            let output = dir.run_with(&[&["settings"], flags].concat(), variables, b"").succeeded();
            shown(&output, &forms.option)
        };
        let file = ["--settings", "a.toml"];
        let pair = |value: &str, origin: &str| (value.to_owned(), origin.to_owned());
        assert_eq!(run(&[&file[..], &[&flag]].concat(), &variables), pair(by_flag, "flag"));
        assert_eq!(run(&file, &variables), pair(forms.variable, &format!("variable {variable}")));
        assert_eq!(run(&file, &[]), pair(forms.shown_from_file, &format!("a.toml:{}", line + 1)));
        assert_eq!(run(&[], &[]).1, "default", "{}", forms.option);
    }
}

#[test]
fn one_file_can_set_all_options_and_a_variable_can_name_that_file() {
    let dir = WorkDir::new();
    let all = forms(&dir);
    let lines: String = all.iter().map(|forms| format!("{} = {}\n", forms.option, forms.in_file)).collect();
    dir.write("all.toml", lines);
    let output = dir.run_with(&["settings"], &[("APPLIANCE_SETTINGS", "all.toml")], b"").succeeded();
    assert_eq!(output.stdout.lines().count(), all.len());
    assert!(output.stderr.contains("settings file: all.toml"), "{output:?}");
    for (index, forms) in all.iter().enumerate() {
        let expected = (forms.shown_from_file.to_owned(), format!("all.toml:{}", index + 1));
        assert_eq!(shown(&output, &forms.option), expected);
    }
}

#[test]
fn a_service_uses_the_whole_file_and_other_commands_only_its_database_and_base_url() {
    let dir = WorkDir::new();
    let key = dir.admin_key("b.db");
    dir.write("a.toml", "db = 'b.db'\nbase-url = 'https://jobs.example.com'\nlisten = '127.0.0.1:0'\nrate-limit = 7\n");
    let file = ["--settings", "a.toml"];
    let variables = [("APPLIANCE_SETTINGS", "a.toml"), ("APPLIANCE_LISTEN", "127.0.0.1:0")];
    let service = dir.serve_with(&[], &variables);
    let me = service.get("/api/v1/me", &key).expect(200);
    assert_eq!(me.header("ratelimit-policy"), Some("\"default\";q=7;w=60"));
    assert!(service.stop("TERM").succeeded().stderr.contains("settings file: a.toml"));
    let link = dir.run(&[&["sign-in-link", "--email", "root@example.org"][..], &file].concat()).succeeded().stdout;
    assert!(link.starts_with("https://jobs.example.com/join/"), "{link}");
    dir.run(&[&["check"][..], &file].concat()).succeeded();
    dir.run(&[&["check", "--db", "none.db"][..], &file].concat()).failed(1, "none.db does not exist");
    assert!(!dir.path("appliance.db").exists());
    // A command whose options are all given does not need the file.
    dir.run(&["check", "--db", "b.db", "--settings", "missing.toml"]).succeeded();
    dir.run(&["check", "--settings", "missing.toml"]).failed(78, "missing.toml: the settings file does not exist");
}

#[test]
fn a_mistake_in_the_file_is_reported_in_one_sentence_with_its_location() {
    let dir = WorkDir::new();
    for (text, expected) in [
        ("base_url = 'https://a.example'", "a.toml:1:1: there is no option `base_url`; did you mean `base-url`?"),
        ("\n rate-limits = 1", "a.toml:2:2: there is no option `rate-limits`; did you mean `rate-limit`?"),
        ("zebra = 1", "a.toml:1:1: there is no option `zebra`; `appliance settings` lists all options"),
        ("settings = 'b.toml'", "a.toml:1:1: there is no option `settings`"),
        ("[serve]\ndb = 'a.db'", "a.toml:1:2: `serve` is a table; put options at the top of the file"),
        ("db = true", "a.toml:1:6: `db` must be a string in quotes or a number, not true or false"),
        ("db = ''", "a.toml:1:6: `db` cannot be \"\": it must have a value"),
        ("rate-limit = 1.5", "a.toml:1:14: `rate-limit` must be a string in quotes or a number, not a fraction"),
        ("rate-limit = -1", "a.toml:1:14: `rate-limit` cannot be \"-1\": "),
        ("rate-limit = 60000001", "a.toml:1:14: `rate-limit` cannot be \"60000001\": 60000001 is not in 0..=60000000"),
        ("rate-limit = 0x10", "not a hexadecimal, octal or binary number"),
        ("listen = ['8080']", "a.toml:1:10: `listen` must be a string in quotes or a number, not a list"),
        ("demo = 'yes'", "a.toml:1:8: `demo` must be true or false, not a string"),
        ("demo = 1", "a.toml:1:8: `demo` must be true or false, not a number"),
        ("demo = 0b1", "a.toml:1:8: `demo` must be true or false, not a hexadecimal, octal or binary number"),
        ("log-format = 'xml'", "a.toml:1:14: `log-format` cannot be \"xml\": it must be one of text, json"),
        ("# ü\ntrusted-proxy = ['ü', '10.0.0.0/33']", "a.toml:2:18: `trusted-proxy` cannot be \"ü\": a network looks"),
        (
            "trusted-proxy = ['::1', 7.5]",
            "a.toml:1:25: `trusted-proxy` must be a string in quotes, or several in […], not a fraction",
        ),
        ("backup-every = 1979-05-27", "not a date or a time"),
        ("db = 'a.db'\ndb = 'b.db'", "a.toml:2:1: duplicate key"),
        ("db = a.db", "a.toml:1:"),
        ("db 'a.db'", "a.toml:1:"),
        ("tls-cert = 'a.pem'", "a.toml:1:1: --tls-cert needs --tls-key, which is not set"),
        ("\ntls-key = 'a.pem'", "a.toml:2:1: --tls-key needs --tls-cert, which is not set"),
        (
            "redirect-from = 80",
            "a.toml:1:1: --redirect-from needs --tls-cert or --acme-domain, neither of which is set",
        ),
        ("backup-hook = 'copy'", "a.toml:1:1: --backup-hook needs --backup-dir, which is not set"),
    ] {
        dir.write("a.toml", text);
        dir.run(&["serve", "--settings", "a.toml"]).failed(78, expected);
        let checked = dir.run(&["settings", "--check", "--settings", "a.toml"]);
        assert_eq!(checked.code, Some(78), "{text}: {checked:?}");
        assert!(checked.stdout.contains(expected), "{text}: {checked:?}");
    }
    assert_eq!(dir.names(), ["a.toml"]);
}

#[test]
#[cfg(not(feature = "postgres"))]
fn a_build_without_postgresql_refuses_a_postgresql_url() {
    const URL: &str = "postgres://staff:secret@host/jobs";
    let sentence = "postgres://host/jobs is a PostgreSQL server, which this build does not support; choose a file";
    let dir = WorkDir::new();
    dir.write("a.toml", format!("db = '{URL}'\n"));
    let located = format!("a.toml:1:1: {sentence}");
    dir.run(&["serve", "--settings", "a.toml"]).failed(78, &located);
    let checked = dir.run(&["settings", "--check", "--settings", "a.toml"]);
    assert!(checked.code == Some(78) && checked.stdout.contains(&located), "{checked:?}");
    dir.run(&["serve", "--db", URL]).misused(sentence);
    dir.run(&["bootstrap-admin", "--email", "a@example.com", "--db", URL]).misused(sentence);
    assert_eq!(dir.names(), ["a.toml"]);
}

#[test]
fn a_file_that_cannot_be_read_or_that_other_users_can_change_is_refused() {
    let dir = WorkDir::new();
    let serve = ["serve", "--settings", "a.toml"];
    dir.run(&serve).failed(78, "a.toml: the settings file does not exist");
    std::fs::create_dir(dir.path("a.toml")).unwrap();
    dir.run(&serve).failed(78, "a.toml: the settings file cannot be read");
    std::fs::remove_dir(dir.path("a.toml")).unwrap();
    dir.write("a.toml", b"db = '\xff'");
    dir.run(&serve).failed(78, "a.toml: a settings file must be UTF-8 text");
    dir.write("a.toml", "#".repeat(256 * 1_024 + 1));
    dir.run(&serve).failed(78, "a.toml: a settings file must be at most 256 KiB long");
    dir.write("a.toml", "#".repeat(256 * 1_024));
    dir.run(&["settings", "--settings", "a.toml"]).succeeded();
    for (mode, is_refused) in [(0o644, false), (0o664, true), (0o646, true)] {
        std::fs::set_permissions(dir.path("a.toml"), PermissionsExt::from_mode(mode)).unwrap();
        let output = dir.run(&["settings", "--settings", "a.toml"]);
        if is_refused {
            output.failed(78, "correct its permissions with: chmod go-w a.toml");
        } else {
            output.succeeded();
        }
    }
}

#[test]
fn a_check_reports_all_findings_together() {
    let dir = WorkDir::new();
    dir.write("file", "");
    dir.write("a.toml", "db = 'none/a.db'\nbackup-dir = 'file'\nbackup-hook = './none'\nrate-limits = 1\nhr-timeout = '1'\nmetrics-listen = 8080\ntls-cert = 'none.pem'\n");
    let variables = [("APPLIANCE_LOG_FORMAT", "xml"), ("APPLIANCE_DEMO", "perhaps"), ("APPLIANCE_TLS_KEY", "none.pem")];
    let checked = dir.run_with(&["settings", "--check", "--settings", "a.toml"], &variables, b"");
    assert_eq!(checked.code, Some(78), "{checked:?}");
    let lines: Vec<&str> = checked.stdout.lines().collect();
    let expected = [
        "variable APPLIANCE_DEMO: `demo` cannot be \"perhaps\"",
        "variable APPLIANCE_LOG_FORMAT: `log-format` cannot be \"xml\": it must be one of text, json",
        "a.toml:4:1: there is no option `rate-limits`",
        "a.toml:5:14: `hr-timeout` cannot be \"1\"",
        "a.toml:1:1: none/a.db does not exist and cannot be created: the directory none cannot be used",
        "a.toml:7:1: the certificate none.pem does not exist",
        "a.toml:2:1: backups cannot be made: file is not a directory",
        "a.toml:3:1: the backup hook ./none cannot be used",
        "a.toml:6:1: --metrics-listen and --listen are both 127.0.0.1:8080; each needs its own port",
    ];
    assert_eq!(lines.len(), expected.len(), "{checked:?}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.starts_with(expected), "{expected}: {line}");
    }
    assert!(checked.stderr.contains("appliance: the check of the settings has 9 findings"), "{checked:?}");
    // Without `--check`, the error describes only the first mistake.
    let first = dir.run_with(&["settings", "--settings", "a.toml"], &variables, b"");
    first.failed(78, "(and 3 further mistakes; `appliance settings --check` lists them all)");
    assert_eq!(dir.names(), ["a.toml", "file"]);
}

#[test]
fn a_check_of_good_settings_prints_one_line_and_changes_nothing() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    dir.write("hook", "");
    std::fs::set_permissions(dir.path("hook"), PermissionsExt::from_mode(0o755)).unwrap();
    dir.write(
        "a.toml",
        format!("tls-cert = '{CERT}'\ntls-key = '{KEY}'\nbackup-dir = 'copies'\nbackup-hook = './hook'\n"),
    );
    let names = dir.names();
    let check = ["settings", "--check", "--settings", "a.toml"];
    let checked = dir.run(&check).succeeded();
    assert_eq!(checked.stdout, "the service can start with these settings (a.toml)\n");
    assert_eq!((dir.names(), checked.stderr.as_str()), (names, ""));
    // The service really starts with these settings, and the check works while the service runs.
    let service = dir.serve(&check[2..]);
    dir.run(&check).succeeded();
    service.stop("TERM").succeeded();
    std::fs::set_permissions(dir.path("appliance.db"), PermissionsExt::from_mode(0o644)).unwrap();
    let refused = dir.run(&check);
    assert!(refused.code == Some(78) && refused.stdout.contains("chmod"), "{refused:?}");
}

#[test]
fn options_are_aligned_on_a_terminal() {
    let dir = WorkDir::new();
    dir.write("a.toml", "rate-limit = 5\n");
    let output = dir.run_on_terminal(&["settings", "--settings", "a.toml"], "xterm").succeeded();
    let lines: Vec<&str> = output.stdout.lines().map(|line| line.trim_end_matches('\r')).collect();
    let heading = lines.iter().find(|line| line.starts_with("OPTION")).unwrap();
    let at = heading.find("FROM").unwrap();
    let row = lines.iter().find(|line| line.starts_with("rate-limit")).unwrap();
    assert_eq!(&row[at..], "a.toml:1");
    assert!(!output.stdout.contains('\t'), "{output:?}");
}

#[test]
fn a_flag_and_a_file_together_can_satisfy_a_pair_of_options() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    dir.write("a.toml", format!("tls-key = '{KEY}'\n"));
    dir.run(&["settings", "--check", "--settings", "a.toml", "--tls-cert", CERT]).succeeded();
    dir.serve(&["--settings", "a.toml", "--tls-cert", CERT]).stop("TERM").succeeded();
}

#[test]
fn a_postgresql_url_is_shown_without_its_user_and_password() {
    let dir = WorkDir::new();
    dir.write("settings.toml", "db = 'postgres://staff:secret@host/jobs'");
    let by_flag = ["settings", "--db", "postgres://staff:secret@host/jobs?sslmode=disable"];
    for args in [&by_flag[..], &["settings", "--settings", "settings.toml"]] {
        let output = dir.run(args).succeeded();
        assert_eq!(shown(&output, "db").0, "postgres://host/jobs");
        assert!(!output.stdout.contains("secret") && !output.stderr.contains("secret"), "{output:?}");
    }
}
