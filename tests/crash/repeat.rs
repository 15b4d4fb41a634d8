//! Hires that are sent again after a kill, under the `Idempotency-Key` that each had: the answers that were given are given
//! again, and what was never answered is done once.

use std::collections::HashSet;
use std::path::Path;

use super::client::{Answer, Client};
use super::history;
use super::load::{Ask, Crash, Record};
use super::service::Service;

/// What came of sending again.
#[derive(Default)]
pub(crate) struct Repeats {
    /// The hires that had no answer, with the answers that they have now.
    pub(crate) answered: Vec<Record>,
    pub(crate) findings: Vec<String>,
    tally: Tally,
}

/// How often what is worth testing has happened.
#[derive(Debug, Default)]
struct Tally {
    /// Answers that the client had received before the kill.
    known: usize,
    /// Requests that were done before the kill, though nobody learned of it.
    done: usize,
    /// Requests that were lost with the kill.
    lost: usize,
}

impl Repeats {
    /// Sends every hire of a crash again: those with an answer once, those without twice.
    pub(crate) fn send(&mut self, service: &Service, db: &Path, keys: &[String], crash: &Crash) {
        self.answered.clear();
        let mut client = Client::connect(service.address).unwrap();
        let logged: HashSet<String> = history::agents(db);
        let mut ask = |record: &Record, agent: &str| client.ask(&record.repeat(&keys[record.key], agent)).unwrap();
        for record in crash.answered.iter().filter(|record| is_hire(record)) {
            let first = record.answer.as_ref().expect("it was answered");
            // By an agent that the history does not look for: it did nothing.
            let second = ask(record, "again");
            self.require_same(record, first, &second);
            self.tally.known += 1;
        }
        for record in crash.unanswered.iter().filter(|record| is_hire(record)) {
            let agent = format!("{}/again", record.agent);
            let first = ask(record, &agent);
            let was_done = logged.contains(&record.agent);
            if first.is_replayed != was_done {
                let told = (first.is_replayed, was_done);
                self.findings.push(format!("{}: given an earlier answer, done before: {told:?}", record.agent));
            }
            let second = ask(record, "again");
            self.require_same(record, &first, &second);
            *if was_done { &mut self.tally.done } else { &mut self.tally.lost } += 1;
            self.answered.push(Record { agent, answer: Some(first), ..record.clone() });
        }
    }

    /// That the run has had something of everything, so that it has shown something.
    pub(crate) fn require_variety(&self) {
        println!("{:?}", self.tally);
        let Tally { known, done, lost } = self.tally;
        assert!(known > 0 && done > 0 && lost > 0, "{:?}", self.tally);
    }

    fn require_same(&mut self, record: &Record, first: &Answer, second: &Answer) {
        let same = second.is_replayed && first.status == second.status && unnamed(first) == unnamed(second);
        if !same {
            self.findings.push(format!("{}: answered {first:?} and then {second:?}", record.agent));
        }
    }
}

fn is_hire(record: &Record) -> bool {
    matches!(record.ask, Ask::Hire(_))
}

/// The body of an answer, but for the id of the request that a problem names.
fn unnamed(answer: &Answer) -> serde_json::Value {
    let mut body = answer.json();
    if answer.status >= 400 {
        body["requestId"].take();
    }
    body
}
