//! Findings: the errors in a document, each with a JSON Pointer (RFC 6901) and a detail.

use std::fmt;

use crate::domain::refusal::{FieldError, Refusal};
use crate::store::Error;

/// The maximum number of findings that are listed. In a longer list, the first finding, which is often the cause of the
/// others, would scroll out of view.
pub const FINDINGS_MAX: usize = 20;

/// A location in the document, as a linked list of steps on the stack. Memory is allocated only for the pointer of a
/// finding.
#[derive(Clone, Copy)]
pub(super) struct Pointer<'a> {
    parent: Option<&'a Pointer<'a>>,
    token: Token<'a>,
}

#[derive(Clone, Copy)]
enum Token<'a> {
    Name(&'a str),
    Index(usize),
}

impl Pointer<'_> {
    /// The document itself.
    pub(super) const ROOT: Pointer<'static> = Pointer { parent: None, token: Token::Index(0) };

    /// Returns the location of a member of this object.
    pub(super) fn member<'b>(&'b self, name: &'b str) -> Pointer<'b> {
        Pointer { parent: Some(self), token: Token::Name(name) }
    }

    /// Returns the location of an item of this array.
    pub(super) fn item(&self, index: usize) -> Pointer<'_> {
        Pointer { parent: Some(self), token: Token::Index(index) }
    }

    /// Returns the index of this item in its array.
    pub(super) fn index(&self) -> usize {
        match self.token {
            Token::Index(index) => index,
            Token::Name(_) => 0,
        }
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        match self.token {
            Token::Name(name) => write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1")),
            Token::Index(index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// One error in a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The location as a JSON Pointer: the member for an invalid value, the object for a contradiction. `""` denotes
    /// the document.
    pub pointer: String,
    /// A clause that describes the error. Most clauses also state the correct form.
    pub detail: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let location = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        f.write_str(&escaped(&format!("{location}: {}", self.detail)))
    }
}

/// Escapes control characters, so that a name in a document cannot send commands to the terminal.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

/// All errors in a document. The first [`FINDINGS_MAX`] are listed; the rest are only counted.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    listed: Vec<Finding>,
    count: usize,
}

impl Findings {
    /// Creates a list with one finding.
    pub(super) fn of(at: Pointer<'_>, detail: impl Into<String>) -> Self {
        let mut findings = Self::default();
        findings.push(at, detail);
        findings
    }

    pub(super) fn push(&mut self, at: Pointer<'_>, detail: impl Into<String>) {
        self.count += 1;
        if self.listed.len() < FINDINGS_MAX {
            self.listed.push(Finding { pointer: at.to_string(), detail: detail.into() });
        }
    }

    /// Returns whether the document has no errors.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the number of findings, including findings that are not listed.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Returns the first findings, at most [`FINDINGS_MAX`].
    pub fn listed(&self) -> &[Finding] {
        &self.listed
    }

    /// Converts the listed findings to an error, which rolls back the transaction.
    pub fn into_error(self) -> Error {
        let field = |finding: Finding| FieldError { field: finding.pointer, detail: finding.detail };
        Error::Refused(Refusal::Invalid(self.listed.into_iter().map(field).collect()))
    }
}

/// Writes a line for each listed finding and, if there are others, a line with their number.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, finding) in self.listed.iter().enumerate() {
            let end = if index + 1 < self.listed.len() { "\n" } else { "" };
            write!(f, "{finding}{end}")?;
        }
        match self.count - self.listed.len() {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_escape_slash_and_tilde() {
        let users = Pointer::ROOT.member("users");
        let user = users.item(12);
        assert_eq!(Pointer::ROOT.to_string(), "");
        assert_eq!(user.member("a/b~c").to_string(), "/users/12/a~1b~0c");
        assert_eq!(user.member("").to_string(), "/users/12/");
        assert_eq!(user.index(), 12);
    }

    #[test]
    fn findings_beyond_the_limit_are_only_counted() {
        let mut findings = Findings::of(Pointer::ROOT, "is empty");
        let users = Pointer::ROOT.member("users");
        for index in 1..FINDINGS_MAX {
            findings.push(users.item(index), "is invalid");
        }
        assert_eq!(findings.to_string().lines().count(), FINDINGS_MAX);
        assert!(findings.to_string().starts_with("the document: is empty\n/users/1: is invalid\n"));
        findings.push(users, "is invalid too");
        findings.push(users, "is invalid too");
        assert_eq!((findings.listed().len(), findings.count()), (FINDINGS_MAX, FINDINGS_MAX + 2));
        assert!(findings.to_string().ends_with("\nand 2 more"));
    }
}
