//! The organization object in the interchange document: its settings, members and roles, and the candidates of all
//! roles.

use serde::Serialize;
use serde_json::{Map, Value};

use super::context::Context;
use super::export_source::{ExportSource, LazyArray, Secrets};
use super::fields::Fields;
use super::reader::{Object, arrays};
use super::role::{ExportedRole, Role};
use crate::domain::hr_integration::{TargetUrl, URL_CHARACTERS_MAX};
use crate::domain::organization::{
    DECISION_VISIBLE_AFTER_HOURS, DECISION_VISIBLE_AFTER_HOURS_DEFAULT, DOMAIN_CHARACTERS_MAX, LOGO_CHARACTERS_MAX,
    PRIVACY_NOTICE_CHARACTERS_MAX, RETENTION_DAYS, TIME_ZONE_DEFAULT, is_hex_color,
};
use crate::domain::signature::{SECRET_CHARACTERS_MAX, SigningSecret};
use crate::domain::text::{SLUG_CHARACTERS_MAX, Slug};
use crate::domain::user::OrgRole;
use crate::store::theme::Theme;
use crate::store::{Error, candidate, hr_integration, membership, organization, role};

/// An organization with everything that belongs to it.
#[derive(Debug, Clone)]
pub struct Organization {
    /// The columns of the organization's row.
    pub record: organization::OrganizationRecord,
    /// The settings for its HR system.
    pub hr_integration: Option<hr_integration::HrIntegrationRecord>,
    /// The memberships.
    pub members: Vec<membership::OrgMember>,
    /// The candidates of all roles, without duplicates.
    pub candidates: Vec<candidate::CandidateRecord>,
    /// The roles with their applications.
    pub roles: Vec<Role>,
}

arrays!(OrganizationArrays { members: membership::OrgMember, roles: Role });

impl Object for Organization {
    const MEMBERS: &'static [&'static str] = &[
        "id",
        "slug",
        "name",
        "domain",
        "logo",
        "portal",
        "requireExternalPositionId",
        "enabled",
        "timeZone",
        "payTransparency",
        "retentionDays",
        "privacyNotice",
        "decisionVisibleAfterHours",
        "requireSecondFactor",
        "hrIntegration",
        "members",
        "roles",
    ];
    type Arrays = OrganizationArrays;

    fn enter(context: &mut Context<'_>) {
        context.begin_organization();
    }

    fn read(mut fields: Fields<'_, '_>, arrays: OrganizationArrays) -> Option<Self> {
        let record = record(&mut fields);
        let hr_integration = fields.object("hrIntegration", &["url", "secret", "enabled"], integration);
        Some(Self {
            record: record?,
            hr_integration: hr_integration?,
            members: arrays.members.unwrap_or_default().items,
            candidates: fields.context.take_candidates(),
            roles: arrays.roles.unwrap_or_default().items,
        })
    }
}

fn record(fields: &mut Fields<'_, '_>) -> Option<organization::OrganizationRecord> {
    let id = fields.own_id();
    let slug = slug(fields);
    let name = fields.name();
    let domain = fields.text("domain", DOMAIN_CHARACTERS_MAX);
    let logo = fields.text("logo", LOGO_CHARACTERS_MAX);
    let portal = fields.object("portal", &["enabled", "theme"], |portal| {
        let enabled = portal.boolean("enabled");
        let theme = theme(portal);
        Some((enabled?.unwrap_or(false), theme?))
    });
    let require_external_position_id = fields.boolean("requireExternalPositionId");
    let enabled = fields.boolean("enabled");
    let time_zone = time_zone(fields);
    let pay_transparency = fields.boolean("payTransparency");
    let retention_days = fields.integer("retentionDays", &RETENTION_DAYS);
    let privacy_notice = fields.lines("privacyNotice", PRIVACY_NOTICE_CHARACTERS_MAX);
    // If `decisionVisibleAfterHours` is null, candidates never see a rejection, a hire, the reversal of a hire, or the
    // end of a role. If the member is missing, the default applies.
    let is_never = fields.is_null("decisionVisibleAfterHours");
    let visible_after = fields.integer("decisionVisibleAfterHours", &DECISION_VISIBLE_AFTER_HOURS);
    let require_second_factor = fields.boolean("requireSecondFactor");
    let (portal_enabled, portal_theme) = portal?.unwrap_or_default();
    Some(organization::OrganizationRecord {
        id: id?,
        slug: slug?,
        name: name?,
        domain: domain?,
        logo: logo?,
        portal_enabled,
        portal_theme: Theme::new(portal_theme),
        require_external_position_id: require_external_position_id?.unwrap_or(false),
        enabled: enabled?.unwrap_or(true),
        time_zone: time_zone?,
        pay_transparency: pay_transparency?.unwrap_or(false),
        retention_days: retention_days?,
        privacy_notice: privacy_notice?,
        decision_visible_after_hours: visible_after?
            .or_else(|| (!is_never).then_some(DECISION_VISIBLE_AFTER_HOURS_DEFAULT)),
        require_second_factor: require_second_factor?.unwrap_or(false),
    })
}

/// Reads the organization's time zone, which must exist on this system. The default is UTC.
fn time_zone(fields: &mut Fields<'_, '_>) -> Option<String> {
    let world = fields.context.world();
    let must_be = "the name of a time zone that this system knows, such as Europe/Berlin";
    let zone = fields.optional("timeZone", must_be, |value| world.time_zone(value.as_str()?))?;
    Some(zone.unwrap_or_else(|| TIME_ZONE_DEFAULT.to_owned()))
}

fn slug(fields: &mut Fields<'_, '_>) -> Option<Slug> {
    let must_be = format!("a slug of 1 to {SLUG_CHARACTERS_MAX} characters from a-z, 0-9 and -");
    let slug = fields.required("slug", &must_be, |value| Slug::parse(value.as_str()?))?;
    if !fields.context.claim("slug", slug.key()) {
        fields.object_finding(format!("two organizations have the slug {}", slug.as_str()));
        return None;
    }
    Some(slug)
}

/// Reads the portal's theme. Checks only the members that the service uses, because the organization may add others.
fn theme(portal: &mut Fields<'_, '_>) -> Option<Map<String, Value>> {
    let theme = portal.json_object("theme")?.unwrap_or_default();
    let at = portal.at();
    let mut known = Fields::new(at.member("theme"), theme.clone(), &mut *portal.context);
    let show_salary = known.boolean("showSalary");
    let primary_color =
        known.optional("primaryColor", "a colour such as #0f766e", |value| is_hex_color(value.as_str()?).then_some(()));
    (show_salary.is_some() && primary_color.is_some()).then_some(theme)
}

fn integration(fields: &mut Fields<'_, '_>) -> Option<hr_integration::HrIntegrationRecord> {
    let must_be = format!("an http or https URL with a host and no user name, at most {URL_CHARACTERS_MAX} characters");
    let url = fields.required("url", &must_be, |value| TargetUrl::parse(value.as_str()?));
    let must_be = format!("whsec_ followed by a secret in base64, at most {SECRET_CHARACTERS_MAX} characters");
    let secret = fields.optional("secret", &must_be, |value| SigningSecret::parse(value.as_str()?));
    let enabled = fields.boolean("enabled");
    let secret = secret?;
    // Without a secret, deliveries cannot be signed, so the integration is imported as disabled.
    let enabled = enabled?.unwrap_or(false) && secret.is_some();
    Some(hr_integration::HrIntegrationRecord { url: url?, secret, enabled })
}

impl Object for membership::OrgMember {
    const MEMBERS: &'static [&'static str] = &["userId", "orgRole"];
    type Arrays = ();

    fn read(mut fields: Fields<'_, '_>, (): ()) -> Option<Self> {
        let user_id = fields.required_id("userId", "the id of a user");
        let org_role = fields.word("orgRole", OrgRole::WORDS, OrgRole::parse);
        let (user_id, org_role) = (user_id?, org_role?.unwrap_or(OrgRole::Member));
        if !fields.context.add_member(&user_id) {
            fields.object_finding(format!("the user {user_id} is listed twice among the members"));
            return None;
        }
        Some(Self { user_id, org_role })
    }
}

/// An organization as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedOrganization<'s> {
    id: String,
    slug: String,
    name: String,
    domain: String,
    logo: String,
    portal: ExportedPortal,
    require_external_position_id: bool,
    enabled: bool,
    time_zone: String,
    pay_transparency: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retention_days: Option<i64>,
    #[serde(skip_serializing_if = "String::is_empty")]
    privacy_notice: String,
    decision_visible_after_hours: Option<i64>,
    require_second_factor: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    hr_integration: Option<ExportedHrIntegration>,
    members: LazyArray<'s, membership::OrgMember, ExportedMember>,
    roles: LazyArray<'s, role::RoleRecord, ExportedRole<'s>>,
}

#[derive(Serialize)]
struct ExportedPortal {
    enabled: bool,
    theme: Value,
}

#[derive(Serialize)]
struct ExportedHrIntegration {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
    enabled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedMember {
    user_id: String,
    org_role: &'static str,
}

impl<'s> ExportedOrganization<'s> {
    pub(super) fn new(source: &'s ExportSource<'s>, organization: organization::Organization) -> Result<Self, Error> {
        let organization = organization.record;
        let integration = hr_integration::find(source.tx, &organization.id)?;
        let exported =
            |secret: SigningSecret| (source.secrets == Secrets::Included).then(|| secret.reveal().to_owned());
        let (id, same_id) = (organization.id.clone(), organization.id.clone());
        let members = move || membership::of_organization(source.tx, &id);
        let roles = move || role::of_organization(source.tx, &same_id);
        let theme = source.json_column(
            &format!("the theme of the organization {}", organization.id),
            organization.portal_theme.members()?,
        );
        Ok(Self {
            id: organization.id.to_string(),
            slug: organization.slug.as_str().to_owned(),
            name: organization.name,
            domain: organization.domain,
            logo: organization.logo,
            portal: ExportedPortal { enabled: organization.portal_enabled, theme },
            require_external_position_id: organization.require_external_position_id,
            enabled: organization.enabled,
            time_zone: organization.time_zone,
            pay_transparency: organization.pay_transparency,
            retention_days: organization.retention_days,
            privacy_notice: organization.privacy_notice,
            decision_visible_after_hours: organization.decision_visible_after_hours,
            require_second_factor: organization.require_second_factor,
            hr_integration: integration.map(|(integration, _)| ExportedHrIntegration {
                url: integration.url.as_str().to_owned(),
                secret: integration.secret.and_then(exported),
                enabled: integration.enabled,
            }),
            members: source.array(members, ExportedMember::new),
            roles: source.array(roles, ExportedRole::new),
        })
    }
}

impl ExportedMember {
    fn new(_: &ExportSource<'_>, member: membership::OrgMember) -> Result<Self, Error> {
        Ok(Self { user_id: member.user_id.into(), org_role: member.org_role.as_str() })
    }
}
