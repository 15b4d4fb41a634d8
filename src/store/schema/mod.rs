//! The schema of this program.
//!
//! To change the schema, change `schema.sql` and `postgres.sql`, add one to the version, and append the steps that
//! upgrade a database from the previous version.

use super::erasure::list;
use crate::db::upgrade::{Companion, EngineSql, Schema};

pub(crate) const CURRENT: Schema = Schema {
    version: 1,
    sql: EngineSql { sqlite: include_str!("../../../schema.sql"), postgres: include_str!("postgres.sql") },
    upgrades: &[],
    companions: &[Companion { suffix: ".erased", read: list::complete_lines }],
};

#[cfg(test)]
mod tests;
