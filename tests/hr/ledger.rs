//! What was answered, what came to the receiver and what is in the file, held against each other.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::load::{Fate, Outcome};
use crate::receiver::Arrival;
use crate::setting::path_of;

/// A delivery in the file.
struct Delivery {
    id: String,
    organization_id: String,
    application_id: String,
    event: String,
    payload: String,
    state: String,
    attempts: u32,
    /// How many attempts are recorded, and the number of the first that was accepted.
    recorded: u32,
    accepted: Option<u32>,
}

/// Everything after the last delivery has arrived.
pub(crate) struct Ledger<'a> {
    fates: &'a [Fate],
    arrivals: &'a [Arrival],
    /// In the order in which they were queued.
    deliveries: Vec<Delivery>,
    /// The actions that are on record for each application, in order.
    actions: HashMap<String, Vec<String>>,
    /// Where each application is.
    statuses: HashMap<String, String>,
}

const DELIVERIES: &str = "SELECT d.id, d.organization_id, d.candidate_role_id, d.type, d.payload, d.state, d.attempts,
       count(a.number), min(CASE WHEN a.status BETWEEN 200 AND 299 AND a.error IS NULL THEN a.number END)
     FROM hr_deliveries d
     LEFT JOIN hr_attempts a ON a.delivery_number = d.number
     GROUP BY d.number
     ORDER BY d.number";

impl<'a> Ledger<'a> {
    pub(crate) fn read(db: &Path, fates: &'a [Fate], arrivals: &'a [Arrival]) -> Self {
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
        Self { fates, arrivals, deliveries, actions, statuses }
    }

    /// Everything that is not as it should be. `attempts_lost_max` is how many attempts may not be on record.
    pub(crate) fn findings(&self, attempts_lost_max: usize) -> Vec<String> {
        let mut findings = self.answers();
        findings.extend(self.queue());
        findings.extend(self.every_delivery());
        findings.extend(self.every_arrival());
        findings.extend(self.order());
        findings.extend(self.attempts(attempts_lost_max));
        findings
    }

    /// What was answered is in the file. Catches an answer that goes out before its commit.
    fn answers(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for Fate { application_id, hire, reversal } in self.fates {
            let status = self.statuses[application_id].as_str();
            let may_be: &[&str] = match (hire, reversal) {
                (Outcome::Wrong(_), _) | (_, Some(Outcome::Wrong(_))) => &[],
                (_, Some(Outcome::Made)) => &["Not Selected"],
                (Outcome::Made | Outcome::MadeBefore, None) => &["Hired"],
                (Outcome::Made | Outcome::MadeBefore, Some(_)) => &["Hired", "Not Selected"],
                (Outcome::Lost, None) => &["Hired", "In Progress"],
                (Outcome::Lost, Some(_)) => &["Hired", "In Progress", "Not Selected"],
            };
            let is_hired = self.actions.get(application_id).is_some_and(|all| all[0] == "candidate_step.hired");
            if !may_be.contains(&status) || (*hire != Outcome::Lost && !is_hired) {
                findings.push(format!("{application_id} is {status}, answered was {hire:?}, {reversal:?}"));
            }
        }
        findings
    }

    /// Each hire and each reversal of one in the file has its message there, once, and nothing else has one. Catches a
    /// message that is queued outside the decision's transaction, before it or after, or twice when a hire is repeated.
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
                findings.push(format!("{application}: {actions:?} are on record, queued are {queued:?}"));
            }
        }
        findings
    }

    /// Each message in the file came, and was accepted. Catches one that is lost when the service is killed, that is
    /// recorded as delivered before it is sent, on a status alone, or without an answer, and one that is forgotten.
    fn every_delivery(&self) -> Vec<String> {
        let mut accepted: HashMap<String, bool> = HashMap::new();
        for arrival in self.arrivals {
            *accepted.entry(arrival.message.id()).or_default() |= arrival.accepted.is_some();
        }
        let describe = |delivery: &Delivery| {
            let what = match accepted.get(&delivery.id) {
                _ if delivery.state != "delivered" => format!("is {}", delivery.state),
                None => "never came".to_owned(),
                Some(false) => "was never accepted".to_owned(),
                Some(true) => return None,
            };
            Some(format!("{} {} of {} {what}", delivery.event, delivery.id, delivery.application_id))
        };
        self.deliveries.iter().filter_map(describe).collect()
    }

    /// Each message that came is one of the file, byte by byte, signed, and at its organization's address. Catches an
    /// id or a body that is made anew at each attempt, a message that is sent before its decision is committed or
    /// though that is rolled back, a signature over other bytes or with another's secret, and an old time.
    fn every_arrival(&self) -> Vec<String> {
        let known: HashMap<&str, &Delivery> = self.deliveries.iter().map(|one| (one.id.as_str(), one)).collect();
        let describe = |arrival: &Arrival| {
            let (id, target) = (arrival.message.id(), &arrival.message.target);
            let what = match (known.get(id.as_str()), &arrival.verified) {
                (_, Err(why)) => format!("does not verify: {why}"),
                (None, _) => "is not in the file".to_owned(),
                (Some(one), _) if one.payload.as_bytes() != arrival.message.body => "has another body".to_owned(),
                (Some(one), _) if path_of(&one.organization_id) != *target => format!("came to {target}"),
                _ => return None,
            };
            Some(format!("the message {id:?} {what}: {}", String::from_utf8_lossy(&arrival.message.body)))
        };
        self.arrivals.iter().filter_map(describe).collect()
    }

    /// Nothing came before everything earlier of its application was accepted, and nothing earlier came after it.
    /// Catches a later delivery that does not wait for an earlier one that failed, was cut off, or is retried by hand.
    fn order(&self) -> Vec<String> {
        let mut came: HashMap<String, Vec<&Arrival>> = HashMap::new();
        self.arrivals.iter().for_each(|arrival| came.entry(arrival.message.id()).or_default().push(arrival));
        let came = |delivery: &Delivery| came.get(&delivery.id).cloned().unwrap_or_default();
        let mut findings = Vec::new();
        let mut before: HashMap<&str, &Delivery> = HashMap::new();
        for later in &self.deliveries {
            let Some(earlier) = before.insert(&later.application_id, later) else { continue };
            let accepted = came(earlier).iter().filter_map(|arrival| arrival.accepted).min();
            let last = came(earlier).iter().map(|arrival| arrival.connected).max();
            let first = came(later).iter().map(|arrival| arrival.connected).min();
            // Without a time nothing came, which is another finding.
            if let (Some(accepted), Some(last), Some(first)) = (accepted, last, first)
                && (first < accepted || first < last)
            {
                let (earlier, later) = (&earlier.id, &later.id);
                findings.push(format!(
                    "{later} came at {first}; {earlier}, the one before it, came at {last} for the last time and was \
                     accepted at {accepted}"
                ));
            }
        }
        findings
    }

    /// Each attempt is on record, but for those that a kill cut off, and the one that was accepted is the last. Catches
    /// attempts that are forgotten, so that the schedule never ends, several at once for one organization, and a
    /// delivery that is sent again after it was recorded as delivered.
    fn attempts(&self, lost_max: usize) -> Vec<String> {
        let mut findings = Vec::new();
        for Delivery { id, attempts, recorded, accepted, .. } in &self.deliveries {
            if attempts != recorded || *accepted != Some(*attempts) {
                findings.push(format!("{id}: {attempts} attempts, {recorded} on record, accepted was {accepted:?}"));
            }
        }
        let made = self.deliveries.iter().map(|delivery| usize::try_from(delivery.attempts).unwrap()).sum::<usize>();
        if self.arrivals.len() > made + lost_max {
            findings.push(format!("{} messages came, of {made} attempts", self.arrivals.len()));
        }
        findings
    }

    /// That the run has had something of everything, so that it has shown something.
    pub(crate) fn require_variety(&self) {
        let hires = |is_so: fn(&Fate) -> bool| self.fates.iter().filter(|fate| is_so(fate)).count();
        let events = |event: &str| self.deliveries.iter().filter(|delivery| delivery.event == event).count();
        let accepted = self.arrivals.iter().filter(|arrival| arrival.accepted.is_some()).count();
        let tally = BTreeMap::from([
            ("hires answered", hires(|fate| fate.hire == Outcome::Made)),
            ("hires without an answer", hires(|fate| matches!(fate.hire, Outcome::Lost | Outcome::MadeBefore))),
            ("hires delivered", events("candidate.hired")),
            ("reversals delivered", events("candidate.hire_reversed")),
            ("messages", self.arrivals.len()),
            ("messages accepted more than once", accepted - self.deliveries.len()),
        ]);
        let made_before = hires(|fate| fate.hire == Outcome::MadeBefore);
        println!("{tally:?}, {made_before} hires were made already when they were repeated");
        assert!(tally.values().all(|count| *count > 0), "{tally:?}");
    }
}

fn pairs(file: &Connection, sql: &str) -> Vec<(String, String)> {
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    rows.map(Result::unwrap).collect()
}
