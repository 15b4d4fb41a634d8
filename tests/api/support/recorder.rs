//! Records the answers that the suite has seen on each route, and compares them with the route table.

use std::collections::BTreeSet;
use std::sync::{LazyLock, Mutex};

use appliance::http::server::resource::Audience;
use appliance::http::server::route::Route;
use appliance::http::server::table::{ANYWHERE, Table, UNROUTED};

/// A route's method and path, a status, and the code of an error. A page shows no code, so it matches every code of
/// its status.
type Seen = BTreeSet<(String, u16, Option<String>)>;

static SEEN: Mutex<Seen> = Mutex::new(Seen::new());
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(appliance::http::routes::table);

pub(super) const NO_ROUTE: &str = "-";

/// Records an answer.
pub(super) fn record(method: &str, path: &str, status: u16, code: Option<String>) {
    let route_name = match status {
        // These refusals belong to no route.
        405 | 414 | 431 => NO_ROUTE.to_owned(),
        _ => route_name(method, path.split('?').next().unwrap_or_default()),
    };
    SEEN.lock().unwrap().insert((route_name, status, code));
}

/// Returns the differences between the answers seen and the answers declared.
pub(crate) fn findings() -> Vec<String> {
    let seen = SEEN.lock().unwrap();
    let mut declared = BTreeSet::new();
    for route in TABLE.routes() {
        let route_name = format!("{} {}", route.method, route.path);
        declared.extend(route.answers.iter().map(|(status, code)| (route_name.clone(), *status, *code)));
        if route.cors() {
            declared.insert((format!("OPTIONS {}", route.path), 204, ""));
        }
    }
    declared.extend(UNROUTED.iter().map(|(status, code)| (NO_ROUTE.to_owned(), *status, *code)));
    let mut findings = Vec::new();
    for (route_name, status, code) in &declared {
        let is_seen = |shown: Option<&str>| seen.contains(&(route_name.clone(), *status, shown.map(str::to_owned)));
        if !is_seen(Some(code)) && !is_seen(None) {
            findings.push(format!("declared but never seen: {route_name} {status} {code}"));
        }
    }
    for (status, code) in ANYWHERE {
        if !seen.iter().any(|(_, known, shown)| known == status && shown.as_deref() == Some(code)) {
            findings.push(format!("declared but never seen anywhere: {status} {code}"));
        }
    }
    for (route_name, status, code) in seen.iter() {
        let code_matches = |known: &str| code.as_deref().is_none_or(|code| code == known);
        let here = declared.iter().any(|(known, s, c)| known == route_name && s == status && code_matches(c));
        let anywhere = ANYWHERE.iter().any(|(s, c)| s == status && code_matches(c));
        if !here && !anywhere {
            findings
                .push(format!("seen but not declared: {route_name} {status} {}", code.as_deref().unwrap_or("(page)")));
        }
    }
    findings
}

/// A route in a form in which [`route_name`] finds it quickly for each answer.
struct Template {
    /// The method and path of the route.
    name: String,
    method: &'static str,
    segments: Vec<&'static str>,
    /// The number of parameters in the path.
    parameters: usize,
    is_console: bool,
}

static TEMPLATES: LazyLock<Vec<Template>> = LazyLock::new(|| {
    let template = |route: &'static Route| Template {
        name: format!("{} {}", route.method, route.path),
        method: route.method.as_str(),
        segments: route.path.split('/').collect(),
        parameters: route.path.matches('{').count(),
        is_console: route.audience == Audience::Staff,
    };
    TABLE.routes().iter().map(template).collect()
});

/// Returns whether the route belongs to the staff console, which the description leaves out.
pub(super) fn is_console(route_name: &str) -> bool {
    TEMPLATES.iter().any(|template| template.is_console && template.name == route_name)
}

/// Returns the method and path template of the route that a request reaches, or [`NO_ROUTE`].
pub(super) fn route_name(method: &str, path: &str) -> String {
    let segments: Vec<&str> = path.split('/').collect();
    let matching: Vec<&Template> = TEMPLATES.iter().filter(|template| template.matches(&segments)).collect();
    let wanted = if method == "HEAD" { "GET" } else { method };
    // A literal segment wins over a parameter, as in the service.
    let with_method = matching.iter().filter(|template| template.method == wanted);
    match with_method.min_by_key(|template| template.parameters) {
        Some(template) => template.name.clone(),
        None if method == "OPTIONS" && !matching.is_empty() => format!("OPTIONS {}", matching[0].segments.join("/")),
        None => NO_ROUTE.to_owned(),
    }
}

impl Template {
    fn matches(&self, segments: &[&str]) -> bool {
        let segment = |(known, given): (&&str, &&str)| known == given || (known.starts_with('{') && !given.is_empty());
        self.segments.len() == segments.len() && self.segments.iter().zip(segments).all(segment)
    }
}
