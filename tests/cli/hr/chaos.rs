//! Hires while the service and the HR system are killed and the HR system behaves randomly.

use std::sync::Arc;

use super::admin::Admin;
use super::fixture::Fixture;
use super::kill_point::{KILL_POINTS, KillPoint, Trigger};
use super::ledger::Ledger;
use super::load::Load;
use super::random::RandomNumbers;
use super::receiver::{Behaviour, Receiver, wait_until};
use super::service::{Service, run};
use crate::rounds::rounds;

/// The number of rounds. The service is killed in each round.
const ROUNDS: usize = rounds(8, 20);

/// The number of hires that clients request in each round. Kills prevent some of them, but all rounds of the long form
/// together still make at least 200 hires.
const HIRES: usize = 14;

/// The seed of the random numbers.
const SEED: u64 = 20_261_121;

/// The retry schedule. It is long enough that most deliveries outlast a kill, and short enough that some deliveries
/// fail.
const SCHEDULE: &str = "50ms,50ms,100ms,100ms,150ms,150ms,200ms,200ms,250ms,250ms,300ms,500ms";

/// A service that is killed and started again on one file.
struct Chaos {
    fixture: Arc<Fixture>,
    service: Option<Service>,
    receiver: Receiver,
    trigger: Arc<Trigger>,
    load: Load,
    random: RandomNumbers,
    /// The log lines of all runs of the service.
    log: String,
    starts: usize,
}

impl Chaos {
    fn begin(hires: usize) -> Self {
        // The fixture has twice as many applications, because the hires are not distributed evenly over the
        // organizations.
        let fixture = Arc::new(Fixture::with(2 * hires));
        let trigger = Arc::new(Trigger::default());
        let load = Load::start(&fixture, &trigger);
        let receiver = Receiver::with(Arc::clone(&trigger));
        let (random, log) = (RandomNumbers::new(SEED), String::new());
        let mut chaos = Self { fixture, service: None, receiver, trigger, load, random, log, starts: 0 };
        chaos.start();
        chaos
    }

    /// Starts the service, alternately with the text log and the JSON log.
    fn start(&mut self) {
        let format = if self.starts.is_multiple_of(2) { "text" } else { "json" };
        let timing = ["--hr-retry-schedule", SCHEDULE, "--hr-timeout", "500ms", "--log-format", format];
        let service = Service::start(&self.fixture.db, &[&timing[..], &["--allow-private-hr-targets"]].concat());
        self.load.set_service_address(Some(service.address));
        self.service = Some(service);
        self.starts += 1;
    }

    fn admin(&self) -> Admin {
        Admin::new(&self.fixture, self.service.as_ref().unwrap().address)
    }

    /// Waits until at most this many deliveries are pending and not held.
    fn await_pending_at_most(&self, left: usize) {
        let admin = self.admin();
        wait_until("most deliveries are done", || {
            let pending = admin.deliveries("state=pending&limit=100");
            (pending.iter().filter(|delivery| delivery["held"].is_null()).count() <= left).then_some(())
        });
    }

    /// Kills the service at the kill point of the round, while deliveries are in progress, and starts it again. In
    /// every fourth round, the receiver goes down under load before the kill, and listens again after the restart.
    fn round(&mut self, round: usize) {
        self.await_pending_at_most(HIRES / 2);
        let point = KILL_POINTS[round % KILL_POINTS.len()];
        let is_receiver_killed = point == KillPoint::Decided;
        let hires_before = if is_receiver_killed { HIRES / 2 } else { 0 };
        if is_receiver_killed {
            let arrived = self.receiver.arrivals().len();
            self.load.allow(hires_before);
            self.receiver.wait_for(arrived + 1 + self.random.below(3));
            self.receiver.down();
        }
        let process = self.service.as_ref().unwrap().process();
        self.trigger.arm(point, self.random.below(HIRES / 2), process);
        self.load.allow(HIRES - hires_before);
        self.trigger.wait();
        self.load.set_service_address(None);
        self.end(Service::require_killed);
        self.start();
        if is_receiver_killed {
            self.receiver.up();
        }
    }

    fn end(&mut self, end: impl FnOnce(&mut Service)) {
        let mut service = self.service.take().unwrap();
        end(&mut service);
        self.log.push_str(&String::from_utf8_lossy(&service.log()));
    }

    /// Retries failed deliveries until all have arrived. Returns the number of retries.
    fn settle(&self) -> usize {
        let mut retries = 0;
        let admin = self.admin();
        wait_until("no delivery is pending or failed", || {
            // Pending deliveries are read first, because they can fail before the second request. Failed deliveries
            // stay failed.
            let pending = admin.deliveries("state=pending&limit=1");
            let failed = admin.deliveries("state=failed&limit=100");
            failed.iter().for_each(|delivery| admin.retry(delivery));
            retries += failed.len();
            (pending.is_empty() && failed.is_empty()).then_some(())
        });
        retries
    }
}

#[test]
fn every_hire_arrives_in_order_under_one_id_despite_kills() {
    let mut chaos = Chaos::begin(HIRES * ROUNDS);
    let fixture = Arc::clone(&chaos.fixture);
    let secrets = chaos.admin().connect(&fixture, "http", &chaos.receiver);
    chaos.receiver.behave_randomly(RandomNumbers::new(SEED + 1));
    (0..ROUNDS).for_each(|round| chaos.round(round));
    let fates = chaos.load.finish();
    chaos.await_pending_at_most(0);
    chaos.receiver.set_behaviour(Behaviour::Accept);
    let retries = chaos.settle();
    chaos.end(Service::terminate);
    let (arrivals, tally) = (chaos.receiver.arrivals(), chaos.receiver.tally());
    println!("{retries} manual retries; the receiver: {tally:?}");
    run(&["check", "--db", fixture.db()]);
    let ledger = Ledger::read(&fixture.db, &fates, &arrivals);
    // A kill interrupts at most one attempt of each organization.
    let findings = ledger.findings(ROUNDS * fixture.organizations().len());
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert_eq!(fates.len(), HIRES * ROUNDS);
    assert!(retries > 0, "no delivery exhausted its schedule");
    assert_eq!(tally.len(), 6, "the receiver showed each random behaviour: {tally:?}");
    ledger.require_variety();
    fixture.require_no_private_text(&chaos.log, &secrets);
}
