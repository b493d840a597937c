//! What a run knows: goals with their answers, and the attempts that led to them. Data types only.

use super::values::Value;
use crate::catalog::SourceId;
use crate::datalog::RelId;
use crate::id_vec::{IdVec, id};
use crate::ir::VarId;
use crate::ordered::OrderedSet;
use crate::specialise::{ClauseId, GoalId};
use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

id!(/// A goal.
    pub(super) AnswerTableId, "table");
id!(/// An attempt.
    pub(super) FrameId, "frame");
id!(/// An answer.
    pub(super) AnswerId, "answer");
id!(/// 64 conditions of a [`GoalSet`].
    WordId, "word");
id!(/// A fact that is assumed, see [`Derivations::assumed`].
    pub(super) FactId, "fact");

/// What a goal asks: a relation, `None` for the question itself, with the values of some of its columns.
pub(super) type Key = (Option<RelId>, Box<[Option<Value>]>);

/// A goal with its answers.
#[derive(Debug)]
pub(super) struct AnswerTable {
    /// The atom that it asks for.
    pub(super) key: Key,
    /// How far it is from the goal of its level.
    pub(super) depth: usize,
    /// Attempts that wait for their turn.
    pub(super) pending: VecDeque<FrameId>,
    /// All attempts.
    pub(super) frames: Vec<FrameId>,
    /// Its answers, in the order in which they were found.
    pub(super) answers: Vec<AnswerId>,
    /// The same by their values.
    pub(super) by_tuple: FxHashMap<Box<[Value]>, Vec<AnswerId>>,
    /// Attempts that read it, each with the condition that does.
    pub(super) readers: Vec<(FrameId, GoalId)>,
    /// The goals that it reads.
    pub(super) calls: OrderedSet<AnswerTableId>,
}

/// The values of the variables of an attempt's clause, those that are known.
pub(super) type Env = IdVec<VarId, Option<Value>>;

/// Facts that are assumed to exist: few, ascending.
pub(super) type Assumed = Box<[FactId]>;

/// A clause with some of its conditions satisfied.
#[derive(Debug)]
pub(super) struct ClauseFrame {
    /// The goal that it would answer.
    pub(super) table: AnswerTableId,
    /// The clause of the goal's relation.
    pub(super) clause: ClauseId,
    /// The values of its variables.
    pub(super) env: Env,
    /// The conditions that are satisfied.
    pub(super) done: GoalSet,
    /// How many they are.
    pub(super) n_done: usize,
    /// The attempt from which it continues, and what satisfied one more condition.
    pub(super) from: Option<(FrameId, GoalId, Via)>,
    /// The condition that it tries.
    pub(super) next: Option<GoalId>,
    /// The goal of that condition, if it has one.
    pub(super) called: Option<AnswerTableId>,
    /// Whether an attempt continues from it, or it is an answer.
    pub(super) continued: bool,
    /// The facts that it assumes.
    pub(super) assumed: Assumed,
}

impl ClauseFrame {
    /// Whether a condition is satisfied.
    pub(super) fn is_done(&self, goal: GoalId) -> bool {
        self.done.contains(goal)
    }
}

/// Some of a clause's conditions, one bit each.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct GoalSet(IdVec<WordId, u64>);

impl GoalSet {
    /// None of this many conditions.
    pub(super) fn none_of(n_goals: usize) -> Self {
        Self(vec![0; n_goals.div_ceil(64)].into())
    }

    /// Adds one of the conditions.
    pub(super) fn insert(&mut self, goal: GoalId) {
        let (word, bit) = Self::place(goal);
        self.0[word] |= bit;
    }

    /// Whether one of the conditions is in the set.
    pub(super) fn contains(&self, goal: GoalId) -> bool {
        let (word, bit) = Self::place(goal);
        self.0[word] & bit != 0
    }

    /// The most conditions that there may be.
    pub(super) fn capacity(&self) -> usize {
        self.0.len() * 64
    }

    fn place(goal: GoalId) -> (WordId, u64) {
        (WordId::from_index(goal.index() / 64), 1 << (goal.index() % 64))
    }
}

/// What satisfied a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Via {
    /// A row of a relation of the catalog.
    Row(SourceId),
    /// An answer of a goal.
    Answer(AnswerId),
    /// A fact that is only assumed.
    Assumed,
    /// A test: a comparison, or a negation.
    Test,
}

/// An answer of a goal.
#[derive(Debug)]
pub(super) struct GoalAnswer {
    /// The goal.
    pub(super) table: AnswerTableId,
    /// One value per column.
    pub(super) tuple: Box<[Value]>,
    /// The facts that it assumes.
    pub(super) assumed: Assumed,
    /// The attempts that end with it.
    pub(super) derivations: Vec<FrameId>,
    /// The least height of its proofs, and the last attempt of one; `None` until heights were computed.
    pub(super) best: Option<(usize, FrameId)>,
}

/// Everything that a run found.
#[derive(Debug)]
pub(super) struct Derivations {
    /// The goals.
    pub(super) tables: IdVec<AnswerTableId, AnswerTable>,
    /// The attempts.
    pub(super) frames: IdVec<FrameId, ClauseFrame>,
    /// The answers.
    pub(super) answers: IdVec<AnswerId, GoalAnswer>,
    /// The facts that are assumed.
    pub(super) assumed: IndexSet<Missing>,
}

/// A fact that does not exist: its predicate, and the types and texts of its arguments.
pub(super) type Missing = (String, Vec<(String, String)>);

impl Derivations {
    /// Nothing is known.
    pub(super) fn new() -> Self {
        Self { tables: IdVec::new(), frames: IdVec::new(), answers: IdVec::new(), assumed: IndexSet::new() }
    }

    /// The attempts from the first to this one, with the conditions that they satisfied.
    pub(super) fn conditions(&self, last: FrameId) -> Vec<(GoalId, Via)> {
        let mut found = Vec::new();
        let mut at = last;
        while let Some((from, goal, via)) = self.frames[at].from {
            found.push((goal, via));
            at = from;
        }
        found.reverse();
        found
    }
}
