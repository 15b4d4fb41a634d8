//! The state of orders in JSON: the attempts, the name and the authority that they were for, and the last failure. The
//! state survives restarts, so that a restart causes no extra attempt.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::AcmeSettings;
use crate::domain::acme::Attempts;
use crate::domain::timestamp::{Rounding, Timestamp};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct State {
    directory: String,
    domain: String,
    failures: u32,
    failed_at: Option<String>,
    delay_seconds: u64,
    not_before: Option<String>,
    ordered_at: Option<String>,
    /// The directory of the authority that issued the stored certificate.
    pub(super) ordered_from: Option<String>,
    /// The reason why the last attempt failed, with advice if there is any; `None` if it did not fail.
    pub(super) last_failure: Option<String>,
}

impl State {
    pub(super) fn new(
        settings: &AcmeSettings,
        attempts: &Attempts,
        ordered_from: Option<String>,
        last_failure: Option<String>,
    ) -> Self {
        let text = |time: Option<Timestamp>| time.map(|time| time.to_string());
        Self {
            directory: settings.directory.clone(),
            domain: settings.domain.as_str().to_owned(),
            failures: attempts.failures,
            failed_at: text(attempts.failed_at),
            delay_seconds: attempts.delay.as_secs(),
            not_before: text(attempts.not_before),
            ordered_at: text(attempts.ordered_at),
            ordered_from,
            last_failure,
        }
    }

    /// Returns whether the attempts were for the name and the authority of these settings. If an operator has changed
    /// one of them, the delays begin again.
    pub(super) fn is_of(&self, settings: &AcmeSettings) -> bool {
        self.directory == settings.directory && self.domain == settings.domain.as_str()
    }

    /// Returns the attempts. A time that cannot be read counts as absent.
    pub(super) fn attempts(&self) -> Attempts {
        let time = |text: &Option<String>| Timestamp::parse(text.as_deref()?, Rounding::Down);
        Attempts {
            failures: self.failures,
            failed_at: time(&self.failed_at),
            delay: Duration::from_secs(self.delay_seconds),
            not_before: time(&self.not_before),
            ordered_at: time(&self.ordered_at),
        }
    }
}
