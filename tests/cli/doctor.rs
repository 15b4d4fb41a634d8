//! `doctor` finds problems while the service runs and while it is stopped, and changes nothing.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, chown};

use rcgen::date_time_ymd;

use crate::support::{Output, RunningService, WorkDir};
use crate::tls_client::{Authority, TLS, write_pair};

/// Returns a directory with a database file, and with a `timedatectl` that reports a synchronized clock.
fn healthy() -> WorkDir {
    let dir = WorkDir::new();
    dir.imported("a.db");
    std::fs::set_permissions(dir.path("."), std::fs::Permissions::from_mode(0o700)).unwrap();
    report_synchronized(&dir, "yes");
    // The backup directory is on the same disk. A hook stands in for the copy on another disk.
    std::fs::create_dir(dir.path("copies")).unwrap();
    dir
}

fn report_synchronized(dir: &WorkDir, answer: &str) {
    let _ = std::fs::create_dir(dir.path("bin"));
    dir.write("bin/timedatectl", format!("#!/bin/sh\necho {answer}\n"));
    std::fs::set_permissions(dir.path("bin/timedatectl"), std::fs::Permissions::from_mode(0o755)).unwrap();
}

const BACKUPS: [&str; 4] = ["--backup-dir", "copies", "--backup-hook", "/bin/true"];

fn doctor(dir: &WorkDir, args: &[&str]) -> Output {
    let path = format!("{}:/usr/bin:/bin", dir.path("bin").display());
    let authority = dir.path("authority.pem").display().to_string();
    let variables = [("PATH", path.as_str()), ("SSL_CERT_FILE", authority.as_str())];
    let min_free: &[&str] = if args.contains(&"--min-free") { &[] } else { &["--min-free", "0"] };
    dir.run_with(&[&["doctor", "--db", "a.db"], min_free, args].concat(), &variables, b"")
}

/// Checks that `doctor` found exactly this problem.
#[track_caller]
fn finds(output: &Output, urgency: &str, area: &str, sentence: &str, command: &str) {
    assert_eq!(output.code, Some(1), "{output:?}");
    let rows: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!(rows.len(), 1, "{output:?}");
    assert_eq!((rows[0].len(), rows[0][0], rows[0][1]), (4, urgency, area), "{output:?}");
    assert!(rows[0][2].contains(sentence) && rows[0][3].starts_with(command), "{sentence}, {command}: {output:?}");
    assert!(output.stderr.contains("appliance: 1 problem found; "), "{output:?}");
}

#[track_caller]
fn finds_nothing(output: Output, state: &str) {
    let output = output.succeeded();
    assert_eq!(output.stdout, "", "{output:?}");
    assert!(output.stderr.ends_with(&format!("no problem was found; {state}\n")), "{output:?}");
}

/// Starts a service that makes backups, and waits for the first one.
fn serve_with_backup(dir: &WorkDir, args: &[&str]) -> RunningService {
    let mut service = dir.serve(&[&["--db", "a.db"], &BACKUPS[..], args].concat());
    service.wait_for(|line| line.contains("/bin/true succeeded for "));
    service
}

/// Returns the names, sizes and modification times of all files.
fn state(dir: &WorkDir) -> BTreeMap<String, (u64, std::time::SystemTime)> {
    let of = |name: &String| {
        let found = std::fs::metadata(dir.path(name)).unwrap();
        (found.len(), found.modified().unwrap())
    };
    dir.names().into_iter().map(|name| (name.clone(), of(&name))).collect()
}

#[test]
fn doctor_finds_no_problem_in_a_sound_installation_and_changes_nothing() {
    let dir = healthy();
    let service = serve_with_backup(&dir, &[]);
    let base_url = service.url();
    let args = [&BACKUPS[..], &["--base-url", &base_url]].concat();
    finds_nothing(doctor(&dir, &args), "a service or a command uses the file");
    service.stop("TERM").succeeded();
    let before = state(&dir);
    let stopped = doctor(&dir, &args);
    assert!(stopped.stderr.contains("not examined: the base URL, because no service uses the file"), "{stopped:?}");
    finds_nothing(stopped, "no service uses the file");
    assert_eq!(state(&dir), before);
}

#[test]
fn the_write_ahead_log_of_a_killed_service_is_not_changed() {
    let dir = healthy();
    let service = serve_with_backup(&dir, &[]);
    service.send("GET", "/readyz", &[], "").expect(200);
    service.stop("KILL");
    let before = (dir.read("a.db"), dir.read("a.db-wal"));
    assert!(!before.1.is_empty());
    finds_nothing(doctor(&dir, &BACKUPS), "no service uses the file");
    assert!(before == (dir.read("a.db"), dir.read("a.db-wal")));
}

#[test]
fn wrong_permissions_are_found_with_the_command_that_corrects_them() {
    let dir = healthy();
    serve_with_backup(&dir, &[]).stop("TERM").succeeded();
    let set = |name: &str, mode| std::fs::set_permissions(dir.path(name), PermissionsExt::from_mode(mode)).unwrap();
    for (name, wrong, right, sentence, command) in [
        ("a.db", 0o640, 0o600, "is open to other users of this machine (mode 0640)", "chmod 600 "),
        ("a.db.lock", 0o604, 0o600, "a.db.lock is open to other users", "chmod 600 "),
        (".", 0o770, 0o700, "other users can replace the file", "chmod go-w "),
    ] {
        set(name, wrong);
        finds(&doctor(&dir, &BACKUPS), "now", "permissions", sentence, command);
        set(name, right);
    }
    finds_nothing(doctor(&dir, &BACKUPS), "no service uses the file");
    // Only root can give files away.
    if chown(dir.path("a.db.lock"), Some(1), None).is_ok() {
        finds(&doctor(&dir, &BACKUPS), "now", "permissions", "a.db.lock does not belong to the owner", "chown ");
    }
}

#[test]
fn a_missing_or_newer_file_is_found() {
    let dir = healthy();
    serve_with_backup(&dir, &[]).stop("TERM").succeeded();
    dir.change("a.db", "PRAGMA user_version = 99;");
    finds(&doctor(&dir, &BACKUPS), "now", "file", "has version 99", "appliance check --db ");
    std::fs::remove_file(dir.path("a.db")).unwrap();
    finds(&doctor(&dir, &BACKUPS), "now", "file", "does not exist", "ls -l ");
}

#[test]
fn a_clock_that_is_behind_or_not_synchronized_is_found() {
    let dir = healthy();
    serve_with_backup(&dir, &[]).stop("TERM").succeeded();
    report_synchronized(&dir, "no");
    let found = doctor(&dir, &BACKUPS);
    finds(&found, "soon", "clock", "does not synchronize its clock", "timedatectl set-ntp true");
    report_synchronized(&dir, "nonsense");
    let skipped = doctor(&dir, &BACKUPS).succeeded();
    assert!(skipped.stderr.contains("not examined: time synchronization"), "{skipped:?}");
    report_synchronized(&dir, "yes");
    dir.change("a.db", "UPDATE believed_clock SET believed_at = believed_at + 59 * 1000000;");
    finds_nothing(doctor(&dir, &BACKUPS), "no service uses the file");
    dir.change("a.db", "UPDATE believed_clock SET believed_at = believed_at + 3600 * 1000000;");
    finds(&doctor(&dir, &BACKUPS), "now", "clock", "but the file has times up to ", "timedatectl");
}

#[test]
fn a_full_disk_and_old_copies_are_found() {
    let dir = healthy();
    serve_with_backup(&dir, &[]).stop("TERM").succeeded();
    let full = doctor(&dir, &[&BACKUPS[..], &["--min-free", "1000T"]].concat());
    let rows: Vec<&str> = full.stdout.lines().collect();
    assert!(rows[0].contains("so the service refuses uploads, and makes no backups on this disk\tdu -xh"), "{full:?}");
    assert!(rows[1].contains("has no room for a backup"), "{full:?}");
    dir.write("a.db.before-restore-2026-11-20T010203Z", "old");
    finds(&doctor(&dir, &BACKUPS), "soon", "disk", "is an old copy with personal data (0.0 MB)", "rm ");
}

#[test]
fn backups_that_are_missing_old_unsound_or_on_the_same_disk_are_found() {
    let dir = healthy();
    finds(&doctor(&dir, &[]), "soon", "backups", "the service makes no backups", "appliance backup --db ");
    finds(&doctor(&dir, &BACKUPS), "soon", "backups", "there is no checked backup", "systemctl start appliance");
    let missing = doctor(&dir, &["--backup-dir", "missing"]);
    finds(&missing, "now", "backups", "missing cannot be read", "install -d -m 0700 ");
    serve_with_backup(&dir, &[]).stop("TERM").succeeded();
    let same = doctor(&dir, &["--backup-dir", "copies"]);
    finds(&same, "soon", "backups", "is on the disk of the file", "df ");
    dir.write("copies/a-unsound.db", "damaged");
    finds(&doctor(&dir, &BACKUPS), "now", "backups", "failed its check", "appliance check --db ");
    std::fs::remove_file(dir.path("copies/a-unsound.db")).unwrap();
    // The new name dates the backup to January 2026.
    let names: Vec<String> = std::fs::read_dir(dir.path("copies"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    for name in names {
        let (_, suffix) = name.split_once("Z.db").unwrap();
        let old = dir.path(&format!("copies/a-2026-01-02T030405Z.db{suffix}"));
        std::fs::rename(dir.path(&format!("copies/{name}")), old).unwrap();
    }
    finds(&doctor(&dir, &BACKUPS), "now", "backups", "hours old", "journalctl ");
}

#[test]
fn a_base_url_that_leads_elsewhere_is_found() {
    let dir = healthy();
    let service = serve_with_backup(&dir, &[]);
    let at = |url: &str| doctor(&dir, &[&BACKUPS[..], &["--base-url", url]].concat());
    let other = WorkDir::new();
    other.imported("b.db");
    let elsewhere = other.serve(&["--db", "b.db"]);
    let found = at(&elsewhere.url());
    finds(&found, "now", "proxy", "the answer does not come from the service of this file", "curl -i ");
    // Services of other tests listen on 127.0.0.1, where one of them may get the closed port.
    let closed = elsewhere.url().replace("127.0.0.1", "127.0.0.2");
    elsewhere.stop("TERM").succeeded();
    finds(&at(&closed), "now", "proxy", "does not answer: ", "curl -v ");
    finds(&at("http://nobody.invalid"), "now", "proxy", "has no address: ", "getent hosts nobody.invalid");
    let url = service.url();
    let everybody = [&BACKUPS[..], &["--base-url", &url, "--trusted-proxy", "0.0.0.0/0"]].concat();
    finds(&doctor(&dir, &everybody), "now", "proxy", "--trusted-proxy 0.0.0.0/0 trusts everybody", "ss ");
    finds_nothing(at(&url), "a service or a command uses the file");
    service.stop("TERM").succeeded();
    let untrusted = at("https://jobs.example.com");
    finds(&untrusted, "now", "proxy", "no proxy is trusted", "ss ");
}

#[test]
fn the_warnings_of_the_service_are_shown() {
    let dir = healthy();
    let mut service = dir.serve(&["--db", "a.db", "--backup-dir", "copies", "--backup-hook", "/bin/false"]);
    service.wait_for(|line| line.contains("/bin/false failed for "));
    let url = service.url();
    let args = [&BACKUPS[..], &["--base-url", &url]].concat();
    finds(&doctor(&dir, &args), "soon", "service", "the backup hook failed after the last backup", "journalctl ");
}

#[test]
fn certificates_are_examined_in_the_files_and_at_the_base_url() {
    let (dir, authority) = (healthy(), Authority::new());
    authority.write(&dir);
    authority.write_root(&dir, "authority.pem");
    let service = serve_with_backup(&dir, &TLS);
    let base_url = format!("https://localhost:{}", service.address.port());
    let with = |url: &str| doctor(&dir, &[&BACKUPS[..], &TLS, &["--base-url", url]].concat());
    finds_nothing(with(&base_url), "a service or a command uses the file");
    // The certificate does not name the address.
    let found = with(&format!("https://127.0.0.1:{}", service.address.port()));
    let rows: Vec<&str> = found.stdout.lines().collect();
    assert!(rows.len() == 2 && rows[0].contains("is refused by browsers: "), "{found:?}");
    assert!(rows[1].contains("is not for 127.0.0.1, so browsers refuse it\topenssl x509 -in "), "{found:?}");
    service.stop("TERM").succeeded();
    let (expired, key) = authority.certify(|params| params.not_after = date_time_ymd(2020, 1, 1));
    write_pair(&dir, &expired, &key);
    finds(&with(&base_url), "now", "TLS", "expired at 2020-01-01", "openssl x509 ");
    let (certificate, _) = authority.certify(|_| {});
    write_pair(&dir, &certificate, &key);
    finds(&with(&base_url), "now", "TLS", "does not belong to the first certificate in ", "openssl x509 ");
    authority.write(&dir);
    std::fs::set_permissions(dir.path("privkey.pem"), std::fs::Permissions::from_mode(0o644)).unwrap();
    finds(&with(&base_url), "now", "TLS", "is open to every user of this machine", "chmod o= privkey.pem");
}

#[test]
fn the_most_urgent_problem_comes_first_and_columns_are_aligned_on_a_terminal() {
    let dir = healthy();
    report_synchronized(&dir, "no");
    std::fs::set_permissions(dir.path("a.db"), std::fs::Permissions::from_mode(0o644)).unwrap();
    let piped = doctor(&dir, &[]);
    let urgencies: Vec<&str> = piped.stdout.lines().map(|line| line.split('\t').next().unwrap()).collect();
    assert_eq!(urgencies, ["now", "soon", "soon"], "{piped:?}");
    assert!(piped.stderr.contains("appliance: 3 problems found; no service uses the file"), "{piped:?}");
    let shown = dir.run_on_terminal(&["doctor", "--db", "a.db", "--min-free", "0"], "xterm").stdout;
    let heading = shown.lines().next().unwrap();
    assert!(heading.starts_with("URGENCY  AREA") && !shown.contains('\t'), "{shown}");
    let at = heading.find("PROBLEM").unwrap();
    assert!(shown.lines().nth(1).unwrap()[..at].ends_with("permissions  "), "{shown}");
}
