//! The forms with which staff decide on an application. `templates/console/decision/panel.html` renders them; it
//! expects a variable `panel`.

use jiff::ToSpan;
use jiff::civil::Date;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};

use crate::domain::candidate_step::{
    ApplicationStatus, CandidateStep, NOTES_CHARACTERS_MAX, OutcomeReason, StepStatus, current_step, state_name,
    step_after,
};
use crate::domain::due_day::DueDay;
use crate::domain::id::ApplicationId;
use crate::domain::later::DAYS_MAX;
use crate::http::pages::texts::console::decision::{DECISION, DecisionTexts};
use crate::http::pages::texts::console::later::{LATER, LaterTexts};
use crate::http::pages::texts::{Texts, fill};
use crate::store::access::VisibleOrganization;

/// The forms of one application.
pub(in crate::http::pages::console) struct DecisionPanel {
    pub(in crate::http::pages::console) words: &'static DecisionTexts,
    pub(in crate::http::pages::console) id: String,
    /// The path of the forms, without the name of the act.
    pub(in crate::http::pages::console) base: String,
    /// The state of the application that the page shows.
    pub(in crate::http::pages::console) seen: String,
    /// The path of the page to which the browser returns.
    pub(in crate::http::pages::console) back: String,
    pub(in crate::http::pages::console) may_decide: bool,
    /// Whether the controls have keyboard shortcuts. Only one panel of a page can have them.
    pub(in crate::http::pages::console) has_keys: bool,
    pub(in crate::http::pages::console) notes_max: usize,
    pub(in crate::http::pages::console) advance: Option<StepButton>,
    /// The URL of the page on which staff hire the candidate.
    pub(in crate::http::pages::console) hire_url: Option<String>,
    pub(in crate::http::pages::console) reject: Option<StepButton>,
    /// Whether the rejection reverses a hire.
    pub(in crate::http::pages::console) is_reversal: bool,
    pub(in crate::http::pages::console) reasons: Vec<ReasonOption>,
    pub(in crate::http::pages::console) moves: Vec<StepButton>,
    pub(in crate::http::pages::console) reopen: Vec<StepButton>,
    pub(in crate::http::pages::console) may_withdraw: bool,
    /// The form that puts the application aside; `None` if the application has ended, or if
    /// [`DecisionPanel::with_later`] has not added the form.
    pub(in crate::http::pages::console) later: Option<LaterPanel>,
}

/// The form that puts an application aside.
pub(in crate::http::pages::console) struct LaterPanel {
    pub(in crate::http::pages::console) words: &'static LaterTexts,
    pub(in crate::http::pages::console) days: Vec<DaysButton>,
    pub(in crate::http::pages::console) first_day: String,
    pub(in crate::http::pages::console) last_day: String,
    /// Whether the application has a later mark. The mark may be due.
    pub(in crate::http::pages::console) is_marked: bool,
}

/// A button that puts applications aside for a number of days.
pub(in crate::http::pages::console) struct DaysButton {
    /// The digit that chooses the button.
    pub(in crate::http::pages::console) key: usize,
    pub(in crate::http::pages::console) days: i64,
    pub(in crate::http::pages::console) label: &'static str,
}

/// The numbers of days for which the form has buttons.
const DAYS: [i64; 3] = [1, 3, 7];

impl LaterPanel {
    /// Creates the form. `today` is the current day in the organization's time zone.
    pub(in crate::http::pages::console) fn new(texts: &Texts, today: Date, due_on: Option<DueDay>) -> Self {
        let words = LATER.of(texts);
        let day = |days: i64| today.checked_add(days.days()).unwrap_or(today).to_string();
        let days = DAYS.into_iter().zip(words.days).zip(1..);
        Self {
            words,
            days: days.map(|((days, label), key)| DaysButton { key, days, label }).collect(),
            first_day: day(1),
            last_day: day(DAYS_MAX),
            is_marked: due_on.is_some(),
        }
    }
}

/// A button or an option for a step.
pub(in crate::http::pages::console) struct StepButton {
    pub(in crate::http::pages::console) id: String,
    pub(in crate::http::pages::console) label: String,
}

/// A documented reason for a rejection.
pub(in crate::http::pages::console) struct ReasonOption {
    /// The digit that chooses the reason.
    pub(in crate::http::pages::console) key: usize,
    pub(in crate::http::pages::console) value: &'static str,
    pub(in crate::http::pages::console) label: &'static str,
}

impl DecisionPanel {
    /// Returns the forms of an application. `back` is the path of the page to which the browser returns.
    pub(in crate::http::pages::console) fn new(
        texts: &'static Texts,
        organization: &VisibleOrganization,
        id: &ApplicationId,
        status: ApplicationStatus,
        steps: &[CandidateStep],
        back: &str,
    ) -> Self {
        let words = DECISION.of(texts);
        let button = |text, step: &CandidateStep| StepButton {
            id: step.id.to_string(),
            label: fill(text, &[("step", &step.name)]),
        };
        let current = current_step(status, steps);
        let is_reversal = status == ApplicationStatus::Hired;
        let rejected = if is_reversal { steps.last() } else { current };
        let reject_text = if is_reversal { words.reverse_button } else { words.reject_button };
        let base = format!("/app/{}/applications/{id}", organization.slug);
        let is_running = status == ApplicationStatus::InProgress;
        let others = steps.iter().filter(|step| is_running && current.is_none_or(|here| here.id != step.id));
        let is_reopenable =
            |step: &&CandidateStep| status == ApplicationStatus::NotSelected && step.status == StepStatus::Rejected;
        Self {
            words,
            id: id.to_string(),
            hire_url: (is_running && !steps.is_empty())
                .then(|| format!("{base}/hire?back={}", utf8_percent_encode(back, NON_ALPHANUMERIC))),
            base,
            seen: state_name(status, steps).to_owned(),
            back: back.to_owned(),
            may_decide: organization.caller.require_manager().is_ok(),
            has_keys: false,
            notes_max: NOTES_CHARACTERS_MAX,
            advance: current.zip(next_step(current, steps)).map(|(here, next)| StepButton {
                id: here.id.to_string(),
                label: fill(words.advance, &[("step", &next.name)]),
            }),
            reject: rejected.map(|step| button(reject_text, step)),
            is_reversal,
            reasons: reasons(words),
            moves: others.map(|step| button("{step}", step)).collect(),
            reopen: steps.iter().filter(is_reopenable).map(|step| button(words.reopen, step)).collect(),
            may_withdraw: is_running,
            later: None,
        }
    }

    /// Adds the form that puts the application aside, unless the application has ended. `today` is the current day in
    /// the organization's time zone, and `due_on` is the day of the later mark.
    pub(in crate::http::pages::console) fn with_later(
        self,
        texts: &'static Texts,
        today: Date,
        due_on: Option<DueDay>,
    ) -> Self {
        let later = self.may_withdraw.then(|| LaterPanel::new(texts, today, due_on));
        Self { later, ..self }
    }

    /// Adds keyboard shortcuts to the controls.
    pub(in crate::http::pages::console) fn with_keys(self) -> Self {
        Self { has_keys: true, ..self }
    }
}

/// Returns the step to which an advance moves the candidate, if there is one. Only a hire passes the final step.
fn next_step<'a>(current: Option<&CandidateStep>, steps: &'a [CandidateStep]) -> Option<&'a CandidateStep> {
    let here = current?;
    let index = steps.iter().position(|step| step.id == here.id)?;
    if index + 1 == steps.len() { None } else { step_after(steps, index).map(|next| &steps[next]) }
}

/// Returns the rejection reasons that the form offers: the first [`OutcomeReason::KEYS`], one for each digit.
pub(in crate::http::pages::console) fn reasons(words: &'static DecisionTexts) -> Vec<ReasonOption> {
    let reasons = OutcomeReason::WORDS.iter().zip(words.reasons).zip(1..).take(OutcomeReason::KEYS);
    reasons.map(|((value, label), key)| ReasonOption { key, value, label }).collect()
}
