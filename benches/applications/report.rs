//! What was measured, for people and for programs.

use crate::compare::Outcome;
use crate::measure::Cost;
use crate::variant::Variant;
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// A question of an application in a variant.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) application: String,
    pub(crate) variant: Variant,
    pub(crate) question: String,
    /// How long the text may be.
    pub(crate) most_bytes: usize,
    pub(crate) outcome: Outcome,
}

/// The ratios of an application in a variant.
struct Summary<'a> {
    rows: Vec<&'a Row>,
    median: f64,
    ninetieth: f64,
    worst: &'a Row,
    longest: usize,
}

impl Row {
    /// What is suspicious about the answer.
    fn remarks(&self) -> Vec<String> {
        let mut remarks = match &self.outcome {
            Outcome::Measured { pair, .. } => pair.remarks.clone(),
            Outcome::TooSlow { expert, .. } => {
                vec![format!("NO ANSWER IN TIME, the expert's in {expert:.1} ms")]
            }
            Outcome::Wrong { difference, .. } => vec![format!("WRONG: {difference}")],
            Outcome::Failed(message) => vec![format!("FAILED: {message}")],
        };
        if self.is_long() {
            remarks.push(format!("more than {} bytes", self.most_bytes));
        }
        remarks
    }

    fn is_long(&self) -> bool {
        self.outcome.n_bytes().is_some_and(|n_bytes| n_bytes > self.most_bytes)
    }

    /// A line of the table.
    pub(crate) fn line(&self) -> String {
        let remarks = self.remarks().join(", ");
        let n_bytes = self.outcome.n_bytes().unwrap_or_default();
        match &self.outcome {
            Outcome::Measured { n_rows, pair, .. } => format!(
                "{:<44}{n_rows:>8} {:>9.3} {:>9.3}  {:>9.3} {:>9.3} {:>8.2} {n_bytes:>7}  {remarks}",
                self.question,
                pair.expert.planning,
                pair.expert.execution,
                pair.ours.planning,
                pair.ours.execution,
                pair.ratio
            ),
            Outcome::TooSlow { .. } | Outcome::Wrong { .. } | Outcome::Failed(_) => {
                format!("{:<44}{:>58} {n_bytes:>7}  {remarks}", self.question, "")
            }
        }
    }

    fn json(&self) -> Json {
        let cost = |cost: Cost| json!({ "planning": cost.planning, "execution": cost.execution });
        let mut json = json!({
            "application": self.application, "variant": self.variant.name(), "question": self.question,
            "bytes": self.outcome.n_bytes(), "remarks": self.remarks(),
        });
        if let Outcome::Measured { n_rows, pair, .. } = &self.outcome {
            json["rows"] = (*n_rows).into();
            json["expert"] = cost(pair.expert);
            json["ours"] = cost(pair.ours);
            json["ratio"] = pair.ratio.into();
        }
        json
    }
}

impl<'a> Summary<'a> {
    /// Of each application and variant, in the order of the rows.
    fn all(rows: &'a [Row]) -> Vec<Self> {
        let same = |a: &Row, b: &Row| a.application == b.application && a.variant == b.variant;
        rows.chunk_by(same).map(|rows| Self::of(rows.iter().collect())).collect()
    }

    fn of(mut rows: Vec<&'a Row>) -> Self {
        rows.sort_by(|a, b| a.outcome.ratio().total_cmp(&b.outcome.ratio()));
        let ratio = |at: usize| rows[at].outcome.ratio();
        Self {
            median: ratio(rows.len() / 2),
            ninetieth: ratio(rows.len() * 9 / 10),
            worst: rows[rows.len() - 1],
            longest: rows.iter().filter_map(|row| row.outcome.n_bytes()).max().unwrap_or_default(),
            rows,
        }
    }

    fn count(&self, is_counted: impl Fn(&Row) -> bool) -> usize {
        self.rows.iter().filter(|row| is_counted(row)).count()
    }

    /// How many read a table that the expert's does not, or were compiled to machine code.
    fn n_remarked(&self, word: &str) -> usize {
        self.count(|row| row.remarks().iter().any(|remark| remark.starts_with(word)))
    }
}

/// The heads of the columns.
pub(crate) fn head() -> String {
    let first = format!("{:<44}{:>8} {:^19}  {:^19}", "milliseconds", "", "expert", "ours");
    format!(
        "{first}\n{:<44}{:>8} {:>9} {:>9}  {:>9} {:>9} {:>8} {:>7}",
        "", "rows", "planning", "execution", "planning", "execution", "ratio", "bytes"
    )
}

/// A line for each application and variant.
pub(crate) fn summaries(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<14}{:<8}{:>10}{:>9}{:>9}{:>9}{:>11}{:>7}{:>7}{:>5}{:>9}{:>6}  {}\n",
        "application",
        "variant",
        "questions",
        "median",
        "90th",
        "worst",
        "no answer",
        "wrong",
        "scans",
        "JIT",
        "longest",
        "long",
        "worst question"
    );
    for summary in Summary::all(rows) {
        let row = summary.worst;
        let unanswered = summary.count(|row| row.outcome.ratio().is_infinite());
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{:<14}{:<8}{:>10}{:>9.2}{:>9.2}{:>9.2}{:>11}{:>7}{:>7}{:>5}{:>9}{:>6}  {}",
            row.application,
            row.variant.name(),
            summary.rows.len(),
            summary.median,
            summary.ninetieth,
            row.outcome.ratio(),
            unanswered,
            summary.count(is_wrong),
            summary.n_remarked("scans"),
            summary.n_remarked("JIT"),
            summary.longest,
            summary.count(Row::is_long),
            row.question
        );
    }
    text
}

/// Everything as JSON; times in milliseconds, and no ratio where there is no answer.
pub(crate) fn json(rows: &[Row]) -> String {
    let summaries = Summary::all(rows).into_iter().map(|summary| {
        json!({
            "application": summary.worst.application, "variant": summary.worst.variant.name(),
            "questions": summary.rows.len(), "median": summary.median, "ninetieth": summary.ninetieth,
            "worst": summary.worst.outcome.ratio(), "worst_question": summary.worst.question,
            "longest": summary.longest, "wrong": summary.count(is_wrong),
        })
    });
    let summaries: Vec<Json> = summaries.collect();
    json!({ "questions": rows.iter().map(Row::json).collect::<Vec<_>>(), "summaries": summaries }).to_string()
}

/// Whether the answer differs from the expert's, or there is none for a reason other than time.
pub(crate) fn is_wrong(row: &Row) -> bool {
    match row.outcome {
        Outcome::Wrong { .. } | Outcome::Failed(_) => true,
        Outcome::Measured { .. } | Outcome::TooSlow { .. } => false,
    }
}
