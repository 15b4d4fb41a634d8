//! `--base-url` of commands that print links.

use super::value::parse_base_url;

/// The flag for the URL at the beginning of the link that a command prints.
#[derive(Debug, clap::Args)]
pub(super) struct BaseUrlArg {
    /// The public URL of the service, the same as for `serve`. The printed link begins with this URL.
    #[arg(long, env = "APPLIANCE_BASE_URL", value_name = "URL", default_value = "http://127.0.0.1:8080", value_parser = parse_base_url)]
    base_url: String,
}

impl BaseUrlArg {
    /// Returns the URL of a sign-in link.
    pub(super) fn join_url(&self, token: &str) -> String {
        join_url(&self.base_url, token)
    }
}

/// Returns the URL of a sign-in link.
pub(super) fn join_url(base_url: &str, token: &str) -> String {
    format!("{base_url}/join/{token}")
}
