//! `/app/{orgSlug}/members`: the members of an organization. Its owners and admins, and platform admins, invite, change
//! and remove members, and make links for members who cannot sign in. The rules are in `domain/membership`.

mod list;
mod page;

use hyper::Method;

use self::list::MemberQuery;
use self::page::{MemberPage, TypedInvitation};
use super::confirm::require_recent;
use super::visit::{self, ABSENT, Visit};
use crate::domain::id::UserId;
use crate::domain::membership::{
    MemberFacts, may_administer, require_administrator, require_assignable, require_removable, require_resettable,
};
use crate::domain::refusal::Refusal;
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::user::{OrgRole, PlatformRole, Principal, UserProfile};
use crate::http::api::decode;
use crate::http::pages::texts::console::membership::MembershipTexts;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::Route;
use crate::store::access::VisibleOrganization;
use crate::store::membership::{MemberProfile, OrgMember};
use crate::store::{self, Error, Grade, Tx};

const ALREADY_MEMBER: Refusal = Refusal::Conflict("the user is already a member of the organization");
const CHANGED_MEANWHILE: Refusal = Refusal::Conflict("somebody else has changed the member's organization role");

pub(super) fn routes() -> Vec<Route> {
    let members = "/app/{orgSlug}/members";
    let (role, link) = ("/app/{orgSlug}/members/{userId}/role", "/app/{orgSlug}/members/{userId}/link");
    let remove_path = "/app/{orgSlug}/members/{userId}/remove";
    let act = |route: Route| route.writes(Grade::Vital).with_form();
    vec![
        Route::staff(Method::GET, members, decode_page, show).answering(&[(200, "")]),
        act(Route::staff(Method::POST, members, decode_invitation, invite)).answering(&[
            (200, ""),
            (303, ""),
            (409, "conflict"),
        ]),
        act(Route::staff(Method::POST, role, decode_role, change_role)).answering(&[(303, ""), (409, "conflict")]),
        act(Route::staff(Method::POST, link, decode_member, issue_link)).answering(&[(200, ""), (409, "conflict")]),
        act(Route::staff(Method::POST, remove_path, decode_member, remove)).answering(&[(303, ""), (409, "conflict")]),
    ]
}

/// A request for the page or from one of its forms.
struct ListVisit {
    visit: Visit,
    query: MemberQuery,
}

impl ListVisit {
    /// # Errors
    /// `validation_error` if a parameter is repeated, `limit` is not an integer, or `cursor` is not a cursor of the
    /// list.
    fn decode(request: &Request) -> Result<Self, Refusal> {
        Ok(Self { visit: Visit::decode(request)?, query: MemberQuery::decode(request)? })
    }

    fn page(&self, tx: &Tx<'_>, who: &Principal, organization: &VisibleOrganization) -> Result<MemberPage, Error> {
        MemberPage::new(tx, who, &self.visit, organization, &self.query)
    }

    /// Redirects to the same page of the list after an act.
    fn done(&self, organization: &VisibleOrganization, done: &str) -> Reply {
        let query = self.query.url_query();
        let joined = if query.is_empty() { "?" } else { "&" };
        Reply::see_other(&format!("/app/{}/members{query}{joined}done={done}", organization.slug))
    }
}

struct MemberPageInput {
    list: ListVisit,
    done: Option<String>,
}

/// # Errors
/// The errors of [`ListVisit::decode`].
fn decode_page(_: &Ctx, request: &Request) -> Result<MemberPageInput, Error> {
    Ok(MemberPageInput { list: ListVisit::decode(request)?, done: request.query("done")? })
}

/// `GET /app/{orgSlug}/members`: shows the members and what each may do. Only callers who administer the organization
/// see when a member was last seen, and whether the member has a second factor.
///
/// # Errors
/// `not_found`, as a page, if the organization does not exist or the caller may not see it.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &MemberPageInput) -> Result<Reply, Error> {
    let organization = input.list.visit.organization(tx, who)?;
    let mut page = input.list.page(tx, who, &organization)?;
    page.set_notice(input.done.as_deref());
    Reply::console(&page)
}

struct InvitationInput {
    list: ListVisit,
    typed: TypedInvitation,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated; the errors of
/// [`ListVisit::decode`].
fn decode_invitation(_: &Ctx, request: &Request) -> Result<InvitationInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let text = |name| Ok::<_, Refusal>(form.text(name)?.unwrap_or_default().trim().to_owned());
    let typed = TypedInvitation { name: text("name")?, email: text("email")?, org_role: text("orgRole")? };
    Ok(InvitationInput { list: ListVisit::decode(request)?, typed })
}

/// An invitation with valid values.
struct Invitation {
    name: String,
    email: Email,
    org_role: OrgRole,
}

/// # Errors
/// `validation_error`, which names every invalid field.
fn checked(typed: &TypedInvitation) -> Result<Invitation, Refusal> {
    let members = [("name", &typed.name), ("email", &typed.email), ("orgRole", &typed.org_role)];
    let members = members.into_iter().map(|(name, typed)| (name.to_owned(), typed.as_str().into()));
    let mut fields = BodyFields::new(members.collect());
    let (name, email) = (fields.required_text("name", NAME_CHARACTERS_MAX), decode::required_email(&mut fields));
    let org_role = fields.word("orgRole", OrgRole::WORDS, OrgRole::parse);
    let (name, (email, org_role)) = fields.valid_with(name.zip(email.zip(org_role)))?;
    Ok(Invitation { name, email, org_role })
}

/// `POST /app/{orgSlug}/members`: adds a person to the organization, and creates the user if no user has the address.
/// If the person has no account yet, and the caller may make a link for them, the answer shows a link once.
///
/// # Errors
/// Each refusal is rendered as a page: `not_found` if the organization does not exist or the caller may not see it;
/// `forbidden` unless the caller may give this organization role; the errors of [`require_recent_for`];
/// `validation_error` with the form; `conflict` if the person is already a member, unless they have no account yet, the
/// form names their organization role and the caller may make a link for them.
fn invite(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &InvitationInput) -> Result<Reply, Error> {
    let organization = input.list.visit.organization(tx, who)?;
    require_administrator(organization.caller)?;
    let refuse = |refusal: Refusal, mark: fn(&mut MemberPage, &TypedInvitation, &Refusal)| {
        let mut page = input.list.page(tx, who, &organization)?;
        mark(&mut page, &input.typed, &refusal);
        Reply::console_refusal(&refusal, &page)
    };
    let invitation = match checked(&input.typed) {
        Ok(invitation) => invitation,
        Err(refusal) => return refuse(refusal, MemberPage::refuse_invitation),
    };
    let existing = store::user::find_by_email(tx, &invitation.email)?.map(|user| user.profile);
    if let Some(user) = &existing
        && let Some(member) = store::membership::find_profile(tx, &organization.id, who, &user.id)?
    {
        // The form was submitted again. The person still needs the link that the first answer showed.
        let is_repeated = member.facts.org_role == Some(invitation.org_role) && !has_account(tx, &member)?;
        if is_repeated && require_resettable(organization.caller, member.facts).is_ok() {
            require_recent_for(tx, who, &[member.facts.org_role])?;
            return show_link(ctx, tx, who, &input.list, &organization, &member);
        }
        return refuse(ALREADY_MEMBER, MemberPage::refuse_member);
    }
    require_recent_for(tx, who, &[Some(invitation.org_role)])?;
    add(ctx, tx, who, &organization, existing, &invitation)?;
    let user = store::user::find_by_email(tx, &invitation.email)?.ok_or(ABSENT)?.profile;
    let member = store::membership::find_profile(tx, &organization.id, who, &user.id)?.ok_or(ABSENT)?;
    if has_account(tx, &member)? {
        return Ok(input.list.done(&organization, "added"));
    }
    if require_resettable(organization.caller, member.facts).is_err() {
        return Ok(input.list.done(&organization, "added-without-link"));
    }
    show_link(ctx, tx, who, &input.list, &organization, &member)
}

/// Requires a recent confirmation if one of these organization roles may administer the organization.
///
/// # Errors
/// The errors of [`require_recent`].
fn require_recent_for(tx: &Tx<'_>, who: &Principal, org_roles: &[Option<OrgRole>]) -> Result<(), Error> {
    let administers = |role: &Option<OrgRole>| may_administer(*role, PlatformRole::User);
    if org_roles.iter().any(administers) { require_recent(tx, who) } else { Ok(()) }
}

/// Adds a user to the organization. Creates the user if no user has the address.
///
/// # Errors
/// `forbidden` if the organization role or the person is above the caller, or the caller does not administer the
/// organization.
fn add(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    organization: &VisibleOrganization,
    existing: Option<UserProfile>,
    invitation: &Invitation,
) -> Result<(), Error> {
    let facts = MemberFacts {
        org_role: None,
        platform_role: existing.as_ref().map_or(PlatformRole::User, |user| user.platform_role),
        is_self: existing.as_ref().is_some_and(|user| user.id == who.user_id),
        is_member_elsewhere: false,
        has_other_owner: true,
    };
    require_assignable(organization.caller, facts, invitation.org_role)?;
    let stamp = || store::activity::stamp(&*ctx.world);
    let user_id = match existing {
        Some(user) => user.id,
        None => {
            let Invitation { name, email, .. } = invitation;
            let (id, platform_role): (UserId, _) = (ctx.world.id(), PlatformRole::User);
            let (name, email) = (name.clone(), email.clone());
            let user = UserProfile { id: id.clone(), email, name, platform_role, enabled: true };
            store::user::create(tx, &stamp(), Some(who), &user)?;
            id
        }
    };
    let member = OrgMember { user_id, org_role: invitation.org_role };
    store::membership::put(tx, &stamp(), Some(who), &organization.id, &member)
}

/// Returns whether a person can sign in without a link, or has signed in before.
fn has_account(tx: &Tx<'_>, member: &MemberProfile) -> Result<bool, Error> {
    let has_factor = !store::second_factor::factors(tx, &member.user_id)?.is_empty();
    Ok(member.has_password || has_factor || member.last_seen_at.is_some())
}

/// Makes a link for a member, and shows it. If the member has an account, the link resets their second factors, and all
/// their sessions end.
fn show_link(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    list: &ListVisit,
    organization: &VisibleOrganization,
    member: &MemberProfile,
) -> Result<Reply, Error> {
    let purpose = if has_account(tx, member)? { LinkPurpose::FactorReset } else { LinkPurpose::Invitation };
    if purpose != LinkPurpose::Invitation {
        store::session::end_all(tx, &member.user_id)?;
    }
    let user = &member.user_id;
    let token = store::sign_in_link::issue(tx, &*ctx.world, who, &organization.id, user, purpose)?;
    let mut page = list.page(tx, who, organization)?;
    page.show_link(&member.name, format!("{}/join/{token}", ctx.settings.base_url), purpose);
    Reply::console(&page)
}

/// A request about one member.
struct MemberVisit {
    list: ListVisit,
    user_id: UserId,
}

/// # Errors
/// `not_found` if the path has no valid id; the errors of [`ListVisit::decode`].
fn decode_member(_: &Ctx, request: &Request) -> Result<MemberVisit, Error> {
    Ok(MemberVisit { list: ListVisit::decode(request)?, user_id: visit::id(request, "userId")? })
}

impl MemberVisit {
    /// Returns the organization and the member, for a caller who administers the organization.
    ///
    /// # Errors
    /// `not_found` if one of them does not exist or the caller may not see it; `forbidden` for a caller who does
    /// not administer the organization.
    fn find(&self, tx: &Tx<'_>, who: &Principal) -> Result<(VisibleOrganization, MemberProfile), Error> {
        let organization = self.list.visit.organization(tx, who)?;
        let found = store::membership::find_profile(tx, &organization.id, who, &self.user_id)?;
        let member = found.ok_or(ABSENT)?;
        require_administrator(organization.caller)?;
        Ok((organization, member))
    }

    /// Shows the current members, and the reason why nothing was done. A refusal that is not a conflict is returned as
    /// an error.
    fn refuse(
        &self,
        tx: &Tx<'_>,
        who: &Principal,
        organization: &VisibleOrganization,
        refusal: &Refusal,
        message: fn(&MembershipTexts) -> &'static str,
    ) -> Result<Reply, Error> {
        let Refusal::Conflict(_) = refusal else { return Err(refusal.clone().into()) };
        let mut page = self.list.page(tx, who, organization)?;
        page.refuse(message);
        Reply::console_refusal(refusal, &page)
    }
}

/// A new organization role for a member, and the one that the form showed.
struct RoleInput {
    member: MemberVisit,
    org_role: OrgRole,
    before: Option<OrgRole>,
}

/// # Errors
/// The errors of [`decode_member`]; `unsupported_media_type` for a body that is not a form; `validation_error` if a
/// field is repeated, or if the new organization role is missing or unknown.
fn decode_role(ctx: &Ctx, request: &Request) -> Result<RoleInput, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let member = decode_member(ctx, request)?;
    let role = |name| Ok::<_, Refusal>(form.text(name)?.and_then(OrgRole::parse));
    let org_role = role("orgRole")?.ok_or_else(|| Refusal::invalid("orgRole", "must be an organization role"))?;
    Ok(RoleInput { member, org_role, before: role("before")? })
}

/// `POST /app/{orgSlug}/members/{userId}/role`: gives a member another organization role.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`MemberVisit::find`]; `forbidden` if the member or the
/// organization role is above the caller; the errors of [`require_recent_for`]; `conflict` if no owner would remain, or
/// if somebody else has changed the member's organization role since the form was made.
fn change_role(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &RoleInput) -> Result<Reply, Error> {
    let (organization, member) = input.member.find(tx, who)?;
    let refuse = |refusal: &Refusal, message| input.member.refuse(tx, who, &organization, refusal, message);
    let done = input.member.list.done(&organization, "changed");
    if member.facts.org_role == Some(input.org_role) {
        return Ok(done);
    }
    if let Err(refusal) = require_assignable(organization.caller, member.facts, input.org_role) {
        return refuse(&refusal, |words| words.last_owner);
    }
    if member.facts.org_role != input.before {
        return refuse(&CHANGED_MEANWHILE, |words| words.changed_meanwhile);
    }
    require_recent_for(tx, who, &[member.facts.org_role, Some(input.org_role)])?;
    let changed = OrgMember { user_id: member.user_id, org_role: input.org_role };
    store::membership::put(tx, &store::activity::stamp(&*ctx.world), Some(who), &organization.id, &changed)?;
    Ok(done)
}

/// `POST /app/{orgSlug}/members/{userId}/link`: makes a link by which the member chooses a password or adds a passkey.
/// Earlier links stop working. If the member has an account, the link resets their second factors, and all their
/// sessions end.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`MemberVisit::find`]; `forbidden` if the member is above the
/// caller, or is also a member of another organization and the caller is not a platform admin; the errors of
/// [`require_recent`]; `conflict` for the caller's own account and for a disabled user.
fn issue_link(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &MemberVisit) -> Result<Reply, Error> {
    let (organization, member) = input.find(tx, who)?;
    if let Err(refusal) = require_resettable(organization.caller, member.facts) {
        return input.refuse(tx, who, &organization, &refusal, |words| words.own);
    }
    if !member.enabled {
        let refusal = Refusal::Conflict("the user is disabled");
        return input.refuse(tx, who, &organization, &refusal, |words| words.user_disabled);
    }
    require_recent(tx, who)?;
    show_link(ctx, tx, who, &input.list, &organization, &member)
}

/// `POST /app/{orgSlug}/members/{userId}/remove`: removes a member from the organization. The user remains.
///
/// # Errors
/// Each refusal is rendered as a page: the errors of [`MemberVisit::find`]; `forbidden` if the member is above the
/// caller; the errors of [`require_recent_for`]; `conflict` for the last owner.
fn remove(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &MemberVisit) -> Result<Reply, Error> {
    let (organization, member) = input.find(tx, who)?;
    if let Err(refusal) = require_removable(organization.caller, member.facts) {
        return input.refuse(tx, who, &organization, &refusal, |words| words.last_owner);
    }
    require_recent_for(tx, who, &[member.facts.org_role])?;
    let stamp = store::activity::stamp(&*ctx.world);
    store::membership::remove(tx, &stamp, Some(who), &organization.id, &member.user_id)?;
    let is_gone = member.facts.is_self && !who.is_admin();
    Ok(if is_gone { Reply::see_other("/app") } else { input.list.done(&organization, "removed") })
}
