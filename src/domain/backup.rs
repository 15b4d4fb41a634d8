//! Scheduled backups: their names, when the next one is due, and which older ones are deleted.
//!
//! A wrong clock must never cost good backups. Therefore, while the running service's last backup exists, the time
//! until the next one is measured by the service's uptime, not by the clock. After a new backup, the service deletes at
//! most [`DELETIONS_MAX`] others. The service neither counts nor deletes a backup whose name contains a later time than
//! that of the new backup, because the clock was wrong when one of the two was made.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::text::counted;
use super::timestamp::{Rounding, Timestamp};

/// The bounds of the time between two backups. A backup reads the whole file, so backups must not run all the time. If
/// backups were less frequent than monthly, people would notice too late that backups had stopped.
pub const EVERY: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(31 * 86_400);

/// The maximum number of backups that a schedule without tiers, or one tier of a schedule, retains. It is enough for
/// daily backups over more than ten years.
const RETAINED_MAX: u32 = 4_000;

/// The maximum number of backups that are deleted after a new backup. One is deleted in ordinary operation. A second
/// one lets the number of backups decrease after `--backup-keep` is lowered. With a larger limit, one wrong decision
/// could delete many backups.
pub const DELETIONS_MAX: usize = 2;

/// The time until the first retry after a failure. It doubles with each further failure, up to `RETRY_MAX`.
const RETRY_MIN: Duration = Duration::from_secs(60);
const RETRY_MAX: Duration = Duration::from_secs(3_600);

/// Returns the age of a backup in words: in whole hours or, below one hour, in whole minutes.
pub fn age_in_words(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    if minutes < 60 { counted(minutes, "minute") } else { counted(minutes / 60, "hour") }
}

/// The backups that a schedule retains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// The newest backups, up to this number.
    Newest(u32),
    /// The newest backup of each of the last days, ISO weeks and months (UTC) that have a backup, up to these numbers,
    /// and the newest backup of all.
    Tiers { daily: u32, weekly: u32, monthly: u32 },
}

impl Keep {
    /// Parses `7` or `daily=7,weekly=4,monthly=6`. Some of the tiers may be omitted.
    ///
    /// # Errors
    /// Returns a sentence for the usage message if the text has another form, if a number is too large, or if no number
    /// is greater than 0.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::parsed(text.trim()).ok_or_else(|| {
            format!(
                "give the number of backups to keep, such as 7, or tiers such as daily=7,weekly=4,monthly=6; each \
                 number must be at most {RETAINED_MAX}, and at least one must be greater than 0"
            )
        })
    }

    fn parsed(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse().ok().filter(|number| *number <= RETAINED_MAX);
        if !text.contains('=') {
            return number(text).filter(|number| *number > 0).map(Self::Newest);
        }
        let (mut daily, mut weekly, mut monthly) = (None, None, None);
        for part in text.split(',') {
            let (tier, count) = part.trim().split_once('=')?;
            let tier = match tier {
                "daily" => &mut daily,
                "weekly" => &mut weekly,
                "monthly" => &mut monthly,
                _ => return None,
            };
            if tier.replace(number(count)?).is_some() {
                return None;
            }
        }
        let [daily, weekly, monthly] = [daily, weekly, monthly].map(Option::unwrap_or_default);
        (daily + weekly + monthly > 0).then_some(Self::Tiers { daily, weekly, monthly })
    }

    /// Returns the backups to delete after a new backup, oldest first: at most [`DELETIONS_MAX`] of those that this
    /// schedule does not retain. Backups with a later time than the new one are ignored.
    pub fn surplus(self, backups: &[Timestamp], new: Timestamp) -> Vec<Timestamp> {
        let backups: BTreeSet<Timestamp> = backups.iter().copied().filter(|at| *at <= new).collect();
        let newest_first: Vec<Timestamp> = backups.iter().rev().copied().collect();
        let retained: BTreeSet<Timestamp> = match self {
            Self::Newest(count) => newest_first.iter().take(count as usize).copied().collect(),
            Self::Tiers { daily, weekly, monthly } => [(daily, day as Period), (weekly, week), (monthly, month)]
                .into_iter()
                .flat_map(|(count, period)| newest_of_periods(&newest_first, count, period))
                .chain(newest_first.first().copied())
                .collect(),
        };
        backups.difference(&retained).copied().take(DELETIONS_MAX).collect()
    }
}

/// A function that returns the number of the day, week or month in which a time lies.
type Period = fn(Timestamp) -> i64;

const MICROS_PER_DAY: i64 = 86_400 * 1_000_000;

fn day(at: Timestamp) -> i64 {
    at.micros().div_euclid(MICROS_PER_DAY)
}

/// Returns the number of an ISO week. ISO weeks begin on Monday, and 1970-01-01 was a Thursday.
fn week(at: Timestamp) -> i64 {
    (day(at) + 3).div_euclid(7)
}

fn month(at: Timestamp) -> i64 {
    let text = at.to_string();
    let number = |range| text.get(range).and_then(|digits: &str| digits.parse::<i64>().ok()).unwrap_or_default();
    number(0..4) * 12 + number(5..7)
}

fn newest_of_periods(newest_first: &[Timestamp], count: u32, period: Period) -> Vec<Timestamp> {
    let mut newest: Vec<Timestamp> = newest_first.to_vec();
    newest.dedup_by_key(|at| period(*at));
    newest.truncate(count as usize);
    newest
}

/// Returns the name of a backup of a file with this stem, for example `jobs-2026-11-23T020000Z.db`. Names sort by time.
pub fn name(stem: &str, at: Timestamp) -> String {
    let text = at.to_string().replace(':', "");
    let seconds = text.split('.').next().unwrap_or_default();
    format!("{stem}-{seconds}Z.db")
}

/// Returns the time in a name that [`name`] returned for this stem, in whole seconds. Returns `None` for any other
/// name.
pub fn parse_name(stem: &str, file_name: &str) -> Option<Timestamp> {
    let time = file_name.strip_prefix(stem)?.strip_prefix('-')?.strip_suffix("Z.db")?;
    let (date, clock) = time.split_once('T')?;
    if clock.len() != 6 || !clock.is_ascii() {
        return None;
    }
    let text = format!("{date}T{}:{}:{}Z", &clock[..2], &clock[2..4], &clock[4..]);
    let at = Timestamp::parse(&text, Rounding::Down)?;
    // For example, a name with a leap second differs from the name of the time that was parsed.
    (name(stem, at) == file_name).then_some(at)
}

/// The facts that decide whether a backup is due.
#[derive(Debug, Clone, Copy)]
pub struct DueFacts {
    /// The time for which the service has been running.
    pub uptime: Duration,
    /// The uptime since this service began its last backup, if that backup still exists.
    pub since_made: Option<Duration>,
    /// The time in the name of this service's last backup or, without one, of the newest backup whose time is at most
    /// a minute ahead of the clock.
    pub newest: Option<Timestamp>,
    /// The time of the machine's clock.
    pub now: Timestamp,
}

impl DueFacts {
    /// Returns the age of the newest backup; `None` if there is none.
    pub fn age(&self) -> Option<Duration> {
        self.since_made.or_else(|| self.newest.map(|newest| self.now.since(newest)))
    }

    /// Returns whether a backup is due. While this service's last backup exists, only the uptime counts, so a clock
    /// that jumps causes no burst of backups. Otherwise, the age of the newest backup counts, so a restart neither
    /// delays nor repeats a backup. A service that has been running for the whole interval makes a backup even if the
    /// clock stands still.
    pub fn is_due(&self, every: Duration) -> bool {
        match self.since_made {
            Some(since) => since >= every,
            None => self.age().is_none_or(|age| age >= every) || self.uptime >= every,
        }
    }

    /// Returns whether a person should check the backups, because the newest one is older than twice the interval.
    /// Without a backup, the uptime counts.
    pub fn is_overdue(&self, every: Duration) -> bool {
        self.age().unwrap_or(self.uptime) > every * 2
    }
}

/// Returns the time until the next try after this number of consecutive failures.
pub fn retry_delay(failures: u32) -> Duration {
    let doublings = failures.saturating_sub(1).min(10);
    (RETRY_MIN * (1 << doublings)).min(RETRY_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(86_400);
    const YEAR: Duration = Duration::from_secs(365 * 86_400);

    fn at(text: &str) -> Timestamp {
        Timestamp::parse(text, Rounding::Down).unwrap()
    }

    /// Makes backups at these times and returns the backups that remain.
    fn thinned(keep: Keep, times: impl IntoIterator<Item = Timestamp>) -> Vec<Timestamp> {
        let mut backups: Vec<Timestamp> = Vec::new();
        for new in times {
            backups.push(new);
            let surplus = keep.surplus(&backups, new);
            assert!(surplus.len() <= DELETIONS_MAX && !surplus.contains(&new));
            backups.retain(|backup| !surplus.contains(backup));
        }
        backups
    }

    fn days(begin: &str, count: u32) -> Vec<Timestamp> {
        (0..count).map(|day| at(begin).plus(DAY * day)).collect()
    }

    #[test]
    fn the_age_of_a_backup_is_in_hours_or_minutes() {
        for (seconds, expected) in [(119, "1 minute"), (3_599, "59 minutes"), (7_199, "1 hour"), (176_400, "49 hours")]
        {
            assert_eq!(age_in_words(Duration::from_secs(seconds)), expected);
        }
    }

    #[test]
    fn numbers_and_tiers_are_parsed() {
        let tiers = |daily, weekly, monthly| Some(Keep::Tiers { daily, weekly, monthly });
        for (text, expected) in [
            ("1", Some(Keep::Newest(1))),
            (" 4000 ", Some(Keep::Newest(4_000))),
            ("daily=7,weekly=4,monthly=6", tiers(7, 4, 6)),
            ("monthly=6, daily=1", tiers(1, 0, 6)),
            ("weekly=4000", tiers(0, 4_000, 0)),
        ] {
            assert_eq!(Keep::parse(text).ok(), expected, "{text}");
        }
        for bad in [
            "",
            "0",
            "4001",
            "-1",
            "seven",
            "daily=0",
            "daily=",
            "daily=1,daily=2",
            "yearly=1",
            "7,daily=1",
            "daily=1,",
        ] {
            assert!(Keep::parse(bad).unwrap_err().contains("daily=7"), "{bad}");
        }
    }

    #[test]
    fn the_newest_backups_remain() {
        assert_eq!(thinned(Keep::Newest(7), days("2026-11-01T02:00:00Z", 30)), days("2026-11-24T02:00:00Z", 7));
        assert_eq!(thinned(Keep::Newest(7), days("2026-11-01T02:00:00Z", 7)).len(), 7);
        assert_eq!(thinned(Keep::Newest(1), days("2026-11-01T02:00:00Z", 3)), days("2026-11-03T02:00:00Z", 1));
    }

    #[test]
    fn a_lower_number_to_retain_takes_effect_gradually() {
        let backups = days("2026-11-01T02:00:00Z", 10);
        let new = *backups.last().unwrap();
        assert_eq!(Keep::Newest(3).surplus(&backups, new), backups[..2]);
    }

    #[test]
    fn the_newest_backup_of_each_day_week_and_month_remains() {
        let keep = Keep::Tiers { daily: 3, weekly: 3, monthly: 3 };
        let hourly = (0..24 * 120).map(|hour| at("2026-08-01T00:30:00Z").plus(HOUR * hour));
        // The last backup is on Saturday, 2026-11-28.
        let expected =
            ["2026-09-30", "2026-10-31", "2026-11-15", "2026-11-22", "2026-11-26", "2026-11-27", "2026-11-28"];
        let expected: Vec<Timestamp> = expected.iter().map(|day| at(&format!("{day}T23:30:00Z"))).collect();
        assert_eq!(thinned(keep, hourly), expected);
        // The newest backup of the month is also the newest backup of all.
        let monthly = Keep::Tiers { daily: 0, weekly: 0, monthly: 1 };
        assert_eq!(thinned(monthly, days("2026-11-01T02:00:00Z", 9)), days("2026-11-09T02:00:00Z", 1));
    }

    #[test]
    fn a_jump_of_the_clock_causes_no_more_deletions_than_an_ordinary_day() {
        for keep in [Keep::Newest(7), Keep::Tiers { daily: 7, weekly: 0, monthly: 0 }] {
            let before = days("2026-11-01T02:00:00Z", 7);
            // A year ahead: one backup is made and one is deleted, as on any other day.
            let ahead = at("2026-11-08T02:00:00Z").plus(YEAR);
            let remaining = thinned(keep, before.iter().copied().chain([ahead]));
            assert_eq!(remaining, [&before[1..], &[ahead]].concat());
            // Back again: the backup from the wrong year does not count, and is not deleted.
            let after = days("2026-11-08T02:00:00Z", 2);
            let mut backups = [&remaining[..], &after].concat();
            assert_eq!(keep.surplus(&backups, after[1]), before[1..2]);
            // A year back: none of the good backups is deleted, nor is the new one.
            let back = at("2025-11-08T02:00:00Z");
            backups.push(back);
            assert_eq!(keep.surplus(&backups, back), []);
        }
    }

    #[test]
    fn names_contain_the_time_and_sort_by_it() {
        let time = at("2026-11-23T02:00:59.999999Z");
        assert_eq!(name("jobs", time), "jobs-2026-11-23T020059Z.db");
        assert_eq!(parse_name("jobs", "jobs-2026-11-23T020059Z.db"), Some(at("2026-11-23T02:00:59Z")));
        for other in [
            "jobs-2026-11-23T020059Z.db.partial",
            "jobs-2026-11-23T0200Z.db",
            "jobs-2026-11-23T02005éZ.db",
            "jobs-2026-13-23T020059Z.db",
            "jobs-2026-11-23T235960Z.db",
            "jobs-2026-11-23t020059Z.db",
            "jobs2026-11-23T020059Z.db",
            "job-2026-11-23T020059Z.db",
            "jobs-monday.db",
            "jobs.db",
        ] {
            assert_eq!(parse_name("jobs", other), None, "{other}");
        }
    }

    #[test]
    fn a_backup_is_due_by_uptime_and_after_a_start_by_the_age_of_the_newest_backup() {
        let now = at("2026-11-23T02:00:00Z");
        let facts = |uptime, since_made, age: Option<Duration>| DueFacts {
            uptime,
            since_made,
            newest: age.map(|age| now.minus(age)),
            now,
        };
        for (uptime, since_made, age, is_due, is_overdue) in [
            (Duration::ZERO, None, None, true, false),
            (Duration::ZERO, None, Some(DAY - HOUR), false, false),
            (Duration::ZERO, None, Some(DAY), true, false),
            (Duration::ZERO, None, Some(DAY * 2), true, false),
            (Duration::ZERO, None, Some(DAY * 2 + HOUR), true, true),
            // The clock stands still.
            (DAY - HOUR, None, Some(Duration::ZERO), false, false),
            (DAY, None, Some(Duration::ZERO), true, false),
            // The clock jumped a year ahead after a backup.
            (DAY, Some(HOUR), Some(YEAR), false, false),
            (DAY, Some(DAY), Some(Duration::ZERO), true, false),
            (DAY * 3, Some(DAY * 2 + HOUR), Some(Duration::ZERO), true, true),
            (DAY * 3, None, None, true, true),
        ] {
            let facts = facts(uptime, since_made, age);
            assert_eq!((facts.is_due(DAY), facts.is_overdue(DAY)), (is_due, is_overdue), "{facts:?}");
        }
    }

    #[test]
    fn retries_wait_longer_after_each_failure_up_to_an_hour() {
        let delays: Vec<u64> = [1, 2, 3, 6, 7, 8, u32::MAX].map(|failures| retry_delay(failures).as_secs()).to_vec();
        assert_eq!(delays, [60, 120, 240, 1_920, 3_600, 3_600, 3_600]);
    }
}
