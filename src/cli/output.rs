//! Writes data to standard output and messages to standard error.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::failure::Failure;
use crate::store::{self, Error, Tx};
use crate::world::World;

/// How long writing one message to standard error may take. A pipe that nobody reads must not block the exit.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes a message for people to standard error.
///
/// A closed standard error is not a failure. A pipe that nobody reads must not block a service that has to stop, so a
/// thread writes the line and this function waits for it only [`MESSAGE_TIMEOUT`] long.
pub(super) fn print_message(message: &str) {
    let line = format!("{message}\n");
    let (done, written) = mpsc::channel::<()>();
    let write = move || {
        let _ = io::stderr().lock().write_all(line.as_bytes());
        drop(done);
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(MESSAGE_TIMEOUT);
    }
}

/// Writes data to standard output.
///
/// # Errors
/// Fails if standard output is closed or full.
pub(super) fn print_data(line: &str) -> Result<(), Failure> {
    write_line(line).map_err(|error| cannot_write(&error))
}

/// Writes text to standard output that its reader may leave unread. A reader that closes the pipe early, such as `head`, is
/// not a failure.
///
/// # Errors
/// Fails if standard output is full.
pub(super) fn print_listing(text: &str) -> Result<(), Failure> {
    match write_line(text) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| cannot_write(&error)),
    }
}

fn write_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

fn cannot_write(error: &io::Error) -> Failure {
    Failure::new(format!("standard output cannot be written: {error}"))
}

/// Changes the file in one transaction and prints the result, such as a secret that is never shown again.
///
/// Printing comes before the commit. If the result cannot be printed, the transaction is undone. A reader that does not
/// read standard output holds the write lock for that time.
///
/// # Errors
/// Fails if the file or standard output cannot be used. A secret that was printed is not valid then.
pub(super) fn act_and_print(
    path: &Path,
    world: &dyn World,
    act: impl FnOnce(&Tx<'_>) -> Result<String, Error>,
) -> Result<(), Failure> {
    let mut unprinted = None;
    let done = store::act_alone(path, world, |tx| {
        print_data(&act(tx)?).map_err(|failure| {
            let why = failure.message.clone();
            unprinted = Some(failure);
            Error::Unavailable(why)
        })
    });
    unprinted.map_or_else(|| done.map_err(Failure::from), Err)
}
