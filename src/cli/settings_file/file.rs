//! Reads a settings file (TOML) and finds the mistakes in all its options.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistake;
use super::options::Options;

/// The maximum size of a file: a hundred times as much as all options need. The limit catches a path to another kind of
/// file.
const FILE_BYTES_MAX: u64 = 256 * 1_024;

/// The permission of users other than the owner to change a file.
const OTHERS_WRITE: u32 = 0o022;

pub(super) struct SettingsFile {
    pub(super) path: PathBuf,
    pub(super) entries: Vec<Entry>,
    pub(super) mistakes: Vec<Mistake>,
}

/// An option with a valid value.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) values: Vec<String>,
    /// The position of the name.
    pub(super) line: usize,
    pub(super) column: usize,
}

impl SettingsFile {
    pub(super) fn read(path: &Path, options: &Options) -> Self {
        let file = |entries, mistakes| Self { path: path.to_owned(), entries, mistakes };
        match text(path) {
            Ok(text) => {
                let (entries, mistakes) = parse(path, &text, options);
                file(entries, mistakes)
            }
            Err(why) => file(Vec::new(), vec![Mistake::of(&path.display().to_string(), &why)]),
        }
    }
}

fn text(path: &Path) -> Result<String, String> {
    let cannot_read = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "the settings file does not exist".to_owned(),
        _ => format!("the settings file cannot be read: {error}"),
    };
    let file = File::open(path).map_err(cannot_read)?;
    let mode = file.metadata().map_err(cannot_read)?.permissions().mode();
    if mode & OTHERS_WRITE != 0 {
        return Err(format!(
            "users other than its owner may change the settings file, which can name programs that the service runs; \
             correct its permissions with: chmod go-w {}",
            path.display()
        ));
    }
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(cannot_read)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(format!("a settings file must be at most {} KiB long", FILE_BYTES_MAX / 1_024));
    }
    String::from_utf8(bytes).map_err(|_| "a settings file must be UTF-8 text".to_owned())
}

/// Returns the valid entries and, for each option that is not valid, its first mistake. If the file is not TOML,
/// returns only the mistakes in its syntax.
fn parse(path: &Path, text: &str, options: &Options) -> (Vec<Entry>, Vec<Mistake>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let at = |span: Range<usize>| position(text, span.start);
    if !errors.is_empty() {
        let mistake = |error: &toml::de::Error| {
            let sentence = error.message().replace('\n', ", ");
            Mistake::in_file(path, at(error.span().unwrap_or_default()), &sentence)
        };
        return (Vec::new(), errors.iter().map(mistake).collect());
    }
    let mut pairs: Vec<_> = table.get_ref().iter().collect();
    pairs.sort_by_key(|(key, _)| key.span().start);
    let (mut entries, mut mistakes) = (Vec::new(), Vec::new());
    for (key, value) in pairs {
        let name = key.get_ref();
        match values(name, key, value, options) {
            Ok(values) => {
                let (line, column) = at(key.span());
                entries.push(Entry { name: name.clone().into_owned(), values, line, column });
            }
            Err((span, sentence)) => mistakes.push(Mistake::in_file(path, at(span), &sentence)),
        }
    }
    (entries, mistakes)
}

/// A position in the text, and the mistake there.
type Flaw = (Range<usize>, String);

/// Returns the values of an option as strings, in the form that a flag accepts.
fn values(
    name: &str,
    key: &Spanned<std::borrow::Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    options: &Options,
) -> Result<Vec<String>, Flaw> {
    if !options.has(name) {
        return Err((key.span(), unknown(name, value.get_ref(), options)));
    }
    if options.is_switch(name) {
        let found = value.get_ref();
        let wrong = || (value.span(), format!("`{name}` must be true or false, not {}", kind(found)));
        return found.as_bool().map(|is_set| vec![is_set.to_string()]).ok_or_else(wrong);
    }
    match value.get_ref() {
        DeValue::Array(items) if options.is_list(name) => {
            items.iter().map(|item| scalar(name, item, options)).collect()
        }
        _ => scalar(name, value, options).map(|value| vec![value]),
    }
}

/// Returns a string or a whole number as text, if the option can have this value.
fn scalar(name: &str, value: &Spanned<DeValue<'_>>, options: &Options) -> Result<String, Flaw> {
    let text = match value.get_ref() {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', ""),
        other => {
            let expected = if options.is_list(name) {
                "a string in quotes, or several in […]"
            } else {
                "a string in quotes or a number"
            };
            return Err((value.span(), format!("`{name}` must be {expected}, not {}", kind(other))));
        }
    };
    match options.flaw(name, OsStr::new(&text)) {
        None => Ok(text),
        Some(flaw) => Err((value.span(), flaw)),
    }
}

fn unknown(name: &str, value: &DeValue<'_>, options: &Options) -> String {
    match options.nearest(name) {
        Some(nearest) => format!("there is no option `{name}`; did you mean `{nearest}`?"),
        None if value.is_table() => {
            format!("`{name}` is a table; put options at the top of the file, without tables")
        }
        None => format!("there is no option `{name}`; `appliance settings` lists all options"),
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(number) if number.radix() == 10 => "a number",
        DeValue::Integer(_) => "a hexadecimal, octal or binary number",
        DeValue::Float(_) => "a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or a time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

/// Returns the line and the column of a byte.
fn position(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[begin..].chars().count() + 1)
}
