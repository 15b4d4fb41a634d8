//! `/careers/{orgSlug}`: an organization's career portal as pages, from the same data and by the same rules as the public API.
//!
//! `list` has the roles with filters and a search, `role` one of them and the way to apply, `privacy` the notice on personal
//! data, `theme` the colours. Where something is not there, `missing` says so and leads on. For machines there are `posting`
//! and `share` in a role's page, `sitemap`, `feed`, `jobs`, and `embed` for the pages of others.

mod embed;
mod feed;
mod jobs;
mod list;
mod missing;
pub(in crate::http) mod place;
pub(in crate::http) mod posting;
mod privacy;
mod role;
pub(in crate::http) mod share;
mod sitemap;
mod theme;

use hyper::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::frame::{self, Frame, ICON_PATH, STYLE_PATH, Shown};
use super::texts::{self, Texts};
use crate::domain::careers::Listing;
use crate::domain::role::WorkType;
use crate::domain::text::Slug;
use crate::http::api::portal;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::portal::Organization;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let page = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found")];
    let of_role = &[(200, ""), (304, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let apply = &[(303, ""), (400, "validation_error"), (404, "not_found"), (410, "gone")];
    let pages = vec![
        Route::open(Method::GET, "/careers/{orgSlug}", list::decode, list::list)
            .for_people()
            .in_languages(list::PARAMETERS)
            .answering(page),
        Route::open(Method::GET, "/careers/{orgSlug}/roles/{roleId}", role::decode, role::role)
            .for_people()
            .in_languages(&[])
            .answering(of_role),
        Route::open(Method::POST, "/careers/{orgSlug}/roles/{roleId}/apply", role::decode, role::apply)
            .writes(Grade::Durable)
            .for_people()
            .answering(apply),
        Route::open(Method::GET, "/careers/{orgSlug}/privacy", decode, privacy::privacy)
            .for_people()
            .in_languages(&[])
            .answering(page),
        Route::open(Method::GET, "/careers/{orgSlug}/theme.css", portal::decode, theme::theme).answering(&[
            (200, ""),
            (304, ""),
            (404, "not_found"),
        ]),
        Route::plain(Method::GET, STYLE_PATH, |_| frame::style()).answering(&[(200, ""), (304, "")]),
        Route::plain(Method::GET, ICON_PATH, |_| frame::icon()).answering(&[(200, ""), (304, "")]),
    ];
    [pages, feed::routes(), jobs::routes(), sitemap::routes(), embed::routes()].into_iter().flatten().collect()
}

/// A file of an organization that machines read.
fn file(path: &'static str, act: fn(&Ctx, &Tx<'_>, &Option<Slug>) -> Result<Reply, Error>) -> Route {
    Route::open(Method::GET, path, portal::decode, act).answering(&[(200, ""), (304, ""), (404, "not_found")])
}

/// Who reads, and whose portal.
struct Visit {
    texts: &'static Texts,
    slug: Option<Slug>,
    /// The raw path that they came to.
    path: String,
}

/// What every page here is asked for by; a slug that none can have names nothing.
///
/// # Errors
/// `validation_error` where the language is there twice.
fn decode(ctx: &Ctx, request: &Request) -> Result<Visit, Error> {
    let texts = texts::of(request)?;
    Ok(Visit { texts, slug: portal::decode(ctx, request)?, path: request.path().to_owned() })
}

/// The organization whose portal it is; `None` where there is none with this slug, or its portal is off.
fn organization(tx: &Tx<'_>, slug: Option<&Slug>) -> Result<Option<Organization>, Error> {
    slug.map_or(Ok(None), |slug| store::portal::organization(tx, slug))
}

impl Visit {
    /// The frame of a page of this organization. `url` is the page's own, without the language.
    fn frame<'a>(&self, organization: &'a Organization, title: String, url: &str) -> Frame<'a> {
        let Organization { name, slug, has_logo, .. } = organization;
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
fn kept(reply: Reply, texts: &Texts, organization: &Organization, tx: &Tx<'_>) -> Result<Reply, Error> {
    let read_at = store::change::portals(tx)?;
    Ok(reply.in_language(texts.tag).with_tag().shown(organization.id.clone(), read_at))
}

/// The path of an organization's portal.
fn home(slug: &str) -> String {
    format!("/careers/{slug}")
}

/// The path of a role. Ids of roles need no escape.
fn role_path(slug: &str, role: &str) -> String {
    format!("/careers/{slug}/roles/{role}")
}

/// A role as lists show it.
struct Card<'a> {
    url: String,
    name: &'a str,
    facts: Vec<String>,
}

/// The card of a role that is listed.
fn card<'a>(texts: &Texts, slug: &str, shows_salary: bool, listing: &'a Listing) -> Card<'a> {
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
fn named(texts: &Texts, work_type: WorkType) -> &'static str {
    match work_type {
        WorkType::Remote => texts.careers.remote,
        WorkType::Hybrid => texts.careers.hybrid,
        WorkType::Onsite => texts.careers.onsite,
    }
}

/// A value as it stands in a query (RFC 3986 §2.3 has what needs no escape).
fn escaped(value: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(value, ESCAPED).to_string()
}
