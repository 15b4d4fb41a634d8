//! The decisions of the bench. Each has an application, a kind and a key.

use serde_json::json;

use super::company::{self, APPLICATIONS, MEMBERS};
use super::exchange::post;
use super::random::Random;
use super::template::Key;

/// The notes of each decision.
pub(crate) const NOTES: &str = "Talked to three of the team; they agree.";
pub(crate) const OUTCOME_TYPE: &str = "rejected_by_organization";
pub(crate) const OUTCOME_REASON: &str = "preferred_another_candidate";

/// The order of the applications.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// In id order.
    OfIds,
    /// At random over all applications.
    Scattered,
}

/// The remaining decisions. The same order always gives the same decisions.
pub(crate) struct Decisions(std::vec::IntoIter<Decision>);

/// A decision on an application without an earlier decision.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decision {
    pub(crate) application: usize,
    pub(crate) is_hire: bool,
}

impl Decisions {
    pub(crate) fn new(order: Order) -> Self {
        let mut applications: Vec<usize> = (0..APPLICATIONS).collect();
        if let Order::Scattered = order {
            Random::new(1).shuffle(&mut applications);
        }
        // Rejections and hires alternate.
        let decisions = applications.into_iter().enumerate();
        let decisions = decisions.map(|(nth, application)| Decision { application, is_hire: nth % 2 == 1 });
        Self(decisions.collect::<Vec<_>>().into_iter())
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<Decision> {
        let decisions: Vec<_> = self.0.by_ref().take(count).collect();
        assert_eq!(decisions.len(), count, "enough applications are undecided");
        decisions
    }
}

impl Decision {
    /// Returns the index of the key that decides.
    pub(crate) fn key(self) -> usize {
        company::organization_of(self.application) * MEMBERS + self.application % MEMBERS
    }

    pub(crate) fn path(self) -> String {
        let word = if self.is_hire { "hire" } else { "reject" };
        format!("/api/v1/candidate-steps/{}/{word}", company::last_step_id(self.application))
    }

    pub(crate) fn request(self, keys: &[Key]) -> Vec<u8> {
        self.request_with(&keys[self.key()].text)
    }

    /// Returns the request with this key. The key's user must be allowed to decide.
    pub(crate) fn request_with(self, key: &str) -> Vec<u8> {
        let body = if self.is_hire {
            json!({ "notes": NOTES })
        } else {
            json!({ "outcomeNotes": NOTES, "outcomeType": OUTCOME_TYPE, "outcomeReason": OUTCOME_REASON })
        };
        post(&self.path(), key, &body.to_string())
    }
}
