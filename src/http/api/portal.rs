//! `/api/public/portal/{orgSlug}`: an organization's career portal, its roles, and the way to apply.

use hyper::Method;
use serde::Serialize;
use serde_json::{Map, Number, Value};

use crate::domain::id::{self, Id, RoleId};
use crate::domain::invitation::{LOCALE_DEFAULT, TOKEN_RANDOM_BYTES};
use crate::domain::refusal::Refusal;
use crate::domain::role::{CollarType, Salary, SalaryPeriod, WorkType};
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
pub(in crate::http) const NO_ROLE: Refusal = Refusal::NotFound("the role is not there or no longer available");
const NO_JOB: Refusal = Refusal::NotFound("the role is not there or does not accept applications");

pub(in crate::http) fn routes() -> Vec<Route> {
    vec![
        Route::open(Audience::Public, Method::GET, "/api/public/portal/{orgSlug}", decode, portal)
            .cached_in(CachePool::Api)
            .answering(&[(200, ""), (304, ""), (404, "not_found"), (500, "internal_error")]),
        Route::open(Audience::Public, Method::GET, "/api/public/portal/{orgSlug}/roles/{roleId}", decode_role, role)
            .cached_in(CachePool::Api)
            .answering(&[(200, ""), (304, ""), (404, "not_found"), (500, "internal_error")]),
        Route::open(Audience::Public, Method::POST, "/api/public/portal/{orgSlug}/apply", decode_apply, apply)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (404, "not_found"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (500, "internal_error"),
            ]),
    ]
}

/// What is asked of a portal as a whole: whose it is. A slug that none can have names nothing.
#[expect(clippy::unnecessary_wraps, reason = "a handler's first half may refuse; this one has nothing to")]
pub(in crate::http) fn decode(_: &Ctx, request: &Request) -> Result<Option<Slug>, Error> {
    Ok(Slug::parse(request.param("orgSlug")))
}

/// `GET /api/public/portal/{orgSlug}`: the organization and its roles that are public and open, newest first.
///
/// # Errors
/// `not_found` where there is no organization with this slug, or its portal is off.
fn portal(_: &Ctx, tx: &Tx<'_>, slug: &Option<Slug>) -> Result<Reply, Error> {
    let organization = organization(tx, slug.as_ref())?;
    let theme = Theme::read(&organization)?;
    let roles = store::portal::roles(tx, &organization.id)?;
    let roles = roles.into_iter().map(|role| wire_role(role, &theme)).collect::<Result<_, _>>()?;
    let wire = WirePortal { org: wire_organization(&organization, theme), roles };
    Ok(Reply::tagged(&wire).valid_until_change(organization.id.clone(), store::change::portals(tx)?))
}

fn decode_role(ctx: &Ctx, request: &Request) -> Result<(Option<Slug>, Option<RoleId>), Error> {
    Ok((decode(ctx, request)?, RoleId::parse(request.param("roleId"))))
}

/// `GET /api/public/portal/{orgSlug}/roles/{roleId}`: one of these roles.
///
/// # Errors
/// `not_found` where there is no such portal, or the role is none of its organization's that are public and open.
fn role(_: &Ctx, tx: &Tx<'_>, (slug, role): &(Option<Slug>, Option<RoleId>)) -> Result<Reply, Error> {
    let organization = organization(tx, slug.as_ref())?;
    let theme = Theme::read(&organization)?;
    let role = store::portal::role(tx, &organization.id, role.as_ref().ok_or(NO_ROLE)?)?.ok_or(NO_ROLE)?;
    let role = wire_role(role, &theme)?;
    let wire = WirePortalRole { org: wire_organization(&organization, theme), role };
    Ok(Reply::tagged(&wire).valid_until_change(organization.id.clone(), store::change::portals(tx)?))
}

struct ApplyInput {
    slug: Option<Slug>,
    role: Option<RoleId>,
    locale: String,
}

/// What an application names.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `roleId`, or for a `locale` that is no
/// language tag.
fn decode_apply(ctx: &Ctx, request: &Request) -> Result<ApplyInput, Error> {
    let mut fields = request.object()?;
    let role = fields.required_string("roleId");
    let locale = fields.locale("locale");
    fields.valid()?;
    Ok(ApplyInput {
        slug: decode(ctx, request)?,
        role: role.and_then(|role| RoleId::parse(&role)),
        locale: locale.unwrap_or_else(|| LOCALE_DEFAULT.to_owned()),
    })
}

/// `POST /api/public/portal/{orgSlug}/apply`: a signup link for the role. The one that there is is given again while it
/// has long enough to live.
///
/// # Errors
/// `not_found` where there is no such portal, or the role is none of its organization's that are public and open.
fn apply(ctx: &Ctx, tx: &Tx<'_>, input: &ApplyInput) -> Result<Reply, Error> {
    let organization = organization(tx, input.slug.as_ref())?;
    let role = store::portal::role(tx, &organization.id, input.role.as_ref().ok_or(NO_JOB)?)?.ok_or(NO_JOB)?;
    let token = invite(ctx, tx, &role.id)?;
    let invite_url = format!("{}/signup/{token}?locale={}", ctx.settings.base_url, input.locale);
    Ok(Reply::json(&WireApply { invite_url }))
}

/// The token of the signup link of a role that is open and public: of the one that there is, or of a new one.
pub(in crate::http) fn invite(ctx: &Ctx, tx: &Tx<'_>, role: &RoleId) -> Result<String, Error> {
    if let Some(token) = store::invitation::reusable(tx, role)? {
        return Ok(token);
    }
    let mut random = [0; TOKEN_RANDOM_BYTES];
    ctx.world.fill(&mut random);
    let token = id::token(&random);
    store::invitation::insert(tx, &token, role)?;
    Ok(token)
}

/// The organization whose portal is asked for.
///
/// # Errors
/// `not_found` where there is none with this slug, or its portal is off.
pub(in crate::http) fn organization(tx: &Tx<'_>, slug: Option<&Slug>) -> Result<PortalOrganization, Error> {
    let found = store::portal::organization(tx, slug.ok_or(NO_PORTAL)?)?;
    found.ok_or(Error::Refused(NO_PORTAL))
}

/// A portal's theme as it was stored, with `showSalary` always there.
struct Theme {
    members: Map<String, Value>,
    show_salary: bool,
}

impl Theme {
    fn read(organization: &PortalOrganization) -> Result<Self, Error> {
        let mut members = theme(&organization.theme)?;
        let show_salary = members.get("showSalary") == Some(&Value::Bool(true));
        members.insert("showSalary".to_owned(), Value::Bool(show_salary));
        Ok(Self { members, show_salary })
    }

    /// The salary, where it is shown.
    fn shown(&self, salary: Salary) -> Option<Salary> {
        self.show_salary.then_some(salary)
    }
}

/// A portal's theme as it was stored.
pub(in crate::http) fn theme(text: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(text).map_err(|error| Error::Defect(format!("a theme is no JSON object: {error}")))
}

/// Whether a portal of this theme shows salaries.
pub(in crate::http) fn shows_salary(text: &str) -> Result<bool, Error> {
    Ok(theme(text)?.get("showSalary") == Some(&Value::Bool(true)))
}

fn wire_organization(organization: &PortalOrganization, theme: Theme) -> WireOrganization<'_> {
    WireOrganization {
        name: &organization.name,
        logo: &organization.logo,
        slug: &organization.slug,
        domain: &organization.domain,
        portal_theme: theme.members,
    }
}

/// A role as the portal shows it: never its status, its positions or how many of them are taken.
fn wire_role(role: RoleRecord, theme: &Theme) -> Result<WireRole, Error> {
    let description = serde_json::from_str(&role.description)
        .map_err(|error| Error::Defect(format!("a description is no JSON: {error}")))?;
    let shown = theme.shown(role.salary);
    Ok(WireRole {
        id: role.id.to_string(),
        name: role.name,
        description,
        department: role.department,
        location: role.location,
        work_type: role.work_type.map(WorkType::as_str),
        collar_type: role.collar_type.map(CollarType::as_str),
        salary_min: shown.as_ref().and_then(|salary| json::number(salary.min?)),
        salary_max: shown.as_ref().and_then(|salary| json::number(salary.max?)),
        salary_currency: shown.as_ref().and_then(|salary| salary.currency.clone()),
        salary_period: shown.and_then(|salary| salary.period).map(SalaryPeriod::as_str),
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
    name: String,
    description: Value,
    department: String,
    location: String,
    work_type: Option<&'static str>,
    collar_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_min: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_max: Option<Number>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_currency: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    salary_period: Option<&'static str>,
    created_at: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireApply {
    invite_url: String,
}
