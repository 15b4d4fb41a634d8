//! Turns the rows of an OpenCATS database into the items of an export.

use std::collections::{BTreeSet, HashMap};

use super::row::Row;
use super::sql;
use crate::domain::candidate_step::{OUTCOME_CHARACTERS_MAX, StepType};
use crate::domain::text::{Email, NAME_CHARACTERS_MAX};
use crate::domain::timestamp::Timestamp;
use crate::interchange::ats::Export;
use crate::interchange::ats::html;
use crate::interchange::ats::item::TEXT_CHARACTERS_MAX;
use crate::interchange::ats::model::{
    Application, CurrentStage, FileOwner, Job, JobStatus, NamedFile, Person, Reason, Stage, StageMeaning, StageOwner,
    Status,
};
use crate::interchange::findings::escaped;
use crate::store::description::Description;

/// The tables that are read.
const TABLES: [&str; 7] = [
    "joborder",
    "company_department",
    "candidate",
    "candidate_joborder",
    "candidate_joborder_status",
    "candidate_joborder_status_history",
    "attachment",
];

/// The value of `attachment.data_item_type` for a candidate's file.
const OF_CANDIDATE: &str = "100";

/// The statuses of an application that are not steps, with their names in OpenCATS.
const OUTCOMES: [(&str, &str, StageMeaning); 3] = [
    ("650", "Not in Consideration", StageMeaning::Rejected),
    ("700", "Client Declined", StageMeaning::Rejected),
    ("800", "Placed", StageMeaning::Hired),
];

/// The statuses that are steps, with their names in OpenCATS, the types of the steps, and whether every role gets them.
const STEPS: [(&str, &str, StepType, bool); 8] = [
    ("0", "No Status", StepType::Application, false),
    ("100", "No Contact", StepType::Application, true),
    ("200", "Contacted", StepType::Screening, true),
    ("250", "Candidate Responded", StepType::Screening, true),
    ("300", "Qualifying", StepType::Screening, true),
    ("400", "Submitted", StepType::Other, true),
    ("500", "Interviewing", StepType::Interview, true),
    ("600", "Offered", StepType::Offer, true),
];

/// Reads a dump.
///
/// # Errors
/// A sentence with the line number if the dump cannot be parsed. A sentence if the dump has neither candidates nor job
/// orders, contains several sites of OpenCATS, or is not the only dump.
pub(super) fn read(export: &mut Export, name: &str, dump: &[u8]) -> Result<(), String> {
    let mut tables = Tables::default();
    sql::parse(dump, &TABLES, |row| tables.take(Row::new(name, row)))
        .map_err(|error| escaped(&format!("{name}: {error}")))?;
    if tables.jobs.is_empty() && tables.candidates.is_empty() {
        return Err(escaped(&format!(
            "{name} has no rows of the tables joborder and candidate; import a dump of an OpenCATS database"
        )));
    }
    if !export.jobs.is_empty() || !export.people.is_empty() {
        return Err(escaped(&format!("{name} is a second dump; import one dump at a time")));
    }
    if tables.sites.len() > 1 {
        let sites: Vec<&str> = tables.sites.iter().map(String::as_str).collect();
        return Err(escaped(&format!("{name} contains the sites {}; import one site at a time", sites.join(", "))));
    }
    tables.add_to(export);
    Ok(())
}

/// The rows of a dump, by table.
#[derive(Default)]
struct Tables {
    jobs: Vec<Row>,
    candidates: Vec<Row>,
    applications: Vec<Row>,
    attachments: Vec<Row>,
    /// The names of departments, by id.
    departments: HashMap<String, String>,
    /// The names of statuses, by id.
    statuses: HashMap<String, String>,
    /// The changes of statuses, by candidate and job.
    changes: HashMap<(String, String), Vec<Change>>,
    sites: BTreeSet<String>,
}

/// A change of an application's status.
struct Change {
    at: Option<Timestamp>,
    from: String,
    to: String,
}

impl Tables {
    fn take(&mut self, mut row: Row) {
        let names = |row: &Row, id: &str, name: &str| Some((row.get(id)?.to_owned(), row.get(name)?.to_owned()));
        match row.table() {
            "company_department" => self.departments.extend(names(&row, "company_department_id", "name")),
            "candidate_joborder_status" => {
                self.statuses.extend(names(&row, "candidate_joborder_status_id", "short_description"));
            }
            "candidate_joborder_status_history" => self.take_change(&mut row),
            "attachment" => self.attachments.push(row),
            "candidate_joborder" => self.applications.push(row),
            table => {
                self.sites.extend(row.get("site_id").map(str::to_owned));
                if table == "joborder" { self.jobs.push(row) } else { self.candidates.push(row) }
            }
        }
    }

    /// Takes a change of a status. Ignores the change if one of its ids is missing or invalid, because the row of the
    /// application has the current status.
    fn take_change(&mut self, row: &mut Row) {
        let at = row.time("date");
        let [candidate, job, from, to] =
            ["candidate_id", "joborder_id", "status_from", "status_to"].map(|id| row.id(id));
        if let (Some(candidate), Some(job), Some(from), Some(to)) = (candidate, job, from, to) {
            self.changes.entry((candidate, job)).or_default().push(Change { at, from, to });
        }
    }

    fn add_to(mut self, export: &mut Export) {
        for changes in self.changes.values_mut() {
            changes.sort_by_key(|change| change.at);
        }
        self.add_stages(export);
        add_rows(export, std::mem::take(&mut self.jobs), "joborder_id", |export, row| {
            export.jobs.extend(self.job(row));
        });
        add_rows(export, std::mem::take(&mut self.candidates), "candidate_id", |export, row| {
            export.people.extend(person(row));
        });
        add_rows(export, std::mem::take(&mut self.applications), "candidate_joborder_id", |export, row| {
            export.applications.extend(self.application(row));
        });
        for row in &self.attachments {
            export.named_files.extend(file(row));
        }
    }

    /// Adds the statuses that are steps: the standard statuses of OpenCATS, and further statuses of this database.
    fn add_stages(&self, export: &mut Export) {
        let own = self.statuses.keys().map(String::as_str);
        let known: BTreeSet<&str> = STEPS.iter().map(|step| step.0).chain(own).collect();
        for id in known.into_iter().filter(|id| meaning(id) == StageMeaning::Step) {
            let step = STEPS.iter().find(|step| step.0 == id);
            export.stages.push(Stage {
                id: id.to_owned(),
                owner: StageOwner::AllJobs,
                name: self.status_name(id),
                priority: id.parse().unwrap_or(i64::MAX),
                is_active: step.is_none_or(|step| step.3),
                step_type: step.map(|step| step.2),
                meaning: StageMeaning::Step,
            });
        }
    }

    /// Returns the name of a status.
    fn status_name(&self, id: &str) -> String {
        let steps = STEPS.iter().map(|step| (step.0, step.1));
        let mut standard = steps.chain(OUTCOMES.iter().map(|outcome| (outcome.0, outcome.1)));
        let own = self.statuses.get(id).cloned();
        own.or_else(|| standard.find(|(known, _)| *known == id).map(|(_, name)| name.to_owned()))
            .unwrap_or_else(|| format!("Status {id}"))
    }

    fn job(&self, row: &mut Row) -> Option<Job> {
        let id = row.id("joborder_id");
        let name = row.text("title", NAME_CHARACTERS_MAX);
        if name.is_none() && row.is_valid() {
            row.fault("title is missing".to_owned());
        }
        // The configuration of OpenCATS can add statuses. A job with an unknown status becomes a draft.
        let status = match row.get("status") {
            Some("Active" | "On Hold" | "OnHold" | "Full") => JobStatus::Open,
            Some("Closed" | "Canceled") => JobStatus::Closed,
            _ => JobStatus::Draft,
        };
        let body = row.get("description").map(html::to_markdown).filter(|body| !body.is_empty());
        let places = ["city", "state"].map(|column| row.text(column, TEXT_CHARACTERS_MAX / 2));
        let created_at = row.time("date_created");
        let open = row.number("openings_available").or_else(|| row.number("openings"));
        let department = row.get("company_department_id").and_then(|id| self.departments.get(id)).cloned();
        row.is_valid().then_some(())?;
        Some(Job {
            id: id?,
            item_location: row.location().to_owned(),
            name: name?,
            status,
            description: body.map(Description::of_markdown).unwrap_or_default(),
            department: department.unwrap_or_default(),
            location: places.into_iter().flatten().collect::<Vec<_>>().join(", "),
            created_at,
            open_positions: open.map(|open| open.max(0)),
            ..Job::default()
        })
    }

    fn application(&self, row: &mut Row) -> Option<Application> {
        let [id, person, job, status] =
            ["candidate_joborder_id", "candidate_id", "joborder_id", "status"].map(|column| row.id(column));
        let [submitted, created, modified] =
            ["date_submitted", "date_created", "date_modified"].map(|column| row.time(column));
        row.is_valid().then_some(())?;
        let (person, job, status) = (person?, job?, status?);
        let changes = self.changes.get(&(person.clone(), job.clone())).map(Vec::as_slice).unwrap_or_default();
        let ended_at = changes.iter().rfind(|change| change.to == status).and_then(|change| change.at);
        let meaning = meaning(&status);
        let step = match meaning {
            StageMeaning::Step => Some(status.as_str()),
            // The step at which the application ended.
            _ => {
                let before = changes.iter().rev().map(|change| change.from.as_str());
                before.into_iter().find(|from| self::meaning(from) == StageMeaning::Step)
            }
        };
        let stage = step.map(|id| CurrentStage { id: id.to_owned(), name: self.status_name(id) });
        let reason = (meaning == StageMeaning::Rejected).then(|| Reason {
            name: Some(self.status_name(&status)).filter(|name| name.chars().count() <= OUTCOME_CHARACTERS_MAX),
            outcome_type: Some("rejected_by_organization"),
            is_hire: false,
        });
        Some(Application {
            id: id?,
            location: row.location().to_owned(),
            is_prospect: false,
            person,
            job: Some(job),
            status: match meaning {
                StageMeaning::Step => Status::Active,
                StageMeaning::Hired => Status::Hired,
                StageMeaning::Rejected => Status::Rejected,
            },
            applied_at: created.or(submitted),
            ended_at: ended_at.filter(|_| meaning != StageMeaning::Step),
            last_activity_at: modified,
            stage,
            reason_id: None,
            reason: reason.unwrap_or_default(),
        })
    }
}

fn meaning(status: &str) -> StageMeaning {
    let outcome = OUTCOMES.iter().find(|outcome| outcome.0 == status);
    outcome.map_or(StageMeaning::Step, |outcome| outcome.2)
}

/// Adds the items of a table's rows to the export, or records the faults of the rows.
fn add_rows(export: &mut Export, rows: Vec<Row>, key: &str, add: impl Fn(&mut Export, &mut Row)) {
    for mut row in rows {
        let table = TABLES.iter().copied().find(|table| *table == row.table()).unwrap_or_default();
        if let Some(id) = row.get(key).map(str::to_owned)
            && let Some(first) = export.add_id(table, id, row.location().to_owned())
        {
            row.fault(format!("the {key} is not unique; {first} has it too"));
        }
        add(export, &mut row);
        export.refused.extend(row.into_refused());
    }
}

fn person(row: &mut Row) -> Option<Person> {
    let id = row.id("candidate_id");
    let names = ["first_name", "last_name"].map(|column| row.text(column, NAME_CHARACTERS_MAX / 2));
    let name = names.into_iter().flatten().collect::<Vec<_>>().join(" ");
    if name.is_empty() && row.is_valid() {
        row.fault("first_name and last_name are missing".to_owned());
    }
    let email = ["email1", "email2"].iter().find_map(|column| Email::parse(row.get(column)?));
    row.is_valid().then_some(())?;
    Some(Person { id: id?, location: row.location().to_owned(), name, email })
}

/// Returns the file of a candidate. Pictures of candidates are not files of an application.
fn file(row: &Row) -> Option<NamedFile> {
    if row.get("data_item_type") != Some(OF_CANDIDATE) || row.get("profile_image") == Some("1") {
        return None;
    }
    let stored = row.get("stored_filename")?;
    let path = format!("attachments/{}/{stored}", row.get("directory_name").unwrap_or_default());
    let name = row.get("original_filename").or_else(|| row.get("title")).unwrap_or(stored);
    let owner = FileOwner::Person(row.get("data_item_id")?.to_owned());
    Some(NamedFile { owner, id: row.get("attachment_id")?.to_owned(), name: name.to_owned(), paths: vec![path] })
}
