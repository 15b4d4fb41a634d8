//! Deferred erasures: candidates ask for their erasure while a hire is hidden from them. The service erases them after
//! they can see the hire, or after staff have reversed it.
//!
//! An immediate erasure would remove somebody whom staff have hired. A refusal would reveal the hire to the candidate.

use std::time::Duration;

use crate::domain::candidate_step::ApplicationStatus;
use crate::domain::progress::{self, ApplicationHistory};
use crate::domain::timestamp::Timestamp;

/// Returns whether any of these applications has a hire that its candidate cannot see yet. The status page shows a hire
/// after `visible_after_hours`, or never if this value is `None`.
pub fn has_hidden_hire(applications: &[ApplicationHistory], visible_after_hours: Option<u32>, now: Timestamp) -> bool {
    let delay = visible_after_hours.map(|hours| Duration::from_secs(u64::from(hours) * 3_600));
    let is_hidden = |history: &ApplicationHistory| {
        history.now.status == ApplicationStatus::Hired
            && progress::visible_progress(history, None, delay, now).status != ApplicationStatus::Hired
    };
    applications.iter().any(is_hidden)
}

/// Returns whether a deferred erasure is due. An erasure cannot be undone, so every hire is treated as hidden while the
/// clock is in doubt. A hire that staff have reversed never defers the erasure.
pub fn is_due(
    applications: &[ApplicationHistory],
    visible_after_hours: Option<u32>,
    is_clock_in_doubt: bool,
    now: Timestamp,
) -> bool {
    !has_hidden_hire(applications, visible_after_hours.filter(|_| !is_clock_in_doubt), now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::candidate_step::{ActKind, PastAct};
    use crate::domain::progress::ApplicationState;

    const HOUR: i64 = 3_600_000_000;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_micros(hours * HOUR)
    }

    fn application(status: ApplicationStatus, acts: Vec<PastAct>) -> ApplicationHistory {
        ApplicationHistory { now: ApplicationState { status, steps: Vec::new() }, acts }
    }

    fn act(act: ActKind, hours: i64, before: ApplicationStatus, after: ApplicationStatus) -> PastAct {
        PastAct {
            act,
            at: at(hours),
            step: None,
            status_before: before,
            status_after: after,
            steps_before: Vec::new(),
            steps_after: Vec::new(),
            later_before: None,
        }
    }

    #[test]
    fn a_deferred_erasure_waits_until_no_hire_is_hidden() {
        use ApplicationStatus::{Hired, InProgress, NotSelected};
        let running = || application(InProgress, Vec::new());
        let hired = || application(Hired, vec![act(ActKind::Hired, 10, InProgress, Hired)]);
        let reversed = || {
            let acts = vec![act(ActKind::Hired, 10, InProgress, Hired), act(ActKind::Rejected, 11, Hired, NotSelected)];
            application(NotSelected, acts)
        };
        for (applications, visible_after_hours, in_doubt, now, expected) in [
            (vec![], Some(72), false, 0, true),
            (vec![running()], Some(72), false, 12, true),
            (vec![hired()], Some(72), false, 12, false),
            (vec![hired()], Some(72), false, 81, false),
            (vec![hired()], Some(72), false, 82, true),
            (vec![hired()], Some(0), false, 10, true),
            (vec![hired()], None, false, 10_000, false),
            (vec![hired()], Some(72), true, 82, false),
            (vec![reversed()], Some(72), false, 12, true),
            (vec![reversed()], Some(72), true, 12, true),
            (vec![running(), hired()], Some(72), false, 12, false),
        ] {
            let is_due = is_due(&applications, visible_after_hours, in_doubt, at(now));
            assert_eq!(is_due, expected, "{visible_after_hours:?} {in_doubt} {now} {applications:?}");
        }
    }
}
