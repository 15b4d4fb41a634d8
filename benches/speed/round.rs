//! What is known of a round, and figures of several rounds together.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::Load;
use super::process::{Process, own_cpu};

/// After a round: what the server does behind it is counted to it and not to the next one. Longer than the service
/// takes between two looks at its write-ahead log.
const SETTLE: Duration = Duration::from_millis(300);

/// One round of one side.
pub(crate) struct Round {
    requests: usize,
    elapsed: Duration,
    server_cpu: Option<Duration>,
    client_cpu: Option<Duration>,
    /// Of all its requests, in order, in nanoseconds.
    latencies: Vec<u32>,
}

/// What rounds are compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The server's CPU time, in microseconds a request.
    Cpu,
    /// Requests, or decisions, a second.
    Rate,
    /// The median of all latencies of a round, in microseconds.
    P50,
    /// The latency that 99 in 100 are not above, in microseconds.
    P99,
}

/// Figures of rounds, in order.
pub(crate) struct Spread(Vec<f64>);

impl Round {
    /// A load on a server, whose CPU time is read before and after.
    pub(crate) fn watch(server: &Process, load: impl FnOnce() -> Load) -> Self {
        let (server_before, client_before) = (server.cpu(), own_cpu());
        let Load { elapsed, mut latencies } = load();
        let client_cpu = own_cpu() - client_before;
        std::thread::sleep(SETTLE);
        let server_cpu = server.cpu() - server_before;
        latencies.sort_unstable();
        let requests = latencies.len();
        assert!(requests > 0, "a round has a request");
        Self { requests, elapsed, server_cpu: Some(server_cpu), client_cpu: Some(client_cpu), latencies }
    }

    /// Work without a server.
    pub(crate) fn without_server(requests: usize, elapsed: Duration) -> Self {
        Self { requests, elapsed, server_cpu: None, client_cpu: None, latencies: Vec::new() }
    }

    /// How many were answered.
    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }

    fn cpu_micros(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.requests as f64)
    }

    /// In microseconds: the least latency that this part of them is not above.
    fn percentile(&self, part: f64) -> Option<f64> {
        let nth = (self.latencies.len() as f64 * part).ceil() as usize;
        self.latencies.get(nth.saturating_sub(1)).map(|nanos| f64::from(*nanos) / 1e3)
    }

    pub(crate) fn json(&self) -> Value {
        // Of the time of the round; of the server, what it does behind a round too.
        let busy = |cpu: Option<Duration>| cpu.map(|cpu| rounded(cpu.as_secs_f64() / self.elapsed.as_secs_f64()));
        json!({
            "requests": self.requests,
            "seconds": rounded(self.elapsed.as_secs_f64()),
            "requestsPerSecond": rounded(self.rate()),
            "cpuMicrosPerRequest": self.cpu_micros().map(rounded),
            "serverBusy": busy(self.server_cpu),
            "clientBusy": busy(self.client_cpu),
            "p50Micros": self.percentile(0.5),
            "p90Micros": self.percentile(0.9),
            "p99Micros": self.percentile(0.99),
            "maxMicros": self.percentile(1.0),
        })
    }
}

impl Figure {
    pub(crate) fn of(self, round: &Round) -> f64 {
        let figure = match self {
            Self::Cpu => round.cpu_micros(),
            Self::Rate => Some(round.rate()),
            Self::P50 => round.percentile(0.5),
            Self::P99 => round.percentile(0.99),
        };
        figure.expect("a round that is compared has what it is compared by")
    }

    pub(crate) fn of_all(self, rounds: &[Round]) -> Spread {
        Spread::new(rounds.iter().map(|round| self.of(round)))
    }

    /// Its name in the table, with the unit.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Cpu => "CPU a request, µs",
            Self::Rate => "requests a second",
            Self::P50 => "p50, µs",
            Self::P99 => "p99, µs",
        }
    }

    /// How a ratio of it is made.
    pub(crate) fn ratio_words(self) -> &'static str {
        match self {
            Self::Cpu => "limit / service",
            Self::Rate | Self::P50 | Self::P99 => "service / limit",
        }
    }
}

impl Spread {
    pub(crate) fn new(figures: impl Iterator<Item = f64>) -> Self {
        let mut figures: Vec<f64> = figures.collect();
        figures.sort_by(f64::total_cmp);
        Self(figures)
    }

    /// With an even number of figures, the mean of the two in the middle.
    pub(crate) fn median(&self) -> f64 {
        (self.0[(self.0.len() - 1) / 2] + self.0[self.0.len() / 2]) / 2.0
    }

    pub(crate) fn min(&self) -> f64 {
        self.0[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    pub(crate) fn json(&self) -> Value {
        json!({ "median": rounded(self.median()), "min": rounded(self.min()), "max": rounded(self.max()) })
    }
}

/// To as many digits as anybody reads.
pub(crate) fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}
