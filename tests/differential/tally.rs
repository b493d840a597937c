//! What was asked and what came out, counted; so that a run which compares little does not look like one that
//! compares much.

use crate::support::fixture::{Answer, Expected};
use crate::support::notation::Cell;
use crate::support::outcome::Outcome;
use std::cell::Cell as Counter;
use std::fmt;

/// The most checks in a thousand that the engine may refuse.
const REFUSED_CHECKS_PER_MILLE: usize = 10;

/// The most enumerations in a thousand that it may refuse.
const REFUSED_PER_MILLE: usize = 120;

/// The most questions in a thousand for which a database may get no local SQL: the statement would be too large,
/// or its rows could not be told from a wildcard.
const NO_SQL_PER_MILLE: usize = 30;

/// Counts of a run.
#[derive(Default)]
pub(crate) struct Tally {
    /// Policies.
    pub(crate) policies: Counter<usize>,
    /// Policies that are refused for a cycle through negation.
    pub(crate) refused_policies: Counter<usize>,
    /// Policies that are too much for the oracle.
    pub(crate) endless_policies: Counter<usize>,
    /// Questions that the oracle, the engine and local SQL on both databases answered.
    pub(crate) cases: Counter<usize>,
    /// Answers of the engine.
    pub(crate) engine: Counter<usize>,
    /// Answers of local SQL on PostgreSQL.
    pub(crate) postgresql: Counter<usize>,
    /// Answers of local SQL on SQLite.
    pub(crate) sqlite: Counter<usize>,
    /// Questions for which there is no local SQL, rightly.
    pub(crate) no_sql: Counter<usize>,
    /// Answers of the statements themselves.
    pub(crate) statements: Counter<usize>,
    decisions: Counter<usize>,
    granted: Counter<usize>,
    enumerations: Counter<usize>,
    found: Counter<usize>,
    wildcards: Counter<usize>,
    refused: Counter<usize>,
    refused_checks: Counter<usize>,
}

/// Counts one more.
pub(crate) fn count(counter: &Counter<usize>) {
    counter.set(counter.get() + 1);
}

impl Tally {
    /// Counts an answer of the engine.
    pub(crate) fn note(&self, found: &Outcome, is_check: bool) {
        count(&self.engine);
        match found {
            Expected::Is(Answer::Decision(granted)) => {
                count(&self.decisions);
                if *granted {
                    count(&self.granted);
                }
            }
            Expected::Is(Answer::Rows(rows)) => {
                count(&self.enumerations);
                if !rows.is_empty() {
                    count(&self.found);
                }
                if rows.iter().flatten().any(|cell| !matches!(cell, Cell::Value(_))) {
                    count(&self.wildcards);
                }
            }
            Expected::Refused(_) if is_check => count(&self.refused_checks),
            Expected::Refused(_) => {
                count(&self.enumerations);
                count(&self.refused);
            }
        }
    }

    /// Fails if the answers are of too few kinds.
    pub(crate) fn check_shares(&self) {
        let holds = |part: &Counter<usize>, factor: usize, whole: &Counter<usize>, per: usize| {
            part.get() * factor >= whole.get() * per
        };
        assert!(holds(&self.granted, 40, &self.decisions, 1), "too few questions are answered yes");
        assert!(holds(&self.found, 20, &self.enumerations, 1), "too few enumerations find anything");
        assert!(holds(&self.wildcards, 100, &self.enumerations, 1), "too few answers are wildcards");
        assert!(!holds(&self.refused_policies, 4, &self.policies, 1), "too many policies are refused");
        assert!(!holds(&self.endless_policies, 20, &self.policies, 1), "too many policies are too much");
        assert!(
            !holds(&self.refused_checks, 1000, &self.decisions, REFUSED_CHECKS_PER_MILLE),
            "too many checks are refused"
        );
        assert!(
            !holds(&self.refused, 1000, &self.enumerations, REFUSED_PER_MILLE),
            "too many enumerations are refused"
        );
        assert!(!holds(&self.no_sql, 1000, &self.cases, NO_SQL_PER_MILLE), "too often there is no local SQL");
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            policies,
            refused_policies,
            endless_policies,
            cases,
            engine,
            postgresql,
            sqlite,
            no_sql,
            statements,
            ..
        } = self;
        write!(
            f,
            "{} cases of {} policies ({} refused, {} too much for the oracle); answers: engine {}, PostgreSQL {}, SQLite {}, without SQL {}, statements {}; ",
            cases.get(),
            policies.get(),
            refused_policies.get(),
            endless_policies.get(),
            engine.get(),
            postgresql.get(),
            sqlite.get(),
            no_sql.get(),
            statements.get(),
        )?;
        let Self { decisions, granted, enumerations, found, wildcards, refused, refused_checks, .. } = self;
        write!(
            f,
            "{} decisions ({} yes, {} refused), {} enumerations ({} not empty, {} with wildcards, {} refused)",
            decisions.get(),
            granted.get(),
            refused_checks.get(),
            enumerations.get(),
            found.get(),
            wildcards.get(),
            refused.get(),
        )
    }
}
