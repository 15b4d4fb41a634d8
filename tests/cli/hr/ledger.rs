//! Compares the answers to hires, the messages at the receiver, and the file.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::fixture::path_of;
use super::load::{DecidedApplication, Outcome};
use super::receiver::Arrival;

/// A delivery in the file.
struct Delivery {
    id: String,
    organization_id: String,
    application_id: String,
    event: String,
    payload: String,
    state: String,
    attempts: u32,
    /// The number of recorded attempts.
    recorded: u32,
    /// The position of the first accepted attempt among all attempts, counted from 1.
    accepted: Option<u32>,
}

/// All data of a run, after the last delivery has arrived.
pub(crate) struct Ledger<'a> {
    decided: &'a [DecidedApplication],
    arrivals: &'a [Arrival],
    /// The deliveries in the file, in the order of the queue.
    deliveries: Vec<Delivery>,
    /// The recorded actions of each application, in order.
    actions: HashMap<String, Vec<String>>,
    /// The status of each application.
    statuses: HashMap<String, String>,
}

const DELIVERIES: &str = "SELECT d.id, d.organization_id, d.candidate_role_id, d.type, d.payload, d.state, d.attempts,
       count(a.number), min(CASE WHEN a.status BETWEEN 200 AND 299 AND a.error IS NULL THEN a.number END)
     FROM hr_deliveries d
     LEFT JOIN hr_attempts a ON a.delivery_number = d.number
     GROUP BY d.number
     ORDER BY d.number";

impl<'a> Ledger<'a> {
    pub(crate) fn read(db: &Path, decided: &'a [DecidedApplication], arrivals: &'a [Arrival]) -> Self {
        let file = Connection::open_with_flags(db, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        let mut statement = file.prepare(DELIVERIES).unwrap();
        let deliveries = statement.query_map([], |row| {
            Ok(Delivery {
                id: row.get(0)?,
                organization_id: row.get(1)?,
                application_id: row.get(2)?,
                event: row.get(3)?,
                payload: row.get(4)?,
                state: row.get(5)?,
                attempts: row.get(6)?,
                recorded: row.get(7)?,
                accepted: row.get(8)?,
            })
        });
        let deliveries = deliveries.unwrap().map(Result::unwrap).collect();
        let mut actions: HashMap<String, Vec<String>> = HashMap::new();
        for (application, action) in pairs(
            &file,
            "SELECT candidate_role_id, action FROM activities WHERE candidate_role_id IS NOT NULL ORDER BY rowid",
        ) {
            actions.entry(application).or_default().push(action);
        }
        let statuses = pairs(&file, "SELECT id, status FROM candidate_roles").into_iter().collect();
        Self { decided, arrivals, deliveries, actions, statuses }
    }

    /// Returns everything that is wrong. At most `attempts_lost_max` attempts may be missing from the record.
    pub(crate) fn findings(&self, attempts_lost_max: usize) -> Vec<String> {
        let mut findings = self.answers();
        findings.extend(self.queue());
        findings.extend(self.every_delivery());
        findings.extend(self.every_arrival());
        findings.extend(self.order());
        findings.extend(self.attempts(attempts_lost_max));
        findings
    }

    /// Checks that each answered decision is in the file. Catches an answer that is sent before its commit.
    fn answers(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for DecidedApplication { application_id, hire, reversal } in self.decided {
            let status = self.statuses[application_id].as_str();
            let may_be: &[&str] = match (hire, reversal) {
                (Outcome::Wrong(_), _) | (_, Some(Outcome::Wrong(_))) => &[],
                (_, Some(Outcome::Made)) => &["Not Selected"],
                (Outcome::Made | Outcome::CreatedBefore, None) => &["Hired"],
                (Outcome::Made | Outcome::CreatedBefore, Some(_)) => &["Hired", "Not Selected"],
                (Outcome::Lost, None) => &["Hired", "In Progress"],
                (Outcome::Lost, Some(_)) => &["Hired", "In Progress", "Not Selected"],
            };
            let is_hired = self.actions.get(application_id).is_some_and(|all| all[0] == "candidate_step.hired");
            if !may_be.contains(&status) || (*hire != Outcome::Lost && !is_hired) {
                findings.push(format!("{application_id} is {status}; the answers were {hire:?}, {reversal:?}"));
            }
        }
        findings
    }

    /// Checks that the file has exactly one message for each hire and each reversal, and no other message. Catches a
    /// message that is queued outside the transaction of its decision, and one that is queued again when a client
    /// repeats a hire.
    fn queue(&self) -> Vec<String> {
        let mut queued: HashMap<&str, Vec<&str>> = HashMap::new();
        for delivery in &self.deliveries {
            queued.entry(&delivery.application_id).or_default().push(&delivery.event);
        }
        let mut findings = Vec::new();
        for application in self.statuses.keys() {
            let actions: Vec<&str> = self.actions.get(application).into_iter().flatten().map(String::as_str).collect();
            let owed: &[&str] = match actions[..] {
                ["candidate_step.hired"] => &["candidate.hired"],
                ["candidate_step.hired", "candidate_step.hire_reversed"] => {
                    &["candidate.hired", "candidate.hire_reversed"]
                }
                [] | ["candidate_step.rejected"] => &[],
                _ => &["anything else"],
            };
            let queued = queued.remove(application.as_str()).unwrap_or_default();
            if queued != owed {
                findings.push(format!("{application}: recorded actions {actions:?}, queued messages {queued:?}"));
            }
        }
        findings
    }

    /// Checks that each message in the file arrived and was accepted. Catches a message that is never sent, one that a
    /// kill loses, and one that is recorded as delivered too early: before it is sent, without an answer, or after the
    /// status line alone.
    fn every_delivery(&self) -> Vec<String> {
        let mut accepted: HashMap<String, bool> = HashMap::new();
        for arrival in self.arrivals {
            *accepted.entry(arrival.message.id()).or_default() |= arrival.accepted.is_some();
        }
        let describe = |delivery: &Delivery| {
            let fault = match accepted.get(&delivery.id) {
                _ if delivery.state != "delivered" => format!("is {}", delivery.state),
                None => "never arrived".to_owned(),
                Some(false) => "was never accepted".to_owned(),
                Some(true) => return None,
            };
            Some(format!("{} {} of {} {fault}", delivery.event, delivery.id, delivery.application_id))
        };
        self.deliveries.iter().filter_map(describe).collect()
    }

    /// Checks that each message that arrived is in the file with the same bytes, is signed, and went to its
    /// organization's URL. Catches an id or a body that changes between attempts, and a message that is sent before the
    /// commit of its decision or despite a rollback. Also catches a signature over other bytes, with another secret, or
    /// with an old time.
    fn every_arrival(&self) -> Vec<String> {
        let known: HashMap<&str, &Delivery> = self.deliveries.iter().map(|one| (one.id.as_str(), one)).collect();
        let describe = |arrival: &Arrival| {
            let (id, target) = (arrival.message.id(), &arrival.message.target);
            let fault = match (known.get(id.as_str()), &arrival.verified) {
                (_, Err(why)) => format!("does not verify: {why}"),
                (None, _) => "is not in the file".to_owned(),
                (Some(one), _) if one.payload.as_bytes() != arrival.message.body => "has another body".to_owned(),
                (Some(one), _) if path_of(&one.organization_id) != *target => format!("arrived at {target}"),
                _ => return None,
            };
            Some(format!("the message {id:?} {fault}: {}", String::from_utf8_lossy(&arrival.message.body)))
        };
        self.arrivals.iter().filter_map(describe).collect()
    }

    /// Checks that each message arrived after all earlier messages of its application were accepted, and that no
    /// earlier message arrived after a later one. Catches a delivery that does not wait for an earlier one that failed,
    /// was interrupted or is retried by an admin.
    fn order(&self) -> Vec<String> {
        let mut arrivals_of: HashMap<String, Vec<&Arrival>> = HashMap::new();
        self.arrivals.iter().for_each(|arrival| arrivals_of.entry(arrival.message.id()).or_default().push(arrival));
        let arrivals_of = |delivery: &Delivery| arrivals_of.get(&delivery.id).cloned().unwrap_or_default();
        let mut findings = Vec::new();
        let mut before: HashMap<&str, &Delivery> = HashMap::new();
        for later in &self.deliveries {
            let Some(earlier) = before.insert(&later.application_id, later) else { continue };
            let accepted = arrivals_of(earlier).iter().filter_map(|arrival| arrival.accepted).min();
            let last = arrivals_of(earlier).iter().map(|arrival| arrival.connected).max();
            let first = arrivals_of(later).iter().map(|arrival| arrival.connected).min();
            // A missing time means that a message did not arrive or was not accepted, which is another finding.
            if let (Some(accepted), Some(last), Some(first)) = (accepted, last, first)
                && (first < accepted || first < last)
            {
                let (earlier, later) = (&earlier.id, &later.id);
                findings.push(format!(
                    "{later} arrived at {first}; {earlier}, the one before it, arrived last at {last} and was accepted at \
                     {accepted}"
                ));
            }
        }
        findings
    }

    /// Checks that each attempt is recorded, except attempts that a kill interrupted, and that the accepted attempt is
    /// the last. Catches attempts that are not recorded, which would make the schedule endless. Also catches parallel
    /// attempts for one organization, and a delivery that is sent again after it was recorded as delivered.
    fn attempts(&self, lost_max: usize) -> Vec<String> {
        let mut findings = Vec::new();
        for Delivery { id, attempts, recorded, accepted, .. } in &self.deliveries {
            if attempts != recorded || *accepted != Some(*attempts) {
                findings.push(format!("{id}: {attempts} attempts, {recorded} recorded, accepted number {accepted:?}"));
            }
        }
        let made = self.deliveries.iter().map(|delivery| usize::try_from(delivery.attempts).unwrap()).sum::<usize>();
        if self.arrivals.len() > made + lost_max {
            findings.push(format!("{} messages arrived from {made} attempts", self.arrivals.len()));
        }
        findings
    }

    /// Checks that each kind of event has happened, because the test must cover all of them.
    pub(crate) fn require_variety(&self) {
        let hires = |matches: fn(&DecidedApplication) -> bool| {
            self.decided.iter().filter(|application| matches(application)).count()
        };
        let events = |event: &str| self.deliveries.iter().filter(|delivery| delivery.event == event).count();
        let accepted = self.arrivals.iter().filter(|arrival| arrival.accepted.is_some()).count();
        let tally = BTreeMap::from([
            ("hires answered", hires(|application| application.hire == Outcome::Made)),
            (
                "hires without an answer",
                hires(|application| matches!(application.hire, Outcome::Lost | Outcome::CreatedBefore)),
            ),
            ("hires delivered", events("candidate.hired")),
            ("reversals delivered", events("candidate.hire_reversed")),
            ("messages", self.arrivals.len()),
            ("messages accepted more than once", accepted - self.deliveries.len()),
        ]);
        let made_before = hires(|application| application.hire == Outcome::CreatedBefore);
        println!("{tally:?}, {made_before} hires had already been made when their clients repeated them");
        assert!(tally.values().all(|count| *count > 0), "{tally:?}");
    }
}

fn pairs(file: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}
