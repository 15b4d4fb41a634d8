//! `cargo bench --bench speed -- --scale`: measures the service on big files, its footprint, and its latencies under
//! a mixed load.
//!
//! A run has four parts. `growth` compares the same requests on a small and a big file. `footprint` measures memory,
//! start times and bytes read. `mixed` sends requests at a fixed rate, independently of the answers. `lists` compares
//! most lists, searches and boards on two other files, one of which has a hundredth of the other's data. The bench
//! creates the files once and stores them in `target/bench`; the service runs on copies. With `--short`, the big files
//! have a twentieth of the data. Arguments that name parts select those parts.

mod crowd;
mod data;
mod deciding;
mod descriptors;
mod file_cache;
mod footprint;
mod growth;
mod lists;
mod maker;
mod measurement;
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

/// The argument that selects this bench.
pub(crate) const ARGUMENT: &str = "--scale";

/// The cores and the lengths of the measurements.
struct Setup {
    cores: Cores,
    lengths: Lengths,
}

/// The lengths of the measurements.
struct Lengths {
    /// The number of measured rounds. One warm-up round precedes them.
    rounds: usize,
    /// The duration of a round that reads.
    round: Duration,
    /// The duration of a round of one list.
    list: Duration,
    /// The number of batches of decisions in a round.
    batches: usize,
    /// The duration of the load during which memory is measured.
    memory: Duration,
    /// The number of phases of each kind under the mixed load.
    phases: usize,
    /// The duration of a phase.
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

/// The parts of the bench.
const PARTS: [&str; 4] = ["footprint", "growth", "lists", "mixed"];

/// Measures all parts, or those with these names.
pub(crate) fn measure(names: &[&str], is_short: bool) -> ExitCode {
    if let Some(unknown) = names.iter().find(|name| !PARTS.contains(name)) {
        eprintln!("there is no part {unknown}; the parts are {}", PARTS.join(", "));
        return ExitCode::FAILURE;
    }
    descriptors::claim();
    let began = Instant::now();
    let machine = figures::machine();
    let cores = Cores::claim();
    let lengths = if is_short { Lengths::SHORT } else { Lengths::FULL };
    let setup = Setup { cores, lengths };
    let mut report = Report::new(machine, setup.cores.describe(), is_short);
    let report_progress =
        |part: &str| eprintln!("{part} finished {:.0} s after the start of the bench", began.elapsed().as_secs_f64());
    let is_selected = |part: &str| names.is_empty() || names.contains(&part);
    if ["footprint", "growth", "mixed"].into_iter().any(is_selected) {
        measure_grown(&setup, is_short, &mut report, &is_selected, &report_progress);
    }
    if is_selected("lists") {
        let sizes = [&LISTS_HUNDREDTH, if is_short { &LISTS_SHORT } else { &LISTS }];
        let mut sides = copies(sizes, &mut report).map(|(size, copy)| Side::on(&setup, size, copy));
        lists::measure(&setup, &mut sides, &mut report.part("lists"));
        report_progress("lists");
        end(sides);
    }
    println!("{report}");
    let file = report.write();
    println!("{} contains these figures; the bench took {:.0} s", file.display(), began.elapsed().as_secs_f64());
    ExitCode::SUCCESS
}

/// Measures the selected parts among the three that use the small and the big file.
fn measure_grown(
    setup: &Setup,
    is_short: bool,
    report: &mut Report,
    is_selected: &dyn Fn(&str) -> bool,
    report_progress: &dyn Fn(&str),
) {
    let big = if is_short { &BIG_SHORT } else { &BIG };
    let [(_, copy_of_small), (_, copy_of_big)] = copies([&SMALL, big], report);
    if is_selected("footprint") {
        footprint::measure(setup, &copy_of_big, big, &mut report.part("footprint"));
        report_progress("footprint");
    }
    let mut sides = [Side::on(setup, &SMALL, copy_of_small), Side::on(setup, big, copy_of_big)];
    if is_selected("growth") {
        let mut part = report.part("growth");
        growth::measure(setup, &mut sides, &mut part);
        portals::measure(setup, &mut sides[1], &mut part);
        report_progress("growth");
    }
    if is_selected("mixed") {
        mixed::measure(setup, &mut sides[1], &mut report.part("mixed"));
        report_progress("mixed");
    }
    end(sides);
}

/// Copies the files of these sizes.
fn copies(sizes: [&'static Size; 2], report: &mut Report) -> [(&'static Size, Copy); 2] {
    sizes.map(|size| {
        let db = file_cache::file(size);
        report.file(size, &db);
        (size, Copy::of(&db))
    })
}

/// Stops both services and checks their files.
fn end(sides: [Side; 2]) {
    eprintln!("checking both files");
    for side in sides {
        let copy = side.server.end();
        run(&["check", "--db", copy.db.to_str().unwrap()]);
    }
}
