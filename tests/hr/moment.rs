//! When the service is killed: by whoever sees the moment come, so that the kill is as close to it as it can be.

use std::sync::{Condvar, Mutex};

use crate::service::{PATIENCE, Victim};

/// What has just happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Moment {
    /// A decision was sent and has no answer yet.
    Asked,
    /// A decision was answered, so its message has just been queued.
    Decided,
    /// The receiver has a message and has not answered yet.
    Taken,
    /// The receiver has just answered that it accepts a message, which the service has to record.
    Accepted,
}

/// All of them, in the order of the rounds.
pub(crate) const MOMENTS: [Moment; 4] = [Moment::Asked, Moment::Taken, Moment::Decided, Moment::Accepted];

/// Kills when the moment has come.
#[derive(Default)]
pub(crate) struct Trigger {
    armed: Mutex<Option<Armed>>,
    sprung: Condvar,
}

struct Armed {
    moment: Moment,
    /// How many of these moments are let pass.
    skipped: usize,
    victim: Victim,
}

impl Trigger {
    /// From now on this moment is waited for.
    pub(crate) fn arm(&self, moment: Moment, skipped: usize, victim: Victim) {
        *self.armed.lock().unwrap() = Some(Armed { moment, skipped, victim });
    }

    /// It is this moment now.
    pub(crate) fn at(&self, moment: Moment) {
        let mut armed = self.armed.lock().unwrap();
        let Some(waiting) = armed.as_mut().filter(|armed| armed.moment == moment) else { return };
        if waiting.skipped > 0 {
            waiting.skipped -= 1;
            return;
        }
        waiting.victim.lock().unwrap().kill().unwrap();
        *armed = None;
        self.sprung.notify_all();
    }

    /// Waits until the moment has come.
    #[track_caller]
    pub(crate) fn wait(&self) {
        let armed = self.armed.lock().unwrap();
        let waited = self.sprung.wait_timeout_while(armed, PATIENCE, |armed| armed.is_some()).unwrap();
        let still = waited.0.as_ref().map(|armed| armed.moment);
        assert!(still.is_none(), "{still:?} never came");
    }
}
