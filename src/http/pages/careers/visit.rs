//! What all parts of a career portal share: who reads it, its paths, its cards, and how its responses are cached.

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::careers::Listing;
use crate::domain::role::WorkType;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::pages::frame::{self, Frame, Shown};
use crate::http::pages::texts::{self, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::store::portal::PortalOrganization;
use crate::store::{self, Error, Tx};

/// A file of an organization that machines read.
pub(super) fn file(
    path: &'static str,
    pool: CachePool,
    act: fn(&Ctx, &Tx<'_>, &Option<Slug>) -> Result<Reply, Error>,
) -> Route {
    let route = Route::open(Audience::Api, Method::GET, path, portal::decode_slug, act);
    route.cached_in(pool).answering(&[(200, ""), (304, ""), (404, "not_found")])
}

/// Who reads, and whose portal.
pub(super) struct Visit {
    pub(super) texts: &'static Texts,
    pub(super) slug: Option<Slug>,
    /// The raw path that they came to.
    pub(super) path: String,
}

/// What every page here is asked for by; a slug that none can have names nothing.
///
/// # Errors
/// `validation_error` where the language is there twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<Visit, Error> {
    let texts = texts::of(request)?;
    Ok(Visit { texts, slug: portal::decode_slug(ctx, request)?, path: request.path().to_owned() })
}

/// The organization whose portal it is; `None` where there is none with this slug, or its portal is off.
pub(super) fn organization(tx: &Tx<'_>, slug: Option<&Slug>) -> Result<Option<PortalOrganization>, Error> {
    slug.map_or(Ok(None), |slug| store::portal::organization(tx, slug))
}

impl Visit {
    /// The frame of a page of this organization. `url` is the page's own, without the language.
    pub(super) fn frame<'a>(&self, organization: &'a PortalOrganization, title: String, url: &str) -> Frame<'a> {
        let PortalOrganization { name, slug, has_logo, .. } = organization;
        Frame {
            texts: self.texts,
            title,
            organization: Some(Shown { name, slug, has_logo: *has_logo }),
            choices: frame::choices(self.texts, url),
            is_indexed: true,
        }
    }
}

/// A page of a portal: it is the same for everybody who reads its language, until something changes.
pub(super) fn valid_until_change(
    reply: Reply,
    texts: &Texts,
    organization: &PortalOrganization,
    tx: &Tx<'_>,
) -> Result<Reply, Error> {
    let read_at = store::change_number::portals(tx)?;
    Ok(reply.in_language(texts.tag).with_tag().valid_until_change(organization.id.clone(), read_at))
}

/// The path of an organization's portal.
pub(super) fn home(slug: &str) -> String {
    format!("/careers/{slug}")
}

/// The path of a role. Ids of roles need no escape.
pub(super) fn role_path(slug: &str, role: &str) -> String {
    format!("/careers/{slug}/roles/{role}")
}

/// A role as lists show it.
pub(super) struct Card<'a> {
    pub(super) url: String,
    pub(super) name: &'a str,
    pub(super) facts: Vec<String>,
}

/// The card of a role that is listed.
pub(super) fn card<'a>(texts: &Texts, slug: &str, shows_salary: bool, listing: &'a Listing) -> Card<'a> {
    let salary = shows_salary.then(|| texts.salary(&listing.salary)).flatten();
    let facts = [
        Some(listing.department.clone()),
        Some(listing.location.clone()),
        listing.work_type.map(|work_type| named(texts, work_type).to_owned()),
        salary,
    ];
    Card {
        url: format!("{}?lang={}", role_path(slug, &listing.id.to_string()), texts.tag),
        name: &listing.name,
        facts: facts.into_iter().flatten().filter(|fact| !fact.trim().is_empty()).collect(),
    }
}

/// What readers call a work type.
pub(super) fn named(texts: &Texts, work_type: WorkType) -> &'static str {
    match work_type {
        WorkType::Remote => texts.careers.remote,
        WorkType::Hybrid => texts.careers.hybrid,
        WorkType::Onsite => texts.careers.onsite,
    }
}

/// A value as it stands in a query (RFC 3986 §2.3 has what needs no escape).
pub(super) fn escaped(value: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(value, ESCAPED).to_string()
}
