//! `appliance serve`: runs the service. With `--demo`, it serves a sample company.

mod args;
mod findings;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

pub use self::args::Args;
use self::args::Format;
use super::demo;
use super::failure::{EXIT_CONFIG, EXIT_FAILED, Failure};
use super::output::print_message;
use super::service_manager::{self, ServiceManager, is_journal};
use super::settings_file::Resolved;
use super::tls_args::is_https;
use crate::domain::disk::UploadLimits;
use crate::domain::rate::RatePolicy;
use crate::domain::text::counted;
use crate::hr;
use crate::http::server::ctx::{Ctx, SERVER_THREADS_MAX, Settings};
use crate::http::{self, Acme, AcmeFolder, AcmeSettings, Server, Stopped};
use crate::store::erasure::RepeatedErasures;
use crate::store::health::BackgroundJob;
use crate::store::{self, Halt, OpenError, READERS_MAX, Store};
use crate::telemetry::{LogFormat, Telemetry};
use crate::world::{Real, World};

/// The maximum numbers of threads of a service with a file: for handlers that read and for password hashing, for all
/// other work on requests, and for deliveries to HR systems. Each thread uses at most one of the store's readers at a
/// time. The sum of these numbers is at most the number of readers, so none of these threads waits for a reader.
const BLOCKING_THREADS_MAX: usize = 6;
const WORKER_THREADS_MAX: usize = 8;
const HR_THREADS: usize = 1;
const _: () = assert!(BLOCKING_THREADS_MAX + WORKER_THREADS_MAX + HR_THREADS <= READERS_MAX as usize);

/// # Errors
/// Exit status 78 if a restart would not help: for example, if the file is newer, foreign or not writable, or if the
/// certificate cannot be used. Exit status 2 if options contradict each other, for example if the service speaks TLS
/// but the base URL is not https (78 if the option is set in the settings file). Exit status 1 otherwise: for example,
/// if another `serve` uses the file, or if the port is taken.
pub(super) fn run(args: Args, resolved: &Resolved) -> Result<(), Failure> {
    if let Some(contradiction) = args.contradictions().first() {
        return Err(contradiction.failure(resolved));
    }
    if let Some(path) = &resolved.path {
        print_message(&format!("settings file: {}", path.display()));
    }
    let passed = service_manager::passed_socket()?;
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get).min(WORKER_THREADS_MAX);
    let is_on_server = store::is_server(&args.path());
    let blocking_threads = if is_on_server { SERVER_THREADS_MAX } else { BLOCKING_THREADS_MAX };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(workers)
        .max_blocking_threads(blocking_threads)
        .build()
        .map_err(|error| Failure::new(format!("the service cannot start: {error}")))?;
    runtime.block_on(serve(args, passed))
}

async fn serve(args: Args, passed: Option<std::net::TcpListener>) -> Result<(), Failure> {
    let manager = Arc::new(ServiceManager::from_environment());
    manager.report("opening the database");
    let stop = stop_signal(Arc::clone(&manager))?;
    let hangups = listen_for(SignalKind::hangup())?;
    let is_inherited = passed.is_some();
    let (listener, address) = match passed {
        Some(listener) => adopt(listener)?,
        None => bind(args.listen, "--listen").await?,
    };
    let metrics = bind_if_given(args.metrics_listen, "--metrics-listen").await?;
    let redirects = bind_if_given(args.redirect_from, "--redirect-from").await?;
    let tls = args.tls.read(args.base_url.as_deref(), &Real::new())?;
    let acme = args.tls.acme.settings().map(|settings| (settings, args.path()));
    let url = format!("{}://{address}", if args.tls.is_set() { "https" } else { "http" });
    warn_about_address(&args, address, &url);
    let deliveries = hr::Settings {
        schedule: args.hr_retry_schedule.clone(),
        timeout: args.hr_timeout,
        allow_private_targets: args.allow_private_hr_targets,
    };
    let mut ctx = open(args, address)?;
    let acme = acme.map(|(settings, db)| open_acme(settings, &db, Arc::clone(&ctx.world))).transpose()?;
    ctx.tls = acme.as_ref().map(Acme::tls).or(tls);
    let ctx = Arc::new(ctx);
    let worker = start_deliveries(&ctx, deliveries)?;
    if let Some((listener, address)) = metrics {
        print_message(&format!("metrics on http://{address}/metrics"));
        tokio::spawn(http::serve_metrics(listener, Arc::clone(&ctx)));
    }
    if let Some((listener, address)) = redirects {
        print_message(&format!("redirecting http://{address} to {}", ctx.settings.base_url));
        tokio::spawn(http::serve_redirects(listener, Arc::clone(&ctx)));
    }
    match acme {
        Some(acme) => drop(tokio::spawn(http::follow_orders(acme, Arc::clone(&ctx), hangups))),
        None => drop(tokio::spawn(http::follow_certificate(Arc::clone(&ctx), hangups))),
    }
    print_message(&format!("listening on {url}"));
    manager.ready(&url);
    tokio::spawn(report(manager, Arc::clone(&ctx), url));
    let server = Server::new(listener, ctx, http::routes::table());
    let server = if is_inherited { server.with_inherited_socket() } else { server };
    match server.run(stop, worker.stop()).await {
        Stopped::Gracefully => print_message("stopped"),
        Stopped::WithRequestsLeft => print_message("stopped; some requests did not end in time and were not answered"),
        Stopped::WithLogLeft(why) => {
            return Err(Failure::new(format!(
                "stopped, but the last checkpoint failed: {why}; nothing is lost if the -wal file stays next to the \
                 file until the next start"
            )));
        }
        Stopped::Broken(halt) => {
            let failure = Failure::new(format!("the service cannot continue: {halt}"));
            return Err(match halt {
                Halt::Unknown(_) | Halt::Upgraded(_) => failure,
                Halt::Lost(_) => Failure { exit: EXIT_CONFIG, ..failure },
            });
        }
    }
    Ok(())
}

/// Reports to the service manager, for its watchdog, while the event loop and the writer make progress. Also reports
/// which background jobs are failing.
async fn report(manager: Arc<ServiceManager>, ctx: Arc<Ctx>, url: String) {
    let mut beats = None;
    loop {
        let now = ctx.store.writer_beats();
        let names: Vec<&str> = ctx.store.health().failing().into_iter().map(BackgroundJob::name).collect();
        if beats.replace(now) != Some(now) {
            manager.alive(&url, &names);
        }
        tokio::time::sleep(manager.report_interval()).await;
    }
}

/// Warns if links would begin with an address that other machines cannot open. Also warns if a proxy must be in front
/// of the service but no proxy is trusted.
fn warn_about_address(args: &Args, address: SocketAddr, url: &str) {
    let has_base_url = args.base_url.is_some() || args.tls.acme.is_set();
    if address.ip().is_unspecified() && !has_base_url {
        print_message(&format!(
            "warning: listening on every interface without --base-url; links will begin with {url}, which other \
             machines cannot open. Set the public URL, for example --base-url https://jobs.example.com"
        ));
    }
    if !args.tls.is_set() && lacks_trusted_proxy(args, address) {
        print_message(
            "warning: --base-url is https and the service listens on loopback, so a proxy must be in front of it, but \
             no --trusted-proxy is given. All clients therefore share one address and its limits. For a proxy on this \
             machine, add --trusted-proxy 127.0.0.1/32",
        );
    }
}

/// Returns whether a proxy must be in front of the service but no proxy is trusted.
fn lacks_trusted_proxy(args: &Args, address: SocketAddr) -> bool {
    args.base_url.as_deref().is_some_and(is_https)
        && address.ip().to_canonical().is_loopback()
        && args.trusted_proxy.is_empty()
}

/// Opens the database and prepares the service, which listens on this address.
fn open(args: Args, address: SocketAddr) -> Result<Ctx, Failure> {
    let world: Arc<dyn World> = Arc::new(Real::new());
    let base_url = args.base_url_at(address);
    let path = args.path();
    let store = Store::open(&path, Arc::clone(&world)).map_err(|error| cannot_open(&error))?;
    report_repeated_erasures(store.erased_again(), &path);
    if store.erased_without_list() > 0 {
        print_message(&format!(
            "warning: {} {} erased from this file, but its erasure list {} was missing. If this file is a copy, \
             candidates who were erased later are in it again: put the original's erasure list next to the file and \
             restart. Until then, the list contains only the erasures that this file records",
            counted(store.erased_without_list(), "candidate"),
            if store.erased_without_list() == 1 { "was" } else { "were" },
            store::file::beside(&path, ".erased").display()
        ));
    }
    if args.usage_retention_days > 0 {
        store.prune_usage(args.usage_retention_days);
    }
    if args.demo {
        demo::prepare(&store, &path, world.as_ref(), &base_url)?;
    }
    let uploads = UploadLimits { min_free_bytes: args.min_free, attachments_bytes_max: args.attachments_max };
    if let Some(backups) = args.backups.settings(uploads) {
        store.backups().schedule(backups);
    }
    let settings = Settings {
        origin: http::origin(&base_url).unwrap_or_default(),
        base_url,
        rate: (args.rate_limit > 0).then_some(RatePolicy { per_minute: args.rate_limit }),
        signups_per_hour: (args.signup_limit > 0).then_some(args.signup_limit),
        uploads,
        trusted_proxies: args.trusted_proxy,
        requires_second_factors: !args.demo,
        security_contacts: args.security_contact,
    };
    let format = match args.log_format {
        Format::Text => LogFormat::Text,
        Format::Json => LogFormat::Json,
    };
    let telemetry = if is_journal() { Telemetry::for_journal(format) } else { Telemetry::new(format) };
    Ok(Ctx::new(Arc::new(store), world, settings, Arc::new(telemetry)))
}

/// Reports the erasures that this start repeated, and the candidates who remain because they were changed or placed
/// under a legal hold after they were put on the erasure list.
fn report_repeated_erasures(again: &RepeatedErasures, path: &Path) {
    let list = store::file::beside(path, ".erased");
    let list = list.display();
    if again.candidates + again.signups > 0 {
        print_message(&format!(
            "erased {} and {} again: {list} lists them, but the file held their data; the file is an older copy",
            counted(again.candidates, "candidate"),
            counted(again.signups, "signup"),
        ));
    }
    for candidate in &again.changed {
        print_message(&format!("warning: {}", store::check::changed_since_erased(candidate, &list)));
    }
}

/// Opens the folder for the certificate. The service already holds the lock of the database file.
fn open_acme(settings: AcmeSettings, db: &Path, world: Arc<dyn World>) -> Result<Acme, Failure> {
    let folder = AcmeFolder::of(&store::file::resolve(db));
    let acme = Acme::open(settings, folder, world).map_err(|message| Failure { exit: EXIT_CONFIG, message })?;
    for note in &acme.notes {
        print_message(note);
    }
    Ok(acme)
}

fn start_deliveries(ctx: &Ctx, settings: hr::Settings) -> Result<hr::Worker, Failure> {
    let (store, world, telemetry) = (Arc::clone(&ctx.store), Arc::clone(&ctx.world), Arc::clone(&ctx.telemetry));
    let started = hr::Worker::start(store, world, telemetry, Arc::new(hr::SystemNetwork), settings);
    started.map_err(|error| Failure::new(format!("the service cannot start: {error}")))
}

/// Returns a future that resolves at the first SIGTERM or SIGINT. A second signal ends the process at once. No
/// confirmed change is lost, because each change is committed before its response.
fn stop_signal(manager: Arc<ServiceManager>) -> Result<impl Future<Output = ()>, Failure> {
    let mut terminate = listen_for(SignalKind::terminate())?;
    let mut interrupt = listen_for(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        manager.stopping();
        print_message("stopping: answering requests that have begun; a second signal ends the process at once");
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

async fn bind(address: SocketAddr, flag: &str) -> Result<(TcpListener, SocketAddr), Failure> {
    let cannot_listen = |error: std::io::Error| {
        Failure::new(format!("cannot listen on {address}: {error}; choose another address with {flag}"))
    };
    let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    Ok((listener, address))
}

async fn bind_if_given(address: Option<SocketAddr>, flag: &str) -> Result<Option<(TcpListener, SocketAddr)>, Failure> {
    match address {
        Some(address) => bind(address, flag).await.map(Some),
        None => Ok(None),
    }
}

/// Returns the socket from the service manager with its address.
fn adopt(listener: std::net::TcpListener) -> Result<(TcpListener, SocketAddr), Failure> {
    let adopted = listener.set_nonblocking(true).and_then(|()| {
        let address = listener.local_addr()?;
        Ok((TcpListener::from_std(listener)?, address))
    });
    adopted.map_err(|error| Failure::new(format!("cannot listen on the socket from the service manager: {error}")))
}

fn cannot_open(error: &OpenError) -> Failure {
    let failure = Failure::new(error.to_string());
    if error.may_pass() { failure } else { Failure { exit: EXIT_CONFIG, ..failure } }
}
