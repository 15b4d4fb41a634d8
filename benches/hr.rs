//! `cargo bench --bench hr`: measures how much a hanging HR system slows down hires, and how soon a hire reaches a
//! healthy HR system.
//!
//! The bench runs the real binary, and each service has its own file below the target directory. Only errors fail the
//! bench. The bench only reports a missed target, because other work on the machine can be the cause.

#![allow(clippy::unwrap_used, reason = "if a step fails, the bench must fail")]

#[path = "support/arrivals.rs"]
mod arrivals;
#[path = "../tests/crash/client.rs"]
#[allow(dead_code, reason = "the tests use every item")]
mod client;
#[path = "support/company.rs"]
mod company;
#[path = "support/figures.rs"]
mod figures;
#[path = "support/hires.rs"]
mod hires;
#[path = "support/receiver.rs"]
mod receiver;
#[path = "../tests/crash/service.rs"]
#[allow(dead_code, reason = "the tests use every item")]
mod service;

use std::path::Path;
use std::time::Instant;

use serde_json::json;

/// The numbers of organizations whose HR systems hang. The target for arrivals applies to the first number; the second
/// is for information.
const HANGING: [usize; 2] = [8, 200];

fn main() {
    // `cargo test --all-targets` also runs the bench, but must not measure.
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("no measurement; use `cargo bench --bench hr`");
        return;
    }
    let began = Instant::now();
    let machine = figures::machine();
    println!("HR deliveries, on {machine}");
    println!("Times of hires are medians of interleaved rounds, with the fastest and the slowest round.");
    println!("`ratio` is the ratio of the medians, and `by round` is the median of the ratios of single rounds.\n");
    let hires = hires::measure();
    println!("{hires}");
    let arrivals = HANGING.map(arrivals::measure);
    println!("{}", arrivals::table(&arrivals));
    let arrivals = arrivals.map(|one| one.json());
    let report = json!({ "machine": machine, "hires": hires.json(), "arrivals": arrivals });
    // Cargo places this directory in the target directory.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("hr.json");
    std::fs::write(&file, format!("{report:#}\n")).unwrap();
    println!("{} contains these figures; the bench took {:.0} s", file.display(), began.elapsed().as_secs_f64());
}
