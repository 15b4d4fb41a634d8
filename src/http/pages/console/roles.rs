//! `GET /app/{orgSlug}/roles`: lists the organization's roles by status.

use askama::Template;
use hyper::Method;
use jiff::civil::Date;

use super::board::closing;
use super::close_out::offer::{Offer, offer};
use super::frame::{ConsoleFrame, NavItem};
use super::visit::Visit;
use super::when;
use crate::domain::id::{Id, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::roles::{ROLES, RolesTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, encode_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::role::{Role, RoleFilter};
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/roles.html", config = "src/http/pages/templates/askama.toml")]
struct RolesPage {
    frame: ConsoleFrame,
    words: &'static RolesTexts,
    /// The URL of the page without its query.
    path: String,
    may_create: bool,
    /// Whether the organization has no roles.
    is_new: bool,
    tabs: Vec<StatusTab>,
    roles: Vec<RoleRow>,
    next_cursor: Option<String>,
    /// The text for a status without roles.
    none: &'static str,
    status: &'static str,
}

/// A link to the roles in one status.
struct StatusTab {
    status: &'static str,
    label: &'static str,
    count: String,
    is_current: bool,
}

struct RoleRow {
    id: RoleId,
    name: String,
    /// Department, location and closing date.
    place: String,
    is_hidden: bool,
    new: String,
    in_review: String,
    longest_wait: Option<String>,
    positions: String,
    /// The notice that candidates are still in progress at a role that has ended.
    close_out: Option<Offer>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::staff(Method::GET, "/app/{orgSlug}/roles", decode, show).answering(&[(200, "")])]
}

struct RolesInput {
    visit: Visit,
    /// The status to show; `None` for the first of [`STATUSES`] in which there is a role.
    status: Option<RoleStatus>,
    /// The act that led to this page.
    done: Option<String>,
    page: PageRequest,
    after: Option<TimeCursor<RoleId>>,
}

/// The statuses in the order of their tabs.
const STATUSES: [RoleStatus; 4] = [RoleStatus::Open, RoleStatus::Draft, RoleStatus::Filled, RoleStatus::Closed];

/// # Errors
/// `validation_error` if `status` is unknown, a parameter is repeated, `limit` is not an integer, or `cursor` is not a
/// cursor of the list.
fn decode(_: &Ctx, request: &Request) -> Result<RolesInput, Error> {
    let unknown = || Refusal::invalid("status", "is not a role status");
    let status = request.query("status")?.map(|word| RoleStatus::parse(&word).ok_or_else(unknown)).transpose()?;
    let (page, after) = time_cursor::decode_page(request, RoleId::parse)?;
    Ok(RolesInput { visit: Visit::decode(request)?, status, done: request.query("done")?, page, after })
}

/// `GET /app/{orgSlug}/roles`: shows a page of the roles in one status, newest first, with the numbers of their
/// candidates.
///
/// # Errors
/// The refusal is rendered as a page: `not_found` if the organization does not exist or the caller may not see it.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RolesInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let texts = input.visit.texts_for(tx, who)?;
    let words = ROLES.of(texts);
    let counts = store::role::counts(tx, &organization.id)?;
    let count = |status: RoleStatus| counts.iter().find(|(known, _)| *known == status).map_or(0, |(_, count)| *count);
    let first = || STATUSES.into_iter().find(|status| count(*status) > 0);
    let status = input.status.or_else(first).unwrap_or(RoleStatus::Open);
    let filter = RoleFilter { status: Some(status), ..RoleFilter::default() };
    let found = store::role::page(tx, &organization.id, &filter, input.after.as_ref(), input.page.rows)?;
    let today = when::today(&organization.time_zone, tx.now);
    let roles =
        found.roles.into_iter().map(|role| row(tx, texts, &organization, today, role)).collect::<Result<_, _>>()?;
    let tab = |known: RoleStatus| StatusTab {
        status: known.as_str(),
        label: label(words, known),
        count: texts.number(count(known) as f64),
        is_current: known == status,
    };
    let mut frame =
        input.visit.frame(tx, who, Some(&organization), NavItem::Roles, FRAME.of(texts).roles.to_owned())?;
    frame.notice = (input.done.as_deref() == Some("deleted")).then(|| words.done_deleted.to_owned());
    Reply::console(&RolesPage {
        frame,
        words,
        path: format!("/app/{}/roles", organization.slug),
        may_create: organization.caller.require_manager().is_ok(),
        is_new: counts.is_empty(),
        tabs: STATUSES.into_iter().map(tab).collect(),
        roles,
        next_cursor: found.end.map(|(at, id)| encode_cursor(&time_cursor::parts(at, id.as_str()))),
        none: match status {
            RoleStatus::Open => words.no_open,
            RoleStatus::Draft => words.no_draft,
            RoleStatus::Filled => words.no_filled,
            RoleStatus::Closed => words.no_closed,
        },
        status: status.as_str(),
    })
}

fn label(words: &RolesTexts, status: RoleStatus) -> &'static str {
    match status {
        RoleStatus::Open => words.open,
        RoleStatus::Draft => words.draft,
        RoleStatus::Filled => words.filled,
        RoleStatus::Closed => words.closed,
    }
}

fn row(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    today: Date,
    Role { record, .. }: Role,
) -> Result<RoleRow, Error> {
    let words = ROLES.of(texts);
    let overview = store::role::overview(tx, &organization.id, &record.id, tx.now, today)?;
    let number = |count: i64| texts.number(count as f64);
    let seats = record.seats;
    let positions =
        [("hired", &*texts.number(seats.hired as f64)), ("positions", &texts.number(seats.positions as f64))];
    let closing = closing(texts, &record).unwrap_or_default();
    let places: Vec<String> =
        [record.department, record.location, closing].into_iter().filter(|text| !text.is_empty()).collect();
    Ok(RoleRow {
        close_out: offer(tx, texts, organization, &record.id, seats.status)?,
        id: record.id,
        name: record.name,
        place: places.join(" · "),
        is_hidden: seats.status == RoleStatus::Open && !record.public,
        new: number(overview.new),
        in_review: number(overview.in_review),
        longest_wait: overview.waiting_since.map(|since| wait(texts, since, tx.now)),
        positions: fill(words.of_positions, &positions),
    })
}

/// Returns the words for the time since `since`, in days.
fn wait(texts: &Texts, since: Timestamp, now: Timestamp) -> String {
    let words = ROLES.of(texts);
    match now.since(since).as_secs() / (24 * 60 * 60) {
        0 => words.less_than_a_day.to_owned(),
        days => texts.counted(&words.days, usize::try_from(days).unwrap_or(usize::MAX)),
    }
}
