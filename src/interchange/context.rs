//! What is remembered while a document is read: what is wrong so far, which ids are taken, who applied.
//!
//! Looks at the document only, never at the file.

use std::collections::{HashMap, HashSet};

use super::findings::Findings;
use crate::domain::erasure::Privacy;
use crate::domain::id::{CandidateId, Id, UserId};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::candidate;
use crate::world::World;

/// What is remembered while a document is read.
pub(super) struct Context<'w> {
    world: &'w dyn World,
    /// The time of reading, which stands for every time that is missing.
    pub(super) now: Timestamp,
    /// What is wrong so far.
    pub(super) findings: Findings,
    /// What a person should know that is not wrong: a sentence each.
    pub(super) notices: Vec<String>,
    taken: HashSet<(&'static str, Box<str>)>,
    members: HashSet<UserId>,
    people: People,
}

/// The candidates of the organization that is being read. The same address is the same candidate.
#[derive(Default)]
struct People {
    by_address: HashMap<String, usize>,
    all: Vec<Person>,
    /// Which role of the organization is being read.
    role: usize,
}

struct Person {
    id: Option<CandidateId>,
    name: String,
    email: Email,
    privacy: Privacy,
    /// The last role that the candidate was seen under.
    role: usize,
}

impl<'w> Context<'w> {
    pub(super) fn new(world: &'w dyn World) -> Self {
        Self {
            world,
            now: world.now(),
            findings: Findings::default(),
            notices: Vec::new(),
            taken: HashSet::new(),
            members: HashSet::new(),
            people: People::default(),
        }
    }

    /// What comes from outside.
    pub(super) fn world(&self) -> &'w dyn World {
        self.world
    }

    /// A new id.
    pub(super) fn made<I: Id>(&self) -> I {
        self.world.id()
    }

    /// Whether no other thing of this kind in the document has this name, which it has from now on.
    pub(super) fn take(&mut self, kind: &'static str, name: impl Into<Box<str>>) -> bool {
        self.taken.insert((kind, name.into()))
    }

    /// An organization begins: its members and candidates are its own.
    pub(super) fn begin_organization(&mut self) {
        self.members.clear();
        self.people = People::default();
    }

    /// Whether the user was no member of the organization before.
    pub(super) fn join(&mut self, user: &UserId) -> bool {
        self.members.insert(user.clone())
    }

    /// A role begins: a candidate applies to it once.
    pub(super) fn begin_role(&mut self) {
        self.people.role += 1;
    }

    /// The candidate with this address, by a number within the organization. The first name is the one that stays.
    ///
    /// # Errors
    /// A sentence where the candidate is there under this role already, or ids and addresses disagree.
    pub(super) fn admit(
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
            && !self.take(CandidateId::PREFIX, id.as_str())
        {
            return Err(format!("the id {id} is that of a candidate with another address or in another organization"));
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
            return Err(format!("{} is there twice under this role; a candidate applies to it once", email.as_str()));
        }
        match (&person.id, id) {
            (Some(first), Some(second)) if first != second => Err(format!(
                "{} is one candidate of the organization, but has the ids {first} and {second}",
                email.as_str()
            )),
            _ => Ok(()),
        }
    }

    /// The candidates of the organization that was read, by their numbers. Ids that are missing are made.
    pub(super) fn admitted(&mut self) -> Vec<candidate::Record> {
        let people = std::mem::take(&mut self.people).all.into_iter();
        people
            .map(|Person { id, name, email, privacy, .. }| candidate::Record {
                id: id.unwrap_or_else(|| self.made()),
                name,
                email,
                privacy,
            })
            .collect()
    }
}
