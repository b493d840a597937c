//! What every run over one question shares: its rules and values, the rows that were read, and the work left.

use super::rows::{Budget, Rows};
use super::rules::Rules;
use super::state::{ClauseFrame, Derivations, Env, FrameId, Missing};
use super::values::{Texts, Value};
use crate::catalog::{RelationArg, SourceId};
use crate::datalog::{RelId, Term, constant};
use crate::id_vec::IdVec;
use crate::ir::{BodyLiteralId, ConstId, Program, RuleId};
use crate::question::{Domain, Question, QuestionAtom, QuestionVarId};
use crate::refusal::VarName;
use crate::specialise::{ClauseId, TracedClause};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// How much work passes between two looks at the clock.
const LOOK: usize = 256;

/// Why a run ended early.
#[derive(Debug)]
pub(super) enum Fault<E> {
    /// Rows could not be read.
    Rows(E),
    /// The budget is used up.
    Spent,
    /// A rule, or the question, only tests a value that nothing binds.
    Open(OpenClause),
    /// Something that the run found is not there.
    Lost,
}

/// A clause that only tests a value that nothing binds.
#[derive(Clone, Debug)]
pub(super) struct OpenClause {
    /// Its rule; `None` for the question.
    pub(super) rule: Option<RuleId>,
    /// The variable of the value.
    pub(super) var: VarName,
}

/// Rows of a relation.
#[derive(Clone, Debug)]
pub(super) struct FetchedRows {
    /// One value per column.
    pub(super) rows: Rc<[Box<[Value]>]>,
    /// Whether there are no others.
    pub(super) whole: bool,
}

/// The rows that a condition asks for: a relation of the catalog, with the values of some columns.
pub(super) type RowQuery = (SourceId, Box<[Option<Value>]>);

/// What every run over one question shares.
#[derive(Debug)]
pub(super) struct World<'w, R> {
    pub(super) program: &'w Program,
    pub(super) rules: &'w Rules,
    pub(super) question: &'w Question,
    pub(super) values: Texts,
    /// The values of the question's variables.
    given: IdVec<QuestionVarId, Vec<Value>>,
    now: Value,
    constants: FxHashMap<ConstId, Value>,
    rows: &'w mut R,
    fetched: FxHashMap<RowQuery, FetchedRows>,
    goals_left: usize,
    work_left: usize,
}

impl<'w, R: Rows> World<'w, R> {
    /// Nothing was read yet.
    pub(super) fn new(
        program: &'w Program,
        rules: &'w Rules,
        question: &'w Question,
        now: i64,
        rows: &'w mut R,
    ) -> Self {
        let mut values = Texts::default();
        let given = question.vars.iter().map(|var| match &var.domain {
            Domain::Given(text) => vec![values.of(text)],
            Domain::GivenOneOf(texts) => texts.iter().map(|text| values.of(text)).collect(),
            Domain::Wanted | Domain::Ignored => Vec::new(),
        });
        let given = given.collect();
        let now = values.of(&now.to_string());
        let (constants, fetched) = (FxHashMap::default(), FxHashMap::default());
        let (goals_left, work_left) = (0, 0);
        Self { program, rules, question, values, given, now, constants, rows, fetched, goals_left, work_left }
    }

    /// Allows this much from now on.
    pub(super) fn allow(&mut self, budget: Budget) {
        (self.goals_left, self.work_left) = (budget.goals, budget.work);
    }

    /// Leaves at most this much, and returns what was taken away.
    pub(super) fn set_aside(&mut self, most: Budget) -> Budget {
        let left = Budget { goals: self.goals_left.min(most.goals), work: self.work_left.min(most.work) };
        let aside = Budget { goals: self.goals_left - left.goals, work: self.work_left - left.work };
        self.allow(left);
        aside
    }

    /// Adds what was set aside; returns what was left of the rest.
    pub(super) fn give_back(&mut self, aside: Budget) -> Budget {
        let left = Budget { goals: self.goals_left, work: self.work_left };
        self.allow(Budget { goals: left.goals + aside.goals, work: left.work + aside.work });
        left
    }

    /// Counts a goal.
    pub(super) fn goal(&mut self) -> Result<(), Fault<R::Error>> {
        self.goals_left = self.goals_left.checked_sub(1).ok_or(Fault::Spent)?;
        Ok(())
    }

    /// Counts work.
    pub(super) fn work(&mut self, amount: usize) -> Result<(), Fault<R::Error>> {
        let before = self.work_left;
        self.work_left = before.checked_sub(amount).ok_or(Fault::Spent)?;
        let is_late = before / LOOK != self.work_left / LOOK && self.rows.is_late();
        if is_late { Err(Fault::Spent) } else { Ok(()) }
    }

    /// The clauses of a relation, or of the question itself.
    pub(super) fn clauses(&self, rel: Option<RelId>) -> &'w IdVec<ClauseId, TracedClause> {
        match rel {
            Some(rel) => &self.rules.traced.relations[rel].clauses,
            None => &self.rules.traced.roots,
        }
    }

    /// The clause of an attempt.
    pub(super) fn clause(&self, state: &Derivations, attempt: FrameId) -> &'w TracedClause {
        let ClauseFrame { table, clause, .. } = state.frames[attempt];
        &self.clauses(state.tables[table].key.0)[clause]
    }

    /// The question's atom that is this literal of its clauses.
    #[expect(clippy::indexing_slicing, reason = "ids of the question's literals come from its atoms")]
    pub(super) fn question_atom(&self, literal: BodyLiteralId) -> &'w QuestionAtom {
        &self.question.atoms[literal.index()]
    }

    /// The values of a question's variable.
    pub(super) fn given(&self, var: QuestionVarId) -> &[Value] {
        &self.given[var]
    }

    /// `@current_unix_time`
    pub(super) fn now(&self) -> &str {
        self.values.text(self.now)
    }

    /// The value of a literal.
    pub(super) fn constant(&mut self, id: ConstId) -> Value {
        if let Some(known) = self.constants.get(&id) {
            return *known;
        }
        let held = constant(self.program, &self.rules.traced.extra_constants, id);
        let value = self.values.of(held.map_or("", |held| &held.text));
        self.constants.insert(id, value);
        value
    }

    /// The value of a term, if it has one.
    pub(super) fn term(&mut self, term: Term, env: &Env) -> Option<Value> {
        match term {
            Term::Var(var) => env[var],
            Term::Const(id) => Some(self.constant(id)),
            Term::Given(var) => self.given[var].first().copied(),
            Term::Now => Some(self.now),
            Term::Local(_) | Term::Ignored => None,
        }
    }

    /// Rows of a relation, all of them or at least `most`.
    pub(super) fn fetch(&mut self, query: &RowQuery, most: usize) -> Result<FetchedRows, Fault<R::Error>> {
        if let Some(known) = self.fetched.get(query)
            && (known.whole || known.rows.len() >= most)
        {
            return Ok(known.clone());
        }
        let (source, bound) = query;
        let mut read = if source.index() < self.rules.n_stored {
            self.work(1)?;
            let relation = &self.rules.catalog.relations[*source];
            let bound: Vec<Option<&str>> =
                bound.iter().map(|value| value.map(|value| self.values.text(value))).collect();
            self.rows.rows(*source, relation, &bound, most).map_err(Fault::Rows)?
        } else {
            Vec::new()
        };
        self.work(read.len())?;
        let whole = read.len() < most;
        if whole {
            // So that the same facts are explained in the same way wherever they are.
            read.sort_unstable();
        }
        let mut rows: Vec<Box<[Value]>> = Vec::with_capacity(read.len());
        for row in read {
            rows.push(row.iter().map(|text| self.values.of(text)).collect());
        }
        let fetched = FetchedRows { rows: rows.into(), whole };
        self.fetched.insert(query.clone(), fetched.clone());
        Ok(fetched)
    }

    /// All rows of a relation, as long as the budget lasts.
    pub(super) fn fetch_all(&mut self, query: &RowQuery) -> Result<FetchedRows, Fault<R::Error>> {
        let most = self.work_left.max(1);
        let fetched = self.fetch(query, most)?;
        if fetched.whole { Ok(fetched) } else { Err(Fault::Spent) }
    }

    /// The fact that a row with these values would be.
    pub(super) fn fact(&self, source: SourceId, row: &[Value]) -> Option<Missing> {
        let relation = &self.rules.catalog.relations[source];
        let mut row = row.iter();
        let args = relation.args.iter().map(|arg| match arg {
            RelationArg::Column { ty, .. } => Some((ty.clone(), self.values.text(*row.next()?).to_owned())),
            RelationArg::Constant { ty, text } => Some((ty.clone(), text.clone())),
        });
        Some((relation.predicate.clone(), args.collect::<Option<_>>()?))
    }
}
