//! What is wrong with a document, and where: JSON Pointers (RFC 6901) and the sentences that go with them.

use std::fmt;

use crate::domain::refusal::{FieldError, Refusal};
use crate::store::Error;

/// Findings that are told one by one; past that they would bury the first.
pub const FINDINGS_MAX: usize = 20;

/// A place in the document, as the way to it from the outermost object.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a At<'a>>,
    token: Token<'a>,
}

#[derive(Clone, Copy)]
enum Token<'a> {
    Name(&'a str),
    Index(usize),
}

impl At<'_> {
    /// The document itself.
    pub(super) const ROOT: At<'static> = At { parent: None, token: Token::Index(0) };

    /// A member of the object that is here.
    pub(super) fn member<'b>(&'b self, name: &'b str) -> At<'b> {
        At { parent: Some(self), token: Token::Name(name) }
    }

    /// An item of the array that is here.
    pub(super) fn item(&self, index: usize) -> At<'_> {
        At { parent: Some(self), token: Token::Index(index) }
    }

    /// Which item of its array this is.
    pub(super) fn index(&self) -> usize {
        match self.token {
            Token::Index(index) => index,
            Token::Name(_) => 0,
        }
    }
}

/// The JSON Pointer.
impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(parent) = self.parent else { return Ok(()) };
        match self.token {
            Token::Name(name) => write!(f, "{parent}/{}", name.replace('~', "~0").replace('/', "~1")),
            Token::Index(index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Where, as a JSON Pointer: of the member for a wrong value, of the object for a clash. `""` is the document.
    pub pointer: String,
    /// What is wrong and what would be right.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = if self.pointer.is_empty() { "the document" } else { &self.pointer };
        f.write_str(&escaped(&format!("{place}: {}", self.detail)))
    }
}

/// A text for a terminal: what a document's own names bring with them, such as colours, is shown and not carried out.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() { escaped.extend(c.escape_default()) } else { escaped.push(c) }
    }
    escaped
}

/// Everything that is wrong, the first of it told one by one.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    listed: Vec<Problem>,
    count: usize,
}

impl Findings {
    /// One finding.
    pub(super) fn of(at: At<'_>, detail: impl Into<String>) -> Self {
        let mut findings = Self::default();
        findings.push(at, detail);
        findings
    }

    pub(super) fn push(&mut self, at: At<'_>, detail: impl Into<String>) {
        self.count += 1;
        if self.listed.len() < FINDINGS_MAX {
            self.listed.push(Problem { pointer: at.to_string(), detail: detail.into() });
        }
    }

    /// Whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// How many there are, the unlisted ones too.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The first of them.
    pub fn listed(&self) -> &[Problem] {
        &self.listed
    }

    /// The same as a refusal, for what runs in a transaction that is to be undone.
    pub fn into_error(self) -> Error {
        let field = |problem: Problem| FieldError { field: problem.pointer, detail: problem.detail };
        Error::Refused(Refusal::Invalid(self.listed.into_iter().map(field).collect()))
    }
}

/// A line each.
impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.listed.iter().enumerate() {
            let end = if index + 1 < self.listed.len() { "\n" } else { "" };
            write!(f, "{problem}{end}")?;
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
    fn pointers_escape_what_would_end_a_token() {
        let users = At::ROOT.member("users");
        let user = users.item(12);
        assert_eq!(At::ROOT.to_string(), "");
        assert_eq!(user.member("a/b~c").to_string(), "/users/12/a~1b~0c");
        assert_eq!(user.member("").to_string(), "/users/12/");
        assert_eq!(user.index(), 12);
    }

    #[test]
    fn findings_are_a_line_each_and_the_rest_is_counted() {
        let mut findings = Findings::of(At::ROOT, "is none");
        let users = At::ROOT.member("users");
        for index in 1..FINDINGS_MAX {
            findings.push(users.item(index), "is wrong");
        }
        assert_eq!(findings.to_string().lines().count(), FINDINGS_MAX);
        assert!(findings.to_string().starts_with("the document: is none\n/users/1: is wrong\n"));
        findings.push(users, "is wrong too");
        findings.push(users, "is wrong too");
        assert_eq!((findings.listed().len(), findings.count()), (FINDINGS_MAX, FINDINGS_MAX + 2));
        assert!(findings.to_string().ends_with("\nand 2 more"));
    }
}
