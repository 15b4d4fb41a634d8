//! Forms over real connections: what is refused while it arrives, what waits, who gives up half-way, and who is not held up.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::*;
use crate::domain::attachment::ATTACHMENT_BYTES_MAX;
use crate::domain::disk::UploadLimits;
use crate::domain::timestamp::Timestamp;
use crate::http::api::health;
use crate::http::server::accept::Server;
use crate::http::server::ctx::{Settings, UPLOADS_MAX, UPLOADS_OF_ONE_MAX};
use crate::http::server::form::Upload;
use crate::http::server::form_rules::Prechecked;
use crate::http::server::table::Table;
use crate::store::{self, Grade, Store, Tx};
use crate::telemetry::{LogFormat, Telemetry};
use crate::world::{Scripted, World};

/// A service with routes of a test's own, beside what tells of its health.
pub(super) struct TestService {
    pub(super) ctx: Arc<Ctx>,
    address: SocketAddr,
    running: Option<(tokio::sync::oneshot::Sender<()>, std::thread::JoinHandle<()>)>,
    _dir: tempfile::TempDir,
}

fn decode(_: &Ctx, request: &Request) -> Result<Value, Error> {
    let Some(form) = request.form() else {
        request.object()?;
        return Ok(json!("JSON"));
    };
    let file = match form.upload() {
        Some(Upload::Staged(staged)) => json!(staged.bytes),
        Some(Upload::Fault(fault)) => json!(format!("{fault:?}")),
        None => Value::Null,
    };
    Ok(json!({ "name": form.text("name")?, "file": file }))
}

fn act(_: &Ctx, _: &Tx<'_>, told: &Value) -> Result<Reply, Error> {
    if told["file"] == "TooLarge" {
        Err(Refusal::PayloadTooLarge(ATTACHMENT_BYTES_MAX).into())
    } else {
        Ok(Reply::json(told))
    }
}

impl TestService {
    fn new() -> Self {
        let form = Route::open(Audience::Api, Method::POST, "/form", decode, act)
            .with_upload("cv", |_, _, request| {
                let is_turned_away = request.raw_query() == "no";
                if is_turned_away {
                    Err(Refusal::NotFound("there is no such form").into())
                } else {
                    Ok(Prechecked::Proceed)
                }
            })
            .or_json()
            .writes(Grade::Durable);
        Self::of(vec![form])
    }

    /// A service with these routes.
    pub(super) fn of(routes: Vec<Route>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let world: Arc<dyn World> = Arc::new(Scripted::at(Timestamp::from_micros(1_795_000_000_000_000)));
        let store = Arc::new(Store::open(&dir.path().join("a.db"), Arc::clone(&world)).unwrap());
        let base_url = "http://a.example".to_owned();
        let settings = Settings {
            origin: base_url.clone(),
            base_url,
            rate: None,
            trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()],
            signups_per_hour: None,
            security_contacts: Vec::new(),
            uploads: UploadLimits::default(),
        };
        let ctx = Ctx::new(store, world, settings, Arc::new(Telemetry::new(LogFormat::Off)));
        let routes = [health::routes(), routes].into_iter().flatten().collect();
        let table = Table::new(routes, &[], |problem, _| Err(Error::Defect(problem.error.to_string())));
        let ctx = Arc::new(ctx);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let theirs = Arc::clone(&ctx);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let until = async { drop(stopped.await) };
                Server::new(listener, theirs, table).run(until, async {}).await;
            });
        });
        Self { ctx, address, running: Some((stop, thread)), _dir: dir }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// A connection on which this was sent.
    pub(super) fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// Waits until nothing is kept of anything and every place is free.
    fn until_empty(&self) {
        let began = Instant::now();
        let stored = || self.ctx.store.read(store::attachment::stored_content).unwrap();
        while stored().0 + stored().1 > 0 || self.ctx.uploads.free() < UPLOADS_MAX {
            assert!(began.elapsed() < Duration::from_secs(20), "{} attachments are left", stored().0);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for TestService {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.running.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

const MULTIPART: &str = "Content-Type: multipart/form-data; boundary=b";

fn head(fields: &str) -> Vec<u8> {
    format!("POST /form HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n").into_bytes()
}

/// A form with a file of these bytes, without its end.
fn begun(content: &[u8]) -> Vec<u8> {
    let name = "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAda\r\n";
    let file = "--b\r\nContent-Disposition: form-data; name=\"cv\"; filename=\"cv.txt\"\r\n\r\n";
    [name.as_bytes(), file.as_bytes(), content].concat()
}

const END: &[u8] = b"\r\n--b--\r\n";

/// The next answer: its status and body.
pub(super) fn answer(stream: &mut TcpStream) -> (u16, String) {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&bytes));
        bytes.push(byte[0]);
    }
    let head = String::from_utf8(bytes).unwrap().to_lowercase();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).unwrap();
    (status, String::from_utf8(body).unwrap())
}

/// Sends a gigabyte behind this, or as much of it as is taken; how much that was, and what was answered.
fn send_a_gigabyte(place: &TestService, head: &[u8], is_chunked: bool) -> (usize, Option<u16>) {
    let mut stream = place.send(head);
    let mut reading = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut text = Vec::new();
        let mut buffer = [0; 4_096];
        while let Ok(count @ 1..) = reading.read(&mut buffer) {
            text.extend_from_slice(&buffer[..count]);
        }
        String::from_utf8_lossy(&text).split(' ').nth(1).and_then(|status| status.parse().ok())
    });
    let data = vec![b'x'; 65_536];
    let chunk = if is_chunked { [b"10000\r\n", &data[..], b"\r\n"].concat() } else { data };
    let mut sent = 0;
    while sent < 1 << 30 {
        match stream.write(&chunk) {
            // A chunk that is sent in part would not be one: then the rest of it.
            Ok(count) if stream.write_all(&chunk[count..]).is_ok() => sent += chunk.len(),
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    drop(stream);
    (sent, reader.join().unwrap())
}

#[test]
fn a_gigabyte_is_refused_while_it_arrives() {
    let place = TestService::new();
    let begin = begun(b"");
    let chunked = [
        head(&format!("{MULTIPART}\r\nTransfer-Encoding: chunked")),
        format!("{:x}\r\n", begin.len()).into_bytes(),
        begin.clone(),
        b"\r\n".to_vec(),
    ];
    let told = head(&format!("{MULTIPART}\r\nContent-Length: {}", (1 << 30) + begin.len()));
    for (head, is_chunked) in [(chunked.concat(), true), ([told, begin].concat(), false)] {
        let (sent, status) = send_a_gigabyte(&place, &head, is_chunked);
        // The largest file, what is let go so that the answer is read, and what the system holds for either side.
        assert!(sent < 64 * 1_024 * 1_024, "{sent}");
        assert!(status.is_none_or(|status| status == 413), "{status:?}");
        place.until_empty();
    }
}

#[test]
fn whoever_asks_first_is_told_before_anything_is_sent() {
    let place = TestService::new();
    let form = [begun(b"engines"), END.to_vec()].concat();
    let with = |length: usize| format!("{MULTIPART}\r\nExpect: 100-continue\r\nContent-Length: {length}");
    let mut stream = place.send(&head(&with(form.len())));
    assert_eq!(answer(&mut stream).0, 100);
    stream.write_all(&form).unwrap();
    assert_eq!(answer(&mut stream), (200, json!({ "name": "Ada", "file": 7 }).to_string()));
    assert_eq!(answer(&mut place.send(&head(&with(1 << 30)))).0, 413);
    let elsewhere = String::from_utf8(head(&with(form.len()))).unwrap().replace("/form ", "/form?no ");
    assert_eq!(answer(&mut place.send(elsewhere.as_bytes())).0, 404);
}

#[test]
fn one_connection_sends_one_form_behind_the_other() {
    let place = TestService::new();
    let large = begun(&vec![b'x'; 300_000]);
    let form = [large, END.to_vec()].concat();
    let request = [head(&format!("{MULTIPART}\r\nContent-Length: {}", form.len())), form].concat();
    let mut stream = place.connect();
    for _ in 0..3 {
        stream.write_all(&request).unwrap();
        assert_eq!(answer(&mut stream), (200, json!({ "name": "Ada", "file": 300_000 }).to_string()));
    }
}

#[test]
fn a_form_is_of_a_type_that_is_known() {
    let place = TestService::new();
    let sent = |content_type: &str, body: &str| {
        let fields = format!("{content_type}Content-Length: {}", body.len());
        answer(&mut place.send(&[head(&fields), body.as_bytes().to_vec()].concat()))
    };
    let urlencoded = "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n";
    assert_eq!(sent(urlencoded, "name=Zo%C3%AB"), (200, json!({ "name": "Zoë", "file": null }).to_string()));
    for json in ["Content-Type: application/json\r\n", "Content-Type: application/a+json\r\n", ""] {
        assert_eq!(sent(json, "{}"), (200, json!("JSON").to_string()));
    }
    for other in ["text/plain", "multipart/mixed; boundary=b", "application/pdf", "text/json", ""] {
        assert_eq!(sent(&format!("Content-Type: {other}\r\n"), "{}").0, 415, "{other}");
    }
    let long = format!("; boundary={}", "b".repeat(71));
    for boundary in ["", ";", "; boundary=", "; boundary=\"\"", &long] {
        assert_eq!(sent(&format!("Content-Type: multipart/form-data{boundary}\r\n"), "{}").0, 400, "{boundary}");
    }
}

#[test]
fn nobody_waits_for_slow_uploads_and_they_come_to_their_end() {
    let place = TestService::new();
    let content = vec![b'x'; 1_000_000];
    let form = [begun(&content), END.to_vec()].concat();
    let fields = format!("{MULTIPART}\r\nContent-Length: {}", form.len());
    let half = form.len() / 2;
    let mut slow: Vec<TcpStream> =
        (0..4).map(|_| place.send(&[head(&fields), form[..half].to_vec()].concat())).collect();
    let began = Instant::now();
    while place.ctx.uploads.free() > UPLOADS_MAX - 4 {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    // One that reads and writes the file, and another upload.
    for path in ["/readyz", "/healthz"] {
        let mut stream = place.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        assert_eq!(answer(&mut stream).0, 200);
    }
    assert_eq!(answer(&mut place.send(&[head(&fields), form.clone()].concat())).0, 200);
    for stream in &mut slow {
        stream.write_all(&form[half..]).unwrap();
        assert_eq!(answer(stream).0, 200);
    }
}

/// Begins a form from an address: whether it may go on, and its connection.
fn begin_form(place: &TestService, address: &str) -> (u16, TcpStream) {
    let client = format!("X-Forwarded-For: {address}");
    let fields = format!("{MULTIPART}\r\n{client}\r\nExpect: 100-continue\r\nContent-Length: 1000");
    let mut stream = place.send(&head(&fields));
    (answer(&mut stream).0, stream)
}

#[test]
fn so_many_forms_arrive_at_once_and_no_more() {
    let place = TestService::new();
    let mut waiting = Vec::new();
    for nth in 0..UPLOADS_MAX {
        let (status, stream) = begin_form(&place, &format!("192.0.2.{}", nth.saturating_sub(UPLOADS_OF_ONE_MAX - 1)));
        assert_eq!(status, 100);
        waiting.push(stream);
        // Of one address come some of them, while there is room for others.
        if nth + 1 == UPLOADS_OF_ONE_MAX {
            assert_eq!(begin_form(&place, "192.0.2.0").0, 503);
        }
    }
    assert_eq!(begin_form(&place, "192.0.2.200").0, 503);
    waiting.pop();
    let began = Instant::now();
    while begin_form(&place, "192.0.2.200").0 == 503 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    drop(waiting);
    place.until_empty();
}

#[test]
fn a_line_with_many_64s_leaves_permits_for_others() {
    let place = TestService::new();
    let line: Vec<_> = (0..UPLOADS_MAX).map(|nth| begin_form(&place, &format!("2001:db8:0:{nth:x}::1"))).collect();
    assert_eq!(line.iter().filter(|(status, _)| *status == 100).count(), 2 * UPLOADS_OF_ONE_MAX);
    let others: Vec<_> = (0..13).map(|nth| begin_form(&place, &format!("192.0.2.{nth}"))).collect();
    assert!(others.iter().all(|(status, _)| *status == 100));
    // Eight addresses, each of which takes all that it can.
    let more: Vec<_> = (0..80).map(|nth| begin_form(&place, &format!("198.51.100.{}", nth / 10))).collect();
    assert!(more.iter().any(|(status, _)| *status == 503));
    assert_eq!(begin_form(&place, "203.0.113.1").0, 100, "a newcomer among many that take all they can");
    drop((line, others, more));
    place.until_empty();
}

#[test]
fn many_sign_ins_of_one_address_leave_permits_for_others() {
    static ENTERED: AtomicUsize = AtomicUsize::new(0);
    static IS_RELEASED: AtomicBool = AtomicBool::new(false);
    let decode = |_: &Ctx, _: &Request| {
        ENTERED.fetch_add(1, Ordering::SeqCst);
        while !IS_RELEASED.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        Ok(())
    };
    let act = |_: &Ctx, _: &Tx<'_>, (): &()| Ok(Reply::json(&"in"));
    let place = TestService::of(vec![Route::open(Audience::Api, Method::POST, "/in", decode, act).with_hashing()]);
    let send = |address: &str| {
        place.send(
            format!("POST /in HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {address}\r\nContent-Length: 0\r\n\r\n")
                .as_bytes(),
        )
    };
    // All that are refused are answered while those with a permit wait.
    let mut stranger: Vec<TcpStream> = (0..100).map(|_| send("192.0.2.1")).collect();
    let began = Instant::now();
    let refused = |place: &TestService| {
        place.ctx.telemetry.prometheus(&[]).lines().any(|line| line.contains("429") && line.ends_with(" 84"))
    };
    while ENTERED.load(Ordering::SeqCst) < 2 || !refused(&place) {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", place.ctx.telemetry.prometheus(&[]));
        std::thread::yield_now();
    }
    let mut others: Vec<TcpStream> = (2..12).map(|nth| send(&format!("192.0.2.{nth}"))).collect();
    IS_RELEASED.store(true, Ordering::SeqCst);
    assert!(others.iter_mut().all(|stream| answer(stream).0 == 200));
    let statuses: Vec<u16> = stranger.iter_mut().map(|stream| answer(stream).0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 16);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 84);
}

#[test]
fn whoever_hangs_up_half_way_leaves_nothing() {
    let place = TestService::new();
    for bytes in [10, 70_000, 2_000_000] {
        let fields = format!("{MULTIPART}\r\nContent-Length: 5000000");
        drop(place.send(&[head(&fields), begun(&vec![b'x'; bytes])].concat()));
        place.until_empty();
    }
}
