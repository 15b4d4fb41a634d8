//! Many connections that send requests without a pause (`/me`, signup links, hires and rejections) until the service is
//! killed or the load stops. Each answer is recorded as soon as it is complete.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, mpsc};
use std::thread::JoinHandle;

use serde_json::json;

use super::client::{Answer, Client, Request};
use super::company::{Application, Company};
use super::service::{PATIENCE, Service, ServiceProcess};
use super::{CONNECTIONS, UNANSWERED_MIN};

/// Long notes cause long commits, so a kill is more likely to interrupt a commit.
const HIRE_NOTES_CHARACTERS: usize = 9_900;

/// The purpose of a request.
#[derive(Debug, Clone)]
pub(crate) enum Action {
    Me,
    Apply { slug: String, role_id: String },
    Hire(Application),
    Reject { application: Application, notes: String },
}

/// A request and its answer, if there was one.
#[derive(Debug, Clone)]
pub(crate) struct Exchange {
    /// The user agent. It is unique to the request, so it identifies the usage row.
    pub(crate) agent: String,
    /// The index of its API key.
    pub(crate) key: usize,
    pub(crate) action: Action,
    pub(crate) answer: Option<Answer>,
}

/// The moment of the kill: the first answer, from number `answers` on, that arrives while enough requests are
/// unanswered.
pub(crate) struct KillMoment {
    answers: usize,
    /// Whether the answer must belong to a decision, so that the kill follows a commit closely.
    of_decision: bool,
}

/// The requests of a load that ended with a kill.
pub(crate) struct Crash {
    pub(crate) answered: Vec<Exchange>,
    /// Requests that were sent, perhaps partially, and not answered completely.
    pub(crate) unanswered: Vec<Exchange>,
    /// The number of unanswered requests that were sent completely before the kill.
    pub(crate) unanswered_at_kill: usize,
}

pub(crate) struct Load {
    shared: Arc<Shared>,
    process: ServiceProcess,
    workers: Vec<JoinHandle<Option<Unanswered>>>,
}

struct Unanswered {
    exchange: Exchange,
    sent_before_kill: bool,
}

#[derive(Default)]
struct Shared {
    answered: Mutex<Vec<Exchange>>,
    changed: Condvar,
    /// The number of requests that were sent completely and not answered completely.
    unanswered: AtomicUsize,
    /// The number of requests that were answered completely.
    answers: AtomicUsize,
    armed: Mutex<Option<ArmedKill>>,
    is_killed: AtomicBool,
    is_stopping: AtomicBool,
}

/// A kill that waits for its moment.
struct ArmedKill {
    after: usize,
    of_decision: bool,
    process: ServiceProcess,
    killed: mpsc::Sender<()>,
}

/// Sends the requests of one connection.
struct Worker {
    number: usize,
    name: String,
    key: String,
    /// Whether the worker sometimes rejects a candidate whom it has hired.
    reverses: bool,
    random: u64,
    client: Client,
    shared: Arc<Shared>,
    company: Arc<Company>,
}

impl KillMoment {
    /// Returns the moment for a round. It varies from round to round. In three of four rounds, it follows a decision.
    pub(crate) fn of_round(round: usize) -> Self {
        Self { answers: 100 + round * 97 % 401, of_decision: !round.is_multiple_of(4) }
    }
}

impl Load {
    /// Opens all connections, then starts to use all of them at the same time.
    pub(crate) fn begin(
        company: &Arc<Company>,
        service: &Service,
        keys: &[String],
        name: &str,
        reverses: bool,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        let barrier = Arc::new(Barrier::new(CONNECTIONS));
        let begin = |number: usize| {
            let mut worker = Worker {
                number,
                name: format!("crash/{name}/{number}"),
                key: keys[number].clone(),
                reverses,
                random: seed(name, number),
                client: Client::connect(service.address).unwrap(),
                shared: Arc::clone(&shared),
                company: Arc::clone(company),
            };
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                barrier.wait();
                worker.run()
            })
        };
        let workers = (0..CONNECTIONS).map(begin).collect();
        Self { shared, process: service.process(), workers }
    }

    /// Kills the service at this moment. The thread that receives the decisive answer kills the service itself, so that
    /// nothing happens between the answer and the kill.
    pub(crate) fn until_killed(self, moment: &KillMoment) -> Crash {
        let (sender, killed) = mpsc::channel();
        *lock(&self.shared.armed) = Some(ArmedKill {
            after: moment.answers,
            of_decision: moment.of_decision,
            process: self.process,
            killed: sender,
        });
        killed.recv_timeout(PATIENCE).expect("the service is killed in time");
        let unanswered: Vec<_> = self.workers.into_iter().filter_map(|worker| worker.join().unwrap()).collect();
        Crash {
            answered: lock(&self.shared.answered).clone(),
            unanswered_at_kill: unanswered.iter().filter(|one| one.sent_before_kill).count(),
            unanswered: unanswered.into_iter().map(|one| one.exchange).collect(),
        }
    }

    /// Returns all exchanges answered so far.
    pub(crate) fn answered(&self) -> Vec<Exchange> {
        lock(&self.shared.answered).clone()
    }

    /// Waits until this many decisions have been answered.
    pub(crate) fn await_decisions(&self, count: usize) {
        let too_few = |answered: &mut Vec<Exchange>| decisions(answered) < count;
        let waited = self.shared.changed.wait_timeout_while(lock(&self.shared.answered), PATIENCE, too_few).unwrap();
        assert!(!waited.1.timed_out(), "{count} decisions are answered in time");
    }

    /// Ends the load: waits for the answers to all requests in flight and returns all exchanges.
    pub(crate) fn stop(self) -> Vec<Exchange> {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        for worker in self.workers {
            assert!(worker.join().unwrap().is_none(), "every request is answered");
        }
        lock(&self.shared.answered).clone()
    }
}

/// Returns the number of successful decisions among these exchanges.
pub(crate) fn decisions(exchanges: &[Exchange]) -> usize {
    exchanges.iter().filter(|exchange| exchange.is_decision()).count()
}

impl Worker {
    /// Sends requests until the load stops. If the connection ends first, returns the unanswered request.
    fn run(&mut self) -> Option<Unanswered> {
        let mut next = None;
        for nth in 0.. {
            if self.shared.is_stopping.load(Ordering::SeqCst) {
                break;
            }
            let agent = format!("{}/{nth}", self.name);
            let action = next.take().unwrap_or_else(|| self.choose(&agent));
            let exchange = Exchange { agent, key: self.number, action, answer: None };
            let sent = self.client.send(&exchange.request(&self.key));
            // The flag is read after sending. If it is not set, the request was sent before the kill.
            let sent_before_kill = sent.is_ok() && !self.shared.is_killed.load(Ordering::SeqCst);
            self.shared.unanswered.fetch_add(1, Ordering::SeqCst);
            let answer = match sent.and_then(|()| self.client.receive()) {
                Ok(answer) => answer,
                Err(error) => {
                    assert!(
                        self.shared.is_killed.load(Ordering::SeqCst),
                        "a connection broke before the kill: {error}"
                    );
                    return Some(Unanswered { exchange, sent_before_kill });
                }
            };
            let exchange = Exchange { answer: Some(answer), ..exchange };
            next = self.reversal(&exchange);
            self.shared.record(exchange);
        }
        None
    }

    /// Chooses an action at random, or `Me` if no application is left.
    fn choose(&mut self, agent: &str) -> Action {
        let (company, dice) = (Arc::clone(&self.company), self.dice());
        let organization = company.organization_of(self.number);
        let chosen = match dice % 8 {
            0 | 1 => None,
            2 => {
                let role_id = organization.linked(self.dice()).to_owned();
                Some(Action::Apply { slug: organization.slug.clone(), role_id })
            }
            3 | 4 => organization.take_uncontested().map(Action::Hire),
            5 => organization.take_contested().map(Action::Hire),
            _ => organization
                .take_uncontested()
                .map(|application| Action::Reject { application, notes: agent.to_owned() }),
        };
        chosen.unwrap_or(Action::Me)
    }

    /// If the worker reverses hires, returns a rejection of the hired candidate after about every second hire.
    fn reversal(&mut self, exchange: &Exchange) -> Option<Action> {
        let Action::Hire(application) = &exchange.action else { return None };
        let reverses = self.reverses && exchange.is_decision() && self.dice().is_multiple_of(2);
        let notes = format!("{} reversed", exchange.agent);
        reverses.then(|| Action::Reject { application: application.clone(), notes })
    }

    /// Returns the next number of a sequence seeded with the load's name and the connection's number (xorshift).
    fn dice(&mut self) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        usize::try_from(self.random >> 33).unwrap()
    }
}

fn seed(name: &str, number: usize) -> u64 {
    let mut hasher = DefaultHasher::new();
    (name, number).hash(&mut hasher);
    // Xorshift maps zero to zero.
    hasher.finish() | 1
}

impl Shared {
    /// Records the answer. If this is the moment of the kill, kills the service first, so that the kill follows the
    /// answer as closely as possible.
    fn record(&self, exchange: Exchange) {
        let unanswered = self.unanswered.fetch_sub(1, Ordering::SeqCst) - 1;
        let answers = self.answers.fetch_add(1, Ordering::SeqCst) + 1;
        let is_moment = |armed: &mut ArmedKill| {
            answers >= armed.after && unanswered >= UNANSWERED_MIN && (exchange.is_decision() || !armed.of_decision)
        };
        if let Some(armed) = lock(&self.armed).take_if(is_moment) {
            self.is_killed.store(true, Ordering::SeqCst);
            lock(&armed.process).kill().unwrap();
            armed.killed.send(()).unwrap();
        }
        lock(&self.answered).push(exchange);
        self.changed.notify_all();
    }
}

impl Exchange {
    fn request(&self, key: &str) -> Request {
        self.repeat(key, &self.agent)
    }

    /// Returns the request with this user agent.
    pub(crate) fn repeat(&self, key: &str, agent: &str) -> Request {
        let request = Request::new(self.method(), &self.path()).with_header("User-Agent", agent);
        match &self.action {
            Action::Me => request.with_key(key),
            Action::Apply { role_id, .. } => request.with_body(&json!({ "roleId": role_id })),
            Action::Hire(_) => request
                .with_key(key)
                .with_header("Idempotency-Key", &self.agent)
                .with_body(&json!({ "notes": "-".repeat(HIRE_NOTES_CHARACTERS) })),
            Action::Reject { notes, .. } => request.with_key(key).with_body(&json!({ "outcomeNotes": notes })),
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        if matches!(self.action, Action::Me) { "GET" } else { "POST" }
    }

    pub(crate) fn path(&self) -> String {
        match &self.action {
            Action::Me => "/api/v1/me".to_owned(),
            Action::Apply { slug, .. } => format!("/api/public/portal/{slug}/apply"),
            Action::Hire(application) => format!("/api/v1/candidate-steps/{}/hire", application.steps[1]),
            Action::Reject { application, .. } => format!("/api/v1/candidate-steps/{}/reject", application.steps[0]),
        }
    }

    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// Returns whether this is a successful hire or rejection.
    fn is_decision(&self) -> bool {
        matches!(self.action, Action::Hire(_) | Action::Reject { .. }) && self.status() == Some(200)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread of a connection panicked")
}
