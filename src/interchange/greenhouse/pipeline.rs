//! The steps of the role that a job becomes. The steps of a new role come from the job's stages in the export, or else
//! from the current stages of the job's applications.

use std::collections::{BTreeMap, HashMap};

use super::application::CurrentStage;
use super::id::{only_step_id, step_id};
use super::job::{HarvestJob, HarvestStage};
use crate::domain::candidate_step::StepType;
use crate::domain::role::RoleStatus;
use crate::interchange::ats::step_type::step_type;
use crate::store::role_step;

/// The steps of a role, and the step of each stage.
pub(super) struct Pipeline {
    pub(super) steps: Vec<role_step::PipelineStep>,
    /// The step index of each stage, by the id of the stage.
    pub(super) step_indexes: HashMap<u64, usize>,
}

/// Returns the steps of a job that becomes a new role. `used` contains the stages of the job's applications; `None` if
/// the job has no applications.
pub(super) fn of_new_role(
    job: &HarvestJob,
    mut stages: Vec<HarvestStage>,
    used: Option<&BTreeMap<u64, &CurrentStage>>,
) -> Pipeline {
    // Applications can still be at a deleted stage.
    stages.retain(|stage| stage.is_active || used.is_some_and(|used| used.contains_key(&stage.id)));
    stages.sort_by_key(|stage| (stage.priority, stage.id));
    let mut named: Vec<(u64, &str)> = stages.iter().map(|stage| (stage.id, stage.name.as_str())).collect();
    if named.is_empty() {
        // The export does not list the job's stages, so their order is unknown. The best indication is the type of a
        // stage.
        named = used.into_iter().flatten().map(|(id, stage)| (*id, stage.name.as_str())).collect();
        named.sort_by_key(|(id, name)| (rank(step_type(name)), *id));
    }
    let step = |(order, (id, name)): (i64, &(u64, &str))| role_step::PipelineStep {
        id: step_id(*id),
        name: (*name).to_owned(),
        order,
        step_type: step_type(name),
    };
    let mut steps: Vec<role_step::PipelineStep> = (1..).zip(&named).map(step).collect();
    if steps.is_empty() && (used.is_some() || job.status == RoleStatus::Open) {
        // Existing applications need a step, and an open role needs one for new applications.
        let (id, name) = (only_step_id(job.id), "Application".to_owned());
        steps.push(role_step::PipelineStep { id, name, order: 1, step_type: StepType::Application });
    }
    Pipeline { steps, step_indexes: named.iter().zip(0..).map(|((id, _), index)| (*id, index)).collect() }
}

/// Returns the steps of a role from an earlier import. The step of a stage is the step that was created from the stage,
/// or else a step with the same name, which staff may have added.
pub(super) fn of_existing_role(
    steps: Vec<role_step::PipelineStep>,
    stages: &[HarvestStage],
    used: Option<&BTreeMap<u64, &CurrentStage>>,
) -> Pipeline {
    let step_index = |id: u64, name: &str| {
        let is_same = |step: &role_step::PipelineStep| step.name.trim().to_lowercase() == name.trim().to_lowercase();
        let created = steps.iter().position(|step| step.id == step_id(id));
        created.or_else(|| steps.iter().position(is_same)).map(|index| (id, index))
    };
    let listed = stages.iter().filter_map(|stage| step_index(stage.id, &stage.name));
    let at = used.into_iter().flatten().filter_map(|(id, stage)| step_index(*id, &stage.name));
    let step_indexes = listed.chain(at).collect();
    Pipeline { steps, step_indexes }
}

/// Returns the usual position of a step of this type in a pipeline.
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
