//! The steps of a role in the interchange document: the pipeline, and steps that were removed from it.

use serde::Serialize;

use super::export_source::ExportSource;
use super::fields::Fields;
use super::reader::{Array, Object};
use crate::domain::candidate_step::StepType;
use crate::store::Error;
use crate::store::role_step::{PipelineStep, RoleStep};

/// The steps of a role.
pub(super) struct Pipeline {
    /// The steps that new applications get, first to last.
    pub(super) steps: Vec<PipelineStep>,
    /// The steps that were removed from the pipeline. Their `order` has no meaning.
    pub(super) removed: Vec<PipelineStep>,
}

impl Pipeline {
    /// Numbers the role's steps in the order of the document. Removed steps must come last. Returns `None` if a step is
    /// invalid, or if a removed step precedes a step of the pipeline.
    pub(super) fn of(fields: &mut Fields<'_, '_>, entries: Array<RoleStepEntry>) -> Option<Self> {
        let is_sorted = entries.items.is_sorted_by_key(|entry| entry.is_removed);
        if !is_sorted {
            fields.member_finding("steps", "must list removed steps last");
        }
        let (removed, active): (Vec<_>, Vec<_>) = entries.items.into_iter().partition(|entry| entry.is_removed);
        let numbered = |(order, entry): (i64, RoleStepEntry)| PipelineStep { order, ..entry.record };
        let removed = removed.into_iter().map(|entry| entry.record).collect();
        let pipeline = Self { steps: (1..).zip(active).map(numbered).collect(), removed };
        (entries.complete && is_sorted).then_some(pipeline)
    }

    /// Adds a step to an open role without steps, and adds a notice that says so. Without a step, the role would not
    /// accept signups.
    pub(super) fn add_default_step(&mut self, fields: &mut Fields<'_, '_>) {
        let notice = format!("{}: the role is open but has no steps, so the step Application was added", fields.at());
        fields.context.notices.push(notice);
        let (id, name) = (fields.context.new_id(), "Application".to_owned());
        self.steps.push(PipelineStep { id, name, order: 1, step_type: StepType::Application });
    }
}

/// A role step in the document, before its order is set.
pub(super) struct RoleStepEntry {
    record: PipelineStep,
    is_removed: bool,
}

impl Object for RoleStepEntry {
    const MEMBERS: &'static [&'static str] = &["id", "name", "stepType", "removed"];
    type Arrays = ();

    fn read(mut fields: Fields<'_, '_>, (): ()) -> Option<Self> {
        let id = fields.own_id();
        let name = fields.name();
        let step_type = fields.word("stepType", StepType::WORDS, StepType::parse);
        let is_removed = fields.boolean("removed");
        // `Pipeline::of` sets the order after the whole array has been parsed.
        let step_type = step_type?.unwrap_or(StepType::Other);
        let record = PipelineStep { id: id?, name: name?, order: 0, step_type };
        Some(Self { record, is_removed: is_removed?.unwrap_or(false) })
    }
}

/// A role step as an export writes it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ExportedRoleStep {
    id: String,
    name: String,
    step_type: &'static str,
    #[serde(skip_serializing_if = "is_false")]
    removed: bool,
}

impl ExportedRoleStep {
    pub(super) fn new(_: &ExportSource<'_>, step: RoleStep) -> Result<Self, Error> {
        Ok(Self {
            id: step.id.to_string(),
            name: step.name,
            step_type: step.step_type.as_str(),
            removed: step.order.is_none(),
        })
    }
}

fn is_false(value: &bool) -> bool {
    !value
}
