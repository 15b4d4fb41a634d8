//! `GET /careers/{orgSlug}/roles/{roleId}`: a role that is public and open; `POST …/apply` leads to its signup form.

use askama::Template;

use super::posting::{self, Employer};
use super::role_facts::{RoleFact, role_facts};
use super::visit::{Visit, home, organization, role_path, valid_until_change};
use super::{missing, share};
use crate::domain::id::{Id, RoleId};
use crate::http::api::portal;
use crate::http::pages::frame::Frame;
use crate::http::pages::markdown;
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::portal::PortalOrganization;
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Tx};

pub(super) struct RolePageInput {
    visit: Visit,
    role: Option<RoleId>,
}

/// The role that is asked for; an id that none can have names nothing.
///
/// # Errors
/// `validation_error` where the language is there twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<RolePageInput, Error> {
    Ok(RolePageInput { visit: super::visit::decode(ctx, request)?, role: RoleId::parse(request.param("roleId")) })
}

/// A role's page, or the page that says why there is none.
enum Found {
    Role(Box<RoleRecord>, PortalOrganization),
    Missing(Reply),
}

fn find(tx: &Tx<'_>, RolePageInput { visit, role }: &RolePageInput) -> Result<Found, Error> {
    let Some(organization) = organization(tx, visit.slug.as_ref())? else {
        return Ok(Found::Missing(missing::portal(visit)?));
    };
    let Some(id) = role else { return Ok(Found::Missing(missing::role(tx, visit, &organization, None)?)) };
    if let Some(role) = store::portal::role(tx, &organization.id, id)? {
        return Ok(Found::Role(Box::new(role), organization));
    }
    let former = store::careers::former(tx, &organization.id, id)?;
    Ok(Found::Missing(missing::role(tx, visit, &organization, former.as_deref())?))
}

/// `GET /careers/{orgSlug}/roles/{roleId}`
///
/// # Errors
/// As pages: `not_found` where there is no such portal, or it has no such role; `gone` where the role was public and is
/// filled or closed.
pub(super) fn role(ctx: &Ctx, tx: &Tx<'_>, input: &RolePageInput) -> Result<Reply, Error> {
    let (role, organization) = match find(tx, input)? {
        Found::Role(role, organization) => (role, organization),
        Found::Missing(reply) => return Ok(reply),
    };
    let visit = &input.visit;
    let texts = visit.texts;
    let path = role_path(&organization.slug, role.id.as_str());
    let title = fill(texts.careers.role_title, &[("role", &role.name), ("organization", &organization.name)]);
    let body = markdown::of_description(&role.description);
    let shows_salary = portal::shows_salary(&organization.theme)?;
    let posted = ctx.world.day(&organization.time_zone, role.created_at);
    let posted = posted.or_else(|| ctx.world.day("UTC", role.created_at));
    let posted = posted.map(|day| (day.to_string(), texts.day(day)));
    let base = &ctx.settings.base_url;
    let employer = employer(&organization, shows_salary);
    let reply = Reply::rendered(&Role {
        frame: visit.frame(&organization, title, &path),
        canonical: share::role_url(base, &organization.slug, role.id.as_str()),
        logo: organization.has_logo.then(|| share::file_url(base, &organization.slug, "logo")),
        excerpt: share::summary(&body),
        facts: role_facts(texts, &role, shows_salary),
        description: markdown::to_html(&body),
        apply: format!("{path}/apply?lang={}", texts.tag),
        home: format!("{}?lang={}", home(&organization.slug), texts.tag),
        all_roles: fill(texts.common.all_roles, &[("organization", &organization.name)]),
        posting: posting::json_ld(base, &employer, &role, posted.as_ref().map(|(day, _)| day.as_str())),
        posted,
        role: &role,
    })?;
    valid_until_change(reply, texts, &organization, tx)
}

/// The organization as search engines read of it.
fn employer(organization: &PortalOrganization, shows_salary: bool) -> Employer<'_> {
    let PortalOrganization { name, slug, domain, logo, has_logo, .. } = organization;
    Employer { name, slug, domain, logo, has_logo: *has_logo, shows_salary }
}

/// `POST /careers/{orgSlug}/roles/{roleId}/apply`: to the role's signup form, which is the same for all who ask while the
/// link lives, in the language of the page.
///
/// # Errors
/// As for the role's page.
pub(super) fn apply(ctx: &Ctx, tx: &Tx<'_>, input: &RolePageInput) -> Result<Reply, Error> {
    match find(tx, input)? {
        Found::Role(role, _) => {
            let token = portal::signup_token(ctx, tx, &role.id)?;
            Ok(Reply::see_other(&format!("/signup/{token}?locale={}", input.visit.texts.tag)))
        }
        Found::Missing(reply) => Ok(reply),
    }
}

#[derive(Template)]
#[template(path = "careers_role.html", config = "src/http/pages/templates/askama.toml")]
struct Role<'a> {
    frame: Frame<'a>,
    canonical: String,
    /// The absolute URL of the organization's picture.
    logo: Option<String>,
    excerpt: String,
    role: &'a RoleRecord,
    facts: Vec<RoleFact>,
    /// The day, for machines and for people.
    posted: Option<(String, String)>,
    /// Safe HTML.
    description: String,
    apply: String,
    home: String,
    all_roles: String,
    /// What search engines read of it: JSON that is safe in HTML.
    posting: String,
}
