//! Sends hires, and reverses some of them, on several connections while the service is killed and started again.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use super::admin::NOTE;
use super::client::{Client, Request};
use super::company::Application;
use super::fixture::Fixture;
use super::kill_point::{KillPoint, Trigger};
use super::service::PATIENCE;

const CONNECTIONS: usize = 12;

/// Each connection reverses one in this many hires.
const REVERSED_EVERY: usize = 3;

/// Each connection repeats one in this many hires if the answer was lost.
const REPEATED_EVERY: usize = 2;

/// The outcome of a decision, as its client knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The service answered that the decision was made.
    Made,
    /// The client repeated the decision, and the service answered that it had been made before.
    CreatedBefore,
    /// The connection ended before the answer was complete. The request may have been sent partially.
    Lost,
    /// The service answered with this wrong status.
    Wrong(u16),
}

/// An application and the outcomes of its decisions.
#[derive(Debug, Clone)]
pub(crate) struct DecidedApplication {
    pub(crate) application_id: String,
    pub(crate) hire: Outcome,
    pub(crate) reversal: Option<Outcome>,
}

struct State {
    /// The address of the service, or `None` while it is down.
    address: Option<SocketAddr>,
    /// The number of hires that may still begin.
    allowed: usize,
    is_ending: bool,
}

struct Shared {
    fixture: Arc<Fixture>,
    trigger: Arc<Trigger>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The connections that send decisions.
pub(crate) struct Load {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<Vec<DecidedApplication>>>,
}

impl Load {
    /// Starts the connections, which wait for [`Load::allow`].
    pub(crate) fn start(fixture: &Arc<Fixture>, trigger: &Arc<Trigger>) -> Self {
        let state = Mutex::new(State { address: None, allowed: 0, is_ending: false });
        let (fixture, trigger) = (Arc::clone(fixture), Arc::clone(trigger));
        let shared = Arc::new(Shared { fixture, trigger, state, changed: Condvar::new() });
        let worker = |number| {
            let mut worker = Worker { number, shared: Arc::clone(&shared), client: None };
            std::thread::spawn(move || worker.run())
        };
        Self { workers: (0..CONNECTIONS).map(worker).collect(), shared }
    }

    /// Allows this many more hires.
    pub(crate) fn allow(&self, hires: usize) {
        self.change(|state| state.allowed += hires);
    }

    /// Sets the address of the service, or `None` after a kill.
    pub(crate) fn set_service_address(&self, address: Option<SocketAddr>) {
        self.change(|state| state.address = address);
    }

    /// Waits until all allowed hires are done, and returns their outcomes.
    pub(crate) fn finish(&mut self) -> Vec<DecidedApplication> {
        self.change(|state| state.is_ending = true);
        self.workers.drain(..).flat_map(|worker| worker.join().unwrap()).collect()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.shared.state.lock().unwrap());
        self.shared.changed.notify_all();
    }
}

struct Worker {
    number: usize,
    shared: Arc<Shared>,
    client: Option<(SocketAddr, Client)>,
}

impl Worker {
    fn run(&mut self) -> Vec<DecidedApplication> {
        let mut decided = Vec::new();
        while self.may_begin() {
            let fixture = Arc::clone(&self.shared.fixture);
            let Application { id, steps, .. } =
                fixture.company.organization_of(self.number).take_uncontested().unwrap();
            let body = json!({ "notes": format!("{NOTE} {id}") });
            let mut hire = self.decide(&steps[1], "hire", &body);
            if hire == Outcome::Lost && decided.len() % REPEATED_EVERY == 0 {
                hire = self.repeat(&steps[1], &body);
            }
            // The reversal follows even if the outcome of the hire is unknown. The file then shows the result of both.
            let is_reversed = decided.len() % REVERSED_EVERY == 0;
            let body = json!({ "outcomeNotes": NOTE });
            let reversal = is_reversed.then(|| self.decide(&steps[0], "reject", &body));
            decided.push(DecidedApplication { application_id: id, hire, reversal });
        }
        decided
    }

    /// Waits until one more hire is allowed. Returns `false` if no further hire will be allowed.
    fn may_begin(&self) -> bool {
        let waits = |state: &mut State| state.allowed == 0 && !state.is_ending;
        let state = self.shared.state.lock().unwrap();
        let mut state = self.shared.changed.wait_timeout_while(state, PATIENCE, waits).unwrap().0;
        let may = state.allowed > 0;
        state.allowed -= usize::from(may);
        may
    }

    /// Repeats a hire, as a client does if it received no answer. Either this request or an earlier one makes the hire.
    fn repeat(&mut self, step: &str, body: &Value) -> Outcome {
        loop {
            match self.decide(step, "hire", body) {
                Outcome::Lost => {}
                Outcome::Wrong(409) => return Outcome::CreatedBefore,
                outcome => return outcome,
            }
        }
    }

    /// Waits for the service and sends a decision.
    fn decide(&mut self, step: &str, decision: &str, body: &Value) -> Outcome {
        let path = format!("/api/v1/candidate-steps/{step}/{decision}");
        let request = Request::new("POST", &path).with_key(&self.shared.fixture.admin_key).with_body(body);
        let (address, mut client) = self.connected();
        if client.send(&request).is_err() {
            return Outcome::Lost;
        }
        self.shared.trigger.reached(KillPoint::Sent);
        let Ok(answer) = client.receive() else { return Outcome::Lost };
        self.shared.trigger.reached(KillPoint::Decided);
        self.client = Some((address, client));
        if answer.status == 200 { Outcome::Made } else { Outcome::Wrong(answer.status) }
    }

    /// Returns the previous connection if the current service is at its other end, or a new connection.
    fn connected(&mut self) -> (SocketAddr, Client) {
        let mut refused = None;
        loop {
            let is_not_there = |state: &mut State| {
                // After a kill, the same address can belong to the next service.
                refused = refused.filter(|_| state.address.is_some());
                state.address.is_none() || state.address == refused
            };
            let state = self.shared.state.lock().unwrap();
            let state = self.shared.changed.wait_timeout_while(state, PATIENCE, is_not_there).unwrap().0;
            let address = state.address.expect("the service is started again");
            drop(state);
            if let Some(open) = self.client.take().filter(|(known, _)| *known == address) {
                return open;
            }
            match Client::connect(address) {
                Ok(client) => return (address, client),
                // The service was killed, and its address has not been cleared yet.
                Err(_) => refused = Some(address),
            }
        }
    }
}
