//! The clock: whether it agrees with the newest times in the file, and whether the machine synchronizes it.

use std::process::{Command, Stdio};
use std::time::Duration;

use super::patient::Patient;
use super::report::{Report, Urgency};
use crate::domain::clock::TOLERANCE;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Error, Tx};

/// The maximum age of the newest heartbeat. A running service writes its believed time every five minutes (a
/// heartbeat). If the newest heartbeat is older than this maximum, the believed time is behind the clock.
const HEARTBEAT_AGE_MAX: Duration = Duration::from_secs(15 * 60);

const AREA: &str = "clock";

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    if patient.is_readable {
        match store::read_unchanged(&patient.path, patient.world, times) {
            Ok((heartbeat, newest)) => compare(patient, heartbeat, newest, report),
            Err(error) => report.skip(format!("the times in the file: {error}")),
        }
    }
    match is_synchronized() {
        Some(true) => {}
        Some(false) => {
            report.add(Urgency::Soon, AREA, "the machine does not synchronize its clock", "timedatectl set-ntp true");
        }
        None => report.skip("time synchronization, because timedatectl does not report it"),
    }
}

fn times(tx: &Tx<'_>) -> Result<(Option<Timestamp>, Option<Timestamp>), Error> {
    Ok((store::clock::last_heartbeat(tx)?, store::activity::newest_at(tx)?))
}

fn compare(patient: &Patient<'_>, heartbeat: Option<Timestamp>, newest: Option<Timestamp>, report: &mut Report) {
    let now = patient.world.now();
    let last = heartbeat.max(newest);
    if let Some(last) = last.filter(|last| *last > now.plus(TOLERANCE)) {
        report.add(
            Urgency::Now,
            AREA,
            format!("the clock shows {now}, but the file has times up to {last}"),
            "timedatectl set-ntp true",
        );
    } else if let Some(believed) = heartbeat.filter(|at| patient.is_running && now > at.plus(HEARTBEAT_AGE_MAX)) {
        report.add(
            Urgency::Now,
            AREA,
            format!(
                "the service does not believe the clock: the clock shows {now}, and the believed time is {believed}"
            ),
            "timedatectl status",
        );
    }
}

/// Returns whether the machine synchronizes its clock, or `None` if timedatectl does not report it.
fn is_synchronized() -> Option<bool> {
    let arguments = ["show", "--property=NTPSynchronized", "--value"];
    let output =
        Command::new("timedatectl").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    match output.stdout.trim_ascii() {
        b"yes" => Some(true),
        b"no" => Some(false),
        _ => None,
    }
}
