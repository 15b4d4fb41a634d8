//! `cargo bench --bench speed`: the release binary over real sockets, against limits that are measured beside it.
//!
//! `-- a b64` measures these lines only, `-- --short` all of them in some two minutes. What is compared with what
//! stands in `speed/lines.rs`, how in `speed/line.rs`. `-- --scale` measures something else: what a big file costs, what
//! the service takes, and a mixed load (`speed/scale`). Both fail on errors and on wrong counts; a figure that is not as
//! wanted is said, because other work on the machine can be the cause.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on fails")]

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
mod cores;
#[path = "speed/decisions.rs"]
mod decisions;
#[path = "speed/exchange.rs"]
mod exchange;
#[path = "support/figures.rs"]
#[allow(dead_code, reason = "the other bench uses all of it")]
mod figures;
#[path = "speed/line.rs"]
mod line;
#[path = "speed/lines.rs"]
mod lines;
#[path = "speed/load.rs"]
mod load;
#[path = "speed/place.rs"]
mod place;
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
#[path = "speed/setting.rs"]
mod setting;
#[path = "speed/template.rs"]
mod template;

use std::process::ExitCode;
use std::time::Instant;

use cores::Cores;
use line::Line;
use lines::LINES;
use report::Report;
use setting::{Lengths, Setting};
use template::Template;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if arguments.first().is_some_and(|first| first == bare::ARGUMENT) {
        bare::serve();
    }
    // `cargo test --all-targets` runs it too, and wants nothing measured.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("nothing is measured; use `cargo bench --bench speed`");
        return ExitCode::SUCCESS;
    }
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let names: Vec<&str> = arguments.iter().map(String::as_str).filter(|name| !name.starts_with("--")).collect();
    if arguments.iter().any(|argument| argument == scale::ARGUMENT) {
        return scale::measure(&names, is_short);
    }
    if let Some(unknown) = names.iter().find(|name| LINES.iter().all(|line| line.name != **name)) {
        let known: Vec<_> = LINES.iter().map(|line| line.name).collect();
        eprintln!("there is no line {unknown}; there are {}", known.join(", "));
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
    eprintln!("making {} organizations with {} applications", company::ORGANIZATIONS, company::APPLICATIONS);
    let template = Template::make(&cores);
    eprintln!("made after {:.0} s", began.elapsed().as_secs_f64());
    let setting = Setting { cores, template, lengths };
    let mut report = Report::new(machine, &setting, is_short);
    for line in lines {
        let measured = line.measure(&setting);
        eprintln!("{} measured after {:.0} s", line.name, began.elapsed().as_secs_f64());
        report.add(measured);
    }
    println!("{report}");
    let file = report.write();
    println!("{} has these figures; took {:.0} s", file.display(), began.elapsed().as_secs_f64());
}
