//! The report of the bench at scale, as a table and as JSON.

use std::fmt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::data::{KEYS, Size};
use super::measurement::Measurement;
use crate::report::{folder, row};

/// The measurements and their conditions.
pub(crate) struct Report {
    machine: String,
    cores: String,
    files: Vec<String>,
    is_short: bool,
    parts: Vec<(&'static str, Vec<Measurement>)>,
}

/// The newest part of the report. It collects measurements.
pub(crate) struct Part<'a>(&'a mut Report);

impl Report {
    pub(crate) fn new(machine: String, cores: String, is_short: bool) -> Self {
        Self { machine, cores, files: Vec::new(), is_short, parts: Vec::new() }
    }

    /// Adds the description of a file.
    pub(crate) fn file(&mut self, size: &Size, db: &Path) {
        let Size { name, applications, crowd, usage_rows, .. } = size;
        let (roles, megabytes) = (size.roles(), db.metadata().unwrap().len() as f64 / 1e6);
        let candidates = applications + crowd;
        self.files.push(format!(
            "{name}: {candidates} candidates with an application, {roles} roles, {usage_rows} usage rows, {KEYS} keys, \
             {megabytes:.1} MB"
        ));
    }

    /// Begins a part.
    pub(crate) fn part(&mut self, name: &'static str) -> Part<'_> {
        self.parts.push((name, Vec::new()));
        Part(self)
    }

    /// Writes the report as JSON and returns the path of the file.
    pub(crate) fn write(&self) -> PathBuf {
        let file = folder().join(if self.is_short { "scale-short.json" } else { "scale.json" });
        std::fs::write(&file, format!("{:#}\n", self.json())).unwrap();
        file
    }

    fn json(&self) -> Value {
        let part = |(name, measurements): &(&str, Vec<Measurement>)| json!({ "part": name, "measurements": measurements.iter().map(Measurement::json).collect::<Vec<_>>() });
        json!({
            "machine": self.machine,
            "cores": self.cores,
            "files": self.files,
            "short": self.is_short,
            "parts": self.parts.iter().map(part).collect::<Vec<_>>(),
        })
    }
}

impl Part<'_> {
    /// Prints each measurement and adds it to the report. Writes the report at once, because a run is long and can be
    /// interrupted.
    pub(crate) fn add(&mut self, measurements: impl IntoIterator<Item = Measurement>) {
        let (_, all) = self.0.parts.last_mut().expect("a part has begun");
        for measurement in measurements {
            eprint!("{measurement}");
            all.push(measurement);
        }
        self.0.write();
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { machine, cores, files, .. } = self;
        writeln!(f, "The service at scale, on {machine}; {cores}")?;
        writeln!(f, "{}; the log goes to /dev/null", files.join("\n"))?;
        writeln!(
            f,
            "Medians (minimum to maximum). Each ratio compares neighbouring rounds: the second divided by the first."
        )?;
        if self.is_short {
            writeln!(
                f,
                "In this short run, the big files are smaller and the rounds are shorter: do not publish these figures."
            )?;
        }
        for (part, measurements) in &self.parts {
            let sides = match *part {
                "growth" => ["small, or 30 roles", "big"],
                "lists" => ["a hundredth", "whole"],
                "mixed" => ["quiet", "with other work"],
                _ => ["", ""],
            };
            writeln!(f, "\n{}", row([part, sides[0], sides[1], "figure, or ratio", "target"]).trim_end())?;
            measurements.iter().try_for_each(|measurement| write!(f, "{measurement}"))?;
        }
        Ok(())
    }
}
