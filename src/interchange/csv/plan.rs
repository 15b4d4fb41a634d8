//! Compares the rows of a table with the database: finds the role and step of each row, and checks the role's
//! positions.

use std::collections::{HashMap, HashSet};

use super::row::{Row, RowOutcome, excerpt};
use super::table::Table;
use crate::domain::id::{OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::Seats;
use crate::interchange::addition::{
    self, AddedRole, Addition, Applicants, ImportPlan, ImportedProgress, ImportedRejection, RefusedItem,
};
use crate::interchange::role::Role;
use crate::store::{self, Error, Tx};
use crate::world::World;

/// Plans the import of a table. Accepted hires fill positions in the order of the table; refused rows fill none.
///
/// # Errors
/// A refusal if the role given for all rows does not exist, or if no role is given and the table has no column for
/// roles; or an error of the database.
pub fn plan(
    tx: &Tx<'_>,
    world: &dyn World,
    table: Table,
    organization: OrganizationId,
    role: Option<&RoleId>,
) -> Result<ImportPlan, Error> {
    let Table { rows, has_role, notices } = table;
    let mut planner = Planner::new(tx, world, organization.clone())?;
    if let Some(role) = role {
        let index = planner.by_id.get(role.as_str()).copied();
        let missing = || Refusal::bad_request(format!("the organization has no role with the id {role}"));
        planner.only_role = Some(index.ok_or_else(missing)?);
    } else if !has_role {
        let detail = "the column role is missing; add it, or use --role to give one role for all rows";
        return Err(Refusal::bad_request(detail).into());
    }
    let mut refused = Vec::new();
    for row in rows {
        let line = row.line;
        if let Err(reasons) = planner.add_row(row)? {
            refused.push(RefusedItem { location: format!("line {line}"), reasons });
        }
    }
    let added = planner.roles.into_iter().filter_map(|role| role.added);
    let roles = added.filter(|added| !added.role.applications.is_empty()).collect();
    let addition = Addition { organization, candidates: planner.applicants.into_all(), roles };
    Ok(ImportPlan { addition, refused, attachments: Vec::new(), refused_files: Vec::new(), notices })
}

/// The organization's roles and people, with the rows accepted so far.
struct Planner<'t> {
    tx: &'t Tx<'t>,
    world: &'t dyn World,
    organization: OrganizationId,
    roles: Vec<RoleRows>,
    by_id: HashMap<String, usize>,
    by_name: HashMap<String, Vec<usize>>,
    /// The role for all rows, from `--role`.
    only_role: Option<usize>,
    applicants: Applicants<'t>,
    /// The accepted applications, as pairs of indexes: a person and a role.
    applied: HashSet<(usize, usize)>,
}

/// A role of the organization, with the rows accepted for it.
struct RoleRows {
    record: store::role::RoleRecord,
    /// The applications to add to the role; `None` until the first row for the role.
    added: Option<AddedRole>,
}

/// A row that fits its role.
struct AcceptedRow {
    role: usize,
    progress: ImportedProgress,
    /// The role's seats after this row.
    seats: Seats,
}

impl<'t> Planner<'t> {
    fn new(tx: &'t Tx<'t>, world: &'t dyn World, organization: OrganizationId) -> Result<Self, Error> {
        let records = store::role::of_organization(tx, &organization)?;
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, record) in records.iter().enumerate() {
            by_name.entry(folded(&record.name)).or_default().push(index);
        }
        Ok(Self {
            tx,
            world,
            by_id: records.iter().zip(0..).map(|(record, index)| (record.id.as_str().to_owned(), index)).collect(),
            by_name,
            roles: records.into_iter().map(|record| RoleRows { record, added: None }).collect(),
            only_role: None,
            applicants: Applicants::new(tx, organization.clone()),
            organization,
            applied: HashSet::new(),
        })
    }

    /// Accepts a row, or returns all the reasons for refusing it.
    fn add_row(&mut self, mut row: Row) -> Result<Result<(), Vec<String>>, Error> {
        let mut faults = std::mem::take(&mut row.faults);
        // The role of an unreadable row is unknown.
        let role = if row.is_readable { self.role(row.role.as_deref(), &mut faults)? } else { None };
        let fitting = role.and_then(|role| self.fit_row(role, &row, &mut faults));
        if let (Some(role), Some(email)) = (role, &row.email)
            && let Some(number) = self.applicants.find(email)?
            && self.has_applied(number, role)?
        {
            let name = &self.roles[role].record.name;
            faults.push(format!("{} has already applied to the role {:?}", email.as_str(), excerpt(name)));
        }
        let (Some(fitting), Some(name), Some(email), true) = (fitting, row.name, row.email, faults.is_empty()) else {
            return Ok(Err(faults));
        };
        let candidate = self.applicants.find_or_add(|| self.world.id(), name, email)?;
        self.applied.insert((candidate, fitting.role));
        let Some(added) = &mut self.roles[fitting.role].added else { return Ok(Err(faults)) };
        let steps = &added.role.steps;
        let new = || self.world.id();
        let id = self.world.id();
        let application = addition::new_application(id, candidate, row.applied_at, fitting.progress, steps, |_| new());
        added.role.record.seats = fitting.seats;
        added.role.applications.push(application);
        Ok(Ok(()))
    }

    fn has_applied(&self, candidate: usize, role: usize) -> Result<bool, Error> {
        if self.applied.contains(&(candidate, role)) {
            return Ok(true);
        }
        let Some(candidate) = self.applicants.id_in_file(candidate) else { return Ok(false) };
        store::application::has_applied(self.tx, &self.organization, candidate, &self.roles[role].record.id)
    }

    /// Finds the role of a row, and loads its steps.
    fn role(&mut self, named: Option<&str>, faults: &mut Vec<String>) -> Result<Option<usize>, Error> {
        let found = match (named, self.only_role) {
            (Some(named), only) => self.find_role(named, only),
            (None, Some(only)) => Ok(only),
            (None, None) => Err("role is missing; it must be the id or the name of a role".to_owned()),
        };
        let index = match found {
            Ok(index) => index,
            Err(fault) => {
                faults.push(fault);
                return Ok(None);
            }
        };
        let RoleRows { record, added } = &mut self.roles[index];
        if added.is_none() {
            let steps = store::role_step::of_role(self.tx, &record.id)?;
            let role = Role { record: record.clone(), steps, removed_steps: Vec::new(), applications: Vec::new() };
            *added = Some(AddedRole { role, before: Some(record.seats) });
        }
        Ok(Some(index))
    }

    /// Finds a role by its id, or else by its name. With `--role`, the row may name only that role.
    fn find_role(&self, named: &str, only: Option<usize>) -> Result<usize, String> {
        let with_name = self.by_name.get(&folded(named)).map_or(&[] as &[usize], Vec::as_slice);
        let by_id = self.by_id.get(named).copied();
        match (by_id, with_name, only) {
            (by_id, with_name, Some(only)) if by_id == Some(only) || (by_id.is_none() && with_name.contains(&only)) => {
                Ok(only)
            }
            (_, _, Some(only)) => {
                let id = &self.roles[only].record.id;
                Err(format!("role is {:?}, but --role assigns all rows to {id}", excerpt(named)))
            }
            (Some(index), ..) => Ok(index),
            (None, [index], None) => Ok(*index),
            (None, [], None) => Err(format!("role is {:?}, but the organization has no such role", excerpt(named))),
            (None, several, None) => {
                let ids: Vec<&str> = several.iter().map(|index| self.roles[*index].record.id.as_str()).collect();
                Err(format!(
                    "role is {:?}, which is the name of the roles {}; give the id instead",
                    excerpt(named),
                    ids.join(", ")
                ))
            }
        }
    }

    /// Finds the row's step in the role and, for a hire, a free position. Adds a fault if either is missing.
    fn fit_row(&self, role: usize, row: &Row, faults: &mut Vec<String>) -> Option<AcceptedRow> {
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
        let after = if let Some(RowOutcome::Hired(_)) = outcome { seats.taken_by_import() } else { Some(seats) };
        if after.is_none() {
            let Seats { hired, positions, .. } = seats;
            let noun = if positions == 1 { "position" } else { "positions" };
            faults.push(format!("the role has no position left ({hired} hired, {positions} {noun})"));
        }
        let (step, seats) = (step?, after?);
        let progress = match outcome? {
            RowOutcome::InProgress => ImportedProgress::AtStep(step),
            RowOutcome::Withdrawn => ImportedProgress::Withdrawn(step),
            RowOutcome::NotSelected { at, notes, outcome_type, outcome_reason } => {
                ImportedProgress::Rejected(step, ImportedRejection { at, reason: notes, outcome_type, outcome_reason })
            }
            RowOutcome::Hired(hire) => ImportedProgress::Hired(hire),
        };
        Some(AcceptedRow { role, progress, seats })
    }
}

/// Returns the index of the step that a row's application is at, or of the step at which the application ended.
fn step(row: &Row, outcome: &RowOutcome, steps: &[store::role_step::PipelineStep]) -> Result<usize, String> {
    let Some(last) = steps.len().checked_sub(1) else {
        return Err("the role has no steps; it needs at least one".to_owned());
    };
    let Some(named) = &row.step else {
        return match outcome {
            RowOutcome::InProgress => Ok(0),
            RowOutcome::Hired(_) => Ok(last),
            // The role has only one step, so the row need not name it.
            RowOutcome::Withdrawn | RowOutcome::NotSelected { .. } if last == 0 => Ok(0),
            RowOutcome::Withdrawn | RowOutcome::NotSelected { .. } => {
                Err("step is missing; an application that has ended needs the step at which it ended".to_owned())
            }
        };
    };
    let is_named =
        |step: &store::role_step::PipelineStep| step.id.as_str() == named || folded(&step.name) == folded(named);
    let found: Vec<usize> = (0..steps.len()).filter(|index| is_named(&steps[*index])).collect();
    match (found.as_slice(), outcome) {
        ([index], RowOutcome::Hired(_)) if *index != last => Err(format!(
            "step is {:?}, but a Hired candidate is at the last step, {:?}",
            excerpt(named),
            excerpt(&steps[last].name)
        )),
        ([index], _) => Ok(*index),
        ([], _) => {
            let names: Vec<String> = steps.iter().map(|step| format!("{:?}", excerpt(&step.name))).collect();
            Err(format!("step is {:?}, but the role's steps are {}", excerpt(named), names.join(", ")))
        }
        (_, _) => Err(format!("step is {:?}, which is the name of several steps; give the id instead", excerpt(named))),
    }
}

/// Normalizes a name for comparison: ignores case and surrounding white space.
fn folded(name: &str) -> String {
    name.trim().to_lowercase()
}
