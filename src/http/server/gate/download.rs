//! Downloads of attachments. Each chunk is read in a short, separate snapshot when the connection has room for the
//! chunk. A slow download therefore holds only one chunk in memory, and no snapshot.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use http_body_util::Full;
use hyper::body::{Body, Bytes, Frame, SizeHint};

use crate::domain::attachment::{AttachmentDigest, DIGEST_BYTES};
use crate::domain::id::{AttachmentId, RequestId};
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::StoredFile;
use crate::store::{self, Error};

/// The body of a response.
pub(in crate::http::server) enum ResponseBody {
    InMemory(Full<Bytes>),
    Download(Box<Download>),
}

/// An attachment that is being sent.
pub(in crate::http::server) struct Download {
    ctx: Arc<Ctx>,
    request_id: RequestId,
    id: AttachmentId,
    /// The number of the next chunk.
    next_chunk: i64,
    /// The number of bytes that have not been sent yet.
    remaining_bytes: u64,
    /// The digest of the chunks that have been read so far.
    digest: AttachmentDigest,
    /// The stored digest of the whole attachment, if there is one.
    sha256: Option<[u8; DIGEST_BYTES]>,
    chunk_read: Option<Pin<Box<ChunkRead>>>,
}

type ChunkRead = dyn Future<Output = Result<(Option<Vec<u8>>, AttachmentDigest), Error>> + Send;

/// The error of an aborted download. The connection is closed before the announced length is sent, so that no client
/// mistakes the partial file for a complete one.
#[derive(Debug)]
pub(in crate::http::server) struct DownloadAborted;

impl std::fmt::Display for DownloadAborted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the download was aborted")
    }
}

impl std::error::Error for DownloadAborted {}

impl Download {
    pub(super) fn new(ctx: Arc<Ctx>, request_id: RequestId, file: StoredFile) -> Self {
        let StoredFile { id, bytes, sha256 } = file;
        Self {
            ctx,
            request_id,
            id,
            next_chunk: 1,
            remaining_bytes: bytes.into(),
            digest: AttachmentDigest::default(),
            sha256,
            chunk_read: None,
        }
    }

    /// Polls for the next chunk.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Error>> {
        let (ctx, id, next, digest) = (&self.ctx, &self.id, self.next_chunk, &self.digest);
        let read = || read(Arc::clone(ctx), id.clone(), next, digest.clone());
        let chunk_read = self.chunk_read.get_or_insert_with(|| Box::pin(read()));
        let read = ready!(chunk_read.as_mut().poll(context));
        self.chunk_read = None;
        Poll::Ready(read.and_then(|(chunk, digest)| {
            self.digest = digest;
            self.accept(chunk)
        }))
    }

    /// Accepts a chunk if it fits into the rest of the attachment and [`Self::require_whole`] succeeds.
    fn accept(&mut self, chunk: Option<Vec<u8>>) -> Result<Bytes, Error> {
        let length = chunk.as_ref().map_or(0, Vec::len) as u64;
        match chunk {
            Some(chunk) if (1..=self.remaining_bytes).contains(&length) => {
                self.next_chunk += 1;
                self.remaining_bytes -= length;
                self.require_whole()?;
                Ok(chunk.into())
            }
            _ => Err(Error::Defect(format!(
                "chunk {} of {} is missing or has changed",
                self.next_chunk,
                self.id.as_str()
            ))),
        }
    }

    /// Compares the digest with the stored one, if any, before the last chunk is sent. An attachment that does not
    /// match its stored digest therefore never arrives completely.
    fn require_whole(&self) -> Result<(), Error> {
        match self.sha256 {
            Some(sha256) if self.remaining_bytes == 0 && sha256 != self.digest.value() => {
                let id = self.id.as_str();
                Err(Error::Defect(format!("the content of {id} does not match its SHA-256; run `appliance check`")))
            }
            _ => Ok(()),
        }
    }
}

/// Waits for a permit, reads a chunk on a blocking thread, and adds it to the digest. The permit is released when the
/// read ends, even if the client has disconnected.
async fn read(
    ctx: Arc<Ctx>,
    id: AttachmentId,
    number: i64,
    mut digest: AttachmentDigest,
) -> Result<(Option<Vec<u8>>, AttachmentDigest), Error> {
    let permit = Arc::clone(&ctx.chunk_reads).acquire_owned().await;
    let permit = permit.map_err(|error| Error::Unavailable(error.to_string()))?;
    let run = tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let chunk = ctx.store.read(|tx| store::attachment::read_chunk(tx, &id, number))?;
        chunk.iter().for_each(|chunk| digest.add(chunk));
        Ok((chunk, digest))
    });
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

impl Body for Download {
    type Data = Bytes;
    type Error = DownloadAborted;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.remaining_bytes == 0 {
            return Poll::Ready(None);
        }
        let chunk = ready!(self.poll_chunk(context));
        Poll::Ready(Some(chunk.map(Frame::data).map_err(|error| {
            // The response's head has already been sent, so only the log can report the error.
            let why = format!("a download was aborted: {error}");
            self.ctx.telemetry.note(self.ctx.world.now(), Some(self.request_id.as_str()), &why);
            DownloadAborted
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes)
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = DownloadAborted;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::InMemory(whole) => {
                let frame = ready!(Pin::new(whole).poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(|never| match never {})))
            }
            Self::Download(file) => Pin::new(file.as_mut()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::InMemory(whole) => whole.is_end_stream(),
            Self::Download(file) => file.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::InMemory(whole) => whole.size_hint(),
            Self::Download(file) => file.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::domain::id::Id;
    use crate::http::server::ctx::{CHUNK_READS_MAX, Settings};

    #[test]
    fn chunks_wait_for_a_permit_and_a_missing_chunk_aborts_the_download() {
        let directory = tempfile::tempdir().unwrap();
        let ctx = Ctx::for_tests(directory.path(), Settings::for_tests());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let permits = ctx.chunk_reads.acquire_many(CHUNK_READS_MAX as u32).await.unwrap();
            let file = StoredFile { id: AttachmentId::parse("doc_1").unwrap(), bytes: 70_000, sha256: None };
            let mut download = Download::new(Arc::clone(&ctx), ctx.world.id(), file);
            assert_eq!((download.size_hint().exact(), download.is_end_stream()), (Some(70_000), false));
            let waits = poll_fn(|context| Poll::Ready(Pin::new(&mut download).poll_frame(context).is_pending()));
            assert!(waits.await);
            drop(permits);
            let frame = poll_fn(|context| Pin::new(&mut download).poll_frame(context)).await;
            assert!(matches!(frame, Some(Err(DownloadAborted))));
            assert_eq!(ctx.chunk_reads.available_permits(), CHUNK_READS_MAX);
        });
    }
}
