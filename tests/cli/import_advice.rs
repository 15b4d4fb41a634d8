//! `import` of a file in another format: the error names the kind of the file and the next step.

use crate::support::WorkDir;

fn utf16(text: &str) -> Vec<u8> {
    [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

#[test]
fn the_refusal_of_an_unsuitable_file_names_its_kind_and_the_next_step() {
    let dir = WorkDir::new();
    let csv = "looks like a table (CSV); import it with --format csv --organization SLUG";
    for (name, bytes, sentence) in [
        ("people.csv", &b"name,email\nA,a@b.example\n"[..], csv),
        ("excel.txt", &utf16("name\temail\r\nA\ta@b.example\r\n"), csv),
        (
            "people.xlsx",
            b"PK\x03\x04\x14\0\x06\0[Content_Types].xml",
            "save it as CSV, and import that with --format csv",
        ),
        ("people.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0", "looks like a spreadsheet"),
        ("export.json.gz", b"\x1f\x8b\x08\0\0", "is compressed with gzip; decompress it with `gunzip`"),
        ("export.zip", b"PK\x03\x04\x14\0jobs.json", "is a ZIP archive; unpack it"),
        ("page.json", b"<!DOCTYPE html>\n<title>Sign in</title>", "is a web page"),
        ("empty.json", b"", "is empty; this import reads a JSON document from `appliance export`"),
        ("wide.json", &utf16("{\"users\": []}"), "is JSON in UTF-16; save it as UTF-8"),
        ("cv.pdf", b"%PDF-1.7\n", "is a PDF"),
        ("notes.txt", b"Call Rosa back", "is text, but not JSON"),
        ("program", b"\x7fELF\x02\x01\x01\0\0", "is not text"),
    ] {
        dir.write(name, bytes);
        let output = dir.run(&["import", "--db", "a.db", name]).failed(1, sentence);
        assert!(output.stderr.contains(&format!("nothing was imported: {name} ")), "{output:?}");
        assert!(!dir.path("a.db").exists(), "{name}");
    }
    dir.run_with(&["import", "--db", "a.db", "-"], &[], b"").failed(1, "standard input is empty");
    dir.admin_key("c.db");
    dir.run(&["import", "--db", "a.db", "c.db"]).failed(1, "is a SQLite database");
}

#[test]
fn the_advice_fits_the_format_of_the_import() {
    let dir = WorkDir::new();
    dir.imported("a.db");
    let import = |format: &str, bytes: &[u8]| {
        dir.run_with(&["import", "--db", "a.db", "--format", format, "--organization", "acme", "-"], &[], bytes)
    };
    import("csv", b"{\"users\":[]}")
        .failed(1, "looks like JSON; for a document from `appliance export`, omit --format");
    import("csv", b"PK\x03\x04....xl/workbook.xml").failed(1, "save it as CSV, and import that");
    import("csv", b" \n").failed(1, "is empty; this import reads a CSV file with a line of headings");
    import("greenhouse", b"name,email\n").failed(1, "looks like a table (CSV); import it with --format csv");
    import("greenhouse", b"<html>").failed(1, "is a web page");
}
