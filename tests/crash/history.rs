//! What was answered over all rounds, held against the file.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use rusqlite::Connection;

use super::company::Company;
use super::load::{Ask, Record};

/// What was asked and answered, and what the file must therefore hold.
#[derive(Default)]
pub(crate) struct History {
    /// Every request that a key authenticated, by its user agent.
    requests: BTreeMap<String, Record>,
    /// What became of each application that was decided on.
    fates: HashMap<String, Fate>,
    /// The token of each role that was applied for.
    links: HashMap<String, String>,
    findings: Vec<String>,
    tally: Tally,
}

/// An application as it was answered to be, and as it also may be because a request went unanswered.
#[derive(Debug, Clone)]
struct Fate {
    answered: State,
    open: Option<Open>,
}

#[derive(Debug, Clone)]
struct Open {
    state: State,
    agent: String,
    /// Whether the request can only have done it or not have run: then it has its row exactly where it did it.
    is_certain: bool,
}

/// Rows of the usage log by user agent.
type Rows = HashMap<String, Vec<String>>;

/// Where an application is.
#[derive(Debug, Clone, PartialEq, Eq)]
enum State {
    InProgress,
    Hired,
    Rejected { notes: String, reversed: bool },
}

/// How often what is worth testing has happened.
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

impl State {
    /// The application's status, those of its steps, its notes, its activities and its HR deliveries.
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
    /// Adds what was answered, in the order of the answers, and what was not.
    pub(crate) fn add(&mut self, answered: &[Record], unanswered: &[Record]) {
        for record in answered.iter().chain(unanswered) {
            self.add_decision(record);
            let answer = record.answer.as_ref();
            match (&record.ask, answer.map(|answer| answer.status)) {
                (Ask::Apply { role_id, .. }, Some(200)) => {
                    let link = answer.map(|answer| answer.json()["inviteUrl"].as_str().unwrap_or_default().to_owned());
                    self.add_link(role_id, &link.unwrap_or_default());
                }
                (Ask::Me, Some(200)) => self.tally.calls += 1,
                (Ask::Hire(_) | Ask::Reject { .. }, _) | (_, None) => {}
                (_, Some(status)) => self.findings.push(format!("{} is answered {status}", record.path())),
            }
            if !matches!(record.ask, Ask::Apply { .. }) {
                self.requests.insert(record.agent.clone(), record.clone());
            }
        }
    }

    /// Looks at a file that these requests and no others have changed. What an unanswered request has done, or has
    /// not, holds from now on.
    pub(crate) fn settle(&mut self, db: &Path, company: &Company) -> Vec<String> {
        let file = open(db);
        let (rows, found) = (usage_rows(&file), applications(&file));
        let mut findings = self.differences(&file, &rows, &found);
        for agent in rows.keys().filter(|agent| !self.requests.contains_key(*agent)) {
            findings.push(format!("the usage log has {agent}, which was never sent"));
        }
        for id in company.applications() {
            let row = &found[id];
            let Some(fate) = self.fates.get_mut(id) else {
                if *row != State::InProgress.row() {
                    findings.push(format!("{id}: nothing was asked of it, the file has {row}"));
                }
                continue;
            };
            let Some(open) = fate.open.take() else { continue };
            let (has_done, has_row) = (*row == open.state.row(), rows.contains_key(&open.agent));
            if has_done != has_row && (has_done || open.is_certain) {
                findings.push(format!("{}: done {has_done}, logged {has_row}, which go together", open.agent));
            }
            if has_done {
                fate.answered = open.state;
                self.tally.done_decisions += 1;
            } else {
                self.tally.lost_decisions += 1;
            }
        }
        findings
    }

    /// Looks for everything answered in a file that others may have changed as well.
    pub(crate) fn missing(&mut self, db: &Path) -> Vec<String> {
        let file = open(db);
        self.differences(&file, &usage_rows(&file), &applications(&file))
    }

    /// That the run has had something of everything, so that it has shown something.
    pub(crate) fn require_variety(&self) {
        println!("{:?}", self.tally);
        let Tally { hires, rejections, reversals, full, applications, calls, lost_decisions, done_decisions } =
            self.tally;
        for count in [hires, rejections, reversals, full, applications, calls, lost_decisions, done_decisions] {
            assert!(count > 0, "{:?}", self.tally);
        }
    }

    fn add_decision(&mut self, record: &Record) {
        let (Ask::Hire(application) | Ask::Reject { application, .. }) = &record.ask else { return };
        let fresh = Fate { answered: State::InProgress, open: None };
        let fate = self.fates.entry(application.id.clone()).or_insert(fresh);
        let state = match &record.ask {
            Ask::Reject { notes, .. } => {
                State::Rejected { notes: notes.clone(), reversed: fate.answered == State::Hired }
            }
            _ => State::Hired,
        };
        match record.status() {
            Some(200) => {
                match &state {
                    State::Rejected { reversed: true, .. } => self.tally.reversals += 1,
                    State::Rejected { .. } => self.tally.rejections += 1,
                    _ => self.tally.hires += 1,
                }
                fate.answered = state;
            }
            Some(400) if !application.is_wide && state == State::Hired => self.tally.full += 1,
            Some(status) => self.findings.push(format!("{} is answered {status}", record.path())),
            None => {
                let is_certain = application.is_wide || state != State::Hired;
                fate.open = Some(Open { state, agent: record.agent.clone(), is_certain });
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

    fn differences(&mut self, file: &Connection, rows: &Rows, found: &HashMap<String, String>) -> Vec<String> {
        let mut findings = std::mem::take(&mut self.findings);
        for (agent, record) in &self.requests {
            let expected = format!("key-{}|{}|{}", record.key, record.method(), record.path());
            match rows.get(agent).map(Vec::as_slice) {
                Some([row]) if *row == expected => {}
                Some(rows) => findings.push(format!("{agent} is logged as {rows:?}, not as {expected}")),
                None if record.answer.is_none() => {}
                None => findings.push(format!("{agent} was answered, the usage log has no row of it")),
            }
        }
        for (id, fate) in &self.fates {
            let row = &found[id];
            let is_open = fate.open.as_ref().is_some_and(|open| *row == open.state.row());
            if *row != fate.answered.row() && !is_open {
                findings.push(format!("{id}: answered was {}, the file has {row}", fate.answered.row()));
            }
        }
        let links = pairs(file, "SELECT role_id, group_concat(token) FROM invitations GROUP BY role_id");
        for (role_id, token) in &self.links {
            if links.get(role_id) != Some(token) {
                findings.push(format!("{role_id}: answered was {token}, the file has {:?}", links.get(role_id)));
            }
        }
        findings.extend(figures(file));
        findings
    }
}

/// The agents of all requests that have a row in the usage log.
pub(crate) fn agents(db: &Path) -> HashSet<String> {
    usage_rows(&open(db)).into_keys().collect()
}

/// Moves the write-ahead log into the file, so that the next round begins a new one.
pub(crate) fn checkpoint(db: &Path) {
    open(db).query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).unwrap();
}

fn open(db: &Path) -> Connection {
    let connection = Connection::open(db).unwrap();
    connection.busy_timeout(super::service::PATIENCE).unwrap();
    connection
}

/// Roles that have more hired than they may, or than they say; keys whose count is not that of their rows.
fn figures(file: &Connection) -> Vec<String> {
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
    [roles, keys].into_iter().flat_map(|sql| pairs(file, sql)).map(|(id, figures)| format!("{id}: {figures}")).collect()
}

/// The rows that a load's requests have, by user agent: key, method, path.
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

/// Every application, as [`State::row`] has it.
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
             SELECT untold.candidate_role_id
             FROM activities untold
             JOIN hr_integrations h ON h.organization_id = untold.organization_id
             WHERE untold.number > (SELECT activity_number FROM hr_intake)
               AND untold.action IN ('candidate_step.hired', 'candidate_step.hire_reversed')
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
