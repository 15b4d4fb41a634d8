//! `GET /app/{orgSlug}/roles/{id}/not-selected`: the candidates of a role who were not selected, with the reason, the
//! person who decided, and the form that reopens the application.

use askama::Template;
use hyper::Method;

use super::activity::Reader;
use super::decision::done::{self, Done};
use super::decision::panel::DecisionPanel;
use super::decision::scene::candidate_path;
use super::frame::{ConsoleFrame, NavItem};
use super::visit::{self, ABSENT, Visit};
use super::when::When;
use crate::domain::activity::Action;
use crate::domain::candidate_step::{ApplicationStatus, StepStatus};
use crate::domain::id::{ApplicationId, CandidateId, Id, RoleId};
use crate::domain::user::Principal;
use crate::http::pages::texts::console::not_selected::{NOT_SELECTED, NotSelectedTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::not_selected::{self, NotSelected};
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/not_selected.html", config = "src/http/pages/templates/askama.toml")]
struct NotSelectedPage {
    frame: ConsoleFrame,
    words: &'static NotSelectedTexts,
    board: String,
    done: Option<Done>,
    rows: Vec<NotSelectedRow>,
    first_url: Option<String>,
    next_url: Option<String>,
}

struct NotSelectedRow {
    url: String,
    name: String,
    rejection: Option<RejectionView>,
    /// The form that reopens the application; `None` for an erased candidate.
    panel: Option<DecisionPanel>,
}

/// The rejection that ended an application.
struct RejectionView {
    /// The step and, if known, the user who decided.
    place: String,
    when: Option<When>,
    reason: Option<String>,
    note: Option<String>,
}

pub(super) fn routes() -> Vec<Route> {
    let path = "/app/{orgSlug}/roles/{id}/not-selected";
    vec![Route::staff(Method::GET, path, decode, show).answering(&[(200, "")])]
}

struct NotSelectedInput {
    visit: Visit,
    role: RoleId,
    page: PageRequest,
    /// The application of the decision that led to the page.
    done: Option<ApplicationId>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated, `limit` is not an integer,
/// or `cursor` is not a cursor of the list.
fn decode(_: &Ctx, request: &Request) -> Result<NotSelectedInput, Error> {
    Ok(NotSelectedInput {
        visit: Visit::decode(request)?,
        role: visit::id(request, "id")?,
        page: PageRequest::parse(request, 1)?,
        done: done::decode(request)?,
    })
}

/// `GET …/not-selected`: shows a page of the candidates who were not selected, newest candidates first.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the role does not exist in the organization, or the caller may
/// not see it; `validation_error` for a cursor that names no candidate.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &NotSelectedInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let role = store::role::find(tx, &organization.id, &input.role)?.ok_or(ABSENT)?.record;
    let texts = input.visit.texts_for(tx, who)?;
    let words = NOT_SELECTED.of(texts);
    let before = match &input.page.after {
        Some(after) => {
            let id = after.first().and_then(|id| CandidateId::parse(id)).ok_or_else(invalid_cursor)?;
            store::candidate::find(tx, &organization.id, &id)?.ok_or_else(invalid_cursor)?.number
        }
        None => i64::MAX,
    };
    let loaded = not_selected::page(tx, &organization.id, &role.id, before, input.page.rows_to_fetch())?;
    let (found, pagination) = input.page.take_page(loaded, |row| vec![row.candidate_id.to_string()]);
    let board = format!("/app/{}/roles/{}", organization.slug, role.id);
    let path = format!("{board}/not-selected");
    let rows = found.into_iter().map(|found| row(tx, texts, &organization, found, &path));
    Reply::console(&NotSelectedPage {
        rows: rows.collect::<Result<_, _>>()?,
        done: done::message(tx, who, &organization, texts, input.done.as_ref(), &path)?,
        first_url: input.page.after.as_ref().map(|_| path.clone()),
        next_url: pagination.next_cursor.map(|cursor| format!("{path}?cursor={cursor}")),
        frame: {
            let title = fill(words.title, &[("role", &role.name)]);
            input.visit.frame(tx, who, Some(&organization), NavItem::Roles, title)?
        },
        words,
        board,
    })
}

fn row(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    found: NotSelected,
    path: &str,
) -> Result<NotSelectedRow, Error> {
    let id = &found.application_id;
    let steps = store::candidate_step::of_application(tx, id)?;
    let status = ApplicationStatus::NotSelected;
    let panel = (!found.is_erased).then(|| DecisionPanel::new(texts, organization, id, status, &steps, path));
    let rejected = steps.iter().filter(|step| step.status == StepStatus::Rejected);
    let last = rejected.max_by_key(|step| step.rejected_at);
    let rejection = last.map(|step| {
        let zone = organization.time_zone.as_str();
        let reader = Reader { texts, zone, now: tx.now };
        Ok::<_, Error>(RejectionView {
            place: match decider(tx, organization, &found)? {
                Some(who) => fill(NOT_SELECTED.of(texts).at_by, &[("step", &step.name), ("who", &who)]),
                None => step.name.clone(),
            },
            when: step.rejected_at.map(|at| When::new(texts, zone, at, tx.now)),
            reason: step.outcome_reason.as_deref().map(|reason| reader.reason(reason)),
            note: step.rejection_reason.clone().filter(|note| !note.trim().is_empty()),
        })
    });
    Ok(NotSelectedRow {
        url: candidate_path(&organization.slug, found.candidate_id.as_str()),
        rejection: rejection.transpose()?,
        name: found.candidate_name,
        panel,
    })
}

/// Returns the name of the user who rejected the candidate, even if the rejection reversed a hire. Returns `None` if
/// the latest decision in the activity is not a rejection by a user.
fn decider(tx: &Tx<'_>, organization: &VisibleOrganization, found: &NotSelected) -> Result<Option<String>, Error> {
    let (candidate, application) = (&found.candidate_id, &found.application_id);
    let latest = store::activity::latest_decision(tx, &organization.id, candidate, application)?;
    let is_rejection = |action: &str| matches!(Action::parse(action), Some(Action::Rejected | Action::HireReversed));
    let latest = latest.filter(|latest| is_rejection(&latest.action));
    Ok(latest.and_then(|latest| latest.actor).map(|actor| actor.name))
}
