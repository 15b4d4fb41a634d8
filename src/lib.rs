//! A recruiting service for small organizations: one binary and one SQLite file.
//!
//! Floors are modules, and imports go down only: [`cli`] over [`http`], [`hr`] and [`document`] over [`store`] over
//! [`domain`], [`world`] and [`telemetry`]. A noun (a key, a role, a candidate's step) has a file of the same name on each floor it
//! stands on: what it is and may do in `domain`, its SQL in `store`, its endpoints in `http`.
//!
//! The way of a request, from top to bottom and back:
//!
//! ```text
//! http/server           accepts, reads the head within its limits
//! http/table            method and path to a route                         404, 405
//! http/gate             credential, rate limit, scope or admin, body       401, 429, 403, 413
//!   http/<noun>         decode: the body or query to a wish                415, 400
//! http/gate             one transaction: a snapshot, or a job for the writer
//!   store/<noun>        load the facts, as the caller may see them         404
//!   domain/<noun>       the rule: facts and wish to a decision             403, 409, 400
//!   store/<noun>        save it
//! http/gate             the usage row; commit
//! http/reply            status, fields and body of the answer              500, 503
//! ```
//!
//! The way of a delivery to an HR system, on a thread of its own:
//!
//! ```text
//! store/outbox          queued in the decision's transaction; whose deliveries are due
//! domain/hr_turn        whose turn it is
//! hr/attempt            signed (domain/signature), posted over hr/connection (domain/address), answered
//! domain/hr_delivery    what that makes of it: delivered, again, failed, gone
//! store/outbox          recorded; the next of the same application is due
//! ```
//!
//! To read it in order: [`domain::candidate_step`] (what this is for), [`store`] (one file, one writer), then
//! `http/gate.rs`.

pub mod cli;
pub mod document;
pub mod domain;
pub mod hr;
pub mod http;
pub mod store;
pub mod telemetry;
pub mod world;
