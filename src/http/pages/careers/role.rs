//! `GET /careers/{orgSlug}/roles/{roleId}`: the posting of a public, open role. `POST …/apply` redirects to the role's
//! signup form.

use askama::Template;
use jiff::civil::Date;

use super::closing_day;
use super::posting::{self, Employer, PostingDates};
use super::role_facts::{RoleFact, role_facts};
use super::visit::{PortalVisit, valid_until_change};
use super::{missing, url};
use crate::domain::id::{Id, RoleId};
use crate::http::api::portal::{self, has_closing_day_passed};
use crate::http::pages::frame::{Branding, Frame};
use crate::http::pages::markdown;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::portal::PortalOrganization;
use crate::store::role::RoleRecord;
use crate::store::{self, Error, Tx};

pub(super) struct RolePageInput {
    visit: PortalVisit,
    /// `None` if the path contains an invalid id, which cannot belong to any role.
    role_id: Option<RoleId>,
}

/// # Errors
/// `validation_error` if the language is given twice.
pub(super) fn decode(ctx: &Ctx, request: &Request) -> Result<RolePageInput, Error> {
    Ok(RolePageInput { visit: super::visit::decode(ctx, request)?, role_id: RoleId::parse(request.param("roleId")) })
}

/// The result of looking up a role: the role, or the page that explains why it is missing.
enum RoleLookup {
    Found(Box<RoleRecord>, PortalOrganization),
    Missing(Reply),
}

fn find(tx: &Tx<'_>, RolePageInput { visit, role_id }: &RolePageInput) -> Result<RoleLookup, Error> {
    let Some(organization) = visit.organization(tx)? else {
        return Ok(RoleLookup::Missing(missing::portal(visit)?));
    };
    let Some(id) = role_id else { return Ok(RoleLookup::Missing(missing::role(tx, visit, &organization, None)?)) };
    if let Some(role) = store::portal::role(tx, &organization.id, id)? {
        return Ok(RoleLookup::Found(Box::new(role), organization));
    }
    let former = store::careers::former(tx, &organization.id, id)?;
    Ok(RoleLookup::Missing(missing::role(tx, visit, &organization, former.as_deref())?))
}

/// `GET /careers/{orgSlug}/roles/{roleId}`: shows the posting of a role. If the portal does not exist or has no such
/// role, the reply is a 404 page. If the role is filled or closed, the reply is a 410 page.
pub(super) fn role(ctx: &Ctx, tx: &Tx<'_>, input: &RolePageInput) -> Result<Reply, Error> {
    let (role, organization) = match find(tx, input)? {
        RoleLookup::Found(role, organization) => (role, organization),
        RoleLookup::Missing(reply) => return Ok(reply),
    };
    let texts = input.visit.texts;
    let page = page(ctx, texts, &organization, &role);
    let frame =
        input.visit.frame(&organization, page.frame.title, &url::role_path(&organization.slug, role.id.as_str()));
    let reply = Reply::rendered(&RolePage { frame, ..page })?;
    valid_until_change(reply, texts, &organization, tx)
}

/// Renders the posting as candidates would see it, for an `iframe` in the staff console. The apply button is disabled,
/// and links open another tab.
pub(in crate::http::pages) fn preview(
    ctx: &Ctx,
    texts: &'static Texts,
    organization: &PortalOrganization,
    role: &RoleRecord,
    has_portal: bool,
) -> Result<Reply, Error> {
    let mut page = RolePage { is_preview: true, ..page(ctx, texts, organization, role) };
    page.frame.organization = page.frame.organization.map(|branding| Branding { has_portal, ..branding });
    Reply::framed(&page)
}

/// Returns the page of a posting, with the frame of a preview. This frame has no links to other languages and asks
/// search engines not to list the page.
fn page<'a>(
    ctx: &Ctx,
    texts: &'static Texts,
    organization: &'a PortalOrganization,
    role: &'a RoleRecord,
) -> RolePage<'a> {
    let path = url::role_path(&organization.slug, role.id.as_str());
    let title = fill(texts.careers.role_title, &[("role", &role.name), ("organization", &organization.name)]);
    let body = role.description.markdown();
    let shows_salary = organization.theme.shows_salary();
    let with_text = |day: Date| (day.to_string(), texts.day(day));
    let posted = ctx.world.local_day(&organization.time_zone, role.created_at);
    let dates =
        PostingDates { posted: posted.to_string(), valid_through: closing_day::last_second(ctx, organization, role) };
    let base = &ctx.settings.base_url;
    let employer = employer(organization, shows_salary);
    let PortalOrganization { name, slug, has_logo, .. } = organization;
    let frame = Frame {
        texts,
        title,
        organization: Some(Branding { name, slug, has_logo: *has_logo, has_portal: true }),
        languages: Vec::new(),
        is_indexed: false,
    };
    RolePage {
        frame,
        canonical: url::role_url(base, &organization.slug, role.id.as_str()),
        logo: organization.has_logo.then(|| url::file_url(base, &organization.slug, "logo")),
        excerpt: markdown::summary(body),
        facts: role_facts(texts, role, shows_salary),
        description: markdown::to_html(body),
        apply: format!("{path}/apply?lang={}", texts.tag),
        home: format!("{}?lang={}", url::list_path(&organization.slug), texts.tag),
        all_roles: fill(texts.common.all_roles, &[("organization", &organization.name)]),
        posting: posting::json_ld(base, &employer, role, &dates),
        posted: with_text(posted),
        closes_on: role.closes_on.map(|day| with_text(day.date())),
        role,
        is_preview: false,
    }
}

fn employer(organization: &PortalOrganization, shows_salary: bool) -> Employer<'_> {
    let PortalOrganization { name, slug, domain, logo, has_logo, .. } = organization;
    Employer { name, slug, domain, logo, has_logo: *has_logo, shows_salary }
}

/// `POST /careers/{orgSlug}/roles/{roleId}/apply`: redirects to the role's signup form, in the language of the page.
/// All visitors get the same signup link until the link is due for renewal. If [`role()`] would reply with a 404 or 410
/// page, so does this function. If the role's closing date has passed, the reply is a 410 page too.
pub(super) fn apply(ctx: &Ctx, tx: &Tx<'_>, input: &RolePageInput) -> Result<Reply, Error> {
    match find(tx, input)? {
        RoleLookup::Found(role, organization) if has_closing_day_passed(ctx, tx, &organization, &role) => {
            missing::role(tx, &input.visit, &organization, Some(&role.name))
        }
        RoleLookup::Found(role, _) => {
            let token = portal::signup_token(ctx, tx, &role.id)?;
            Ok(Reply::see_other(&format!("/signup/{token}?locale={}", input.visit.texts.tag)))
        }
        RoleLookup::Missing(reply) => Ok(reply),
    }
}

#[derive(Template)]
#[template(path = "careers_role.html", config = "src/http/pages/templates/askama.toml")]
struct RolePage<'a> {
    frame: Frame<'a>,
    canonical: String,
    /// The absolute URL of the uploaded logo, if the organization has one.
    logo: Option<String>,
    excerpt: String,
    role: &'a RoleRecord,
    facts: Vec<RoleFact>,
    /// The date on which the role was created, in ISO 8601 and in words.
    posted: (String, String),
    /// The closing date, in the same two formats.
    closes_on: Option<(String, String)>,
    /// The description as safe HTML.
    description: String,
    apply: String,
    home: String,
    all_roles: String,
    /// The JobPosting as JSON-LD that is safe in HTML.
    posting: String,
    /// Whether the page is a preview for staff.
    is_preview: bool,
}
