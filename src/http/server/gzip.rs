//! Gzip (RFC 1952): which bodies to compress, and how.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// A body of at most this size fits into one packet with its head, so compressing it gains nothing.
const BYTES_MIN: usize = 1_024;

/// The maximum size of a body that is compressed at the default level. Larger bodies are compressed at the fast level,
/// because the first client waits for the compression.
const DEFAULT_LEVEL_BYTES_MAX: usize = 256 * 1_024;

/// Returns whether compressing a body of this type and size is worthwhile. Most images are already compressed.
pub(super) fn is_worth_compressing(media_type: &str, bytes: usize) -> bool {
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    let is_text = media_type.starts_with("text/")
        || ["application/json", "application/javascript", "application/xml"].contains(&media_type)
        || media_type.ends_with("+xml")
        || media_type.ends_with("+json");
    is_text && bytes > BYTES_MIN
}

/// Compresses a body. Returns `None` if the result is not smaller. The result contains no file name and no time, so
/// equal bodies give equal results.
pub(super) fn compress(body: &[u8]) -> Option<Vec<u8>> {
    let level = if body.len() > DEFAULT_LEVEL_BYTES_MAX { Compression::fast() } else { Compression::default() };
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
    encoder.write_all(body).ok()?;
    encoder.finish().ok().filter(|compressed| compressed.len() < body.len())
}

/// Decompresses the output of [`compress`].
pub(super) fn decompress(compressed: &[u8]) -> Vec<u8> {
    let mut body = Vec::with_capacity(compressed.len() * 6);
    GzDecoder::new(compressed).read_to_end(&mut body).expect("the input comes from compress");
    body
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_above_the_minimum_size_is_worth_compressing() {
        for (media_type, bytes, expected) in [
            ("text/html; charset=utf-8", 1_025, true),
            ("text/html; charset=utf-8", 1_024, false),
            ("application/json", 5_000, true),
            ("application/atom+xml; charset=utf-8", 5_000, true),
            ("image/png", 5_000, false),
            ("application/octet-stream", 5_000, false),
            ("", 5_000, false),
        ] {
            assert_eq!(is_worth_compressing(media_type, bytes), expected, "{media_type} {bytes}");
        }
    }

    #[test]
    fn compression_is_reproducible_and_never_grows_a_body() {
        let noise: Vec<u8> = (0_u32..2_000).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let compressed = compress(&noise).unwrap_or_default();
        assert!(compressed.len() < noise.len());
        assert_eq!(compress(b"x"), None);
        assert_eq!(compress(&[b'x'; 2_000]), compress(&[b'x'; 2_000]));
        assert_eq!(decompress(&compress(&[b'x'; 2_000]).unwrap()), [b'x'; 2_000]);
    }
}
