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

/// Between rounds: long enough that a service's checkpoint is not paid for by the next one's round.
const PAUSE: Duration = Duration::from_millis(300);

/// How many times as long as without an integration hires may take.
const RATIO_MAX: f64 = 1.1;

/// Two alike, by which the noise is known, and the one that is measured.
const NAMES: [&str; 3] = ["no integration", "no integration, another", "target hangs"];
const WAYS: [&str; 2] = ["one after another", "64 connections at once"];

/// Every order of the three, each behind one that is as unlike it as can be.
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [2, 1, 0], [1, 2, 0], [0, 2, 1], [2, 0, 1], [1, 0, 2]];

/// The times of every round, by way and by service.
pub(crate) struct Hires([[Figures; 3]; 2]);

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
    let mut times = [const { [const { Vec::new() }; 3] }; 2];
    for round in 0..ROUNDS_MAX {
        if round >= ROUNDS_MIN && began.elapsed() > TIME {
            break;
        }
        let order = ORDERS[round % ORDERS.len()];
        for (way, times) in times.iter_mut().enumerate() {
            for index in order {
                std::thread::sleep(PAUSE);
                let contender = &mut contenders[index];
                times[index].push(match way {
                    0 => contender.hire_one_after_another(HIRES),
                    _ => contender.hire_at_once(HIRES),
                });
            }
        }
    }
    let [.., measured] = &contenders;
    assert_eq!(measured.owed() as usize, measured.organization.taken(), "every hire is owed to the target that hangs");
    assert!(hanging.accepted() > 0, "the target that hangs was tried");
    Hires(times.map(|times| times.map(Figures::new)))
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

    /// How many messages are in the file that have not arrived.
    fn owed(&self) -> u32 {
        let sql = "SELECT count(*) FROM hr_deliveries WHERE state = 'pending'";
        let file = Connection::open(&self.place.db).unwrap();
        file.query_row(sql, [], |row| row.get(0)).unwrap()
    }
}

impl Hires {
    pub(crate) fn json(&self) -> Value {
        let ways = WAYS.iter().zip(&self.0).map(|(way, figures)| {
            let [base, another, measured] = figures;
            let seconds: Map<_, _> =
                NAMES.iter().zip(figures).map(|(name, one)| ((*name).to_owned(), one.json())).collect();
            json!({
                "way": way,
                "hires": HIRES,
                "seconds": seconds,
                "noise": another.ratio(base),
                "ratio": measured.ratio(base),
                "ratioMax": RATIO_MAX,
                "met": measured.ratio(base) <= RATIO_MAX,
            })
        });
        ways.collect()
    }
}

impl fmt::Display for Hires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rounds = self.0[0][0].count();
        let heading = format!("{HIRES} hires, {rounds} rounds");
        writeln!(f, "{heading:<28}{:>10}{:>10}{:>10}{:>8}  target {RATIO_MAX}", "median", "min", "max", "ratio")?;
        for (way, figures) in WAYS.iter().zip(&self.0) {
            writeln!(f, "{way}")?;
            for (index, (name, one)) in NAMES.iter().zip(figures).enumerate() {
                let [median, min, max] = [one.median(), one.min(), one.max()].map(|one| one.as_secs_f64() * 1e3);
                let ratio = one.ratio(&figures[0]);
                let words = ["", "the noise", verdict(ratio <= RATIO_MAX)][index];
                writeln!(f, "  {name:<26}{median:>7.0} ms{min:>7.0} ms{max:>7.0} ms{ratio:>8.3}  {words}")?;
            }
        }
        Ok(())
    }
}
