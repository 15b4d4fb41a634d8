//! The stylesheet and the script of the console. Each URL contains a digest of the file's content, so browsers may
//! cache the files forever.

use std::sync::LazyLock;

use hyper::Method;

use crate::http::pages::asset::{minify, versioned_url};
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;

const STYLE_PATH: &str = "/assets/console.css";
const SCRIPT_PATH: &str = "/assets/console.js";

/// The modules, each after the modules that it uses. The exception is `swap.js`, which uses `focus.js`. All modules are
/// joined into one script, so that a page loads one file.
const MODULES: &[&str] = &[
    include_str!("../templates/console/swap.js"),
    include_str!("../templates/console/keys.js"),
    include_str!("../templates/console/draft.js"),
    include_str!("../templates/console/drag.js"),
    include_str!("../templates/console/board.js"),
    include_str!("../templates/console/steps.js"),
    include_str!("../templates/console/queue.js"),
    include_str!("../templates/console/live.js"),
    include_str!("../templates/console/copy.js"),
    include_str!("../templates/console/passkey.js"),
    // This module is last, because it sets the focus after a swap only if no other module has set it.
    include_str!("../templates/console/focus.js"),
];

static STYLE: LazyLock<String> = LazyLock::new(|| minify(include_str!("../templates/console/console.css")));
static SCRIPT: LazyLock<String> = LazyLock::new(|| MODULES.join("\n"));
static STYLE_URL: LazyLock<String> = LazyLock::new(|| versioned_url(STYLE_PATH, &STYLE));
static SCRIPT_URL: LazyLock<String> = LazyLock::new(|| versioned_url(SCRIPT_PATH, &SCRIPT));

pub(super) fn routes() -> Vec<Route> {
    let asset = |path, reply: fn() -> Reply| {
        let route = Route::plain(Audience::Staff, Method::GET, path, move |_| reply());
        route.cached_in(CachePool::Pages).answering(&[(200, ""), (304, "")])
    };
    vec![asset(STYLE_PATH, style), asset(SCRIPT_PATH, script)]
}

/// `GET /assets/console.css`: returns the minified stylesheet.
fn style() -> Reply {
    Reply::asset("text/css; charset=utf-8", STYLE.as_str()).valid_forever()
}

/// `GET /assets/console.js`: returns the script.
fn script() -> Reply {
    Reply::asset("text/javascript; charset=utf-8", SCRIPT.as_str()).valid_forever()
}

pub(super) fn style_url() -> &'static str {
    &STYLE_URL
}

pub(super) fn script_url() -> &'static str {
    &SCRIPT_URL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_and_the_style_stay_small() {
        assert!(SCRIPT.len() <= 40_000, "{}", SCRIPT.len());
        assert!(STYLE.len() <= 30_000, "{}", STYLE.len());
        assert!(!STYLE.contains("url(") && !STYLE.contains("@import"));
    }
}
