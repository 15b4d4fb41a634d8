//! The page of a review queue: the list on the left, the CV and the text of the signup in the middle, the facts on the
//! right, and the decisions below.

use askama::Template;

use super::queue::{Queue, ReviewInput, path_of_new, path_that_begins};
use crate::domain::candidate_step::current_step;
use crate::domain::timestamp::Timestamp;
use crate::domain::user::Principal;
use crate::http::pages::console::decision::done::{self, Done};
use crate::http::pages::console::decision::panel::DecisionPanel;
use crate::http::pages::console::decision::scene::candidate_path;
use crate::http::pages::console::due;
use crate::http::pages::console::frame::{ConsoleFrame, NavItem};
use crate::http::pages::console::labels;
use crate::http::pages::console::live::Live;
use crate::http::pages::console::signup::{FileView, Place, SignupView};
use crate::http::pages::console::visit::ABSENT;
use crate::http::pages::console::when::{self, When};
use crate::http::pages::texts::console::candidate::{CANDIDATE, CandidateTexts};
use crate::http::pages::texts::console::review::{REVIEW, ReviewTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::store::access::VisibleOrganization;
use crate::store::candidate_step::{QueueDecision, QueueEntry};
use crate::store::{self, Error, Tx};

#[derive(Template)]
#[template(path = "console/review/page.html", config = "src/http/pages/templates/askama.toml")]
struct ReviewPage {
    frame: ConsoleFrame,
    review: Review,
}

/// The page without its frame, for the JavaScript modules.
#[derive(Template)]
#[template(path = "console/review/parts.html", config = "src/http/pages/templates/askama.toml")]
struct ReviewParts {
    title: String,
    review: Review,
}

/// The content of the page.
struct Review {
    words: &'static ReviewTexts,
    candidate_words: &'static CandidateTexts,
    done: Option<Done>,
    /// The path of a new queue with the same scope.
    new_path: String,
    is_empty: bool,
    finished: Option<String>,
    left_out: Option<String>,
    entries: Vec<EntryView>,
    current: Option<Current>,
    live: Live,
}

/// An entry of the list. `templates/console/review/entry.html` renders it.
pub(super) struct EntryView {
    /// The id of the application.
    pub(super) id: String,
    pub(super) url: String,
    pub(super) name: String,
    pub(super) note: String,
    pub(super) is_decided: bool,
    pub(super) is_here: bool,
}

/// The application that is shown.
struct Current {
    /// The role, the current step or the status, and the position in the queue.
    heading: String,
    url: String,
    previous_url: Option<String>,
    next_url: Option<String>,
    candidate_url: String,
    email: String,
    applied: When,
    /// The later mark, in words.
    mark: Option<String>,
    /// The sentence about a decision that somebody else has made since the queue began.
    meanwhile: Option<String>,
    signup: Option<SignupView>,
    /// The attachments that imports added, and those of the signup.
    files: Vec<FileView>,
    others: Vec<String>,
    /// The forms; `None` for an erased candidate.
    panel: Option<DecisionPanel>,
}

/// `GET /app/{orgSlug}/review`: shows an application of the queue. Without `begun`, redirects to a queue that begins
/// now.
///
/// # Errors
/// `not_found` if the organization, the role or the step does not exist, or the caller may not see it.
pub(super) fn show(_: &Ctx, tx: &Tx<'_>, who: &Principal, input: &ReviewInput) -> Result<Reply, Error> {
    let organization = input.visit.organization(tx, who)?;
    let begun = input.begun.unwrap_or(tx.now);
    let today = when::today(&organization.time_zone, tx.now);
    let queue = Queue::load(tx, &organization.id, &organization.slug, input, begun, today)?;
    if input.begun.is_none() {
        return Ok(Reply::see_other(&path_that_begins(&organization.slug, input, begun)));
    }
    let texts = input.visit.texts_for(tx, who)?;
    let words = REVIEW.of(texts);
    let place = Place { texts, slug: &organization.slug, zone: &organization.time_zone, now: tx.now };
    let view = View { tx, who, organization: &organization, place, words, queue: &queue };
    let current = queue.here.map(|here| view.current(here)).transpose()?;
    let count = queue.entries.len();
    let review = Review {
        words,
        candidate_words: CANDIDATE.of(texts),
        done: done::message(tx, who, &organization, texts, input.done.as_ref(), &queue.path_of_done(input))?,
        new_path: path_of_new(&organization.slug, input),
        is_empty: queue.entries.is_empty(),
        finished: (current.is_none() && count > 0).then(|| texts.counted(&words.seen, count)),
        left_out: (queue.left_out > 0).then(|| texts.counted(&words.more, queue.left_out)),
        entries: (0..count).map(|index| view.entry(index)).collect(),
        live: Live::new(tx, &organization, &queue.changes_path())?,
        current,
    };
    let title = match (queue.here, review.is_empty) {
        (Some(here), _) => queue.entries[here].candidate_name.clone(),
        (None, true) => words.none.to_owned(),
        (None, false) => words.all_done.to_owned(),
    };
    if input.visit.wants_parts {
        return Reply::console(&ReviewParts { title, review });
    }
    let frame = input.visit.frame(tx, who, Some(&organization), NavItem::Inbox, title)?;
    Reply::console(&ReviewPage { frame, review })
}

/// The context in which the page is rendered.
pub(super) struct View<'a> {
    pub(super) tx: &'a Tx<'a>,
    pub(super) who: &'a Principal,
    pub(super) organization: &'a VisibleOrganization,
    pub(super) place: Place<'a>,
    pub(super) words: &'static ReviewTexts,
    pub(super) queue: &'a Queue,
}

impl View<'_> {
    fn texts(&self) -> &'static Texts {
        self.place.texts
    }

    fn when(&self, at: Timestamp) -> When {
        When::new(self.texts(), self.place.zone, at, self.tx.now)
    }

    pub(super) fn entry(&self, index: usize) -> EntryView {
        let QueueEntry { application_id, candidate_name, applied_at, decision, .. } = &self.queue.entries[index];
        let note = match decision {
            Some(decision) => self.decided(decision),
            None => fill(self.words.applied, &[("when", &self.when(*applied_at).relative)]),
        };
        EntryView {
            id: application_id.to_string(),
            url: self.queue.path_of(index),
            name: candidate_name.clone(),
            note,
            is_decided: decision.is_some(),
            is_here: self.queue.here == Some(index),
        }
    }

    /// Returns the word for a decision in the list, with the name of the user who made it, unless that user is the
    /// reader.
    fn decided(&self, decision: &QueueDecision) -> String {
        let what = self.word(decision);
        match &decision.by {
            Some((id, name)) if id != self.who.user_id.as_str() => {
                fill(self.words.decided_by, &[("what", what), ("who", name)])
            }
            _ => what.to_owned(),
        }
    }

    fn word(&self, decision: &QueueDecision) -> &'static str {
        let [advanced, moved, rejected, hired, withdrawn, put_aside] = self.words.decided;
        match decision.action.as_str() {
            "candidate_step.validated" => advanced,
            "candidate_step.rejected" => rejected,
            "candidate_step.hired" => hired,
            "candidate_role.withdrawn" => withdrawn,
            "candidate_role.put_aside" => put_aside,
            _ => moved,
        }
    }

    fn current(&self, here: usize) -> Result<Current, Error> {
        let (tx, organization, texts) = (self.tx, self.organization, self.texts());
        let entry = &self.queue.entries[here];
        let application = store::application::find(tx, &organization.id, &entry.application_id)?.ok_or(ABSENT)?;
        let candidate = store::candidate::find(tx, &organization.id, &entry.candidate_id)?.ok_or(ABSENT)?;
        let (id, status) = (&application.record.id, application.record.status);
        let (today, due_on) = (when::today(self.place.zone, tx.now), application.record.later_due_on);
        let steps = store::candidate_step::of_application(tx, id)?;
        let state = current_step(status, &steps).map_or(labels::status(texts, status), |step| step.name.as_str());
        let (number, count) = (texts.number((here + 1) as f64), texts.number(self.queue.entries.len() as f64));
        let of = fill(self.words.of, &[("number", &number), ("count", &count)]);
        let back = self.queue.path_after(here);
        let signup = store::signup::of_application(tx, id)?;
        let mut attachments = store::attachment::imported::of_application(tx, id)?;
        attachments.extend(signup.iter().flat_map(|signup| signup.attachments.iter().cloned()));
        let others = store::application::of_candidate(tx, &organization.id, &candidate.id)?;
        let others = others.into_iter().filter(|other| other.record.id != *id);
        let other_line = |other: store::application::Application| {
            format!("{}: {}", other.role_name, labels::status(texts, other.record.status))
        };
        Ok(Current {
            heading: format!("{} · {state} · {of}", application.role_name),
            url: self.queue.path_of(here),
            previous_url: here.checked_sub(1).map(|before| self.queue.path_of(before)),
            next_url: (here + 1 < self.queue.entries.len()).then(|| self.queue.path_of(here + 1)),
            candidate_url: candidate_path(&organization.slug, candidate.id.as_str()),
            email: candidate.email,
            applied: self.when(entry.applied_at),
            mark: due_on.map(|due_on| due::mark(texts, today, due_on)),
            meanwhile: entry.decision.as_ref().and_then(|decision| self.meanwhile(decision)),
            files: attachments.iter().map(|attachment| self.place.file(attachment)).collect(),
            signup: signup.as_ref().map(|signup| self.place.signup(signup)),
            others: others.map(other_line).collect(),
            panel: (!candidate.is_erased)
                .then(|| DecisionPanel::new(texts, organization, id, status, &steps, &back))
                .map(|panel| panel.with_later(texts, today, due_on).with_keys()),
        })
    }

    /// Returns the sentence about a decision of another user. Returns `None` if the reader made the decision,
    /// or no user did.
    pub(super) fn meanwhile(&self, decision: &QueueDecision) -> Option<String> {
        let (id, name) = decision.by.as_ref()?;
        let when = self.when(decision.at).relative;
        let values = [("what", self.word(decision)), ("who", name), ("when", &when)];
        (id != self.who.user_id.as_str()).then(|| fill(self.words.decided_meanwhile, &values))
    }
}
