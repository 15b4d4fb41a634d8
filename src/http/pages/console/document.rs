//! `/app/{orgSlug}/documents/{id}`: shows an attachment of an application. The file itself opens in a frame or a tab of
//! its own. The header fields of its response prevent the file from running scripts and from accessing the console.

use askama::Template;
use hyper::Method;

use super::decision::scene::candidate_path;
use super::frame::{ConsoleFrame, NavItem};
use super::signup::{FileView, Place, is_shown};
use super::visit::{self, ABSENT, Visit};
use super::when;
use crate::domain::activity::Subject;
use crate::domain::attachment::MediaType;
use crate::domain::id::AttachmentId;
use crate::domain::user::Principal;
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::pages::texts::fill;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::http::server::route::{Answer, Route};
use crate::store::access::VisibleOrganization;
use crate::store::attachment::OwnedAttachment;
use crate::store::{self, Error, Grade, Tx};

/// The first bytes of a PDF file (ISO 32000-2 §7.5.2).
const PDF_BEGIN: &[u8] = b"%PDF-";

#[derive(Template)]
#[template(path = "console/document.html", config = "src/http/pages/templates/askama.toml")]
struct DocumentPage {
    frame: ConsoleFrame,
    words: &'static CandidateTexts,
    candidate_url: String,
    back: String,
    file: FileView,
}

pub(super) fn routes() -> Vec<Route> {
    let page = "/app/{orgSlug}/documents/{id}";
    let (file, download) = ("/app/{orgSlug}/documents/{id}/file", "/app/{orgSlug}/documents/{id}/download");
    // The routes for the file write to the database although their method is `GET`: the activity records who opened
    // which attachment.
    let answers: &[Answer] = &[(200, "")];
    let opens = |route: Route| route.writes(Grade::Vital).answering(answers);
    vec![
        Route::staff(Method::GET, page, decode, show).answering(answers),
        opens(Route::staff(Method::GET, file, decode, show_file)),
        opens(Route::staff(Method::GET, download, decode, download_file)),
    ]
}

struct DocumentInput {
    visit: Visit,
    id: AttachmentId,
    /// Whether the response has content. A response to `HEAD` has none, so `HEAD` does not count as opening the file.
    sends_content: bool,
}

impl DocumentInput {
    /// # Errors
    /// `not_found` if the organization has no such attachment, or the caller may not see it.
    fn load(&self, tx: &Tx<'_>, who: &Principal) -> Result<(VisibleOrganization, OwnedAttachment), Error> {
        let organization = self.visit.organization(tx, who)?;
        let found = store::attachment::find_of_organization(tx, &organization.id, &self.id)?;
        Ok((organization, found.ok_or(ABSENT)?))
    }

    /// Loads a file that will be sent, and records that the user opened it. A browser may request the file several
    /// times while it shows the file, so only one row is recorded per user, file and day.
    ///
    /// # Errors
    /// The errors of [`DocumentInput::load`]; [`Error::Defect`] if a chunk of the file is missing.
    fn open(&self, ctx: &Ctx, tx: &Tx<'_>, who: &Principal) -> Result<OwnedAttachment, Error> {
        let (organization, found) = self.load(tx, who)?;
        store::attachment::require_complete(tx, &found.attachment)?;
        if self.sends_content {
            let subject = Subject::of_candidate(organization.id, found.candidate_id.clone());
            let day = when::day_begin(&organization.time_zone, tx.now);
            let stamp = store::activity::stamp(&*ctx.world);
            store::attachment::record_opened_in_session(tx, &stamp, who, &subject, &self.id, day)?;
        }
        Ok(found)
    }
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if `lang` or `locale` is repeated.
fn decode(_: &Ctx, request: &Request) -> Result<DocumentInput, Error> {
    Ok(DocumentInput {
        visit: Visit::decode(request)?,
        id: visit::id(request, "id")?,
        sends_content: request.method() != Method::HEAD,
    })
}

/// `GET /app/{orgSlug}/documents/{id}`: shows the file in a frame, or offers it for download.
///
/// # Errors
/// `not_found` if the organization has no such attachment, or the caller may not see it.
fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DocumentInput) -> Result<Reply, Error> {
    let (organization, found) = input.load(tx, who)?;
    let candidate = store::candidate::find(tx, &organization.id, &found.candidate_id)?.ok_or(ABSENT)?;
    let title = found.attachment.file_name.clone();
    let frame = input.visit.frame(tx, who, Some(&organization), NavItem::Candidates, title)?;
    let words = CANDIDATE.of(frame.texts);
    let place = Place { texts: frame.texts, slug: &organization.slug, zone: &organization.time_zone, now: tx.now };
    let file = place.file(&found.attachment);
    Reply::console(&DocumentPage {
        frame,
        words,
        candidate_url: candidate_path(&organization.slug, candidate.id.as_str()),
        back: fill(words.back_to, &[("name", &candidate.name)]),
        file,
    })
}

/// `GET /app/{orgSlug}/documents/{id}/file`: returns the file, for a frame of the console or a tab of its own.
///
/// # Errors
/// The errors of [`DocumentInput::open`]; `not_found` if browsers cannot show the file, or if a file that is stored as
/// a PDF does not begin like one.
fn show_file(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DocumentInput) -> Result<Reply, Error> {
    let (_, OwnedAttachment { attachment, .. }) = input.load(tx, who)?;
    if !is_shown(attachment.media_type) {
        return Err(ABSENT.into());
    }
    // The upload has already checked the type. A browser's PDF viewer is not sandboxed, so the type is checked again
    // here: even if the stored type is wrong, only a PDF reaches the viewer.
    let begin = store::attachment::read_chunk(tx, &input.id, 1)?.unwrap_or_default();
    if attachment.media_type == MediaType::Pdf && !begin.starts_with(PDF_BEGIN) {
        return Err(ABSENT.into());
    }
    Ok(Reply::framed_file(&input.open(ctx, tx, who)?.attachment))
}

/// `GET /app/{orgSlug}/documents/{id}/download`: returns the file exactly as it was uploaded, for the browser to save.
///
/// # Errors
/// The errors of [`DocumentInput::open`].
fn download_file(ctx: &Ctx, tx: &Tx<'_>, who: &Principal, input: &DocumentInput) -> Result<Reply, Error> {
    Ok(Reply::download(&input.open(ctx, tx, who)?.attachment))
}
