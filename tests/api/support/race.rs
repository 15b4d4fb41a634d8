//! Requests that start at the same moment, each on a connection that is already open.

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
    /// Creates a POST request without a body.
    pub(crate) fn post(client: Client, path: &str) -> Self {
        Self { client, method: "POST", path: path.to_owned(), body: String::new() }
    }
}

/// Sends all requests at the same moment, and returns the answers in the order of the requests.
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

/// One request of a race whose clients reuse their connections from round to round.
pub(crate) struct Lane {
    method: &'static str,
    path: String,
    key: String,
    body: String,
    /// The number of iterations of a spin loop before the request, which delay the request slightly.
    spins: u32,
}

impl Lane {
    /// Creates a request without a body. `key` is the secret of an API key, or empty for none.
    pub(crate) fn new(method: &'static str, path: &str, key: &str) -> Self {
        Self { method, path: path.to_owned(), key: key.to_owned(), body: String::new(), spins: 0 }
    }

    /// Returns the request with a JSON body.
    pub(crate) fn with_body(self, body: &serde_json::Value) -> Self {
        Self { body: body.to_string(), ..self }
    }

    /// Sends the request on the client's open connection.
    pub(crate) fn send(&self, client: &Client) -> Answer {
        for _ in 0..self.spins {
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

/// Returns clients with open connections. If the service trusts this machine as a proxy, each client has its own
/// address.
pub(crate) fn connected_clients(app: &super::App, count: usize) -> Vec<Client> {
    let client = |number| app.anonymous().with_header("X-Forwarded-For", &format!("192.0.2.{number}"));
    let clients: Vec<Client> = (0..count).map(client).collect();
    clients.iter().for_each(Client::connect);
    clients
}

/// Runs `run` for every client at the same moment, and returns the results in the order of the clients.
pub(crate) fn run_together<T: Send>(clients: &mut [Client], run: impl Fn(usize, &Client) -> T + Sync) -> Vec<T> {
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

/// Returns the status of each answer.
pub(crate) fn statuses(answers: &[Answer]) -> Vec<u16> {
    answers.iter().map(|answer| answer.status).collect()
}

/// Returns the number of answers with this status.
pub(crate) fn count(answers: &[Answer], status: u16) -> usize {
    answers.iter().filter(|answer| answer.status == status).count()
}

/// Asserts that `appliance check` finds nothing in the database after the race.
pub(crate) fn assert_sound(app: &super::App) {
    assert_eq!(app.check(), Vec::<String>::new());
}

/// The request of a duel that came first, according to the answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    Left,
    Right,
}

/// The minimum number of rounds of a duel.
const DUEL_ROUNDS: usize = rounds(50, 200);
/// The maximum number of rounds of a duel.
pub(crate) const DUEL_ROUNDS_MAX: usize = rounds(500, 2_000);
/// The minimum number of rounds in which each request must come first.
const DUEL_ORDER_ROUNDS: usize = rounds(8, 20);

/// The change in the relative delay after each round, in iterations of the spin loop.
const SPINS_STEP: i32 = 400;
/// The maximum delay of a request, in iterations of the spin loop.
const SPINS_MAX: i32 = 400_000;

/// Repeats a race between two requests, each time on new data that `lanes` prepares, until each request has come
/// first often enough. After each round, the winner is delayed slightly more relative to the other request, so that
/// either request can come first. `judge` compares the answers and returns the request that came first.
pub(crate) fn duel(
    app: &super::App,
    mut lanes: impl FnMut(usize) -> [Lane; 2],
    mut judge: impl FnMut(usize, &[Answer]) -> First,
) {
    let mut clients = connected_clients(app, 2);
    let (mut lefts, mut rights, mut lead) = (0, 0, 0_i32);
    for round in 0..DUEL_ROUNDS_MAX {
        let mut pair = lanes(round);
        pair[0].spins = lead.max(0).unsigned_abs();
        pair[1].spins = lead.min(0).unsigned_abs();
        let answers = run_together(&mut clients, |number, client| pair[number].send(client));
        let step = match judge(round, &answers) {
            First::Left => {
                lefts += 1;
                SPINS_STEP
            }
            First::Right => {
                rights += 1;
                -SPINS_STEP
            }
        };
        lead = (lead + step).clamp(-SPINS_MAX, SPINS_MAX);
        if round + 1 >= DUEL_ROUNDS && lefts >= DUEL_ORDER_ROUNDS && rights >= DUEL_ORDER_ROUNDS {
            return;
        }
    }
    panic!(
        "in {DUEL_ROUNDS_MAX} rounds, the left request came first {lefts} times and the right request {rights} times"
    );
}
