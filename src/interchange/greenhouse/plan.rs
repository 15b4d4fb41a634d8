//! Compares the items of an export with the file, and plans the import. Jobs become roles, and stages become steps.
//!
//! Ids are derived from Greenhouse's ids, so that a later import can recognize, skip and count the items of an earlier
//! import. A person can correct the items that an import refused, and import them later.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::application::{CurrentStage, HarvestApplication, HarvestOffer, HarvestReason, HarvestStatus, outcome_type};
use super::export::HarvestExport;
use super::id::{application_id, candidate_id, role_id, step_of_application};
use super::job::{HarvestJob, HarvestStage};
use super::person::HarvestPerson;
use super::pipeline;
use super::resource::HarvestResource;
use crate::domain::candidate_step::HireRecord;
use crate::domain::id::{ApplicationId, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::{POSITIONS_MAX, RoleStatus, Seats};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::interchange::addition::{
    self, AddedRole, Addition, Applicants, ImportPlan, ImportedProgress, ImportedRejection, RefusedItem,
};
use crate::interchange::role::Role;
use crate::store::{self, Error, Tx};

/// Plans the import of an export.
///
/// # Errors
/// A refusal if an earlier import already added all jobs and applications. Otherwise a SQLite error.
pub fn plan(tx: &Tx<'_>, export: HarvestExport, organization: OrganizationId) -> Result<ImportPlan, Error> {
    let HarvestExport { ids, jobs, stages, people, applications, reasons, offers, refused, mut notices, .. } = export;
    let first = jobs.first().map(|job| role_id(job.id));
    let (prospects, applications): (Vec<_>, Vec<_>) =
        applications.into_iter().partition(|application| application.is_prospect);
    let applicants: HashSet<u64> = applications.iter().map(|application| application.person).collect();
    let others = people.iter().filter(|person| !applicants.contains(&person.id)).count();
    notices.extend(skip_notice(prospects.len(), "prospects", "they have not applied"));
    notices.extend(skip_notice(others, "candidates", "they have no application"));
    let mut planner = Planner {
        tx,
        ids: &ids,
        people: people.into_iter().map(|person| (person.id, Some(person))).collect(),
        jobs: HashMap::new(),
        existing_roles: existing_roles(tx, &organization)?,
        roles: Vec::new(),
        organization: organization.clone(),
        applicants: Applicants::new(tx, organization.clone()),
        applied: HashSet::new(),
        reasons,
        offers,
        skipped: Skipped::default(),
        refused,
    };
    planner.add_jobs(jobs, stages, &applications)?;
    for application in applications {
        if planner.is_imported(&application)? {
            planner.skipped.applications += 1;
        } else if let Err(reasons) = planner.add_application(&application)? {
            planner.refused.push(RefusedItem { location: application.location, reasons });
        }
    }
    let roles: Vec<AddedRole> = planner.roles.into_iter().filter_map(PlannedRole::into_added).collect();
    if let (Some(first), true) = (first, roles.is_empty() && planner.refused.is_empty() && planner.skipped.jobs > 0) {
        let sentence =
            format!("an earlier import already added all jobs of this export; the first job is the role {first}");
        return Err(Refusal::bad_request(sentence).into());
    }
    notices.extend(skip_notice(planner.skipped.jobs, "jobs", "the file has them already"));
    notices.extend(skip_notice(planner.skipped.applications, "applications", "the file has them already"));
    let addition = Addition { organization, candidates: planner.applicants.into_all(), roles };
    Ok(ImportPlan { addition, refused: planner.refused, notices })
}

/// Returns the organization's existing roles, by id.
fn existing_roles(
    tx: &Tx<'_>,
    organization: &OrganizationId,
) -> Result<HashMap<RoleId, store::role::RoleRecord>, Error> {
    let roles = store::role::of_organization(tx, organization)?;
    Ok(roles.into_iter().map(|role| (role.id.clone(), role)).collect())
}

fn skip_notice(count: usize, items: &str, why: &str) -> Option<String> {
    (count > 0).then(|| format!("{items} skipped: {count}, because {why}"))
}

/// The items accepted and refused so far.
struct Planner<'t> {
    tx: &'t Tx<'t>,
    /// The location of every item, including refused items.
    ids: &'t HashMap<(HarvestResource, u64), String>,
    /// The people whose items have no faults, by id; `None` for a person that this planner has refused.
    people: HashMap<u64, Option<HarvestPerson>>,
    /// The index in `roles` of each job; `None` for a job that this planner has refused.
    jobs: HashMap<u64, Option<usize>>,
    /// The organization's existing roles that no job of the export has matched yet.
    existing_roles: HashMap<RoleId, store::role::RoleRecord>,
    roles: Vec<PlannedRole>,
    organization: OrganizationId,
    applicants: Applicants<'t>,
    /// The accepted applications, as pairs of indexes: a person and a role.
    applied: HashSet<(usize, usize)>,
    reasons: HashMap<u64, HarvestReason>,
    offers: HashMap<u64, HarvestOffer>,
    skipped: Skipped,
    refused: Vec<RefusedItem>,
}

/// The numbers of items that are skipped because an earlier import added them.
#[derive(Default)]
struct Skipped {
    jobs: usize,
    applications: usize,
}

/// A job that becomes a role, or that belongs to an existing role.
struct PlannedRole {
    job: HarvestJob,
    role: Role,
    /// The seats of the existing role, if an earlier import created it.
    before: Option<Seats>,
    /// The number of hires among the accepted applications.
    hired: i64,
    /// The step index of each stage, by the id of the stage.
    step_indexes: HashMap<u64, usize>,
}

/// An application without faults.
struct AcceptedApplication {
    role: usize,
    name: String,
    email: Email,
    progress: ImportedProgress,
}

impl Planner<'_> {
    /// Plans a role for each job. Later, [`PlannedRole::into_added`] derives the seats of the roles from the
    /// applications.
    fn add_jobs(
        &mut self,
        jobs: Vec<HarvestJob>,
        stages: Vec<HarvestStage>,
        applications: &[HarvestApplication],
    ) -> Result<(), Error> {
        let mut of_job: HashMap<u64, Vec<HarvestStage>> = HashMap::new();
        stages.into_iter().for_each(|stage| of_job.entry(stage.job).or_default().push(stage));
        let mut used: HashMap<u64, BTreeMap<u64, &CurrentStage>> = HashMap::new();
        for application in applications {
            let used = application.job.map(|job| used.entry(job).or_default());
            if let (Some(used), Some(stage)) = (used, &application.stage) {
                used.insert(stage.id, stage);
            }
        }
        let mut taken = HashSet::new();
        for job in jobs {
            let stages = of_job.remove(&job.id).unwrap_or_default();
            let used = used.get(&job.id);
            let id = role_id(job.id);
            if let Some(record) = self.existing_roles.remove(&id) {
                let steps = store::role_step::of_role(self.tx, &id)?;
                self.jobs.insert(job.id, Some(self.roles.len()));
                self.roles.push(PlannedRole::existing(record, job, pipeline::of_existing_role(steps, &stages, used)));
                self.skipped.jobs += 1;
                continue;
            }
            let pipeline = pipeline::of_new_role(&job, stages, used);
            let mut reasons = Vec::new();
            if store::role::exists(self.tx, &id)? {
                reasons.push(format!("the role {id} already exists in another organization"));
            }
            for step in &pipeline.steps {
                if !taken.insert(step.id.clone()) || store::role_step::exists(self.tx, &step.id)? {
                    reasons.push(format!("its step {} already belongs to another role", step.id));
                }
            }
            let number = reasons.is_empty().then_some(self.roles.len());
            self.jobs.insert(job.id, number);
            if number.is_some() {
                self.roles.push(PlannedRole::new(id, job, pipeline, self.tx.now));
            } else {
                self.refused.push(RefusedItem { location: job.item_location, reasons });
            }
        }
        Ok(())
    }

    /// Returns true if an earlier import added this application to the role of its job.
    fn is_imported(&self, application: &HarvestApplication) -> Result<bool, Error> {
        let role = application.job.and_then(|job| self.jobs.get(&job).copied().flatten());
        let Some(role) = role.map(|role| &self.roles[role]).filter(|role| role.before.is_some()) else {
            return Ok(false);
        };
        let known = store::application::find(self.tx, &self.organization, &application_id(application.id))?;
        Ok(known.is_some_and(|known| known.role_id == role.role.record.id))
    }

    /// Returns true if a person has applied to a role, in the file or in this export.
    fn has_applied(&self, person: usize, role: usize) -> Result<bool, Error> {
        if self.applied.contains(&(person, role)) {
            return Ok(true);
        }
        let (Some(candidate), Some(_)) = (self.applicants.id_in_file(person), self.roles[role].before) else {
            return Ok(false);
        };
        let role = &self.roles[role].role.record.id;
        store::application::has_applied(self.tx, &self.organization, candidate, role)
    }

    /// Accepts an application, or returns all the reasons for refusing it.
    fn add_application(&mut self, application: &HarvestApplication) -> Result<Result<(), Vec<String>>, Error> {
        let mut faults = Vec::new();
        let role = self.role(application, &mut faults);
        let person = self.person(application.person, &mut faults)?;
        let id = application_id(application.id);
        if store::application::exists(self.tx, &id)? {
            faults.push(format!("the application {id} already exists in the file"));
        }
        if let (Some(role), Some((_, email))) = (role, &person)
            && let Some(number) = self.applicants.find(email)?
            && self.has_applied(number, role)?
        {
            let (email, job) = (email.as_str(), self.roles[role].job.id);
            faults.push(format!("{email} applied twice to the job {job}; a candidate can apply to a role only once"));
        }
        let step = role.and_then(|role| self.step(role, application, &mut faults));
        let (Some(role), Some((name, email)), Some(step), true) = (role, person, step, faults.is_empty()) else {
            return Ok(Err(faults));
        };
        let progress = self.progress(role, step, application);
        self.accept(id, application, AcceptedApplication { role, name, email, progress })?;
        Ok(Ok(()))
    }

    fn accept(
        &mut self,
        id: ApplicationId,
        application: &HarvestApplication,
        accepted: AcceptedApplication,
    ) -> Result<(), Error> {
        let AcceptedApplication { role, name, email, progress } = accepted;
        let candidate = self.applicants.find_or_add(|| candidate_id(application.person), name, email)?;
        self.applied.insert((candidate, role));
        let planned = &mut self.roles[role];
        planned.hired += i64::from(matches!(progress, ImportedProgress::Hired(_)));
        let applied_at = application.applied_at.unwrap_or(self.tx.now);
        let step_id = |order| step_of_application(application.id, order);
        let steps = &planned.role.steps;
        let created = addition::new_application(id, candidate, applied_at, progress, steps, |step| step_id(step.order));
        planned.role.applications.push(created);
        Ok(())
    }

    /// Returns the index of the role that corresponds to an application's job.
    fn role(&self, application: &HarvestApplication, faults: &mut Vec<String>) -> Option<usize> {
        let job = application.job?;
        let found = self.jobs.get(&job).copied().flatten();
        if found.is_none() {
            faults.push(self.missing_reference(HarvestResource::Jobs, "its job", job));
        }
        found
    }

    /// Returns the reason why an item to which another item refers is not imported.
    fn missing_reference(&self, resource: HarvestResource, noun: &str, id: u64) -> String {
        if self.ids.contains_key(&(resource, id)) {
            format!("{noun} {id} was refused")
        } else {
            format!("{noun} {id} is not among the {}", resource.as_str())
        }
    }

    /// Returns the name and address of a person. Refuses a person with faults once, and adds a fault to each of their
    /// applications.
    fn person(&mut self, id: u64, faults: &mut Vec<String>) -> Result<Option<(String, Email)>, Error> {
        let Some(Some(person)) = self.people.get(&id) else {
            faults.push(self.missing_reference(HarvestResource::Candidates, "its candidate", id));
            return Ok(None);
        };
        let (name, email) = (person.name.clone(), person.email.clone());
        let reason = match &email {
            None => Some("has no email address".to_owned()),
            Some(email) => self.id_conflict(id, email)?,
        };
        let Some(reason) = reason else { return Ok(email.map(|email| (name, email))) };
        let location = self.people.insert(id, None).flatten().map(|person| person.location).unwrap_or_default();
        self.refused.push(RefusedItem { location, reasons: vec![reason] });
        faults.push(format!("its candidate {id} was refused"));
        Ok(None)
    }

    /// Returns the reason for refusing a person, if the file has the person's id with another address.
    fn id_conflict(&mut self, id: u64, email: &Email) -> Result<Option<String>, Error> {
        let id = candidate_id(id);
        let is_other = self.applicants.find(email)?.is_none() && store::candidate::exists(self.tx, &id)?;
        Ok(is_other.then(|| format!("the candidate {id} already exists with another address")))
    }

    /// Returns the index of the step that an application is at, or of the step at which the application ended.
    fn step(&self, role: usize, application: &HarvestApplication, faults: &mut Vec<String>) -> Option<usize> {
        let PlannedRole { job, step_indexes, role, .. } = &self.roles[role];
        if role.steps.is_empty() {
            faults.push(format!("the role {1} of its job {0} has no steps; add one", job.id, role.record.id));
            return None;
        }
        let Some(stage) = &application.stage else { return Some(0) };
        // A hired candidate is at the last step, regardless of the stage in Greenhouse; the index is not used.
        if application.status == HarvestStatus::Hired {
            return Some(0);
        }
        let found = step_indexes.get(&stage.id).copied();
        if found.is_none() {
            let CurrentStage { id, name } = stage;
            faults.push(format!("its current_stage {id} ({name:?}) is not among the stages of the job {}", job.id));
        }
        found
    }

    fn progress(&self, role: usize, step: usize, application: &HarvestApplication) -> ImportedProgress {
        let now = self.tx.now;
        match application.status {
            HarvestStatus::Active | HarvestStatus::Converted => ImportedProgress::AtStep(step),
            HarvestStatus::Rejected => {
                let (id, own) = &application.reason;
                let known = id.and_then(|id| self.reasons.get(&id)).cloned().unwrap_or_default();
                let type_name = own.type_name.as_deref().or(known.type_name.as_deref());
                let rejection = ImportedRejection {
                    at: application.rejected_at.or(application.last_activity_at).unwrap_or(now),
                    reason: String::new(),
                    outcome_type: Some(outcome_type(type_name).to_owned()),
                    outcome_reason: own.name.clone().or(known.name),
                };
                ImportedProgress::Rejected(step, rejection)
            }
            HarvestStatus::Hired => {
                // The opening closed on the day of the hire; the offer was accepted a little earlier.
                let openings = &self.roles[role].job.openings;
                let opening = openings.iter().find(|opening| opening.application == Some(application.id));
                let offer = self.offers.get(&application.id);
                let accepted_at = offer.and_then(|offer| offer.resolved_at);
                let closed_at = opening.and_then(|opening| opening.closed_at);
                let hired_date = closed_at.or(accepted_at).or(application.last_activity_at).unwrap_or(now);
                let opening_id = opening.and_then(|opening| opening.opening_id.clone());
                ImportedProgress::Hired(HireRecord {
                    hired_date,
                    offer_accepted_date: accepted_at,
                    external_position_id: opening_id.or_else(|| offer.and_then(|offer| offer.opening_id.clone())),
                    notes: None,
                })
            }
        }
    }
}

impl PlannedRole {
    fn new(id: RoleId, job: HarvestJob, pipeline: pipeline::Pipeline, now: Timestamp) -> Self {
        let record = store::role::RoleRecord {
            name: job.name.clone(),
            description: job.description.clone(),
            department: job.department.clone(),
            location: job.location.clone(),
            seats: Seats { status: job.status, positions: 1, hired: 0 },
            ..store::role::RoleRecord::draft(id, job.created_at.unwrap_or(now))
        };
        let pipeline::Pipeline { steps, step_indexes } = pipeline;
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before: None, hired: 0, step_indexes }
    }

    /// Creates the plan for a job that an earlier import turned into a role.
    fn existing(record: store::role::RoleRecord, job: HarvestJob, pipeline: pipeline::Pipeline) -> Self {
        let pipeline::Pipeline { steps, step_indexes } = pipeline;
        let before = Some(record.seats);
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before, hired: 0, step_indexes }
    }

    /// Returns the role with its seats. A new role has one position for each hire and for each open opening, and at
    /// least one. The positions of an existing role can only grow, and only if the import adds hires. Returns `None`
    /// for an existing role without new applications.
    fn into_added(self) -> Option<AddedRole> {
        let Self { job, mut role, before, hired, .. } = self;
        let open = job.openings.iter().filter(|opening| opening.is_open).count() as i64;
        if let Some(before) = before {
            let after = Seats { hired: before.hired + hired, ..before };
            let positions = (after.hired + open).clamp(1, POSITIONS_MAX).max(before.positions);
            let is_hire = hired > 0;
            role.record.seats = if is_hire { after.with_positions(positions).unwrap_or(after) } else { before };
            return (!role.applications.is_empty()).then_some(AddedRole { role, before: Some(before) });
        }
        let positions = (hired + open).clamp(1, POSITIONS_MAX);
        let is_filled = job.status == RoleStatus::Open && hired == positions;
        let status = if is_filled { RoleStatus::Filled } else { job.status };
        role.record.seats = Seats { status, positions, hired };
        Some(AddedRole { role, before: None })
    }
}
