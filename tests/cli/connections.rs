//! How many connections one client may hold.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use socket2::{Domain, Socket, Type};

use crate::support::{PATIENCE, Place};

/// Connections of one address.
const MAX: usize = 1_024;

/// A connection from an address of this machine.
fn connect_from(source: Ipv4Addr, address: SocketAddr) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::from((source, 0)).into()).unwrap();
    socket.connect(&address.into()).unwrap();
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// Whether a request is answered with 200 there.
fn is_served(stream: &mut TcpStream) -> bool {
    let mut begin = [0; 15];
    let sent = stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n");
    sent.is_ok() && stream.read_exact(&mut begin).is_ok() && &begin == b"HTTP/1.1 200 OK"
}

#[test]
fn one_address_holds_so_many_connections_and_others_still_come_in() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db", "--base-url", "https://jobs.example.com"]);
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
    let mut held: Vec<TcpStream> = (0..MAX).map(|_| connect_from(one, serving.address)).collect();
    assert!(is_served(held.last_mut().unwrap()));
    // One more is refused in words, before it has asked for anything.
    let mut text = String::new();
    connect_from(one, serving.address).read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.1 503 Service Unavailable\r\n"), "{text}");
    for part in [
        "\r\nconnection: close\r\n",
        "\r\nretry-after: ",
        "\r\nstrict-transport-security: ",
        "\"code\":\"unavailable\"",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(is_served(&mut connect_from(other, serving.address)));
    assert!(is_served(&mut held[0]));
    // What is closed is free again.
    drop(held.pop());
    let mut again = connect_from(one, serving.address);
    while !is_served(&mut again) {
        again = connect_from(one, serving.address);
    }
}

#[test]
fn a_trusted_proxy_holds_as_many_connections_as_it_needs() {
    let place = Place::new();
    let serving = place.serve(&["--db", "a.db", "--trusted-proxy", "127.0.0.1/32"]);
    let mut held: Vec<TcpStream> = (0..=MAX).map(|_| connect_from(Ipv4Addr::LOCALHOST, serving.address)).collect();
    assert!(held.iter_mut().rev().take(10).all(is_served));
    held[0].set_nonblocking(true).unwrap();
    assert_eq!(held[0].read(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}
