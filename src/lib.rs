//! A recruiting service for small organizations: one binary and one SQLite file.
//!
//! `docs/architecture.md` has the map of the modules, a request's way through them, and the invariants that
//! `tests/floors.rs` keeps. `docs/glossary.md` has the words, `docs/contributing.md` the place for each change.

pub mod cli;
pub mod db;
pub mod domain;
pub mod hr;
pub mod http;
pub mod interchange;
pub mod store;
pub mod telemetry;
pub mod world;
