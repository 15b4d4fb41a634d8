//! The latency of most lists, searches and boards, on a big file and on a file with a hundredth of its data.
//!
//! One organization has half of the candidates of each file. Both sides return the same number of rows, so the bench
//! compares the times that they take to find these rows. If the small file has few rows of a kind, the request has a
//! small `limit`. Both services run at the same time, and their rounds alternate.

use std::sync::Arc;

use super::Setup;
use super::crowd::{self, DEPARTMENTS, FIRST_NAME, GROWING_ROLE, SAME_ROLE, SURNAME};
use super::data::{self, ADMIN, Size, WATCHED};
use super::growth::Side;
use super::measurement::Measurement;
use super::report::Part;
use crate::company;
use crate::exchange::get;
use crate::line::alternate;
use crate::load::Course;

/// The target: the maximum ratio of the latency on the big file to that on the small file.
const TARGET: f64 = 1.5;

/// There is one connection, so that requests do not wait for each other.
const CONNECTIONS: usize = 1;

/// A request, and the maximum ratio of its latencies.
struct Question {
    name: &'static str,
    path: fn(&Size) -> String,
    at_most: Option<f64>,
}

/// Returns a question whose answer has the same number of rows on both files.
const fn list(name: &'static str, path: fn(&Size) -> String) -> Question {
    Question { name, path, at_most: Some(TARGET) }
}

/// Returns a question about a role that has a hundred times as many applications in the big file. The service must
/// count the applications, so the ratio has no target.
const fn counting(name: &'static str, path: fn(&Size) -> String) -> Question {
    Question { name, path, at_most: None }
}

const QUESTIONS: &[Question] = &[
    list("organizations, for an admin", |_| "/api/admin/organizations?limit=2".to_owned()),
    list("organizations, for staff", |_| "/api/v1/organizations?limit=2".to_owned()),
    list("users", |_| "/api/admin/users".to_owned()),
    list("a user by address", |_| "/api/admin/users?email=member7@staff.example".to_owned()),
    list("API keys, all 1,002", |_| "/api/admin/api-keys".to_owned()),
    list("usage of a key, the first page", |_| format!("/api/admin/api-keys/{}/usage", data::key_id(WATCHED))),
    list("usage of a key, a page in the middle", |size| {
        format!("/api/admin/api-keys/{}/usage?before={}", data::key_id(WATCHED), size.before(0.5))
    }),
    list("memberships", |size| {
        format!("/api/admin/organizations/{}/memberships", company::organization_id(size.large()))
    }),
    list("roles", |size| roles(size, "")),
    list("roles by status", |size| roles(size, "?status=open")),
    list("roles by department", |size| roles(size, &format!("?department={}&limit=5", DEPARTMENTS[3]))),
    list("roles by a part of their name", |size| roles(size, "?q=water")),
    list("candidates", |size| candidates(size, "")),
    list("candidates by a whole word", |size| candidates(size, &format!("?q={SURNAME}"))),
    list("candidates by the beginning of a word", |size| candidates(size, &format!("?q={}", &SURNAME[..4]))),
    list("candidates by two words", |size| candidates(size, &format!("?q={FIRST_NAME}+{SURNAME}&limit=2"))),
    list("candidates by a word without matches", |size| candidates(size, "?q=zzyzx")),
    list("candidates by address", |size| candidates(size, &format!("?email={}", crowd::last_email(size)))),
    list("candidates by role", |size| candidates(size, &format!("?roleId={}", role(size, SAME_ROLE)))),
    list("candidates by status", |size| candidates(size, "?status=In%20Progress")),
    list("candidates by role and status", |size| {
        candidates(size, &format!("?roleId={}&status=Withdrawn", role(size, SAME_ROLE)))
    }),
    list("one candidate", |size| format!("/api/v1/candidates/{}", crowd::candidate_of_same(size))),
    list("board of 1,000 applications", |size| of_role(size, SAME_ROLE, "board")),
    list("one step's page of that board", |size| page(size, SAME_ROLE, 20)),
    list("one page of a step with a hundred times as many applications", |size| page(size, GROWING_ROLE, 10)),
    counting("board of a hundred times as many applications", |size| of_role(size, GROWING_ROLE, "board?limit=10")),
    list("report of 1,000 applications", |size| of_role(size, SAME_ROLE, "report")),
    counting("report of a hundred times as many applications", |size| of_role(size, GROWING_ROLE, "report")),
    list("status of the organization", |size| of_organization(size, "status")),
    list("activity of the organization", |size| of_organization(size, "activity")),
    list("activity of the organization by action", |size| of_organization(size, "activity?action=role.created")),
    list("activity of a role", |size| of_role(size, SAME_ROLE, "activity")),
    list("activity of a candidate", |size| format!("/api/v1/candidates/{}/activity", crowd::candidate_of_same(size))),
];

/// Measures all questions in alternating rounds of both sides. The first side is the smaller one.
pub(crate) fn measure(setup: &Setup, sides: &mut [Side; 2], part: &mut Part<'_>) {
    for question in QUESTIONS {
        part.add([compare(setup, sides, question)]);
    }
}

fn compare(setup: &Setup, sides: &mut [Side; 2], question: &Question) -> Measurement {
    eprintln!("measuring on both files: {}", question.name);
    let admin = data::secret(ADMIN);
    let requests = sides.each_ref().map(|side| Arc::new(vec![get(&(question.path)(side.size), Some(admin.reveal()))]));
    let bytes = [0, 1].map(|nth: usize| sides[nth].server.ask_with_key(&requests[nth][0]).body.len());
    let course = Course::For(setup.lengths.list);
    let round =
        |sides: &mut [Side; 2], nth: usize| sides[nth].server.round_with_keys(CONNECTIONS, &requests[nth], &course);
    let (small, big) = alternate(sides, setup.lengths.rounds, |sides| round(sides, 0), |sides| round(sides, 1));
    let name = format!("{} ({} and {} bytes)", question.name, bytes[0], bytes[1]);
    let measurement = Measurement::latency(name, &small, &big);
    match question.at_most {
        Some(most) => measurement.target_at_most(most),
        None => measurement,
    }
}

fn role(size: &Size, role: usize) -> String {
    data::role_id(size.large(), role)
}

fn roles(size: &Size, query: &str) -> String {
    of_organization(size, &format!("roles{query}"))
}

fn candidates(size: &Size, query: &str) -> String {
    of_organization(size, &format!("candidates{query}"))
}

fn of_organization(size: &Size, subresource: &str) -> String {
    format!("/api/v1/organizations/{}/{subresource}", company::organization_id(size.large()))
}

fn of_role(size: &Size, nth: usize, subresource: &str) -> String {
    format!("/api/v1/roles/{}/{subresource}", role(size, nth))
}

/// Returns the path of a page of the applications at the second step of a role.
fn page(size: &Size, nth: usize, rows: usize) -> String {
    of_role(size, nth, &format!("board?stepId={}&limit={rows}", crowd::step_id(nth, 2)))
}
