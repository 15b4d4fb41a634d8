//! The report on a role: how long hires took, and who ended the rejected applications.

use std::time::Duration;

use super::timestamp::Timestamp;

/// The documented values of `outcomeType`, which states who ended an application. Other values are stored unchanged.
pub const OUTCOME_TYPES: [&str; 3] = ["rejected_by_organization", "rejected_by_candidate", "other"];

/// The maximum number of undocumented values of `outcomeType` in a report, which lists the most frequent of them. A
/// limit is necessary because callers can send any value.
pub const OUTCOME_TYPES_MAX: usize = 50;

/// The number of applications in each status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApplicationCounts {
    /// The number of applications in progress.
    pub in_progress: i64,
    /// The number of applications that ended in a hire.
    pub hired: i64,
    /// The number of applications that were not selected.
    pub not_selected: i64,
    /// The number of applications that were withdrawn.
    pub withdrawn: i64,
}

impl ApplicationCounts {
    /// Returns the number of all applications.
    pub fn total(self) -> i64 {
        self.in_progress + self.hired + self.not_selected + self.withdrawn
    }
}

/// A summary of the durations of hires, from the application to the hire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToHire {
    /// The median. For an even number of hires, it is the mean of the two middle durations.
    pub median: Duration,
    /// The arithmetic mean of the durations.
    pub mean: Duration,
    /// The shortest duration.
    pub fastest: Duration,
    /// The longest duration.
    pub slowest: Duration,
}

/// Computes how long hires took, from pairs of application and hire times. A hire that is dated before its application
/// counts as zero time. Returns `None` if there are no hires.
pub fn time_to_hire(hires: &[(Timestamp, Timestamp)]) -> Option<TimeToHire> {
    let mut took: Vec<Duration> = hires.iter().map(|(applied_at, hired_at)| hired_at.since(*applied_at)).collect();
    took.sort_unstable();
    let (fastest, slowest) = (*took.first()?, *took.last()?);
    let count = u32::try_from(took.len()).unwrap_or(u32::MAX);
    Some(TimeToHire {
        median: (took[(took.len() - 1) / 2] + took[took.len() / 2]) / 2,
        mean: took.iter().sum::<Duration>() / count,
        fastest,
        slowest,
    })
}

/// The numbers of rejected applications with each `outcomeType`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endings {
    /// The number of applications with each `outcomeType`: the documented values, then at most [`OUTCOME_TYPES_MAX`]
    /// others, most frequent first.
    pub outcome_types: Vec<(String, i64)>,
    /// The number of applications with any other `outcomeType`.
    pub further: i64,
    /// The number of applications without an `outcomeType`, or with a blank one.
    pub unspecified: i64,
}

/// Groups and orders the counts of each `outcomeType` for the report.
pub fn endings(counted: Vec<(Option<String>, i64)>) -> Endings {
    let mut outcome_types = OUTCOME_TYPES.map(|known| (known.to_owned(), 0)).to_vec();
    let (mut others, mut unspecified) = (Vec::new(), 0);
    for (outcome_type, count) in counted {
        let Some(outcome_type) = outcome_type.filter(|text| !text.trim().is_empty()) else {
            unspecified += count;
            continue;
        };
        match outcome_types.iter_mut().find(|(known, _)| *known == outcome_type) {
            Some((_, known)) => *known += count,
            None => others.push((outcome_type, count)),
        }
    }
    others.sort_by(|(text, count), (other, more)| more.cmp(count).then_with(|| text.cmp(other)));
    let further = others.iter().skip(OUTCOME_TYPES_MAX).map(|(_, count)| count).sum();
    outcome_types.extend(others.into_iter().take(OUTCOME_TYPES_MAX));
    Endings { outcome_types, further, unspecified }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_to_hire_has_a_median_a_mean_and_extremes() {
        let hires = |took: &[i64]| -> Vec<_> {
            took.iter().map(|took| (Timestamp::from_micros(100), Timestamp::from_micros(100 + took))).collect()
        };
        let summary = |took: &[i64]| {
            let time = time_to_hire(&hires(took))?;
            Some([time.median, time.mean, time.fastest, time.slowest].map(|time| time.as_micros()))
        };
        assert_eq!(summary(&[]), None);
        assert_eq!(summary(&[7]), Some([7, 7, 7, 7]));
        assert_eq!(summary(&[30, 10]), Some([20, 20, 10, 30]));
        assert_eq!(summary(&[90, 10, 20]), Some([20, 40, 10, 90]));
        assert_eq!(summary(&[4, 1, 100, 3]), Some([3, 27, 1, 100]));
        assert_eq!(summary(&[-50, 10, -1]), Some([0, 3, 0, 10]), "a hire before its application counts as zero");
    }

    #[test]
    fn endings_list_the_documented_types_first_and_then_the_most_frequent() {
        let count = |text: &str, count| (Some(text.to_owned()), count);
        let found = endings(vec![
            (None, 4),
            count("b", 2),
            count("rejected_by_candidate", 5),
            count("a", 2),
            count(" ", 1),
            count("c", 3),
        ]);
        let named: Vec<_> = found.outcome_types.iter().map(|(text, count)| (text.as_str(), *count)).collect();
        let known = [("rejected_by_organization", 0), ("rejected_by_candidate", 5), ("other", 0)];
        assert_eq!(named, [&known[..], &[("c", 3), ("a", 2), ("b", 2)]].concat());
        assert_eq!((found.further, found.unspecified), (0, 5));
    }

    #[test]
    fn outcome_types_beyond_the_maximum_are_only_counted_together() {
        for (others, named, further) in [(50, 53, 0), (51, 53, 1), (60, 53, 10)] {
            let found = endings((0..others).map(|nth| (Some(format!("type {nth}")), 1)).collect());
            assert_eq!((found.outcome_types.len(), found.further), (named, further));
        }
    }
}
