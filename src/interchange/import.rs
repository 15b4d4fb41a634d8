//! Imports an interchange document: checks it against the database, then inserts it.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use super::candidate::Application;
use super::document::Document;
use super::findings::{Findings, Pointer};
use super::organization::Organization;
use super::role::Role;
use crate::domain::id::UserId;
use crate::domain::timestamp::Timestamp;
use crate::store::{self, Error, Tx};

/// The numbers of imported objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// New users.
    pub users: usize,
    /// New organizations.
    pub organizations: usize,
    /// New roles.
    pub roles: usize,
    /// New candidates.
    pub candidates: usize,
    /// New applications.
    pub applications: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { users, organizations, roles, candidates, applications } = self;
        write!(
            f,
            "users {users}, organizations {organizations}, roles {roles}, candidates {candidates}, \
             applications {applications}"
        )
    }
}

/// Imports a document in one transaction: [`check`], then [`insert`].
///
/// # Errors
/// A refusal with the JSON Pointers of the listed conflicts with the database, in which case nothing is inserted;
/// otherwise the errors of [`insert`].
pub fn import(tx: &Tx<'_>, document: &Document) -> Result<Counts, Error> {
    let findings = check(tx, document)?;
    if findings.is_empty() { insert(tx, document) } else { Err(findings.into_error()) }
}

/// Finds conflicts between a document and the database: ids, addresses and slugs that already exist, and members of
/// organizations who are not among the users of the document or of the database.
///
/// # Errors
/// An error of the database.
pub fn check(tx: &Tx<'_>, document: &Document) -> Result<Findings, Error> {
    let mut check = Check { tx, findings: Findings::default() };
    check.users(document)?;
    let organizations = Pointer::ROOT.member("organizations");
    for (index, organization) in document.organizations.iter().enumerate() {
        check.organization(organizations.item(index), organization)?;
    }
    for_unknown_members(document, |at, user| {
        if !store::user::exists(tx, user)? {
            check.findings.push(at, format!("the user {user} exists neither in the document nor in the database"));
        }
        Ok(())
    })?;
    Ok(check.findings)
}

/// Finds the only conflicts that a document can have with a database that does not exist yet: members of organizations
/// who are not among the document's users.
pub fn check_for_new_file(document: &Document) -> Findings {
    let mut findings = Findings::default();
    let pushed = for_unknown_members(document, |at, user| {
        findings.push(at, format!("the user {user} is not in the document, and the database is new"));
        Ok(())
    });
    debug_assert!(pushed.is_ok(), "the closure never fails");
    findings
}

/// Calls `f` with each `userId` of a member who is not among the document's users.
fn for_unknown_members(
    document: &Document,
    mut f: impl FnMut(Pointer<'_>, &UserId) -> Result<(), Error>,
) -> Result<(), Error> {
    let known: HashSet<&UserId> = document.users.iter().map(|user| &user.id).collect();
    let organizations = Pointer::ROOT.member("organizations");
    for (index, organization) in document.organizations.iter().enumerate() {
        let at = organizations.item(index);
        let members = at.member("members");
        for (index, member) in organization.members.iter().enumerate() {
            if !known.contains(&member.user_id) {
                f(members.item(index).member("userId"), &member.user_id)?;
            }
        }
    }
    Ok(())
}

struct Check<'t> {
    tx: &'t Tx<'t>,
    findings: Findings,
}

impl Check<'_> {
    fn push_if(&mut self, exists: bool, at: Pointer<'_>, noun: impl fmt::Display) {
        if exists {
            self.findings.push(at, already_in_file(noun));
        }
    }

    fn users(&mut self, document: &Document) -> Result<(), Error> {
        let users = Pointer::ROOT.member("users");
        for (index, user) in document.users.iter().enumerate() {
            let at = users.item(index);
            self.push_if(store::user::exists(self.tx, &user.id)?, at, format_args!("the user id {}", user.id));
            let has_account = store::user::find_by_email(self.tx, &user.email)?.is_some();
            self.push_if(has_account, at, format_args!("a user with the email {}", user.email.as_str()));
        }
        Ok(())
    }

    fn organization(&mut self, at: Pointer<'_>, organization: &Organization) -> Result<(), Error> {
        let store::organization::OrganizationRecord { id, slug, .. } = &organization.record;
        let exists = store::organization::exists(self.tx, id)?;
        self.push_if(exists, at, format_args!("the organization id {id}"));
        let exists = store::organization::slug_exists(self.tx, slug)?;
        self.push_if(exists, at, format_args!("an organization with the slug {}", slug.as_str()));
        let roles = at.member("roles");
        let mut checked = vec![false; organization.candidates.len()];
        for (index, role) in organization.roles.iter().enumerate() {
            let at = roles.item(index);
            self.role(at, role)?;
            let candidates = at.member("candidates");
            for (index, application) in role.applications.iter().enumerate() {
                let at = candidates.item(index);
                if !std::mem::replace(&mut checked[application.candidate], true) {
                    let id = &organization.candidates[application.candidate].id;
                    let exists = store::candidate::exists(self.tx, id)?;
                    self.push_if(exists, at, format_args!("the candidate id {id}"));
                }
                self.application(at, application)?;
            }
        }
        Ok(())
    }

    fn role(&mut self, at: Pointer<'_>, role: &Role) -> Result<(), Error> {
        let id = &role.record.id;
        self.push_if(store::role::exists(self.tx, id)?, at, format_args!("the role id {id}"));
        let steps = at.member("steps");
        for (index, step) in role.steps.iter().chain(&role.removed_steps).enumerate() {
            let exists = store::role_step::exists(self.tx, &step.id)?;
            self.push_if(exists, steps.item(index), format_args!("the step id {}", step.id));
        }
        Ok(())
    }

    fn application(&mut self, at: Pointer<'_>, application: &Application) -> Result<(), Error> {
        let id = &application.record.id;
        let exists = store::application::exists(self.tx, id)?;
        self.push_if(exists, at, format_args!("the application id {id}"));
        for step in &application.steps {
            let exists = store::candidate_step::exists(self.tx, &step.id)?;
            // Report the location of the application, because the steps were sorted and their indexes in the document
            // are unknown here.
            self.push_if(exists, at, format_args!("the application's step id {}", step.id));
        }
        Ok(())
    }
}

fn already_in_file(noun: impl fmt::Display) -> String {
    format!("{noun} already exists in the database")
}

/// Inserts a document for which [`check`] found no conflicts. Also detects objects that were added to the database
/// after the check.
///
/// # Errors
/// A refusal with a JSON Pointer if an object already exists; or an error of the database. In both cases, roll back the
/// transaction.
pub fn insert(tx: &Tx<'_>, document: &Document) -> Result<Counts, Error> {
    let counts = insert_without_applications(tx, document)?;
    let organizations = Pointer::ROOT.member("organizations");
    for (index, organization) in document.organizations.iter().enumerate() {
        insert_applications(tx, organizations.item(index), organization)?;
        store::organization::write_status(tx, &organization.record.id)?;
    }
    Ok(counts)
}

/// Inserts a document without its candidates and applications, which the caller inserts or has staged. The returned
/// counts include them.
///
/// # Errors
/// The errors of [`insert`].
pub fn insert_without_applications(tx: &Tx<'_>, document: &Document) -> Result<Counts, Error> {
    let mut counts = Counts { users: document.users.len(), ..Counts::default() };
    let users = Pointer::ROOT.member("users");
    let mut times = Timestamps::starting_at(tx.now);
    for (index, user) in document.users.iter().enumerate() {
        let is_new = store::user::insert_new(tx, user, times.next())?;
        require_new(is_new, users.item(index), format_args!("a user with the id {} or the same email", user.id))?;
    }
    // Lists of API keys show the earliest membership of each user. Therefore, new memberships must be later than all
    // existing memberships, even if the clock was set back.
    let newest = store::membership::newest(tx)?;
    let mut member_times =
        Timestamps::starting_at(newest.map_or(tx.now, |newest| tx.now.max(newest.plus(MICROSECOND))));
    let organizations = Pointer::ROOT.member("organizations");
    for (index, organization) in document.organizations.iter().enumerate() {
        let at = organizations.item(index);
        let is_new = store::organization::insert(tx, &organization.record, times.next())?;
        require_new(is_new, at, format_args!("the organization {} or its slug", organization.record.id))?;
        insert_settings(tx, at, organization, &mut member_times)?;
        insert_roles(tx, at, organization)?;
        store::organization::write_status(tx, &organization.record.id)?;
        counts.organizations += 1;
        counts.roles += organization.roles.len();
        counts.candidates += organization.candidates.len();
    }
    counts.applications = document.applications();
    Ok(counts)
}

/// Returns the applications of a document, as rows for staging.
pub fn staged_rows(document: &Document) -> impl Iterator<Item = store::staging::StagedApplication> {
    let roles = document.organizations.iter().flat_map(move |organization| {
        organization.roles.iter().map(move |role| RoleInOrganization { organization, role })
    });
    roles.flat_map(|entry| entry.role.applications.iter().map(move |application| entry.staged_row(application)))
}

/// A role in a document, with its organization.
#[derive(Clone, Copy)]
struct RoleInOrganization<'d> {
    organization: &'d Organization,
    role: &'d Role,
}

impl RoleInOrganization<'_> {
    fn staged_row(self, application: &Application) -> store::staging::StagedApplication {
        store::staging::StagedApplication {
            organization: self.organization.record.id.clone(),
            role: self.role.record.id.clone(),
            candidate: self.organization.candidates[application.candidate].clone(),
            application: application.record.clone(),
            steps: application.steps.clone(),
        }
    }
}

const MICROSECOND: Duration = Duration::from_micros(1);

/// Timestamps that are a microsecond apart, so that sorting by time yields the order of the document.
struct Timestamps(Timestamp);

impl Timestamps {
    fn starting_at(first: Timestamp) -> Self {
        Self(first)
    }

    fn next(&mut self) -> Timestamp {
        let next = self.0.plus(MICROSECOND);
        std::mem::replace(&mut self.0, next)
    }
}

fn require_new(is_new: bool, at: Pointer<'_>, noun: impl fmt::Display) -> Result<(), Error> {
    if is_new { Ok(()) } else { Err(Findings::of(at, already_in_file(noun)).into_error()) }
}

fn insert_settings(
    tx: &Tx<'_>,
    at: Pointer<'_>,
    organization: &Organization,
    times: &mut Timestamps,
) -> Result<(), Error> {
    let id = &organization.record.id;
    if let Some(integration) = &organization.hr_integration {
        let is_new = store::hr_integration::insert(tx, id, integration)?;
        require_new(is_new, at.member("hrIntegration"), "an HR integration")?;
    }
    let members = at.member("members");
    for (index, member) in organization.members.iter().enumerate() {
        let is_new = store::membership::insert(tx, id, member, times.next())?;
        require_new(is_new, members.item(index), format_args!("the membership of {}", member.user_id))?;
    }
    Ok(())
}

fn insert_roles(tx: &Tx<'_>, at: Pointer<'_>, organization: &Organization) -> Result<(), Error> {
    let roles = at.member("roles");
    for (index, role) in organization.roles.iter().enumerate() {
        let at = roles.item(index);
        let is_new = store::role::insert(tx, &organization.record.id, &role.record)?;
        require_new(is_new, at, format_args!("the role {}", role.record.id))?;
        let steps = at.member("steps");
        for (index, step) in role.steps.iter().enumerate() {
            let is_new = store::role_step::insert(tx, &role.record.id, step)?;
            require_new(is_new, steps.item(index), format_args!("the step {}", step.id))?;
        }
        for (index, step) in role.removed_steps.iter().enumerate() {
            let is_new = store::role_step::insert_removed(tx, &role.record.id, step)?;
            require_new(is_new, steps.item(role.steps.len() + index), format_args!("the step {}", step.id))?;
        }
    }
    Ok(())
}

fn insert_applications(tx: &Tx<'_>, at: Pointer<'_>, organization: &Organization) -> Result<(), Error> {
    let roles = at.member("roles");
    let mut inserted = vec![false; organization.candidates.len()];
    for (index, role) in organization.roles.iter().enumerate() {
        let at = roles.item(index);
        let candidates = at.member("candidates");
        for (index, application) in role.applications.iter().enumerate() {
            let at = candidates.item(index);
            if !std::mem::replace(&mut inserted[application.candidate], true) {
                let candidate = &organization.candidates[application.candidate];
                let is_new = store::candidate::insert(tx, &organization.record.id, candidate)?;
                require_new(is_new, at, format_args!("the candidate {}", candidate.id))?;
            }
            insert_application(tx, at, organization, role, application)?;
        }
    }
    Ok(())
}

fn insert_application(
    tx: &Tx<'_>,
    at: Pointer<'_>,
    organization: &Organization,
    role: &Role,
    application: &Application,
) -> Result<(), Error> {
    let candidate = &organization.candidates[application.candidate].id;
    let Application { record, steps, .. } = application;
    let is_new = store::application::insert(tx, &organization.record.id, &role.record.id, candidate, record, steps)?;
    require_new(is_new, at, format_args!("the application {}", record.id))?;
    for step in steps {
        let is_new = store::candidate_step::insert(tx, &record.id, step)?;
        require_new(is_new, at, format_args!("the application's step {}", step.id))?;
    }
    Ok(())
}
