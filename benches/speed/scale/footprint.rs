//! The footprint of the service: memory, start time, bytes read and the size of the binary.

use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::Setup;
use super::data::{self, ADMIN, Size};
use super::descriptors;
use super::measurement::Measurement;
use super::report::Part;
use crate::company;
use crate::exchange::{ask, ask_on, get};
use crate::load::{self, Course};
use crate::process::Process;
use crate::server;
use crate::template::{BINARY, Copy, run};

const STARTS: usize = 15;
const BUSY_CONNECTIONS: usize = 256;
const IDLE_CONNECTIONS: usize = 10_000;

/// The number of descriptors for other files of this process and the service.
const OTHER_DESCRIPTORS: usize = 500;

/// The time after the last answer until the service uses as little memory as an idle service. Freed pages go back to
/// the system within about two seconds.
const CALM: Duration = Duration::from_secs(3);

/// The interval at which the memory of a busy service is read.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The interval between attempts to connect.
const CONNECT_INTERVAL: Duration = Duration::from_micros(200);

/// Measures the footprint on the big file and on an empty one.
pub(crate) fn measure(setup: &Setup, big: &Copy, size: &Size, part: &mut Part<'_>) {
    part.add(reading(setup, big));
    eprintln!("starting the service {STARTS} times on an empty file and on the big one");
    part.add(starts(setup, big));
    eprintln!("measuring the memory of the service");
    part.add(memory(setup, big, size));
    let bytes = Path::new(BINARY).metadata().unwrap().len();
    part.add([Measurement::figure("the binary", "MB", [bytes as f64 / 1e6]).target_at_most(16.0)]);
}

/// A service that has just sent its first answer.
struct Started {
    process: Process,
    address: SocketAddr,
    elapsed: Duration,
}

/// Starts the service and repeats a request until it is answered.
fn start(setup: &Setup, db: &Path, key: &str) -> Started {
    let me = get("/api/v1/me", Some(key));
    let began = Instant::now();
    let (mut process, address) = server::spawn(&setup.cores, db);
    loop {
        if let Ok(answer) = ask(address, &me) {
            answer.expect(200);
            return Started { process, address, elapsed: began.elapsed() };
        }
        assert!(process.0.try_wait().unwrap().is_none(), "the service starts");
        std::thread::sleep(CONNECT_INTERVAL);
    }
}

/// Measures the bytes that a start and a backup read.
fn reading(setup: &Setup, big: &Copy) -> Vec<Measurement> {
    let file = big.db.metadata().unwrap().len() as f64;
    forget(&big.db);
    let mut started = start(setup, &big.db, data::secret(ADMIN).reveal());
    let [read, from_disk] = ["rchar", "read_bytes"].map(|name| started.process.io_bytes(name) as f64 / 1e6);
    started.process.terminate();
    eprintln!("copying the big file");
    let target = Copy::empty();
    let mut backup = Process(backup(setup, &big.db, &target.db).spawn().unwrap());
    backup.until_ended();
    let copied = backup.io_bytes("rchar") as f64 / file;
    assert!(backup.0.wait().unwrap().success(), "the backup succeeds");
    vec![
        Measurement::figure("start on the big file, until the first answer", "MB read", [read]).target_at_most(2.0),
        Measurement::figure("the same start, with no part of the file cached", "MB from the disk", [from_disk]),
        Measurement::figure("backup of the big file", "bytes read per byte", [copied]).target_at_most(1.1),
    ]
}

/// Returns the backup command, which runs on the server's core.
pub(crate) fn backup(setup: &Setup, db: &Path, target: &Path) -> Command {
    let mut command = setup.cores.server(BINARY);
    command.args(["backup", "--db"]).arg(db).arg(target);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Removes a file from the page cache, if the system can do that.
fn forget(db: &Path) {
    let file = format!("of={}", db.display());
    let arguments = [&*file, "oflag=nocache", "conv=notrunc,fdatasync", "count=0", "status=none"];
    let _ = Command::new("dd").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
}

/// Measures the time from the start to the first answer, on both files in turn.
fn starts(setup: &Setup, big: &Copy) -> Vec<Measurement> {
    let empty = Copy::empty();
    let first = run(&["bootstrap-admin", "--db", empty.db.to_str().unwrap(), "--email", "admin@appliance.example"]);
    let admin = data::secret(ADMIN);
    let once = |db: &Path, key: &str| {
        let mut started = start(setup, db, key);
        started.process.terminate();
        started.elapsed.as_secs_f64() * 1e3
    };
    let pairs = (0..STARTS).map(|_| (once(&empty.db, first.trim()), once(&big.db, admin.reveal())));
    let (of_empty, of_big): (Vec<_>, Vec<_>) = pairs.unzip();
    let megabytes = big.db.metadata().unwrap().len() / 1_000_000;
    let on_big = format!("start on a file of {megabytes} MB, until the first answer");
    vec![
        Measurement::figure("start on an empty file, until the first answer", "ms", of_empty).target_at_most(20.0),
        Measurement::figure(on_big, "ms", of_big).target_at_most(20.0),
    ]
}

/// Measures the memory of an idle service, of a busy one, and of one with many idle connections, each of which has
/// received one answer.
fn memory(setup: &Setup, big: &Copy, size: &Size) -> Vec<Measurement> {
    let admin = data::secret(ADMIN);
    let mut started = start(setup, &big.db, admin.reveal());
    std::thread::sleep(CALM);
    let idle = resident(&started.process);
    let busy = busy(setup, &started, size);
    started.process.terminate();
    let crowd = IDLE_CONNECTIONS.min(descriptors::most().saturating_sub(OTHER_DESCRIPTORS));
    let crowded = [get("/api/v1/me", Some(admin.reveal())), get(&company::portal_path(0), None)].map(|request| {
        let mut started = start(setup, &big.db, admin.reveal());
        let memory = crowded(&started, crowd, &request);
        started.process.terminate();
        memory
    });
    let of = |what: String, [all, own]: [f64; 2], most: f64| {
        [
            Measurement::figure(what.clone(), "VmRSS, MB", [all]).target_at_most(most),
            Measurement::figure(what, "RssAnon, MB", [own]),
        ]
    };
    let many = |request: &str| format!("memory with {crowd} idle connections after {request}");
    let most = format!("memory with {BUSY_CONNECTIONS} busy connections, me and portals, maximum");
    [
        of("memory when idle".to_owned(), idle, 12.0),
        of(most, busy, 64.0),
        of(many("GET /api/v1/me"), crowded[0], 150.0),
        of(many("a request for a portal"), crowded[1], 150.0),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Reads `VmRSS` and `RssAnon` in MB.
fn resident(process: &Process) -> [f64; 2] {
    ["VmRSS", "RssAnon"].map(|name| process.memory_kb(name) as f64 * 1_024.0 / 1e6)
}

/// Returns the maximum memory during a load.
fn busy(setup: &Setup, started: &Started, size: &Size) -> [f64; 2] {
    let keys = data::texts();
    let me = keys.iter().map(|key| get("/api/v1/me", Some(key)));
    let portals = (0..size.organizations).map(|nth| get(&company::portal_path(nth), None));
    // Both kinds have the same number of requests.
    let portals = portals.collect::<Vec<_>>().into_iter().cycle().take(keys.len());
    let requests = Arc::new(me.chain(portals).collect());
    let course = Course::For(setup.lengths.memory);
    std::thread::scope(|scope| {
        let load = scope.spawn(|| load::run(started.address, BUSY_CONNECTIONS, &requests, &course));
        let mut most = [0.0; 2];
        while !load.is_finished() {
            let now = resident(&started.process);
            most = [0, 1].map(|nth: usize| f64::max(most[nth], now[nth]));
            std::thread::sleep(POLL_INTERVAL);
        }
        most
    })
}

/// Returns the memory with this many idle connections. Each has received one answer.
fn crowded(started: &Started, connections: usize, request: &[u8]) -> [f64; 2] {
    let requests = (0..connections).map(|_| {
        let stream = TcpStream::connect(started.address).unwrap();
        ask_on(&stream, request).unwrap().expect(200);
        stream
    });
    let streams: Vec<TcpStream> = requests.collect();
    std::thread::sleep(CALM);
    let memory = resident(&started.process);
    for stream in [&streams[0], &streams[connections - 1]] {
        ask_on(stream, request).expect("all connections stay open during the measurement").expect(200);
    }
    memory
}
