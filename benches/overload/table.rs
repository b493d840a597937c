//! The table that a run prints, and whether a row meets its targets.

use super::attacks::Attack;
use super::isolation::Isolation;
use super::probe::Felt;
use std::collections::BTreeMap;
use std::time::Duration;

/// What a check may take during any attack.
const SLOWEST: Duration = Duration::from_millis(50);

/// The most memory, in MB.
const MEMORY: f64 = 1_024.0;

/// What one attack did.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) felt: Felt,
    pub(crate) isolation: Isolation,
    /// The most that the service took, in MB.
    pub(crate) memory: f64,
    /// How the attackers were answered; 0 is a connection that was cut or never served.
    pub(crate) statuses: BTreeMap<u16, usize>,
}

pub(crate) fn head() {
    println!(
        "| attack | checks | p50 | p99 | longest | isolation | memory | the attackers were answered | |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
}

/// What a row is measured by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    /// Right answers only, as for a long run during policy swaps.
    Answers,
    /// Right answers, the time of a check, and memory.
    Targets,
}

impl Row {
    /// Prints the row; whether it is as it should be.
    pub(crate) fn print(&self, attack: &Attack, measure: Measure) -> bool {
        let mut faults = self.wrong();
        if measure == Measure::Targets {
            faults.extend(self.missed(attack));
        }
        let felt = &self.felt;
        println!(
            "| {} | {} | {:.1?} | {:.1?} | {:.1?} | {} same | {:.0} MB | {} | {} |",
            attack.name,
            felt.times.len(),
            felt.quantile(500),
            felt.quantile(990),
            felt.quantile(1_000),
            self.isolation.same,
            self.memory,
            listed(&self.statuses),
            if faults.is_empty() { "met".to_owned() } else { faults.join("; ") },
        );
        faults.is_empty()
    }

    /// Answers that were not right.
    fn wrong(&self) -> Vec<String> {
        let mut faults = Vec::new();
        if self.felt.wrong > 0 {
            faults.push(format!("{} WRONG ANSWERS", self.felt.wrong));
        }
        if !self.isolation.changed.is_empty() {
            faults.push(format!("CHANGED ANSWERS: {}", self.isolation.changed.join(", ")));
        }
        if self.isolation.same == 0 {
            faults.push("no answer shows that environments are apart".to_owned());
        }
        let failed = |status: &u16| *status >= 500 && *status != 503;
        if self.statuses.keys().chain(self.felt.refused.keys()).any(failed) {
            faults.push("a 5xx other than 503".to_owned());
        }
        faults
    }

    /// Targets that were missed.
    fn missed(&self, attack: &Attack) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.felt.refused.is_empty() {
            faults.push(format!("checks refused: {}", listed(&self.felt.refused)));
        }
        if self.felt.quantile(990) > SLOWEST {
            faults.push(format!("p99 over {SLOWEST:?}"));
        }
        if self.memory > MEMORY {
            faults.push(format!("memory over {MEMORY} MB"));
        }
        let is_served = self.statuses.keys().any(|status| (200..300).contains(status));
        if attack.is_served && !is_served {
            faults.push("no attacker was served".to_owned());
        }
        faults
    }
}

fn listed(statuses: &BTreeMap<u16, usize>) -> String {
    if statuses.is_empty() {
        return "–".to_owned();
    }
    let parts = statuses.iter().map(|(status, n)| match status {
        0 => format!("{n} × cut"),
        status => format!("{n} × {status}"),
    });
    parts.collect::<Vec<_>>().join(", ")
}
