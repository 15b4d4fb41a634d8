//! The file and its permissions, and those of its directory, its companions and the settings.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::report::{Report, Urgency};
use crate::store::file::{beside, parent, prepare_to_read};
use crate::store::{self, OpenError};
use crate::world::World;

/// The suffixes of the files that the service creates next to its database file.
const COMPANIONS: [&str; 5] = ["-wal", "-shm", ".lock", ".erased", ".reserve"];

/// The files from which the example unit and the packages take the settings.
const SETTINGS: [&str; 2] = ["/etc/appliance/appliance.toml", "/etc/appliance.env"];

/// The bits of a mode that give access to the group and to others, and those that let them write.
const OTHERS: u32 = 0o077;
const OTHERS_WRITE: u32 = 0o022;

/// The sticky bit: in a directory with this bit, only the owners of a file and of the directory can replace the file.
const STICKY: u32 = 0o1000;

const AREA: &str = "permissions";

/// Reports the problems of the file. Returns whether commands can read the file.
pub(super) fn examine(path: &Path, world: &dyn World, report: &mut Report) -> bool {
    let opened = prepare_to_read(path);
    // `prepare_to_read` may have created the files of the write-ahead log. If the log is empty, closing this connection
    // removes these files.
    let _ = store::read_unchanged(path, world, |_| Ok(()));
    let shown = path.display();
    match &opened {
        Ok(()) => {}
        Err(OpenError::Exposed { mode, .. }) => report.add(
            Urgency::Now,
            AREA,
            format!("{shown} is open to other users of this machine (mode {mode:04o}), so the service does not start"),
            format!("chmod 600 {shown}"),
        ),
        Err(error @ OpenError::Older { .. }) => {
            report.add(Urgency::Now, "file", error.to_string(), format!("appliance upgrade --check {shown}"));
        }
        Err(error @ OpenError::Missing(_)) => {
            report.add(Urgency::Now, "file", error.to_string(), format!("ls -l {}", parent(path).display()));
        }
        Err(error) => report.add(Urgency::Now, "file", error.to_string(), format!("appliance check --db {shown}")),
    }
    if let Ok(file) = std::fs::metadata(path) {
        examine_directory(path, &file, report);
        examine_companions(path, &file, report);
    }
    examine_settings(report);
    opened.is_ok()
}

fn examine_directory(path: &Path, file: &Metadata, report: &mut Report) {
    let directory = parent(path);
    let Ok(found) = std::fs::metadata(directory) else { return };
    let shown = directory.display();
    if found.mode() & OTHERS_WRITE != 0 && found.mode() & STICKY == 0 {
        report.add(
            Urgency::Now,
            AREA,
            format!("other users can replace the file, because they may write to {shown}"),
            format!("chmod go-w {shown}"),
        );
    }
    if !may_write(&found, file) {
        report.add(
            Urgency::Now,
            AREA,
            format!("the owner of the file cannot create files in {shown}, so the service cannot write"),
            format!("chown --reference={} {shown}", path.display()),
        );
    }
}

/// Returns whether the owner of the file may write to a directory.
pub(super) fn may_write(directory: &Metadata, file: &Metadata) -> bool {
    let bits = if directory.uid() == file.uid() {
        0o200
    } else if directory.gid() == file.gid() {
        0o020
    } else {
        0o002
    };
    file.uid() == 0 || directory.mode() & bits != 0
}

fn examine_companions(path: &Path, file: &Metadata, report: &mut Report) {
    for companion in COMPANIONS.map(|suffix| beside(path, suffix)) {
        let Ok(found) = std::fs::symlink_metadata(&companion) else { continue };
        let shown = companion.display();
        if found.mode() & OTHERS != 0 {
            report.add(
                Urgency::Now,
                AREA,
                format!("{shown} is open to other users of this machine"),
                format!("chmod 600 {shown}"),
            );
        }
        if found.uid() != file.uid() {
            report.add(
                Urgency::Now,
                AREA,
                format!("{shown} does not belong to the owner of the file, so the service cannot write to it"),
                format!("chown --reference={} {shown}", path.display()),
            );
        }
    }
}

fn examine_settings(report: &mut Report) {
    let named = std::env::var_os("APPLIANCE_SETTINGS").map(PathBuf::from);
    for settings in named.into_iter().chain(SETTINGS.map(PathBuf::from)) {
        let Ok(found) = std::fs::metadata(&settings) else { continue };
        if found.mode() & OTHERS_WRITE != 0 {
            let shown = settings.display();
            report.add(
                Urgency::Now,
                AREA,
                format!("users other than the owner can change the settings in {shown}"),
                format!("chmod go-w {shown}"),
            );
        }
    }
}
