//! The erasure list `FILE.erased`, next to the database file, records erasures of candidates and deletions of signups,
//! one on each line. If an older copy replaces the database file, the copy still contains the erased data. The next
//! start reads the list to repeat the erasures.
//!
//! A line starts with an id, followed by at most one word:
//! - no word: the candidate with this id was erased with all signups under their address;
//! - `own`: the candidate was erased, but the signups of other people under the same address stay, because the
//!   candidate asked for the erasure on their status page, or because the file did not show who erased the candidate
//!   (`missing_list`);
//! - `retention`: retention erased the candidate. A start does not repeat this erasure, because retention finds the
//!   candidate due again, with a clock that it trusts;
//! - `signup`: the signup with this id was deleted.
//!
//! A line without a word or with `own` ends with the last change to the candidate before the erasure
//! (`at=MICROS activity=NUMBER`). Lines from earlier versions lack this part.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::db::sqlite::path;
use crate::db::tx::Error;
use crate::domain::erasure::replay::{LastChange, ListedErasure};
use crate::domain::id::{CandidateId, ID_CHARACTERS_MAX, Id, SignupId};
use crate::domain::timestamp::Timestamp;

/// The reason why the list cannot be used.
#[derive(Debug)]
pub enum ListError {
    Unreadable {
        path: PathBuf,
        /// The error of the operating system.
        why: String,
    },
    Damaged {
        path: PathBuf,
        /// The number of the damaged line, counted from 1.
        line: usize,
    },
}

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::Damaged { path, line } => write!(
                f,
                "line {line} of {} is damaged. Repair the list: without it, erased candidates could come back. \
                 Each line has one id, then optionally own, signup or retention, then optionally at= with activity=",
                path.display()
            ),
        }
    }
}

const OWN: &str = "own";
const SIGNUP: &str = "signup";
/// The longest word, which bounds the length of a line.
const RETENTION: &str = "retention";
const AT: &str = "at=";
const ACTIVITY: &str = "activity=";

/// The maximum length of a number in a line, in characters.
const NUMBER_CHARACTERS_MAX: usize = 20;

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ListLine {
    pub(super) erasure: ListedErasure,
    /// The last change to the candidate before the erasure; `None` for signups, for retention, and in lines from
    /// earlier versions.
    pub(super) changed: Option<LastChange>,
}

impl ListLine {
    fn parse(line: &str) -> Option<Self> {
        let mut words: Vec<&str> = line.split_ascii_whitespace().collect();
        let number = |word: Option<&&str>, name: &str| word?.strip_prefix(name)?.parse::<i64>().ok();
        let changed = match number(words.last(), ACTIVITY) {
            Some(activity) => {
                words.pop();
                let at = Timestamp::from_micros(number(words.last(), AT)?);
                words.pop();
                Some(LastChange { at, activity })
            }
            None => None,
        };
        let erasure = match (words.as_slice(), changed) {
            ([id], _) => CandidateId::parse(id).map(ListedErasure::Candidate),
            ([id, OWN], _) => CandidateId::parse(id).map(ListedErasure::Own),
            ([id, RETENTION], None) => CandidateId::parse(id).map(ListedErasure::Retention),
            ([id, SIGNUP], None) => SignupId::parse(id).map(ListedErasure::Signup),
            _ => None,
        };
        Some(Self { erasure: erasure?, changed })
    }

    fn text(&self) -> String {
        let mut text = match &self.erasure {
            ListedErasure::Signup(id) => format!("{} {SIGNUP}", id.as_str()),
            ListedErasure::Own(id) => format!("{} {OWN}", id.as_str()),
            ListedErasure::Retention(id) => format!("{} {RETENTION}", id.as_str()),
            ListedErasure::Candidate(id) => id.as_str().to_owned(),
        };
        if let Some(LastChange { at, activity }) = self.changed {
            text.push_str(&format!(" {AT}{} {ACTIVITY}{activity}", at.micros()));
        }
        text.push('\n');
        text
    }
}

/// The erasures in a list, without duplicates, each with the last change to the candidate. If any line for an erasure
/// lacks the last change, the value is `None`, and later changes to the candidate do not prevent the erasure.
pub(super) type ListedErasures = BTreeMap<ListedErasure, Option<LastChange>>;

/// The list of one database file.
pub(super) struct ErasureList(PathBuf);

/// Returns the path of the list for a database file.
pub(crate) fn path(file: &Path) -> PathBuf {
    path::beside(&path::resolve(file), ".erased")
}

/// Reads the complete lines of the list for a database file. Leaves out a line that is still being written. Returns
/// `None` if there is no list.
///
/// # Errors
/// The error of the operating system if the list cannot be read.
pub(crate) fn complete_lines(file: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(path(file)) {
        Ok(mut lines) => {
            lines.truncate(lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
            Ok(Some(lines))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Adds lines from the list of `copy` to the list of `file`, before `copy` replaces `file`. A line is added if the list
/// of `file` lacks the erasure, or if its line has a last change and the line of `copy` has a later one or none.
/// Returns the number of added lines.
///
/// # Errors
/// [`Error::Defect`] if a list is damaged or cannot be read; [`Error::Full`] or [`Error::Unavailable`] if the list of
/// `file` cannot be extended.
pub(in super::super) fn add_missing_lines(file: &Path, copy: &Path) -> Result<usize, Error> {
    let list = ErasureList::beside(file);
    let read = |list: &ErasureList| list.read().map_err(|error| Error::Defect(error.to_string()));
    let known = read(&list)?;
    let of_copy = read(&ErasureList::beside(copy))?.into_iter();
    let missing =
        of_copy.filter(|(erasure, changed)| known.get(erasure).is_none_or(|known| later(*known, *changed) != *known));
    let lines: Vec<ListLine> = missing.map(|(erasure, changed)| ListLine { erasure, changed }).collect();
    if !lines.is_empty() {
        list.append(list.end()?, &lines)?;
    }
    Ok(lines.len())
}

/// Returns the last change to a candidate according to two lines for the same erasure. If a line has no last change,
/// the result is `None`, so that later changes do not prevent a repetition of the erasure.
fn later(one: Option<LastChange>, other: Option<LastChange>) -> Option<LastChange> {
    one.zip(other).map(|(one, other)| one.or_later(other))
}

impl ErasureList {
    /// Returns the list for a database file.
    pub(super) fn beside(file: &Path) -> Self {
        Self(path(file))
    }

    pub(super) fn exists(&self) -> bool {
        self.0.exists()
    }

    /// Reads the list. An incomplete last line is left over from a crash during an erasure that was never confirmed.
    /// The line is ignored, because the beginning of an id can be the id of another candidate.
    pub(super) fn read(&self) -> Result<ListedErasures, ListError> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(ListedErasures::new()),
            Err(error) => return Err(ListError::Unreadable { path: self.0.clone(), why: error.to_string() }),
        };
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut listed = ListedErasures::new();
        for (text, number) in complete.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let line = ListLine::parse(text);
            let ListLine { erasure, changed } =
                line.ok_or_else(|| ListError::Damaged { path: self.0.clone(), line: number })?;
            let known = listed.entry(erasure).or_insert(changed);
            *known = later(*known, changed);
        }
        Ok(listed)
    }

    /// Returns the end of the last complete line, where [`ErasureList::append`] continues, or 0 if there is no list.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if the list cannot be read.
    pub(super) fn end(&self) -> Result<u64, Error> {
        match File::open(&self.0) {
            Ok(mut list) => whole_lines_end(&mut list).map_err(|error| unreadable(&error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(unreadable(&error)),
        }
    }

    /// Replaces everything after `end` with these lines, and syncs the list to the disk. An erasure may be in the list
    /// more than once.
    ///
    /// # Errors
    /// [`Error::Full`] or [`Error::Unavailable`] if the list cannot be written. The list can then contain any part of
    /// the lines.
    pub(super) fn append(&self, end: u64, lines: &[ListLine]) -> Result<(), Error> {
        let lines: String = lines.iter().map(ListLine::text).collect();
        self.write(end, &lines).map_err(|error| unwritable(&error))
    }

    fn write(&self, end: u64, lines: &str) -> std::io::Result<()> {
        let is_new = !self.exists();
        let mut list =
            OpenOptions::new().create(true).read(true).write(true).truncate(false).mode(0o600).open(&self.0)?;
        list.set_len(end)?;
        list.seek(SeekFrom::Start(end))?;
        list.write_all(lines.as_bytes())?;
        list.sync_all()?;
        if is_new { path::sync_name(&self.0) } else { Ok(()) }
    }

    /// Removes every line after `end`, and syncs the list to the disk.
    ///
    /// # Errors
    /// [`Error::Full`] or [`Error::Unavailable`] if the list cannot be written. The next start might then read the
    /// lines.
    pub(super) fn truncate(&self, end: u64) -> Result<(), Error> {
        let list = match OpenOptions::new().write(true).open(&self.0) {
            Ok(list) => list,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unwritable(&error)),
        };
        list.set_len(end).and_then(|()| list.sync_all()).map_err(|error| unwritable(&error))
    }
}

fn unreadable(error: &std::io::Error) -> Error {
    Error::of_io("the erasure list cannot be read", error)
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::of_io("the erasure list cannot be written", error)
}

/// Finds the end of the last complete line. Reads only as many bytes from the end as the longest possible line has.
fn whole_lines_end(list: &mut File) -> std::io::Result<u64> {
    let length = list.metadata()?.len();
    let changed = " ".len() + AT.len() + " ".len() + ACTIVITY.len() + 2 * NUMBER_CHARACTERS_MAX;
    let line = ID_CHARACTERS_MAX + " ".len() + RETENTION.len() + changed + "\n".len();
    let from = length.saturating_sub(line as u64);
    list.seek(SeekFrom::Start(from))?;
    let mut tail = Vec::new();
    list.read_to_end(&mut tail)?;
    let end = tail.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    Ok(if end == 0 && from > 0 { length } else { from + end })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(list: &ErasureList, lines: &[&str]) -> u64 {
        let lines: Vec<ListLine> = lines.iter().map(|line| ListLine::parse(line).unwrap()).collect();
        let end = list.end().unwrap();
        list.append(end, &lines).unwrap();
        end
    }

    fn read(list: &ErasureList) -> Vec<String> {
        let lines = list.read().unwrap().into_iter();
        lines.map(|(erasure, changed)| ListLine { erasure, changed }.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn an_erasure_that_is_listed_twice_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        assert_eq!(read(&list), Vec::<String>::new());
        let (long, signup) = ("x".repeat(64), format!("{} signup", "x".repeat(64)));
        append(&list, &["cand_2", "cand_1"]);
        append(&list, &["cand_1", &long, "cand_3 own", &signup]);
        let retention = format!("{} retention", "x".repeat(64));
        append(&list, &[&retention]);
        append(&list, &["cand_4"]);
        assert_eq!(read(&list), [&signup, "cand_3 own", "cand_1", "cand_2", "cand_4", &long, &retention]);
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&list.0).unwrap()) & 0o777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn the_latest_change_of_several_lines_is_read_unless_a_line_has_none() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        append(&list, &["cand_1 at=5 activity=2", "cand_1 at=7 activity=3", "cand_2 own at=-5 activity=0"]);
        append(&list, &["cand_1 at=6 activity=9"]);
        assert_eq!(read(&list), ["cand_2 own at=-5 activity=0", "cand_1 at=7 activity=9"]);
        append(&list, &["cand_1"]);
        assert_eq!(read(&list), ["cand_2 own at=-5 activity=0", "cand_1"]);
    }

    #[test]
    fn truncation_removes_exactly_the_appended_lines() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        list.truncate(0).unwrap();
        let long = format!("{} own at={} activity={}", "x".repeat(64), i64::MIN, i64::MAX);
        append(&list, &[&long]);
        let before = std::fs::read(&list.0).unwrap();
        let end = append(&list, &["cand_1 at=5 activity=2", &long]);
        assert_eq!(end, before.len() as u64);
        list.truncate(end).unwrap();
        assert_eq!(std::fs::read(&list.0).unwrap(), before);
        assert_eq!(read(&list), [long]);
    }

    #[test]
    fn an_incomplete_line_is_ignored_and_overwritten() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        for content in ["cand_1\ncand_", "cand_1\n", "cand_1\n\n", "\ncand_1\n  \nx"] {
            std::fs::write(&list.0, content).unwrap();
            assert_eq!(read(&list), ["cand_1"], "{content:?}");
            append(&list, &["cand_22"]);
            assert_eq!(read(&list), ["cand_1", "cand_22"], "{content:?}");
        }
        std::fs::write(&list.0, "cand_").unwrap();
        append(&list, &["cand_3"]);
        assert_eq!(read(&list), ["cand_3"]);
    }

    #[test]
    fn the_error_for_an_unusable_list_shows_whether_reading_or_writing_failed() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        // A directory can be neither read nor written as a file.
        std::fs::create_dir(&list.0).unwrap();
        for (outcome, failure) in [
            (list.end().map(drop), "the erasure list cannot be read: "),
            (list.append(0, &[]), "the erasure list cannot be written: "),
            (list.truncate(0), "the erasure list cannot be written: "),
        ] {
            let error = outcome.unwrap_err();
            assert!(matches!(&error, Error::Unavailable(why) if why.starts_with(failure)), "{error:?}");
        }
    }

    #[test]
    fn the_error_for_a_damaged_line_contains_the_line_number() {
        let dir = tempfile::tempdir().unwrap();
        let list = ErasureList::beside(&dir.path().join("a.db"));
        for line in [
            "Ada Lovelace",
            "cand_1 own signup",
            "cand_1 signup own",
            "@ own",
            "cand_1 at=5",
            "cand_1 activity=5",
            "cand_1 at=x activity=5",
            "cand_1 activity=5 at=5",
            "sign_1 signup at=5 activity=5",
        ] {
            std::fs::write(&list.0, format!("cand_1\n{line}\n")).unwrap();
            assert!(matches!(list.read(), Err(ListError::Damaged { line: 2, .. })), "{line}");
        }
        std::fs::write(&list.0, b"cand_1\n\xff\n").unwrap();
        assert!(matches!(list.read(), Err(ListError::Unreadable { .. })));
    }
}
