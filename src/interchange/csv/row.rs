//! Parses the headings of a table, and the cells of a row as typed values.
//!
//! This module does not know whether the organization has the role or step that a row names.

use super::text::Record;
use crate::domain::candidate_step::{ApplicationStatus, HireRecord, NOTES_CHARACTERS_MAX, OUTCOME_CHARACTERS_MAX};
use crate::domain::plain::{self, Flaw};
use crate::domain::text::{self, EMAIL_MUST_BE, Email, NAME_CHARACTERS_MAX, counted};
use crate::domain::timestamp::{Rounding, Timestamp};
use crate::interchange::findings::escaped;

/// The maximum length of an excerpt of a cell in a report, before the ellipsis. A longer excerpt would hide the fault.
const EXCERPT_CHARACTERS_MAX: usize = 60;

/// The maximum number of unknown columns that are listed by name.
const UNKNOWN_LISTED_MAX: usize = 20;

/// The parsed heading line, which assigns cells to columns.
pub(super) struct Heading {
    /// The cell index of each column in [`Heading::COLUMNS`].
    indexes: [Option<usize>; Self::COLUMNS.len()],
    cells: usize,
    unknown: Vec<String>,
}

impl Heading {
    pub(super) const COLUMNS: &'static [&'static str] = &[
        "name",
        "email",
        "role",
        "appliedAt",
        "status",
        "step",
        "rejectedAt",
        "outcomeType",
        "outcomeReason",
        "outcomeNotes",
        "hiredDate",
        "externalPositionId",
    ];

    /// Returns the column that a heading names, as an index into [`Heading::COLUMNS`].
    fn column(name: &str) -> Option<usize> {
        Self::COLUMNS.iter().position(|column| column.eq_ignore_ascii_case(name.trim()))
    }

    /// Returns the number of cells that name a known column.
    pub(super) fn known(record: &Record) -> usize {
        record.cells.iter().filter(|cell| Self::column(cell).is_some()).count()
    }

    /// Parses the first record as headings.
    ///
    /// # Errors
    /// A sentence for each fault, such as a missing or duplicate column.
    pub(super) fn read(record: Option<Record>) -> Result<Self, Vec<String>> {
        let columns = Self::COLUMNS.join(", ");
        let Some(Record { line, cells, faults }) = record else {
            return Err(vec![format!("line 1: the heading line is missing; the columns are {columns}")]);
        };
        let at_line = |fault: String| format!("line {line}: {fault}");
        if !faults.is_empty() {
            return Err(vec![at_line(format!("the headings cannot be read: {}", faults.join("; ")))]);
        }
        let mut heading = Self { indexes: [None; Self::COLUMNS.len()], cells: cells.len(), unknown: Vec::new() };
        let mut faults = Vec::new();
        for (index, cell) in cells.iter().enumerate() {
            match Self::column(cell) {
                Some(column) if heading.indexes[column].is_some() => {
                    faults.push(at_line(format!("the column {} appears twice", Self::COLUMNS[column])));
                }
                Some(column) => heading.indexes[column] = Some(index),
                None if cell.trim().is_empty() => {
                    heading.unknown.push(format!("column {} without a heading", index + 1));
                }
                None => heading.unknown.push(format!("{:?}", excerpt(cell.trim()))),
            }
        }
        for column in ["name", "email"] {
            if heading.index(column).is_none() {
                faults.push(at_line(format!("the column {column} is missing; the columns are {columns}")));
            }
        }
        if faults.is_empty() { Ok(heading) } else { Err(faults) }
    }

    fn index(&self, column: &str) -> Option<usize> {
        self.indexes[Self::column(column)?]
    }

    pub(super) fn has_role(&self) -> bool {
        self.index("role").is_some()
    }

    /// Returns a sentence about the ignored columns, if there are any.
    pub(super) fn unknown(&self) -> Option<String> {
        let count = self.unknown.len();
        let listed = self.unknown.iter().take(UNKNOWN_LISTED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = count.saturating_sub(UNKNOWN_LISTED_MAX);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        let columns = Self::COLUMNS.join(", ");
        let sentence = format!("unknown columns are ignored: {listed}{more}; the columns are {columns}");
        (count > 0).then(|| escaped(&sentence))
    }
}

/// The values of a row. If a required value is `None`, the reason is among the faults.
#[derive(Debug)]
pub(super) struct Row {
    /// The line of the input on which the row begins.
    pub(super) line: usize,
    pub(super) faults: Vec<String>,
    /// False if the cells cannot be assigned to columns: the row has a syntax fault, or its number of cells is wrong.
    pub(super) is_readable: bool,
    pub(super) name: Option<String>,
    pub(super) email: Option<Email>,
    pub(super) role: Option<String>,
    pub(super) applied_at: Timestamp,
    pub(super) step: Option<String>,
    pub(super) outcome: Option<RowOutcome>,
}

/// The result of the application, as the row states it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RowOutcome {
    InProgress,
    Withdrawn,
    NotSelected { at: Timestamp, notes: String, outcome_type: Option<String>, outcome_reason: Option<String> },
    Hired(HireRecord),
}

impl Row {
    pub(super) fn read(heading: &Heading, record: Record, now: Timestamp) -> Self {
        let Record { line, cells, mut faults } = record;
        if faults.is_empty() && cells.len() != heading.cells {
            faults.push(format!("has {} for {}", counted(cells.len(), "cell"), counted(heading.cells, "heading")));
        }
        if !faults.is_empty() {
            return Self::unreadable(line, faults, now);
        }
        let mut cells = Cells { heading, cells: &cells, faults };
        let name = cells.required("name", &format!("a string of at most {NAME_CHARACTERS_MAX} characters"), |text| {
            (text::characters(text) <= NAME_CHARACTERS_MAX).then(|| text.to_owned())
        });
        let name = name.and_then(|name| cells.plain("name", name, plain::flaw_of_line));
        let email = cells.required("email", EMAIL_MUST_BE, Email::parse);
        let role = cells.cell("role").map(str::to_owned);
        let applied_at = cells.time("appliedAt").flatten().unwrap_or(now);
        let step = cells.cell("step").map(str::to_owned);
        let outcome = cells.outcome(now);
        Self { line, faults: cells.faults, is_readable: true, name, email, role, applied_at, step, outcome }
    }

    /// Creates a row whose cells cannot be assigned to columns.
    fn unreadable(line: usize, faults: Vec<String>, applied_at: Timestamp) -> Self {
        let (name, email, role, step, outcome) = (None, None, None, None, None);
        Self { line, faults, is_readable: false, name, email, role, applied_at, step, outcome }
    }
}

/// The cells of one row, with their faults so far.
struct Cells<'a> {
    heading: &'a Heading,
    cells: &'a [String],
    faults: Vec<String>,
}

impl<'a> Cells<'a> {
    /// Returns the trimmed text of a cell, or `None` if the cell is blank.
    fn cell(&self, column: &str) -> Option<&'a str> {
        let cell = self.cells.get(self.heading.index(column)?)?.trim();
        (!cell.is_empty()).then_some(cell)
    }

    /// Reads an optional cell. Adds a fault and returns `None` if the cell is invalid.
    fn optional<T>(
        &mut self,
        column: &str,
        must_be: &str,
        read: impl FnOnce(&'a str) -> Option<T>,
    ) -> Option<Option<T>> {
        let Some(cell) = self.cell(column) else { return Some(None) };
        let value = read(cell);
        if value.is_none() {
            self.faults.push(format!("{column} must be {must_be}, but is {:?}", excerpt(cell)));
        }
        value.map(Some)
    }

    fn required<T>(&mut self, column: &str, must_be: &str, read: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        let value = self.optional(column, must_be, read)?;
        if value.is_none() {
            self.faults.push(format!("{column} is missing; it must be {must_be}"));
        }
        value
    }

    fn text(&mut self, column: &str, characters_max: usize, flaw: fn(&str) -> Option<Flaw>) -> Option<Option<String>> {
        let text = self.optional(column, &format!("a string of at most {characters_max} characters"), |text| {
            (text::characters(text) <= characters_max).then(|| text.to_owned())
        })?;
        let Some(text) = text else { return Some(None) };
        self.plain(column, text, flaw).map(Some)
    }

    /// Returns the text if it has no control character or other flaw. Otherwise adds a fault.
    fn plain(&mut self, column: &str, text: String, flaw: fn(&str) -> Option<Flaw>) -> Option<String> {
        match flaw(&text) {
            Some(flaw) => {
                self.faults.push(format!("{column} {}: {:?}", flaw.sentence(), excerpt(&text)));
                None
            }
            None => Some(text),
        }
    }

    fn time(&mut self, column: &str) -> Option<Option<Timestamp>> {
        let must_be = "a date such as 2026-11-21, or an RFC 3339 date-time with an offset";
        self.optional(column, must_be, |text| Timestamp::parse(text, Rounding::Down))
    }

    /// Reads the result of the application. Adds a fault for cells that do not fit the status.
    fn outcome(&mut self, now: Timestamp) -> Option<RowOutcome> {
        let status = self.optional("status", &format!("one of {}", ApplicationStatus::WORDS.join(", ")), status);
        let rejected_at = self.time("rejectedAt");
        let outcome_type = self.text("outcomeType", OUTCOME_CHARACTERS_MAX, plain::flaw_of_line);
        let outcome_reason = self.text("outcomeReason", OUTCOME_CHARACTERS_MAX, plain::flaw_of_line);
        let notes = self.text("outcomeNotes", NOTES_CHARACTERS_MAX, plain::flaw_of_lines);
        let hired_date = self.time("hiredDate");
        let external_position_id = self.text("externalPositionId", OUTCOME_CHARACTERS_MAX, plain::flaw_of_line);
        let status = status?.unwrap_or(ApplicationStatus::InProgress);
        self.refuse_cells_of_other_statuses(status);
        // The faults of invalid cells have already been added. The other cells still give an outcome, so that the row
        // can be checked against the role's steps.
        let notes = notes.flatten();
        Some(match status {
            ApplicationStatus::InProgress => RowOutcome::InProgress,
            ApplicationStatus::Withdrawn => RowOutcome::Withdrawn,
            ApplicationStatus::NotSelected => RowOutcome::NotSelected {
                at: rejected_at.flatten().unwrap_or(now),
                notes: notes.unwrap_or_default(),
                outcome_type: outcome_type.flatten(),
                outcome_reason: outcome_reason.flatten(),
            },
            ApplicationStatus::Hired => RowOutcome::Hired(HireRecord {
                hired_date: hired_date.flatten().unwrap_or(now),
                offer_accepted_date: None,
                external_position_id: external_position_id.flatten(),
                notes,
            }),
        })
    }

    /// Adds a fault if the row has cells that only other statuses allow.
    fn refuse_cells_of_other_statuses(&mut self, status: ApplicationStatus) {
        let others: &[&str] = match status {
            ApplicationStatus::InProgress | ApplicationStatus::Withdrawn => {
                &["rejectedAt", "outcomeType", "outcomeReason", "outcomeNotes", "hiredDate", "externalPositionId"]
            }
            ApplicationStatus::NotSelected => &["hiredDate", "externalPositionId"],
            ApplicationStatus::Hired => &["rejectedAt", "outcomeType", "outcomeReason"],
        };
        let given: Vec<&str> = others.iter().copied().filter(|column| self.cell(column).is_some()).collect();
        if !given.is_empty() {
            let (given, status) = (given.join(", "), status.as_str());
            self.faults.push(format!("{given} must be blank if the status is {status}"));
        }
    }
}

/// Parses a status, regardless of case.
fn status(text: &str) -> Option<ApplicationStatus> {
    let word = ApplicationStatus::WORDS.iter().find(|word| word.eq_ignore_ascii_case(text))?;
    ApplicationStatus::parse(word)
}

/// Returns the beginning of a cell, for a report.
pub(super) fn excerpt(text: &str) -> String {
    let cut = text::cut(text, EXCERPT_CHARACTERS_MAX);
    if cut.len() < text.len() { format!("{cut}…") } else { cut.to_owned() }
}
