//! `cargo bench --features postgres --bench postgres`: measures the service on PostgreSQL, in rounds that alternate
//! with rounds of `pgbench`. `pgbench` sends the service's write statements to the same server.
//!
//! `-- --short` measures shorter rounds. The bench starts a server of its own, with PostgreSQL's default settings. The
//! service, the server and the client share all cores. An error or a wrong count fails the run.

#![allow(clippy::unwrap_used, reason = "if a step fails, the bench must fail")]

#[path = "speed/company.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod company;
#[path = "speed/cores.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod cores;
#[path = "speed/decisions.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod decisions;
#[path = "speed/exchange.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod exchange;
#[path = "support/figures.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod figures;
#[path = "speed/line.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod line;
#[path = "speed/load.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod load;
#[path = "postgres/pgbench.rs"]
mod pgbench;
#[path = "../tests/support/postgres_server.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod postgres_server;
#[path = "speed/process.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod process;
#[path = "speed/random.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod random;
#[path = "speed/round.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod round;
#[path = "speed/server.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod server;
#[path = "postgres/service.rs"]
mod service;
#[path = "speed/setup.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod setup;
#[path = "speed/template.rs"]
#[allow(dead_code, reason = "other benches use the rest")]
mod template;

use std::sync::Arc;
use std::time::{Duration, Instant};

use appliance::domain::text::counted;
use cores::Cores;
use decisions::{Decisions, Order};
use line::alternate;
use load::Course;
use pgbench::Pgbench;
use postgres_server::TestServer;
use round::{Figure, Round, Spread};
use service::Service;
use template::Template;

/// The numbers of connections to the service. `pgbench` writes the same number of decisions, or of usage rows, in each
/// transaction.
const CONNECTIONS: [usize; 3] = [1, 64, 256];

/// The lengths of a measurement.
struct Lengths {
    rounds: usize,
    reading: Duration,
    /// The number of decisions per connection in a round, and the maximum number of decisions in a round.
    decisions: (usize, usize),
}

const FULL: Lengths = Lengths { rounds: 7, reading: Duration::from_millis(2_500), decisions: (512, 8_192) };
const SHORT: Lengths = Lengths { rounds: 5, reading: Duration::from_millis(500), decisions: (128, 2_048) };

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo test --all-targets` also runs the bench, but must not measure.
    if !arguments.iter().any(|argument| argument == "--bench") {
        println!("no measurement; use `cargo bench --features postgres --bench postgres`");
        return;
    }
    let is_short = arguments.iter().any(|argument| argument == "--short");
    let lengths = if is_short { SHORT } else { FULL };
    let began = Instant::now();
    let machine = figures::machine();
    let template = Template::make(&Cores::unpinned());
    let server = TestServer::start_on_disk().expect("PostgreSQL is installed");
    let (ours, raw) = (server.database(), server.database());
    for database in [&ours, &raw] {
        template::run(&["copy", "--from", template.path(), "--to", &url(&server, database)]);
        server.psql(database, "VACUUM ANALYZE");
    }
    eprintln!("creating the databases took {:.0} s", began.elapsed().as_secs_f64());
    println!("Speed of the service on PostgreSQL {}, on {machine}", server.psql("postgres", "SHOW server_version"));
    println!("Medians of {} interleaved rounds (minimum to maximum).", lengths.rounds);
    if is_short {
        println!("Short rounds: do not publish these figures.");
    }
    println!("\n{:46}{:>26}{:>26}{:>22}", "", "pgbench, per second", "service, per second", "ratio");
    let mut sides = Sides {
        service: Service::start(&url(&server, &ours)),
        pgbench: Pgbench::new(&server, &raw, &template.keys),
        decisions: Decisions::new(Order::OfIds),
        template: &template,
        connections: 0,
        lengths: &lengths,
    };
    for connections in CONNECTIONS {
        sides.connections = connections;
        let (limits, services) = alternate(&mut sides, lengths.rounds, Sides::raw_decisions, Sides::decisions);
        print(&format!("reject and hire alternately, {}", counted(connections, "connection")), &limits, &services);
    }
    for connections in CONNECTIONS {
        sides.connections = connections;
        let (limits, services) = alternate(&mut sides, lengths.rounds, Sides::raw_me, Sides::me);
        print(&format!("GET /api/v1/me, {}", counted(connections, "connection")), &limits, &services);
    }
    let answers = sides.service.stop();
    let rows: usize = server.psql(&ours, "SELECT count(*) FROM api_key_usage").parse().unwrap();
    assert_eq!(rows, template::usage_rows(template.path().as_ref()) + answers, "each answer has a usage row");
    println!("\nthe bench took {:.0} s", began.elapsed().as_secs_f64());
}

fn url(server: &TestServer, database: &str) -> String {
    server.url(postgres_server::USER, database, "sslmode=disable")
}

/// The service and `pgbench`, each with a database of its own on one server.
struct Sides<'a> {
    service: Service,
    pgbench: Pgbench<'a>,
    decisions: Decisions,
    template: &'a Template,
    connections: usize,
    lengths: &'a Lengths,
}

impl Sides<'_> {
    /// Returns the number of decisions in a round, a multiple of the number of connections.
    fn count(&self) -> usize {
        let (each, most) = self.lengths.decisions;
        (each * self.connections).min(most)
    }

    fn raw_decisions(&mut self) -> Round {
        self.pgbench.decide(self.count(), self.connections)
    }

    fn decisions(&mut self) -> Round {
        let decisions = self.decisions.take(self.count()).into_iter();
        let requests = decisions.map(|decision| decision.request(&self.template.keys)).collect();
        self.service.round(self.connections, &Arc::new(requests), &Course::Through)
    }

    fn raw_me(&mut self) -> Round {
        self.pgbench.log_uses(self.lengths.reading, self.connections)
    }

    fn me(&mut self) -> Round {
        let requests = self.template.texts().map(|key| exchange::get("/api/v1/me", Some(key))).collect();
        self.service.round(self.connections, &Arc::new(requests), &Course::For(self.lengths.reading))
    }
}

fn print(name: &str, limits: &[Round], services: &[Round]) {
    let pairs = limits.iter().zip(services);
    let ratios = Spread::new(pairs.map(|(limit, service)| Figure::Rate.of(service) / Figure::Rate.of(limit)));
    let [limits, services] = [limits, services].map(|rounds| shown(&Figure::Rate.of_all(rounds), 0));
    println!("{name:46}{limits:>26}{services:>26}{:>22}", shown(&ratios, 2));
}

fn shown(spread: &Spread, decimals: usize) -> String {
    format!("{:.decimals$} ({:.decimals$} to {:.decimals$})", spread.median(), spread.min(), spread.max())
}
