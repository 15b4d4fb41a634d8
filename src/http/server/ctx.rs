//! What every request works with: the store, the world, the settings and the state that lives in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use ipnet::IpNet;

use super::limiter::Limiter;
use super::network_limit::NetworkLimit;
use super::permits::Permits;
use super::rendered::Rendered;
use super::response_cache::ResponseCache;
use super::throttle::Throttle;
use crate::domain::disk::UploadLimits;
use crate::domain::id;
use crate::domain::rate::RatePolicy;
use crate::store::Store;
use crate::telemetry::Telemetry;
use crate::world::{HashMemory, World};

/// The settings of the HTTP floor.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the service is reached from outside, without a slash at its end; links are built on it.
    pub base_url: String,
    /// The origin of that URL, as browsers name it.
    pub origin: String,
    /// Requests a minute for each key or session user; `None` for no limit.
    pub rate: Option<RatePolicy>,
    /// Applications that candidates may send from one address within an hour; `None` for no limit.
    pub signups_per_hour: Option<u32>,
    /// When uploads are refused.
    pub uploads: UploadLimits,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Contacts of `/.well-known/security.txt`, as URIs; without any there is no such file.
    pub security_contacts: Vec<String>,
}

impl Settings {
    /// Whether the service is reached by https.
    pub(in crate::http) fn is_https(&self) -> bool {
        self.origin.starts_with("https:")
    }
}

/// One service.
pub struct Ctx {
    /// The file.
    pub store: Arc<Store>,
    /// Time and randomness.
    pub world: Arc<dyn World>,
    /// The settings.
    pub settings: Settings,
    /// Counters and the log.
    pub telemetry: Arc<Telemetry>,
    /// The buckets of the rate limit.
    pub(in crate::http) limiter: Limiter,
    /// Responses that more than one request gets.
    pub(in crate::http) responses: ResponseCache,
    /// What is answered from the caller alone, but for the body, which is kept with the caller's key.
    pub(in crate::http) from_caller: OnceLock<Rendered>,
    /// The failed sign-ins.
    pub(in crate::http) throttle: Throttle,
    /// Forms of anybody that are carried out.
    pub(in crate::http) form_limit: NetworkLimit,
    no_password_hash: OnceLock<String>,
    /// Password hashes that run at once: each takes 19 MiB and a whole core.
    pub(in crate::http) hashing: tokio::sync::Semaphore,
    /// Sign-ins that may wait for one; past that, waiting would outlast the client.
    pub(in crate::http) hashing_queue: Permits,
    /// The memory of those hashes, where none uses it. Sign-ins use it again and again; it goes when there are none.
    hash_memory: Mutex<HashMemories>,
    /// Forms with room for a file that arrive at once.
    pub(in crate::http) uploads: Permits,
    /// Forms that are read for their texts alone, because no place was free for one with a file.
    pub(in crate::http) text_forms: Permits,
    /// The forms of addresses that have sent too many: so many more are read with their file, to be shown again.
    pub(in crate::http) shown_again_limit: NetworkLimit,
    /// Whether a proxy that is not trusted was reported.
    pub(in crate::http) has_reported_proxy: AtomicBool,
    /// Pieces of files that are read at once for whoever downloads them.
    pub(in crate::http) piece_reads: Arc<tokio::sync::Semaphore>,
    /// The permit to render a response that only one request at a time may render.
    pub(in crate::http) render_permit: tokio::sync::Semaphore,
    is_stopping: AtomicBool,
}

/// The memory of hashes that none uses now.
#[derive(Default)]
struct HashMemories {
    free: Vec<HashMemory>,
    used_at: Option<Instant>,
}

/// How long the memory of hashes stays after the last sign-in.
const HASH_MEMORY_IDLE_MAX: Duration = Duration::from_secs(60);

/// Password hashes at once.
const HASHES_MAX: usize = 2;

/// Sign-ins that hash or wait to: at some 20 ms each, about a second.
const HASHES_WAITING_MAX: usize = 64;

/// Those of one client address: an office that comes to work.
const HASHES_WAITING_OF_ONE_MAX: usize = 16;

/// Forms with room for a file that arrive at once, each with some 200 KiB of memory: more than a career fair's worth.
pub const UPLOADS_MAX: usize = 128;

/// Those of one client address: an office or a classroom behind one, and not enough to keep everybody else out by being slow.
pub const UPLOADS_OF_ONE_MAX: usize = 16;

/// Forms that are read for their texts alone, each with some 200 KiB of memory, and those of one client address.
const TEXT_FORMS_MAX: usize = 64;
const TEXT_FORMS_OF_ONE_MAX: usize = 4;

/// Pieces of files that are read at once, each in a fraction of a millisecond: most threads that read stay free for others,
/// however many download.
pub const PIECE_READS_MAX: usize = 2;

impl Ctx {
    /// A service on an open file.
    pub fn new(store: Arc<Store>, world: Arc<dyn World>, settings: Settings, telemetry: Arc<Telemetry>) -> Self {
        let (log, clock) = (Arc::clone(&telemetry), Arc::clone(&world));
        store.log_by(move |sentence| log.note(clock.now(), None, sentence));
        Self {
            store,
            world,
            limiter: Limiter::new(settings.rate),
            form_limit: NetworkLimit::new(settings.signups_per_hour),
            shown_again_limit: NetworkLimit::new(settings.signups_per_hour),
            settings,
            telemetry,
            responses: ResponseCache::default(),
            from_caller: OnceLock::new(),
            throttle: Throttle::default(),
            no_password_hash: OnceLock::new(),
            hashing: tokio::sync::Semaphore::new(HASHES_MAX),
            hashing_queue: Permits::new(HASHES_WAITING_MAX, HASHES_WAITING_OF_ONE_MAX),
            hash_memory: Mutex::default(),
            uploads: Permits::new(UPLOADS_MAX, UPLOADS_OF_ONE_MAX),
            text_forms: Permits::new(TEXT_FORMS_MAX, TEXT_FORMS_OF_ONE_MAX),
            has_reported_proxy: AtomicBool::new(false),
            piece_reads: Arc::new(tokio::sync::Semaphore::new(PIECE_READS_MAX)),
            render_permit: tokio::sync::Semaphore::new(1),
            is_stopping: AtomicBool::new(false),
        }
    }

    /// From now on each answer is the last one on its connection.
    pub(in crate::http) fn begin_stop(&self) {
        self.is_stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the service has begun to stop.
    pub(in crate::http) fn is_stopping(&self) -> bool {
        self.is_stopping.load(Ordering::Relaxed)
    }

    /// A hash that no password matches, so that an unknown address takes as long as a known one. Made at the first
    /// sign-in, whoever signs in: the start of the service need not wait for it.
    fn no_password_hash(&self, memory: &mut HashMemory) -> &str {
        self.no_password_hash.get_or_init(|| {
            let mut nobody = [0; 32];
            self.world.fill(&mut nobody);
            self.world.hash_password_in(&id::token(&nobody), memory)
        })
    }

    /// Whether the password is the one that was hashed; without a hash, never, after the same work. Its caller holds a permit
    /// of [`Ctx::hashing`], so there are never more memories than permits.
    pub(in crate::http) fn password_matches(&self, password: &str, hash: Option<&str>) -> bool {
        let mut memory = self.hash_memories().free.pop().unwrap_or_default();
        let nobodys = self.no_password_hash(&mut memory);
        let matches = self.world.password_matches(password, hash.unwrap_or(nobodys), &mut memory);
        let mut memories = self.hash_memories();
        memories.free.push(memory);
        memories.used_at = Some(Instant::now());
        drop(memories);
        matches
    }

    /// Frees the memory of hashes where nobody has signed in for a while.
    pub(in crate::http) fn free_idle_hash_memory(&self) {
        let mut memories = self.hash_memories();
        if memories.used_at.is_some_and(|at| at.elapsed() >= HASH_MEMORY_IDLE_MAX) {
            *memories = HashMemories::default();
        }
    }

    fn hash_memories(&self) -> MutexGuard<'_, HashMemories> {
        self.hash_memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
