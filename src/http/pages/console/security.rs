//! `/app/{orgSlug}/settings/security`: the setting that requires a second factor of all members of an organization.

use askama::Template;
use hyper::Method;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use super::backup::{self, BackupPart};
use super::confirm::require_recent;
use super::frame::{ConsoleFrame, NavItem};
use super::visit::{ABSENT, Visit};
use crate::domain::membership::require_administrator;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::membership::MEMBERSHIP;
use crate::http::pages::texts::console::second_factor::SECOND_FACTOR;
use crate::http::pages::texts::console::security::{SECURITY, SecurityTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::organization::OrganizationRecord;
use crate::store::{self, Error, Grade, Tx};

/// The page names at most this many of the members without a second factor. It shows only the number of the others.
const NAMES_MAX: usize = 20;

const FIELD: &str = "requireSecondFactor";

#[derive(Template)]
#[template(path = "console/security.html", config = "src/http/pages/templates/askama.toml")]
struct SecurityPage {
    frame: ConsoleFrame,
    words: &'static SecurityTexts,
    factor: &'static str,
    to_members: &'static str,
    path: String,
    members_url: String,
    is_required: bool,
    /// Whether the service is a demonstration, which requires no second factor.
    is_demo: bool,
    /// The number of members without a second factor, in words; `None` if all members have one.
    missing: Option<String>,
    without: Vec<MemberLink>,
    more: Option<String>,
    /// The part about backups; `None` unless the user is a platform admin.
    backups: Option<BackupPart>,
}

/// A member, and the search that finds them on the members page.
struct MemberLink {
    name: String,
    query: String,
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/app/{orgSlug}/settings/security";
    vec![
        Route::staff(Method::GET, path, decode_page, show).answering(&[(200, ""), (403, "forbidden")]),
        Route::staff(Method::POST, path, decode, change).with_form().writes(Grade::Vital).answering(&[(303, "")]),
    ]
}

struct PageInput {
    visit: Visit,
    done: Option<String>,
}

/// # Errors
/// `validation_error` if a parameter is repeated.
fn decode_page(_: &Ctx, request: &Request) -> Result<PageInput, Error> {
    Ok(PageInput { visit: Visit::decode(request)?, done: request.query("done")? })
}

/// `GET /app/{orgSlug}/settings/security`: shows the setting, and the members without a second factor. Platform admins
/// also see the age of the newest backup.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization does not exist or the caller may not see it;
/// `forbidden` unless the caller administers it.
fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &PageInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    require_administrator(organization.caller)?;
    let mut page = page(ctx, tx, who, &input.visit, &organization)?;
    page.frame.notice = match input.done.as_deref() {
        Some("required") => Some(page.words.done_required.to_owned()),
        Some("released") => Some(page.words.done_released.to_owned()),
        _ => None,
    };
    Reply::console(&page)
}

fn page(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    visit: &Visit,
    organization: &VisibleOrganization,
) -> Result<SecurityPage, Error> {
    let texts = visit.texts_for(tx, who)?;
    let words = SECURITY.of(texts);
    let count = store::membership::count_without_factor(tx, &organization.id)?;
    let without = store::membership::without_factor(tx, &organization.id, NAMES_MAX)?;
    let others = count.saturating_sub(without.len());
    let link = |(name, email): (String, String)| MemberLink {
        name,
        query: utf8_percent_encode(&email, NON_ALPHANUMERIC).to_string(),
    };
    let record = record(tx, organization)?;
    Ok(SecurityPage {
        frame: visit.frame(tx, who, Some(organization), NavItem::Members, words.title.to_owned())?,
        words,
        factor: SECOND_FACTOR.of(texts).title,
        to_members: MEMBERSHIP.of(texts).title,
        path: path(organization),
        members_url: format!("/app/{}/members", organization.slug),
        is_required: record.require_second_factor,
        is_demo: !ctx.settings.requires_second_factors,
        missing: (count > 0).then(|| texts.counted(&words.missing, count)),
        without: without.into_iter().map(link).collect(),
        more: (others > 0).then(|| texts.counted(&words.more, others)),
        backups: backup::part(ctx, texts, who, &record.time_zone),
    })
}

pub(super) fn path(organization: &VisibleOrganization) -> String {
    format!("/app/{}/settings/security", organization.slug)
}

fn record(tx: &Tx<'_>, organization: &VisibleOrganization) -> Result<OrganizationRecord, Error> {
    Ok(store::organization::find(tx, &organization.id)?.ok_or(ABSENT)?.record)
}

struct ChangeInput {
    visit: Visit,
    /// `None` if the field is missing or cannot be read.
    require_second_factor: Option<bool>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field, `lang` or `locale` is
/// repeated.
fn decode(_: &Ctx, request: &Request) -> Result<ChangeInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let require_second_factor = form.text(FIELD)?.and_then(|text| text.parse().ok());
    Ok(ChangeInput { visit: Visit::decode(request)?, require_second_factor })
}

/// `POST /app/{orgSlug}/settings/security`: sets whether all members must have a second factor. If the setting already
/// has this value, nothing changes.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization does not exist or the caller may not see it;
/// `forbidden` unless the caller administers it, and for a change without a recent confirmation; `validation_error` for
/// a value that is neither `true` nor `false`.
fn change(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangeInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    require_administrator(organization.caller)?;
    let wanted = input.require_second_factor.ok_or_else(|| Refusal::invalid(FIELD, "must be true or false"))?;
    let before = record(tx, &organization)?;
    let after = OrganizationRecord { require_second_factor: wanted, ..before.clone() };
    if before.require_second_factor != after.require_second_factor {
        require_recent(tx, who)?;
        let stamp = store::activity::stamp(&*ctx.world);
        store::organization::change(tx, &stamp, Some(who), &before, &after)?;
    }
    let done = if after.require_second_factor { "required" } else { "released" };
    Ok(Reply::see_other(&format!("{}?done={done}", path(&organization))))
}
