//! A mistake in the settings, as one sentence with its location.

use std::fmt;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cli) struct Mistake(String);

impl Mistake {
    /// Returns a mistake at a position in a file. Lines and columns begin with 1; columns count characters.
    pub(super) fn in_file(path: &Path, (line, column): (usize, usize), sentence: &str) -> Self {
        Self(format!("{}:{line}:{column}: {sentence}", path.display()))
    }

    /// Returns a mistake that concerns a whole file or a variable.
    pub(super) fn of(location: &str, sentence: &str) -> Self {
        Self(format!("{location}: {sentence}"))
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
