//! A file on its way out of the store: a piece at a time, each read in a short snapshot of its own once the connection has
//! room for it. So whoever downloads slowly holds a piece in memory, and nothing of the file.

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

/// What an answer sends behind its head.
pub(in crate::http) enum Outgoing {
    /// What is in memory.
    Whole(Full<Bytes>),
    /// A file of the store.
    Stored(Box<Download>),
}

/// A file that is being sent.
pub(in crate::http) struct Download {
    ctx: Arc<Ctx>,
    request_id: RequestId,
    id: AttachmentId,
    /// The number of the next piece.
    next: i64,
    /// Bytes that are still to be sent.
    left: u64,
    /// The digest of the pieces that were read.
    digest: AttachmentDigest,
    /// The digest that the whole must have.
    sha256: Option<[u8; DIGEST_BYTES]>,
    reading: Option<Pin<Box<Reading>>>,
}

type Reading = dyn Future<Output = Result<(Option<Vec<u8>>, AttachmentDigest), Error>> + Send;

/// A file has broken off: its connection ends short of the length that was told, so that nobody takes it for a whole one.
#[derive(Debug)]
pub(in crate::http) struct BrokenOff;

impl std::fmt::Display for BrokenOff {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the file has broken off")
    }
}

impl std::error::Error for BrokenOff {}

impl Download {
    pub(super) fn new(ctx: Arc<Ctx>, request_id: RequestId, file: StoredFile) -> Self {
        let StoredFile { id, bytes, sha256 } = file;
        Self {
            ctx,
            request_id,
            id,
            next: 1,
            left: bytes.into(),
            digest: AttachmentDigest::default(),
            sha256,
            reading: None,
        }
    }

    /// The next piece, once it was read.
    fn poll_piece(&mut self, context: &mut Context<'_>) -> Poll<Result<Bytes, Error>> {
        let (ctx, id, next, digest) = (&self.ctx, &self.id, self.next, &self.digest);
        let read = || read(Arc::clone(ctx), id.clone(), next, digest.clone());
        let reading = self.reading.get_or_insert_with(|| Box::pin(read()));
        let read = ready!(reading.as_mut().poll(context));
        self.reading = None;
        Poll::Ready(read.and_then(|(piece, digest)| {
            self.digest = digest;
            self.take(piece)
        }))
    }

    /// A piece that was read, where it can be one of a whole file.
    fn take(&mut self, piece: Option<Vec<u8>>) -> Result<Bytes, Error> {
        let length = piece.as_ref().map_or(0, Vec::len) as u64;
        match piece {
            Some(piece) if (1..=self.left).contains(&length) => {
                self.next += 1;
                self.left -= length;
                self.require_whole()?;
                Ok(piece.into())
            }
            _ => Err(Error::Defect(format!("piece {} of {} is gone or is not as it was", self.next, self.id.as_str()))),
        }
    }

    /// Compares the digests behind the last piece, before that piece is sent: a file with other content never arrives whole.
    fn require_whole(&self) -> Result<(), Error> {
        match self.sha256 {
            Some(sha256) if self.left == 0 && sha256 != self.digest.value() => {
                let id = self.id.as_str();
                Err(Error::Defect(format!("the content of {id} does not have its SHA-256; run `appliance check`")))
            }
            _ => Ok(()),
        }
    }
}

/// Reads a piece and adds it to the digest, where it may take a moment. The turn is over when it was read, also where nobody waits for it any more.
async fn read(
    ctx: Arc<Ctx>,
    id: AttachmentId,
    number: i64,
    mut digest: AttachmentDigest,
) -> Result<(Option<Vec<u8>>, AttachmentDigest), Error> {
    let turn = Arc::clone(&ctx.piece_reads).acquire_owned().await;
    let turn = turn.map_err(|error| Error::Unavailable(error.to_string()))?;
    let run = tokio::task::spawn_blocking(move || {
        let _turn = turn;
        let piece = ctx.store.read(|tx| store::attachment::read_chunk(tx, &id, number))?;
        piece.iter().for_each(|piece| digest.add(piece));
        Ok((piece, digest))
    });
    run.await.map_err(|error| Error::Defect(error.to_string()))?
}

impl Body for Download {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let piece = ready!(self.poll_piece(context));
        Poll::Ready(Some(piece.map(Frame::data).map_err(|error| {
            // Its head is gone already, so all that is left to tell is the log.
            let why = format!("a download broke off: {error}");
            self.ctx.telemetry.note(self.ctx.world.now(), Some(self.request_id.as_str()), &why);
            BrokenOff
        })))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BrokenOff;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Whole(whole) => {
                let frame = ready!(Pin::new(whole).poll_frame(context));
                Poll::Ready(frame.map(|frame| frame.map_err(|never| match never {})))
            }
            Self::Stored(file) => Pin::new(file.as_mut()).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(whole) => whole.is_end_stream(),
            Self::Stored(file) => file.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(whole) => whole.size_hint(),
            Self::Stored(file) => file.size_hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;
    use crate::domain::id::Id;
    use crate::domain::timestamp::Timestamp;
    use crate::http::server::ctx::{PIECE_READS_MAX, Settings};
    use crate::store::Store;
    use crate::telemetry::{LogFormat, Telemetry};
    use crate::world::{Scripted, World};

    #[test]
    fn a_piece_waits_for_its_turn_and_what_is_not_there_breaks_off() {
        let dir = tempfile::tempdir().unwrap();
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Arc::new(Store::open(&dir.path().join("a.db"), Arc::clone(&world)).unwrap());
        let (base_url, origin) = ("http://a.example".to_owned(), "http://a.example".to_owned());
        let settings = Settings {
            base_url,
            origin,
            rate: None,
            signups_per_hour: None,
            trusted_proxies: Vec::new(),
            uploads: crate::domain::disk::UploadLimits::default(),
            security_contacts: Vec::new(),
        };
        let ctx = Arc::new(Ctx::new(store, world, settings, Arc::new(Telemetry::new(LogFormat::Off))));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let turns = ctx.piece_reads.acquire_many(PIECE_READS_MAX as u32).await.unwrap();
            let file = StoredFile { id: AttachmentId::parse("doc_1").unwrap(), bytes: 70_000, sha256: None };
            let mut download = Download::new(Arc::clone(&ctx), ctx.world.id(), file);
            assert_eq!((download.size_hint().exact(), download.is_end_stream()), (Some(70_000), false));
            let waits = poll_fn(|context| Poll::Ready(Pin::new(&mut download).poll_frame(context).is_pending()));
            assert!(waits.await);
            drop(turns);
            let frame = poll_fn(|context| Pin::new(&mut download).poll_frame(context)).await;
            assert!(matches!(frame, Some(Err(BrokenOff))));
            assert_eq!(ctx.piece_reads.available_permits(), PIECE_READS_MAX);
        });
    }
}
