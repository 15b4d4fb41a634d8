//! Requests that begin at the same moment, each on a connection that is open already.

use std::sync::{Arc, Barrier};

use super::client::{Answer, Client};
use crate::rounds::rounds;

/// One request of a race.
pub(crate) struct Runner {
    pub(crate) client: Client,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) body: String,
}

impl Runner {
    /// A POST without a body.
    pub(crate) fn post(client: Client, path: &str) -> Self {
        Self { client, method: "POST", path: path.to_owned(), body: String::new() }
    }
}

/// Sends all requests from a barrier; their answers, in the order of the requests.
pub(crate) fn race(runners: Vec<Runner>) -> Vec<Answer> {
    let barrier = Arc::new(Barrier::new(runners.len()));
    let threads: Vec<_> = runners
        .into_iter()
        .map(|runner| {
            let barrier = Arc::clone(&barrier);
            std::thread::spawn(move || {
                let Runner { client, method, path, body } = runner;
                client.connect();
                barrier.wait();
                client.send(method, &path, &[], body.as_bytes())
            })
        })
        .collect();
    threads.into_iter().map(|thread| thread.join().unwrap()).collect()
}

/// One request of a race whose clients keep their connections from race to race.
pub(crate) struct Lane {
    method: &'static str,
    path: String,
    key: String,
    body: String,
    /// Turns of a spin loop between the barrier and the request: who is held up a little, and who is not.
    turns: u32,
}

impl Lane {
    /// A request without a body. `key` is the text of a key, or empty for nobody.
    pub(crate) fn new(method: &'static str, path: &str, key: &str) -> Self {
        Self { method, path: path.to_owned(), key: key.to_owned(), body: String::new(), turns: 0 }
    }

    /// The same with a JSON body.
    pub(crate) fn with_body(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string(), ..self }
    }

    /// The request, on the client's open connection.
    pub(crate) fn send(&self, client: &Client) -> Answer {
        for _ in 0..self.turns {
            std::hint::spin_loop();
        }
        let authorization = format!("Bearer {}", self.key);
        let mut headers = Vec::new();
        if !self.key.is_empty() {
            headers.push(("Authorization", authorization.as_str()));
        }
        if !self.body.is_empty() {
            headers.push(("Content-Type", "application/json"));
        }
        client.send(self.method, &self.path, &headers, self.body.as_bytes())
    }
}

/// Clients whose connections are open. Where the service believes this machine, each has an address of its own.
pub(crate) fn connected(app: &super::App, count: usize) -> Vec<Client> {
    let client = |number| app.anonymous().with_header("X-Forwarded-For", &format!("192.0.2.{number}"));
    let clients: Vec<Client> = (0..count).map(client).collect();
    clients.iter().for_each(Client::connect);
    clients
}

/// Runs `run` for every client at once, from a barrier, each with its number; what they return, in their order.
pub(crate) fn together<T: Send>(clients: &mut [Client], run: impl Fn(usize, &Client) -> T + Sync) -> Vec<T> {
    let (barrier, run) = (Barrier::new(clients.len()), &run);
    std::thread::scope(|scope| {
        let threads: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, client)| {
                let barrier = &barrier;
                scope.spawn(move || {
                    barrier.wait();
                    run(number, client)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// How each was answered.
pub(crate) fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

/// How many answers have this status.
pub(crate) fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// Whatever has met, `appliance check` finds nothing in the file.
pub(crate) fn require_sound(app: &super::App) {
    assert_eq!(app.check(), Vec::<String>::new());
}

/// Which of the two requests of a duel came first, by what was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Left,
    Right,
}

/// The fewest rounds of a duel, the most, and how often each request must have come first.
const DUEL_ROUNDS: usize = rounds(50, 200);
pub(crate) const DUEL_ROUNDS_MAX: usize = rounds(500, 2_000);
const DUEL_ORDER_ROUNDS: usize = rounds(8, 20);

/// By how much a round's winner is held up more in the next one, and the most that it ever is.
const TURNS_STEP: i32 = 400;
const TURNS_MAX: i32 = 400_000;

/// Two requests that meet again and again, each time on ground that `lanes` has prepared, until each has come first
/// often enough. Whoever came first is held up a little more in the next round, so they go on meeting where either
/// can come first. `judge` holds the answers against each other and says who did.
pub(crate) fn duel(
    app: &super::App,
    mut lanes: impl FnMut(usize) -> [Lane; 2],
    mut judge: impl FnMut(usize, &[Answer]) -> First,
) {
    let mut clients = connected(app, 2);
    let (mut lefts, mut rights, mut lead) = (0, 0, 0_i32);
    for round in 0..DUEL_ROUNDS_MAX {
        let mut pair = lanes(round);
        pair[0].turns = lead.max(0).unsigned_abs();
        pair[1].turns = lead.min(0).unsigned_abs();
        let answers = together(&mut clients, |number, client| pair[number].send(client));
        let step = match judge(round, &answers) {
            First::Left => {
                lefts += 1;
                TURNS_STEP
            }
            First::Right => {
                rights += 1;
                -TURNS_STEP
            }
        };
        lead = (lead + step).clamp(-TURNS_MAX, TURNS_MAX);
        if round + 1 >= DUEL_ROUNDS && lefts >= DUEL_ORDER_ROUNDS && rights >= DUEL_ORDER_ROUNDS {
            return;
        }
    }
    panic!("in {DUEL_ROUNDS_MAX} rounds the left came first {lefts} times, the right {rights} times");
}
