//! The context of every request: the store, the world, the settings, and the state in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::limit_counts::CountKind;
use super::network_buckets::NetworkBuckets;
use super::network_limit::NetworkLimit;
use super::permits::Permits;
use super::rate_limiter::RateLimiter;
use super::rendered_response::RenderedResponse;
use super::response_cache::ResponseCache;
use super::sign_in_throttle::SignInThrottle;
use super::tls::certificate::Tls;
use crate::domain::disk::UploadLimits;
use crate::domain::id;
use crate::domain::passkey;
use crate::domain::rate::RatePolicy;
use crate::store::Store;
use crate::telemetry::Telemetry;
use crate::world::{HashMemory, World};

/// The settings of the HTTP layer.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The public URL of the service, without a trailing slash. Links begin with this URL.
    pub base_url: String,
    /// The origin of the base URL, as browsers write it.
    pub origin: String,
    /// The rate limit of each API key or session user; `None` for no limit.
    pub rate: Option<RatePolicy>,
    /// The maximum number of signups from one IPv4 address or one IPv6 /64 in an hour, through the form and the API;
    /// `None` for no limit. Signups with errors count too.
    pub signups_per_hour: Option<u32>,
    /// The limits on the disk space for uploads.
    pub uploads: UploadLimits,
    pub trusted_proxies: Vec<IpNet>,
    /// Whether users who must have a second factor need it to use the console. False in a demo.
    pub requires_second_factors: bool,
    /// The contact URIs of `/.well-known/security.txt`. Without contacts, the path answers 404.
    pub security_contacts: Vec<String>,
}

impl Settings {
    /// Returns whether clients reach the service over https.
    pub(in crate::http) fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }

    /// Returns settings without limits for clients.
    #[cfg(test)]
    pub(super) fn for_tests() -> Self {
        Self {
            base_url: "http://a.example".to_owned(),
            origin: "http://a.example".to_owned(),
            rate: None,
            signups_per_hour: None,
            uploads: UploadLimits::default(),
            trusted_proxies: Vec::new(),
            requires_second_factors: true,
            security_contacts: Vec::new(),
        }
    }
}

/// The context of one service.
pub struct Ctx {
    pub store: Arc<Store>,
    pub world: Arc<dyn World>,
    pub settings: Settings,
    pub telemetry: Arc<Telemetry>,
    /// The certificate of the service. `None` if the service speaks plain HTTP, for example behind a proxy.
    pub tls: Option<Arc<Tls>>,
    pub(super) rate_limiter: Arc<RateLimiter>,
    pub(super) responses: ResponseCache,
    /// The response of the fast path (`GET /api/v1/me`). All callers share its header fields. The body for each caller
    /// is cached with the caller's key.
    pub(super) caller_response: OnceLock<RenderedResponse>,
    pub(in crate::http) sign_in_throttle: SignInThrottle,
    /// The limit on passkey challenges for strangers, so that one network cannot displace the challenges of others.
    pub(in crate::http) stranger_challenges: NetworkBuckets,
    /// The limit on the number of signups, with or without errors, that the service processes for one network in an
    /// hour.
    pub(in crate::http) form_limit: NetworkLimit,
    decoy_hash: OnceLock<String>,
    /// The limit on concurrent password hashes. Each uses 19 MiB and a whole core.
    pub(in crate::http) hashing: tokio::sync::Semaphore,
    /// The limit on requests that hash a password, such as sign-ins, or that wait to do so. If more requests were
    /// allowed to wait, clients would give up before the service answered.
    pub(super) hashing_queue: Permits,
    /// The memory of past password checks, which later checks reuse. It is freed after [`HASH_MEMORY_IDLE_MAX`] without
    /// a check. The hash of a new password uses memory of its own.
    hash_memory: Mutex<HashMemories>,
    /// The limit on multipart forms that arrive at the same time. Such a form can contain a file. Beyond this limit,
    /// the service accepts only forms that it can show again, and discards their files ([`Ctx::text_forms`]).
    pub(super) uploads: Permits,
    /// The limit on multipart forms whose files are discarded because [`Ctx::uploads`] had no free permit.
    pub(super) text_forms: Permits,
    /// The limit on forms whose files are staged although the client's network is over [`Ctx::form_limit`], so that the
    /// service can show a form again with its file.
    pub(in crate::http) redisplay_limit: NetworkLimit,
    /// Whether the log already mentions an untrusted proxy.
    pub(super) has_reported_proxy: AtomicBool,
    /// The limit on attachment chunks that downloads read at the same time.
    pub(super) chunk_reads: Arc<tokio::sync::Semaphore>,
    /// The limit on requests that read from a database server at the same time. Reads from a file have no limit.
    pub(super) server_reads: Arc<tokio::sync::Semaphore>,
    /// The permit to render a response that only one request at a time may render.
    pub(super) render_permit: tokio::sync::Semaphore,
    is_stopping: AtomicBool,
}

/// Hash memory that is not in use.
#[derive(Default)]
struct HashMemories {
    free: Vec<HashMemory>,
    used_at: Option<Instant>,
}

/// The time for which hash memory stays allocated after its last use.
const HASH_MEMORY_IDLE_MAX: Duration = Duration::from_secs(60);

/// The maximum number of concurrent password hashes.
const HASHES_MAX: usize = 2;

/// The maximum number of requests that hash a password or wait to do so. At about 20 ms for each hash and two hashes at
/// a time, these requests take less than a second.
const HASHES_WAITING_MAX: usize = 64;

/// The maximum number of requests from one client address that hash a password or wait to do so: enough for an office
/// in the morning.
const CLIENT_HASHES_WAITING_MAX: usize = 16;

/// The maximum number of multipart forms that arrive at the same time, at about 200 KiB of memory each: enough for a
/// career fair. Forms beyond this number count towards `TEXT_FORMS_MAX`.
pub const UPLOADS_MAX: usize = 128;

/// The maximum number of multipart forms that arrive from one client address at the same time. It is enough for an
/// office or a classroom, and it leaves permits for others.
pub const CLIENT_UPLOADS_MAX: usize = 16;

/// The maximum numbers of further multipart forms that arrive at the same time, and whose files are discarded: in
/// total, and from one client address. Each form uses about 200 KiB of memory.
const TEXT_FORMS_MAX: usize = 64;
const CLIENT_TEXT_FORMS_MAX: usize = 4;

/// The maximum number of attachment chunks that are read at the same time, each in a fraction of a millisecond. The
/// other blocking threads stay free for other requests, even during many downloads.
pub const CHUNK_READS_MAX: usize = 2;

/// The maximum number of requests that read from a database server at the same time. Each of them has a thread and a
/// connection. Downloads and background jobs use further connections.
const SERVER_READS_MAX: usize = 12;

/// The number of blocking threads for a service with a database server: one for each read, chunk and hash that may be
/// in progress at the same time.
pub const SERVER_THREADS_MAX: usize = SERVER_READS_MAX + CHUNK_READS_MAX + HASHES_MAX;

impl Ctx {
    /// Creates the context for a service on an open database.
    pub fn new(store: Arc<Store>, world: Arc<dyn World>, settings: Settings, telemetry: Arc<Telemetry>) -> Self {
        let (log, clock) = (Arc::clone(&telemetry), Arc::clone(&world));
        store.log_by(move |sentence| log.note(clock.now(), None, sentence));
        let rate_limiter = Arc::new(RateLimiter::new(settings.rate));
        let (limiter, clock) = (Arc::clone(&rate_limiter), Arc::clone(&world));
        store.note_requests_elsewhere_by(move |requests| limiter.note_elsewhere(requests, clock.monotonic()));
        let (per_hour, challenges) = (settings.signups_per_hour, CountKind::StrangerChallenges);
        let signup_limit = |kind| NetworkLimit::new(&store, &world, kind, per_hour);
        Self {
            rate_limiter,
            form_limit: signup_limit(CountKind::Signups),
            redisplay_limit: signup_limit(CountKind::RedisplayedForms),
            settings,
            telemetry,
            tls: None,
            responses: ResponseCache::default(),
            caller_response: OnceLock::new(),
            sign_in_throttle: SignInThrottle::new(&store, &world),
            stranger_challenges: NetworkBuckets::new(&store, &world, challenges, passkey::STRANGERS_RATE),
            decoy_hash: OnceLock::new(),
            hashing: tokio::sync::Semaphore::new(HASHES_MAX),
            hashing_queue: Permits::new(HASHES_WAITING_MAX, CLIENT_HASHES_WAITING_MAX),
            hash_memory: Mutex::default(),
            uploads: Permits::new(UPLOADS_MAX, CLIENT_UPLOADS_MAX),
            text_forms: Permits::new(TEXT_FORMS_MAX, CLIENT_TEXT_FORMS_MAX),
            has_reported_proxy: AtomicBool::new(false),
            chunk_reads: Arc::new(tokio::sync::Semaphore::new(CHUNK_READS_MAX)),
            server_reads: Arc::new(tokio::sync::Semaphore::new(SERVER_READS_MAX)),
            render_permit: tokio::sync::Semaphore::new(1),
            is_stopping: AtomicBool::new(false),
            store,
            world,
        }
    }

    /// Creates a context on a new file in a directory, with a scripted world and no log.
    #[cfg(test)]
    pub(super) fn for_tests(directory: &std::path::Path, settings: Settings) -> Arc<Self> {
        let now = crate::domain::timestamp::Timestamp::from_micros(1_795_000_000_000_000);
        let world: Arc<dyn World> = Arc::new(crate::world::Scripted::at(now));
        let store = Store::open(&directory.join("a.db"), Arc::clone(&world)).expect("the directory is writable");
        let telemetry = Telemetry::new(crate::telemetry::LogFormat::Off);
        Arc::new(Self::new(Arc::new(store), world, settings, Arc::new(telemetry)))
    }

    /// Makes every later response the last one on its connection.
    pub(super) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// Returns a hash that no password matches, so that a sign-in with an unknown address takes as long as one with a
    /// known address. The first call creates the hash, even if that call is for a known address. The service does not
    /// create the hash when it starts, because that would delay the start.
    fn decoy_hash(&self, memory: &mut HashMemory) -> &str {
        self.decoy_hash.get_or_init(|| {
            let mut random = [0; 32];
            self.world.fill(&mut random);
            self.world.hash_password_in(&id::token(&random), memory)
        })
    }

    /// Returns whether the password matches the hash. Without a hash, returns `false` after the same amount of work.
    /// Acquire a permit from [`Ctx::hashing`] before calling this function, so that there are never more hash memories
    /// than permits.
    pub(in crate::http) fn password_matches(&self, password: &str, hash: Option<&str>) -> bool {
        let mut memory = self.hash_memories().free.pop().unwrap_or_default();
        let decoy = self.decoy_hash(&mut memory);
        let matches = self.world.password_matches(password, hash.unwrap_or(decoy), &mut memory);
        let mut memories = self.hash_memories();
        memories.free.push(memory);
        memories.used_at = Some(Instant::now());
        drop(memories);
        matches
    }

    /// Frees the hash memory if it has not been used for [`HASH_MEMORY_IDLE_MAX`].
    pub(super) fn free_idle_hash_memory(&self) {
        let mut memories = self.hash_memories();
        if memories.used_at.is_some_and(|at| at.elapsed() >= HASH_MEMORY_IDLE_MAX) {
            *memories = HashMemories::default();
        }
    }

    fn hash_memories(&self) -> MutexGuard<'_, HashMemories> {
        self.hash_memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
