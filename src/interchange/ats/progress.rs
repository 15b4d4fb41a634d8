//! The progress of an imported application: its outcome, its step, and the time of the outcome.

use std::collections::HashMap;

use super::export::Export;
use super::model::{Application, Reason, StageMeaning, Status};
use super::planned_role::PlannedRole;
use crate::domain::candidate_step::HireRecord;
use crate::domain::timestamp::Timestamp;
use crate::interchange::addition::{ImportedProgress, ImportedRejection};

/// The outcome type of a rejection for which the system does not show who ended the application.
const UNKNOWN_SIDE: &str = "other";

impl Export {
    /// Derives the final status of an application from its reason and from the meaning of its stage. Removes a stage
    /// that is not a step. `outcomes` contains the meanings of all such stages.
    pub(super) fn settle(&self, application: &mut Application, outcomes: &HashMap<String, StageMeaning>) {
        let outcome = application.stage.as_ref().and_then(|stage| outcomes.get(&stage.id).copied());
        let is_hire = self.reason(application).is_hire;
        application.status = match (application.status, outcome) {
            (Status::Archived, _) if is_hire => Status::Hired,
            (Status::Archived, _) | (Status::Active, Some(StageMeaning::Rejected)) => Status::Rejected,
            (Status::Active, Some(StageMeaning::Hired)) => Status::Hired,
            (status, _) => status,
        };
        if outcome.is_some() {
            application.stage = None;
        }
    }

    /// Returns the reason why an application ended. If the application contains its own copy of the reason, the name
    /// and outcome type of the copy take precedence over those in the list of reasons. The reason means a hire if the
    /// copy or the list says so.
    fn reason(&self, application: &Application) -> Reason {
        let own = &application.reason;
        let known = application.reason_id.as_ref().and_then(|id| self.reasons.get(id)).cloned().unwrap_or_default();
        Reason {
            name: own.name.clone().or(known.name),
            outcome_type: own.outcome_type.or(known.outcome_type),
            is_hire: own.is_hire || known.is_hire,
        }
    }

    /// Returns the progress of a settled application at a step.
    pub(super) fn progress(
        &self,
        role: &PlannedRole,
        step: usize,
        application: &Application,
        now: Timestamp,
    ) -> ImportedProgress {
        match application.status {
            Status::Active => ImportedProgress::AtStep(step),
            Status::Withdrawn => ImportedProgress::Withdrawn(step),
            Status::Rejected | Status::Archived => {
                let reason = self.reason(application);
                let rejection = ImportedRejection {
                    at: application.ended_at.or(application.last_activity_at).unwrap_or(now),
                    reason: String::new(),
                    outcome_type: Some(reason.outcome_type.unwrap_or(UNKNOWN_SIDE).to_owned()),
                    outcome_reason: reason.name,
                };
                ImportedProgress::Rejected(step, rejection)
            }
            Status::Hired => ImportedProgress::Hired(self.hire(role, application, now)),
        }
    }

    fn hire(&self, role: &PlannedRole, application: &Application, now: Timestamp) -> HireRecord {
        // Prefer the time at which the opening closed, because that is the day of the hire. The offer was accepted a
        // little earlier.
        let opening = role.opening_of_application(&application.id);
        let offer = self.offers.get(&application.id);
        let accepted_at = offer.and_then(|offer| offer.accepted_at);
        let closed_at = opening.and_then(|opening| opening.closed_at);
        let last_activity = application.last_activity_at;
        let hired_date = closed_at.or(application.ended_at).or(accepted_at).or(last_activity).unwrap_or(now);
        let offered = offer.and_then(|offer| role.opening(offer.opening.as_deref()?));
        let code = opening.and_then(|opening| opening.code.clone());
        let code = code.or_else(|| offer.and_then(|offer| offer.code.clone()));
        HireRecord {
            hired_date,
            offer_accepted_date: accepted_at,
            external_position_id: code.or_else(|| offered.and_then(|opening| opening.code.clone())),
            notes: None,
        }
    }
}
