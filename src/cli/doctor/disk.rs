//! The disk: free space, the growth of the file, the size of the write-ahead log, and old copies of the file.

use std::path::Path;

use super::patient::Patient;
use super::report::{Report, Urgency};
use crate::domain::disk::DiskSpace;
use crate::domain::text::counted;
use crate::store::backup;
use crate::store::file::{beside, parent};

/// The command reports a disk that will be full in fewer days than this.
const DAYS_LEFT_MIN: f64 = 30.0;

/// The growth of the file is estimated from backups that are at least this many days apart.
const DAYS_OBSERVED_MIN: f64 = 1.0;

/// The size above which the command reports the write-ahead log: twice the size to which the service truncates the log
/// while no reader needs it.
const LOG_BYTES_MAX: u64 = 128 << 20;

/// The parts of names that mark the old files that a restore or an upgrade leaves behind.
const LEFTOVERS: [&str; 2] = [".before-restore-", ".before-version-"];

const MICROS_PER_DAY: f64 = 86_400e6;

const AREA: &str = "disk";

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    let directory = parent(&patient.path);
    match patient.world.disk(directory) {
        None => report.skip("free space, because the system does not report it"),
        Some(disk) if !patient.limits.has_free_space(Some(disk), 0) => report.add(
            Urgency::Now,
            AREA,
            format!(
                "only {} is free, so the service refuses uploads, and makes no backups on this disk",
                shown_size(disk.free_bytes)
            ),
            format!("du -xh --max-depth=1 {}", directory.display()),
        ),
        Some(disk) => examine_growth(patient, disk, report),
    }
    let log = std::fs::metadata(beside(&patient.path, "-wal")).map_or(0, |log| log.len());
    if log > LOG_BYTES_MAX {
        report.add(
            Urgency::Soon,
            AREA,
            format!(
                "the write-ahead log has grown to {}, so a program is holding a read transaction open",
                shown_size(log)
            ),
            format!("fuser -v {}", patient.path.display()),
        );
    }
    examine_leftovers(&patient.path, report);
}

/// Estimates when the disk will be full, from the sizes of the backups.
fn examine_growth(patient: &Patient<'_>, disk: DiskSpace, report: &mut Report) {
    let Some(settings) = patient.args.backups.clone().settings(patient.limits) else { return };
    let backups = backup::list(&settings.directory, &patient.path).unwrap_or_default();
    let (Some((first, first_bytes)), Some((last, last_bytes))) = (backups.first(), backups.last()) else { return };
    let days = last.since(*first).as_micros() as f64 / MICROS_PER_DAY;
    if days < DAYS_OBSERVED_MIN || last_bytes <= first_bytes {
        return;
    }
    let bytes_per_day = (last_bytes - first_bytes) as f64 / days;
    let days_left = disk.free_bytes as f64 / bytes_per_day;
    if days_left < DAYS_LEFT_MIN {
        report.add(
            Urgency::Soon,
            AREA,
            format!(
                "the file grows by {} a day, so the disk will be full in {}",
                shown_size(bytes_per_day as u64),
                shown_days(days_left)
            ),
            format!("df -h {}", parent(&patient.path).display()),
        );
    }
}

fn examine_leftovers(path: &Path, report: &mut Report) {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let Ok(entries) = parent(path).read_dir() else { return };
    let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    names.sort();
    let is_leftover = |other: &str| {
        let rest = other.strip_prefix(&name).unwrap_or_default();
        let is_log = ["-wal", "-shm", "-journal"].iter().any(|suffix| rest.ends_with(suffix));
        !is_log && LEFTOVERS.iter().any(|word| rest.starts_with(word))
    };
    for leftover in names.iter().filter(|other| is_leftover(other)) {
        let leftover = parent(path).join(leftover);
        let bytes = std::fs::metadata(&leftover).map_or(0, |found| found.len());
        report.add(
            Urgency::Soon,
            AREA,
            format!("{} is an old copy with personal data ({})", leftover.display(), shown_size(bytes)),
            format!("rm {}", leftover.display()),
        );
    }
}

/// Returns a number of days in words: whole days, or "less than a day".
fn shown_days(days: f64) -> String {
    if days < 1.0 { "less than a day".to_owned() } else { counted(days.round() as u64, "day") }
}

/// Returns a size in MB, or in GB from 1 GB.
fn shown_size(bytes: u64) -> String {
    if bytes < 1_000_000_000 {
        format!("{:.1} MB", bytes as f64 / 1e6)
    } else {
        format!("{:.1} GB", bytes as f64 / 1e9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_in_whole_days_or_as_less_than_a_day() {
        for (days, expected) in [
            (0.0, "less than a day"),
            (0.99, "less than a day"),
            (1.0, "1 day"),
            (1.4, "1 day"),
            (1.6, "2 days"),
            (29.9, "30 days"),
        ] {
            assert_eq!(shown_days(days), expected, "{days}");
        }
    }
}
