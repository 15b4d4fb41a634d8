//! Bounds the size of tables whose keys strangers choose.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// The maximum number of entries in a table. Normally, fewer entries than this arrive in an hour. A full table uses
/// only a few megabytes of memory.
pub(super) const ENTRIES_MAX: usize = 50_000;

/// The minimum number of unexpired entries that are evicted together from a full table, oldest first.
pub(super) const EVICTED_AT_ONCE: usize = 5_000;

/// Makes room for an entry in a full table: evicts the expired entries and, if the table is still full, the oldest
/// ones.
pub(super) fn make_room<K: Hash + Eq, V>(
    table: &mut HashMap<K, V>,
    key: &K,
    is_expired: impl Fn(&V) -> bool,
    time: impl Fn(&V) -> Duration,
) {
    if table.len() < ENTRIES_MAX || table.contains_key(key) {
        return;
    }
    table.retain(|_, value| !is_expired(value));
    if table.len() >= ENTRIES_MAX {
        let mut times: Vec<Duration> = table.values().map(&time).collect();
        let (_, newest_evicted, _) = times.select_nth_unstable(EVICTED_AT_ONCE - 1);
        let newest_evicted = *newest_evicted;
        table.retain(|_, value| time(value) > newest_evicted);
    }
}
