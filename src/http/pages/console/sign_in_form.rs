//! The form of the first step of a sign-in, and the continuation that the forms of both steps carry.

use askama::Template;

use super::frame::PlainFrame;
use super::visit::Visit;
use crate::domain::refusal::Refusal;
use crate::domain::return_path;
use crate::http::pages::texts::console::passkey::{PASSKEY, PasskeyTexts};
use crate::http::pages::texts::console::sign_in::{SIGN_IN, SignInTexts};
use crate::http::server::form::Form;
use crate::http::server::reply::Reply;
use crate::store::Error;

/// The prefix of the hidden fields that carry the fields of a form through the sign-in.
pub(super) const SENT_PREFIX: &str = "sent.";

/// The page that opens after a sign-in if no other page was requested.
pub(super) const START: &str = "/app";

#[derive(Template)]
#[template(path = "console/sign_in.html", config = "src/http/pages/templates/askama.toml")]
pub(super) struct SignInPage<'a> {
    pub(super) frame: PlainFrame,
    pub(super) words: &'static SignInTexts,
    pub(super) passkey: &'static PasskeyTexts,
    pub(super) error: Option<String>,
    /// The reason why the person must sign in.
    pub(super) reason: Option<&'static str>,
    pub(super) email: &'a str,
    pub(super) carried: &'a Carried,
}

#[derive(Template)]
#[template(path = "console/resume.html", config = "src/http/pages/templates/askama.toml")]
struct ResumePage<'a> {
    frame: PlainFrame,
    words: &'static SignInTexts,
    sent: &'a SentForm,
}

/// A form that was submitted without a session.
pub(super) struct SentForm {
    pub(super) target: String,
    pub(super) fields: Vec<(String, String)>,
}

/// The continuation after the sign-in: a page, or a form to submit. The forms of both steps carry it in hidden fields.
#[derive(Default)]
pub(super) struct Carried {
    /// The page that the person wanted.
    pub(super) next: Option<String>,
    pub(super) sent: Option<SentForm>,
}

impl Carried {
    /// # Errors
    /// `validation_error` if a field is repeated.
    pub(super) fn decode(form: &Form) -> Result<Self, Refusal> {
        let path = |name| Ok::<_, Refusal>(form.text(name)?.and_then(return_path::parse).map(str::to_owned));
        let sent = path("to")?.map(|target| SentForm { target, fields: carried_fields(form) });
        Ok(Self { next: path("next")?, sent })
    }

    /// Redirects to the page that the person wanted. If the person had submitted a form without a session, offers to
    /// submit it now.
    pub(super) fn resume(&self, visit: &Visit) -> Result<Reply, Error> {
        let Some(sent) = &self.sent else { return Ok(Reply::see_other(self.next.as_deref().unwrap_or(START))) };
        let words = SIGN_IN.of(visit.texts());
        Reply::console(&ResumePage { frame: visit.plain_frame(words.resume), words, sent })
    }
}

/// Shows the form of the first step.
pub(super) fn show(visit: &Visit, reason: Option<&'static str>, carried: &Carried) -> Result<Reply, Error> {
    let words = SIGN_IN.of(visit.texts());
    let (frame, passkey) = (visit.plain_frame(words.title), PASSKEY.of(visit.texts()));
    Reply::console(&SignInPage { frame, words, passkey, error: None, reason, email: "", carried })
}

/// Shows the form of the first step again, because the second step cannot be completed.
pub(super) fn start_over(visit: &Visit, error: &str, carried: &Carried) -> Result<Reply, Error> {
    let words = SIGN_IN.of(visit.texts());
    let (frame, error) = (visit.plain_frame(words.title), Some(error.to_owned()));
    let page = SignInPage { frame, words, passkey: PASSKEY.of(visit.texts()), error, reason: None, email: "", carried };
    Reply::console_refusal(&Refusal::Unauthorized { sent: true }, &page)
}

/// Returns the fields that the sign-in form carries for another form.
fn carried_fields(form: &Form) -> Vec<(String, String)> {
    let carried = |(name, value): &(String, String)| Some((name.strip_prefix(SENT_PREFIX)?.to_owned(), value.clone()));
    form.fields().iter().filter_map(carried).collect()
}
