//! Log entries that wait in memory while the disk is full. Their requests have already been answered. `kill -9` loses
//! these entries. A normal shutdown writes them, with the space of the reserve if necessary. Entries that still cannot
//! be written are lost.

use std::collections::VecDeque;

use super::hooks::{Entry, Pending};

/// The maximum total number of bytes in the waiting entries, which is enough for about a hundred thousand requests.
/// A request is refused if its entry would make the total exceed this limit.
const BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// All waiting entries, oldest first.
pub(crate) struct PendingEntries<E> {
    entries: VecDeque<Pending<E>>,
    bytes: usize,
}

impl<E> Default for PendingEntries<E> {
    fn default() -> Self {
        Self { entries: VecDeque::new(), bytes: 0 }
    }
}

impl<E: Entry> PendingEntries<E> {
    /// Adds an entry. Returns false, and adds nothing, if the total would then exceed [`BYTES_MAX`].
    pub(crate) fn push(&mut self, entry: Pending<E>) -> bool {
        if self.bytes + entry.bytes() > BYTES_MAX {
            return false;
        }
        self.bytes += entry.bytes();
        self.entries.push_back(entry);
        true
    }

    /// Returns the oldest entries, at most `count_max`.
    pub(crate) fn first(&self, count_max: usize) -> impl ExactSizeIterator<Item = &Pending<E>> {
        self.entries.iter().take(count_max)
    }

    /// Removes the `count` oldest entries.
    pub(crate) fn remove_first(&mut self, count: usize) {
        for entry in self.entries.drain(..count.min(self.entries.len())) {
            self.bytes -= entry.bytes();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::timestamp::Timestamp;

    impl Entry for usize {
        fn bytes(&self) -> usize {
            *self
        }
    }

    fn pending(bytes: usize) -> Pending<usize> {
        Pending { at: Timestamp::from_micros(0), entry: bytes }
    }

    #[test]
    fn entries_wait_up_to_the_limit_and_make_room_when_they_are_removed() {
        let mut entries = PendingEntries::default();
        let count = (0..).take_while(|_| entries.push(pending(1_024 * 1_024))).count();
        assert_eq!((count, entries.first(3).len(), entries.len()), (15, 3, 15));
        entries.remove_first(1);
        assert!(entries.push(pending(1_024 * 1_024)) && !entries.push(pending(1_024 * 1_024)));
        entries.remove_first(100);
        assert!(entries.is_empty() && entries.bytes == 0);
    }
}
