//! `GET /status/{token}`.

use askama::Template;
use hyper::header;

use super::visit::{FoundPage, Visit, private, private_page};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::progress::{Progress, Stage};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::frame::{self, Frame};
use crate::http::pages::texts::{Status, Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::attachment::Attachment;
use crate::store::signup::Signup;
use crate::store::status_page::view::{PageOrganization, StatusPageView};
use crate::store::{Error, Tx};

const NOWHERE: Refusal = Refusal::NotFound("the link leads nowhere, or does not any more");

const KILOBYTE: f64 = 1_000.0;

#[derive(Template)]
#[template(path = "status.html", config = "src/http/pages/templates/askama.toml")]
struct Page<'a> {
    frame: Frame<'a>,
    words: &'static Status,
    /// The path of the page, which those of its acts begin with, and the query that keeps the language.
    path: String,
    query: String,
    new: Option<New>,
    state: State,
    applied: String,
    steps: Vec<Step<'a>>,
    facts: Vec<Fact>,
    facts_heading: &'static str,
    consent: Option<String>,
    withdraw: Option<String>,
    delete: String,
    held: Option<String>,
}

/// What is said of an application that was just sent.
struct New {
    link: String,
    before: String,
}

/// Where an application is, in words.
struct State {
    class: &'static str,
    heading: &'static str,
    more: String,
}

struct Step<'a> {
    name: &'a str,
    class: &'static str,
    words: &'static str,
    is_current: bool,
}

/// A name and what it stands for, line by line.
struct Fact {
    name: &'static str,
    lines: Vec<Line>,
}

struct Line {
    text: String,
    /// Where it leads, if anywhere.
    path: Option<String>,
}

impl Line {
    fn plain(text: &str) -> Self {
        Self { text: text.to_owned(), path: None }
    }
}

#[derive(Template)]
#[template(path = "status_end.html", config = "src/http/pages/templates/askama.toml")]
struct End<'a> {
    frame: Frame<'a>,
    more: String,
}

/// `GET /status/{token}`: the role, how far the candidate sees that they are, what they sent, and what they can do.
///
/// # Errors
/// None but a 404 page where the link leads nowhere, or does not any more.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return nowhere(visit) };
    let page = page(ctx, visit, &found, tx.now);
    Ok(private_page(Reply::rendered(&page)?, found.texts))
}

/// The 404 page of a link that leads nowhere.
pub(super) fn nowhere(visit: &Visit) -> Result<Reply, Error> {
    let (texts, words) = (visit.texts, &visit.texts.status);
    let frame = frame(texts, None, words.nowhere.to_owned(), Vec::new());
    let reply = Reply::rendered_refusal(&NOWHERE, &End { frame, more: words.nowhere_more.to_owned() })?;
    Ok(private(reply).with(header::CONTENT_LANGUAGE, texts.tag))
}

/// The page behind a deletion.
pub(super) fn deleted(found: &FoundPage) -> Result<Reply, Error> {
    let (texts, words) = (found.texts, &found.texts.status);
    let organization = &found.shown.organization;
    let frame = frame(texts, Some(organization), words.deleted.to_owned(), Vec::new());
    let more = fill(words.deleted_more, &[("organization", &organization.name)]);
    Ok(private_page(Reply::rendered(&End { frame, more })?, texts))
}

fn frame<'a>(
    texts: &'static Texts,
    organization: Option<&'a PageOrganization>,
    title: String,
    choices: Vec<frame::Choice>,
) -> Frame<'a> {
    // Without a portal there are neither its colours nor anything to lead to.
    let organization = organization.filter(|organization| organization.has_portal);
    let organization = organization.map(|organization| frame::Shown {
        name: &organization.name,
        slug: &organization.slug,
        has_logo: organization.has_logo,
    });
    Frame { texts, title, organization, choices, is_indexed: false }
}

fn page<'a>(ctx: &Ctx, visit: &Visit, found: &'a FoundPage, now: Timestamp) -> Page<'a> {
    let FoundPage { page, shown, texts } = found;
    let words = &texts.status;
    let organization = &shown.organization;
    let named = |text: &str| fill(text, &[("organization", &organization.name), ("role", &shown.role_name)]);
    let progress = shown.progress(page, now);
    let path = format!("/status/{}", visit.token);
    let new =
        visit.is_new.then(|| New { link: format!("{}{path}", ctx.settings.base_url), before: named(words.new_before) });
    let choices = frame::choices(texts, &if visit.is_new { format!("{path}?new=1") } else { path.clone() });
    let candidate = shown.application.as_ref().map(|applied| &applied.candidate);
    let asked_at =
        candidate.filter(|candidate| candidate.is_held && page.is_trusted).and_then(|candidate| candidate.asked_at);
    let held = |at| {
        let date = day(ctx, found, at);
        fill(words.held_more, &[("organization", &organization.name), ("date", &date)])
    };
    Page {
        frame: frame(texts, Some(organization), named(words.title), choices),
        words,
        query: visit.query(),
        path,
        new,
        state: state(words, progress.status, named),
        applied: fill(words.applied, &[("date", &day(ctx, found, shown.applied_at))]),
        steps: steps(words, shown, &progress),
        facts: facts(visit, texts, shown),
        facts_heading: if shown.signup.is_some() { words.sent } else { words.known },
        consent: shown
            .signup
            .as_ref()
            .map(|sent| fill(words.consent, &[("date", &day(ctx, found, sent.consented_at))])),
        withdraw: (progress.status == ApplicationStatus::InProgress).then(|| named(words.withdraw_more)),
        delete: named(words.delete_more),
        held: asked_at.map(held),
    }
}

/// The day of something, where the organization is.
fn day(ctx: &Ctx, found: &FoundPage, at: Timestamp) -> String {
    let zone = &found.shown.organization.time_zone;
    let day = ctx.world.day(zone, at).or_else(|| ctx.world.day("UTC", at));
    day.map(|day| found.texts.day(day)).unwrap_or_default()
}

fn state(words: &'static Status, status: ApplicationStatus, named: impl Fn(&str) -> String) -> State {
    let (class, heading, more) = match status {
        ApplicationStatus::InProgress => ("notice", words.running, words.running_more),
        ApplicationStatus::Withdrawn => ("notice", words.withdrawn, words.withdrawn_more),
        ApplicationStatus::NotSelected => ("notice", words.not_selected, words.not_selected_more),
        ApplicationStatus::Hired => ("notice good", words.hired, words.hired_more),
    };
    State { class, heading, more: named(more) }
}

fn steps<'a>(words: &'static Status, shown: &'a StatusPageView, progress: &Progress) -> Vec<Step<'a>> {
    let step = |(place, stage): &(usize, Stage)| {
        let (class, words) = match stage {
            Stage::Done => ("done", words.done),
            Stage::Current => ("current", words.current),
            Stage::Upcoming => ("upcoming", words.upcoming),
            Stage::Skipped => ("upcoming", words.skipped),
            Stage::Ended => ("ended", words.ended),
        };
        Some(Step { name: shown.steps.get(*place)?, class, words, is_current: *stage == Stage::Current })
    };
    progress.steps.iter().filter_map(step).collect()
}

/// What the candidate typed. Nothing else is shown of them, because an address alone proves nothing; of somebody whom staff
/// added, who they are.
fn facts(visit: &Visit, texts: &'static Texts, shown: &StatusPageView) -> Vec<Fact> {
    let words = &texts.status;
    let fact = |name, text: &str| Fact { name, lines: text.lines().map(Line::plain).collect() };
    let line = |one: &Attachment| Line { text: attachment_text(texts, one), path: Some(visit.path_of(&one.id)) };
    let mut facts = match (&shown.signup, &shown.application) {
        (Some(Signup { name, email, phone, links, note, attachments, .. }), _) => vec![
            fact(words.name, name),
            fact(words.email, email),
            fact(words.phone, phone),
            Fact { name: words.links, lines: links.iter().map(|link| Line::plain(link)).collect() },
            fact(words.note, note),
            Fact { name: words.document, lines: attachments.iter().map(line).collect() },
        ],
        (None, Some(applied)) => {
            vec![fact(words.name, &applied.candidate.name), fact(words.email, &applied.candidate.email)]
        }
        (None, None) => Vec::new(),
    };
    facts.retain(|fact| !fact.lines.is_empty());
    facts
}

/// The name and the size of an attachment, in whole kilobytes, or in megabytes to the tenth.
fn attachment_text(texts: &Texts, attachment: &Attachment) -> String {
    let words = &texts.status;
    let kilobytes = (f64::from(attachment.bytes) / KILOBYTE).ceil();
    let (unit, size) = if kilobytes < KILOBYTE {
        (words.kilobytes, texts.number(kilobytes))
    } else {
        (words.megabytes, texts.number((kilobytes / KILOBYTE * 10.0).ceil() / 10.0))
    };
    let size = fill(unit, &[("size", &size)]);
    fill(words.document_of, &[("name", &attachment.file_name), ("size", &size)])
}
