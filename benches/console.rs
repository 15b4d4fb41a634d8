//! `cargo bench --bench console`: measures the CPU time that the service takes for pages of the staff console in an
//! organization that has a role with 2,000 candidates.
//!
//! The bench runs the real binary and reads pages over real sockets with the session of a member. Each round reads
//! every page. An answer with an unexpected status fails the bench. A missed target does not fail the bench, because
//! other work on the machine can be the cause.

#![allow(clippy::unwrap_used, reason = "if a step fails, the bench must fail")]

#[path = "speed/cores.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod cores;
#[path = "speed/exchange.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod exchange;
#[path = "support/figures.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod figures;
#[path = "speed/process.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod process;
#[path = "support/role.rs"]
mod role;

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use serde_json::json;

use cores::Cores;
use exchange::{ask, ask_on, get};
use figures::{Figures, machine, verdict};
use process::Process;

const BINARY: &str = env!("CARGO_BIN_EXE_appliance");
const PASSWORD: &str = "correct horse battery";
const ROUNDS: usize = 7;

/// The maximum time until the service sends its first answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A page, the status of its answer, the number of times that a round reads it, and the target for its CPU time, if
/// any.
struct Page {
    name: &'static str,
    path: fn(usize) -> String,
    status: u16,
    reads: usize,
    target: Option<Duration>,
}

/// The path at which the board asks for changes. Nothing changes during the bench.
static CHANGES: OnceLock<String> = OnceLock::new();

const PAGES: &[Page] = &[
    Page { name: "inbox", path: |_| "/app".to_owned(), status: 200, reads: 100, target: None },
    Page { name: "roles", path: |_| "/app/acme/roles".to_owned(), status: 200, reads: 100, target: None },
    Page { name: "board", path: |_| BOARD.to_owned(), status: 200, reads: 20, target: Some(Duration::from_millis(10)) },
    Page {
        name: "candidate",
        path: |nth| format!("/app/acme/candidates/{}", role::candidate_id(nth)),
        status: 200,
        reads: 200,
        target: Some(Duration::from_millis(1)),
    },
    Page { name: "review", path: |_| review_path(), status: 200, reads: 20, target: None },
    Page { name: "no changes", path: |_| CHANGES.get().unwrap().clone(), status: 204, reads: 400, target: None },
    Page { name: "account", path: |_| "/app/me".to_owned(), status: 200, reads: 400, target: None },
];

const BOARD: &str = "/app/acme/roles/role_big";

/// Returns the path of a review queue that begins now. If the query lacks `begun`, the service redirects to a path that
/// has it.
fn review_path() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("/app/acme/review?role=role_big&begun={}", now.as_micros())
}

fn main() {
    // `cargo test --all-targets` also runs the bench, but must not measure.
    if !std::env::args().any(|arg| arg == "--bench") {
        println!("no measurement; use `cargo bench --bench console`");
        return;
    }
    let machine = machine();
    let cores = Cores::claim();
    println!("Pages of the staff console, on {machine}, {}", cores.describe());
    println!("CPU time of the service for one page: median, fastest and slowest of {ROUNDS} interleaved rounds.\n");
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let db = prepare(dir.path());
    let (service, address) = start(&cores, &db);
    let cookie = sign_in(address);
    CHANGES.set(changes_path(address, &cookie)).unwrap();
    let mut rounds: Vec<Vec<Duration>> = PAGES.iter().map(|_| Vec::new()).collect();
    let mut bytes = vec![0; PAGES.len()];
    // The first round fills caches. Its figures are not used.
    for round in 0..=ROUNDS {
        for (nth, page) in PAGES.iter().enumerate() {
            let (cpu, length) = read(&service, address, &cookie, page);
            bytes[nth] = length;
            if round > 0 {
                rounds[nth].push(cpu);
            }
        }
    }
    report(&machine, rounds, &bytes);
}

/// Creates the file, with a member who may decide. Returns the path of the file.
fn prepare(dir: &Path) -> String {
    let path = |name: &str| dir.join(name).to_str().unwrap().to_owned();
    let (db, document) = (path("appliance.db"), path("company.json"));
    std::fs::write(&document, role::document().to_string()).unwrap();
    run(&["import", "--db", &db, &document], "");
    run(&["set-password", "--db", &db, "--email", role::MEMBER], PASSWORD);
    db
}

fn run(args: &[&str], input: &str) {
    let mut command = Command::new(BINARY);
    let mut child = command.args(args).stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{args:?}");
}

fn start(cores: &Cores, db: &str) -> (Process, SocketAddr) {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = cores.server(BINARY);
    command.args(["serve", "--rate-limit", "0", "--listen", &address.to_string(), "--db", db]);
    let service = Process(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let began = Instant::now();
    while ask(address, &get("/healthz", None)).is_err() {
        assert!(began.elapsed() < PATIENCE, "the service answers");
        std::thread::sleep(Duration::from_millis(10));
    }
    (service, address)
}

/// Signs in and returns the session's cookie.
fn sign_in(address: SocketAddr) -> String {
    let body = json!({ "email": role::MEMBER, "password": PASSWORD }).to_string();
    let head = format!("POST /api/auth/sign-in HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{body}", body.len());
    let answer = ask(address, request.as_bytes()).unwrap().expect(200);
    let cookie = answer.fields.iter().find(|(name, _)| name == "set-cookie").unwrap();
    cookie.1.split(';').next().unwrap().to_owned()
}

/// Returns the path at which an open board asks for changes.
fn changes_path(address: SocketAddr, cookie: &str) -> String {
    let answer = ask(address, &page_request(address, cookie, BOARD)).unwrap().expect(200);
    let page = String::from_utf8(answer.body).unwrap();
    let (_, rest) = page.split_once("data-url=\"").unwrap();
    rest.split_once('"').unwrap().0.replace("&amp;", "&")
}

fn page_request(address: SocketAddr, cookie: &str, path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAccept: text/html\r\nCookie: {cookie}\r\n\r\n").into_bytes()
}

/// Reads a page several times. Returns the CPU time of the service for one page, and the length of the last answer.
fn read(service: &Process, address: SocketAddr, cookie: &str, page: &Page) -> (Duration, usize) {
    let connection = TcpStream::connect(address).unwrap();
    let before = service.cpu();
    let mut bytes = 0;
    for nth in 0..page.reads {
        let request = page_request(address, cookie, &(page.path)(nth));
        bytes = ask_on(&connection, &request).unwrap().expect(page.status).body.len();
    }
    let reads = u32::try_from(page.reads).unwrap();
    ((service.cpu() - before) / reads, bytes)
}

fn report(machine: &str, rounds: Vec<Vec<Duration>>, bytes: &[usize]) {
    let mut figures = json!({ "machine": machine });
    let mut table = String::new();
    for ((page, rounds), bytes) in PAGES.iter().zip(rounds).zip(bytes) {
        let cpu = Figures::new(rounds);
        let ms = |duration: Duration| format!("{:.2}", duration.as_secs_f64() * 1e3);
        let target =
            page.target.map(|target| format!(", at most {} ms: {}", ms(target), verdict(cpu.median() <= target)));
        let (median, min, max) = (ms(cpu.median()), ms(cpu.min()), ms(cpu.max()));
        let target = target.unwrap_or_default();
        writeln!(table, "{:<12} {median} ms ({min} to {max}), {} kB{target}", page.name, bytes / 1_000).unwrap();
        figures[page.name] = json!({ "cpu": cpu.json(), "bytes": bytes });
    }
    println!("{table}");
    // Cargo places `CARGO_TARGET_TMPDIR` in the target directory.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("console.json");
    std::fs::write(&file, format!("{figures:#}\n")).unwrap();
    println!("{} contains these figures", file.display());
}
