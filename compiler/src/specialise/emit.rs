//! A solved rule copy becomes a clause: variables renamed, tests decided or kept.
//!
//! In: a solution and its frame. Out: a clause of literals, given values and numbered variables, or none if a
//! test can never hold.

use super::frame::{Frame, Replacement};
use super::index::SourceArg;
use super::pattern::CallId;
use super::solve::Body;
use super::specialiser::{CallAnswerId, Choice, Origin, Solution, Specialiser};
use super::traced::TracedClause;
use crate::catalog::SourceId;
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Adornment, Clause, Goal, Output, RelId, ScanArg, Term};
use crate::id_vec::IdVec;
use crate::ir::{self, BodyLiteralId, CompareOp, LiteralKind, Polarity, PredId, TypeId, VarId, Variable};
use crate::limits;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::question::CompileError;
use crate::refusal::{Limit, VarName};
use rustc_hash::FxHashSet;
use std::hash::Hash;

/// Which relation each adornment of each table becomes.
#[derive(Debug)]
pub(super) struct Numbering {
    starts: IdVec<CallId, usize>,
}

impl Numbering {
    /// Numbers the adornments of all tables in order.
    pub(super) fn new(work: &Specialiser<'_>) -> Self {
        let starts = work.tables.iter().scan(0, |next, table| {
            let start = *next;
            *next += table.answers.len();
            Some(start)
        });
        Self { starts: starts.collect() }
    }

    pub(super) fn rel(&self, table: CallId, answer: CallAnswerId) -> RelId {
        RelId::from_index(self.starts[table] + answer.index())
    }
}

/// A relation with clauses of one kind.
pub(super) struct Emitted<C> {
    pub(super) pred: PredId,
    /// The table of which it is one answer.
    pub(super) table: CallId,
    pub(super) adornments: Vec<Adornment>,
    pub(super) clauses: Vec<C>,
}

impl Specialiser<'_> {
    /// Turns tables into relations with clauses.
    pub(super) fn relations<C: Eq + Hash>(
        &self,
        emit: impl Fn(&Self, &Numbering, &Solution<'_>) -> Result<Option<C>, CompileError>,
    ) -> Result<Vec<Emitted<C>>, CompileError> {
        let numbering = Numbering::new(self);
        let mut relations = Vec::new();
        let mut denials = 0;
        for (at, table) in self.tables.enumerate() {
            let no_clauses = |adornments: &Vec<Adornment>| (adornments.clone(), OrderedSet::default());
            let mut answers: OrderedMap<Vec<Adornment>, OrderedSet<C>> =
                table.answers.iter().map(no_clauses).collect();
            for solution in &table.solutions {
                self.deadline.check()?;
                let Some(clauses) = answers.get_mut(&solution.adornments) else {
                    return Err(CompileError::Bug(
                        "a table has a solution that it does not answer with".into(),
                    ));
                };
                if let Origin::Rule { rule, frame, .. } = &solution.origin {
                    let body = Body::of_rule(self.program, *rule);
                    denials += self.denials(&body, frame)?;
                    if denials > limits::DENIALS {
                        let error = CompileError::too_large(Limit::Denials { most: limits::DENIALS });
                        return Err(self.reached_in(&body, error));
                    }
                }
                clauses.extend(emit(self, &numbering, solution)?);
            }
            relations.extend(answers.into_iter().map(|(adornments, clauses)| Emitted {
                pred: table.pattern.pred,
                table: at,
                adornments,
                clauses: clauses.into_iter().collect(),
            }));
        }
        Ok(relations)
    }
}

/// The clause of a solution; `None` if a test proved it impossible.
pub(super) fn clause(
    work: &Specialiser<'_>,
    numbering: &Numbering,
    solution: &Solution<'_>,
) -> Result<Option<Clause>, CompileError> {
    let traced = traced(work, numbering, solution)?;
    Ok(traced.map(|traced| ignore_singletons(traced.clause, &[])))
}

/// The clause of a solution with the variables of its rule; `None` if a test proved it impossible.
pub(super) fn traced(
    work: &Specialiser<'_>,
    numbering: &Numbering,
    solution: &Solution<'_>,
) -> Result<Option<TracedClause>, CompileError> {
    match &solution.origin {
        Origin::Rule { rule, frame, choices } => {
            let written = &work.program.rules[*rule];
            let body = Body::of_rule(work.program, *rule);
            let emitter = Emitter::new(work, numbering, &body, frame, choices);
            let Some(Goals { goals, literals }) = emitter.goals()? else { return Ok(None) };
            let with_column = written
                .params
                .iter()
                .zip(&solution.adornments)
                .filter(|(_, adornment)| adornment.has_column());
            let head = with_column.map(|(param, _)| emitter.term(*param)).collect();
            let var_names = written.vars.iter().map(|var| VarName::Written(var.name.clone())).collect();
            let clause = Clause { rule: Some(*rule), head, goals, var_names };
            let vars = emitter.variables(&written.vars);
            Ok(Some(TracedClause { clause, vars, literals: literals.into() }))
        }
        Origin::Source(id) => {
            let clause = source_clause(work, *id, &solution.adornments)?;
            Ok(Some(TracedClause { clause, vars: IdVec::new(), literals: vec![None].into() }))
        }
    }
}

/// The clause `p(x, y) :- source(x, y)` of a predicate that has rules and stored facts.
fn source_clause(
    work: &Specialiser<'_>,
    id: SourceId,
    adornments: &[Adornment],
) -> Result<Clause, CompileError> {
    let source = work.sources.find(id)?;
    let mut head = Vec::new();
    let mut args = Vec::new();
    let mut var_names = IdVec::new();
    for (adornment, held) in adornments.iter().zip(&source.args) {
        match (adornment, held) {
            (Adornment::Literal(literal), SourceArg::Column(_)) => {
                args.push(ScanArg::Term(Term::Const(*literal)));
            }
            (
                Adornment::Column(_)
                | Adornment::Tested(_)
                | Adornment::Same { .. }
                | Adornment::Unconstrained(_),
                SourceArg::Column(_),
            ) => {
                let name = VarName::Made(format!("x{}", var_names.len()).into());
                let var = Term::Var(var_names.push(name));
                head.push(var);
                args.push(ScanArg::Term(var));
            }
            (_, SourceArg::Constant(_) | SourceArg::Open(_)) => {}
        }
    }
    let goal = Goal::Scan { polarity: Polarity::Positive, source: id, args, guards: Vec::new() };
    Ok(Clause { rule: None, head, goals: vec![goal], var_names })
}

/// The goals of a body.
#[derive(Debug)]
pub(super) struct Goals {
    pub(super) goals: Vec<Goal>,
    /// For each goal the literal of the body that it comes from; `None` for an equality of two values.
    pub(super) literals: Vec<Option<BodyLiteralId>>,
}

/// Emits the goals of one solved body.
#[derive(Clone, Copy)]
pub(super) struct Emitter<'e, 'p> {
    pub(super) work: &'e Specialiser<'p>,
    pub(super) numbering: &'e Numbering,
    pub(super) body: &'e Body<'e>,
    pub(super) frame: &'e Frame<'p>,
    pub(super) choices: &'e [(BodyLiteralId, Choice)],
}

impl<'e, 'p> Emitter<'e, 'p> {
    pub(super) fn new(
        work: &'e Specialiser<'p>,
        numbering: &'e Numbering,
        body: &'e Body<'e>,
        frame: &'e Frame<'p>,
        choices: &'e [(BodyLiteralId, Choice)],
    ) -> Self {
        Self { work, numbering, body, frame, choices }
    }

    /// A term of the rule as a term of the clause.
    pub(super) fn term(&self, term: ir::Term) -> Term {
        term_in(self.frame, term)
    }

    /// What an answer variable is.
    pub(super) fn output(&self, var: VarId) -> Output {
        let term = self.term(ir::Term::Var(var));
        match (self.frame.only_type(var), self.frame.is_bound(var)) {
            (Some(ty), true) => Output::Term(term, ty),
            (ty, false) if !self.work.is_tested(self.body, self.frame, self.choices, var) => {
                Output::Unconstrained(ty)
            }
            (ty, _) => Output::Term(term, ty.unwrap_or(TypeId::FOREIGN)),
        }
    }

    /// What each of the rule's variables became, and its type, if it has one.
    pub(super) fn variables(&self, vars: &IdVec<VarId, Variable>) -> IdVec<VarId, (Term, Option<TypeId>)> {
        vars.ids().map(|var| (self.term(ir::Term::Var(var)), self.frame.only_type(var))).collect()
    }

    /// All goals; `None` if a test can never hold.
    pub(super) fn goals(&self) -> Result<Option<Goals>, CompileError> {
        let mut goals = Vec::new();
        let mut literals = Vec::new();
        let mut denied = FxHashSet::default();
        for (left, right) in &self.frame.equal {
            goals.push(Goal::Compare {
                op: CompareOp::Equal,
                left: value_term(*left),
                right: value_term(*right),
            });
        }
        literals.resize(goals.len(), None);
        for (literal_id, literal) in self.body.literals.enumerate() {
            let possible = match &literal.kind {
                LiteralKind::Atom { polarity: Polarity::Positive, args, .. } => {
                    goals.push(self.positive(literal_id, args)?);
                    true
                }
                LiteralKind::Atom { polarity: Polarity::Negated, pred, args } => {
                    self.negated(*pred, args, literal.span, &mut goals, &mut denied)?;
                    true
                }
                LiteralKind::Compare { op: CompareOp::Equal, .. } | LiteralKind::NotOfType { .. } => true,
                LiteralKind::Compare { op, left, right } => {
                    self.compare(*op, *left, *right, literal.span, &mut goals)?
                }
                LiteralKind::OneOf { polarity: Polarity::Positive, .. } => true,
                LiteralKind::OneOf { polarity: Polarity::Negated, term, values } => {
                    let mut possible = true;
                    for value in values {
                        possible &= self.compare(
                            CompareOp::NotEqual,
                            *term,
                            ir::Term::Const(*value),
                            literal.span,
                            &mut goals,
                        )?;
                    }
                    possible
                }
                LiteralKind::False => false,
            };
            if !possible {
                return Ok(None);
            }
            literals.resize(goals.len(), Some(literal_id));
        }
        Ok(Some(Goals { goals, literals }))
    }

    /// The goal of a positive atom.
    fn positive(&self, literal_id: BodyLiteralId, args: &[ir::Term]) -> Result<Goal, CompileError> {
        let choice = self.choices.iter().find(|(literal, _)| *literal == literal_id);
        let Some((_, choice)) = choice else {
            return Err(CompileError::Bug("a condition that nothing was chosen to answer".into()));
        };
        match *choice {
            Choice::Source(index) => {
                let source = self.work.sources.find(index)?;
                let columns =
                    args.iter().zip(&source.args).filter(|(_, held)| matches!(held, SourceArg::Column(_)));
                let args = columns.map(|(arg, _)| ScanArg::Term(self.term(*arg))).collect();
                Ok(Goal::Scan { polarity: Polarity::Positive, source: index, args, guards: Vec::new() })
            }
            Choice::Answer { table, answer } => {
                let adornments = self.work.tables[table].answer(answer);
                let columns = args.iter().zip(adornments).filter(|(_, adornment)| adornment.has_column());
                let args = columns.map(|(arg, _)| self.term(*arg)).collect();
                let rel = self.numbering.rel(table, answer);
                Ok(Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() })
            }
        }
    }
}

fn value_term(value: Replacement) -> Term {
    match value {
        Replacement::Const(literal) => Term::Const(literal),
        Replacement::Given(index) => Term::Given(index),
        Replacement::Now => Term::Now,
    }
}

pub(super) fn term_in(frame: &Frame<'_>, term: ir::Term) -> Term {
    match term {
        ir::Term::Const(literal) => Term::Const(literal),
        ir::Term::Now => Term::Now,
        ir::Term::Var(var) => frame.value(var).map_or(Term::Var(frame.root(var)), value_term),
    }
}
