//! Tests of the form reader with bodies in frames of any size, complete or cut off. They check which form the handler
//! receives, and that a refused form leaves nothing in the store.

mod slow;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::Frame;

use super::*;
use crate::domain::attachment::{AttachmentToken, MediaType};
use crate::http::server::ctx::Settings;
use crate::store::Grade;
use crate::store::attachment::{StagedAttachment, begin, stored_content};

const BOUNDARY: &str = "----WebKitFormBoundaryA1b2";
const RULES: FormRules = FormRules { accepts_json: false, file_field: Some("cv"), precheck: None, fallback: None };

const TIMEOUTS: FormTimeouts = FormTimeouts { idle: Duration::from_secs(60), whole: Duration::from_secs(60) };

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

struct Fixture {
    ctx: Arc<Ctx>,
    _directory: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        Self { ctx: Ctx::for_tests(directory.path(), Settings::for_tests()), _directory: directory }
    }

    /// Returns the numbers of attachments and chunks in the store.
    fn counts(&self) -> (i64, i64) {
        let (attachments, chunks, _) = self.ctx.store.read(stored_content).unwrap();
        (attachments, chunks)
    }

    fn read(&self, body: FramedBody) -> Result<Form, Error> {
        self.read_within(body, TIMEOUTS)
    }

    fn read_endless(&self, body: Endless) -> Result<Form, Error> {
        runtime().block_on(FormReader::new(&self.ctx, &RULES, TIMEOUTS, FileUse::Stage).read(body, BOUNDARY))
    }

    fn read_within(&self, body: FramedBody, timeouts: FormTimeouts) -> Result<Form, Error> {
        runtime().block_on(FormReader::new(&self.ctx, &RULES, timeouts, FileUse::Stage).read(body, BOUNDARY))
    }

    /// Reads a body that must be refused, and checks that nothing is stored. Returns the message of the refusal.
    #[track_caller]
    fn refusal(&self, body: FramedBody) -> String {
        let Err(Error::Refused(refusal)) = self.read(body) else { panic!("the form was accepted") };
        assert_eq!(self.counts(), (0, 0));
        refusal.sentence()
    }

    /// Reads a form with a faulty file, and checks that nothing is stored. Returns the fault.
    #[track_caller]
    fn fault(&self, parts: &[Vec<u8>]) -> AttachmentFault {
        let form = self.read(form(parts)).unwrap();
        let Some(Upload::Fault(fault)) = form.upload() else { panic!("{form:?}") };
        assert_eq!(self.counts(), (0, 0));
        *fault
    }

    #[track_caller]
    fn staged(&self, parts: &[Vec<u8>]) -> StagedAttachment {
        let form = self.read(form(parts)).unwrap();
        let Some(Upload::Staged(staged)) = form.upload() else { panic!("{form:?}") };
        staged.clone()
    }

    /// Returns the content of all chunks in the store.
    fn content(&self) -> Vec<u8> {
        self.ctx.store.read(stored_content).unwrap().2
    }
}

/// A body that arrives in frames of one size and ends in one of three ways.
struct FramedBody {
    bytes: Bytes,
    frame_bytes: usize,
    end: End,
}

enum End {
    Complete,
    Reset,
    Never,
}

impl Body for FramedBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.bytes.is_empty() {
            let size = self.frame_bytes.min(self.bytes.len());
            return Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(size)))));
        }
        match self.end {
            End::Complete => Poll::Ready(None),
            End::Reset => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
            End::Never => Poll::Pending,
        }
    }
}

/// A body that never ends and is always ready.
struct Endless {
    frames: Arc<std::sync::atomic::AtomicUsize>,
    next: Bytes,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.frames.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let next = std::mem::replace(&mut self.next, Bytes::from(vec![b'a'; 16_384]));
        Poll::Ready(Some(Ok(Frame::data(next))))
    }
}

fn framed(bytes: impl Into<Bytes>) -> FramedBody {
    FramedBody { bytes: bytes.into(), frame_bytes: 16_384, end: End::Complete }
}

/// Returns a part of a form: the boundary, the given head and the given content.
fn part(head: &str, content: &[u8]) -> Vec<u8> {
    [format!("--{BOUNDARY}\r\n{head}\r\n\r\n").as_bytes(), content, b"\r\n"].concat()
}

fn text(name: &str, value: &str) -> Vec<u8> {
    part(&format!("Content-Disposition: form-data; name=\"{name}\""), value.as_bytes())
}

fn file(name: &str, content: &[u8]) -> Vec<u8> {
    let disposition = format!("Content-Disposition: form-data; name=\"cv\"; filename=\"{name}\"");
    part(&format!("{disposition}\r\nContent-Type: application/octet-stream"), content)
}

fn whole(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), format!("--{BOUNDARY}--\r\n").into_bytes()].concat()
}

fn form(parts: &[Vec<u8>]) -> FramedBody {
    framed(whole(parts))
}

fn pdf(bytes: usize) -> Vec<u8> {
    let mut pdf = b"%PDF-1.7\n".to_vec();
    // No two chunks are equal.
    pdf.extend((0u32..).flat_map(u32::to_be_bytes).take(bytes - pdf.len()));
    pdf
}

#[test]
fn frames_of_any_size_yield_the_same_form() {
    let content = pdf(200_000);
    let parts = [text("name", "Zoë"), text("links", "a"), file("cv.pdf", &content), text("links", "b")];
    for frame_bytes in [1_000, 4_096, 65_536, usize::MAX] {
        let fixture = Fixture::new();
        let form = fixture.read(FramedBody { frame_bytes, ..form(&parts) }).unwrap();
        assert_eq!((form.text("name").unwrap(), form.text("phone").unwrap()), (Some("Zoë"), None));
        assert_eq!(form.texts("links").collect::<Vec<_>>(), ["a", "b"]);
        assert!(form.text("links").is_err());
        let Some(Upload::Staged(staged)) = form.upload() else { panic!("{form:?}") };
        assert_eq!((staged.file_name.as_str(), staged.media_type, staged.bytes), ("cv.pdf", MediaType::Pdf, 200_000));
        assert_eq!((fixture.counts(), fixture.content() == content), ((1, 4), true));
        let again = fixture.ctx.store.read(|tx| crate::store::attachment::find_staged(tx, &staged.token)).unwrap();
        assert_eq!(again.as_ref(), Some(staged));
    }
    // Frames of one byte work too.
    let fixture = Fixture::new();
    let small = FramedBody { frame_bytes: 1, ..form(&[text("name", "Ada"), file("cv.txt", b"engines")]) };
    assert!(matches!(fixture.read(small).unwrap().upload(), Some(Upload::Staged(_))));
}

#[test]
fn a_file_of_the_maximum_size_is_staged_and_a_larger_file_is_refused() {
    let fixture = Fixture::new();
    let staged = fixture.staged(&[file("cv.pdf", &pdf(attachment::ATTACHMENT_BYTES_MAX))]);
    assert_eq!(staged.bytes as usize, attachment::ATTACHMENT_BYTES_MAX);
    assert_eq!(fixture.counts(), (1, 160));
    let fixture = Fixture::new();
    assert_eq!(fixture.fault(&[file("cv.pdf", &pdf(attachment::ATTACHMENT_BYTES_MAX + 1))]), AttachmentFault::TooLarge);
}

#[test]
fn reading_stops_after_the_maximum_size_of_a_file() {
    let fixture = Fixture::new();
    let frames = Arc::default();
    let begin = [text("name", "Ada"), file("cv.txt", b"a")].concat();
    let body = Endless { frames: Arc::clone(&frames), next: begin[..begin.len() - 2].to_vec().into() };
    let form = fixture.read_endless(body).unwrap();
    assert!(matches!(form.upload(), Some(Upload::Fault(AttachmentFault::TooLarge))));
    assert_eq!((form.text("name").unwrap(), fixture.counts()), (Some("Ada"), (0, 0)));
    assert!(frames.load(std::sync::atomic::Ordering::Relaxed) <= attachment::ATTACHMENT_BYTES_MAX / 16_384 + 3);
}

#[test]
fn an_incomplete_form_leaves_nothing_in_the_store() {
    let fixture = Fixture::new();
    let all = whole(&[text("name", "Ada"), file("cv.pdf", &pdf(1_000_000))]);
    for cut in [1, 50, 200, 300_000, 999_000, all.len() - 60, all.len() - 5] {
        let message = fixture.refusal(framed(all[..cut].to_vec()));
        assert_eq!(message, "the form is incomplete: its closing boundary is missing or malformed", "{cut}");
        let reset = FramedBody { end: End::Reset, ..framed(all[..cut].to_vec()) };
        assert_eq!(fixture.refusal(reset), "the body was cut off; send it again", "{cut}");
        let never = || FramedBody { end: End::Never, ..framed(all[..cut].to_vec()) };
        let (short, long) = (Duration::from_millis(50), Duration::from_secs(60));
        for timeouts in [FormTimeouts { idle: short, whole: long }, FormTimeouts { idle: long, whole: short }] {
            let Err(Error::Refused(Refusal::BadRequest(..))) = fixture.read_within(never(), timeouts) else { panic!() };
            assert_eq!(fixture.counts(), (0, 0), "{cut}");
        }
    }
}

#[test]
fn an_empty_file_is_a_fault_and_an_empty_field_is_not_a_file() {
    let fixture = Fixture::new();
    assert_eq!(fixture.fault(&[file("cv.pdf", b"")]), AttachmentFault::Empty);
    for parts in [vec![], vec![file("", b"")], vec![part("Content-Disposition: form-data; name=\"cv\"", b"")]] {
        assert!(fixture.read(form(&parts)).unwrap().upload().is_none());
    }
    assert_eq!(fixture.staged(&[file("", b"engines")]).file_name, "document.txt");
}

#[test]
fn a_second_file_is_a_fault() {
    let fixture = Fixture::new();
    let large = pdf(200_000);
    assert_eq!(fixture.fault(&[file("a.pdf", &large), file("b.pdf", &large)]), AttachmentFault::MoreThanOne);
    assert_eq!(fixture.fault(&[file("a.pdf", &large), file("b.pdf", b"")]), AttachmentFault::MoreThanOne);
    // File fields without a chosen file are ignored.
    assert_eq!(fixture.staged(&[file("", b""), file("a.pdf", &large), file("", b"")]).file_name, "a.pdf");
}

#[test]
fn a_file_of_an_unsupported_type_is_refused_regardless_of_its_name() {
    let fixture = Fixture::new();
    let late = [b"text ".repeat(50_000), vec![0]].concat();
    let png = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 300_000]].concat();
    for content in [&png[..], b"MZ\x90\0", b"\xd0\xcf\x11\xe0", b"PK\x03\x04nothing", &late] {
        for name in ["cv.pdf", "cv.docx", "cv.txt"] {
            assert_eq!(fixture.fault(&[file(name, content)]), AttachmentFault::WrongType);
        }
    }
    // Fields after the refused file are still read.
    let form = fixture.read(form(&[file("cv.pdf", &png), text("name", "Ada")])).unwrap();
    assert_eq!(form.text("name").unwrap(), Some("Ada"));
}

#[test]
fn an_archive_is_stored_unchanged() {
    let fixture = Fixture::new();
    let entry = |name: &str, content: &[u8]| {
        // The entry is deflated and declares a size of four gigabytes.
        let mut head = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0".to_vec();
        head.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
        head.extend_from_slice(&u32::MAX.to_le_bytes());
        head.extend_from_slice(&[u8::try_from(name.len()).unwrap(), 0, 0, 0]);
        [head, name.as_bytes().to_vec(), content.to_vec()].concat()
    };
    let bomb = [entry("[Content_Types].xml", &[0; 50]), entry("word/document.xml", &vec![0xff; 500_000])].concat();
    let staged = fixture.staged(&[file("cv.docx", &bomb)]);
    assert_eq!((staged.media_type, staged.bytes as usize), (MediaType::Docx, bomb.len()));
    assert!(fixture.content() == bomb);
}

#[test]
fn a_file_name_with_a_path_is_reduced_to_its_last_component() {
    let fixture = Fixture::new();
    for (given, name) in [
        ("../../../etc/passwd", "passwd.txt"),
        ("..%2f..%2fcv.txt", "..%2f..%2fcv.txt".trim_start_matches('.')),
        ("/dev/null", "null.txt"),
        ("C:\\\\Users\\\\cv.txt", "cv.txt"),
        ("cv.bat", "cv.bat.txt"),
        ("\u{202e}txt.exe", "txt.exe.txt"),
        (&"ä".repeat(2_000), &format!("{}.txt", "ä".repeat(251))),
    ] {
        assert_eq!(fixture.staged(&[file(given, b"engines")]).file_name, name);
    }
}

#[test]
fn a_malformed_form_is_refused_and_leaves_nothing_in_the_store() {
    let fixture = Fixture::new();
    let head = |head: &str| whole(&[text("name", "Ada"), part(head, b"x")]);
    let cases: [(Vec<u8>, &str); 13] = [
        (b"".to_vec(), "closing boundary is missing"),
        (b"name=Ada&email=a%40b.example".to_vec(), "closing boundary is missing"),
        (
            b"--other\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--other--\r\n".to_vec(),
            "closing boundary is missing",
        ),
        (format!("--{BOUNDARY}").into(), "closing boundary is missing"),
        (format!("--{BOUNDARY}x\r\n\r\n").into(), "closing boundary is missing"),
        (format!("--{BOUNDARY}\n\n\n--{BOUNDARY}--").into(), "closing boundary is missing"),
        (head("Content-Type: text/plain"), "has no name"),
        (head(""), "has no name"),
        (head("Content-Disposition: form-data"), "has no name"),
        (head("Content-Disposition: attachment; filename=\"cv.pdf\""), "has no name"),
        (head("no colon here"), "header fields of a part of the form cannot be read"),
        (head(&"A: b\r\n".repeat(40)), "header fields of a part of the form cannot be read"),
        (
            head(&format!("Content-Disposition: form-data; name=\"a\"\r\nX: {}", "y".repeat(9_000))),
            "at most 8192 bytes",
        ),
    ];
    for (body, expected) in cases {
        let message = fixture.refusal(framed(body.clone()));
        assert!(message.contains(expected), "{message}: {}", String::from_utf8_lossy(&body[..body.len().min(200)]));
    }
    let other_field = part("Content-Disposition: form-data; name=\"photo\"; filename=\"a.pdf\"", b"%PDF-1.7");
    assert!(fixture.refusal(form(&[other_field])).contains("does not accept a file"));
    let latin = part("Content-Disposition: form-data; name=\"name\"", b"M\xfcller");
    assert!(fixture.refusal(form(&[file("cv.pdf", &pdf(200_000)), latin])).contains("not UTF-8"));
}

#[test]
fn an_endless_preamble_or_head_is_refused() {
    let fixture = Fixture::new();
    for begin in ["", "a", &format!("--{BOUNDARY}\r\nX: "), &format!("--{BOUNDARY}")] {
        let frames = Arc::default();
        let body = Endless { frames: Arc::clone(&frames), next: begin.to_owned().into() };
        let read = fixture.read_endless(body);
        assert!(matches!(read, Err(Error::Refused(Refusal::BadRequest(..)))), "{begin}");
        assert!(frames.load(std::sync::atomic::Ordering::Relaxed) < 20, "{begin}");
    }
}

#[test]
fn the_number_of_parts_and_the_bytes_of_text_are_limited() {
    let fixture = Fixture::new();
    let parts = |count: usize| form(&vec![text("a", ""); count]);
    assert!(fixture.read(parts(PARTS_MAX)).is_ok());
    for count in [PARTS_MAX + 1, 10_000] {
        assert_eq!(fixture.refusal(parts(count)), "the form must have at most 100 parts");
    }
    let texts = |bytes: usize| form(&[text("a", &"x".repeat(100_000)), text("b", &"y".repeat(bytes - 100_002))]);
    assert!(fixture.read(texts(BODY_BYTES_MAX)).is_ok());
    assert_eq!(fixture.refusal(texts(BODY_BYTES_MAX + 1)), "the body must be at most 131072 bytes");
    let text_after_file = [file("cv.pdf", &pdf(200_000)), text("note", &"z".repeat(BODY_BYTES_MAX + 1))];
    assert_eq!(fixture.refusal(form(&text_after_file)), "the body must be at most 131072 bytes");
}

#[test]
fn urlencoded_forms_are_decoded_as_browsers_encode_them() {
    let form = urlencoded(b"name=Zo%C3%AB+M&links=a&links=b&empty=&x").unwrap();
    assert_eq!(form.text("name").unwrap(), Some("Zoë M"));
    assert_eq!((form.texts("links").count(), form.text("empty").unwrap()), (2, Some("")));
    assert!(urlencoded("a=&".repeat(FIELDS_MAX).as_bytes()).is_ok());
    let refusal = urlencoded("a=&".repeat(FIELDS_MAX + 1).as_bytes()).err();
    assert_eq!(refusal, Some(Refusal::bad_request("the form must have at most 600 fields")));
}

#[test]
fn a_file_is_refused_if_too_many_attachments_are_staged() {
    let fixture = Fixture::new();
    let (world, (done, ended)) = (Arc::clone(&fixture.ctx.world), std::sync::mpsc::channel());
    let begin = move |tx: &crate::store::Tx<'_>| {
        (1..1_000_u128).try_for_each(|nth| begin(tx, &world.id(), &AttachmentToken::new(nth.to_be_bytes()), "a"))
    };
    fixture.ctx.store.write(Grade::Logged, begin, move |outcome| done.send(outcome).unwrap());
    ended.recv().unwrap().unwrap();
    fixture.staged(&[file("cv.txt", b"the last one")]);
    let read = fixture.read(form(&[file("cv.txt", b"one too many"), text("name", "Ada")])).unwrap();
    assert!(matches!(read.upload(), Some(Upload::Fault(AttachmentFault::NoRoom))), "{read:?}");
    assert_eq!(read.text("name").unwrap(), Some("Ada"));
}
