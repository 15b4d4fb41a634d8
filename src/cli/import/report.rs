//! The report of refused rows, items and files on standard output.

use std::io::{self, BufWriter, Write as _};

use crate::cli::failure::Failure;
use crate::interchange::RefusedItem;

/// Writes one line for each refused row, item or file. Succeeds even if the reader closes the pipe early, as `head` does.
pub(super) fn report(refused: &[RefusedItem]) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    let written = refused.iter().try_for_each(|refused| writeln!(out, "{refused}")).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written
            .map_err(|error| Failure::new(format!("nothing was imported: cannot write to standard output: {error}"))),
    }
}
