//! Measures the limit with which the service is compared: `pgbench` sends the statements of the service's decisions and
//! usage rows in pipelines. Each transaction has as many decisions, or usage rows, as the service has connections in
//! the round with which it is compared.
//!
//! As in the service, a transaction takes a lock first, because the number of each row follows from the previous row.
//! The scripts omit the statements with which the service reads facts. The rows have the same columns as those of the
//! service and similar lengths, but nobody computes their hashes.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::company::{self, APPLICATIONS, MEMBERS, ORGANIZATIONS, PORTAL_ROLES};
use super::decisions::{NOTES, OUTCOME_REASON, OUTCOME_TYPE};
use super::exchange::USER_AGENT;
use super::postgres_server::TestServer;
use super::round::Round;
use super::template::Key;

/// The first statement of a transaction. No other client of the bench takes a lock with this number.
const LOCK: &str = "SELECT pg_advisory_xact_lock(20261128);";

/// The client, with a database of its own.
pub(crate) struct Pgbench<'a> {
    server: &'a TestServer,
    database: &'a str,
    folder: TempDir,
    /// The number of applications that have been decided.
    decided: usize,
}

impl<'a> Pgbench<'a> {
    pub(crate) fn new(server: &'a TestServer, database: &'a str, keys: &[Key]) -> Self {
        // The keys' numbers follow from their order, so that a script can compute them.
        assert!(keys.windows(2).all(|pair| pair[1].number == pair[0].number + 1), "the keys' numbers are consecutive");
        server.psql(database, &format!("CREATE VIEW bench_first AS SELECT {} AS number", keys[0].number));
        server.psql(database, "CREATE SEQUENCE bench_at");
        server.psql(database, "SELECT setval('bench_at', (SELECT max(at) FROM api_key_usage))");
        Self { server, database, folder: tempfile::tempdir().unwrap(), decided: 0 }
    }

    /// Makes this many decisions, `at_once` of them in each transaction.
    pub(crate) fn decide(&mut self, count: usize, at_once: usize) -> Round {
        assert!(self.decided + count <= APPLICATIONS, "enough applications are undecided");
        let script = self.script("decide.sql", &decisions(at_once));
        let next = self.decided;
        self.decided += count;
        let transactions = (count / at_once).to_string();
        let elapsed = self.run(&["-t", &transactions, "-D", &format!("a={next}"), "-f", &script]);
        Round::without_server(count, elapsed)
    }

    /// Writes usage rows for this long, `at_once` of them in each transaction.
    pub(crate) fn log_uses(&self, duration: Duration, at_once: usize) -> Round {
        let script = self.script("log.sql", &uses(at_once));
        let before = self.uses();
        let seconds = duration.as_secs().max(1).to_string();
        let elapsed = self.run(&["-T", &seconds, "-f", &script]);
        Round::without_server(self.uses() - before, elapsed)
    }

    fn uses(&self) -> usize {
        self.server.psql(self.database, "SELECT count(*) FROM api_key_usage").parse().unwrap()
    }

    fn script(&self, name: &str, text: &str) -> String {
        let path: PathBuf = self.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Runs `pgbench` with one connection and returns the time that its transactions took.
    fn run(&self, arguments: &[&str]) -> Duration {
        let began = Instant::now();
        let mut command = self.server.client("pgbench", self.database);
        let output = command.args(["-n", "-c", "1", "-M", "prepared"]).args(arguments).output().unwrap();
        let elapsed = began.elapsed();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out.contains("number of failed transactions: 0 "), "{out}{err}");
        // `initial connection time = 3.141 ms`
        let connected = out.lines().find_map(|line| line.strip_prefix("initial connection time = ")).unwrap();
        elapsed - Duration::from_secs_f64(connected.trim_end_matches(" ms").parse::<f64>().unwrap() / 1e3)
    }
}

/// Returns the script of a transaction with this many decisions. The variable `a` is the number of the next
/// application.
fn decisions(at_once: usize) -> String {
    let mut script = format!("\\startpipeline\nBEGIN;\n{LOCK}\n");
    for nth in 0..at_once {
        // Rejections and hires alternate. With one decision in each transaction, a condition in the script chooses the
        // kind.
        if at_once == 1 {
            let (reject, hire) = (decision(false), decision(true));
            write!(script, "\\if :a % 2 = 0\n{reject}\\else\n{hire}\\endif\n").unwrap();
        } else {
            script += &decision(nth % 2 == 1);
        }
    }
    script + "COMMIT;\n\\endpipeline\n"
}

/// Returns the statements of a decision.
fn decision(is_hire: bool) -> String {
    let id = |prefix: &str, number: &str| format!("'{prefix}_' || lpad(({number})::text, 26, '0')");
    let of_one = APPLICATIONS / ORGANIZATIONS;
    let organization = format!(":a / {of_one}");
    let (step, application) = (id("cstep", ":a * 10 + 2"), id("app", ":a"));
    let (candidate, role) = (id("cand", ":a"), id("role", &format!("({organization}) * 100 + {PORTAL_ROLES}")));
    let organization_id = id("org", &organization);
    let key = format!("({organization}) * {MEMBERS} + :a % {MEMBERS}");
    let mut text = String::new();
    let (saved, status, counts, action) = if is_hire {
        (
            "status = 'validated', validated_at = :now".to_owned(),
            format!("status = 'Hired', hired_date = :now, hire_notes = '{NOTES}'"),
            "open_positions = open_positions - 1, in_progress = in_progress - 1, hired = hired + 1",
            "hired",
        )
    } else {
        (
            format!(
                "status = 'rejected', rejected_at = :now, rejection_reason = '{NOTES}', outcome_type = '{OUTCOME_TYPE}',
                 outcome_reason = '{OUTCOME_REASON}'"
            ),
            "status = 'Not Selected'".to_owned(),
            "in_progress = in_progress - 1, not_selected = not_selected + 1",
            "rejected",
        )
    };
    writeln!(text, "UPDATE candidate_role_steps SET {saved} WHERE id = {step} AND candidate_role_id = {application};")
        .unwrap();
    writeln!(
        text,
        "UPDATE candidate_roles SET {status}, at_role_step_id = NULL, at_since = NULL, updated_at = :now
         WHERE id = {application} AND status = 'In Progress';"
    )
    .unwrap();
    if is_hire {
        let positions = company::POSITIONS;
        writeln!(
            text,
            "UPDATE roles SET hired = hired + 1, updated_at = :now
             WHERE id = {role} AND status = 'open' AND hired < {positions} AND positions = {positions};"
        )
        .unwrap();
    }
    writeln!(text, "UPDATE organization_statuses SET {counts} WHERE organization_id = {organization_id};").unwrap();
    let detail = "x".repeat(DETAIL_CHARACTERS);
    writeln!(
        text,
        "INSERT INTO activities (number, id, organization_id, at, action, user_id, api_key_id, role_id, candidate_id,
           candidate_role_id, candidate_role_step_id, detail, salt, detail_hash, hash)
         SELECT coalesce(max(number), 0) + 1, 'act_' || lpad((coalesce(max(number), 0) + 1)::text, 26, '0'),
           {organization_id}, :now, 'candidate_step.{action}', {user},
           (SELECT id FROM api_keys WHERE number = (SELECT number FROM bench_first) + {key}), {role}, {candidate},
           {application}, {step}, '{{\"detail\":\"{detail}\"}}', decode(repeat('ab', 16), 'hex'),
           decode(repeat('cd', 32), 'hex'), decode(repeat('ef', 32), 'hex')
         FROM activities;",
        user = id("user", &key)
    )
    .unwrap();
    let path = format!("'/api/v1/candidate-steps/' || {step} || '/{}'", if is_hire { "hire" } else { "reject" });
    text += &usage(&key, "POST", &path, if is_hire { "hire" } else { "reject" });
    text.replace(":now", "1790000000000000") + "\\set a :a + 1\n"
}

/// The length of the text in the detail of a decision, without the JSON frame that the statement adds. The service's
/// details are 10 % to 20 % longer.
const DETAIL_CHARACTERS: usize = 520;

/// Returns the script of a transaction with this many usage rows.
fn uses(at_once: usize) -> String {
    let mut script = format!("\\startpipeline\nBEGIN;\n{LOCK}\n");
    for _ in 0..at_once {
        let _ = writeln!(script, "\\set k random(0, {})", ORGANIZATIONS * MEMBERS - 1);
        script += &usage(":k", "GET", "'/api/v1/me'", "me");
    }
    script + "COMMIT;\n\\endpipeline\n"
}

/// Returns the statement that appends a usage row of a key.
fn usage(key: &str, method: &str, path: &str, endpoint: &str) -> String {
    format!(
        "INSERT INTO api_key_usage (at, key_number, number, previous_at, method, path, ip, user_agent, auth_endpoint)
         VALUES (nextval('bench_at'), (SELECT number FROM bench_first) + {key}, 1, NULL, '{method}', {path},
           '127.0.0.1', '{USER_AGENT}', '/api/v1/{endpoint}');\n"
    )
}
