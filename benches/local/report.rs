//! What was measured, for people and for programs.

use crate::latency::Latency;
use crate::measure::{Cost, Pair, median};
use serde_json::{Value as Json, json};
use std::fmt::Write as _;

/// Everything that was measured.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    pub(crate) latencies: Vec<Latency>,
}

/// A question's pair of statements.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) n_rows: usize,
    pub(crate) pair: Pair,
}

impl Report {
    /// The median ratio, and the worst with its question; none if nothing was asked.
    fn summary(&self) -> Option<(f64, &Row)> {
        let worst = self.rows.iter().max_by(|a, b| a.pair.ratio.total_cmp(&b.pair.ratio))?;
        Some((median(self.rows.iter().map(|row| row.pair.ratio)), worst))
    }

    /// Tables of fixed width.
    pub(crate) fn table(&self) -> String {
        let mut text = format!(
            "{:<36}{:>8}   {:>20}   {:>20}   {:>5}\n{:<36}{:>8}   {:>9} {:>10}   {:>9} {:>10}\n",
            "milliseconds",
            "",
            "expert",
            "ours",
            "ratio",
            "",
            "rows",
            "planning",
            "execution",
            "planning",
            "execution"
        );
        for Row { name, n_rows, pair } in &self.rows {
            let Pair { expert, ours, ratio, remarks } = pair;
            let remarks = remarks.join(", ");
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{name:<36}{n_rows:>8}   {:>9.3} {:>10.3}   {:>9.3} {:>10.3}   {ratio:>5.2}  {remarks}",
                expert.planning, expert.execution, ours.planning, ours.execution
            );
        }
        if let Some((median, worst)) = self.summary() {
            let _ =
                writeln!(text, "\nratio: median {median:.2}, worst {:.2} ({})", worst.pair.ratio, worst.name);
        }
        for Latency { name, p50, p99, per_second } in &self.latencies {
            let _ = writeln!(text, "{name:<36}p50 {p50:>9.1?}  p99 {p99:>9.1?}   {per_second:.0}/s");
        }
        text
    }

    /// The same as JSON; times in milliseconds.
    pub(crate) fn json(&self) -> String {
        let cost = |cost: Cost| json!({ "planning": cost.planning, "execution": cost.execution });
        let rows = self.rows.iter().map(|Row { name, n_rows, pair }| {
            json!({
                "question": name, "rows": n_rows, "expert": cost(pair.expert), "ours": cost(pair.ours),
                "ratio": pair.ratio, "remarks": pair.remarks,
            })
        });
        let latencies = self.latencies.iter().map(|latency| {
            json!({
                "requests": latency.name, "p50": latency.p50.as_secs_f64() * 1e3,
                "p99": latency.p99.as_secs_f64() * 1e3, "per_second": latency.per_second,
            })
        });
        let (median, worst) = self.summary().map(|(median, worst)| (median, worst.pair.ratio)).unzip();
        json!({
            "questions": rows.collect::<Json>(), "statements": latencies.collect::<Json>(),
            "median": median, "worst": worst,
        })
        .to_string()
    }
}
