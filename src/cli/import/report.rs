//! The report of refused rows, items and files on standard output.

use std::io::{self, BufWriter, Write as _};

use crate::cli::failure::Failure;
use crate::interchange::RefusedItem;

/// Writes one line for each refused row, item or file. Succeeds even if the reader closes the pipe early, as `head`
/// does. `outcome` is the outcome of the import so far, for the message of a failure.
pub(super) fn report(refused: &[RefusedItem], outcome: &str) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = refused.iter().try_for_each(|refused| writeln!(out, "{refused}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => {
            written.map_err(|error| Failure::new(format!("{outcome}: cannot write to standard output: {error}")))
        }
    }
}
