//! `GET /app/{orgSlug}/roles/{id}`: the board of a role.

use std::collections::HashMap;

use askama::Template;

use super::column::{CardFacts, Column};
use super::role_facts::{Ended, HiredRow, Seats, hired, review};
use super::scene::{BoardInput, Decided, HIRED, Scene};
use crate::domain::id::{self, DecisionBatchId, Id, RoleId, RoleStepId};
use crate::domain::refusal::Refusal;
use crate::domain::report::ApplicationCounts;
use crate::domain::role::RoleStatus;
use crate::domain::user::Principal;
use crate::http::pages::console::close_out::offer::{Offer, offer};
use crate::http::pages::console::decision::done::{self, Done, UndoForm};
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::live::Live;
use crate::http::pages::console::visit::{self, Visit};
use crate::http::pages::console::when;
use crate::http::pages::texts::Texts;
use crate::http::pages::texts::console::board::{BOARD, BoardTexts};
use crate::http::pages::texts::console::deciding::{DECIDING, DecidingTexts};
use crate::http::pages::texts::console::decision::{DECISION, DecisionTexts};
use crate::http::pages::texts::console::later::{LATER, LaterTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::board::{self, BoardCard};
use crate::store::decision_batch;
use crate::store::role::RoleRecord;
use crate::store::{Error, Tx};

#[derive(Template)]
#[template(path = "console/board/page.html", config = "src/http/pages/templates/askama.toml")]
struct BoardPage {
    frame: ConsoleFrame,
    words: &'static BoardTexts,
    deciding: &'static DecidingTexts,
    decision: &'static DecisionTexts,
    later: &'static LaterTexts,
    path: String,
    /// The path of the organization's candidates.
    candidates: String,
    /// The path of the organization's applications.
    applications: String,
    /// The step that a narrow screen shows, if the reader chose it.
    view: Option<String>,
    /// The message about the decision that led to this page.
    done: Option<Done>,
    may_decide: bool,
    seats: Seats,
    /// The URL of the public page, if there is one.
    posting: Option<String>,
    /// The label and the URL of the review queue, if candidates who are not put aside are at the first step.
    review: Option<(String, String)>,
    /// The advice on finding candidates, if the role has no application.
    advice: Option<&'static str>,
    columns: Vec<Column>,
    hired: Vec<HiredRow>,
    hired_count: String,
    live: Live,
    /// Whether a narrow screen shows the hired candidates.
    is_hired_here: bool,
    ended: Ended,
    /// The notice that candidates are still in progress at a role that has ended.
    close_out: Option<Offer>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<BoardInput, Error> {
    let batch = request.query("batch")?.as_deref().and_then(DecisionBatchId::parse);
    Ok(BoardInput {
        visit: Visit::decode(request)?,
        role: visit::id(request, "id")?,
        step: request.query("step")?,
        done: done::decode(request)?,
        decided: decided(request, batch)?,
    })
}

/// Decodes the number of candidates whom a decision affected. The parameter is `decided` or, after an undo, `undone`.
fn decided(request: &Request, batch: Option<DecisionBatchId>) -> Result<Option<Decided>, Refusal> {
    let count = |name| Ok::<_, Refusal>(request.query(name)?.and_then(|count| count.parse().ok()));
    if let Some(count) = count("undone")? {
        return Ok(Some(Decided { count, batch: None, is_undone: true }));
    }
    Ok(count("decided")?.map(|count| Decided { count, batch, is_undone: false }))
}

/// `GET /app/{orgSlug}/roles/{id}`: shows the role's applications in progress, by step, and the hired candidates.
///
/// # Errors
/// `not_found` if the role does not exist in the organization, or the caller may not see it.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &BoardInput) -> Result<Reply, Error> {
    let scene = input.load(tx, who)?;
    let mut page = page(ctx, tx, who, input, &scene)?;
    let texts = page.frame.texts;
    let back = scene.url(input.step.as_deref());
    page.done = done::message(tx, who, &scene.organization, texts, input.done.as_ref(), &back)?;
    if let Some(decided) = &input.decided {
        let words = if decided.is_undone { &page.deciding.undone } else { &page.deciding.decided };
        let message = texts.counted(words, decided.count);
        match undo_form(tx, who, &scene, page.deciding, decided)? {
            None => page.frame.notice = Some(message),
            undo => page.done = Some(Done { lines: vec![message], undo, close_out: None }),
        }
    }
    Reply::console(&page)
}

/// Returns the form that undoes a decision on several candidates, or `None` if the caller cannot undo it now.
fn undo_form(
    tx: &Tx<'_>,
    who: &Principal,
    scene: &Scene,
    words: &DecidingTexts,
    decided: &Decided,
) -> Result<Option<UndoForm>, Error> {
    let batch = match &decided.batch {
        Some(id) => decision_batch::find(tx, scene.batch_role(), id)?,
        None => None,
    };
    let batch = batch.filter(|batch| batch.facts.require_undoable(&who.user_id, tx.now).is_ok());
    Ok(batch.map(|batch| UndoForm {
        action: format!("{}/decide", scene.path()),
        fields: vec![("act", "undo".to_owned()), ("batch", batch.id.to_string())],
        label: words.undo,
    }))
}

/// Answers a form that names no candidate: shows the board and a message.
pub(super) fn choose_first(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &BoardInput) -> Result<Reply, Error> {
    let mut page = page(ctx, tx, who, input, &input.load(tx, who)?)?;
    page.frame.notice = Some(page.deciding.choose_first.to_owned());
    Reply::console_refusal(&Refusal::invalid("card", "names no candidate"), &page)
}

fn page(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &BoardInput, scene: &Scene) -> Result<BoardPage, Error> {
    let Scene { organization, role } = scene;
    let texts = input.visit.texts_for(tx, who)?;
    let words = BOARD.of(texts);
    let mut columns = columns(tx, texts, organization, &role.id)?;
    let applications = board::applications(tx, &organization.id, &role.id)?;
    choose_column(&mut columns, input.step.as_deref());
    let number = |count: i64| texts.number(count as f64);
    let is_public = role.public && role.seats.status == RoleStatus::Open && organization.has_portal();
    let posting = format!("{}/careers/{}/roles/{}", ctx.settings.base_url, organization.slug, role.id);
    Ok(BoardPage {
        frame: input.visit.frame(tx, who, Some(organization), NavItem::Roles, role.name.clone())?,
        words,
        deciding: DECIDING.of(texts),
        decision: DECISION.of(texts),
        later: LATER.of(texts),
        path: scene.path(),
        candidates: scene.candidates(),
        applications: format!("/app/{}/applications", organization.slug),
        done: None,
        view: input.step.clone().filter(|step| id::is_id(step)),
        may_decide: organization.caller.require_manager().is_ok(),
        seats: Seats::new(texts, role),
        review: review(texts, scene, columns.first().map_or(0, waiting)),
        advice: advice_on_candidates(words, role, applications, is_public),
        posting: is_public.then_some(posting),
        columns,
        live: Live::new(tx, organization, &scene.changes_path())?,
        hired: hired(tx, texts, organization, &role.id)?,
        hired_count: number(applications.hired),
        is_hired_here: input.step.as_deref() == Some(HIRED),
        ended: Ended::new(texts, applications),
        close_out: offer(tx, texts, organization, &role.id, role.seats.status)?,
    })
}

/// Returns the steps with their candidates. A removed step is shown only while candidates are at it.
fn columns(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    role: &RoleId,
) -> Result<Vec<Column>, Error> {
    // The cards are grouped by step.
    let mut cards = board::cards(tx, &organization.id, role)?.into_iter().peekable();
    let mut by_step: HashMap<RoleStepId, Vec<BoardCard>> = HashMap::new();
    while let Some(first) = cards.next() {
        let step = first.role_step_id.clone();
        let others = std::iter::from_fn(|| cards.next_if(|card| card.role_step_id == step));
        by_step.insert(step.clone(), std::iter::once(first).chain(others).collect());
    }
    let facts = CardFacts { texts, now: tx.now, today: when::today(&organization.time_zone, tx.now) };
    let steps = board::steps(tx, &organization.id, role)?.into_iter();
    let steps = steps.map(|step| (by_step.remove(&step.id).unwrap_or_default(), step));
    let shown = steps.filter(|(cards, step)| step.order.is_some() || !cards.is_empty());
    Ok(shown.map(|(cards, step)| Column::new(&facts, step, cards)).collect())
}

/// Marks the column that a narrow screen shows: the requested column, or else the first with candidates, or else the
/// first. Marks none if the hired candidates were requested.
fn choose_column(columns: &mut [Column], wanted: Option<&str>) {
    let named = columns.iter().position(|column| Some(column.id.as_str()) == wanted);
    let index = match named {
        None if wanted == Some(HIRED) => return,
        None => columns.iter().position(|column| !column.cards.is_empty()).unwrap_or(0),
        Some(index) => index,
    };
    if let Some(column) = columns.get_mut(index) {
        column.is_here = true;
    }
}

/// Returns the number of candidates at a step who are not put aside.
fn waiting(column: &Column) -> usize {
    column.cards.iter().filter(|card| !card.is_aside).count()
}

/// Returns the advice on finding candidates, or `None` if the role has applications.
fn advice_on_candidates(
    words: &BoardTexts,
    role: &RoleRecord,
    applications: ApplicationCounts,
    is_public: bool,
) -> Option<&'static str> {
    if applications.total() > 0 {
        return None;
    }
    Some(match role.seats.status {
        RoleStatus::Draft => words.no_candidates_draft,
        RoleStatus::Open if is_public => words.no_candidates_public,
        RoleStatus::Open => words.no_candidates_hidden,
        RoleStatus::Filled | RoleStatus::Closed => words.no_candidates_ended,
    })
}
