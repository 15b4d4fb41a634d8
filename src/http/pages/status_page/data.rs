//! `GET /status/{token}/data`: what the candidate sent and sees, as one file, and `…/documents/{documentId}`: a document of
//! theirs.

use hyper::header;
use serde::Serialize;

use super::view;
use super::visit::{FoundPage, Visit, private};
use crate::domain::id::{AttachmentId, Id};
use crate::domain::progress::Stage;
use crate::http::api::candidate::wire::{WireAttachment, WireTyped};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::attachment::Attachment;
use crate::store::signup::Signup;
use crate::store::{self, Error, Tx};

/// `GET …/data`: what they sent, where their documents are, and the application as the page shows it: nothing of a decision that
/// they do not see yet, and nothing that staff wrote.
///
/// # Errors
/// None but a 404 page where the link leads nowhere.
pub(super) fn download(_: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::nowhere(visit) };
    let reply = Reply::json(&wire(tx, visit, &found));
    Ok(private(reply).with(header::CONTENT_DISPOSITION, "attachment; filename=\"application.json\""))
}

/// A visit to one attachment of a page.
pub(super) struct AttachmentVisit {
    visit: Visit,
    id: Option<AttachmentId>,
}

/// Decodes the path of an attachment.
///
/// # Errors
/// As for the page.
pub(super) fn decode_attachment(ctx: &Ctx, request: &Request) -> Result<AttachmentVisit, Error> {
    Ok(AttachmentVisit {
        visit: super::visit::decode(ctx, request)?,
        id: AttachmentId::parse(request.param("documentId")),
    })
}

/// `GET …/documents/{documentId}`: an attachment of the signup, as it was uploaded.
///
/// # Errors
/// None but a 404 page where the link leads nowhere, or what the page is about came with no such attachment.
pub(super) fn download_attachment(_: &Ctx, tx: &Tx<'_>, of: &AttachmentVisit) -> Result<Reply, Error> {
    let found = of.visit.find(tx)?;
    let sent = found.as_ref().and_then(|found| found.shown.signup.as_ref());
    let attachment = sent.and_then(|sent| sent.attachments.iter().find(|one| Some(&one.id) == of.id.as_ref()));
    let Some(attachment) = attachment else { return view::nowhere(&of.visit) };
    store::attachment::require_complete(tx, attachment)?;
    Ok(private(Reply::download(attachment)))
}

fn wire<'a>(tx: &Tx<'_>, visit: &Visit, found: &'a FoundPage) -> Wire<'a> {
    let shown = &found.shown;
    let progress = shown.progress(&found.page, tx.now);
    let step = |(place, stage): &(usize, Stage)| Some(WireStep { name: shown.steps.get(*place)?, stage: word(*stage) });
    let sent = shown.signup.as_ref().map(|sent| wire_sent(visit, sent));
    // What staff keep of a person is told to whoever they added themselves: to nobody who only typed an address.
    let candidate = shown
        .application
        .as_ref()
        .filter(|_| sent.is_none())
        .map(|applied| WirePerson { name: &applied.candidate.name, email: &applied.candidate.email });
    Wire {
        exported_at: tx.now.to_string(),
        organization: &shown.organization.name,
        role: &shown.role_name,
        status: progress.status.as_str(),
        applied_at: shown.applied_at.to_string(),
        withdrawn_at: found.page.withdrawn_at.map(|at| at.to_string()),
        steps: progress.steps.iter().filter_map(step).collect(),
        candidate,
        sent,
    }
}

fn word(stage: Stage) -> &'static str {
    match stage {
        Stage::Done => "done",
        Stage::Current => "current",
        Stage::Upcoming => "upcoming",
        Stage::Skipped => "skipped",
        Stage::Ended => "ended",
    }
}

fn wire_sent<'a>(visit: &Visit, sent: &'a Signup) -> WireSent<'a> {
    let own = |one: &Attachment| WireOwn { attachment: WireAttachment::new(one), path: visit.path_of(&one.id) };
    WireSent { typed: WireTyped::new(sent), documents: sent.attachments.iter().map(own).collect() }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Wire<'a> {
    exported_at: String,
    organization: &'a str,
    role: &'a str,
    status: &'static str,
    applied_at: String,
    withdrawn_at: Option<String>,
    steps: Vec<WireStep<'a>>,
    candidate: Option<WirePerson<'a>>,
    sent: Option<WireSent<'a>>,
}

#[derive(Serialize)]
struct WireStep<'a> {
    name: &'a str,
    stage: &'static str,
}

#[derive(Serialize)]
struct WirePerson<'a> {
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
struct WireSent<'a> {
    #[serde(flatten)]
    typed: WireTyped<'a>,
    documents: Vec<WireOwn>,
}

/// An attachment, and its path behind the same link.
#[derive(Serialize)]
struct WireOwn {
    #[serde(flatten)]
    attachment: WireAttachment,
    path: String,
}
