//! The names of the database engines, for code that depends on the engine. This module imports no other module.

/// A database engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Engine {
    Sqlite,
    #[cfg_attr(not(any(test, feature = "postgres")), expect(dead_code, reason = "only the feature opens PostgreSQL"))]
    Postgres,
}
