//! Reads request bodies within limits on size and time, or drains them so that the client can read the response.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};

use crate::domain::refusal::Refusal;

/// The maximum time for reading a whole body. It is enough for 128 KiB at 35 kbit/s, and for a logo (256 KiB) at
/// 70 kbit/s.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// The maximum number of bytes that are still read from a refused body. Closing a connection with unread bytes can
/// reset the connection before the client reads the response.
const DRAIN_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// The maximum time for draining a refused body.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Reads the whole body, which may have at most `bytes_max` bytes.
///
/// # Errors
/// `payload_too_large`; `bad_request` if the body was cut off, is malformed or did not arrive in time.
pub(super) async fn read(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Refusal::PayloadTooLarge(bytes_max));
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, copy(body, bytes_max)).await;
    let late = || Refusal::bad_request(format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs()));
    read.unwrap_or_else(|_| Err(late()))
}

/// Copies each frame into one growing buffer. A frame, however short, keeps alive the 8 KiB buffer that hyper read it
/// into. If the frames were collected instead, a body that arrives byte by byte would hold 8 KiB for each byte.
async fn copy(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, Refusal> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::bad_request("the body was cut off; send it again"))?;
        let Some(data) = frame.data_ref() else { continue };
        if data.len() > bytes_max - whole.len() {
            return Err(Refusal::PayloadTooLarge(bytes_max));
        }
        whole.extend_from_slice(data);
    }
    Ok(whole.into())
}

/// Reads and discards the rest of a body, within limits.
pub(super) async fn drain(mut body: Incoming) {
    let read = async {
        let mut bytes = 0;
        while let Some(Ok(frame)) = body.frame().await {
            bytes += frame.data_ref().map_or(0, Bytes::len);
            if bytes > DRAIN_BYTES_MAX {
                break;
            }
        }
    };
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, read).await;
}
