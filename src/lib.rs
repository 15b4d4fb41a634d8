//! A recruiting service for small organizations: one binary and one SQLite file.
//!
//! `docs/architecture.md` maps the modules, follows a request through them, and states the invariants that
//! `tests/floors.rs` checks. `docs/glossary.md` defines the words. `docs/contributing.md` shows where each kind of
//! change belongs.

pub mod cli;
pub mod db;
pub mod domain;
pub mod hr;
pub mod http;
pub mod interchange;
pub mod store;
pub mod telemetry;
pub mod world;
