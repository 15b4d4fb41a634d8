//! How long everything takes while everything goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::Setting;
use super::finding::Finding;
use super::footprint::backup;
use super::growth::Side;
use super::mix::{Kind, Mix};
use super::open_loop::{self, Latencies, Pace};
use super::report::Part;
use super::revocation;
use crate::figures::Figures;
use crate::load::{self, Course};
use crate::round::{Figure, Round};
use crate::template::Copy;

const CONNECTIONS: usize = 64;

/// Requests by which the service is known well enough to say how many it takes to be measured.
const FIRST: usize = 4_000;

/// Of the most that the service can do.
const PART_OF_PEAK: f64 = 0.5;

/// How many times the quiet 99th percentile of decisions theirs may be while something else goes on.
const WANTED: f64 = 3.0;

/// Longer than a backup takes: what is sent meanwhile is made before.
const BACKUP_MAX: Duration = Duration::from_secs(150);

/// Before each phase: what the one before has left in the write-ahead log is moved into the file meanwhile. At most this
/// long, and until the log is as short as it mostly is.
const REST: Duration = Duration::from_secs(2);
const REST_MAX: Duration = Duration::from_secs(30);
const WAL_BYTES: u64 = 100_000_000;

/// A phase of the mixed load.
struct Phase {
    latencies: Latencies,
    /// How much of its core the service has used.
    busy: f64,
}

/// One service under a load of all kinds.
struct Mixed<'a> {
    setting: &'a Setting,
    side: &'a mut Side,
    mix: Mix,
    /// Requests a second.
    rate: f64,
}

/// Everything of this. The file is the big one.
pub(crate) fn measure(setting: &Setting, side: &mut Side, part: &mut Part<'_>) {
    let mix = Mix::of(side.size);
    let mut mixed = Mixed { setting, side, mix, rate: 0.0 };
    eprintln!("a mixed load, as much as there can be");
    let peak = mixed.peak();
    mixed.rate = peak * PART_OF_PEAK;
    let name = format!("90 portals, 8 me, 2 decisions; {CONNECTIONS} connections");
    part.add([Finding::figure(name, "a second at most", [peak])]);
    let [mut quiet, mut copying, mut moving] = [Vec::new(), Vec::new(), Vec::new()];
    for nth in 0..setting.lengths.phases {
        eprintln!("half of that, {} of {}: quiet", nth + 1, setting.lengths.phases);
        quiet.push(mixed.quiet());
        eprintln!("the same while the file is copied");
        copying.push(mixed.while_copied());
        eprintln!("the same while rows of the usage log are moved");
        moving.push(mixed.while_rows_move());
    }
    part.add(Kind::ALL.into_iter().flat_map(|kind| alone(&quiet, kind)));
    let name = "decisions while the file is copied on the same core, against quiet";
    part.add([compared(name, &quiet, &copying).wanted_at_most(WANTED)]);
    let name = "decisions behind many me, while their rows are moved, against quiet";
    part.add([compared(name, &quiet, &moving).wanted_at_most(WANTED)]);
    part.add(others(&copying, "while the file is copied"));
    for (phases, when) in [(&quiet, "quiet"), (&copying, "while the file is copied"), (&moving, "while rows move")] {
        let busy = phases.iter().map(|phase| phase.busy);
        part.add([Finding::figure(format!("the service, {when}"), "part of its core", busy)]);
    }
    part.add([mixed.revoked()]);
}

impl Mixed<'_> {
    /// Requests a second, as many as there can be.
    fn peak(&mut self) -> f64 {
        let first = Figure::Rate.of(&self.closed(FIRST));
        let count = (first * self.setting.lengths.phase.as_secs_f64()) as usize;
        Figure::Rate.of(&self.closed(count))
    }

    fn closed(&mut self, count: usize) -> Round {
        let asked = self.mix.take(count);
        let with_keys = asked.iter().filter(|asked| asked.kind.has_key()).count();
        let requests = Arc::new(asked.into_iter().map(|asked| asked.request).collect());
        self.side.place.round_of(|address| (load::run(address, CONNECTIONS, &requests, &Course::Through), with_keys))
    }

    fn quiet(&mut self) -> Phase {
        self.rest();
        self.open(|| ())
    }

    /// Copies the file again and again, as long as the phase is, and to the end of a copy.
    fn while_copied(&mut self) -> Phase {
        self.rest();
        let (setting, db) = (self.setting, self.side.place.db().to_owned());
        self.open(|| {
            let began = Instant::now();
            while began.elapsed() < setting.lengths.phase {
                let target = Copy::empty();
                let status = backup(setting, &db, &target.db).status().unwrap();
                assert!(status.success(), "the backup succeeds");
            }
            if began.elapsed() > BACKUP_MAX {
                eprintln!("a backup took longer than there were requests beside it");
            }
        })
    }

    /// So many requests with keys come first that what they leave in the usage log is still being taken care of when
    /// the phase begins. That is all there is of moving rows as long as the log is found by an index.
    fn while_rows_move(&mut self) -> Phase {
        self.rest();
        let requests = Arc::new(self.mix.me());
        self.side.place.round_with_keys(CONNECTIONS, &requests, &Course::For(self.setting.lengths.phase));
        self.open(|| ())
    }

    /// A revocation under the same load.
    fn revoked(&mut self) -> Finding {
        eprintln!("revoking keys that are in use");
        let address = self.side.place.address;
        let mut revoked = revocation::Revoked::default();
        self.open(|| revoked = revocation::revoke(address));
        self.side.place.count_with_keys(revoked.with_keys);
        let late = revoked.late as f64;
        let name = format!("{} keys revoked in mid-use", revocation::KEYS_REVOKED);
        Finding::figure(name, "answers 200 to requests behind it", [late]).wanted_at_most(0.0)
    }

    /// The load, for as long as a phase is, and until `beside` has ended.
    fn open(&mut self, beside: impl FnOnce() + Send) -> Phase {
        let (duration, rate) = (self.setting.lengths.phase, self.rate);
        let asked = self.mix.take((rate * (duration + BACKUP_MAX).as_secs_f64()) as usize);
        let end = AtomicBool::new(false);
        let address = self.side.place.address;
        let (began, cpu) = (Instant::now(), self.side.place.cpu());
        let (latencies, rest) = std::thread::scope(|scope| {
            scope.spawn(|| {
                beside();
                end.store(true, Ordering::Relaxed);
            });
            open_loop::run(address, &Pace { connections: CONNECTIONS, rate, duration, end: &end }, asked)
        });
        self.mix.put_back(rest);
        let busy = (self.side.place.cpu() - cpu).as_secs_f64() / began.elapsed().as_secs_f64();
        self.side.place.count_with_keys(latencies.with_keys());
        Phase { latencies, busy }
    }

    fn rest(&self) {
        let wal = self.side.place.db().with_extension("db-wal");
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

/// The median and the 99th percentile of a kind in each of these phases.
fn alone(phases: &[Phase], kind: Kind) -> [Finding; 2] {
    let of =
        |figure: fn(&Figures) -> Duration| phases.iter().map(move |phase| millis(figure(&phase.latencies.of(kind))));
    let name = format!("{} at half of that, quiet", kind.words());
    [Finding::figure(name.clone(), "p50, ms", of(Figures::median)), Finding::figure(name, "p99, ms", of(Figures::p99))]
}

fn compared(name: &str, quiet: &[Phase], other: &[Phase]) -> Finding {
    let p99 = |phase: &Phase| millis(phase.latencies.of(Kind::Decision).p99());
    let pairs: Vec<_> = quiet.iter().zip(other).map(|(quiet, other)| (p99(quiet), p99(other))).collect();
    Finding::ratio(name, "p99, ms", &pairs)
}

/// What reading takes meanwhile.
fn others(phases: &[Phase], when: &str) -> Vec<Finding> {
    let p99 = |kind: Kind| phases.iter().map(move |phase| millis(phase.latencies.of(kind).p99()));
    let kinds = [Kind::Portal, Kind::Me].into_iter();
    kinds.map(|kind| Finding::figure(format!("{} {when}", kind.words()), "p99, ms", p99(kind))).collect()
}
