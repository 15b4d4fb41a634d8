//! `GET /status/{token}/data` returns the candidate's data as one JSON file.
//! `GET /status/{token}/documents/{documentId}` returns an attachment.

use hyper::header;
use serde::Serialize;

use super::view;
use super::visit::{FoundStatusPage, StatusVisit, with_robots_disallowed};
use crate::domain::id::{AttachmentId, Id};
use crate::domain::progress::Stage;
use crate::domain::progress::role_end::RoleEnd;
use crate::http::api::candidate::wire::{WireAttachment, WireTyped};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::attachment::Attachment;
use crate::store::signup::Signup;
use crate::store::{self, Error, Tx};

/// `GET /status/{token}/data`: returns the submitted form with the paths of its attachments, or the candidate's name
/// and address if staff or an import added the application. Also returns the application as the page shows it. The file
/// contains no decision that the page does not show yet.
///
/// # Errors
/// `not_found`, as a page, if the link is unknown or spent.
pub(super) fn download_data(_: &Ctx, tx: &Tx<'_>, visit: &StatusVisit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::not_found(visit) };
    let reply = Reply::json(&candidate_data(tx, visit, &found));
    Ok(with_robots_disallowed(reply).with(header::CONTENT_DISPOSITION, "attachment; filename=\"application.json\""))
}

pub(super) struct AttachmentDownload {
    visit: StatusVisit,
    /// `None` if the path contains an invalid id, which cannot belong to any attachment.
    id: Option<AttachmentId>,
}

/// # Errors
/// `validation_error` if a parameter is given twice.
pub(super) fn decode_attachment(ctx: &Ctx, request: &Request) -> Result<AttachmentDownload, Error> {
    Ok(AttachmentDownload {
        visit: super::visit::decode(ctx, request)?,
        id: AttachmentId::parse(request.param("documentId")),
    })
}

/// `GET /status/{token}/documents/{documentId}`: returns an attachment of the application as it was uploaded.
///
/// # Errors
/// `not_found`, as a page, if the link is unknown or spent, or the application has no such attachment;
/// [`Error::Defect`] if a chunk of the attachment is missing.
pub(super) fn download_attachment(
    _: &Ctx,
    tx: &Tx<'_>,
    AttachmentDownload { visit, id }: &AttachmentDownload,
) -> Result<Reply, Error> {
    let found = visit.find(tx)?;
    let signup = found.as_ref().and_then(|found| found.view.signup.as_ref());
    let attachment =
        signup.and_then(|signup| signup.attachments.iter().find(|attachment| Some(&attachment.id) == id.as_ref()));
    let Some(attachment) = attachment else { return view::not_found(visit) };
    store::attachment::require_complete(tx, attachment)?;
    Ok(with_robots_disallowed(Reply::download(attachment)))
}

fn candidate_data<'a>(tx: &Tx<'_>, visit: &StatusVisit, found: &'a FoundStatusPage) -> WireData<'a> {
    let view = &found.view;
    let progress = view.progress(&found.page, tx.now);
    let step =
        |(index, stage): &(usize, Stage)| Some(WireStep { name: view.steps.get(*index)?, stage: stage_word(*stage) });
    let sent = view.signup.as_ref().map(|signup| wire_sent(visit, signup));
    // The file contains the stored name and address of the candidate only if staff or an import added the application.
    // Anybody can type somebody else's address into a form, so the sender of a form sees only that form.
    let candidate = view
        .application
        .as_ref()
        .filter(|_| sent.is_none())
        .map(|applied| WireCandidate { name: &applied.candidate.name, email: &applied.candidate.email });
    WireData {
        exported_at: tx.now.to_string(),
        organization: &view.organization.name,
        role: &view.role_name,
        status: progress.status.as_str(),
        applied_at: view.applied_at.to_string(),
        withdrawn_at: found.page.withdrawn_at.map(|at| at.to_string()),
        role_end: view.role_end(&progress, tx.now).map(RoleEnd::as_str),
        steps: progress.steps.iter().filter_map(step).collect(),
        candidate,
        sent,
    }
}

fn stage_word(stage: Stage) -> &'static str {
    match stage {
        Stage::Done => "done",
        Stage::Current => "current",
        Stage::Upcoming => "upcoming",
        Stage::Skipped => "skipped",
        Stage::Ended => "ended",
    }
}

fn wire_sent<'a>(visit: &StatusVisit, signup: &'a Signup) -> WireSent<'a> {
    let download = |attachment: &Attachment| WireDownload {
        attachment: WireAttachment::new(attachment),
        path: visit.attachment_path(&attachment.id),
    };
    WireSent { typed: WireTyped::new(signup), documents: signup.attachments.iter().map(download).collect() }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireData<'a> {
    exported_at: String,
    organization: &'a str,
    role: &'a str,
    status: &'static str,
    applied_at: String,
    withdrawn_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role_end: Option<&'static str>,
    steps: Vec<WireStep<'a>>,
    candidate: Option<WireCandidate<'a>>,
    sent: Option<WireSent<'a>>,
}

#[derive(Serialize)]
struct WireStep<'a> {
    name: &'a str,
    stage: &'static str,
}

#[derive(Serialize)]
struct WireCandidate<'a> {
    name: &'a str,
    email: &'a str,
}

#[derive(Serialize)]
struct WireSent<'a> {
    #[serde(flatten)]
    typed: WireTyped<'a>,
    documents: Vec<WireDownload>,
}

/// An attachment, and the path below the same status link at which the candidate can download it.
#[derive(Serialize)]
struct WireDownload {
    #[serde(flatten)]
    attachment: WireAttachment,
    path: String,
}
