//! `POST /api/v1/candidate-roles/{id}/status-link`: staff issue a new status link for an application.

use hyper::Method;
use serde::Serialize;

use super::candidate::CHANGE_ANSWERS;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::ApplicationId;
use crate::domain::invitation::LOCALE_DEFAULT;
use crate::domain::refusal::Refusal;
use crate::domain::status_page::{self, STATUS_TOKEN_BYTES};
use crate::domain::user::Principal;
use crate::http::api::envelope;
use crate::http::api::resource::APPLICATION;
use crate::http::api::visible::{self, APPLICATION_NOT_VISIBLE};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::signup;
use crate::store::status_page::link;
use crate::store::{self, Error, Grade, Tx};

const ERASED: Refusal = Refusal::Conflict("the candidate was erased; there is nothing left to show");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidate-roles/{id}/status-link";
    let issue = Route::scoped(APPLICATION, Scope::CandidatesWrite, Method::POST, path, decode, issue);
    vec![issue.with_body().writes(Grade::Durable).answering(CHANGE_ANSWERS)]
}

struct StatusLinkInput {
    id: ApplicationId,
    locale: Option<String>,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` if `locale` is not a language tag; `not_found` if
/// the path has no valid id.
fn decode(_: &Ctx, request: &Request) -> Result<StatusLinkInput, Error> {
    let mut fields = request.object()?;
    let locale = fields.locale("locale");
    fields.valid()?;
    Ok(StatusLinkInput { id: request.id_param("id", APPLICATION_NOT_VISIBLE)?, locale })
}

/// `POST /api/v1/candidate-roles/{id}/status-link`: issues a link for an application, even if the application was
/// imported or staff added it. The previous link stops working.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member;
/// `conflict` if the candidate was erased.
fn issue(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &StatusLinkInput) -> Result<Reply, Error> {
    let id = &input.id;
    let (organization, roles) = visible::application(tx, caller, id)?;
    let application = store::application::find(tx, &organization, id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    let candidate =
        store::candidate::find(tx, &organization, &application.candidate_id)?.ok_or(APPLICATION_NOT_VISIBLE)?;
    roles.require_manager()?;
    if candidate.is_erased {
        return Err(ERASED.into());
    }
    let locale = match &input.locale {
        Some(locale) => locale.clone(),
        None => current_locale(tx, id)?,
    };
    let mut random = [0; STATUS_TOKEN_BYTES];
    ctx.world.fill(&mut random);
    let token = status_page::random_token(&random);
    let subject = Subject {
        role_id: Some(application.role_id),
        candidate_role_id: Some(id.clone()),
        ..Subject::of_candidate(organization, application.candidate_id.clone())
    };
    let stamp = store::activity::stamp(&*ctx.world);
    link::issue(tx, caller, &subject, id, &status_page::token_digest(&token), &locale, &stamp)?;
    let url = format!("{}/status/{token}", ctx.settings.base_url);
    let data = WireStatusLink { id: id.as_str(), url, locale, issued_at: tx.now.to_string() };
    Ok(envelope::with_data(data).with_secret_of(id.as_str()).about(application.candidate_id))
}

/// Returns the language of the previous link. If there is none, returns the language of the signup, or else the default
/// language.
fn current_locale(tx: &Tx<'_>, id: &ApplicationId) -> Result<String, Error> {
    if let Some(page) = store::status_page::of_application(tx, id)? {
        return Ok(page.locale);
    }
    let signup = signup::of_application(tx, id)?;
    Ok(signup.map_or_else(|| LOCALE_DEFAULT.to_owned(), |signup| signup.locale))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireStatusLink<'a> {
    id: &'a str,
    url: String,
    locale: String,
    issued_at: String,
}
