//! `serve --backup-dir`: scheduled backups with the real clock. The tests of `store/backup` use a scripted clock.

use crate::support::{WorkDir, eventually, mode, send_to};

#[test]
fn a_service_makes_checked_backups_and_runs_its_hook() {
    let dir = WorkDir::new();
    dir.imported("jobs.db");
    dir.write("hook", "#!/bin/sh\necho \"hook saw ${1##*/}\" >&2\nexit 7\n");
    std::fs::set_permissions(dir.path("hook"), std::os::unix::fs::PermissionsExt::from_mode(0o700)).unwrap();
    let hook = dir.path("hook").to_str().unwrap().to_owned();
    let flags =
        ["--db", "jobs.db", "--metrics-listen", "127.0.0.1:0", "--backup-dir", "copies", "--backup-hook", &hook];
    let mut service = dir.serve(&flags);
    let line = service.wait_for(|line| line.contains(" was made and checked ("));
    let name = line.split("/copies/").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().to_owned();
    assert!(name.starts_with("jobs-20") && name.ends_with("Z.db"), "{line}");
    let path = format!("copies/{name}");
    assert_eq!((mode(&dir.path("copies")), mode(&dir.path(&path))), (0o700, 0o600));
    dir.run(&["check", "--db", &path]).succeeded();
    service.wait_for(|line| line == format!("hook saw {name}"));
    service.wait_for(|line| line.ends_with("it exited with 7"));
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let metrics = send_to(address.parse().unwrap(), "GET", "/metrics", &[], "").expect(200).body;
    let bytes = dir.read(&path).len();
    for series in [
        format!("\nappliance_backup_bytes {bytes}\n"),
        "\nappliance_backup_failures 0\n".to_owned(),
        "\nappliance_backup_hook_failures 1\n".to_owned(),
        "\nappliance_backup_age_seconds ".to_owned(),
    ] {
        assert!(metrics.contains(&series), "{series}: {metrics}");
    }
    service.stop("TERM").succeeded();
    // The next service finds the backup and makes no other.
    let service = dir.serve(&["--db", "jobs.db", "--metrics-listen", "127.0.0.1:0", "--backup-dir", "copies"]);
    let mut service = service;
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let address = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let address = address.parse().unwrap();
    eventually(|| {
        send_to(address, "GET", "/metrics", &[], "").expect(200).body.contains("\nappliance_backup_age_seconds ")
    });
    assert_eq!(std::fs::read_dir(dir.path("copies")).unwrap().count(), 2, "a backup and its manifest");
    service.stop("TERM").succeeded();
}

#[test]
fn a_service_runs_although_its_backup_directory_cannot_be_created() {
    let dir = WorkDir::new();
    dir.imported("jobs.db");
    let mut service = dir.serve(&["--db", "jobs.db", "--backup-dir", "missing/copies"]);
    service.wait_for(|line| line.contains("no backup could be made in ") && line.contains("the next try is in 60 s"));
    let ready = service.send("GET", "/readyz", &[], "").expect(200).body;
    assert_eq!(ready, "ready\nwarning: the last backup failed; the log shows the reason\n");
    service.stop("TERM").succeeded();
}

#[test]
fn a_hook_that_fails_causes_a_warning_and_the_service_stays_ready() {
    let dir = WorkDir::new();
    dir.imported("jobs.db");
    let mut service = dir.serve(&["--db", "jobs.db", "--backup-dir", "copies", "--backup-hook", "/bin/false"]);
    service.wait_for(|line| line.contains("/bin/false failed for "));
    let ready = service.send("GET", "/readyz", &[], "").expect(200).body;
    assert_eq!(ready, "ready\nwarning: the backup hook failed after the last backup; the log shows the reason\n");
    service.stop("TERM").succeeded();
}

#[test]
fn invalid_schedules_are_refused_with_a_valid_example() {
    let dir = WorkDir::new();
    for every in ["59s", "745h", "daily", "0", ""] {
        dir.run(&["serve", "--backup-dir", "copies", "--backup-every", every])
            .misused("between 1m and 744h; for example, 24h");
    }
    for keep in ["0", "daily=0", "yearly=1"] {
        dir.run(&["serve", "--backup-dir", "copies", "--backup-keep", keep]).misused("daily=7,weekly=4,monthly=6");
    }
    dir.run(&["serve", "--backup-hook", "copy"]).misused("--backup-dir");
    assert_eq!(dir.names(), Vec::<String>::new());
}
