//! Formats dates, numbers, sizes of files and salaries. The file of each language contains the formats ([`Forms`]).

use jiff::civil::Date;

use super::{Counted, Forms, Texts, fill};
use crate::domain::role::{Salary, SalaryPeriod};

/// Numbers of at least this size are shown without decimal places. Salaries are smaller (`SALARY_MAX`), and an `f64` of
/// this size has little precision beyond two decimal places.
const CENTS_BELOW: f64 = 1e13;

/// The number of bytes in a kilobyte, and of kilobytes in a megabyte.
const UNIT_STEP: u32 = 1_000;

impl Texts {
    /// Formats a date, such as `22 November 2026`.
    pub(in crate::http) fn day(&self, day: Date) -> String {
        let Forms { months, date, first_day, .. } = &self.forms;
        let month = usize::from(day.month().unsigned_abs()).saturating_sub(1);
        let number = if day.day() == 1 { (*first_day).to_owned() } else { day.day().to_string() };
        fill(date, &[("day", &number), ("month", months.get(month).unwrap_or(&"")), ("year", &day.year().to_string())])
    }

    /// Formats a number, such as `1,234` or `0.50`. A fraction has two decimal places.
    pub(in crate::http) fn number(&self, number: f64) -> String {
        let Forms { group, grouped_from, decimal, .. } = &self.forms;
        let text = if number.fract() == 0.0 || number.abs() >= CENTS_BELOW {
            format!("{number:.0}")
        } else {
            format!("{number:.2}")
        };
        let (sign, text) = text.strip_prefix('-').map_or(("", text.as_str()), |rest| ("-", rest));
        let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, rest)| (whole, Some(rest)));
        let mut formatted = sign.to_owned();
        for (at, digit) in whole.chars().enumerate() {
            if at > 0 && (whole.len() - at).is_multiple_of(3) && whole.len() >= *grouped_from {
                formatted.push_str(group);
            }
            formatted.push(digit);
        }
        fraction.into_iter().for_each(|fraction| formatted.extend([decimal, fraction]));
        formatted
    }

    /// Formats the size of a file, in whole kilobytes or tenths of a megabyte, rounded up.
    pub(in crate::http) fn file_size(&self, bytes: u32) -> String {
        let kilobytes = bytes.div_ceil(UNIT_STEP);
        let (unit, size) = if kilobytes < UNIT_STEP {
            (self.status.kilobytes, f64::from(kilobytes))
        } else {
            (self.status.megabytes, f64::from(kilobytes.div_ceil(UNIT_STEP / 10)) / 10.0)
        };
        fill(unit, &[("size", &self.number(size))])
    }

    /// Formats a string that contains a count, such as `1 role` or `2 roles`.
    pub(in crate::http) fn counted(&self, counted: &Counted, count: usize) -> String {
        let is_one = count == 1 || (count == 0 && self.forms.none_is_one);
        let text = if is_one { counted.one } else { counted.many };
        fill(text, &[("count", &self.number(count as f64))])
    }

    /// Formats a salary, such as `€50,000 – €60,000 a year`. Returns `None` if the salary has no amount.
    pub(in crate::http) fn salary(&self, salary: &Salary) -> Option<String> {
        let forms = &self.forms;
        let amount = match (salary.min, salary.max) {
            (None, None) => return None,
            (Some(min), Some(max)) if min != max => {
                let (pattern, symbol) = self.currency(salary, forms.range, forms.range_by_code);
                fill(pattern, &[("symbol", symbol), ("from", &self.number(min)), ("to", &self.number(max))])
            }
            (min, max) => {
                let (pattern, symbol) = self.currency(salary, forms.money, forms.money_by_code);
                let money = |amount| fill(pattern, &[("symbol", symbol), ("amount", &self.number(amount))]);
                match (min, max) {
                    (Some(min), None) => fill(forms.from, &[("amount", money(min).trim())]),
                    (None, Some(max)) => fill(forms.up_to, &[("amount", money(max).trim())]),
                    (min, _) => money(min.unwrap_or_default()),
                }
            }
        };
        // Without a currency, the pattern leaves a space where the symbol would be.
        let amount = amount.trim().to_owned();
        Some(match salary.period {
            Some(period) => fill(self.per(period), &[("amount", &amount)]),
            None => amount,
        })
    }

    /// Returns the pattern for amounts in the salary's currency, and the symbol or code to use.
    fn currency<'a>(&self, salary: &'a Salary, by_symbol: &'a str, by_code: &'a str) -> (&'a str, &'a str) {
        let code = salary.currency.as_deref().unwrap_or_default();
        let known = self.forms.currencies.iter().find(|(known, _)| *known == code);
        known.map_or((by_code, code), |(_, symbol)| (by_symbol, symbol))
    }

    fn per(&self, period: SalaryPeriod) -> &'static str {
        let forms = &self.forms;
        match period {
            SalaryPeriod::Hour => forms.per_hour,
            SalaryPeriod::Day => forms.per_day,
            SalaryPeriod::Week => forms.per_week,
            SalaryPeriod::Month => forms.per_month,
            SalaryPeriod::Year => forms.per_year,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::pages::texts::{ALL, of_tag};

    fn salary(min: Option<f64>, max: Option<f64>, currency: &str, period: Option<SalaryPeriod>) -> Salary {
        let currency = (!currency.is_empty()).then(|| currency.to_owned());
        Salary { min, max, currency, period }
    }

    /// Shows non-breaking spaces as `_` (wide) and `'` (narrow).
    fn visible_spaces(text: &str) -> String {
        text.replace('\u{a0}', "_").replace('\u{202f}', "'")
    }

    #[test]
    fn dates_follow_the_conventions_of_each_language() {
        let day = |tag: &str, month, day| of_tag(tag).day(Date::new(2026, month, day).unwrap());
        assert_eq!(day("en", 11, 22), "22 November 2026");
        assert_eq!(day("de", 11, 22), "22. November 2026");
        assert_eq!(day("fr", 11, 22), "22 novembre 2026");
        assert_eq!(day("es", 11, 22), "22 de noviembre de 2026");
        assert_eq!(day("en", 1, 1), "1 January 2026");
        assert_eq!(day("de", 3, 1), "1. März 2026");
        assert_eq!(day("fr", 8, 1), "1er août 2026");
        assert_eq!(day("es", 12, 1), "1 de diciembre de 2026");
    }

    #[test]
    fn every_language_has_twelve_different_months() {
        for texts in ALL {
            let months: std::collections::BTreeSet<_> = texts.forms.months.iter().collect();
            assert!(months.len() == 12 && months.iter().all(|month| month.len() >= 3), "{}", texts.tag);
        }
    }

    #[test]
    fn numbers_are_grouped_and_only_fractions_have_decimals() {
        for (number, en, de, fr, es) in [
            (0.0, "0", "0", "0", "0"),
            (999.0, "999", "999", "999", "999"),
            (1_234.0, "1,234", "1.234", "1'234", "1234"),
            (12_345.0, "12,345", "12.345", "12'345", "12.345"),
            (15.5, "15.50", "15,50", "15,50", "15,50"),
            (75_000.5, "75,000.50", "75.000,50", "75'000,50", "75.000,50"),
            (-1_234_567.0, "-1,234,567", "-1.234.567", "-1'234'567", "-1.234.567"),
            (1e12, "1,000,000,000,000", "1.000.000.000.000", "1'000'000'000'000", "1.000.000.000.000"),
        ] {
            for (tag, expected) in [("en", en), ("de", de), ("fr", fr), ("es", es)] {
                assert_eq!(visible_spaces(&of_tag(tag).number(number)), expected, "{tag} {number}");
            }
        }
    }

    #[test]
    fn sizes_of_files_are_rounded_up() {
        for (bytes, en, fr) in [
            (1, "1_kB", "1_ko"),
            (1_000, "1_kB", "1_ko"),
            (1_001, "2_kB", "2_ko"),
            (999_000, "999_kB", "999_ko"),
            (999_001, "1_MB", "1_Mo"),
            (1_000_001, "1.10_MB", "1,10_Mo"),
            (10_000_000, "10_MB", "10_Mo"),
        ] {
            for (tag, expected) in [("en", en), ("fr", fr)] {
                assert_eq!(visible_spaces(&of_tag(tag).file_size(bytes)), expected, "{tag} {bytes}");
            }
        }
    }

    #[test]
    fn one_is_singular_and_zero_is_singular_only_in_french() {
        let roles = Counted { one: "{count} role", many: "{count} roles" };
        let counted = |tag: &str, count| of_tag(tag).counted(&roles, count);
        assert_eq!((counted("en", 0), counted("fr", 0)), ("0 roles".to_owned(), "0 role".to_owned()));
        assert_eq!((counted("en", 1), counted("fr", 2)), ("1 role".to_owned(), "2 roles".to_owned()));
        assert_eq!(counted("de", 12_345), "12.345 roles");
    }

    #[test]
    fn salaries_follow_the_conventions_of_each_language() {
        let year = Some(SalaryPeriod::Year);
        for (tag, expected) in [
            ("en", ["€50,000 – €60,000 a year", "CHF_50,000 – 60,000 a year", "from $15.50 an hour"]),
            ("de", ["50.000 – 60.000_€ im Jahr", "50.000 – 60.000_CHF im Jahr", "ab 15,50_$ pro Stunde"]),
            ("fr", ["50'000 – 60'000_€ par an", "50'000 – 60'000_CHF par an", "à partir de 15,50_$US de l’heure"]),
            ("es", ["50.000 – 60.000_€ al año", "50.000 – 60.000_CHF al año", "desde 15,50_US$ por hora"]),
        ] {
            let texts = of_tag(tag);
            let formatted = |salary: Salary| visible_spaces(&texts.salary(&salary).unwrap());
            assert_eq!(formatted(salary(Some(50_000.0), Some(60_000.0), "EUR", year)), expected[0]);
            assert_eq!(formatted(salary(Some(50_000.0), Some(60_000.0), "CHF", year)), expected[1]);
            assert_eq!(formatted(salary(Some(15.5), None, "USD", Some(SalaryPeriod::Hour))), expected[2]);
        }
    }

    #[test]
    fn salaries_omit_missing_parts_and_show_equal_amounts_once() {
        let formatted = |min, max, currency, period| of_tag("en").salary(&salary(min, max, currency, period));
        assert_eq!(formatted(None, None, "EUR", Some(SalaryPeriod::Year)), None);
        assert_eq!(formatted(Some(3.0), Some(3.0), "GBP", Some(SalaryPeriod::Day)).unwrap(), "£3 a day");
        assert_eq!(
            formatted(None, Some(60_000.0), "XYZ", None).map(|text| visible_spaces(&text)).unwrap(),
            "up to XYZ_60,000"
        );
        assert_eq!(formatted(Some(1.0), Some(2.0), "", Some(SalaryPeriod::Week)).unwrap(), "1 – 2 a week");
        assert_eq!(formatted(Some(1.0), None, "", None).unwrap(), "from 1");
        assert_eq!(formatted(Some(0.0), None, "EUR", Some(SalaryPeriod::Month)).unwrap(), "from €0 a month");
    }
}
