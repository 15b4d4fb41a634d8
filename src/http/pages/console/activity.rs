//! Activity rows as the console shows them: what happened, who did it and how, and when.

use serde_json::Value;

use super::when::When;
use crate::domain::candidate_step::OutcomeReason;
use crate::domain::id::CandidateStepId;
use crate::domain::timestamp::Timestamp;
use crate::http::pages::texts::console::activity::{ACTIVITY, label};
use crate::http::pages::texts::console::decision::DECISION;
use crate::http::pages::texts::{Texts, fill};
use crate::store::activity::Activity;

/// An activity row in the words of the page.
pub(super) struct ActivityRow {
    pub(super) what: String,
    pub(super) who: String,
    /// The kind of credential with which the user acted; `None` if no user acted.
    pub(super) how: Option<&'static str>,
    pub(super) when: When,
    /// The reasons and notes of the user.
    pub(super) remarks: Vec<String>,
}

/// The language, the time zone and the current time of a page with activity.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) texts: &'static Texts,
    /// The IANA time zone of the organization.
    pub(super) zone: &'a str,
    pub(super) now: Timestamp,
}

/// Returns whether a row without a user was written for an act of the candidate, and not of the service.
pub(super) fn is_by_candidate(action: &str) -> bool {
    const ACTS: [&str; 5] = ["signed_up", "signed_up_again", "withdrawn", "asked", "signup_deleted"];
    ACTS.iter().any(|act| action.ends_with(act))
}

impl Reader<'_> {
    /// Converts an activity row to the form that the page shows. `step_name` returns the name of a candidate step, or
    /// `None` if the step no longer exists.
    pub(super) fn row(
        self,
        activity: &Activity,
        step_name: impl Fn(&CandidateStepId) -> Option<String>,
    ) -> ActivityRow {
        let words = ACTIVITY.of(self.texts);
        let step = activity.candidate_role_step_id.as_ref().and_then(step_name);
        let step = step.unwrap_or_else(|| words.a_step.to_owned());
        let who = match &activity.actor {
            Some(actor) => actor.name.clone(),
            None if is_by_candidate(&activity.action) => words.candidate.to_owned(),
            None => words.service.to_owned(),
        };
        let how = if activity.api_key_id.is_some() { words.with_key } else { words.in_browser };
        ActivityRow {
            what: fill(label(self.texts.tag, &activity.action), &[("step", &step)]),
            who,
            how: activity.actor.as_ref().map(|_| how),
            when: When::new(self.texts, self.zone, activity.at, self.now),
            remarks: self.remarks(activity),
        }
    }

    fn remarks(self, activity: &Activity) -> Vec<String> {
        let detail: Option<Value> = activity.detail.as_ref().and_then(|text| serde_json::from_str(text).ok());
        let Some(after) = detail.as_ref().and_then(|detail| detail.get("after")) else { return Vec::new() };
        let step_id = activity.candidate_role_step_id.as_ref().map(CandidateStepId::as_str);
        let steps = after.get("steps").and_then(Value::as_array);
        let step = steps.and_then(|steps| steps.iter().find(|step| step.get("id").and_then(Value::as_str) == step_id));
        let text = |value: Option<&Value>, name| Some(value?.get(name)?.as_str()?.to_owned());
        let remarks = [
            text(step, "outcomeReason").map(|reason| self.reason(&reason)),
            text(step, "rejectionReason"),
            text(Some(after), "outcomeNotes"),
            text(Some(after), "reason").filter(|_| activity.action.starts_with("candidate_")),
        ];
        remarks.into_iter().flatten().filter(|remark| !remark.trim().is_empty()).collect()
    }

    /// Returns the label of a documented reason, or the reason as the caller wrote it.
    pub(super) fn reason(self, reason: &str) -> String {
        let position = OutcomeReason::WORDS.iter().position(|word| *word == reason);
        position.map_or(reason, |position| DECISION.of(self.texts).reasons[position]).to_owned()
    }
}
