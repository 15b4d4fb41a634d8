//! A body that passes one frame at a time to the parser and counts bytes. The parser buffers all available bytes
//! without a limit, so this body offers the next frame only after the parser has processed the previous one.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http_body_util::{BodyDataStream, BodyExt};
use hyper::body::{Body, Bytes, Frame};

/// The maximum number of bytes that the parser may read before it returns a result. A part's head or a boundary must
/// end within this number of bytes, which is the size of several frames.
const UNPARSED_BYTES_MAX: usize = 128 * 1_024;

/// A counter of the bytes that the parser has read.
#[derive(Debug)]
pub(super) struct Meter {
    bytes_max: usize,
    bytes: AtomicUsize,
    /// The number of bytes that the parser has read since its last result.
    unparsed_bytes: AtomicUsize,
}

impl Meter {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, bytes: AtomicUsize::new(0), unparsed_bytes: AtomicUsize::new(0) }
    }

    pub(super) fn bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// Returns whether the parser has read more bytes than the body may have.
    pub(super) fn is_exceeded(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > self.bytes_max
    }

    /// Returns whether the parser has read too many bytes since its last result.
    pub(super) fn is_stuck(&self) -> bool {
        self.unparsed_bytes.load(Ordering::Relaxed) > UNPARSED_BYTES_MAX
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Records a result of the parser.
    pub(super) fn reset_unparsed(&self) {
        self.unparsed_bytes.store(0, Ordering::Relaxed);
    }

    fn count(&self, bytes: usize) -> Result<(), LimitExceeded> {
        // The new frame can still lead to a result, so check `is_stuck` before counting its bytes.
        let is_stuck = self.is_stuck();
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.unparsed_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.is_exceeded() || is_stuck { Err(LimitExceeded) } else { Ok(()) }
    }
}

/// The error for a body that exceeds a limit. The parser gets no more bytes.
#[derive(Debug)]
pub(super) struct LimitExceeded;

impl std::fmt::Display for LimitExceeded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the form is too large")
    }
}

impl std::error::Error for LimitExceeded {}

/// A body whose bytes the meter counts.
pub(super) struct MeteredBody<B> {
    body: B,
    meter: Arc<Meter>,
    has_passed_frame: bool,
}

impl<B> MeteredBody<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    pub(super) fn new(body: B, meter: Arc<Meter>) -> Self {
        Self { body, meter, has_passed_frame: false }
    }

    pub(super) fn into_stream(self) -> BodyDataStream<Self> {
        self.into_data_stream()
    }
}

impl<B> Body for MeteredBody<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Unpin,
{
    type Data = Bytes;
    type Error = Box<dyn std::error::Error + Send + Sync>;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if std::mem::take(&mut self.has_passed_frame) {
            // Let the parser process the previous frame before it polls again.
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        let frame = std::task::ready!(Pin::new(&mut self.body).poll_frame(context));
        self.has_passed_frame = true;
        Poll::Ready(frame.map(|frame| {
            let frame = frame.map_err(Into::into)?;
            self.meter.count(frame.data_ref().map_or(0, Bytes::len))?;
            Ok(frame)
        }))
    }
}
