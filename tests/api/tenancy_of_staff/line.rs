//! What a line of the matrix says: the route, what it asks of a caller, and how a request to it is made.

use serde_json::Value;

use crate::support::{Answer, App, Client, Hiring};

const JSON: &str = "application/json";

/// What a route asks of a caller, besides the scope that the table has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// To be a platform admin; scopes do not count.
    Admin,
    /// To see the organization: any member.
    Reads,
    /// To manage it: every member but a plain one.
    Manages,
    /// To answer for its personal data: its owners and admins.
    Erases,
    /// Nothing: everybody is shown what is theirs.
    Lists,
}

impl Kind {
    /// Who may.
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

    /// Who sees the organization and may not all the same.
    pub(crate) fn forbidden(self) -> &'static [&'static str] {
        match self {
            Self::Admin | Self::Reads | Self::Lists => &[],
            Self::Manages => &["member"],
            Self::Erases => &["moderator", "hr_representative", "member"],
        }
    }
}

/// A request to a route, on ground that is prepared for it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// Its path, with the query.
    pub(crate) path: String,
    /// Its body and the type of that, where it has one.
    pub(crate) body: Option<(&'static str, Vec<u8>)>,
    /// What it is answered whoever may.
    pub(crate) granted: (u16, &'static str),
}

impl Asked {
    /// Sends it.
    pub(crate) fn send(&self, client: &Client, method: &str) -> Answer {
        match &self.body {
            Some((media_type, body)) => client.send(method, &self.path, &[("Content-Type", *media_type)], body),
            None => client.send(method, &self.path, &[], b""),
        }
    }

    /// The same with a body.
    #[expect(clippy::needless_pass_by_value, reason = "so that lines read as what they send")]
    pub(crate) fn with(self, body: Value) -> Self {
        Self { body: Some((JSON, body.to_string().into_bytes())), ..self }
    }

    /// The same with a body that is no JSON.
    pub(crate) fn with_bytes(self, media_type: &'static str, body: &[u8]) -> Self {
        Self { body: Some((media_type, body.to_owned())), ..self }
    }

    /// Whether it has a body that is no JSON.
    pub(crate) fn has_other_than_json(&self) -> bool {
        self.body.as_ref().is_some_and(|(media_type, _)| *media_type != JSON)
    }

    /// The same where whoever may is not answered 200.
    pub(crate) fn granting(self, status: u16, code: &'static str) -> Self {
        Self { granted: (status, code), ..self }
    }
}

/// A request to this path without a body, which is answered 200 whoever may.
pub(crate) fn ask(path: impl Into<String>) -> Asked {
    Asked { path: path.into(), body: None, granted: (200, "") }
}

/// A route of the table.
pub(crate) struct Line {
    /// Its method and its path, as the table has them.
    pub(crate) place: &'static str,
    /// What it asks of a caller.
    pub(crate) kind: Kind,
    /// Prepares ground that nobody has used yet, as an admin, and makes a request that whoever may is granted.
    pub(crate) ask: fn(&App, &Hiring) -> Asked,
}

/// A route for platform admins.
pub(crate) fn admin(place: &'static str, ask: fn(&App, &Hiring) -> Asked) -> Line {
    Line { place, kind: Kind::Admin, ask }
}

/// A route for everybody who sees the organization.
pub(crate) fn reads(place: &'static str, ask: fn(&App, &Hiring) -> Asked) -> Line {
    Line { place, kind: Kind::Reads, ask }
}

/// A route for everybody who manages the organization.
pub(crate) fn manages(place: &'static str, ask: fn(&App, &Hiring) -> Asked) -> Line {
    Line { place, kind: Kind::Manages, ask }
}

/// A route for whoever answers for the organization's personal data.
pub(crate) fn erases(place: &'static str, ask: fn(&App, &Hiring) -> Asked) -> Line {
    Line { place, kind: Kind::Erases, ask }
}

/// A route that shows everybody what is theirs.
pub(crate) fn lists(place: &'static str, ask: fn(&App, &Hiring) -> Asked) -> Line {
    Line { place, kind: Kind::Lists, ask }
}
