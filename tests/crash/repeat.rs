//! Sends hires again after a kill, each with its `Idempotency-Key`. Checks that the service repeats its earlier
//! answers, and carries out an unanswered hire exactly once.

use std::collections::HashSet;
use std::path::Path;

use super::client::{Answer, Client};
use super::history;
use super::load::{Action, Crash, Exchange};
use super::service::Service;

/// The results of sending hires again.
#[derive(Default)]
pub(crate) struct Repeats {
    /// The hires that were unanswered at the kill, with the answers to their repeats.
    pub(crate) answered: Vec<Exchange>,
    pub(crate) findings: Vec<String>,
    tally: Tally,
}

/// Counts the events that the test must cover.
#[derive(Debug, Default)]
struct Tally {
    /// Hires whose answer the client received before the kill.
    known: usize,
    /// Hires that were carried out but not answered before the kill.
    done: usize,
    /// Hires that the kill prevented.
    lost: usize,
}

impl Repeats {
    /// Sends every hire of a crash again: an answered hire once, an unanswered hire twice.
    pub(crate) fn send(&mut self, service: &Service, db: &Path, keys: &[String], crash: &Crash) {
        self.answered.clear();
        let mut client = Client::connect(service.address).unwrap();
        let logged: HashSet<String> = history::agents(db);
        let mut ask =
            |exchange: &Exchange, agent: &str| client.ask(&exchange.repeat(&keys[exchange.key], agent)).unwrap();
        for exchange in crash.answered.iter().filter(|exchange| is_hire(exchange)) {
            let first = exchange.answer.as_ref().expect("the hire was answered");
            // The user agent does not begin with `crash/`, so the history ignores this request, which changes nothing.
            let second = ask(exchange, "again");
            self.require_same(exchange, first, &second);
            self.tally.known += 1;
        }
        for exchange in crash.unanswered.iter().filter(|exchange| is_hire(exchange)) {
            let agent = format!("{}/again", exchange.agent);
            let first = ask(exchange, &agent);
            let was_done = logged.contains(&exchange.agent);
            if first.is_replayed != was_done {
                self.findings.push(format!(
                    "{}: stored response: {}; done before the kill: {was_done}",
                    exchange.agent, first.is_replayed
                ));
            }
            let second = ask(exchange, "again");
            self.require_same(exchange, &first, &second);
            *if was_done { &mut self.tally.done } else { &mut self.tally.lost } += 1;
            self.answered.push(Exchange { agent, answer: Some(first), ..exchange.clone() });
        }
    }

    /// Checks that each kind of event has happened, because the test must cover all of them.
    pub(crate) fn require_variety(&self) {
        println!("{:?}", self.tally);
        let Tally { known, done, lost } = self.tally;
        assert!(known > 0 && done > 0 && lost > 0, "{:?}", self.tally);
    }

    fn require_same(&mut self, exchange: &Exchange, first: &Answer, second: &Answer) {
        let same = second.is_replayed
            && first.status == second.status
            && body_without_request_id(first) == body_without_request_id(second);
        if !same {
            self.findings.push(format!("{}: answered {first:?} and then {second:?}", exchange.agent));
        }
    }
}

fn is_hire(exchange: &Exchange) -> bool {
    matches!(exchange.action, Action::Hire(_))
}

/// Returns the body of an answer without the request id of a problem.
fn body_without_request_id(answer: &Answer) -> serde_json::Value {
    let mut body = answer.json();
    if answer.status >= 400 {
        body["requestId"].take();
    }
    body
}
