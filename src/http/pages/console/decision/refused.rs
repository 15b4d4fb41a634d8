//! The answer to a refused decision. After a conflict, the answer says who acted last, what they did and when, and
//! names the current state. For an invalid form, the answer says that the form must be corrected.

use askama::Template;

use super::scene::{Scene, Target, candidate_path};
use crate::domain::id::ApplicationId;
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::activity::Reader;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::labels;
use crate::http::pages::texts::console::done::{DONE, DoneTexts};
use crate::http::pages::texts::console::frame::FRAME;
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::reply::Reply;
use crate::store::access::VisibleOrganization;
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/decision/refused.html", config = "src/http/pages/templates/askama.toml")]
struct RefusedPage {
    frame: ConsoleFrame,
    words: &'static DoneTexts,
    lines: Vec<String>,
    candidate_url: String,
    back: String,
}

/// The content of [`RefusedPage`] as a dialog over the page with the form.
#[derive(Template)]
#[template(path = "console/decision/refused_part.html", config = "src/http/pages/templates/askama.toml")]
struct RefusedPart {
    words: &'static DoneTexts,
    close: &'static str,
    lines: Vec<String>,
    candidate_url: String,
}

/// Answers a form whose decision was refused.
///
/// # Errors
/// The refusal itself, such as `forbidden`, if it is neither a conflict nor a fault of the form.
pub(super) fn reply(
    tx: &Tx<'_>,
    who: &Principal,
    target: &Target,
    scene: &Scene,
    refusal: Refusal,
) -> Result<Reply, Error> {
    let texts = target.visit.texts_for(tx, who)?;
    let words = DONE.of(texts);
    let lines = match &refusal {
        Refusal::Conflict(_) | Refusal::ConflictWith(_) => conflict_lines(tx, texts, scene)?,
        Refusal::Invalid(errors) if errors.iter().all(|error| error.field == "dueOn") => {
            vec![LATER.of(texts).wrong_day.to_owned()]
        }
        Refusal::Invalid(_) | Refusal::BadRequest(..) => vec![words.invalid.to_owned()],
        _ => return Err(refusal.into()),
    };
    let candidate_url = candidate_path(&scene.organization.slug, scene.candidate.id.as_str());
    if target.visit.wants_parts {
        let close = FRAME.of(texts).close;
        return Reply::console_refusal(&refusal, &RefusedPart { words, close, lines, candidate_url });
    }
    let organization = Some(&scene.organization);
    let frame = target.visit.frame(tx, who, organization, NavItem::Candidates, words.refused.to_owned())?;
    Reply::console_refusal(&refusal, &RefusedPage { frame, words, lines, candidate_url, back: target.back(scene) })
}

/// Returns two sentences about an application: who acted last, what they did and when; and the current state.
///
/// # Errors
/// `not_found` if the organization has no such application.
pub(in crate::http::pages::console) fn what_happened(
    tx: &Tx<'_>,
    texts: &'static Texts,
    organization: &VisibleOrganization,
    application: &ApplicationId,
) -> Result<Vec<String>, Error> {
    conflict_lines(tx, texts, &Scene::load(tx, organization.clone(), application)?)
}

fn conflict_lines(tx: &Tx<'_>, texts: &'static Texts, scene: &Scene) -> Result<Vec<String>, Error> {
    let words = DONE.of(texts);
    let (organization, candidate) = (&scene.organization, &scene.candidate);
    let latest = store::activity::latest_decision(tx, &organization.id, &candidate.id, &scene.application.record.id)?;
    let reader = Reader { texts, zone: &organization.time_zone, now: tx.now };
    let first = match latest {
        Some(latest) => {
            let name = |id: &_| scene.steps.iter().find(|step| step.id == *id).map(|step| step.name.clone());
            let row = reader.row(&latest, name);
            let when = [("what", &*row.what), ("who", &*row.who), ("when", &*row.when.relative)];
            fill(words.latest, &when)
        }
        None => words.changed.to_owned(),
    };
    let name = candidate.name.as_str();
    let now = match scene.step_name() {
        Some(step) => fill(words.is_at, &[("name", name), ("step", step)]),
        None => fill(words.has_ended, &[("name", name), ("status", labels::status(texts, scene.status()))]),
    };
    Ok(vec![first, now])
}
