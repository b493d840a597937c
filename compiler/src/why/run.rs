//! One evaluation of a question: tabled, on demand, nearest goals first.
//!
//! In: the [`World`]. Out: a [`Derivations`] with every goal that the question needs, its answers, and
//! the attempts that failed. A goal is solved once, however often it is asked, so cycles end. Goals are
//! taken up in the order of their distance from the question, and the run ends once no goal that is left
//! can give a lower proof: a goal at distance *d* only takes part in proofs of height *d* and more.
//!
//! A negation needs its goal finished. So it opens a *level* with this goal alone, which runs until nothing
//! is left, or until it is clear that the negation fails; its goals are then known to all. Negation is
//! stratified, so a level never needs a goal of an outer one. Neither levels nor goals take space on Rust's
//! stack.

use super::rows::Rows;
use super::state::{
    AnswerId, AnswerTable, AnswerTableId, Assumed, ClauseFrame, Derivations, Env, FactId, FrameId,
    GoalAnswer, GoalSet, Key, Via,
};
use super::suggest::search::{Assumable, SearchReach, SuggestionSearch};
use super::terms::bound;
use super::values::Value;
use super::world::{Fault, OpenClause, World};
use crate::catalog::SourceId;
use crate::datalog::{Goal, Term};
use crate::refusal::VarName;
use crate::specialise::{ClauseId, GoalId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A goal that is evaluated until it is settled.
#[derive(Debug)]
pub(super) struct Level {
    pub(super) goal: AnswerTableId,
    /// Goals with waiting attempts: distance, turn.
    pub(super) agenda: BinaryHeap<Reverse<(usize, usize, AnswerTableId)>>,
    pub(super) known: FxHashMap<Key, AnswerTableId>,
    /// The first answer that was not known before.
    pub(super) first_answer: usize,
    /// Up to which distance the height of the answer was compared.
    pub(super) checked: usize,
    /// The attempt that needs it.
    pub(super) reader: Option<FrameId>,
    /// Which answers it needs.
    pub(super) needs: Needs,
}

/// Which answers of a goal are needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    /// Any answer will do.
    Any,
    /// All of them.
    All,
}

/// An attempt: goal, clause, values, satisfied conditions, and what it assumes.
type AttemptKey = (AnswerTableId, ClauseId, Env, GoalSet, Assumed);

/// One evaluation.
#[derive(Debug)]
pub(super) struct Run<'r, 'w, R> {
    pub(super) world: &'r mut World<'w, R>,
    pub(super) state: Derivations,
    pub(super) levels: Vec<Level>,
    /// Finished goals.
    pub(super) finished: FxHashMap<Key, AnswerTableId>,
    /// Goals of negations that hold.
    pub(super) refuted: FxHashMap<Key, AnswerTableId>,
    /// How many facts an answer may assume.
    pub(super) most_assumed: usize,
    /// Which facts an answer may assume.
    assumable: Assumable,
    /// From which conditions it looks for their values.
    pub(super) reach: SearchReach,
    /// Whether an attempt that may assume facts skipped rows of a look-up.
    pub(super) skips_rows: bool,
    /// Attempts that were made, where several ways lead to the same.
    made: FxHashSet<AttemptKey>,
    turn: usize,
    /// The first rule at which an attempt stopped, because it only tests an unbound value.
    pub(super) open: Option<OpenClause>,
    /// The goal of the question.
    pub(super) root: Option<AnswerTableId>,
}

impl<'r, 'w, R: Rows> Run<'r, 'w, R> {
    /// A run that assumes nothing.
    pub(super) fn new(world: &'r mut World<'w, R>) -> Self {
        let search = SuggestionSearch::new(0);
        Self { most_assumed: 0, ..Self::assuming(world, search) }
    }

    /// A run whose answers may assume facts.
    pub(super) fn assuming(world: &'r mut World<'w, R>, search: SuggestionSearch) -> Self {
        let SuggestionSearch { n_facts: most_assumed, assumable, reach, .. } = search;
        Self {
            world,
            state: Derivations::new(),
            levels: Vec::new(),
            finished: FxHashMap::default(),
            refuted: FxHashMap::default(),
            most_assumed,
            assumable,
            reach,
            skips_rows: false,
            made: FxHashSet::default(),
            turn: 0,
            open: None,
            root: None,
        }
    }

    /// What may be assumed where the run is: nothing below a negation.
    pub(super) fn may_assume(&self) -> usize {
        if self.levels.len() > 1 { 0 } else { self.most_assumed }
    }

    /// Gives up an attempt that cannot go on. Only the question may lack answers: a negation and a claim must
    /// know all answers of their goal, so below one nothing can go on.
    pub(super) fn give_up(&mut self, frame: FrameId) -> Result<(), Fault<R::Error>> {
        let is_of_question = |level: &Level| self.state.tables[level.goal].key.0.is_none();
        if !self.levels.last().is_some_and(is_of_question) {
            return Err(Fault::Open(self.open_clause(frame)));
        }
        if self.open.is_none() {
            self.open = Some(self.open_clause(frame));
        }
        Ok(())
    }

    /// The clause of an attempt, and the first of its variables that has no value.
    fn open_clause(&self, frame: FrameId) -> OpenClause {
        let clause = &self.world.clause(&self.state, frame).clause;
        let env = &self.state.frames[frame].env;
        let mut first = None;
        let mut look = |term: Term| {
            if first.is_none() && matches!(term, Term::Var(var) if env[var].is_none()) {
                first = Some(term);
            }
        };
        clause.goals.iter().for_each(|goal| goal.for_each_term(&mut look));
        clause.head.iter().copied().for_each(look);
        let var = first.map_or(VarName::UNNAMED, |term| clause.name(term).clone());
        OpenClause { rule: clause.rule, var }
    }

    pub(super) fn queue(&mut self, table: AnswerTableId) {
        self.turn += 1;
        let depth = self.state.tables[table].depth;
        if let Some(level) = self.levels.last_mut() {
            level.agenda.push(Reverse((depth, self.turn, table)));
        }
    }

    /// Begins a level with one goal.
    pub(super) fn open(
        &mut self,
        key: Key,
        reader: Option<FrameId>,
        needs: Needs,
    ) -> Result<AnswerTableId, Fault<R::Error>> {
        let level = Level {
            goal: AnswerTableId::from_index(self.state.tables.len()),
            agenda: BinaryHeap::new(),
            known: FxHashMap::default(),
            first_answer: self.state.answers.len(),
            checked: 0,
            reader,
            needs,
        };
        self.levels.push(level);
        let depth = usize::from(key.0.is_some());
        self.table(key, depth)
    }

    /// A goal, if it is settled.
    pub(super) fn settled(&self, key: &Key, needs: Needs) -> Option<AnswerTableId> {
        let refuted = || self.refuted.get(key).filter(|_| needs == Needs::Any);
        self.finished.get(key).or_else(refuted).copied()
    }

    /// The goal of a condition of an attempt at `reader`.
    pub(super) fn call(&mut self, key: Key, reader: AnswerTableId) -> Result<AnswerTableId, Fault<R::Error>> {
        if self.may_assume() == 0
            && let Some(finished) = self.finished.get(&key)
        {
            return Ok(*finished);
        }
        let depth = self.state.tables[reader].depth + 1;
        let known = self.levels.last().and_then(|level| level.known.get(&key)).copied();
        let table = match known {
            None => self.table(key, depth)?,
            Some(table) => {
                self.nearer(table, depth);
                table
            }
        };
        self.state.tables[reader].calls.insert(table);
        Ok(table)
    }

    /// Notes that a goal, and so what it reads, is at most so far away.
    fn nearer(&mut self, table: AnswerTableId, depth: usize) {
        let mut open = vec![(table, depth)];
        while let Some((table, depth)) = open.pop() {
            let entry = &mut self.state.tables[table];
            if entry.depth <= depth {
                continue;
            }
            entry.depth = depth;
            open.extend(entry.calls.iter().map(|called| (*called, depth + 1)));
            if !entry.pending.is_empty() {
                self.queue(table);
            }
        }
    }

    /// A new goal, with an attempt for each clause that may answer it.
    fn table(&mut self, key: Key, depth: usize) -> Result<AnswerTableId, Fault<R::Error>> {
        self.world.goal()?;
        let clauses = self.world.clauses(key.0);
        let table = self.state.tables.push(AnswerTable {
            key: key.clone(),
            depth,
            pending: VecDeque::new(),
            frames: Vec::new(),
            answers: Vec::new(),
            by_tuple: FxHashMap::default(),
            readers: Vec::new(),
            calls: crate::ordered::OrderedSet::default(),
        });
        for (clause, traced) in clauses.enumerate() {
            let env = Env::like(&traced.clause.var_names, None);
            let Some(env) = bound(self.world, &traced.clause.head, &key.1, env) else { continue };
            let done = GoalSet::none_of(traced.clause.goals.len());
            let frame = ClauseFrame {
                table,
                clause,
                env,
                done,
                n_done: 0,
                from: None,
                next: None,
                called: None,
                continued: false,
                assumed: Assumed::default(),
            };
            self.work_of(traced.clause.goals.len())?;
            self.push(frame);
        }
        if let Some(level) = self.levels.last_mut() {
            level.known.insert(key, table);
        }
        Ok(table)
    }

    /// Counts the work of looking at this many conditions.
    fn work_of(&mut self, n_goals: usize) -> Result<(), Fault<R::Error>> {
        self.world.work(1 + n_goals / 16)
    }

    fn push(&mut self, frame: ClauseFrame) {
        let table = frame.table;
        let id = self.state.frames.push(frame);
        let entry = &mut self.state.tables[table];
        entry.frames.push(id);
        entry.pending.push_back(id);
        if entry.pending.len() == 1 {
            self.queue(table);
        }
    }

    /// An attempt continues: one more condition is satisfied.
    pub(super) fn advance(
        &mut self,
        from: FrameId,
        goal: GoalId,
        env: Env,
        via: Via,
        assumed: Assumed,
    ) -> Result<(), Fault<R::Error>> {
        let last = &self.state.frames[from];
        let (table, clause) = (last.table, last.clause);
        let mut done = last.done.clone();
        done.insert(goal);
        let n_done = last.n_done + 1;
        self.state.frames[from].continued = true;
        if self.most_assumed > 0
            && !self.made.insert((table, clause, env.clone(), done.clone(), assumed.clone()))
        {
            return Ok(());
        }
        self.work_of(done.capacity())?;
        let from = Some((from, goal, via));
        let (next, called, continued) = (None, None, false);
        self.push(ClauseFrame { table, clause, env, done, n_done, from, next, called, continued, assumed });
        Ok(())
    }

    /// An attempt continues with these values, and assumes what it assumed before.
    pub(super) fn advance_with(
        &mut self,
        from: FrameId,
        goal: GoalId,
        env: Env,
        via: Via,
    ) -> Result<(), Fault<R::Error>> {
        let assumed = self.state.frames[from].assumed.clone();
        self.advance(from, goal, env, via, assumed)
    }

    /// Continues an attempt with an answer of a goal that it reads.
    pub(super) fn resume(
        &mut self,
        frame: FrameId,
        goal: GoalId,
        answer: AnswerId,
    ) -> Result<(), Fault<R::Error>> {
        let traced = self.world.clause(&self.state, frame);
        let Goal::Call { args, .. } = traced.goal(goal) else { return Err(Fault::Lost) };
        let tuple: Vec<Option<Value>> = self.state.answers[answer].tuple.iter().copied().map(Some).collect();
        let env = self.state.frames[frame].env.clone();
        let Some(env) = bound(self.world, args, &tuple, env) else { return Ok(()) };
        let together: Option<Assumed> =
            self.union(&self.state.frames[frame].assumed, &self.state.answers[answer].assumed);
        match together {
            Some(assumed) => self.advance(frame, goal, env, Via::Answer(answer), assumed),
            None => Ok(()),
        }
    }

    /// Notes an answer, and continues all that wait for it.
    pub(super) fn answer(
        &mut self,
        frame: FrameId,
        tuple: Box<[Value]>,
        assumed: Assumed,
    ) -> Result<(), Fault<R::Error>> {
        self.state.frames[frame].continued = true;
        let table = self.state.frames[frame].table;
        let entry = &self.state.tables[table];
        for answer in entry.by_tuple.get(&tuple).into_iter().flatten() {
            let known = &mut self.state.answers[*answer];
            if known.assumed == assumed {
                known.derivations.push(frame);
                return Ok(());
            }
            if known.assumed.iter().all(|fact| assumed.contains(fact)) {
                return Ok(());
            }
        }
        let derivations = vec![frame];
        let answer = self.state.answers.push(GoalAnswer {
            table,
            tuple: tuple.clone(),
            assumed,
            derivations,
            best: None,
        });
        let entry = &mut self.state.tables[table];
        entry.answers.push(answer);
        entry.by_tuple.entry(tuple).or_default().push(answer);
        let readers = entry.readers.clone();
        for (reader, goal) in readers {
            self.resume(reader, goal, answer)?;
        }
        Ok(())
    }

    /// What two attempts assume together, if it is not too much.
    pub(super) fn union(&self, one: &[FactId], other: &[FactId]) -> Option<Assumed> {
        let mut both: Vec<FactId> = one.iter().chain(other).copied().collect();
        both.sort_unstable();
        both.dedup();
        (both.len() <= self.most_assumed).then(|| both.into())
    }

    /// The fact with these values that is assumed, with what an attempt assumes already.
    pub(super) fn assume(&mut self, frame: FrameId, source: SourceId, row: &[Value]) -> Option<Assumed> {
        if self.may_assume() == 0 || !self.world.rules.may_assume(source, self.assumable) {
            return None;
        }
        let fact = self.world.fact(source, row)?;
        let (index, _) = self.state.assumed.insert_full(fact);
        self.union(&self.state.frames[frame].assumed, &[FactId::from_index(index)])
    }
}
