//! A failing background job appears in the log, the metrics and `/readyz`. A failed last checkpoint causes exit
//! status 1.

use crate::support::{WorkDir, eventually, send_to};

#[test]
fn a_failing_job_is_reported_in_log_metrics_and_readyz_until_it_works_again() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let mut service = dir.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let metrics = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let metrics = metrics.parse().unwrap();
    let is_failing = |expected: u8| {
        let line = format!("appliance_job_failing{{job=\"hr_intake\"}} {expected}\n");
        send_to(metrics, "GET", "/metrics", &[], "").expect(200).body.contains(&line)
    };
    assert!(is_failing(0));
    dir.change(
        "a.db",
        "CREATE TRIGGER broken BEFORE INSERT ON hr_deliveries BEGIN SELECT RAISE(ABORT, 'broken'); END;",
    );
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    service.wait_for(|line| line.contains(" job hr_intake has been failing for 1") && line.contains("broken"));
    assert!(is_failing(1));
    let answer = service.send("GET", "/readyz", &[], "").expect(503);
    assert_eq!(answer.json()["code"], "unavailable");
    assert_eq!(answer.json()["detail"], "failing: hr_intake; the log shows the reason");
    service.send("GET", "/healthz", &[], "").expect(200);
    dir.change("a.db", "DROP TRIGGER broken");
    service.wait_for(|line| line.ends_with(" job hr_intake works again"));
    assert!(is_failing(0));
    service.send("GET", "/readyz", &[], "").expect(200);
    let output = service.stop("TERM").succeeded();
    for words in ["job hr_intake has been failing", "job hr_intake works again"] {
        assert_eq!(output.stderr.matches(words).count(), 1, "{words}: {output:?}");
    }
}

#[test]
fn a_failed_last_checkpoint_causes_exit_status_1_and_loses_nothing() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let reader = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    reader.execute_batch("BEGIN").unwrap();
    let count = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 0);
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    let output = service.stop("TERM");
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.lines().last().unwrap().contains("the last checkpoint failed"), "{output:?}");
    drop(reader);
    dir.serve(&["--db", "a.db"]).stop("TERM").succeeded();
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
    eventually(|| std::fs::metadata(dir.path("a.db-wal")).map_or(0, |metadata| metadata.len()) == 0);
}

#[test]
fn a_stop_during_a_checkpoint_by_another_process_causes_exit_status_1_and_loses_nothing() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let key = dir.admin_key("a.db");
    let service = dir.serve(&["--db", "a.db"]);
    let reader = rusqlite::Connection::open(dir.path("a.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM candidate_roles").unwrap();
    let hire = "/api/v1/candidate-steps/cstep_1_2/hire";
    service.send("POST", hire, &[("Authorization", &format!("Bearer {key}"))], "").expect(200);
    let run = |connection: &rusqlite::Connection, mode: &str| {
        let sql = format!("PRAGMA wal_checkpoint({mode})");
        connection.query_row(&sql, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
    };
    std::thread::scope(|scope| {
        // This connection retries until it gets the checkpoint lock, and holds the lock while it waits for the reader.
        let other = rusqlite::Connection::open(dir.path("a.db")).unwrap();
        other.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
        let checkpoint = scope.spawn(move || {
            loop {
                let found = run(&other, "TRUNCATE").unwrap();
                if found != (1, -1) {
                    break found;
                }
            }
        });
        let poller = rusqlite::Connection::open(dir.path("a.db")).unwrap();
        eventually(|| {
            std::thread::yield_now();
            run(&poller, "PASSIVE").is_ok_and(|found| found == (1, -1))
        });
        let output = service.stop("TERM");
        assert_eq!(output.code, Some(1), "{output:?}");
        assert!(
            output.stderr.lines().last().unwrap().contains("another process is running a checkpoint"),
            "{output:?}"
        );
        reader.execute_batch("COMMIT").unwrap();
        assert_eq!(checkpoint.join().unwrap(), (0, 0));
    });
    drop(reader);
    assert_eq!(dir.number("a.db", "SELECT count(*) FROM candidate_roles WHERE status = 'Hired'"), 1);
}

/// Jobs, each with the write that a trigger refuses and the work that the job finds when the service starts.
const FAULTS: [(&str, &str, &str); 6] = [
    (
        "sweeping",
        "DELETE ON documents",
        "INSERT INTO documents (id, file_name, created_at) VALUES ('doc_1', 'a.txt', 1)",
    ),
    (
        "usage_pruning",
        "DELETE ON api_key_usage",
        "INSERT INTO api_key_usage (at, key_number, number, method, path, ip, user_agent, auth_endpoint)
         SELECT 1, number, 1, 'GET', '/', '', '', '' FROM api_keys;
         INSERT INTO api_key_usage_newest (key_number, at, number) SELECT number, 1, 1 FROM api_keys;
         UPDATE api_key_usage_marking SET marked_to = 1",
    ),
    (
        "imports",
        "DELETE ON import_rows",
        "INSERT INTO imports (number, started_at, skipped) VALUES (1, 1, 0);
         INSERT INTO import_rows (import_number, organization_id, role_id, candidate_id, status, application)
         VALUES (1, 'org_acme', 'role_1', 'cand_9', 'In Progress', '{}')",
    ),
    ("clock", "UPDATE OF ended_at ON api_keys", "UPDATE api_keys SET expires_at = 1"),
    (
        "asked_erasures",
        "DELETE ON erasures_asked",
        "INSERT INTO erasures_asked (candidate_number, asked_at) SELECT number, 1 FROM candidates LIMIT 1",
    ),
    ("role_closing", "UPDATE OF status ON roles", "UPDATE roles SET closes_on = '2020-01-01' WHERE status = 'open'"),
];

#[test]
fn each_of_several_failing_background_jobs_is_named() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    dir.admin_key("a.db");
    for (job, writes, work) in FAULTS {
        let trigger = format!("CREATE TRIGGER fault_{job} BEFORE {writes} BEGIN SELECT RAISE(ABORT, 'broken'); END");
        dir.change("a.db", &format!("{work}; {trigger}"));
    }
    let mut service = dir.serve(&["--db", "a.db", "--metrics-listen", "127.0.0.1:0"]);
    let line = service.wait_for(|line| line.starts_with("metrics on http://"));
    let metrics = line.strip_prefix("metrics on http://").and_then(|rest| rest.strip_suffix("/metrics")).unwrap();
    let metrics = metrics.parse().unwrap();
    let is_failing = |job: &str, expected: u8| {
        let line = format!("appliance_job_failing{{job=\"{job}\"}} {expected}\n");
        send_to(metrics, "GET", "/metrics", &[], "").expect(200).body.contains(&line)
    };
    for (job, _, _) in FAULTS {
        service
            .wait_for(|line| line.contains(&format!(" job {job} has been failing for 1")) && line.contains("broken"));
        assert!(is_failing(job, 1), "{job}");
    }
    let detail = service.send("GET", "/readyz", &[], "").expect(503).json()["detail"].as_str().unwrap().to_owned();
    for (job, _, _) in FAULTS {
        assert!(detail.contains(job), "{job}: {detail}");
        dir.change("a.db", &format!("DROP TRIGGER fault_{job}"));
        service.wait_for(|line| line.ends_with(&format!(" job {job} works again")));
        assert!(is_failing(job, 0), "{job}");
    }
    service.send("GET", "/readyz", &[], "").expect(200);
}
