//! The documented values of `outcomeType` and `outcomeReason`. Rejections accept other values too. The console offers
//! only documented values.

use crate::domain::words::words;

words! {
    /// The party that ended an application.
    OutcomeType {
        /// The organization decided.
        RejectedByOrganization = "rejected_by_organization",
        /// The candidate decided.
        RejectedByCandidate = "rejected_by_candidate",
        /// Neither the organization nor the candidate decided, or the party is unknown.
        Other = "other",
    }
}

words! {
    /// The reason why an application ended. The order never changes, because the keyboard shortcut of each of the first
    /// [`OutcomeReason::KEYS`] reasons is its position.
    OutcomeReason {
        /// The candidate lacks skills that the role needs.
        LackingSkills = "lacking_skills",
        /// The candidate lacks experience that the role needs.
        LackingExperience = "lacking_experience",
        /// The organization prefers another candidate.
        PreferredAnotherCandidate = "preferred_another_candidate",
        /// The role no longer has a free position.
        RoleFilled = "role_filled",
        /// The candidate and the organization do not agree on the salary.
        SalaryExpectations = "salary_expectations",
        /// The candidate accepted an offer from another organization.
        AcceptedOtherOffer = "accepted_other_offer",
        /// The candidate declined the organization's offer.
        DeclinedOffer = "declined_offer",
        /// The candidate does not answer.
        NoResponse = "no_response",
        /// Anything else.
        Other = "other",
        /// The organization closed the role. The console offers this reason only when a role is closed out.
        RoleClosed = "role_closed",
    }
}

impl OutcomeReason {
    /// The number of reasons that the console offers for a rejection, except when a role is closed out. Each has a
    /// digit as its key.
    pub const KEYS: usize = 9;

    /// The reasons that the console offers when a role is closed out.
    pub const OF_ROLE_END: [Self; 4] =
        [Self::RoleFilled, Self::RoleClosed, Self::PreferredAnotherCandidate, Self::Other];

    /// Returns the party that ends an application for this reason.
    pub fn outcome_type(self) -> OutcomeType {
        match self {
            Self::LackingSkills
            | Self::LackingExperience
            | Self::PreferredAnotherCandidate
            | Self::RoleFilled
            | Self::RoleClosed
            | Self::SalaryExpectations => OutcomeType::RejectedByOrganization,
            Self::AcceptedOtherOffer | Self::DeclinedOffer | Self::NoResponse => OutcomeType::RejectedByCandidate,
            Self::Other => OutcomeType::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_the_type_of_its_party() {
        for (reason, outcome_type) in [
            ("lacking_skills", "rejected_by_organization"),
            ("lacking_experience", "rejected_by_organization"),
            ("preferred_another_candidate", "rejected_by_organization"),
            ("role_filled", "rejected_by_organization"),
            ("role_closed", "rejected_by_organization"),
            ("salary_expectations", "rejected_by_organization"),
            ("accepted_other_offer", "rejected_by_candidate"),
            ("declined_offer", "rejected_by_candidate"),
            ("no_response", "rejected_by_candidate"),
            ("other", "other"),
        ] {
            assert_eq!(OutcomeReason::parse(reason).unwrap().outcome_type().as_str(), outcome_type, "{reason}");
        }
        assert_eq!(OutcomeReason::WORDS[OutcomeReason::KEYS - 1], "other", "a new reason has no key");
    }
}
