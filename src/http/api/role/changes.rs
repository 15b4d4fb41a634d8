//! `GET /api/v1/roles/{id}/changes`: the acts on the applications of a role since an earlier answer.

use hyper::Method;
use serde::Serialize;

use super::version::entity_tag;
use crate::domain::api_key::Scope;
use crate::domain::id::{CandidateStepId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::ROLE;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::activity::role_changes::{self, ApplicationChange};
use crate::store::{Error, Tx};

pub(super) fn route(path: &'static str) -> Route {
    Route::scoped(ROLE, Scope::CandidatesRead, Method::GET, path, decode, changes).answering(&[
        (200, ""),
        (400, "validation_error"),
        (404, "not_found"),
    ])
}

struct RoleChangesInput {
    role: RoleId,
    after: Option<String>,
}

/// # Errors
/// `validation_error` for a repeated `after`; `not_found` if the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<RoleChangesInput, Error> {
    let after = request.query("after")?;
    Ok(RoleChangesInput { role: request.id_param("id", ROLE_NOT_VISIBLE)?, after })
}

/// `GET /api/v1/roles/{id}/changes`: returns the acts on the role's applications after the activity row that `after`
/// names, oldest first. Without `after`, the answer has no changes, only the current cursor and the role's `ETag`. The
/// cursors are ids, because the number of a row would reveal how much activity the whole database contains.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it; `validation_error` for an unknown `after`.
fn changes(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &RoleChangesInput) -> Result<Reply, Error> {
    let (organization, _) = visible::role(tx, caller, &input.role)?;
    let found = role_changes::since(tx, &organization, &input.role, input.after.as_deref())?;
    let found = found.ok_or_else(|| {
        Refusal::invalid(
            "after",
            "must be the value of `current` or `next` from an earlier answer; a request without `after` gets a new `current`",
        )
    })?;
    Ok(envelope::with_data(WireRoleChanges {
        changes: found.changes.iter().map(WireApplicationChange::new).collect(),
        next: found.next.as_deref(),
        current: &found.current,
        etag: entity_tag(tx, &organization, &input.role)?,
    }))
}

#[derive(Serialize)]
struct WireRoleChanges<'a> {
    changes: Vec<WireApplicationChange<'a>>,
    next: Option<&'a str>,
    current: &'a str,
    etag: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireApplicationChange<'a> {
    activity_id: &'a str,
    action: &'a str,
    at: String,
    by: Option<WireAuthor<'a>>,
    candidate_id: &'a str,
    candidate_role_id: &'a str,
    candidate_step_id: Option<&'a str>,
}

impl<'a> WireApplicationChange<'a> {
    fn new(change: &'a ApplicationChange) -> Self {
        Self {
            activity_id: change.activity_id.as_str(),
            action: &change.action,
            at: change.at.to_string(),
            by: change.by.as_ref().map(|by| WireAuthor { id: &by.id, name: &by.name }),
            candidate_id: change.candidate_id.as_str(),
            candidate_role_id: change.candidate_role_id.as_str(),
            candidate_step_id: change.candidate_role_step_id.as_ref().map(CandidateStepId::as_str),
        }
    }
}

#[derive(Serialize)]
struct WireAuthor<'a> {
    id: &'a str,
    name: &'a str,
}
