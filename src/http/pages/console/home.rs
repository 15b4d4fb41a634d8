//! `GET /app`: the inbox, the first page of the console. It shows the work that waits for the user in each
//! organization.

use std::time::Duration;

use askama::Template;
use hyper::Method;
use jiff::civil::Date;

use super::came_back::{self, CameBackRow};
use super::frame::{ConsoleFrame, NavItem};
use super::visit::{ORGANIZATIONS_MAX, Visit};
use super::when::{self, When};
use crate::domain::board::OVERDUE_AFTER;
use crate::domain::role::RoleStatus;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::home::{HOME, HomeTexts};
use crate::http::pages::texts::console::later::{LATER, LaterTexts};
use crate::http::pages::texts::{Counted, Texts};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::inbox;
use crate::store::role::{Role, RoleFilter};
use crate::store::{self, Error, Tx};

/// The maximum number of an organization's open roles that the inbox checks, newest first. The list of roles shows all
/// open roles.
const ROLES_MAX: usize = 100;

/// The maximum number of applications per organization that the inbox lists as having come back. The page
/// `/app/{orgSlug}/later` shows all of them.
const CAME_BACK_MAX: usize = 20;

/// The maximum number of withdrawals per organization that the inbox lists.
const WITHDRAWALS_MAX: usize = 20;

/// The time for which the inbox shows a withdrawal: two weeks, so that a user who was absent still sees it.
const WITHDRAWALS_FOR: Duration = Duration::from_secs(14 * 24 * 60 * 60);

#[derive(Template)]
#[template(path = "console/home.html", config = "src/http/pages/templates/askama.toml")]
struct HomePage {
    frame: ConsoleFrame,
    words: &'static HomeTexts,
    later_words: &'static LaterTexts,
    organizations: Vec<OrganizationSection>,
}

struct OrganizationSection {
    slug: String,
    name: String,
    has_portal: bool,
    roles: Vec<RoleRow>,
    /// The applications that were put aside and have come back.
    came_back: Vec<CameBackRow>,
    /// The URL of the page with all applications that have come back, if the inbox does not show all of them.
    came_back_url: Option<String>,
    withdrawals: Vec<WithdrawalRow>,
}

/// An open role at which candidates wait for a decision.
struct RoleRow {
    id: String,
    name: String,
    new: Option<String>,
    in_review: Option<String>,
    overdue: Option<String>,
}

struct WithdrawalRow {
    candidate_id: String,
    name: String,
    role: String,
    when: When,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::staff(Method::GET, "/app", decode, show).answering(&[(200, "")])]
}

/// # Errors
/// `validation_error` if `lang` or `locale` is repeated.
fn decode(_: &Ctx, request: &Request) -> Result<Visit, Error> {
    Ok(Visit::decode(request)?)
}

/// `GET /app`: shows, for each organization, the number of candidates who wait for a decision at each role, the
/// applications that have come back, and the latest withdrawals.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, visit: &Visit) -> Result<Reply, Error> {
    let texts = visit.texts_for(tx, who)?;
    let frame = visit.frame(tx, who, None, NavItem::Inbox, FRAME.of(texts).inbox.to_owned())?;
    let visible = store::access::organizations(tx, who, None, ORGANIZATIONS_MAX)?;
    let organizations = visible.into_iter().map(|organization| section(tx, texts, organization));
    let organizations = organizations.collect::<Result<_, _>>()?;
    Reply::console(&HomePage { frame, words: HOME.of(texts), later_words: LATER.of(texts), organizations })
}

fn section(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: VisibleOrganization,
) -> Result<OrganizationSection, Error> {
    let today = when::today(&organization.time_zone, tx.now);
    let open = RoleFilter { status: Some(RoleStatus::Open), ..RoleFilter::default() };
    let mut roles = Vec::new();
    for role in store::role::page(tx, &organization.id, &open, None, ROLES_MAX)?.roles {
        roles.extend(role_row(tx, texts, &organization, today, role)?);
    }
    let since = tx.now.minus(WITHDRAWALS_FOR);
    let withdrawals = inbox::withdrawals(tx, &organization.id, since, WITHDRAWALS_MAX)?.into_iter();
    let withdrawals = withdrawals.map(|withdrawal| WithdrawalRow {
        candidate_id: withdrawal.candidate_id.into(),
        name: withdrawal.candidate_name,
        role: withdrawal.role_name,
        when: When::new(texts, &organization.time_zone, withdrawal.at, tx.now),
    });
    let withdrawals = withdrawals.collect();
    let first = PageRequest { rows: CAME_BACK_MAX, after: None };
    let (came_back, more) = came_back::page(tx, texts, &organization, &first, None)?;
    Ok(OrganizationSection {
        came_back,
        came_back_url: more.map(|_| came_back::path(&organization)),
        has_portal: organization.has_portal(),
        slug: organization.slug,
        name: organization.name,
        roles,
        withdrawals,
    })
}

/// Returns the row of a role, or `None` if nobody waits for a decision there.
fn role_row(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    today: Date,
    Role { record, .. }: Role,
) -> Result<Option<RoleRow>, Error> {
    let words = HOME.of(texts);
    let overview = store::role::overview(tx, &organization.id, &record.id, tx.now.minus(OVERDUE_AFTER), today)?;
    let counted = |text: &Counted, count: i64| {
        let count = usize::try_from(count).unwrap_or_default();
        (count > 0).then(|| texts.counted(text, count))
    };
    Ok(overview.waiting_since.map(|_| RoleRow {
        id: record.id.into(),
        name: record.name,
        new: counted(&words.new, overview.new),
        in_review: counted(&words.in_review, overview.in_review),
        overdue: counted(&words.overdue, overview.overdue),
    }))
}
