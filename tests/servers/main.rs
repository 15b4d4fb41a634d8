//! Several servers of one service: processes that share a PostgreSQL database. These tests need the feature `postgres`
//! and an installation of PostgreSQL.
#![cfg(feature = "postgres")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue must fail")]

mod client;
mod ledger;
mod limits;
mod outage;
mod portal;
#[path = "../support/postgres_server.rs"]
#[allow(dead_code, reason = "each of the tests that include the file uses only a part of it")]
mod postgres_server;
mod revocation;
#[path = "../rounds/mod.rs"]
mod rounds;
mod service;
mod work;
