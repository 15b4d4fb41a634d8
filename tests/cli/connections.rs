//! The limit on connections from one address.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::support::{PATIENCE, WorkDir};

/// The maximum number of connections from one address.
pub(crate) const MAX: usize = 1_024;

/// Connects from this loopback address.
pub(crate) fn connect_from(source: Ipv4Addr, address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Returns whether a request on this connection is answered with 200.
fn is_served(stream: &mut TcpStream) -> bool {
    let mut begin = [0; 15];
    let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    sent.is_ok() && stream.read_exact(&mut begin).is_ok() && &begin == b"HTTP/1.1 200 OK"
}

#[test]
fn connections_from_one_address_are_limited_and_other_addresses_can_connect() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db", "--base-url", "https://jobs.example.com"]);
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
    let mut held: Vec<TcpStream> = (0..MAX).map(|_| connect_from(one, service.address)).collect();
    assert!(is_served(held.last_mut().unwrap()));
    // The service refuses one more connection before the client sends a request.
    let mut text = String::new();
    connect_from(one, service.address).read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{text}");
    for part in [
        "\r\nconnection: close\r\n",
        "\r\nretry-after: ",
        "\r\nstrict-transport-security: ",
        "\"code\":\"unavailable\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(is_served(&mut connect_from(other, service.address)));
    assert!(is_served(&mut held[0]));
    // A closed connection makes room for another.
    drop(held.pop());
    let mut another = connect_from(one, service.address);
    while !is_served(&mut another) {
        another = connect_from(one, service.address);
    }
}

#[test]
fn connections_from_a_trusted_proxy_are_not_limited() {
    let dir = WorkDir::new();
    let service = dir.serve(&["--db", "a.db", "--trusted-proxy", "127.0.0.1/32"]);
    let mut held: Vec<TcpStream> = (0..=MAX).map(|_| connect_from(Ipv4Addr::LOCALHOST, service.address)).collect();
    assert!(held.iter_mut().rev().take(10).all(is_served));
    held[0].set_nonblocking(true).unwrap();
    assert_eq!(held[0].read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
