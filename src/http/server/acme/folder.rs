//! The folder `FILE.acme` next to the database: the account, the certificate with its key, and the state of orders.
//!
//! Each file is written under another name and renamed, so a process that is killed leaves the old or the new file. The
//! certificate and its key are one file, so they always belong together. The lock of the database file protects the
//! folder too, so only one service writes to it.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read as _, Seek as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::state::State;
use crate::store::file::beside;

const CERTIFICATE: &str = "certificate.pem";
const STATE: &str = "state.json";

/// The maximum size of a file: a hundred times as much as a chain of four certificates needs.
const FILE_BYTES_MAX: u64 = 1_024 * 1_024;

/// The space that is reserved before an order: more than a key and a chain of four certificates need. The service
/// therefore detects a full disk before the authority issues a certificate.
const CERTIFICATE_BYTES: usize = 32 * 1_024;

/// The permissions of the group and of others.
const OTHERS: u32 = 0o077;

/// The folder of a database file. The folder might not exist.
#[derive(Debug, Clone)]
pub struct AcmeFolder(PathBuf);

impl AcmeFolder {
    /// Returns the folder of the database file with this path.
    pub fn of(db: &Path) -> Self {
        Self(beside(db, ".acme"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Returns the path of the file with the certificate and its key.
    pub fn certificate_path(&self) -> PathBuf {
        self.0.join(CERTIFICATE)
    }

    /// Creates the folder if it does not exist, and checks it.
    ///
    /// # Errors
    /// A sentence for operators, with a remedy if one is known.
    pub fn create(&self) -> Result<(), String> {
        match DirBuilder::new().mode(0o700).create(&self.0) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                let shown = self.0.display();
                Err(format!(
                    "the folder {shown} for the certificate cannot be created: {error}; let the user of the \
                             service write to the folder above it"
                ))
            }
            _ => self.check(),
        }
    }

    /// Checks the folder, if it exists.
    ///
    /// # Errors
    /// A sentence for operators if the folder cannot be used, if it is open to other users, or if something else has
    /// its name.
    pub fn check(&self) -> Result<(), String> {
        let shown = self.0.display();
        match fs::symlink_metadata(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(format!("the folder {shown} for the certificate cannot be used: {error}")),
            Ok(found) if !found.is_dir() => {
                Err(format!("{shown} must be the folder for the certificate, but it is not a folder; move it away"))
            }
            Ok(found) if found.mode() & OTHERS != 0 => Err(format!(
                "the folder {shown} is open to other users of this machine; correct it with: chmod 700 {shown}"
            )),
            Ok(_) => Ok(()),
        }
    }

    /// Returns the content of the file with the certificate and its key, or `None` if the file does not exist.
    pub(in crate::http::server) fn read_certificate(&self) -> io::Result<Option<Vec<u8>>> {
        self.read(CERTIFICATE)
    }

    /// Moves an unusable certificate aside, so that a person can examine it. Replaces a certificate that was moved
    /// aside before.
    pub(super) fn set_certificate_aside(&self) -> io::Result<PathBuf> {
        let aside = self.0.join("certificate.pem.broken");
        fs::rename(self.certificate_path(), &aside)?;
        Ok(aside)
    }

    /// Returns the state of orders. A state that cannot be read counts as empty.
    pub(super) fn state(&self) -> State {
        let bytes = self.read(STATE).ok().flatten().unwrap_or_default();
        serde_json::from_slice(&bytes).unwrap_or_default()
    }

    pub(super) fn write_state(&self, state: &State) -> io::Result<()> {
        self.write(STATE, &serde_json::to_vec_pretty(state)?)
    }

    /// Returns the reason why the last attempt failed, if it failed.
    pub fn last_failure(&self) -> Option<String> {
        self.state().last_failure
    }

    /// Reserves disk space for a certificate and its key.
    pub(super) fn reserve_certificate(&self) -> io::Result<Reserved> {
        let path = self.0.join("certificate.pem.partial");
        let mut file = create(&path)?;
        file.write_all(&[0; CERTIFICATE_BYTES])?;
        file.sync_all()?;
        Ok(Reserved { file, path, target: self.certificate_path() })
    }

    /// Returns the content of a file in the folder, or `None` if the file does not exist.
    pub(super) fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.0.join(name)) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let mut bytes = Vec::new();
        file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > FILE_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "the file is larger than 1 MiB"));
        }
        Ok(Some(bytes))
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let partial = self.0.join(format!("{name}.partial"));
        let mut file = create(&partial)?;
        file.write_all(bytes)?;
        give_name(&file, &partial, &self.0.join(name))
    }
}

/// The reserved disk space for a certificate and its key.
pub(super) struct Reserved {
    file: File,
    path: PathBuf,
    target: PathBuf,
}

impl Reserved {
    /// Writes a certificate with its key into the space, and gives the file its final name.
    pub(super) fn fill(mut self, pem: &[u8]) -> io::Result<()> {
        self.file.rewind()?;
        self.file.write_all(pem)?;
        self.file.set_len(pem.len() as u64)?;
        give_name(&self.file, &self.path, &self.target)
    }

    /// Frees the space.
    pub(super) fn release(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Creates a file. Removes a file of this name first, because a killed process may have left one.
fn create(path: &Path) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Gives a complete file its name. The content and the name then survive a power cut.
fn give_name(file: &File, partial: &Path, target: &Path) -> io::Result<()> {
    file.sync_all()?;
    fs::rename(partial, target)?;
    match target.parent() {
        Some(folder) => File::open(folder)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn folder() -> (tempfile::TempDir, AcmeFolder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = AcmeFolder::of(&dir.path().join("a.db"));
        folder.create().unwrap();
        (dir, folder)
    }

    #[test]
    fn only_the_owner_can_access_the_folder_and_its_files() {
        let (_dir, folder) = folder();
        folder.write_state(&State::default()).unwrap();
        folder.reserve_certificate().unwrap().fill(b"pem").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(folder.path()), 0o700);
        for name in [STATE, CERTIFICATE] {
            assert_eq!(mode(&folder.path().join(name)), 0o600, "{name}");
        }
        assert_eq!(folder.read_certificate().unwrap().as_deref(), Some(&b"pem"[..]));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o750)).unwrap();
        assert!(folder.create().unwrap_err().contains("chmod 700 "));
    }

    #[test]
    fn remains_of_a_killed_process_are_replaced() {
        let (_dir, folder) = folder();
        let reserved = folder.reserve_certificate().unwrap();
        // A process that is killed here leaves the reserved space.
        drop(reserved);
        folder.reserve_certificate().unwrap().fill(b"new").unwrap();
        assert_eq!(folder.read_certificate().unwrap().as_deref(), Some(&b"new"[..]));
        folder.reserve_certificate().unwrap().release();
        let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, [CERTIFICATE]);
    }

    #[test]
    fn a_broken_state_counts_as_missing_and_an_oversized_certificate_is_an_error() {
        let (_dir, folder) = folder();
        for text in ["", "{", "[]", "null", "{\"failures\": -1}", "{\"directory\": 1}"] {
            fs::write(folder.path().join(STATE), text).unwrap();
            assert_eq!(folder.state(), State::default(), "{text}");
        }
        fs::write(folder.certificate_path(), vec![b'x'; FILE_BYTES_MAX as usize + 1]).unwrap();
        assert!(folder.read_certificate().is_err());
    }
}
