//! What was asked and what came out, counted; so that a run which compares little does not look like one that
//! compares much.

use super::explain::Explained;
use super::unmentioned::Counts;
use portcullis_compiler::Dialect;
use portcullis_testkit::domain::FOREIGN;
use portcullis_testkit::fixture::{Answer, Expected};
use portcullis_testkit::local::DIALECTS;
use portcullis_testkit::local::split::{Split, Spread};
use portcullis_testkit::notation::{Cell, Value};
use portcullis_testkit::outcome::Outcome;
use portcullis_testkit::refusal::Kind;
use portcullis_testkit::sql_limits;
use std::cell::{Cell as Counter, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The most checks in a thousand that the engine may refuse.
const REFUSED_CHECKS_PER_MILLE: usize = 10;

/// The most enumerations in a thousand that it may refuse.
const REFUSED_PER_MILLE: usize = 120;

/// The most questions in a thousand for which a database may get no local SQL: the statement would be too
/// large, or its rows could not be told from a wildcard.
const NO_SQL_PER_MILLE: usize = 30;

/// One in `LATE_PER` cases may reach the time limit, and one more of any number.
const LATE_PER: usize = 50_000;

/// Every way in which facts are spread, with what a line of numbers calls it.
const SPREADS: [(Spread, &str); 5] = [
    (Spread::Stored, "all stored"),
    (Spread::Local, "all local"),
    (Spread::Request, "all in the request"),
    (Spread::Together, "by signature"),
    (Spread::Divided, "by fact"),
];

/// Answers of local SQL on one database.
#[derive(Default)]
struct OnDatabase {
    all: Counter<usize>,
    spreads: [Counter<usize>; SPREADS.len()],
    /// With facts in the request and in the caller's tables.
    with_request: Counter<usize>,
}

/// Lists that were read in pages.
#[derive(Default)]
struct Paged {
    all: Counter<usize>,
    /// Of more than one page.
    turned: Counter<usize>,
    /// Those with a wildcard among others.
    starred: Counter<usize>,
}

/// Requests about many resources.
#[derive(Default)]
struct Bulks {
    all: Counter<usize>,
    refused: Counter<usize>,
    /// Some pass and some do not.
    in_part: Counter<usize>,
    /// Of several types.
    mixed: Counter<usize>,
    /// With a resource twice.
    twice: Counter<usize>,
    /// With a type that the policy does not know.
    strange: Counter<usize>,
}

/// One kind of policy or schema per `KINDS_PER` cases must occur.
const KINDS_PER: usize = 50;

/// Counts of a run.
#[derive(Default)]
pub(crate) struct Tally {
    /// One in `step` of a policy's questions is asked.
    pub(crate) step: u64,
    /// Policies.
    pub(crate) policies: Counter<usize>,
    /// Policies that are refused for a cycle through negation.
    pub(crate) refused_policies: Counter<usize>,
    /// Policies that are too much for the oracle.
    pub(crate) endless_policies: Counter<usize>,
    /// Policies that are too much for it with many resources.
    pub(crate) too_large: Counter<usize>,
    /// Questions that reached the time limit.
    pub(crate) late: Counter<usize>,
    /// Lists that were refused in pages.
    pub(crate) refused_pages: Counter<usize>,
    /// Questions that the oracle, the engine and local SQL on both databases answered.
    pub(crate) cases: Counter<usize>,
    /// Answers of the engine.
    pub(crate) engine: Counter<usize>,
    /// Questions for which its store was on PostgreSQL.
    pub(crate) on_postgres: Counter<usize>,
    /// Those that its replica has answered.
    pub(crate) on_replica: Counter<usize>,
    /// Questions for which there is no local SQL, rightly.
    pub(crate) no_sql: Counter<usize>,
    /// Statements that PostgreSQL refused over a mistaken document.
    pub(crate) mistaken: Counter<usize>,
    /// Answers of the statements themselves.
    pub(crate) statements: Counter<usize>,
    /// Explanations of local checks, and questions that have none.
    pub(crate) explained_locally: Counter<usize>,
    pub(crate) unexplained_locally: Counter<usize>,
    /// Reviews of an actor and a type, or of a type and a resource.
    pub(crate) reviewed: Counter<usize>,
    /// Explanations.
    pub(crate) explained: Explained,
    /// Cases by what is special about their policies and schemas.
    kinds: RefCell<BTreeMap<&'static str, usize>>,
    /// In the order of [`DIALECTS`].
    local: [OnDatabase; DIALECTS.len()],
    paged: Paged,
    /// Lists of actors that were read in pages, and those of more than one page.
    subject_pages: [Counter<usize>; 2],
    bulks: Bulks,
    /// Questions over facts of a type that the policy does not mention.
    pub(crate) unmentioned: Counts,
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

/// Whether a question reached the time limit.
pub(crate) fn is_late(found: &Outcome) -> bool {
    matches!(found, Expected::Refused(told) if told.kind == Some(Kind::Late))
}

impl Tally {
    /// Nothing yet, in a run that asks one in `step` of a policy's questions.
    pub(crate) fn of(step: u64) -> Self {
        Self { step, ..Self::default() }
    }

    /// Counts an answer of the engine.
    pub(crate) fn note(&self, found: &Outcome, is_check: bool) {
        count(&self.engine);
        if is_late(found) {
            count(&self.late);
        }
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

    /// Counts a case: a question that all judges answered.
    pub(crate) fn note_case(&self, kinds: impl IntoIterator<Item = (&'static str, bool)>) {
        count(&self.cases);
        let mut counts = self.kinds.borrow_mut();
        kinds.into_iter().for_each(|(name, is_one)| *counts.entry(name).or_default() += usize::from(is_one));
    }

    /// Counts an answer of local SQL.
    pub(crate) fn note_local(&self, dialect: Dialect, split: &Split) {
        for (_, on) in DIALECTS.iter().zip(&self.local).filter(|(known, _)| **known == dialect) {
            count(&on.all);
            for (_, counter) in
                SPREADS.iter().zip(&on.spreads).filter(|((spread, _), _)| split.spread() == Some(*spread))
            {
                count(counter);
            }
            if !split.local.is_empty() && !split.request.is_empty() {
                count(&on.with_request);
            }
        }
    }

    /// Counts a list that was read in pages.
    pub(crate) fn note_pages(&self, n_pages: usize, has_star: bool) {
        count(&self.paged.all);
        if n_pages > 1 {
            count(&self.paged.turned);
            if has_star {
                count(&self.paged.starred);
            }
        }
    }

    /// Counts a list of actors that was read in pages.
    pub(crate) fn note_subject_pages(&self, n_pages: usize) {
        let [all, turned] = &self.subject_pages;
        count(all);
        if n_pages > 1 {
            count(turned);
        }
    }

    /// Counts a request about many resources; `None` if it was refused.
    pub(crate) fn note_bulk(&self, asked: &[Value], n_passed: Option<usize>) {
        let Some(n_passed) = n_passed else { return count(&self.bulks.refused) };
        let n_different = asked.iter().collect::<BTreeSet<_>>().len();
        let n_types = asked.iter().map(|value| &value.ty).collect::<BTreeSet<_>>().len();
        let kinds = [
            (true, &self.bulks.all),
            (0 < n_passed && n_passed < asked.len(), &self.bulks.in_part),
            (n_types > 1, &self.bulks.mixed),
            (n_different < asked.len(), &self.bulks.twice),
            (asked.iter().any(|value| value.ty == FOREIGN), &self.bulks.strange),
        ];
        kinds.into_iter().filter(|(is_one, _)| *is_one).for_each(|(_, counter)| count(counter));
    }

    /// Fails if the answers are of too few kinds.
    pub(crate) fn check_shares(&self) {
        let holds = |part: &Counter<usize>, factor: usize, whole: &Counter<usize>, per: usize| {
            part.get() * factor >= whole.get() * per
        };
        // Texts with few copies are refused for their depth by a limit that is as low as their cursors.
        let n_compared = sql_limits::n_compared();
        assert!(n_compared >= 100, "SQLite counted {n_compared} statements, too few");
        assert!(holds(&self.granted, 40, &self.decisions, 1), "too few questions are answered yes");
        assert!(holds(&self.found, 20, &self.enumerations, 1), "too few enumerations find anything");
        assert!(holds(&self.wildcards, 500, &self.enumerations, 1), "too few answers are wildcards");
        assert!(!holds(&self.refused_policies, 4, &self.policies, 1), "too many policies are refused");
        assert!(!holds(&self.endless_policies, 20, &self.policies, 1), "too many policies are too much");
        assert!(!holds(&self.too_large, 10, &self.policies, 1), "too many policies are too large");
        assert!(
            !holds(&self.refused_checks, 1000, &self.decisions, REFUSED_CHECKS_PER_MILLE),
            "too many checks are refused"
        );
        assert!(
            !holds(&self.refused, 1000, &self.enumerations, REFUSED_PER_MILLE),
            "too many enumerations are refused"
        );
        assert!(holds(&self.on_postgres, 6, &self.cases, 1), "too few stores are on PostgreSQL");
        assert!(holds(&self.on_replica, 40, &self.cases, 1), "too few questions are answered by a replica");
        assert!(self.late.get() <= 1 + self.cases.get() / LATE_PER, "too many questions were late");
        assert!(!holds(&self.no_sql, 1000, &self.cases, NO_SQL_PER_MILLE), "too often there is no local SQL");
        for (dialect, on) in DIALECTS.iter().zip(&self.local) {
            for ((_, name), counter) in SPREADS.iter().zip(&on.spreads) {
                assert!(holds(counter, 100, &on.all, 1), "{dialect}: too few answers with facts {name}");
            }
            assert!(
                holds(&on.with_request, 20, &on.all, 1),
                "{dialect}: too few with facts of the request and in tables"
            );
        }
        for (name, n) in &*self.kinds.borrow() {
            assert!(n * KINDS_PER >= self.cases.get(), "too few cases with {name}");
        }
        let Explained { proved, disproved, suggested, unexplained, .. } = &self.explained;
        assert!(holds(proved, 100, &self.cases, 1), "too few proofs");
        assert!(holds(disproved, 50, &self.cases, 1), "too few noes are explained");
        assert!(holds(suggested, 50, &self.cases, 1), "too few facts are suggested");
        assert!(!holds(unexplained, 50, &self.cases, 1), "too few questions can be explained");
        assert!(holds(&self.explained_locally, 60, &self.cases, 1), "too few local checks are explained");
        assert!(holds(&self.reviewed, 100, &self.cases, 1), "too few reviews");
        let Paged { all, turned, starred } = &self.paged;
        assert!(holds(all, 20, &self.cases, 1), "too few lists are read in pages");
        assert!(!holds(&self.refused_pages, 10, all, 1), "too many lists are refused in pages");
        assert!(holds(turned, 40, all, 1), "too few lists have more than one page");
        assert!(starred.get() > 0, "no list of several pages has a wildcard");
        let Bulks { all, refused, in_part, mixed, twice, strange } = &self.bulks;
        assert!(holds(all, 20, &self.cases, 1), "too few requests are about many resources");
        assert!(!holds(refused, 1000, all, REFUSED_CHECKS_PER_MILLE), "too many bulks are refused");
        assert!(holds(in_part, 20, all, 1), "too few bulks pass in part");
        for (part, name) in [(mixed, "of several types"), (twice, "twice"), (strange, "of unknown types")] {
            assert!(holds(part, 20, all, 1), "too few bulks have resources {name}");
        }
        self.unmentioned.check(self.cases.get());
    }
}

impl fmt::Display for OnDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (", self.all.get())?;
        for ((_, name), counter) in SPREADS.iter().zip(&self.spreads) {
            write!(f, "{name} {}, ", counter.get())?;
        }
        write!(f, "request and tables {})", self.with_request.get())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_cases(f)?;
        self.write_answers(f)?;
        self.write_requests(f)
    }
}

impl Tally {
    /// The policies, and how many answers each judge gave.
    fn write_cases(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { policies, refused_policies, endless_policies, cases, no_sql, statements, .. } = self;
        write!(
            f,
            "{} cases of {} policies ({} refused, {} too much for the oracle); answers: engine {} ({} questions with its store on PostgreSQL, {} answered by its replica)",
            cases.get(),
            policies.get(),
            refused_policies.get(),
            endless_policies.get(),
            self.engine.get(),
            self.on_postgres.get(),
            self.on_replica.get(),
        )?;
        for (dialect, on) in DIALECTS.iter().zip(&self.local) {
            write!(f, ", {dialect} {on}")?;
        }
        write!(
            f,
            ", without SQL {}, refused over a mistaken type {}, statements {}; cases with",
            no_sql.get(),
            self.mistaken.get(),
            statements.get()
        )?;
        self.kinds.borrow().iter().try_for_each(|(name, n)| write!(f, " {name} {n},"))
    }

    /// Decisions, enumerations and explanations.
    fn write_answers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { decisions, granted, enumerations, found, wildcards, refused, refused_checks, .. } = self;
        write!(
            f,
            " {} decisions ({} yes, {} refused), {} enumerations ({} not empty, {} with wildcards, {} refused); ",
            decisions.get(),
            granted.get(),
            refused_checks.get(),
            enumerations.get(),
            found.get(),
            wildcards.get(),
            refused.get(),
        )?;
        let Self { explained, explained_locally, unexplained_locally, .. } = self;
        write!(
            f,
            "{explained}; {} local checks explained, {} not; ",
            explained_locally.get(),
            unexplained_locally.get(),
        )
    }

    /// Requests that ask for more than one answer, and what was too much.
    fn write_requests(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reviewed, refused_pages, paged, bulks, too_large, late, .. } = self;
        write!(
            f,
            "{} reviews, {} lists in pages ({} of several, {} of them with wildcards, {} refused), ",
            reviewed.get(),
            paged.all.get(),
            paged.turned.get(),
            paged.starred.get(),
            refused_pages.get(),
        )?;
        let [all, turned] = &self.subject_pages;
        write!(f, "{} lists of actors in pages ({} of several), ", all.get(), turned.get())?;
        write!(
            f,
            "{} bulks ({} pass in part, {} of several types, {} with repetitions, {} with unknown types, {} refused), {}, {} too large, {} reached the time limit",
            bulks.all.get(),
            bulks.in_part.get(),
            bulks.mixed.get(),
            bulks.twice.get(),
            bulks.strange.get(),
            bulks.refused.get(),
            self.unmentioned,
            too_large.get(),
            late.get(),
        )
    }
}
