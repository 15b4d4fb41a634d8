//! `/api/public/portal/{orgSlug}`: an organization's portal, its public, open roles, and signup links to them.

use hyper::Method;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use super::role::wire::WireRoleFacts;
use crate::domain::id::{self, Id, RoleId};
use crate::domain::invitation::{LOCALE_DEFAULT, TOKEN_RANDOM_BYTES};
use crate::domain::refusal::Refusal;
use crate::domain::role::SalaryPeriod;
use crate::domain::text::Slug;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::portal::PortalOrganization;
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) const NO_PORTAL: Refusal =
    Refusal::NotFound("there is no career portal with this slug, or it is not enabled");
pub(in crate::http) const NO_ROLE: Refusal = Refusal::NotFound("the role does not exist or is no longer available");
const NO_ROLE_TO_APPLY: Refusal = Refusal::NotFound("the role does not exist or does not accept applications");

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Public, Method::GET, "/api/public/portal/{orgSlug}", decode_slug, portal)
            .cached_in(CachePool::Api)
            .answering(&[(200, ""), (304, ""), (404, "not_found"), (500, "internal_error")]),
        Route::open(Audience::Public, Method::GET, "/api/public/portal/{orgSlug}/roles/{roleId}", decode_role, role)
            .cached_in(CachePool::Api)
            .answering(&[(200, ""), (304, ""), (404, "not_found"), (500, "internal_error")]),
        Route::open(Audience::Public, Method::POST, "/api/public/portal/{orgSlug}/apply", decode_apply, apply)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (404, "not_found"), (500, "internal_error")]),
    ]
}

/// Decodes `{orgSlug}`. Returns `None` for an invalid slug, which no portal has.
#[expect(clippy::unnecessary_wraps, reason = "decoders have this type, although this decoder cannot refuse")]
pub(in crate::http) fn decode_slug(_: &Ctx, request: &Request) -> Result<Option<Slug>, Error> {
    Ok(Slug::parse(request.param("orgSlug")))
}

/// `GET /api/public/portal/{orgSlug}`: returns the organization and its public, open roles, newest first.
///
/// # Errors
/// `not_found` if no organization has the slug, or if the organization or its portal is disabled.
fn portal(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = organization(tx, slug.as_ref())?;
    let roles = store::portal::roles(tx, &organization.id)?;
    let roles =
        roles.iter().map(|role| wire_role(role, organization.theme.shows_salary())).collect::<Result<_, _>>()?;
    let wire = WirePortal { org: wire_organization(&organization)?, roles };
    Ok(Reply::tagged(&wire).valid_until_change(organization.id.clone(), store::change_number::portals(tx)?))
}

fn decode_role(ctx: &Ctx, request: &Request) -> Result<(Option<Slug>, Option<RoleId>), Error> {
    Ok((decode_slug(ctx, request)?, RoleId::parse(request.param("roleId"))))
}

/// `GET /api/public/portal/{orgSlug}/roles/{roleId}`: returns a public, open role.
///
/// # Errors
/// `not_found` if the portal does not exist or does not show the role.
fn role(_: &Ctx, tx: &Tx<'_>, (slug, role): &(Option<Slug>, Option<RoleId>)) -> Result<Reply, Error> {
    let organization = organization(tx, slug.as_ref())?;
    let role = store::portal::role(tx, &organization.id, role.as_ref().ok_or(NO_ROLE)?)?.ok_or(NO_ROLE)?;
    let role = wire_role(&role, organization.theme.shows_salary())?;
    let wire = WirePortalRole { org: wire_organization(&organization)?, role };
    Ok(Reply::tagged(&wire).valid_until_change(organization.id.clone(), store::change_number::portals(tx)?))
}

struct ApplyInput {
    slug: Option<Slug>,
    role: Option<RoleId>,
    locale: String,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for a missing or blank `roleId` or an invalid
/// field.
fn decode_apply(ctx: &Ctx, request: &Request) -> Result<ApplyInput, Error> {
    let mut fields = request.object()?;
    let role = fields.required_string("roleId");
    let locale = fields.locale("locale");
    fields.valid()?;
    Ok(ApplyInput {
        slug: decode_slug(ctx, request)?,
        role: role.and_then(|role| RoleId::parse(&role)),
        locale: locale.unwrap_or_else(|| LOCALE_DEFAULT.to_owned()),
    })
}

/// `POST /api/public/portal/{orgSlug}/apply`: returns a signup link for the role. An existing link is returned again
/// unless it expires soon.
///
/// # Errors
/// `not_found` if the portal does not exist or does not show the role, or if the role's closing date has passed.
fn apply(ctx: &Ctx, tx: &Tx<'_>, input: &ApplyInput) -> Result<Reply, Error> {
    let organization = organization(tx, input.slug.as_ref())?;
    let role = store::portal::role(tx, &organization.id, input.role.as_ref().ok_or(NO_ROLE_TO_APPLY)?)?
        .filter(|role| !has_closing_day_passed(ctx, tx, &organization, role))
        .ok_or(NO_ROLE_TO_APPLY)?;
    let token = signup_token(ctx, tx, &role.id)?;
    let invite_url = format!("{}/signup/{token}?locale={}", ctx.settings.base_url, input.locale);
    Ok(Reply::json(&WireApply { invite_url }))
}

/// Returns whether the closing date of an open role has passed. Such a role accepts no signups, although the service
/// has not closed it yet.
pub(in crate::http) fn has_closing_day_passed(
    ctx: &Ctx,
    tx: &Tx<'_>,
    organization: &PortalOrganization,
    role: &RoleRecord,
) -> bool {
    let today = ctx.world.local_day(&organization.time_zone, tx.now);
    role.closes_on.is_some_and(|day| day.has_passed(today))
}

/// Returns the token of a signup link for a public, open role. Creates a link first if there is none, or if the
/// existing link expires soon.
pub(in crate::http) fn signup_token(ctx: &Ctx, tx: &Tx<'_>, role: &RoleId) -> Result<String, Error> {
    if let Some(token) = store::invitation::reusable(tx, role)? {
        return Ok(token);
    }
    let mut random = [0; TOKEN_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    let token = id::token(&random);
    store::invitation::insert(tx, &token, role)?;
    Ok(token)
}

/// # Errors
/// `not_found` if no organization has the slug, or if the organization or its portal is disabled.
pub(in crate::http) fn organization(tx: &Tx<'_>, slug: Option<&Slug>) -> Result<PortalOrganization, Error> {
    Ok(store::portal::organization(tx, slug.ok_or(NO_PORTAL)?)?.ok_or(NO_PORTAL)?)
}

fn wire_organization(organization: &PortalOrganization) -> Result<WireOrganization<'_>, Error> {
    let mut portal_theme = organization.theme.members()?.clone();
    portal_theme.insert("showSalary".to_owned(), Value::Bool(organization.theme.shows_salary()));
    Ok(WireOrganization {
        name: &organization.name,
        logo: &organization.logo,
        slug: &organization.slug,
        domain: &organization.domain,
        portal_theme,
    })
}

/// Converts a role to the form that portals show, without its status, its positions and its hires.
fn wire_role(role: &RoleRecord, shows_salary: bool) -> Result<WireRole, Error> {
    let description = role.description.members()?.clone();
    let salary = shows_salary.then_some(&role.salary);
    Ok(WireRole {
        id: role.id.to_string(),
        facts: WireRoleFacts::of(role),
        description,
        salary_min: salary.and_then(|salary| json::number(salary.min?)),
        salary_max: salary.and_then(|salary| json::number(salary.max?)),
        salary_currency: salary.and_then(|salary| salary.currency.clone()),
        salary_period: salary.and_then(|salary| salary.period).map(SalaryPeriod::as_str),
        closes_on: role.closes_on.map(|day| day.to_string()),
        created_at: role.created_at.to_string(),
    })
}

#[derive(Serialize)]
struct WirePortal<'a> {
    org: WireOrganization<'a>,
    roles: Vec<WireRole>,
}

#[derive(Serialize)]
struct WirePortalRole<'a> {
    org: WireOrganization<'a>,
    role: WireRole,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireOrganization<'a> {
    name: &'a str,
    logo: &'a str,
    slug: &'a str,
    domain: &'a str,
    portal_theme: Map<String, Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireRole {
    id: String,
    #[serde(flatten)]
    facts: WireRoleFacts,
    description: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_min: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_max: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_period: Option<&'static str>,
    /// Missing if the role has no closing date.
    #[serde(skip_serializing_if = "Option::is_none")]
    closes_on: Option<String>,
    created_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireApply {
    invite_url: String,
}
