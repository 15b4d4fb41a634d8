//! `cargo bench --bench speed -- --scale`: what a big file costs, what the service takes, and how long everything takes
//! while everything goes on.
//!
//! A run is of three parts. Growth asks a small file and a big one the same; footprint looks at memory, starts and
//! bytes; the mixed load sends requests whether they are answered or not. The files are made once and kept in
//! `target/bench`; the service runs on copies. `--short` has a big file of a twentieth; `growth`, `footprint` and `mixed`
//! measure these parts only.

mod data;
mod deciding;
mod descriptors;
mod finding;
mod footprint;
mod growth;
mod kept;
mod maker;
mod mix;
mod mixed;
mod open_loop;
mod portals;
mod progress;
mod report;
mod revocation;
mod usage;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::cores::Cores;
use crate::figures;
use crate::place::Place;
use crate::template::{Copy, run};
use data::{BIG, BIG_SHORT, SMALL};
use growth::Side;
use report::Report;

/// By which the second command is chosen.
pub(crate) const ARGUMENT: &str = "--scale";

/// Where it is measured, and for how long.
struct Setting {
    cores: Cores,
    lengths: Lengths,
}

/// How long it goes on.
struct Lengths {
    /// Rounds that count; one goes before them.
    rounds: usize,
    /// Of a round that reads.
    round: Duration,
    /// Batches of decisions in a round.
    batches: usize,
    /// Of the load that memory is looked at under.
    memory: Duration,
    /// How often each phase of the mixed load is measured.
    phases: usize,
    /// Of such a phase.
    phase: Duration,
}

impl Lengths {
    const FULL: Self = Self {
        rounds: 7,
        round: Duration::from_millis(2_500),
        batches: 12,
        memory: Duration::from_secs(10),
        phases: 3,
        phase: Duration::from_secs(15),
    };

    const SHORT: Self = Self {
        rounds: 5,
        round: Duration::from_millis(800),
        batches: 4,
        memory: Duration::from_secs(3),
        phases: 2,
        phase: Duration::from_secs(4),
    };
}

/// Parts that can be chosen.
const PARTS: [&str; 3] = ["footprint", "growth", "mixed"];

/// All three parts, or those that are named.
pub(crate) fn measure(names: &[&str], is_short: bool) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(name)) {
        eprintln!("there is no part {unknown}; there are {}", PARTS.join(", "));
        return ExitCode::FAILURE;
    }
    descriptors::claim();
    let began = Instant::now();
    let machine = figures::machine();
    let cores = Cores::claim();
    let lengths = if is_short { Lengths::SHORT } else { Lengths::FULL };
    let big = if is_short { &BIG_SHORT } else { &BIG };
    let kept = [&SMALL, big].map(kept::file);
    let setting = Setting { cores, lengths };
    let mut report = Report::new(machine, setting.cores.words(), [&SMALL, big], &kept, is_short);
    let tell = |part: &str| eprintln!("{part} measured after {:.0} s", began.elapsed().as_secs_f64());
    let is_wanted = |part: &str| names.is_empty() || names.contains(&part);
    let [copy_of_small, copy_of_big] = kept.map(|db| Copy::of(&db));
    if is_wanted("footprint") {
        footprint::measure(&setting, &copy_of_big, big, &mut report.part("footprint"));
        tell("footprint");
    }
    let side = |size, copy| Side { size, place: Place::on(&setting.cores, copy) };
    let mut sides = [side(&SMALL, copy_of_small), side(big, copy_of_big)];
    if is_wanted("growth") {
        let mut part = report.part("growth");
        growth::measure(&setting, &mut sides, &mut part);
        portals::measure(&setting, &mut sides[1], &mut part);
        tell("growth");
    }
    if is_wanted("mixed") {
        mixed::measure(&setting, &mut sides[1], &mut report.part("mixed"));
        tell("mixed");
    }
    eprintln!("checking what both files have become");
    for side in sides {
        let copy = side.place.end();
        run(&["check", "--db", copy.db.to_str().unwrap()]);
    }
    println!("{report}");
    let file = report.write();
    println!("{} has these figures; took {:.0} s", file.display(), began.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}
