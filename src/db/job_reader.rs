//! The reading connection that the background jobs of one thread share. A separate connection for each job would parse
//! the whole schema again, and hold another copy of it in memory.

use std::sync::{Arc, Mutex, PoisonError};

use super::connection::Connection;
use super::error::Error;
#[cfg(feature = "postgres")]
use super::postgres::readers::Readers;
use super::tx::{self, Tx};
use crate::domain::timestamp::Timestamp;

/// A shared reading connection or, with a PostgreSQL server, a pool, which replaces connections that break.
#[derive(Clone)]
pub(crate) struct JobReader(Source);

#[derive(Clone)]
enum Source {
    Connection(Arc<Mutex<Connection>>),
    #[cfg(feature = "postgres")]
    Pool(Arc<Readers>),
}

impl JobReader {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(Source::Connection(Arc::new(Mutex::new(connection))))
    }

    #[cfg(feature = "postgres")]
    pub(crate) fn of_pool(readers: Arc<Readers>) -> Self {
        Self(Source::Pool(readers))
    }

    /// Runs `f` on one snapshot of the database. `f` must not take another snapshot with the same connection.
    pub(crate) fn snapshot<T>(&self, now: Timestamp, f: impl FnOnce(&Tx<'_>) -> Result<T, Error>) -> Result<T, Error> {
        match &self.0 {
            Source::Connection(connection) => {
                // A panic of a job ends its transaction, so the other jobs can still use the connection.
                let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
                tx::snapshot(&connection, now, f)
            }
            #[cfg(feature = "postgres")]
            Source::Pool(readers) => readers.snapshot(now, f),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;
    use crate::db::sqlite::tests;

    #[test]
    fn a_panic_of_one_job_leaves_the_connection_usable_by_the_others() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let writer = tests::file(&path);
        tests::run_all(&writer, "CREATE TABLE t (a); INSERT INTO t VALUES (1)");
        let reader = JobReader::new(tests::file(&path));
        let now = Timestamp::from_micros(0);
        let count = |tx: &Tx<'_>| tx.value::<i64>("SELECT count(*) FROM t", []);
        let of_other_job = reader.clone();
        let panicking = || of_other_job.snapshot(now, |tx| count(tx).map(|_| panic!("planted")));
        let caught: std::thread::Result<Result<(), Error>> = catch_unwind(AssertUnwindSafe(panicking));
        assert!(caught.is_err());
        tests::run_all(&writer, "INSERT INTO t VALUES (2)");
        assert_eq!(reader.snapshot(now, count).unwrap(), Some(2), "the snapshot of the job that panicked has ended");
    }
}
