//! What the items of an export become in an organization: jobs are roles, stages steps, applications candidates of theirs.
//! Ids are made of Greenhouse's, so that what was imported is known again: it is passed over and counted, and what an earlier
//! import refused can come once it is mended.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::application::{Application, AtStage, Offer, Reason, Status, outcome_type};
use super::id::{application_id, candidate_id, role_id, step_of_application};
use super::job::{Job, Stage};
use super::person::Person;
use super::{Export, Resource, pipeline};
use crate::domain::candidate_step::HireRecord;
use crate::domain::id::{ApplicationId, OrganizationId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::role::{POSITIONS_MAX, RoleStatus, Salary, Seats};
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::interchange::Role;
use crate::interchange::addition::{self, AddedRole, Addition, Applicants, Refused, Rejection, Sorted, Standing};
use crate::store::{self, Error, Tx};

/// Sorts an export's items by what the file says to them.
///
/// # Errors
/// A refusal where nothing is left to import: all jobs and applications are in the file. Otherwise when SQLite fails.
pub fn place(tx: &Tx<'_>, export: Export, organization: OrganizationId) -> Result<Sorted, Error> {
    let Export { ids, jobs, stages, people, applications, reasons, offers, refused, mut notices, .. } = export;
    let first = jobs.first().map(|job| role_id(job.id));
    let (prospects, applications): (Vec<_>, Vec<_>) = applications.into_iter().partition(|one| one.is_prospect);
    let applicants: HashSet<u64> = applications.iter().map(|one| one.person).collect();
    let others = people.iter().filter(|person| !applicants.contains(&person.id)).count();
    notices.extend(passed_over(prospects.len(), "prospects", "they have not applied"));
    notices.extend(passed_over(others, "candidates", "they have no application"));
    let mut places = Places {
        tx,
        ids: &ids,
        people: people.into_iter().map(|person| (person.id, Some(person))).collect(),
        jobs: HashMap::new(),
        in_file: in_file(tx, &organization)?,
        incoming: Vec::new(),
        organization: organization.clone(),
        applicants: Applicants::of(tx, organization.clone()),
        applied: HashSet::new(),
        reasons,
        offers,
        passed_over: PassedOver::default(),
        refused,
    };
    places.jobs(jobs, stages, &applications)?;
    for application in applications {
        if places.is_in_file(&application)? {
            places.passed_over.applications += 1;
        } else if let Err(reasons) = places.application(&application)? {
            places.refused.push(Refused { place: application.place, reasons });
        }
    }
    let roles: Vec<AddedRole> = places.incoming.into_iter().filter_map(Incoming::into_added).collect();
    if let (Some(first), true) = (first, roles.is_empty() && places.refused.is_empty() && places.passed_over.jobs > 0) {
        let sentence = format!(
            "this export was imported before: all its jobs are in the file already, the first as the role {first}"
        );
        return Err(Refusal::bad_request(sentence).into());
    }
    notices.extend(passed_over(places.passed_over.jobs, "jobs", "they are in the file already"));
    notices.extend(passed_over(places.passed_over.applications, "applications", "they are in the file already"));
    let addition = Addition { organization, candidates: places.applicants.into_all(), roles };
    Ok(Sorted { addition, refused: places.refused, notices })
}

/// The organization's roles, by their ids.
fn in_file(tx: &Tx<'_>, organization: &OrganizationId) -> Result<HashMap<RoleId, store::role::Record>, Error> {
    let roles = store::role::of_organization(tx, organization)?;
    Ok(roles.into_iter().map(|role| (role.id.clone(), role)).collect())
}

fn passed_over(count: usize, what: &str, why: &str) -> Option<String> {
    (count > 0).then(|| format!("{what} passed over: {count}, because {why}"))
}

/// What comes so far, and what was refused.
struct Places<'t> {
    tx: &'t Tx<'t>,
    /// Every item that was read, also where it was refused then.
    ids: &'t HashMap<(Resource, u64), String>,
    /// The people; `None` is one who was refused.
    people: HashMap<u64, Option<Person>>,
    /// The jobs, by their places among what comes; `None` is one that was refused.
    jobs: HashMap<u64, Option<usize>>,
    /// The roles that the organization has already.
    in_file: HashMap<RoleId, store::role::Record>,
    incoming: Vec<Incoming>,
    organization: OrganizationId,
    applicants: Applicants<'t>,
    /// Who applies to what, of the applications that come.
    applied: HashSet<(usize, usize)>,
    reasons: HashMap<u64, Reason>,
    offers: HashMap<u64, Offer>,
    passed_over: PassedOver,
    refused: Vec<Refused>,
}

/// How many items an earlier import brought.
#[derive(Default)]
struct PassedOver {
    jobs: usize,
    applications: usize,
}

/// A job on its way to become a role.
struct Incoming {
    job: Job,
    role: Role,
    /// The seats of a role that an earlier import made of the job.
    before: Option<Seats>,
    /// How many of those who come are hired.
    hired: i64,
    /// The places of its stages in the pipeline.
    stages: HashMap<u64, usize>,
}

/// Everything of an application that had to be found.
struct Fitting {
    role: usize,
    name: String,
    email: Email,
    standing: Standing,
}

impl Places<'_> {
    /// Makes the roles. Their seats are known when their applications are.
    fn jobs(&mut self, jobs: Vec<Job>, stages: Vec<Stage>, applications: &[Application]) -> Result<(), Error> {
        let mut of_job: HashMap<u64, Vec<Stage>> = HashMap::new();
        stages.into_iter().for_each(|stage| of_job.entry(stage.job).or_default().push(stage));
        let mut used: HashMap<u64, BTreeMap<u64, &AtStage>> = HashMap::new();
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
            if let Some(record) = self.in_file.remove(&id) {
                let steps = store::role_step::of_role(self.tx, &id)?;
                self.jobs.insert(job.id, Some(self.incoming.len()));
                self.incoming.push(Incoming::again(record, job, pipeline::again(steps, &stages, used)));
                self.passed_over.jobs += 1;
                continue;
            }
            let pipeline = pipeline::of(&job, stages, used);
            let mut reasons = Vec::new();
            if store::role::exists(self.tx, &id)? {
                reasons.push(format!("the role {id} is already in the file, in another organization"));
            }
            for step in &pipeline.steps {
                if !taken.insert(step.id.clone()) || store::role_step::exists(self.tx, &step.id)? {
                    reasons.push(format!("its step {} is already that of another role", step.id));
                }
            }
            let number = reasons.is_empty().then_some(self.incoming.len());
            self.jobs.insert(job.id, number);
            if number.is_some() {
                self.incoming.push(Incoming::of(id, job, pipeline, self.tx.now));
            } else {
                self.refused.push(Refused { place: job.place, reasons });
            }
        }
        Ok(())
    }

    /// Whether an earlier import brought this application to the role of its job.
    fn is_in_file(&self, application: &Application) -> Result<bool, Error> {
        let role = application.job.and_then(|job| self.jobs.get(&job).copied().flatten());
        let Some(role) = role.map(|role| &self.incoming[role]).filter(|role| role.before.is_some()) else {
            return Ok(false);
        };
        let known = store::candidate_role::find(self.tx, &self.organization, &application_id(application.id))?;
        Ok(known.is_some_and(|known| known.role_id == role.role.record.id))
    }

    /// Whether a person applied to a role: before, or among the applications that come.
    fn has_applied(&self, person: usize, role: usize) -> Result<bool, Error> {
        if self.applied.contains(&(person, role)) {
            return Ok(true);
        }
        let (Some(candidate), Some(_)) = (self.applicants.in_file(person), self.incoming[role].before) else {
            return Ok(false);
        };
        let role = &self.incoming[role].role.record.id;
        store::candidate_role::has_applied(self.tx, &self.organization, candidate, role)
    }

    /// Takes an application in, or tells everything that speaks against it.
    fn application(&mut self, application: &Application) -> Result<Result<(), Vec<String>>, Error> {
        let mut faults = Vec::new();
        let role = self.role(application, &mut faults);
        let person = self.person(application.person, &mut faults)?;
        let id = application_id(application.id);
        if store::candidate_role::exists(self.tx, &id)? {
            faults.push(format!("the application {id} is already in the file"));
        }
        if let (Some(role), Some((_, email))) = (role, &person)
            && let Some(number) = self.applicants.known(email)?
            && self.has_applied(number, role)?
        {
            let (email, job) = (email.as_str(), self.incoming[role].job.id);
            faults.push(format!("{email} is there twice for the job {job}; a candidate applies to a role once"));
        }
        let step = role.and_then(|role| self.step(role, application, &mut faults));
        let (Some(role), Some((name, email)), Some(step), true) = (role, person, step, faults.is_empty()) else {
            return Ok(Err(faults));
        };
        let standing = self.standing(role, step, application);
        self.admit(id, application, Fitting { role, name, email, standing })?;
        Ok(Ok(()))
    }

    fn admit(&mut self, id: ApplicationId, application: &Application, fitting: Fitting) -> Result<(), Error> {
        let Fitting { role, name, email, standing } = fitting;
        let candidate = self.applicants.admit(|| candidate_id(application.person), name, email)?;
        self.applied.insert((candidate, role));
        let incoming = &mut self.incoming[role];
        incoming.hired += i64::from(matches!(standing, Standing::Hired(_)));
        let applied_at = application.applied_at.unwrap_or(self.tx.now);
        let step_id = |order| step_of_application(application.id, order);
        let steps = &incoming.role.steps;
        let made = addition::application(id, candidate, applied_at, standing, steps, |step| step_id(step.order));
        incoming.role.applications.push(made);
        Ok(())
    }

    /// The role of an application's job.
    fn role(&self, application: &Application, faults: &mut Vec<String>) -> Option<usize> {
        let job = application.job?;
        let found = self.jobs.get(&job).copied().flatten();
        if found.is_none() {
            faults.push(self.absent(Resource::Jobs, "its job", job));
        }
        found
    }

    /// What is told of an item that another one names, and that does not come.
    fn absent(&self, resource: Resource, what: &str, id: u64) -> String {
        if self.ids.contains_key(&(resource, id)) {
            format!("{what} {id} was refused")
        } else {
            format!("{what} {id} is not among the {}", resource.as_str())
        }
    }

    /// The name and the address of a person who can come. One who cannot is refused by themselves, once.
    fn person(&mut self, id: u64, faults: &mut Vec<String>) -> Result<Option<(String, Email)>, Error> {
        let Some(Some(person)) = self.people.get(&id) else {
            faults.push(self.absent(Resource::Candidates, "its candidate", id));
            return Ok(None);
        };
        let (name, email) = (person.name.clone(), person.email.clone());
        let reason = match &email {
            None => Some("has no email address".to_owned()),
            Some(email) => self.another_with_the_id(id, email)?,
        };
        let Some(reason) = reason else { return Ok(email.map(|email| (name, email))) };
        let place = self.people.insert(id, None).flatten().map(|person| person.place).unwrap_or_default();
        self.refused.push(Refused { place, reasons: vec![reason] });
        faults.push(format!("its candidate {id} was refused"));
        Ok(None)
    }

    /// What speaks against a person whose id the file has for somebody with another address.
    fn another_with_the_id(&mut self, id: u64, email: &Email) -> Result<Option<String>, Error> {
        let id = candidate_id(id);
        let is_other = self.applicants.known(email)?.is_none() && store::candidate::exists(self.tx, &id)?;
        Ok(is_other.then(|| format!("the candidate {id} is already in the file, with another address")))
    }

    /// At which of the role's steps, from 0, an application is, or ended.
    fn step(&self, role: usize, application: &Application, faults: &mut Vec<String>) -> Option<usize> {
        let Incoming { job, stages, role, .. } = &self.incoming[role];
        if role.steps.is_empty() {
            faults.push(format!("its job {} is the role {}, which has no steps; add one", job.id, role.record.id));
            return None;
        }
        let Some(stage) = &application.stage else { return Some(0) };
        // Who was hired is at the final step, wherever Greenhouse has them.
        if application.status == Status::Hired {
            return Some(0);
        }
        let found = stages.get(&stage.id).copied();
        if found.is_none() {
            let AtStage { id, name } = stage;
            faults.push(format!("its current_stage {id} ({name:?}) is not among the stages of the job {}", job.id));
        }
        found
    }

    fn standing(&self, role: usize, step: usize, application: &Application) -> Standing {
        let now = self.tx.now;
        match application.status {
            Status::Active | Status::Converted => Standing::InProgress(step),
            Status::Rejected => {
                let (id, own) = &application.reason;
                let known = id.and_then(|id| self.reasons.get(&id)).cloned().unwrap_or_default();
                let type_name = own.type_name.as_deref().or(known.type_name.as_deref());
                let rejection = Rejection {
                    at: application.rejected_at.or(application.last_activity_at).unwrap_or(now),
                    reason: String::new(),
                    outcome_type: Some(outcome_type(type_name).to_owned()),
                    outcome_reason: own.name.clone().or(known.name),
                };
                Standing::Rejected(step, rejection)
            }
            Status::Hired => {
                // The opening that was closed by the hire has its day; the offer is a little earlier.
                let openings = &self.incoming[role].job.openings;
                let opening = openings.iter().find(|opening| opening.application == Some(application.id));
                let offer = self.offers.get(&application.id);
                let accepted_at = offer.and_then(|offer| offer.resolved_at);
                let closed_at = opening.and_then(|opening| opening.closed_at);
                let hired_date = closed_at.or(accepted_at).or(application.last_activity_at).unwrap_or(now);
                let opening_id = opening.and_then(|opening| opening.opening_id.clone());
                Standing::Hired(HireRecord {
                    hired_date,
                    offer_accepted_date: accepted_at,
                    external_position_id: opening_id.or_else(|| offer.and_then(|offer| offer.opening_id.clone())),
                    notes: None,
                })
            }
        }
    }
}

impl Incoming {
    fn of(id: RoleId, job: Job, pipeline: pipeline::Pipeline, now: Timestamp) -> Self {
        let record = store::role::Record {
            id,
            name: job.name.clone(),
            description: job.description.clone(),
            department: job.department.clone(),
            location: job.location.clone(),
            work_type: None,
            collar_type: None,
            salary: Salary { min: None, max: None, currency: None, period: None },
            seats: Seats { status: job.status, positions: 1, hired: 0 },
            public: false,
            close_reason: None,
            created_at: job.created_at.unwrap_or(now),
        };
        let pipeline::Pipeline { steps, places } = pipeline;
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before: None, hired: 0, stages: places }
    }

    /// A job that an earlier import made a role of.
    fn again(record: store::role::Record, job: Job, pipeline: pipeline::Pipeline) -> Self {
        let pipeline::Pipeline { steps, places } = pipeline;
        let before = Some(record.seats);
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before, hired: 0, stages: places }
    }

    /// The role with its seats: one for each who was hired and for each opening that is still open, and at least one. A role
    /// that was there keeps its positions, unless more people are hired now. `None` where nothing comes to it.
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
