//! Latencies under a mixed load.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Setup;
use super::footprint::backup;
use super::growth::Side;
use super::measurement::Measurement;
use super::mix::{Kind, Mix};
use super::open_loop::{self, Latencies, Pace};
use super::report::Part;
use super::revocation;
use crate::figures::Figures;
use crate::load::{self, Course};
use crate::round::{Figure, Round};
use crate::template::Copy;

const CONNECTIONS: usize = 64;

/// The number of requests for the first estimate of the rate.
const FIRST: usize = 4_000;

/// The share of the peak rate that the load uses.
const PART_OF_PEAK: f64 = 0.5;

/// The target for the 99th percentile of the latency of decisions, as a multiple of that in a quiet phase.
const TARGET: f64 = 3.0;

/// The expected maximum duration of a backup. The requests for a phase and for this time after it are prepared in
/// advance.
const BACKUP_MAX: Duration = Duration::from_secs(150);

/// The minimum pause before each phase, except before the phase that revokes keys. During the pause, checkpoints empty
/// the write-ahead log of the previous phase. The pause ends when the log is no longer than `WAL_BYTES`, or after
/// `REST_MAX`.
const REST: Duration = Duration::from_secs(2);
const REST_MAX: Duration = Duration::from_secs(30);
const WAL_BYTES: u64 = 100_000_000;

/// A phase of the mixed load.
struct Phase {
    latencies: Latencies,
    /// The share of its core that the service used.
    busy: f64,
}

/// A service under a mixed load.
struct Mixed<'a> {
    setup: &'a Setup,
    side: &'a mut Side,
    mix: Mix,
    /// Requests per second.
    rate: f64,
}

/// Measures all phases on the big file.
pub(crate) fn measure(setup: &Setup, side: &mut Side, part: &mut Part<'_>) {
    let mix = Mix::of(side.size);
    let mut mixed = Mixed { setup, side, mix, rate: 0.0 };
    eprintln!("a mixed load at the peak rate");
    let peak = mixed.peak();
    mixed.rate = peak * PART_OF_PEAK;
    let name = format!("90 % portal, 8 % `me`, 2 % decision requests; {CONNECTIONS} connections");
    part.add([Measurement::figure(name, "requests per second, peak", [peak])]);
    let [mut quiet, mut copying, mut moving] = [Vec::new(), Vec::new(), Vec::new()];
    for nth in 0..setup.lengths.phases {
        eprintln!("half the peak rate, phase {} of {}: quiet", nth + 1, setup.lengths.phases);
        quiet.push(mixed.quiet());
        eprintln!("half the peak rate, during backups");
        copying.push(mixed.during_backups());
        eprintln!("half the peak rate, while usage rows are indexed");
        moving.push(mixed.while_indexing());
    }
    part.add(Kind::ALL.into_iter().flat_map(|kind| alone(&quiet, kind)));
    let name = "decisions during backups on the same core, compared with quiet phases";
    part.add([compared(name, &quiet, &copying).target_at_most(TARGET)]);
    let name = "decisions while the usage rows of many earlier `me` requests are indexed, compared with quiet phases";
    part.add([compared(name, &quiet, &moving).target_at_most(TARGET)]);
    part.add(others(&copying, "during backups"));
    for (phases, when) in [(&quiet, "quiet"), (&copying, "during backups"), (&moving, "while usage rows are indexed")] {
        let busy = phases.iter().map(|phase| phase.busy);
        part.add([Measurement::figure(format!("the service, {when}"), "share of its core", busy)]);
    }
    part.add([mixed.revocation_phase()]);
}

impl Mixed<'_> {
    /// Measures the peak rate in requests per second.
    fn peak(&mut self) -> f64 {
        let first = Figure::Rate.of(&self.closed(FIRST));
        let count = (first * self.setup.lengths.phase.as_secs_f64()) as usize;
        Figure::Rate.of(&self.closed(count))
    }

    fn closed(&mut self, count: usize) -> Round {
        let requests = self.mix.take(count);
        let with_keys = requests.iter().filter(|request| request.kind.has_key()).count();
        let requests = Arc::new(requests.into_iter().map(|request| request.request).collect());
        self.side.server.round_of(|address| (load::run(address, CONNECTIONS, &requests, &Course::Through), with_keys))
    }

    fn quiet(&mut self) -> Phase {
        self.rest();
        self.open(|| ())
    }

    /// Runs backups in a loop for the duration of the phase. The phase ends with the last backup.
    fn during_backups(&mut self) -> Phase {
        self.rest();
        let (setup, db) = (self.setup, self.side.server.db().to_owned());
        self.open(|| {
            let began = Instant::now();
            while began.elapsed() < setup.lengths.phase {
                let target = Copy::empty();
                let status = backup(setup, &db, &target.db).status().unwrap();
                assert!(status.success(), "the backup succeeds");
            }
            if began.elapsed() > setup.lengths.phase + BACKUP_MAX {
                eprintln!("the backups outlasted the prepared requests");
            }
        })
    }

    /// Measures a phase that begins while the service is still indexing the usage rows of many requests with keys.
    fn while_indexing(&mut self) -> Phase {
        self.rest();
        let requests = Arc::new(self.mix.me());
        self.side.server.round_with_keys(CONNECTIONS, &requests, &Course::For(self.setup.lengths.phase));
        self.open(|| ())
    }

    /// Revokes keys under the same load.
    fn revocation_phase(&mut self) -> Measurement {
        eprintln!("revoking keys in use");
        let address = self.side.server.address;
        let mut revoked = revocation::Revoked::default();
        self.open(|| revoked = revocation::revoke(address));
        self.side.server.count_with_keys(revoked.with_keys);
        let late = revoked.late as f64;
        let name = format!("{} keys revoked while in use", revocation::KEYS_REVOKED);
        Measurement::figure(name, "later requests answered with 200", [late]).target_at_most(0.0)
    }

    /// Runs the load for the duration of a phase, and until `work` has ended.
    fn open(&mut self, work: impl FnOnce() + Send) -> Phase {
        let (duration, rate) = (self.setup.lengths.phase, self.rate);
        let requests = self.mix.take((rate * (duration + BACKUP_MAX).as_secs_f64()) as usize);
        let end = AtomicBool::new(false);
        let address = self.side.server.address;
        let (began, cpu) = (Instant::now(), self.side.server.cpu());
        let (latencies, rest) = std::thread::scope(|scope| {
            scope.spawn(|| {
                work();
                end.store(true, Ordering::Relaxed);
            });
            open_loop::run(address, &Pace { connections: CONNECTIONS, rate, duration, end: &end }, requests)
        });
        self.mix.put_back(rest);
        let busy = (self.side.server.cpu() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        self.side.server.count_with_keys(latencies.with_keys());
        Phase { latencies, busy }
    }

    fn rest(&self) {
        let wal = self.side.server.db().with_extension("db-wal");
        let began = Instant::now();
        std::thread::sleep(REST);
        while wal.metadata().is_ok_and(|wal| wal.len() > WAL_BYTES) && began.elapsed() < REST_MAX {
            std::thread::sleep(REST / 10);
        }
    }
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// Returns the median and the 99th percentile of the latencies of one kind of request in these phases.
fn alone(phases: &[Phase], kind: Kind) -> [Measurement; 2] {
    let of =
        |figure: fn(&Figures) -> Duration| phases.iter().map(move |phase| millis(figure(&phase.latencies.of(kind))));
    let name = format!("{} at half the peak rate, quiet", kind.words());
    [
        Measurement::figure(name.clone(), "p50, ms", of(Figures::median)),
        Measurement::figure(name, "p99, ms", of(Figures::p99)),
    ]
}

fn compared(name: &str, quiet: &[Phase], other: &[Phase]) -> Measurement {
    let p99 = |phase: &Phase| millis(phase.latencies.of(Kind::Decision).p99());
    let pairs: Vec<_> = quiet.iter().zip(other).map(|(quiet, other)| (p99(quiet), p99(other))).collect();
    Measurement::ratio(name, "p99, ms", &pairs)
}

/// Returns the 99th percentiles of the latencies of both kinds of read in these phases.
fn others(phases: &[Phase], when: &str) -> Vec<Measurement> {
    let p99 = |kind: Kind| phases.iter().map(move |phase| millis(phase.latencies.of(kind).p99()));
    let kinds = [Kind::Portal, Kind::Me].into_iter();
    kinds.map(|kind| Measurement::figure(format!("{} {when}", kind.words()), "p99, ms", p99(kind))).collect()
}
