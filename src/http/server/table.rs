//! The table of routes: every endpoint as data, from which routing, 404 and 405, access and the tests' inventory come.

use std::collections::BTreeMap;

use hyper::Method;

use super::reply::html::ProblemPage;
use super::request;
use super::resource::Audience;
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

/// The paths that begin so, and whom they serve where no route answers: a person with a link that was cut off gets a page, and
/// a page of another origin may read its error.
pub type Area = (&'static str, Audience);

/// Every route there is.
pub struct Table {
    routes: Vec<Route>,
    paths: matchit::Router<Vec<usize>>,
    areas: &'static [Area],
    problem_page: ProblemPage,
}

/// Where a method and a path lead.
pub(in crate::http) enum RouteMatch<'a> {
    /// To a route, with its parameters, or the `not_found` for one that is no text: the route says whether it is told
    /// as a page.
    Route(&'a Route, Result<Vec<(String, String)>, Refusal>),
    /// To what a page of another origin may do here (a CORS preflight): the route's path, and the methods.
    Preflight(&'static str, String),
}

impl Table {
    /// These routes; the audience of paths that no route has; and what renders failures for people.
    pub(in crate::http) fn new(routes: Vec<Route>, areas: &'static [Area], problem_page: ProblemPage) -> Self {
        let routes: Vec<Route> = routes.into_iter().map(Route::completed).collect();
        let mut by_path = BTreeMap::<&str, Vec<usize>>::new();
        for (index, route) in routes.iter().enumerate() {
            by_path.entry(route.path).or_default().push(index);
        }
        let mut paths = matchit::Router::new();
        for (path, indexes) in by_path {
            paths.insert(path, indexes).expect("no two templates of the table clash");
        }
        Self { routes, paths, areas, problem_page }
    }

    /// The routes, for whoever takes stock of them.
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Whom a raw path serves, whatever the method.
    pub(in crate::http) fn audience_at(&self, path: &str) -> Audience {
        match self.paths.at(path) {
            Ok(matched) if matched.value.iter().any(|index| self.routes[*index].is_page()) => Audience::Page,
            Ok(_) => Audience::Api,
            Err(_) => self.area(path),
        }
    }

    /// Whom the area of a raw path serves.
    pub(in crate::http) fn area(&self, path: &str) -> Audience {
        let is_within = |below: &str| {
            path.strip_prefix(below)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || below.ends_with('/'))
        };
        let area = self.areas.iter().find(|(below, _)| is_within(below));
        area.map_or(Audience::Api, |(_, audience)| *audience)
    }

    /// What renders failures for this audience.
    pub(in crate::http) fn problem_page_of(&self, audience: Audience) -> Option<ProblemPage> {
        (audience == Audience::Page).then_some(self.problem_page)
    }

    /// Where a method and a raw path lead.
    ///
    /// # Errors
    /// `not_found` for an unknown path, `method_not_allowed` for a method that a known one does not take.
    pub(in crate::http) fn find(&self, method: &Method, path: &str) -> Result<RouteMatch<'_>, Refusal> {
        const NOTHING: Refusal = Refusal::NotFound("there is nothing at this path");
        let matched = self.paths.at(path).map_err(|_| NOTHING)?;
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

/// The methods of a path, as an `Allow` field lists them.
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
