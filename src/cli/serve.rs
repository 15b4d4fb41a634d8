//! `appliance serve`: runs the service, and the sample company of `--demo`.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::BoolishValueParser;
use ipnet::IpNet;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::{EXIT_CONFIG, EXIT_FAILED, Failure, demo, say};
use crate::domain::disk::{self, UploadLimits};
use crate::domain::hr_delivery::{self, RetrySchedule};
use crate::domain::rate::RatePolicy;
use crate::domain::usage;
use crate::hr;
use crate::http::server::ctx::{Ctx, Settings};
use crate::http::{self, Server, Stopped};
use crate::store::erasure::ErasedAgain;
use crate::store::{self, Halt, OpenError, READERS_MAX, Store};
use crate::telemetry::{LogFormat, Telemetry};
use crate::world::{Real, World};

/// Threads for reads and password hashes, for everything else, and the one that delivers to HR systems. All read the
/// file, and together they are as many as the store has readers, so that none of them waits for one.
const BLOCKING_THREADS_MAX: usize = 6;
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
/// and the exit status is 0. It is 1 where the last checkpoint failed, and 78 where starting again would not help, also
/// when the file is removed, replaced or written over while the service runs.
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

    /// Applications that may be sent from one address (or IPv6 /64) within an hour, by the form and the API alike; a /56 may send
    /// twice as many, a /48 four times; 0 for no limit.
    #[arg(long, env = "APPLIANCE_SIGNUP_LIMIT", value_name = "PER_HOUR", default_value_t = 30,
        value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    signup_limit: u32,

    /// Free space of the disk below which uploads are refused, such as 500M or 2G; 1 GB or 5 % of the disk, whichever is
    /// less, when not given. Everything else goes on until the disk is full.
    #[arg(long, env = "APPLIANCE_MIN_FREE", value_name = "BYTES", value_parser = bytes)]
    min_free: Option<u64>,

    /// The bytes of all attachments together, such as 20G, above which uploads are refused; no limit when not given.
    #[arg(long, env = "APPLIANCE_ATTACHMENTS_MAX", value_name = "BYTES", value_parser = bytes)]
    attachments_max: Option<u64>,

    /// A network of proxies whose X-Forwarded-For is believed, such as 127.0.0.1/32. May be given more than once.
    #[arg(long, env = "APPLIANCE_TRUSTED_PROXY", value_name = "CIDR", value_delimiter = ',', value_parser = network)]
    trusted_proxy: Vec<IpNet>,

    /// Where to report a vulnerability: an email address, or an https, mailto or tel URI. Makes
    /// /.well-known/security.txt (RFC 9116), which does not exist without it. May be given more than once.
    #[arg(long, env = "APPLIANCE_SECURITY_CONTACT", value_name = "CONTACT", value_delimiter = ',',
        value_parser = security_contact)]
    security_contact: Vec<String>,

    /// An address of its own for GET /metrics (Prometheus text); off without it.
    #[arg(long, env = "APPLIANCE_METRICS_LISTEN", value_name = "ADDR", value_parser = address)]
    metrics_listen: Option<SocketAddr>,

    /// The delays after a delivery to an HR system failed: one more attempt after each, and then an admin has to send it
    /// again.
    #[arg(long, env = "APPLIANCE_HR_RETRY_SCHEDULE", value_name = "DELAYS",
        default_value = "5s,5m,30m,2h,5h,10h,14h,20h,24h", value_parser = RetrySchedule::parse)]
    hr_retry_schedule: RetrySchedule,

    /// How long an attempt to deliver may take in all, from 100ms to 2m.
    #[arg(long, env = "APPLIANCE_HR_TIMEOUT", value_name = "DURATION", default_value = "15s", value_parser = timeout)]
    hr_timeout: Duration,

    /// Let HR systems be on loopback, private and other special addresses. Whoever may save an HR integration can then
    /// make this machine post to what only it can reach.
    #[arg(long, env = "APPLIANCE_ALLOW_PRIVATE_HR_TARGETS", value_parser = BoolishValueParser::new())]
    allow_private_hr_targets: bool,

    /// Days that a row of the usage log is kept; 0 keeps all for ever. Counts of requests are of all time in any case.
    #[arg(long, env = "APPLIANCE_USAGE_RETENTION_DAYS", value_name = "DAYS", default_value_t = usage::RETENTION_DAYS_DEFAULT,
        value_parser = clap::value_parser!(u32).range(..=i64::from(usage::RETENTION_DAYS_MAX)))]
    usage_retention_days: u32,

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
    if lacks_trusted_proxy(&args, address) {
        say(
            "warning: --base-url is https and the service listens on loopback, so a proxy must be in front of it, and no \
             --trusted-proxy is named. All people then count as one address and share its limits. For a proxy on this \
             machine, add --trusted-proxy 127.0.0.1/32",
        );
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
    match Server::new(listener, ctx, http::routes::table()).run(stop, worker.stop()).await {
        Stopped::Gracefully => say("stopped"),
        Stopped::WithRequestsLeft => say("stopped; some requests had not ended in time and got no answer"),
        Stopped::WithLogLeft(why) => {
            return Err(Failure::new(format!(
                "stopped, and the last checkpoint failed: {why}; nothing is lost, keep the -wal file with the file until \
                 the next start"
            )));
        }
        Stopped::Broken(halt) => {
            let failure = Failure::new(format!("the service cannot go on: {halt}"));
            return Err(match halt {
                Halt::Unknown(_) => failure,
                Halt::Lost(_) => Failure { exit: EXIT_CONFIG, ..failure },
            });
        }
    }
    Ok(())
}

/// Whether people must come through a proxy that the service would not believe.
fn lacks_trusted_proxy(args: &Args, address: SocketAddr) -> bool {
    let is_https = args.base_url.as_deref().and_then(http::origin).is_some_and(|origin| origin.starts_with("https:"));
    is_https && address.ip().to_canonical().is_loopback() && args.trusted_proxy.is_empty()
}

/// The service on its file. `url` is where it listens.
fn open(args: Args, url: &str) -> Result<Ctx, Failure> {
    let world: Arc<dyn World> = Arc::new(Real::new());
    let base_url = args.base_url.unwrap_or_else(|| url.to_owned());
    let path = args.db.unwrap_or_else(|| PathBuf::from(if args.demo { demo::FILE } else { super::FILE }));
    let store = Store::open(&path, Arc::clone(&world)).map_err(|error| cannot_open(&error))?;
    say_erased(store.erased_again(), &path);
    if store.erased_without_list() > 0 {
        say(&format!(
            "warning: {} candidates were erased from this file, and the list of who was erased, {}, was missing. Whoever was \
             erased after this copy of the file was made is in it again: put the list of the original beside the file and \
             start again. Until then the list is what this file has on record",
            store.erased_without_list(),
            store::file::beside(&path, ".erased").display()
        ));
    }
    if args.usage_retention_days > 0 {
        let pruned = store.prune_usage(args.usage_retention_days);
        pruned.map_err(|error| Failure::new(format!("the service cannot start: {error}")))?;
    }
    if args.demo {
        demo::prepare(&store, &path, world.as_ref(), &base_url)?;
    }
    let settings = Settings {
        origin: http::origin(&base_url).unwrap_or_default(),
        base_url,
        rate: (args.rate_limit > 0).then_some(RatePolicy { per_minute: args.rate_limit }),
        signups_per_hour: (args.signup_limit > 0).then_some(args.signup_limit),
        uploads: UploadLimits { min_free_bytes: args.min_free, attachments_bytes_max: args.attachments_max },
        trusted_proxies: args.trusted_proxy,
        security_contacts: args.security_contact,
    };
    let format = match args.log_format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    Ok(Ctx::new(Arc::new(store), world, settings, Arc::new(Telemetry::new(format))))
}

/// Says what the list of who was erased came to at this start.
fn say_erased(again: &ErasedAgain, path: &Path) {
    let list = store::file::beside(path, ".erased");
    let list = list.display();
    if again.candidates + again.signups > 0 {
        say(&format!(
            "erased {} candidates and {} signups again: {list} has them as erased, and the file had their data; it is an \
             older copy",
            again.candidates, again.signups,
        ));
    }
    for candidate in &again.changed {
        say(&format!("warning: {}", store::check::changed_since_erased(candidate, &list)));
    }
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

/// A contact for security reports, as a URI.
fn security_contact(text: &str) -> Result<String, String> {
    http::security_contact(text).ok_or_else(|| {
        "a contact is an email address or a URI, such as security@example.com, https://example.com/security or \
         tel:+1-201-555-0123"
            .to_owned()
    })
}

/// A number of bytes.
fn bytes(text: &str) -> Result<u64, String> {
    disk::parse_bytes(text)
        .ok_or_else(|| "bytes look like 500M or 20G, with K, M, G, T or nothing behind them".to_owned())
}

/// The time limit of an attempt.
fn timeout(text: &str) -> Result<Duration, String> {
    let duration = hr_delivery::parse_duration(text, HR_TIMEOUT_MIN..=HR_TIMEOUT_MAX);
    duration.ok_or_else(|| "a time limit is between 100ms and 2m, such as 15s".to_owned())
}

/// A network, or one address.
fn network(text: &str) -> Result<IpNet, String> {
    let text = text.trim();
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse().or_else(|_| address()).map_err(|_| "a network looks like 127.0.0.1/32 or 10.0.0.0/8".to_owned())
}
