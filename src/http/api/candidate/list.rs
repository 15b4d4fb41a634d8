//! `GET /api/v1/organizations/{id}/candidates`.

use super::find::{EMAIL, NO_ROLE, organization};
use super::wire::{WireApplication, WireCandidate};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::id::{CandidateId, Id, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::search::{self, WORDS_OF_SEARCH_MAX};
use crate::domain::text::Email;
use crate::domain::user::Principal;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::{PageRequest, invalid_cursor};
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::candidate::search::Filter;
use crate::store::{self, Error, Tx};

pub(super) struct CandidateListInput {
    organization: Option<OrganizationId>,
    filter: Filter,
    page: PageRequest,
}

/// Which candidates are asked for. All parameters at fault are told at once.
///
/// # Errors
/// `validation_error` for a `limit` that is no integer, a `cursor` that no page gave, an `email` that is none, a `status`
/// that there is none of, too many words, a parameter that is there twice; `not_found` for a `roleId` that none can have.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<CandidateListInput, Error> {
    let read = |name| request.query(name);
    let words = read("q").and_then(|text| searched("q", text));
    let words_of_name = read("name").and_then(|text| searched("name", text));
    let email = read("email").and_then(|text| text.map(|text| email(&text)).transpose());
    let status = read("status").and_then(|text| text.map(|text| status(&text)).transpose());
    let narrowed = Refusal::both(Refusal::both(words, words_of_name), Refusal::both(email, status));
    let rest = Refusal::both(read("roleId"), PageRequest::parse(request, 1));
    let (((words, words_of_name), (email, status)), (role, page)) = Refusal::both(narrowed, rest)?;
    let role_id = role.map(|id| RoleId::parse(&id).ok_or(NO_ROLE)).transpose()?;
    let organization = OrganizationId::parse(request.param("id"));
    Ok(CandidateListInput { organization, filter: Filter { words, words_of_name, email, role_id, status }, page })
}

fn searched(name: &str, text: Option<String>) -> Result<Vec<String>, Refusal> {
    let words = search::search_words(&text.unwrap_or_default());
    words.ok_or_else(|| Refusal::invalid(name, format!("must have at most {WORDS_OF_SEARCH_MAX} words")))
}

fn email(text: &str) -> Result<Email, Refusal> {
    Email::parse_stored(text).ok_or_else(|| Refusal::invalid("email", EMAIL))
}

fn status(text: &str) -> Result<ApplicationStatus, Refusal> {
    let wrong = || Refusal::invalid("status", format!("must be one of {}", ApplicationStatus::WORDS.join(", ")));
    ApplicationStatus::parse(text).ok_or_else(wrong)
}

/// `GET /api/v1/organizations/{id}/candidates`: a page of candidates, newest first.
///
/// # Errors
/// `not_found` where there is no such organization or, in it, no such role; `validation_error` for a `cursor` that no page
/// of it gave.
pub(super) fn list(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &CandidateListInput) -> Result<Reply, Error> {
    let (id, _) = organization(tx, who, input.organization.as_ref())?;
    if let Some(role) = &input.filter.role_id {
        store::role::seats(tx, id, role)?.ok_or(NO_ROLE)?;
    }
    let before = match &input.page.after {
        Some(after) => last_of_page(tx, id, after)?,
        None => i64::MAX,
    };
    let rows = input.page.rows_to_fetch();
    let found = store::candidate::search::page(tx, id, &input.filter, before, rows)?;
    let mut told = Vec::with_capacity(found.len());
    for candidate in found {
        let applications = store::application::of_candidate(tx, id, &candidate.id)?;
        told.push((candidate, applications));
    }
    Ok(input.page.reply(
        told,
        |(candidate, _)| vec![candidate.id.to_string()],
        |(candidate, applications)| {
            WireCandidate::of(candidate, applications.into_iter().map(WireApplication::of).collect())
        },
    ))
}

/// The number of the last candidate of the page before.
fn last_of_page(tx: &Tx<'_>, organization: &OrganizationId, after: &[String]) -> Result<i64, Error> {
    let id = after.first().and_then(|id| CandidateId::parse(id)).ok_or_else(invalid_cursor)?;
    let last = store::candidate::find(tx, organization, &id)?.ok_or_else(invalid_cursor)?;
    Ok(last.number)
}
