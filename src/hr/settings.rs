//! Settings for deliveries to HR systems.

use std::time::Duration;

use crate::domain::hr_delivery::RetrySchedule;

/// Settings for the delivery worker, from the options of `serve`.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The delays between attempts.
    pub schedule: RetrySchedule,
    /// The time limit of an attempt, from the host lookup to the end of the response.
    pub timeout: Duration,
    /// Whether deliveries may go to private and other special addresses.
    pub allow_private_targets: bool,
}
