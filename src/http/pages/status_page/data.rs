//! `GET /status/{token}/data`: what the candidate sent and sees, as one file, and `…/documents/{documentId}`: a document of
//! theirs.

use hyper::header;
use serde::Serialize;

use super::view;
use super::visit::{FoundPage, Visit, private};
use crate::domain::id::{AttachmentId, Id};
use crate::domain::progress::Stage;
use crate::http::api::candidate::wire::{WireDocument, WireTyped};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::document::Document;
use crate::store::status_page::sent::Sent;
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

/// A visit to one document of a page.
pub(super) struct DocumentVisit {
    visit: Visit,
    id: Option<AttachmentId>,
}

/// The document that a path names; an id that none can have names none.
///
/// # Errors
/// As for the page.
pub(super) fn decode_document(ctx: &Ctx, request: &Request) -> Result<DocumentVisit, Error> {
    Ok(DocumentVisit {
        visit: super::visit::decode(ctx, request)?,
        id: AttachmentId::parse(request.param("documentId")),
    })
}

/// `GET …/documents/{documentId}`: a document that came with what the page is about, as it was uploaded.
///
/// # Errors
/// None but a 404 page where the link leads nowhere, or what the page is about came with no such document.
pub(super) fn download_document(_: &Ctx, tx: &Tx<'_>, of: &DocumentVisit) -> Result<Reply, Error> {
    let found = of.visit.find(tx)?;
    let sent = found.as_ref().and_then(|found| found.shown.sent.as_ref());
    let document = sent.and_then(|sent| sent.documents.iter().find(|document| Some(&document.id) == of.id.as_ref()));
    let Some(document) = document else { return view::nowhere(&of.visit) };
    store::document::expect_whole(tx, document)?;
    Ok(private(Reply::download(document)))
}

fn wire<'a>(tx: &Tx<'_>, visit: &Visit, found: &'a FoundPage) -> Wire<'a> {
    let shown = &found.shown;
    let progress = shown.progress(&found.page, tx.now);
    let step = |(place, stage): &(usize, Stage)| Some(WireStep { name: shown.steps.get(*place)?, stage: word(*stage) });
    let sent = shown.sent.as_ref().map(|sent| wire_sent(visit, sent));
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

fn wire_sent<'a>(visit: &Visit, sent: &'a Sent) -> WireSent<'a> {
    let document =
        |document: &Document| WireOwn { document: WireDocument::of(document), path: visit.path_of(&document.id) };
    WireSent { typed: WireTyped::of(sent), documents: sent.documents.iter().map(document).collect() }
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

/// A document, and where it is downloaded behind the same link.
#[derive(Serialize)]
struct WireOwn {
    #[serde(flatten)]
    document: WireDocument,
    path: String,
}
