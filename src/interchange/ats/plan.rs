//! Compares the items of an export with the database, and plans the import. Jobs become roles, and stages become steps.
//!
//! Ids are derived from the system's ids, so that a later import can recognize, skip and count the items of an earlier
//! import. A person can correct the items that an import refused, and import them later.

use std::collections::{HashMap, HashSet};

use super::export::{Export, System};
use super::file::{self, AssignedFiles, Owners};
use super::model::{Application, CurrentStage, Job, Person, Stage, Status};
use super::pipeline::{self, StageLists, UsedStages, stage_order};
use super::planned_role::PlannedRole;
use super::preparation::{prepare_applications, skip_notice};
use crate::domain::id::{ApplicationId, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::text::Email;
use crate::interchange::addition::{
    self, AddedRole, Addition, Applicants, ImportPlan, ImportedProgress, PlannedAttachment, RefusedItem,
};
use crate::store::{self, Error, Tx};

/// Plans the import of an export.
///
/// # Errors
/// A refusal if an earlier import already added all jobs, applications and files; or an error of the database.
pub fn plan(tx: &Tx<'_>, mut export: Export, organization: OrganizationId) -> Result<ImportPlan, Error> {
    let mut notices = std::mem::take(&mut export.notices);
    let first = export.jobs.first().map(|job| export.system.role_id(&job.id));
    let applications = prepare_applications(&mut export, &mut notices);
    let folder = std::mem::take(&mut export.folder);
    let named_files = std::mem::take(&mut export.named_files);
    let jobs = std::mem::take(&mut export.jobs);
    let people = std::mem::take(&mut export.people);
    let refused = std::mem::take(&mut export.refused);
    let mut planner = Planner {
        tx,
        system: export.system,
        export,
        people: HashMap::new(),
        jobs: HashMap::new(),
        existing_roles: existing_roles(tx, &organization)?,
        roles: Vec::new(),
        applicants: Applicants::new(tx, organization.clone()),
        organization,
        applied: HashSet::new(),
        owners: Owners::default(),
        skipped: Skipped::default(),
        refused,
    };
    planner.add_people(people);
    planner.add_jobs(jobs, &applications)?;
    for application in applications {
        if let Some(known) = planner.imported(&application)? {
            planner.add_imported(&application, &known)?;
        } else if let Err(reasons) = planner.add_application(&application)? {
            planner.refused.push(RefusedItem { location: application.location, reasons });
        }
    }
    let files = file::assign(planner.system, &folder, &named_files, &planner.owners);
    finish(planner, first, files, notices)
}

/// Creates the plan from the accepted and refused items. `first` is the role of the export's first job.
///
/// # Errors
/// A refusal if an earlier import already added everything; or an error of the database.
fn finish(
    planner: Planner<'_>,
    first: Option<RoleId>,
    files: AssignedFiles,
    mut notices: Vec<String>,
) -> Result<ImportPlan, Error> {
    let Planner { tx, system, roles, organization, applicants, skipped, refused, .. } = planner;
    let AssignedFiles { mut attachments, refused: refused_files, notices: about_files } = files;
    remove_stored(tx, &mut attachments)?;
    let roles: Vec<AddedRole> = roles.into_iter().filter_map(PlannedRole::into_added).collect();
    let is_nothing_new = roles.is_empty() && refused.is_empty() && attachments.is_empty();
    if let (Some(first), true) = (first, is_nothing_new && skipped.jobs > 0) {
        let sentence =
            format!("an earlier import already added all jobs of this export; the first job is the role {first}");
        return Err(Refusal::bad_request(sentence).into());
    }
    notices.extend(skip_notice(skipped.jobs, system.jobs, "the database has them already"));
    notices.extend(skip_notice(skipped.applications, "applications", "the database has them already"));
    notices.extend(about_files);
    let addition = Addition { organization, candidates: applicants.into_all(), roles };
    Ok(ImportPlan { addition, refused, attachments, refused_files, notices })
}

/// Removes from the list the attachments that an earlier import stored.
fn remove_stored(tx: &Tx<'_>, attachments: &mut Vec<PlannedAttachment>) -> Result<(), Error> {
    let all = std::mem::take(attachments);
    for attachment in all {
        if !store::attachment::imported::exists(tx, &attachment.id)? {
            attachments.push(attachment);
        }
    }
    Ok(())
}

/// Returns the organization's existing roles, by id.
fn existing_roles(
    tx: &Tx<'_>,
    organization: &OrganizationId,
) -> Result<HashMap<RoleId, store::role::RoleRecord>, Error> {
    let roles = store::role::of_organization(tx, organization)?;
    Ok(roles.into_iter().map(|role| (role.id.clone(), role)).collect())
}

/// The items accepted and refused so far.
struct Planner<'t> {
    tx: &'t Tx<'t>,
    system: &'static System,
    /// The export without the items that the planner has taken.
    export: Export,
    /// The people whose items have no faults, by id; `None` for a person whom this planner has refused.
    people: HashMap<String, Option<Person>>,
    /// The index in `roles` of each job's role, by the id of the job; `None` for a job that this planner has refused.
    jobs: HashMap<String, Option<usize>>,
    /// The organization's existing roles that no job of the export has matched yet.
    existing_roles: HashMap<RoleId, store::role::RoleRecord>,
    roles: Vec<PlannedRole>,
    organization: OrganizationId,
    applicants: Applicants<'t>,
    /// The accepted applications, as pairs of indexes: a person and a role.
    applied: HashSet<(usize, usize)>,
    /// The applications that can have files: the accepted ones, and those of earlier imports.
    owners: Owners,
    skipped: Skipped,
    refused: Vec<RefusedItem>,
}

/// The numbers of items that are skipped because an earlier import added them.
#[derive(Default)]
struct Skipped {
    jobs: usize,
    applications: usize,
}

/// An application without faults.
struct AcceptedApplication {
    role: usize,
    name: String,
    email: Email,
    progress: ImportedProgress,
}

impl Planner<'_> {
    /// Adds the people of the export. If several items describe a person, the first one with an address counts.
    fn add_people(&mut self, people: Vec<Person>) {
        for person in people {
            let known = self.people.entry(person.id.clone()).or_insert(None);
            if known.as_ref().is_none_or(|known| known.email.is_none()) {
                *known = Some(person);
            }
        }
    }

    /// Plans a role for each job. Later, [`PlannedRole::into_added`] derives the positions and the hires of the roles
    /// from the jobs and the accepted applications.
    fn add_jobs(&mut self, jobs: Vec<Job>, applications: &[Application]) -> Result<(), Error> {
        let mut lists = StageLists::new(std::mem::take(&mut self.export.stages));
        let mut used: HashMap<&str, UsedStages<'_>> = HashMap::new();
        for application in applications {
            let used = application.job.as_deref().map(|job| used.entry(job).or_default());
            if let (Some(used), Some(stage)) = (used, &application.stage) {
                used.insert(stage_order(&stage.id), stage);
            }
        }
        let mut taken = HashSet::new();
        for job in jobs {
            let stages = lists.take(&job);
            let used = used.get(job.id.as_str());
            let id = self.system.role_id(&job.id);
            if let Some(record) = self.existing_roles.remove(&id) {
                self.add_existing_job(record, job, &stages, used)?;
                continue;
            }
            let pipeline = pipeline::of_new_role(self.system, &job, stages, used);
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
            self.jobs.insert(job.id.clone(), number);
            if number.is_some() {
                self.roles.push(PlannedRole::new(id, job, pipeline, self.tx.now));
            } else {
                self.refused.push(RefusedItem { location: job.item_location, reasons });
            }
        }
        Ok(())
    }

    fn add_existing_job(
        &mut self,
        record: store::role::RoleRecord,
        job: Job,
        stages: &[Stage],
        used: Option<&UsedStages<'_>>,
    ) -> Result<(), Error> {
        let steps = store::role_step::of_role(self.tx, &record.id)?;
        let pipeline = pipeline::of_existing_role(self.system, &job, steps, stages, used);
        self.jobs.insert(job.id.clone(), Some(self.roles.len()));
        self.roles.push(PlannedRole::existing(record, job, pipeline));
        self.skipped.jobs += 1;
        Ok(())
    }

    /// Returns the application that an earlier import added to the role of this application's job.
    fn imported(&self, application: &Application) -> Result<Option<store::application::Application>, Error> {
        let role = application.job.as_ref().and_then(|job| self.jobs.get(job).copied().flatten());
        let Some(role) = role.map(|role| &self.roles[role]).filter(|role| role.before.is_some()) else {
            return Ok(None);
        };
        let id = self.system.application_id(&application.id);
        let known = store::application::find(self.tx, &self.organization, &id)?;
        Ok(known.filter(|known| known.role_id == role.role.record.id))
    }

    /// Counts an application of an earlier import. The application can get further files, unless its candidate has been
    /// erased.
    fn add_imported(
        &mut self,
        application: &Application,
        known: &store::application::Application,
    ) -> Result<(), Error> {
        self.skipped.applications += 1;
        let candidate = store::candidate::find(self.tx, &self.organization, &known.candidate_id)?;
        if candidate.is_some_and(|candidate| !candidate.is_erased) {
            self.owners.add(&application.id, &application.person, &known.record.id);
        }
        Ok(())
    }

    /// Returns whether a person has applied to a role, in the database or in this export.
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
    fn add_application(&mut self, application: &Application) -> Result<Result<(), Vec<String>>, Error> {
        let mut faults = Vec::new();
        let role = self.role(application, &mut faults);
        let person = self.person(&application.person, &mut faults)?;
        let id = self.system.application_id(&application.id);
        if store::application::exists(self.tx, &id)? {
            faults.push(format!("the application {id} already exists in the database"));
        }
        if let (Some(role), Some((_, email))) = (role, &person)
            && let Some(number) = self.applicants.find(email)?
            && self.has_applied(number, role)?
        {
            let (email, job) = (email.as_str(), &self.roles[role].job.id);
            faults.push(format!("{email} applied twice to the job {job}; a candidate can apply to a role only once"));
        }
        let step = role.and_then(|role| self.step(role, application, &mut faults));
        let (Some(role), Some((name, email)), Some(step), true) = (role, person, step, faults.is_empty()) else {
            return Ok(Err(faults));
        };
        let progress = self.export.progress(&self.roles[role], step, application, self.tx.now);
        self.accept(id, application, AcceptedApplication { role, name, email, progress })?;
        Ok(Ok(()))
    }

    fn accept(
        &mut self,
        id: ApplicationId,
        application: &Application,
        accepted: AcceptedApplication,
    ) -> Result<(), Error> {
        let AcceptedApplication { role, name, email, progress } = accepted;
        let system = self.system;
        let candidate = self.applicants.find_or_add(|| system.candidate_id(&application.person), name, email)?;
        self.applied.insert((candidate, role));
        self.owners.add(&application.id, &application.person, &id);
        let planned = &mut self.roles[role];
        planned.hired += i64::from(matches!(progress, ImportedProgress::Hired(_)));
        let applied_at = application.applied_at.unwrap_or(self.tx.now);
        let step_id = |order| system.step_of_application(&application.id, order);
        let steps = &planned.role.steps;
        let created = addition::new_application(id, candidate, applied_at, progress, steps, |step| step_id(step.order));
        planned.role.applications.push(created);
        Ok(())
    }

    /// Returns the index of the role that corresponds to an application's job.
    fn role(&self, application: &Application, faults: &mut Vec<String>) -> Option<usize> {
        let Some(job) = &application.job else {
            faults.push("no item of the export names its job".to_owned());
            return None;
        };
        let found = self.jobs.get(job).copied().flatten();
        if found.is_none() {
            faults.push(self.missing_reference(self.system.jobs, "its job", job));
        }
        found
    }

    /// Returns the reason why an item to which another item refers is not imported.
    fn missing_reference(&self, resource: &'static str, noun: &str, id: &str) -> String {
        if self.export.ids.contains_key(&(resource, id.to_owned())) {
            format!("{noun} {id} was refused")
        } else {
            format!("{noun} {id} is not among the {resource}")
        }
    }

    /// Returns the name and address of a person. Refuses a person with faults once, and adds a fault to each of their
    /// applications.
    fn person(&mut self, id: &str, faults: &mut Vec<String>) -> Result<Option<(String, Email)>, Error> {
        let Some(Some(person)) = self.people.get(id) else {
            faults.push(self.missing_reference(self.system.people, "its candidate", id));
            return Ok(None);
        };
        let (name, email) = (person.name.clone(), person.email.clone());
        let reason = match &email {
            None => Some("has no email address".to_owned()),
            Some(email) => self.id_conflict(id, email)?,
        };
        let Some(reason) = reason else { return Ok(email.map(|email| (name, email))) };
        let refused = self.people.insert(id.to_owned(), None).flatten();
        let location = refused.map(|person| person.location).unwrap_or_default();
        self.refused.push(RefusedItem { location, reasons: vec![reason] });
        faults.push(format!("its candidate {id} was refused"));
        Ok(None)
    }

    /// Returns the reason for refusing a person, if the database has the person's id with another address.
    fn id_conflict(&mut self, id: &str, email: &Email) -> Result<Option<String>, Error> {
        let id = self.system.candidate_id(id);
        let is_other = self.applicants.find(email)?.is_none() && store::candidate::exists(self.tx, &id)?;
        Ok(is_other.then(|| format!("the candidate {id} already exists with another address")))
    }

    /// Returns the index of the step that an application is at, or of the step at which the application ended.
    fn step(&self, role: usize, application: &Application, faults: &mut Vec<String>) -> Option<usize> {
        let PlannedRole { job, step_indexes, role, .. } = &self.roles[role];
        if role.steps.is_empty() {
            faults.push(format!("the role {1} of its job {0} has no steps; add one", job.id, role.record.id));
            return None;
        }
        let Some(stage) = &application.stage else { return Some(0) };
        // A hired candidate is at the last step, regardless of the stage in the system, so the index is not used.
        if application.status == Status::Hired {
            return Some(0);
        }
        let found = step_indexes.get(&stage.id).copied();
        if found.is_none() {
            let CurrentStage { id, name } = stage;
            let noun = self.system.stage;
            faults.push(format!("its {noun} {id} ({name:?}) is not among the stages of the job {}", job.id));
        }
        found
    }
}
