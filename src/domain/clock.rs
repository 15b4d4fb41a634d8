//! The believed clock: the wall clock as far as uptime explains it.
//!
//! A wall clock can be wrong by years for two seconds. Uptime cannot: it only counts. So the service keeps a time of its own,
//! which follows the wall clock by at most two seconds in each second of uptime and never goes back. Where the wall clock
//! jumps, the believed time needs as much uptime as the jump to catch up with it; where the jump is taken back, nothing has
//! happened. Whatever cannot be undone waits until both agree.

use std::time::Duration;

use super::timestamp::Timestamp;
use super::words::words;

/// How far the wall clock may be from the believed one: more than a time server corrects at once, less than anything here
/// is counted in.
pub const TOLERANCE: Duration = Duration::from_secs(60);

/// How long after a start no clock is believed: time enough for the machine to set its clock, and for its admin to look.
pub const SETTLING: Duration = Duration::from_secs(60 * 60);

words! {
    /// Why the wall clock is not believed.
    ClockDoubt {
        /// The service started less than an hour ago.
        Start = "start",
        /// The wall clock has jumped, and uptime does not explain it yet.
        Clock = "clock",
    }
}

/// The believed time after this much uptime.
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
    /// Since the start of the service.
    pub uptime: Duration,
}

impl ClockReading {
    /// Whether the wall clock is as uptime has it.
    pub fn agrees(&self) -> bool {
        self.distance() <= TOLERANCE
    }

    /// Why nothing may be done yet that cannot be undone.
    pub fn doubt(&self) -> Option<ClockDoubt> {
        if !self.agrees() {
            Some(ClockDoubt::Clock)
        } else if self.uptime < SETTLING {
            Some(ClockDoubt::Start)
        } else {
            None
        }
    }

    /// How much uptime that takes, if nobody confirms the clock.
    pub fn wait(&self) -> Duration {
        let until_agreed = if self.agrees() { Duration::ZERO } else { self.distance() };
        until_agreed.max(SETTLING.saturating_sub(self.uptime))
    }

    /// The earlier of both times: never ahead, whatever the wall clock does. A clock that is ahead ends nothing by it.
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
    fn the_believed_time_needs_the_uptime_of_a_jump_to_catch_up_and_never_goes_back() {
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
    fn a_jump_that_is_taken_back_has_not_happened() {
        let two_seconds = Duration::from_secs(2);
        let believed = advance_believed(NOW, NOW.plus(DAY * 360), two_seconds);
        let believed = advance_believed(believed, NOW.plus(two_seconds), Duration::ZERO);
        let reading = ClockReading { wall: NOW.plus(two_seconds), believed, uptime: SETTLING };
        assert_eq!((reading.doubt(), reading.wait()), (None, Duration::ZERO));
    }

    #[test]
    fn no_clock_is_believed_in_the_first_hour() {
        let at = |uptime: u64| ClockReading { wall: NOW, believed: NOW, uptime: Duration::from_secs(uptime) };
        assert_eq!((at(3_599).doubt(), at(3_599).wait()), (Some(ClockDoubt::Start), Duration::from_secs(1)));
        assert_eq!(at(3_600).doubt(), None);
        let off = ClockReading { wall: NOW.plus(TOLERANCE * 2), ..at(0) };
        assert_eq!((off.doubt(), off.wait()), (Some(ClockDoubt::Clock), SETTLING));
        assert_eq!(ClockReading { wall: NOW.plus(TOLERANCE), ..at(3_600) }.doubt(), None);
        assert_eq!((off.earliest(), ClockReading { wall: NOW.minus(DAY), ..at(0) }.earliest()), (NOW, NOW.minus(DAY)));
    }
}
