//! The default icon, and the stylesheet of all pages except those of the console and the API reference. Each URL
//! contains a digest of the file's content, so browsers may cache the files forever.

use std::sync::LazyLock;

use hyper::Method;
use sha2::{Digest, Sha256};

use crate::domain::id;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;

/// The stylesheet as written, with its comments.
pub(super) const STYLE: &str = include_str!("templates/page.css");

const STYLE_PATH: &str = "/assets/page.css";

static STYLE_MINIFIED: LazyLock<String> = LazyLock::new(|| minify(STYLE));
static STYLE_URL: LazyLock<String> = LazyLock::new(|| versioned_url(STYLE_PATH, &STYLE_MINIFIED));

/// The icon of pages that do not show an organization's logo as their icon. Without this icon, browsers would request
/// `/favicon.ico`, which does not exist.
const ICON: &str = include_str!("templates/icon.svg");

const ICON_PATH: &str = "/assets/icon.svg";

static ICON_URL: LazyLock<String> = LazyLock::new(|| versioned_url(ICON_PATH, ICON));

pub(in crate::http) fn routes() -> Vec<Route> {
    let asset = |path, reply: fn() -> Reply| {
        let route = Route::plain(Audience::Api, Method::GET, path, move |_| reply());
        route.cached_in(CachePool::Pages).answering(&[(200, ""), (304, "")])
    };
    vec![asset(STYLE_PATH, style), asset(ICON_PATH, icon)]
}

/// `GET /assets/page.css`: returns the minified stylesheet.
fn style() -> Reply {
    Reply::asset("text/css; charset=utf-8", STYLE_MINIFIED.as_str()).valid_forever()
}

/// `GET /assets/icon.svg`: returns the icon.
fn icon() -> Reply {
    Reply::asset("image/svg+xml", ICON).valid_forever()
}

pub(super) fn style_url() -> &'static str {
    &STYLE_URL
}

pub(super) fn icon_url() -> &'static str {
    &ICON_URL
}

pub(super) fn versioned_url(path: &str, content: &str) -> String {
    format!("{path}?v={}", id::token(&Sha256::digest(content.as_bytes())[..6]))
}

/// Removes comments, empty lines and indentation.
pub(super) fn minify(style: &str) -> String {
    let mut minified = String::with_capacity(style.len());
    let mut rest = style;
    while let Some((before, after)) = rest.split_once("/*") {
        minified.push_str(before);
        rest = after.split_once("*/").map_or("", |(_, after)| after);
    }
    minified.push_str(rest);
    let lines: Vec<&str> = minified.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minifying_removes_comments_empty_lines_and_indentation() {
        assert_eq!(minify("/* a */\n\n  b { }\n/* c\n*/ d { }\n"), "b { }\nd { }");
        assert!(STYLE_MINIFIED.len() < STYLE.len() && !STYLE_MINIFIED.contains("/*"));
    }

    #[test]
    fn the_stylesheet_loads_no_other_file() {
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
