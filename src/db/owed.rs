//! Rows of the usage log that are owed: while the disk is full, requests that only read are answered, and their rows wait in
//! memory. A kill loses them; a stop writes them with the space of the reserve.

use std::collections::VecDeque;

use crate::domain::timestamp::Timestamp;
use crate::store::usage::LogEntry;

/// Bytes of rows that may be owed: some hundred thousand requests. Further requests are refused.
const BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// A row that is owed.
pub(crate) struct OwedRow {
    /// The time of its request.
    pub(crate) at: Timestamp,
    pub(crate) entry: LogEntry,
}

impl OwedRow {
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.entry.path.len() + self.entry.user_agent.len()
    }
}

/// All rows that are owed, oldest first.
#[derive(Default)]
pub(crate) struct OwedRows {
    rows: VecDeque<OwedRow>,
    bytes: usize,
}

impl OwedRows {
    /// Adds a row. Whether there was room for it.
    pub(crate) fn push(&mut self, row: OwedRow) -> bool {
        if self.bytes + row.bytes() > BYTES_MAX {
            return false;
        }
        self.bytes += row.bytes();
        self.rows.push_back(row);
        true
    }

    /// The oldest rows, so many at most.
    pub(crate) fn first(&self, rows_max: usize) -> impl ExactSizeIterator<Item = &OwedRow> {
        self.rows.iter().take(rows_max)
    }

    /// Removes the oldest rows.
    pub(crate) fn remove_first(&mut self, rows: usize) {
        for row in self.rows.drain(..rows.min(self.rows.len())) {
            self.bytes -= row.bytes();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(path: &str) -> OwedRow {
        let ip = std::net::IpAddr::from([192, 0, 2, 1]);
        let (method, path, user_agent) = ("GET".into(), path.to_owned().into(), String::new());
        let entry = LogEntry { key_number: 1, method, path, ip, user_agent, auth_endpoint: "/" };
        OwedRow { at: Timestamp::from_micros(0), entry }
    }

    #[test]
    fn rows_are_owed_up_to_a_bound_and_make_room_when_they_are_paid() {
        let mut owed = OwedRows::default();
        let long = "x".repeat(1_024 * 1_024);
        let count = (0..).take_while(|_| owed.push(row(&long))).count();
        assert!((15..=16).contains(&count), "{count}");
        assert_eq!((owed.first(3).len(), owed.len()), (3, count));
        owed.remove_first(1);
        assert!(owed.push(row(&long)) && !owed.push(row(&long)));
        owed.remove_first(100);
        assert!(owed.is_empty() && owed.bytes == 0);
    }
}
