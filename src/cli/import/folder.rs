//! The attachment folders of an export: the files that may be attachments, and their content.
//!
//! Symbolic links are not followed, because the export may come from somebody else.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::domain::attachment::{ATTACHMENT_BYTES_MAX, AttachmentFault, CHUNK_BYTES_MAX, MediaType, MediaTypeScan};
use crate::interchange::RefusedItem;

/// The maximum number of files and folders whose names the command holds in memory. A larger export is refused.
const ENTRIES_MAX: usize = 1_000_000;

/// The maximum depth of folders. Every layout in docs/importing.md is shallower.
const DEPTH_MAX: usize = 16;

/// The files in the attachment folders of an export.
#[derive(Default)]
pub(super) struct Files {
    /// The paths relative to the directory of the export, with `/` between their parts.
    pub(super) paths: Vec<String>,
    pub(super) refused: Vec<RefusedItem>,
    entries: usize,
}

impl Files {
    /// Collects the files in a folder of an export, at this path relative to the export. Does nothing if there is no
    /// such folder.
    ///
    /// # Errors
    /// An I/O error if a folder cannot be read, or if there are too many entries.
    pub(super) fn collect(&mut self, export: &Path, folder: &str) -> io::Result<()> {
        if fs::symlink_metadata(export.join(folder)).is_err() {
            return Ok(());
        }
        self.add(export, folder, 0)
    }

    fn add(&mut self, export: &Path, relative: &str, depth: usize) -> io::Result<()> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(io::Error::other(format!("an import reads at most {ENTRIES_MAX} files and folders")));
        }
        let path = export.join(relative);
        let kind = fs::symlink_metadata(&path)?;
        if kind.is_file() {
            self.paths.push(relative.to_owned());
        } else if !kind.is_dir() {
            self.refuse(relative, "is not a regular file; symbolic links are not followed");
        } else if depth == DEPTH_MAX {
            self.refuse(relative, "is nested too deeply");
        } else {
            for entry in path.read_dir()? {
                match entry?.file_name().to_str() {
                    Some(name) => self.add(export, &format!("{relative}/{name}"), depth + 1)?,
                    None => self.refuse(relative, "contains a file whose name is not UTF-8; rename it"),
                }
            }
        }
        Ok(())
    }

    fn refuse(&mut self, path: &str, reason: &str) {
        self.refused.push(RefusedItem { location: path.to_owned(), reasons: vec![reason.to_owned()] });
    }
}

/// Reads a file of the export and checks it like an upload.
///
/// # Errors
/// The reason, as a clause without a subject, if the file cannot be read or is not an acceptable attachment.
pub(super) fn read_attachment(export: &Path, relative: &str) -> Result<(MediaType, Vec<u8>), String> {
    let path = export.join(relative);
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let is_file = fs::symlink_metadata(&path).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return Err("is not a regular file any more".to_owned());
    }
    let mut content = Vec::new();
    let bytes_max = ATTACHMENT_BYTES_MAX as u64 + 1;
    File::open(&path).and_then(|file| file.take(bytes_max).read_to_end(&mut content)).map_err(unreadable)?;
    if content.is_empty() {
        return Err(AttachmentFault::Empty.detail());
    }
    if content.len() > ATTACHMENT_BYTES_MAX {
        return Err(AttachmentFault::TooLarge.detail());
    }
    let mut scan = MediaTypeScan::default();
    content.chunks(CHUNK_BYTES_MAX).for_each(|chunk| scan.take(chunk));
    let media_type = scan.media_type().ok_or_else(|| AttachmentFault::WrongType.detail())?;
    Ok((media_type, content))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_collected_without_following_links() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("files/a")).unwrap();
        fs::write(dir.path().join("files/a/b.txt"), "b").unwrap();
        std::os::unix::fs::symlink("/etc", dir.path().join("files/etc")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("files/a/passwd")).unwrap();
        let mut files = Files::default();
        files.collect(dir.path(), "files").unwrap();
        files.collect(dir.path(), "none").unwrap();
        assert_eq!(files.paths, ["files/a/b.txt"]);
        let mut refused: Vec<&str> = files.refused.iter().map(|refused| refused.location.as_str()).collect();
        refused.sort_unstable();
        assert_eq!(refused, ["files/a/passwd", "files/etc"]);
        assert!(read_attachment(dir.path(), "files/a/passwd").unwrap_err().contains("not a regular file"));
    }

    #[test]
    fn attachments_are_checked_like_uploads() {
        let dir = tempfile::tempdir().unwrap();
        let read = |content: &[u8]| {
            fs::write(dir.path().join("x"), content).unwrap();
            read_attachment(dir.path(), "x")
        };
        assert_eq!(read(b"%PDF-1.7\n").unwrap().0, MediaType::Pdf);
        assert_eq!(read(&vec![b'a'; ATTACHMENT_BYTES_MAX]).unwrap().0, MediaType::Text);
        assert_eq!(read(&vec![b'a'; ATTACHMENT_BYTES_MAX + 1]), Err(AttachmentFault::TooLarge.detail()));
        assert_eq!(read(b""), Err(AttachmentFault::Empty.detail()));
        assert_eq!(read(b"\xd0\xcf\x11\xe0"), Err(AttachmentFault::WrongType.detail()));
        assert!(read_attachment(dir.path(), "gone").is_err());
    }
}
