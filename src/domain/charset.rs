//! Text files in charsets other than UTF-8: UTF-16 with a byte order mark, and windows-1252. Windows programs write
//! both.

use std::borrow::Cow;

/// The byte order marks of UTF-16 (RFC 2781 section 3.2).
const LITTLE_ENDIAN: [u8; 2] = [0xff, 0xfe];
const BIG_ENDIAN: [u8; 2] = [0xfe, 0xff];

/// The characters of windows-1252 from 0x80 to 0x9f, where windows-1252 differs from ISO 8859-1. NUL marks undefined
/// bytes.
const WINDOWS_1252: [char; 32] = [
    '€', '\0', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\0', 'Ž', '\0', '\0', '‘', '’', '“', '”', '•',
    '–', '—', '˜', '™', 'š', '›', 'œ', '\0', 'ž', 'Ÿ',
];

/// The order of the two bytes in a UTF-16 code unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// Low byte first, as Windows programs write it.
    Little,
    /// High byte first.
    Big,
}

impl ByteOrder {
    /// Returns the byte order from the mark at the beginning of the text, if there is a mark.
    pub fn of(text: &[u8]) -> Option<Self> {
        if text.starts_with(&LITTLE_ENDIAN) {
            Some(Self::Little)
        } else if text.starts_with(&BIG_ENDIAN) {
            Some(Self::Big)
        } else {
            None
        }
    }

    /// Combines two bytes into a code unit.
    pub fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// A text file that was decoded to UTF-8.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedText<'a> {
    /// The text in UTF-8, without a byte order mark. If no charset can decode the file, the bytes are unchanged, except
    /// that a UTF-8 byte order mark is removed.
    pub bytes: Cow<'a, [u8]>,
    /// The name of the original charset, if it was not UTF-8.
    pub from: Option<&'static str>,
}

/// Decodes a text file. A file that has no UTF-16 byte order mark and contains a multi-byte UTF-8 character is treated
/// as UTF-8, even if other bytes are invalid. If the file were decoded as windows-1252, each multi-byte character would
/// become several wrong characters.
pub fn decode(bytes: &[u8]) -> DecodedText<'_> {
    if let Some(order) = ByteOrder::of(bytes) {
        return match utf16(order, &bytes[2..]) {
            Some(text) => DecodedText { bytes: Cow::Owned(text.into_bytes()), from: Some("UTF-16") },
            None => DecodedText { bytes: Cow::Borrowed(bytes), from: None },
        };
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let has_utf8 = bytes.utf8_chunks().any(|chunk| !chunk.valid().is_ascii());
    let is_utf8 = has_utf8 || std::str::from_utf8(bytes).is_ok();
    match (!is_utf8).then(|| windows_1252(bytes)).flatten() {
        Some(text) => DecodedText { bytes: Cow::Owned(text.into_bytes()), from: Some("windows-1252") },
        None => DecodedText { bytes: Cow::Borrowed(bytes), from: None },
    }
}

/// Decodes the text after a byte order mark. Returns `None` if the bytes are not valid UTF-16.
fn utf16(order: ByteOrder, bytes: &[u8]) -> Option<String> {
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let units = pairs.map(|pair| order.unit([pair[0], pair[1]]));
    char::decode_utf16(units).collect::<Result<String, _>>().ok()
}

/// Decodes windows-1252. Returns `None` if a byte is undefined in windows-1252.
fn windows_1252(bytes: &[u8]) -> Option<String> {
    let character = |byte: &u8| match *byte {
        0x80..=0x9f => Some(WINDOWS_1252[usize::from(*byte - 0x80)]).filter(|c| *c != '\0'),
        other => Some(char::from(other)),
    };
    bytes.iter().map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_charsets_decode_to_the_same_utf8() {
        let text = "Zoë – “CV”, 5 €";
        let units: Vec<u16> = text.encode_utf16().collect();
        let little: Vec<u8> = [0xfeff].iter().chain(&units).flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = [0xfeff].iter().chain(&units).flat_map(|unit| unit.to_be_bytes()).collect();
        let windows = b"Zo\xeb \x96 \x93CV\x94, 5 \x80".to_vec();
        let marked = format!("\u{feff}{text}").into_bytes();
        for (bytes, from) in [
            (text.as_bytes().to_vec(), None),
            (marked, None),
            (little, Some("UTF-16")),
            (big, Some("UTF-16")),
            (windows, Some("windows-1252")),
        ] {
            assert_eq!(decode(&bytes), DecodedText { bytes: Cow::Borrowed(text.as_bytes()), from }, "{bytes:?}");
        }
    }

    #[test]
    fn bytes_that_no_charset_can_decode_are_unchanged() {
        for bytes in [&b"Zo\xc3\xab \x96"[..], b"\xff\xfea", b"\xff\xfe\0\xd8", b"a\x81", b""] {
            assert_eq!(decode(bytes), DecodedText { bytes: Cow::Borrowed(bytes), from: None }, "{bytes:?}");
        }
    }
}
