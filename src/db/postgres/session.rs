//! A session with the server: the driver's client, and a runtime that the calling thread runs while it waits. Every
//! wait has a deadline. No other file of this engine runs futures.
//!
//! A runtime for each connection has no thread of its own, and costs two file descriptors. A shared runtime on a thread
//! of its own would cost two context switches for each statement.

use std::cell::Cell;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row, SimpleQueryMessage, Statement};

use super::connect::{Messages, Opened, open_first};
use super::error::Failure;
use super::target::TargetHost;

/// The maximum total time for connecting to all hosts, including TLS and authentication. The driver limits only the
/// time for a TCP connection. A request that needs a new connection waits at most this long.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);

/// The time between two checks of whether the caller of a long statement is interrupted.
const INTERRUPTION_POLL: Duration = Duration::from_millis(100);

/// The parameters of a statement.
pub(super) type Params<'a> = [&'a (dyn ToSql + Sync)];

/// A session. After a wait has reached its deadline, the session is broken, because the server may still be working.
pub(super) struct Session {
    runtime: OwnRuntime,
    client: Client,
    messages: Arc<Messages>,
    is_broken: Cell<bool>,
}

impl Session {
    /// Opens a session with the first of these hosts that accepts writes. A host that is silent does not delay the
    /// others for long.
    ///
    /// # Errors
    /// The failure of each host; if no runtime can be made, only that failure.
    pub(super) fn open(hosts: &[TargetHost]) -> Result<Self, Vec<Failure>> {
        let runtime = OwnRuntime::new().map_err(|error| vec![Failure::Runtime(error)])?;
        let mut failures: Vec<Option<Failure>> = hosts.iter().map(|_| None).collect();
        let opened = block(runtime.get(), OPEN_TIMEOUT, open_first(hosts, &mut failures)).flatten();
        match opened {
            Some(Opened { client, messages }) => Ok(Self { runtime, client, messages, is_broken: Cell::new(false) }),
            None => {
                let failures = failures.into_iter();
                Err(failures.map(|failure| failure.unwrap_or(Failure::TimedOut(OPEN_TIMEOUT))).collect())
            }
        }
    }

    /// Returns whether the session has ended, or must not be used again.
    pub(super) fn is_broken(&self) -> bool {
        self.is_broken.get() || self.client.is_closed()
    }

    /// Returns whether the server has sent a warning since the last call.
    pub(super) fn take_warning(&self) -> bool {
        self.messages.take_warning()
    }

    /// Runs statements without parameters in one round trip.
    pub(super) fn simple(&self, sql: &str, deadline: Duration) -> Result<Vec<SimpleQueryMessage>, Failure> {
        self.wait(deadline, self.client.simple_query(sql))
    }

    /// Runs statements as [`Session::simple`] does. Ends the session if the caller is interrupted.
    pub(super) fn simple_unless(
        &self,
        is_interrupted: impl Fn() -> bool,
        sql: &str,
        deadline: Duration,
    ) -> Result<Vec<SimpleQueryMessage>, Failure> {
        let begun = Instant::now();
        let mut running = std::pin::pin!(self.client.simple_query(sql));
        while !is_interrupted() && !self.is_broken.get() {
            if let Some(outcome) = block(self.runtime.get(), INTERRUPTION_POLL, running.as_mut()) {
                return outcome.map_err(|error| self.note(Failure::Driver(error)));
            }
            if begun.elapsed() >= deadline {
                return Err(self.note(Failure::TimedOut(deadline)));
            }
        }
        Err(self.note(Failure::Closed))
    }

    pub(super) fn prepare(&self, sql: &str, deadline: Duration) -> Result<Statement, Failure> {
        self.wait(deadline, self.client.prepare(sql))
    }

    pub(super) fn query(
        &self,
        statement: &Statement,
        params: &Params<'_>,
        deadline: Duration,
    ) -> Result<Vec<Row>, Failure> {
        self.wait(deadline, self.client.query(statement, params))
    }

    pub(super) fn execute(
        &self,
        statement: &Statement,
        params: &Params<'_>,
        deadline: Duration,
    ) -> Result<u64, Failure> {
        self.wait(deadline, self.client.execute(statement, params))
    }

    /// Runs a statement for each list of parameters. All of them are sent before the first answer arrives, so that they
    /// take one round trip. Returns the first failure.
    pub(super) fn execute_all(
        &self,
        statement: &Statement,
        lists: &[Vec<&(dyn ToSql + Sync)>],
        deadline: Duration,
    ) -> Result<u64, Failure> {
        let running = lists.iter().map(|params| Running::Yes(Box::pin(self.client.execute(statement, params))));
        let outcomes = self.wait_for(deadline, All(running.collect()))?;
        let mut affected = 0;
        for outcome in outcomes {
            affected += outcome.map_err(|error| self.note(Failure::Driver(error)))?;
        }
        Ok(affected)
    }

    fn wait<T>(
        &self,
        deadline: Duration,
        future: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, Failure> {
        self.wait_for(deadline, future)?.map_err(|error| self.note(Failure::Driver(error)))
    }

    fn wait_for<T>(&self, deadline: Duration, future: impl Future<Output = T>) -> Result<T, Failure> {
        if self.is_broken.get() {
            return Err(Failure::Closed);
        }
        block(self.runtime.get(), deadline, future).ok_or_else(|| self.note(Failure::TimedOut(deadline)))
    }

    /// Marks the session as broken after a failure that ends it.
    fn note(&self, failure: Failure) -> Failure {
        if failure.ends_session() {
            self.is_broken.set(true);
        }
        failure
    }
}

/// The runtime of one session. It can be dropped on a thread of another runtime.
struct OwnRuntime(
    /// `None` only while this value is being dropped.
    Option<Runtime>,
);

impl OwnRuntime {
    fn new() -> io::Result<Self> {
        Builder::new_current_thread().enable_io().enable_time().build().map(Some).map(Self)
    }

    fn get(&self) -> &Runtime {
        self.0.as_ref().expect("only `drop` takes the runtime")
    }
}

impl Drop for OwnRuntime {
    fn drop(&mut self) {
        // Dropping a runtime waits for its threads, and panics on a thread of another runtime. The only thread that
        // this runtime can have looks up a host name, and no code needs the result any more.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Runs the runtime until the future is ready. Returns `None` at the deadline.
fn block<T>(runtime: &Runtime, deadline: Duration, future: impl Future<Output = T>) -> Option<T> {
    // The timer belongs to the runtime, so it must be created inside the runtime.
    let timer = {
        let _entered = runtime.enter();
        tokio::time::timeout(deadline, future)
    };
    leave_runtime(|| runtime.block_on(timer).ok())
}

/// Runs `f`, which waits. If the calling thread belongs to a runtime with several threads, another thread of that
/// runtime continues the other tasks in the meantime.
fn leave_runtime<T>(f: impl FnOnce() -> T) -> T {
    match Handle::try_current() {
        Ok(handle) if handle.runtime_flavor() == RuntimeFlavor::MultiThread => tokio::task::block_in_place(f),
        _ => f(),
    }
}

enum Running<'a, T> {
    Yes(Pin<Box<dyn Future<Output = T> + 'a>>),
    No(Option<T>),
}

/// A future that runs several futures at once, and returns their results in order.
struct All<'a, T>(Vec<Running<'a, T>>);

impl<T: Unpin> Future for All<'_, T> {
    type Output = Vec<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Vec<T>> {
        let mut is_ready = true;
        for one in &mut self.0 {
            let Running::Yes(future) = one else { continue };
            match future.as_mut().poll(cx) {
                Poll::Ready(value) => *one = Running::No(Some(value)),
                Poll::Pending => is_ready = false,
            }
        }
        if !is_ready {
            return Poll::Pending;
        }
        let value = |one: &mut Running<'_, T>| match one {
            Running::Yes(_) => None,
            Running::No(value) => value.take(),
        };
        Poll::Ready(self.0.iter_mut().filter_map(value).collect())
    }
}
