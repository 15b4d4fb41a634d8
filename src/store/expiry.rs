//! The ends of keys and sessions that have come are written, so that they stay where the clock goes back. And the sentences
//! for the log about the clock.

use std::path::Path;
use std::sync::Arc;

use super::{api_key, session};
use crate::db::clock::{self, Clock, ClockEvent};
use crate::db::connection::{self, Use};
use crate::db::health::Health;
use crate::db::job::Grade;
use crate::db::notice::Notices;
use crate::db::row::Connection;
use crate::db::thread::Periodic;
use crate::db::tx::{self, Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::ClockReading;
use crate::domain::timestamp::Timestamp;

/// Starts the thread that reads the clocks.
pub(super) fn start(
    path: &Path,
    clock: Arc<Clock>,
    writer: Arc<Writer>,
    notices: Arc<Notices>,
    health: &Arc<Health>,
) -> Result<Periodic, Error> {
    let connection = connection::open(path, Use::Read)?;
    let ours = Arc::clone(&writer);
    let sweep = move |now| write_ends(&connection, &ours, now);
    clock::start(path, clock, writer, health, move |event| notices.say(sentence(&event)), sweep)
}

fn write_ends(connection: &Connection, writer: &Writer, now: Timestamp) -> Result<(), Error> {
    let has_ended = |tx: &Tx<'_>| Ok(api_key::any_has_unrecorded_expiry(tx)? || session::any_has_ended(tx)?);
    if !tx::snapshot(connection, now, has_ended)? {
        return Ok(());
    }
    writer.run_as(Grade::Durable, |tx| {
        api_key::record_expiry(tx, None)?;
        session::delete_ended(tx, None)
    })
}

fn sentence(event: &ClockEvent) -> String {
    match event {
        ClockEvent::Confirmed(wall) => format!("an admin has confirmed the clock: it is {wall}"),
        ClockEvent::Agreement(reading) => agreement(reading),
    }
}

fn agreement(reading: &ClockReading) -> String {
    let ClockReading { wall, believed, .. } = reading;
    if reading.agrees() {
        return format!("the clock is believed again: it is {wall}");
    }
    let hours = reading.wait().as_secs().div_ceil(3_600);
    format!(
        "the clock says {wall} where {believed} was expected; retention waits for {hours} hours of uptime, or until an admin \
         confirms the time (POST /api/admin/organizations/{{id}}/retention/confirm)"
    )
}
