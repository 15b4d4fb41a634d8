//! Decisions: on which application, which, and by whom.

use serde_json::json;

use super::company::{self, APPLICATIONS, MEMBERS};
use super::exchange::post;
use super::random::Random;
use super::template::Key;

/// What is noted with each.
pub(crate) const NOTES: &str = "Talked to three of the team; they agree.";
pub(crate) const OUTCOME_TYPE: &str = "rejected_by_organization";
pub(crate) const OUTCOME_REASON: &str = "preferred_another_candidate";

/// Which application is next.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Order {
    /// Each behind the one before.
    OfIds,
    /// At random over all of them.
    Scattered,
}

/// Decisions that were not made yet: the same ones for whoever has the same order.
pub(crate) struct Decisions(std::vec::IntoIter<Decision>);

/// A decision on an application that nobody has decided on.
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
        // Reject and hire in turn.
        let decisions = applications.into_iter().enumerate();
        let decisions = decisions.map(|(nth, application)| Decision { application, is_hire: nth % 2 == 1 });
        Self(decisions.collect::<Vec<_>>().into_iter())
    }

    pub(crate) fn take(&mut self, count: usize) -> Vec<Decision> {
        let decisions: Vec<_> = self.0.by_ref().take(count).collect();
        assert_eq!(decisions.len(), count, "every decision has a fresh application");
        decisions
    }
}

impl Decision {
    /// The key that it is made with: its place among those of all members.
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

    /// With the text of any key whose user may decide.
    pub(crate) fn request_with(self, key: &str) -> Vec<u8> {
        let body = if self.is_hire {
            json!({ "notes": NOTES })
        } else {
            json!({ "outcomeNotes": NOTES, "outcomeType": OUTCOME_TYPE, "outcomeReason": OUTCOME_REASON })
        };
        post(&self.path(), key, &body.to_string())
    }
}
