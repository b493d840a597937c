//! A database's plan as a list of steps, each with what is slow about it.

use crate::engine::LocalSlow;
use serde::{Serialize, Serializer};
use std::collections::BTreeSet;

/// A statement that a database is asked about.
#[derive(Debug)]
pub(super) struct AskedStatement<'s> {
    /// Its text.
    pub(super) text: &'s str,
    /// The type whose rows it filters, if it does.
    pub(super) listed: Option<&'s str>,
    /// The lines of the rules that took part.
    pub(super) rule_lines: BTreeSet<usize>,
}

/// How a database would answer one statement.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(in crate::cli::bindings) struct DatabasePlan {
    /// The steps, each before those that it reads.
    pub(super) steps: Vec<Step>,
    /// What is slow about the statement as a whole.
    pub(super) slow: Vec<Slow>,
    /// How many milliseconds it took, if it was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) milliseconds: Option<f64>,
}

/// One step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct Step {
    /// The number of steps above it.
    pub(super) depth: usize,
    /// What it does, in the database's words.
    pub(super) text: String,
    /// Its conditions, in the database's words.
    pub(super) conditions: Vec<String>,
    /// How many rows the database expects, each time that the step runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rows: Option<f64>,
    /// What the database expects it to cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<f64>,
    /// What happened, if the statement was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) measured: Option<Measured>,
    /// What is slow about it.
    pub(super) slow: Vec<Slow>,
    /// If something is: the lines of the rules that read the tables which it reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rule_lines: Vec<usize>,
}

/// What happened when a step was run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Measured {
    /// How many rows came out, each time.
    pub(super) rows: f64,
    /// How often it ran.
    pub(super) runs: f64,
    /// How many milliseconds it took in total, those of the steps under it included.
    pub(super) milliseconds: f64,
}

/// Something that takes long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Slow {
    /// What takes long.
    pub(super) what: String,
    /// What would help, all of it together: statements for the database, or an entry of the document.
    #[serde(serialize_with = "in_one_line")]
    pub(super) help: Vec<String>,
}

impl DatabasePlan {
    /// Adds what the service knows to be slow about the rules, if the database's plan is.
    pub(super) fn blame(&mut self, parts: &[LocalSlow]) {
        if self.all_slow().next().is_some() {
            let of_rules = parts.iter().filter(|part| part.is_of_rule);
            self.slow.extend(
                of_rules
                    .map(|part| Slow { what: part.what.clone(), help: part.help.iter().cloned().collect() }),
            );
        }
    }

    /// Everything that is slow.
    pub(super) fn all_slow(&self) -> impl Iterator<Item = &Slow> {
        self.slow.iter().chain(self.steps.iter().flat_map(|step| &step.slow))
    }
}

/// What would help as one text, or nothing: statements end with a semicolon each.
fn in_one_line<S: Serializer>(help: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    (!help.is_empty()).then(|| help.join(" ")).serialize(serializer)
}

/// A number of rows for people: `1,234,567`.
pub(super) fn counted(n: f64) -> String {
    let digits = format!("{:.0}", n.max(0.0));
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn thousands_are_separated() {
        assert_eq!(
            ["0", "999", "1,000", "1,234,567"],
            [0.0, 999.0, 1e3, 1_234_567.2].map(counted).each_ref().map(String::as_str)
        );
    }
}
