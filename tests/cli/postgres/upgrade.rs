//! Upgrades of the tables in a PostgreSQL database: a running service of an older version stops, and the command
//! `upgrade` refuses the URL of a PostgreSQL server.

use super::{Database, assert_refused};
use crate::support::WorkDir;

#[test]
fn a_service_stops_when_the_tables_have_been_upgraded() {
    let dir = WorkDir::new();
    let Some(database) = Database::create() else { return };
    let url = database.url();
    let service = dir.serve(&["--db", &url]);
    service.send("GET", "/readyz", &[], "").expect(200);
    database.psql("UPDATE engine_schema SET version = 99");
    let stopped = service.wait();
    assert_eq!(stopped.code, Some(1), "{stopped:?}");
    let sentence =
        "the database has been upgraded to version 99, but this program knows version 1; start the newer program";
    assert!(stopped.stderr.contains(sentence), "{stopped:?}");
    assert_refused(&url, 78, "has version 99, but this program supports only version 1");
}

#[test]
fn upgrade_refuses_a_postgresql_url_and_names_the_command_that_upgrades_the_tables() {
    let Some(database) = Database::create() else { return };
    let refused = WorkDir::new().run(&["upgrade", "--db", &database.url()]);
    refused.failed(2, "`appliance serve` upgrades the tables in a PostgreSQL database when it starts");
}
