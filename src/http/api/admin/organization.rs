//! `/api/admin/organizations`: admins create, list, read, change and disable organizations. Organizations are never
//! deleted.

use hyper::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::id::OrganizationId;
use crate::domain::organization::{
    DECISION_VISIBLE_AFTER_HOURS, DOMAIN_CHARACTERS_MAX, LOGO_CHARACTERS_MAX, PRIVACY_NOTICE_CHARACTERS_MAX,
    RETENTION_DAYS, THEME_BYTES_MAX, is_hex_color, is_logo,
};
use crate::domain::refusal::Refusal;
use crate::domain::text::{NAME_CHARACTERS_MAX, SLUG_CHARACTERS_MAX, Slug};
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Admin;
use crate::http::api::envelope;
use crate::http::api::existing::ORGANIZATION_ABSENT;
use crate::http::api::time_cursor::{self, TimeCursor};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::pagination::PageRequest;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::interchange::json;
use crate::store::organization::{Organization, OrganizationRecord};
use crate::store::theme::Theme;
use crate::store::{self, Error, Grade, Tx};

pub(in crate::http) fn routes() -> Vec<Route> {
    let organizations = "/api/admin/organizations";
    let organization = "/api/admin/organizations/{id}";
    vec![
        Route::admin(Method::POST, organizations, decode_create, create)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (409, "conflict")]),
        Route::admin(Method::GET, organizations, decode_list, list).answering(&[(200, ""), (400, "validation_error")]),
        Route::admin(Method::GET, organization, decode_id, get).answering(&[(200, ""), (404, "not_found")]),
        Route::admin(Method::PATCH, organization, decode_change, change)
            .with_body()
            .writes(Grade::Durable)
            .answering(&[(200, ""), (400, "validation_error"), (404, "not_found"), (409, "conflict")]),
    ]
}

/// The decoded fields of the body. A setting whose field is missing does not change or, in a new organization, gets its
/// default value.
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
    /// The retention period, in days. `Some(None)` turns retention off.
    retention_days: Option<Option<i64>>,
    privacy_notice: Option<String>,
    /// The delay, in hours, before candidates see a rejection, a hire, the reversal of a hire or the end of a role.
    /// With `Some(None)`, candidates never see them.
    decision_visible_after_hours: Option<Option<i64>>,
    require_second_factor: Option<bool>,
}

impl OrganizationInput {
    /// Decodes all fields except `name` and `slug`, which are required in a new organization and optional in a change.
    fn decode(ctx: &Ctx, fields: &mut BodyFields) -> Self {
        let domain = fields.text("domain", DOMAIN_CHARACTERS_MAX);
        let logo = decode_logo(fields);
        let portal = fields.object("portal", |portal| {
            (portal.boolean("enabled"), portal.object("theme", decode_theme).unwrap_or_default())
        });
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
            time_zone: decode_time_zone(ctx, fields),
            pay_transparency: fields.boolean("payTransparency"),
            retention_days: fields.change("retentionDays", |fields, name| fields.integer(name, RETENTION_DAYS)),
            privacy_notice: fields.lines("privacyNotice", PRIVACY_NOTICE_CHARACTERS_MAX),
            decision_visible_after_hours: fields
                .change("decisionVisibleAfterHours", |fields, name| fields.integer(name, DECISION_VISIBLE_AFTER_HOURS)),
            require_second_factor: fields.boolean("requireSecondFactor"),
        }
    }

    /// # Errors
    /// `validation_error` if the theme becomes too large.
    fn applied_to(&self, before: OrganizationRecord) -> Result<OrganizationRecord, Error> {
        Ok(OrganizationRecord {
            id: before.id,
            slug: self.slug.clone().unwrap_or(before.slug),
            name: self.name.clone().unwrap_or(before.name),
            domain: self.domain.clone().unwrap_or(before.domain),
            logo: self.logo.clone().unwrap_or(before.logo),
            portal_enabled: self.portal_enabled.unwrap_or(before.portal_enabled),
            portal_theme: self.changed_theme(&before.portal_theme)?,
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
            require_second_factor: self.require_second_factor.unwrap_or(before.require_second_factor),
        })
    }

    /// Returns the theme after the change. Each field of `portal.theme` in the body replaces the stored field of the
    /// same name, and `null` removes it (RFC 7396, at the top level only).
    fn changed_theme(&self, before: &Theme) -> Result<Theme, Error> {
        let after = before.with_changes(&self.portal_theme)?;
        if !self.portal_theme.is_empty() && after.text().len() > THEME_BYTES_MAX {
            let must_have = format!("must have at most {THEME_BYTES_MAX} bytes in total");
            return Err(Refusal::invalid("portal.theme", must_have).into());
        }
        Ok(after)
    }
}

fn decode_logo(fields: &mut BodyFields) -> Option<String> {
    let logo = fields.string("logo")?;
    if is_logo(&logo) {
        return Some(logo);
    }
    let must_be = format!(
        "must be empty, or an http or https URL of at most {LOGO_CHARACTERS_MAX} characters with a host and no user name"
    );
    fields.fault("logo", must_be)
}

/// Decodes the theme. Checks the fields that pages use, and the nesting and the text of all fields. A theme may have
/// fields that pages do not use.
fn decode_theme(theme: &mut BodyFields) -> Map<String, Value> {
    let members = theme.free_members(|theme| {
        theme.boolean("showSalary");
        let color = theme.string("primaryColor");
        if color.is_some_and(|color| !is_hex_color(&color)) {
            theme.fault::<()>("primaryColor", "must be a colour such as #0f766e");
        }
    });
    // The theme is itself an object, so its fields are already one level deep.
    for (name, flaw) in members.iter().filter_map(|(name, value)| Some((name, json::flaw_within(value, 1)?))) {
        theme.fault::<()>(name, flaw);
    }
    members
}

fn decode_time_zone(ctx: &Ctx, fields: &mut BodyFields) -> Option<String> {
    let name = fields.string("timeZone")?;
    let known = ctx.world.time_zone(&name);
    known.or_else(|| {
        fields.fault("timeZone", "must be the name of a time zone that this machine knows, such as Europe/Berlin")
    })
}

fn parse_slug(fields: &mut BodyFields, text: &str) -> Option<Slug> {
    Slug::parse(text).or_else(|| {
        fields.fault("slug", format!("must be a slug of 1 to {SLUG_CHARACTERS_MAX} characters from a-z, 0-9 and -"))
    })
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field.
fn decode_create(ctx: &Ctx, request: &Request) -> Result<OrganizationInput, Error> {
    let mut fields = request.object()?;
    let name = fields.required_text("name", NAME_CHARACTERS_MAX);
    let slug = fields.required_string("slug").and_then(|text| parse_slug(&mut fields, &text));
    let input = OrganizationInput { name, slug, ..OrganizationInput::decode(ctx, &mut fields) };
    fields.valid()?;
    Ok(input)
}

/// `POST /api/admin/organizations`: creates an organization without members.
///
/// # Errors
/// `conflict` if another organization has the slug; `validation_error` if the theme is too large.
fn create(ctx: &Ctx, tx: &Tx<'_>, admin: &Admin, input: &OrganizationInput) -> Result<Reply, Error> {
    let (Some(slug), Some(name)) = (input.slug.clone(), input.name.clone()) else {
        return Err(Error::Defect("decode accepted an organization without a slug or a name".to_owned()));
    };
    let organization = input.applied_to(OrganizationRecord::new(ctx.world.id(), slug, name))?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::organization::create(tx, &stamp, Some(admin.principal()), &organization)?;
    organization_reply(tx, &organization.id)
}

struct ListInput {
    page: PageRequest,
    after: Option<TimeCursor<String>>,
}

/// # Errors
/// `validation_error` for an invalid `limit` or `cursor`.
fn decode_list(_: &Ctx, request: &Request) -> Result<ListInput, Error> {
    let (page, after) = time_cursor::decode_text_page(request)?;
    Ok(ListInput { page, after })
}

/// `GET /api/admin/organizations`: all organizations, newest first, including disabled ones.
fn list(_: &Ctx, tx: &Tx<'_>, _: &Admin, input: &ListInput) -> Result<Reply, Error> {
    let rows = store::organization::page(tx, input.after.as_ref(), input.page.rows_to_fetch())?;
    let rows = rows.into_iter().map(wire).collect::<Result<Vec<_>, _>>()?;
    Ok(input.page.reply(rows, |last| time_cursor::parts(last.cursor_time, &last.id), |row| row))
}

/// # Errors
/// `not_found` if the path has no valid id.
fn decode_id(_: &Ctx, request: &Request) -> Result<OrganizationId, Error> {
    Ok(request.id_param("id", ORGANIZATION_ABSENT)?)
}

/// `GET /api/admin/organizations/{id}`: an organization with its settings.
///
/// # Errors
/// `not_found` if the organization does not exist.
fn get(_: &Ctx, tx: &Tx<'_>, _: &Admin, id: &OrganizationId) -> Result<Reply, Error> {
    organization_reply(tx, id)
}

/// # Errors
/// The errors of [`decode_create`]; `not_found` if the path has no valid id.
fn decode_change(ctx: &Ctx, request: &Request) -> Result<(OrganizationId, OrganizationInput), Error> {
    let mut fields = request.object()?;
    let name = fields.text_not_blank("name", NAME_CHARACTERS_MAX);
    let slug = fields.string("slug").and_then(|text| parse_slug(&mut fields, &text));
    let input = OrganizationInput { name, slug, ..OrganizationInput::decode(ctx, &mut fields) };
    fields.valid()?;
    Ok((request.id_param("id", ORGANIZATION_ABSENT)?, input))
}

/// `PATCH /api/admin/organizations/{id}`: changes the fields that the body contains. `enabled` disables or enables the
/// organization.
///
/// # Errors
/// `not_found` if the organization does not exist; `conflict` if another organization has the slug; `validation_error`
/// if the theme becomes too large.
fn change(
    ctx: &Ctx,
    tx: &Tx<'_>,
    admin: &Admin,
    (id, input): &(OrganizationId, OrganizationInput),
) -> Result<Reply, Error> {
    let before = store::organization::find(tx, id)?.ok_or(ORGANIZATION_ABSENT)?.record;
    let after = input.applied_to(before.clone())?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::organization::change(tx, &stamp, Some(admin.principal()), &before, &after)?;
    organization_reply(tx, id)
}

/// Answers with the current state of an organization.
fn organization_reply(tx: &Tx<'_>, id: &OrganizationId) -> Result<Reply, Error> {
    let organization = store::organization::find(tx, id)?.ok_or(ORGANIZATION_ABSENT)?;
    Ok(envelope::with_data(wire(organization)?))
}

pub(in crate::http) fn wire(organization: Organization) -> Result<WireOrganization, Error> {
    let Organization { record, created_at, updated_at } = organization;
    Ok(WireOrganization {
        id: record.id.to_string(),
        slug: record.slug.as_str().to_owned(),
        name: record.name,
        domain: record.domain,
        logo: record.logo,
        portal: WirePortal { enabled: record.portal_enabled, theme: record.portal_theme.members()?.clone() },
        require_external_position_id: record.require_external_position_id,
        enabled: record.enabled,
        time_zone: record.time_zone,
        pay_transparency: record.pay_transparency,
        retention_days: record.retention_days,
        privacy_notice: record.privacy_notice,
        decision_visible_after_hours: record.decision_visible_after_hours,
        require_second_factor: record.require_second_factor,
        created_at: created_at.to_string(),
        updated_at: updated_at.to_string(),
        cursor_time: created_at,
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
    require_second_factor: bool,
    created_at: String,
    updated_at: String,
    #[serde(skip)]
    cursor_time: Timestamp,
}

#[derive(Serialize)]
struct WirePortal {
    enabled: bool,
    theme: Map<String, Value>,
}
