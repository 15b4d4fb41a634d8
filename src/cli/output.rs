//! Writes data to standard output and messages to standard error.

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use super::failure::Failure;
use super::service_manager::is_journal;
use crate::store::{self, Error, Tx};
use crate::telemetry::Priority;
use crate::world::World;

/// The maximum time that the program waits for one message to be written to standard error.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(1);

/// Writes a message for people to standard error.
///
/// Errors while writing to standard error are ignored. A thread writes the line, and this function waits for the thread
/// for at most [`MESSAGE_TIMEOUT`]. A pipe that no program reads from therefore cannot prevent the service from
/// stopping. In the journal of systemd, a line begins with its priority.
pub(super) fn print_message(message: &str) {
    let prefix = if is_journal() { priority(message).prefix() } else { "" };
    let line: String = message.split('\n').map(|line| format!("{prefix}{line}\n")).collect();
    let (done, written) = mpsc::channel::<()>();
    let write = move || {
        let _ = io::stderr().lock().write_all(line.as_bytes());
        drop(done);
    };
    if std::thread::Builder::new().spawn(write).is_ok() {
        let _ = written.recv_timeout(MESSAGE_TIMEOUT);
    }
}

fn priority(message: &str) -> Priority {
    if message.starts_with("appliance: ") {
        Priority::Error
    } else if message.starts_with("warning: ") {
        Priority::Warning
    } else {
        Priority::Info
    }
}

/// Writes data to standard output.
///
/// # Errors
/// Fails if standard output cannot be written to.
pub(super) fn print_data(line: &str) -> Result<(), Failure> {
    write_line(line).map_err(|error| cannot_write(&error))
}

/// Writes text to standard output. Succeeds even if the reader closes the pipe early, as `head` does.
///
/// # Errors
/// Fails if standard output cannot be written to for another reason.
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
    Failure::new(format!("cannot write to standard output: {error}"))
}

/// Changes the database in one transaction and prints the result, for example a secret that is never shown again.
///
/// Prints before the commit, and rolls the transaction back if the result cannot be printed. The transaction holds the
/// write lock until standard output accepts the result.
///
/// # Errors
/// Fails if the database or standard output cannot be used. After a failure, a secret that was printed is not valid,
/// unless the failure reports that the outcome is unknown.
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
