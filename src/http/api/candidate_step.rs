//! `POST /api/v1/candidate-steps/{id}/reject`, `…/hire`, `…/validate`, `…/move`, `…/reopen` and `…/undo`: decisions at
//! a step of an application.
//!
//! A dry run (`dryRun=true`) performs all checks against a snapshot and answers with the decision, but saves nothing.

use hyper::Method;
use serde::Serialize;

use crate::domain::activity::Action;
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::{
    self, CandidateStep, Decision, HireInput, MoveInput, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, RejectInput,
    Remark, ReopenInput, StepFacts, ValidateInput,
};
use crate::domain::id::{ApplicationId, CandidateStepId, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE_STEP;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::{self, Error, Grade, Tx};

const NO_STEP: Refusal = Refusal::NotFound("there is no such step, or the caller may not see it");

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::PipelineWrite;
    let answers: &[Answer] =
        &[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found"), (409, "conflict")];
    let [reject_path, hire_path, validate_path, move_path, reopen_path, undo_path] = [
        "/api/v1/candidate-steps/{id}/reject",
        "/api/v1/candidate-steps/{id}/hire",
        "/api/v1/candidate-steps/{id}/validate",
        "/api/v1/candidate-steps/{id}/move",
        "/api/v1/candidate-steps/{id}/reopen",
        "/api/v1/candidate-steps/{id}/undo",
    ];
    [
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, reject_path, decode_reject, reject),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, hire_path, decode_hire, hire),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, validate_path, decode_validate, validate),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, move_path, decode_move, move_to),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, reopen_path, decode_reopen, reopen),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, undo_path, decode_undo, undo),
    ]
    .map(|route| route.with_body().writes(Grade::Durable).with_dry_run().answering(answers))
    .into()
}

/// # Errors
/// `bad_request` if the body is not a JSON object or a field is invalid; the errors of [`DecisionTarget::decode`].
fn decode_reject(_: &Ctx, request: &Request) -> Result<(DecisionTarget, RejectInput), Error> {
    let mut fields = request.object()?;
    let input = RejectInput {
        outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX),
        outcome_type: fields.text("outcomeType", OUTCOME_CHARACTERS_MAX),
        outcome_reason: fields.text("outcomeReason", OUTCOME_CHARACTERS_MAX),
    };
    DecisionTarget::decode(request, fields.valid_or_bad_request(), input)
}

/// `POST /api/v1/candidate-steps/{id}/reject`: ends the application at this step. If the candidate was hired, the
/// rejection also reverses the hire.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member; `conflict` if the step is already rejected
/// or the candidate was erased.
fn reject(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    (target, input): &(DecisionTarget, RejectInput),
) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let decision = candidate_step::reject(&facts, input, tx.now)?;
    save_and_reply(ctx, tx, caller, Action::Rejected, target, facts, &decision)
}

/// `notes` and `outcomeNotes` are synonyms. If the body contains both, `notes` takes precedence.
///
/// # Errors
/// `bad_request` if the body is not a JSON object or a field is invalid; the errors of [`DecisionTarget::decode`].
fn decode_hire(_: &Ctx, request: &Request) -> Result<(DecisionTarget, HireInput), Error> {
    let mut fields = request.object()?;
    let notes = fields.lines("notes", NOTES_CHARACTERS_MAX);
    let outcome_notes = fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX);
    let input = HireInput {
        notes: notes.or(outcome_notes),
        hired_date: fields.timestamp("hiredDate"),
        offer_accepted_date: fields.timestamp("offerAcceptedDate"),
        external_position_id: fields.text_unless_blank("externalPositionId", OUTCOME_CHARACTERS_MAX),
    };
    DecisionTarget::decode(request, fields.valid_or_bad_request(), input)
}

/// `POST /api/v1/candidate-steps/{id}/hire`: hires the candidate. The path may name any step of the application.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member; `conflict` if the candidate is already hired
/// or rejected for the role, has withdrawn, or was erased; `bad_request` if the role is not open, if all its positions
/// are filled, or if an external position id is required and missing.
fn hire(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    (target, input): &(DecisionTarget, HireInput),
) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let decision = candidate_step::hire(&facts, input, tx.now)?;
    save_and_reply(ctx, tx, caller, Action::Hired, target, facts, &decision)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for invalid notes; the errors of
/// [`DecisionTarget::decode`].
fn decode_validate(_: &Ctx, request: &Request) -> Result<(DecisionTarget, ValidateInput), Error> {
    let mut fields = request.object()?;
    let input = ValidateInput { outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX) };
    DecisionTarget::decode(request, fields.valid(), input)
}

/// `POST /api/v1/candidate-steps/{id}/validate`: validates this step and moves the candidate to the next pending step.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member; `conflict` if the application has ended, the
/// candidate is not at this step or was erased, the step is the final one, or no other step is in progress and no
/// pending step follows.
fn validate(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    (target, input): &(DecisionTarget, ValidateInput),
) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let decision = candidate_step::validate(&facts, input, tx.now)?;
    save_and_reply(ctx, tx, caller, Action::Validated, target, facts, &decision)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for an invalid reason; the errors of
/// [`DecisionTarget::decode`].
fn decode_move(_: &Ctx, request: &Request) -> Result<(DecisionTarget, MoveInput), Error> {
    let mut fields = request.object()?;
    let input = MoveInput { reason: fields.lines("reason", NOTES_CHARACTERS_MAX) };
    DecisionTarget::decode(request, fields.valid(), input)
}

/// `POST /api/v1/candidate-steps/{id}/move`: moves the candidate to this step, forward or back.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member; `conflict` if the application has ended, or
/// the candidate is already at this step or was erased.
fn move_to(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    (target, input): &(DecisionTarget, MoveInput),
) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let decision = candidate_step::move_to(&facts, input, tx.now)?;
    save_and_reply(ctx, tx, caller, Action::Moved, target, facts, &decision)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error` for a missing or invalid reason; the errors of
/// [`DecisionTarget::decode`].
fn decode_reopen(_: &Ctx, request: &Request) -> Result<(DecisionTarget, ReopenInput), Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", NOTES_CHARACTERS_MAX);
    DecisionTarget::decode(request, fields.valid(), ReopenInput { reason: reason.unwrap_or_default() })
}

/// `POST /api/v1/candidate-steps/{id}/reopen`: undoes a rejection. The step gets back the status that it had before the
/// rejection. The application remains `Not Selected` while another step is rejected. A hire that the rejection reversed
/// is not restored; instead, the candidate is at the step again.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member; `conflict` if the step is not rejected, or
/// if the candidate has withdrawn or was erased.
fn reopen(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    (target, input): &(DecisionTarget, ReopenInput),
) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let rejections = store::candidate_step::rejections(tx, &facts)?;
    let decision = candidate_step::reopen(&facts, &rejections, input)?;
    save_and_reply(ctx, tx, caller, Action::Reopened, target, facts, &decision)
}

/// # Errors
/// `bad_request` if the body is not a JSON object; the errors of [`DecisionTarget::decode`].
fn decode_undo(_: &Ctx, request: &Request) -> Result<(DecisionTarget, ()), Error> {
    DecisionTarget::decode(request, request.object()?.valid(), ())
}

/// `POST /api/v1/candidate-steps/{id}/undo`: undoes the caller's last decision on the application. The path may name
/// any step of the application.
///
/// # Errors
/// The errors of [`DecisionTarget::load`]; `forbidden` for a plain member, and for a caller who made none of the recent
/// decisions on the application; `conflict` if there is no decision, if somebody else has acted after the caller's
/// decision, if that decision is too old or cannot be undone, if the application is no longer in the state in which the
/// decision left it, or if the candidate was erased or is under a legal hold.
fn undo(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, (target, ()): &(DecisionTarget, ())) -> Result<Reply, Error> {
    let facts = target.load(tx, caller)?;
    let acts = store::candidate_step::recent_acts(tx, &facts)?;
    let decision = candidate_step::undo(&facts, &acts, &caller.user_id, tx.now)?;
    save_and_reply(ctx, tx, caller, Action::Undone, target, facts, &decision)
}

/// Saves a decision unless the request is a dry run. The answer shows the decision's `answer_step` as it is after the
/// decision. After a validation, the answer also shows the next step. After an undo, it also names the undone action.
fn save_and_reply(
    ctx: &Ctx,
    tx: &Tx<'_>,
    caller: &Principal,
    action: Action,
    target: &DecisionTarget,
    facts: StepFacts,
    decision: &Decision,
) -> Result<Reply, Error> {
    if !target.is_dry_run {
        store::candidate_step::save(tx, caller, action, &facts, decision, &store::activity::stamp(&*ctx.world))?;
    }
    Ok(Reply::json(&WireDecision {
        success: true,
        dry_run: target.is_dry_run,
        step: wire(&facts, &decision.answer_step),
        next_step: decision.next.as_ref().map(|step| wire(&facts, step)),
        undone: match decision.remark {
            Some(Remark::Undone(act)) => Some(store::candidate_step::action_of(act).as_str()),
            _ => None,
        },
    })
    .about(facts.candidate_id))
}

/// The step in the path of a decision, and whether the request is a dry run.
struct DecisionTarget {
    step: CandidateStepId,
    is_dry_run: bool,
}

impl DecisionTarget {
    /// Combines the path and the query with the decoded body.
    ///
    /// # Errors
    /// The refusal of the body, if any; `validation_error` if `dryRun` is neither `true` nor `false`; `not_found` if
    /// the path has no valid id.
    fn decode<I>(request: &Request, body: Result<(), Refusal>, input: I) -> Result<(Self, I), Error> {
        let ((), is_dry_run) = Refusal::both(body, request.is_dry_run())?;
        Ok((Self { step: request.id_param("id", NO_STEP)?, is_dry_run }, input))
    }

    /// # Errors
    /// `not_found` if the step does not exist or the caller may not see it.
    fn load(&self, tx: &Tx<'_>, caller: &Principal) -> Result<StepFacts, Error> {
        Ok(store::candidate_step::load(tx, caller, &self.step)?.ok_or(NO_STEP)?)
    }
}

fn wire<'a>(facts: &'a StepFacts, step: &'a CandidateStep) -> WireStep<'a> {
    WireStep::new(&facts.role_id, &facts.application_id, step)
}

impl<'a> WireStep<'a> {
    pub(in crate::http) fn new(
        role_id: &'a RoleId,
        application_id: &'a ApplicationId,
        step: &'a CandidateStep,
    ) -> Self {
        Self {
            id: step.id.as_str(),
            role_id: role_id.as_str(),
            role_step_id: step.role_step_id.as_str(),
            candidate_role_id: application_id.as_str(),
            name: &step.name,
            order: step.order,
            step_type: step.step_type.as_str(),
            status: step.status.as_str(),
            rejected_at: step.rejected_at.map(|at| at.to_string()),
            rejection_reason: step.rejection_reason.as_deref(),
            outcome_type: step.outcome_type.as_deref(),
            outcome_reason: step.outcome_reason.as_deref(),
            validated_at: step.validated_at.map(|at| at.to_string()),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireDecision<'a> {
    success: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    step: WireStep<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_step: Option<WireStep<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    undone: Option<&'static str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::http) struct WireStep<'a> {
    id: &'a str,
    role_id: &'a str,
    role_step_id: &'a str,
    candidate_role_id: &'a str,
    name: &'a str,
    order: i64,
    step_type: &'static str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejected_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rejection_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    validated_at: Option<String>,
}
