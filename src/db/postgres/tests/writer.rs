//! Transactions of writers.

use std::sync::Barrier;
use std::time::Instant;

use super::super::writer::Mode;
use super::{Connection, Database, add, value};
use crate::db::error::Error;
use crate::db::value::ValueRef;

#[test]
fn transactions_of_two_writers_run_one_at_a_time() {
    let Some(database) = Database::create() else { return };
    std::thread::scope(|scope| {
        for mode in [Mode::Durable, Mode::Logged] {
            let mut writer = database.writer();
            scope.spawn(move || {
                for _ in 0..50 {
                    let mut runs = 0;
                    writer
                        .transaction(mode, |connection| {
                            runs += 1;
                            add(connection, 1, 1)
                        })
                        .unwrap();
                    assert_eq!(runs, 1, "a transaction under the lock meets no conflict");
                }
                writer.finish().unwrap();
            });
        }
    });
    assert_eq!(database.values(), "100 0");
    assert_eq!(database.psql("SELECT count(*) FROM engine_writers"), "0");
}

#[test]
fn a_transaction_runs_again_after_serialization_failures_but_only_a_limited_number_of_times() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let fail = "DO $$ BEGIN RAISE EXCEPTION 'planted' USING ERRCODE = '40001'; END $$";
    for (failures, runs_expected, succeeds) in [(2, 3, true), (9, 5, false)] {
        let mut runs = 0;
        let outcome = writer.transaction(Mode::Durable, |connection| {
            runs += 1;
            add(connection, 1, 1)?;
            if runs <= failures { connection.as_postgres().batch(fail) } else { Ok(()) }
        });
        assert_eq!((runs, outcome.is_ok()), (runs_expected, succeeds));
        assert!(matches!(outcome, Ok(()) | Err(Error::Unavailable(_))), "{outcome:?}");
    }
    assert_eq!(database.values(), "1 0");
}

#[test]
fn appending_transactions_that_deadlock_run_again() {
    let Some(database) = Database::create() else { return };
    let both_have_one = Barrier::new(2);
    std::thread::scope(|scope| {
        for ids in [[1, 2], [2, 1]] {
            let (mut writer, both_have_one) = (database.writer(), &both_have_one);
            scope.spawn(move || {
                let mut runs = 0;
                writer
                    .transaction(Mode::Append, |connection| {
                        runs += 1;
                        let sql = "UPDATE t SET n = n + 1 WHERE id = $1";
                        connection.as_postgres().execute(sql, &[ValueRef::Integer(ids[0])])?;
                        if runs == 1 {
                            both_have_one.wait();
                        }
                        connection.as_postgres().execute(sql, &[ValueRef::Integer(ids[1])])
                    })
                    .unwrap();
            });
        }
    });
    assert_eq!(database.values(), "2 2");
}

/// Runs an act inside a savepoint, as [`crate::db::tx::Tx::savepoint`] does.
fn savepoint<T>(connection: &Connection, act: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    connection.as_postgres().set_savepoint()?;
    let outcome = act().and_then(|value| connection.release_savepoint().map(|()| value));
    if outcome.is_err() {
        connection.undo_to_savepoint()?;
    }
    outcome
}

#[test]
fn a_failed_act_is_undone_alone() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let double = "INSERT INTO t (id, n) VALUES ($1, $2)";
    let values = [ValueRef::Integer(1), ValueRef::Integer(0)];
    let failed = writer.transaction(Mode::Durable, |connection| {
        add(connection, 1, 1)?;
        let failed = savepoint(connection, || {
            add(connection, 1, 10)?;
            connection.as_postgres().execute(double, &values)
        });
        let ignored = savepoint(connection, || {
            add(connection, 1, 100)?;
            let _ = connection.as_postgres().execute(double, &values);
            Ok(())
        });
        savepoint(connection, || add(connection, 2, 1))?;
        Ok((failed, ignored))
    });
    let (failed, ignored) = failed.unwrap();
    assert!(matches!(&failed, Err(Error::Defect(why)) if why == "SQLSTATE 23505, constraint t_pkey"), "{failed:?}");
    assert!(matches!(ignored, Err(Error::Defect(_))), "{ignored:?}");
    assert_eq!(database.values(), "1 1");
}

#[test]
fn a_transaction_that_ignores_a_failed_statement_is_not_committed() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let outcome = writer.transaction(Mode::Durable, |connection| {
        add(connection, 1, 1)?;
        let _ = connection.as_postgres().query("SELECT missing FROM t", &[]);
        Ok(())
    });
    assert!(matches!(outcome, Err(Error::Defect(_))), "{outcome:?}");
    assert_eq!(database.values(), "0 0");
}

#[test]
fn a_panic_leaves_no_transaction_behind() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        writer.transaction(Mode::Durable, |connection| {
            add(connection, 1, 1)?;
            panic!("planted")
        })
    }));
    let caught: std::thread::Result<Result<(), Error>> = caught;
    assert!(caught.is_err());
    writer.transaction(Mode::Durable, |connection| add(connection, 2, 1)).unwrap();
    assert_eq!(database.values(), "0 1");
}

#[test]
fn a_statement_that_takes_too_long_fails_and_the_writer_continues() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let outcome = writer.transaction(Mode::Durable, |connection| {
        connection.as_postgres().batch("SET LOCAL statement_timeout = 100; SELECT pg_sleep(30)")
    });
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("57014")), "{outcome:?}");
    writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    assert_eq!(database.values(), "1 0");
}

#[test]
fn a_transaction_is_refused_while_another_session_holds_the_lock() {
    let Some(database) = Database::create() else { return };
    let mut holder = database.writer();
    let mut writer = database.writer();
    holder
        .transaction(Mode::Durable, |_| {
            let began = Instant::now();
            let outcome = writer.transaction(Mode::Durable, |connection| add(connection, 1, 1));
            assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("55P03")), "{outcome:?}");
            assert!(began.elapsed().as_secs() < 15);
            Ok(())
        })
        .unwrap();
    writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    assert_eq!(database.values(), "1 0");
}

#[test]
fn a_statement_runs_for_each_list_of_values() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let values: Vec<[ValueRef<'_>; 2]> = (10..1_010).map(|id| [ValueRef::Integer(id), ValueRef::Integer(1)]).collect();
    let lists: Vec<&[ValueRef<'_>]> = values.iter().map(|list| &list[..]).collect();
    let sql = "INSERT INTO t (id, n) VALUES (?1, ?2)";
    let inserted = writer.transaction(Mode::Append, |connection| connection.as_postgres().execute_each(sql, &lists));
    assert_eq!(inserted.unwrap(), 1_000);
    let double = writer.transaction(Mode::Append, |connection| connection.as_postgres().execute_each(sql, &lists[..3]));
    assert!(matches!(double, Err(Error::Defect(_))), "{double:?}");
    assert_eq!(database.psql("SELECT count(*) FROM t"), "1002");
}

#[test]
fn a_cached_statement_survives_a_change_to_the_schema() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let mut count = || {
        writer
            .transaction(Mode::Durable, |connection| Ok(connection.as_postgres().query("SELECT * FROM t", &[])?.len()))
    };
    assert_eq!(count().unwrap(), 2);
    database.psql("ALTER TABLE t ADD COLUMN later BIGINT");
    assert_eq!(count().unwrap(), 2);
}

#[test]
fn values_return_as_they_were_sent() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let long = "ü".repeat(10_000);
    let sql = "SELECT $1::bigint, $2::float8, $3::text, $4::bytea, $5::bigint, $6::int, $7::bool, sum(n), avg(n + id),
                      -(10000::numeric), 12345678901234::numeric, -0.25::numeric, count(*)
               FROM t";
    let sent = [
        ValueRef::Integer(i64::MIN),
        ValueRef::Real(0.1),
        ValueRef::Text(&long),
        ValueRef::Blob(&[0, 255]),
        ValueRef::Null,
        ValueRef::Integer(-1),
        ValueRef::Integer(1),
    ];
    let mut expected = sent.to_vec();
    expected.extend([ValueRef::Integer(0), ValueRef::Real(1.5), ValueRef::Integer(-10_000)]);
    expected.extend([ValueRef::Integer(12_345_678_901_234), ValueRef::Real(-0.25), ValueRef::Integer(2)]);
    writer
        .transaction(Mode::Durable, |connection| {
            let rows = connection.as_postgres().query(sql, &sent)?;
            let columns: Vec<ValueRef<'_>> = (0..13).map(|index| value::column(&rows[0], index).unwrap()).collect();
            assert_eq!(columns, expected);
            Ok(())
        })
        .unwrap();
    let too_large = writer.transaction(Mode::Durable, |connection| {
        connection.as_postgres().query("SELECT $1::int", &[ValueRef::Integer(i64::MAX)]).map(drop)
    });
    assert!(matches!(too_large, Err(Error::Defect(_))));
}

#[test]
fn a_server_that_becomes_read_only_is_unavailable_until_it_accepts_writes_again() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    let set = |value: &str| {
        let sql = format!("ALTER DATABASE {} SET default_transaction_read_only = {value}", database.name);
        database.server.psql("postgres", &sql);
    };
    set("on");
    database.end_sessions();
    let outcome = writer.transaction(Mode::Durable, |connection| add(connection, 1, 1));
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("accepts no writes")), "{outcome:?}");
    set("off");
    let outcome = writer.transaction(Mode::Durable, |connection| {
        connection.as_postgres().batch("SET TRANSACTION READ ONLY")?;
        add(connection, 1, 1)
    });
    assert!(matches!(&outcome, Err(Error::Unavailable(why)) if why.contains("25006")), "{outcome:?}");
    writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    assert_eq!(database.values(), "1 0");
}

#[test]
fn a_writer_whose_registration_is_gone_registers_again() {
    let Some(database) = Database::create() else { return };
    let mut writer = database.writer();
    for removed in ["DELETE FROM engine_writers", "UPDATE engine_writers SET epoch = epoch + 1"] {
        database.psql(removed);
        writer.transaction(Mode::Durable, |connection| add(connection, 1, 1)).unwrap();
    }
    assert_eq!(database.values(), "2 0");
}
