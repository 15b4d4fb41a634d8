//! The results of the bench, as rows of the table and as JSON.

use std::fmt;

use serde_json::{Value, json};

use crate::report::{self, number, row};
use crate::round::{Figure, Round, Spread};

/// A figure or a ratio, and its target.
pub(crate) struct Measurement {
    /// The measured action.
    name: String,
    /// The name of the figure, with its unit.
    figure: &'static str,
    /// The two sides of a ratio, which is the second side divided by the first.
    sides: Option<[Spread; 2]>,
    value: Spread,
    /// The target for the median. Without a target, the figure is only for information.
    at_most: Option<f64>,
    /// The rounds of both sides.
    rounds: Vec<Value>,
}

impl Measurement {
    /// Returns a measurement with figures of one side.
    pub(crate) fn figure(name: impl Into<String>, figure: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let value = Spread::new(values.into_iter());
        Self { name: name.into(), figure, sides: None, value, at_most: None, rounds: Vec::new() }
    }

    /// Returns a measurement with the ratio of each pair.
    pub(crate) fn ratio(name: impl Into<String>, figure: &'static str, pairs: &[(f64, f64)]) -> Self {
        let sides = [Spread::new(pairs.iter().map(|(first, _)| *first)), Spread::new(pairs.iter().map(|pair| pair.1))];
        let value = Spread::new(pairs.iter().map(|(first, second)| second / first));
        Self { name: name.into(), figure, sides: Some(sides), value, at_most: None, rounds: Vec::new() }
    }

    /// Returns a measurement with the CPU time per request, from alternating rounds of two sides.
    pub(crate) fn cpu(name: impl Into<String>, first_side: &[Round], second_side: &[Round]) -> Self {
        Self::cpu_of(name, Figure::Cpu.words(), (first_side, 1.0), (second_side, 1.0))
    }

    /// Returns a measurement with the median latency, from alternating rounds of two sides.
    pub(crate) fn latency(name: impl Into<String>, first_side: &[Round], second_side: &[Round]) -> Self {
        let pairs = first_side.iter().zip(second_side);
        let pairs: Vec<_> = pairs.map(|(first, second)| (Figure::P50.of(first), Figure::P50.of(second))).collect();
        let rounds = [first_side, second_side].map(|rounds| rounds.iter().map(Round::json).collect());
        Self { rounds: rounds.to_vec(), ..Self::ratio(name, Figure::P50.words(), &pairs) }
    }

    /// Returns a measurement with the CPU time per unit. Each side has its rounds and the number of units in one of its
    /// requests.
    pub(crate) fn cpu_of(
        name: impl Into<String>,
        figure: &'static str,
        (first_side, units_of_first): (&[Round], f64),
        (second_side, units_of_second): (&[Round], f64),
    ) -> Self {
        let cpu = |round, units: f64| Figure::Cpu.of(round) / units;
        let pairs = first_side.iter().zip(second_side);
        let pairs = pairs.map(|(first, second)| (cpu(first, units_of_first), cpu(second, units_of_second)));
        let pairs: Vec<_> = pairs.collect();
        let rounds = [first_side, second_side].map(|rounds| rounds.iter().map(Round::json).collect());
        Self { rounds: rounds.to_vec(), ..Self::ratio(name, figure, &pairs) }
    }

    pub(crate) fn target_at_most(self, most: f64) -> Self {
        Self { at_most: Some(most), ..self }
    }

    fn is_met(&self) -> Option<bool> {
        self.at_most.map(|most| self.value.median() <= most)
    }

    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "figure": self.figure,
            "sides": self.sides.as_ref().map(|sides| sides.each_ref().map(Spread::json)),
            "value": self.value.json(),
            "wantedAtMost": self.at_most,
            "reached": self.is_met(),
            "rounds": self.rounds,
        })
    }
}

/// Returns the text of a table cell. A single figure has no spread.
fn cell(spread: &Spread) -> String {
    if spread.min() < spread.max() { report::cell(spread) } else { number(spread.median()) }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let wanted = match (self.at_most, self.is_met()) {
            (Some(most), Some(true)) => format!("at most {most}: met"),
            (Some(most), _) => format!("at most {most}: NOT met"),
            (None, _) => "(for information)".to_owned(),
        };
        let [first, second] = match &self.sides {
            Some(sides) => sides.each_ref().map(cell),
            None => [String::new(), String::new()],
        };
        writeln!(f, "{}", self.name)?;
        let figure = format!("  {}", self.figure);
        writeln!(f, "{}", row([&figure, &first, &second, &cell(&self.value), &wanted]).trim_end())
    }
}
