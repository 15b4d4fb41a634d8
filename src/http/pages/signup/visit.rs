//! A candidate who follows a signup link: the language, the link, and what their browser has applied to.

use crate::domain::id::RoleId;
use crate::domain::status_page;
use crate::http::pages::frame::{self, Frame, Shown};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::store::invitation::Invitation;
use crate::store::{self, Error, Tx};

/// A cookie by which a browser that has applied to a role is known begins so, and then names the role; it holds the token of
/// the page where that stands. It goes with the browser's session and comes back to links like this only.
const COOKIE_PREFIX: &str = "applied_";

/// Somebody who follows a link.
pub(super) struct Visit {
    pub(super) texts: &'static Texts,
    pub(super) token: String,
    /// The path as it was sent, for links back to it.
    pub(super) path: String,
    /// What this browser has applied to, as it says: role and token.
    pub(super) applied: Vec<(String, String)>,
    /// Whether it wants the form though it has applied: for somebody else.
    pub(super) is_again: bool,
}

impl Visit {
    /// # Errors
    /// `validation_error` where a parameter is there twice.
    pub(super) fn of(request: &Request) -> Result<Self, Error> {
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
    pub(super) fn follow(&self, tx: &Tx<'_>) -> Result<Option<Invitation>, Error> {
        store::invitation::follow(tx, &self.token)
    }

    /// The token of the page that shows what this browser has applied to the role with, where it still leads there.
    pub(super) fn status_token(&self, tx: &Tx<'_>, role: &RoleId) -> Result<Option<&str>, Error> {
        for (_, token) in self.applied.iter().filter(|(id, _)| !self.is_again && id == role.as_str()) {
            if store::status_page::role(tx, &status_page::token_digest(token))?.as_ref() == Some(role) {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// This link in this language.
    pub(super) fn url(&self) -> String {
        let again = if self.is_again { "&again=1" } else { "" };
        format!("{}?lang={}{again}", self.path, self.texts.tag)
    }

    /// What every page here has around what it says.
    pub(super) fn frame<'a>(&self, invitation: Option<&'a Invitation>, title: String) -> Frame<'a> {
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
pub(super) fn cookie(ctx: &Ctx, role: &RoleId, token: &str) -> String {
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    format!("{COOKIE_PREFIX}{role}={token}; Path=/signup; HttpOnly; SameSite=Lax{secure}")
}
