//! The value of `--db`: the path of a SQLite file, or the URL of a PostgreSQL server. Such a URL is never taken for a
//! file name. This module imports no other module of the program.

use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The prefixes of a PostgreSQL server's URL. libpq accepts the same two.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// Returns whether this is the URL of a PostgreSQL server, rather than the path of a file.
pub fn is_server(db: &Path) -> bool {
    let text = db.as_os_str().as_bytes();
    SCHEMES
        .iter()
        .any(|scheme| text.get(..scheme.len()).is_some_and(|head| head.eq_ignore_ascii_case(scheme.as_bytes())))
}

/// Returns the text for messages: a path, or a URL without its user, its password and its parameters. For an
/// ambiguous URL, for example one whose password contains an unescaped `#`, returns only the scheme.
pub fn shown(db: &Path) -> String {
    let text = db.display().to_string();
    if !is_server(db) {
        return text;
    }
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    if is_ambiguous(&text) {
        return format!("{scheme}://…");
    }
    let (address, _) = parts(rest);
    let server = address.split_once('@').map_or(address, |(_, server)| server);
    format!("{scheme}://{server}")
}

/// Returns whether it is unclear where the password of a URL ends, because a character in the URL is not escaped.
pub(super) fn is_ambiguous(url: &str) -> bool {
    let (_, rest) = url.split_once("://").unwrap_or_default();
    let (address, parameters) = parts(rest);
    parameters.contains('@') || address.matches('@').count() > 1
}

/// Splits the part of a URL after its scheme into the address and the parameters.
fn parts(rest: &str) -> (&str, &str) {
    rest.split_once(['?', '#']).unwrap_or((rest, ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_shown_without_its_password() {
        for (db, is_url, text) in [
            ("jobs.db", false, "jobs.db"),
            ("/var/lib/postgres:/a.db", false, "/var/lib/postgres:/a.db"),
            ("postgres://u:p%40@host:5432/jobs?sslmode=require", true, "postgres://host:5432/jobs"),
            ("POSTGRES://u:p@host/jobs", true, "POSTGRES://host/jobs"),
            ("postgres://u:p@q@host/jobs", true, "postgres://…"),
            ("postgres://u:p#q@host/jobs", true, "postgres://…"),
            ("postgres://u@host/jobs?password=p@q", true, "postgres://…"),
            ("postgresql:///jobs?password=p", true, "postgresql:///jobs"),
        ] {
            assert_eq!((is_server(Path::new(db)), shown(Path::new(db)).as_str()), (is_url, text));
        }
    }
}
