//! Reads forms: detects the encoding, and parses `multipart/form-data` (RFC 7578) while it arrives.
//!
//! Any part of a form can be large or slow, so there are limits on each wait, on each part's head, on all text fields
//! together, on the file and on the whole form. Memory holds only one chunk of a file at a time. No part of an
//! incomplete form remains stored.

mod metered_body;
#[cfg(test)]
mod tests;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header;
use multer::{Field, Multipart};

use self::metered_body::{Meter, MeteredBody};
use super::attachment_writer::AttachmentWriter;
use crate::domain::attachment::{self, AttachmentFault};
use crate::domain::pace::{self, Pace};
use crate::domain::refusal::Refusal;
use crate::http::server::body;
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{FileUse, Form, Trouble, Upload};
use crate::http::server::form_rules::FormRules;
use crate::http::server::request::{BODY_BYTES_MAX, Request};
use crate::store::Error;

/// The maximum time for which a form may pause. A form that is slower than [`pace::BYTES_PER_S_MIN`] uses up this time
/// gradually, and is refused when no time is left.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum time for reading a whole form: enough for the largest file over a slow mobile network.
const FORM_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The maximum number of parts in a multipart form: far more than the number of fields in any multipart form of this
/// service.
const PARTS_MAX: usize = 100;

/// The maximum number of fields in a urlencoded form. The form of a decision batch has a field for each application,
/// and a batch has at most 500 applications.
const FIELDS_MAX: usize = 600;

/// The maximum number of bytes in a part's head: enough for the longest file name, however it is encoded.
const HEAD_BYTES_MAX: usize = 8 * 1_024;

/// The share of a form's maximum size that is for the heads of all parts and the boundaries between the parts.
const OVERHEAD_BYTES_MAX: usize = 128 * 1_024;

/// The maximum number of characters in a boundary (RFC 2046 §5.1.1).
const BOUNDARY_CHARACTERS_MAX: usize = 70;

/// The time limits for reading a form.
#[derive(Debug, Clone, Copy)]
struct FormTimeouts {
    idle: Duration,
    whole: Duration,
}

/// The encoding of a body.
enum FormEncoding {
    Json,
    Urlencoded,
    Multipart(String),
}

/// Reads the body, and returns a copy of the request with the form, or with the JSON body if the route accepts JSON and
/// the body is not a form. Sets `has_begun` before reading a multipart form. If `refused` is set, the form is read only
/// so that it can be shown again.
///
/// # Errors
/// `unsupported_media_type` for a body that is neither a form nor JSON that the route accepts; `payload_too_large`;
/// `bad_request` for a body that is cut off, late or malformed, for a form with too many parts or fields, and for a
/// file in a field that accepts none; [`Error::Unavailable`] if too many multipart forms arrive at the same time, in
/// total or from one network.
pub(super) async fn read(
    ctx: &Arc<Ctx>,
    rules: &FormRules,
    request: &Request,
    body: &mut Incoming,
    has_begun: &mut bool,
    refused: Option<(Trouble, FileUse)>,
) -> Result<Request, Error> {
    let trouble = refused.map(|(trouble, _)| trouble);
    let boundary = match form_encoding(rules, request)? {
        FormEncoding::Json => return Ok(request.with_body(body::read(body, BODY_BYTES_MAX).await?)),
        FormEncoding::Urlencoded => {
            let form = urlencoded(&body::read(body, BODY_BYTES_MAX).await?)?;
            return Ok(request.with_form(form.with_trouble(trouble)));
        }
        FormEncoding::Multipart(boundary) => boundary,
    };
    let bytes_max = bytes_max(rules);
    let is_too_large = body.size_hint().lower() > bytes_max as u64;
    if is_too_large && rules.file_field.is_none() {
        return Err(Refusal::PayloadTooLarge(bytes_max).into());
    }
    if is_too_large {
        // Refuse the form without reading it: most of it can only be a file that is too large.
        let form = Form::new(Vec::new(), Some(Upload::Fault(AttachmentFault::TooLarge)));
        return Ok(request.with_form(form.with_trouble(trouble)));
    }
    let overload =
        || Error::Unavailable("too many forms are arriving at the same time, in total or from one address".to_owned());
    let file_use = refused.map_or(FileUse::Stage, |(_, file_use)| file_use);
    let (_permit, file_use, trouble) = match ctx.uploads.take(request.client()) {
        Ok(permit) => (permit, file_use, trouble),
        // Without a permit for the file, the form's text fields are still read, so that the form can be shown again.
        Err(_) if rules.fallback.is_some() => {
            let permit = ctx.text_forms.take(request.client()).map_err(|_| overload())?;
            (permit, FileUse::Discard, trouble.or(Some(Trouble::Unavailable)))
        }
        Err(_) => return Err(overload()),
    };
    *has_begun = true;
    let timeouts = FormTimeouts { idle: IDLE_TIMEOUT, whole: FORM_TIMEOUT };
    let reader = FormReader::new(ctx, rules, timeouts, file_use);
    let form = reader.read(body, &boundary).await?;
    Ok(request.with_form(form.with_trouble(trouble)))
}

fn form_encoding(rules: &FormRules, request: &Request) -> Result<FormEncoding, Refusal> {
    let unsupported = Refusal::UnsupportedFormType { accepts_json: rules.accepts_json };
    let Some(content_type) = request.header_list(&header::CONTENT_TYPE) else {
        return if rules.accepts_json { Ok(FormEncoding::Json) } else { Err(unsupported) };
    };
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media_type.as_str() {
        "application/x-www-form-urlencoded" => Ok(FormEncoding::Urlencoded),
        "multipart/form-data" => {
            let boundary = multer::parse_boundary(&content_type).unwrap_or_default();
            let is_valid = (1..=BOUNDARY_CHARACTERS_MAX).contains(&boundary.len());
            let invalid =
                || Refusal::bad_request("the form's Content-Type must contain a boundary of 1 to 70 characters");
            if is_valid { Ok(FormEncoding::Multipart(boundary)) } else { Err(invalid()) }
        }
        // The JSON parser checks the body later.
        _ if rules.accepts_json && media_type.starts_with("application/") && media_type.ends_with("json") => {
            Ok(FormEncoding::Json)
        }
        _ => Err(unsupported),
    }
}

pub(super) fn bytes_max(rules: &FormRules) -> usize {
    let file = if rules.file_field.is_some() { attachment::ATTACHMENT_BYTES_MAX } else { 0 };
    BODY_BYTES_MAX + OVERHEAD_BYTES_MAX + file
}

/// Parses a urlencoded form, which cannot contain a file (WHATWG URL §5.1).
fn urlencoded(body: &[u8]) -> Result<Form, Refusal> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in form_urlencoded::parse(body) {
        if fields.len() == FIELDS_MAX {
            return Err(too_many(FIELDS_MAX, "fields"));
        }
        fields.push((name.into_owned(), value.into_owned()));
    }
    Ok(Form::new(fields, None))
}

fn too_many(max: usize, elements: &str) -> Refusal {
    Refusal::bad_request(format!("the form must have at most {max} {elements}"))
}

/// The reader of a multipart form.
struct FormReader<'a> {
    ctx: &'a Arc<Ctx>,
    file_field: Option<&'static str>,
    timeouts: FormTimeouts,
    pace: Pace,
    meter: Arc<Meter>,
    file_use: FileUse,
    parts: usize,
    fields: Vec<(String, String)>,
    text_bytes: usize,
    file_bytes: usize,
    has_file: bool,
    writer: Option<AttachmentWriter>,
    fault: Option<AttachmentFault>,
}

impl<'a> FormReader<'a> {
    fn new(ctx: &'a Arc<Ctx>, rules: &FormRules, timeouts: FormTimeouts, file_use: FileUse) -> Self {
        Self {
            ctx,
            file_field: rules.file_field,
            timeouts,
            pace: Pace::new(timeouts.idle),
            meter: Arc::new(Meter::new(bytes_max(rules))),
            file_use,
            parts: 0,
            fields: Vec::new(),
            text_bytes: 0,
            file_bytes: 0,
            has_file: false,
            writer: None,
            fault: None,
        }
    }

    /// Reads the form to its end, or until the form is refused or its file turns out to be too large.
    async fn read<B>(mut self, body: B, boundary: &str) -> Result<Form, Error>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin,
    {
        let metered = MeteredBody::new(body, Arc::clone(&self.meter));
        let mut parts = Multipart::new(metered.into_stream(), boundary);
        let read = tokio::time::timeout(self.timeouts.whole, self.read_parts(&mut parts)).await;
        let late = || format!("the form did not arrive within {} s", self.timeouts.whole.as_secs());
        let read = read.unwrap_or_else(|_| Err(Refusal::bad_request(late()).into()));
        let upload = match read {
            Ok(()) => self.upload().await,
            Err(error) => Err(error),
        };
        if !matches!(upload, Ok(Some(Upload::Staged(_))))
            && let Some(writer) = self.writer.take()
        {
            writer.remove().await;
        }
        Ok(Form::new(self.fields, upload?))
    }

    /// Finishes storing the file and returns the outcome of the upload.
    async fn upload(&mut self) -> Result<Option<Upload>, Error> {
        if let Some(fault) = self.fault {
            return Ok(Some(Upload::Fault(fault)));
        }
        let Some(writer) = &mut self.writer else { return Ok(None) };
        match writer.finish().await {
            Ok(staged) => Ok(Some(staged.map_or(Upload::Fault(AttachmentFault::WrongType), Upload::Staged))),
            Err(error) => self.no_room(error).map(|()| Some(Upload::Fault(AttachmentFault::NoRoom))),
        }
    }

    async fn read_parts(&mut self, parts: &mut Multipart<'_>) -> Result<(), Error> {
        while let Some(mut part) = self.next_with_timeout(parts.next_field()).await? {
            self.parts += 1;
            if self.parts > PARTS_MAX {
                return Err(too_many(PARTS_MAX, "parts").into());
            }
            let head: usize = part.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
            if head > HEAD_BYTES_MAX {
                return Err(head_too_long().into());
            }
            let name = part.name().ok_or_else(|| Refusal::bad_request("a part of the form has no name"))?.to_owned();
            let flow = if self.file_field == Some(name.as_str()) {
                self.read_file(&mut part).await?
            } else {
                self.read_text(name, &mut part).await?
            };
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn read_text(&mut self, name: String, part: &mut Field<'_>) -> Result<ControlFlow<()>, Error> {
        if part.file_name().is_some_and(|file_name| !file_name.is_empty()) {
            return Err(Refusal::bad_request("a field that does not accept a file contains one").into());
        }
        self.text_bytes += name.len();
        let mut value = Vec::new();
        while let Some(chunk) = self.next_with_timeout(part.chunk()).await? {
            if self.text_bytes + value.len() + chunk.len() > BODY_BYTES_MAX {
                return Err(Refusal::PayloadTooLarge(BODY_BYTES_MAX).into());
            }
            value.extend_from_slice(&chunk);
        }
        self.text_bytes += value.len();
        let value = String::from_utf8(value);
        let value = value.map_err(|_| Refusal::bad_request("a field of the form is not UTF-8"))?;
        self.fields.push((name, value));
        Ok(ControlFlow::Continue(()))
    }

    async fn read_file(&mut self, part: &mut Field<'_>) -> Result<ControlFlow<()>, Error> {
        let name = part.file_name().unwrap_or_default().to_owned();
        let mut has_file_part = !name.is_empty();
        if has_file_part {
            self.begin_file();
        }
        let mut is_empty = true;
        while let Some(chunk) = self.next_with_timeout(part.chunk()).await? {
            if chunk.is_empty() {
                continue;
            }
            if !has_file_part {
                has_file_part = true;
                self.begin_file();
            }
            is_empty = false;
            self.file_bytes += chunk.len();
            if self.file_bytes > attachment::ATTACHMENT_BYTES_MAX {
                return Ok(self.too_large());
            }
            self.store(&name, &chunk).await?;
        }
        // A browser sends a file field without a chosen file as an empty part with an empty file name.
        if has_file_part && is_empty {
            self.fault.get_or_insert(AttachmentFault::Empty);
        }
        Ok(ControlFlow::Continue(()))
    }

    fn begin_file(&mut self) {
        if self.has_file {
            self.fault.get_or_insert(AttachmentFault::MoreThanOne);
        }
        self.has_file = true;
    }

    fn too_large(&mut self) -> ControlFlow<()> {
        self.fault.get_or_insert(AttachmentFault::TooLarge);
        ControlFlow::Break(())
    }

    /// Passes bytes of the file to the [`AttachmentWriter`] as long as the file can be accepted.
    async fn store(&mut self, name: &str, chunk: &[u8]) -> Result<(), Error> {
        if self.fault.is_some() {
            return Ok(());
        }
        if self.file_use == FileUse::Discard {
            self.fault = Some(AttachmentFault::NoRoom);
            return Ok(());
        }
        let writer = self.writer.get_or_insert_with(|| AttachmentWriter::new(Arc::clone(self.ctx), name));
        if let Err(error) = writer.add(chunk).await {
            return self.no_room(error);
        }
        if !writer.may_be_accepted() {
            self.fault = Some(AttachmentFault::WrongType);
        }
        Ok(())
    }

    /// Records that the file cannot be stored now. Only the file is refused. The rest of the form is still read, so
    /// that the form can be shown again.
    fn no_room(&mut self, error: Error) -> Result<(), Error> {
        match error {
            Error::Full(why) | Error::Unavailable(why) => {
                self.ctx.telemetry.note(self.ctx.world.now(), None, &format!("an upload was refused: {why}"));
            }
            Error::Refused(Refusal::Unavailable { .. }) => {}
            other => return Err(other),
        }
        self.fault = Some(AttachmentFault::NoRoom);
        Ok(())
    }

    /// Waits for the parser's next result for as long as the sender keeps to the minimum pace. Only the time spent
    /// waiting is counted.
    async fn next_with_timeout<T>(&mut self, next: impl Future<Output = multer::Result<T>>) -> Result<T, Refusal> {
        let (started, bytes_before) = (tokio::time::Instant::now(), self.meter.bytes());
        let next = tokio::time::timeout(self.pace.credit(), next).await;
        self.pace = self.pace.after(started.elapsed(), self.meter.bytes() - bytes_before);
        match next.map_err(|_| too_slow(self.timeouts.idle))? {
            Ok(next) => {
                self.meter.reset_unparsed();
                Ok(next)
            }
            Err(_) if self.meter.is_exceeded() => Err(Refusal::PayloadTooLarge(self.meter.bytes_max())),
            Err(_) if self.meter.is_stuck() => Err(head_too_long()),
            Err(multer::Error::StreamReadFailed(_)) => Err(Refusal::bad_request("the body was cut off; send it again")),
            Err(multer::Error::IncompleteStream | multer::Error::IncompleteFieldData { .. }) => {
                Err(Refusal::bad_request("the form is incomplete: its closing boundary is missing or malformed"))
            }
            Err(_) => Err(Refusal::bad_request("the header fields of a part of the form cannot be read")),
        }
    }
}

fn too_slow(idle: Duration) -> Refusal {
    let (idle_s, pace) = (idle.as_secs(), pace::BYTES_PER_S_MIN);
    Refusal::bad_request(format!(
        "the form stopped for {idle_s} s, or arrived more slowly than {pace} bytes a second; send it again"
    ))
}

fn head_too_long() -> Refusal {
    Refusal::bad_request(format!("the head of a part of the form must be at most {HEAD_BYTES_MAX} bytes"))
}
