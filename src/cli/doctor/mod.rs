//! `appliance doctor`: examines an installation, and prints the problems to correct, the most urgent first. The modules
//! `file`, `clock`, `disk`, `proxy`, `tls` and `backup` each examine one part of the installation. No examination
//! changes the content of a file. Only the request of `proxy` makes a running service write the time of that request to
//! its file.

mod args;
mod backup;
mod clock;
mod disk;
mod file;
mod patient;
mod probe;
mod proxy;
mod report;
mod tls;

pub use self::args::Args;
use self::patient::Patient;
use self::report::Report;
use super::failure::Failure;
use super::list::print_rows;
use super::output::print_message;
use crate::domain::disk::UploadLimits;
use crate::domain::text::counted;
use crate::store::file::{is_locked, resolve};
use crate::world::World;

/// # Errors
/// Fails if there is a problem to correct, or if standard output cannot be written to.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    let path = resolve(&args.db.db);
    let limits = UploadLimits { min_free_bytes: args.min_free, attachments_bytes_max: None };
    let mut report = Report::default();
    let is_readable = file::examine(&path, world, &mut report);
    let patient = Patient { args, world, is_running: is_locked(&path), path, is_readable, limits };
    for examine in [clock::examine, disk::examine, proxy::examine, tls::examine, backup::examine] {
        examine(&patient, &mut report);
    }
    let rows = report.rows();
    if !rows.is_empty() {
        print_rows(&["URGENCY", "AREA", "PROBLEM", "COMMAND"], &rows)?;
    }
    for part in report.not_examined() {
        print_message(&format!("not examined: {part}"));
    }
    let state = if patient.is_running { "a service or a command uses the file" } else { "no service uses the file" };
    match report.count() {
        0 => {
            print_message(&format!("no problem was found; {state}"));
            Ok(())
        }
        count => Err(Failure::new(format!("{} found; {state}", counted(count, "problem")))),
    }
}
