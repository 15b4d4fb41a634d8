//! The number of rounds in tests of races, kills and volumes: small by default, large with
//! `APPLIANCE_TEST_ROUNDS=long`.
//!
//! With short runs, `cargo test` ends within minutes and still finds most faults. Do long runs before and after you
//! change transactions, the writer or shutdown. The variable is read when the tests are compiled, so that the number of
//! rounds can be a constant. If the variable changes, Cargo compiles the tests again.

/// Returns `long` in a long run, and `short` otherwise.
pub(crate) const fn rounds(short: usize, long: usize) -> usize {
    match option_env!("APPLIANCE_TEST_ROUNDS") {
        Some(value) if matches!(value.as_bytes(), b"long") => long,
        _ => short,
    }
}
