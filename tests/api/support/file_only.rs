//! The tests that only make sense on a SQLite file. On PostgreSQL, they are ignored.

use libtest_mimic::Trial;

use super::database::is_postgres;

/// The tests, each with the reason why it needs a file.
const TESTS: &[(&str, &str)] = &[];

/// Ignores the tests that need a file, if the tests run on PostgreSQL.
///
/// # Panics
/// If a test in the list does not exist.
pub(crate) fn mark(tests: Vec<Trial>) -> Vec<Trial> {
    if !is_postgres() {
        return tests;
    }
    for (name, _) in TESTS {
        assert!(tests.iter().any(|test| test.name() == *name), "there is no test {name}");
    }
    let reason = |test: &Trial| TESTS.iter().find(|(name, _)| *name == test.name()).map(|(_, reason)| *reason);
    let mark = |test: Trial| match reason(&test) {
        Some(reason) => {
            eprintln!("ignored on PostgreSQL: {}: {reason}", test.name());
            test.with_ignored_flag(true)
        }
        None => test,
    };
    tests.into_iter().map(mark).collect()
}
