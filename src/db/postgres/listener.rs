//! Notifications from other servers that cached state has changed. They are hints: a notification may be lost with the
//! connection, so cached state is also compared with change numbers.

use std::time::Duration;

use super::connection::Connection;
use super::settings::{self, Use};
use super::target::Target;
use crate::db::error::Error;

/// The channel of all hints.
const CHANNEL: &str = "appliance_changes";

/// A connection that receives notifications.
pub(crate) struct Listener(Connection);

impl Listener {
    pub(crate) fn open(target: &Target) -> Result<Self, Error> {
        let connection = settings::reopen(target, Use::Idle)?;
        connection.batch(&format!("LISTEN {CHANNEL}"))?;
        Ok(Self(connection))
    }

    /// Waits for a hint. Returns whether there was one. Several hints in a row count as one.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the connection is gone. The caller must then assume that everything has changed.
    pub(crate) fn wait(&self, time: Duration) -> Result<bool, Error> {
        let mut is_hinted = self.0.notification(time)?.is_some();
        while is_hinted && self.0.notification(Duration::ZERO)?.is_some() {
            is_hinted = true;
        }
        Ok(is_hinted)
    }

    /// Gives the other servers a hint when the transaction is committed.
    pub(crate) fn notify(transaction: &Connection) -> Result<(), Error> {
        transaction.batch(&format!("NOTIFY {CHANNEL}"))
    }
}
