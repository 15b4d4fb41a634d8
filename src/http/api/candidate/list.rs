//! `GET /api/v1/organizations/{id}/candidates`: lets staff list and search candidates.

use super::find::NO_ROLE;
use super::wire::{WireApplication, WireCandidate};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{CandidateId, Id, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::search::{self, WORDS_OF_SEARCH_MAX};
use crate::domain::text::{EMAIL_CHARACTERS_MAX, Email};
use crate::domain::user::Principal;
use crate::http::api::decode::word_param;
use crate::http::api::visible::{self, ORGANIZATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::candidate::search::Filter;
use crate::store::{self, Error, Tx};

pub(super) struct CandidateListInput {
    organization: OrganizationId,
    filter: Filter,
    page: PageRequest,
}

/// # Errors
/// `validation_error`, which names all invalid parameters; `not_found` if the path or the query has an invalid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateListInput, Error> {
    let words = Refusal::both(search_words(request, "q"), search_words(request, "name"));
    let email = request.query("email").and_then(|text| text.map(|text| parse_email(&text)).transpose());
    let status = word_param(request, "status", ApplicationStatus::WORDS, ApplicationStatus::parse);
    let filters = Refusal::both(words, Refusal::both(email, status));
    let role_and_page = Refusal::both(request.query("roleId"), PageRequest::parse(request, 1));
    let (((words, words_of_name), (email, status)), (role, page)) = Refusal::both(filters, role_and_page)?;
    let role_id = role.map(|id| RoleId::parse(&id).ok_or(NO_ROLE)).transpose()?;
    let organization = request.id_param("id", ORGANIZATION_NOT_VISIBLE)?;
    Ok(CandidateListInput { organization, filter: Filter { words, words_of_name, email, role_id, status }, page })
}

fn search_words(request: &Request, name: &str) -> Result<Vec<String>, Refusal> {
    let words = search::search_words(&request.query(name)?.unwrap_or_default());
    words.ok_or_else(|| Refusal::invalid(name, format!("must have at most {WORDS_OF_SEARCH_MAX} words")))
}

fn parse_email(text: &str) -> Result<Email, Refusal> {
    let must_be = || format!("must be an email address of at most {EMAIL_CHARACTERS_MAX} characters");
    Email::parse_stored(text).ok_or_else(|| Refusal::invalid("email", must_be()))
}

/// `GET /api/v1/organizations/{id}/candidates`: returns the candidates of an organization that match the filters,
/// newest first.
///
/// # Errors
/// `not_found` if the organization does not exist, the caller may not see it, or it has no role with the `roleId`;
/// `validation_error` for a `cursor` that does not name a candidate of the organization.
pub(super) fn list(_: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &CandidateListInput) -> Result<Reply, Error> {
    let id = &input.organization;
    visible::organization(tx, caller, id)?;
    if let Some(role) = &input.filter.role_id {
        store::role::seats(tx, id, role)?.ok_or(NO_ROLE)?;
    }
    let before = match &input.page.after {
        Some(after) => number_of_last(tx, id, after)?,
        None => i64::MAX,
    };
    let candidates = store::candidate::search::page(tx, id, &input.filter, before, input.page.rows_to_fetch())?;
    let mut rows = Vec::with_capacity(candidates.len());
    for candidate in candidates {
        let applications = store::application::of_candidate(tx, id, &candidate.id)?;
        rows.push((candidate, applications));
    }
    Ok(input.page.reply(
        rows,
        |(candidate, _)| vec![candidate.id.to_string()],
        |(candidate, applications)| {
            WireCandidate::new(candidate, applications.into_iter().map(WireApplication::new).collect())
        },
    ))
}

/// Returns the number of the last candidate on the previous page.
fn number_of_last(tx: &Tx<'_>, organization: &OrganizationId, after: &[String]) -> Result<i64, Error> {
    let id = after.first().and_then(|id| CandidateId::parse(id)).ok_or_else(invalid_cursor)?;
    let last = store::candidate::find(tx, organization, &id)?.ok_or_else(invalid_cursor)?;
    Ok(last.number)
}
