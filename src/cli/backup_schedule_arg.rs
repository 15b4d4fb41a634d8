//! The flags of `serve` for scheduled backups.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::finding::Finding;
use crate::domain::backup::{EVERY, Keep};
use crate::domain::disk::UploadLimits;
use crate::domain::hr_delivery;
use crate::store::backup::Settings;

#[derive(Debug, Clone, Args)]
pub(super) struct BackupScheduleArg {
    /// The directory for backups of the file. A backup of appliance.db is named, for example,
    /// appliance-2026-11-23T020000Z.db. Each backup is checked before it counts. The service creates the directory when
    /// it starts, but not its parent. Use the directory for the backups of one file only, and put it on another disk if
    /// possible. Without this flag, the service makes no backups.
    #[arg(long, env = "APPLIANCE_BACKUP_DIR", value_name = "DIR")]
    backup_dir: Option<PathBuf>,

    /// The time between two backups, from 1m to 744h.
    #[arg(long, env = "APPLIANCE_BACKUP_EVERY", value_name = "DURATION", default_value = "24h", value_parser = parse_every)]
    backup_every: Duration,

    /// The backups to keep: a number, such as 7, for that many of the newest ones, or tiers such as
    /// daily=7,weekly=4,monthly=6 (the newest backup of each of the last 7 days, 4 weeks and 6 months that have one, in
    /// UTC). The service deletes only backups that it made itself.
    #[arg(long, env = "APPLIANCE_BACKUP_KEEP", value_name = "COUNTS", default_value = "7", value_parser = Keep::parse)]
    backup_keep: Keep,

    /// A program that runs after each backup, for example to copy the backup to another machine. The only argument of
    /// the program is the path of the backup. The service ends a program that is still running after 6 hours.
    #[arg(long, env = "APPLIANCE_BACKUP_HOOK", value_name = "COMMAND")]
    backup_hook: Option<PathBuf>,
}

impl BackupScheduleArg {
    /// Returns a finding if the hook would never run.
    pub(super) fn contradiction(&self) -> Option<Finding> {
        Finding::needs("backup-hook", self.backup_hook.is_some(), "backup-dir", self.backup_dir.is_some())
    }

    pub(super) fn directory(&self) -> Option<&Path> {
        self.backup_dir.as_deref()
    }

    pub(super) fn hook(&self) -> Option<&Path> {
        self.backup_hook.as_deref()
    }

    /// Returns the settings, or `None` if no backups are scheduled.
    pub(super) fn settings(self, room: UploadLimits) -> Option<Settings> {
        let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path);
        Some(Settings {
            directory: absolute(self.backup_dir?),
            every: self.backup_every,
            keep: self.backup_keep,
            hook: self.backup_hook,
            room,
        })
    }
}

fn parse_every(text: &str) -> Result<Duration, String> {
    hr_delivery::parse_duration(text, EVERY)
        .ok_or_else(|| "the time between two backups must be between 1m and 744h; for example, 24h".to_owned())
}
