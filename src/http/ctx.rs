//! What every request works with: the store, the world, the settings and the state that lives in memory.

use std::sync::{Arc, OnceLock};

use ipnet::IpNet;

use super::kept::KeptReplies;
use super::limiter::Limiter;
use super::openapi::Description;
use super::places::Places;
use super::rendered::Rendered;
use super::signup::Limit;
use super::table::Table;
use super::throttle::Throttle;
use crate::domain::id;
use crate::domain::rate::Policy;
use crate::store::Store;
use crate::telemetry::Telemetry;
use crate::world::World;

/// The settings of the HTTP floor.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Where the service is reached from outside, without a slash at its end; links are built on it.
    pub base_url: String,
    /// The origin of that URL, as browsers name it.
    pub origin: String,
    /// Requests a minute for each key or session user; `None` for no limit.
    pub rate: Option<Policy>,
    /// Applications that candidates may send from one address within an hour; `None` for no limit.
    pub signups_per_hour: Option<u32>,
    /// Proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
}

impl Settings {
    /// Whether the service is reached by https.
    pub(super) fn is_https(&self) -> bool {
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
    /// Every route there is.
    pub table: Table,
    /// The buckets of the rate limit.
    pub(super) limiter: Limiter,
    /// Answers that are kept.
    pub(super) kept: KeptReplies,
    /// What is answered from the caller alone, but for the body, which is kept with the caller's key.
    pub(super) of_caller: OnceLock<Rendered>,
    /// What the service says of itself, made when it is first asked for.
    description: OnceLock<Description>,
    /// The failed sign-ins.
    pub(super) throttle: Throttle,
    /// What candidates have sent.
    pub(super) signup_limit: Limit,
    no_password_hash: OnceLock<String>,
    /// Password hashes that run at once: each takes 19 MiB and a whole core.
    pub(super) hashing: tokio::sync::Semaphore,
    /// Sign-ins that may wait for one; past that, waiting would outlast the client.
    pub(super) hashing_queue: tokio::sync::Semaphore,
    /// Forms with room for a file that arrive at once.
    pub(super) uploads: Places,
    /// Pieces of files that are read at once for whoever downloads them.
    pub(super) piece_reads: Arc<tokio::sync::Semaphore>,
    /// The turn of whoever makes a feed.
    pub(super) feed_turn: tokio::sync::Semaphore,
}

/// Password hashes at once.
const HASHES_MAX: usize = 2;

/// Sign-ins that hash or wait to: at some 20 ms each, about a second.
const HASHES_WAITING_MAX: usize = 64;

/// Forms with room for a file that arrive at once, each with some 200 KiB of memory: more than a career fair's worth.
pub const UPLOADS_MAX: usize = 128;

/// Those of one client address: an office or a classroom behind one, and not enough to keep everybody else out by being slow.
pub const UPLOADS_OF_ONE_MAX: usize = 16;

/// Pieces of files that are read at once, each in a fraction of a millisecond: most threads that read stay free for others,
/// however many download.
pub const PIECE_READS_MAX: usize = 2;

impl Ctx {
    /// A service on an open file.
    pub fn new(store: Arc<Store>, world: Arc<dyn World>, settings: Settings, telemetry: Arc<Telemetry>) -> Self {
        Self {
            store,
            world,
            limiter: Limiter::new(settings.rate),
            signup_limit: Limit::new(settings.signups_per_hour),
            settings,
            telemetry,
            table: Table::new(),
            kept: KeptReplies::default(),
            of_caller: OnceLock::new(),
            description: OnceLock::new(),
            throttle: Throttle::default(),
            no_password_hash: OnceLock::new(),
            hashing: tokio::sync::Semaphore::new(HASHES_MAX),
            hashing_queue: tokio::sync::Semaphore::new(HASHES_WAITING_MAX),
            uploads: Places::new(UPLOADS_MAX, UPLOADS_OF_ONE_MAX),
            piece_reads: Arc::new(tokio::sync::Semaphore::new(PIECE_READS_MAX)),
            feed_turn: tokio::sync::Semaphore::new(1),
        }
    }

    /// What the service says of itself.
    pub(super) fn description(&self) -> &Description {
        self.description.get_or_init(|| Description::of(self))
    }

    /// A hash that no password matches, so that an unknown address takes as long as a known one. Made at the first
    /// sign-in, whoever signs in: the start of the service need not wait for it.
    pub(super) fn no_password_hash(&self) -> &str {
        self.no_password_hash.get_or_init(|| {
            let mut nobody = [0; 32];
            self.world.fill(&mut nobody);
            self.world.hash_password(&id::token(&nobody))
        })
    }
}
