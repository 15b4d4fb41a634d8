//! `/signup/{token}`: where a candidate's signup link leads, the form behind it, and what becomes of it when it is sent.

mod form;
mod limit;
pub(in crate::http) mod said;
mod submit;
mod words;

use hyper::Method;

use super::frame::{self, Frame, Shown};
use super::texts::{self, Texts};
use crate::domain::id::RoleId;
use crate::domain::status_page;
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::invitation::Invitation;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) use limit::Limit;

/// The path of a link.
const PATH: &str = "/signup/{token}";

/// The field that holds a file.
pub(in crate::http) const FILE_FIELD: &str = "cv";

/// How a form says yes.
pub(in crate::http) const YES: [&str; 2] = ["on", "true"];

/// A cookie by which a browser that has applied to a role is known begins so, and then names the role; it holds the token of
/// the page where that stands. It goes with the browser's session and comes back to links like this only.
const COOKIE_PREFIX: &str = "applied_";

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Method::GET, PATH, form::decode, form::show).for_people().answering(&[
            (200, ""),
            (400, "validation_error"),
            (404, "not_found"),
            (410, "gone"),
        ]),
        Route::open_or_idle(Method::POST, PATH, submit::decode, submit::act, submit::refuse)
            .for_people()
            .with_upload(FILE_FIELD, submit::look_first)
            .showing_again(submit::show_again)
            .evenly()
            .writes(Grade::Durable)
            .answering(&[
                (303, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (404, "not_found"),
                (409, "conflict"),
                (410, "gone"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ]),
    ]
}

/// Somebody who follows a link.
pub(in crate::http) struct Visit {
    texts: &'static Texts,
    token: String,
    /// The path as it was sent, for links back to it.
    path: String,
    /// What this browser has applied to, as it says: role and token.
    applied: Vec<(String, String)>,
    /// Whether it wants the form though it has applied: for somebody else.
    is_again: bool,
}

impl Visit {
    /// # Errors
    /// `validation_error` where a parameter is there twice.
    fn of(request: &Request) -> Result<Self, Error> {
        let cookies = request.cookies().into_iter();
        let applied = cookies.filter_map(|(name, token)| Some((name.strip_prefix(COOKIE_PREFIX)?.to_owned(), token)));
        Ok(Self {
            texts: texts::of(request)?,
            token: request.param("token").to_owned(),
            path: request.path().to_owned(),
            applied: applied.collect(),
            is_again: request.query("again")?.is_some(),
        })
    }

    /// Where this link leads.
    fn follow(&self, tx: &Tx<'_>) -> Result<Option<Invitation>, Error> {
        store::invitation::follow(tx, &self.token)
    }

    /// The token of the page that shows what this browser has applied to the role with, where it still leads there.
    fn status_token(&self, tx: &Tx<'_>, role: &RoleId) -> Result<Option<&str>, Error> {
        for (_, token) in self.applied.iter().filter(|(id, _)| !self.is_again && id == role.as_str()) {
            if store::status_page::role(tx, &status_page::token_digest(token))?.as_ref() == Some(role) {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// This link in this language.
    fn url(&self) -> String {
        let again = if self.is_again { "&again=1" } else { "" };
        format!("{}?lang={}{again}", self.path, self.texts.tag)
    }

    /// What every page here has around what it says.
    fn frame<'a>(&self, invitation: Option<&'a Invitation>, title: String) -> Frame<'a> {
        let again = if self.is_again { "?again=1" } else { "" };
        let shown = |invitation: &'a Invitation| Shown {
            name: &invitation.organization_name,
            slug: &invitation.slug,
            has_logo: invitation.has_logo,
        };
        Frame {
            texts: self.texts,
            title,
            organization: invitation.map(shown),
            choices: frame::choices(self.texts, &format!("{}{again}", self.path)),
            is_indexed: false,
        }
    }
}

/// The cookie that a browser is given with what it has applied to a role with.
fn cookie(ctx: &Ctx, role: &RoleId, token: &str) -> String {
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    format!("{COOKIE_PREFIX}{role}={token}; Path=/signup; HttpOnly; SameSite=Lax{secure}")
}
