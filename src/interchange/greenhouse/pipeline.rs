//! The steps of a role that was a job: the stages that the export has of it, or those at which its applications are.

use std::collections::{BTreeMap, HashMap};

use super::application::AtStage;
use super::id::{only_step_id, step_id};
use super::job::{Job, Stage, step_type};
use crate::domain::candidate_step::StepType;
use crate::domain::role::RoleStatus;
use crate::store::role_step;

/// The steps of a role.
pub(super) struct Pipeline {
    pub(super) steps: Vec<role_step::Record>,
    /// The place of each stage among them.
    pub(super) places: HashMap<u64, usize>,
}

/// The steps of a job. `used` are the stages at which its applications are; `None` where it has none.
pub(super) fn of(job: &Job, mut stages: Vec<Stage>, used: Option<&BTreeMap<u64, &AtStage>>) -> Pipeline {
    // A stage that was deleted is of use to those who are still at it.
    stages.retain(|stage| stage.is_active || used.is_some_and(|used| used.contains_key(&stage.id)));
    stages.sort_by_key(|stage| (stage.priority, stage.id));
    let mut named: Vec<(u64, &str)> = stages.iter().map(|stage| (stage.id, stage.name.as_str())).collect();
    if named.is_empty() {
        // Without job_stages.json their order is not known; what they are for says the most about it.
        named = used.into_iter().flatten().map(|(id, stage)| (*id, stage.name.as_str())).collect();
        named.sort_by_key(|(id, name)| (rank(step_type(name)), *id));
    }
    let step = |(order, (id, name)): (i64, &(u64, &str))| role_step::Record {
        id: step_id(*id),
        name: (*name).to_owned(),
        order,
        step_type: step_type(name),
    };
    let mut steps: Vec<role_step::Record> = (1..).zip(&named).map(step).collect();
    if steps.is_empty() && (used.is_some() || job.status == RoleStatus::Open) {
        // Its applications need a step to be at, and so do those that an open role invites.
        let (id, name) = (only_step_id(job.id), "Application".to_owned());
        steps.push(role_step::Record { id, name, order: 1, step_type: StepType::Application });
    }
    Pipeline { steps, places: named.iter().zip(0..).map(|((id, _), place)| (*id, place)).collect() }
}

/// The steps of a role that an earlier import made of a job, and the place of each stage among them: the step that was made
/// of the stage, or else one of the same name that staff have added since.
pub(super) fn again(
    steps: Vec<role_step::Record>,
    stages: &[Stage],
    used: Option<&BTreeMap<u64, &AtStage>>,
) -> Pipeline {
    let place = |id: u64, name: &str| {
        let is_same = |step: &role_step::Record| step.name.trim().to_lowercase() == name.trim().to_lowercase();
        let made = steps.iter().position(|step| step.id == step_id(id));
        made.or_else(|| steps.iter().position(is_same)).map(|place| (id, place))
    };
    let listed = stages.iter().filter_map(|stage| place(stage.id, &stage.name));
    let at = used.into_iter().flatten().filter_map(|(id, stage)| place(*id, &stage.name));
    let places = listed.chain(at).collect();
    Pipeline { steps, places }
}

/// Where a step of this type commonly is in a pipeline.
fn rank(step_type: StepType) -> u8 {
    match step_type {
        StepType::Application => 0,
        StepType::Screening => 1,
        StepType::Assessment => 2,
        StepType::Interview => 3,
        StepType::Other => 4,
        StepType::ReferenceCheck => 5,
        StepType::Offer => 6,
    }
}
