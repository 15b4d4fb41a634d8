//! Refused keys and failed sign-ins. The service counts the refusals of each key, by reason, and the failed sign-ins of
//! each user. It records each count as platform activity at most once an hour. The counts are in memory, so that most
//! refusals cost no write. When the service stops, it writes the remaining counts.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;

use super::activity;
use crate::db::job::Grade;
use crate::db::scheduler::Step;
use crate::db::tx::{Error, Tx};
use crate::db::writer::Writer;
use crate::domain::activity::Action;
use crate::domain::api_key::KeyRefusal;
use crate::domain::id::{ApiKeyId, UserId};
use crate::domain::tally::Tally;
use crate::world::World;

/// A refused key or a failed sign-in. Only existing keys and users have counts, so the number of keys and users bounds
/// the memory.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Refused {
    /// A key that exists but is not valid.
    ApiKey(ApiKeyId, KeyRefusal),
    /// A failed sign-in to a user's account.
    SignIn(UserId),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Detail<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    api_key_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    count: u64,
}

impl Refused {
    fn record(&self, tx: &Tx<'_>, world: &dyn World, count: u64) -> Result<(), Error> {
        let (action, detail) = match self {
            Self::ApiKey(id, why) => {
                let (api_key_id, reason) = (Some(id.as_str()), Some(why.as_str()));
                (Action::ApiKeyRefused, Detail { api_key_id, user_id: None, reason, count })
            }
            Self::SignIn(user) => {
                let user_id = Some(user.as_str());
                (Action::SignInFailed, Detail { api_key_id: None, user_id, reason: None, count })
            }
        };
        activity::platform::record(tx, &activity::stamp(world), None, action, &None::<()>, &detail)
    }
}

/// The counts of refusals, which the service records as platform activity.
pub(super) struct RefusalLog {
    tallies: Mutex<HashMap<Refused, Tally>>,
    writer: Arc<Writer>,
    world: Arc<dyn World>,
}

impl RefusalLog {
    pub(super) fn new(writer: Arc<Writer>, world: Arc<dyn World>) -> Arc<Self> {
        Arc::new(Self { tallies: Mutex::default(), writer, world })
    }

    /// Prepares the background job that queues the writes of the due counts. It does not wait for their commits.
    pub(super) fn job_step(self: &Arc<Self>) -> Step {
        let log = Arc::clone(self);
        Box::new(move || {
            log.write_due();
            None
        })
    }

    /// Counts a refusal.
    pub(super) fn note(self: &Arc<Self>, refused: Refused) {
        let now = self.world.monotonic();
        let count = self.lock().entry(refused.clone()).or_default().add(now);
        if let Some(count) = count {
            self.write(refused, count);
        }
    }

    fn write_due(self: &Arc<Self>) {
        let now = self.world.monotonic();
        let mut tallies = self.lock();
        let due = |(refused, tally): (&Refused, &mut Tally)| Some((refused.clone(), tally.due(now)?));
        let due: Vec<(Refused, u64)> = tallies.iter_mut().filter_map(due).collect();
        tallies.retain(|_, tally| !tally.is_idle(now));
        drop(tallies);
        due.into_iter().for_each(|(refused, count)| self.write(refused, count));
    }

    /// Queues the writes of all remaining counts when the service stops.
    pub(super) fn write_rest(self: &Arc<Self>) {
        let mut tallies = self.lock();
        let rest: Vec<(Refused, u64)> =
            tallies.iter_mut().filter_map(|(refused, tally)| Some((refused.clone(), tally.rest()?))).collect();
        drop(tallies);
        rest.into_iter().for_each(|(refused, count)| self.write(refused, count));
    }

    /// Queues the write of a count. The write is not fsynced, so that a stranger with a revoked key cannot keep the
    /// disk busy.
    fn write(self: &Arc<Self>, refused: Refused, count: u64) {
        let (world, subject) = (Arc::clone(&self.world), refused.clone());
        let job = move |tx: &Tx<'_>| subject.record(tx, world.as_ref(), count);
        let log = Arc::clone(self);
        self.writer.submit(Grade::Logged, job, move |outcome| {
            if outcome.is_err() {
                log.lock().entry(refused).or_default().restore(count);
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Refused, Tally>> {
        self.tallies.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
