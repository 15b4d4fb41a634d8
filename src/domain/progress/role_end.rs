//! The end of a role as candidates with an application in progress see it: all positions are filled, or the role was
//! closed.
//!
//! Candidates see the end of a role after the same delay as a decision. A hire often fills the role, so a page that
//! showed the filled role before the hire would reveal the hire. The same applies to a closed role, because staff often
//! close a role right after a hire. Until the page shows the hire, it must not show that the role is closed.

use std::time::Duration;

use super::{Delay, Progress};
use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::role::RoleStatus;
use crate::domain::timestamp::Timestamp;
use crate::domain::words::words;

words! {
    /// The reason why a role no longer accepts applications.
    RoleEnd {
        /// All positions are filled.
        Filled = "filled",
        /// Staff closed the role, or the service closed it after its closing date.
        Closed = "closed",
    }
}

/// The status of a role, and the time at which it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoleState {
    pub status: RoleStatus,
    /// The time since which the role has been filled or closed; `None` for an open role or a draft, or if the time was
    /// not recorded. Staff made no hire for the role after this time, because they can hire only for an open role.
    pub ended_at: Option<Timestamp>,
}

/// Returns the end of the role that the candidate sees at the time `now`. Returns `None` if the role is a draft or
/// open, if its end is hidden or has no recorded time, or if the candidate sees an application that has ended.
/// `visible_after` is the minimum age of a visible decision. If it is `None`, the end is never visible.
///
/// The end of a role disappears as soon as the role is open again, because the portal shows the open role.
pub fn visible_role_end(
    role: RoleState,
    progress: &Progress,
    visible_after: Option<Duration>,
    now: Timestamp,
) -> Option<RoleEnd> {
    let end = match role.status {
        RoleStatus::Filled => RoleEnd::Filled,
        RoleStatus::Closed => RoleEnd::Closed,
        RoleStatus::Draft | RoleStatus::Open => return None,
    };
    let is_visible = role.ended_at.is_some_and(|at| !Delay { visible_after, now }.hides(at));
    (is_visible && progress.status == ApplicationStatus::InProgress).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const ENDED_AT: Timestamp = Timestamp::from_micros(1_000_000_000);

    fn end(status: RoleStatus, visible_after: Option<Duration>, age: Duration) -> Option<RoleEnd> {
        let progress = Progress::untouched(2, ApplicationStatus::InProgress);
        let ended_at = status.has_ended().then_some(ENDED_AT);
        visible_role_end(RoleState { status, ended_at }, &progress, visible_after, ENDED_AT.plus(age))
    }

    #[test]
    fn the_end_of_a_role_becomes_visible_at_the_minimum_age_of_a_visible_decision() {
        let (day, micro) = (24 * HOUR, Duration::from_micros(1));
        for (status, shown) in [
            (RoleStatus::Draft, None),
            (RoleStatus::Open, None),
            (RoleStatus::Filled, Some(RoleEnd::Filled)),
            (RoleStatus::Closed, Some(RoleEnd::Closed)),
        ] {
            for (visible_after, age, is_old_enough) in [
                (Some(Duration::ZERO), Duration::ZERO, true),
                (Some(day), Duration::ZERO, false),
                (Some(day), day - micro, false),
                (Some(day), day, true),
                (None, 10_000 * day, false),
            ] {
                let expected = shown.filter(|_| is_old_enough);
                assert_eq!(end(status, visible_after, age), expected, "{status:?} {visible_after:?} {age:?}");
            }
        }
    }

    #[test]
    fn only_candidates_with_an_application_in_progress_see_the_end_of_a_role() {
        let role = RoleState { status: RoleStatus::Closed, ended_at: Some(ENDED_AT) };
        for status in ApplicationStatus::WORDS.iter().filter_map(|word| ApplicationStatus::parse(word)) {
            let progress = Progress::untouched(2, status);
            let shown = visible_role_end(role, &progress, Some(Duration::ZERO), ENDED_AT);
            assert_eq!(shown.is_some(), status == ApplicationStatus::InProgress, "{status:?}");
        }
    }

    #[test]
    fn a_role_that_ended_at_an_unknown_time_has_no_visible_end() {
        let progress = Progress::untouched(1, ApplicationStatus::InProgress);
        let role = RoleState { status: RoleStatus::Filled, ended_at: None };
        assert_eq!(visible_role_end(role, &progress, Some(Duration::ZERO), ENDED_AT), None);
    }
}
