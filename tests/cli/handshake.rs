//! Clients that never finish a TLS handshake. Some of these tests wait for the deadline of a handshake.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::{Duration, Instant};

use crate::connections::{MAX, connect_from};
use crate::support::connect;
use crate::tls::{client_hello, start};
use crate::tls_client::VERSIONS;

#[test]
fn a_client_that_never_finishes_its_handshake_delays_nobody_and_is_disconnected() {
    let (_dir, authority, service) = start();
    let hello = client_hello(3);
    let began = Instant::now();
    let silent: Vec<TcpStream> = [0, 1, 5, 20, hello.len() - 1]
        .into_iter()
        .flat_map(|bytes| std::iter::repeat_n(bytes, 20))
        .map(|bytes| {
            let mut stream = connect(service.address);
            stream.write_all(&hello[..bytes]).unwrap();
            stream
        })
        .collect();
    authority.get(service.address, "/healthz").expect(200);
    assert!(began.elapsed() < Duration::from_secs(9), "the request waited for the silent clients");
    for mut stream in silent {
        assert_eq!(stream.read(&mut [0]).unwrap_or(0), 0);
    }
    // Without TLS, the service would disconnect a silent client only after 30 seconds.
    assert!(began.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_unfinished_handshake_does_not_delay_the_stop() {
    let (_dir, authority, service) = start();
    let _silent = connect(service.address);
    let mut begun = connect(service.address);
    begun.write_all(&client_hello(3)[..20]).unwrap();
    let mut idle = authority.connect(service.address).unwrap();
    let began = Instant::now();
    let output = service.stop("TERM").succeeded();
    assert!(output.stderr.ends_with("\nstopped"), "{output:?}");
    assert!(began.elapsed() < Duration::from_secs(9), "the stop waited for the deadline of the handshake");
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
}

#[test]
fn unfinished_handshakes_count_towards_the_limit_of_connections_from_one_address() {
    let (_dir, authority, service) = start();
    let began = Instant::now();
    let (one, other) = (Ipv4Addr::LOCALHOST, Ipv4Addr::new(127, 0, 0, 2));
    let shake = |source| authority.connect_with(connect_from(source, service.address), &VERSIONS, b"http/1.1");
    let silent: Vec<TcpStream> = (0..MAX).map(|_| connect_from(one, service.address)).collect();
    let refused = shake(one);
    // On a slow machine, the deadline of the first handshakes may have passed.
    if began.elapsed() < Duration::from_secs(9) {
        assert!(refused.is_err(), "one address has more than {MAX} connections");
    }
    shake(other).unwrap();
    drop(silent);
    while shake(one).is_err() {}
}
