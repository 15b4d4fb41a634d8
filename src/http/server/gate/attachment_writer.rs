//! Writes an uploaded attachment to the store. Each chunk is a short, separate write, and the next chunk is read from
//! the client only after this write. A client therefore waits for the writer, but the writer never waits for a client.

use std::sync::Arc;

use hyper::body::Bytes;

use super::job::run_job;
use crate::domain::attachment::{
    ATTACHMENT_TOKEN_BYTES, AttachmentDigest, AttachmentToken, CHUNK_BYTES_MAX, MediaTypeScan, NO_ROOM_FOR_FILE,
    file_name,
};
use crate::domain::id::AttachmentId;
use crate::http::server::ctx::Ctx;
use crate::store::attachment::{self, StagedAttachment};
use crate::store::{Error, Grade, Tx};

/// An attachment that is being uploaded. If the `AttachmentWriter` is dropped before the attachment is finished, the
/// attachment's rows are removed.
pub(super) struct AttachmentWriter {
    ctx: Arc<Ctx>,
    id: AttachmentId,
    token: AttachmentToken,
    given_name: String,
    /// Whether the store might contain rows of the attachment that must be removed.
    needs_removal: bool,
    scan: MediaTypeScan,
    digest: AttachmentDigest,
    /// The bytes that have not been written yet; fewer than [`CHUNK_BYTES_MAX`] between calls.
    buffer: Vec<u8>,
    chunks: i64,
    bytes: u32,
}

impl AttachmentWriter {
    pub(super) fn new(ctx: Arc<Ctx>, given_name: &str) -> Self {
        let mut random = [0; ATTACHMENT_TOKEN_BYTES];
        ctx.world.fill(&mut random);
        Self {
            id: ctx.world.id(),
            ctx,
            token: AttachmentToken::new(random),
            given_name: given_name.to_owned(),
            needs_removal: false,
            scan: MediaTypeScan::default(),
            digest: AttachmentDigest::default(),
            buffer: Vec::new(),
            chunks: 0,
            bytes: 0,
        }
    }

    /// Returns whether the attachment can still have an accepted type, judging by the content so far.
    pub(super) fn may_be_accepted(&self) -> bool {
        self.scan.is_acceptable_so_far()
    }

    /// Adds bytes. Every complete chunk is written before this function returns, unless the type of the content is
    /// found to be unacceptable.
    ///
    /// # Errors
    /// [`NO_ROOM_FOR_FILE`] if the disk has too little free space, or the limit on all attachments is reached;
    /// [`Error::Unavailable`] if the limit on staged attachments is reached, or the attachment was swept during its
    /// upload; [`Error::Unavailable`] or [`Error::Full`] if the store cannot write now.
    pub(super) async fn add(&mut self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            let room = CHUNK_BYTES_MAX - self.buffer.len();
            let (next, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(next);
            bytes = rest;
            if self.buffer.len() == CHUNK_BYTES_MAX {
                let chunk = self.next_chunk();
                if !self.may_be_accepted() {
                    return Ok(());
                }
                self.write(chunk, |_| Ok(())).await?;
            }
        }
        Ok(())
    }

    /// Finishes the attachment. Returns `None` if its type is not accepted.
    ///
    /// # Errors
    /// The errors of [`AttachmentWriter::add`].
    pub(super) async fn finish(&mut self) -> Result<Option<StagedAttachment>, Error> {
        let chunk = self.next_chunk();
        let Some(media_type) = self.scan.media_type() else { return Ok(None) };
        let (id, token, bytes) = (self.id.clone(), self.token.clone(), self.bytes);
        let file_name = file_name(&self.given_name, Some(media_type));
        let staged = StagedAttachment { id: id.clone(), token, file_name: file_name.clone(), media_type, bytes };
        let sha256 = self.digest.value();
        let finish = move |tx: &Tx<'_>| attachment::finish(tx, &id, &file_name, media_type, bytes, &sha256);
        self.write(chunk, finish).await?;
        // The attachment is complete, so its rows must not be removed.
        self.needs_removal = false;
        Ok(Some(staged))
    }

    /// Removes the rows that were written.
    pub(super) async fn remove(mut self) {
        if std::mem::take(&mut self.needs_removal) {
            remove(Arc::clone(&self.ctx), self.id.clone()).await;
        }
    }

    /// Turns the buffer into a chunk, and adds the chunk to the scan and the digest.
    fn next_chunk(&mut self) -> Bytes {
        let chunk = std::mem::take(&mut self.buffer);
        self.scan.take(&chunk);
        self.digest.add(&chunk);
        self.bytes += u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        chunk.into()
    }

    /// Writes a chunk, and runs `also` in the same transaction.
    async fn write(
        &mut self,
        chunk: Bytes,
        also: impl Fn(&Tx<'_>) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let bytes = chunk.len() as u64;
        let limits = self.ctx.settings.uploads;
        if !limits.has_free_space(self.ctx.store.reserve().disk(), bytes) {
            return Err(NO_ROOM_FOR_FILE.into());
        }
        // Set `needs_removal` before the write, because this future can be dropped while it waits.
        let is_first = !std::mem::replace(&mut self.needs_removal, true);
        self.chunks += i64::from(!chunk.is_empty());
        let (id, token, number) = (self.id.clone(), self.token.clone(), self.chunks);
        let name = file_name(&self.given_name, None);
        let job = move |tx: &Tx<'_>| {
            if is_first {
                attachment::begin(tx, &id, &token, &name)?;
            }
            if !limits.has_room_for(attachment::total_bytes(tx)?, bytes) {
                return Err(NO_ROOM_FOR_FILE.into());
            }
            if !chunk.is_empty() {
                attachment::append_chunk(tx, &id, number, &chunk)?;
            }
            also(tx)
        };
        run_job(|done| self.ctx.store.write(Grade::Logged, job, done)).await
    }
}

impl Drop for AttachmentWriter {
    fn drop(&mut self) {
        // Rows remain if the upload was interrupted, for example by a panic or a disconnected client. If the runtime
        // has already stopped, the sweep deletes the rows after the next start.
        if let (true, Ok(runtime)) = (self.needs_removal, tokio::runtime::Handle::try_current()) {
            runtime.spawn(remove(Arc::clone(&self.ctx), self.id.clone()));
        }
    }
}

/// Removes an attachment in slices. If a slice cannot be removed now, the sweep removes the rest later.
pub(super) async fn remove(ctx: Arc<Ctx>, id: AttachmentId) {
    loop {
        let id = id.clone();
        let job = move |tx: &Tx<'_>| attachment::delete_slice(tx, &id);
        match run_job(|done| ctx.store.write(Grade::Upkeep, job, done)).await {
            Ok(false) => {}
            Ok(true) | Err(_) => return,
        }
    }
}
