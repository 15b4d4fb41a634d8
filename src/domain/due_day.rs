//! The day on which an application that staff have put aside comes back to them.

use jiff::civil::Date;

use super::timestamp::parse_date;

/// The valid form, as the end of a sentence.
pub const DUE_DAY_MUST_BE: &str = "a calendar day such as 2026-12-31";

/// The day on which an application comes back, in the organization's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct DueDay(pub Date);

impl DueDay {
    /// Parses `YYYY-MM-DD`.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        if bytes.len() == 10 { parse_date(bytes).map(Self) } else { None }
    }
}

/// Formats as `YYYY-MM-DD`.
impl std::fmt::Display for DueDay {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}
