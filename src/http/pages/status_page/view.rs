//! `GET /status/{token}`: the page itself, and the pages after a deletion and for unknown or spent links.

use askama::Template;
use hyper::header;

use super::visit::{FoundStatusPage, StatusVisit, private_page, with_robots_disallowed};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::progress::role_end::RoleEnd;
use crate::domain::progress::{Progress, Stage};
use crate::domain::refusal::Refusal;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::frame::{self, Branding, Frame, LanguageLink};
use crate::http::pages::texts::{Status, Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::attachment::Attachment;
use crate::store::signup::Signup;
use crate::store::status_page::view::{PageOrganization, StatusPageView};
use crate::store::{Error, Tx};

const NO_PAGE: Refusal = Refusal::NotFound("the link is unknown or no longer valid");

#[derive(Template)]
#[template(path = "status.html", config = "src/http/pages/templates/askama.toml")]
struct StatusTemplate<'a> {
    frame: Frame<'a>,
    words: &'static Status,
    /// The path of the page, without a query.
    path: String,
    /// The query that preserves a chosen language; may be empty.
    query: String,
    confirmation: Option<Confirmation>,
    state: StateNotice,
    applied: String,
    steps: Vec<StepLine<'a>>,
    facts: Vec<Fact>,
    facts_heading: &'static str,
    consent: Option<String>,
    withdraw: Option<String>,
    delete: String,
    held: Option<String>,
}

/// The message that the page shows immediately after the candidate has applied.
struct Confirmation {
    /// The absolute URL of the page.
    link: String,
    applied_before: String,
}

struct StateNotice {
    class: &'static str,
    heading: &'static str,
    more: String,
}

struct StepLine<'a> {
    name: &'a str,
    class: &'static str,
    words: &'static str,
    is_current: bool,
}

struct Fact {
    name: &'static str,
    lines: Vec<FactLine>,
}

struct FactLine {
    text: String,
    /// The path of a download, if the line is a link.
    path: Option<String>,
}

impl FactLine {
    fn text(text: &str) -> Self {
        Self { text: text.to_owned(), path: None }
    }
}

#[derive(Template)]
#[template(path = "status_end.html", config = "src/http/pages/templates/askama.toml")]
struct EndPage<'a> {
    frame: Frame<'a>,
    more: String,
}

/// `GET /status/{token}`: shows the role, the application's progress as far as the candidate may see it, the
/// candidate's data, and the possible actions.
///
/// # Errors
/// `not_found`, as a page, if the link is unknown or spent.
pub(super) fn show(ctx: &Ctx, tx: &Tx<'_>, visit: &StatusVisit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return not_found(visit) };
    let page = status_template(ctx, visit, &found, tx.now);
    Ok(private_page(Reply::rendered(&page)?, found.texts))
}

/// Returns the 404 page for an unknown or spent link.
pub(super) fn not_found(visit: &StatusVisit) -> Result<Reply, Error> {
    let (texts, words) = (visit.texts, &visit.texts.status);
    let frame = frame(texts, None, words.nowhere.to_owned(), Vec::new());
    let reply = Reply::rendered_refusal(&NO_PAGE, &EndPage { frame, more: words.nowhere_more.to_owned() })?;
    Ok(with_robots_disallowed(reply).with(header::CONTENT_LANGUAGE, texts.tag))
}

/// Returns the page that confirms a deletion.
pub(super) fn deleted(found: &FoundStatusPage) -> Result<Reply, Error> {
    let (texts, words) = (found.texts, &found.texts.status);
    let organization = &found.view.organization;
    let frame = frame(texts, Some(organization), words.deleted.to_owned(), Vec::new());
    let more = fill(words.deleted_more, &[("organization", &organization.name)]);
    Ok(private_page(Reply::rendered(&EndPage { frame, more })?, texts))
}

fn frame<'a>(
    texts: &'static Texts,
    organization: Option<&'a PageOrganization>,
    title: String,
    languages: Vec<LanguageLink>,
) -> Frame<'a> {
    // The branding links to the portal and loads its colours and logo, which are not available while the portal is
    // disabled.
    let organization = organization.filter(|organization| organization.has_portal);
    let organization = organization.map(|organization| Branding {
        name: &organization.name,
        slug: &organization.slug,
        has_logo: organization.has_logo,
        has_portal: true,
    });
    Frame { texts, title, organization, languages, is_indexed: false }
}

fn status_template<'a>(
    ctx: &Ctx,
    visit: &StatusVisit,
    found: &'a FoundStatusPage,
    now: Timestamp,
) -> StatusTemplate<'a> {
    let FoundStatusPage { page, view, texts } = found;
    let words = &texts.status;
    let organization = &view.organization;
    let named = |text: &str| fill(text, &[("organization", &organization.name), ("role", &view.role_name)]);
    let progress = view.progress(page, now);
    let path = format!("/status/{}", visit.token);
    let confirmation = visit.is_new.then(|| Confirmation {
        link: format!("{}{path}", ctx.settings.base_url),
        applied_before: named(words.new_before),
    });
    let languages = frame::language_links(texts, &if visit.is_new { format!("{path}?new=1") } else { path.clone() });
    let candidate = view.application.as_ref().map(|applied| &applied.candidate);
    let deletion_asked_at =
        candidate.filter(|candidate| candidate.is_held && page.is_trusted).and_then(|candidate| candidate.asked_at);
    let held = |at| {
        let date = day(ctx, found, at);
        fill(words.held_more, &[("organization", &organization.name), ("date", &date)])
    };
    StatusTemplate {
        frame: frame(texts, Some(organization), named(words.title), languages),
        words,
        query: visit.query(),
        path,
        confirmation,
        state: state(words, progress.status, view.role_end(&progress, now), named),
        applied: fill(words.applied, &[("date", &day(ctx, found, view.applied_at))]),
        steps: steps(words, view, &progress),
        facts: facts(visit, texts, view),
        facts_heading: if view.signup.is_some() { words.sent } else { words.known },
        consent: view.signup.as_ref().map(|sent| fill(words.consent, &[("date", &day(ctx, found, sent.consented_at))])),
        withdraw: (progress.status == ApplicationStatus::InProgress).then(|| named(words.withdraw_more)),
        delete: named(words.delete_more),
        held: deletion_asked_at.map(held),
    }
}

/// Formats a date in the organization's time zone and the page's language.
fn day(ctx: &Ctx, found: &FoundStatusPage, at: Timestamp) -> String {
    let zone = &found.view.organization.time_zone;
    // The time zone database of an older system may lack the organization's time zone.
    let day = ctx.world.day(zone, at).or_else(|| ctx.world.day("UTC", at));
    day.map(|day| found.texts.day(day)).unwrap_or_default()
}

fn state(
    words: &'static Status,
    status: ApplicationStatus,
    role_end: Option<RoleEnd>,
    named: impl Fn(&str) -> String,
) -> StateNotice {
    let (class, heading, more) = match (status, role_end) {
        (ApplicationStatus::InProgress, None) => ("notice", words.running, words.running_more),
        (ApplicationStatus::InProgress, Some(RoleEnd::Filled)) => ("notice", words.filled, words.filled_more),
        (ApplicationStatus::InProgress, Some(RoleEnd::Closed)) => ("notice", words.closed, words.closed_more),
        (ApplicationStatus::Withdrawn, _) => ("notice", words.withdrawn, words.withdrawn_more),
        (ApplicationStatus::NotSelected, _) => ("notice", words.not_selected, words.not_selected_more),
        (ApplicationStatus::Hired, _) => ("notice good", words.hired, words.hired_more),
    };
    StateNotice { class, heading, more: named(more) }
}

fn steps<'a>(words: &'static Status, view: &'a StatusPageView, progress: &Progress) -> Vec<StepLine<'a>> {
    let step = |(index, stage): &(usize, Stage)| {
        let (class, words) = match stage {
            Stage::Done => ("done", words.done),
            Stage::Current => ("current", words.current),
            Stage::Upcoming => ("upcoming", words.upcoming),
            Stage::Skipped => ("upcoming", words.skipped),
            Stage::Ended => ("ended", words.ended),
        };
        Some(StepLine { name: view.steps.get(*index)?, class, words, is_current: *stage == Stage::Current })
    };
    progress.steps.iter().filter_map(step).collect()
}

/// Returns the contents of the submitted form or, for a candidate who did not apply with a form, the name and address.
/// If there is a form, the page shows nothing else about the candidate, because anybody can type somebody else's
/// address.
fn facts(visit: &StatusVisit, texts: &'static Texts, view: &StatusPageView) -> Vec<Fact> {
    let words = &texts.status;
    let fact = |name, text: &str| Fact { name, lines: text.lines().map(FactLine::text).collect() };
    let attachment = |file: &Attachment| FactLine {
        text: attachment_text(texts, file),
        path: Some(visit.attachment_path(&file.id)),
    };
    let mut facts = match (&view.signup, &view.application) {
        (Some(Signup { name, email, phone, links, note, attachments, .. }), _) => vec![
            fact(words.name, name),
            fact(words.email, email),
            fact(words.phone, phone),
            Fact { name: words.links, lines: links.iter().map(|link| FactLine::text(link)).collect() },
            fact(words.note, note),
            Fact { name: words.document, lines: attachments.iter().map(attachment).collect() },
        ],
        (None, Some(applied)) => {
            vec![fact(words.name, &applied.candidate.name), fact(words.email, &applied.candidate.email)]
        }
        (None, None) => Vec::new(),
    };
    facts.retain(|fact| !fact.lines.is_empty());
    facts
}

/// Formats an attachment's name and size.
fn attachment_text(texts: &Texts, attachment: &Attachment) -> String {
    let size = texts.file_size(attachment.bytes);
    fill(texts.status.document_of, &[("name", &attachment.file_name), ("size", &size)])
}
