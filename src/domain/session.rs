//! Sessions of signed-in browsers: their lifetime, and the origin of their requests.

use std::time::Duration;

use super::refusal::Refusal;
use super::timestamp::Timestamp;

/// The time after which an unused session ends.
pub const IDLE_MAX: Duration = Duration::from_secs(30 * 60);

/// The maximum duration of a session, counted from the sign-in.
pub const TOTAL_MAX: Duration = Duration::from_secs(12 * 60 * 60);

/// The minimum time between two writes of a session's last use, so that not every page causes a write.
pub const TOUCH_INTERVAL: Duration = Duration::from_secs(60);

/// Returns whether a session can still be used.
pub fn is_alive(created_at: Timestamp, last_seen_at: Timestamp, now: Timestamp) -> bool {
    now.since(created_at) < TOTAL_MAX && now.since(last_seen_at) < IDLE_MAX
}

/// The rule of [`is_alive`] as bounds, for a query over all sessions. A session has ended if the time of its creation
/// or of its last request is at or before the corresponding bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedBounds {
    /// The bound on the time of creation.
    pub created_at: Timestamp,
    /// The bound on the time of the last request.
    pub last_seen_at: Timestamp,
}

impl EndedBounds {
    /// Returns the bounds at this time.
    pub fn at(now: Timestamp) -> Self {
        Self { created_at: now.minus(TOTAL_MAX), last_seen_at: now.minus(IDLE_MAX) }
    }
}

/// The header fields that state a request's origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestOrigin<'a> {
    /// `Sec-Fetch-Site`, which browsers set and pages cannot set.
    pub sec_fetch_site: Option<&'a str>,
    /// `Origin`, for browsers that do not send `Sec-Fetch-Site`.
    pub origin: Option<&'a str>,
}

impl RequestOrigin<'_> {
    /// Returns whether the request states its origin.
    pub fn is_stated(&self) -> bool {
        self.sec_fetch_site.is_some() || self.origin.is_some()
    }

    /// Succeeds if the request comes from the service's own pages. This function checks `Sec-Fetch-Site` or, if that
    /// field is absent, `Origin`.
    ///
    /// # Errors
    /// `forbidden` if the request comes from another origin, or has neither field. The refusal is
    /// [`Refusal::OtherOrigin`] if `Origin` was checked and is an http or https URL.
    pub fn require_same(&self, own_origin: &str) -> Result<(), Refusal> {
        let same = match (self.sec_fetch_site, self.origin) {
            (Some(site), _) => site == "same-origin",
            (None, Some(origin)) => origin.eq_ignore_ascii_case(own_origin),
            (None, None) => false,
        };
        match self.origin {
            _ if same => Ok(()),
            Some(page) if self.sec_fetch_site.is_none() && page.starts_with("http") => {
                Err(Refusal::OtherOrigin { page: page.to_owned(), own: own_origin.to_owned() })
            }
            _ => Err(Refusal::Forbidden("a session's request must come from this service's own pages")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_ends_after_30_idle_minutes_and_after_12_hours() {
        let created_at = Timestamp::from_micros(0);
        let at = |seconds| created_at.plus(Duration::from_secs(seconds));
        assert!(is_alive(created_at, created_at, at(1_799)));
        assert!(!is_alive(created_at, created_at, at(1_800)));
        assert!(is_alive(created_at, at(43_000), at(43_199)));
        assert!(!is_alive(created_at, at(43_000), at(43_200)));
    }

    #[test]
    fn the_bounds_of_ended_sessions_agree_with_the_rule() {
        let now = Timestamp::from_micros(1_000_000_000_000);
        let bounds = EndedBounds::at(now);
        let next = |at: Timestamp| at.plus(Duration::from_micros(1));
        assert!(is_alive(next(bounds.created_at), next(bounds.last_seen_at), now));
        assert!(!is_alive(bounds.created_at, next(bounds.last_seen_at), now));
        assert!(!is_alive(next(bounds.created_at), bounds.last_seen_at, now));
    }

    #[test]
    fn only_requests_that_state_the_same_origin_are_accepted() {
        let own = "https://jobs.example.com";
        let is_accepted = |sec_fetch_site, origin| RequestOrigin { sec_fetch_site, origin }.require_same(own).is_ok();
        assert!(is_accepted(Some("same-origin"), None));
        assert!(is_accepted(None, Some("https://jobs.example.com")));
        for site in ["cross-site", "same-site", "none", ""] {
            assert!(!is_accepted(Some(site), Some(own)), "{site}");
        }
        assert!(!is_accepted(None, Some("https://evil.example")));
        assert!(!is_accepted(None, Some("null")));
        assert!(!is_accepted(None, None));
    }
}
