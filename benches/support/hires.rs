//! What an HR system that hangs costs a hire: services side by side, with it and without one.

use std::fmt;
use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Map, Value, json};

use super::client::{Client, Request};
use super::company::{Organization, Place};
use super::figures::{Figures, verdict};
use super::receiver::Hanging;

/// What is to be measured at least, and at most while there is time left.
const ROUNDS_MIN: usize = 7;
const ROUNDS_MAX: usize = 18;
const TIME: Duration = Duration::from_secs(110);

const HIRES: usize = 1_000;
const HIRES_BEFORE: usize = 200;

/// Of the second way.
const CONNECTIONS: usize = 64;

/// Turns that a round is taken in, by way, so that what else the machine does meets all services alike.
const TURNS: [usize; 2] = [5, 1];

/// Between turns: long enough that a service's checkpoint is not paid for by the next one's turn.
const PAUSE: Duration = Duration::from_millis(300);

/// How many times as long as without an integration hires may take.
const RATIO_MAX: f64 = 1.1;

/// Two alike, by which the noise is known, and the one that is measured.
const NAMES: [&str; 3] = ["no integration", "no integration, another", "target hangs"];
const WAYS: [&str; 2] = ["one after another", "64 connections at once"];

/// Every order of the three, each behind one that is as unlike it as can be.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// What was measured, by way.
pub(crate) struct Hires([Times; 2]);

/// The times of every round, by service; and how many times as long as the first service's each is, as the median of
/// that over the rounds.
struct Times {
    figures: [Figures; 3],
    by_round: [f64; 3],
}

struct Contender {
    place: Place,
    organization: Organization,
}

/// Measures.
pub(crate) fn measure() -> Hires {
    let hanging = Hanging::start();
    let applications = WAYS.len() * (HIRES_BEFORE + ROUNDS_MAX * HIRES);
    let mut contenders = [None, None, Some(hanging.address)].map(|target| {
        let organization = Organization::new("org_0", applications, target);
        Contender { place: Place::of(&[&organization]), organization }
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
        for (way, times) in times.iter_mut().enumerate() {
            let mut sums = [Duration::ZERO; 3];
            for _ in 0..TURNS[way] {
                for index in order {
                    std::thread::sleep(PAUSE);
                    sums[index] += match way {
                        0 => contenders[index].hire_one_after_another(HIRES / TURNS[way]),
                        _ => contenders[index].hire_at_once(HIRES / TURNS[way]),
                    };
                }
            }
            times.push(sums);
        }
    }
    let [.., measured] = &contenders;
    let everything_is_owed = || measured.owed() as usize == measured.organization.taken();
    assert!(eventually(everything_is_owed), "every hire is owed to the target that hangs");
    assert!(hanging.accepted() > 0, "the target that hangs was tried");
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
        (0..count).map(|_| self.place.hire(&mut self.organization).0).collect()
    }

    /// On one connection, each after the answer to the one before.
    fn hire_one_after_another(&mut self, count: usize) -> Duration {
        let requests = self.requests(count);
        let mut client = Client::connect(self.place.service.address).unwrap();
        let began = Instant::now();
        for request in &requests {
            client.ask(request).unwrap().expect(200);
        }
        began.elapsed()
    }

    /// On many connections, each with one under way.
    fn hire_at_once(&mut self, count: usize) -> Duration {
        let requests = self.requests(count);
        let (next, ready) = (AtomicUsize::new(0), Barrier::new(CONNECTIONS + 1));
        let work = || {
            let mut client = Client::connect(self.place.service.address).unwrap();
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

    /// How many messages are in the file that have not arrived. They are made a moment after the hire.
    fn owed(&self) -> u32 {
        let sql = "SELECT count(*) FROM hr_deliveries WHERE state = 'pending'";
        let file = Connection::open(&self.place.db).unwrap();
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

/// Whether it comes true within ten seconds.
fn eventually(mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(10) {
        if is_so() {
            return true;
        }
        std::thread::sleep(PAUSE);
    }
    false
}

impl Hires {
    pub(crate) fn json(&self) -> Value {
        let ways = WAYS.iter().zip(&self.0).map(|(way, Times { figures, by_round })| {
            let [base, another, measured] = figures;
            let seconds: Map<_, _> =
                NAMES.iter().zip(figures).map(|(name, one)| ((*name).to_owned(), one.json())).collect();
            json!({
                "way": way,
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
        ways.collect()
    }
}

impl fmt::Display for Hires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.0[0].figures[0].count();
        let heading = format!("{HIRES} hires, {rounds} rounds");
        writeln!(f, "{heading:<28}{:>10}{:>10}{:>10}{:>8}{:>10}  target", "median", "min", "max", "ratio", "by round")?;
        for (way, Times { figures, by_round }) in WAYS.iter().zip(&self.0) {
            writeln!(f, "{way}")?;
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
