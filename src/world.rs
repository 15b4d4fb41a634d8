//! What comes from outside: the time, the zones that it is told in, random bytes, and the cost of hashing a password. Real,
//! or scripted by tests.
//!
//! The only place that reads a clock, the system's time zones or its random source, and the only one that knows argon2.

mod hashing;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use argon2::password_hash::phc::{ParamsString, PasswordHash, Salt};
use argon2::{Algorithm, Params, Version};
use jiff::Span;
use jiff::civil::Date;
use jiff::tz::TimeZone;

pub use self::hashing::HashMemory;
use crate::domain::disk::DiskSpace;
use crate::domain::id::{ID_RANDOM_BYTES, Id};
use crate::domain::timestamp::Timestamp;

/// Bytes of salt of a password's hash (RFC 9106 §3.1).
const SALT_BYTES: usize = 16;

/// Time, randomness and password hashing.
pub trait World: Send + Sync {
    /// The wall clock.
    fn now(&self) -> Timestamp;

    /// Time since some fixed point, which never steps back.
    fn monotonic(&self) -> Duration;

    /// Fills the bytes from a source that nobody can guess.
    fn fill(&self, bytes: &mut [u8]);

    /// Fills the bytes of an id: from the same source, which need not be asked each time.
    fn fill_id(&self, bytes: &mut [u8; ID_RANDOM_BYTES]) {
        self.fill(bytes);
    }

    /// The time zone of this name (IANA's, in any case) as the machine spells it; `None` for one that it does not know.
    fn time_zone(&self, name: &str) -> Option<String>;

    /// The beginning of a local day in this time zone: so many days before the day that `at` is in. `None` where the zone is
    /// not known, or no calendar has the day.
    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp>;

    /// The local day in this time zone that `at` is in. `None` where the zone is not known.
    fn day(&self, zone: &str, at: Timestamp) -> Option<Date>;

    /// The cost of hashing a password: memory in KiB, passes.
    fn hashing_cost(&self) -> (u32, u32);

    /// The space of the file system that this directory is on; `None` where the system does not tell it.
    fn disk(&self, directory: &Path) -> Option<DiskSpace>;
}

/// The local day that `at` is in.
fn day(zone: &TimeZone, at: Timestamp) -> Option<Date> {
    let at = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    Some(zone.to_datetime(at).date())
}

/// The beginning of the local day that is so many days before the one that `at` is in.
fn days_before(zone: TimeZone, at: Timestamp, days: i64) -> Option<Timestamp> {
    let at = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    let date = zone.to_datetime(at).date().checked_sub(Span::new().try_days(days).ok()?).ok()?;
    // Where clocks go forward at midnight, the day begins when they have.
    Some(Timestamp::from_micros(date.to_zoned(zone).ok()?.timestamp().as_microsecond()))
}

impl dyn World + '_ {
    /// A new id.
    pub fn id<I: Id>(&self) -> I {
        let mut random = [0; ID_RANDOM_BYTES];
        self.fill_id(&mut random);
        I::from_parts(self.now(), random)
    }

    /// The argon2id hash of a password, as PHC text with its own salt and cost.
    pub fn hash_password(&self, password: &str) -> String {
        self.hash_password_in(password, &mut HashMemory::default())
    }

    /// The same in this memory.
    pub fn hash_password_in(&self, password: &str, memory: &mut HashMemory) -> String {
        let mut salt = [0; SALT_BYTES];
        self.fill(&mut salt);
        let (memory_kib, passes) = self.hashing_cost();
        let params = Params::new(memory_kib, passes, 1, None).expect("the costs are constants within argon2's bounds");
        let output = memory.hash(password, &salt, &params).expect("salt and output have fixed good sizes");
        let hash = PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: ParamsString::try_from(&params).expect("the costs are constants within argon2's bounds"),
            salt: Some(Salt::new(&salt).expect("the salt has a good size")),
            hash: Some(output),
        };
        hash.to_string()
    }

    /// Whether the password is the one that was hashed. A hash that cannot be read matches nothing.
    pub fn password_matches(&self, password: &str, hash: &str, memory: &mut HashMemory) -> bool {
        let Ok(hash) = PasswordHash::new(hash) else { return false };
        let is_ours = hash.algorithm == Algorithm::Argon2id.ident() && hash.version == Some(Version::V0x13.into());
        let (Some(salt), Some(expected), Ok(params)) = (hash.salt, hash.hash, Params::try_from(&hash)) else {
            return false;
        };
        // Outputs are compared in constant time.
        is_ours && memory.hash(password, &salt, &params).is_some_and(|output| output == expected)
    }
}

/// The world as it is.
#[derive(Debug)]
pub struct Real {
    started: Instant,
    for_ids: Mutex<Pool>,
}

/// Random bytes for ids of which each is used once. Asking the system for ten at a time would be a tenth of what a request
/// that only reads costs.
#[derive(Debug)]
struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

const POOL_BYTES: usize = 100 * ID_RANDOM_BYTES;

impl Real {
    /// The machine's clocks and the system's random source.
    pub fn new() -> Self {
        let for_ids = Mutex::new(Pool { bytes: [0; POOL_BYTES], used: POOL_BYTES });
        Self { started: Instant::now(), for_ids }
    }
}

impl Default for Real {
    fn default() -> Self {
        Self::new()
    }
}

impl World for Real {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    fn monotonic(&self) -> Duration {
        self.started.elapsed()
    }

    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("without the system's random source no key may be made");
    }

    fn fill_id(&self, bytes: &mut [u8; ID_RANDOM_BYTES]) {
        let mut pool = self.for_ids.lock().unwrap_or_else(PoisonError::into_inner);
        if pool.used == POOL_BYTES {
            self.fill(&mut pool.bytes);
            pool.used = 0;
        }
        let next = pool.used..pool.used + ID_RANDOM_BYTES;
        pool.used = next.end;
        bytes.copy_from_slice(&pool.bytes[next]);
    }

    /// The system's own database (`/usr/share/zoneinfo`, or where `TZDIR` says), which is kept up to date with it; none is
    /// in the binary. UTC is known without one.
    fn time_zone(&self, name: &str) -> Option<String> {
        let zone = TimeZone::get(name).ok()?;
        // The machine's own zone, and files beside the zones, are in lower case.
        let name = zone.iana_name().filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))?;
        (!zone.is_unknown()).then(|| name.to_owned())
    }

    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp> {
        days_before(TimeZone::get(zone).ok()?, at, days)
    }

    fn day(&self, zone: &str, at: Timestamp) -> Option<Date> {
        day(&TimeZone::get(zone).ok()?, at)
    }

    /// What RFC 9106 and OWASP name for a server that signs people in: 19 MiB, 2 passes.
    fn hashing_cost(&self) -> (u32, u32) {
        (19 * 1_024, 2)
    }

    fn disk(&self, directory: &Path) -> Option<DiskSpace> {
        let stat = rustix::fs::statvfs(directory).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Some(DiskSpace { free_bytes: bytes(stat.f_bavail), total_bytes: bytes(stat.f_blocks) })
    }
}

/// A world that a test moves by hand. Random bytes are a running number, spread out, so they differ and repeat in
/// each run; hashing costs next to nothing.
#[derive(Debug)]
pub struct Scripted {
    now: Mutex<Timestamp>,
    monotonic: Mutex<Duration>,
    random: AtomicU64,
    fixed: Mutex<Option<u8>>,
    disk: Mutex<Option<DiskSpace>>,
}

impl Scripted {
    /// A world at this time.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: Mutex::new(now),
            monotonic: Mutex::new(Duration::from_secs(1_000)),
            random: AtomicU64::new(1),
            fixed: Mutex::new(None),
            disk: Mutex::new(None),
        }
    }

    /// From now on every random byte is this one, but for those of ids, which always differ; `None`: they differ again.
    pub fn fix_random(&self, byte: Option<u8>) {
        *self.fixed.lock().expect("no test holds this lock while it fails") = byte;
    }

    /// Sets the space of the disk; `None`: it is not known, as at first.
    pub fn set_disk(&self, disk: Option<DiskSpace>) {
        *self.disk.lock().expect("no test holds this lock while it fails") = disk;
    }

    /// Lets this much time pass.
    pub fn pass(&self, duration: Duration) {
        let mut now = self.now.lock().expect("no test holds this lock while it fails");
        *now = now.plus(duration);
        *self.monotonic.lock().expect("no test holds this lock while it fails") += duration;
    }

    /// Sets the wall clock, back too. The time that never steps back does not move.
    pub fn set(&self, now: Timestamp) {
        *self.now.lock().expect("no test holds this lock while it fails") = now;
    }

    /// Fills with the next numbers.
    fn spread(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.random.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            chunk.copy_from_slice(&mixed.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// The zones of a scripted world, and their rules (POSIX `TZ`).
const ZONES: [(&str, &str); 4] = [
    ("UTC", "UTC0"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Asia/Kathmandu", "<+0545>-5:45"),
];

impl World for Scripted {
    fn now(&self) -> Timestamp {
        *self.now.lock().expect("no test holds this lock while it fails")
    }

    fn monotonic(&self) -> Duration {
        *self.monotonic.lock().expect("no test holds this lock while it fails")
    }

    fn fill(&self, bytes: &mut [u8]) {
        if let Some(byte) = *self.fixed.lock().expect("no test holds this lock while it fails") {
            return bytes.fill(byte);
        }
        self.spread(bytes);
    }

    fn fill_id(&self, bytes: &mut [u8; ID_RANDOM_BYTES]) {
        self.spread(bytes);
    }

    /// A world of few zones, whatever the machine knows.
    fn time_zone(&self, name: &str) -> Option<String> {
        ZONES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(known, _)| known.to_owned())
    }

    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp> {
        let (_, rule) = ZONES.into_iter().find(|(known, _)| *known == zone)?;
        days_before(TimeZone::posix(rule).ok()?, at, days)
    }

    fn day(&self, zone: &str, at: Timestamp) -> Option<Date> {
        let (_, rule) = ZONES.into_iter().find(|(known, _)| *known == zone)?;
        day(&TimeZone::posix(rule).ok()?, at)
    }

    fn hashing_cost(&self) -> (u32, u32) {
        (8, 1)
    }

    fn disk(&self, _: &Path) -> Option<DiskSpace> {
        *self.disk.lock().expect("no test holds this lock while it fails")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_is_known_on_every_machine_and_what_is_no_zone_on_none() {
        let world = Real::new();
        assert_eq!(world.time_zone("UTC").as_deref(), Some("UTC"));
        assert_eq!(world.time_zone("utc").as_deref(), Some("UTC"));
        for none in ["", " ", "Nowhere/City", "Etc/Unknown", "localtime", "../UTC", "/etc/localtime", "UTC\0", "+01:00"]
        {
            assert_eq!(world.time_zone(none), None, "{none:?}");
        }
    }

    #[test]
    fn days_begin_where_the_zone_has_them_begin() {
        let at = |text: &str| Timestamp::parse(text, crate::domain::timestamp::Rounding::Down).unwrap();
        let world = Scripted::at(at("2026-11-21"));
        for (zone, now, days, begin) in [
            ("UTC", "2026-11-21T00:00:00Z", 0, "2026-11-21T00:00:00Z"),
            ("UTC", "2026-11-21T23:59:59Z", 21, "2026-10-31T00:00:00Z"),
            ("Europe/Berlin", "2026-11-20T23:30:00Z", 0, "2026-11-20T23:00:00Z"),
            // Across the end of the summer time, and its beginning.
            ("Europe/Berlin", "2026-11-21T12:00:00Z", 30, "2026-10-21T22:00:00Z"),
            ("Europe/Berlin", "2026-04-01T12:00:00Z", 7, "2026-03-24T23:00:00Z"),
            ("America/New_York", "2026-11-21T04:59:59Z", 1, "2026-11-19T05:00:00Z"),
            ("Asia/Kathmandu", "2026-11-20T18:15:00Z", 0, "2026-11-20T18:15:00Z"),
        ] {
            assert_eq!(world.days_before(zone, at(now), days), Some(at(begin)), "{zone} {now}");
        }
        for (zone, now, expected) in [
            ("UTC", "2026-11-21T23:59:59Z", "2026-11-21"),
            ("Europe/Berlin", "2026-11-21T23:00:00Z", "2026-11-22"),
            ("America/New_York", "2026-11-21T04:59:59Z", "2026-11-20"),
        ] {
            assert_eq!(world.day(zone, at(now)).unwrap().to_string(), expected, "{zone} {now}");
        }
        assert_eq!(world.day("Nowhere/City", at("2026-11-21")), None);
        assert_eq!(world.days_before("Nowhere/City", at("2026-11-21"), 1), None);
        assert_eq!(world.days_before("UTC", at("2026-11-21"), i64::MAX), None);
        let real = Real::new();
        assert_eq!(real.days_before("UTC", at("2026-11-21T12:00:00Z"), 1), Some(at("2026-11-20")));
    }

    #[test]
    fn a_password_matches_its_own_hash_and_no_other() {
        let world: &dyn World = &Scripted::at(Timestamp::from_micros(0));
        let hash = world.hash_password("correct horse battery");
        assert!(hash.starts_with("$argon2id$"));
        let mut memory = HashMemory::default();
        assert!(world.password_matches("correct horse battery", &hash, &mut memory));
        assert!(!world.password_matches("correct horse batterz", &hash, &mut memory));
        assert!(!world.password_matches("correct horse battery", "no hash", &mut memory));
        assert_ne!(hash, world.hash_password("correct horse battery"), "each hash has a salt of its own");
    }
}
