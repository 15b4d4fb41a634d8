//! `GET /app/{orgSlug}/activity`: the activity of an organization, newest first.

use askama::Template;
use hyper::Method;

use super::activity::{ActivityRow, Reader};
use super::decision::scene::candidate_path;
use super::frame::{ConsoleFrame, NavItem};
use super::visit::Visit;
use crate::domain::activity::Subject;
use crate::domain::id::{ActivityId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::activity::{ACTIVITY, ActivityTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::activity::Activity;
use crate::store::{self, Error, Tx};

/// The number of rows on a page.
const ROWS: usize = 50;

#[derive(Template)]
#[template(path = "console/activity.html", config = "src/http/pages/templates/askama.toml")]
struct ActivityPage {
    frame: ConsoleFrame,
    words: &'static ActivityTexts,
    rows: Vec<OrganizationRow>,
    newest_url: Option<String>,
    older_url: Option<String>,
}

/// A row with the candidate and the role that it is about.
struct OrganizationRow {
    row: ActivityRow,
    /// The path of the candidate's page, and the candidate's name.
    candidate: Option<(String, String)>,
    role: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    vec![Route::staff(Method::GET, "/app/{orgSlug}/activity", decode, show).answering(&[(200, "")])]
}

struct ActivityInput {
    visit: Visit,
    /// The last row of the previous page.
    before: Option<ActivityId>,
}

/// # Errors
/// `validation_error` if a parameter is repeated or `before` is not an id.
fn decode(_: &Ctx, request: &Request) -> Result<ActivityInput, Error> {
    let before = request.query("before")?;
    let parse = |text: &str| ActivityId::parse(text).ok_or_else(|| Refusal::invalid("before", "must be an id"));
    Ok(ActivityInput { visit: Visit::decode(request)?, before: before.as_deref().map(parse).transpose()? })
}

/// `GET /app/{orgSlug}/activity`: shows a page of the activity.
///
/// # Errors
/// `not_found` if the organization does not exist or the caller may not see it; `validation_error` if `before` names no
/// row.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ActivityInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let texts = input.visit.texts_for(tx, who)?;
    let words = ACTIVITY.of(texts);
    let subject = Subject::of_organization(organization.id.clone());
    let before = match &input.before {
        Some(id) => store::activity::number(tx, &subject, id)?.ok_or(Refusal::invalid("before", "names no row"))?,
        None => i64::MAX,
    };
    let mut found = store::activity::page(tx, &subject, None, before, ROWS + 1)?;
    let has_more = found.len() > ROWS;
    found.truncate(ROWS);
    let own_path = format!("/app/{}/activity", organization.slug);
    let older_url = found.last().filter(|_| has_more).map(|row| format!("{own_path}?before={}", row.id));
    let reader = Reader { texts, zone: &organization.time_zone, now: tx.now };
    let mut rows = Vec::with_capacity(found.len());
    for activity in &found {
        rows.push(row(tx, reader, &organization, activity)?);
    }
    Reply::console(&ActivityPage {
        frame: input.visit.frame(tx, who, Some(&organization), NavItem::Inbox, words.title.to_owned())?,
        words,
        rows,
        newest_url: input.before.as_ref().map(|_| own_path.clone()),
        older_url,
    })
}

fn row(
    tx: &Tx<'_>,
    reader: Reader<'_>,
    organization: &VisibleOrganization,
    activity: &Activity,
) -> Result<OrganizationRow, Error> {
    let candidate = match &activity.candidate_id {
        Some(id) => store::candidate::find(tx, &organization.id, id)?,
        None => None,
    };
    let role = match &activity.role_id {
        Some(id) => store::role::find(tx, &organization.id, id)?.map(|role| role.record.name),
        None => None,
    };
    let steps = match &activity.candidate_role_id {
        Some(id) => store::candidate_step::of_application(tx, id)?,
        None => Vec::new(),
    };
    let step_name = |id: &_| steps.iter().find(|step| step.id == *id).map(|step| step.name.clone());
    let link = |candidate: store::candidate::Candidate| {
        (candidate_path(&organization.slug, candidate.id.as_str()), candidate.name)
    };
    Ok(OrganizationRow { row: reader.row(activity, step_name), candidate: candidate.map(link), role })
}
