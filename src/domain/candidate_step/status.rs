//! The statuses of an application and of its steps.

use crate::domain::words::words;

words! {
    /// The status of a candidate step.
    StepStatus {
        /// The step is still ahead of the candidate.
        Pending = "pending",
        /// The candidate is at the step.
        InProgress = "in_progress",
        /// The candidate passed the step.
        Validated = "validated",
        /// The candidate was rejected at the step.
        Rejected = "rejected",
        /// The candidate went on to a later step, or was hired, without a decision on this step.
        Skipped = "skipped",
    }
}

words! {
    /// The status of an application.
    ApplicationStatus {
        /// The application has not ended.
        InProgress = "In Progress",
        /// Staff rejected the candidate at a step.
        NotSelected = "Not Selected",
        /// Staff hired the candidate.
        Hired = "Hired",
        /// The application was withdrawn.
        Withdrawn = "Withdrawn",
    }
}
