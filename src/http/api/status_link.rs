//! `POST /api/v1/candidate-roles/{id}/status-link`: staff make a new link to the page where a candidate sees where they stand.

use hyper::Method;
use serde::Serialize;

use super::api_key::WireData;
use super::candidate::WRITES;
use crate::domain::activity::Subject;
use crate::domain::api_key::Scope;
use crate::domain::id::{ApplicationId, Id};
use crate::domain::invitation::LOCALE_DEFAULT;
use crate::domain::refusal::Refusal;
use crate::domain::status_page::{self, STATUS_TOKEN_BYTES};
use crate::domain::user::Principal;
use crate::http::api::resource::APPLICATION;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::signup;
use crate::store::status_page::link;
use crate::store::{self, Error, Grade, Tx};

const NO_APPLICATION: Refusal = Refusal::NotFound("there is no such application, or this key may not see it");
const ERASED: Refusal = Refusal::Conflict("the candidate was erased; there is nothing left to show");

pub(in crate::http) fn routes() -> Vec<Route> {
    let path = "/api/v1/candidate-roles/{id}/status-link";
    let issue = Route::scoped(APPLICATION, Scope::CandidatesWrite, Method::POST, path, decode, issue);
    vec![issue.with_body().writes(Grade::Durable).answering(WRITES)]
}

struct StatusLinkInput {
    id: Option<ApplicationId>,
    locale: Option<String>,
}

/// `…/status-link`: the language is optional.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for a `locale` that is no language tag.
fn decode(_: &Ctx, request: &Request) -> Result<StatusLinkInput, Error> {
    let mut fields = request.object()?;
    let locale = fields.locale("locale");
    fields.valid()?;
    Ok(StatusLinkInput { id: ApplicationId::parse(request.param("id")), locale })
}

/// `POST /api/v1/candidate-roles/{id}/status-link`: a link of any application, also one that was added by hand or imported.
/// The one that there was leads nowhere any more. Without a language it speaks the one that it spoke, or that was applied in.
///
/// # Errors
/// `not_found` where there is no such application, or the caller may not see it; `forbidden` for a plain member;
/// `conflict` where the candidate was erased.
fn issue(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &StatusLinkInput) -> Result<Reply, Error> {
    let id = input.id.as_ref().ok_or(NO_APPLICATION)?;
    let (organization, standing) = store::access::to_application(tx, who, id)?.ok_or(NO_APPLICATION)?;
    let application = store::application::find(tx, &organization, id)?.ok_or(NO_APPLICATION)?;
    let candidate = store::candidate::find(tx, &organization, &application.candidate_id)?.ok_or(NO_APPLICATION)?;
    standing.require_manager()?;
    if candidate.is_erased {
        return Err(ERASED.into());
    }
    let locale = locale(tx, id, input.locale.as_deref())?;
    let mut random = [0; STATUS_TOKEN_BYTES];
    ctx.world.fill(&mut random);
    let token = status_page::random_token(&random);
    let subject = Subject {
        role_id: Some(application.role_id),
        candidate_role_id: Some(id.clone()),
        ..Subject::of_candidate(organization, application.candidate_id.clone())
    };
    let stamp = store::activity::stamp(&*ctx.world);
    link::issue(tx, who, &subject, id, &status_page::token_digest(&token), &locale, &stamp)?;
    let url = format!("{}/status/{token}", ctx.settings.base_url);
    let data = WireLink { id: id.as_str(), url, locale, issued_at: tx.now.to_string() };
    Ok(Reply::json(&WireData { success: true, data }).with_secret_of(id.as_str()).about(application.candidate_id))
}

fn locale(tx: &Tx<'_>, id: &ApplicationId, wanted: Option<&str>) -> Result<String, Error> {
    if let Some(locale) = wanted {
        return Ok(locale.to_owned());
    }
    if let Some(page) = store::status_page::of_application(tx, id)? {
        return Ok(page.locale);
    }
    let signup = signup::of_application(tx, id)?;
    Ok(signup.map_or_else(|| LOCALE_DEFAULT.to_owned(), |signup| signup.locale))
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireLink<'a> {
    id: &'a str,
    url: String,
    locale: String,
    issued_at: String,
}
