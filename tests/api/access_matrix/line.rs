//! A line of the access matrix: a route, the access that it requires, and how to make a request to it.

use serde_json::Value;

use crate::support::{Answer, App, Client, Hiring};

const JSON: &str = "application/json";

/// The access that a route requires in addition to the scope in the route table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The platform role `admin`.
    Admin,
    /// Read access to the organization: any member, and platform admins.
    Reads,
    /// Managing the organization: any member with an organization role other than `member`, and platform admins.
    Manages,
    /// Responsibility for personal data: owners and admins of the organization, and platform admins.
    Erases,
    /// Nothing more: the answer contains only the items that the caller may see.
    Lists,
}

impl Kind {
    /// Returns the names of the callers with access.
    pub(crate) fn admitted(self) -> &'static [&'static str] {
        match self {
            Self::Admin => &["platform admin"],
            Self::Reads | Self::Lists => {
                &["platform admin", "owner", "admin", "moderator", "hr_representative", "member"]
            }
            Self::Manages => &["platform admin", "owner", "admin", "moderator", "hr_representative"],
            Self::Erases => &["platform admin", "owner", "admin"],
        }
    }

    /// Returns the organization roles that do not suffice for a route of this kind.
    pub(crate) fn forbidden(self) -> &'static [&'static str] {
        match self {
            Self::Admin | Self::Reads | Self::Lists => &[],
            Self::Manages => &["member"],
            Self::Erases => &["moderator", "hr_representative", "member"],
        }
    }
}

/// A request to a route, prepared for one organization.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    /// The path with its query.
    pub(crate) path: String,
    /// The media type and bytes of the body, if it has one.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    /// The answer for callers with access.
    pub(crate) granted: (u16, &'static str),
}

impl Request {
    pub(crate) fn send(&self, client: &Client, method: &str) -> Answer {
        match &self.body {
            Some((media_type, body)) => client.send(method, &self.path, &[("Content-Type", *media_type)], body),
            None => client.send(method, &self.path, &[], b""),
        }
    }

    /// Returns the request with a JSON body.
    #[expect(clippy::needless_pass_by_value, reason = "a line can pass a temporary value")]
    pub(crate) fn with(self, body: Value) -> Self {
        Self { body: Some((JSON, body.to_string().into_bytes())), ..self }
    }

    /// Returns the request with a body other than JSON.
    pub(crate) fn with_bytes(self, media_type: &'static str, body: &[u8]) -> Self {
        Self { body: Some((media_type, body.to_owned())), ..self }
    }

    /// Returns whether the body is something other than JSON.
    pub(crate) fn has_non_json_body(&self) -> bool {
        self.body.as_ref().is_some_and(|(media_type, _)| *media_type != JSON)
    }

    /// Returns the request with another expected answer for callers with access.
    pub(crate) fn granting(self, status: u16, code: &'static str) -> Self {
        Self { granted: (status, code), ..self }
    }
}

/// Returns a request to this path without a body, with the expected answer 200.
pub(crate) fn request_to(path: impl Into<String>) -> Request {
    Request { path: path.into(), body: None, granted: (200, "") }
}

/// One route of the table.
pub(crate) struct Line {
    /// The route's method and path, as in the table.
    pub(crate) route_name: &'static str,
    pub(crate) kind: Kind,
    /// Prepares the given organization, acting as a platform admin, and returns a request that callers with access may
    /// make.
    pub(crate) request: fn(&App, &Hiring) -> Request,
}

/// Returns the line of a route for platform admins.
pub(crate) fn admin(route_name: &'static str, request: fn(&App, &Hiring) -> Request) -> Line {
    Line { route_name, kind: Kind::Admin, request }
}

/// Returns the line of a route for every member of the organization.
pub(crate) fn reads(route_name: &'static str, request: fn(&App, &Hiring) -> Request) -> Line {
    Line { route_name, kind: Kind::Reads, request }
}

/// Returns the line of a route for members who manage the organization.
pub(crate) fn manages(route_name: &'static str, request: fn(&App, &Hiring) -> Request) -> Line {
    Line { route_name, kind: Kind::Manages, request }
}

/// Returns the line of a route for members who are responsible for the organization's personal data.
pub(crate) fn erases(route_name: &'static str, request: fn(&App, &Hiring) -> Request) -> Line {
    Line { route_name, kind: Kind::Erases, request }
}

/// Returns the line of a route that shows each caller only the items that the caller may see.
pub(crate) fn lists(route_name: &'static str, request: fn(&App, &Hiring) -> Request) -> Line {
    Line { route_name, kind: Kind::Lists, request }
}
