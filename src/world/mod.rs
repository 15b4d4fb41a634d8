//! The outside world: time, time zones, random bytes, disk space, and the cost of password hashing. The world is real,
//! or scripted by tests.
//!
//! Only this module reads the system's wall clock and random source. Only this module uses argon2.

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

/// The length of the salt in a password hash, in bytes (RFC 9106 §3.1).
const SALT_BYTES: usize = 16;

/// Clocks, time zones, random bytes, disk space and the cost of password hashing.
pub trait World: Send + Sync {
    /// Returns the time of the wall clock.
    fn now(&self) -> Timestamp;

    /// Returns the time since a fixed point. This time never steps back.
    fn monotonic(&self) -> Duration;

    /// Fills the bytes from an unpredictable source.
    fn fill(&self, bytes: &mut [u8]);

    /// Fills the bytes of an id from the source of [`World::fill`]. An implementation may read ahead into a pool.
    fn fill_id(&self, bytes: &mut [u8; ID_RANDOM_BYTES]) {
        self.fill(bytes);
    }

    /// Looks up an IANA time zone without regard to case, and returns its canonical spelling. Returns `None` for an
    /// unknown zone.
    fn time_zone(&self, name: &str) -> Option<String>;

    /// Returns the beginning of the local day that is `days` days before the local day of `at`. Returns `None` for an
    /// unknown zone or a day outside the calendar.
    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp>;

    /// Returns the local day of `at` in this time zone, or `None` for an unknown zone or a time outside the calendar.
    fn day(&self, zone: &str, at: Timestamp) -> Option<Date>;

    /// Returns the beginning of a local day, or `None` for an unknown zone or a day outside the calendar.
    fn day_begin(&self, zone: &str, day: Date) -> Option<Timestamp>;

    /// Returns the cost of a password hash: the memory in KiB and the number of passes.
    fn hashing_cost(&self) -> (u32, u32);

    /// Returns the disk space of the file system of this directory, or `None` if the system does not report it.
    fn disk(&self, directory: &Path) -> Option<DiskSpace>;
}

/// Returns the local day of `at`, or `None` for a time outside the calendar.
fn day(zone: &TimeZone, at: Timestamp) -> Option<Date> {
    let at = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    Some(zone.to_datetime(at).date())
}

/// Returns the beginning of the local day that is `days` days before the local day of `at`.
fn days_before(zone: &TimeZone, at: Timestamp, days: i64) -> Option<Timestamp> {
    let at = jiff::Timestamp::from_microsecond(at.micros()).ok()?;
    day_begin(zone.clone(), zone.to_datetime(at).date().checked_sub(Span::new().try_days(days).ok()?).ok()?)
}

/// Returns the beginning of a local day. If clocks go forward at midnight, the day begins after the change.
fn day_begin(zone: TimeZone, day: Date) -> Option<Timestamp> {
    Some(Timestamp::from_micros(day.to_zoned(zone).ok()?.timestamp().as_microsecond()))
}

impl dyn World + '_ {
    /// Returns the local day of `at`. An unknown zone is treated as UTC, because the time zone database of an older
    /// system may lack a zone.
    pub fn local_day(&self, zone: &str, at: Timestamp) -> Date {
        self.day(zone, at).or_else(|| self.day("UTC", at)).unwrap_or(Date::MIN)
    }

    /// Returns the first moment after a local day. An unknown zone is treated as UTC. Returns `None` if the next day
    /// does not begin within the calendar.
    pub fn day_end(&self, zone: &str, day: Date) -> Option<Timestamp> {
        let next = day.tomorrow().ok()?;
        self.day_begin(zone, next).or_else(|| self.day_begin("UTC", next))
    }

    /// Creates a new id.
    pub fn id<I: Id>(&self) -> I {
        let mut random = [0; ID_RANDOM_BYTES];
        self.fill_id(&mut random);
        I::from_parts(self.now(), random)
    }

    /// Hashes a password with argon2id. The PHC string contains the salt and the cost.
    pub fn hash_password(&self, password: &str) -> String {
        self.hash_password_in(password, &mut HashMemory::default())
    }

    /// Hashes a password in reusable memory.
    pub fn hash_password_in(&self, password: &str, memory: &mut HashMemory) -> String {
        let mut salt = [0; SALT_BYTES];
        self.fill(&mut salt);
        let (memory_kib, passes) = self.hashing_cost();
        let params = Params::new(memory_kib, passes, 1, None).expect("the costs are constants within argon2's bounds");
        let output = memory.hash(password, &salt, &params).expect("the salt and the output have fixed, valid lengths");
        let hash = PasswordHash {
            algorithm: Algorithm::Argon2id.ident(),
            version: Some(Version::V0x13.into()),
            params: ParamsString::try_from(&params).expect("the costs are constants within argon2's bounds"),
            salt: Some(Salt::new(&salt).expect("the salt has a valid length")),
            hash: Some(output),
        };
        hash.to_string()
    }

    /// Returns whether the password matches the hash. An unreadable hash matches nothing.
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

/// The machine's clocks, time zones, random source and disk.
#[derive(Debug)]
pub struct Real {
    started: Instant,
    for_ids: Mutex<Pool>,
}

/// A pool of random bytes for ids. Each byte is used once. Asking the system for ten bytes at a time would take a tenth
/// of the CPU time of a read request.
#[derive(Debug)]
struct Pool {
    bytes: [u8; POOL_BYTES],
    used: usize,
}

const POOL_BYTES: usize = 100 * ID_RANDOM_BYTES;

impl Real {
    /// Creates a world whose monotonic clock starts now.
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
        getrandom::fill(bytes).expect("no key may be generated without the system's random source");
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

    /// Uses the system's database (`/usr/share/zoneinfo` or `TZDIR`), which system updates maintain. The binary embeds
    /// no time zone database. UTC works without a database.
    fn time_zone(&self, name: &str) -> Option<String> {
        let zone = TimeZone::get(name).ok()?;
        // `localtime` and other files that are not zones have lower-case names.
        let name = zone.iana_name().filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))?;
        (!zone.is_unknown()).then(|| name.to_owned())
    }

    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp> {
        days_before(&TimeZone::get(zone).ok()?, at, days)
    }

    fn day(&self, zone: &str, at: Timestamp) -> Option<Date> {
        day(&TimeZone::get(zone).ok()?, at)
    }

    fn day_begin(&self, zone: &str, day: Date) -> Option<Timestamp> {
        day_begin(TimeZone::get(zone).ok()?, day)
    }

    /// Returns the cost that OWASP recommends for password hashing: 19 MiB and 2 passes.
    fn hashing_cost(&self) -> (u32, u32) {
        (19 * 1_024, 2)
    }

    fn disk(&self, directory: &Path) -> Option<DiskSpace> {
        let stat = rustix::fs::statvfs(directory).ok()?;
        let bytes = |blocks: u64| blocks.saturating_mul(stat.f_frsize);
        Some(DiskSpace { free_bytes: bytes(stat.f_bavail), total_bytes: bytes(stat.f_blocks) })
    }
}

/// A world that a test controls. Random bytes are derived from a counter, so they differ within a run and are the same
/// in every run. Hashing a password costs almost nothing.
#[derive(Debug)]
pub struct Scripted {
    now: Mutex<Timestamp>,
    monotonic: Mutex<Duration>,
    random: AtomicU64,
    fixed: Mutex<Option<u8>>,
    disk: Mutex<Option<DiskSpace>>,
}

impl Scripted {
    /// Creates a world with this wall clock.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now: Mutex::new(now),
            monotonic: Mutex::new(Duration::from_secs(1_000)),
            random: AtomicU64::new(1),
            fixed: Mutex::new(None),
            disk: Mutex::new(None),
        }
    }

    /// Makes all random bytes equal to this byte, except the bytes of ids. With `None`, random bytes differ again.
    pub fn fix_random(&self, byte: Option<u8>) {
        *self.fixed.lock().expect("no test panics while it holds this lock") = byte;
    }

    /// Sets the disk space. `None`, the initial state, means that the space is unknown.
    pub fn set_disk(&self, disk: Option<DiskSpace>) {
        *self.disk.lock().expect("no test panics while it holds this lock") = disk;
    }

    /// Advances both clocks.
    pub fn pass(&self, duration: Duration) {
        let mut now = self.now.lock().expect("no test panics while it holds this lock");
        *now = now.plus(duration);
        *self.monotonic.lock().expect("no test panics while it holds this lock") += duration;
    }

    /// Sets the wall clock, forwards or backwards. The monotonic clock does not change.
    pub fn set(&self, now: Timestamp) {
        *self.now.lock().expect("no test panics while it holds this lock") = now;
    }

    /// Fills the bytes from the counter.
    fn spread(&self, bytes: &mut [u8]) {
        for chunk in bytes.chunks_mut(8) {
            let number = self.random.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mixed = (number ^ number >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            chunk.copy_from_slice(&mixed.to_be_bytes()[..chunk.len()]);
        }
    }
}

/// The time zones of a scripted world with their rules (POSIX `TZ`).
const ZONES: [(&str, &str); 4] = [
    ("UTC", "UTC0"),
    ("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3"),
    ("America/New_York", "EST5EDT,M3.2.0,M11.1.0"),
    ("Asia/Kathmandu", "<+0545>-5:45"),
];

impl World for Scripted {
    fn now(&self) -> Timestamp {
        *self.now.lock().expect("no test panics while it holds this lock")
    }

    fn monotonic(&self) -> Duration {
        *self.monotonic.lock().expect("no test panics while it holds this lock")
    }

    fn fill(&self, bytes: &mut [u8]) {
        if let Some(byte) = *self.fixed.lock().expect("no test panics while it holds this lock") {
            return bytes.fill(byte);
        }
        self.spread(bytes);
    }

    fn fill_id(&self, bytes: &mut [u8; ID_RANDOM_BYTES]) {
        self.spread(bytes);
    }

    /// Knows only a few zones, so that tests do not depend on the machine.
    fn time_zone(&self, name: &str) -> Option<String> {
        ZONES.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(known, _)| known.to_owned())
    }

    fn days_before(&self, zone: &str, at: Timestamp, days: i64) -> Option<Timestamp> {
        let (_, rule) = ZONES.into_iter().find(|(known, _)| *known == zone)?;
        days_before(&TimeZone::posix(rule).ok()?, at, days)
    }

    fn day(&self, zone: &str, at: Timestamp) -> Option<Date> {
        let (_, rule) = ZONES.into_iter().find(|(known, _)| *known == zone)?;
        day(&TimeZone::posix(rule).ok()?, at)
    }

    fn day_begin(&self, zone: &str, day: Date) -> Option<Timestamp> {
        let (_, rule) = ZONES.into_iter().find(|(known, _)| *known == zone)?;
        day_begin(TimeZone::posix(rule).ok()?, day)
    }

    fn hashing_cost(&self) -> (u32, u32) {
        (8, 1)
    }

    fn disk(&self, _: &Path) -> Option<DiskSpace> {
        *self.disk.lock().expect("no test panics while it holds this lock")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_is_always_known_and_invalid_zones_are_never_known() {
        let world = Real::new();
        assert_eq!(world.time_zone("UTC").as_deref(), Some("UTC"));
        assert_eq!(world.time_zone("utc").as_deref(), Some("UTC"));
        for name in ["", " ", "Nowhere/City", "Etc/Unknown", "localtime", "../UTC", "/etc/localtime", "UTC\0", "+01:00"]
        {
            assert_eq!(world.time_zone(name), None, "{name:?}");
        }
    }

    #[test]
    fn local_days_follow_the_rules_of_their_zone() {
        let at = |text: &str| Timestamp::parse(text, crate::domain::timestamp::Rounding::Down).unwrap();
        let world = Scripted::at(at("2026-11-21"));
        for (zone, now, days, begin) in [
            ("UTC", "2026-11-21T00:00:00Z", 0, "2026-11-21T00:00:00Z"),
            ("UTC", "2026-11-21T23:59:59Z", 21, "2026-10-31T00:00:00Z"),
            ("Europe/Berlin", "2026-11-20T23:30:00Z", 0, "2026-11-20T23:00:00Z"),
            // These intervals include the end and the beginning of daylight saving time.
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
        let (scripted, day): (&dyn World, Date) = (&world, jiff::civil::date(2026, 3, 28));
        for (zone, end) in [("Europe/Berlin", "2026-03-28T23:00:00Z"), ("Nowhere/City", "2026-03-29")] {
            assert_eq!(scripted.day_end(zone, day), Some(at(end)), "{zone}");
        }
        let real = Real::new();
        assert_eq!(real.days_before("UTC", at("2026-11-21T12:00:00Z"), 1), Some(at("2026-11-20")));
    }

    #[test]
    fn only_the_hashed_password_matches() {
        let world: &dyn World = &Scripted::at(Timestamp::from_micros(0));
        let hash = world.hash_password("correct horse battery");
        assert!(hash.starts_with("$argon2id$"));
        let mut memory = HashMemory::default();
        assert!(world.password_matches("correct horse battery", &hash, &mut memory));
        assert!(!world.password_matches("correct horse batterz", &hash, &mut memory));
        assert!(!world.password_matches("correct horse battery", "no hash", &mut memory));
        assert_ne!(hash, world.hash_password("correct horse battery"), "each hash has a different salt");
    }
}
