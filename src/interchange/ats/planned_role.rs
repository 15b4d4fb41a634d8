//! A job that becomes a role, or that belongs to an existing role, and the seats of this role.

use std::collections::HashMap;

use super::model::{Job, JobStatus, Opening};
use super::pipeline::Pipeline;
use crate::domain::id::RoleId;
use crate::domain::role::{POSITIONS_MAX, RoleStatus, Seats};
use crate::domain::timestamp::Timestamp;
use crate::interchange::addition::AddedRole;
use crate::interchange::role::Role;
use crate::store;

/// A job that becomes a role, or that belongs to an existing role.
pub(super) struct PlannedRole {
    pub(super) job: Job,
    pub(super) role: Role,
    /// The seats of the existing role, if an earlier import created it.
    pub(super) before: Option<Seats>,
    /// The number of hires among the accepted applications.
    pub(super) hired: i64,
    /// The step index of each stage, by the id of the stage.
    pub(super) step_indexes: HashMap<String, usize>,
}

impl PlannedRole {
    pub(super) fn new(id: RoleId, job: Job, pipeline: Pipeline, now: Timestamp) -> Self {
        let record = store::role::RoleRecord {
            name: job.name.clone(),
            description: job.description.clone(),
            department: job.department.clone(),
            location: job.location.clone(),
            seats: Seats { status: job.status.into(), positions: 1, hired: 0 },
            ..store::role::RoleRecord::draft(id, job.created_at.unwrap_or(now))
        };
        let Pipeline { steps, step_indexes } = pipeline;
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before: None, hired: 0, step_indexes }
    }

    /// Creates the plan for a job that an earlier import turned into a role.
    pub(super) fn existing(record: store::role::RoleRecord, job: Job, pipeline: Pipeline) -> Self {
        let Pipeline { steps, step_indexes } = pipeline;
        let before = Some(record.seats);
        let role = Role { record, steps, removed_steps: Vec::new(), applications: Vec::new() };
        Self { job, role, before, hired: 0, step_indexes }
    }

    /// Returns the opening that an application filled.
    pub(super) fn opening_of_application(&self, application: &str) -> Option<&Opening> {
        self.job.openings.iter().find(|opening| opening.application.as_deref() == Some(application))
    }

    /// Returns the opening with this id in the exporting system.
    pub(super) fn opening(&self, id: &str) -> Option<&Opening> {
        self.job.openings.iter().find(|opening| opening.id.as_deref() == Some(id))
    }

    /// Returns the role with its seats. A new role has one position for each hire and for each open position of the
    /// job, and at least one. If the export does not contain the number of open positions, an open role has one open
    /// position. The number of positions of an existing role can only grow, and only if the import adds hires. Returns
    /// `None` for an existing role without new applications.
    pub(super) fn into_added(self) -> Option<AddedRole> {
        let Self { job, mut role, before, hired, .. } = self;
        let open = job.open_positions.unwrap_or(i64::from(job.status == JobStatus::Open));
        if let Some(before) = before {
            let after = Seats { hired: before.hired + hired, ..before };
            let positions = after.hired.saturating_add(open).clamp(1, POSITIONS_MAX).max(before.positions);
            let is_hire = hired > 0;
            role.record.seats = if is_hire { after.with_positions(positions).unwrap_or(after) } else { before };
            return (!role.applications.is_empty()).then_some(AddedRole { role, before: Some(before) });
        }
        let positions = hired.saturating_add(open).clamp(1, POSITIONS_MAX);
        let is_filled = job.status == JobStatus::Open && hired == positions;
        let status = if is_filled { RoleStatus::Filled } else { job.status.into() };
        role.record.seats = Seats { status, positions, hired };
        Some(AddedRole { role, before: None })
    }
}
