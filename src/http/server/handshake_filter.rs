//! A filter on a listening socket that the server is about to close. It must not be attached to a socket that another
//! process also uses.

use tokio::net::TcpListener;

/// Drops new handshakes while the last connections are accepted. Otherwise, a connection that completed its handshake
/// between the last `accept` and the close of the listener would be reset, and its request would be lost. A client
/// whose SYN is dropped sends it again.
#[cfg(target_os = "linux")]
pub(super) fn refuse_handshakes(listener: &TcpListener) {
    use socket2::SockFilter;
    // Classic BPF on the TCP header: drop segments with SYN and without ACK.
    let filter = [
        SockFilter::new(0x30, 0, 0, 13),       // A = the byte with the flags
        SockFilter::new(0x54, 0, 0, 0x12),     // A = A & (SYN | ACK)
        SockFilter::new(0x15, 0, 1, 0x02),     // A == SYN
        SockFilter::new(0x06, 0, 0, 0),        // drop
        SockFilter::new(0x06, 0, 0, u32::MAX), // accept
    ];
    let _ = socket2::SockRef::from(listener).attach_filter(&filter);
}

#[cfg(not(target_os = "linux"))]
pub(super) fn refuse_handshakes(_: &TcpListener) {}
