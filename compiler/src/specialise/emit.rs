//! A solved rule copy becomes a clause: variables renamed, tests decided or kept.
//!
//! A variable that nothing binds, that the head does not have and that only tests mention is *fresh*: some
//! value that no fact and no literal mentions is always a witness. A negated column never holds it, so the
//! negation is true; `!=` to anything else is true.

use super::frame::{Frame, Impossible, Value};
use super::index::SourceArg;
use super::pattern::Pattern;
use super::solve::{Body, Origin, Solution};
use super::{Choice, Specialiser};
use crate::ir::{self, CompareOp, ConstId, LiteralKind, Polarity, PredId, TypeId, VarId};
use crate::question::CompileError;
use crate::source::Span;
use crate::specialise::clause::{Adornment, Clause, Goal, Output, RelId, ScanArg, Term, constant};
use rustc_hash::FxHashMap;

/// Which relation each adornment of each table becomes.
#[derive(Debug)]
pub(super) struct Numbering {
    starts: Vec<usize>,
}

impl Numbering {
    /// Numbers the adornments of all tables in order.
    pub(super) fn new(work: &Specialiser<'_>) -> Self {
        let starts = work.tables.iter().scan(0, |next, table| {
            let start = *next;
            *next += table.forms.len();
            Some(start)
        });
        Self { starts: starts.collect() }
    }

    fn rel(&self, table: usize, form: usize) -> RelId {
        RelId(self.starts.get(table).copied().unwrap_or(0) + form)
    }
}

/// The clause of a solution; `None` if a test proved it impossible.
pub(super) fn clause(
    work: &Specialiser<'_>,
    numbering: &Numbering,
    solution: &Solution<'_>,
) -> Result<Option<Clause>, CompileError> {
    match &solution.origin {
        Origin::Rule { rule, frame, choices } => {
            let Some(written) = work.program.rules.get(rule.index()) else { return Ok(None) };
            let locals = work.program.index.rules.locals(*rule);
            let body = Body { params: &written.params, literals: &written.body, locals, rule: Some(*rule) };
            let emitter = Emitter::new(work, numbering, &body, frame, choices);
            let Some(goals) = emitter.goals()? else { return Ok(None) };
            let with_column =
                written.params.iter().zip(&solution.adornments).filter(|(_, form)| form.has_column());
            let head = with_column.map(|(param, _)| emitter.term(*param)).collect();
            let var_names = written.vars.iter().map(|var| var.name.clone()).collect();
            Ok(Some(ignore_lonely(Clause { rule: Some(*rule), head, goals, var_names }, &[])))
        }
        Origin::Source(index) => Ok(source_clause(work, *index, &solution.adornments)),
    }
}

/// The clause `p(x, y) :- source(x, y)` of a predicate that has rules and stored facts.
fn source_clause(work: &Specialiser<'_>, index: usize, adornments: &[Adornment]) -> Option<Clause> {
    let source = work.sources.find(index)?;
    let mut head = Vec::new();
    let mut args = Vec::new();
    let mut var_names = Vec::new();
    for (adornment, held) in adornments.iter().zip(&source.args) {
        match (adornment, held) {
            (Adornment::Literal(literal), SourceArg::Column(_)) => {
                args.push(ScanArg::Term(Term::Const(*literal)));
            }
            (
                Adornment::Column(_) | Adornment::Tested(_) | Adornment::Unconstrained(_),
                SourceArg::Column(_),
            ) => {
                let var = Term::Var(VarId::from_index(var_names.len()));
                var_names.push(format!("x{}", var_names.len()));
                head.push(var);
                args.push(ScanArg::Term(var));
            }
            (_, SourceArg::Constant(_) | SourceArg::Open(_)) => {}
        }
    }
    let goal = Goal::Scan { polarity: Polarity::Positive, source: index, args, guards: Vec::new() };
    Some(Clause { rule: None, head, goals: vec![goal], var_names })
}

/// Replaces variables that occur once, in a positive goal, by [`Term::Ignored`], and numbers the others in
/// order of appearance.
///
/// Variables in `keep` are outputs: they keep their own numbers, and so do all others then.
pub(crate) fn ignore_lonely(mut clause: Clause, keep: &[Term]) -> Clause {
    let mut count: FxHashMap<Term, usize> = FxHashMap::default();
    let mut order: Vec<Term> = Vec::new();
    for_each_term(&mut clause, &mut |term| {
        let seen = count.entry(*term).or_default();
        *seen += 1;
        if *seen == 1 && matches!(term, Term::Var(_)) {
            order.push(*term);
        }
    });
    let is_lonely =
        |term: &Term| matches!(term, Term::Var(_)) && count.get(term) == Some(&1) && !keep.contains(term);
    for goal in &mut clause.goals {
        if let Goal::Scan { polarity: Polarity::Positive, .. }
        | Goal::Call { polarity: Polarity::Positive, .. } = goal
        {
            for_each_goal_term(goal, &mut |term| {
                if is_lonely(term) && !clause.head.contains(term) {
                    order.retain(|other| other != term);
                    *term = Term::Ignored;
                }
            });
        }
    }
    if !keep.is_empty() {
        return clause;
    }
    let names = order.iter().map(|term| clause.name(*term).to_owned()).collect();
    let places: FxHashMap<Term, usize> =
        order.iter().enumerate().map(|(place, term)| (*term, place)).collect();
    for_each_term(&mut clause, &mut |term| {
        if let Some(place) = places.get(term) {
            *term = Term::Var(VarId::from_index(*place));
        }
    });
    clause.var_names = names;
    clause
}

/// Visits every term of a clause, head first.
fn for_each_term(clause: &mut Clause, visit: &mut impl FnMut(&mut Term)) {
    clause.head.iter_mut().for_each(&mut *visit);
    for goal in &mut clause.goals {
        for_each_goal_term(goal, visit);
    }
}

/// Visits every term of a goal.
pub(crate) fn for_each_goal_term(goal: &mut Goal, visit: &mut impl FnMut(&mut Term)) {
    match goal {
        Goal::Scan { args, guards, .. } => {
            for arg in args {
                match arg {
                    ScanArg::Term(term) => visit(term),
                    ScanArg::OneOf(_) => {}
                }
            }
            guards.iter_mut().for_each(|(term, _)| visit(term));
        }
        Goal::Call { args, guards, .. } => {
            args.iter_mut().for_each(&mut *visit);
            guards.iter_mut().for_each(|(term, _)| visit(term));
        }
        Goal::Rows { args, .. } => args.iter_mut().for_each(visit),
        Goal::Values { term, .. } => visit(term),
        Goal::Compare { left, right, .. } => {
            visit(left);
            visit(right);
        }
    }
}

/// Emits the goals of one solved body.
#[derive(Clone, Copy)]
pub(super) struct Emitter<'e, 'p> {
    work: &'e Specialiser<'p>,
    numbering: &'e Numbering,
    body: &'e Body<'e>,
    frame: &'e Frame<'p>,
    choices: &'e [(usize, Choice)],
}

impl<'e, 'p> Emitter<'e, 'p> {
    pub(super) fn new(
        work: &'e Specialiser<'p>,
        numbering: &'e Numbering,
        body: &'e Body<'e>,
        frame: &'e Frame<'p>,
        choices: &'e [(usize, Choice)],
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

    /// All goals; `None` if a test can never hold.
    pub(super) fn goals(&self) -> Result<Option<Vec<Goal>>, CompileError> {
        let mut goals = Vec::new();
        for (left, right) in &self.frame.equal {
            goals.push(Goal::Compare {
                op: CompareOp::Equal,
                left: value_term(*left),
                right: value_term(*right),
            });
        }
        for (literal_idx, literal) in self.body.literals.iter().enumerate() {
            let possible = match &literal.kind {
                LiteralKind::Atom { polarity: Polarity::Positive, args, .. } => {
                    goals.extend(self.positive(literal_idx, args));
                    true
                }
                LiteralKind::Atom { polarity: Polarity::Negated, pred, args } => {
                    self.negated(*pred, args, literal.span, &mut goals)?;
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
        }
        Ok(Some(goals))
    }

    fn positive(&self, literal_idx: usize, args: &[ir::Term]) -> Option<Goal> {
        let (_, choice) = self.choices.iter().find(|(index, _)| *index == literal_idx)?;
        match *choice {
            Choice::Source(index) => {
                let source = self.work.sources.find(index)?;
                let columns =
                    args.iter().zip(&source.args).filter(|(_, held)| matches!(held, SourceArg::Column(_)));
                let args = columns.map(|(arg, _)| ScanArg::Term(self.term(*arg))).collect();
                Some(Goal::Scan { polarity: Polarity::Positive, source: index, args, guards: Vec::new() })
            }
            Choice::Form { table, form } => {
                let forms = self.work.tables.get(table)?.forms.get_index(form)?;
                let columns = args.iter().zip(forms).filter(|(_, form)| form.has_column());
                let args = columns.map(|(arg, _)| self.term(*arg)).collect();
                let rel = self.numbering.rel(table, form);
                Some(Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() })
            }
        }
    }

    /// One negated goal for each way in which the predicate could hold.
    fn negated(
        &self,
        pred: PredId,
        args: &[ir::Term],
        span: Span,
        goals: &mut Vec<Goal>,
    ) -> Result<(), CompileError> {
        let pattern = Pattern::of(self.work.program, self.frame, pred, args);
        for (choice, forms) in self.work.known_choices(&pattern) {
            let mut frame = self.frame.clone();
            let mut guards = Vec::new();
            if !self.can_hold(&mut frame, args, &forms, span, &mut guards)? {
                continue;
            }
            // A local variable that no literal replaced stays inside the negation.
            let term = |arg: &ir::Term| match (arg, term_in(&frame, *arg)) {
                (ir::Term::Var(var), Term::Var(root)) if self.is_local(*var) => Term::Local(root),
                (_, term) => term,
            };
            let goal = match choice {
                Choice::Source(index) => {
                    let Some(source) = self.work.sources.find(index) else { continue };
                    let columns = args
                        .iter()
                        .zip(&source.args)
                        .filter(|(_, held)| matches!(held, SourceArg::Column(_)));
                    let args = columns.map(|(arg, _)| ScanArg::Term(term(arg))).collect();
                    Goal::Scan { polarity: Polarity::Negated, source: index, args, guards }
                }
                Choice::Form { table, form } => {
                    let columns = args.iter().zip(&forms).filter(|(_, form)| form.has_column());
                    let args = columns.map(|(arg, _)| term(arg)).collect();
                    Goal::Call {
                        polarity: Polarity::Negated,
                        rel: self.numbering.rel(table, form),
                        args,
                        guards,
                    }
                }
            };
            if !goals.contains(&goal) {
                goals.push(goal);
            }
        }
        Ok(())
    }

    /// Whether a negated atom can hold in this form; if so, the guards under which it does.
    fn can_hold(
        &self,
        frame: &mut Frame<'p>,
        args: &[ir::Term],
        forms: &[Adornment],
        span: Span,
        guards: &mut Vec<(Term, ConstId)>,
    ) -> Result<bool, CompileError> {
        for (arg, form) in args.iter().zip(forms) {
            let local = matches!(arg, ir::Term::Var(var) if self.is_local(*var));
            let unified = match *form {
                Adornment::Literal(literal) if local => self.work.unify_literal(frame, *arg, literal),
                Adornment::Column(ty) | Adornment::Tested(Some(ty)) | Adornment::Unconstrained(Some(ty))
                    if local =>
                {
                    self.work.unify_type(frame, *arg, ty)
                }
                Adornment::Literal(literal) => match self.guard(*arg, literal, span)? {
                    Guard::Never => Err(Impossible),
                    Guard::Always => Ok(()),
                    Guard::If(term) => {
                        guards.push((term, literal));
                        Ok(())
                    }
                },
                Adornment::Column(ty) => {
                    if self.is_fresh(*arg) {
                        self.check_infinite(*arg, span)?;
                    }
                    let same = self.type_of(*arg, span)? == ty;
                    if same && !self.is_fresh(*arg) { Ok(()) } else { Err(Impossible) }
                }
                Adornment::Tested(Some(ty)) | Adornment::Unconstrained(Some(ty)) => {
                    if self.type_of(*arg, span)? == ty { Ok(()) } else { Err(Impossible) }
                }
                Adornment::Tested(None) | Adornment::Unconstrained(None) => Ok(()),
            };
            if unified.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When a term outside the negation equals a literal.
    fn guard(&self, arg: ir::Term, literal: ConstId, span: Span) -> Result<Guard, CompileError> {
        let held = constant(self.work.program, &self.work.sources.extra_constants, literal);
        let Some(held) = held else { return Ok(Guard::Never) };
        if self.type_of(arg, span)? != held.ty {
            return Ok(Guard::Never);
        }
        if self.is_fresh(arg) {
            self.check_infinite(arg, span)?;
            return Ok(Guard::Never);
        }
        Ok(match self.term(arg) {
            Term::Const(other) if other == literal => Guard::Always,
            Term::Const(_) => Guard::Never,
            Term::Given(_)
                if held.ty == TypeId::STRING && literal.index() < self.work.program.constants.len() =>
            {
                Guard::Never
            }
            term @ (Term::Var(_)
            | Term::Given(_)
            | Term::Now
            | Term::Tag(_)
            | Term::Local(_)
            | Term::Ignored) => Guard::If(term),
        })
    }

    /// Keeps a comparison unless it is decided already; `false` if it can never hold.
    fn compare(
        &self,
        op: CompareOp,
        left: ir::Term,
        right: ir::Term,
        span: Span,
        goals: &mut Vec<Goal>,
    ) -> Result<bool, CompileError> {
        let (left_term, right_term) = (self.term(left), self.term(right));
        if op == CompareOp::NotEqual {
            if left_term == right_term {
                return Ok(false);
            }
            if self.type_of(left, span)? != self.type_of(right, span)? {
                return Ok(true);
            }
            if self.is_fresh(left) || self.is_fresh(right) {
                self.check_infinite(left, span)?;
                self.check_infinite(right, span)?;
                return Ok(true);
            }
        }
        if let (Term::Const(left), Term::Const(right)) = (left_term, right_term) {
            return Ok(self.decide(op, left, right));
        }
        goals.push(Goal::Compare { op, left: left_term, right: right_term });
        Ok(true)
    }

    fn decide(&self, op: CompareOp, left: ConstId, right: ConstId) -> bool {
        let number = |id: ConstId| {
            let held = constant(self.work.program, &self.work.sources.extra_constants, id);
            held.and_then(|held| held.text.parse::<i64>().ok())
        };
        match op {
            CompareOp::Equal => left == right,
            CompareOp::NotEqual => left != right,
            CompareOp::Less => number(left).zip(number(right)).is_some_and(|(left, right)| left < right),
            CompareOp::LessOrEqual => {
                number(left).zip(number(right)).is_some_and(|(left, right)| left <= right)
            }
            CompareOp::Greater => number(left).zip(number(right)).is_some_and(|(left, right)| left > right),
            CompareOp::GreaterOrEqual => {
                number(left).zip(number(right)).is_some_and(|(left, right)| left >= right)
            }
        }
    }

    fn is_local(&self, var: VarId) -> bool {
        self.body.locals.get(var.index()).copied().unwrap_or(false)
    }

    /// Whether a fresh value is a witness for this term: nothing binds it and the head does not have it.
    fn is_fresh(&self, arg: ir::Term) -> bool {
        let ir::Term::Var(var) = arg else { return false };
        let in_head = self.body.params.iter().any(
            |param| matches!(param, ir::Term::Var(param) if self.frame.root(*param) == self.frame.root(var)),
        );
        !in_head && !self.frame.is_bound(var)
    }

    /// A fresh value exists for every type but Boolean, which has two values.
    fn check_infinite(&self, arg: ir::Term, span: Span) -> Result<(), CompileError> {
        match arg {
            ir::Term::Var(var)
                if self.is_fresh(arg) && self.frame.only_type(var) == Some(TypeId::BOOLEAN) =>
            {
                Err(self.work.untyped(self.body, var, span))
            }
            ir::Term::Var(_) | ir::Term::Const(_) | ir::Term::Now => Ok(()),
        }
    }

    fn type_of(&self, arg: ir::Term, span: Span) -> Result<TypeId, CompileError> {
        match arg {
            ir::Term::Var(var) => {
                self.frame.only_type(var).ok_or_else(|| self.work.untyped(self.body, var, span))
            }
            ir::Term::Now => Ok(TypeId::INTEGER),
            ir::Term::Const(literal) => {
                let held = constant(self.work.program, &self.work.sources.extra_constants, literal);
                held.map(|held| held.ty).ok_or_else(|| CompileError::Bug("a literal without an entry".into()))
            }
        }
    }
}

/// When a negated atom's literal position matches.
enum Guard {
    Never,
    Always,
    If(Term),
}

fn value_term(value: Value) -> Term {
    match value {
        Value::Const(literal) => Term::Const(literal),
        Value::Given(index) => Term::Given(index),
        Value::Now => Term::Now,
    }
}

fn term_in(frame: &Frame<'_>, term: ir::Term) -> Term {
    match term {
        ir::Term::Const(literal) => Term::Const(literal),
        ir::Term::Now => Term::Now,
        ir::Term::Var(var) => frame.value(var).map_or(Term::Var(frame.root(var)), value_term),
    }
}
