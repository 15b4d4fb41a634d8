//! The page with the members of an organization.

use askama::Template;

use super::super::field::{Control, Field};
use super::super::frame::{ConsoleFrame, NavItem};
use super::super::security;
use super::super::visit::Visit;
use super::super::when::When;
use super::list::{MemberQuery, MemberRows};
use crate::domain::membership::{
    MemberFacts, is_above, may_administer, require_assignable, require_removable, require_resettable,
};
use crate::domain::refusal::Refusal;
use crate::domain::sign_in_link::LinkPurpose;
use crate::domain::text::NAME_CHARACTERS_MAX;
use crate::domain::user::{CallerRoles, OrgRole, PlatformRole, Principal};
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::pages::texts::console::membership::{MEMBERSHIP, MembershipTexts};
use crate::http::pages::texts::console::security::SECURITY;
use crate::http::pages::texts::{Texts, fill};
use crate::store::access::VisibleOrganization;
use crate::store::membership::MemberProfile;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/members.html", config = "src/http/pages/templates/askama.toml")]
pub(super) struct MemberPage {
    frame: ConsoleFrame,
    words: &'static MembershipTexts,
    search: &'static CandidateTexts,
    /// The path of the page.
    base: String,
    /// The query of the page, which its forms repeat.
    query: String,
    q: String,
    /// The reason why the search was refused.
    fault: Option<&'static str>,
    /// The message if nobody matches.
    no_match: Option<String>,
    first_url: Option<String>,
    next_url: Option<String>,
    security_url: String,
    security_label: &'static str,
    may_administer: bool,
    refused: Option<&'static str>,
    link: Option<LinkView>,
    members: Vec<MemberView>,
    /// The fields of an invitation.
    fields: Vec<Field>,
    caller: CallerRoles,
}

/// A new link.
struct LinkView {
    title: String,
    url: String,
    hint: &'static str,
}

struct MemberView {
    id: String,
    name: String,
    email: String,
    role: &'static str,
    may: &'static str,
    tags: Vec<&'static str>,
    last_seen: Option<When>,
    has_factor: bool,
    role_field: Field,
    role_before: &'static str,
    /// The reason why the control for the organization role is disabled, if it is. The next two fields are the reasons
    /// why the button that makes a link and the button that removes the member are disabled.
    role_obstacle: Option<&'static str>,
    link_obstacle: Option<&'static str>,
    removal_obstacle: Option<&'static str>,
    is_invited: bool,
}

/// An invitation as it was typed.
#[derive(Debug, Clone)]
pub(super) struct TypedInvitation {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) org_role: String,
}

impl MemberPage {
    pub(super) fn new(
        tx: &Tx<'_>,
        who: &Principal,
        visit: &Visit,
        organization: &VisibleOrganization,
        query: &MemberQuery,
    ) -> Result<Self, Error> {
        let texts = visit.texts_for(tx, who)?;
        let (words, search) = (MEMBERSHIP.of(texts), CANDIDATE.of(texts));
        let caller = organization.caller;
        let MemberRows { members: profiles, next_cursor, is_refused } = query.load(tx, who, organization)?;
        let is_empty = profiles.is_empty() && !is_refused;
        let base = format!("/app/{}/members", organization.slug);
        let mut members = Vec::with_capacity(profiles.len());
        for profile in profiles {
            let has_factor = !store::second_factor::factors(tx, &profile.user_id)?.is_empty();
            members.push(view(texts, organization, profile, has_factor, tx));
        }
        let typed = TypedInvitation {
            name: String::new(),
            email: String::new(),
            org_role: OrgRole::Member.as_str().to_owned(),
        };
        Ok(Self {
            frame: visit.frame(tx, who, Some(organization), NavItem::Members, words.title.to_owned())?,
            words,
            search,
            query: query.url_query(),
            q: query.q.clone(),
            fault: is_refused.then_some(search.too_many_words),
            no_match: (is_empty && !query.q.is_empty()).then(|| fill(search.no_match, &[("q", &query.q)])),
            first_url: (!query.is_first_page()).then(|| format!("{base}{}", query.with_cursor(None))),
            next_url: next_cursor.map(|cursor| format!("{base}{}", query.with_cursor(Some(&cursor)))),
            base,
            security_url: security::path(organization),
            security_label: SECURITY.of(texts).title,
            may_administer: may_administer(caller.org_role, caller.platform_role),
            refused: None,
            link: None,
            members,
            fields: fields(words, caller, &typed, |_| None),
            caller,
        })
    }

    /// Shows the message about the act that led to this page.
    pub(super) fn set_notice(&mut self, done: Option<&str>) {
        let words = self.words;
        self.frame.notice = match done {
            Some("added") => Some(words.done_added.to_owned()),
            Some("added-without-link") => Some(words.done_added_without_link.to_owned()),
            Some("changed") => Some(words.done_changed.to_owned()),
            Some("removed") => Some(words.done_removed.to_owned()),
            _ => None,
        };
    }

    pub(super) fn refuse(&mut self, message: fn(&MembershipTexts) -> &'static str) {
        self.refused = Some(message(self.words));
    }

    /// Shows the form of an invitation again, with its errors.
    pub(super) fn refuse_invitation(&mut self, typed: &TypedInvitation, refusal: &Refusal) {
        let words = self.words;
        self.fields = fields(words, self.caller, typed, |name| {
            refusal.errors().iter().find(|error| error.field == name)?;
            Some(match name {
                "name" => words.name_error,
                "email" => words.email_error,
                _ => words.role_error,
            })
        });
    }

    /// Shows the form of an invitation again, because the person is already a member.
    pub(super) fn refuse_member(&mut self, typed: &TypedInvitation, _: &Refusal) {
        let words = self.words;
        self.fields = fields(words, self.caller, typed, |name| (name == "email").then_some(words.email_member));
    }

    pub(super) fn show_link(&mut self, name: &str, url: String, purpose: LinkPurpose) {
        let words = self.words;
        let hint = if purpose == LinkPurpose::Invitation { words.link_invitation } else { words.link_reset };
        self.link = Some(LinkView { title: fill(words.link, &[("name", name)]), url, hint });
    }
}

fn view(
    texts: &'static Texts,
    organization: &VisibleOrganization,
    member: MemberProfile,
    has_factor: bool,
    tx: &Tx<'_>,
) -> MemberView {
    let words = MEMBERSHIP.of(texts);
    let (caller, facts) = (organization.caller, member.facts);
    let org_role = facts.org_role.unwrap_or(OrgRole::Member);
    let is_invited = !member.has_password && !has_factor && member.last_seen_at.is_none();
    let tags = [
        facts.is_self.then_some(words.you),
        (facts.platform_role == PlatformRole::Admin).then_some(words.platform_admin),
        (!member.enabled).then_some(words.disabled),
    ];
    let choices = assignable(caller, facts);
    let obstacle = |result: Result<(), Refusal>, conflict| obstacle(words, caller, facts, &result, conflict);
    let other_role = if org_role == OrgRole::Member { OrgRole::Moderator } else { OrgRole::Member };
    let role_obstacle = obstacle(require_assignable(caller, facts, other_role), words.last_owner);
    let link_obstacle = obstacle(require_resettable(caller, facts), words.own);
    let link_obstacle = link_obstacle.or_else(|| (!member.enabled).then_some(words.user_disabled));
    let last_seen = member.last_seen_at.map(|at| When::new(texts, &organization.time_zone, at, tx.now));
    let options = choices.into_iter().map(|role| (role.as_str(), role_name(words, role).to_owned())).collect();
    let role_field = Field::new("orgRole", words.role, Control::Choice(options), org_role.as_str());
    MemberView {
        role_field: Field { id: format!("role-{}", member.user_id), ..role_field },
        id: member.user_id.to_string(),
        name: member.name,
        email: member.email,
        role: role_name(words, org_role),
        may: may(words, org_role),
        tags: tags.into_iter().flatten().collect(),
        last_seen,
        has_factor,
        role_before: org_role.as_str(),
        role_obstacle,
        link_obstacle,
        removal_obstacle: obstacle(require_removable(caller, facts), words.last_owner),
        is_invited,
    }
}

/// Returns the organization roles that the caller may give a person, and the one that the person has.
fn assignable(caller: CallerRoles, facts: MemberFacts) -> Vec<OrgRole> {
    let all = OrgRole::WORDS.iter().filter_map(|word| OrgRole::parse(word));
    all.filter(|role| facts.org_role == Some(*role) || require_assignable(caller, facts, *role).is_ok()).collect()
}

/// Returns the reason why a control is disabled. `conflict` is the reason if the state forbids the act.
fn obstacle(
    words: &'static MembershipTexts,
    caller: CallerRoles,
    facts: MemberFacts,
    result: &Result<(), Refusal>,
    conflict: &'static str,
) -> Option<&'static str> {
    match result {
        Ok(()) => None,
        Err(Refusal::Conflict(_)) => Some(conflict),
        Err(_) if is_above(caller, facts) => Some(match facts.platform_role {
            PlatformRole::Admin => words.platform_admins_may,
            PlatformRole::User => words.owners_may,
        }),
        Err(_) if facts.is_member_elsewhere => Some(words.elsewhere),
        Err(_) => Some(words.owners_may),
    }
}

/// Returns the fields of an invitation.
fn fields(
    words: &'static MembershipTexts,
    caller: CallerRoles,
    typed: &TypedInvitation,
    error: impl Fn(&str) -> Option<&'static str>,
) -> Vec<Field> {
    let stranger = MemberFacts {
        org_role: None,
        platform_role: PlatformRole::User,
        is_self: false,
        is_member_elsewhere: false,
        has_other_owner: true,
    };
    let label = |role: OrgRole| (role.as_str(), format!("{} ({})", role_name(words, role), may(words, role)));
    let roles = assignable(caller, stranger).into_iter().map(label).collect();
    let fields = [
        Field::new("name", words.name, Control::Line(NAME_CHARACTERS_MAX), &typed.name).required(),
        Field::new("email", words.email, Control::Email, &typed.email).required(),
        Field::new("orgRole", words.role, Control::Choice(roles), &typed.org_role),
    ];
    let with_error = |field: Field| {
        let error = error(field.name).map(str::to_owned);
        field.error(error)
    };
    fields.map(with_error).into()
}

fn role_name(words: &MembershipTexts, role: OrgRole) -> &'static str {
    match role {
        OrgRole::Owner => words.owner,
        OrgRole::Admin => words.admin,
        OrgRole::Moderator => words.moderator,
        OrgRole::HrRepresentative => words.hr_representative,
        OrgRole::Member => words.member,
    }
}

fn may(words: &MembershipTexts, role: OrgRole) -> &'static str {
    match role {
        OrgRole::Owner => words.owner_may,
        OrgRole::Admin => words.admin_may,
        OrgRole::Moderator | OrgRole::HrRepresentative => words.moderator_may,
        OrgRole::Member => words.member_may,
    }
}
