//! `FILE.erased`: who and what was erased, a line each, beside the database. An older copy of the file that is put in its
//! place still has them; with the list, the next start erases them again.
//!
//! A line is the id of a candidate; with ` own` behind it of one who did it by the link of their page, which leaves what
//! others had sent under the same address; with ` signup` behind it it is the id of what somebody sent and had deleted alone.

use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::super::file;
use super::super::tx::Error;
use crate::domain::id::{CandidateId, ID_CHARACTERS_MAX, Id, SignupId};

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
                 the list right: it has one id a line, and behind it nothing, own or signup",
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
}

const OWN: &str = "own";
const SIGNUP: &str = "signup";

impl Entry {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let (id, kind) = (words.next()?, words.next());
        if words.next().is_some() {
            return None;
        }
        match kind {
            None => CandidateId::parse(id).map(Self::Candidate),
            Some(OWN) => CandidateId::parse(id).map(Self::Own),
            Some(SIGNUP) => SignupId::parse(id).map(Self::Signup),
            Some(_) => None,
        }
    }

    fn line(&self) -> String {
        match self {
            Self::Signup(id) => format!("{} {SIGNUP}\n", id.as_str()),
            Self::Own(id) => format!("{} {OWN}\n", id.as_str()),
            Self::Candidate(id) => format!("{}\n", id.as_str()),
        }
    }
}

/// The list of one file.
pub(super) struct List(PathBuf);

impl List {
    pub(super) fn of(path: &Path) -> Self {
        Self(file::beside(path, ".erased"))
    }

    /// Who is on it. A last line without its end is what a crash left of an erasure that was not answered: nobody is on the
    /// list by it, because the beginning of an id may be another one's.
    ///
    /// # Errors
    /// [`ListError`].
    pub(super) fn read(&self) -> Result<BTreeSet<Entry>, ListError> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            Err(error) => return Err(ListError::Unreadable { path: self.0.clone(), why: error.to_string() }),
        };
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let ids = whole.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
        ids.map(|(line, number)| {
            let entry = Entry::parse(line);
            entry.ok_or_else(|| ListError::Damaged { path: self.0.clone(), line: number })
        })
        .collect()
    }

    /// Adds lines, which are on the disk then. One that is there already may be there again.
    ///
    /// # Errors
    /// [`Error::Unavailable`] where it cannot be written.
    pub(super) fn append(&self, entries: impl Iterator<Item = Entry>) -> Result<(), Error> {
        let lines: String = entries.map(|entry| entry.line()).collect();
        self.add(&lines)
            .map_err(|error| Error::Unavailable(format!("the list of who was erased cannot be written: {error}")))
    }

    fn add(&self, lines: &str) -> std::io::Result<()> {
        let is_new = !self.0.exists();
        let mut list =
            OpenOptions::new().create(true).read(true).write(true).truncate(false).mode(0o600).open(&self.0)?;
        let end = whole_lines_end(&mut list)?;
        list.set_len(end)?;
        list.seek(SeekFrom::Start(end))?;
        list.write_all(lines.as_bytes())?;
        list.sync_all()?;
        if is_new { file::keep_name(&self.0) } else { Ok(()) }
    }
}

/// Where the last whole line ends.
fn whole_lines_end(list: &mut File) -> std::io::Result<u64> {
    let length = list.metadata()?.len();
    // No line that was ever begun is longer.
    let from = length.saturating_sub((ID_CHARACTERS_MAX + " ".len() + SIGNUP.len() + "\n".len()) as u64);
    list.seek(SeekFrom::Start(from))?;
    let mut end = Vec::new();
    list.read_to_end(&mut end)?;
    let past = end.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1);
    Ok(if past == 0 && from > 0 { length } else { from + past })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(lines: &[&str]) -> impl Iterator<Item = Entry> {
        lines.iter().map(|line| Entry::parse(line).unwrap()).collect::<Vec<_>>().into_iter()
    }

    fn read(list: &List) -> Vec<String> {
        let lines = list.read().unwrap().into_iter();
        lines.map(|entry| entry.line().trim_end().to_owned()).collect()
    }

    #[test]
    fn whoever_was_added_is_on_it_once() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        assert_eq!(read(&list), Vec::<String>::new());
        let (long, signup) = ("x".repeat(64), format!("{} signup", "x".repeat(64)));
        list.append(entries(&["cand_2", "cand_1"])).unwrap();
        list.append(entries(&["cand_1", &long, "cand_3 own", &signup])).unwrap();
        list.append(entries(&["cand_4"])).unwrap();
        assert_eq!(read(&list), [&signup, "cand_3 own", "cand_1", "cand_2", "cand_4", &long]);
        let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(&list.0).unwrap()) & 0o777;
        assert_eq!(mode, 0o600);
    }

    #[test]
    fn what_a_crash_cut_short_names_nobody_and_is_written_over() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        for cut in ["cand_1\ncand_", "cand_1\n", "cand_1\n\n", "\ncand_1\n  \nx"] {
            std::fs::write(&list.0, cut).unwrap();
            assert_eq!(read(&list), ["cand_1"], "{cut:?}");
            list.append(entries(&["cand_22"])).unwrap();
            assert_eq!(read(&list), ["cand_1", "cand_22"], "{cut:?}");
        }
        std::fs::write(&list.0, "cand_").unwrap();
        list.append(entries(&["cand_3"])).unwrap();
        assert_eq!(read(&list), ["cand_3"]);
    }

    #[test]
    fn a_line_that_is_no_id_is_told_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let list = List::of(&dir.path().join("a.db"));
        for line in ["Ada Lovelace", "cand_1 own signup", "cand_1 signup own", "@ own"] {
            std::fs::write(&list.0, format!("cand_1\n{line}\n")).unwrap();
            assert!(matches!(list.read(), Err(ListError::Damaged { line: 2, .. })), "{line}");
        }
        std::fs::write(&list.0, b"cand_1\n\xff\n").unwrap();
        assert!(matches!(list.read(), Err(ListError::Unreadable { .. })));
    }
}
