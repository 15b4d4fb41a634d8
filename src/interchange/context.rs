//! The parser's state for one interchange document. It includes the findings, the ids in use, and the candidates of the
//! current organization.
//!
//! This module does not read the database.

use std::collections::{HashMap, HashSet};

use super::findings::Findings;
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateId, Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::candidate::CandidateRecord;
use crate::world::World;

/// The parser's state for one document.
pub(super) struct Context<'w> {
    world: &'w dyn World,
    /// The time at which the document is parsed, which is the default for missing times that a record requires.
    pub(super) now: Timestamp,
    pub(super) findings: Findings,
    /// A sentence about each default value that the person who runs the import should know about.
    pub(super) notices: Vec<String>,
    claimed: HashSet<(&'static str, Box<str>)>,
    members: HashSet<UserId>,
    people: People,
}

/// The candidates of the current organization. Entries with the same address belong to one candidate.
#[derive(Default)]
struct People {
    by_address: HashMap<String, usize>,
    all: Vec<Person>,
    /// The number of the current role.
    role: usize,
}

struct Person {
    id: Option<CandidateId>,
    name: String,
    email: Email,
    privacy: Privacy,
    /// The number of the last role with an entry for this candidate.
    role: usize,
}

impl<'w> Context<'w> {
    pub(super) fn new(world: &'w dyn World) -> Self {
        Self {
            world,
            now: world.now(),
            findings: Findings::default(),
            notices: Vec::new(),
            claimed: HashSet::new(),
            members: HashSet::new(),
            people: People::default(),
        }
    }

    pub(super) fn world(&self) -> &'w dyn World {
        self.world
    }

    pub(super) fn new_id<I: Id>(&self) -> I {
        self.world.id()
    }

    /// Claims a name for an object of this kind. Returns false if an earlier object of this kind in the document has
    /// claimed the name.
    pub(super) fn claim(&mut self, kind: &'static str, name: impl Into<Box<str>>) -> bool {
        self.claimed.insert((kind, name.into()))
    }

    /// Starts an organization, which has no members or candidates yet.
    pub(super) fn begin_organization(&mut self) {
        self.members.clear();
        self.people = People::default();
    }

    /// Adds a member to the current organization. Returns false if the user is already a member.
    pub(super) fn add_member(&mut self, user: &UserId) -> bool {
        self.members.insert(user.clone())
    }

    /// Starts a role. A candidate can apply to it only once.
    pub(super) fn begin_role(&mut self) {
        self.people.role += 1;
    }

    /// Adds an application by the candidate with this address to the current role. Returns the candidate's index. Later
    /// entries for the same candidate do not change the candidate's name. They only add a missing id, legal hold or
    /// erasure.
    ///
    /// # Errors
    /// A sentence if the candidate has already applied to this role, or if ids and addresses contradict each other.
    pub(super) fn add_application(
        &mut self,
        id: Option<CandidateId>,
        name: String,
        email: Email,
        privacy: Privacy,
    ) -> Result<usize, String> {
        let known = self.people.by_address.get(email.key()).copied();
        if let Some(number) = known {
            self.require_same(number, id.as_ref(), &email)?;
        }
        let is_new_id = known.is_none_or(|number| self.people.all[number].id.is_none());
        if let Some(id) = id.as_ref().filter(|_| is_new_id)
            && !self.claim(CandidateId::PREFIX, id.as_str())
        {
            return Err(format!("the id {id} belongs to a candidate with another address or in another organization"));
        }
        let role = self.people.role;
        if let Some(number) = known {
            let person = &mut self.people.all[number];
            person.id = person.id.take().or(id);
            let Privacy { hold_reason, erased_at } = &mut person.privacy;
            *hold_reason = hold_reason.take().or(privacy.hold_reason);
            *erased_at = erased_at.or(privacy.erased_at);
            person.role = role;
            return Ok(number);
        }
        let number = self.people.all.len();
        self.people.by_address.insert(email.key().to_owned(), number);
        self.people.all.push(Person { id, name, email, privacy, role });
        Ok(number)
    }

    fn require_same(&self, number: usize, id: Option<&CandidateId>, email: &Email) -> Result<(), String> {
        let person = &self.people.all[number];
        if person.role == self.people.role {
            return Err(format!(
                "{} is listed twice under this role; a candidate can apply to a role only once",
                email.as_str()
            ));
        }
        match (&person.id, id) {
            (Some(first), Some(second)) if first != second => Err(format!(
                "{} belongs to one candidate of the organization, but has the ids {first} and {second}",
                email.as_str()
            )),
            _ => Ok(()),
        }
    }

    /// Takes the candidates of the current organization, in the order of their indexes. Generates missing ids.
    pub(super) fn take_candidates(&mut self) -> Vec<CandidateRecord> {
        let people = std::mem::take(&mut self.people).all.into_iter();
        people
            .map(|Person { id, name, email, privacy, .. }| CandidateRecord {
                id: id.unwrap_or_else(|| self.new_id()),
                name,
                email,
                privacy,
            })
            .collect()
    }
}
