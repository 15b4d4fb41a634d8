//! What a role's recruiting came to: how long hires took, and who ended the applications that led to none.

use std::time::Duration;

use super::timestamp::Timestamp;

/// Who ended an application: the values of `outcomeType` that are documented. Others are kept as they came.
pub const OUTCOME_TYPES: [&str; 3] = ["rejected_by_organization", "rejected_by_candidate", "other"];

/// How many further values of `outcomeType` a report names, the most frequent first: whatever callers send becomes one.
pub const OUTCOME_TYPES_MAX: usize = 50;

/// How many applications there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ApplicationCounts {
    /// In progress.
    pub in_progress: i64,
    /// Ended in a hire.
    pub hired: i64,
    /// Not selected.
    pub not_selected: i64,
    /// Withdrawn.
    pub withdrawn: i64,
}

impl ApplicationCounts {
    /// All of them.
    pub fn total(self) -> i64 {
        self.in_progress + self.hired + self.not_selected + self.withdrawn
    }
}

/// How long hires took, from the application to the day of the hire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeToHire {
    /// The one in the middle; of an even number, the mean of the two in the middle.
    pub median: Duration,
    /// The mean.
    pub mean: Duration,
    /// The shortest.
    pub fastest: Duration,
    /// The longest.
    pub slowest: Duration,
}

/// How long hires took, of which each is known by when the candidate applied and when they were hired. A hire that is dated
/// before the application took no time. `None` where there are none.
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

/// Who ended the applications that were not selected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endings {
    /// Each `outcomeType` with how many it was: the documented ones, then at most [`OUTCOME_TYPES_MAX`] others, those
    /// that are more first.
    pub outcome_types: Vec<(String, i64)>,
    /// Those with any of the others that are not named.
    pub further: i64,
    /// Those without one, or with a blank one.
    pub unspecified: i64,
}

/// Orders what was counted by `outcomeType`.
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
    fn the_time_to_hire_is_that_of_the_one_in_the_middle() {
        let hires = |took: &[i64]| -> Vec<_> {
            took.iter().map(|took| (Timestamp::from_micros(100), Timestamp::from_micros(100 + took))).collect()
        };
        let told = |took: &[i64]| {
            let time = time_to_hire(&hires(took))?;
            Some([time.median, time.mean, time.fastest, time.slowest].map(|time| time.as_micros()))
        };
        assert_eq!(told(&[]), None);
        assert_eq!(told(&[7]), Some([7, 7, 7, 7]));
        assert_eq!(told(&[30, 10]), Some([20, 20, 10, 30]));
        assert_eq!(told(&[90, 10, 20]), Some([20, 40, 10, 90]));
        assert_eq!(told(&[4, 1, 100, 3]), Some([3, 27, 1, 100]));
        assert_eq!(told(&[-50, 10, -1]), Some([0, 3, 0, 10]), "a hire before the application took no time");
    }

    #[test]
    fn endings_name_the_documented_types_first_and_then_the_most_frequent() {
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
    fn so_many_other_types_are_named_and_the_rest_is_counted() {
        for (others, named, further) in [(50, 53, 0), (51, 53, 1), (60, 53, 10)] {
            let found = endings((0..others).map(|nth| (Some(format!("type {nth}")), 1)).collect());
            assert_eq!((found.outcome_types.len(), found.further), (named, further));
        }
    }
}
