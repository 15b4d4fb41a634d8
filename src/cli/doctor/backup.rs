//! The scheduled backups: whether there are any, how old the newest one is, whether a copy failed its check, and
//! whether their directory is usable.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use super::file::may_write;
use super::patient::Patient;
use super::report::{Report, Urgency};
use crate::domain::backup::age_in_words;
use crate::domain::timestamp::Timestamp;
use crate::store::backup::{self, Settings};

const AREA: &str = "backups";

const MICROS_PER_SECOND: i64 = 1_000_000;

pub(super) fn examine(patient: &Patient<'_>, report: &mut Report) {
    let Some(settings) = patient.args.backups.clone().settings(patient.limits) else {
        return report.add(
            Urgency::Soon,
            AREA,
            "the service makes no backups; set --backup-dir, or run a backup each night",
            format!("appliance backup --db {} TARGET", patient.path.display()),
        );
    };
    let shown = settings.directory.display();
    match backup::list(&settings.directory, &patient.path) {
        Ok(backups) => {
            let newest = backups.last().map(|(at, _)| *at);
            examine_age(patient, &settings, newest.map(|at| patient.world.now().since(at)), report);
            examine_directory(patient, &settings, report);
            examine_unsound(patient, &settings, newest, report);
        }
        Err(error) => report.add(
            Urgency::Now,
            AREA,
            format!("the directory {shown} cannot be read: {error}"),
            format!("install -d -m 0700 {shown} && chown --reference={} {shown}", patient.path.display()),
        ),
    }
}

/// Reports a copy that failed its check. If a newer backup is sound, the operator only has to delete the copy.
fn examine_unsound(patient: &Patient<'_>, settings: &Settings, newest: Option<Timestamp>, report: &mut Report) {
    let Some(unsound) = backup::unsound(&settings.directory, &patient.path) else { return };
    let shown = unsound.display();
    let failed_at = std::fs::metadata(&unsound).map_or(i64::MAX, |metadata| metadata.mtime());
    if newest.is_some_and(|at| at.micros() / MICROS_PER_SECOND > failed_at) {
        let problem = format!("{shown} failed its check, but a newer backup is sound");
        return report.add(Urgency::Soon, AREA, problem, format!("rm {shown}"));
    }
    report.add(
        Urgency::Now,
        AREA,
        format!("{shown} failed its check, so the file may be damaged"),
        format!("appliance check --db {}", patient.path.display()),
    );
}

fn examine_age(patient: &Patient<'_>, settings: &Settings, age: Option<Duration>, report: &mut Report) {
    let shown = settings.directory.display();
    match age {
        Some(age) if age > settings.every.saturating_mul(2) => report.add(
            Urgency::Now,
            AREA,
            format!("the newest backup in {shown} is {} old", age_in_words(age)),
            "journalctl -u appliance --grep backup --since -2d",
        ),
        Some(_) => {}
        None if patient.is_running => report.add(
            Urgency::Soon,
            AREA,
            format!("there is no checked backup in {shown} yet"),
            "journalctl -u appliance --grep backup --since -2d",
        ),
        None => report.add(
            Urgency::Soon,
            AREA,
            format!("there is no checked backup in {shown} yet; the service makes the first one when it starts"),
            "systemctl start appliance",
        ),
    }
}

fn examine_directory(patient: &Patient<'_>, settings: &Settings, report: &mut Report) {
    let shown = settings.directory.display();
    let (Ok(directory), Ok(file)) = (std::fs::metadata(&settings.directory), std::fs::metadata(&patient.path)) else {
        return;
    };
    if !may_write(&directory, &file) {
        report.add(
            Urgency::Now,
            AREA,
            format!("the owner of the file cannot create backups in {shown}"),
            format!("chown --reference={} {shown}", patient.path.display()),
        );
    }
    if !has_room(patient, &settings.directory, file.len()) {
        report.add(
            Urgency::Now,
            AREA,
            format!("the disk of {shown} has no room for a backup"),
            format!("du -h {shown}"),
        );
    }
    if directory.dev() == file.dev() && settings.hook.is_none() {
        report.add(
            Urgency::Soon,
            AREA,
            format!(
                "{shown} is on the disk of the file, so a disk failure destroys both; use another disk or --backup-hook"
            ),
            format!("df {} {shown}", patient.path.display()),
        );
    }
}

fn has_room(patient: &Patient<'_>, directory: &Path, bytes: u64) -> bool {
    patient.limits.has_free_space(patient.world.disk(directory), bytes)
}
