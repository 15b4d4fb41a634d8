//! The number of rounds of races, kills and volumes: short by default, long with `APPLIANCE_TEST_ROUNDS=long`.
//!
//! A short round keeps `cargo test` within minutes and still catches most faults. Run the long ones before a change of transactions, the writer or shutdown.
//! The variable is read when the tests are compiled, so that rounds can be constants; Cargo compiles them again if it changes.

/// Chooses between the two numbers.
pub(crate) const fn rounds(short: usize, long: usize) -> usize {
    match option_env!("APPLIANCE_TEST_ROUNDS") {
        Some(value) if matches!(value.as_bytes(), b"long") => long,
        _ => short,
    }
}
