//! Bodies made smaller for the way (RFC 1952): which are worth it, and how.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// A body of fewer bytes fits into one packet, head included: nothing is won.
const BYTES_MIN: usize = 1_024;

/// A body of more is compressed lightly: whoever waits for the first one waits some ms all the same.
const HARD_BYTES_MAX: usize = 256 * 1_024;

/// Whether a body of this type and size is worth it. Pictures are small already.
pub(in crate::http) fn is_worth(media_type: &str, bytes: usize) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is_text = media_type.starts_with("text/")
        || ["application/json", "application/javascript", "application/xml"].contains(&media_type)
        || media_type.ends_with("+xml")
        || media_type.ends_with("+json");
    is_text && bytes > BYTES_MIN
}

/// The body compressed, where that is smaller. No name and no time are in it: the same body is always the same bytes.
pub(in crate::http) fn compress(body: &[u8]) -> Option<Vec<u8>> {
    let level = if body.len() > HARD_BYTES_MAX { Compression::fast() } else { Compression::default() };
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
    encoder.write_all(body).ok()?;
    encoder.finish().ok().filter(|compressed| compressed.len() < body.len())
}

/// What was compressed here, as it was.
pub(in crate::http) fn unpack(compressed: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(compressed.len() * 6);
    GzDecoder::new(compressed).read_to_end(&mut body).expect("what was compressed here can be read");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_some_size_are_worth_it() {
        for (media_type, bytes, expected) in [
            ("text/html; charset=utf-8", 1_025, true),
            ("text/html; charset=utf-8", 1_024, false),
            ("application/json", 5_000, true),
            ("application/atom+xml; charset=utf-8", 5_000, true),
            ("image/png", 5_000, false),
            ("application/octet-stream", 5_000, false),
            ("", 5_000, false),
        ] {
            assert_eq!(is_worth(media_type, bytes), expected, "{media_type} {bytes}");
        }
    }

    #[test]
    fn what_does_not_get_smaller_is_left_alone() {
        let noise: Vec<u8> = (0_u32..2_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let packed = compress(&noise).unwrap_or_default();
        assert!(packed.len() < noise.len());
        assert_eq!(compress(b"x"), None);
        assert_eq!(compress(&[b'x'; 2_000]), compress(&[b'x'; 2_000]));
        assert_eq!(unpack(&compress(&[b'x'; 2_000]).unwrap()), [b'x'; 2_000]);
    }
}
