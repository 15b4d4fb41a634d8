//! Requests that begin at the same moment, each on a connection that is open already.

use std::sync::{Arc, Barrier};

use super::client::{Answer, Client};

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
