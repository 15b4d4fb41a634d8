//! The rules by which a route reads a form: the file field, the check before the body is read, and the renderer that
//! shows the form again.

use super::ctx::Ctx;
use super::form::{FileUse, Trouble};
use super::reply::Reply;
use super::request::Request;
use crate::store::{Error, Tx};

/// The rules by which a route reads a form.
#[derive(Debug, Clone, Copy)]
pub(super) struct FormRules {
    /// Whether the route also accepts JSON.
    pub(super) accepts_json: bool,
    /// The field that may hold a file, if any.
    pub(super) file_field: Option<&'static str>,
    /// The check before the body is read, if any.
    pub(in crate::http) precheck: Option<Precheck>,
    /// The function that renders the form again, with the submitted values, if the service cannot act on the form now.
    /// Only routes that serve people have a fallback.
    pub(in crate::http) fallback: Option<FormFallback>,
}

/// A function that checks a request before its body is read.
pub(super) type Precheck = fn(&Ctx, &Tx<'_>, &Request) -> Result<Prechecked, Error>;

/// A function that renders the form again, with the trouble that prevented its processing.
pub(super) type FormFallback = fn(&Ctx, &Tx<'_>, &Request, Trouble) -> Result<Reply, Error>;

/// The outcome of a [`Precheck`].
pub(in crate::http) enum Prechecked {
    /// The body is read and processed.
    Proceed,
    /// The reply is complete, and the body is not needed.
    Answered(Box<Reply>),
    /// The body is read only so that the form can be shown again.
    Refused(Trouble, FileUse),
}
