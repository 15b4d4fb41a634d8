//! The wire under hyper: what it refuses by itself, because no request can be read of it, is answered in words like every
//! other refusal. hyper would send a status and nothing else.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use hyper::Response;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::ctx::Ctx;
use super::gate;
use super::reply::X_REQUEST_ID;
use super::request::URI_BYTES_MAX;
use crate::domain::refusal::Refusal;

/// A connection's socket.
pub(super) struct Wire {
    stream: TokioIo<TcpStream>,
    ctx: Arc<Ctx>,
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
    pub(super) fn new(stream: TcpStream, ctx: Arc<Ctx>) -> Self {
        Self { stream: TokioIo::new(stream), ctx, words: None }
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

/// What hyper refuses with this head, where it is one of its own: none of ours goes without the request's id.
fn refusal(head: &[u8]) -> Option<Refusal> {
    let status = head.strip_prefix(b"HTTP/1.1 ").or_else(|| head.strip_prefix(b"HTTP/1.0 "))?;
    // Nearly all that is sent begins otherwise, and is looked at no further.
    let status = status.first_chunk::<3>().filter(|status| status[0] == b'4')?;
    let mark = X_REQUEST_ID;
    let mark = mark.as_str().as_bytes();
    if head.windows(mark.len()).any(|window| window == mark) {
        return None;
    }
    Some(match status {
        b"414" => Refusal::UriTooLong(URI_BYTES_MAX),
        b"431" => Refusal::HeadersTooLarge,
        _ => Refusal::bad_request("the request cannot be read as HTTP/1.1 (RFC 9112)"),
    })
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
            let Some(refusal) = slices.first().and_then(|slice| refusal(slice)) else {
                return Pin::new(&mut self.stream).poll_write_vectored(context, slices);
            };
            let head: Vec<u8> = slices.iter().flat_map(|slice| slice.iter().copied()).collect();
            let (response, body) = gate::unread(&self.ctx, refusal);
            self.words = Some(Box::new(Words { text: text(&response, &body, &head), sent: 0, instead_of: head.len() }));
        }
        self.poll_words(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
