//! `import`, `export` and `check` on a PostgreSQL server.

use crate::postgres_server::{USER, shared};
use crate::support::WorkDir;

#[test]
fn import_export_and_check_work_on_a_postgresql_server_as_on_a_file() {
    let Some(server) = shared() else { return };
    let dir = WorkDir::new();
    let database = server.database();
    let url = server.url(USER, &database, "sslmode=disable");
    dir.imported("a.db");
    let imported = dir.run(&["import", "--db", &url, "document.json"]).succeeded();
    assert!(imported.stderr.contains("imported into postgres://127.0.0.1:") && !imported.stderr.contains(USER));
    let export = |db: &str| dir.run(&["export", "--db", db, "--with-secrets"]).succeeded().stdout;
    assert_eq!(export(&url), export("a.db"));
    let again = dir.run(&["import", "--db", &url, "document.json"]);
    assert!(again.code == Some(1) && again.stderr.contains("nothing was imported"), "{again:?}");
    assert!(dir.run(&["check", "--db", &url]).succeeded().stderr.contains(" is sound"));
    // While a service runs, a larger import is divided into short transactions.
    let service = dir.serve(&["--db", &url]);
    let rows: String = (0..500).map(|number| format!("Name {number},p{number}@example.org\n")).collect();
    dir.write("people.csv", format!("name,email\n{rows}"));
    let csv = ["import", "--db", &url, "--format", "csv", "--organization", "acme", "--role", "role_1", "people.csv"];
    let imported = dir.run(&csv).succeeded();
    assert!(imported.stderr.contains("applications 500") && imported.stderr.contains("at a time"), "{imported:?}");
    service.stop("TERM").succeeded();
    assert_eq!(server.psql(&database, "SELECT count(*) FROM candidate_roles"), "502");
    assert_eq!(server.psql(&database, "SELECT count(*) FROM import_rows"), "0");
    dir.run(&["check", "--db", &url]).succeeded();
    server.psql(&database, "UPDATE organization_statuses SET in_progress = 1");
    let output = dir.run(&["check", "--db", &url]);
    assert_eq!((output.code, output.stdout.lines().count()), (Some(1), 1), "{output:?}");
    // On a PostgreSQL server, an import of more than 20,000 applications is refused even while no service runs.
    let rows: String = (0..20_001).map(|number| format!("Name {number},q{number}@example.org\n")).collect();
    dir.write("people.csv", format!("name,email\n{rows}"));
    let refused = dir.run(&csv);
    assert!(refused.code == Some(1) && refused.stderr.contains("use `appliance copy`"), "{refused:?}");
}
