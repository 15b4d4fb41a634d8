//! The advice for a file that is not in the format of the import.

use std::path::Path;

use super::args::Format;
use crate::cli::failure::Failure;
use crate::interchange::Content;

/// Fails with advice if the bytes are clearly not in the format. Otherwise, the parser of the format reports the
/// errors.
///
/// # Errors
/// Fails with a message that names the kind of the file and the next step.
pub(super) fn require(format: Format, source: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let Some(advice) = advice(format, Content::of(bytes)) else { return Ok(()) };
    let name = if source == Path::new("-") { "standard input".to_owned() } else { source.display().to_string() };
    Err(Failure::new(format!("nothing was imported: {name} {advice}")))
}

/// Returns the kind of the content and the next step, or `None` if the content might be in the format.
fn advice(format: Format, content: Content) -> Option<String> {
    let wanted = match format {
        Format::Document => "a JSON document from `appliance export`",
        Format::Csv => "a CSV file with a line of headings",
        Format::Greenhouse => "JSON from Greenhouse's Harvest API",
        Format::Lever => "JSON from Lever's API",
        Format::Ashby => "JSON from Ashby's API",
        Format::Workable => "JSON from Workable's API",
        Format::OpenCats => "a SQL dump of OpenCATS",
        Format::Reqcore => "JSON from Reqcore's API or database",
    };
    let is_text = matches!(format, Format::Csv | Format::OpenCats);
    let table = "--format csv --organization SLUG";
    let needs_table_flags = if format == Format::Csv { String::new() } else { format!(" with {table}") };
    Some(match content {
        Content::Empty => format!("is empty; this import reads {wanted}"),
        // The comment at the beginning of a dump begins like a negative number.
        Content::Json if format == Format::OpenCats => return None,
        Content::Json if is_text => {
            "looks like JSON; for a document from `appliance export`, omit --format; for JSON from another program, use \
             --format greenhouse, lever, ashby, workable or reqcore"
                .to_owned()
        }
        Content::Json => return None,
        Content::JsonInUtf16 => "is JSON in UTF-16; save it as UTF-8, and import it again".to_owned(),
        Content::Table | Content::Text if is_text => return None,
        Content::Table => format!("looks like a table (CSV); import it with {table}"),
        Content::Text => format!("is text, but not JSON; this import reads {wanted}"),
        Content::Workbook => {
            format!("looks like a spreadsheet (Excel or LibreOffice); save it as CSV, and import that{needs_table_flags}")
        }
        Content::Compressed(kind, command) => {
            format!("is compressed with {kind}; decompress it with `{command}`, and import the result")
        }
        Content::Zip => "is a ZIP archive; unpack it, and import the file in it".to_owned(),
        Content::Html => "is a web page, perhaps a sign-in page that was saved instead of the download; download the file \
                          again"
            .to_owned(),
        Content::Xml => format!("looks like XML; this import reads {wanted}"),
        Content::Pdf => format!("is a PDF; this import reads {wanted}"),
        Content::Database => {
            "is a SQLite database; if it is a backup of this service, export it with `appliance export --db COPY`, and \
             import the document that this command writes"
                .to_owned()
        }
        Content::Binary => format!("is not text; this import reads {wanted}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_accepts_its_own_kind_of_content() {
        for (format, accepted) in [
            (Format::Document, &[Content::Json][..]),
            (Format::Greenhouse, &[Content::Json]),
            (Format::Lever, &[Content::Json]),
            (Format::Ashby, &[Content::Json]),
            (Format::Workable, &[Content::Json]),
            (Format::Reqcore, &[Content::Json]),
            (Format::Csv, &[Content::Table, Content::Text]),
            (Format::OpenCats, &[Content::Json, Content::Table, Content::Text]),
        ] {
            for content in [Content::Json, Content::JsonInUtf16, Content::Table, Content::Text, Content::Zip] {
                assert_eq!(advice(format, content).is_none(), accepted.contains(&content), "{format:?}: {content:?}");
            }
        }
        let workbook = |format| advice(format, Content::Workbook).unwrap();
        assert!(workbook(Format::Document).ends_with("import that with --format csv --organization SLUG"));
        assert!(workbook(Format::Csv).ends_with("save it as CSV, and import that"));
    }
}
