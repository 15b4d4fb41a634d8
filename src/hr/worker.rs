//! The worker: looks what is due, lets each organization's turn come, records what came of each attempt.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::attempt;
use super::connection::Route;
use super::tls::Tls;
use super::{Network, Settings};
use crate::domain::hr_delivery::{self, AttemptOutcome, DeliveryAttempt};
use crate::domain::hr_dispatch;
use crate::domain::hr_integration::Integration;
use crate::domain::id::OrganizationId;
use crate::store::health::Job;
use crate::store::outbox::{self, Delivery};
use crate::store::{self, Error, Grade, Store};
use crate::telemetry::Telemetry;
use crate::world::World;

/// How often the worker looks what is due. One look at an outbox with nothing in it takes microseconds.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often it is looked whether a delivery waits for longer than the schedule allows, where the clock goes as it should; and
/// how far back it has to step to be seen.
const TIMES_EVERY: Duration = Duration::from_secs(60);
const STEP_BACK: Duration = Duration::from_secs(1);

/// How long to wait after the file could not be used, or an attempt ended in a defect.
const FILE_PAUSE: Duration = Duration::from_secs(5);

/// How long attempts under way may take to end once the service is told to stop. What is cut off is sent again.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Threads that look up hosts, which may hang: as many as attempts at once, for an organization's turn ends only when
/// its look-up has.
const LOOK_UP_THREADS_MAX: usize = hr_dispatch::ATTEMPTS_MAX;

/// How long that is waited for: longer than any resolver tries.
const LOOK_UP_WAIT: Duration = Duration::from_secs(120);

/// The thread that delivers, for as long as this is there.
pub struct Worker {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts delivering.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(
        store: Arc<Store>,
        world: Arc<dyn World>,
        telemetry: Arc<Telemetry>,
        network: Arc<dyn Network>,
        settings: Settings,
    ) -> std::io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(LOOK_UP_THREADS_MAX)
            .build()?;
        let (stop, stopped) = watch::channel(false);
        let (tls, taken_up) = (Arc::default(), Notify::new());
        let deliveries = Arc::new(Deliveries { store, world, telemetry, network, settings, tls, taken_up });
        let run = move || {
            let run = || runtime.block_on(Arc::clone(&deliveries).run(stopped.clone()));
            while catch_unwind(AssertUnwindSafe(run)).is_err() {
                deliveries.note(
                    "deliveries to HR systems ended in a panic, and begin again; its place is in the lines above",
                );
                std::thread::sleep(FILE_PAUSE);
            }
            // A look-up that hangs is not waited for.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("hr".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops: attempts under way have 5 s to end. Afterwards nothing of it uses the file any more.
    pub async fn stop(mut self) {
        let _ = self.stop.send(true);
        let Some(thread) = self.thread.take() else { return };
        let (ended, end) = oneshot::channel::<()>();
        std::thread::spawn(move || {
            let _ = thread.join();
            drop(ended);
        });
        let _ = end.await;
    }
}

/// A worker that is dropped stops too, and nobody waits for it.
impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}

/// What an attempt works with.
struct Deliveries {
    store: Arc<Store>,
    world: Arc<dyn World>,
    telemetry: Arc<Telemetry>,
    network: Arc<dyn Network>,
    settings: Settings,
    tls: Arc<Tls>,
    /// There are messages that were not there at the last look.
    taken_up: Notify,
}

/// A delivery whose turn it is, and where it goes.
struct Turn {
    organization_id: OrganizationId,
    is_suspect: bool,
    found: Result<Option<(Delivery, Integration)>, Error>,
}

/// The organizations with an attempt under way, and whether each is suspect, by the task that makes it.
type UnderWay = HashMap<Id, (OrganizationId, bool)>;

impl Deliveries {
    async fn run(self: Arc<Self>, stopped: watch::Receiver<bool>) {
        tokio::select! {
            () = Arc::clone(&self).deliver(stopped) => {}
            () = self.take_up() => {}
            () = self.keep_times() => {}
        }
    }

    /// Brings forward what a clock that was once ahead has put off: when the clock goes back, and now and then.
    async fn keep_times(&self) {
        let mut looked_at = None;
        let mut seen = (self.world.now(), self.world.monotonic());
        loop {
            let (wall, monotonic) = (self.world.now(), self.world.monotonic());
            let expected = seen.0.plus(monotonic.saturating_sub(seen.1));
            let has_stepped_back = wall.plus(STEP_BACK) < expected;
            seen = (wall, monotonic);
            if has_stepped_back || looked_at.is_none_or(|at| monotonic.saturating_sub(at) >= TIMES_EVERY) {
                looked_at = Some(monotonic);
                if let Err(error) = self.bring_forward().await {
                    self.note(&format!("what HR systems are owed cannot be brought forward: {error}"));
                    looked_at = None;
                    tokio::time::sleep(FILE_PAUSE).await;
                }
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn bring_forward(&self) -> Result<(), Error> {
        let late = self.store.read(|tx| outbox::late(tx, &self.settings.schedule))?;
        for some in late.chunks(outbox::TAKEN_UP_MAX) {
            let some = some.to_vec();
            self.written(move |tx| outbox::bring_forward(tx, &some)).await?;
        }
        if !late.is_empty() {
            let count = late.len();
            self.note(&format!(
                "{count} HR deliveries waited for longer than the schedule allows, and are brought forward"
            ));
        }
        Ok(())
    }

    /// Makes messages of what was decided. Only now and then, and not too many at once: who decides meanwhile waits.
    async fn take_up(&self) {
        loop {
            let taken = match self.store.read(outbox::has_more) {
                Ok(false) => {
                    self.store.health().report(Job::HrIntake, &Ok(()));
                    tokio::time::sleep(LOOK_EVERY).await;
                    continue;
                }
                Ok(true) => self.written(|tx| outbox::take_up(tx, outbox::TAKEN_UP_MAX)).await,
                Err(error) => Err(error),
            };
            self.store.health().report(Job::HrIntake, &taken);
            let pause = if taken.is_ok() { LOOK_EVERY } else { FILE_PAUSE };
            match taken {
                Ok(()) => self.taken_up.notify_one(),
                Err(error) => self.note(&format!("what HR systems are owed cannot be taken up: {error}")),
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn deliver(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let mut attempts = JoinSet::new();
        let mut under_way = UnderWay::new();
        while self.store.broken().is_none() {
            let turns = self.turns(&under_way);
            let look_after = if turns.is_ok() { LOOK_EVERY } else { FILE_PAUSE };
            for turn in turns.unwrap_or_default() {
                let busy = (turn.organization_id.clone(), turn.is_suspect);
                under_way.insert(attempts.spawn(Arc::clone(&self).take(turn)).id(), busy);
            }
            tokio::select! {
                _ = stopped.changed() => break,
                Some(ended) = attempts.join_next_with_id() => {
                    self.settle(ended, &mut under_way, &mut attempts);
                    // Everything that has ended, before the next look: each looks at every organization that is owed.
                    while let Some(ended) = attempts.try_join_next_with_id() {
                        self.settle(ended, &mut under_way, &mut attempts);
                    }
                }
                () = self.taken_up.notified() => {}
                () = tokio::time::sleep(look_after) => {}
            }
        }
        let ended = async { while attempts.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_TIMEOUT, ended).await;
    }

    /// The organization's next turn may come; after a defect not at once.
    fn settle(&self, ended: Result<(Id, ()), JoinError>, under_way: &mut UnderWay, attempts: &mut JoinSet<()>) {
        let busy = under_way.remove(&ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id));
        if let (Err(error), Some(busy)) = (ended, busy) {
            self.note(&format!("HR delivery of {}: the attempt ended in a defect: {error}", busy.0));
            under_way.insert(attempts.spawn(tokio::time::sleep(FILE_PAUSE)).id(), busy);
        }
    }

    /// Whose turn it is. Reading takes microseconds on this thread, which has nothing else to answer.
    fn turns(&self, under_way: &UnderWay) -> Result<Vec<Turn>, Error> {
        let busy: HashSet<&OrganizationId> = under_way.values().map(|(busy, _)| busy).collect();
        let suspects = under_way.values().filter(|(_, is_suspect)| *is_suspect).count();
        let looked = self.store.read(|tx| {
            let mut due = outbox::due(tx)?;
            due.retain(|one| !busy.contains(&one.organization_id));
            let chosen = hr_dispatch::next_organizations(due, under_way.len(), suspects);
            let turns = chosen.into_iter().map(|one| Turn {
                // What cannot be read of one organization keeps nobody else's turn from coming.
                found: found(tx, &one.organization_id),
                organization_id: one.organization_id,
                is_suspect: one.is_suspect,
            });
            Ok(turns.collect())
        });
        self.store.health().report(Job::HrDelivery, &looked);
        looked.inspect_err(|error| self.note(&format!("what is due for HR systems cannot be read: {error}")))
    }

    /// One turn: an attempt, and its record. What cannot be recorded now is recorded later, and nothing else is sent to
    /// the organization until then: a full disk must not send the same message again and again.
    async fn take(self: Arc<Self>, turn: Turn) {
        let unusable = |error: Error| {
            self.note(&format!("HR delivery of {}: the file cannot be used: {error}", turn.organization_id));
            tokio::time::sleep(FILE_PAUSE)
        };
        let (delivery, integration) = match turn.found {
            Ok(None) => return,
            Ok(Some(found)) => found,
            Err(error) => return unusable(error).await,
        };
        // Nothing is ever sent over it: it closes when the look-up has ended.
        let (look_up, mut look_up_ended) = mpsc::channel(1);
        let attempt = self.attempt(&integration, &delivery, look_up).await;
        loop {
            let recorded = self.record(&delivery, &integration, &attempt).await;
            self.store.health().report(Job::HrRecord, &recorded);
            match recorded {
                Ok(()) => break,
                Err(error) => unusable(error).await,
            }
        }
        // Otherwise the threads of look-ups that hang would add up until none is left for anybody.
        let _ = tokio::time::timeout(LOOK_UP_WAIT, look_up_ended.recv()).await;
    }

    async fn attempt(
        &self,
        integration: &Integration,
        delivery: &Delivery,
        look_up: mpsc::Sender<Infallible>,
    ) -> DeliveryAttempt {
        let route = Route {
            network: Arc::clone(&self.network),
            tls: Arc::clone(&self.tls),
            allow_private_targets: self.settings.allow_private_targets,
            timeout: self.settings.timeout,
            look_up,
        };
        attempt::make(&route, integration, delivery, self.world.now()).await
    }

    /// Records an attempt. It is with the operating system before the organization's next turn: a power cut may lose
    /// it, and then the message is sent once more.
    async fn record(
        &self,
        delivery: &Delivery,
        integration: &Integration,
        attempt: &DeliveryAttempt,
    ) -> Result<(), Error> {
        let outcome = hr_delivery::describe_outcome(attempt.status, attempt.error.as_deref());
        let line = format!("HR delivery {} of {}: {outcome}", delivery.id, delivery.organization_id);
        let mut jitter = [0; 2];
        self.world.fill(&mut jitter);
        let (target, schedule) = (integration.url.as_str().to_owned(), self.settings.schedule.clone());
        let jitter = u16::from_be_bytes(jitter);
        let (delivery, attempt) = (delivery.clone(), attempt.clone());
        let job = move |tx: &store::Tx<'_>| outbox::record(tx, &delivery, &target, &attempt, &schedule, jitter);
        let next = self.written(job).await?;
        let (outcome, then) = next.map_or(("unwanted", "it was not pending any more".to_owned()), told);
        self.telemetry.hr_attempt(outcome);
        self.note(&format!("{line}; {then}"));
        Ok(())
    }

    async fn written<T: Send + 'static>(
        &self,
        job: impl FnMut(&store::Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = oneshot::channel();
        self.store.write(Grade::Logged, job, move |outcome| drop(sender.send(outcome)));
        receiver.await.unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
    }

    fn note(&self, message: &str) {
        self.telemetry.note(self.world.now(), None, message);
    }
}

fn found(tx: &store::Tx<'_>, organization: &OrganizationId) -> Result<Option<(Delivery, Integration)>, Error> {
    let Some((integration, _)) = store::hr_integration::find(tx, organization)? else { return Ok(None) };
    let delivery = outbox::first_due(tx, organization, integration.enabled)?;
    Ok(delivery.map(|delivery| (delivery, integration)))
}

/// What an attempt made of its delivery: the word that it is counted by, and the words for the log.
fn told(next: AttemptOutcome) -> (&'static str, String) {
    match next {
        AttemptOutcome::Delivered => ("delivered", "delivered".to_owned()),
        AttemptOutcome::Again(at) => ("again", format!("next attempt at {at}")),
        AttemptOutcome::Failed => ("failed", "failed, until an admin sends it again".to_owned()),
        AttemptOutcome::Gone => ("gone", "the integration is disabled".to_owned()),
    }
}
