//! The advisory locks of the service. The scope of an advisory lock is the database. The second number of each lock
//! stands for the schema, so that two services can share a database.

/// A lock, with the first of its two numbers. Other programs are unlikely to use these first numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    /// Held by a transaction that writes records of the service, and by a copy.
    Writer = 1_718_900_101,
    /// Held while the schema is created or upgraded.
    Schema = 1_718_900_102,
    /// Held by the server that does the background work, and by a copy.
    BackgroundWork = 1_718_900_103,
}

impl Lock {
    /// Returns the statement that waits for the lock and holds it until the end of the transaction.
    pub(super) fn wait(self) -> String {
        format!("SELECT pg_advisory_xact_lock({})", self.numbers())
    }

    /// Returns the statement that takes the lock if it is free, and holds it until the end of the session.
    pub(super) fn try_for_session(self) -> String {
        format!("SELECT pg_try_advisory_lock({})", self.numbers())
    }

    fn numbers(self) -> String {
        format!("{}, (SELECT oid::int FROM pg_namespace WHERE nspname = current_schema())", self as i32)
    }
}
