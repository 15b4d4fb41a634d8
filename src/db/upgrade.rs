//! A schema and its upgrades, for every engine. The layer above provides the statements, and each engine runs its own
//! text of them. This module names no driver and no table.

use std::path::Path;

pub(crate) use super::engine::Engine;
use super::tx::{Error, Tx};

/// The number in place of the application id while a database is an incomplete copy: "RPkc" in ASCII.
pub(crate) const PARTIAL_COPY_ID: i64 = 0x5250_6b63;

/// The same statements, with a text for each engine.
#[derive(Clone, Copy)]
pub(crate) struct EngineSql {
    pub sqlite: &'static str,
    pub postgres: &'static str,
}

impl EngineSql {
    /// Returns statements that every engine runs unchanged.
    #[cfg(test)]
    pub(crate) const fn same(sql: &'static str) -> Self {
        Self { sqlite: sql, postgres: sql }
    }

    pub(crate) const fn of(&self, engine: Engine) -> &'static str {
        match engine {
            Engine::Sqlite => self.sqlite,
            Engine::Postgres => self.postgres,
        }
    }
}

/// A schema and the upgrades that lead to it. The version is the same on every engine.
pub(crate) struct Schema {
    pub version: i64,
    /// The statements that create this version in an empty database.
    pub sql: EngineSql,
    /// All upgrades. The upgrade from version `n + 1` to version `n + 2` is at index `n`.
    pub upgrades: &'static [Upgrade],
    pub companions: &'static [Companion],
}

impl Schema {
    /// Returns the upgrades of a database of an older version, in order.
    ///
    /// # Errors
    /// [`Error::Defect`] if the version is less than 1. No program ever wrote one.
    pub(crate) fn upgrades_from(&self, found: i64) -> Result<&'static [Upgrade], Error> {
        let never = || Error::Defect(format!("this program never wrote databases of version {found}"));
        let first = usize::try_from(found - 1).map_err(|_| never())?;
        Ok(self.upgrades.get(first..).unwrap_or_default())
    }
}

/// A file next to the database file that a backup of the file also copies. A PostgreSQL database has none.
pub(crate) struct Companion {
    /// The suffix after the name of the database file.
    pub(crate) suffix: &'static str,
    /// A function that reads the companion of the database file at a path. It returns `None` if the companion does not
    /// exist.
    pub(crate) read: fn(&Path) -> std::io::Result<Option<Vec<u8>>>,
}

/// The upgrade from one version to the next. An engine runs all steps of all upgrades in one transaction.
#[derive(Clone, Copy)]
pub(crate) struct Upgrade {
    /// The change in words for people, such as "closing dates of roles".
    pub name: &'static str,
    pub steps: &'static [Step],
}

/// A step of an upgrade. A step has a form for every engine, so that no upgrade exists for only one of them.
#[derive(Clone, Copy)]
#[cfg_attr(not(test), expect(dead_code, reason = "version 1 has no upgrade yet"))]
pub(crate) enum Step {
    /// SQL statements that every engine runs unchanged. They add no column, because the names of types differ.
    Sql(&'static str),
    /// SQL statements with a text for each engine. An empty text does nothing.
    SqlOf(EngineSql),
    /// Code, for values that SQL statements cannot compute. It must use only statements that every engine runs.
    Code(fn(&Tx<'_>) -> Result<(), Error>),
}

/// A step as one engine runs it.
pub(crate) enum EngineStep {
    Sql(&'static str),
    Code(fn(&Tx<'_>) -> Result<(), Error>),
}

impl Step {
    pub(crate) fn of(self, engine: Engine) -> EngineStep {
        match self {
            Self::Sql(sql) => EngineStep::Sql(sql),
            Self::SqlOf(sql) => EngineStep::Sql(sql.of(engine)),
            Self::Code(run) => EngineStep::Code(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_runs_its_own_text_of_a_step() {
        let text = |step: Step, engine| match step.of(engine) {
            EngineStep::Sql(sql) => sql,
            EngineStep::Code(_) => "code",
        };
        let each = Step::SqlOf(EngineSql { sqlite: "a", postgres: "b" });
        assert_eq!((text(each, Engine::Sqlite), text(each, Engine::Postgres)), ("a", "b"));
        let same = Step::Sql("c");
        assert_eq!((text(same, Engine::Sqlite), text(same, Engine::Postgres)), ("c", "c"));
        assert_eq!(text(Step::Code(|_| Ok(())), Engine::Postgres), "code");
    }

    #[test]
    fn a_database_gets_only_the_upgrades_after_its_version() {
        const NAMES: [Upgrade; 2] = [Upgrade { name: "to 2", steps: &[] }, Upgrade { name: "to 3", steps: &[] }];
        let schema = Schema { version: 3, sql: EngineSql::same(""), upgrades: &NAMES, companions: &[] };
        let names = |found| Some(schema.upgrades_from(found).ok()?.iter().map(|one| one.name).collect::<Vec<_>>());
        assert_eq!(names(1), Some(vec!["to 2", "to 3"]));
        assert_eq!(names(2), Some(vec!["to 3"]));
        assert_eq!(names(3), Some(vec![]));
        assert_eq!(names(0), None);
    }
}
