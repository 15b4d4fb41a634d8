//! The text of the settings file that `appliance init` writes.

use std::path::Path;

use super::answers::{Answers, TlsAnswer};
use crate::cli::failure::Failure;
use crate::cli::tls_args::port;

/// Browsers reach a service on this port without a port in the URL, so plain HTTP on port 80 can redirect to it.
const HTTPS_PORT: u16 = 443;

/// # Errors
/// Fails if a path is not UTF-8, because a settings file cannot contain it.
pub(super) fn settings_text(answers: &Answers) -> Result<String, Failure> {
    let mut text = "# The settings of the recruiting service, written by `appliance init`.\n\
                    # `appliance settings` shows all options, and `appliance help serve` describes them.\n\n"
        .to_owned();
    let mut line = |name: &str, value: &str| text.push_str(&format!("{name} = {value}\n"));
    line("db", &path(&answers.db)?);
    line("base-url", &quoted(&answers.base_url));
    match &answers.tls {
        TlsAnswer::Plain => line("listen", &quoted(&format!("127.0.0.1:{}", port(&answers.base_url)))),
        TlsAnswer::Proxy => {
            line("listen", "\"127.0.0.1:8080\"");
            line("trusted-proxy", "[\"127.0.0.1/32\", \"::1/128\"]");
        }
        TlsAnswer::Files(files) => {
            let port = port(&answers.base_url);
            line("listen", &quoted(&format!("0.0.0.0:{port}")));
            if port == HTTPS_PORT {
                line("redirect-from", "\"0.0.0.0:80\"");
            }
            line("tls-cert", &path(&files.certificate)?);
            line("tls-key", &path(&files.key)?);
        }
        TlsAnswer::Acme(acme) => {
            line("listen", &quoted(&format!("0.0.0.0:{}", port(&answers.base_url))));
            // The authority checks the name on this port.
            line("redirect-from", "\"0.0.0.0:80\"");
            line("acme-domain", &quoted(acme.domain.as_str()));
            line("acme-contact", &quoted(acme.contact.as_str()));
            if let Some(directory) = &acme.directory {
                line("acme-directory", &quoted(directory));
            }
            if let Some(ca_file) = &acme.ca_file {
                line("acme-ca-file", &path(ca_file)?);
            }
        }
    }
    if let Some(backups) = &answers.backups {
        line("backup-dir", &path(&backups.directory)?);
        line("backup-every", &quoted(&backups.every));
        line("backup-keep", &quoted(&backups.keep));
    }
    Ok(text)
}

fn path(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().ok_or_else(|| Failure::new(format!("the path {} is not UTF-8", path.display())))?;
    Ok(quoted(text))
}

/// Returns the text as a TOML basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn a_quoted_string_parses_to_the_same_text() {
        for text in ["", "a", "a \"b\" \\c", "tab\tnewline\n\u{1b}\u{7f}\u{85}", "ü€🦀", "'''", "#"] {
            let document = format!("a = {}\n", quoted(text));
            let table = toml::de::DeTable::parse(&document).expect("the document is TOML");
            let value = table.get_ref().get("a").expect("the option is there");
            assert_eq!(value.get_ref().as_str(), Some(text), "{document}");
        }
    }
}
