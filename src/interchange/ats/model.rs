//! The items of an export, in the form that all systems share.

use crate::domain::candidate_step::StepType;
use crate::domain::role::RoleStatus;
use crate::domain::text::Email;
use crate::domain::timestamp::Timestamp;
use crate::store::description::Description;

/// A job, which becomes a role.
#[derive(Debug, Default)]
pub(in crate::interchange) struct Job {
    pub(in crate::interchange) id: String,
    /// The location of the item in the export.
    pub(in crate::interchange) item_location: String,
    pub(in crate::interchange) name: String,
    /// Open, closed or draft. No system has a status `filled`.
    pub(in crate::interchange) status: JobStatus,
    pub(in crate::interchange) description: Description,
    pub(in crate::interchange) department: String,
    pub(in crate::interchange) location: String,
    pub(in crate::interchange) created_at: Option<Timestamp>,
    /// The number of open positions; `None` if the export does not contain this number. In that case, an open role gets
    /// one open position.
    pub(in crate::interchange) open_positions: Option<i64>,
    pub(in crate::interchange) openings: Vec<Opening>,
    /// The lists of stages of this job, if several jobs can share a list. The role gets all active stages of the first
    /// list, and every other listed stage at which the job has an application.
    pub(in crate::interchange) plans: Vec<String>,
}

/// The status of a role that is created from a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(in crate::interchange) enum JobStatus {
    #[default]
    Draft,
    Open,
    Closed,
}

impl From<JobStatus> for RoleStatus {
    fn from(status: JobStatus) -> Self {
        match status {
            JobStatus::Draft => Self::Draft,
            JobStatus::Open => Self::Open,
            JobStatus::Closed => Self::Closed,
        }
    }
}

/// A job's opening, which becomes a position.
#[derive(Debug, Default)]
pub(in crate::interchange) struct Opening {
    /// The id of the opening in the system.
    pub(in crate::interchange) id: Option<String>,
    /// The application that filled the opening.
    pub(in crate::interchange) application: Option<String>,
    /// The id that the organization gave the opening.
    pub(in crate::interchange) code: Option<String>,
    pub(in crate::interchange) closed_at: Option<Timestamp>,
}

/// A stage, which becomes a step.
#[derive(Debug, Clone)]
pub(in crate::interchange) struct Stage {
    pub(in crate::interchange) id: String,
    pub(in crate::interchange) owner: StageOwner,
    pub(in crate::interchange) name: String,
    /// Stages with lower numbers come first.
    pub(in crate::interchange) priority: i64,
    /// Whether the role of every job that has the stage gets the step. Otherwise, only roles with an application at the
    /// stage get it.
    pub(in crate::interchange) is_active: bool,
    /// The type of the step; `None` if the type is derived from the name.
    pub(in crate::interchange) step_type: Option<StepType>,
    pub(in crate::interchange) meaning: StageMeaning,
}

/// The jobs that have a stage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::interchange) enum StageOwner {
    Job(String),
    /// All jobs with this list among their [`Job::plans`].
    Plan(String),
    AllJobs,
}

/// The meaning of a stage for the applications at it. Some systems show an outcome as a stage. Such a stage does not
/// become a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interchange) enum StageMeaning {
    Step,
    Hired,
    Rejected,
}

/// A candidate in the export.
#[derive(Debug)]
pub(in crate::interchange) struct Person {
    pub(in crate::interchange) id: String,
    pub(in crate::interchange) location: String,
    pub(in crate::interchange) name: String,
    /// A valid address. Prospects often have none.
    pub(in crate::interchange) email: Option<Email>,
}

/// An application to a job.
#[derive(Debug)]
pub(in crate::interchange) struct Application {
    pub(in crate::interchange) id: String,
    pub(in crate::interchange) location: String,
    /// Whether the person is a prospect, who has not applied and may have no job or several jobs.
    pub(in crate::interchange) is_prospect: bool,
    pub(in crate::interchange) person: String,
    /// The job; `None` if another item of the export names it, or if a prospect has none.
    pub(in crate::interchange) job: Option<String>,
    pub(in crate::interchange) status: Status,
    pub(in crate::interchange) applied_at: Option<Timestamp>,
    /// The time of the rejection or of the hire.
    pub(in crate::interchange) ended_at: Option<Timestamp>,
    pub(in crate::interchange) last_activity_at: Option<Timestamp>,
    pub(in crate::interchange) stage: Option<CurrentStage>,
    /// The id of the rejection reason.
    pub(in crate::interchange) reason_id: Option<String>,
    /// The copy of the reason inside the application.
    pub(in crate::interchange) reason: Reason,
}

/// The status of an application, as far as the application itself shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interchange) enum Status {
    /// The application is in progress, unless its stage has another meaning.
    Active,
    /// The candidate withdrew the application.
    Withdrawn,
    Rejected,
    Hired,
    /// The application has ended. Its reason shows whether the candidate was hired.
    Archived,
}

/// The stage that an application is at, or the stage at which the application ended.
#[derive(Debug, Clone)]
pub(in crate::interchange) struct CurrentStage {
    pub(in crate::interchange) id: String,
    pub(in crate::interchange) name: String,
}

/// The reason for the end of an application.
#[derive(Debug, Clone, Default)]
pub(in crate::interchange) struct Reason {
    pub(in crate::interchange) name: Option<String>,
    /// The side that ended the application, as an `outcomeType`.
    pub(in crate::interchange) outcome_type: Option<&'static str>,
    /// Whether the reason means that the candidate was hired.
    pub(in crate::interchange) is_hire: bool,
}

/// An accepted offer.
#[derive(Debug, Clone, Default)]
pub(in crate::interchange) struct Offer {
    /// Of several accepted offers for an application, the one with the highest version counts.
    pub(in crate::interchange) version: u64,
    pub(in crate::interchange) accepted_at: Option<Timestamp>,
    /// The id that the organization gave the opening.
    pub(in crate::interchange) code: Option<String>,
    /// The id of the opening in the system.
    pub(in crate::interchange) opening: Option<String>,
}

/// A file that the export names.
#[derive(Debug, Clone)]
pub(in crate::interchange) struct NamedFile {
    pub(in crate::interchange) owner: FileOwner,
    /// The id of the file in the system.
    pub(in crate::interchange) id: String,
    /// The file name that people see.
    pub(in crate::interchange) name: String,
    /// The paths at which the file may be in the folder of the export. If the export names no path, this list is empty.
    /// The path of the file below the folder `files` must then begin with the id of the application, of the person or
    /// of the file.
    pub(in crate::interchange) paths: Vec<String>,
}

/// The item to which a file belongs.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(in crate::interchange) enum FileOwner {
    Person(String),
    Application(String),
}
