//! `POST …/close-out`: rejects the selected candidates in one batch. `POST …/close-out/undo`: undoes the batch.

use super::offer::path;
use super::page::{CloseOutInput, Message, Sent, View};
use crate::domain::candidate_step::{NOTES_CHARACTERS_MAX, OutcomeReason, RejectInput};
use crate::domain::decision_batch::{BatchDecision, ITEMS_MAX};
use crate::domain::id::{DecisionBatchId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::api::decision_batch::log_failures;
use crate::http::pages::console::decision::refused;
use crate::http::pages::console::fields;
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::texts::console::close_out::CLOSE_OUT;
use crate::http::pages::texts::console::deciding::DECIDING;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::decision_batch::{self, BatchItem, DecidedBatch, DecidedItem, ItemOutcome};
use crate::store::{self, Error, Tx};

/// The maximum number of refusals that are explained one by one.
const REFUSED_LINES_MAX: usize = 5;

/// A submitted form.
pub(super) struct RejectForm {
    input: CloseOutInput,
    items: Vec<BatchItem>,
    reason: Option<OutcomeReason>,
    note: Option<String>,
    /// The note as it was typed.
    typed_note: String,
    fault: Option<Refusal>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field other than the candidates is
/// repeated; `not_found` if the path has no valid id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<RejectForm, Error> {
    let form = request.form().ok_or(Refusal::UnsupportedMediaType)?;
    let steps = form.texts("step").map(|id| BatchItem::Step(id.to_owned()));
    let applications = form.texts("application").map(|id| BatchItem::Application(id.to_owned()));
    let items: Vec<BatchItem> = steps.chain(applications).collect();
    let typed_note = form.text("notes")?.unwrap_or_default().to_owned();
    let mut fields = fields::read_except_all(request, &["step", "application"])?;
    let reason = fields.word("reason", OutcomeReason::WORDS, OutcomeReason::parse);
    let note = fields.lines("notes", NOTES_CHARACTERS_MAX);
    let input = CloseOutInput::of_form(request)?;
    Ok(RejectForm { input, items, reason, note, typed_note, fault: fields.valid().err() })
}

/// `POST …/close-out`: rejects each selected candidate. A candidate who has left the step that the form names is not
/// rejected.
///
/// The function returns some refusals as replies that the browser shows: `validation_error` without candidates, with
/// more than [`ITEMS_MAX`] or with an invalid field; `conflict` if the role has not ended, or nobody was rejected.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it; `forbidden` for a plain
/// member.
pub(super) fn reject(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &RejectForm) -> Result<Reply, Error> {
    let (organization, role) = form.input.load(tx, who)?;
    let view = View { tx, who, input: &form.input, organization: &organization, role: &role };
    let texts = form.input.visit.texts_for(tx, who)?;
    if let Err((refusal, line)) = check(form, role.seats.status.has_ended(), texts) {
        return view.reply(sent(form), bad(vec![line]), None, Some(&refusal));
    }
    let decision = BatchDecision::Reject(RejectInput {
        outcome_notes: form.note.clone(),
        outcome_type: form.reason.map(|reason| reason.outcome_type().as_str().to_owned()),
        outcome_reason: form.reason.map(|reason| reason.as_str().to_owned()),
    });
    let batch = decision_batch::decide(tx, &*ctx.world, who, view.batch_role(), &decision, &form.items)?;
    log_failures(ctx, &batch);
    let done = count_done(&batch);
    match &batch.id {
        Some(id) if done == form.items.len() => {
            Ok(Reply::see_other(&format!("{}?batch={id}", path(&organization, &role.id))))
        }
        id => {
            let mut lines = refused_lines(&view, texts, &batch)?;
            if done > 0 {
                lines.insert(0, texts.counted(&DECIDING.of(texts).rejected, done));
            }
            let refusal = Refusal::Conflict("nobody was rejected; the page says why");
            let undo = id.as_ref().map(DecisionBatchId::to_string);
            view.reply(Sent::default(), bad(lines), undo, (done == 0).then_some(&refusal))
        }
    }
}

/// Checks a submitted form. A refusal comes with the sentence that the page shows.
///
/// # Errors
/// `conflict` if the role has not ended; `validation_error` without candidates, with more than [`ITEMS_MAX`] or with an
/// invalid field.
fn check(form: &RejectForm, has_ended: bool, texts: &Texts) -> Result<(), (Refusal, String)> {
    let words = CLOSE_OUT.of(texts);
    if !has_ended {
        return Err((Refusal::Conflict("the role has not ended"), words.not_ended.to_owned()));
    }
    if !(1..=ITEMS_MAX).contains(&form.items.len()) {
        let refusal = Refusal::invalid("step", format!("must be given 1 to {ITEMS_MAX} times"));
        return Err((refusal, words.choose_first.to_owned()));
    }
    form.fault.clone().map_or(Ok(()), |fault| Err((fault, words.invalid.to_owned())))
}

fn sent(form: &RejectForm) -> Sent {
    let id = |item: &BatchItem| match item {
        BatchItem::Step(id) | BatchItem::Application(id) => id.clone(),
    };
    Sent {
        chosen: Some(form.items.iter().map(id).collect()),
        reason: form.reason.map(|reason| reason.as_str().to_owned()),
        note: form.typed_note.clone(),
    }
}

fn bad(lines: Vec<String>) -> Message {
    Message { lines, is_bad: true }
}

fn count_done(batch: &DecidedBatch) -> usize {
    batch.items.iter().filter(|item| matches!(item.outcome, ItemOutcome::Done)).count()
}

/// Returns the lines that say who was not rejected and why.
fn refused_lines(view: &View<'_>, texts: &'static Texts, batch: &DecidedBatch) -> Result<Vec<String>, Error> {
    let words = DECIDING.of(texts);
    let is_refused = |item: &&DecidedItem| !matches!(item.outcome, ItemOutcome::Done);
    let refused: Vec<_> = batch.items.iter().filter(is_refused).collect();
    let named: Vec<_> = refused.iter().filter_map(|item| Some((item.application_id.as_ref()?, *item))).collect();
    let unknown = refused.len() - named.len();
    let mut lines = Vec::new();
    for (application, item) in named.iter().take(REFUSED_LINES_MAX) {
        lines.push(if matches!(item.outcome, ItemOutcome::Failed(_)) {
            let candidate = item.candidate_id.as_ref();
            let candidate =
                candidate.map(|id| store::candidate::find(view.tx, &view.organization.id, id)).transpose()?;
            let name = candidate.flatten().map(|candidate| candidate.name).unwrap_or_default();
            fill(words.not_saved, &[("name", &name)])
        } else {
            refused::what_happened(view.tx, texts, view.organization, application)?.join(" ")
        });
    }
    let more = named.len().saturating_sub(REFUSED_LINES_MAX);
    if more > 0 {
        lines.push(texts.counted(&words.more_refused, more));
    }
    if unknown > 0 {
        lines.push(texts.counted(&words.gone, unknown));
    }
    Ok(lines)
}

/// A submitted form that undoes a batch.
pub(super) struct UndoForm {
    input: CloseOutInput,
    batch: Option<DecisionBatchId>,
}

/// # Errors
/// `unsupported_media_type` for a body that is not a form; `validation_error` if a field is repeated; `not_found` if
/// the path has no valid id.
pub(super) fn decode_undo(_: &Ctx, request: &Request) -> Result<UndoForm, Error> {
    let batch = fields::read(request)?.string("batch");
    let input = CloseOutInput::of_form(request)?;
    Ok(UndoForm { input, batch: batch.as_deref().and_then(DecisionBatchId::parse) })
}

/// `POST …/close-out/undo`: undoes the rejections of a batch that is less than 10 minutes old. If another act has
/// followed a rejection, that rejection is not undone. If the batch was already undone, or is at least 10 minutes old,
/// the function returns `conflict` as a reply that the browser shows.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, the caller may not see it, or it has no such batch;
/// `forbidden` for a plain member, and for any user who did not make the rejections.
pub(super) fn undo(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, form: &UndoForm) -> Result<Reply, Error> {
    let (organization, role) = form.input.load(tx, who)?;
    let view = View { tx, who, input: &form.input, organization: &organization, role: &role };
    let batch = form.batch.as_ref().ok_or(ABSENT)?;
    let batch = decision_batch::find(tx, view.batch_role(), batch)?.ok_or(ABSENT)?;
    let texts = form.input.visit.texts_for(tx, who)?;
    let words = CLOSE_OUT.of(texts);
    match decision_batch::undo(tx, &*ctx.world, who, view.batch_role(), &batch) {
        Ok(undone) => {
            log_failures(ctx, &undone);
            let done = count_done(&undone);
            let remaining = undone.items.len() - done;
            if remaining == 0 {
                return Ok(Reply::see_other(&format!("{}?batch={}", path(&organization, &role.id), batch.id)));
            }
            let done = texts.counted(&DECIDING.of(texts).undone, done);
            let lines = vec![done, texts.counted(&words.some_remain, remaining)];
            view.reply(Sent::default(), bad(lines), None, None)
        }
        Err(Error::Refused(refusal @ Refusal::Conflict(_))) => {
            view.reply(Sent::default(), bad(vec![words.cannot_undo.to_owned()]), None, Some(&refusal))
        }
        Err(error) => Err(error),
    }
}
