//! `GET /app/{orgSlug}/candidates/{id}`: a candidate with every application, its signups and attachments, the forms of
//! decisions and the activity.

use askama::Template;

use super::application::{self, ApplicationView};
use crate::domain::activity::Subject;
use crate::domain::candidate_step::CandidateStep;
use crate::domain::id::{ActivityId, ApplicationId, CandidateId, CandidateStepId, Id};
use crate::domain::refusal::Refusal;
use crate::domain::user::Principal;
use crate::http::pages::console::activity::{ActivityRow, Reader};
use crate::http::pages::console::decision::done::{self, Done};
use crate::http::pages::console::decision::panel::DecisionPanel;
use crate::http::pages::console::decision::scene::candidate_path;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::live::Live;
use crate::http::pages::console::signup::Place;
use crate::http::pages::console::visit::{self, ABSENT, Visit};
use crate::http::pages::console::when::When;
use crate::http::pages::texts::console::activity::{ACTIVITY, ActivityTexts};
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::request::Request;
use crate::store::access::VisibleOrganization;
use crate::store::candidate::Candidate;
use crate::store::{self, Error, Tx};

/// The number of activity rows on a page: more than most candidates have.
const ACTIVITY_ROWS: usize = 50;

#[derive(Template)]
#[template(path = "console/candidate/page.html", config = "src/http/pages/templates/askama.toml")]
struct CandidatePage {
    frame: ConsoleFrame,
    words: &'static CandidateTexts,
    activity_words: &'static ActivityTexts,
    done: Option<Done>,
    person: Person,
    applications: Vec<ApplicationView>,
    activity: Vec<ActivityRow>,
    newest_url: Option<String>,
    older_url: Option<String>,
    live: Live,
}

/// The facts about the candidate. `templates/console/candidate/facts.html` and `marks.html` render them.
pub(super) struct Person {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) added: When,
    pub(super) is_held: bool,
    pub(super) is_erased: bool,
}

impl Person {
    pub(super) fn new(place: Place<'_>, candidate: &Candidate) -> Self {
        Self {
            name: candidate.name.clone(),
            email: candidate.email.clone(),
            added: When::new(place.texts, place.zone, candidate.created_at, place.now),
            is_held: candidate.is_held,
            is_erased: candidate.is_erased,
        }
    }
}

/// The parts of the page that a decision changes.
#[derive(Template)]
#[template(path = "console/candidate/parts.html", config = "src/http/pages/templates/askama.toml")]
struct CandidateParts {
    words: &'static CandidateTexts,
    activity_words: &'static ActivityTexts,
    done: Option<Done>,
    applications: Vec<ApplicationView>,
    activity: Vec<ActivityRow>,
    newest_url: Option<String>,
    older_url: Option<String>,
}

pub(super) struct PageInput {
    pub(super) visit: Visit,
    pub(super) id: CandidateId,
    /// The application of the decision that led to the page.
    done: Option<ApplicationId>,
    /// The last activity row of the previous page.
    before: Option<ActivityId>,
}

/// # Errors
/// `not_found` if the path has no valid id; `validation_error` if a parameter is repeated or `before` is not an id.
pub(super) fn decode(_: &Ctx, request: &Request) -> Result<PageInput, Error> {
    let before = request.query("before")?;
    let parse = |text: &str| ActivityId::parse(text).ok_or_else(|| Refusal::invalid("before", "must be an id"));
    Ok(PageInput {
        visit: Visit::decode(request)?,
        id: visit::id(request, "id")?,
        done: done::decode(request)?,
        before: before.as_deref().map(parse).transpose()?,
    })
}

/// `GET /app/{orgSlug}/candidates/{id}`: shows the candidate. With `X-Part`, returns the parts that a decision changes.
///
/// # Errors
/// `not_found` if the candidate does not exist or the caller may not see them; `validation_error` if `before` names no
/// row.
pub(super) fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &PageInput) -> Result<Reply, Error> {
    let visit = &input.visit;
    let organization = visit.organization(tx, who)?;
    let candidate = store::candidate::find(tx, &organization.id, &input.id)?.ok_or(ABSENT)?;
    let frame = visit.frame(tx, who, Some(&organization), NavItem::Candidates, candidate.name.clone())?;
    let texts = frame.texts;
    let zone = organization.time_zone.as_str();
    let place = Place { texts, slug: &organization.slug, zone, now: tx.now };
    let own_path = candidate_path(&organization.slug, candidate.id.as_str());
    let applications = applications(tx, place, &organization, &candidate, &own_path)?;
    let reader = Reader { texts, zone, now: tx.now };
    let (activity, older) = activity(tx, reader, &candidate, input.before.as_ref())?;
    let done = done::message(tx, who, &organization, texts, input.done.as_ref(), &own_path)?;
    let (words, activity_words) = (CANDIDATE.of(texts), ACTIVITY.of(texts));
    let older_url = older.map(|id| format!("{own_path}?before={id}#activity"));
    let newest_url = input.before.is_some().then(|| format!("{own_path}#activity"));
    if visit.wants_parts {
        let parts = CandidateParts { words, activity_words, done, applications, activity, newest_url, older_url };
        return Reply::console(&parts);
    }
    Reply::console(&CandidatePage {
        frame,
        words,
        activity_words,
        done,
        person: Person::new(place, &candidate),
        live: Live::new(tx, &organization, &changes_path(&own_path, input.before.is_some()))?,
        applications,
        activity,
        newest_url,
        older_url,
    })
}

/// Returns the path at which the page asks for changes. With `is_older`, the answers do not replace the activity.
pub(super) fn changes_path(own_path: &str, is_older: bool) -> String {
    let older = if is_older { "?older=1" } else { "" };
    format!("{own_path}/changes{older}")
}

/// Returns the candidate's applications, those with a current step first. Only the panel of the first application has
/// keyboard shortcuts.
pub(super) fn applications(
    tx: &Tx<'_>,
    place: Place<'_>,
    organization: &VisibleOrganization,
    candidate: &Candidate,
    own_path: &str,
) -> Result<Vec<ApplicationView>, Error> {
    let mut views = Vec::new();
    for application in store::application::of_candidate(tx, &organization.id, &candidate.id)? {
        views.push(application::load(tx, place, organization, &application, candidate.is_erased, own_path)?);
    }
    views.sort_by_key(|view| !view.is_running);
    if let Some(first) = views.first_mut() {
        first.panel = first.panel.take().map(DecisionPanel::with_keys);
    }
    Ok(views)
}

/// Returns a page of the candidate's activity, newest first, and the id of the last row of the page if there are older
/// rows.
///
/// # Errors
/// `validation_error` if `before` names no row.
pub(super) fn activity(
    tx: &Tx<'_>,
    reader: Reader<'_>,
    candidate: &Candidate,
    before: Option<&ActivityId>,
) -> Result<(Vec<ActivityRow>, Option<ActivityId>), Error> {
    let subject = Subject::of_candidate(candidate.organization_id.clone(), candidate.id.clone());
    let before = match before {
        Some(id) => store::activity::number(tx, &subject, id)?.ok_or(Refusal::invalid("before", "names no row"))?,
        None => i64::MAX,
    };
    let mut rows = store::activity::page(tx, &subject, None, before, ACTIVITY_ROWS + 1)?;
    let has_more = rows.len() > ACTIVITY_ROWS;
    rows.truncate(ACTIVITY_ROWS);
    let older = rows.last().filter(|_| has_more).map(|row| row.id.clone());
    let mut steps: Vec<CandidateStep> = Vec::new();
    for application in store::application::of_candidate(tx, &candidate.organization_id, &candidate.id)? {
        steps.extend(store::candidate_step::of_application(tx, &application.record.id)?);
    }
    let name = |id: &CandidateStepId| steps.iter().find(|step| step.id == *id).map(|step| step.name.clone());
    Ok((rows.iter().map(|row| reader.row(row, name)).collect(), older))
}
