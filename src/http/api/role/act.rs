//! The acts of staff on roles. The API and the staff console share them.

use jiff::civil::Date;

use super::input::{RoleChange, StepInput};
use crate::domain::activity::Action;
use crate::domain::closing_day;
use crate::domain::id::{OrganizationId, RoleId, RoleStepId};
use crate::domain::role;
use crate::domain::user::Principal;
use crate::http::server::ctx::Ctx;
use crate::store::role::{Role, RoleRecord};
use crate::store::role_step::PipelineStep;
use crate::store::{self, Error, Tx};

/// Creates a draft with this id, and its steps. The calling handler must first check that `caller` may manage the
/// organization's roles.
///
/// # Errors
/// `validation_error` if `salaryMax` is less than `salaryMin`, or for a closing date in the past.
pub(in crate::http) fn create(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    organization: &OrganizationId,
    id: RoleId,
    role: &RoleChange,
    steps: &[StepInput],
) -> Result<(), Error> {
    let record = role.apply(&RoleRecord::draft(id, tx.now), today(ctx, tx, organization)?)?;
    let steps: Vec<PipelineStep> = (1..)
        .zip(steps)
        .map(|(order, step)| {
            let id: RoleStepId = ctx.world.id();
            PipelineStep { id, name: step.name.clone(), order, step_type: step.step_type }
        })
        .collect();
    store::role::add(tx, caller, organization, &record, &steps, &store::activity::stamp(&*ctx.world))
}

/// Creates a draft with this id and a copy of the role's content and pipeline. Without a `name`, the draft has the name
/// of the copied role. The draft has no applications, no hires and no closing date. Steps that were removed from the
/// pipeline are not copied.
pub(in crate::http) fn copy(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    role: &Role,
    id: RoleId,
    name: Option<String>,
) -> Result<(), Error> {
    let record = role.record.copied(id, name, tx.now);
    let steps = store::role_step::of_role(tx, &role.record.id)?;
    let steps: Vec<_> = steps.into_iter().map(|step| PipelineStep { id: ctx.world.id(), ..step }).collect();
    store::role::add(tx, caller, &role.organization_id, &record, &steps, &store::activity::stamp(&*ctx.world))
}

/// Changes a role. If there are more positions than hires, a filled role becomes open. If all positions are filled, an
/// open role becomes filled.
///
/// # Errors
/// `conflict` for fewer positions than hires; `validation_error` if `salaryMax` is less than `salaryMin`, or for a new
/// closing date in the past.
pub(in crate::http) fn change(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    before: &Role,
    change: &RoleChange,
) -> Result<(), Error> {
    let after = change.apply(&before.record, today(ctx, tx, &before.organization_id)?)?;
    save(ctx, tx, caller, Action::RoleChanged, before, &after)
}

/// Deletes a draft without applications. Its activity remains.
///
/// # Errors
/// `conflict` for any other role.
pub(in crate::http) fn delete(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, role: &Role) -> Result<(), Error> {
    let applications = store::role::applications(tx, &role.record.id)?;
    role::require_deletable(role.record.seats.status, applications.total())?;
    store::role::delete(tx, caller, role, &store::activity::stamp(&*ctx.world))
}

/// Opens a draft, so that it accepts applications. The portal shows the open role if it is public. If imported hires
/// fill all positions, the draft becomes filled instead.
///
/// # Errors
/// `conflict` if the role is not a draft or has no steps, or if its closing date has passed.
pub(in crate::http) fn open(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, before: &Role) -> Result<(), Error> {
    let steps = store::role_step::of_role(tx, &before.record.id)?.len();
    let after = RoleRecord { seats: before.record.seats.opened(steps)?, ..before.record.clone() };
    closing_day::require_not_passed(after.closes_on, today(ctx, tx, &before.organization_id)?)?;
    save(ctx, tx, caller, Action::RoleOpened, before, &after)
}

/// Closes a role. The portal no longer shows the role, and its signup links stop working. Its applications do not
/// change.
///
/// # Errors
/// `conflict` if the role is neither open nor filled.
pub(in crate::http) fn close(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    before: &Role,
    reason: &str,
) -> Result<(), Error> {
    let seats = before.record.seats.closed()?;
    let after = RoleRecord { seats, close_reason: Some(reason.to_owned()), ..before.record.clone() };
    save(ctx, tx, caller, Action::RoleClosed, before, &after)
}

/// Opens a closed role again. The role becomes filled if all its positions are filled.
///
/// # Errors
/// `conflict` if the role is not closed or has no steps, or if its closing date has passed.
pub(in crate::http) fn reopen(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, before: &Role) -> Result<(), Error> {
    let steps = store::role_step::of_role(tx, &before.record.id)?.len();
    let after = RoleRecord { seats: before.record.seats.reopened(steps)?, close_reason: None, ..before.record.clone() };
    closing_day::require_not_passed(after.closes_on, today(ctx, tx, &before.organization_id)?)?;
    save(ctx, tx, caller, Action::RoleReopened, before, &after)
}

/// Returns the current day in an organization's time zone.
pub(in crate::http) fn today(ctx: &Ctx, tx: &Tx<'_>, organization: &OrganizationId) -> Result<Date, Error> {
    store::organization::today(tx, &*ctx.world, organization, tx.now)
}

fn save(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    action: Action,
    before: &Role,
    after: &RoleRecord,
) -> Result<(), Error> {
    store::role::save(tx, Some(caller), action, before, after, &store::activity::stamp(&*ctx.world))
}
