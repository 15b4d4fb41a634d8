//! Recognizes the kind of a file from its first bytes, so that an import can refuse a file of the wrong kind with
//! advice instead of a syntax error. `cli::import::advice` decides which kinds an import refuses, and writes the
//! advice.

use crate::domain::charset;

/// The maximum number of bytes that are examined. Every signature is shorter, and so is the first line of most tables.
const HEAD_BYTES: usize = 4_096;

/// The bytes with which a file of each kind begins. The kind of a ZIP archive depends on the names in it.
const SIGNATURES: [(&[u8], Content); 8] = [
    (b"\x1f\x8b", Content::Compressed("gzip", "gunzip")),
    (b"BZh", Content::Compressed("bzip2", "bunzip2")),
    (b"\xfd7zXZ\0", Content::Compressed("xz", "unxz")),
    (b"\x28\xb5\x2f\xfd", Content::Compressed("zstd", "unzstd")),
    (b"PK\x03\x04", Content::Zip),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Content::Workbook),
    (b"%PDF-", Content::Pdf),
    (b"SQLite format 3\0", Content::Database),
];

/// Names of the first entries of a workbook of Excel or LibreOffice, which is a ZIP archive. The content of the entry
/// `mimetype` follows its name.
const WORKBOOK_NAMES: [&[u8]; 3] =
    [b"[Content_Types].xml", b"xl/", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"];

/// The kind of a file, judging by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content {
    /// Nothing, or only white space.
    Empty,
    /// JSON, or text that begins like JSON.
    Json,
    /// Text in UTF-16 that begins like a JSON object or array.
    JsonInUtf16,
    /// Text whose first line contains a separator of cells.
    Table,
    /// A file that looks like a workbook of Excel or LibreOffice. Other Office documents can look the same.
    Workbook,
    /// A compressed file: the format, and the command that decompresses it.
    Compressed(&'static str, &'static str),
    Zip,
    Html,
    Xml,
    Pdf,
    /// A SQLite database.
    Database,
    /// Bytes that are not text.
    Binary,
    /// Other text.
    Text,
}

impl Content {
    /// Returns the kind of a file with these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut head = &bytes[..bytes.len().min(HEAD_BYTES)];
        while head.len() < bytes.len()
            && let [rest @ .., 0x80..=0xff] = head
        {
            // The last examined byte may be in the middle of a character.
            head = rest;
        }
        let signature = SIGNATURES.iter().find(|(signature, _)| head.starts_with(signature));
        match signature.map(|(_, content)| *content) {
            Some(Self::Zip) if WORKBOOK_NAMES.iter().any(|name| contains(head, name)) => Self::Workbook,
            Some(content) => content,
            None => Self::of_text(head),
        }
    }

    fn of_text(head: &[u8]) -> Self {
        let is_utf16 = head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff");
        let decoded = charset::decode(head);
        let text = String::from_utf8_lossy(&decoded.bytes);
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let lower = text.get(..text.len().min(64)).unwrap_or(text).to_ascii_lowercase();
        let first_line = text.lines().next().unwrap_or_default();
        match text.chars().next() {
            None => Self::Empty,
            Some('{' | '[') if is_utf16 => Self::JsonInUtf16,
            Some('{' | '[') => Self::Json,
            // The parser of tables reports a NUL character in a later line, and defects of UTF-16.
            _ if first_line.contains('\0') && !is_utf16 => Self::Binary,
            _ if lower.starts_with("<!doctype html") || lower.starts_with("<html") => Self::Html,
            Some('<') => Self::Xml,
            _ if first_line.contains([',', ';', '\t']) => Self::Table,
            Some('"' | '-' | '0'..='9') => Self::Json,
            _ => Self::Text,
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_cut_at_the_end_of_the_examined_bytes_does_not_change_the_kind() {
        for length in HEAD_BYTES - 4..=HEAD_BYTES {
            let text = format!("name,email{}\u{2041}\u{2041}", " ".repeat(length - 10));
            assert_eq!(Content::of(text.as_bytes()), Content::Table, "{length}");
        }
    }

    fn utf16(text: &str) -> Vec<u8> {
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
    }

    #[test]
    fn the_kind_of_a_file_follows_from_its_first_bytes() {
        for (bytes, expected) in [
            (&b""[..], Content::Empty),
            (b" \r\n\t", Content::Empty),
            (b"\xef\xbb\xbf\n", Content::Empty),
            (b"{", Content::Json),
            (b"\n [1]", Content::Json),
            (b"\xef\xbb\xbf{}", Content::Json),
            (&utf16("{\"users\":[]}"), Content::JsonInUtf16),
            (&utf16("name,email\n"), Content::Table),
            (b"name;email\nA;a@b", Content::Table),
            (b"name\temail", Content::Table),
            (b"\xe9tat,email", Content::Table),
            (b"\x1f\x8b\x08\0", Content::Compressed("gzip", "gunzip")),
            (b"PK\x03\x04....[Content_Types].xml", Content::Workbook),
            (b"PK\x03\x04....mimetypeapplication/vnd.oasis.opendocument.spreadsheet", Content::Workbook),
            (b"PK\x03\x04....harvest/jobs.json", Content::Zip),
            (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Content::Workbook),
            (b"%PDF-1.7", Content::Pdf),
            (b"SQLite format 3\0", Content::Database),
            (b"<!DOCTYPE html><title>Sign in, please</title>", Content::Html),
            (b"\n<HTML lang=en>", Content::Html),
            (b"<?xml version='1.0'?>", Content::Xml),
            (b"\x7fELF\0\0", Content::Binary),
            (b"hello\nname,email", Content::Text),
            (b"7", Content::Json),
        ] {
            assert_eq!(Content::of(bytes), expected, "{}", String::from_utf8_lossy(bytes));
        }
    }
}
