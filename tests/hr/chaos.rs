//! Hires under `kill -9`, of the service and of the HR system, which does anything besides.

use std::sync::Arc;

use crate::admin::Admin;
use crate::dice::Dice;
use crate::ledger::Ledger;
use crate::load::Load;
use crate::moment::{MOMENTS, Moment, Trigger};
use crate::receiver::{Behaviour, Receiver, until};
use crate::service::{Service, run};
use crate::setting::Setting;

/// How often the service is killed when `APPLIANCE_CRASH_ROUNDS` does not say.
const ROUNDS: usize = 20;

/// Hires of each round that are asked for, so that 200 are made in the end, though some are lost with a kill.
const HIRES: usize = 14;

/// What the dice begin with.
const SEED: u64 = 20_261_121;

/// Attempts go on long enough to outlive a kill, and end soon enough that some deliveries fail.
const SCHEDULE: &str = "50ms,50ms,100ms,100ms,150ms,150ms,200ms,200ms,250ms,250ms,300ms,500ms";

/// A service on a file, killed and started again.
struct Chaos {
    setting: Arc<Setting>,
    service: Option<Service>,
    receiver: Receiver,
    trigger: Arc<Trigger>,
    load: Load,
    dice: Dice,
    /// What all services wrote.
    log: String,
    starts: usize,
}

impl Chaos {
    fn begin(hires: usize) -> Self {
        // Twice as many, for the organizations do not get the same number of hires.
        let setting = Arc::new(Setting::with(2 * hires));
        let trigger = Arc::new(Trigger::default());
        let load = Load::start(&setting, &trigger);
        let receiver = Receiver::with(Arc::clone(&trigger));
        let (dice, log) = (Dice::new(SEED), String::new());
        let mut chaos = Self { setting, service: None, receiver, trigger, load, dice, log, starts: 0 };
        chaos.start();
        chaos
    }

    /// Starts the service, with the one form of the log and the other in turn.
    fn start(&mut self) {
        let format = if self.starts.is_multiple_of(2) { "text" } else { "json" };
        let timing = ["--hr-retry-schedule", SCHEDULE, "--hr-timeout", "500ms", "--log-format", format];
        let service = Service::start(&self.setting.db, &[&timing[..], &["--allow-private-hr-targets"]].concat());
        self.load.service_is_at(Some(service.address));
        self.service = Some(service);
        self.starts += 1;
    }

    fn admin(&self) -> Admin {
        Admin::new(&self.setting, self.service.as_ref().unwrap().address)
    }

    /// Lets the service deliver until so many deliveries are left that nothing holds.
    fn work_off(&self, left: usize) {
        let admin = self.admin();
        until("most is worked off", || {
            let pending = admin.deliveries("state=pending&limit=100");
            (pending.iter().filter(|delivery| delivery["held"].is_null()).count() <= left).then_some(())
        });
    }

    /// Kills the service at the round's moment, with work under way, and starts it again; in every fourth round the
    /// receiver is killed before, while it is in use, and comes back after.
    fn round(&mut self, round: usize) {
        self.work_off(HIRES / 2);
        let moment = MOMENTS[round % MOMENTS.len()];
        let is_receiver_killed = moment == Moment::Decided;
        let hires_before = if is_receiver_killed { HIRES / 2 } else { 0 };
        if is_receiver_killed {
            let came = self.receiver.arrivals().len();
            self.load.allow(hires_before);
            self.receiver.wait_for(came + 1 + self.dice.below(3));
            self.receiver.down();
        }
        let victim = self.service.as_ref().unwrap().victim();
        self.trigger.arm(moment, self.dice.below(HIRES / 2), victim);
        self.load.allow(HIRES - hires_before);
        self.trigger.wait();
        self.load.service_is_at(None);
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

    /// Waits until all has arrived, with an admin who sends again what failed. How often that was.
    fn settle(&self) -> usize {
        let mut retries = 0;
        let admin = self.admin();
        until("nothing is pending or failed", || {
            // In this order: what was pending may have failed by now, and what failed stays so.
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
fn every_hire_arrives_in_order_under_one_id_whoever_is_killed_when() {
    let rounds = std::env::var("APPLIANCE_CRASH_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut chaos = Chaos::begin(HIRES * rounds);
    let setting = Arc::clone(&chaos.setting);
    let secrets = chaos.admin().connect(&setting, "http", &chaos.receiver);
    chaos.receiver.goes_wild(Dice::new(SEED + 1));
    (0..rounds).for_each(|round| chaos.round(round));
    let fates = chaos.load.finish();
    chaos.work_off(0);
    chaos.receiver.will(Behaviour::Accept);
    let retries = chaos.settle();
    chaos.end(Service::terminate);
    let (arrivals, tally) = (chaos.receiver.arrivals(), chaos.receiver.tally());
    println!("{retries} sent again by hand; the receiver: {tally:?}");
    run(&["check", "--db", setting.db()]);
    let ledger = Ledger::read(&setting.db, &fates, &arrivals);
    // A kill cuts off one attempt of each organization at most.
    let findings = ledger.findings(rounds * setting.organizations().len());
    assert!(findings.is_empty(), "{} findings:\n{}", findings.len(), findings.join("\n"));
    assert_eq!(fates.len(), HIRES * rounds);
    assert!(retries > 0, "no delivery used up its schedule");
    assert_eq!(tally.len(), 6, "everything that a wild receiver does: {tally:?}");
    ledger.require_variety();
    setting.require_discreet(&chaos.log, &secrets);
}
