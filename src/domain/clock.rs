//! The believed clock, on which irreversible work relies.
//!
//! A wall clock can be wrong by years, even if only for two seconds. The uptime cannot be wrong in this way, because it
//! measures only elapsed time. The service therefore maintains a believed time. The believed time follows the wall
//! clock forward, by at most two seconds for each second of uptime, but not back. After a jump of the wall clock, the
//! two times agree again when the uptime has grown by the size of the jump. A jump that is corrected earlier has no
//! lasting effect. An admin can confirm the time of the wall clock, which then becomes the believed time. Irreversible
//! work waits until both times agree and the service has run for an hour.

use std::time::Duration;

use super::timestamp::Timestamp;
use super::words::words;

/// The allowed difference between the wall clock and the believed time: larger than a single correction by a time
/// server, and much smaller than the periods after which the service erases data.
pub const TOLERANCE: Duration = Duration::from_secs(60);

/// The time for which the service doubts the clock after a start, so that the machine can set its clock and an admin
/// can check the time. A confirmation by an admin does not shorten it.
pub const SETTLING: Duration = Duration::from_secs(60 * 60);

words! {
    /// The reason to doubt the wall clock.
    ClockDoubt {
        /// The service started less than an hour ago.
        Start = "start",
        /// The wall clock differs from the believed time.
        Clock = "clock",
    }
}

/// Returns the believed time after the uptime has grown by `elapsed`.
pub fn advance_believed(believed: Timestamp, wall: Timestamp, elapsed: Duration) -> Timestamp {
    wall.clamp(believed, believed.plus(elapsed.saturating_mul(2)))
}

/// The clocks at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockReading {
    /// The wall clock.
    pub wall: Timestamp,
    /// The believed time.
    pub believed: Timestamp,
    /// The time since the start of the service.
    pub uptime: Duration,
}

impl ClockReading {
    /// Returns whether the wall clock and the believed time agree.
    pub fn agrees(&self) -> bool {
        self.distance() <= TOLERANCE
    }

    /// Returns the reason why irreversible work must wait, if there is one.
    pub fn doubt(&self) -> Option<ClockDoubt> {
        if !self.agrees() {
            Some(ClockDoubt::Clock)
        } else if self.uptime < SETTLING {
            Some(ClockDoubt::Start)
        } else {
            None
        }
    }

    /// Returns how much longer the doubt lasts, unless an admin confirms the wall clock. A confirmation ends only
    /// [`ClockDoubt::Clock`].
    pub fn wait(&self) -> Duration {
        let until_agreed = if self.agrees() { Duration::ZERO } else { self.distance() };
        until_agreed.max(SETTLING.saturating_sub(self.uptime))
    }

    /// Returns the earlier of the two times, so that nothing expires because the wall clock jumped ahead.
    pub fn earliest(&self) -> Timestamp {
        self.wall.min(self.believed)
    }

    fn distance(&self) -> Duration {
        self.wall.since(self.believed).max(self.believed.since(self.wall))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);
    const NOW: Timestamp = Timestamp::from_micros(1_800_000_000_000_000);

    #[test]
    fn the_believed_time_catches_up_when_the_uptime_has_grown_by_the_size_of_the_jump() {
        for (jump, uptime, agrees) in [(0, 0, true), (1, 0, false), (21, 20, false), (21, 21, true), (360, 359, false)]
        {
            let elapsed = DAY * uptime;
            let ahead = NOW.plus(DAY * jump).plus(elapsed);
            let believed = advance_believed(NOW, ahead, elapsed);
            assert_eq!(ClockReading { wall: ahead, believed, uptime: elapsed }.agrees(), agrees, "{jump} days ahead");
            let behind = NOW.minus(DAY * jump).plus(elapsed);
            let believed = advance_believed(NOW, behind, elapsed);
            assert!(believed >= NOW);
            assert_eq!(ClockReading { wall: behind, believed, uptime: elapsed }.agrees(), agrees, "{jump} days behind");
        }
    }

    #[test]
    fn a_corrected_jump_has_no_lasting_effect() {
        let two_seconds = Duration::from_secs(2);
        let believed = advance_believed(NOW, NOW.plus(DAY * 360), two_seconds);
        let believed = advance_believed(believed, NOW.plus(two_seconds), Duration::ZERO);
        let reading = ClockReading { wall: NOW.plus(two_seconds), believed, uptime: SETTLING };
        assert_eq!((reading.doubt(), reading.wait()), (None, Duration::ZERO));
    }

    #[test]
    fn the_clock_is_doubted_in_the_first_hour() {
        let at = |uptime: u64| ClockReading { wall: NOW, believed: NOW, uptime: Duration::from_secs(uptime) };
        assert_eq!((at(3_599).doubt(), at(3_599).wait()), (Some(ClockDoubt::Start), Duration::from_secs(1)));
        assert_eq!(at(3_600).doubt(), None);
        let off = ClockReading { wall: NOW.plus(TOLERANCE * 2), ..at(0) };
        assert_eq!((off.doubt(), off.wait()), (Some(ClockDoubt::Clock), SETTLING));
        assert_eq!(ClockReading { wall: NOW.plus(TOLERANCE), ..at(3_600) }.doubt(), None);
        assert_eq!((off.earliest(), ClockReading { wall: NOW.minus(DAY), ..at(0) }.earliest()), (NOW, NOW.minus(DAY)));
    }
}
