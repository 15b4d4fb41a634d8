//! The table, and the same as JSON.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::company::{APPLICATIONS, ORGANIZATIONS};
use super::line::{Measured, Ratio, Wanted};
use super::round::{Round, Spread};
use super::setting::Setting;

/// What was measured, and where.
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
    pub(crate) fn new(machine: String, setting: &Setting, is_short: bool) -> Self {
        let keys = setting.template.keys.len();
        let megabytes = setting.template.megabytes();
        Self {
            machine,
            cores: setting.cores.words(),
            data: format!("{ORGANIZATIONS} organizations, {keys} keys, {APPLICATIONS} applications, {megabytes} MB"),
            is_short,
            rounds: setting.lengths.rounds,
            decisions: setting.lengths.decisions,
            lines: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, measured: Measured) {
        self.lines.push(measured);
    }

    /// Writes it as JSON; where to.
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
            "Medians of {rounds} interleaved rounds (least to most). Ratios are of the rounds beside each other."
        )?;
        if self.is_short {
            writeln!(f, "Short rounds: not for figures that anybody keeps.")?;
        }
        let heading = ["", "limit", "service", "ratio", "wanted"];
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
            let (least, most) = match ratio.wanted {
                Wanted::AtLeast(least) => (Some(least), None),
                Wanted::AtMost(most) => (None, Some(most)),
                Wanted::Witness => (None, None),
            };
            json!({
                "figure": ratio.figure.words(),
                "limit": ratio.figure.of_all(&self.limits).json(),
                "service": ratio.figure.of_all(&self.services).json(),
                "ratioIs": ratio.figure.ratio_words(),
                "ratio": ratio.of(self).json(),
                "wantedAtLeast": least,
                "wantedAtMost": most,
                "reached": ratio.is_reached(self),
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

/// Where reports are written, and what is kept from run to run.
pub(crate) fn folder() -> PathBuf {
    // `tmp` stands in the target directory, wherever that is.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).with_file_name("bench");
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn verdict(ratio: &Ratio, measured: &Measured) -> String {
    let wanted = match ratio.wanted {
        Wanted::AtLeast(least) => format!("at least {least:.2}"),
        Wanted::AtMost(most) => format!("at most {most:.2}"),
        Wanted::Witness => return "(for information)".to_owned(),
    };
    let is_reached = ratio.is_reached(measured).unwrap_or_default();
    format!("{wanted}: {}", if is_reached { "reached" } else { "NOT reached" })
}

pub(crate) fn row([name, limit, service, ratio, wanted]: [&str; 5]) -> String {
    format!("{name:<22}{limit:<28}{service:<28}{ratio:<24}{wanted}")
}

pub(crate) fn cell(spread: &Spread) -> String {
    let [median, min, max] = [spread.median(), spread.min(), spread.max()].map(number);
    format!("{median} ({min} to {max})")
}

/// With three digits that mean something, or more.
pub(crate) fn number(figure: f64) -> String {
    match figure {
        _ if figure >= 100.0 => format!("{figure:.0}"),
        _ if figure >= 10.0 => format!("{figure:.1}"),
        _ => format!("{figure:.2}"),
    }
}
