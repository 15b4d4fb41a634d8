//! `appliance init`: questions on a terminal, flags in a script, and a second run.

use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

use crate::support::{Output, WorkDir, eventually};
use crate::terminal_session::TerminalSession;
use crate::tls_client::{Authority, CERT, KEY};

const FILES: [&str; 5] = ["init", "--settings", "a.toml", "--db", "a.db"];

const FLAGS: [&str; 6] =
    ["--organization-name", "Acme & Söhne", "--email", "rosa@acme.example", "--base-url", "http://127.0.0.1:8080"];

fn init(dir: &WorkDir, flags: &[&str]) -> Output {
    dir.run(&[&FILES[..], &FLAGS, flags].concat())
}

fn settings(dir: &WorkDir) -> String {
    String::from_utf8(dir.read("a.toml")).unwrap()
}

/// Returns the path of the URL that `init` printed after this word.
fn printed<'a>(output: &'a Output, word: &str) -> &'a str {
    let url = output.stdout.lines().find_map(|line| line.strip_prefix(word)).unwrap();
    url.strip_prefix("http://127.0.0.1:8080").unwrap()
}

#[test]
fn flags_alone_lead_to_a_public_portal_and_a_sign_in_link() {
    let dir = WorkDir::new();
    let made = init(&dir, &[]).succeeded();
    assert_eq!(printed(&made, "portal: "), "/careers/acme-s-hne");
    assert!(made.stderr.contains("appliance serve --settings a.toml"), "{made:?}");
    let service = dir.serve(&["--settings", "a.toml"]);
    assert!(service.send("GET", printed(&made, "portal: "), &[], "").expect(200).body.contains("Söhne"));
    let joined = service.send("GET", printed(&made, "sign-in: "), &[], "").expect(200);
    assert!(joined.body.contains("rosa@acme.example"), "{}", joined.body);
    let settings_mode = std::fs::metadata(dir.path("a.toml")).unwrap().permissions().mode() & 0o777;
    assert_eq!(settings_mode, 0o640);
    let checked = dir.run(&["settings", "--check", "--settings", "a.toml"]).succeeded();
    assert!(checked.stdout.starts_with("the service can start"), "{checked:?}");
    service.stop("TERM").succeeded();
    let owner = "SELECT count(*) FROM memberships m JOIN users u ON u.id = m.user_id
                 WHERE m.org_role = 'owner' AND u.platform_role = 'admin' AND u.name = 'rosa'";
    assert_eq!(dir.number("a.db", owner), 1);
    dir.run(&["check", "--settings", "a.toml"]).succeeded();
}

#[test]
fn the_settings_file_has_the_values_of_the_flags() {
    let dir = WorkDir::new();
    let here = dir.path("").canonicalize().unwrap();
    let here = here.to_str().unwrap().trim_end_matches('/');
    let backups = ["--backup-dir", "copies", "--backup-every", "12h", "--backup-keep", "3"];
    let flags = [
        "--base-url",
        "https://jobs.acme.example/",
        "--tls",
        "proxy",
        "--slug",
        "acme",
        "--name",
        "Rosa",
        "--portal",
        "off",
    ];
    let args = [&FILES[..], &FLAGS[..4], &flags, &backups].concat();
    let made = dir.run(&args).succeeded();
    assert!(!made.stdout.contains("portal:") && made.stdout.starts_with("sign-in: https://jobs.acme.example/join/"));
    let text = settings(&dir);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let expected = [
        &format!("db = \"{here}/a.db\""),
        "base-url = \"https://jobs.acme.example\"",
        "listen = \"127.0.0.1:8080\"",
        "trusted-proxy = [\"127.0.0.1/32\", \"::1/128\"]",
        &format!("backup-dir = \"{here}/copies\""),
        "backup-every = \"12h\"",
        "backup-keep = \"3\"",
    ];
    assert_eq!(lines, expected);
    assert_eq!(dir.number("a.db", "SELECT portal_enabled FROM organizations WHERE slug = 'acme'"), 0);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users WHERE name = 'Rosa'"), 1);
    let without = init(&dir, &["--force", "--backup-dir", "none"]).succeeded();
    assert!(without.stderr.contains("/a.db contains the data"), "{without:?}");
    assert!(!settings(&dir).contains("backup"));
}

#[test]
fn a_second_run_changes_nothing_and_reports_that() {
    let dir = WorkDir::new();
    init(&dir, &[]).succeeded();
    let before = (dir.names(), dir.read("a.toml"), dir.read("a.db"));
    for flags in [&FLAGS[..], &[]] {
        let again = dir.run(&[&FILES[..], flags].concat()).succeeded();
        assert!(again.stdout.is_empty() && again.stderr.contains("the service is already set up"), "{again:?}");
        assert!(again.stderr.contains("nothing was changed"), "{again:?}");
    }
    assert_eq!(before, (dir.names(), dir.read("a.toml"), dir.read("a.db")));
}

#[test]
fn a_run_that_was_interrupted_before_the_settings_file_was_written_can_be_repeated() {
    let dir = WorkDir::new();
    init(&dir, &[]).succeeded();
    std::fs::remove_file(dir.path("a.toml")).unwrap();
    let again = init(&dir, &[]).succeeded();
    assert!(again.stderr.contains("slug acme-s-hne existed already; it was not changed"), "{again:?}");
    assert!(again.stdout.contains("sign-in: ") && dir.path("a.toml").exists());
    // The portal of an existing organization stays enabled, despite `--portal off`.
    let off = init(&dir, &["--force", "--portal", "off"]).succeeded();
    assert!(off.stdout.starts_with("portal: "), "{off:?}");
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM organizations"), 1);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM users"), 1);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM memberships"), 1);
}

#[test]
fn without_a_terminal_missing_flags_are_named_and_nothing_is_created() {
    let dir = WorkDir::new();
    let https = ["--base-url", "https://jobs.acme.example"];
    let acme =
        if cfg!(feature = "acme") { "needs a public name" } else { "--tls acme: this program was built without" };
    for (flags, missing) in [
        (&[][..], "required: --organization-name, --email, --base-url\n"),
        (
            &["--organization-name", "東京", "--email", "a@acme.example", https[0], https[1]],
            "required: --slug, --tls\n",
        ),
        (&[&FLAGS[..4], &https, &["--tls", "files", "--tls-key", KEY]].concat(), "required: --tls-cert\n"),
        (&[&FLAGS[..], &["--tls", "files", "--tls-cert", CERT, "--tls-key", KEY]].concat(), "needs an https URL"),
        (&[&FLAGS[..4], &https, &["--tls", "proxy", "--tls-key", KEY]].concat(), "need --tls files"),
        (&[&FLAGS[..4], &https, &["--tls", "acme", "--tls-key", KEY]].concat(), "need --tls files"),
        (&[&FLAGS[..4], &https, &["--tls", "proxy", "--acme-contact", "a@acme.example"]].concat(), "need --tls acme"),
        (&[&FLAGS[..], &["--tls", "acme"]].concat(), "--tls acme needs an https URL"),
        (&[&FLAGS[..4], &["--base-url", "https://localhost", "--tls", "acme"]].concat(), acme),
        (
            &[&FLAGS[..4], &["--base-url", "http://jobs.acme.example"]].concat(),
            "candidates and staff need an https URL",
        ),
        (&[&FLAGS[..], &["--tls", "magic"]].concat(), "magic"),
        (&[&FLAGS[..], &["--backup-every", "1s"]].concat(), "between 1m and 744h"),
        (&[&FLAGS[..], &["--backup-keep", "0"]].concat(), "daily=7,weekly=4,monthly=6"),
    ] {
        dir.run(&[&FILES[..], flags].concat()).misused(missing);
    }
    assert_eq!(dir.names(), Vec::<String>::new());
}

#[test]
fn a_certificate_is_checked_before_anything_is_created() {
    let dir = WorkDir::new();
    let flags = ["--base-url", "https://localhost", "--tls", "files", "--tls-cert", CERT, "--tls-key", KEY];
    let args = [&FILES[..], &FLAGS[..4], &flags].concat();
    dir.run(&args).failed(1, "does not exist");
    assert_eq!(dir.names(), Vec::<String>::new());
    Authority::new().write(&dir);
    dir.run(&args).succeeded();
    let text = settings(&dir);
    for line in
        ["listen = \"0.0.0.0:443\"", "redirect-from = \"0.0.0.0:80\"", &format!("/{CERT}\""), &format!("/{KEY}\"")]
    {
        assert!(text.contains(line), "{line}: {text}");
    }
    dir.run(&["settings", "--check", "--settings", "a.toml"]).succeeded();
}

#[cfg(feature = "acme")]
#[test]
fn the_settings_file_has_the_options_of_a_service_that_orders_its_certificate() {
    let dir = WorkDir::new();
    let flags = ["--base-url", "https://Jobs.acme.example", "--tls", "acme"];
    dir.run(&[&FILES[..], &FLAGS[..4], &flags].concat()).succeeded();
    let text = settings(&dir);
    for line in [
        "listen = \"0.0.0.0:443\"",
        "redirect-from = \"0.0.0.0:80\"",
        "acme-domain = \"jobs.acme.example\"",
        "acme-contact = \"rosa@acme.example\"",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(!text.contains("acme-directory"), "{text}");
    dir.run(&["settings", "--check", "--settings", "a.toml"]).succeeded();
    let more = ["--force", "--acme-contact", "it@acme.example", "--acme-directory", "https://acme.example/directory"];
    dir.run(&[&FILES[..], &FLAGS[..4], &flags, &more, &["--acme-ca-file", "none.pem"]].concat())
        .failed(1, "nothing was changed");
    dir.run(&[&FILES[..], &FLAGS[..4], &flags, &more].concat()).succeeded();
    let text = settings(&dir);
    assert!(
        text.contains("acme-contact = \"it@acme.example\"\nacme-directory = \"https://acme.example/directory\""),
        "{text}"
    );
}

#[test]
fn the_listen_setting_has_the_port_of_the_url() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    let files = ["--tls", "files", "--tls-cert", CERT, "--tls-key", KEY];
    for (url, tls, listen) in [
        ("http://localhost:9000", &[][..], "listen = \"127.0.0.1:9000\""),
        ("http://127.0.0.1", &[], "listen = \"127.0.0.1:80\""),
        ("https://localhost:8443", &files, "listen = \"0.0.0.0:8443\""),
    ] {
        let flags = [&FILES[..], &FLAGS[..4], &["--force", "--base-url", url], tls].concat();
        dir.run(&flags).succeeded();
        let text = settings(&dir);
        assert!(text.contains(listen) && !text.contains("redirect-from"), "{url}: {text}");
    }
}

#[test]
fn other_settings_are_replaced_only_with_force_but_a_sample_without_settings_is_always_replaced() {
    let dir = WorkDir::new();
    dir.write("a.toml", "db = 'other.db'\n");
    init(&dir, &[]).failed(1, "a.toml has settings, but its database other.db is not set up");
    dir.write("a.toml", "wrong = 1\n");
    init(&dir, &[]).failed(78, "a.toml:1:1: there is no option `wrong`");
    assert_eq!(dir.names(), ["a.toml"]);
    init(&dir, &["--force"]).succeeded();
    assert!(settings(&dir).contains("/a.db\""));
    let sample = WorkDir::new();
    sample.write("a.toml", "# db = '/var/lib/appliance/appliance.db'\n");
    init(&sample, &[]).succeeded();
    assert!(settings(&sample).contains("\ndb = "));
}

#[test]
fn a_run_that_cannot_write_its_files_leaves_nothing_behind() {
    let dir = WorkDir::new();
    let with = |settings: &'static str, db: &'static str| {
        dir.run(&[&["init", "--settings", settings, "--db", db], &FLAGS[..]].concat())
    };
    with("none/none/a.toml", "a.db").failed(1, "the settings file none/none/a.toml cannot be written");
    with("a.toml", "none/a.db").failed(1, "none does not exist; create it for the user of the service");
    dir.write("foreign.db", "not a database, but long enough to be one, if only it had the right first bytes");
    with("a.toml", "foreign.db").failed(1, "foreign.db");
    assert_eq!(dir.names(), ["foreign.db"]);
    // The command creates the directory of the settings file.
    with("etc/a.toml", "a.db").succeeded();
    assert!(dir.path("etc/a.toml").exists());
    assert_eq!(std::fs::metadata(dir.path("etc")).unwrap().permissions().mode() & 0o777, 0o755);
}

#[test]
fn the_database_belongs_to_the_owner_of_its_directory() {
    let dir = WorkDir::new();
    std::fs::create_dir(dir.path("data")).unwrap();
    // If this test runs as root, the directory belongs to another user. If not, it belongs to the user of the test.
    let _ = chown(dir.path("data"), Some(1_234), Some(1_234));
    let owner = std::fs::metadata(dir.path("data")).unwrap();
    dir.run(&[&["init", "--settings", "a.toml", "--db", "data/a.db"], &FLAGS[..]].concat()).succeeded();
    for entry in std::fs::read_dir(dir.path("data")).unwrap() {
        let entry = entry.unwrap();
        let metadata = entry.metadata().unwrap();
        assert_eq!((metadata.uid(), metadata.gid()), (owner.uid(), owner.gid()), "{entry:?}");
    }
    assert_eq!(std::fs::metadata(dir.path("a.toml")).unwrap().gid(), owner.gid());
}

#[test]
fn on_a_terminal_an_invalid_answer_is_refused_and_the_question_is_repeated() {
    let dir = WorkDir::new();
    Authority::new().write(&dir);
    let mut terminal = TerminalSession::start(&dir, &FILES);
    for (question, answer) in [
        ("Name of the organization: ", ""),
        ("a name has 1 to", "Acme GmbH"),
        ("Slug, for the portal's address [acme-gmbh]: ", "no slug"),
        ("a slug has 1 to 64 characters", ""),
        ("Public career portal, on or off [on]: ", "maybe"),
        ("possible answers: on, off", ""),
        ("Email address of the admin: ", "rosa"),
        ("an email address looks like", "rosa@acme.example"),
        ("Name of the admin [rosa]: ", "Rosa"),
        ("Public URL, such as https://jobs.example.com: ", "jobs"),
        ("a base URL looks like", "https://localhost"),
        ("[proxy]: ", "files"),
        ("File of the certificate: ", "none.pem"),
        ("there is no file", KEY),
        ("File of its key: ", KEY),
        ("has no certificate", CERT),
        ("File of its key: ", KEY),
        ("Directory for backups, or none [", ""),
        ("Time between two backups [24h]: ", "1s"),
        ("between 1m and 744h", "6h"),
        ("Backups to keep [daily=7,weekly=4,monthly=6]: ", ""),
    ] {
        terminal.wait_for(question);
        terminal.enter(answer);
    }
    let output = terminal.finish().succeeded();
    assert!(output.stdout.contains("portal: https://localhost/careers/acme-gmbh"), "{output:?}");
    assert!(output.stdout.contains("sign-in: https://localhost/join/"), "{output:?}");
    let text = settings(&dir);
    for line in ["backup-every = \"6h\"", "backup-keep = \"daily=7,weekly=4,monthly=6\"", "/backups\"", "0.0.0.0:443"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_flag_answers_its_question() {
    let dir = WorkDir::new();
    let flags = ["--slug", "acme", "--portal", "on", "--name", "Rosa", "--backup-dir", "none"];
    let mut terminal = TerminalSession::start(&dir, &[&FILES[..], &FLAGS[2..], &flags].concat());
    terminal.wait_for("Name of the organization: ");
    terminal.enter("Acme");
    terminal.finish().succeeded();
}

#[test]
fn the_end_of_input_and_ctrl_c_leave_nothing_behind() {
    let dir = WorkDir::new();
    let mut ended = TerminalSession::start(&dir, &FILES);
    ended.wait_for("Name of the organization: ");
    ended.enter("Acme");
    ended.wait_for("[acme]: ");
    ended.press("\u{4}");
    let output = ended.finish();
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stdout.contains("the input ended before the last question was answered; nothing was changed"));
    let mut interrupted = TerminalSession::start(&dir, &FILES);
    interrupted.wait_for("Name of the organization: ");
    interrupted.press("\u{3}");
    assert_ne!(interrupted.finish().code, Some(0));
    eventually(|| dir.names().is_empty());
}
