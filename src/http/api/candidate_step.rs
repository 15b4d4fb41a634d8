//! `POST /api/v1/candidate-steps/{id}/reject`, `…/hire`, `…/validate` and `…/reopen`: decisions on a candidate at a step.
//!
//! With `dryRun=true` each of them is answered as it would be, on a snapshot: everything is checked and nothing saved.

use hyper::Method;
use serde::Serialize;

use crate::domain::activity::Action;
use crate::domain::api_key::Scope;
use crate::domain::candidate_step::{
    self, CandidateStep, Decision, HireInput, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, RejectInput, ReopenInput,
    StepFacts, ValidateInput,
};
use crate::domain::id::{ApplicationId, CandidateStepId, Id, RoleId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::resource::CANDIDATE_STEP;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::{self, Error, Grade, Tx};

const ANSWERS: &[Answer] = &[
    (200, ""),
    (400, "bad_request"),
    (400, "validation_error"),
    (401, "unauthorized"),
    (403, "forbidden"),
    (403, "insufficient_scope"),
    (404, "not_found"),
    (409, "conflict"),
    (413, "payload_too_large"),
    (415, "unsupported_media_type"),
    (429, "rate_limited"),
];

pub(in crate::http) fn routes() -> Vec<Route> {
    let scope = Scope::PipelineWrite;
    let [reject_path, hire_path, validate_path, reopen_path] = [
        "/api/v1/candidate-steps/{id}/reject",
        "/api/v1/candidate-steps/{id}/hire",
        "/api/v1/candidate-steps/{id}/validate",
        "/api/v1/candidate-steps/{id}/reopen",
    ];
    [
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, reject_path, decode_reject, reject),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, hire_path, decode_hire, hire),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, validate_path, decode_validate, validate),
        Route::scoped(CANDIDATE_STEP, scope, Method::POST, reopen_path, decode_reopen, reopen),
    ]
    .map(|route| route.with_body().writes(Grade::Durable).with_dry_run().answering(ANSWERS))
    .into()
}

/// `…/reject`: all three members are optional texts.
///
/// # Errors
/// `bad_request` for a body that is no JSON object, a member that is no text, or one that is too long; `validation_error`
/// for a `dryRun` that is neither `true` nor `false`.
fn decode_reject(_: &Ctx, request: &Request) -> Result<(Addressed, RejectInput), Error> {
    let mut fields = request.object()?;
    let input = RejectInput {
        outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX),
        outcome_type: fields.text("outcomeType", OUTCOME_CHARACTERS_MAX),
        outcome_reason: fields.text("outcomeReason", OUTCOME_CHARACTERS_MAX),
    };
    Addressed::with(request, fields.valid_or_bad_request(), input)
}

/// `POST /api/v1/candidate-steps/{id}/reject`: ends the application at this step; a hire is reversed by it.
///
/// # Errors
/// `not_found` where there is no such step, or the caller may not see it; `forbidden` where the caller's role in the
/// organization is that of a plain member; `conflict` where the step is already rejected.
fn reject(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    (addressed, input): &(Addressed, RejectInput),
) -> Result<Reply, Error> {
    let facts = addressed.load(tx, who)?;
    let decision = candidate_step::reject(&facts, input, tx.now)?;
    concluded(ctx, tx, who, Action::Rejected, addressed, facts, &decision)
}

/// `…/hire`: `notes` and `outcomeNotes` are the same; where both are given the first counts.
///
/// # Errors
/// `bad_request` for a body that is no JSON object, a member that is no text or no date, or one that is too long;
/// `validation_error` for a `dryRun` that is neither `true` nor `false`.
fn decode_hire(_: &Ctx, request: &Request) -> Result<(Addressed, HireInput), Error> {
    let mut fields = request.object()?;
    let notes = fields.lines("notes", NOTES_CHARACTERS_MAX);
    let outcome_notes = fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX);
    let input = HireInput {
        notes: notes.or(outcome_notes),
        hired_date: fields.timestamp("hiredDate"),
        offer_accepted_date: fields.timestamp("offerAcceptedDate"),
        external_position_id: fields.text_unless_blank("externalPositionId", OUTCOME_CHARACTERS_MAX),
    };
    Addressed::with(request, fields.valid_or_bad_request(), input)
}

/// `POST /api/v1/candidate-steps/{id}/hire`: hires the candidate, from whichever step of the application is named.
///
/// # Errors
/// `not_found` where there is no such step, or the caller may not see it; `forbidden` where the caller's role in the
/// organization is that of a plain member; `conflict` where the candidate is already hired or rejected for the role, or
/// has withdrawn; `bad_request` where its positions are filled, it is not open, or the organization wants an external
/// position id and there is none.
fn hire(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, (addressed, input): &(Addressed, HireInput)) -> Result<Reply, Error> {
    let facts = addressed.load(tx, who)?;
    let decision = candidate_step::hire(&facts, input, tx.now)?;
    concluded(ctx, tx, who, Action::Hired, addressed, facts, &decision)
}

/// `…/validate`: the notes are optional.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` for notes that are no text or too long, and for a
/// `dryRun` that is neither `true` nor `false`.
fn decode_validate(_: &Ctx, request: &Request) -> Result<(Addressed, ValidateInput), Error> {
    let mut fields = request.object()?;
    let input = ValidateInput { outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX) };
    Addressed::with(request, fields.valid(), input)
}

/// `POST /api/v1/candidate-steps/{id}/validate`: the candidate has passed this step, and is at the next one.
///
/// # Errors
/// `not_found` where there is no such step, or the caller may not see it; `forbidden` where the caller's role in the
/// organization is that of a plain member; `conflict` where the application has ended, the candidate is not at this step,
/// or it is the final one.
fn validate(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    (addressed, input): &(Addressed, ValidateInput),
) -> Result<Reply, Error> {
    let facts = addressed.load(tx, who)?;
    let decision = candidate_step::validate(&facts, input, tx.now)?;
    concluded(ctx, tx, who, Action::Validated, addressed, facts, &decision)
}

/// `…/reopen`: the reason must be there.
///
/// # Errors
/// `bad_request` for a body that is no JSON object; `validation_error` without a reason or with one that is too long, and
/// for a `dryRun` that is neither `true` nor `false`.
fn decode_reopen(_: &Ctx, request: &Request) -> Result<(Addressed, ReopenInput), Error> {
    let mut fields = request.object()?;
    let reason = fields.required_lines("reason", NOTES_CHARACTERS_MAX);
    Addressed::with(request, fields.valid(), ReopenInput { reason: reason.unwrap_or_default() })
}

/// `POST /api/v1/candidate-steps/{id}/reopen`: undoes a rejection, and puts the candidate where they were.
///
/// # Errors
/// `not_found` where there is no such step, or the caller may not see it; `forbidden` where the caller's role in the
/// organization is that of a plain member; `conflict` where the step is not rejected, or the candidate has withdrawn.
fn reopen(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    (addressed, input): &(Addressed, ReopenInput),
) -> Result<Reply, Error> {
    let facts = addressed.load(tx, who)?;
    let rejections = store::candidate_step::rejections(tx, &facts)?;
    let decision = candidate_step::reopen(&facts, &rejections, input)?;
    concluded(ctx, tx, who, Action::Reopened, addressed, facts, &decision)
}

/// Saves a decision, unless it is only to be tried, and answers with the step as it is then.
fn concluded(
    ctx: &Ctx,
    tx: &Tx<'_>,
    who: &Principal,
    action: Action,
    addressed: &Addressed,
    facts: StepFacts,
    decision: &Decision,
) -> Result<Reply, Error> {
    if !addressed.is_dry_run {
        store::candidate_step::save(tx, who, action, &facts, decision, &store::activity::stamp(&*ctx.world))?;
    }
    Ok(Reply::json(&WireDecision {
        success: true,
        dry_run: addressed.is_dry_run,
        step: wire(&facts, &decision.answer_step),
        next_step: decision.next.as_ref().map(|step| wire(&facts, step)),
    })
    .about(facts.candidate_id))
}

/// The step that a path names, where an id that none can have names nothing; and whether the decision is only to be tried.
struct Addressed {
    step: Option<CandidateStepId>,
    is_dry_run: bool,
}

impl Addressed {
    /// With the input of the body, where neither it nor the query is at fault.
    fn with<W>(request: &Request, body: Result<(), Refusal>, input: W) -> Result<(Self, W), Error> {
        let ((), is_dry_run) = Refusal::both(body, request.is_dry_run())?;
        Ok((Self { step: CandidateStepId::parse(request.param("id")), is_dry_run }, input))
    }

    /// # Errors
    /// `not_found` where there is no such step, or the caller may not see it.
    fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<StepFacts, Error> {
        let found = match &self.step {
            Some(step) => store::candidate_step::load(tx, who, step)?,
            None => None,
        };
        found.ok_or(Error::Refused(Refusal::NotFound("there is no such step, or this key may not see it")))
    }
}

fn wire<'a>(facts: &'a StepFacts, step: &'a CandidateStep) -> WireStep<'a> {
    WireStep::of(&facts.role_id, &facts.application_id, step)
}

impl<'a> WireStep<'a> {
    /// A step of an application to a role.
    pub(in crate::http) fn of(role_id: &'a RoleId, application_id: &'a ApplicationId, step: &'a CandidateStep) -> Self {
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
