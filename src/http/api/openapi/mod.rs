//! `GET /api/openapi.json` and `GET /docs`: what the service says of itself, to programs (OpenAPI 3.1) and to people.
//!
//! The document is put together once from the fragments beside this file and the table of routes (`assemble`); the page
//! is made from the document (`page`), so that neither can say what the other does not.
//!
//! To add an endpoint: give its route to the table as ever, then describe it in the fragment of its noun,
//! `<noun>.json` (a new noun needs its line in [`FRAGMENTS`]):
//!
//! ```json
//! { "tag": { "name": "Roles", "description": "Jobs that are recruited for." },
//!   "paths": { "/api/v1/organizations/{id}/roles": {
//!     "get":  { "operationId": "listRoles", "summary": "Lists roles", "description": "Newest first.",
//!               "parameters": [ { "name": "status", "in": "query", "description": "Only these.",
//!                                 "schema": { "$ref": "#/components/schemas/RoleStatus" } } ],
//!               "page": "Role" },
//!     "post": { "operationId": "createRole", "summary": "Creates a role", "description": "As a draft.",
//!               "body": "NewRole", "data": "Role" } } },
//!   "components": { "schemas": { "NewRole": { … }, "Role": { … } } } }
//! ```
//!
//! From the route come the security, the scope (also `x-scope`), the path's parameters, every error with its codes and
//! headers, the status of the success, `If-None-Match` and `ETag` where it answers 304, `Idempotency-Key` where it
//! answers 422. From the fragment come `operationId` (a verb and a noun), `summary`, `description`, the query's
//! `parameters`, and in one word each:
//!
//! - `body`: the schema of the request's object. Its members that are not `required` may be null too, which counts as
//!   not given: that is added, also to the objects in it (which are not to be those of answers), so it is said only
//!   where null means something else.
//! - one of `data` (`{ success, data }` of this schema), `list` (the same with an array of it), `page` (with
//!   `pagination` too; adds `limit` and `cursor`), `answer` (this very schema), `success` (`true`: nothing but that).
//!   Anything else is told as OpenAPI has it, in `responses`.
//! - `returns`, where the answer deserves a sentence of its own; `example`, where that of the schema does not fit.
//!
//! A schema for answers lists all its members in `required` but for those that can be absent, and is strict without
//! saying so: the tests refuse a member that is not in it. Null is `"type": ["string", "null"]`, or `anyOf` with a
//! reference. A schema that is another and more has `allOf` with that one reference. A schema for bodies says every limit. An example is composed of the members' `examples`; those that
//! `common.json` has (`Id`, `Timestamp`, `Name`, `Text`, `Email`, `Slug`) bring theirs. Each answer of the test suite
//! is held against all this.

mod assemble;
mod example;
mod page;
mod parts;
mod refusals;

use std::sync::{Arc, OnceLock};

use hyper::Method;
use serde_json::Value;

use self::parts::Operation;
use crate::http::server::authentication;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::Pool;
use crate::http::server::route::Route;

/// What all operations share.
const COMMON: &str = include_str!("common.json");

/// What each noun has of its own, in the order of the page.
const FRAGMENTS: &[&str] = &[
    include_str!("me.json"),
    include_str!("access.json"),
    include_str!("role.json"),
    include_str!("candidate.json"),
    include_str!("candidate_step.json"),
    include_str!("api_key.json"),
    include_str!("usage.json"),
    include_str!("organization.json"),
    include_str!("user.json"),
    include_str!("hr_integration.json"),
    include_str!("hr_delivery.json"),
    include_str!("board.json"),
    include_str!("activity.json"),
    include_str!("document.json"),
    include_str!("erasure.json"),
    include_str!("retention.json"),
    include_str!("portal.json"),
    include_str!("careers.json"),
    include_str!("feed.json"),
    include_str!("status_page.json"),
    include_str!("signup.json"),
    include_str!("session.json"),
    include_str!("service.json"),
];

/// Where the document is.
const DOCUMENT_PATH: &str = "/api/openapi.json";

/// Where the page is.
const PAGE_PATH: &str = "/docs";

/// What the service says of itself: made when it is first asked for, from what its routes say of themselves.
#[derive(Default)]
pub(in crate::http) struct Description {
    operations: OnceLock<Vec<Operation>>,
    replies: OnceLock<Replies>,
}

/// The two answers, as they stay while the service runs.
struct Replies {
    document: Reply,
    page: Reply,
}

pub(in crate::http) fn routes(description: &Arc<Description>) -> Vec<Route> {
    let (document, page) = (Arc::clone(description), Arc::clone(description));
    vec![
        Route::plain(Audience::Api, Method::GET, DOCUMENT_PATH, move |ctx| document.replies(ctx).document.clone())
            .cached_in(Pool::Api)
            .answering(&[(200, ""), (304, "")]),
        Route::plain(Audience::Page, Method::GET, PAGE_PATH, move |ctx| page.replies(ctx).page.clone())
            .cached_in(Pool::Pages)
            .answering(&[(200, ""), (304, "")]),
    ]
}

impl Description {
    /// Describes these routes.
    pub(in crate::http) fn describe(&self, routes: &[Route]) {
        self.operations.get_or_init(|| operations(routes));
    }

    fn replies(&self, ctx: &Ctx) -> &Replies {
        self.replies.get_or_init(|| {
            let operations = self.operations.get().map_or(&[][..], Vec::as_slice);
            let document = assemble::document(COMMON, FRAGMENTS, operations, authentication::cookie_name(ctx));
            let page = Reply::reference(page::render(&document), &page::style_hash());
            Replies { document: Reply::tagged(&document).valid_forever(), page: page.valid_forever() }
        })
    }
}

/// The document of these routes. `cookie` is what a session's cookie is called.
pub fn document(routes: &[Route], cookie: &str) -> Value {
    assemble::document(COMMON, FRAGMENTS, &operations(routes), cookie)
}

fn operations(routes: &[Route]) -> Vec<Operation> {
    routes.iter().map(Operation::of).collect()
}
