//! The beginning of a connection on a port that speaks TLS. The handshake runs on the connection's own task and has a
//! deadline, so no client delays another.

use std::time::Duration;

use tokio::net::TcpStream;

use super::certificate::Tls;
use crate::http::server::client_stream::ClientStream;
use crate::http::server::ctx::Ctx;
use crate::http::server::{http_socket, refusal_writer};

/// The maximum time for a handshake. It is enough for two round trips and, on a bad connection, several
/// retransmissions. It is shorter than the time for a request's head, so a silent client holds its connection no longer
/// than it would without TLS.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The first byte of a TLS connection: the content type of a handshake record (RFC 8446 §5.1).
const HANDSHAKE_RECORD: u8 = 22;

/// Begins TLS. Returns `None` if the handshake fails or takes too long, if the client does not speak TLS, or if there
/// is no certificate yet.
pub(in crate::http::server) async fn shake_hands(ctx: &Ctx, tls: &Tls, stream: TcpStream) -> Option<ClientStream> {
    let begun = tokio::time::timeout(HANDSHAKE_TIMEOUT, async {
        let mut first = [0];
        match stream.peek(&mut first).await {
            Ok(1) if first[0] == HANDSHAKE_RECORD => {
                let accepted = tls.acceptor()?.accept(stream).await;
                accepted.ok().map(|stream| ClientStream::Tls(Box::new(stream)))
            }
            Ok(1) if first[0].is_ascii_alphabetic() => {
                refusal_writer::send_and_linger(&stream, &http_socket::refuse_plain(ctx)).await;
                None
            }
            _ => None,
        }
    });
    begun.await.ok().flatten()
}
