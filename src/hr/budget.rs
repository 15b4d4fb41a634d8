//! A limit on the number of bytes that an HR system may send on one connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The maximum number of bytes that are read for one response, including its interim responses, head, chunk sizes,
/// body and trailers. Without this limit, an HR system that sends endless interim responses or chunk sizes could occupy
/// the only delivery thread until the time limit of the attempt.
const BYTES_MAX: usize = 256 * 1_024;

/// A stream that fails when more than [`BYTES_MAX`] bytes have been read.
pub(super) struct Budget<S> {
    stream: S,
    bytes_left: usize,
}

impl<S> Budget<S> {
    pub(super) fn new(stream: S) -> Self {
        Self { stream, bytes_left: BYTES_MAX }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Budget<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        let read = buffer.filled().len() - before;
        Poll::Ready(match self.bytes_left.checked_sub(read) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => Err(io::Error::other(format!("the HR system sent more than {} KiB", BYTES_MAX / 1_024))),
        })
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Budget<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
