//! The part of a request that every page of the console needs, and the frame that is built from it.

use super::frame::{ConsoleFrame, NavItem, OrganizationLink, PlainFrame};
use crate::domain::id::Id;
use crate::domain::refusal::Refusal;
use crate::domain::text::Slug;
use crate::domain::user::{Auth, Principal};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::language::Language;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::{self, Error, Tx};

/// The refusal of a request for an organization, a role or any other record that does not exist or that the caller may
/// not see. The refusal is the same for all records, so that it does not reveal which ids exist.
pub(super) const ABSENT: Refusal = Refusal::NotFound("there is nothing at this path");

/// The name of the cookie with the theme of the console's pages.
pub(super) const THEME_COOKIE: &str = "theme";

/// The maximum number of organizations that the navigation and the inbox list.
pub(super) const ORGANIZATIONS_MAX: usize = 50;

/// A request for a page of the console.
#[derive(Debug, Clone)]
pub(super) struct Visit {
    language: Language,
    /// `light` or `dark`; `None` for the theme of the system.
    pub(super) theme: Option<&'static str>,
    /// The organization's slug in the path, or an empty string.
    slug: String,
    /// Whether one of the console's JavaScript modules sent the request, to replace parts of the page with the answer.
    pub(super) wants_parts: bool,
}

impl Visit {
    /// # Errors
    /// `validation_error` if `lang` or `locale` is repeated.
    pub(super) fn decode(request: &Request) -> Result<Self, Refusal> {
        let theme = theme_of(&request.cookies());
        let (language, slug) = (request.language()?, request.param("orgSlug").to_owned());
        Ok(Self { language, theme, slug, wants_parts: request.wants_parts() })
    }

    /// Returns the texts in the language of the request, for a page that needs no signed-in user.
    pub(super) fn texts(&self) -> &'static Texts {
        texts::of_language(self.language)
    }

    /// Returns the frame of a page without navigation.
    pub(super) fn plain_frame(&self, title: &str) -> PlainFrame {
        PlainFrame { texts: self.texts(), title: title.to_owned(), theme: self.theme }
    }

    /// Returns the texts in the language that the user has chosen, or else in the language of the request.
    pub(super) fn texts_for(&self, tx: &Tx<'_>, who: &Principal) -> Result<&'static Texts, Error> {
        let preferences = store::user::preferences(tx, &who.user_id)?;
        Ok(preferences.language.map_or_else(|| self.texts(), |tag| texts::of_tag(&tag)))
    }

    /// Returns the organization in the path.
    ///
    /// # Errors
    /// `not_found` if the organization does not exist or the caller may not see it.
    pub(super) fn organization(&self, tx: &Tx<'_>, who: &Principal) -> Result<VisibleOrganization, Error> {
        let slug = Slug::parse(&self.slug).ok_or(ABSENT)?;
        Ok(store::access::organization_by_slug(tx, who, &slug)?.ok_or(ABSENT)?)
    }

    /// Returns the frame of a page for the signed-in user. `title` is the page's heading. `organization` is the
    /// organization in the path, if the path has one.
    pub(super) fn frame(
        &self,
        tx: &Tx<'_>,
        who: &Principal,
        organization: Option<&VisibleOrganization>,
        current: NavItem,
        title: String,
    ) -> Result<ConsoleFrame, Error> {
        let preferences = store::user::preferences(tx, &who.user_id)?;
        let texts = preferences.language.as_deref().map_or_else(|| self.texts(), texts::of_tag);
        let link = |organization: &VisibleOrganization| OrganizationLink {
            slug: organization.slug.clone(),
            name: organization.name.clone(),
            is_current: false,
        };
        let visible = store::access::organizations(tx, who, None, ORGANIZATIONS_MAX)?;
        let mut organizations: Vec<OrganizationLink> = visible.iter().map(link).collect();
        // On pages that belong to no organization, the navigation leads to the newest organization that the user may
        // see.
        let chosen = organization.map(link).or_else(|| organizations.first().cloned());
        for known in &mut organizations {
            known.is_current =
                organization.is_some() && chosen.as_ref().is_some_and(|chosen| chosen.slug == known.slug);
        }
        Ok(ConsoleFrame {
            texts,
            title,
            theme: self.theme,
            single_keys: preferences.single_keys,
            organization: chosen,
            organizations,
            current,
            notice: None,
        })
    }
}

/// Returns the theme in the cookie, if it is a known theme.
pub(super) fn theme_of(cookies: &[(String, String)]) -> Option<&'static str> {
    cookies.iter().find(|(name, _)| name == THEME_COOKIE).and_then(|(_, value)| theme(value))
}

/// Parses the name of a theme.
pub(super) fn theme(value: &str) -> Option<&'static str> {
    ["light", "dark"].into_iter().find(|known| *known == value)
}

/// Returns the digest of the caller's session. The console admits only sessions.
///
/// # Errors
/// `unauthorized` for an API key.
pub(super) fn session_digest(who: &Principal) -> Result<[u8; 32], Refusal> {
    match &who.auth {
        Auth::Session { digest } => Ok(*digest),
        Auth::ApiKey { .. } => Err(Refusal::Unauthorized { sent: true }),
    }
}

/// Parses an id in the path.
///
/// # Errors
/// `not_found` if the text cannot be an id.
pub(super) fn id<I: Id>(request: &Request, name: &str) -> Result<I, Refusal> {
    request.id_param(name, ABSENT)
}

/// Returns the user of the session that the request names. A `decode` function needs the user only if it checks a
/// password or a code. All other handlers get the principal that their transaction has verified.
///
/// # Errors
/// `unauthorized` without a session.
pub(super) fn user_of_session(ctx: &Ctx, request: &Request) -> Result<Principal, Error> {
    let digest = crate::http::server::authentication::cookie(ctx, request);
    let who = digest.map(|digest| ctx.store.read(|tx| store::session::principal(tx, &digest))).transpose()?.flatten();
    who.ok_or_else(|| Refusal::Unauthorized { sent: true }.into())
}
