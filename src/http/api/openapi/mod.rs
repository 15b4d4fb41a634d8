//! `GET /api/openapi.json` and `GET /docs`: the API reference, for programs (OpenAPI 3.1) and for people.
//!
//! `assemble` builds the OpenAPI document from the route table and the fragments in this directory. `page` renders that
//! document as HTML, so that the two agree. The first request for either builds both.
//!
//! To add an endpoint, add its route to the table, then describe it in the fragment for its noun, `<noun>.json`. Add a
//! line to [`FRAGMENTS`] for a new noun. For example:
//!
//! ```json
//! { "tag": { "name": "Roles", "description": "Open positions." },
//!   "paths": { "/api/v1/organizations/{id}/roles": {
//!     "get":  { "operationId": "listRoles", "summary": "Lists roles", "description": "The newest role comes first.",
//!               "parameters": [ { "name": "status", "in": "query", "description": "Only roles with this status.",
//!                                 "schema": { "$ref": "#/components/schemas/RoleStatus" } } ],
//!               "page": "Role" },
//!     "post": { "operationId": "createRole", "summary": "Creates a role", "description": "The new role is a draft.",
//!               "body": "NewRole", "data": "Role" } } },
//!   "components": { "schemas": { "NewRole": { … }, "Role": { … } } } }
//! ```
//!
//! The route provides the security, the scope (also as `x-scope`), the path parameters, every error with its codes and
//! header fields, and the status of a success. It also provides `If-None-Match` and `ETag` if it answers 304,
//! `If-Match` if it answers 412, and `Idempotency-Key` if it answers 422. The fragment provides `operationId` (a verb
//! and a noun), `summary`, `description`, the query `parameters`, and:
//!
//! - `body`: the schema of the request body. Members that are not `required` may also be null, which the service treats
//!   as missing. The assembly adds null to the types of these members, including those of nested objects, so requests
//!   and responses must not share these schemas. A fragment states null only where null means something other than
//!   missing.
//! - one of `data` (`{ success, data }` with this schema), `list` (the same with an array), `page` (with `pagination`,
//!   and with the parameters `limit` and `cursor`), `answer` (exactly this schema) or `success` (no data). A fragment
//!   describes any other response in `responses`, as in OpenAPI.
//! - `returns`, if the response needs a more specific description; `example`, if the example from the schema is not
//!   suitable; `versioned`, if the response has the `ETag` of a role.
//!
//! In a schema for responses, `required` lists all members that are always present. The tests reject members that the
//! schema does not define. A member that may be null has `"type": ["string", "null"]`, or `anyOf` with a reference. A
//! schema that extends another schema has `allOf` with one reference. A schema for bodies states every limit. Examples
//! are composed from the `examples` of the members. Schemas such as `Id`, `Timestamp` and `Name` in `common.json` have
//! their own examples. The tests validate the service's responses against the document.

mod assemble;
mod example;
mod operation;
mod page;
mod refusals;

use std::sync::{Arc, OnceLock};

use hyper::Method;
use serde_json::Value;

use self::operation::Operation;
use crate::http::server::authentication;
use crate::http::server::ctx::Ctx;
use crate::http::server::reply::Reply;
use crate::http::server::resource::Audience;
use crate::http::server::response_cache::CachePool;
use crate::http::server::route::Route;

/// The fragment that all operations share.
const COMMON: &str = include_str!("common.json");

/// The fragments, one per noun, in the order of the page.
const FRAGMENTS: &[&str] = &[
    include_str!("me.json"),
    include_str!("access.json"),
    include_str!("role.json"),
    include_str!("candidate.json"),
    include_str!("candidate_step.json"),
    include_str!("decision_batch.json"),
    include_str!("api_key.json"),
    include_str!("usage.json"),
    include_str!("organization.json"),
    include_str!("user.json"),
    include_str!("hr_integration.json"),
    include_str!("hr_delivery.json"),
    include_str!("board.json"),
    include_str!("activity.json"),
    include_str!("attachment.json"),
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

const DOCUMENT_PATH: &str = "/api/openapi.json";

const PAGE_PATH: &str = "/docs";

/// The routes to describe, and the two responses that the first request renders from them.
#[derive(Default)]
pub(in crate::http) struct Description {
    operations: OnceLock<Vec<Operation>>,
    replies: OnceLock<Replies>,
}

/// The two responses, which are rendered once.
struct Replies {
    document: Reply,
    page: Reply,
}

pub(in crate::http) fn routes(description: &Arc<Description>) -> Vec<Route> {
    let (document, page) = (Arc::clone(description), Arc::clone(description));
    vec![
        Route::plain(Audience::Api, Method::GET, DOCUMENT_PATH, move |ctx| document.replies(ctx).document.clone())
            .cached_in(CachePool::Api)
            .answering(&[(200, ""), (304, "")]),
        Route::plain(Audience::Page, Method::GET, PAGE_PATH, move |ctx| page.replies(ctx).page.clone())
            .cached_in(CachePool::Pages)
            .answering(&[(200, ""), (304, "")]),
    ]
}

impl Description {
    /// Sets the routes to describe.
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

/// Returns the OpenAPI document for these routes. `cookie` is the name of the session cookie.
pub fn document(routes: &[Route], cookie: &str) -> Value {
    assemble::document(COMMON, FRAGMENTS, &operations(routes), cookie)
}

fn operations(routes: &[Route]) -> Vec<Operation> {
    // The staff console is a website, not an interface for programs.
    routes.iter().filter(|route| route.audience != Audience::Staff).map(Operation::new).collect()
}
