//! Forms of every kind, read from bodies that come in frames of any size, or stop: what of them reaches the noun, and that
//! nothing else is kept.

mod slow;

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::Frame;

use super::*;
use crate::domain::attachment::{AttachmentToken, MediaType};
use crate::domain::disk::UploadLimits;
use crate::domain::timestamp::Timestamp;
use crate::http::server::ctx::Settings;
use crate::store::attachment::{StagedAttachment, begin, stored_content};
use crate::store::{Grade, Store};
use crate::telemetry::{LogFormat, Telemetry};
use crate::world::{Scripted, World};

const BOUNDARY: &str = "----WebKitFormBoundaryA1b2";
const RULES: FormRules = FormRules { takes_json: false, file_field: Some("cv"), precheck: None, fallback: None };

const PATIENCE: Patience = Patience { idle: Duration::from_secs(60), whole: Duration::from_secs(60) };

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

struct Place {
    ctx: Arc<Ctx>,
    _dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Arc::new(Store::open(&dir.path().join("a.db"), Arc::clone(&world)).unwrap());
        let settings = Settings {
            base_url: "http://a.example".to_owned(),
            origin: "http://a.example".to_owned(),
            rate: None,
            trusted_proxies: Vec::new(),
            signups_per_hour: None,
            security_contacts: Vec::new(),
            uploads: UploadLimits::default(),
        };
        let ctx = Arc::new(Ctx::new(store, world, settings, Arc::new(Telemetry::new(LogFormat::Off))));
        Self { ctx, _dir: dir }
    }

    /// Counts the attachments and the chunks in the file.
    fn counts(&self) -> (i64, i64) {
        let (attachments, chunks, _) = self.ctx.store.read(stored_content).unwrap();
        (attachments, chunks)
    }

    fn read(&self, body: Sent) -> Result<Form, Error> {
        self.read_within(body, PATIENCE)
    }

    fn read_endless(&self, body: Endless) -> Result<Form, Error> {
        runtime().block_on(Reading::new(&self.ctx, &RULES, PATIENCE, FileUse::Stage).read(body, BOUNDARY))
    }

    fn read_within(&self, body: Sent, patience: Patience) -> Result<Form, Error> {
        runtime().block_on(Reading::new(&self.ctx, &RULES, patience, FileUse::Stage).read(body, BOUNDARY))
    }

    /// What is refused, where nothing of it is kept.
    #[track_caller]
    fn refused(&self, body: Sent) -> String {
        let Err(Error::Refused(refusal)) = self.read(body) else { panic!("it was read") };
        assert_eq!(self.counts(), (0, 0));
        refusal.sentence()
    }

    /// What is wrong with the file, where nothing of it is kept.
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

    /// The content of all attachments.
    fn content(&self) -> Vec<u8> {
        self.ctx.store.read(stored_content).unwrap().2
    }
}

/// A body that comes in frames of a size, and then ends, breaks or stays away.
struct Sent {
    bytes: Bytes,
    frame_bytes: usize,
    end: End,
}

enum End {
    Good,
    Broken,
    Never,
}

impl Body for Sent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if !self.bytes.is_empty() {
            let size = self.frame_bytes.min(self.bytes.len());
            return Poll::Ready(Some(Ok(Frame::data(self.bytes.split_to(size)))));
        }
        match self.end {
            End::Good => Poll::Ready(None),
            End::Broken => Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
            End::Never => Poll::Pending,
        }
    }
}

/// Whatever may come, with everything there at once.
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

fn sent(bytes: impl Into<Bytes>) -> Sent {
    Sent { bytes: bytes.into(), frame_bytes: 16_384, end: End::Good }
}

/// A part with this head, behind its boundary.
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

fn form(parts: &[Vec<u8>]) -> Sent {
    sent(whole(parts))
}

fn pdf(bytes: usize) -> Vec<u8> {
    let mut pdf = b"%PDF-1.7\n".to_vec();
    // Never the same piece twice.
    pdf.extend((0u32..).flat_map(u32::to_be_bytes).take(bytes - pdf.len()));
    pdf
}

#[test]
fn a_form_is_read_whatever_the_size_of_its_frames() {
    let content = pdf(200_000);
    let parts = [text("name", "Zoë"), text("links", "a"), file("cv.pdf", &content), text("links", "b")];
    for frame_bytes in [1_000, 4_096, 65_536, usize::MAX] {
        let place = Place::new();
        let form = place.read(Sent { frame_bytes, ..form(&parts) }).unwrap();
        assert_eq!((form.text("name").unwrap(), form.text("phone").unwrap()), (Some("Zoë"), None));
        assert_eq!(form.texts("links").collect::<Vec<_>>(), ["a", "b"]);
        assert!(form.text("links").is_err());
        let Some(Upload::Staged(staged)) = form.upload() else { panic!("{form:?}") };
        assert_eq!((staged.file_name.as_str(), staged.media_type, staged.bytes), ("cv.pdf", MediaType::Pdf, 200_000));
        assert_eq!((place.counts(), place.content() == content), ((1, 4), true));
        let again = place.ctx.store.read(|tx| crate::store::attachment::find_staged(tx, &staged.token)).unwrap();
        assert_eq!(again.as_ref(), Some(staged));
    }
    // One byte at a time, too.
    let place = Place::new();
    let small = Sent { frame_bytes: 1, ..form(&[text("name", "Ada"), file("cv.txt", b"engines")]) };
    assert!(matches!(place.read(small).unwrap().upload(), Some(Upload::Staged(_))));
}

#[test]
fn both_sides_of_the_largest_file() {
    let place = Place::new();
    let staged = place.staged(&[file("cv.pdf", &pdf(attachment::ATTACHMENT_BYTES_MAX))]);
    assert_eq!(staged.bytes as usize, attachment::ATTACHMENT_BYTES_MAX);
    assert_eq!(place.counts(), (1, 160));
    let place = Place::new();
    assert_eq!(place.fault(&[file("cv.pdf", &pdf(attachment::ATTACHMENT_BYTES_MAX + 1))]), AttachmentFault::TooLarge);
}

#[test]
fn more_than_the_largest_file_is_not_read_on() {
    let place = Place::new();
    let frames = Arc::default();
    let begin = [text("name", "Ada"), file("cv.txt", b"a")].concat();
    let body = Endless { frames: Arc::clone(&frames), next: begin[..begin.len() - 2].to_vec().into() };
    let form = place.read_endless(body).unwrap();
    assert!(matches!(form.upload(), Some(Upload::Fault(AttachmentFault::TooLarge))));
    assert_eq!((form.text("name").unwrap(), place.counts()), (Some("Ada"), (0, 0)));
    assert!(frames.load(std::sync::atomic::Ordering::Relaxed) <= attachment::ATTACHMENT_BYTES_MAX / 16_384 + 3);
}

#[test]
fn an_upload_that_stops_leaves_nothing() {
    let place = Place::new();
    let all = whole(&[text("name", "Ada"), file("cv.pdf", &pdf(1_000_000))]);
    for cut in [1, 50, 200, 300_000, 999_000, all.len() - 60, all.len() - 5] {
        let said = place.refused(sent(all[..cut].to_vec()));
        assert_eq!(said, "the form has no end: its last boundary is missing or broken", "{cut}");
        let broken = Sent { end: End::Broken, ..sent(all[..cut].to_vec()) };
        assert_eq!(place.refused(broken), "the body was cut off; send it whole", "{cut}");
        let never = || Sent { end: End::Never, ..sent(all[..cut].to_vec()) };
        let (soon, late) = (Duration::from_millis(50), Duration::from_secs(60));
        for patience in [Patience { idle: soon, whole: late }, Patience { idle: late, whole: soon }] {
            let Err(Error::Refused(Refusal::BadRequest(..))) = place.read_within(never(), patience) else { panic!() };
            assert_eq!(place.counts(), (0, 0), "{cut}");
        }
    }
}

#[test]
fn a_file_without_a_byte_is_empty_and_one_that_nobody_chose_is_none() {
    let place = Place::new();
    assert_eq!(place.fault(&[file("cv.pdf", b"")]), AttachmentFault::Empty);
    for parts in [vec![], vec![file("", b"")], vec![part("Content-Disposition: form-data; name=\"cv\"", b"")]] {
        assert!(place.read(form(&parts)).unwrap().upload().is_none());
    }
    assert_eq!(place.staged(&[file("", b"engines")]).file_name, "document.txt");
}

#[test]
fn two_files_are_one_too_many() {
    let place = Place::new();
    let large = pdf(200_000);
    assert_eq!(place.fault(&[file("a.pdf", &large), file("b.pdf", &large)]), AttachmentFault::MoreThanOne);
    assert_eq!(place.fault(&[file("a.pdf", &large), file("b.pdf", b"")]), AttachmentFault::MoreThanOne);
    // A field that nobody chose a file in does not count.
    assert_eq!(place.staged(&[file("", b""), file("a.pdf", &large), file("", b"")]).file_name, "a.pdf");
}

#[test]
fn what_is_of_another_type_is_not_kept_whatever_it_is_called() {
    let place = Place::new();
    let late = [b"text ".repeat(50_000), vec![0]].concat();
    let png = [b"\x89PNG\r\n\x1a\n".to_vec(), vec![0; 300_000]].concat();
    for content in [&png[..], b"MZ\x90\0", b"\xd0\xcf\x11\xe0", b"PK\x03\x04nothing", &late] {
        for name in ["cv.pdf", "cv.docx", "cv.txt"] {
            assert_eq!(place.fault(&[file(name, content)]), AttachmentFault::WrongType);
        }
    }
    // What stands behind it is read all the same.
    let form = place.read(form(&[file("cv.pdf", &png), text("name", "Ada")])).unwrap();
    assert_eq!(form.text("name").unwrap(), Some("Ada"));
}

#[test]
fn an_archive_is_stored_as_it_came() {
    let place = Place::new();
    let entry = |name: &str, content: &[u8]| {
        // Deflated, and as large as four gigabytes by its own word.
        let mut head = b"PK\x03\x04\x14\0\0\0\x08\0\0\0\0\0\0\0\0\0".to_vec();
        head.extend_from_slice(&u32::try_from(content.len()).unwrap().to_le_bytes());
        head.extend_from_slice(&u32::MAX.to_le_bytes());
        head.extend_from_slice(&[u8::try_from(name.len()).unwrap(), 0, 0, 0]);
        [head, name.as_bytes().to_vec(), content.to_vec()].concat()
    };
    let bomb = [entry("[Content_Types].xml", &[0; 50]), entry("word/document.xml", &vec![0xff; 500_000])].concat();
    let staged = place.staged(&[file("cv.docx", &bomb)]);
    assert_eq!((staged.media_type, staged.bytes as usize), (MediaType::Docx, bomb.len()));
    assert!(place.content() == bomb);
}

#[test]
fn a_name_that_leads_elsewhere_is_cut_down_to_its_end() {
    let place = Place::new();
    for (given, name) in [
        ("../../../etc/passwd", "passwd.txt"),
        ("..%2f..%2fcv.txt", "..%2f..%2fcv.txt".trim_start_matches('.')),
        ("/dev/null", "null.txt"),
        ("C:\\\\Users\\\\cv.txt", "cv.txt"),
        ("cv.bat", "cv.bat.txt"),
        ("\u{202e}txt.exe", "txt.exe.txt"),
        (&"ä".repeat(2_000), &format!("{}.txt", "ä".repeat(251))),
    ] {
        assert_eq!(place.staged(&[file(given, b"engines")]).file_name, name);
    }
}

#[test]
fn what_is_no_form_is_refused_and_nothing_of_it_is_kept() {
    let place = Place::new();
    let head = |head: &str| whole(&[text("name", "Ada"), part(head, b"x")]);
    let cases: [(Vec<u8>, &str); 13] = [
        (b"".to_vec(), "has no end"),
        (b"name=Ada&email=a%40b.example".to_vec(), "has no end"),
        (b"--other\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n--other--\r\n".to_vec(), "has no end"),
        (format!("--{BOUNDARY}").into(), "has no end"),
        (format!("--{BOUNDARY}x\r\n\r\n").into(), "has no end"),
        (format!("--{BOUNDARY}\n\n\n--{BOUNDARY}--").into(), "has no end"),
        (head("Content-Type: text/plain"), "has no name"),
        (head(""), "has no name"),
        (head("Content-Disposition: form-data"), "has no name"),
        (head("Content-Disposition: attachment; filename=\"cv.pdf\""), "has no name"),
        (head("no colon here"), "head of one of the form's parts cannot be read"),
        (head(&"A: b\r\n".repeat(40)), "head of one of the form's parts cannot be read"),
        (
            head(&format!("Content-Disposition: form-data; name=\"a\"\r\nX: {}", "y".repeat(9_000))),
            "at most 8192 bytes",
        ),
    ];
    for (body, says) in cases {
        let said = place.refused(sent(body.clone()));
        assert!(said.contains(says), "{said}: {}", String::from_utf8_lossy(&body[..body.len().min(200)]));
    }
    let elsewhere = part("Content-Disposition: form-data; name=\"photo\"; filename=\"a.pdf\"", b"%PDF-1.7");
    assert!(place.refused(form(&[elsewhere])).contains("takes none"));
    let latin = part("Content-Disposition: form-data; name=\"name\"", b"M\xfcller");
    assert!(place.refused(form(&[file("cv.pdf", &pdf(200_000)), latin])).contains("not UTF-8"));
}

#[test]
fn a_head_that_never_ends_is_not_read_for_ever() {
    let place = Place::new();
    for begin in ["", "a", &format!("--{BOUNDARY}\r\nX: "), &format!("--{BOUNDARY}")] {
        let frames = Arc::default();
        let body = Endless { frames: Arc::clone(&frames), next: begin.to_owned().into() };
        let read = place.read_endless(body);
        assert!(matches!(read, Err(Error::Refused(Refusal::BadRequest(..)))), "{begin}");
        assert!(frames.load(std::sync::atomic::Ordering::Relaxed) < 20, "{begin}");
    }
}

#[test]
fn both_sides_of_the_limits_of_parts_and_texts() {
    let place = Place::new();
    let parts = |count: usize| form(&vec![text("a", ""); count]);
    assert!(place.read(parts(PARTS_MAX)).is_ok());
    for count in [PARTS_MAX + 1, 10_000] {
        assert_eq!(place.refused(parts(count)), "the form must have at most 100 parts");
    }
    let texts = |bytes: usize| form(&[text("a", &"x".repeat(100_000)), text("b", &"y".repeat(bytes - 100_002))]);
    assert!(place.read(texts(BODY_BYTES_MAX)).is_ok());
    assert_eq!(place.refused(texts(BODY_BYTES_MAX + 1)), "the body must be at most 131072 bytes");
    let behind = [file("cv.pdf", &pdf(200_000)), text("note", &"z".repeat(BODY_BYTES_MAX + 1))];
    assert_eq!(place.refused(form(&behind)), "the body must be at most 131072 bytes");
}

#[test]
fn a_form_of_texts_alone_is_read_as_browsers_write_it() {
    let form = urlencoded(b"name=Zo%C3%AB+M&links=a&links=b&empty=&x").unwrap();
    assert_eq!(form.text("name").unwrap(), Some("Zoë M"));
    assert_eq!((form.texts("links").count(), form.text("empty").unwrap()), (2, Some("")));
    assert!(urlencoded("a=&".repeat(PARTS_MAX).as_bytes()).is_ok());
    assert!(urlencoded("a=&".repeat(PARTS_MAX + 1).as_bytes()).is_err());
}

#[test]
fn an_upload_is_refused_when_too_many_attachments_are_staged() {
    let place = Place::new();
    let (world, (done, ended)) = (Arc::clone(&place.ctx.world), std::sync::mpsc::channel());
    let begin = move |tx: &crate::store::Tx<'_>| {
        (1..1_000_u128).try_for_each(|nth| begin(tx, &world.id(), &AttachmentToken::new(nth.to_be_bytes()), "a"))
    };
    place.ctx.store.write(Grade::Logged, begin, move |outcome| done.send(outcome).unwrap());
    ended.recv().unwrap().unwrap();
    place.staged(&[file("cv.txt", b"the last one")]);
    let read = place.read(form(&[file("cv.txt", b"one too many"), text("name", "Ada")])).unwrap();
    assert!(matches!(read.upload(), Some(Upload::Fault(AttachmentFault::NoRoom))), "{read:?}");
    assert_eq!(read.text("name").unwrap(), Some("Ada"));
}
