//! The table of routes: every endpoint as data, from which routing, 404 and 405, access and the tests' inventory come.

use std::collections::BTreeMap;

use hyper::Method;

use super::request;
use super::route::{Answer, Route};
use crate::domain::refusal::Refusal;

/// What any route can answer with: the head is refused before a route is looked for, and what fails can fail anywhere.
pub const ANYWHERE: &[Answer] = &[
    (400, "bad_request"),
    (414, "uri_too_long"),
    (431, "headers_too_large"),
    (500, "internal_error"),
    (503, "unavailable"),
];

/// What is answered where there is no route.
pub const UNROUTED: &[Answer] = &[(404, "not_found"), (405, "method_not_allowed")];

/// Whether a path is open to pages of other origins, errors included (WHATWG Fetch §3.3).
pub(in crate::http) fn is_public(path: &str) -> bool {
    path.starts_with("/api/public/")
}

/// Every route there is.
pub struct Table {
    routes: Vec<Route>,
    paths: matchit::Router<Vec<usize>>,
}

/// Where a method and a path lead.
pub(in crate::http) enum Found<'a> {
    /// To a route, with its parameters, or the `not_found` for one that is no text: the route says whether it is told
    /// as a page.
    Route(&'a Route, Result<Vec<(String, String)>, Refusal>),
    /// To what a page of another origin may do here (a CORS preflight): the route's path, and the methods.
    Preflight(&'static str, String),
}

impl Table {
    /// The routes of this program.
    pub fn new() -> Self {
        Self::of(crate::http::routes::all())
    }

    /// These routes.
    pub(in crate::http) fn of(routes: Vec<Route>) -> Self {
        let routes: Vec<Route> = routes.into_iter().map(Route::completed).collect();
        let mut by_path = BTreeMap::<&str, Vec<usize>>::new();
        for (index, route) in routes.iter().enumerate() {
            by_path.entry(route.path).or_default().push(index);
        }
        let mut paths = matchit::Router::new();
        for (path, indexes) in by_path {
            paths.insert(path, indexes).expect("no two templates of the table clash");
        }
        Self { routes, paths }
    }

    /// The routes, for whoever takes stock of them.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Whether a raw path is one for people, whatever the method; or looks so like one that whoever comes there is a person
    /// with a link that was cut off.
    pub(in crate::http) fn is_page(&self, path: &str) -> bool {
        let is_below = |of: &str| path.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        match self.paths.at(path) {
            Ok(matched) => matched.value.iter().any(|index| self.routes[*index].page),
            Err(_) => ["/careers", "/signup", "/status"].into_iter().any(is_below),
        }
    }

    /// Where a method and a raw path lead.
    ///
    /// # Errors
    /// `not_found` for an unknown path, `method_not_allowed` for a method that a known one does not take.
    pub(in crate::http) fn find(&self, method: &Method, path: &str) -> Result<Found<'_>, Refusal> {
        const NOTHING: Refusal = Refusal::NotFound("there is nothing at this path");
        let matched = self.paths.at(path).map_err(|_| NOTHING)?;
        let routes = || matched.value.iter().map(|index| &self.routes[*index]);
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        if let Some(route) = routes().find(|route| route.method == wanted) {
            let params = matched.params.iter();
            let params = params.map(|(name, raw)| Ok((name.to_owned(), request::decode_param(raw)?))).collect();
            return Ok(Found::Route(route, params));
        }
        let preflight = routes().find(|route| route.cors).filter(|_| method == Method::OPTIONS);
        let allowed = allowed(routes());
        match preflight {
            Some(route) => Ok(Found::Preflight(route.path, allowed)),
            None => Err(Refusal::MethodNotAllowed(allowed)),
        }
    }
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

/// The methods of a path, as an `Allow` field lists them.
fn allowed<'a>(routes: impl Iterator<Item = &'a Route>) -> String {
    let mut methods = Vec::new();
    let mut cors = false;
    for route in routes {
        methods.push(route.method.as_str());
        if route.method == Method::GET {
            methods.push("HEAD");
        }
        cors |= route.cors;
    }
    if cors {
        methods.push("OPTIONS");
    }
    methods.join(", ")
}
