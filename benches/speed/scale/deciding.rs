//! Decisions on a file with too few applications for all decisions of the bench. The bench reopens the applications
//! after each batch. A batch here is a number of single decisions, each in a request of its own. It is not a
//! decision batch.

use std::sync::Arc;
use std::time::Duration;

use rusqlite::Connection;

use super::data::{self, SMALL};
use super::growth::Side;
use crate::company;
use crate::decisions::Decision;
use crate::load::{self, Course, Load};
use crate::random::Random;
use crate::round::Round;

const CONNECTIONS: usize = 64;

/// The number of decisions before the applications are reopened: the number of applications in the small file. It is
/// the same for both files.
const BATCH: usize = SMALL.applications;

/// The order of the applications of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// In id order.
    OfIds,
    /// At random over the file. In the big file, each application is then on a different page. In the small file,
    /// applications share pages.
    Scattered,
}

/// The decisions of one side.
pub(crate) struct Deciding<'a> {
    side: &'a mut Side,
    keys: Vec<String>,
    connection: Connection,
    applications: Vec<usize>,
    next: usize,
}

impl Order {
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::OfIds => "in id order",
            Self::Scattered => "at random over all applications",
        }
    }
}

impl<'a> Deciding<'a> {
    pub(crate) fn new(side: &'a mut Side, order: Order) -> Self {
        let connection = Connection::open(side.server.db()).unwrap();
        connection.busy_timeout(Duration::from_secs(5)).unwrap();
        // The service runs the checkpoints.
        connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0").unwrap();
        let mut applications: Vec<usize> = (0..side.size.applications).collect();
        if order == Order::Scattered {
            Random::new(3).shuffle(&mut applications);
        }
        Self { side, keys: data::texts(), connection, applications, next: 0 }
    }

    /// Sends this many batches of decisions, and undoes the decisions after each batch.
    pub(crate) fn round(&mut self, batches: usize) -> Round {
        let batches: Vec<Vec<Decision>> = (0..batches).map(|_| self.batch()).collect();
        let Self { side, keys, connection, .. } = self;
        let Side { size, server } = &mut **side;
        server.round_of(|address| {
            let mut all = Load { elapsed: Duration::ZERO, latencies: Vec::new() };
            for batch in &batches {
                let request = |decision: &Decision| decision.request_with(&keys[size.decider(decision.application)]);
                let requests = Arc::new(batch.iter().map(request).collect());
                let load = load::run(address, CONNECTIONS, &requests, &Course::Through);
                all.elapsed += load.elapsed;
                all.latencies.extend(load.latencies);
                open_again(connection, batch, |application| size.organization_of(application));
            }
            let decisions = all.latencies.len();
            (all, decisions)
        })
    }

    fn batch(&mut self) -> Vec<Decision> {
        let applications = (self.next..self.next + BATCH).map(|nth| self.applications[nth % self.applications.len()]);
        let decision = |(nth, application)| Decision { application, is_hire: nth % 2 == 1 };
        let batch = applications.enumerate().map(decision).collect();
        self.next += BATCH;
        batch
    }
}

/// Undoes decisions, but leaves their activity rows and usage rows.
fn open_again(connection: &Connection, batch: &[Decision], organization_of: impl Fn(usize) -> usize) {
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let run = |sql: &str, id: String| {
        assert_eq!(connection.prepare_cached(sql).unwrap().execute([id]).unwrap(), 1, "one row changes: {sql}");
    };
    for Decision { application, is_hire } in batch.iter().copied() {
        run(OPEN_STEP, company::last_step_id(application));
        run(OPEN_APPLICATION, company::application_id(application));
        let organization = organization_of(application);
        if is_hire {
            run("UPDATE roles SET hired = hired - 1 WHERE id = $1", data::decided_role_id(organization));
            run(UNDO_HIRE, company::organization_id(organization));
        } else {
            run(UNDO_REJECTION, company::organization_id(organization));
        }
    }
    connection.execute_batch("COMMIT").unwrap();
}

const OPEN_STEP: &str = "UPDATE candidate_role_steps
    SET status = 'in_progress', rejected_at = NULL, rejection_reason = NULL, outcome_type = NULL,
      outcome_reason = NULL, validated_at = NULL
    WHERE id = $1 AND status <> 'in_progress'";

const OPEN_APPLICATION: &str = "UPDATE candidate_roles
    SET status = 'In Progress', hired_date = NULL, offer_accepted_date = NULL, external_position_id = NULL,
      hire_notes = NULL, at_since = applied_at, at_role_step_id = (
        SELECT role_step_id FROM candidate_role_steps s
        WHERE s.candidate_role_id = candidate_roles.id AND s.status = 'in_progress'
      )
    WHERE id = $1 AND status <> 'In Progress'";

const UNDO_HIRE: &str = "UPDATE organization_statuses
    SET hired = hired - 1, in_progress = in_progress + 1, open_positions = open_positions + 1
    WHERE organization_id = $1";

const UNDO_REJECTION: &str = "UPDATE organization_statuses
    SET not_selected = not_selected - 1, in_progress = in_progress + 1
    WHERE organization_id = $1";
