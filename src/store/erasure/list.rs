//! `FILE.erased`: who and what was erased, a line each, beside the database. An older copy of the file that is put in its
//! place still has them; with the list, the next start erases them again.
//!
//! A line is the id of a candidate; with ` own` behind it of one who did it by the link of their page, which leaves what
//! others had sent under the same address; with ` signup` behind it it is the id of what somebody sent and had deleted alone.
//! With ` retention` behind it the retention erased the candidate. A start does not replay such a line: the retention finds
//! the candidate due again by its own rules, on a clock that it believes.
//! A candidate's line ends with how far the candidate had changed by then (` at=MICROS activity=NUMBER`). Lines of earlier
//! versions lack that part.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::db::path;
use crate::db::tx::Error;
use crate::domain::erasure::LastChange;
use crate::domain::id::{CandidateId, ID_CHARACTERS_MAX, Id, SignupId};
use crate::domain::timestamp::Timestamp;

/// Why the list cannot be used.
#[derive(Debug)]
pub enum ListError {
    /// It cannot be read.
    Unreadable {
        /// The list.
        path: PathBuf,
        /// What the system says.
        why: String,
    },
    /// A line of it is no id.
    Damaged {
        /// The list.
        path: PathBuf,
        /// The number of the line, from 1.
        line: usize,
    },
}

impl std::fmt::Display for ListError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreadable { path, why } => write!(f, "{} cannot be read: {why}", path.display()),
            Self::Damaged { path, line } => write!(
                f,
                "line {line} of {} is not the id of a candidate; without it somebody who was erased could come back, so put \
                 the list right: it has one id a line, and behind it nothing, own, signup or retention, and at= with activity=",
                path.display()
            ),
        }
    }
}

/// A line of the list.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Entry {
    /// What somebody sent and had deleted.
    Signup(SignupId),
    /// A candidate who erased themselves, and nobody else who used their address.
    Own(CandidateId),
    /// A candidate, with all that came under their address.
    Candidate(CandidateId),
    /// A candidate whom the retention erased. On record only: a start does not replay it.
    Retention(CandidateId),
}

const OWN: &str = "own";
const SIGNUP: &str = "signup";
/// The longest word, which bounds the length of a line.
const RETENTION: &str = "retention";
const AT: &str = "at=";
const ACTIVITY: &str = "activity=";

/// The most characters that a number has in a line.
const NUMBER_CHARACTERS_MAX: usize = 20;

/// A line as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) entry: Entry,
    /// How far the candidate had changed when the line was written; `None` for a signup and in lines of earlier versions.
    pub(super) changed: Option<LastChange>,
}

impl Line {
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
        let entry = match (words.as_slice(), changed) {
            ([id], _) => CandidateId::parse(id).map(Entry::Candidate),
            ([id, OWN], _) => CandidateId::parse(id).map(Entry::Own),
            ([id, RETENTION], None) => CandidateId::parse(id).map(Entry::Retention),
            ([id, SIGNUP], None) => SignupId::parse(id).map(Entry::Signup),
            _ => None,
        };
        Some(Self { entry: entry?, changed })
    }

    fn text(&self) -> String {
        let mut text = match &self.entry {
            Entry::Signup(id) => format!("{} {SIGNUP}", id.as_str()),
            Entry::Own(id) => format!("{} {OWN}", id.as_str()),
            Entry::Retention(id) => format!("{} {RETENTION}", id.as_str()),
            Entry::Candidate(id) => id.as_str().to_owned(),
        };
        if let Some(LastChange { at, activity }) = self.changed {
            text.push_str(&format!(" {AT}{} {ACTIVITY}{activity}", at.micros()));
        }
        text.push('\n');
        text
    }
}

/// Everything that is on a list: each entry once, with how far the candidate may have changed to be erased again; `None`
/// where any line of the entry does not say, and the candidate is erased in any case.
pub(super) type Entries = BTreeMap<Entry, Option<LastChange>>;

/// The list of one file.
pub(super) struct List(PathBuf);

/// Where the list of a file is.
pub(crate) fn path(file: &Path) -> PathBuf {
    path::beside(&path::resolve(file), ".erased")
}

/// The lines of the list of a file, without one that is being added; `None` where there is no list.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn whole_lines(file: &Path) -> std::io::Result<Option<Vec<u8>>> {
    match std::fs::read(path(file)) {
        Ok(mut lines) => {
            lines.truncate(lines.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1));
            Ok(Some(lines))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

impl List {
    pub(super) fn of(file: &Path) -> Self {
        Self(path(file))
    }

    pub(super) fn is_there(&self) -> bool {
        self.0.exists()
    }

    /// Who is on it. A last line without its end is what a crash left of an erasure that was not answered: nobody is on the
    /// list by it, because the beginning of an id may be another one's.
    ///
    /// # Errors
    /// [`ListError`].
    pub(super) fn read(&self) -> Result<Entries, ListError> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Entries::new()),
            Err(error) => return Err(ListError::Unreadable { path: self.0.clone(), why: error.to_string() }),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut entries = Entries::new();
        for (text, number) in whole.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty()) {
            let line = Line::parse(text);
            let Line { entry, changed } =
                line.ok_or_else(|| ListError::Damaged { path: self.0.clone(), line: number })?;
            let known = entries.entry(entry).or_insert(changed);
            *known = known.zip(changed).map(|(known, changed)| known.or_later(changed));
        }
        Ok(entries)
    }

    /// Where the last whole line ends: what [`List::add`] appends stands behind it. 0 where there is no list.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the list cannot be read.
    pub(super) fn end(&self) -> Result<u64, Error> {
        match File::open(&self.0) {
            Ok(mut list) => whole_lines_end(&mut list).map_err(|error| unwritable(&error)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
            Err(error) => Err(unwritable(&error)),
        }
    }

    /// Adds lines behind `end`, which are on the disk then. An entry that is there already may be there again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it cannot be written. Any part of the lines may be in the list then.
    pub(super) fn add(&self, end: u64, lines: &[Line]) -> Result<(), Error> {
        let lines: String = lines.iter().map(Line::text).collect();
        self.write(end, &lines).map_err(|error| unwritable(&error))
    }

    fn write(&self, end: u64, lines: &str) -> std::io::Result<()> {
        let is_new = !self.is_there();
        let mut list =
            OpenOptions::new().create(true).read(true).write(true).truncate(false).mode(0o600).open(&self.0)?;
        list.set_len(end)?;
        list.seek(SeekFrom::Start(end))?;
        list.write_all(lines.as_bytes())?;
        list.sync_all()?;
        if is_new { path::keep_name(&self.0) } else { Ok(()) }
    }

    /// Takes back every line behind `end`, so that it is gone from the disk too.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where the list cannot be written. The lines may be there at the next start then.
    pub(super) fn cut(&self, end: u64) -> Result<(), Error> {
        let list = match OpenOptions::new().write(true).open(&self.0) {
            Ok(list) => list,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unwritable(&error)),
        };
        list.set_len(end).and_then(|()| list.sync_all()).map_err(|error| unwritable(&error))
    }
}

fn unwritable(error: &std::io::Error) -> Error {
    Error::of_io("the list of who was erased cannot be written", error)
}

/// Where the last whole line ends.
fn whole_lines_end(list: &mut File) -> std::io::Result<u64> {
    let length = list.metadata()?.len();
    // No line is longer.
    let changed = " ".len() + AT.len() + " ".len() + ACTIVITY.len() + 2 * NUMBER_CHARACTERS_MAX;
    let line = ID_CHARACTERS_MAX + " ".len() + RETENTION.len() + changed + "\n".len();
    let from = length.saturating_sub(line as u64);
    list.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    list.read_to_end(&mut end)?;
    let past = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    Ok(if past == 0 && from > 0 { length } else { from + past })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn append(list: &List, lines: &[&str]) -> u64 {
        let lines: Vec<Line> = lines.iter().map(|line| Line::parse(line).unwrap()).collect();
        let end = list.end().unwrap();
        list.add(end, &lines).unwrap();
        end
    }

    fn read(list: &List) -> Vec<String> {
        let lines = list.read().unwrap().into_iter();
        lines.map(|(entry, changed)| Line { entry, changed }.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn whoever_was_added_is_on_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
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
    fn the_latest_change_of_several_lines_counts_unless_one_names_none() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        append(&list, &["cand_1 at=5 activity=2", "cand_1 at=7 activity=3", "cand_2 own at=-5 activity=0"]);
        append(&list, &["cand_1 at=6 activity=9"]);
        assert_eq!(read(&list), ["cand_2 own at=-5 activity=0", "cand_1 at=7 activity=9"]);
        append(&list, &["cand_1"]);
        assert_eq!(read(&list), ["cand_2 own at=-5 activity=0", "cand_1"]);
    }

    #[test]
    fn lines_are_taken_back_up_to_where_they_began() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        list.cut(0).unwrap();
        let long = format!("{} own at={} activity={}", "x".repeat(64), i64::MIN, i64::MAX);
        append(&list, &[&long]);
        let before = std::fs::read(&list.0).unwrap();
        let end = append(&list, &["cand_1 at=5 activity=2", &long]);
        assert_eq!(end, before.len() as u64);
        list.cut(end).unwrap();
        assert_eq!(std::fs::read(&list.0).unwrap(), before);
        assert_eq!(read(&list), [long]);
    }

    #[test]
    fn what_a_crash_cut_short_names_nobody_and_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        for cut in ["cand_1\ncand_", "cand_1\n", "cand_1\n\n", "\ncand_1\n  \nx"] {
            std::fs::write(&list.0, cut).unwrap();
            assert_eq!(read(&list), ["cand_1"], "{cut:?}");
            append(&list, &["cand_22"]);
            assert_eq!(read(&list), ["cand_1", "cand_22"], "{cut:?}");
        }
        std::fs::write(&list.0, "cand_").unwrap();
        append(&list, &["cand_3"]);
        assert_eq!(read(&list), ["cand_3"]);
    }

    #[test]
    fn a_line_that_is_no_id_is_told_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
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
