//! `/api/admin/organizations`: admins make, list, read and change organizations, and switch them off. None is deleted.

use hyper::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{After, LISTS, NO_ORGANIZATION, READS};
use crate::domain::id::{Id, OrganizationId};
use crate::domain::organization::{
    DECISION_VISIBLE_AFTER_HOURS, DOMAIN_CHARACTERS_MAX, LOGO_CHARACTERS_MAX, PRIVACY_NOTICE_CHARACTERS_MAX,
    RETENTION_DAYS, THEME_BYTES_MAX, is_hex_color, is_logo,
};
use crate::domain::refusal::Refusal;
use crate::domain::text::{NAME_CHARACTERS_MAX, SLUG_CHARACTERS_MAX, Slug};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::api::api_key::WireData;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::organization::{Organization, OrganizationRecord};
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let organizations = "/api/admin/organizations";
    let organization = "/api/admin/organizations/{id}";
    vec![
        Route::admin(Method::POST, organizations, decode_create, create).with_body().writes(Grade::Durable).answering(
            &[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (409, "conflict"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ],
        ),
        Route::admin(Method::GET, organizations, decode_list, list).answering(LISTS),
        Route::admin(Method::GET, organization, decode_id, read).answering(READS),
        Route::admin(Method::PATCH, organization, decode_change, change).with_body().writes(Grade::Durable).answering(
            &[
                (200, ""),
                (400, "bad_request"),
                (400, "validation_error"),
                (401, "unauthorized"),
                (403, "forbidden"),
                (404, "not_found"),
                (409, "conflict"),
                (413, "payload_too_large"),
                (415, "unsupported_media_type"),
                (429, "rate_limited"),
            ],
        ),
    ]
}

/// What an organization is to be: of a new one whatever is not given is as it is by default, of another as it was.
#[derive(Default)]
struct OrganizationInput {
    slug: Option<Slug>,
    name: Option<String>,
    domain: Option<String>,
    logo: Option<String>,
    portal_enabled: Option<bool>,
    portal_theme: Map<String, Value>,
    require_external_position_id: Option<bool>,
    enabled: Option<bool>,
    time_zone: Option<String>,
    pay_transparency: Option<bool>,
    retention_days: Option<Option<i64>>,
    privacy_notice: Option<String>,
    decision_visible_after_hours: Option<Option<i64>>,
}

impl OrganizationInput {
    /// Everything but what a new organization must have.
    fn read(ctx: &Ctx, fields: &mut BodyFields) -> Self {
        let domain = fields.text("domain", DOMAIN_CHARACTERS_MAX);
        let logo = logo(fields);
        let portal = fields
            .object("portal", |portal| (portal.boolean("enabled"), portal.object("theme", theme).unwrap_or_default()));
        let (portal_enabled, portal_theme) = portal.unwrap_or_default();
        Self {
            slug: None,
            name: None,
            domain,
            logo,
            portal_enabled,
            portal_theme,
            require_external_position_id: fields.boolean("requireExternalPositionId"),
            enabled: fields.boolean("enabled"),
            time_zone: time_zone(ctx, fields),
            pay_transparency: fields.boolean("payTransparency"),
            retention_days: fields.change("retentionDays", |fields, name| fields.integer(name, RETENTION_DAYS)),
            privacy_notice: fields.lines("privacyNotice", PRIVACY_NOTICE_CHARACTERS_MAX),
            decision_visible_after_hours: fields
                .change("decisionVisibleAfterHours", |fields, name| fields.integer(name, DECISION_VISIBLE_AFTER_HOURS)),
        }
    }

    /// An organization with this input fulfilled.
    ///
    /// # Errors
    /// `validation_error` where its theme becomes too large.
    fn applied_to(&self, before: OrganizationRecord) -> Result<OrganizationRecord, Error> {
        Ok(OrganizationRecord {
            id: before.id,
            slug: self.slug.clone().unwrap_or(before.slug),
            name: self.name.clone().unwrap_or(before.name),
            domain: self.domain.clone().unwrap_or(before.domain),
            logo: self.logo.clone().unwrap_or(before.logo),
            portal_enabled: self.portal_enabled.unwrap_or(before.portal_enabled),
            portal_theme: self.theme_of(&before.portal_theme)?,
            require_external_position_id: self
                .require_external_position_id
                .unwrap_or(before.require_external_position_id),
            enabled: self.enabled.unwrap_or(before.enabled),
            time_zone: self.time_zone.clone().unwrap_or(before.time_zone),
            pay_transparency: self.pay_transparency.unwrap_or(before.pay_transparency),
            retention_days: self.retention_days.unwrap_or(before.retention_days),
            privacy_notice: self.privacy_notice.clone().unwrap_or(before.privacy_notice),
            decision_visible_after_hours: self
                .decision_visible_after_hours
                .unwrap_or(before.decision_visible_after_hours),
        })
    }

    /// The theme with the members that are given in the place of its own; `null` takes one away (RFC 7396, but for
    /// what is within the members).
    fn theme_of(&self, before: &str) -> Result<String, Error> {
        if self.portal_theme.is_empty() {
            return Ok(before.to_owned());
        }
        let mut theme = parsed(before)?;
        for (name, value) in &self.portal_theme {
            if value.is_null() {
                theme.shift_remove(name);
            } else {
                theme.insert(name.clone(), value.clone());
            }
        }
        let text = Value::Object(theme).to_string();
        if text.len() > THEME_BYTES_MAX {
            let what = format!("must have at most {THEME_BYTES_MAX} bytes in all");
            return Err(Refusal::invalid("portal.theme", what).into());
        }
        Ok(text)
    }
}

fn logo(fields: &mut BodyFields) -> Option<String> {
    let logo = fields.string("logo")?;
    if is_logo(&logo) {
        return Some(logo);
    }
    let must_be = format!(
        "must be an http or https URL with a host and no user name, at most {LOGO_CHARACTERS_MAX} characters, or empty"
    );
    fields.fault("logo", must_be)
}

/// The theme's members: what pages and the contract know of them is checked, the rest is the organization's own.
fn theme(theme: &mut BodyFields) -> Map<String, Value> {
    let members = theme.free_members(|theme| {
        theme.boolean("showSalary");
        let color = theme.string("primaryColor");
        if color.is_some_and(|color| !is_hex_color(&color)) {
            theme.fault::<()>("primaryColor", "must be a colour such as #0f766e");
        }
    });
    // Each member is within the theme, which is itself an object.
    for (name, flaw) in members.iter().filter_map(|(name, value)| Some((name, json::flaw_within(value, 1)?))) {
        theme.fault::<()>(name, flaw);
    }
    members
}

fn time_zone(ctx: &Ctx, fields: &mut BodyFields) -> Option<String> {
    let name = fields.string("timeZone")?;
    let known = ctx.world.time_zone(&name);
    known.or_else(|| {
        fields.fault("timeZone", "must be the name of a time zone that this machine knows, such as Europe/Berlin")
    })
}

fn slug(fields: &mut BodyFields, text: &str) -> Option<Slug> {
    Slug::parse(text).or_else(|| {
        fields.fault("slug", format!("must be a slug of 1 to {SLUG_CHARACTERS_MAX} characters of a-z 0-9 -"))
    })
}

/// What a new organization is to be. All fields at fault are told at once.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a `name` or `slug`, and for a field that
/// is not what it must be.
fn decode_create(ctx: &Ctx, request: &Request) -> Result<OrganizationInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let slug = fields.required_string("slug").and_then(|text| slug(&mut fields, &text));
    let input = OrganizationInput { name, slug, ..OrganizationInput::read(ctx, &mut fields) };
    fields.valid()?;
    Ok(input)
}

/// `POST /api/admin/organizations`: makes an organization. Nobody is a member of it yet.
///
/// # Errors
/// `conflict` where another has its slug; `validation_error` where its theme is too large.
fn create(ctx: &Ctx, tx: &Tx<'_>, who: &Admin, input: &OrganizationInput) -> Result<Reply, Error> {
    let (Some(slug), Some(name)) = (input.slug.clone(), input.name.clone()) else {
        return Err(Error::Defect("an organization without slug or name was let through".to_owned()));
    };
    let organization = input.applied_to(OrganizationRecord::new(ctx.world.id(), slug, name))?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::organization::create(tx, &stamp, Some(who.principal()), &organization)?;
    found(tx, &organization.id)
}

fn decode_list(_: &Ctx, request: &Request) -> Result<(PageRequest, After), Error> {
    Ok(super::page(request)?)
}

/// `GET /api/admin/organizations`: a page of all organizations, newest first, those that are switched off too.
///
/// # Errors
/// None of its own; admins only, as the whole path.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, (page, after): &(PageRequest, After)) -> Result<Reply, Error> {
    let organizations = store::organization::page(tx, after.as_ref(), page.rows_to_fetch())?;
    let organizations = organizations.into_iter().map(wire).collect::<Result<Vec<_>, _>>()?;
    Ok(page.reply(organizations, |one| super::key(one.made_at, &one.id), |one| one))
}

/// The organization that a path names; an id that none can have names nothing.
///
/// # Errors
/// `not_found`.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    OrganizationId::parse(request.param("id")).ok_or(Error::Refused(NO_ORGANIZATION))
}

/// `GET /api/admin/organizations/{id}`: an organization with its settings.
///
/// # Errors
/// `not_found` where there is no such organization.
fn read(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    found(tx, id)
}

/// What an organization is to be from now on: only the members that are given change.
///
/// # Errors
/// As [`decode_create`], without the members that must be there.
fn decode_change(ctx: &Ctx, request: &Request) -> Result<(Option<OrganizationId>, OrganizationInput), Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let slug = fields.string("slug").and_then(|text| slug(&mut fields, &text));
    let input = OrganizationInput { name, slug, ..OrganizationInput::read(ctx, &mut fields) };
    fields.valid()?;
    Ok((OrganizationId::parse(request.param("id")), input))
}

/// `PATCH /api/admin/organizations/{id}`: changes an organization, switches it off or on again.
///
/// # Errors
/// `not_found` where there is no such organization; `conflict` where another has its new slug; `validation_error` where
/// its theme becomes too large.
fn change(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Admin,
    (id, input): &(Option<OrganizationId>, OrganizationInput),
) -> Result<Reply, Error> {
    let id = id.as_ref().ok_or(NO_ORGANIZATION)?;
    let before = store::organization::find(tx, id)?.ok_or(NO_ORGANIZATION)?.record;
    let after = input.applied_to(before.clone())?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::organization::change(tx, &stamp, Some(who.principal()), &before, &after)?;
    found(tx, id)
}

/// The answer with an organization as it is now.
fn found(tx: &Tx<'_>, id: &OrganizationId) -> Result<Reply, Error> {
    let organization = store::organization::find(tx, id)?.ok_or(NO_ORGANIZATION)?;
    Ok(Reply::json(&WireData { success: true, data: wire(organization)? }))
}

fn parsed(theme: &str) -> Result<Map<String, Value>, Error> {
    serde_json::from_str(theme).map_err(|error| Error::Defect(format!("a theme is no JSON object: {error}")))
}

pub(in crate::http) fn wire(organization: Organization) -> Result<WireOrganization, Error> {
    let Organization { record, created_at, updated_at } = organization;
    Ok(WireOrganization {
        id: record.id.to_string(),
        slug: record.slug.as_str().to_owned(),
        name: record.name,
        domain: record.domain,
        logo: record.logo,
        portal: WirePortal { enabled: record.portal_enabled, theme: parsed(&record.portal_theme)? },
        require_external_position_id: record.require_external_position_id,
        enabled: record.enabled,
        time_zone: record.time_zone,
        pay_transparency: record.pay_transparency,
        retention_days: record.retention_days,
        privacy_notice: record.privacy_notice,
        decision_visible_after_hours: record.decision_visible_after_hours,
        created_at: created_at.to_string(),
        updated_at: updated_at.to_string(),
        made_at: created_at,
    })
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireOrganization {
    id: String,
    slug: String,
    name: String,
    domain: String,
    logo: String,
    portal: WirePortal,
    require_external_position_id: bool,
    enabled: bool,
    time_zone: String,
    pay_transparency: bool,
    retention_days: Option<i64>,
    privacy_notice: String,
    decision_visible_after_hours: Option<i64>,
    created_at: String,
    updated_at: String,
    /// What its page's cursor is made of.
    #[serde(skip)]
    made_at: Timestamp,
}

#[derive(Serialize)]
struct WirePortal {
    enabled: bool,
    theme: Map<String, Value>,
}
