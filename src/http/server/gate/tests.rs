//! Tests of forms and sign-ins over real connections: refusals during the upload, waiting clients, clients that hang
//! up, and concurrent requests.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};

use super::*;
use crate::domain::attachment::ATTACHMENT_BYTES_MAX;
use crate::http::server::accept::Server;
use crate::http::server::ctx::{CLIENT_UPLOADS_MAX, Settings, UPLOADS_MAX};
use crate::http::server::form::Upload;
use crate::http::server::form_rules::Prechecked;
use crate::http::server::table::Table;
use crate::store::{self, Grade, Tx};

/// A service with a test's routes and two health endpoints.
pub(super) struct TestService {
    pub(super) ctx: Arc<Ctx>,
    address: SocketAddr,
    running: Option<(tokio::sync::oneshot::Sender<()>, std::thread::JoinHandle<()>)>,
    _directory: tempfile::TempDir,
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

/// Returns the routes `/healthz`, which needs no transaction, and `/readyz`, which reads and writes the database.
fn health_routes() -> Vec<Route> {
    let ready = |_: &Ctx, tx: &Tx<'_>, (): &()| store::health::touch(tx).map(|()| Reply::text("ready"));
    vec![
        Route::plain(Audience::Api, Method::GET, "/healthz", |_| Reply::text("ok")),
        Route::open(Audience::Api, Method::GET, "/readyz", |_, _| Ok(()), ready).writes(Grade::Logged),
    ]
}

fn act(_: &Ctx, _: &Tx<'_>, summary: &Value) -> Result<Reply, Error> {
    if summary["file"] == "TooLarge" {
        Err(Refusal::PayloadTooLarge(ATTACHMENT_BYTES_MAX).into())
    } else {
        Ok(Reply::json(summary))
    }
}

impl TestService {
    fn new() -> Self {
        let form = Route::open(Audience::Api, Method::POST, "/form", decode, act)
            .with_upload("cv", |_, _, request| {
                let is_refused = request.raw_query() == "no";
                if is_refused {
                    Err(Refusal::NotFound("there is no such form").into())
                } else {
                    Ok(Prechecked::Proceed)
                }
            })
            .or_json()
            .writes(Grade::Durable);
        Self::with_routes(vec![form])
    }

    pub(super) fn with_routes(routes: Vec<Route>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let trusted_proxies = vec!["127.0.0.1/32".parse().unwrap()];
        let ctx = Ctx::for_tests(directory.path(), Settings { trusted_proxies, ..Settings::for_tests() });
        let routes = [health_routes(), routes].into_iter().flatten().collect();
        let table = Table::new(routes, &[], |problem, _| Err(Error::Defect(problem.error.to_string())));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let server_ctx = Arc::clone(&ctx);
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            runtime.block_on(async move {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                let until = async { drop(stopped.await) };
                Server::new(listener, server_ctx, table).run(until, async {}).await;
            });
        });
        Self { ctx, address, running: Some((stop, thread)), _directory: directory }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream
    }

    /// Connects and sends these bytes.
    pub(super) fn send(&self, bytes: &[u8]) -> TcpStream {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        stream
    }

    /// Waits until the store has no attachments and all upload permits are free.
    fn wait_until_empty(&self) {
        let began = Instant::now();
        let stored = || self.ctx.store.read(store::attachment::stored_content).unwrap();
        while stored().0 + stored().1 > 0 || self.ctx.uploads.free() < UPLOADS_MAX {
            assert!(began.elapsed() < Duration::from_secs(20), "{} attachments remain", stored().0);
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

/// Returns the beginning of a form, up to the end of a file with this content.
fn form_start(content: &[u8]) -> Vec<u8> {
    let name = "--b\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nAda\r\n";
    let file = "--b\r\nContent-Disposition: form-data; name=\"cv\"; filename=\"cv.txt\"\r\n\r\n";
    [name.as_bytes(), file.as_bytes(), content].concat()
}

const END: &[u8] = b"\r\n--b--\r\n";

/// Reads the next response. Returns its status and body.
pub(super) fn read_response(stream: &mut TcpStream) -> (u16, String) {
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

/// Sends a gigabyte after `head`, or as much of it as the service reads. Returns the number of bytes sent and the
/// status.
fn send_a_gigabyte(service: &TestService, head: &[u8], is_chunked: bool) -> (usize, Option<u16>) {
    let mut stream = service.send(head);
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
            // Complete a partly sent chunk, so that the chunked encoding stays valid.
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
fn an_endless_upload_is_refused_while_it_arrives() {
    let service = TestService::new();
    let begin = form_start(b"");
    let chunked = [
        head(&format!("{MULTIPART}\r\nTransfer-Encoding: chunked")),
        format!("{:x}\r\n", begin.len()).into_bytes(),
        begin.clone(),
        b"\r\n".to_vec(),
    ];
    let announced = head(&format!("{MULTIPART}\r\nContent-Length: {}", (1 << 30) + begin.len()));
    for (head, is_chunked) in [(chunked.concat(), true), ([announced, begin].concat(), false)] {
        let (sent, status) = send_a_gigabyte(&service, &head, is_chunked);
        // The bound covers the largest file, the drained bytes, and the system's buffers on both sides.
        assert!(sent < 64 * 1_024 * 1_024, "{sent}");
        assert!(status.is_none_or(|status| status == 413), "{status:?}");
        service.wait_until_empty();
    }
}

#[test]
fn clients_that_expect_100_continue_get_refusals_before_they_send_a_body() {
    let service = TestService::new();
    let form = [form_start(b"engines"), END.to_vec()].concat();
    let with = |length: usize| format!("{MULTIPART}\r\nExpect: 100-continue\r\nContent-Length: {length}");
    let mut stream = service.send(&head(&with(form.len())));
    assert_eq!(read_response(&mut stream).0, 100);
    stream.write_all(&form).unwrap();
    assert_eq!(read_response(&mut stream), (200, json!({ "name": "Ada", "file": 7 }).to_string()));
    assert_eq!(read_response(&mut service.send(&head(&with(1 << 30)))).0, 413);
    let elsewhere = String::from_utf8(head(&with(form.len()))).unwrap().replace("/form ", "/form?no ");
    assert_eq!(read_response(&mut service.send(elsewhere.as_bytes())).0, 404);
}

#[test]
fn one_connection_can_send_several_forms() {
    let service = TestService::new();
    let large = form_start(&vec![b'x'; 300_000]);
    let form = [large, END.to_vec()].concat();
    let request = [head(&format!("{MULTIPART}\r\nContent-Length: {}", form.len())), form].concat();
    let mut stream = service.connect();
    for _ in 0..3 {
        stream.write_all(&request).unwrap();
        assert_eq!(read_response(&mut stream), (200, json!({ "name": "Ada", "file": 300_000 }).to_string()));
    }
}

#[test]
fn a_body_of_an_unsupported_type_or_with_an_invalid_boundary_is_refused() {
    let service = TestService::new();
    let sent = |content_type: &str, body: &str| {
        let fields = format!("{content_type}Content-Length: {}", body.len());
        read_response(&mut service.send(&[head(&fields), body.as_bytes().to_vec()].concat()))
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
fn slow_uploads_complete_and_do_not_block_other_requests() {
    let service = TestService::new();
    let content = vec![b'x'; 1_000_000];
    let form = [form_start(&content), END.to_vec()].concat();
    let fields = format!("{MULTIPART}\r\nContent-Length: {}", form.len());
    let half = form.len() / 2;
    let mut slow: Vec<TcpStream> =
        (0..4).map(|_| service.send(&[head(&fields), form[..half].to_vec()].concat())).collect();
    let began = Instant::now();
    while service.ctx.uploads.free() > UPLOADS_MAX - 4 {
        assert!(began.elapsed() < Duration::from_secs(20));
        std::thread::yield_now();
    }
    // While the uploads wait, the service answers a request that reads and writes the database, one that does neither,
    // and another upload.
    for path in ["/readyz", "/healthz"] {
        let mut stream = service.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        assert_eq!(read_response(&mut stream).0, 200);
    }
    assert_eq!(read_response(&mut service.send(&[head(&fields), form.clone()].concat())).0, 200);
    for stream in &mut slow {
        stream.write_all(&form[half..]).unwrap();
        assert_eq!(read_response(stream).0, 200);
    }
}

/// Begins to send a form from an address. Returns the status, which is 100 if the client may continue, and the
/// connection.
fn begin_form(service: &TestService, address: &str) -> (u16, TcpStream) {
    let client = format!("X-Forwarded-For: {address}");
    let fields = format!("{MULTIPART}\r\n{client}\r\nExpect: 100-continue\r\nContent-Length: 1000");
    let mut stream = service.send(&head(&fields));
    (read_response(&mut stream).0, stream)
}

#[test]
fn concurrent_forms_are_limited_in_total_and_per_address() {
    let service = TestService::new();
    let mut waiting = Vec::new();
    for nth in 0..UPLOADS_MAX {
        let (status, stream) = begin_form(&service, &format!("192.0.2.{}", nth.saturating_sub(CLIENT_UPLOADS_MAX - 1)));
        assert_eq!(status, 100);
        waiting.push(stream);
        // One address is at its limit while others have room.
        if nth + 1 == CLIENT_UPLOADS_MAX {
            assert_eq!(begin_form(&service, "192.0.2.0").0, 503);
        }
    }
    assert_eq!(begin_form(&service, "192.0.2.200").0, 503);
    waiting.pop();
    let began = Instant::now();
    while begin_form(&service, "192.0.2.200").0 == 503 {
        assert!(began.elapsed() < Duration::from_secs(20));
    }
    drop(waiting);
    service.wait_until_empty();
}

#[test]
fn one_subscriber_with_many_ipv6_networks_leaves_permits_for_others() {
    let service = TestService::new();
    let subscriber: Vec<_> =
        (0..UPLOADS_MAX).map(|nth| begin_form(&service, &format!("2001:db8:0:{nth:x}::1"))).collect();
    assert_eq!(subscriber.iter().filter(|(status, _)| *status == 100).count(), 2 * CLIENT_UPLOADS_MAX);
    let others: Vec<_> = (0..13).map(|nth| begin_form(&service, &format!("192.0.2.{nth}"))).collect();
    assert!(others.iter().all(|(status, _)| *status == 100));
    // Eight more addresses take as many permits as they can.
    let more: Vec<_> = (0..80).map(|nth| begin_form(&service, &format!("198.51.100.{}", nth / 10))).collect();
    assert!(more.iter().any(|(status, _)| *status == 503));
    assert_eq!(begin_form(&service, "203.0.113.1").0, 100, "a new address still gets a permit");
    drop((subscriber, others, more));
    service.wait_until_empty();
}

#[test]
fn many_sign_ins_from_one_address_leave_permits_for_others() {
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
    let service = TestService::with_routes(vec![
        Route::open(Audience::Api, Method::POST, "/in", decode, act).with_password_hashing(),
    ]);
    let send = |address: &str| {
        service.send(
            format!("POST /in HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: {address}\r\nContent-Length: 0\r\n\r\n")
                .as_bytes(),
        )
    };
    // All refusals are sent while the sign-ins with a permit wait.
    let mut crowd: Vec<TcpStream> = (0..100).map(|_| send("192.0.2.1")).collect();
    let began = Instant::now();
    let refused = |service: &TestService| {
        service.ctx.telemetry.prometheus(&[]).lines().any(|line| line.contains("429") && line.ends_with(" 84"))
    };
    while ENTERED.load(Ordering::SeqCst) < 2 || !refused(&service) {
        assert!(began.elapsed() < Duration::from_secs(20), "{}", service.ctx.telemetry.prometheus(&[]));
        std::thread::yield_now();
    }
    let mut others: Vec<TcpStream> = (2..12).map(|nth| send(&format!("192.0.2.{nth}"))).collect();
    IS_RELEASED.store(true, Ordering::SeqCst);
    assert!(others.iter_mut().all(|stream| read_response(stream).0 == 200));
    let statuses: Vec<u16> = crowd.iter_mut().map(|stream| read_response(stream).0).collect();
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 16);
    assert_eq!(statuses.iter().filter(|status| **status == 429).count(), 84);
}

#[test]
fn a_client_that_hangs_up_during_an_upload_leaves_nothing_in_the_store() {
    let service = TestService::new();
    for bytes in [10, 70_000, 2_000_000] {
        let fields = format!("{MULTIPART}\r\nContent-Length: 5000000");
        drop(service.send(&[head(&fields), form_start(&vec![b'x'; bytes])].concat()));
        service.wait_until_empty();
    }
}
