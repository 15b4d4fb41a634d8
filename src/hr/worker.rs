//! The delivery worker: polls the outbox, sends the due deliveries, one at a time for each organization, and records
//! each attempt.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::sync::{Notify, mpsc, oneshot, watch};
use tokio::task::{Id, JoinError, JoinSet};

use super::attempt;
use super::connection::Connector;
use super::network::DeliveryNetwork;
use super::settings::Settings;
use super::tls::Tls;
use crate::domain::hr_delivery::{self, AttemptOutcome, DeliveryAttempt};
use crate::domain::hr_dispatch;
use crate::domain::hr_integration::Integration;
use crate::domain::id::OrganizationId;
use crate::store::outbox::{self, Delivery};
use crate::store::{self, Error, Grade, Store};
use crate::telemetry::Telemetry;
use crate::world::World;

/// The interval at which the worker polls the outbox. Polling an empty outbox takes microseconds in a file,
/// and some round trips on PostgreSQL.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// The interval at which the worker checks for deliveries whose next attempt is later than the schedule allows. The
/// worker also checks immediately when the clock steps back by more than [`CLOCK_STEP_MIN`].
const DUE_TIME_CHECK_INTERVAL: Duration = Duration::from_secs(60);
const CLOCK_STEP_MIN: Duration = Duration::from_secs(1);

/// The pause after a failure to use the database, and after a panic.
const FAILURE_PAUSE: Duration = Duration::from_secs(5);

/// The maximum time that the worker waits for running attempts when the service stops. An interrupted delivery is sent
/// again.
const STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of threads for host lookups, which may hang. One thread for each concurrent attempt is enough,
/// because an organization's next attempt waits until the previous lookup has ended, for at most [`LOOKUP_WAIT_MAX`].
const LOOKUP_THREADS_MAX: usize = hr_dispatch::ATTEMPTS_MAX;

/// The maximum time that an organization's next attempt waits for the lookup of its previous attempt: longer than any
/// resolver keeps trying.
const LOOKUP_WAIT_MAX: Duration = Duration::from_secs(120);

/// The handle of the delivery thread. Dropping the handle stops the thread without waiting for it to end.
pub struct Worker {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts the delivery thread.
    ///
    /// # Errors
    /// Fails if the system cannot provide a thread or a runtime.
    pub fn start(
        store: Arc<Store>,
        world: Arc<dyn World>,
        telemetry: Arc<Telemetry>,
        network: Arc<dyn DeliveryNetwork>,
        settings: Settings,
    ) -> std::io::Result<Self> {
        let runtime = runtime_builder().enable_all().max_blocking_threads(LOOKUP_THREADS_MAX).build()?;
        let (stop, stopped) = watch::channel(false);
        let (tls, new_deliveries) = (Arc::default(), Notify::new());
        let deliveries = Arc::new(Deliveries { store, world, telemetry, network, settings, tls, new_deliveries });
        let run = move || {
            let run = || runtime.block_on(Arc::clone(&deliveries).run(stopped.clone()));
            while catch_unwind(AssertUnwindSafe(run)).is_err() {
                deliveries.log("the HR delivery worker panicked and is restarting; see the lines above");
                std::thread::sleep(FAILURE_PAUSE);
            }
            // This shutdown does not wait for host lookups that hang.
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new().name("hr".to_owned()).spawn(run)?;
        Ok(Self { stop, thread: Some(thread) })
    }

    /// Stops the thread and waits for it to end. The thread waits for running attempts for at most [`STOP_TIMEOUT`].
    /// When this function returns, the thread no longer uses the database.
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

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
    }
}

/// Returns the builder of the runtime, whose tasks run on the delivery thread.
#[cfg(not(feature = "postgres"))]
fn runtime_builder() -> Builder {
    Builder::new_current_thread()
}

/// Returns the builder of the runtime. A task that waits for a database server blocks its thread, and a current-thread
/// runtime does not allow such blocking.
#[cfg(feature = "postgres")]
fn runtime_builder() -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1);
    builder
}

/// The state that all attempts share.
struct Deliveries {
    store: Arc<Store>,
    world: Arc<dyn World>,
    telemetry: Arc<Telemetry>,
    network: Arc<dyn DeliveryNetwork>,
    settings: Settings,
    tls: Arc<Tls>,
    /// Wakes the delivery loop after the intake has added deliveries.
    new_deliveries: Notify,
}

/// A chosen organization with its first due delivery.
struct Dispatch {
    organization_id: OrganizationId,
    is_suspect: bool,
    delivery: Result<Option<(Delivery, Integration)>, Error>,
}

/// The organizations with a running attempt, and whether each is suspect, by the id of the attempt's task.
type RunningAttempts = HashMap<Id, (OrganizationId, bool)>;

impl Deliveries {
    async fn run(self: Arc<Self>, stopped: watch::Receiver<bool>) {
        tokio::select! {
            () = Arc::clone(&self).deliver(stopped) => {}
            () = self.run_intake() => {}
            () = self.correct_due_times() => {}
        }
    }

    /// Brings forward deliveries that were scheduled while the clock was ahead. Checks for such deliveries when the
    /// clock steps back, and every [`DUE_TIME_CHECK_INTERVAL`].
    async fn correct_due_times(&self) {
        let mut checked_at = None;
        let mut seen = (self.world.now(), self.world.monotonic());
        loop {
            let (wall, monotonic) = (self.world.now(), self.world.monotonic());
            let expected = seen.0.plus(monotonic.saturating_sub(seen.1));
            let has_stepped_back = wall.plus(CLOCK_STEP_MIN) < expected;
            seen = (wall, monotonic);
            let is_time = checked_at.is_none_or(|at| monotonic.saturating_sub(at) >= DUE_TIME_CHECK_INTERVAL);
            if has_stepped_back || is_time {
                checked_at = Some(monotonic);
                if let Err(error) = self.bring_forward().await {
                    self.log(&format!("postponed HR deliveries cannot be brought forward: {error}"));
                    checked_at = None;
                    tokio::time::sleep(FAILURE_PAUSE).await;
                }
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    async fn bring_forward(&self) -> Result<(), Error> {
        if !self.store.leads()? {
            return Ok(());
        }
        let postponed = self.store.read(|tx| outbox::postponed(tx, &self.settings.schedule))?;
        for chunk in postponed.chunks(outbox::TAKEN_IN_MAX) {
            let chunk = chunk.to_vec();
            self.write(move |tx| outbox::bring_forward(tx, &chunk)).await?;
        }
        if !postponed.is_empty() {
            let count = postponed.len();
            self.log(&format!("HR deliveries brought forward to the latest time that the schedule allows: {count}"));
        }
        Ok(())
    }

    /// Creates deliveries from at most [`outbox::TAKEN_IN_MAX`] decisions per poll, because requests that write must
    /// wait for the transaction.
    async fn run_intake(&self) {
        loop {
            let has_more = self.store.leads().and_then(|leads| Ok(leads && self.store.read(outbox::has_more)?));
            let outcome = match has_more {
                Ok(false) => {
                    self.store.health().report(store::HR_INTAKE, &Ok(()));
                    tokio::time::sleep(POLL_INTERVAL).await;
                    continue;
                }
                Ok(true) => self.write(|tx| outbox::take_in(tx, outbox::TAKEN_IN_MAX)).await,
                Err(error) => Err(error),
            };
            self.store.health().report(store::HR_INTAKE, &outcome);
            let pause = if outcome.is_ok() { POLL_INTERVAL } else { FAILURE_PAUSE };
            match outcome {
                Ok(()) => self.new_deliveries.notify_one(),
                Err(error) => self.log(&format!("decisions cannot be turned into HR deliveries: {error}")),
            }
            tokio::time::sleep(pause).await;
        }
    }

    async fn deliver(self: Arc<Self>, mut stopped: watch::Receiver<bool>) {
        let mut attempts = JoinSet::new();
        let mut running = RunningAttempts::new();
        while self.store.broken().is_none() {
            let dispatches = self.next_dispatches(&running);
            let poll_after = if dispatches.is_ok() { POLL_INTERVAL } else { FAILURE_PAUSE };
            for dispatch in dispatches.unwrap_or_default() {
                let busy = (dispatch.organization_id.clone(), dispatch.is_suspect);
                running.insert(attempts.spawn(Arc::clone(&self).dispatch(dispatch)).id(), busy);
            }
            tokio::select! {
                _ = stopped.changed() => break,
                Some(ended) = attempts.join_next_with_id() => {
                    self.finish_attempt(ended, &mut running, &mut attempts);
                    // Drain all ended attempts before the next poll, which reads every organization that has
                    // deliveries.
                    while let Some(ended) = attempts.try_join_next_with_id() {
                        self.finish_attempt(ended, &mut running, &mut attempts);
                    }
                }
                () = self.new_deliveries.notified() => {}
                () = tokio::time::sleep(poll_after) => {}
            }
        }
        let ended = async { while attempts.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(STOP_TIMEOUT, ended).await;
    }

    /// Makes the organization available for the next attempt. After a panic, the organization waits for
    /// [`FAILURE_PAUSE`] first: a task that only sleeps replaces the attempt.
    fn finish_attempt(
        &self,
        ended: Result<(Id, ()), JoinError>,
        running: &mut RunningAttempts,
        attempts: &mut JoinSet<()>,
    ) {
        let busy = running.remove(&ended.as_ref().map_or_else(JoinError::id, |(id, ())| *id));
        if let (Err(error), Some(busy)) = (ended, busy) {
            self.log(&format!("HR delivery of {}: the attempt panicked: {error}", busy.0));
            running.insert(attempts.spawn(tokio::time::sleep(FAILURE_PAUSE)).id(), busy);
        }
    }

    /// Chooses the next organizations and reads the first due delivery of each. This function reads the database on the
    /// delivery thread, because the read is short and no request runs on that thread.
    fn next_dispatches(&self, running: &RunningAttempts) -> Result<Vec<Dispatch>, Error> {
        let busy: HashSet<&OrganizationId> = running.values().map(|(busy, _)| busy).collect();
        let suspects = running.values().filter(|(_, is_suspect)| *is_suspect).count();
        // If it is unknown which server has the lease, this server sends nothing, because another server may be
        // delivering.
        let chosen = match self.store.leads() {
            Ok(true) => self.store.read(|tx| read_dispatches(tx, &busy, running.len(), suspects)),
            Ok(false) => return Ok(Vec::new()),
            Err(error) => Err(error),
        };
        self.store.health().report(store::HR_DELIVERY, &chosen);
        chosen.inspect_err(|error| self.log(&format!("due HR deliveries cannot be read: {error}")))
    }

    /// Makes one attempt and records it. Retries the recording until it succeeds, and sends no other delivery to the
    /// organization's HR system until then. If the worker went on without the record, a full disk would cause it to
    /// send the same delivery again and again.
    async fn dispatch(self: Arc<Self>, dispatch: Dispatch) {
        let unusable = |error: Error| {
            self.log(&format!("HR delivery of {}: the database cannot be used: {error}", dispatch.organization_id));
            tokio::time::sleep(FAILURE_PAUSE)
        };
        let (delivery, integration) = match dispatch.delivery {
            Ok(None) => return,
            Ok(Some(first_due)) => first_due,
            Err(error) => return unusable(error).await,
        };
        // Nothing is sent through the channel. It closes when the attempt and its lookup have ended.
        let (lookup_guard, mut lookup_ended) = mpsc::channel(1);
        let attempt = self.attempt(&integration, &delivery, lookup_guard).await;
        loop {
            let recorded = self.record(&delivery, &integration, &attempt).await;
            self.store.health().report(store::HR_RECORD, &recorded);
            match recorded {
                Ok(()) => break,
                Err(error) => unusable(error).await,
            }
        }
        // Without this wait, hanging lookups for one organization would use up the lookup threads of all organizations.
        let _ = tokio::time::timeout(LOOKUP_WAIT_MAX, lookup_ended.recv()).await;
    }

    async fn attempt(
        &self,
        integration: &Integration,
        delivery: &Delivery,
        lookup_guard: mpsc::Sender<Infallible>,
    ) -> DeliveryAttempt {
        let connector = Connector {
            network: Arc::clone(&self.network),
            tls: Arc::clone(&self.tls),
            allow_private_targets: self.settings.allow_private_targets,
            timeout: self.settings.timeout,
            lookup_guard,
        };
        attempt::make(&connector, integration, delivery, self.world.now()).await
    }

    /// Records an attempt with [`Grade::Logged`]. If a power cut destroys the record, the delivery is sent again.
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
        let job = move |tx: &store::Tx<'_>| outbox::record_attempt(tx, &delivery, &target, &attempt, &schedule, jitter);
        let next = self.write(job).await?;
        let (outcome, then) = next.map_or(("unwanted", "the delivery was no longer pending".to_owned()), describe);
        self.telemetry.hr_attempt(outcome);
        self.log(&format!("{line}; {then}"));
        Ok(())
    }

    async fn write<T: Send + 'static>(
        &self,
        job: impl FnMut(&store::Tx<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let (sender, receiver) = oneshot::channel();
        self.store.write(Grade::Logged, job, move |outcome| drop(sender.send(outcome)));
        receiver.await.unwrap_or_else(|_| Err(Error::Defect("a job was dropped".to_owned())))
    }

    fn log(&self, message: &str) {
        self.telemetry.note(self.world.now(), None, message);
    }
}

/// Reads the next dispatches for organizations that are not busy. `running` is the number of running attempts, and
/// `suspects` is the number of those for suspect organizations.
fn read_dispatches(
    tx: &store::Tx<'_>,
    busy: &HashSet<&OrganizationId>,
    running: usize,
    suspects: usize,
) -> Result<Vec<Dispatch>, Error> {
    let mut due = outbox::due(tx)?;
    due.retain(|organization| !busy.contains(&organization.organization_id));
    let chosen = hr_dispatch::next_organizations(due, running, suspects);
    let dispatches = chosen.into_iter().map(|organization| Dispatch {
        // A failure to read the delivery of one organization must not stop the deliveries of the others, so the
        // dispatch contains the result.
        delivery: first_due(tx, &organization.organization_id),
        organization_id: organization.organization_id,
        is_suspect: organization.is_suspect,
    });
    Ok(dispatches.collect())
}

fn first_due(tx: &store::Tx<'_>, organization: &OrganizationId) -> Result<Option<(Delivery, Integration)>, Error> {
    let Some((integration, _)) = store::hr_integration::find(tx, organization)? else { return Ok(None) };
    let delivery = outbox::first_due(tx, organization, integration.enabled)?;
    Ok(delivery.map(|delivery| (delivery, integration)))
}

/// Returns the state of the delivery after an attempt: its label in the metrics, and its description in the log.
fn describe(next: AttemptOutcome) -> (&'static str, String) {
    match next {
        AttemptOutcome::Delivered => ("delivered", "delivered".to_owned()),
        AttemptOutcome::Again(at) => ("again", format!("next attempt at {at}")),
        AttemptOutcome::Failed => ("failed", "failed; an admin can send it again".to_owned()),
        AttemptOutcome::Gone => ("gone", "the integration is disabled".to_owned()),
    }
}
