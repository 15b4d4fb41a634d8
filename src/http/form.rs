//! Forms as nouns see them: the texts that somebody typed, and what became of a file that came with them.

use super::ctx::Ctx;
use super::reply::Reply;
use super::request::Request;
use crate::domain::document::Fault;
use crate::domain::refusal::Refusal;
use crate::store::document::Staged;
use crate::store::{Error, Tx};

/// What a route reads as a form.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormRules {
    /// Whether it reads JSON as well.
    pub(super) takes_json: bool,
    /// The field that holds a file, where it takes one.
    pub(super) file_field: Option<&'static str>,
    /// What is looked at before anything is read, if anything.
    pub(super) look_first: Option<LookFirst>,
}

/// A look at a request whose body was not read yet, and at the file: an answer, where nothing of the body is needed.
pub(super) type LookFirst = fn(&Ctx, &Tx<'_>, &Request) -> Result<Option<Reply>, Error>;

/// A form that was sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Form {
    fields: Vec<(String, String)>,
    upload: Option<Upload>,
}

/// What became of a file.
#[derive(Debug, Clone)]
pub(super) enum Upload {
    /// It is staged: the noun attaches it, or hands its token out so that it need not be sent again.
    Staged(Staged),
    /// It was not taken, and nothing of it is kept. Behind one that is too large the form was not read on, so fields that
    /// stand behind the file are missing.
    Fault(Fault),
}

impl Form {
    pub(super) fn new(fields: Vec<(String, String)>, upload: Option<Upload>) -> Self {
        Self { fields, upload }
    }

    /// What was typed into a field, as it came; `None` where the field was not sent.
    ///
    /// # Errors
    /// `validation_error` where it is there twice.
    pub(super) fn text(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.texts(name);
        let value = values.next();
        if values.next().is_some() {
            return Err(Refusal::invalid(name, "must be there once, not twice"));
        }
        Ok(value)
    }

    /// The same of a field that may be there more than once.
    pub(super) fn texts(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The file that was sent with it, where one was chosen.
    pub(super) fn upload(&self) -> Option<&Upload> {
        self.upload.as_ref()
    }
}
