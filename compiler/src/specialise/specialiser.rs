//! The work in progress: the calls so far, with their tables, and the queue of those to run again.

use super::frame::Frame;
use super::index::Sources;
use super::pattern::{CallId, Pattern};
use crate::catalog::SourceId;
use crate::datalog::Adornment;
use crate::deadline::Deadline;
use crate::id_vec::{IdVec, id};
use crate::ir::{BodyLiteralId, ConstId, Constant, MatchingRules, PredId, Program, RuleId};
use crate::limits;
use crate::ordered::OrderedSet;
use crate::question::CompileError;
use crate::refusal::Limit;
use crate::source::Span;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap, FxHashSet};
use std::collections::VecDeque;

/// After how many steps it is checked whether the time is over: a step takes a microsecond or more.
const STEPS_A_LOOK: usize = 32;

id!(/// A call that relations of the catalog answer by themselves.
    pub(super) DirectId, "direct");
id!(/// An adornment that a table answers with.
    pub(super) CallAnswerId, "answer");

/// A predicate called in one way, with what it answers.
#[derive(Debug)]
pub(super) struct CallTable<'p> {
    pub(super) pattern: Pattern,
    /// The adornments found so far.
    pub(super) answers: OrderedSet<Vec<Adornment>>,
    /// Every way to an answer that the last run found. INVARIANT: a table that nothing queued since has no
    /// other.
    pub(super) solutions: Vec<Solution<'p>>,
    /// The tables that read this one.
    pub(super) readers: OrderedSet<CallId>,
    pub(super) queued: bool,
}

impl CallTable<'_> {
    /// The adornments with their ids.
    pub(super) fn answers(&self) -> impl DoubleEndedIterator<Item = (CallAnswerId, &[Adornment])> {
        let with_id = |(at, answer): (usize, _)| (CallAnswerId::from_index(at), Vec::as_slice(answer));
        self.answers.iter().enumerate().map(with_id)
    }

    /// An adornment. Ids come from the table that they index, which only grows.
    #[expect(clippy::indexing_slicing, reason = "ids come from the table that they index")]
    pub(super) fn answer(&self, answer: CallAnswerId) -> &[Adornment] {
        &self.answers[answer.index()]
    }
}

/// What answers a call.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answerer {
    /// Relations of the catalog by themselves.
    Direct(DirectId),
    /// A table.
    Table(CallId),
}

/// How one positive atom of a rule copy is answered.
#[derive(Clone, Copy, Debug)]
pub(super) enum Choice {
    /// By a relation of the catalog.
    Source(SourceId),
    /// By one adornment of a table.
    Answer { table: CallId, answer: CallAnswerId },
}

/// A relation of the catalog that answers a call, and what it answers with.
pub(super) type DirectAnswer = (SourceId, Vec<Adornment>);

/// One way to answer a call.
#[derive(Clone, Debug)]
pub(super) struct Solution<'p> {
    pub(super) adornments: Vec<Adornment>,
    pub(super) origin: Origin<'p>,
}

/// The origin of an answer.
#[derive(Clone, Debug)]
pub(super) enum Origin<'p> {
    /// A rule copy: its frame, and what answers each positive atom.
    Rule { rule: RuleId, frame: Frame<'p>, choices: Vec<(BodyLiteralId, Choice)> },
    /// A relation of the catalog.
    Source(SourceId),
}

/// Which calls would see facts that are left out.
#[derive(Debug, Default)]
pub(super) struct BlindCalls {
    /// The tables that a negation reads.
    pub(super) denied: FxHashSet<CallId>,
    /// The calls: the place of the facts among those of the predicate, that of the call, and the table whose
    /// rule makes it.
    pub(super) found: IndexSet<(PredId, usize, Span, Maker), FxBuildHasher>,
}

/// What makes a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Maker {
    /// A negated atom.
    Negation,
    /// A rule of a table.
    Table(CallId),
    /// The question.
    Question,
}

/// The work in progress.
pub(super) struct Specialiser<'p> {
    pub(super) program: &'p Program,
    pub(super) sources: Sources,
    pub(super) tables: IdVec<CallId, CallTable<'p>>,
    /// What answers the calls that need no table.
    pub(super) direct: IdVec<DirectId, Vec<DirectAnswer>>,
    pub(super) by_pattern: FxHashMap<Pattern, Answerer>,
    pub(super) queue: VecDeque<CallId>,
    /// The calls that would see facts which are left out.
    pub(super) blind: BlindCalls,
    pub(super) steps: usize,
    /// When it must end.
    pub(super) deadline: Deadline,
}

impl<'p> Specialiser<'p> {
    /// Nothing was called yet.
    pub(super) fn new(program: &'p Program, sources: Sources, deadline: Deadline) -> Self {
        Self {
            program,
            sources,
            tables: IdVec::new(),
            direct: IdVec::new(),
            by_pattern: FxHashMap::default(),
            queue: VecDeque::new(),
            blind: BlindCalls::default(),
            steps: 0,
            deadline,
        }
    }

    /// A new table, which is queued.
    pub(super) fn table(&mut self, pattern: Pattern) -> CallId {
        let table = self.tables.push(CallTable {
            pattern,
            answers: OrderedSet::default(),
            solutions: Vec::new(),
            readers: OrderedSet::default(),
            queued: true,
        });
        self.queue.push_back(table);
        table
    }

    /// The rules that may match a pattern.
    pub(super) fn matching_rules(&self, pattern: &Pattern) -> MatchingRules<'p> {
        self.program.index.rules.matching_rules(pattern.pred, pattern.given())
    }

    /// Runs queued tables until none grows.
    pub(super) fn fixpoint(&mut self) -> Result<(), CompileError> {
        while let Some(table) = self.queue.pop_front() {
            self.deadline.check()?;
            let entry = &mut self.tables[table];
            entry.queued = false;
            let pattern = entry.pattern.clone();
            let solutions = self.solutions(&pattern, table)?;
            let entry = &mut self.tables[table];
            let before = entry.answers.len();
            for solution in &solutions {
                if !entry.answers.contains(&solution.adornments) {
                    entry.answers.insert(solution.adornments.clone());
                }
            }
            entry.solutions = solutions;
            if entry.answers.len() > before {
                for reader in entry.readers.clone() {
                    let entry = &mut self.tables[reader];
                    if !entry.queued {
                        entry.queued = true;
                        self.queue.push_back(reader);
                    }
                }
            }
        }
        Ok(())
    }

    /// A number that grows whenever a table or an adornment is added.
    pub(super) fn size(&self) -> usize {
        self.tables.len() + self.tables.iter().map(|table| table.answers.len()).sum::<usize>()
    }

    /// Every way in which the rules and stored relations answer a pattern.
    fn solutions(&mut self, pattern: &Pattern, reader: CallId) -> Result<Vec<Solution<'p>>, CompileError> {
        let direct = self.source_answers(pattern).into_iter();
        let mut found: Vec<Solution<'p>> = direct
            .map(|(source, adornments)| Solution { adornments, origin: Origin::Source(source) })
            .collect();
        for rule_id in self.matching_rules(pattern) {
            self.rule_solutions(pattern, rule_id, reader, &mut found)?;
        }
        Ok(found)
    }

    /// A literal of the policy or of the catalog. Ids of literals come from the two that they index.
    #[expect(clippy::indexing_slicing, reason = "the id of an added literal follows those of the policy")]
    pub(super) fn literal(&self, id: ConstId) -> &Constant {
        match id.index().checked_sub(self.program.constants.len()) {
            None => self.program.literal(id),
            Some(extra) => &self.sources.extra_constants[extra],
        }
    }

    /// Counts work against the limit, and now and then looks at the clock.
    pub(super) fn step(&mut self, work: usize) -> Result<(), CompileError> {
        let looks = self.steps / STEPS_A_LOOK;
        self.steps += work;
        if self.steps / STEPS_A_LOOK > looks {
            self.deadline.check()?;
        }
        if self.steps > limits::SPECIALISATION_STEPS {
            return Err(CompileError::too_large(Limit::RuleCopies { most: limits::SPECIALISATION_STEPS }));
        }
        Ok(())
    }
}
