//! Shows which rules the tests use.

use super::{FileOutcome, Tested};
use crate::cli::output;
use crate::cli::shown::shortened;
use crate::cli::validate::plural;
use crate::engine::{Coverage, CoveredRule};
use serde_json::{Value, json};
use std::fmt::Write;

/// How much of a rule's text a line shows, in characters.
const SHOWN: usize = 80;

/// The percentage in an argument.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    percent
        .filter(|percent| (0.0..=100.0).contains(percent))
        .ok_or_else(|| "give a number from 0 to 100".to_owned())
}

/// The table of a file's rules, which is printed below its tests.
pub(super) fn table(file: &str, coverage: &Coverage) -> String {
    let Coverage { rules, n_unexplained } = coverage;
    let place = |rule: &CoveredRule| format!("{file}:{}", rule.line);
    let width = rules.iter().map(|rule| place(rule).chars().count()).max().unwrap_or(0);
    let mut text = format!("\n{}", summary(coverage.n_covered(), rules.len()));
    for rule in rules {
        let uses =
            if rule.n_assertions == 0 { "not used".to_owned() } else { plural(rule.n_assertions, "use") };
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {uses:>8}  {:width$}  {}", place(rule), shortened(&rule.text, SHOWN));
    }
    if *n_unexplained > 0 {
        let them = plural(*n_unexplained, "assertion");
        let _ = write!(text, "\n  {them} could not be explained, so the rules used there are not counted");
    }
    text
}

/// Whether the tests of all files use enough rules; says so if they do not.
pub(super) fn is_enough(all: &[Tested], least: f64) -> bool {
    let coverages = || {
        all.iter().filter_map(|tested| match &tested.outcome {
            FileOutcome::Ran(_, coverage) => coverage.as_ref(),
            FileOutcome::Failed(_) | FileOutcome::Invalid(_) => None,
        })
    };
    let n_covered: usize = coverages().map(Coverage::n_covered).sum();
    let n_rules = coverages().map(|coverage| coverage.rules.len()).sum();
    let is_enough = share(n_covered, n_rules) >= least;
    if !is_enough {
        let found = summary(n_covered, n_rules);
        output::to_stderr(&format!("{found}, fewer than the {least} % of `--coverage-min`"));
    }
    is_enough
}

/// The coverage of a file.
pub(super) fn as_json(coverage: &Coverage) -> Value {
    let rule =
        |rule: &CoveredRule| json!({ "line": rule.line, "text": rule.text, "assertions": rule.n_assertions });
    let n_covered = coverage.n_covered();
    json!({
        "rules": coverage.rules.iter().map(rule).collect::<Vec<_>>(),
        "covered": n_covered,
        "percent": share(n_covered, coverage.rules.len()),
        "unexplained": coverage.n_unexplained,
    })
}

fn summary(n_covered: usize, n_rules: usize) -> String {
    // Rounded down, so that only all rules are 100 %.
    let percent = (share(n_covered, n_rules) * 10.0).floor() / 10.0;
    format!("{n_covered} of {} used ({percent} %)", plural(n_rules, "rule"))
}

/// The percentage of rules that are used; 100 if there are no rules.
#[expect(clippy::cast_precision_loss, reason = "a policy has fewer rules than a float counts exactly")]
fn share(n_covered: usize, n_rules: usize) -> f64 {
    if n_rules == 0 { 100.0 } else { 100.0 * n_covered as f64 / n_rules as f64 }
}

#[cfg(test)]
mod tests {
    use super::{percent, summary};

    #[test]
    fn a_percentage_is_from_0_to_100() {
        assert_eq!(percent("90"), Ok(90.0));
        assert_eq!(percent("99.5 %"), Ok(99.5));
        for wrong in ["", "-1", "100.1", "NaN", "inf", "many"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_all_rules_are_100_percent() {
        assert_eq!(summary(9_999, 10_000), "9999 of 10000 rules used (99.9 %)");
        assert_eq!(summary(0, 0), "0 of 0 rules used (100 %)");
        assert_eq!(summary(1, 1), "1 of 1 rule used (100 %)");
    }
}
