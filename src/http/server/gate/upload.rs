//! A file on its way into the store: a piece at a time, each its own short write, and the next is read when that is done. So
//! who uploads waits for the writer, and the writer for nobody.

use std::sync::Arc;

use hyper::body::Bytes;

use super::job::outcome_of;
use crate::domain::attachment::{
    ATTACHMENT_TOKEN_BYTES, AttachmentDigest, AttachmentToken, CHUNK_BYTES_MAX, MediaTypeScan, NO_ROOM_FOR_FILE,
    file_name,
};
use crate::domain::id::AttachmentId;
use crate::http::server::ctx::Ctx;
use crate::store::attachment::{self, StagedAttachment};
use crate::store::{Error, Grade, Tx};

/// A file that arrives. Where it is dropped before it is finished, nothing of it is kept.
pub(super) struct Staging {
    ctx: Arc<Ctx>,
    id: AttachmentId,
    token: AttachmentToken,
    given_name: String,
    /// Whether something of it may be in the file that does not stay.
    is_begun: bool,
    scan: MediaTypeScan,
    digest: AttachmentDigest,
    /// What was not written yet: less than a piece.
    waiting: Vec<u8>,
    pieces: i64,
    bytes: u32,
}

impl Staging {
    pub(super) fn new(ctx: Arc<Ctx>, given_name: &str) -> Self {
        let mut random = [0; ATTACHMENT_TOKEN_BYTES];
        ctx.world.fill(&mut random);
        Self {
            id: ctx.world.id(),
            ctx,
            token: AttachmentToken::new(random),
            given_name: given_name.to_owned(),
            is_begun: false,
            scan: MediaTypeScan::default(),
            digest: AttachmentDigest::default(),
            waiting: Vec::new(),
            pieces: 0,
            bytes: 0,
        }
    }

    /// Whether the content can still be of an accepted type.
    pub(super) fn is_hopeful(&self) -> bool {
        self.scan.is_hopeful()
    }

    /// Some more of it. What makes a piece is in the file when this is done.
    ///
    /// # Errors
    /// [`NO_ROOM_FOR_FILE`](crate::domain::attachment::NO_ROOM_FOR_FILE) where the disk, or the total of all attachments, has no room for it; [`Error::Unavailable`] where it
    /// cannot be written now.
    pub(super) async fn take(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = CHUNK_BYTES_MAX - self.waiting.len();
            let (next, rest) = bytes.split_at(room.min(bytes.len()));
            self.waiting.extend_from_slice(next);
            bytes = rest;
            if self.waiting.len() == CHUNK_BYTES_MAX {
                let piece = self.next_piece();
                if !self.is_hopeful() {
                    return Ok(());
                }
                self.write(piece, |_| Ok(())).await?;
            }
        }
        Ok(())
    }

    /// The end of it. `None` where it is not of a type that is taken.
    ///
    /// # Errors
    /// As [`Staging::take`].
    pub(super) async fn finish(&mut self) -> Result<Option<StagedAttachment>, Error> {
        let piece = self.next_piece();
        let Some(media_type) = self.scan.media_type() else { return Ok(None) };
        let (id, token, bytes) = (self.id.clone(), self.token.clone(), self.bytes);
        let file_name = file_name(&self.given_name, Some(media_type));
        let staged = StagedAttachment { id: id.clone(), token, file_name: file_name.clone(), media_type, bytes };
        let sha256 = self.digest.value();
        let finish = move |tx: &Tx<'_>| attachment::finish(tx, &id, &file_name, media_type, bytes, &sha256);
        self.write(piece, finish).await?;
        // It stays.
        self.is_begun = false;
        Ok(Some(staged))
    }

    /// Takes away what was written of it.
    pub(super) async fn remove(mut self) {
        if std::mem::take(&mut self.is_begun) {
            remove(Arc::clone(&self.ctx), self.id.clone()).await;
        }
    }

    /// What waits, looked at.
    fn next_piece(&mut self) -> Bytes {
        let piece = std::mem::take(&mut self.waiting);
        self.scan.take(&piece);
        self.digest.add(&piece);
        self.bytes += u32::try_from(piece.len()).unwrap_or(u32::MAX);
        piece.into()
    }

    /// Writes a piece, and what belongs to it.
    async fn write(
        &mut self,
        piece: Bytes,
        beside: impl Fn(&Tx<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let bytes = piece.len() as u64;
        let limits = self.ctx.settings.uploads;
        if !limits.has_free_space(self.ctx.store.reserve().disk(), bytes) {
            return Err(NO_ROOM_FOR_FILE.into());
        }
        // From now on, for who waits for it may give up meanwhile.
        let is_first = !std::mem::replace(&mut self.is_begun, true);
        self.pieces += i64::from(!piece.is_empty());
        let (id, token, number) = (self.id.clone(), self.token.clone(), self.pieces);
        let name = file_name(&self.given_name, None);
        let job = move |tx: &Tx<'_>| {
            if is_first {
                attachment::begin(tx, &id, &token, &name)?;
            }
            if !limits.has_room_beside(attachment::total_bytes(tx)?, bytes) {
                return Err(NO_ROOM_FOR_FILE.into());
            }
            if !piece.is_empty() {
                attachment::append_chunk(tx, &id, number, &piece)?;
            }
            beside(tx)
        };
        outcome_of(|done| self.ctx.store.write(Grade::Logged, job, done)).await
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        // Only what broke off in a panic, or with the service, is still there; the latter is swept at the next start.
        if let (true, Ok(runtime)) = (self.is_begun, tokio::runtime::Handle::try_current()) {
            runtime.spawn(remove(Arc::clone(&self.ctx), self.id.clone()));
        }
    }
}

/// Takes it away, a slice at a time. What cannot be taken away now is swept later.
pub(super) async fn remove(ctx: Arc<Ctx>, id: AttachmentId) {
    loop {
        let id = id.clone();
        let job = move |tx: &Tx<'_>| attachment::delete_slice(tx, &id);
        match outcome_of(|done| ctx.store.write(Grade::Upkeep, job, done)).await {
            Ok(false) => {}
            Ok(true) | Err(_) => return,
        }
    }
}
