//! A body that hands out one frame at a time, and counts. The parser takes whatever is there into its memory, however much:
//! so no more is there than it was given.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http_body_util::{BodyDataStream, BodyExt};
use hyper::body::{Body, Bytes, Frame};

/// Bytes that may be given without anything coming of them: some frames, in which a part's head or a boundary has to end.
const STUCK_BYTES: usize = 128 * 1_024;

/// How much was given.
#[derive(Debug)]
pub(super) struct Meter {
    bytes_max: usize,
    bytes: AtomicUsize,
    /// Those since something came of them.
    fruitless_bytes: AtomicUsize,
}

impl Meter {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: AtomicUsize::new(0), fruitless_bytes: AtomicUsize::new(0) }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Whether it was more than the whole may have.
    pub(super) fn is_passed(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.bytes_max
    }

    /// Whether much was given and nothing came of it.
    pub(super) fn is_stuck(&self) -> bool {
        self.fruitless_bytes.load(Ordering::Relaxed) > STUCK_BYTES
    }

    /// How much was given.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Something came of what was given.
    pub(super) fn go_on(&self) {
        self.fruitless_bytes.store(0, Ordering::Relaxed);
    }

    fn give(&self, bytes: usize) -> Result<(), Full> {
        // Something may still come of this very frame, however large it is.
        let is_stuck = self.is_stuck();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.fruitless_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.is_passed() || is_stuck { Err(Full) } else { Ok(()) }
    }
}

/// No more is given.
#[derive(Debug)]
pub(super) struct Full;

impl std::fmt::Display for Full {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the form is too large")
    }
}

impl std::error::Error for Full {}

/// The body.
pub(super) struct Paced<B> {
    body: B,
    meter: Arc<Meter>,
    has_given: bool,
}

impl<B> Paced<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    pub(super) fn new(body: B, meter: Arc<Meter>) -> Self {
        Self { body, meter, has_given: false }
    }

    pub(super) fn into_stream(self) -> BodyDataStream<Self> {
        self.into_data_stream()
    }
}

impl<B> Body for Paced<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::take(&mut self.has_given) {
            // Not yet: first what was given is looked at. Whoever does that asks again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        self.has_given = true;
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            self.meter.give(frame.data_ref().map_or(0, Bytes::len))?;
            Ok(frame)
        }))
    }
}
