//! Flags and environment variables.

use std::collections::BTreeMap;

use serde_json::json;

use crate::support::{HR_SECRET, WorkDir};

/// The options of `serve`.
const SERVE_OPTIONS: &[&str] = &[
    "db",
    "settings",
    "listen",
    "base-url",
    "tls-cert",
    "tls-key",
    "acme-domain",
    "acme-contact",
    "acme-directory",
    "acme-ca-file",
    "redirect-from",
    "demo",
    "rate-limit",
    "signup-limit",
    "min-free",
    "attachments-max",
    "backup-dir",
    "backup-every",
    "backup-keep",
    "backup-hook",
    "trusted-proxy",
    "security-contact",
    "metrics-listen",
    "hr-retry-schedule",
    "hr-timeout",
    "allow-private-hr-targets",
    "usage-retention-days",
    "log-format",
];

/// The options of `settings`: those of `serve`, and one more.
const SETTINGS_OPTIONS: [&str; SERVE_OPTIONS.len() + 1] = {
    let mut all = ["check"; SERVE_OPTIONS.len() + 1];
    let mut index = 0;
    while index < SERVE_OPTIONS.len() {
        all[index] = SERVE_OPTIONS[index];
        index += 1;
    }
    all
};

/// Every command with its options. The name of each option determines its variable.
const COMMANDS: [(&str, &[&str]); 29] = [
    (
        "init",
        &[
            "db",
            "settings",
            "organization-name",
            "slug",
            "portal",
            "email",
            "name",
            "base-url",
            "tls",
            "tls-cert",
            "tls-key",
            "acme-contact",
            "acme-directory",
            "acme-ca-file",
            "backup-dir",
            "backup-every",
            "backup-keep",
            "force",
        ],
    ),
    ("serve", SERVE_OPTIONS),
    ("bootstrap-admin", &["db", "settings", "email", "name", "expires-in-days", "base-url"]),
    ("sign-in-link", &["db", "settings", "email", "reset-factors", "base-url"]),
    ("set-password", &["db", "settings", "email"]),
    ("import", &["db", "settings", "format", "organization", "role", "partial"]),
    ("export", &["db", "settings", "with-secrets"]),
    ("backup", &["db", "settings"]),
    ("restore", &["db", "settings", "revoke-keys", "dry-run"]),
    ("copy", &["from", "to"]),
    ("check", &["db", "settings", "chain-head"]),
    ("upgrade", &["db", "settings", "check"]),
    (
        "doctor",
        &[
            "db",
            "settings",
            "listen",
            "base-url",
            "tls-cert",
            "tls-key",
            "acme-domain",
            "acme-contact",
            "acme-directory",
            "acme-ca-file",
            "trusted-proxy",
            "min-free",
            "backup-dir",
            "backup-every",
            "backup-keep",
            "backup-hook",
        ],
    ),
    ("activity", &["db", "settings", "json", "limit"]),
    ("hr-deliveries", &["db", "settings", "json"]),
    ("user list", &["db", "settings", "json"]),
    ("user create", &["db", "settings", "email", "name", "platform-role"]),
    ("user disable", &["db", "settings"]),
    ("user enable", &["db", "settings"]),
    ("organization list", &["db", "settings", "json"]),
    ("organization create", &["db", "settings", "slug", "name", "time-zone"]),
    ("organization disable", &["db", "settings"]),
    ("organization enable", &["db", "settings"]),
    ("key list", &["db", "settings", "json"]),
    ("key create", &["db", "settings", "email", "name", "expires-in-days", "scope"]),
    ("key revoke", &["db", "settings"]),
    ("completions", &[]),
    ("man", &[]),
    ("settings", &SETTINGS_OPTIONS),
];

fn variable(option: &str) -> String {
    format!("APPLIANCE_{}", option.replace('-', "_").to_uppercase())
}

#[test]
fn help_lists_the_commands() {
    let dir = WorkDir::new();
    for args in [["--help"], ["-h"], ["help"]] {
        let help = dir.run(&args).succeeded();
        assert_eq!(help.stderr, "", "{args:?}");
        for (command, _) in COMMANDS {
            let command = command.split(' ').next().unwrap();
            let is_listed = help.stdout.lines().any(|line| line.trim_start().starts_with(&format!("{command}  ")));
            assert!(is_listed, "{command} is not in {}", help.stdout);
        }
    }
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn help_of_a_command_names_every_option_and_its_variable() {
    let dir = WorkDir::new();
    for (command, options) in COMMANDS {
        let words: Vec<&str> = command.split(' ').collect();
        for args in
            [[&words[..], &["--help"]].concat(), [&words[..], &["-h"]].concat(), [&["help"], &words[..]].concat()]
        {
            let help = dir.run(&args).succeeded();
            assert_eq!(help.stderr, "", "{args:?}");
            for option in options {
                let flag = format!("--{option}");
                let named = help.stdout.split_whitespace().any(|word| word == flag);
                assert!(named, "{flag} is not in the help of {command}");
                let variable = format!("[env: {}=]", variable(option));
                assert!(help.stdout.contains(&variable), "{variable} is not in the help of {command}: {}", help.stdout);
            }
            // Conversely, the help names no other options or variables.
            assert_eq!(help.stdout.matches("[env: ").count(), options.len(), "{command}: {}", help.stdout);
            let is_option = |line: &str| line.trim_start().starts_with("--") || line.trim_start().starts_with("-h,");
            let listed = help.stdout.lines().filter(|line| is_option(line) && !line.contains("--version")).count();
            assert_eq!(listed, options.len() + 1, "{command}: {}", help.stdout);
        }
    }
}

#[test]
fn help_names_postgresql_only_in_a_build_that_supports_it() {
    let dir = WorkDir::new();
    for command in ["serve", "import", "export", "check", "key list"] {
        let help = dir.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["--help"]].concat()).succeeded().stdout;
        assert_eq!(help.contains("PostgreSQL server"), cfg!(feature = "postgres"), "{command}: {help}");
    }
    let help = dir.run(&["copy", "--help"]).succeeded().stdout;
    assert_eq!(help.contains("refuses this command"), !cfg!(feature = "postgres"), "{help}");
}

#[test]
fn a_flag_has_the_same_kind_of_value_in_every_command() {
    let dir = WorkDir::new();
    let mut values = BTreeMap::new();
    for (command, _) in COMMANDS {
        let help = dir.run(&[&command.split(' ').collect::<Vec<_>>()[..], &["-h"]].concat()).succeeded().stdout;
        for line in help.lines().filter_map(|line| line.trim_start().strip_prefix("--")) {
            let mut words = line.split_whitespace();
            let (flag, value) = (words.next().unwrap().to_owned(), words.next().filter(|word| word.starts_with('<')));
            let value = value.map(|value| value.trim_end_matches('.').to_owned());
            assert_eq!(values.entry(flag.clone()).or_insert_with(|| value.clone()), &value, "--{flag} of {command}");
        }
    }
    // The only flag that names a user is `--email`.
    let of_users: Vec<&String> =
        values.iter().filter(|(_, v)| v.as_deref() == Some("<EMAIL>")).map(|(f, _)| f).collect();
    assert_eq!(of_users, ["email"]);
}

#[test]
fn help_shows_defaults() {
    let dir = WorkDir::new();
    let help = |command: &str| {
        let words = command.split(' ').chain(["--help"]).collect::<Vec<_>>();
        dir.run(&words).succeeded().stdout
    };
    for word in ["appliance.db", "demo.db", "127.0.0.1:8080", "1200", "text", "json", "listening on http://", "78"] {
        assert!(help("serve").contains(word), "{word}");
    }
    assert!(help("serve").contains("[default: 5s,5m,30m,2h,5h,10h,14h,20h,24h]"));
    assert!(help("serve").contains("[default: 15s]"));
    assert!(help("bootstrap-admin").contains("[default: 90]"));
    assert!(help("set-password").contains("12 characters"));
    assert!(help("import").contains("JSON Pointer") && help("import").contains("20,000"));
    for word in [
        "[default: document]",
        "externalPositionId",
        "--format csv --organization acme",
        "semicolon",
        "job_stages.json",
    ] {
        assert!(help("import").contains(word), "{word}");
    }
    for (command, _) in COMMANDS.iter().filter(|(_, options)| options.contains(&"db") && !options.contains(&"tls-cert"))
    {
        assert!(help(command).contains("[default: appliance.db]"), "{command}");
    }
}

#[test]
fn help_of_a_command_group_lists_its_commands() {
    let dir = WorkDir::new();
    for (command, commands) in [
        ("user", &["list", "create", "disable", "enable"][..]),
        ("organization", &["list", "create", "disable", "enable"]),
        ("key", &["list", "create", "revoke"]),
    ] {
        let help = dir.run(&[command, "--help"]).succeeded().stdout;
        for one in commands {
            assert!(help.lines().any(|line| line.trim_start().starts_with(&format!("{one}  "))), "{one}: {help}");
        }
        assert_eq!(dir.run(&[command]).code, Some(2));
        dir.run(&[command, "nothing"]).misused("nothing");
    }
}

#[test]
fn the_version_is_printed() {
    let dir = WorkDir::new();
    let expected = format!("{}\n", env!("CARGO_PKG_VERSION"));
    for args in [&["--version"][..], &["-V"], &["serve", "--version"]] {
        let version = dir.run(args).succeeded();
        assert!(version.stdout.starts_with("appliance") && version.stdout.ends_with(&expected), "{version:?}");
    }
}

#[test]
fn invalid_flags_cause_exit_status_2_and_change_nothing() {
    let dir = WorkDir::new();
    let long_name = "a".repeat(256);
    let admin = ["bootstrap-admin", "--email", "a@example.org"];
    for (args, text) in [
        (&[][..], "Usage: appliance"),
        (&["nothing"], "nothing"),
        (&["--db", "a.db"], "--db"),
        (&["serve", "--nothing"], "--nothing"),
        (&["serve", "more"], "more"),
        (&["serve", "--listen", "nowhere"], "--listen"),
        (&["serve", "--listen", "127.0.0.1"], "--listen"),
        (&["serve", "--listen", "127.0.0.1:65536"], "--listen"),
        (&["serve", "--listen", "256.0.0.1:80"], "--listen"),
        (&["serve", "--listen"], "--listen"),
        (&["serve", "--listen", "jobs.example.com:80"], "host names are not looked up"),
        (&["serve", "--metrics-listen", "9x"], "--metrics-listen"),
        (&["serve", "--trusted-proxy", "10.0.0.0/33"], "--trusted-proxy"),
        (&["serve", "--trusted-proxy", "10.0.0.0/8,proxy"], "--trusted-proxy"),
        (&["serve", "--security-contact", "security"], "--security-contact"),
        (&["serve", "--security-contact", "http://example.com"], "--security-contact"),
        (&["serve", "--security-contact", "a@example.com,"], "--security-contact"),
        (&["serve", "--base-url", "jobs.example.com"], "--base-url"),
        (&["serve", "--base-url", "ftp://jobs.example.com"], "--base-url"),
        (&["serve", "--base-url", "https://a:b@jobs.example.com"], "--base-url"),
        (&["serve", "--base-url", "https://jobs.example.com/?a"], "--base-url"),
        (&["serve", "--base-url", "https://jobs.example.com/#a"], "--base-url"),
        (&["serve", "--base-url", "https://example.com/jobs"], "a host name of its own"),
        (&["serve", "--base-url", "https://example.com/jobs/"], "a host name of its own"),
        (&["serve", "--base-url", ""], "--base-url"),
        (&["serve", "--rate-limit", "many"], "--rate-limit"),
        (&["serve", "--rate-limit", "-1"], "-1"),
        (&["serve", "--rate-limit", "1.5"], "--rate-limit"),
        (&["serve", "--log-format", "xml"], "--log-format"),
        (&["serve", "--allow-private-hr-targets", "yes"], "yes"),
        (&["bootstrap-admin"], "--email"),
        (&["bootstrap-admin", "--email", "nobody"], "--email"),
        (&[&admin[..], &["--expires-in-days", "0"]].concat(), "--expires-in-days"),
        (&[&admin[..], &["--expires-in-days", "366"]].concat(), "--expires-in-days"),
        (&[&admin[..], &["--expires-in-days", "90.0"]].concat(), "--expires-in-days"),
        (&[&admin[..], &["--name", " "]].concat(), "--name"),
        (&[&admin[..], &["--name", &long_name]].concat(), "--name"),
        (&["set-password"], "--email"),
        (&["set-password", "--email", "a b@c"], "--email"),
        (&["import"], "DOCUMENT"),
        (&["import", "a.json", "b.json"], "b.json"),
        (&["import", "--format", "xml", "a.xml"], "xml"),
        (&["import", "--organization", "acme", "a.json"], "--organization does not apply to a document"),
        (&["import", "--role", "role_1", "a.json"], "--role does not apply to a document"),
        (&["import", "--partial", "a.json"], "--partial does not apply to a document"),
        (&["import", "--format", "csv", "a.csv"], "--organization is required"),
        (&["import", "--format", "csv", "--organization", "acme", "a.csv", "b.csv"], "b.csv"),
        (&["import", "--format", "csv", "--organization", "a b", "a.csv"], "--organization"),
        (&["import", "--format", "greenhouse", "harvest"], "--organization is required"),
        (&["import", "--format", "greenhouse", "--organization", "a", "--role", "r", "h"], "--role does not apply to"),
        (&["import", "--format", "csv", "--organization", "acme", "--role", "a b", "a.csv"], "--role"),
        (&["export", "a.json"], "a.json"),
        (&["backup"], "TARGET"),
        (&["check", "--db"], "--db"),
    ] {
        let output = dir.run(args).misused(text);
        assert!(output.stderr.contains("Usage: appliance") || output.stderr.contains("--help"), "{args:?}: {output:?}");
    }
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn an_invalid_schedule_or_time_limit_for_deliveries_is_refused_with_a_valid_example() {
    let dir = WorkDir::new();
    let too_many = ["1s"; 31].join(",");
    let (delay, limit) =
        ("is not a delay between 1ms and 168h", "a time limit must be between 100ms and 2m; for example, 15s");
    for (flag, value, sentence) in [
        ("--hr-retry-schedule", "", delay),
        ("--hr-retry-schedule", "5", "`5` is not a delay"),
        ("--hr-retry-schedule", "5s,", delay),
        ("--hr-retry-schedule", "5s,soon", "`soon` is not a delay"),
        ("--hr-retry-schedule", "-5s", delay),
        ("--hr-retry-schedule", "999us", delay),
        ("--hr-retry-schedule", "168h1s", "a schedule looks like 5s,5m,30m,2h,5h,10h,14h,20h,24h"),
        ("--hr-retry-schedule", &too_many, "a schedule has at most 30 delays; this one has 31"),
        ("--hr-timeout", "", limit),
        ("--hr-timeout", "15", limit),
        ("--hr-timeout", "soon", limit),
        ("--hr-timeout", "-15s", limit),
        ("--hr-timeout", "99ms", limit),
        ("--hr-timeout", "2m1s", limit),
    ] {
        let output = dir.run(&["serve", &format!("{flag}={value}")]).misused(sentence);
        assert!(output.stderr.contains(flag), "{value}: {output:?}");
    }
    assert_eq!(dir.names(), Vec::<String>::new());
    let longest = ["1ms"; 30].join(",");
    for (schedule, limit) in [("1ms,168h", "100ms"), (longest.as_str(), "2m"), (" 5s, 1h30m", "15s")] {
        dir.serve(&["--hr-retry-schedule", schedule, "--hr-timeout", limit]).stop("TERM").succeeded();
    }
}

#[test]
fn invalid_variables_cause_exit_status_2() {
    let dir = WorkDir::new();
    for (name, value) in [
        ("APPLIANCE_LISTEN", "nowhere"),
        ("APPLIANCE_BASE_URL", "jobs"),
        ("APPLIANCE_RATE_LIMIT", "many"),
        ("APPLIANCE_TRUSTED_PROXY", "10.0.0.0/33"),
        ("APPLIANCE_METRICS_LISTEN", "nowhere"),
        ("APPLIANCE_LOG_FORMAT", "xml"),
        ("APPLIANCE_DEMO", "perhaps"),
        ("APPLIANCE_HR_RETRY_SCHEDULE", "5s,soon"),
        ("APPLIANCE_HR_TIMEOUT", "99ms"),
        ("APPLIANCE_ALLOW_PRIVATE_HR_TARGETS", "perhaps"),
    ] {
        dir.run_with(&["serve"], &[(name, value)], b"").misused(value);
    }
    let email = ("APPLIANCE_EMAIL", "a@example.org");
    for (name, value) in [("APPLIANCE_FORMAT", "xml"), ("APPLIANCE_PARTIAL", "perhaps"), ("APPLIANCE_ROLE", "a b")] {
        dir.run_with(&["import", "a.csv"], &[(name, value)], b"").misused(value);
    }
    for (name, value) in [("APPLIANCE_EXPIRES_IN_DAYS", "366"), ("APPLIANCE_NAME", "")] {
        dir.run_with(&["bootstrap-admin"], &[email, (name, value)], b"").misused("--");
    }
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn a_command_reads_its_options_from_variables() {
    let dir = WorkDir::new();
    let variables = [
        ("APPLIANCE_DB", "b.db"),
        ("APPLIANCE_EMAIL", "ada@example.org"),
        ("APPLIANCE_NAME", "Ada"),
        ("APPLIANCE_EXPIRES_IN_DAYS", "7"),
    ];
    let made = dir.run_with(&["bootstrap-admin"], &variables, b"").succeeded();
    assert!(made.stderr.contains("ada@example.org") && made.stderr.contains("7 days"), "{made:?}");
    assert_eq!(dir.number("b.db", "SELECT count(*) FROM users WHERE name = 'Ada'"), 1);
    assert!(!dir.path("appliance.db").exists());
    dir.run_with(&["set-password"], &variables, b"correct horse battery").succeeded();
    dir.run_with(&["check"], &variables, b"").succeeded();
    dir.run_with(&["backup", "c.db"], &variables, b"").succeeded();
    let secret = json!({ "url": "https://hr.example", "secret": HR_SECRET, "enabled": true });
    let organization = json!({ "slug": "acme", "name": "Acme", "hrIntegration": secret });
    let document = json!({ "organizations": [organization] }).to_string();
    dir.run_with(&["import", "-"], &variables, document.as_bytes()).succeeded();
    let table = [("APPLIANCE_FORMAT", "csv"), ("APPLIANCE_ORGANIZATION", "acme"), ("APPLIANCE_PARTIAL", "true")];
    let table = [&variables[..1], &table].concat();
    let output = dir.run_with(&["import", "-"], &table, b"name,email,role\nA,a@example.org,None\n");
    assert!(output.code == Some(1) && output.stdout.starts_with("line 2: role is "), "{output:?}");
    assert!(output.stderr.contains("1 of 1 row was refused; nothing was imported"), "{output:?}");
    for (value, is_set) in [("true", true), ("1", true), ("yes", true), ("false", false), ("0", false)] {
        let variables = [variables[0], ("APPLIANCE_WITH_SECRETS", value)];
        let exported = dir.run_with(&["export"], &variables, b"").succeeded().stdout;
        assert_eq!(exported.contains(HR_SECRET), is_set, "{value}");
    }
}

#[test]
fn a_flag_overrides_its_variable() {
    let dir = WorkDir::new();
    dir.admin_key("a.db");
    let variables = [("APPLIANCE_DB", "none.db")];
    dir.run_with(&["check"], &variables, b"").failed(1, "none.db does not exist");
    dir.run_with(&["check", "--db", "a.db"], &variables, b"").succeeded();
}

#[test]
fn a_service_reads_its_options_from_variables() {
    let dir = WorkDir::new();
    dir.imported("b.db");
    let key = dir.admin_key("b.db");
    let service = dir.serve_with(
        &[],
        &[
            ("APPLIANCE_DB", "b.db"),
            ("APPLIANCE_LISTEN", "127.0.0.1:0"),
            ("APPLIANCE_BASE_URL", "https://jobs.example.com/"),
            ("APPLIANCE_RATE_LIMIT", "7"),
            ("APPLIANCE_TRUSTED_PROXY", "10.0.0.0/8,127.0.0.1"),
            ("APPLIANCE_LOG_FORMAT", "json"),
            ("APPLIANCE_METRICS_LISTEN", "127.0.0.1:0"),
            ("APPLIANCE_DEMO", "false"),
        ],
    );
    let authorization = format!("Bearer {key}");
    let headers = [("Authorization", authorization.as_str()), ("X-Forwarded-For", "198.51.100.7, 10.0.0.9")];
    let me = service.send("GET", "/api/v1/me", &headers, "").expect(200);
    assert_eq!(me.header("ratelimit-policy"), Some("\"default\";q=7;w=60"));
    let apply = service.send("POST", "/api/public/portal/acme/apply", &[], r#"{"roleId":"role_1"}"#).expect(200);
    let invite = apply.json()["inviteUrl"].as_str().unwrap().to_owned();
    assert!(invite.starts_with("https://jobs.example.com/signup/"), "{invite}");
    let id = service.get("/api/admin/api-keys", &key).json()["data"][0]["id"].as_str().unwrap().to_owned();
    let usage = service.get(&format!("/api/admin/api-keys/{id}/usage"), &key).expect(200).json();
    assert_eq!(usage["data"]["rows"][1]["path"], "/api/v1/me");
    assert_eq!(usage["data"]["rows"][1]["ip"], "198.51.100.7");
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.contains("metrics on http://127.0.0.1:"), "{output:?}");
    assert!(output.stderr.contains(r#""route":"/api/v1/me""#), "{output:?}");
}
