//! Starts of the service on a PostgreSQL server: one sentence and an exit status for each server that cannot be used.
//! The exit status is 1 if a later start may succeed without anybody's intervention, and 78 otherwise.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use super::{Database, assert_refused};
use crate::postgres_server::{TestServer, USER, shared};
use crate::support::WorkDir;

#[test]
fn a_server_that_may_recover_causes_exit_status_1() {
    let Some(database) = Database::create() else { return };
    let (server, name) = (database.server, &database.name);
    server.psql(
        "postgres",
        "CREATE ROLE crowded LOGIN CONNECTION LIMIT 0;
         CREATE DATABASE standing TEMPLATE template0;
         ALTER DATABASE standing SET default_transaction_read_only = on",
    );
    for (url, part) in [
        (format!("postgres://{USER}@127.0.0.1:1/{name}"), "cannot be reached: "),
        (format!("postgres://{USER}@does-not-exist.invalid/{name}?sslmode=disable"), "cannot be reached: "),
        (format!("postgres://{USER}@/{name}?host=/nowhere"), "cannot be reached: "),
        (database.url_of("crowded"), "has no free connection; raise max_connections"),
        (server.url(USER, "standing", ""), "accepts no writes: it is a standby or set to read-only"),
    ] {
        assert_refused(&url, 1, part);
    }
}

#[test]
fn a_standby_causes_exit_status_1() {
    let Some(standby) = TestServer::start_standby() else { return };
    assert_refused(&standby.url(USER, "postgres", ""), 1, "accepts no writes: it is a standby or set to read-only");
}

#[test]
fn a_server_without_a_free_connection_causes_exit_status_1() {
    let settings = ["max_connections=3", "superuser_reserved_connections=0", "max_wal_senders=0"];
    let Some(server) = TestServer::start(&settings) else { return };
    let mut held: Vec<_> = (0..3).map(|_| server.session("postgres")).collect();
    held.iter_mut().for_each(|session| session.run("SELECT WHERE false"));
    assert_refused(&server.url(USER, "postgres", ""), 1, "has no free connection; raise max_connections");
    drop(held);
}

#[test]
fn a_url_that_cannot_be_used_causes_exit_status_78() {
    let Some(database) = Database::create() else { return };
    let server = database.server;
    server.psql("postgres", "CREATE ROLE secret LOGIN PASSWORD 'right'");
    for (url, part) in [
        (database.url_of("secret:geheim"), "refuses the user or the password"),
        (database.url_of("secret"), "refuses the user or the password"),
        (database.url_of("nobody"), "refuses the user or the password"),
        (server.url(USER, "missing", ""), "does not exist; create the database first"),
        (server.url(USER, &database.name, "sslmode=require"), "the server does not support TLS; set up TLS"),
        (server.url(USER, &database.name, "sslmode=allow"), "the database URL cannot be used: sslmode must be"),
        ("postgres:///jobs".to_owned(), "the database URL cannot be used: it has no host"),
    ] {
        assert_refused(&url, 78, part);
    }
}

#[test]
fn a_server_with_unsafe_settings_causes_exit_status_78() {
    let Some(database) = Database::create() else { return };
    database.server.psql(
        "postgres",
        "CREATE ROLE careless LOGIN;
         ALTER ROLE careless SET synchronous_commit = off;
         CREATE ROLE lost LOGIN;
         ALTER ROLE lost SET search_path = nowhere;
         CREATE ROLE guest LOGIN;
         CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1'",
    );
    assert_refused(&database.url_of("careless"), 78, "has synchronous_commit = off, with which confirmed changes");
    assert_refused(&database.url_of("lost"), 78, "no schema in the search_path of the user exists");
    assert_refused(&database.url_of("guest"), 78, "the user may not create tables in the schema public");
    assert_refused(&database.server.url(USER, "latin", ""), 78, "has the encoding LATIN1; create a database with");
    let Some(unsafe_server) = TestServer::start(&["fsync=off"]) else { return };
    assert_refused(&unsafe_server.url(USER, "postgres", ""), 78, "has fsync = off, with which confirmed changes");
}

#[test]
fn a_server_of_version_14_is_too_old() {
    let Some(server) = shared() else { return };
    let found = server.psql("postgres", "SHOW server_version_num");
    let port = replace_answers(server.port(), found.into_bytes(), b"140012");
    let url = format!("postgres://{USER}@127.0.0.1:{port}/postgres?sslmode=disable");
    assert_refused(&url, 78, "runs PostgreSQL 14; the service needs version 15 or newer");
}

/// Starts a proxy that replaces bytes in the answers of a server. Returns the port of the proxy.
fn replace_answers(server: u16, from: Vec<u8>, to: &'static [u8]) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let upstream = TcpStream::connect(("127.0.0.1", server)).unwrap();
            let (mut requests, mut to_server) = (client.try_clone().unwrap(), upstream.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut requests, &mut to_server);
                let _ = to_server.shutdown(std::net::Shutdown::Write);
            });
            let from = from.clone();
            std::thread::spawn(move || copy_replaced(upstream, client, &from, to));
        }
    });
    port
}

fn copy_replaced(mut upstream: TcpStream, mut client: TcpStream, from: &[u8], to: &[u8]) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = upstream.read(&mut buffer) {
        let bytes = &mut buffer[..count];
        for at in 0..count.saturating_sub(from.len() - 1) {
            if bytes[at..].starts_with(from) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
        if client.write_all(bytes).is_err() {
            return;
        }
    }
}

#[test]
fn a_certificate_that_is_not_trusted_causes_exit_status_78() {
    let Some((server, authority)) = TestServer::start_with_tls() else { return };
    let dir = WorkDir::new();
    dir.write("roots.pem", authority);
    let roots = dir.path("roots.pem").display().to_string();
    let url =
        |host: &str, parameters: &str| format!("postgres://{USER}@{host}:{}/postgres?{parameters}", server.port());
    let verified = |roots: &str| format!("sslmode=verify-full&sslrootcert={roots}");
    assert_refused(&url("127.0.0.1", &verified(&roots)), 78, "there is no trusted connection to ");
    assert_refused(&url("localhost", &verified("system")), 78, "TLS failed: ");
    assert_refused(&url("localhost", &verified("/nowhere.pem")), 78, "/nowhere.pem");
    let service = dir.serve(&["--db", &url("localhost", &verified(&roots))]);
    service.send("GET", "/healthz", &[], "").expect(200);
}

#[test]
fn a_schema_of_another_program_causes_exit_status_78_and_is_not_changed() {
    for tables in [
        "CREATE TABLE invoices (id INT)",
        "CREATE VIEW invoices AS SELECT 1",
        "CREATE TABLE engine_schema (id INT, version TEXT); INSERT INTO engine_schema VALUES (1, '1')",
        "CREATE TABLE engine_schema (id BIGINT, application_id BIGINT, version BIGINT)",
        "CREATE TABLE engine_schema (id BIGINT, application_id BIGINT, version BIGINT);
         INSERT INTO engine_schema VALUES (1, 8, 1)",
    ] {
        let Some(database) = Database::create() else { return };
        database.psql(tables);
        let list = "SELECT string_agg(relname || relfilenode, ' ' ORDER BY relname)
                    FROM pg_class WHERE relnamespace = 'public'::regnamespace";
        let before = database.psql(list);
        let part = "the schema public of postgres://127.0.0.1";
        assert_refused(&database.url(), 78, part);
        assert_refused(&database.url(), 78, "has tables of another program and was not changed; use an empty schema");
        assert_eq!(database.psql(list), before);
    }
}

#[test]
fn tables_that_this_version_cannot_use_cause_exit_status_78() {
    let dir = WorkDir::new();
    for (change, part) in [
        ("UPDATE engine_schema SET version = 99", "has version 99, but this program supports only version "),
        ("DROP TABLE readiness", "lacks the table readiness and was not changed; restore the whole database"),
        ("DROP TABLE engine_writers", "lacks the table engine_writers"),
        (
            "GRANT SELECT ON ALL TABLES IN SCHEMA public TO tenant; ALTER TABLE readiness OWNER TO tenant",
            "the user lacks rights in ",
        ),
        ("", "the user lacks rights in "),
    ] {
        let Some(database) = Database::with_tables(&dir) else { return };
        let role = "DO $$ BEGIN CREATE ROLE tenant LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$";
        database.psql(role);
        database.psql(change);
        let user = if part.starts_with("the user lacks") { "tenant" } else { USER };
        assert_refused(&database.url_of(user), 78, part);
    }
}

#[test]
fn a_check_of_the_settings_connects_to_the_server_and_changes_nothing() {
    let Some(database) = Database::create() else { return };
    let dir = WorkDir::new();
    let url = database.url();
    for tables in ["0", "1"] {
        let checked = dir.run(&["settings", "--check", "--db", &url]).succeeded();
        assert!(checked.stdout.starts_with("the service can start with these settings"), "{checked:?}");
        assert_eq!(database.psql("SELECT count(*) FROM pg_class WHERE relname = 'engine_schema'"), tables);
        database.admin_key(&dir);
    }
}

#[test]
fn services_that_start_together_on_an_empty_database_all_serve() {
    let Some(database) = Database::create() else { return };
    let url = database.url();
    let start = || {
        let dir = WorkDir::new();
        let service = dir.serve(&["--db", &url]);
        service.send("GET", "/readyz", &[], "").expect(200);
        assert_eq!(service.stop("TERM").code, Some(0));
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(start);
        }
    });
    assert_eq!(database.psql("SELECT count(*) FROM engine_writers"), "0", "each service removes its registration");
}
