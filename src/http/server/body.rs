//! Bodies on their way in: read within a limit and a time, or let go so that the client gets to read its answer.

use std::time::Duration;

use http_body_util::BodyExt;
use hyper::body::{Body, Bytes, Incoming};

use crate::domain::refusal::Refusal;

/// How long a body may take from its first byte to its last: 128 KiB at the speed of a bad telephone line, a picture at
/// that of a good one.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Bytes of a refused body that are read all the same: closing on unread bytes may take the answer with it.
const DRAIN_BYTES_MAX: usize = 16 * 1_024 * 1_024;

/// How long that may take.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// The whole body, of at most so many bytes.
///
/// # Errors
/// `payload_too_large`; `bad_request` where it was cut off or did not arrive in time.
pub(in crate::http) async fn read(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, Refusal> {
    if body.size_hint().lower() > bytes_max as u64 {
        return Err(Refusal::PayloadTooLarge(bytes_max));
    }
    let read = tokio::time::timeout(BODY_TIMEOUT, copy(body, bytes_max)).await;
    let late = || Refusal::bad_request(format!("the body did not arrive within {} s", BODY_TIMEOUT.as_secs()));
    read.unwrap_or_else(|_| Err(late()))
}

/// Copies each frame into one buffer, which grows with what arrives. A frame keeps the whole 8 KiB buffer alive that hyper
/// read it into, however short it is: a body of single bytes would hold 8 KiB for each of them.
async fn copy(body: &mut Incoming, bytes_max: usize) -> Result<Bytes, Refusal> {
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::bad_request("the body was cut off; send it whole"))?;
        let Some(data) = frame.data_ref() else { continue };
        if data.len() > bytes_max - whole.len() {
            return Err(Refusal::PayloadTooLarge(bytes_max));
        }
        whole.extend_from_slice(data);
    }
    Ok(whole.into())
}

/// Reads on for a while where a body is left over.
pub(in crate::http) async fn drain(mut body: Incoming) {
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
