//! The clock job of the store. It records expired keys and deletes ended sessions, so that no key or session becomes
//! valid again if the clock is set back. The job also logs when the clock jumps, when an admin confirms the time, and
//! when the clock is believed again.

use std::sync::Arc;

use super::{api_key, session};
use crate::db::clock::{self, Clock, ClockEvent};
use crate::db::job::Grade;
use crate::db::job_reader::JobReader;
use crate::db::scheduler::Step;
use crate::db::service_log::ServiceLog;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::clock::ClockReading;
use crate::domain::text::counted;
use crate::domain::timestamp::Timestamp;

/// Prepares the clock job, which compares the system clock with the believed clock.
pub(super) fn job_step(reader: JobReader, clock: Arc<Clock>, writer: Arc<Writer>, log: Arc<ServiceLog>) -> Step {
    let sweep_reader = reader.clone();
    let sweep_writer = Arc::clone(&writer);
    let sweep = move |now| record_ends(&sweep_reader, &sweep_writer, now);
    clock::job_step(reader, clock, writer, move |event| log.write(describe(&event)), sweep)
}

fn record_ends(reader: &JobReader, writer: &Writer, now: Timestamp) -> Result<(), Error> {
    let has_ended = |tx: &Tx<'_>| Ok(api_key::any_has_unrecorded_expiry(tx)? || session::any_has_ended(tx)?);
    if !reader.snapshot(now, has_ended)? {
        return Ok(());
    }
    writer.run_as(Grade::Durable, |tx| {
        api_key::record_expiry(tx, None)?;
        session::delete_ended(tx, None)
    })
}

fn describe(event: &ClockEvent) -> String {
    match event {
        ClockEvent::Confirmed(wall) => format!("an admin has confirmed the clock, which shows {wall}"),
        ClockEvent::Agreement(reading) => describe_agreement(reading),
    }
}

fn describe_agreement(reading: &ClockReading) -> String {
    let ClockReading { wall, believed, .. } = reading;
    if reading.agrees() {
        return format!("the clock is believed again: it shows {wall}");
    }
    let hours = counted(reading.wait().as_secs().div_ceil(3_600), "hour");
    format!(
        "the clock shows {wall}, but {believed} was expected; retention waits for {hours} of uptime, or \
         until an admin confirms the time (POST /api/admin/organizations/{{id}}/retention/confirm)"
    )
}
