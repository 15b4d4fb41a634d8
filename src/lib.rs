//! A recruiting service for small organizations: one binary and one SQLite file.
//!
//! Floors are modules, and imports go down only: [`cli`] over [`http`], [`hr`] and [`interchange`] over [`store`] over
//! [`domain`], [`world`] and [`telemetry`]. A noun (a key, a role, a candidate's step) has a file of the same name on each floor it
//! stands on: what it is and may do in `domain`, its SQL in `store`, its endpoints in `http`.
//!
//! # The way of a request, from top to bottom and back
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
//! # The short ways
//!
//! What most requests need is in memory, and no request changes a thread for it. Nothing of this is believed without being
//! asked: triggers number the changes of what memory keeps, whoever makes them (`store/change.rs`).
//!
//! - *A portal or one of its roles* is rendered once a change and kept (`http/kept.rs`). A commit of this service learns
//!   which portals it changes inside its own transaction and forgets them before it is answered (`store/engine.rs`); the
//!   changes of other processes are looked for every 100 ms (`store/memory.rs`).
//! - *A key* is remembered with its user (`store/known_key.rs`), and with what it is answered where that needs nothing but
//!   the caller (`http/gate/short.rs`). Each transaction that a request ends in compares one number: where keys or users
//!   have changed since, a read takes its way once more, and an act looks its caller up there.
//! - *A row of the usage log* is one insert. The rows of all requests of one turn of the runtime are committed together, on
//!   its own thread where nothing has to be waited for, otherwise by the writer right after its batch
//!   (`store/recording.rs`, `store/writer.rs`). A row names the one before it of the same key; where to begin to follow them
//!   is marked later, for many rows at once (`store/marking.rs`).
//! - *A decision* waits for the end of its turn too, so that what came together is one transaction with one fsync. There is
//!   no savepoint: an act that fails behind a write is run again by itself with one (`store/tx.rs`).
//!   The answers of a batch wake the runtime once (`store/job.rs`), and the write-ahead log is written over rather than cut
//!   (`store/checkpoint.rs`).
//! - *The log's lines* gather for five milliseconds ([`telemetry`]).
//!
//! # The way of a delivery to an HR system, on a thread of its own
//!
//! ```text
//! store/activity        what was decided: from its commit on it is owed
//! store/outbox/intake   becomes a message, a moment later
//! store/outbox          whose deliveries are due
//! domain/hr_turn        whose turn it is
//! hr/attempt            signed (domain/signature), posted over hr/connection (domain/address), answered
//! domain/hr_delivery    what that makes of it: delivered, again, failed, gone
//! store/outbox          recorded; the next of the same application is due
//! ```
//!
//! To read it in order: [`domain::candidate_step`] (what this is for), [`store`] (one file, one writer), then
//! `http/gate`.

pub mod cli;

pub mod domain;
pub mod hr;
pub mod http;
pub mod interchange;
pub mod store;
pub mod telemetry;
pub mod world;
