//! The state of orders, for requests and metrics to read: the answers to challenges, and the number of failures.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::acme::Attempts;

/// The path below which an authority looks for the answer to a challenge (RFC 8555 §8.3).
const CHALLENGE_PATH: &str = "/.well-known/acme-challenge/";

#[derive(Default)]
pub(in crate::http) struct Orders {
    /// The answers to the challenges of the order in progress, by token. An order for one name has one challenge.
    challenges: Mutex<Vec<(String, String)>>,
    failures: AtomicU32,
}

impl Orders {
    /// Returns the answer to a challenge, or `None` if the path is not that of a challenge. The inner value is `None`
    /// for an unknown token.
    pub(in crate::http::server) fn answer(&self, path: &str) -> Option<Option<String>> {
        let token = path.strip_prefix(CHALLENGE_PATH)?;
        let challenges = self.challenges();
        Some(challenges.iter().find(|(known, _)| known == token).map(|(_, answer)| answer.clone()))
    }

    #[cfg(any(test, feature = "acme"))]
    pub(super) fn add(&self, token: &str, answer: &str) {
        self.challenges().push((token.to_owned(), answer.to_owned()));
    }

    pub(super) fn clear(&self) {
        self.challenges().clear();
    }

    pub(super) fn report(&self, attempts: &Attempts) {
        self.failures.store(attempts.failures, Ordering::Relaxed);
    }

    /// Returns the number of failed attempts since the last certificate.
    pub(in crate::http::server) fn failures(&self) -> u32 {
        self.failures.load(Ordering::Relaxed)
    }

    /// Returns whether so many attempts have failed that operators should act.
    pub(in crate::http::server) fn is_worrying(&self) -> bool {
        Attempts { failures: self.failures(), ..Attempts::default() }.is_worrying()
    }

    fn challenges(&self) -> MutexGuard<'_, Vec<(String, String)>> {
        self.challenges.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_tokens_have_an_answer() {
        let orders = Orders::default();
        orders.add("abc", "abc.thumb");
        let path = |token: &str| format!("{CHALLENGE_PATH}{token}");
        assert_eq!(orders.answer(&path("abc")), Some(Some("abc.thumb".to_owned())));
        for unknown in ["", "ab", "abc/", "../abc"] {
            assert_eq!(orders.answer(&path(unknown)), Some(None), "{unknown}");
        }
        assert_eq!(orders.answer("/careers/acme"), None);
        orders.clear();
        assert_eq!(orders.answer(&path("abc")), Some(None));
    }
}
