//! File names of attachments: the name that the applicant gave, made safe to display and to save.

use super::media_type::MediaType;
use crate::domain::text;

/// The maximum number of characters in a name.
const CHARACTERS_MAX: usize = 255;

/// The name of an attachment without a usable name.
pub const NAMELESS_FILE: &str = "document";

/// Returns the file name without folders, disallowed characters, and dots or white space at either end, shortened to at
/// most 255 characters. If the type was detected, the result has the extension of this type, so that a person who opens
/// a text file never runs a script.
pub fn file_name(given: &str, media_type: Option<MediaType>) -> String {
    let last = given.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain: String = last.chars().filter(|c| !is_unfit(*c)).collect();
    let plain = plain.trim_matches(|c: char| c == '.' || c.is_whitespace());
    let plain = if plain.is_empty() { NAMELESS_FILE } else { plain };
    let Some(media_type) = media_type else { return cut(plain, CHARACTERS_MAX).to_owned() };
    let extension = media_type.extension();
    match plain.rsplit_once('.') {
        Some((stem, end)) if end.eq_ignore_ascii_case(extension) && !stem.is_empty() => {
            format!("{}.{end}", cut(stem, CHARACTERS_MAX - end.len() - 1))
        }
        _ => format!("{}.{extension}", cut(plain, CHARACTERS_MAX - extension.len() - 1)),
    }
}

fn cut(name: &str, characters_max: usize) -> &str {
    let cut = text::cut(name, characters_max).trim_end_matches(|c: char| c == '.' || c.is_whitespace());
    if cut.is_empty() { NAMELESS_FILE } else { cut }
}

/// Returns whether a character is not allowed in a name. The disallowed characters are control characters, line and
/// paragraph separators, byte order marks, and direction marks, which can make `fdp.exe` look like `exe.pdf`.
fn is_unfit(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_folders_and_get_the_extension_of_their_type() {
        for (given, name) in [
            ("cv.pdf", "cv.pdf"),
            ("CV.PDF", "CV.PDF"),
            ("Müller – Lebenslauf.pdf", "Müller – Lebenslauf.pdf"),
            ("../../etc/passwd", "passwd.pdf"),
            ("..\\..\\boot.ini", "boot.ini.pdf"),
            ("C:\\fakepath\\cv.pdf", "cv.pdf"),
            ("/", "document.pdf"),
            ("", "document.pdf"),
            ("..", "document.pdf"),
            (".pdf", "pdf.pdf"),
            ("a\0b\r\nc\u{7f}.pdf", "abc.pdf"),
            ("cv\u{202e}fdp.exe", "cvfdp.exe.pdf"),
            ("cv.exe", "cv.exe.pdf"),
            (" cv.pdf. ", "cv.pdf"),
            ("<b>\"x\"</b>.pdf", "b>.pdf"),
        ] {
            assert_eq!(file_name(given, Some(MediaType::Pdf)), name, "{given:?}");
        }
        assert_eq!(file_name("run.bat", Some(MediaType::Text)), "run.bat.txt");
        assert_eq!(file_name("cv", Some(MediaType::Docx)), "cv.docx");
        assert_eq!(file_name("a/cv.exe", None), "cv.exe");
        assert_eq!(file_name("\u{1}", None), "document");
    }

    #[test]
    fn long_names_are_truncated_before_their_extension_to_255_characters() {
        let longest = format!("{}.pdf", "ä".repeat(251));
        assert_eq!(file_name(&longest, Some(MediaType::Pdf)), longest);
        for longer in [format!("ä{longest}"), "ä".repeat(10_000)] {
            assert_eq!(file_name(&longer, Some(MediaType::Pdf)), longest);
        }
        assert_eq!(text::characters(&file_name(&"ä".repeat(256), None)), 255);
    }
}
