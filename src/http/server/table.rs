//! The route table: every endpoint as data. The server uses the table to find routes, and to answer 404 and 405. The
//! tests use it as their list of endpoints.

use std::collections::BTreeMap;

use hyper::Method;

use super::reply::page::ProblemPage;
use super::request;
use super::resource::Audience;
use super::route::{Answer, Route};
use crate::domain::refusal::Refusal;

/// The refusals and failures that any route can answer with. They occur before a route is found, or can occur in any
/// handler.
pub const ANYWHERE: &[Answer] = &[
    (400, "bad_request"),
    (414, "uri_too_long"),
    (431, "headers_too_large"),
    (500, "internal_error"),
    (503, "unavailable"),
];

/// The answers if no route matches.
pub const UNROUTED: &[Answer] = &[(404, "not_found"), (405, "method_not_allowed")];

/// A path prefix and the audience of paths below it that match no route. The audience decides, for example, that a
/// person with a truncated link gets a page, or that a script from another origin may read the error.
pub type Area = (&'static str, Audience);

/// Every route of a service.
pub struct Table {
    routes: Vec<Route>,
    paths: matchit::Router<Vec<usize>>,
    areas: &'static [Area],
    problem_page: ProblemPage,
}

/// The result of looking up a method and a path.
pub(super) enum RouteMatch<'a> {
    /// A route, and its parameters or a `not_found` if one of them is not UTF-8. The audience of the route determines
    /// whether that refusal is a page.
    Route(&'a Route, Result<Vec<(String, String)>, Refusal>),
    /// A CORS preflight, with the path of the route and the methods of that path.
    Preflight(&'static str, String),
}

impl Table {
    /// Creates a table of these routes. `problem_page` renders failures for people.
    pub(in crate::http) fn new(routes: Vec<Route>, areas: &'static [Area], problem_page: ProblemPage) -> Self {
        let routes: Vec<Route> = routes.into_iter().map(Route::completed).collect();
        let mut by_path = BTreeMap::<&str, Vec<usize>>::new();
        for (index, route) in routes.iter().enumerate() {
            by_path.entry(route.path).or_default().push(index);
        }
        let mut paths = matchit::Router::new();
        for (path, indexes) in by_path {
            paths.insert(path, indexes).expect("no two path templates in the table conflict");
        }
        Self { routes, paths, areas, problem_page }
    }

    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Returns the audience of the page at this raw path, regardless of the method, or [`Audience::Api`] if no route at
    /// the path is a page. For a path without a route, returns the audience of its area.
    pub(super) fn audience_at(&self, path: &str) -> Audience {
        match self.paths.at(path) {
            Ok(matched) => {
                let page = matched.value.iter().map(|index| &self.routes[*index]).find(|route| route.is_page());
                page.map_or(Audience::Api, |route| route.audience)
            }
            Err(_) => self.area(path),
        }
    }

    /// Returns the audience of the area that a raw path lies in.
    pub(in crate::http) fn area(&self, path: &str) -> Audience {
        let is_within = |below: &str| {
            path.strip_prefix(below)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || below.ends_with('/'))
        };
        let area = self.areas.iter().find(|(below, _)| is_within(below));
        area.map_or(Audience::Api, |(_, audience)| *audience)
    }

    /// Returns the function that renders failures if this audience gets them as pages.
    pub(super) fn problem_page_of(&self, audience: Audience) -> Option<ProblemPage> {
        matches!(audience, Audience::Page | Audience::Staff).then_some(self.problem_page)
    }

    /// Finds the route for a method and a raw path.
    ///
    /// # Errors
    /// `not_found` for an unknown path; `method_not_allowed` for a method that a known path does not accept.
    pub(super) fn find(&self, method: &Method, path: &str) -> Result<RouteMatch<'_>, Refusal> {
        const NO_SUCH_PATH: Refusal = Refusal::NotFound("there is nothing at this path");
        let matched = self.paths.at(path).map_err(|_| NO_SUCH_PATH)?;
        let routes = || matched.value.iter().map(|index| &self.routes[*index]);
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        if let Some(route) = routes().find(|route| route.method == wanted) {
            let params = matched.params.iter();
            let params = params.map(|(name, raw)| Ok((name.to_owned(), request::decode_param(raw)?))).collect();
            return Ok(RouteMatch::Route(route, params));
        }
        let preflight = routes().find(|route| route.cors()).filter(|_| method == Method::OPTIONS);
        let allowed = allowed(routes());
        match preflight {
            Some(route) => Ok(RouteMatch::Preflight(route.path, allowed)),
            None => Err(Refusal::MethodNotAllowed(allowed)),
        }
    }
}

/// Returns the methods of a path in the form of an `Allow` field.
fn allowed<'a>(routes: impl Iterator<Item = &'a Route>) -> String {
    let mut methods = Vec::new();
    let mut cors = false;
    for route in routes {
        methods.push(route.method.as_str());
        if route.method == Method::GET {
            methods.push("HEAD");
        }
        cors |= route.cors();
    }
    if cors {
        methods.push("OPTIONS");
    }
    methods.join(", ")
}
