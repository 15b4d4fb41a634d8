//! The HTTP layer: requests from the network and their responses.
//!
//! `server` routes each request to its handler and does not depend on any endpoint. `api` has the JSON endpoints, and
//! `pages` has the HTML for people. Both have a file or folder for each noun. Only `routes` lists the routes of all
//! nouns.
//!
//! A request passes through `server::accept`, `server::table` (path and method to a route), `server::gate` (credential,
//! rate limit, scope, body, one transaction, usage row), the noun's `decode` and `act`, and `server::reply`. Async code
//! stays in the server: `decode` and `act` are plain functions. This layer contains no SQL and no rules.

pub mod api;
mod pages;
pub mod routes;
pub mod server;

pub use api::security_txt::parse_contact as security_contact;
pub use server::accept::{Server, Stopped};
pub use server::acme::folder::AcmeFolder;
pub use server::acme::follow::{Acme, follow as follow_orders};
pub use server::acme::settings::AcmeSettings;
pub use server::side_listener::{serve_metrics, serve_redirects};
pub use server::tls::certificate::Tls;
pub use server::tls::files::TlsFiles;
pub use server::tls::follow::follow as follow_certificate;

/// Returns the origin of a base URL, such as `https://host:port`, in lower case and without the default port of the
/// scheme. Returns `None` unless the base URL is an http(s) URL with a host and without userinfo, a query, a fragment
/// or a path other than `/`. Such a path is refused, because pages link to each other by paths that begin at the
/// origin.
pub fn origin(base_url: &str) -> Option<String> {
    let uri: hyper::Uri = base_url.parse().ok()?;
    let scheme = uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https"))?;
    let authority = uri.authority()?.as_str();
    let is_origin_only = matches!(uri.path(), "" | "/") && uri.query().is_none() && !base_url.contains('#');
    // Browsers omit the default port of a scheme from the origin.
    let default_port = if scheme == "https" { ":443" } else { ":80" };
    let authority = authority.strip_suffix(default_port).unwrap_or(authority);
    (is_origin_only && !authority.contains('@')).then(|| format!("{scheme}://{authority}").to_ascii_lowercase())
}

/// Returns the scheme and the host of an absolute URL, or `None` if the text is not one.
pub fn url_parts(url: &str) -> Option<(String, String)> {
    let uri: hyper::Uri = url.parse().ok()?;
    Some((uri.scheme_str()?.to_owned(), uri.host()?.to_owned()))
}

/// Returns the host of a base URL, with the brackets of an IPv6 address.
pub fn host(base_url: &str) -> Option<String> {
    base_url.parse::<hyper::Uri>().ok()?.host().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::{host, origin};

    #[test]
    fn the_host_of_a_base_url_has_no_port() {
        assert_eq!(host("https://jobs.example.com:8443").as_deref(), Some("jobs.example.com"));
        assert_eq!(host("https://[::1]:8443").as_deref(), Some("[::1]"));
        assert_eq!(host("/x"), None);
    }

    #[test]
    fn base_urls_are_http_origins_without_credentials_or_path() {
        assert_eq!(origin("https://Jobs.example.com").as_deref(), Some("https://jobs.example.com"));
        assert_eq!(origin("http://127.0.0.1:8080/").as_deref(), Some("http://127.0.0.1:8080"));
        assert_eq!(origin("https://jobs.example.com:443").as_deref(), Some("https://jobs.example.com"));
        assert_eq!(origin("http://[::1]:80").as_deref(), Some("http://[::1]"));
        assert_eq!(origin("http://jobs.example.com:443").as_deref(), Some("http://jobs.example.com:443"));
        for bad in ["", "jobs.example.com", "ftp://a", "/x", "http://", "http://u:p@a", "http://a/?q", "http://a/#f"] {
            assert_eq!(origin(bad), None, "{bad}");
        }
        for bad in ["http://a/x", "http://a/x/", "http://a//", "http://a?", "http://a#"] {
            assert_eq!(origin(bad), None, "{bad}");
        }
    }
}
