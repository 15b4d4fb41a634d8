//! The command line of the real binary: flags and variables, exit statuses, output, how a service starts, logs and
//! stops, and deliveries to HR systems.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

#[cfg(feature = "acme")]
mod acme;
#[cfg(not(feature = "acme"))]
mod acme_missing;
#[cfg(feature = "acme")]
mod acme_server;
mod admin;
mod backup;
mod chain;
mod connections;
#[cfg(feature = "postgres")]
mod database_commands;
#[cfg(feature = "postgres")]
mod database_copy;
#[cfg(feature = "postgres")]
mod database_copy_failure;
#[cfg(feature = "postgres")]
mod database_outage;
mod demo;
mod doctor;
mod document;
mod erasure;
mod failing_job;
mod file;
mod flags;
mod handshake;
mod hr;
mod hr_deliveries;
mod import;
mod import_advice;
mod init;
mod key;
mod key_usage;
mod log;
mod lost;
mod memory;
mod organization;
mod personal_data;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "postgres")]
#[path = "../support/postgres_server.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
mod postgres_server;
mod read_only;
mod record;
mod redirect;
mod restore;
#[path = "../rounds/mod.rs"]
mod rounds;
mod scheduled_backup;
mod serve;
mod service_manager;
mod settings;
mod shell;
mod sign_in_link;
mod stop;
mod support;
mod terminal;
mod terminal_session;
mod tls;
mod tls_client;
mod tls_files;
mod upgrade;
mod user;
