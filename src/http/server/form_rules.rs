//! How a route reads a form: whether it takes a file, what is checked before the body is read, and what shows the form again.

use super::ctx::Ctx;
use super::form::{FileUse, Trouble};
use super::reply::Reply;
use super::request::Request;
use crate::store::{Error, Tx};

/// What a route reads as a form.
#[derive(Debug, Clone, Copy)]
pub(in crate::http) struct FormRules {
    /// Whether it reads JSON as well.
    pub(in crate::http) takes_json: bool,
    /// The field that holds a file, where it takes one.
    pub(in crate::http) file_field: Option<&'static str>,
    /// The check before anything of the body is read, if any.
    pub(in crate::http) precheck: Option<Precheck>,
    /// Renders the form again, with everything that was typed, where it cannot be carried out now: on routes for people.
    pub(in crate::http) fallback: Option<FormFallback>,
}

/// Checks a request whose body was not read yet, against the file.
pub(in crate::http) type Precheck = fn(&Ctx, &Tx<'_>, &Request) -> Result<Prechecked, Error>;

/// Renders the form again, with the trouble that kept it from being carried out.
pub(in crate::http) type FormFallback = fn(&Ctx, &Tx<'_>, &Request, Trouble) -> Result<Reply, Error>;

/// The outcome of such a check.
pub(in crate::http) enum Prechecked {
    /// Its body is read.
    Proceed,
    /// Nothing of the body is needed for this answer.
    Answered(Box<Reply>),
    /// Its body is read so that the form can be shown again. Nothing of it is carried out.
    Refused(Trouble, FileUse),
}
