//! `GET /status/{token}/data`: what the candidate sent and sees, as one file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::header;
use serde::Serialize;

use super::super::ctx::Ctx;
use super::super::reply::Reply;
use super::{Found, Visit, private, view};
use crate::domain::progress::Stage;
use crate::store::status_page::sent::{self, Document, Sent};
use crate::store::{Error, Tx};

/// `GET …/data`: what they sent with their documents, and the application as the page shows it: nothing of a decision that
/// they do not see yet, and nothing that staff wrote.
///
/// # Errors
/// None but a 404 page where the link leads nowhere.
pub(super) fn download(_: &Ctx, tx: &Tx<'_>, visit: &Visit) -> Result<Reply, Error> {
    let Some(found) = visit.find(tx)? else { return view::nowhere(visit) };
    let reply = Reply::json(&wire(tx, &found)?);
    Ok(private(reply).with(header::CONTENT_DISPOSITION, "attachment; filename=\"application.json\""))
}

fn wire<'a>(tx: &Tx<'_>, found: &'a Found) -> Result<Wire<'a>, Error> {
    let shown = &found.shown;
    let progress = shown.progress(&found.page, tx.now);
    let step = |(place, stage): &(usize, Stage)| Some(WireStep { name: shown.steps.get(*place)?, stage: word(*stage) });
    let sent = shown.sent.as_ref().map(|sent| wire_sent(tx, sent)).transpose()?;
    // What staff keep of a person is told to whoever they added themselves: to nobody who only typed an address.
    let candidate = shown
        .application
        .as_ref()
        .filter(|_| sent.is_none())
        .map(|applied| WirePerson { name: &applied.candidate.name, email: &applied.candidate.email });
    Ok(Wire {
        exported_at: tx.now.to_string(),
        organization: &shown.organization.name,
        role: &shown.role_name,
        status: progress.status.as_str(),
        applied_at: shown.applied_at.to_string(),
        withdrawn_at: found.page.withdrawn_at.map(|at| at.to_string()),
        steps: progress.steps.iter().filter_map(step).collect(),
        candidate,
        sent,
    })
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

fn wire_sent<'a>(tx: &Tx<'_>, sent: &'a Sent) -> Result<WireSent<'a>, Error> {
    let document = |document: &'a Document| {
        Ok(WireDocument {
            file_name: &document.file_name,
            media_type: &document.media_type,
            bytes: document.bytes,
            content: STANDARD.encode(sent::content(tx, document)?),
        })
    };
    Ok(WireSent {
        name: &sent.name,
        email: &sent.email,
        phone: &sent.phone,
        links: &sent.links,
        note: &sent.note,
        locale: &sent.locale,
        consented_at: sent.consented_at.to_string(),
        documents: sent.documents.iter().map(document).collect::<Result<_, Error>>()?,
    })
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
#[serde(rename_all = "camelCase")]
struct WireSent<'a> {
    name: &'a str,
    email: &'a str,
    phone: &'a str,
    links: &'a [String],
    note: &'a str,
    locale: &'a str,
    consented_at: String,
    documents: Vec<WireDocument<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireDocument<'a> {
    file_name: &'a str,
    media_type: &'a str,
    bytes: i64,
    content: String,
}
