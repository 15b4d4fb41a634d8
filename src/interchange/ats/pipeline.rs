//! The steps of the role that a job becomes. The steps of a new role come from the job's stages in the export, or else
//! from the current stages of the job's applications.

use std::collections::{BTreeMap, HashMap};

use super::export::System;
use super::model::{CurrentStage, Job, JobStatus, Stage, StageMeaning, StageOwner};
use super::step_type::step_type;
use crate::domain::candidate_step::StepType;
use crate::domain::id::RoleStepId;
use crate::store::role_step;

/// The steps of a role, and the step of each stage.
pub(super) struct Pipeline {
    pub(super) steps: Vec<role_step::PipelineStep>,
    /// The step index of each stage, by the id of the stage.
    pub(super) step_indexes: HashMap<String, usize>,
}

/// The stages of the applications to one job, by [`stage_order`].
pub(super) type UsedStages<'a> = BTreeMap<(usize, &'a str), &'a CurrentStage>;

/// Returns the key that sorts ids: by length, and ids of equal length by character. This sorts numbers by value.
pub(super) fn stage_order(id: &str) -> (usize, &str) {
    (id.len(), id)
}

/// The distance between the priorities of one list and those of the next. It makes the stages of the first list come
/// first.
const PLAN_PRIORITIES: i64 = 1_000_000;

/// The stages of an export, by the jobs that have them.
pub(super) struct StageLists {
    of_jobs: HashMap<String, Vec<Stage>>,
    of_plans: HashMap<String, Vec<Stage>>,
    of_all_jobs: Vec<Stage>,
}

impl StageLists {
    pub(super) fn new(stages: Vec<Stage>) -> Self {
        let mut lists = Self { of_jobs: HashMap::new(), of_plans: HashMap::new(), of_all_jobs: Vec::new() };
        for stage in stages {
            match stage.owner.clone() {
                StageOwner::Job(job) => lists.of_jobs.entry(job).or_default().push(stage),
                StageOwner::Plan(plan) => lists.of_plans.entry(plan).or_default().push(stage),
                StageOwner::AllJobs => lists.of_all_jobs.push(stage),
            }
        }
        lists
    }

    /// Returns the stages of a job. Removes from the lists the stages that belong only to this job.
    pub(super) fn take(&mut self, job: &Job) -> Vec<Stage> {
        let mut stages = self.of_jobs.remove(&job.id).unwrap_or_default();
        for (number, plan) in (0..).zip(&job.plans) {
            let of_plan = self.of_plans.get(plan).into_iter().flatten().cloned();
            stages.extend(of_plan.map(|stage| Stage {
                is_active: stage.is_active && number == 0,
                priority: stage.priority.saturating_add(PLAN_PRIORITIES * number),
                ..stage
            }));
        }
        stages.extend(self.of_all_jobs.iter().cloned());
        stages
    }
}

/// Returns the steps of a job that becomes a new role. `used` contains the stages of the job's applications; `None` if
/// the job has no applications.
pub(super) fn of_new_role(
    system: &System,
    job: &Job,
    mut stages: Vec<Stage>,
    used: Option<&UsedStages<'_>>,
) -> Pipeline {
    // Applications can still be at a deleted stage.
    let is_used = |id: &str| used.is_some_and(|used| used.contains_key(&stage_order(id)));
    stages.retain(|stage| stage.meaning == StageMeaning::Step && (stage.is_active || is_used(&stage.id)));
    stages.sort_by(|a, b| (a.priority, stage_order(&a.id)).cmp(&(b.priority, stage_order(&b.id))));
    let mut named: Vec<Stage> = stages;
    if named.is_empty() {
        // The export does not list the job's stages, so their order is unknown. The best indication is the type of a
        // stage.
        named = used.into_iter().flatten().map(|(_, stage)| unlisted(job, stage)).collect();
        named.sort_by_key(|stage| rank(step_type(&stage.name)));
    }
    let step = |(order, stage): (i64, &Stage)| role_step::PipelineStep {
        id: step_id(system, job, stage),
        name: stage.name.clone(),
        order,
        step_type: stage.step_type.unwrap_or_else(|| step_type(&stage.name)),
    };
    let mut steps: Vec<role_step::PipelineStep> = (1..).zip(&named).map(step).collect();
    if steps.is_empty() && (used.is_some() || job.status == JobStatus::Open) {
        // Existing applications need a step, and an open role needs one for new applications.
        let (id, name) = (system.only_step_id(&job.id), "Application".to_owned());
        steps.push(role_step::PipelineStep { id, name, order: 1, step_type: StepType::Application });
    }
    Pipeline { steps, step_indexes: named.into_iter().zip(0..).map(|(stage, index)| (stage.id, index)).collect() }
}

/// Returns the steps of a role from an earlier import. The step of a stage is the step that was created from the stage,
/// or else a step with the same name, which staff may have added.
pub(super) fn of_existing_role(
    system: &System,
    job: &Job,
    steps: Vec<role_step::PipelineStep>,
    stages: &[Stage],
    used: Option<&UsedStages<'_>>,
) -> Pipeline {
    let step_index = |stage: &Stage| {
        let is_same =
            |step: &role_step::PipelineStep| step.name.trim().to_lowercase() == stage.name.trim().to_lowercase();
        let created = steps.iter().position(|step| step.id == step_id(system, job, stage));
        created.or_else(|| steps.iter().position(is_same)).map(|index| (stage.id.clone(), index))
    };
    let listed = stages.iter().filter_map(step_index);
    let at = used.into_iter().flatten().filter_map(|(_, stage)| step_index(&unlisted(job, stage)));
    let step_indexes = listed.chain(at).collect();
    Pipeline { steps, step_indexes }
}

/// Returns the stage of an application as a stage of its job.
fn unlisted(job: &Job, stage: &CurrentStage) -> Stage {
    Stage {
        id: stage.id.clone(),
        owner: StageOwner::Job(job.id.clone()),
        name: stage.name.clone(),
        priority: 0,
        is_active: true,
        step_type: None,
        meaning: StageMeaning::Step,
    }
}

fn step_id(system: &System, job: &Job, stage: &Stage) -> RoleStepId {
    match stage.owner {
        StageOwner::Job(_) if system.has_stages_of_jobs => system.step_id(&stage.id),
        _ => system.shared_step_id(&job.id, &stage.id),
    }
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
