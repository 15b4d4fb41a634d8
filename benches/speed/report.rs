//! The report, as a table and as JSON.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::company::{APPLICATIONS, ORGANIZATIONS};
use super::line::{Measured, Ratio, Target};
use super::round::{Round, Spread};
use super::setup::Setup;

/// The measurements and their conditions.
pub(crate) struct Report {
    machine: String,
    cores: String,
    data: String,
    is_short: bool,
    rounds: usize,
    decisions: usize,
    lines: Vec<Measured>,
}

impl Report {
    pub(crate) fn new(machine: String, setup: &Setup, is_short: bool) -> Self {
        let keys = setup.template.keys.len();
        let megabytes = setup.template.megabytes();
        Self {
            machine,
            cores: setup.cores.describe(),
            data: format!("{ORGANIZATIONS} organizations, {keys} keys, {APPLICATIONS} applications, {megabytes} MB"),
            is_short,
            rounds: setup.lengths.rounds,
            decisions: setup.lengths.decisions,
            lines: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.lines.push(measured);
    }

    /// Writes the report as JSON and returns the path of the file.
    pub(crate) fn write(&self) -> PathBuf {
        let file = folder().join("speed.json");
        std::fs::write(&file, format!("{:#}\n", self.json())).unwrap();
        file
    }

    fn json(&self) -> Value {
        json!({
            "machine": self.machine,
            "cores": self.cores,
            "data": self.data,
            "short": self.is_short,
            "decisionsOfRoundOnManyConnections": self.decisions,
            "lines": self.lines.iter().map(Measured::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, cores, data, rounds, .. } = self;
        writeln!(f, "Speed of the service, on {machine}; {cores}")?;
        writeln!(f, "{data}; the log goes to /dev/null")?;
        writeln!(
            f,
            "Medians of {rounds} interleaved rounds (minimum to maximum). Each ratio compares neighbouring rounds."
        )?;
        if self.is_short {
            writeln!(f, "Short rounds: do not publish these figures.")?;
        }
        let heading = ["", "limit", "service", "ratio", "target"];
        writeln!(f, "\n{}", row(heading).trim_end())?;
        self.lines.iter().try_for_each(|measured| write!(f, "{measured}"))
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}; limit: {}", self.line.name, self.line.service, self.line.limit)?;
        for ratio in self.line.ratios {
            let figure = ratio.figure;
            let [limit, service] = [&self.limits, &self.services].map(|rounds| figure.of_all(rounds));
            let words = format!("  {}", figure.words());
            let columns = [&*words, &cell(&limit), &cell(&service), &cell(&ratio.of(self)), &verdict(ratio, self)];
            writeln!(f, "{}", row(columns).trim_end())?;
        }
        Ok(())
    }
}

impl Measured {
    fn json(&self) -> Value {
        let rounds = |rounds: &[Round]| rounds.iter().map(Round::json).collect::<Vec<_>>();
        let ratio = |ratio: &Ratio| {
            let (least, most) = match ratio.target {
                Target::AtLeast(least) => (Some(least), None),
                Target::AtMost(most) => (None, Some(most)),
                Target::Informational => (None, None),
            };
            json!({
                "figure": ratio.figure.words(),
                "limit": ratio.figure.of_all(&self.limits).json(),
                "service": ratio.figure.of_all(&self.services).json(),
                "ratioIs": ratio.figure.ratio_words(),
                "ratio": ratio.of(self).json(),
                "targetAtLeast": least,
                "targetAtMost": most,
                "reached": ratio.is_met(self),
            })
        };
        json!({
            "name": self.line.name,
            "limit": self.line.limit,
            "service": self.line.service,
            "ratios": self.line.ratios.iter().map(ratio).collect::<Vec<_>>(),
            "limitRounds": rounds(&self.limits),
            "serviceRounds": rounds(&self.services),
        })
    }
}

/// Returns the directory for reports and for files that later runs use again.
pub(crate) fn folder() -> PathBuf {
    // Cargo creates `CARGO_TARGET_TMPDIR` in the target directory; `bench` is next to it.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn verdict(ratio: &Ratio, measured: &Measured) -> String {
    let target = match ratio.target {
        Target::AtLeast(least) => format!("at least {least:.2}"),
        Target::AtMost(most) => format!("at most {most:.2}"),
        Target::Informational => return "(for information)".to_owned(),
    };
    let is_met = ratio.is_met(measured).unwrap_or_default();
    format!("{target}: {}", if is_met { "met" } else { "NOT met" })
}

pub(crate) fn row([name, limit, service, ratio, target]: [&str; 5]) -> String {
    format!("{name:<22}{limit:<28}{service:<28}{ratio:<24}{target}")
}

pub(crate) fn cell(spread: &Spread) -> String {
    let [median, min, max] = [spread.median(), spread.min(), spread.max()].map(number);
    format!("{median} ({min} to {max})")
}

/// Formats a figure with up to two decimals: none for 100 or more, one for 10 or more.
pub(crate) fn number(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 => format!("{figure:.0}"),
        _ if figure >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}
