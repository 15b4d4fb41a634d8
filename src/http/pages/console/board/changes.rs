//! `GET /app/{orgSlug}/roles/{id}/changes`: the parts of a board that have changed since a cursor.

use askama::Template;

use super::part::{Part, PartSource, StepCount};
use super::role_facts::{Ended, HiredRow, Seats, hired, review};
use super::scene::{BoardInput, Scene};
use crate::domain::activity::{Action, is_reading};
use crate::domain::id::ApplicationId;
use crate::domain::user::Principal;
use crate::http::pages::console::live::{self, Live, NextCursor, Reporter};
use crate::http::pages::console::{visit, when};
use crate::http::pages::texts::console::board::{BOARD, BoardTexts};
use crate::http::pages::texts::console::deciding::{DECIDING, DecidingTexts};
use crate::http::pages::texts::console::decision::{DECISION, DecisionTexts};
use crate::http::pages::texts::console::later::{LATER, LaterTexts};
use crate::http::pages::texts::console::live::LIVE;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::activity::organization_changes::OrganizationChange;

use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/board/changes.html", config = "src/http/pages/templates/askama.toml")]
struct BoardChanges {
    words: &'static BoardTexts,
    deciding: &'static DecidingTexts,
    decision: &'static DecisionTexts,
    later: &'static LaterTexts,
    path: String,
    candidates: String,
    may_decide: bool,
    parts: Vec<Part>,
    counts: Vec<StepCount>,
    /// Whether the role still has no application.
    is_empty: bool,
    review: Option<(String, String)>,
    ended: Ended,
    seats: Seats,
    /// The hired candidates; `None` if no change can have affected the list.
    hired: Option<Vec<HiredRow>>,
    /// The notice that the role itself or its steps have changed.
    changed: Option<live::Changed>,
    news: Option<String>,
    live: Live,
}

/// A request for the changes to a board.
pub(super) struct ChangesInput {
    board: BoardInput,
    after: Option<String>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<ChangesInput, Error> {
    let (role, live) = (visit::id(request, "id")?, live::LiveInput::decode(request)?);
    let board = BoardInput { visit: live.visit, role, step: None, done: None, decided: None };
    Ok(ChangesInput { board, after: live.after })
}

/// `GET …/changes`: returns the changed cards, the current numbers of candidates and the current facts about the role.
/// Returns 204 if nothing has happened in the organization since the cursor. If no change concerns the board, the
/// answer contains only the next cursor.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `gone` for an unknown
/// cursor.
pub(super) fn changes(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ChangesInput) -> Result<Reply, Error> {
    let scene = input.board.load(tx, who)?;
    let Some(found) = live::changes(tx, &scene.organization, input.after.as_deref())? else {
        return Ok(Reply::no_content());
    };
    let next = Live::following(&scene.changes_path(), &found);
    let relevant = Relevant::of(tx, &scene, &found.changes)?;
    if relevant.changes.is_empty() {
        return Reply::console(&NextCursor { news: None, live: next });
    }
    let texts = input.board.visit.texts_for(tx, who)?;
    let reporter = Reporter { tx, who, organization: &scene.organization, texts };
    let source = PartSource::new(tx, texts, &scene)?;
    let role_change = relevant.changes.iter().rfind(|change| change.candidate_id.is_none());
    Reply::console(&BoardChanges {
        words: BOARD.of(texts),
        deciding: DECIDING.of(texts),
        decision: DECISION.of(texts),
        later: LATER.of(texts),
        path: scene.path(),
        candidates: scene.candidates(),
        may_decide: scene.organization.caller.require_manager().is_ok(),
        parts: relevant.applications.iter().map(|id| source.part(id)).collect::<Result<_, _>>()?,
        counts: source.counts()?,
        ended: Ended::new(texts, source.applications()),
        is_empty: source.applications().total() == 0,
        review: review(texts, &scene, waiting(tx, &scene)?),
        seats: Seats::new(texts, &scene.role),
        hired: match relevant.may_change_hired() {
            true => Some(hired(tx, texts, &scene.organization, &scene.role.id)?),
            false => None,
        },
        changed: role_change.map(|change| live::Changed {
            sentence: reporter.role_change(&change.action, change.at, change.by.as_ref()),
            url: scene.path(),
            load: LIVE.of(texts).load,
        }),
        news: reporter.news(relevant.changes.iter().copied())?,
        live: next,
    })
}

/// Returns the number of candidates at the first step who are not put aside.
fn waiting(tx: &Tx<'_>, scene: &Scene) -> Result<usize, Error> {
    let (organization, role) = (&scene.organization.id, &scene.role.id);
    let today = when::today(&scene.organization.time_zone, tx.now);
    let overview = store::role::overview(tx, organization, role, tx.now, today)?;
    Ok(usize::try_from(overview.new).unwrap_or_default())
}

/// The changes that concern a board.
struct Relevant<'a> {
    changes: Vec<&'a OrganizationChange>,
    /// The applications whose cards may have changed.
    applications: Vec<ApplicationId>,
}

impl<'a> Relevant<'a> {
    /// Finds the acts on the role, on its applications, and on candidates who have applied to it.
    fn of(tx: &Tx<'_>, scene: &Scene, changes: &'a [OrganizationChange]) -> Result<Self, Error> {
        let mut relevant = Self { changes: Vec::new(), applications: Vec::new() };
        for change in changes.iter().filter(|change| !is_reading(&change.action)) {
            let applications = applications(tx, scene, change)?;
            let is_of_role = change.candidate_id.is_none() && change.role_id.as_ref() == Some(&scene.role.id);
            if is_of_role || !applications.is_empty() {
                relevant.changes.push(change);
            }
            for id in applications {
                if !relevant.applications.contains(&id) {
                    relevant.applications.push(id);
                }
            }
        }
        Ok(relevant)
    }

    fn may_change_hired(&self) -> bool {
        let keeps_hired = |change: &&OrganizationChange| {
            matches!(
                Action::parse(&change.action),
                Some(Action::Validated | Action::Moved | Action::Rejected | Action::CandidateRoleSignedUp)
            )
        };
        !self.changes.iter().all(keeps_hired)
    }
}

/// Returns the role's applications that an act concerns. An act that names a candidate but no application, such as an
/// erasure, concerns every application of the candidate to the role.
fn applications(tx: &Tx<'_>, scene: &Scene, change: &OrganizationChange) -> Result<Vec<ApplicationId>, Error> {
    let (role, organization) = (&scene.role.id, &scene.organization.id);
    match (&change.candidate_id, &change.application_id) {
        (Some(_), Some(id)) => Ok((change.role_id.as_ref() == Some(role)).then(|| id.clone()).into_iter().collect()),
        (Some(candidate), None) => {
            let all = store::application::of_candidate(tx, organization, candidate)?.into_iter();
            Ok(all
                .filter(|application| application.role_id == *role)
                .map(|application| application.record.id)
                .collect())
        }
        (None, _) => Ok(Vec::new()),
    }
}
