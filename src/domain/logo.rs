//! Uploaded logos of organizations. The content of a file, never its name, determines the image type.

use super::words::words;

/// The maximum size of a logo, in bytes. This size is ample for a logo, and small compared with the database.
pub const LOGO_BYTES_MAX: usize = 256 * 1_024;

words! {
    /// An image type that every browser displays and that cannot contain a script.
    LogoType {
        /// Portable Network Graphics.
        Png = "image/png",
        /// JPEG.
        Jpeg = "image/jpeg",
        /// WebP.
        Webp = "image/webp",
        /// GIF.
        Gif = "image/gif",
    }
}

/// The error detail for content of any other type.
pub const LOGO_MUST_BE: &str = "the body must be an image: PNG, JPEG, WebP or GIF";

/// Returns the image type that the first bytes indicate (WHATWG MIME Sniffing §6.1), or `None` for any other content.
pub fn type_of(content: &[u8]) -> Option<LogoType> {
    match content {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(LogoType::Png),
        [0xff, 0xd8, 0xff, ..] => Some(LogoType::Jpeg),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', b'V', b'P', ..] => Some(LogoType::Webp),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(LogoType::Gif),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn image_types_are_detected_from_the_first_bytes() {
        for (content, expected) in [
            (&b"\x89PNG\r\n\x1a\n...."[..], Some(LogoType::Png)),
            (b"\xff\xd8\xff\xe0", Some(LogoType::Jpeg)),
            (b"RIFF\x10\0\0\0WEBPVP8 ", Some(LogoType::Webp)),
            (b"GIF87a", Some(LogoType::Gif)),
            (b"GIF89a..", Some(LogoType::Gif)),
            (b"", None),
            (b"\x89PNG\n\x1a\n", None),
            (b"\xff\xd8", None),
            (b"RIFF\x10\0\0\0WAVEfmt ", None),
            (b"GIF88a", None),
            (b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", None),
            (b" GIF89a", None),
        ] {
            assert_eq!(type_of(content), expected, "{content:?}");
        }
    }
}
