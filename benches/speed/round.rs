//! The measurements of a round, and figures over several rounds.

use std::time::Duration;

use serde_json::{Value, json};

use super::load::Load;
use super::process::{Process, own_cpu};

/// The pause after a round. Because of the pause, the background work of a round counts toward the CPU time of that
/// round, and not toward that of the next one. The pause is longer than the interval at which the service checks
/// its write-ahead log.
const SETTLE: Duration = Duration::from_millis(300);

/// One round of one side.
pub(crate) struct Round {
    requests: usize,
    elapsed: Duration,
    server_cpu: Option<Duration>,
    client_cpu: Option<Duration>,
    /// The sorted latencies of all requests, in nanoseconds.
    latencies: Vec<u32>,
}

/// A figure by which rounds are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// The CPU time of the server per request, in microseconds.
    Cpu,
    /// Requests or decisions per second.
    Rate,
    /// The median latency of a round, in microseconds.
    P50,
    /// The 99th percentile of the latencies, in microseconds.
    P99,
}

/// The sorted figures of several rounds.
pub(crate) struct Spread(Vec<f64>);

impl Round {
    /// Runs a load on a server and measures the CPU time of the server and of the client.
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

    /// Returns a round without a server.
    pub(crate) fn without_server(requests: usize, elapsed: Duration) -> Self {
        Self { requests, elapsed, server_cpu: None, client_cpu: None, latencies: Vec::new() }
    }

    /// Returns the number of answered requests.
    pub(crate) fn requests(&self) -> usize {
        self.requests
    }

    fn rate(&self) -> f64 {
        self.requests as f64 / self.elapsed.as_secs_f64()
    }

    fn cpu_micros(&self) -> Option<f64> {
        self.server_cpu.map(|cpu| cpu.as_secs_f64() * 1e6 / self.requests as f64)
    }

    /// Returns a percentile of the latencies, in microseconds.
    fn percentile(&self, part: f64) -> Option<f64> {
        let nth = (self.latencies.len() as f64 * part).ceil() as usize;
        self.latencies.get(nth.saturating_sub(1)).map(|nanos| f64::from(*nanos) / 1e3)
    }

    pub(crate) fn json(&self) -> Value {
        // The CPU time divided by the round's duration. For the server, it includes the background work after the
        // round.
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
        figure.expect("every compared round has the figure")
    }

    pub(crate) fn of_all(self, rounds: &[Round]) -> Spread {
        Spread::new(rounds.iter().map(|round| self.of(round)))
    }

    /// Returns the figure's name in the table, with its unit.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Cpu => "CPU per request, µs",
            Self::Rate => "requests per second",
            Self::P50 => "p50, µs",
            Self::P99 => "p99, µs",
        }
    }

    /// Returns the definition of the figure's ratio.
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

    /// Returns the median. For an even number of figures, it is the mean of the two in the middle.
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

/// Rounds to four decimals for the report.
pub(crate) fn rounded(figure: f64) -> f64 {
    (figure * 1e4).round() / 1e4
}
