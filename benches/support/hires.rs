//! The slowdown that a hanging HR system causes for hires. The bench alternates between services with and without that
//! system.

use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::client::{Client, Request};
use super::company::{Deployment, Organization};
use super::figures::{Figures, verdict};
use super::receiver::Hanging;

/// The minimum and the maximum number of rounds. After the minimum, a new round begins only while time is left.
const ROUNDS_MIN: usize = 7;
const ROUNDS_MAX: usize = 18;
const TIME: Duration = Duration::from_secs(110);

const HIRES: usize = 1_000;
const HIRES_BEFORE: usize = 200;

/// The number of connections in the second mode.
const CONNECTIONS: usize = 64;

/// The number of parts in a round, by mode. The services alternate between parts, so that other load on the machine
/// affects all of them.
const PARTS: [usize; 2] = [5, 1];

/// The pause between parts. It is long enough that a checkpoint of one service does not slow down the next service.
const PAUSE: Duration = Duration::from_millis(300);

/// The target: the maximum ratio of the time for hires to the time without an integration.
const RATIO_MAX: f64 = 1.1;

/// Two identical services, whose difference is the noise, and the service with the hanging target.
const NAMES: [&str; 3] = ["no integration", "no integration, another", "target hangs"];
const MODES: [&str; 2] = ["one after another", "64 connections at once"];

/// Every order of the three services. The rounds use these orders in turn.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// The measured times, by mode.
pub(crate) struct Hires([Times; 2]);

/// The times of all rounds, by service. For each service, `by_round` is the median of the ratios of its rounds to the
/// rounds of the first service.
struct Times {
    figures: [Figures; 3],
    by_round: [f64; 3],
}

struct Contender {
    deployment: Deployment,
    organization: Organization,
}

/// Runs the measurement.
pub(crate) fn measure() -> Hires {
    let hanging = Hanging::start();
    let applications = MODES.len() * (HIRES_BEFORE + ROUNDS_MAX * HIRES);
    let mut contenders = [None, None, Some(hanging.address)].map(|target| {
        let organization = Organization::new("org_0", applications, target);
        Contender { deployment: Deployment::with(&[&organization]), organization }
    });
    for contender in &mut contenders {
        contender.hire_one_after_another(HIRES_BEFORE);
        contender.hire_at_once(HIRES_BEFORE);
    }
    let began = Instant::now();
    let mut times = [const { Vec::new() }; 2];
    for round in 0..ROUNDS_MAX {
        if round >= ROUNDS_MIN && began.elapsed() > TIME {
            break;
        }
        let order = ORDERS[round % ORDERS.len()];
        for (mode, times) in times.iter_mut().enumerate() {
            let mut sums = [Duration::ZERO; 3];
            for _ in 0..PARTS[mode] {
                for index in order {
                    std::thread::sleep(PAUSE);
                    sums[index] += match mode {
                        0 => contenders[index].hire_one_after_another(HIRES / PARTS[mode]),
                        _ => contenders[index].hire_at_once(HIRES / PARTS[mode]),
                    };
                }
            }
            times.push(sums);
        }
    }
    let [.., measured] = &contenders;
    let is_everything_pending = || measured.pending() as usize == measured.organization.taken();
    assert!(eventually(is_everything_pending), "the deliveries of all hires wait for the hanging target");
    assert!(hanging.accepted() > 0, "the service connected to the hanging target");
    Hires(times.map(|rounds| Times::new(&rounds)))
}

impl Times {
    fn new(rounds: &[[Duration; 3]]) -> Self {
        let of = |index: usize| rounds.iter().map(|round| round[index]).collect();
        let ratio = |index: usize| {
            let ratios = rounds.iter().map(|round| round[index].div_duration_f64(round[0]));
            let mut ratios: Vec<f64> = ratios.collect();
            ratios.sort_by(f64::total_cmp);
            f64::midpoint(ratios[(ratios.len() - 1) / 2], ratios[ratios.len() / 2])
        };
        Self { figures: [0, 1, 2].map(|index| Figures::new(of(index))), by_round: [0, 1, 2].map(ratio) }
    }
}

impl Contender {
    fn requests(&mut self, count: usize) -> Vec<Request> {
        (0..count).map(|_| self.deployment.hire(&mut self.organization).0).collect()
    }

    /// Hires candidates on one connection, each after the answer to the previous hire.
    fn hire_one_after_another(&mut self, count: usize) -> Duration {
        let requests = self.requests(count);
        let mut client = Client::connect(self.deployment.service.address).unwrap();
        let began = Instant::now();
        for request in &requests {
            client.ask(request).unwrap().expect(200);
        }
        began.elapsed()
    }

    /// Hires candidates on many connections, with one request in progress on each.
    fn hire_at_once(&mut self, count: usize) -> Duration {
        let requests = self.requests(count);
        let (next, ready) = (AtomicUsize::new(0), Barrier::new(CONNECTIONS + 1));
        let work = || {
            let mut client = Client::connect(self.deployment.service.address).unwrap();
            ready.wait();
            while let Some(request) = requests.get(next.fetch_add(1, Ordering::Relaxed)) {
                client.ask(request).unwrap().expect(200);
            }
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> = (0..CONNECTIONS).map(|_| scope.spawn(work)).collect();
            ready.wait();
            let began = Instant::now();
            for worker in workers {
                worker.join().unwrap();
            }
            began.elapsed()
        })
    }

    /// Returns the number of pending deliveries in the file. The service queues them a moment after the hire.
    fn pending(&self) -> u32 {
        let sql = "SELECT count(*) FROM hr_deliveries WHERE state = 'pending'";
        let file = Connection::open(&self.deployment.db).unwrap();
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Waits up to ten seconds for a condition and returns whether it holds.
fn eventually(mut holds: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if holds() {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    false
}

impl Hires {
    pub(crate) fn json(&self) -> Value {
        let modes = MODES.iter().zip(&self.0).map(|(mode, Times { figures, by_round })| {
            let [base, another, measured] = figures;
            let seconds: Map<_, _> =
                NAMES.iter().zip(figures).map(|(name, one)| ((*name).to_owned(), one.json())).collect();
            json!({
                "mode": mode,
                "hires": HIRES,
                "seconds": seconds,
                "noise": another.ratio(base),
                "ratio": measured.ratio(base),
                "noiseByRound": by_round[1],
                "ratioByRound": by_round[2],
                "ratioMax": RATIO_MAX,
                "met": measured.ratio(base) <= RATIO_MAX,
            })
        });
        modes.collect()
    }
}

impl fmt::Display for Hires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.0[0].figures[0].count();
        let heading = format!("{HIRES} hires, {rounds} rounds");
        writeln!(f, "{heading:<28}{:>10}{:>10}{:>10}{:>8}{:>10}  target", "median", "min", "max", "ratio", "by round")?;
        for (mode, Times { figures, by_round }) in MODES.iter().zip(&self.0) {
            writeln!(f, "{mode}")?;
            for (index, (name, one)) in NAMES.iter().zip(figures).enumerate() {
                let [median, min, max] = [one.median(), one.min(), one.max()].map(|one| one.as_secs_f64() * 1e3);
                let ratio = one.ratio(&figures[0]);
                let verdict = format!("{RATIO_MAX}: {}", verdict(ratio <= RATIO_MAX));
                let words = ["", "the noise", &verdict][index];
                write!(f, "  {name:<26}{median:>7.0} ms{min:>7.0} ms{max:>7.0} ms{ratio:>8.3}")?;
                writeln!(f, "{:>10.3}  {words}", by_round[index])?;
            }
        }
        Ok(())
    }
}
