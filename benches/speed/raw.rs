//! The limit for decisions: the SQLite statements of a decision, on one thread, with nearly all values known in
//! advance.
//!
//! The statements write the same rows as those in `src/store`, in the same order. They leave out two columns that these
//! decisions do not change (`later_due_on` and `positions`). For a decision, this module omits the
//! statements with which the service reads the key, the facts, the last usage row and the last activity row. It parses
//! no requests, checks no rules and sends no answers. Like the service, the bench computes the hashes of activity rows,
//! but it does so in advance.

use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use appliance::domain::activity::{self, CHAIN_START, ChainLink, SALT_BYTES, Subject};
use appliance::domain::id::{ActivityId, ApiKeyId, Id, UserId};
use appliance::domain::timestamp::Timestamp;
use rusqlite::{Connection, OptionalExtension, ToSql, Transaction, TransactionBehavior};
use serde_json::{Value, json};

use super::company::{self, ORGANIZATIONS};
use super::cores::Cores;
use super::decisions::{Decision, NOTES, OUTCOME_REASON, OUTCOME_TYPE};
use super::exchange::USER_AGENT;
use super::template::{Copy, Key, Template};

/// The pragmas of the service. SQLite itself runs the checkpoints, about as rarely as the service does.
const PRAGMAS: &str = "PRAGMA journal_mode = WAL;
    PRAGMA foreign_keys = ON;
    PRAGMA synchronous = FULL;
    PRAGMA secure_delete = ON;
    PRAGMA cache_size = -16384;
    PRAGMA mmap_size = 0;
    PRAGMA temp_store = MEMORY;
    PRAGMA journal_size_limit = 67108864;
    PRAGMA wal_autocheckpoint = 10000;";

const SAVE_STEP: &str = "UPDATE candidate_role_steps
    SET status = $1, rejected_at = $2, rejection_reason = $3, outcome_type = $4, outcome_reason = $5, validated_at = $6
    WHERE id = $7 AND candidate_role_id = $8";

const SAVE_APPLICATION: &str = "UPDATE candidate_roles
    SET status = $1, hired_date = $2, offer_accepted_date = $3, external_position_id = $4, hire_notes = $5,
      at_role_step_id = $6, at_since = CASE WHEN at_role_step_id = $6 THEN at_since ELSE $7 END, updated_at = $8
    WHERE id = $9 AND status = $10";

const SAVE_ROLE: &str = "UPDATE roles
    SET hired = $1, updated_at = $2
    WHERE id = $3 AND status = $4 AND hired = $5 AND positions = $6";

const CHANGE_STATUS_COUNTS: &str = "UPDATE organization_statuses
    SET open_roles = open_roles + $1, open_positions = open_positions + $2, in_progress = in_progress + $3,
      hired = hired + $4, not_selected = not_selected + $5, withdrawn = withdrawn + $6
    WHERE organization_id = $7";

const APPEND_ACTIVITY: &str = "INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id,
      role_id, candidate_id, candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)";

const APPEND_USAGE: &str =
    "INSERT INTO api_key_usage (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";

/// Figures that must be equal in the service's file and in the raw file after the same decisions.
const FIGURES: [&str; 8] = [
    "SELECT group_concat(concat_ws(' ', organization_id, open_roles, open_positions, in_progress, hired,
       not_selected, withdrawn)) FROM organization_statuses",
    "SELECT group_concat(hired) FROM (SELECT hired FROM roles ORDER BY id)",
    "SELECT group_concat(concat_ws(' ', status, n, hired)) FROM
       (SELECT status, concat(count(*), ' ', count(at_since)) n, count(hired_date) hired
        FROM candidate_roles GROUP BY status)",
    "SELECT group_concat(concat_ws(' ', status, n, reasons)) FROM
       (SELECT status, count(*) n, sum(length(concat(rejection_reason, outcome_type, outcome_reason))) reasons
        FROM candidate_role_steps GROUP BY status)",
    "SELECT group_concat(concat_ws(' ', action, n, applications, users, keys, details)) FROM
       (SELECT action, count(*) n, count(DISTINCT candidate_role_id) applications, count(DISTINCT user_id) users,
          count(DISTINCT api_key_id) keys, sum(length(detail)) details
        FROM activities GROUP BY action)",
    "SELECT concat_ws(' ', max(number), count(DISTINCT hash), sum(length(salt))) FROM activities",
    "SELECT group_concat(concat_ws(' ', key_number, n)) FROM
       (SELECT key_number, max(number) n FROM api_key_usage GROUP BY key_number)",
    "SELECT concat_ws(' ', count(*), sum(length(concat(method, path, ip, user_agent, auth_endpoint))))
       FROM api_key_usage",
];

/// SQLite on a copy of the file, and the values in the file that decisions need.
pub(crate) struct Raw {
    connection: Connection,
    copy: Copy,
    /// The number of hires so far for each organization's role.
    hired: Vec<i64>,
    /// The number of uses and the time of the last use, for each member's key.
    uses: Vec<(i64, Option<i64>)>,
    /// The time of the last usage row.
    last_at: i64,
    /// The number and the hash of the last activity row.
    last_activity: (i64, [u8; 32]),
}

/// A decision with all its values.
struct Prepared {
    is_hire: bool,
    organization: usize,
    key: usize,
    organization_id: String,
    user_id: String,
    role_id: String,
    application_id: String,
    candidate_id: String,
    step_id: String,
    path: String,
    detail: String,
    activity: Activity,
}

/// The values of an activity row in the hash chain.
struct Activity {
    number: i64,
    id: String,
    at: i64,
    salt: [u8; SALT_BYTES],
    detail_hash: [u8; 32],
    hash: [u8; 32],
}

impl Raw {
    pub(crate) fn on(template: &Template) -> Self {
        let copy = template.copy();
        let connection = Connection::open(&copy.db).unwrap();
        connection.execute_batch(PRAGMAS).unwrap();
        let last_at = connection.query_row("SELECT max(at) FROM api_key_usage", [], |row| row.get(0)).unwrap();
        let sql = "SELECT number, hash FROM activities ORDER BY number DESC LIMIT 1";
        let last = connection.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).optional();
        let last_activity = last.unwrap().unwrap_or((0, CHAIN_START));
        let (hired, uses) = (vec![0; ORGANIZATIONS], vec![(0, None); template.keys.len()]);
        Self { connection, copy, hired, uses, last_at, last_activity }
    }

    /// Makes all decisions on the server's core, `at_once` of them per transaction, and returns the time that they
    /// took.
    pub(crate) fn decide(&mut self, cores: &Cores, keys: &[Key], decisions: &[Decision], at_once: usize) -> Duration {
        let prepared: Vec<_> = decisions.iter().map(|decision| self.prepare(keys, *decision)).collect();
        std::thread::scope(|scope| {
            let decide = scope.spawn(|| {
                cores.move_to_server();
                let began = Instant::now();
                prepared.chunks(at_once).for_each(|chunk| self.commit(keys, chunk));
                began.elapsed()
            });
            decide.join().unwrap()
        })
    }

    pub(crate) fn end(self) -> Copy {
        self.connection.close().unwrap();
        self.copy
    }

    fn prepare(&mut self, keys: &[Key], decision: Decision) -> Prepared {
        let (organization, key) = (company::organization_of(decision.application), decision.key());
        let detail = detail(decision).to_string();
        let activity = self.chain(decision, &keys[key].id, &detail);
        Prepared {
            is_hire: decision.is_hire,
            organization,
            key,
            organization_id: company::organization_id(organization),
            user_id: company::user_id(key),
            role_id: company::role_id(organization),
            application_id: company::application_id(decision.application),
            candidate_id: company::candidate_id(decision.application),
            step_id: company::last_step_id(decision.application),
            path: decision.path(),
            detail,
            activity,
        }
    }

    /// Returns the next activity row.
    fn chain(&mut self, decision: Decision, key: &str, detail: &str) -> Activity {
        let organization = company::organization_of(decision.application);
        let subject = Subject {
            organization_id: Id::parse(&company::organization_id(organization)),
            role_id: Id::parse(&company::role_id(organization)),
            candidate_id: Id::parse(&company::candidate_id(decision.application)),
            candidate_role_id: Id::parse(&company::application_id(decision.application)),
            candidate_role_step_id: Id::parse(&company::last_step_id(decision.application)),
        };
        let (last, previous) = self.last_activity;
        let (number, at) = (last + 1, now());
        let id = format!("act_{number:026}");
        let salt = [number.to_be_bytes(), at.to_be_bytes()].concat().try_into().unwrap();
        let detail_hash = activity::detail_hash(&salt, detail);
        let link = ChainLink {
            number,
            id: &ActivityId::parse(&id).unwrap(),
            at: Timestamp::from_micros(at),
            action: action(decision.is_hire),
            user_id: Some(&UserId::parse(&company::user_id(decision.key())).unwrap()),
            api_key_id: Some(&ApiKeyId::parse(key).unwrap()),
            subject: &subject,
            detail_hash: &detail_hash,
        };
        let hash = link.hash(&previous);
        self.last_activity = (number, hash);
        Activity { number, id, at, salt, detail_hash, hash }
    }

    fn commit(&mut self, keys: &[Key], decisions: &[Prepared]) {
        let Self { connection, hired, uses, last_at, .. } = self;
        let transaction = Transaction::new_unchecked(connection, TransactionBehavior::Immediate).unwrap();
        for one in decisions {
            let now = now();
            save(&transaction, one, now, &mut hired[one.organization]);
            append_activity(&transaction, one, &keys[one.key].id);
            *last_at = now.max(*last_at + 1);
            append_usage(&transaction, one, *last_at, keys[one.key].number, uses[one.key]);
            uses[one.key] = (uses[one.key].0 + 1, Some(*last_at));
        }
        transaction.commit().unwrap();
    }
}

fn now() -> i64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros() as i64
}

fn action(is_hire: bool) -> &'static str {
    if is_hire { "candidate_step.hired" } else { "candidate_step.rejected" }
}

/// Updates the step, the application, the status counts and, for a hire, the role.
fn save(transaction: &Transaction<'_>, one: &Prepared, now: i64, hired: &mut i64) {
    let run = |sql: &str, params: &[&dyn ToSql]| {
        assert_eq!(transaction.prepare_cached(sql).unwrap().execute(params).unwrap(), 1, "one row changes: {sql}");
    };
    let none = None::<&str>;
    let (step, application) = (&one.step_id, &one.application_id);
    if one.is_hire {
        run(SAVE_STEP, &[&"validated", &none, &none, &none, &none, &now, step, application]);
        let params: [&dyn ToSql; 10] =
            [&"Hired", &now, &none, &none, &NOTES, &none, &none, &now, application, &"In Progress"];
        run(SAVE_APPLICATION, &params);
        let positions = company::POSITIONS as i64;
        run(SAVE_ROLE, &[&(*hired + 1), &now, &one.role_id, &"open", &*hired, &positions]);
        *hired += 1;
        run(CHANGE_STATUS_COUNTS, &[&0, &-1, &-1, &1, &0, &0, &one.organization_id]);
    } else {
        run(SAVE_STEP, &[&"rejected", &now, &NOTES, &OUTCOME_TYPE, &OUTCOME_REASON, &none, step, application]);
        let params: [&dyn ToSql; 10] =
            [&"Not Selected", &none, &none, &none, &none, &none, &none, &now, application, &"In Progress"];
        run(SAVE_APPLICATION, &params);
        run(CHANGE_STATUS_COUNTS, &[&0, &0, &-1, &0, &1, &0, &one.organization_id]);
    }
}

fn append_activity(transaction: &Transaction<'_>, one: &Prepared, key: &str) {
    let Activity { number, id, at, salt, detail_hash, hash } = &one.activity;
    let mut append = transaction.prepare_cached(APPEND_ACTIVITY).unwrap();
    let params = (
        number,
        id,
        &one.organization_id,
        at,
        action(one.is_hire),
        &one.user_id,
        key,
        &one.role_id,
        &one.candidate_id,
        &one.application_id,
        &one.step_id,
        &one.detail,
        salt,
        detail_hash,
        hash,
    );
    append.execute(params).unwrap();
}

fn append_usage(
    transaction: &Transaction<'_>,
    one: &Prepared,
    at: i64,
    key_number: i64,
    (uses, previous_at): (i64, Option<i64>),
) {
    let endpoint =
        if one.is_hire { "/api/v1/candidate-steps/{id}/hire" } else { "/api/v1/candidate-steps/{id}/reject" };
    let mut append = transaction.prepare_cached(APPEND_USAGE).unwrap();
    append
        .execute((at, key_number, uses + 1, previous_at, "POST", &one.path, "127.0.0.1", USER_AGENT, endpoint))
        .unwrap();
}

/// Returns the detail of the activity row. It is as long as the service's detail, which contains other times.
fn detail(decision: Decision) -> Value {
    let time = "2026-01-01T00:00:00.000000Z";
    let id = company::last_step_id(decision.application);
    let step = |status: &str| {
        json!({
            "id": id, "status": status, "rejectedAt": null, "rejectionReason": null, "outcomeType": null,
            "outcomeReason": null, "validatedAt": null,
        })
    };
    let side = |status: &str, hire: Value, step: Value| -> Value {
        json!({ "application": status, "role": "open", "hire": hire, "steps": [step] })
    };
    let after = if decision.is_hire {
        let mut step = step("validated");
        step["validatedAt"] = time.into();
        let hire = json!({ "hiredDate": time, "offerAcceptedDate": null, "externalPositionId": null, "notes": NOTES });
        side("Hired", hire, step)
    } else {
        let mut step = step("rejected");
        step["rejectedAt"] = time.into();
        step["rejectionReason"] = NOTES.into();
        step["outcomeType"] = OUTCOME_TYPE.into();
        step["outcomeReason"] = OUTCOME_REASON.into();
        side("Not Selected", Value::Null, step)
    };
    json!({ "before": side("In Progress", Value::Null, step("in_progress")), "after": after })
}

/// Returns the figures that decisions change, as strings.
pub(crate) fn figures(db: &Path) -> Vec<String> {
    let connection = Connection::open(db).unwrap();
    FIGURES.map(|sql| connection.query_row(sql, [], |row| row.get(0)).unwrap()).into()
}
