//! A request to a signup link: its language, its token, and the earlier applications from the same browser.

use crate::domain::id::RoleId;
use crate::domain::status_page;
use crate::http::pages::frame::{self, Branding, Frame};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::request::Request;
use crate::store::invitation::Invitation;
use crate::store::{self, Error, Tx};

/// The name of the cookie that identifies an application consists of this prefix and the role's id. The value is the
/// status page's token. The cookie is a session cookie, and browsers send it only to signup links.
const COOKIE_PREFIX: &str = "applied_";

pub(super) struct SignupVisit {
    pub(super) texts: &'static Texts,
    pub(super) token: String,
    /// The path as requested, for links back to the form.
    pub(super) path: String,
    /// Role ids and status page tokens from the cookies. Anybody can forge the cookies.
    pub(super) applied: Vec<(String, String)>,
    /// Whether the visitor asks for another form, for example to apply for somebody else, after this browser has been
    /// used to apply.
    pub(super) wants_another_form: bool,
}

impl SignupVisit {
    /// # Errors
    /// `validation_error` if a parameter is given twice.
    pub(super) fn decode(request: &Request) -> Result<Self, Error> {
        let cookies = request.cookies().into_iter();
        let applied = cookies.filter_map(|(name, token)| Some((name.strip_prefix(COOKIE_PREFIX)?.to_owned(), token)));
        Ok(Self {
            texts: texts::of(request)?,
            token: request.param("token").to_owned(),
            path: request.path().to_owned(),
            applied: applied.collect(),
            wants_another_form: request.query("again")?.is_some(),
        })
    }

    /// Returns the invitation behind the link. Returns `None` if the link is unknown, if its role is a draft or not
    /// public, or if the portal or the organization is disabled.
    pub(super) fn invitation(&self, ctx: &Ctx, tx: &Tx<'_>) -> Result<Option<Invitation>, Error> {
        store::invitation::follow(tx, &*ctx.world, &self.token)
    }

    /// Returns the token of the status page of this browser's application for the role, or `None` if there is no such
    /// page or the visitor asked for another form.
    pub(super) fn status_token(&self, tx: &Tx<'_>, role: &RoleId) -> Result<Option<&str>, Error> {
        for (_, token) in self.applied.iter().filter(|(id, _)| !self.wants_another_form && id == role.as_str()) {
            if store::status_page::role(tx, &status_page::token_digest(token))?.as_ref() == Some(role) {
                return Ok(Some(token));
            }
        }
        Ok(None)
    }

    /// Returns the path of the form, with the page's language.
    pub(super) fn form_url(&self) -> String {
        let again = if self.wants_another_form { "&again=1" } else { "" };
        format!("{}?lang={}{again}", self.path, self.texts.tag)
    }

    pub(super) fn frame<'a>(&self, invitation: Option<&'a Invitation>, title: String) -> Frame<'a> {
        let again = if self.wants_another_form { "?again=1" } else { "" };
        let branding = |invitation: &'a Invitation| Branding {
            name: &invitation.organization_name,
            slug: &invitation.slug,
            has_logo: invitation.has_logo,
            has_portal: true,
        };
        Frame {
            texts: self.texts,
            title,
            organization: invitation.map(branding),
            languages: frame::language_links(self.texts, &format!("{}{again}", self.path)),
            is_indexed: false,
        }
    }
}

/// Returns the cookie with which a browser identifies its application for the role when it opens a signup link again.
pub(super) fn application_cookie(ctx: &Ctx, role: &RoleId, token: &str) -> String {
    let secure = if ctx.settings.is_https() { "; Secure" } else { "" };
    format!("{COOKIE_PREFIX}{role}={token}; Path=/signup; HttpOnly; SameSite=Lax{secure}")
}
