//! Forms on their way in: which kind one is, and `multipart/form-data` (RFC 7578) read while it arrives.
//!
//! Nothing of a form is trusted to be small: each wait, each part's head, the texts together, the file and the whole have
//! their limits, and memory holds one piece of a file at a time. A form that does not come to its end leaves nothing.

mod paced;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header;
use multer::{Field, Multipart};

use self::paced::{Meter, Paced};
use super::upload::Staging;
use crate::domain::attachment::{self, AttachmentFault};
use crate::domain::pace::{self, Pace};
use crate::domain::refusal::Refusal;
use crate::http::server::body;
use crate::http::server::ctx::Ctx;
use crate::http::server::form::{FileUse, Form, Trouble, Upload};
use crate::http::server::form_rules::FormRules;
use crate::http::server::request::{BODY_BYTES_MAX, Request};
use crate::store::Error;

/// How long a form may pause. A form that arrives more slowly than [`pace::BYTES_PER_S_MIN`] is cut off once its pauses
/// together were longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a whole form may take: the largest file at the speed of a telephone in the country.
const FORM_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// Parts of a form: far more than any form here has fields.
const PARTS_MAX: usize = 100;

/// Bytes of a part's head: room for the longest name of a file, however it is spelled.
const HEAD_BYTES_MAX: usize = 8 * 1_024;

/// Bytes of a form that are neither text nor file: the heads of its parts, and the boundaries between them.
const OVERHEAD_BYTES_MAX: usize = 128 * 1_024;

/// The longest boundary (RFC 2046 §5.1.1).
const BOUNDARY_CHARACTERS_MAX: usize = 70;

/// How long a form is waited for.
#[derive(Debug, Clone, Copy)]
struct Patience {
    idle: Duration,
    whole: Duration,
}

/// What a body is, by its head.
enum Kind {
    Json,
    Urlencoded,
    Multipart(String),
}

/// The request with its form, or with its body where that is JSON and the route reads that.
///
/// # Errors
/// `unsupported_media_type` for what is neither; `payload_too_large`; `bad_request` for a form that is cut off, late or
/// broken; [`Error::Unavailable`] where too many files arrive at once, or from one address.
pub(super) async fn read(
    ctx: &Arc<Ctx>,
    rules: &FormRules,
    request: &Request,
    body: &mut Incoming,
    has_begun: &mut bool,
    refused: Option<(Trouble, FileUse)>,
) -> Result<Request, Error> {
    let trouble = refused.map(|(trouble, _)| trouble);
    let boundary = match kind(rules, request)? {
        Kind::Json => return Ok(request.with_body(body::read(body, BODY_BYTES_MAX).await?)),
        Kind::Urlencoded => {
            let form = urlencoded(&body::read(body, BODY_BYTES_MAX).await?)?;
            return Ok(request.with_form(form.with_trouble(trouble)));
        }
        Kind::Multipart(boundary) => boundary,
    };
    let bytes_max = bytes_max(rules);
    let is_too_large = body.size_hint().lower() > bytes_max as u64;
    if is_too_large && rules.file_field.is_none() {
        return Err(Refusal::PayloadTooLarge(bytes_max).into());
    }
    if is_too_large {
        // Refused before anything is read: most of it can only be a file that is too large.
        let form = Form::new(Vec::new(), Some(Upload::Fault(AttachmentFault::TooLarge)));
        return Ok(request.with_form(form.with_trouble(trouble)));
    }
    let overload = || Error::Unavailable("too many forms arrive at once, or from one address".to_owned());
    let file_use = refused.map_or(FileUse::Stage, |(_, file_use)| file_use);
    let (_permit, file_use, trouble) = match ctx.uploads.take(request.client()) {
        Ok(permit) => (permit, file_use, trouble),
        // Without a permit for the file, a person's words are still read, so that the form can be shown again.
        Err(_) if rules.fallback.is_some() => {
            let permit = ctx.text_forms.take(request.client()).map_err(|_| overload())?;
            (permit, FileUse::Discard, trouble.or(Some(Trouble::Unavailable)))
        }
        Err(_) => return Err(overload()),
    };
    *has_begun = true;
    let patience = Patience { idle: IDLE_TIMEOUT, whole: FORM_TIMEOUT };
    let reading = Reading::new(ctx, rules, patience, file_use);
    let form = reading.read(body, &boundary).await?;
    Ok(request.with_form(form.with_trouble(trouble)))
}

fn kind(rules: &FormRules, request: &Request) -> Result<Kind, Refusal> {
    let unsupported = Refusal::UnsupportedFormType { takes_json: rules.takes_json };
    let Some(content_type) = request.header_list(&header::CONTENT_TYPE) else {
        return if rules.takes_json { Ok(Kind::Json) } else { Err(unsupported) };
    };
    let media_type = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match media_type.as_str() {
        "application/x-www-form-urlencoded" => Ok(Kind::Urlencoded),
        "multipart/form-data" => {
            let boundary = multer::parse_boundary(&content_type).unwrap_or_default();
            let is_good = (1..=BOUNDARY_CHARACTERS_MAX).contains(&boundary.len());
            let broken =
                || Refusal::bad_request("the form's Content-Type must name its boundary, of 1 to 70 characters");
            if is_good { Ok(Kind::Multipart(boundary)) } else { Err(broken()) }
        }
        // Whether it is JSON is asked where it is read.
        _ if rules.takes_json && media_type.starts_with("application/") && media_type.ends_with("json") => {
            Ok(Kind::Json)
        }
        _ => Err(unsupported),
    }
}

/// The most bytes of a whole form.
pub(super) fn bytes_max(rules: &FormRules) -> usize {
    let file = if rules.file_field.is_some() { attachment::ATTACHMENT_BYTES_MAX } else { 0 };
    BODY_BYTES_MAX + OVERHEAD_BYTES_MAX + file
}

/// A form of texts alone (WHATWG URL §5.1).
fn urlencoded(body: &[u8]) -> Result<Form, Refusal> {
    let mut fields: Vec<(String, String)> = Vec::new();
    for (name, value) in form_urlencoded::parse(body) {
        if fields.len() == PARTS_MAX {
            return Err(too_many_parts());
        }
        fields.push((name.into_owned(), value.into_owned()));
    }
    Ok(Form::new(fields, None))
}

fn too_many_parts() -> Refusal {
    Refusal::bad_request(format!("the form must have at most {PARTS_MAX} parts"))
}

/// Whether the rest of a form is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Go {
    On,
    /// No: what is behind is more than is taken.
    Stop,
}

/// A form that is being read.
struct Reading<'a> {
    ctx: &'a Arc<Ctx>,
    file_field: Option<&'static str>,
    patience: Patience,
    pace: Pace,
    meter: Arc<Meter>,
    file_use: FileUse,
    parts: usize,
    fields: Vec<(String, String)>,
    text_bytes: usize,
    file_bytes: usize,
    has_file: bool,
    staging: Option<Staging>,
    fault: Option<AttachmentFault>,
}

impl<'a> Reading<'a> {
    fn new(ctx: &'a Arc<Ctx>, rules: &FormRules, patience: Patience, file_use: FileUse) -> Self {
        Self {
            ctx,
            file_field: rules.file_field,
            patience,
            pace: Pace::new(patience.idle),
            meter: Arc::new(Meter::new(bytes_max(rules))),
            file_use,
            parts: 0,
            fields: Vec::new(),
            text_bytes: 0,
            file_bytes: 0,
            has_file: false,
            staging: None,
            fault: None,
        }
    }

    /// Reads it to its end, or as far as it is good.
    async fn read<B>(mut self, body: B, boundary: &str) -> Result<Form, Error>
    where
        B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin,
    {
        let paced = Paced::new(body, Arc::clone(&self.meter));
        let mut parts = Multipart::new(paced.into_stream(), boundary);
        let read = tokio::time::timeout(self.patience.whole, self.read_parts(&mut parts)).await;
        let late = || format!("the form did not arrive within {} s", self.patience.whole.as_secs());
        let read = read.unwrap_or_else(|_| Err(Refusal::bad_request(late()).into()));
        let upload = match read {
            Ok(()) => self.upload().await,
            Err(error) => Err(error),
        };
        if !matches!(upload, Ok(Some(Upload::Staged(_))))
            && let Some(staging) = self.staging.take()
        {
            staging.remove().await;
        }
        Ok(Form::new(self.fields, upload?))
    }

    /// What became of the file.
    async fn upload(&mut self) -> Result<Option<Upload>, Error> {
        if let Some(fault) = self.fault {
            return Ok(Some(Upload::Fault(fault)));
        }
        let Some(staging) = &mut self.staging else { return Ok(None) };
        match staging.finish().await {
            Ok(staged) => Ok(Some(staged.map_or(Upload::Fault(AttachmentFault::WrongType), Upload::Staged))),
            Err(error) => self.no_room(error).map(|()| Some(Upload::Fault(AttachmentFault::NoRoom))),
        }
    }

    async fn read_parts(&mut self, parts: &mut Multipart<'_>) -> Result<(), Error> {
        while let Some(mut part) = self.patiently(parts.next_field()).await? {
            self.parts += 1;
            if self.parts > PARTS_MAX {
                return Err(too_many_parts().into());
            }
            let head: usize = part.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
            if head > HEAD_BYTES_MAX {
                return Err(head_too_long().into());
            }
            let name = part.name().ok_or_else(|| Refusal::bad_request("a part of the form has no name"))?.to_owned();
            let go = if self.file_field == Some(name.as_str()) {
                self.read_file(&mut part).await?
            } else {
                self.read_text(name, &mut part).await?
            };
            if go == Go::Stop {
                break;
            }
        }
        Ok(())
    }

    async fn read_text(&mut self, name: String, part: &mut Field<'_>) -> Result<Go, Error> {
        if part.file_name().is_some_and(|file_name| !file_name.is_empty()) {
            return Err(Refusal::bad_request("a file came in a field that takes none").into());
        }
        self.text_bytes += name.len();
        let mut value = Vec::new();
        while let Some(chunk) = self.patiently(part.chunk()).await? {
            if self.text_bytes + value.len() + chunk.len() > BODY_BYTES_MAX {
                return Err(Refusal::PayloadTooLarge(BODY_BYTES_MAX).into());
            }
            value.extend_from_slice(&chunk);
        }
        self.text_bytes += value.len();
        let value = String::from_utf8(value);
        let value = value.map_err(|_| Refusal::bad_request("a field of the form is not UTF-8"))?;
        self.fields.push((name, value));
        Ok(Go::On)
    }

    async fn read_file(&mut self, part: &mut Field<'_>) -> Result<Go, Error> {
        let name = part.file_name().unwrap_or_default().to_owned();
        let mut is_there = !name.is_empty();
        if is_there {
            self.begin_file();
        }
        let mut is_empty = true;
        while let Some(chunk) = self.patiently(part.chunk()).await? {
            if chunk.is_empty() {
                continue;
            }
            if !is_there {
                is_there = true;
                self.begin_file();
            }
            is_empty = false;
            self.file_bytes += chunk.len();
            if self.file_bytes > attachment::ATTACHMENT_BYTES_MAX {
                return Ok(self.too_large());
            }
            self.keep(&name, &chunk).await?;
        }
        // A field in which no file was chosen comes as a part without a name and without a byte.
        if is_there && is_empty {
            self.fault.get_or_insert(AttachmentFault::Empty);
        }
        Ok(Go::On)
    }

    fn begin_file(&mut self) {
        if self.has_file {
            self.fault.get_or_insert(AttachmentFault::MoreThanOne);
        }
        self.has_file = true;
    }

    fn too_large(&mut self) -> Go {
        self.fault.get_or_insert(AttachmentFault::TooLarge);
        Go::Stop
    }

    /// Keeps some of the file, as long as it can be one that is taken.
    async fn keep(&mut self, name: &str, chunk: &[u8]) -> Result<(), Error> {
        if self.fault.is_some() {
            return Ok(());
        }
        if self.file_use == FileUse::Discard {
            self.fault = Some(AttachmentFault::NoRoom);
            return Ok(());
        }
        let staging = self.staging.get_or_insert_with(|| Staging::new(Arc::clone(self.ctx), name));
        if let Err(error) = staging.take(chunk).await {
            return self.no_room(error);
        }
        if !staging.is_hopeful() {
            self.fault = Some(AttachmentFault::WrongType);
        }
        Ok(())
    }

    /// A file that cannot be kept now is the file's fault alone: the rest of the form is read, so that it can be shown again.
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

    /// Waits for the next of something, as long as the sender keeps the pace. Only waiting for the sender counts.
    async fn patiently<T>(&mut self, next: impl Future<Output = multer::Result<T>>) -> Result<T, Refusal> {
        let (begun, bytes_before) = (tokio::time::Instant::now(), self.meter.bytes());
        let next = tokio::time::timeout(self.pace.credit(), next).await;
        self.pace = self.pace.after(begun.elapsed(), self.meter.bytes() - bytes_before);
        match next.map_err(|_| too_slow(self.patience.idle))? {
            Ok(next) => {
                self.meter.go_on();
                Ok(next)
            }
            Err(_) if self.meter.is_passed() => Err(Refusal::PayloadTooLarge(self.meter.bytes_max())),
            Err(_) if self.meter.is_stuck() => Err(head_too_long()),
            Err(multer::Error::StreamReadFailed(_)) => Err(Refusal::bad_request("the body was cut off; send it whole")),
            Err(multer::Error::IncompleteStream | multer::Error::IncompleteFieldData { .. }) => {
                Err(Refusal::bad_request("the form has no end: its last boundary is missing or broken"))
            }
            Err(_) => Err(Refusal::bad_request("the head of one of the form's parts cannot be read")),
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
