//! `POST /api/v1/roles/{id}/decisions` and `…/decisions/{batchId}/undo`: one decision on many applications to a role,
//! and its undo.
//!
//! Each application has its own outcome in the answer. A dry run (`dryRun=true`) performs all checks against a
//! snapshot and answers with the outcomes, but saves nothing.

use std::collections::BTreeSet;

use hyper::Method;
use serde::Serialize;

use crate::domain::api_key::Scope;
use crate::domain::candidate_step::{
    MoveInput, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX, RejectInput, ValidateInput,
};
use crate::domain::decision_batch::{self as rule, BatchAction, BatchDecision, ITEMS_MAX};
use crate::domain::id::{ApplicationId, CandidateId, CandidateStepId, DecisionBatchId, Id, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::later;
use crate::http::api::resource::CANDIDATES_OF_ROLE;
use crate::http::api::visible::{self, ROLE_NOT_VISIBLE};
use crate::http::server::body_fields::BodyFields;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::{Reply, code_of};
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::candidate_step::LastDecision;
use crate::store::decision_batch::{self, BatchItem, BatchRole, DecidedBatch, DecidedItem, ItemOutcome};
use crate::store::{Error, Grade, Tx};

const NO_BATCH: Refusal = Refusal::NotFound("the role has no such decisions, or they were made more than a day ago");

/// The detail of an item whose decision or undo could not be saved.
const NOT_SAVED: &str = "the change could not be saved; the service's log has the reason";

pub(in crate::http) fn routes() -> Vec<Route> {
    let answers: &[Answer] = &[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found")];
    let undo_answers: &[Answer] =
        &[(200, ""), (400, "validation_error"), (403, "forbidden"), (404, "not_found"), (409, "conflict")];
    let (path, undo_path) = ("/api/v1/roles/{id}/decisions", "/api/v1/roles/{id}/decisions/{batchId}/undo");
    let scope = Scope::PipelineWrite;
    let decide = Route::scoped(CANDIDATES_OF_ROLE, scope, Method::POST, path, decode_decide, decide);
    let undo = Route::scoped(CANDIDATES_OF_ROLE, scope, Method::POST, undo_path, decode_undo, undo);
    vec![
        decide.with_body().writes(Grade::Durable).with_dry_run().answering(answers),
        undo.writes(Grade::Durable).with_dry_run().answering(undo_answers),
    ]
}

struct DecideInput {
    role: RoleId,
    decision: BatchDecision,
    items: Vec<BatchItem>,
    is_dry_run: bool,
}

/// # Errors
/// `bad_request` if the body is not a JSON object; `validation_error`, which names every invalid field, for example if
/// there are no items or more than [`ITEMS_MAX`], or if `dryRun` is neither `true` nor `false`; `not_found` if the path
/// has no valid id, or if `roleStepId` is not a valid id.
fn decode_decide(_: &Ctx, request: &Request) -> Result<DecideInput, Error> {
    let mut fields = request.object()?;
    let decision = decode_decision(&mut fields);
    let items = decode_items(&mut fields);
    let (decision, is_dry_run) = Refusal::both(fields.valid_with(decision), request.is_dry_run())?;
    Ok(DecideInput { role: request.id_param("id", ROLE_NOT_VISIBLE)?, decision: decision?, items, is_dry_run })
}

/// Decodes the decision. The inner result is a refusal if the `roleStepId` of a move is not a valid id.
fn decode_decision(fields: &mut BodyFields) -> Option<Result<BatchDecision, Refusal>> {
    let action = fields.required_string("action");
    let must_be = format!("must be one of {}", BatchAction::WORDS.join(", "));
    let action = action.and_then(|word| BatchAction::parse(&word).or_else(|| fields.fault("action", must_be)))?;
    refuse_members_of_other_actions(fields, action);
    Some(Ok(match action {
        BatchAction::Reject => BatchDecision::Reject(RejectInput {
            outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX),
            outcome_type: fields.text("outcomeType", OUTCOME_CHARACTERS_MAX),
            outcome_reason: fields.text("outcomeReason", OUTCOME_CHARACTERS_MAX),
        }),
        BatchAction::Move => {
            let step = fields.required_string("roleStepId");
            let input = MoveInput { reason: fields.lines("reason", NOTES_CHARACTERS_MAX) };
            match RoleStepId::parse(&step?) {
                Some(step) => BatchDecision::Move(step, input),
                None => return Some(Err(decision_batch::NO_ROLE_STEP)),
            }
        }
        BatchAction::Validate => {
            BatchDecision::Validate(ValidateInput { outcome_notes: fields.lines("outcomeNotes", NOTES_CHARACTERS_MAX) })
        }
        BatchAction::Later => BatchDecision::Later(later::due(fields)?),
    }))
}

/// Refuses fields that belong only to other actions, because this action would ignore them.
fn refuse_members_of_other_actions(fields: &mut BodyFields, action: BatchAction) {
    let members: [(&str, &[BatchAction]); 7] = [
        ("outcomeNotes", &[BatchAction::Reject, BatchAction::Validate]),
        ("outcomeType", &[BatchAction::Reject]),
        ("outcomeReason", &[BatchAction::Reject]),
        ("roleStepId", &[BatchAction::Move]),
        ("reason", &[BatchAction::Move]),
        ("days", &[BatchAction::Later]),
        ("dueOn", &[BatchAction::Later]),
    ];
    for (member, actions) in members {
        if fields.has(member) && !actions.contains(&action) {
            let words: Vec<_> = actions.iter().map(|action| action.as_str()).collect();
            fields.fault::<()>(member, format!("must be given only with the action {}", words.join(" or ")));
        }
    }
}

/// Decodes the items: first the applications that the request names, then the steps.
fn decode_items(fields: &mut BodyFields) -> Vec<BatchItem> {
    let applications = fields.strings("candidateRoleIds").unwrap_or_default();
    let steps = fields.strings("candidateStepIds").unwrap_or_default();
    let items: Vec<BatchItem> =
        applications.into_iter().map(BatchItem::Application).chain(steps.into_iter().map(BatchItem::Step)).collect();
    if !(1..=ITEMS_MAX).contains(&items.len()) {
        let must_be = format!("must have 1 to {ITEMS_MAX} items, together with candidateStepIds");
        fields.fault::<()>("candidateRoleIds", must_be);
    }
    items
}

/// `POST /api/v1/roles/{id}/decisions`: decides on each application separately. If a decision is refused, the item
/// shows the refusal as its outcome, and the other decisions are still made. The role may have any status.
///
/// # Errors
/// `not_found` if the role does not exist or the caller may not see it, or if the role does not have the step of a
/// move; `forbidden` for a plain member; `validation_error` for a due day that is not after today, or is more than 365
/// days away.
fn decide(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &DecideInput) -> Result<Reply, Error> {
    let (organization_id, roles) = visible::role(tx, caller, &input.role)?;
    roles.require_manager()?;
    let role = BatchRole { organization_id: &organization_id, id: &input.role };
    let DecideInput { decision, items, .. } = input;
    let batch = if input.is_dry_run {
        decision_batch::preview(tx, &*ctx.world, caller, role, decision, items)?
    } else {
        decision_batch::decide(tx, &*ctx.world, caller, role, decision, items)?
    };
    let named = items.iter().map(|item| match item {
        BatchItem::Application(id) => (Some(id.as_str()), None),
        BatchItem::Step(id) => (None, Some(id.as_str())),
    });
    let wire = batch.items.iter().zip(named).map(|(item, named)| WireItem::new(item, named)).collect();
    log_failures(ctx, &batch);
    let undo_until = batch.id.as_ref().map(|_| rule::undo_until(tx.now).to_string());
    Ok(reply(&batch, undo_until, wire, input.is_dry_run))
}

struct UndoInput {
    role: RoleId,
    batch: DecisionBatchId,
    is_dry_run: bool,
}

/// # Errors
/// `validation_error` if `dryRun` is neither `true` nor `false`; `not_found` if an id in the path is not valid.
fn decode_undo(_: &Ctx, request: &Request) -> Result<UndoInput, Error> {
    let is_dry_run = request.is_dry_run()?;
    let role = request.id_param("id", ROLE_NOT_VISIBLE)?;
    Ok(UndoInput { role, batch: request.id_param("batchId", NO_BATCH)?, is_dry_run })
}

/// `POST /api/v1/roles/{id}/decisions/{batchId}/undo`: undoes each decision that is still the last act on its
/// application. The items of the other decisions show the refusal as their outcome.
///
/// # Errors
/// `not_found` if the role does not exist, the caller may not see it, or it has no such batch; `forbidden` for a plain
/// member, and for a user who did not make the decisions; `conflict` if the batch was already undone or is at least 10
/// minutes old.
fn undo(ctx: &Ctx, tx: &Tx<'_>, caller: &Principal, input: &UndoInput) -> Result<Reply, Error> {
    let (organization_id, roles) = visible::role(tx, caller, &input.role)?;
    let role = BatchRole { organization_id: &organization_id, id: &input.role };
    let stored = decision_batch::find(tx, role, &input.batch)?.ok_or(NO_BATCH)?;
    roles.require_manager()?;
    let batch = if input.is_dry_run {
        decision_batch::preview_undo(tx, caller, role, &stored)?
    } else {
        decision_batch::undo(tx, &*ctx.world, caller, role, &stored)?
    };
    let wire = batch.items.iter().map(|item| WireItem::new(item, (None, None))).collect();
    log_failures(ctx, &batch);
    Ok(reply(&batch, None, wire, input.is_dry_run))
}

/// Logs the decisions and undos that could not be saved.
pub(in crate::http) fn log_failures(ctx: &Ctx, batch: &DecidedBatch) {
    for item in &batch.items {
        if let (ItemOutcome::Failed(why), Some(application)) = (&item.outcome, &item.application_id) {
            let line = format!("the change to application {application} was not saved: {why}");
            ctx.telemetry.note(ctx.world.now(), None, &line);
        }
    }
}

/// Builds the answer. It contains no personal data of candidates, but the idempotency key and the digest of the request
/// might. If the request concerns a single candidate, the key and the digest are erased with that candidate. If the
/// request concerns several candidates, no erasure removes the key or the digest.
fn reply(batch: &DecidedBatch, undo_until: Option<String>, items: Vec<WireItem<'_>>, is_dry_run: bool) -> Reply {
    let done = batch.items.iter().filter(|item| matches!(item.outcome, ItemOutcome::Done)).count();
    let reply = Reply::json(&WireBatch {
        success: true,
        dry_run: is_dry_run,
        batch_id: batch.id.as_ref().map(DecisionBatchId::as_str),
        undo_until,
        done,
        refused: items.len() - done,
        items,
    });
    let candidates: BTreeSet<&CandidateId> = batch.items.iter().filter_map(|item| item.candidate_id.as_ref()).collect();
    match candidates.first() {
        Some(candidate) if candidates.len() == 1 => reply.about((*candidate).clone()),
        _ => reply,
    }
}

impl<'a> WireItem<'a> {
    /// Creates an item of the answer. If the id in the request matches nothing in the role, the item still shows that
    /// id.
    fn new(item: &'a DecidedItem, (application, step): (Option<&'a str>, Option<&'a str>)) -> Self {
        let (outcome, detail, last_decision) = match &item.outcome {
            ItemOutcome::Done => ("done", None, None),
            ItemOutcome::Refused(refusal, last) => (code_of(refusal), Some(refusal.sentence()), last.as_ref()),
            ItemOutcome::Failed(_) => ("internal_error", Some(NOT_SAVED.to_owned()), None),
        };
        Self {
            candidate_role_id: item.application_id.as_ref().map(ApplicationId::as_str).or(application),
            candidate_step_id: item.step_id.as_ref().map(CandidateStepId::as_str).or(step),
            candidate_id: item.candidate_id.as_ref().map(CandidateId::as_str),
            outcome,
            detail,
            last_decision: last_decision.map(WireLastDecision::new),
        }
    }
}

impl<'a> WireLastDecision<'a> {
    fn new(decision: &'a LastDecision) -> Self {
        Self {
            action: &decision.action,
            at: decision.at.to_string(),
            user: decision.by.as_ref().map(|(id, name)| WireDecider { id: id.as_str(), name }),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireBatch<'a> {
    success: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    dry_run: bool,
    batch_id: Option<&'a str>,
    undo_until: Option<String>,
    done: usize,
    refused: usize,
    items: Vec<WireItem<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireItem<'a> {
    candidate_role_id: Option<&'a str>,
    candidate_step_id: Option<&'a str>,
    candidate_id: Option<&'a str>,
    /// `done`, the code of the refusal, or `internal_error`.
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_decision: Option<WireLastDecision<'a>>,
}

#[derive(Serialize)]
struct WireLastDecision<'a> {
    action: &'a str,
    at: String,
    /// Null if the candidate or the service itself acted.
    user: Option<WireDecider<'a>>,
}

#[derive(Serialize)]
struct WireDecider<'a> {
    id: &'a str,
    name: &'a str,
}
