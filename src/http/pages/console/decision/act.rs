//! `POST /app/{orgSlug}/applications/{id}/…`: the decisions of staff in the browser. Each act calls the rule and the
//! store function that the API calls.

use super::refused;
use super::scene::{Scene, Target, step_field};
use crate::domain::activity::Action;
use crate::domain::candidate;
use crate::domain::candidate_step::{
    self, Decision, MoveInput, NOTES_CHARACTERS_MAX, OutcomeReason, RejectInput, ReopenInput, StepFacts, ValidateInput,
};
use crate::domain::id::CandidateStepId;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::fields;
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::application::recorded_act;
use crate::store::{self, Error, Tx};

/// The input of a decision at a step.
pub(super) struct StepInput<I> {
    target: Target,
    step: CandidateStepId,
    input: I,
    /// The refusal of an invalid field. [`decide`] checks the access of the caller before it returns this refusal.
    fault: Option<Refusal>,
}

fn decode<I>(request: &Request, read: impl FnOnce(&mut BodyFields) -> I) -> Result<StepInput<I>, Error> {
    let mut fields = fields::read(request)?;
    let target = Target::decode(request, &mut fields)?;
    let step = step_field(&mut fields)?;
    let input = read(&mut fields);
    Ok(StepInput { target, step, input, fault: fields.valid().err() })
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated; `not_found` if
/// the path has no valid id or the form names no step.
pub(super) fn decode_advance(_: &Ctx, request: &Request) -> Result<StepInput<ValidateInput>, Error> {
    decode(request, |_| ValidateInput::default())
}

/// `POST …/advance`: validates the step and moves the candidate to the next one. The rule refuses the decision with
/// `conflict` if the application has ended, the candidate is not at the step, or the step is the last one.
///
/// # Errors
/// The errors of [`decide`].
pub(super) fn advance(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    form: &StepInput<ValidateInput>,
) -> Result<Reply, Error> {
    decide(ctx, tx, who, form, Action::Validated, |facts| Ok(candidate_step::validate(facts, &form.input, tx.now)?))
}

/// # Errors
/// The errors of [`decode_advance`].
pub(super) fn decode_move(_: &Ctx, request: &Request) -> Result<StepInput<MoveInput>, Error> {
    decode(request, |fields| MoveInput { reason: fields.lines("reason", NOTES_CHARACTERS_MAX) })
}

/// `POST …/move`: moves the candidate to the step that the form names. The rule refuses the decision with `conflict` if
/// the application has ended or the candidate is already at the step.
///
/// # Errors
/// The errors of [`decide`].
pub(super) fn move_to(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &StepInput<MoveInput>) -> Result<Reply, Error> {
    decide(ctx, tx, who, form, Action::Moved, |facts| Ok(candidate_step::move_to(facts, &form.input, tx.now)?))
}

/// # Errors
/// The errors of [`decode_advance`].
pub(super) fn decode_reject(_: &Ctx, request: &Request) -> Result<StepInput<RejectInput>, Error> {
    decode(request, |fields| {
        let reason = fields.word("reason", OutcomeReason::WORDS, OutcomeReason::parse);
        RejectInput {
            outcome_notes: fields.lines("notes", NOTES_CHARACTERS_MAX),
            outcome_type: reason.map(|reason| reason.outcome_type().as_str().to_owned()),
            outcome_reason: reason.map(|reason| reason.as_str().to_owned()),
        }
    })
}

/// `POST …/reject`: ends the application at the step. If the candidate was hired, the rejection reverses the hire. The
/// rule refuses the decision with `conflict` if the step is already rejected.
///
/// # Errors
/// The errors of [`decide`].
pub(super) fn reject(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &StepInput<RejectInput>) -> Result<Reply, Error> {
    decide(ctx, tx, who, form, Action::Rejected, |facts| Ok(candidate_step::reject(facts, &form.input, tx.now)?))
}

/// # Errors
/// The errors of [`decode_advance`].
pub(super) fn decode_reopen(_: &Ctx, request: &Request) -> Result<StepInput<ReopenInput>, Error> {
    decode(request, |fields| {
        let reason = fields.required_lines("reason", NOTES_CHARACTERS_MAX);
        ReopenInput { reason: reason.unwrap_or_default() }
    })
}

/// `POST …/reopen`: undoes the rejection at the step. The rule refuses the decision with `conflict` if the step is not
/// rejected, or the candidate has withdrawn.
///
/// # Errors
/// The errors of [`decide`].
pub(super) fn reopen(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &StepInput<ReopenInput>) -> Result<Reply, Error> {
    decide(ctx, tx, who, form, Action::Reopened, |facts| {
        let rejections = store::candidate_step::rejections(tx, facts)?;
        Ok(candidate_step::reopen(facts, &rejections, &form.input)?)
    })
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated; `not_found` if
/// the path has no valid id.
pub(super) fn decode_undo(_: &Ctx, request: &Request) -> Result<Target, Error> {
    let mut fields = fields::read(request)?;
    Ok(Target::decode(request, &mut fields)?)
}

/// `POST …/undo`: undoes the user's last decision on the application, if it is less than 10 minutes old. If somebody
/// has acted since, or the decision is too old or cannot be undone, the function returns `conflict` as a reply that the
/// browser shows.
///
/// # Errors
/// `not_found` if the application does not exist or has no steps, or the caller may not see it; `forbidden` for a plain
/// member, and for a user who made none of the latest decisions on the application.
pub(super) fn undo(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, target: &Target) -> Result<Reply, Error> {
    let scene = target.load(tx, who)?;
    let facts = scene.facts_here(tx, who)?;
    let acts = store::candidate_step::recent_acts(tx, &facts)?;
    match candidate_step::undo(&facts, &acts, &who.user_id, tx.now) {
        Ok(decision) => save(ctx, tx, who, Action::Undone, target, &scene, &facts, &decision),
        Err(refusal) => refused::reply(tx, who, target, &scene, refusal),
    }
}

/// The input of a withdrawal.
pub(super) struct WithdrawInput {
    target: Target,
    reason: Option<String>,
    fault: Option<Refusal>,
}

/// # Errors
/// The errors of [`decode_undo`].
pub(super) fn decode_withdraw(_: &Ctx, request: &Request) -> Result<WithdrawInput, Error> {
    let mut fields = fields::read(request)?;
    let target = Target::decode(request, &mut fields)?;
    let reason = fields.lines("reason", NOTES_CHARACTERS_MAX);
    Ok(WithdrawInput { target, reason, fault: fields.valid().err() })
}

/// `POST …/withdraw`: ends the application at the candidate's request.
///
/// The function returns some refusals as replies that the browser shows: `conflict` if the application has ended, or
/// has changed since the page was shown; `validation_error` for an invalid reason.
///
/// # Errors
/// `not_found` if the application does not exist or the caller may not see it; `forbidden` for a plain member.
pub(super) fn withdraw(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &WithdrawInput) -> Result<Reply, Error> {
    let scene = form.target.load(tx, who)?;
    let checked = scene.require_open_to(&form.target).and_then(|()| form.fault.clone().map_or(Ok(()), Err));
    let checked = checked.and_then(|()| candidate::require_withdrawable(scene.status()));
    if let Err(refusal) = checked {
        return refused::reply(tx, who, &form.target, &scene, refusal);
    }
    let (organization, application) = (&scene.organization.id, &scene.application);
    let stamp = store::activity::stamp(&*ctx.world);
    recorded_act::withdraw(tx, Some(who), organization, application, form.reason.as_deref(), &stamp)?;
    Ok(Reply::see_other(&form.target.back_when_done(&scene)))
}

/// Applies a rule to the facts and saves the decision.
///
/// The function returns some refusals as replies that the browser shows: `conflict` if the application has changed
/// since the page was shown; `validation_error` for an invalid field; the refusals of the rule.
///
/// # Errors
/// `not_found` if the application or the step does not exist, or the caller may not see it; `forbidden` for a plain
/// member.
fn decide<I>(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    form: &StepInput<I>,
    action: Action,
    rule: impl FnOnce(&StepFacts) -> Result<Decision, Error>,
) -> Result<Reply, Error> {
    let scene = form.target.load(tx, who)?;
    let facts = scene.facts(tx, who, &form.step)?;
    let checked = scene.require_open_to(&form.target).and_then(|()| form.fault.clone().map_or(Ok(()), Err));
    match checked.map_err(Error::from).and_then(|()| rule(&facts)) {
        Ok(decision) => save(ctx, tx, who, action, &form.target, &scene, &facts, &decision),
        Err(Error::Refused(refusal)) => refused::reply(tx, who, &form.target, &scene, refusal),
        Err(error) => Err(error),
    }
}

/// Saves a decision, and redirects the browser to the page that shows the message about the decision.
#[expect(clippy::too_many_arguments, reason = "a decision, its context and its page")]
pub(super) fn save(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    target: &Target,
    scene: &Scene,
    facts: &StepFacts,
    decision: &Decision,
) -> Result<Reply, Error> {
    store::candidate_step::save(tx, who, action, facts, decision, &store::activity::stamp(&*ctx.world))?;
    Ok(Reply::see_other(&target.back_when_done(scene)))
}
