//! Media types of attachments, detected from the content alone, chunk by chunk, without decompressing anything.

use super::super::charset::ByteOrder;

/// An accepted type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaType {
    /// PDF (ISO 32000).
    Pdf,
    /// An Office Open XML document (ISO/IEC 29500) without macros.
    Docx,
    /// An OpenDocument text document (ISO/IEC 26300).
    Odt,
    /// Plain text in UTF-8.
    Text,
    /// Plain text in windows-1252, which older Windows programs write by default.
    WesternText,
    /// Plain text in UTF-16 with a byte order mark. Windows programs call this encoding Unicode.
    Utf16Text,
}

impl MediaType {
    const ALL: [Self; 6] = [Self::Pdf, Self::Docx, Self::Odt, Self::Text, Self::WesternText, Self::Utf16Text];

    /// Returns the value of `Content-Type`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pdf => "application/pdf",
            Self::Docx => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
            Self::Odt => "application/vnd.oasis.opendocument.text",
            Self::Text => "text/plain; charset=utf-8",
            Self::WesternText => "text/plain; charset=windows-1252",
            Self::Utf16Text => "text/plain; charset=utf-16",
        }
    }

    /// Parses the value of `Content-Type` that [`MediaType::as_str`] returns.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|media_type| media_type.as_str() == text)
    }

    /// Returns the file name extension.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Pdf => "pdf",
            Self::Docx => "docx",
            Self::Odt => "odt",
            Self::Text | Self::WesternText | Self::Utf16Text => "txt",
        }
    }
}

/// The detection of an attachment's media type during its upload.
#[derive(Debug, Clone, Default)]
pub struct MediaTypeScan(PossibleType);

/// The type that the content can still have, judging by the chunks so far.
#[derive(Debug, Clone, Default)]
enum PossibleType {
    #[default]
    Nothing,
    Pdf,
    Archive(Archive),
    Text(Text),
    Utf16(Utf16),
    Other,
}

impl MediaTypeScan {
    /// Scans the next chunk. The first chunk must contain at least a few hundred bytes, or the whole content.
    pub fn take(&mut self, chunk: &[u8]) {
        if matches!(self.0, PossibleType::Nothing) {
            self.0 = begin(chunk);
        }
        let is_possible = match &mut self.0 {
            PossibleType::Archive(archive) => {
                archive.take(chunk);
                true
            }
            PossibleType::Text(text) => text.take(chunk),
            PossibleType::Utf16(text) => text.take(chunk),
            PossibleType::Nothing | PossibleType::Pdf | PossibleType::Other => true,
        };
        if !is_possible {
            self.0 = PossibleType::Other;
        }
    }

    /// Returns whether the content can still have an accepted type, judging by the chunks so far.
    pub fn is_acceptable_so_far(&self) -> bool {
        !matches!(self.0, PossibleType::Other)
    }

    /// Returns the type of the whole content. Returns `None` if the type is not accepted.
    pub fn media_type(&self) -> Option<MediaType> {
        match &self.0 {
            PossibleType::Nothing | PossibleType::Other => None,
            PossibleType::Pdf => Some(MediaType::Pdf),
            PossibleType::Archive(archive) => archive.media_type(),
            PossibleType::Text(text) => text.media_type(),
            PossibleType::Utf16(text) => text.is_whole().then_some(MediaType::Utf16Text),
        }
    }
}

fn begin(chunk: &[u8]) -> PossibleType {
    if chunk.is_empty() {
        PossibleType::Nothing
    } else if chunk.starts_with(b"%PDF-") {
        PossibleType::Pdf
    } else if chunk.starts_with(ENTRY) {
        PossibleType::Archive(Archive { is_odt: is_odt(chunk), ..Archive::default() })
    } else if let Some(order) = ByteOrder::of(chunk) {
        PossibleType::Utf16(Utf16 { order, carried: None, high: None })
    } else {
        PossibleType::Text(Text::default())
    }
}

/// The signature of an entry in a ZIP archive (APPNOTE 4.3.7).
const ENTRY: &[u8] = b"PK\x03\x04";

/// The offset of the name within an entry.
const ENTRY_NAME_AT: usize = 30;

/// The number of bytes at the beginning of an entry that are checked: its header, and enough of its name to recognize
/// the name.
const ENTRY_BYTES: usize = ENTRY_NAME_AT + 20;

/// Returns whether the first entry contains the uncompressed media type that OpenDocument requires.
fn is_odt(chunk: &[u8]) -> bool {
    let is_stored = chunk.get(8..10) == Some(&[0, 0]);
    let named = chunk.get(ENTRY_NAME_AT..).unwrap_or_default();
    let rest = named.strip_prefix(b"mimetype").and_then(|rest| rest.strip_prefix(MediaType::Odt.as_str().as_bytes()));
    // The media types of templates and master documents continue with a hyphen.
    is_stored && chunk.get(26..30) == Some(&[8, 0, 0, 0]) && rest.is_some_and(|rest| !rest.starts_with(b"-"))
}

/// An archive, recognized by its entry names. The content of an entry can look like another entry, so the service can
/// accept an archive that is not a document. This is harmless, because the service never unpacks the archive and
/// returns it unchanged.
#[derive(Debug, Clone, Default)]
struct Archive {
    is_odt: bool,
    has_content_types: bool,
    has_word: bool,
    has_macros: bool,
    /// The last bytes of the content so far. An entry can begin in them.
    carried: Vec<u8>,
}

impl Archive {
    fn take(&mut self, chunk: &[u8]) {
        let mut bytes = std::mem::take(&mut self.carried);
        bytes.extend_from_slice(chunk);
        let ends = bytes.len().saturating_sub(ENTRY_BYTES - 1);
        self.note_entries(&bytes, ends);
        self.carried = bytes.split_off(ends);
    }

    /// Records the names of the entries that begin within the first `ends` bytes.
    fn note_entries(&mut self, bytes: &[u8], ends: usize) {
        let begins = |at: &usize| bytes[*at] == ENTRY[0] && bytes[*at..].starts_with(ENTRY);
        for at in (0..ends).filter(begins) {
            let name = bytes.get(at + ENTRY_NAME_AT..).unwrap_or_default();
            self.has_content_types |= name.starts_with(b"[Content_Types].xml");
            self.has_word |= name.starts_with(b"word/");
            self.has_macros |= name.starts_with(b"word/vbaProject.bin");
        }
    }

    fn media_type(&self) -> Option<MediaType> {
        let mut all = self.clone();
        all.note_entries(&self.carried, self.carried.len());
        match (all.is_odt, all.has_content_types && all.has_word && !all.has_macros) {
            (true, _) => Some(MediaType::Odt),
            (false, true) => Some(MediaType::Docx),
            (false, false) => None,
        }
    }
}

/// Text in UTF-16: no control characters except tabs and line breaks, and no unpaired surrogates.
#[derive(Debug, Clone)]
struct Utf16 {
    order: ByteOrder,
    /// The first byte of a unit whose second byte is in the next chunk.
    carried: Option<u8>,
    /// A high surrogate that waits for its low surrogate.
    high: Option<u16>,
}

impl Utf16 {
    /// Scans a chunk. Returns whether the content can still be text.
    fn take(&mut self, chunk: &[u8]) -> bool {
        chunk.iter().all(|byte| match self.carried.take() {
            Some(first) => self.take_unit(self.order.unit([first, *byte])),
            None => {
                self.carried = Some(*byte);
                true
            }
        })
    }

    fn take_unit(&mut self, unit: u16) -> bool {
        let high = self.high.take();
        match char::decode_utf16(high.into_iter().chain([unit])).next() {
            Some(Ok(c)) => !c.is_control() || matches!(c, '\t' | '\n' | '\r'),
            // A high surrogate waits for its low surrogate.
            Some(Err(_)) if high.is_none() && (0xd800..0xdc00).contains(&unit) => {
                self.high = Some(unit);
                true
            }
            _ => false,
        }
    }

    fn is_whole(&self) -> bool {
        self.carried.is_none() && self.high.is_none()
    }
}

/// Text in UTF-8 or windows-1252: no control characters except tabs and line breaks.
#[derive(Debug, Clone, Default)]
struct Text {
    is_invalid_utf8: bool,
    /// Whether any byte is undefined in windows-1252.
    is_invalid_western: bool,
    /// The first bytes of a character whose last byte has not arrived.
    carried: Vec<u8>,
}

impl Text {
    /// Scans a chunk. Returns whether the content can still be text.
    fn take(&mut self, chunk: &[u8]) -> bool {
        let is_control = |byte: &u8| (*byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r')) || *byte == 0x7f;
        if chunk.iter().any(is_control) {
            return false;
        }
        self.is_invalid_western |= chunk.iter().any(|byte| matches!(byte, 0x81 | 0x8d | 0x8f | 0x90 | 0x9d));
        self.take_utf8(chunk);
        !(self.is_invalid_utf8 && self.is_invalid_western)
    }

    fn take_utf8(&mut self, chunk: &[u8]) {
        if self.is_invalid_utf8 {
            return;
        }
        let mut bytes = std::mem::take(&mut self.carried);
        bytes.extend_from_slice(chunk);
        let whole = match std::str::from_utf8(&bytes) {
            Ok(text) => text,
            Err(error) => {
                self.is_invalid_utf8 = error.error_len().is_some();
                self.carried = bytes[error.valid_up_to()..].to_vec();
                std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default()
            }
        };
        // In UTF-8, the C1 control characters (U+0080 to U+009F) have two bytes, so the check of single bytes does not
        // find them.
        self.is_invalid_utf8 |= whole.chars().any(|c| ('\u{80}'..='\u{9f}').contains(&c));
    }

    fn media_type(&self) -> Option<MediaType> {
        let is_utf8 = !self.is_invalid_utf8 && self.carried.is_empty();
        if is_utf8 { Some(MediaType::Text) } else { (!self.is_invalid_western).then_some(MediaType::WesternText) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the type of content that arrives in chunks of this size after the first chunk.
    fn type_in_chunks(bytes: &[u8], size: usize) -> Option<MediaType> {
        let mut scan = MediaTypeScan::default();
        let (first, rest) = bytes.split_at(bytes.len().min(512));
        scan.take(first);
        rest.chunks(size).for_each(|chunk| scan.take(chunk));
        scan.media_type()
    }

    fn type_of(bytes: &[u8]) -> Option<MediaType> {
        let at_once = type_in_chunks(bytes, usize::MAX);
        for size in [1, 2, 3, 31, 64, 1_000] {
            assert_eq!(type_in_chunks(bytes, size), at_once, "in chunks of {size}");
        }
        at_once
    }

    /// Returns an archive of uncompressed entries.
    fn archive(entries: &[(&str, &[u8])]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (name, content) in entries {
            bytes.extend_from_slice(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
            let length = u32::try_from(content.len()).unwrap().to_le_bytes();
            bytes.extend_from_slice(&[length, length].concat());
            bytes.extend_from_slice(&u16::try_from(name.len()).unwrap().to_le_bytes());
            bytes.extend_from_slice(&[0, 0]);
            bytes.extend_from_slice(name.as_bytes());
            bytes.extend_from_slice(content);
        }
        bytes
    }

    #[test]
    fn types_are_detected_from_the_content() {
        let long = [0xaa; 3_000];
        let types: (&str, &[u8]) = ("[Content_Types].xml", &long);
        let odt = "application/vnd.oasis.opendocument.text";
        for (bytes, media_type) in [
            (b"%PDF-1.7\n\0\x01\x02".to_vec(), Some(MediaType::Pdf)),
            (archive(&[types, ("_rels/.rels", b""), ("word/document.xml", &long)]), Some(MediaType::Docx)),
            (archive(&[("word/document2.xml", &long), types]), Some(MediaType::Docx)),
            (archive(&[types, ("word/document.xml", b""), ("word/vbaProject.bin", b"")]), None),
            (archive(&[types, ("xl/workbook.xml", &long)]), None),
            (archive(&[("word/document.xml", &long)]), None),
            (archive(&[("a.txt", &long)]), None),
            (archive(&[("mimetype", odt.as_bytes()), ("content.xml", &long)]), Some(MediaType::Odt)),
            (archive(&[("mimetype", format!("{odt}-template").as_bytes())]), None),
            (archive(&[("mimetype", b"application/epub+zip")]), None),
            (archive(&[("mimetype", odt.as_bytes())])[..40].to_vec(), None),
            (b"PK\x03\x04".to_vec(), None),
            (b"PK\x05\x06\0\0".to_vec(), None),
            ("Lebenslauf\r\n\tMüller — ✓ 🎉\n".into(), Some(MediaType::Text)),
            ("\u{feff}text".into(), Some(MediaType::Text)),
            ("ä".repeat(5_000).into(), Some(MediaType::Text)),
            (b"M\xfcller \x96 \x93cv\x94".to_vec(), Some(MediaType::WesternText)),
            (b"<script>alert(1)</script>".to_vec(), Some(MediaType::Text)),
            (b" %PDF-1.7".to_vec(), Some(MediaType::Text)),
            (b"text\0".to_vec(), None),
            (b"text\x1b[31m".to_vec(), None),
            (b"text\x7f".to_vec(), None),
            (b"M\xfcller \x81".to_vec(), None),
            ("a\u{85}b\u{81}".into(), None),
            (b"\xff\xd8\xff\xe0\0\x10JFIF".to_vec(), None),
            (b"\x89PNG\r\n\x1a\n".to_vec(), None),
            (b"MZ\x90\0".to_vec(), None),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), None),
            (b"\xff\xfet\0e\0x\0t\0".to_vec(), Some(MediaType::Utf16Text)),
            (b"\xfe\xff\0t\0\n \x13\xd8\x3d\xdc\xbb".to_vec(), Some(MediaType::Utf16Text)),
            ([&b"\xff\xfe"[..], &b"\x20\x20".repeat(5_000)].concat(), Some(MediaType::Utf16Text)),
            (b"\xff\xfet\0e".to_vec(), None),
            (b"\xff\xfet\0\x3d\xd8".to_vec(), None),
            (b"\xff\xfe\x3d\xd8t\0".to_vec(), None),
            (b"\xff\xfe\x3d\xd8\x3d\xd8\xbb\xdc".to_vec(), None),
            (b"\xff\xfe\xbb\xdct\0".to_vec(), None),
            (b"\xff\xfe\x1b\0".to_vec(), None),
            (b"\xff\xfe\0\0t\0\0\0".to_vec(), None),
            (b"".to_vec(), None),
        ] {
            assert_eq!(type_of(&bytes), media_type, "{:?}", String::from_utf8_lossy(&bytes[..bytes.len().min(60)]));
        }
    }

    #[test]
    fn unacceptable_content_is_detected_before_its_end() {
        let mut scan = MediaTypeScan::default();
        assert!(scan.is_acceptable_so_far());
        scan.take(b"so far, so good\n");
        assert!(scan.is_acceptable_so_far());
        scan.take(b"\0");
        assert!(!scan.is_acceptable_so_far());
        scan.take(b"and good again");
        assert_eq!((scan.is_acceptable_so_far(), scan.media_type()), (false, None));
    }

    #[test]
    fn media_types_are_parsed_from_their_names() {
        for media_type in MediaType::ALL {
            assert_eq!(MediaType::parse(media_type.as_str()), Some(media_type));
        }
        assert_eq!(MediaType::parse("text/html"), None);
    }
}
