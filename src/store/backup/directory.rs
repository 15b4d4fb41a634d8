//! The directory of scheduled backups. This module finds and deletes the backups of this service there. Apart from its
//! backups, the service deletes or replaces only the remains of killed backups and deletions, and the previous copy
//! that failed its check.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::manifest::Scheduled;
use crate::db::sqlite::file::backup::{remove_partial, target_of_partial, write_companion};
use crate::db::sqlite::path::{beside, sync_name};
use crate::domain::backup;
use crate::domain::timestamp::Timestamp;

/// The files next to a backup, in the order in which they are deleted. The manifest is last, so that the remains of a
/// killed deletion are recognized.
const COMPANIONS: [&str; 2] = [".erased", MANIFEST];
const MANIFEST: &str = ".manifest";

/// The maximum number of names that are tried for a new backup, one for each second.
const NAMES_MAX: u32 = 1_000;

/// A scheduled backup whose size agrees with its manifest. The service checked the copy before it became a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found {
    /// The time in the backup's name.
    pub(super) at: Timestamp,
    pub(super) bytes: u64,
}

/// The backups of one database file in one directory.
#[derive(Debug, Clone)]
pub(super) struct Directory {
    path: PathBuf,
    /// The beginning of the names of the backups: the name of the database file without its extension.
    stem: String,
    /// The path of the database file, as manifests name it.
    file: String,
}

impl Directory {
    pub(super) fn new(path: &Path, file: &Path) -> Self {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self { path: path.to_owned(), stem, file: file.to_string_lossy().into_owned() }
    }

    /// Creates the directory, with access only for its owner, if it does not exist. Its parent must exist.
    pub(super) fn create(&self) -> Result<()> {
        match std::fs::DirBuilder::new().mode(0o700).create(&self.path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            created => created,
        }
    }

    /// Returns the checked backups, oldest first.
    pub(super) fn list(&self) -> Result<Vec<Found>> {
        let names = self.names()?;
        let mut found: Vec<Found> = names.iter().filter_map(|name| self.found(name)).collect();
        found.sort();
        Ok(found)
    }

    fn found(&self, name: &str) -> Option<Found> {
        let at = backup::parse_name(&self.stem, name)?;
        let metadata = std::fs::symlink_metadata(self.path.join(name)).ok()?;
        let manifest = self.manifest(name)?;
        (metadata.is_file() && metadata.len() == manifest.bytes).then_some(Found { at, bytes: manifest.bytes })
    }

    /// Reads the manifest of a backup. Returns `None` unless it is the manifest of a scheduled backup of this file.
    fn manifest(&self, name: &str) -> Option<Scheduled> {
        let text = std::fs::read_to_string(beside(&self.path.join(name), MANIFEST)).ok()?;
        Scheduled::parse(&text).filter(|manifest| manifest.scheduled_for == self.file)
    }

    /// Returns the facts for the manifest of a new backup of this size.
    pub(super) fn new_manifest(&self, bytes: u64) -> Scheduled {
        Scheduled { scheduled_for: self.file.clone(), bytes }
    }

    /// Returns a free path for a backup. The name shows this time or, if names are taken, a time some seconds later.
    pub(super) fn free_path(&self, at: Timestamp) -> Result<PathBuf> {
        let paths = (0..NAMES_MAX).map(|second| self.path_of(at.plus(Duration::from_secs(second.into()))));
        let is_free = |path: &PathBuf| match std::fs::symlink_metadata(path) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
            Err(error) => Err(error),
        };
        for path in paths {
            if is_free(&path)? && is_free(&beside(&path, MANIFEST))? {
                return Ok(path);
            }
        }
        Err(Error::new(ErrorKind::AlreadyExists, format!("{NAMES_MAX} names in a row are taken")))
    }

    pub(super) fn path_of(&self, at: Timestamp) -> PathBuf {
        self.path.join(backup::name(&self.stem, at))
    }

    /// Deletes a backup that [`Directory::list`] returned, with its companions.
    pub(super) fn delete(&self, at: Timestamp) -> Result<()> {
        let path = self.path_of(at);
        std::fs::remove_file(&path)?;
        self.delete_companions(&path)
    }

    pub(super) fn delete_companions(&self, path: &Path) -> Result<()> {
        for suffix in COMPANIONS {
            match std::fs::remove_file(beside(path, suffix)) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        sync_name(path)
    }

    /// Returns the path of the newest copy that failed its check.
    pub(super) fn unsound(&self) -> PathBuf {
        self.path.join(format!("{}-unsound.db", self.stem))
    }

    /// Saves a copy that failed its check, with its erasure list, and replaces the previous copy that failed. Returns
    /// the new path.
    pub(super) fn set_aside(&self, partial: &Path, list: Option<&[u8]>) -> Result<PathBuf> {
        let aside = self.unsound();
        let list_path = beside(&aside, COMPANIONS[0]);
        match list {
            Some(lines) => write_companion(&list_path, lines)?,
            None => match std::fs::remove_file(&list_path) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
                _ => {}
            },
        }
        std::fs::rename(partial, &aside)?;
        sync_name(&aside)?;
        Ok(aside)
    }

    /// Removes the remains of backups and deletions that were killed midway. The remains are partial files of scheduled
    /// backups and of their companions, and the companions of a missing scheduled backup whose manifest still exists.
    pub(super) fn remove_remains(&self) -> Result<()> {
        let names = self.names()?;
        let is_ours = |name: &str| backup::parse_name(&self.stem, name).is_some();
        for name in &names {
            let partial = target_of_partial(name);
            let of_backup = |target: &str| {
                let suffix = COMPANIONS.into_iter().find_map(|suffix| target.strip_suffix(suffix));
                is_ours(suffix.unwrap_or(target))
            };
            if let Some(target) = partial.filter(|target| of_backup(target)) {
                remove_partial(&self.path.join(target));
            }
            let Some(backup) = name.strip_suffix(MANIFEST).filter(|backup| is_ours(backup)) else { continue };
            if !names.iter().any(|name| name == backup) && self.manifest(backup).is_some() {
                self.delete_companions(&self.path.join(backup))?;
            }
        }
        Ok(())
    }

    fn names(&self) -> Result<Vec<String>> {
        let names = std::fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
        Ok(names.collect::<Result<Vec<_>>>()?.into_iter().flatten().collect())
    }
}
