//! The days of later marks in words.

use jiff::civil::Date;

use crate::domain::due_day::DueDay;
use crate::http::pages::texts::console::later::LATER;
use crate::http::pages::texts::{Texts, fill};

/// A day at most this many days ahead is named by its weekday.
const WEEKDAYS_AHEAD: i32 = 6;

/// Returns the words for a mark, such as `put aside until Thursday` or, once the day has come, `back today`.
pub(super) fn mark(texts: &Texts, today: Date, DueDay(day): DueDay) -> String {
    let words = LATER.of(texts);
    if day > today {
        return fill(words.until, &[("day", &until(texts, today, DueDay(day)))]);
    }
    if day == today {
        return words.back_today.to_owned();
    }
    fill(words.back_since, &[("date", &texts.day(day))])
}

/// Returns the words for a future day in a sentence: the weekday, or the date if the day is at least a week away.
pub(super) fn until(texts: &Texts, today: Date, DueDay(day): DueDay) -> String {
    let words = LATER.of(texts);
    if (day - today).get_days() <= WEEKDAYS_AHEAD {
        let index = usize::from(day.weekday().to_monday_zero_offset().unsigned_abs());
        return words.weekdays[index].to_owned();
    }
    fill(words.until_date, &[("date", &texts.day(day))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::texts::of_tag;

    #[test]
    fn a_mark_names_the_weekday_within_a_week_and_otherwise_the_date() {
        // This day is a Monday.
        let today = DueDay::parse("2026-11-23").unwrap().0;
        for (day, en, fr) in [
            ("2026-11-24", "put aside until Tuesday", "mise de côté jusqu’à mardi"),
            ("2026-11-29", "put aside until Sunday", "mise de côté jusqu’à dimanche"),
            ("2026-11-30", "put aside until 30 November 2026", "mise de côté jusqu’au 30 novembre 2026"),
            ("2027-11-23", "put aside until 23 November 2027", "mise de côté jusqu’au 23 novembre 2027"),
            ("2026-11-23", "back today", "de retour aujourd’hui"),
            ("2026-11-20", "back since 20 November 2026", "de retour depuis le 20 novembre 2026"),
        ] {
            for (tag, expected) in [("en", en), ("fr", fr)] {
                assert_eq!(mark(of_tag(tag), today, DueDay::parse(day).unwrap()), expected);
            }
        }
    }
}
