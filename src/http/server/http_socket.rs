//! The socket that hyper reads and writes. hyper refuses an unparsable request with a response that has no body; this
//! module replaces that response with a problem document.
//!
//! The module never searches the service's own responses for hyper's status line, because an uploaded file can contain
//! the same bytes. [`ResponseProgress`] records whether one of the service's responses is due or being sent. hyper
//! writes its own refusals only at other times.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use hyper::Response;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;

use super::client_stream::ClientStream;
use super::ctx::Ctx;
use super::gate;
use super::request::URI_BYTES_MAX;
use crate::domain::refusal::Refusal;
use crate::store::Error;

/// The progress of one connection's responses, shared by its socket and its service. All calls come from the
/// connection's task, so relaxed memory order is enough.
#[derive(Default)]
pub(super) struct ResponseProgress {
    /// The number of responses that are due, or whose body hyper still holds.
    open: AtomicUsize,
    /// Whether hyper's write buffer might still hold bytes of a response.
    is_unflushed: AtomicBool,
}

impl ResponseProgress {
    /// Records that hyper has passed a request to the service. Until hyper has sent the whole response, everything that
    /// it writes belongs to a response of the service.
    pub(super) fn begin(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.is_unflushed.store(true, Ordering::Relaxed);
    }

    /// Records that hyper has dropped the response's body, so the whole response is in hyper's write buffer or has
    /// been sent.
    fn end(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// Records that hyper's write buffer is empty.
    fn record_flush(&self) {
        if self.open.load(Ordering::Relaxed) == 0 {
            self.is_unflushed.store(false, Ordering::Relaxed);
        }
    }

    /// Returns whether none of the service's responses is due or being sent.
    fn is_idle(&self) -> bool {
        !self.is_unflushed.load(Ordering::Relaxed)
    }
}

/// A response body that reports to [`ResponseProgress`] when hyper drops it.
pub(super) struct TrackedBody<B> {
    body: B,
    progress: Arc<ResponseProgress>,
}

impl<B> TrackedBody<B> {
    pub(super) fn new(body: B, progress: Arc<ResponseProgress>) -> Self {
        Self { body, progress }
    }
}

impl<B> Drop for TrackedBody<B> {
    fn drop(&mut self) {
        self.progress.end();
    }
}

impl<B: Body + Unpin> Body for TrackedBody<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection's socket, which replaces hyper's own refusals.
pub(super) struct HttpSocket {
    stream: TokioIo<ClientStream>,
    ctx: Arc<Ctx>,
    progress: Arc<ResponseProgress>,
    replacement: Option<Box<Replacement>>,
}

/// A response that is sent in place of hyper's own.
struct Replacement {
    text: Vec<u8>,
    sent: usize,
    /// The length of hyper's own response. The socket reports this many bytes as written when `text` has been sent.
    replaced_bytes: usize,
}

impl HttpSocket {
    pub(super) fn new(stream: ClientStream, ctx: Arc<Ctx>, progress: Arc<ResponseProgress>) -> Self {
        Self { stream: TokioIo::new(stream), ctx, progress, replacement: None }
    }

    fn poll_replacement(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(replacement) = &mut self.replacement else { return Poll::Ready(Ok(0)) };
        while replacement.sent < replacement.text.len() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &replacement.text[replacement.sent..]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            replacement.sent += sent;
        }
        let replaced_bytes = replacement.replaced_bytes;
        self.replacement = None;
        Poll::Ready(Ok(replaced_bytes))
    }
}

/// Returns the refusal that replaces hyper's own response head, or `None` if the head is not a refusal.
fn refusal(head: &[u8]) -> Option<Refusal> {
    let status = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    Some(match status.first_chunk::<3>().filter(|status| status[0] == b'4')? {
        b"414" => Refusal::UriTooLong(URI_BYTES_MAX),
        b"431" => Refusal::HeadersTooLarge,
        _ => Refusal::bad_request("the request cannot be read as HTTP/1.1 (RFC 9112)"),
    })
}

/// Returns the response for a connection that is refused before anything is read from it.
pub(super) fn refuse(ctx: &Ctx, error: Error) -> Vec<u8> {
    let (mut response, body) = gate::refuse_unread(ctx, error);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    serialize(&response, &body, b"")
}

/// Returns the response to a request without TLS on a port that speaks TLS. `Strict-Transport-Security` must not be
/// sent without TLS (RFC 6797 §7.2).
pub(super) fn refuse_plain(ctx: &Ctx) -> Vec<u8> {
    let refusal = Refusal::bad_request("this port speaks TLS; use a URL that begins with https://");
    let (mut response, body) = gate::refuse_unread(ctx, refusal.into());
    response.headers_mut().remove(header::STRICT_TRANSPORT_SECURITY);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    serialize(&response, &body, b"")
}

/// Serializes a complete response. Copies the fields `Connection` (close) and `Date` from `head`, which is the head of
/// the response that hyper wrote, or is empty.
fn serialize(response: &Response<()>, body: &[u8], head: &[u8]) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 {}\r\ncontent-length: {}\r\n", response.status(), body.len()).into_bytes();
    for (name, value) in response.headers() {
        text.extend([name.as_str().as_bytes(), b": ", value.as_bytes(), b"\r\n"].concat());
    }
    let lines = head.split(|byte| *byte == b'\n').skip(1).map(<[u8]>::trim_ascii_end);
    for line in lines.filter(|line| line.starts_with(b"connection: ") || line.starts_with(b"date: ")) {
        text.extend([line, b"\r\n"].concat());
    }
    text.extend([b"\r\n", body].concat());
    text
}

impl Read for HttpSocket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for HttpSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.replacement.is_none() {
            let own = slices.first().filter(|_| self.progress.is_idle());
            let Some(refusal) = own.and_then(|head| refusal(head)) else {
                return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            };
            let head: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            let (response, body) = gate::refuse_unread(&self.ctx, refusal.into());
            self.replacement = Some(Box::new(Replacement {
                text: serialize(&response, &body, &head),
                sent: 0,
                replaced_bytes: head.len(),
            }));
        }
        self.poll_replacement(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes the socket only when its own buffer is empty.
        self.progress.record_flush();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
