//! `serve` under a service manager such as systemd: readiness, watchdog, sockets and the journal.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::support::{PATIENCE, WorkDir, eventually};

/// Creates the socket on which a service manager receives notifications. Returns it and its path.
fn manager(dir: &WorkDir) -> (UnixDatagram, String) {
    let path = dir.path("notify");
    let socket = UnixDatagram::bind(&path).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    (socket, path.to_str().unwrap().to_owned())
}

fn receive(socket: &UnixDatagram) -> String {
    let mut buffer = [0; 4_096];
    let length = socket.recv(&mut buffer).expect("the service sends a notification");
    String::from_utf8(buffer[..length].to_vec()).unwrap()
}

#[test]
fn the_service_reports_that_it_is_ready_alive_and_stopping() {
    let dir = WorkDir::new();
    let (socket, name) = manager(&dir);
    let variables = [("NOTIFY_SOCKET", name.as_str()), ("WATCHDOG_USEC", "200000")];
    let service = dir.serve_with(&["--db", "a.db"], &variables);
    let listening = format!("STATUS=listening on {}", service.url());
    assert_eq!(receive(&socket), "STATUS=opening the database");
    assert_eq!(receive(&socket), format!("READY=1\n{listening}"));
    for _ in 0..5 {
        assert_eq!(receive(&socket), format!("WATCHDOG=1\n{listening}"));
    }
    service.stop("TERM").succeeded();
    let stopping = "STOPPING=1\nSTATUS=answering requests that have begun";
    let mut later = std::iter::from_fn(|| Some(receive(&socket))).take_while(|state| state != stopping);
    assert!(later.all(|state| state.starts_with("WATCHDOG=1\n")));
}

#[test]
fn the_socket_of_the_manager_can_be_abstract() {
    use std::os::linux::net::SocketAddrExt;
    let dir = WorkDir::new();
    let name = format!("appliance-test-{}", std::process::id());
    let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).unwrap();
    let socket = UnixDatagram::bind_addr(&address).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let service = dir.serve_with(&["--db", "a.db"], &[("NOTIFY_SOCKET", &format!("@{name}"))]);
    assert_eq!(receive(&socket), "STATUS=opening the database");
    assert!(receive(&socket).starts_with("READY=1\n"));
    service.stop("TERM").succeeded();
}

#[test]
fn a_service_that_cannot_start_is_never_ready_and_an_absent_manager_does_not_prevent_a_start() {
    let dir = WorkDir::new();
    dir.write("a.db", "not a database");
    let (socket, name) = manager(&dir);
    let variables = [("NOTIFY_SOCKET", name.as_str())];
    let output = dir.run_with(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0"], &variables, b"");
    assert_eq!(output.code, Some(78), "{output:?}");
    assert_eq!(receive(&socket), "STATUS=opening the database");
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut [0; 64]).is_err(), "nothing follows");
    for absent in ["/nowhere/notify", "nowhere", "@nobody", ""] {
        let other = ("WATCHDOG_PID", "1");
        let variables = [("NOTIFY_SOCKET", absent), ("WATCHDOG_USEC", "never"), other];
        dir.serve_with(&["--db", "b.db"], &variables).stop("TERM").succeeded();
    }
}

fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

fn shared(listener: &TcpListener) -> Stdio {
    OwnedFd::from(listener.try_clone().unwrap()).into()
}

#[test]
fn a_socket_from_the_manager_replaces_the_listen_address() {
    let dir = WorkDir::new();
    let (listener, address) = listener();
    // A service that listened on the address in `--listen` could not start, because that address does not belong to
    // the machine.
    let service = dir.serve_on(shared(&listener), &["--db", "a.db", "--listen", "192.0.2.1:1"]);
    assert_eq!(service.address, address);
    service.send("GET", "/healthz", &[], "").expect(200);
    service.stop("TERM").succeeded();
}

#[test]
fn several_sockets_and_other_descriptors_are_refused() {
    let dir = WorkDir::new();
    let (listener, _) = listener();
    let (reader, _writer) = std::io::pipe().unwrap();
    for (descriptor, count, sentence) in [
        (shared(&listener), "2", "the service manager passed 2 sockets; pass one"),
        (OwnedFd::from(reader).into(), "1", "pass a TCP socket"),
        (OwnedFd::from(UnixDatagram::unbound().unwrap()).into(), "1", "pass a TCP socket"),
    ] {
        let output = dir.command_on(descriptor, count, &["--db", "a.db"]).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(78) && stderr.contains(sentence), "{stderr}");
    }
    assert_eq!(dir.names(), Vec::<String>::new());
}

/// The number of restarts, and the number of clients that send requests on new connections during the restarts.
const RESTARTS: usize = 3;
const CLIENTS: usize = 4;

/// Sends a request on a new connection and returns whether it was answered with 200.
fn is_answered(address: SocketAddr) -> bool {
    let Ok(mut stream) = TcpStream::connect(address) else { return false };
    let mut answer = String::new();
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request).is_ok()
        && stream.read_to_string(&mut answer).is_ok()
        && answer.starts_with("HTTP/1.1 200 ")
}

#[test]
fn a_restart_under_load_refuses_no_connection() {
    let dir = WorkDir::new();
    let (listener, address) = listener();
    let (answered, failed, ends) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
    let start = || dir.serve_on(shared(&listener), &["--db", "a.db"]);
    // The last service runs until the clients have ended.
    let mut service = Some(start());
    std::thread::scope(|scope| {
        let _end = SetOnDrop(&ends);
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                while !ends.load(Ordering::Relaxed) {
                    let count = if is_answered(address) { &answered } else { &failed };
                    count.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        let await_answers = |more: usize| {
            let before = answered.load(Ordering::Relaxed);
            eventually(|| answered.load(Ordering::Relaxed) >= before + more);
        };
        for _ in 0..RESTARTS {
            await_answers(200);
            service.take().unwrap().stop("TERM").succeeded();
            service = Some(start());
        }
        await_answers(200);
    });
    assert_eq!(failed.load(Ordering::Relaxed), 0, "{} requests were answered", answered.load(Ordering::Relaxed));
}

/// Ends the clients, even if the test fails.
struct SetOnDrop<'a>(&'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns a pipe, and the value of `JOURNAL_STREAM` for it.
fn journal() -> (impl Read, File, String) {
    let (reader, writer) = std::io::pipe().unwrap();
    let writer = File::from(OwnedFd::from(writer));
    let metadata = writer.metadata().unwrap();
    (reader, writer, format!("{}:{}", metadata.dev(), metadata.ino()))
}

#[test]
fn lines_in_the_journal_begin_with_their_priority() {
    let dir = WorkDir::new();
    let (reader, writer, stream) = journal();
    let mut command =
        dir.command(&["serve", "--db", "a.db", "--listen", "127.0.0.1:0", "--base-url", "https://a.example"]);
    let mut service = command.env("JOURNAL_STREAM", stream).stderr(writer).spawn().unwrap();
    // The command holds the writing end of the pipe.
    drop(command);
    let mut lines = BufReader::new(reader).lines().map(Result::unwrap);
    assert!(lines.next().unwrap().starts_with("<4>warning: --base-url is https"));
    let address = lines.next().unwrap();
    let address = address.strip_prefix("<6>listening on http://").unwrap().parse().unwrap();
    assert!(is_answered(address));
    let line = lines.next().unwrap();
    assert!(line.starts_with("<6>20") && line.contains(" GET /healthz 200 "), "{line}");
    assert!(
        std::process::Command::new("sh").args(["-c", &format!("kill {}", service.id())]).status().unwrap().success()
    );
    assert!(service.wait().unwrap().success());
    let rest: Vec<String> = lines.collect();
    assert!(!rest.is_empty() && rest.iter().all(|line| line.starts_with("<6>")), "{rest:?}");
}

#[test]
fn every_line_of_a_failure_has_a_priority_but_only_in_the_journal() {
    let dir = WorkDir::new();
    for is_journal in [true, false] {
        let (mut reader, writer, stream) = journal();
        let mut command = dir.command(&["import", "--db", "a.db", "-"]);
        command.env("JOURNAL_STREAM", if is_journal { &stream } else { "1:1" });
        let mut child = command.stderr(writer).spawn().unwrap();
        drop(command);
        child.stdin.take().unwrap().write_all(b"{\"users\": 1}").unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert!(text.lines().count() == 2 && text.contains("appliance: 1 error"), "{text}");
        assert!(text.lines().all(|line| line.starts_with("<3>") == is_journal), "{text}");
    }
}
