//! `appliance serve`: runs the service, and the sample company of `--demo`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{EXIT_CONFIG, EXIT_FAILED, Failure, demo, say};
use crate::domain::hr_delivery::{self, Schedule};
use crate::domain::rate::Policy;
use crate::hr;
use crate::http::ctx::{Ctx, Settings};
use crate::http::{self, Server, Stopped};
use crate::store::erasure::ErasedAgain;
use crate::store::{self, OpenError, READERS_MAX, Store};
use crate::telemetry::{LogFormat, Telemetry};
use crate::world::{Real, World};

/// Threads for reads and password hashes, for everything else, and the one that delivers to HR systems. All read the
/// file, and together they are as many as the store has readers, so that none of them waits for one.
const BLOCKING_THREADS_MAX: usize = 8;
const WORKER_THREADS_MAX: usize = 8;
const HR_THREADS: usize = 1;
const _: () = assert!(BLOCKING_THREADS_MAX + WORKER_THREADS_MAX + HR_THREADS <= READERS_MAX as usize);

/// What `--hr-timeout` may be: below, no TLS handshake fits in; above, a target that hangs is only waited for longer.
const HR_TIMEOUT_MIN: Duration = Duration::from_millis(100);
const HR_TIMEOUT_MAX: Duration = Duration::from_secs(120);

/// Run the service.
///
/// Makes the file where there is none, upgrades one of an older version (a copy is kept beside it), and prints
/// `listening on http://…` to standard error when it is ready. SIGTERM and SIGINT stop it: what has begun is answered,
/// and the exit status is 0. It is 78 where starting again would not help.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  appliance serve --demo
      a sample company on http://127.0.0.1:8080, in demo.db
  appliance serve --db jobs.db --base-url https://jobs.example.com --trusted-proxy 127.0.0.1/32
      your own, behind a proxy on the same machine that speaks TLS
  APPLIANCE_DB=jobs.db APPLIANCE_LOG_FORMAT=json appliance serve
      the same by environment variables")]
pub struct Args {
    /// The SQLite file with everything in it; appliance.db when not given, with --demo demo.db.
    #[arg(long, env = "APPLIANCE_DB", value_name = "FILE")]
    db: Option<PathBuf>,

    /// The address to listen on; port 0 takes a free one.
    #[arg(long, env = "APPLIANCE_LISTEN", value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = address)]
    listen: SocketAddr,

    /// Where the service is reached from outside, without a path; links are built on it. When not given, http:// and
    /// the listen address.
    #[arg(long, env = "APPLIANCE_BASE_URL", value_name = "URL", value_parser = base_url)]
    base_url: Option<String>,

    /// Run on a sample company, made at the first start.
    #[arg(long, env = "APPLIANCE_DEMO", value_parser = BoolishValueParser::new())]
    demo: bool,

    /// Requests a minute for each key or signed-in user; 0 for no limit.
    #[arg(long, env = "APPLIANCE_RATE_LIMIT", value_name = "PER_MINUTE", default_value_t = 1_200,
        value_parser = clap::value_parser!(u32).range(..=60_000_000))]
    rate_limit: u32,

    /// Applications that may be sent from one address within an hour, by the form and the API alike; 0 for no limit.
    #[arg(long, env = "APPLIANCE_SIGNUP_LIMIT", value_name = "PER_HOUR", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    signup_limit: u32,

    /// A network of proxies whose X-Forwarded-For is believed, such as 127.0.0.1/32. May be given more than once.
    #[arg(long, env = "APPLIANCE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    trusted_proxy: Vec<IpNet>,

    /// An address of its own for GET /metrics (Prometheus text); off without it.
    #[arg(long, env = "APPLIANCE_METRICS_LISTEN", value_name = "ADDR", value_parser = address)]
    metrics_listen: Option<SocketAddr>,

    /// The delays after a delivery to an HR system failed: one more attempt after each, and then an admin has to send it
    /// again.
    #[arg(long, env = "APPLIANCE_HR_RETRY_SCHEDULE", value_name = "DELAYS",
        default_value = "5s,5m,30m,2h,5h,10h,14h,20h,24h", value_parser = Schedule::parse)]
    hr_retry_schedule: Schedule,

    /// How long an attempt to deliver may take in all, from 100ms to 2m.
    #[arg(long, env = "APPLIANCE_HR_TIMEOUT", value_name = "DURATION", default_value = "15s", value_parser = timeout)]
    hr_timeout: Duration,

    /// Let HR systems be on loopback, private and other special addresses. Whoever may save an HR integration can then
    /// make this machine post to what only it can reach.
    #[arg(long, env = "APPLIANCE_ALLOW_PRIVATE_HR_TARGETS", value_parser = BoolishValueParser::new())]
    allow_private_hr_targets: bool,

    /// How the log on standard error is written: one line a request.
    #[arg(long, env = "APPLIANCE_LOG_FORMAT", value_enum, default_value_t = Format::Text)]
    log_format: Format,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// Words and figures for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// Runs the command.
///
/// # Errors
/// Exit status 78 for a file that is newer, foreign or not writable; 1 for one that another `serve` holds, and for a
/// port that is taken.
pub fn run(args: Args) -> Result<(), Failure> {
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(WORKER_THREADS_MAX);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(workers)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .build()
        .map_err(|error| Failure::new(format!("the service cannot start: {error}")))?;
    runtime.block_on(serve(args))
}

async fn serve(args: Args) -> Result<(), Failure> {
    let stop = until_told()?;
    let (listener, address) = bind(args.listen).await?;
    let metrics = match args.metrics_listen {
        Some(address) => Some(bind(address).await?),
        None => None,
    };
    let url = format!("http://{address}");
    if address.ip().is_unspecified() && args.base_url.is_none() {
        say(&format!(
            "warning: listening on every interface without --base-url; links will begin with {url}, which nobody can \
             open. Name the address people use, for example --base-url https://jobs.example.com"
        ));
    }
    let deliveries = hr::Settings {
        schedule: args.hr_retry_schedule.clone(),
        timeout: args.hr_timeout,
        allow_private_targets: args.allow_private_hr_targets,
    };
    let ctx = Arc::new(open(args, &url)?);
    let worker = deliver(&ctx, deliveries)?;
    if let Some((listener, address)) = metrics {
        say(&format!("metrics on http://{address}/metrics"));
        tokio::spawn(http::serve_metrics(listener, Arc::clone(&ctx)));
    }
    say(&format!("listening on {url}"));
    match Server::new(listener, ctx).run(stop, worker.stop()).await {
        Stopped::Gracefully => say("stopped"),
        Stopped::WithRequestsLeft => say("stopped; some requests had not ended in time and got no answer"),
        Stopped::Broken(why) => return Err(Failure::new(format!("the service cannot go on: {why}"))),
    }
    Ok(())
}

/// The service on its file. `url` is where it listens.
fn open(args: Args, url: &str) -> Result<Ctx, Failure> {
    let world: Arc<dyn World> = Arc::new(Real::new());
    let base_url = args.base_url.unwrap_or_else(|| url.to_owned());
    let path = args.db.unwrap_or_else(|| PathBuf::from(if args.demo { demo::FILE } else { super::FILE }));
    let store = Store::open(&path, Arc::clone(&world)).map_err(|error| cannot_open(&error))?;
    let again = store.erased_again();
    if again != ErasedAgain::default() {
        say(&format!(
            "erased {} candidates and {} signups again: {} has them as erased, and the file had their data; it is an older copy",
            again.candidates,
            again.signups,
            store::file::beside(&path, ".erased").display()
        ));
    }
    if args.demo {
        demo::prepare(&store, &path, world.as_ref(), &base_url)?;
    }
    let settings = Settings {
        origin: http::origin(&base_url).unwrap_or_default(),
        base_url,
        rate: (args.rate_limit > 0).then_some(Policy { per_minute: args.rate_limit }),
        signups_per_hour: (args.signup_limit > 0).then_some(args.signup_limit),
        trusted_proxies: args.trusted_proxy,
    };
    let format = match args.log_format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    Ok(Ctx::new(Arc::new(store), world, settings, Arc::new(Telemetry::new(format))))
}

/// Starts delivering to HR systems.
fn deliver(ctx: &Ctx, settings: hr::Settings) -> Result<hr::Worker, Failure> {
    let (store, world, telemetry) = (Arc::clone(&ctx.store), Arc::clone(&ctx.world), Arc::clone(&ctx.telemetry));
    let started = hr::Worker::start(store, world, telemetry, Arc::new(hr::System), settings);
    started.map_err(|error| Failure::new(format!("the service cannot start: {error}")))
}

/// Resolves at the first SIGTERM or SIGINT; a second one ends the process at once, which loses nothing that was
/// answered.
fn until_told() -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        say("stopping: answering what has begun; a second signal ends it at once");
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            std::process::exit(EXIT_FAILED.into());
        });
    })
}

fn listen_for(kind: SignalKind) -> Result<tokio::signal::unix::Signal, Failure> {
    signal(kind).map_err(|error| Failure::new(format!("signals cannot be caught: {error}")))
}

async fn bind(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let cannot = |error: std::io::Error| {
        Failure::new(format!("cannot listen on {address}: {error}; name another address with --listen"))
    };
    let listener = TcpListener::bind(address).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    Ok((listener, address))
}

fn cannot_open(error: &OpenError) -> Failure {
    let failure = Failure::new(error.to_string());
    if error.may_pass() { failure } else { Failure { exit: EXIT_CONFIG, ..failure } }
}

/// A base URL without the slash at its end.
fn base_url(text: &str) -> Result<String, String> {
    match http::origin(text) {
        Some(_) => Ok(text.trim_end_matches('/').to_owned()),
        None => Err("a base URL looks like https://jobs.example.com, without user, path, query or fragment; give the \
                     service a host name of its own"
            .to_owned()),
    }
}

/// A socket address.
fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "an address to listen on looks like 127.0.0.1:8080 or [::1]:8080".to_owned())
}

/// The time limit of an attempt.
fn timeout(text: &str) -> Result<Duration, String> {
    let duration = hr_delivery::duration(text, HR_TIMEOUT_MIN..=HR_TIMEOUT_MAX);
    duration.ok_or_else(|| "a time limit is between 100ms and 2m, such as 15s".to_owned())
}

/// A network, or one address.
fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "a network looks like 127.0.0.1/32 or 10.0.0.0/8".to_owned())
}
