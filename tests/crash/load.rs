//! Many connections with a request each: principal, application, hire, rejection, on and on, until the service is
//! killed under them or they are told to stop. Each answer is written down the moment it is complete.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Condvar, Mutex, MutexGuard, mpsc};
use std::thread::JoinHandle;

use serde_json::json;

use super::client::{Answer, Client, Request};
use super::company::{Application, Company};
use super::service::{PATIENCE, Service, Victim};
use super::{CONNECTIONS, UNANSWERED_MIN};

/// Long notes make long commits, which a kill is more likely to meet.
const HIRE_NOTES_CHARACTERS: usize = 9_900;

/// What a request asks for.
#[derive(Debug, Clone)]
pub(crate) enum Ask {
    Me,
    Apply { slug: String, role_id: String },
    Hire(Application),
    Reject { application: Application, notes: String },
}

/// A request that was sent, and its answer where there was one.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    /// Unlike that of any other request, and kept in the usage log.
    pub(crate) agent: String,
    /// Which of the load's keys it was made with.
    pub(crate) key: usize,
    pub(crate) ask: Ask,
    pub(crate) answer: Option<Answer>,
}

/// When the service is killed: with the first answer, after this many, that comes while enough others are awaited.
pub(crate) struct Moment {
    answers: usize,
    /// Whether it must be the answer to a decision: then the kill comes right behind a commit.
    of_decision: bool,
}

/// What a kill left behind.
pub(crate) struct Crash {
    pub(crate) answered: Vec<Record>,
    /// Sent, completely or not, and not answered completely.
    pub(crate) unanswered: Vec<Record>,
    /// Those of them that were sent completely before the kill.
    pub(crate) unanswered_at_kill: usize,
}

/// A load that is running.
pub(crate) struct Load {
    shared: Arc<Shared>,
    victim: Victim,
    workers: Vec<JoinHandle<Option<Unanswered>>>,
}

struct Unanswered {
    record: Record,
    sent_before_kill: bool,
}

#[derive(Default)]
struct Shared {
    answered: Mutex<Vec<Record>>,
    changed: Condvar,
    /// Requests that were sent completely and are not answered completely.
    awaited: AtomicUsize,
    /// Requests that were answered completely.
    answers: AtomicUsize,
    armed: Mutex<Option<Armed>>,
    is_killed: AtomicBool,
    is_stopping: AtomicBool,
}

/// The kill that is to come.
struct Armed {
    after: usize,
    of_decision: bool,
    victim: Victim,
    killed: mpsc::Sender<()>,
}

/// One connection's work.
struct Worker {
    number: usize,
    name: String,
    key: String,
    /// Whether a hire is sometimes followed by a rejection of the same application.
    reverses: bool,
    random: u64,
    client: Client,
    shared: Arc<Shared>,
    company: Arc<Company>,
}

impl Moment {
    /// Early and late ones, behind an answer of any kind and behind a decision's.
    pub(crate) fn of_round(round: usize) -> Self {
        Self { answers: 100 + round * 97 % 401, of_decision: !round.is_multiple_of(4) }
    }
}

impl Load {
    /// Opens all connections, then begins on all of them at once.
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
        Self { shared, victim: service.victim(), workers }
    }

    /// Kills the service at this moment. The connection whose answer makes the moment does it, so that nothing comes
    /// between the two.
    pub(crate) fn until_killed(self, moment: &Moment) -> Crash {
        let (sender, killed) = mpsc::channel();
        *lock(&self.shared.armed) =
            Some(Armed { after: moment.answers, of_decision: moment.of_decision, victim: self.victim, killed: sender });
        killed.recv_timeout(PATIENCE).expect("a moment comes at which the service is killed");
        let unanswered: Vec<_> = self.workers.into_iter().filter_map(|worker| worker.join().unwrap()).collect();
        Crash {
            answered: lock(&self.shared.answered).clone(),
            unanswered_at_kill: unanswered.iter().filter(|one| one.sent_before_kill).count(),
            unanswered: unanswered.into_iter().map(|one| one.record).collect(),
        }
    }

    /// Everything answered until now.
    pub(crate) fn answered(&self) -> Vec<Record> {
        lock(&self.shared.answered).clone()
    }

    /// Waits until this many decisions were answered.
    pub(crate) fn await_decisions(&self, count: usize) {
        let too_few = |answered: &mut Vec<Record>| decisions(answered) < count;
        let waited = self.shared.changed.wait_timeout_while(lock(&self.shared.answered), PATIENCE, too_few).unwrap();
        assert!(!waited.1.timed_out(), "{count} decisions are answered in time");
    }

    /// Lets every request under way be answered, and ends; everything answered.
    pub(crate) fn stop(self) -> Vec<Record> {
        self.shared.is_stopping.store(true, Ordering::SeqCst);
        for worker in self.workers {
            assert!(worker.join().unwrap().is_none(), "every request is answered");
        }
        lock(&self.shared.answered).clone()
    }
}

/// How many of these answers are those of a decision that was made.
pub(crate) fn decisions(records: &[Record]) -> usize {
    records.iter().filter(|record| record.is_decision()).count()
}

impl Worker {
    /// Works until it is told to stop, or the connection ends under a request: that one.
    fn run(&mut self) -> Option<Unanswered> {
        let mut next = None;
        for nth in 0.. {
            if self.shared.is_stopping.load(Ordering::SeqCst) {
                break;
            }
            let agent = format!("{}/{nth}", self.name);
            let ask = next.take().unwrap_or_else(|| self.choose(&agent));
            let record = Record { agent, key: self.number, ask, answer: None };
            let sent = self.client.send(&record.request(&self.key));
            // Looked at after sending: what was sent by then was sent before the kill.
            let sent_before_kill = sent.is_ok() && !self.shared.is_killed.load(Ordering::SeqCst);
            self.shared.awaited.fetch_add(1, Ordering::SeqCst);
            let answer = match sent.and_then(|()| self.client.receive()) {
                Ok(answer) => answer,
                Err(error) => {
                    assert!(self.shared.is_killed.load(Ordering::SeqCst), "a connection broke by itself: {error}");
                    return Some(Unanswered { record, sent_before_kill });
                }
            };
            let record = Record { answer: Some(answer), ..record };
            next = self.reversal(&record);
            self.shared.note(record);
        }
        None
    }

    /// Something of everything; where nothing is left to decide, the principal.
    fn choose(&mut self, agent: &str) -> Ask {
        let (company, dice) = (Arc::clone(&self.company), self.dice());
        let organization = company.organization_of(self.number);
        let chosen = match dice % 8 {
            0 | 1 => None,
            2 => {
                let role_id = organization.linked(self.dice()).to_owned();
                Some(Ask::Apply { slug: organization.slug.clone(), role_id })
            }
            3 | 4 => organization.take_wide().map(Ask::Hire),
            5 => organization.take_contested().map(Ask::Hire),
            _ => organization.take_wide().map(|application| Ask::Reject { application, notes: agent.to_owned() }),
        };
        chosen.unwrap_or(Ask::Me)
    }

    /// Every other time, what takes a hire back.
    fn reversal(&mut self, record: &Record) -> Option<Ask> {
        let Ask::Hire(application) = &record.ask else { return None };
        let reverses = self.reverses && record.is_decision() && self.dice().is_multiple_of(2);
        let notes = format!("{} reversed", record.agent);
        reverses.then(|| Ask::Reject { application: application.clone(), notes })
    }

    /// The next number of a sequence that the load's name and the connection's number begin (xorshift).
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
    // Zero would stay zero.
    hasher.finish() | 1
}

impl Shared {
    /// Kills the service where this answer makes the moment, and writes the answer down. The kill goes first, so that
    /// it comes as close behind the answer as it can.
    fn note(&self, record: Record) {
        let awaited = self.awaited.fetch_sub(1, Ordering::SeqCst) - 1;
        let answers = self.answers.fetch_add(1, Ordering::SeqCst) + 1;
        let is_moment = |armed: &mut Armed| {
            answers >= armed.after && awaited >= UNANSWERED_MIN && (record.is_decision() || !armed.of_decision)
        };
        if let Some(armed) = lock(&self.armed).take_if(is_moment) {
            self.is_killed.store(true, Ordering::SeqCst);
            lock(&armed.victim).kill().unwrap();
            armed.killed.send(()).unwrap();
        }
        lock(&self.answered).push(record);
        self.changed.notify_all();
    }
}

impl Record {
    fn request(&self, key: &str) -> Request {
        self.repeat(key, &self.agent)
    }

    /// The same request by another agent.
    pub(crate) fn repeat(&self, key: &str, agent: &str) -> Request {
        let request = Request::new(self.method(), &self.path()).with_header("User-Agent", agent);
        match &self.ask {
            Ask::Me => request.with_key(key),
            Ask::Apply { role_id, .. } => request.with_body(&json!({ "roleId": role_id })),
            Ask::Hire(_) => request
                .with_key(key)
                .with_header("Idempotency-Key", &self.agent)
                .with_body(&json!({ "notes": "-".repeat(HIRE_NOTES_CHARACTERS) })),
            Ask::Reject { notes, .. } => request.with_key(key).with_body(&json!({ "outcomeNotes": notes })),
        }
    }

    pub(crate) fn method(&self) -> &'static str {
        if matches!(self.ask, Ask::Me) { "GET" } else { "POST" }
    }

    pub(crate) fn path(&self) -> String {
        match &self.ask {
            Ask::Me => "/api/v1/me".to_owned(),
            Ask::Apply { slug, .. } => format!("/api/public/portal/{slug}/apply"),
            Ask::Hire(application) => format!("/api/v1/candidate-steps/{}/hire", application.steps[1]),
            Ask::Reject { application, .. } => format!("/api/v1/candidate-steps/{}/reject", application.steps[0]),
        }
    }

    /// The status of its answer.
    pub(crate) fn status(&self) -> Option<u16> {
        self.answer.as_ref().map(|answer| answer.status)
    }

    /// Whether it was answered that a candidate is hired or rejected.
    fn is_decision(&self) -> bool {
        matches!(self.ask, Ask::Hire(_) | Ask::Reject { .. }) && self.status() == Some(200)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no connection's thread failed")
}
