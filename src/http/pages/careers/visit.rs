//! A request for a page of a portal, and the frame and caching of the page.

use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::pages::frame::{self, Branding, Frame};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

pub(super) struct PortalVisit {
    pub(super) texts: &'static Texts,
    /// `None` if the path contains an invalid slug, which cannot belong to any portal.
    pub(super) slug: Option<Slug>,
    /// The path as requested, still percent-encoded.
    pub(super) path: String,
}

/// # Errors
/// `validation_error` if the language is given twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<PortalVisit, Error> {
    let texts = texts::of(request)?;
    Ok(PortalVisit { texts, slug: portal::decode_slug(ctx, request)?, path: request.path().to_owned() })
}

impl PortalVisit {
    /// Returns the organization of the portal. Returns `None` if no organization has the slug, or if the organization
    /// or its portal is disabled.
    pub(super) fn organization(&self, tx: &Tx<'_>) -> Result<Option<PortalOrganization>, Error> {
        self.slug.as_ref().map_or(Ok(None), |slug| store::portal::organization(tx, slug))
    }

    /// Returns the frame of a page that search engines may list. `url` is the page's URL without `lang`.
    pub(super) fn frame<'a>(&self, organization: &'a PortalOrganization, title: String, url: &str) -> Frame<'a> {
        let PortalOrganization { name, slug, has_logo, .. } = organization;
        Frame {
            texts: self.texts,
            title,
            organization: Some(Branding { name, slug, has_logo: *has_logo, has_portal: true }),
            languages: frame::language_links(self.texts, url),
            is_indexed: true,
        }
    }
}

/// Allows the response cache to serve the page until the portal changes. Browsers revalidate the page before each use.
/// All readers with the same language get the same page.
pub(super) fn valid_until_change(
    reply: Reply,
    texts: &Texts,
    organization: &PortalOrganization,
    tx: &Tx<'_>,
) -> Result<Reply, Error> {
    let read_at = store::change_number::portals(tx)?;
    Ok(reply.in_language(texts.tag).with_tag().valid_until_change(organization.id.clone(), read_at))
}
