//! Where the rows of a table belong in an organization: to which role, at which step, and whether there is room.

use std::collections::{HashMap, HashSet};

use super::Table;
use super::row::{Outcome, Row, told};
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::Seats;
use crate::interchange::Role;
use crate::interchange::addition::{self, AddedRole, Addition, Applicants, Refused, Rejection, Sorted, Standing};
use crate::store::{self, Error, Tx};
use crate::world::World;

/// Sorts a table's rows by what the file says to them. The rows that come take their places in the order of the table,
/// those that are refused take none.
///
/// # Errors
/// A refusal where no row could belong anywhere: the role that all are for is not the organization's, or a row's role is
/// not told at all. Otherwise when SQLite fails.
pub fn place(
    tx: &Tx<'_>,
    world: &dyn World,
    table: Table,
    organization: OrganizationId,
    role: Option<&RoleId>,
) -> Result<Sorted, Error> {
    let Table { rows, has_role, notices } = table;
    let mut places = Places::of(tx, world, organization.clone())?;
    if let Some(role) = role {
        let place = places.by_id.get(role.as_str()).copied();
        let missing = || Refusal::bad_request(format!("the organization has no role with the id {role}"));
        places.only = Some(place.ok_or_else(missing)?);
    } else if !has_role {
        let detail = "line 1: the column role is missing; add it, or name the role of all rows with --role";
        return Err(Refusal::bad_request(detail).into());
    }
    let mut refused = Vec::new();
    for row in rows {
        let line = row.line;
        if let Err(reasons) = places.row(row)? {
            refused.push(Refused { place: format!("line {line}"), reasons });
        }
    }
    let added = places.roles.into_iter().filter_map(|place| place.added);
    let roles = added.filter(|added| !added.role.applications.is_empty()).collect();
    let addition = Addition { organization, candidates: places.applicants.into_all(), roles };
    Ok(Sorted { addition, refused, notices })
}

/// The organization's roles and people, with what came to them so far.
struct Places<'t> {
    tx: &'t Tx<'t>,
    world: &'t dyn World,
    organization: OrganizationId,
    roles: Vec<Place>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, Vec<usize>>,
    /// The role that all rows are for.
    only: Option<usize>,
    applicants: Applicants<'t>,
    /// Who applies to what, of the rows that come.
    applied: HashSet<(usize, usize)>,
}

/// A role that rows may name.
struct Place {
    record: store::role::Record,
    /// The role with what comes to it, from the first row on that names it.
    added: Option<AddedRole>,
}

/// What a row is, once everything about it is known to be right.
struct Fitting {
    role: usize,
    standing: Standing,
    /// The role's seats with this row.
    seats: Seats,
}

impl<'t> Places<'t> {
    fn of(tx: &'t Tx<'t>, world: &'t dyn World, organization: OrganizationId) -> Result<Self, Error> {
        let records = store::role::of_organization(tx, &organization)?;
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (place, record) in records.iter().enumerate() {
            by_name.entry(folded(&record.name)).or_default().push(place);
        }
        Ok(Self {
            tx,
            world,
            by_id: records.iter().zip(0..).map(|(record, place)| (record.id.as_str().to_owned(), place)).collect(),
            by_name,
            roles: records.into_iter().map(|record| Place { record, added: None }).collect(),
            only: None,
            applicants: Applicants::of(tx, organization.clone()),
            organization,
            applied: HashSet::new(),
        })
    }

    /// Takes a row in, or tells everything that speaks against it.
    fn row(&mut self, mut row: Row) -> Result<Result<(), Vec<String>>, Error> {
        let mut faults = std::mem::take(&mut row.faults);
        // Where no cell could be read, there is nothing to look for.
        let role = if row.is_readable { self.role(row.role.as_deref(), &mut faults)? } else { None };
        let fitting = role.and_then(|role| self.fit(role, &row, &mut faults));
        if let (Some(role), Some(email)) = (role, &row.email)
            && let Some(number) = self.applicants.known(email)?
            && self.has_applied(number, role)?
        {
            let name = &self.roles[role].record.name;
            faults.push(format!("{} has already applied to the role {:?}", email.as_str(), told(name)));
        }
        let (Some(fitting), Some(name), Some(email), true) = (fitting, row.name, row.email, faults.is_empty()) else {
            return Ok(Err(faults));
        };
        let candidate = self.applicants.admit(|| self.world.id(), name, email)?;
        self.applied.insert((candidate, fitting.role));
        let Some(added) = &mut self.roles[fitting.role].added else { return Ok(Err(faults)) };
        let steps = &added.role.steps;
        let new = || self.world.id();
        let id = self.world.id();
        let application = addition::application(id, candidate, row.applied_at, fitting.standing, steps, |_| new());
        added.role.record.seats = fitting.seats;
        added.role.applications.push(application);
        Ok(Ok(()))
    }

    fn has_applied(&self, candidate: usize, role: usize) -> Result<bool, Error> {
        if self.applied.contains(&(candidate, role)) {
            return Ok(true);
        }
        let Some(candidate) = self.applicants.in_file(candidate) else { return Ok(false) };
        store::candidate_role::has_applied(self.tx, &self.organization, candidate, &self.roles[role].record.id)
    }

    /// The role that a row is for, with its steps.
    fn role(&mut self, named: Option<&str>, faults: &mut Vec<String>) -> Result<Option<usize>, Error> {
        let found = match (named, self.only) {
            (Some(named), only) => self.find(named, only),
            (None, Some(only)) => Ok(only),
            (None, None) => Err("role is missing; it must be the id or the name of a role".to_owned()),
        };
        let place = match found {
            Ok(place) => place,
            Err(fault) => {
                faults.push(fault);
                return Ok(None);
            }
        };
        let Place { record, added } = &mut self.roles[place];
        if added.is_none() {
            let steps = store::role_step::of_role(self.tx, &record.id)?;
            let role = Role { record: record.clone(), steps, removed_steps: Vec::new(), applications: Vec::new() };
            *added = Some(AddedRole { role, before: Some(record.seats) });
        }
        Ok(Some(place))
    }

    /// The role with this id, or else with this name.
    fn find(&self, named: &str, only: Option<usize>) -> Result<usize, String> {
        let with_name = self.by_name.get(&folded(named)).map_or(&[] as &[usize], Vec::as_slice);
        let by_id = self.by_id.get(named).copied();
        match (by_id, with_name, only) {
            (by_id, with_name, Some(only)) if by_id == Some(only) || (by_id.is_none() && with_name.contains(&only)) => {
                Ok(only)
            }
            (_, _, Some(only)) => {
                let id = &self.roles[only].record.id;
                Err(format!("role is {:?}, and --role says that all rows are for {id}", told(named)))
            }
            (Some(place), ..) => Ok(place),
            (None, [place], None) => Ok(*place),
            (None, [], None) => Err(format!("role is {:?}, and the organization has no such role", told(named))),
            (None, several, None) => {
                let ids: Vec<&str> = several.iter().map(|place| self.roles[*place].record.id.as_str()).collect();
                Err(format!(
                    "role is {:?}, which is the name of {}; name the one by its id",
                    told(named),
                    ids.join(", ")
                ))
            }
        }
    }

    /// The row among the role's steps and seats.
    fn fit(&self, role: usize, row: &Row, faults: &mut Vec<String>) -> Option<Fitting> {
        let added = self.roles[role].added.as_ref()?;
        let (steps, seats) = (&added.role.steps, added.role.record.seats);
        let outcome = row.outcome.clone();
        let step = match outcome.as_ref().map(|outcome| step(row, outcome, steps)) {
            Some(Ok(step)) => Some(step),
            Some(Err(fault)) => {
                faults.push(fault);
                None
            }
            None => None,
        };
        let after = if let Some(Outcome::Hired(_)) = outcome { seats.taken_elsewhere() } else { Some(seats) };
        if after.is_none() {
            let Seats { hired, positions, .. } = seats;
            faults.push(format!("the role has no position left ({hired} hired, {positions} positions)"));
        }
        let (step, seats) = (step?, after?);
        let standing = match outcome? {
            Outcome::InProgress => Standing::InProgress(step),
            Outcome::Withdrawn => Standing::Withdrawn(step),
            Outcome::NotSelected { at, notes, outcome_type, outcome_reason } => {
                Standing::Rejected(step, Rejection { at, reason: notes, outcome_type, outcome_reason })
            }
            Outcome::Hired(hire) => Standing::Hired(hire),
        };
        Some(Fitting { role, standing, seats })
    }
}

/// At which of the role's steps, from 0, a row's application stands.
fn step(row: &Row, outcome: &Outcome, steps: &[store::role_step::Record]) -> Result<usize, String> {
    let Some(last) = steps.len().checked_sub(1) else {
        return Err("the role has no steps; it needs at least one".to_owned());
    };
    let Some(named) = &row.step else {
        return match outcome {
            Outcome::InProgress => Ok(0),
            Outcome::Hired(_) => Ok(last),
            // Where there is but one step, it ended there.
            Outcome::Withdrawn | Outcome::NotSelected { .. } if last == 0 => Ok(0),
            Outcome::Withdrawn | Outcome::NotSelected { .. } => {
                Err("step is missing; an application that has ended needs the step at which it did".to_owned())
            }
        };
    };
    let is_named = |step: &store::role_step::Record| step.id.as_str() == named || folded(&step.name) == folded(named);
    let found: Vec<usize> = (0..steps.len()).filter(|place| is_named(&steps[*place])).collect();
    match (found.as_slice(), outcome) {
        ([place], Outcome::Hired(_)) if *place != last => {
            Err(format!("step is {:?}; who is Hired is at the final step, {:?}", told(named), told(&steps[last].name)))
        }
        ([place], _) => Ok(*place),
        ([], _) => {
            let names: Vec<String> = steps.iter().map(|step| format!("{:?}", told(&step.name))).collect();
            Err(format!("step is {:?}, and the role's steps are {}", told(named), names.join(", ")))
        }
        (_, _) => Err(format!("step is {:?}, which is the name of several; name the one by its id", told(named))),
    }
}

/// A name as it is compared: people write the same one in many ways.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}
