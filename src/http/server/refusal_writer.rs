//! Writes refusals to connections that are closed without being passed to hyper.

use std::io::ErrorKind;
use std::net::Shutdown;
use std::time::Duration;

use tokio::net::TcpStream;

/// The maximum time for sending a refusal.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The maximum time for reading after a refusal, and the maximum number of bytes that are read. If unread data were
/// left, the system would reset the connection, and the client might lose the refusal.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 64 * 1_024;

/// Sends the bytes without reading. If the client has already sent data, the system can reset the connection, and the
/// client can lose the bytes.
pub(super) async fn send(stream: &TcpStream, text: &[u8]) {
    let send = async {
        let mut rest = text;
        while !rest.is_empty() && stream.writable().await.is_ok() {
            match stream.try_write(rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(SEND_TIMEOUT, send).await;
}

/// Sends the bytes to a client that is sending, and discards the client's data until the client closes the connection
/// or a limit is reached.
pub(super) async fn send_and_linger(stream: &TcpStream, text: &[u8]) {
    send(stream, text).await;
    let _ = socket2::SockRef::from(stream).shutdown(Shutdown::Write);
    let linger = async {
        let (mut buffer, mut bytes) = ([0; 1_024], 0);
        while bytes < LINGER_BYTES_MAX && stream.readable().await.is_ok() {
            match stream.try_read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => bytes += read,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => return,
            }
        }
    };
    let _ = tokio::time::timeout(LINGER, linger).await;
}
