//! `cargo bench --bench speed -- --scale`: what a big file costs, what the service takes, and how long everything takes
//! while everything goes on.
//!
//! A run is of four parts. Growth asks a small file and a big one the same; footprint looks at memory, starts and
//! bytes; the mixed load sends requests whether they are answered or not; lists compares every list, search and board of
//! two files of another make, of which one is a hundredth of the other. The files are made once and kept in `target/bench`;
//! the service runs on copies. `--short` has big files of a twentieth; `growth`, `footprint`, `mixed` and `lists` measure
//! these parts only.

mod crowd;
mod data;
mod deciding;
mod descriptors;
mod finding;
mod footprint;
mod growth;
mod kept;
mod lists;
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
use crate::template::{Copy, run};
use data::{BIG, BIG_SHORT, LISTS, LISTS_HUNDREDTH, LISTS_SHORT, SMALL, Size};
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
    /// Of a round of one list.
    list: Duration,
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
        list: Duration::from_millis(600),
        batches: 12,
        memory: Duration::from_secs(10),
        phases: 3,
        phase: Duration::from_secs(15),
    };

    const SHORT: Self = Self {
        rounds: 5,
        round: Duration::from_millis(800),
        list: Duration::from_millis(150),
        batches: 4,
        memory: Duration::from_secs(3),
        phases: 2,
        phase: Duration::from_secs(4),
    };
}

/// Parts that can be chosen.
const PARTS: [&str; 4] = ["footprint", "growth", "lists", "mixed"];

/// All four parts, or those that are named.
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
    let setting = Setting { cores, lengths };
    let mut report = Report::new(machine, setting.cores.words(), is_short);
    let tell = |part: &str| eprintln!("{part} measured after {:.0} s", began.elapsed().as_secs_f64());
    let is_wanted = |part: &str| names.is_empty() || names.contains(&part);
    if ["footprint", "growth", "mixed"].into_iter().any(is_wanted) {
        grown(&setting, is_short, &mut report, &is_wanted, &tell);
    }
    if is_wanted("lists") {
        let sizes = [&LISTS_HUNDREDTH, if is_short { &LISTS_SHORT } else { &LISTS }];
        let mut sides = copies(sizes, &mut report).map(|(size, copy)| Side::on(&setting, size, copy));
        lists::measure(&setting, &mut sides, &mut report.part("lists"));
        tell("lists");
        end(sides);
    }
    println!("{report}");
    let file = report.write();
    println!("{} has these figures; took {:.0} s", file.display(), began.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

/// The three parts that are of a small file and a big one.
fn grown(
    setting: &Setting,
    is_short: bool,
    report: &mut Report,
    is_wanted: &dyn Fn(&str) -> bool,
    tell: &dyn Fn(&str),
) {
    let big = if is_short { &BIG_SHORT } else { &BIG };
    let [(_, copy_of_small), (_, copy_of_big)] = copies([&SMALL, big], report);
    if is_wanted("footprint") {
        footprint::measure(setting, &copy_of_big, big, &mut report.part("footprint"));
        tell("footprint");
    }
    let mut sides = [Side::on(setting, &SMALL, copy_of_small), Side::on(setting, big, copy_of_big)];
    if is_wanted("growth") {
        let mut part = report.part("growth");
        growth::measure(setting, &mut sides, &mut part);
        portals::measure(setting, &mut sides[1], &mut part);
        tell("growth");
    }
    if is_wanted("mixed") {
        mixed::measure(setting, &mut sides[1], &mut report.part("mixed"));
        tell("mixed");
    }
    end(sides);
}

/// Copies of the files of these sizes.
fn copies(sizes: [&'static Size; 2], report: &mut Report) -> [(&'static Size, Copy); 2] {
    sizes.map(|size| {
        let db = kept::file(size);
        report.file(size, &db);
        (size, Copy::of(&db))
    })
}

/// Stops both services, and looks at what they have made of their files.
fn end(sides: [Side; 2]) {
    eprintln!("checking what both files have become");
    for side in sides {
        let copy = side.place.end();
        run(&["check", "--db", copy.db.to_str().unwrap()]);
    }
}
