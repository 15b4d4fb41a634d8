//! `cargo bench --bench speed`: measures the service over real sockets and compares it with limits that are
//! measured at the same time.
//!
//! `-- a b64` measures only the lines `a` and `b64`. `-- --short` measures all lines in about two minutes.
//! `speed/lines.rs` lists the comparisons, and `speed/line.rs` defines a comparison. `-- --scale` measures big files,
//! the footprint of the service and a mixed load (`speed/scale`). An error or a wrong count fails the run. The bench
//! only reports a missed target, because other work on the machine can be the cause.

#![allow(clippy::unwrap_used, reason = "if a step fails, the bench must fail")]

#[path = "speed/against_bare.rs"]
mod against_bare;
#[path = "speed/against_itself.rs"]
mod against_itself;
#[path = "speed/against_raw.rs"]
mod against_raw;
#[path = "speed/bare.rs"]
mod bare;
#[path = "speed/company.rs"]
mod company;
#[path = "speed/cores.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod cores;
#[path = "speed/decisions.rs"]
mod decisions;
#[path = "speed/exchange.rs"]
mod exchange;
#[path = "support/figures.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod figures;
#[path = "speed/line.rs"]
mod line;
#[path = "speed/lines.rs"]
mod lines;
#[path = "speed/load.rs"]
mod load;
#[path = "speed/process.rs"]
mod process;
#[path = "speed/random.rs"]
mod random;
#[path = "speed/raw.rs"]
mod raw;
#[path = "speed/report.rs"]
mod report;
#[path = "speed/round.rs"]
mod round;
#[path = "speed/scale/mod.rs"]
mod scale;
#[path = "speed/server.rs"]
mod server;
#[path = "speed/setup.rs"]
mod setup;
#[path = "speed/template.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod template;

use std::process::ExitCode;
use std::time::Instant;

use cores::Cores;
use line::Line;
use lines::LINES;
use report::Report;
use setup::{Lengths, Setup};
use template::Template;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == bare::ARGUMENT) {
        bare::serve();
    }
    // `cargo test --all-targets` also runs the bench, but must not measure.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("no measurement; use `cargo bench --bench speed`");
        return ExitCode::SUCCESS;
    }
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let names: Vec<&str> = arguments.iter().map(String::as_str).filter(|name| !name.starts_with("--")).collect();
    if arguments.iter().any(|argument| argument == scale::ARGUMENT) {
        return scale::measure(&names, is_short);
    }
    if let Some(unknown) = names.iter().find(|name| LINES.iter().all(|line| line.name != **name)) {
        let known: Vec<_> = LINES.iter().map(|line| line.name).collect();
        eprintln!("there is no line {unknown}; the lines are {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let chosen = LINES.iter().filter(|line| names.is_empty() || names.contains(&line.name));
    measure(&chosen.collect::<Vec<_>>(), is_short);
    ExitCode::SUCCESS
}

fn measure(lines: &[&'static Line], is_short: bool) {
    let began = Instant::now();
    let machine = figures::machine();
    let lengths = if is_short { Lengths::SHORT } else { Lengths::FULL };
    let cores = Cores::claim();
    eprintln!("creating {} organizations with {} applications", company::ORGANIZATIONS, company::APPLICATIONS);
    let template = Template::make(&cores);
    eprintln!("the data was created after {:.0} s", began.elapsed().as_secs_f64());
    let setup = Setup { cores, template, lengths };
    let mut report = Report::new(machine, &setup, is_short);
    for line in lines {
        let measured = line.measure(&setup);
        eprintln!("line {} was measured after {:.0} s", line.name, began.elapsed().as_secs_f64());
        report.add(measured);
    }
    println!("{report}");
    let file = report.write();
    println!("{} contains these figures; the bench took {:.0} s", file.display(), began.elapsed().as_secs_f64());
}
