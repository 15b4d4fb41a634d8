//! Counts that all servers of a database share. This module does not depend on the subject of any count.

use std::collections::BTreeMap;

use crate::domain::shared_count::StoredCount;

/// The identity of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountKey {
    /// The number of the count's kind.
    pub kind: u8,
    /// A keyed digest of the subject. It shows neither an email address nor a network address.
    pub digest: [u8; 32],
}

/// The counts of one act. A key without a count is absent.
pub type StoredCounts = BTreeMap<CountKey, StoredCount>;
