//! Starts: the creation of the schema, and one sentence for each reason why a server cannot be used.

use super::super::open_error::OpenError;
use super::super::prepare::{Purpose, Schema, prepare};
use super::super::target::Target;
use super::server::{TestServer, shared};
use super::{Database, SCHEMA, TABLES};
use crate::db::upgrade;

/// Prepares the database behind a URL. Returns the text of the error, and whether a later start may succeed.
fn refusal(url: &str, schema: &Schema<'_>) -> (String, bool) {
    let error = Target::parse(url).and_then(|target| prepare(&target, schema, Purpose::Create)).unwrap_err();
    (error.to_string(), error.may_pass())
}

/// Checks that a server is refused with a sentence that contains this part.
fn assert_refused(url: &str, part: &str, may_pass: bool) {
    let refusal = refusal(url, &SCHEMA);
    assert!(refusal.0.contains(part) && refusal.1 == may_pass, "{url}: {refusal:?}");
    assert!(!refusal.0.contains("geheim") && !refusal.0.contains('\n'), "{refusal:?}");
}

#[test]
fn a_server_that_cannot_be_used_is_refused_with_one_sentence() {
    let Some(server) = shared() else { return };
    let database = server.database();
    let _ = server.psql(
        "postgres",
        "DO $$ BEGIN
           CREATE ROLE secret LOGIN PASSWORD 'right';
           CREATE ROLE careless LOGIN;
           ALTER ROLE careless SET synchronous_commit = off;
           CREATE ROLE lost LOGIN;
           ALTER ROLE lost SET search_path = nowhere;
           CREATE ROLE guest LOGIN;
         END $$;
         CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'",
    );
    let at = |user: &str, database: &str, parameters: &str| server.url(user, database, parameters);
    for (url, part, may_pass) in [
        ("postgres://tester@127.0.0.1:1/d".to_owned(), "cannot be reached", true),
        ("postgres://tester@does-not-exist.invalid/d?sslmode=disable".to_owned(), "cannot be reached", true),
        (at("secret:geheim", &database, ""), "refuses the user or the password", false),
        (at("secret", &database, ""), "refuses the user or the password", false),
        (at("nobody", &database, ""), "refuses the user or the password", false),
        (at("tester", "missing", ""), "does not exist; create the database", false),
        (at("tester", &database, "sslmode=require"), "does not support TLS", false),
        (at("careless", &database, ""), "synchronous_commit = off", false),
        (at("lost", &database, ""), "no schema in the search_path", false),
        (at("guest", &database, ""), "may not create tables in the schema public", false),
        (at("tester", "latin", ""), "the encoding LATIN1", false),
    ] {
        assert_refused(&url, part, may_pass);
    }
    // If no host can be used, the error of a host that would refuse again is reported.
    let hosts = format!("postgres://secret:geheim@127.0.0.1:{},127.0.0.1:1/{database}", server.port());
    assert_refused(&hosts, "refuses the user or the password", false);
    let hosts = format!("postgres://secret:right@127.0.0.1:1,127.0.0.1:{}/postgres", server.port());
    assert_refused(&hosts, "may not create tables", false);
}

#[test]
fn the_schema_is_created_once_and_recognized_afterwards() {
    let Some(server) = shared() else { return };
    let name = server.database();
    let target = super::target_of(server, &name);
    assert!(matches!(prepare(&target, &SCHEMA, Purpose::Use), Err(OpenError::Missing { .. })));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| prepare(&target, &SCHEMA, Purpose::Create).unwrap());
        }
    });
    prepare(&target, &SCHEMA, Purpose::Use).unwrap();
    assert_eq!(server.psql(&name, "SELECT count(*) FROM t"), "2");
}

#[test]
fn a_schema_of_another_version_or_program_stays_as_it_is() {
    let Some(database) = Database::create() else { return };
    let url = database.server.url("tester", &database.name, "");
    let of_version = |version| upgrade::Schema { version, ..TABLES };
    let refused = refusal(&url, &Schema { tables: &of_version(0), ..SCHEMA });
    assert!(refused.0.contains("has version 1, but this program supports only version 0") && !refused.1, "{refused:?}");
    let refused = refusal(&url, &Schema { tables: &of_version(2), ..SCHEMA });
    assert!(refused.0.contains("needs version 2") && !refused.1, "{refused:?}");
    let other = Schema { application_id: 8, ..SCHEMA };
    let refused = refusal(&url, &other);
    assert!(refused.0.contains("tables of another program and was not changed") && !refused.1, "{refused:?}");
    let name = database.server.database();
    database.server.psql(&name, "CREATE TABLE invoices (id INT)");
    assert_refused(&database.server.url("tester", &name, ""), "tables of another program", false);
    assert_eq!(database.server.psql(&name, "SELECT count(*) FROM pg_class WHERE relname LIKE 'engine%'"), "0");
}

#[test]
fn missing_rights_on_a_table_are_named() {
    let Some(database) = Database::create() else { return };
    database.psql("CREATE ROLE reader LOGIN; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader");
    let url = database.server.url("reader", &database.name, "");
    assert_refused(&url, "the table engine_counts needs SELECT, INSERT, UPDATE and DELETE", false);
}

#[test]
fn the_certificate_of_the_server_is_verified() {
    let Some((server, authority)) = TestServer::start_with_tls() else { return };
    let directory = tempfile::tempdir().unwrap();
    let roots = directory.path().join("roots.pem");
    std::fs::write(&roots, authority).unwrap();
    let url = |host: &str, parameters: &str| {
        let parameters = parameters.replace("ROOTS", &roots.display().to_string());
        format!("postgres://tester@{host}:{}/postgres?{parameters}", server.port())
    };
    for (host, parameters) in [
        ("localhost", "sslmode=verify-full&sslrootcert=ROOTS"),
        ("127.0.0.1", "sslmode=verify-ca&sslrootcert=ROOTS"),
        ("127.0.0.1", "sslmode=require&sslrootcert=ROOTS"),
        ("127.0.0.1", "sslmode=require"),
        ("127.0.0.1", ""),
    ] {
        let target = Target::parse(&url(host, parameters)).unwrap();
        let connection = super::super::settings::open(&target, super::super::settings::Use::Read).unwrap();
        let encrypted = connection.texts("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()").unwrap();
        assert_eq!(encrypted, [Some("t".to_owned())], "{host} {parameters}");
    }
    for (host, parameters, why) in [
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=ROOTS", "not valid for"),
        ("localhost", "sslmode=verify-full&sslrootcert=system", "UnknownIssuer"),
        ("localhost", "sslmode=verify-ca&sslrootcert=system", "UnknownIssuer"),
    ] {
        assert_refused(&url(host, parameters), why, false);
    }
}
