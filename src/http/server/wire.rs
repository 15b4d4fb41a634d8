//! The wire under hyper. hyper refuses by itself a request that it cannot parse, with a status and nothing else; this
//! module sends a problem document in place of that head.
//!
//! It never looks for such a head in the bytes of our own answers: an uploaded file may hold the same line. [`Progress`]
//! says whether an answer of ours is due or under way, and only while none is does hyper write a head of its own.

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
use tokio::net::TcpStream;

use super::ctx::Ctx;
use super::gate;
use super::request::URI_BYTES_MAX;
use crate::domain::refusal::Refusal;
use crate::store::Error;

/// The answers of one connection, as its wire and its service see them. All calls come from the connection's own task, so
/// the order of memory accesses between threads does not matter.
#[derive(Default)]
pub(in crate::http) struct Progress {
    /// Answers that are due or whose body hyper still holds.
    open: AtomicUsize,
    /// Whether bytes of an answer may still be in hyper's write buffer.
    is_unflushed: AtomicBool,
}

impl Progress {
    /// hyper has handed a request to the service: everything written from now on belongs to its answer.
    pub(in crate::http) fn begin(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
        self.is_unflushed.store(true, Ordering::Relaxed);
    }

    /// hyper has dropped the answer's body, so all of the answer is in its write buffer or sent.
    fn end(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    /// hyper's write buffer is empty.
    fn flushed(&self) {
        if self.open.load(Ordering::Relaxed) == 0 {
            self.is_unflushed.store(false, Ordering::Relaxed);
        }
    }

    /// Whether no answer of ours is due or under way.
    fn is_idle(&self) -> bool {
        !self.is_unflushed.load(Ordering::Relaxed)
    }
}

/// The body of an answer, which tells the connection's [`Progress`] when hyper is done with it.
pub(in crate::http) struct Tracked<B> {
    body: B,
    progress: Arc<Progress>,
}

impl<B> Tracked<B> {
    pub(in crate::http) fn new(body: B, progress: Arc<Progress>) -> Self {
        Self { body, progress }
    }
}

impl<B> Drop for Tracked<B> {
    fn drop(&mut self) {
        self.progress.end();
    }
}

impl<B: Body + Unpin> Body for Tracked<B> {
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

/// A connection's socket.
pub(in crate::http) struct Wire {
    stream: TokioIo<TcpStream>,
    ctx: Arc<Ctx>,
    progress: Arc<Progress>,
    words: Option<Box<Words>>,
}

/// An answer that goes out in place of hyper's own.
struct Words {
    text: Vec<u8>,
    sent: usize,
    /// Bytes of hyper's own, which it learns as written once these are.
    instead_of: usize,
}

impl Wire {
    pub(in crate::http) fn new(stream: TcpStream, ctx: Arc<Ctx>, progress: Arc<Progress>) -> Self {
        Self { stream: TokioIo::new(stream), ctx, progress, words: None }
    }

    fn poll_words(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let Some(words) = &mut self.words else { return Poll::Ready(Ok(0)) };
        while words.sent < words.text.len() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &words.text[words.sent..]))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            words.sent += sent;
        }
        let instead_of = words.instead_of;
        self.words = None;
        Poll::Ready(Ok(instead_of))
    }
}

/// What hyper refuses with this head of its own; `None` where it is no refusal.
fn refusal(head: &[u8]) -> Option<Refusal> {
    let status = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    Some(match status.first_chunk::<3>().filter(|status| status[0] == b'4')? {
        b"414" => Refusal::UriTooLong(URI_BYTES_MAX),
        b"431" => Refusal::HeadersTooLarge,
        _ => Refusal::bad_request("the request cannot be read as HTTP/1.1 (RFC 9112)"),
    })
}

/// The answer to a connection that is refused before anything is read from it.
pub(in crate::http) fn refuse(ctx: &Ctx, error: Error) -> Vec<u8> {
    let (mut response, body) = gate::unread(ctx, error);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    text(&response, &body, b"")
}

/// A whole answer, with what hyper says of the connection (it closes it) and of the date.
fn text(response: &Response<()>, body: &[u8], head: &[u8]) -> Vec<u8> {
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

impl Read for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Wire {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.words.is_none() {
            let own = slices.first().filter(|_| self.progress.is_idle());
            let Some(refusal) = own.and_then(|head| refusal(head)) else {
                return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            };
            let head: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            let (response, body) = gate::unread(&self.ctx, refusal.into());
            self.words = Some(Box::new(Words { text: text(&response, &body, &head), sent: 0, instead_of: head.len() }));
        }
        self.poll_words(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // hyper flushes the socket when its own buffer is empty, and only then.
        self.progress.flushed();
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
