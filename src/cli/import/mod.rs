//! `appliance import`: imports an interchange document, or imports roles and candidates from another program into an
//! existing organization. If an interchange document has errors or conflicts with the database, nothing is imported. A
//! staged import can skip applications, because the database can change while the import runs.

mod advice;
mod args;
mod attachment;
mod document;
mod folder;
mod help;
mod input;
mod other_formats;
mod record;
mod report;
mod strategy;

use self::args::Format;
use super::failure::Failure;
use crate::world::World;

pub use self::args::Args;

/// # Errors
/// Exit status 1 if the document cannot be read, has errors, conflicts with the database, or is too large to import
/// while the service runs or into a PostgreSQL database. In these cases, nothing is imported. If the document has
/// errors, no file is created. The exit status is also 1 if a staged import skipped applications or is not complete
/// yet. For the other formats, it is also 1 if any row, item or file is refused. Exit status 2 if the flags are not
/// valid for the format.
pub fn run(args: &Args, world: &dyn World) -> Result<(), Failure> {
    match args.format.system() {
        Some(system) => other_formats::system(args, world, system),
        None if args.format == Format::Csv => other_formats::csv(args, world),
        None => document::import(args, world),
    }
}
