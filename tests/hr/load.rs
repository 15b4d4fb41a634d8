//! Hires, some of them reversed, by several connections, whatever becomes of the service meanwhile.

use std::net::SocketAddr;
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

use serde_json::{Value, json};

use crate::admin::NOTE;
use crate::client::{Client, Request};
use crate::company::Application;
use crate::moment::{Moment, Trigger};
use crate::service::PATIENCE;
use crate::setting::Setting;

const CONNECTIONS: usize = 12;

/// Every so many-th hire is reversed afterwards.
const REVERSED_EVERY: usize = 3;

/// Every so many-th hire is asked for again where its answer was lost.
const REPEATED_EVERY: usize = 2;

/// What became of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was answered that it is made.
    Made,
    /// It was sent again, and answered that it is made already.
    MadeBefore,
    /// It was sent, completely or not, and the connection ended before the answer was whole.
    Lost,
    /// It was answered with this, which is wrong.
    Wrong(u16),
}

/// What was asked for an application, and what became of it.
#[derive(Debug, Clone)]
pub(crate) struct Fate {
    pub(crate) application_id: String,
    pub(crate) hire: Outcome,
    pub(crate) reversal: Option<Outcome>,
}

struct State {
    /// Where the service is; `None` while it is down.
    address: Option<SocketAddr>,
    /// How many hires may still begin.
    allowed: usize,
    is_ending: bool,
}

struct Shared {
    setting: Arc<Setting>,
    trigger: Arc<Trigger>,
    state: Mutex<State>,
    changed: Condvar,
}

/// The connections.
pub(crate) struct Load {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<Vec<Fate>>>,
}

impl Load {
    /// Connections that do nothing until they may.
    pub(crate) fn start(setting: &Arc<Setting>, trigger: &Arc<Trigger>) -> Self {
        let state = Mutex::new(State { address: None, allowed: 0, is_ending: false });
        let (setting, trigger) = (Arc::clone(setting), Arc::clone(trigger));
        let shared = Arc::new(Shared { setting, trigger, state, changed: Condvar::new() });
        let worker = |number| {
            let mut worker = Worker { number, shared: Arc::clone(&shared), client: None };
            std::thread::spawn(move || worker.run())
        };
        Self { workers: (0..CONNECTIONS).map(worker).collect(), shared }
    }

    /// So many hires more may begin.
    pub(crate) fn allow(&self, hires: usize) {
        self.change(|state| state.allowed += hires);
    }

    /// Where the service is now; `None` where it was killed.
    pub(crate) fn service_is_at(&self, address: Option<SocketAddr>) {
        self.change(|state| state.address = address);
    }

    /// What became of everything, once all that was allowed is done.
    pub(crate) fn finish(&mut self) -> Vec<Fate> {
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
    fn run(&mut self) -> Vec<Fate> {
        let mut fates = Vec::new();
        while self.may_begin() {
            let setting = Arc::clone(&self.shared.setting);
            let Application { id, steps, .. } = setting.company.organization_of(self.number).take_wide().unwrap();
            let body = json!({ "notes": format!("{NOTE} {id}") });
            let mut hire = self.decide(&steps[1], "hire", &body);
            if hire == Outcome::Lost && fates.len() % REPEATED_EVERY == 0 {
                hire = self.repeat(&steps[1], &body);
            }
            // Also where it is not known whether there was a hire: what the service makes of both is in the file.
            let is_reversed = fates.len() % REVERSED_EVERY == 0;
            let body = json!({ "outcomeNotes": NOTE });
            let reversal = is_reversed.then(|| self.decide(&steps[0], "reject", &body));
            fates.push(Fate { application_id: id, hire, reversal });
        }
        fates
    }

    /// Waits for leave to hire one more; `false` where there is none to come.
    fn may_begin(&self) -> bool {
        let waits = |state: &mut State| state.allowed == 0 && !state.is_ending;
        let state = self.shared.state.lock().unwrap();
        let mut state = self.shared.changed.wait_timeout_while(state, PATIENCE, waits).unwrap().0;
        let may = state.allowed > 0;
        state.allowed -= usize::from(may);
        may
    }

    /// The same hire again, as a client does that got no answer: it is made now, or it was the first time.
    fn repeat(&mut self, step: &str, body: &Value) -> Outcome {
        loop {
            match self.decide(step, "hire", body) {
                Outcome::Lost => {}
                Outcome::Wrong(409) => return Outcome::MadeBefore,
                outcome => return outcome,
            }
        }
    }

    /// Sends a decision, once the service is there.
    fn decide(&mut self, step: &str, decision: &str, body: &Value) -> Outcome {
        let path = format!("/api/v1/candidate-steps/{step}/{decision}");
        let request = Request::new("POST", &path).with_key(&self.shared.setting.admin_key).with_body(body);
        let (address, mut client) = self.connected();
        if client.send(&request).is_err() {
            return Outcome::Lost;
        }
        self.shared.trigger.at(Moment::Asked);
        let Ok(answer) = client.receive() else { return Outcome::Lost };
        self.shared.trigger.at(Moment::Decided);
        self.client = Some((address, client));
        if answer.status == 200 { Outcome::Made } else { Outcome::Wrong(answer.status) }
    }

    /// The connection of before, where it leads to the service that is there now, or a new one.
    fn connected(&mut self) -> (SocketAddr, Client) {
        let mut refused = None;
        loop {
            let is_not_there = |state: &mut State| {
                // Once it is known to be down, the same address is another service's.
                refused = refused.filter(|_| state.address.is_some());
                state.address.is_none() || state.address == refused
            };
            let state = self.shared.state.lock().unwrap();
            let state = self.shared.changed.wait_timeout_while(state, PATIENCE, is_not_there).unwrap().0;
            let address = state.address.expect("the service comes back");
            drop(state);
            if let Some(kept) = self.client.take().filter(|(known, _)| *known == address) {
                return kept;
            }
            match Client::connect(address) {
                Ok(client) => return (address, client),
                // It was killed, and whoever did it has not told yet.
                Err(_) => refused = Some(address),
            }
        }
    }
}
