//! The points at which a test kills the service. The test's thread that reaches such a point also kills the service, so
//! that the kill follows the event closely.

use std::sync::{Condvar, Mutex};

use super::service::{PATIENCE, ServiceProcess};

/// An event at which a test can kill the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KillPoint {
    /// A client has sent a decision and has no answer yet.
    Sent,
    /// The service has answered a decision, so it owes the message.
    Decided,
    /// The receiver has a message and has not answered yet.
    Taken,
    /// The receiver has just accepted a message, and the service must still record this.
    Accepted,
}

/// All points, in the order of the rounds.
pub(crate) const KILL_POINTS: [KillPoint; 4] =
    [KillPoint::Sent, KillPoint::Taken, KillPoint::Decided, KillPoint::Accepted];

/// A trigger that kills the service at a kill point.
#[derive(Default)]
pub(crate) struct Trigger {
    armed: Mutex<Option<ArmedKill>>,
    sprung: Condvar,
}

struct ArmedKill {
    point: KillPoint,
    /// The number of occurrences of the point that are ignored before the kill.
    skipped: usize,
    process: ServiceProcess,
}

impl Trigger {
    /// Arms the trigger for this point.
    pub(crate) fn arm(&self, point: KillPoint, skipped: usize, process: ServiceProcess) {
        *self.armed.lock().unwrap() = Some(ArmedKill { point, skipped, process });
    }

    /// Reports that a thread has reached this point.
    pub(crate) fn reached(&self, point: KillPoint) {
        let mut armed = self.armed.lock().unwrap();
        let Some(waiting) = armed.as_mut().filter(|armed| armed.point == point) else { return };
        if waiting.skipped > 0 {
            waiting.skipped -= 1;
            return;
        }
        waiting.process.lock().unwrap().kill().unwrap();
        *armed = None;
        self.sprung.notify_all();
    }

    /// Waits until the service has been killed.
    #[track_caller]
    pub(crate) fn wait(&self) {
        let armed = self.armed.lock().unwrap();
        let waited = self.sprung.wait_timeout_while(armed, PATIENCE, |armed| armed.is_some()).unwrap();
        let still = waited.0.as_ref().map(|armed| armed.point);
        assert!(still.is_none(), "{still:?} was not reached");
    }
}
