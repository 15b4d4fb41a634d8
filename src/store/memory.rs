//! What memory keeps of the file: which portals have changed, and the keys that called. It follows what the service itself
//! commits at once, and what another process does by a look every 100 ms.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::api_key::cache::KeyCache;
use super::change::{self, Changed, Portals};
use super::usage::indexing::UnindexedRows;
use crate::db::connection::{self, Use};
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error};
use crate::domain::timestamp::Timestamp;

/// How often the file is looked at for what other processes change: half of what is promised for portals.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What memory keeps.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) portals: Portals,
    pub(crate) keys: KeyCache,
    pub(crate) unindexed: Arc<UnindexedRows>,
}

impl Memory {
    /// From here on it knows of every change.
    pub(crate) fn learn(&self, changed: Changed) {
        self.keys.invalidate(changed.credentials);
        self.portals.learn(changed.portals);
    }
}

/// Starts the thread that looks. What changed before is no news to a memory that is empty.
pub(crate) fn follow(path: &Path, memory: Arc<Memory>) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    memory.portals.begin(tx::snapshot(&connection, Timestamp::from_micros(0), change::portals)?);
    let look = move || {
        let after = memory.portals.newest();
        // What cannot be read now is looked at again; whoever needs the file learns of it by themselves.
        if let Ok(changed) = tx::snapshot(&connection, Timestamp::from_micros(0), |tx| change::read(tx, after)) {
            memory.learn(changed);
        }
    };
    Periodic::start("changes", LOOK_EVERY, look)
}
