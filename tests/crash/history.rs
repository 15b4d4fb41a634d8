//! Compares the answers of all rounds with the file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;

use super::company::Company;
use super::load::{Action, Exchange};

/// All requests and answers, and the state of the file that follows from them.
#[derive(Default)]
pub(crate) struct History {
    /// All requests with a key, by user agent.
    requests: BTreeMap<String, Exchange>,
    /// The expected state of each application with a decision.
    expected: HashMap<String, ExpectedApplication>,
    /// The token of the signup link of each role for which a client requested the link.
    links: HashMap<String, String>,
    findings: Vec<String>,
    tally: Tally,
}

/// The state of an application according to the answers, and the state that an unanswered request may have caused.
#[derive(Debug, Clone)]
struct ExpectedApplication {
    answered: ApplicationState,
    open: Option<UnansweredDecision>,
}

#[derive(Debug, Clone)]
struct UnansweredDecision {
    state: ApplicationState,
    agent: String,
    /// Whether the service has no reason to refuse the request. Such a request has a usage row if and only if it was
    /// carried out.
    is_certain: bool,
}

/// Usage rows by user agent.
type Rows = HashMap<String, Vec<String>>;

#[derive(Debug, Clone, PartialEq, Eq)]
enum ApplicationState {
    InProgress,
    Hired,
    Rejected { notes: String, reversed: bool },
}

/// Counts the events that the test must cover.
#[derive(Debug, Default)]
struct Tally {
    hires: usize,
    rejections: usize,
    reversals: usize,
    full: usize,
    applications: usize,
    calls: usize,
    lost_decisions: usize,
    done_decisions: usize,
}

impl ApplicationState {
    /// Returns the status of the application and of its steps, the notes, and the numbers of activity rows and HR
    /// deliveries.
    fn row(&self) -> String {
        match self {
            Self::InProgress => "In Progress|in_progress|pending|-|0|0".to_owned(),
            Self::Hired => "Hired|skipped|validated|-|1|1".to_owned(),
            Self::Rejected { notes, reversed: false } => format!("Not Selected|rejected|pending|{notes}|1|0"),
            Self::Rejected { notes, reversed: true } => format!("Not Selected|rejected|pending|{notes}|2|2"),
        }
    }
}

impl History {
    /// Adds the answered requests, in the order of their answers, and the unanswered requests.
    pub(crate) fn add(&mut self, answered: &[Exchange], unanswered: &[Exchange]) {
        for exchange in answered.iter().chain(unanswered) {
            self.add_decision(exchange);
            let answer = exchange.answer.as_ref();
            match (&exchange.action, answer.map(|answer| answer.status)) {
                (Action::Apply { role_id, .. }, Some(200)) => {
                    let link = answer.map(|answer| answer.json()["inviteUrl"].as_str().unwrap_or_default().to_owned());
                    self.add_link(role_id, &link.unwrap_or_default());
                }
                (Action::Me, Some(200)) => self.tally.calls += 1,
                (Action::Hire(_) | Action::Reject { .. }, _) | (_, None) => {}
                (_, Some(status)) => self.findings.push(format!("{} was answered with {status}", exchange.path())),
            }
            if !matches!(exchange.action, Action::Apply { .. }) {
                self.requests.insert(exchange.agent.clone(), exchange.clone());
            }
        }
    }

    /// Checks a file that only these requests have changed, and returns the findings. For each application with an
    /// unanswered decision, adopts the state in the file.
    pub(crate) fn check_and_settle(&mut self, db: &Path, company: &Company) -> Vec<String> {
        let file = open(db);
        let (rows, stored) = (usage_rows(&file), applications(&file));
        let mut findings = self.differences(&file, &rows, &stored);
        for agent in rows.keys().filter(|agent| !self.requests.contains_key(*agent)) {
            findings.push(format!("the usage log has {agent}, which no client sent"));
        }
        for id in company.applications() {
            let row = &stored[id];
            let Some(entry) = self.expected.get_mut(id) else {
                if *row != ApplicationState::InProgress.row() {
                    findings.push(format!("{id}: no request concerned this application, but the file has {row}"));
                }
                continue;
            };
            let Some(open) = entry.open.take() else { continue };
            let (has_done, has_row) = (*row == open.state.row(), rows.contains_key(&open.agent));
            if has_done != has_row && (has_done || open.is_certain) {
                findings.push(format!("{}: done {has_done}, logged {has_row}; these must agree", open.agent));
            }
            if has_done {
                entry.answered = open.state;
                self.tally.done_decisions += 1;
            } else {
                self.tally.lost_decisions += 1;
            }
        }
        findings
    }

    /// Checks that a file contains every answered request, and returns the findings. Other requests may have changed
    /// the file too.
    pub(crate) fn check(&mut self, db: &Path) -> Vec<String> {
        let file = open(db);
        self.differences(&file, &usage_rows(&file), &applications(&file))
    }

    /// Checks that each kind of event has happened, because the test must cover all of them.
    pub(crate) fn require_variety(&self) {
        println!("{:?}", self.tally);
        let Tally { hires, rejections, reversals, full, applications, calls, lost_decisions, done_decisions } =
            self.tally;
        for count in [hires, rejections, reversals, full, applications, calls, lost_decisions, done_decisions] {
            assert!(count > 0, "{:?}", self.tally);
        }
    }

    /// Returns whether some unanswered decisions were lost and some were done.
    pub(crate) fn has_variety(&self) -> bool {
        self.tally.lost_decisions > 0 && self.tally.done_decisions > 0
    }

    fn add_decision(&mut self, exchange: &Exchange) {
        let (Action::Hire(application) | Action::Reject { application, .. }) = &exchange.action else { return };
        let untouched = ExpectedApplication { answered: ApplicationState::InProgress, open: None };
        let entry = self.expected.entry(application.id.clone()).or_insert(untouched);
        let state = match &exchange.action {
            Action::Reject { notes, .. } => {
                ApplicationState::Rejected { notes: notes.clone(), reversed: entry.answered == ApplicationState::Hired }
            }
            _ => ApplicationState::Hired,
        };
        match exchange.status() {
            Some(200) => {
                match &state {
                    ApplicationState::Rejected { reversed: true, .. } => self.tally.reversals += 1,
                    ApplicationState::Rejected { .. } => self.tally.rejections += 1,
                    _ => self.tally.hires += 1,
                }
                entry.answered = state;
            }
            Some(400) if !application.is_uncontested && state == ApplicationState::Hired => self.tally.full += 1,
            Some(status) => self.findings.push(format!("{} was answered with {status}", exchange.path())),
            None => {
                let is_certain = application.is_uncontested || state != ApplicationState::Hired;
                entry.open = Some(UnansweredDecision { state, agent: exchange.agent.clone(), is_certain });
            }
        }
    }

    fn add_link(&mut self, role_id: &str, link: &str) {
        self.tally.applications += 1;
        let token = link.rsplit('/').next().and_then(|end| end.strip_suffix("?locale=en")).unwrap_or_default();
        let known = self.links.entry(role_id.to_owned()).or_insert(token.to_owned());
        if known != token {
            self.findings.push(format!("{role_id} was given the links {known} and {token}"));
        }
    }

    fn differences(&mut self, file: &Connection, rows: &Rows, stored: &HashMap<String, String>) -> Vec<String> {
        let mut findings = std::mem::take(&mut self.findings);
        for (agent, exchange) in &self.requests {
            let expected = format!("key-{}|{}|{}", exchange.key, exchange.method(), exchange.path());
            match rows.get(agent).map(Vec::as_slice) {
                Some([row]) if *row == expected => {}
                Some(rows) => findings.push(format!("{agent} is logged as {rows:?}, not as {expected}")),
                None if exchange.answer.is_none() => {}
                None => findings.push(format!("{agent} was answered, but the usage log has no row for it")),
            }
        }
        for (id, entry) in &self.expected {
            let row = &stored[id];
            let is_open = entry.open.as_ref().is_some_and(|open| *row == open.state.row());
            if *row != entry.answered.row() && !is_open {
                findings.push(format!("{id}: the answers imply {}, but the file has {row}", entry.answered.row()));
            }
        }
        let links = pairs(file, "SELECT role_id, group_concat(token) FROM invitations GROUP BY role_id");
        for (role_id, token) in &self.links {
            if links.get(role_id) != Some(token) {
                findings.push(format!("{role_id}: the answer was {token}, but the file has {:?}", links.get(role_id)));
            }
        }
        findings.extend(wrong_counts(file));
        findings
    }
}

/// Returns the user agents of this test's requests that have a usage row.
pub(crate) fn agents(db: &Path) -> HashSet<String> {
    usage_rows(&open(db)).into_keys().collect()
}

/// Runs a checkpoint, so that the next round begins a new write-ahead log.
pub(crate) fn checkpoint(db: &Path) {
    open(db).query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
}

fn open(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(super::service::PATIENCE).unwrap();
    connection
}

/// Reports roles with more hires than positions or with a wrong count of hires, and keys with a wrong count of usage
/// rows.
fn wrong_counts(file: &Connection) -> Vec<String> {
    let roles =
        "SELECT r.id, 'positions ' || r.positions || ', hired ' || r.hired || ', applications hired ' || count(a.id)
                 FROM roles r
                 LEFT JOIN candidate_roles a ON a.role_id = r.id AND a.status = 'Hired'
                 GROUP BY r.id
                 HAVING count(a.id) > r.positions OR count(a.id) <> r.hired";
    let keys = "SELECT k.name, 'rows ' || count(*) || ', the last is number ' || max(u.number)
                FROM api_keys k
                JOIN api_key_usage u ON u.key_number = k.number
                GROUP BY k.number
                HAVING count(*) <> max(u.number)";
    [roles, keys].into_iter().flat_map(|sql| pairs(file, sql)).map(|(id, counts)| format!("{id}: {counts}")).collect()
}

/// Returns the usage rows of this test's requests: key, method and path, by user agent.
fn usage_rows(file: &Connection) -> Rows {
    let sql = "SELECT u.user_agent, k.name || '|' || u.method || '|' || u.path
               FROM api_key_usage u
               JOIN api_keys k ON k.number = u.key_number
               WHERE u.user_agent LIKE 'crash/%'";
    let mut rows = Rows::new();
    for (agent, row) in all(file, sql) {
        rows.entry(agent).or_default().push(row);
    }
    rows
}

/// Returns every application, in the form of [`ApplicationState::row`].
fn applications(file: &Connection) -> HashMap<String, String> {
    pairs(
        file,
        "SELECT a.id, a.status || '|' || first.status || '|' || last.status || '|'
           || coalesce(first.rejection_reason, '-') || '|' || coalesce(v.count, 0) || '|' || coalesce(d.count, 0)
         FROM candidate_roles a
         JOIN candidate_role_steps first ON first.candidate_role_id = a.id AND first.step_order = 1
         JOIN candidate_role_steps last ON last.candidate_role_id = a.id AND last.step_order = 2
         LEFT JOIN (SELECT candidate_role_id, count(*) AS count FROM activities GROUP BY candidate_role_id) v
           ON v.candidate_role_id = a.id
         LEFT JOIN (
           SELECT candidate_role_id, count(*) AS count
           FROM (
             SELECT candidate_role_id FROM hr_deliveries
             UNION ALL
             SELECT pending.candidate_role_id
             FROM activities pending
             JOIN hr_integrations h ON h.organization_id = pending.organization_id
             WHERE pending.number > (SELECT activity_number FROM hr_intake)
               AND pending.action IN ('candidate_step.hired', 'candidate_step.hire_reversed')
           )
           GROUP BY candidate_role_id
         ) d ON d.candidate_role_id = a.id",
    )
}

fn pairs(file: &Connection, sql: &str) -> HashMap<String, String> {
    all(file, sql).into_iter().collect()
}

fn all(file: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}
