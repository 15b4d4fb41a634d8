//! An application on the page of its candidate.

use crate::domain::candidate_step::{ApplicationStatus, CandidateStep, HireRecord, StepStatus};
use crate::domain::timestamp::Timestamp;
use crate::http::pages::console::activity::Reader;
use crate::http::pages::console::decision::panel::DecisionPanel;
use crate::http::pages::console::due;
use crate::http::pages::console::labels;
use crate::http::pages::console::signup::{FileView, Place, SignupView};
use crate::http::pages::console::when::{self, When};
use crate::http::pages::texts::console::candidate::CANDIDATE;
use crate::store::access::VisibleOrganization;
use crate::store::application::Application;
use crate::store::{self, Error, Tx};

/// An application with its steps, its signups and the forms of decisions.
pub(super) struct ApplicationView {
    pub(super) id: String,
    pub(super) role_name: String,
    pub(super) role_url: String,
    pub(super) status: &'static str,
    /// The later mark, in words.
    pub(super) mark: Option<String>,
    pub(super) is_running: bool,
    pub(super) applied: When,
    pub(super) steps: Vec<StepView>,
    pub(super) signup: Option<SignupView>,
    /// The attachments that imports added.
    pub(super) imported: Vec<FileView>,
    pub(super) later: Vec<SignupView>,
    pub(super) later_label: String,
    pub(super) hire: Option<HireView>,
    /// The forms; `None` for an erased candidate.
    pub(super) panel: Option<DecisionPanel>,
}

/// A step of an application.
pub(super) struct StepView {
    pub(super) name: String,
    pub(super) status: &'static str,
    /// The name of the status in the stylesheet.
    pub(super) class: &'static str,
    /// The time of the rejection or the validation.
    pub(super) when: Option<When>,
    /// The reason and the note of a rejection.
    pub(super) reason: Option<String>,
    pub(super) note: Option<String>,
}

/// The record of a hire.
pub(super) struct HireView {
    pub(super) hired_on: String,
    pub(super) accepted_on: Option<String>,
    pub(super) position_code: Option<String>,
    pub(super) note: Option<String>,
}

/// Loads an application. After a decision, the browser returns to the page at the path `back`.
pub(super) fn load(
    tx: &Tx<'_>,
    place: Place<'_>,
    organization: &VisibleOrganization,
    application: &Application,
    is_erased: bool,
    back: &str,
) -> Result<ApplicationView, Error> {
    let (record, texts) = (&application.record, place.texts);
    let steps = store::candidate_step::of_application(tx, &record.id)?;
    let signups = store::signup::all_of_application(tx, &record.id)?;
    let today = when::today(place.zone, place.now);
    let panel = || {
        let panel = DecisionPanel::new(texts, organization, &record.id, record.status, &steps, back);
        panel.with_later(texts, today, record.later_due_on)
    };
    Ok(ApplicationView {
        id: record.id.to_string(),
        role_name: application.role_name.clone(),
        role_url: format!("/app/{}/roles/{}", organization.slug, application.role_id),
        status: labels::status(texts, record.status),
        mark: record.later_due_on.map(|due_on| due::mark(texts, today, due_on)),
        is_running: application.current.is_some(),
        applied: When::new(texts, place.zone, record.applied_at, place.now),
        panel: (!is_erased).then(panel),
        steps: steps.iter().map(|step| step_view(place, record.status, step)).collect(),
        signup: signups.original.as_ref().map(|signup| place.signup(signup)),
        imported: signups.imported.iter().map(|attachment| place.file(attachment)).collect(),
        later: signups.later.iter().map(|signup| place.signup(signup)).collect(),
        later_label: texts.counted(&CANDIDATE.of(texts).later, signups.later.len()),
        hire: record.hire.as_ref().map(|hire| hire_view(place, hire)),
    })
}

fn step_view(place: Place<'_>, application: ApplicationStatus, step: &CandidateStep) -> StepView {
    // A withdrawal does not change the status of a step, so a step can still be in progress.
    let has_ended_here = step.status == StepStatus::InProgress && application != ApplicationStatus::InProgress;
    let (status, class) = match has_ended_here {
        true => (labels::status(place.texts, application), "rejected"),
        false => (labels::step_status(place.texts, step.status), step.status.as_str()),
    };
    let when = |at| When::new(place.texts, place.zone, at, place.now);
    let reader = Reader { texts: place.texts, zone: place.zone, now: place.now };
    StepView {
        name: step.name.clone(),
        status,
        class,
        when: step.rejected_at.or(step.validated_at).map(when),
        reason: step.outcome_reason.as_deref().map(|reason| reader.reason(reason)),
        note: step.rejection_reason.clone().filter(|note| !note.trim().is_empty()),
    }
}

fn hire_view(place: Place<'_>, hire: &HireRecord) -> HireView {
    let day = |at: Timestamp| when::day(place.texts, place.zone, at);
    HireView {
        hired_on: day(hire.hired_date),
        accepted_on: hire.offer_accepted_date.map(day),
        position_code: hire.external_position_id.clone(),
        note: hire.notes.clone().filter(|note| !note.trim().is_empty()),
    }
}
