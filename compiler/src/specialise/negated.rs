//! Negated atoms and comparisons of a solved rule copy: decided where they can be, else goals.
//!
//! A variable that nothing binds, that the head does not have and that only tests mention is *fresh*: some
//! value that no fact and no literal mentions is always a witness. A negated column never holds it, so the
//! negation is true; `!=` to anything else is true.

use super::emit::{Emitter, term_in};
use super::frame::{Frame, Impossible};
use super::index::SourceArg;
use super::pattern::Pattern;
use super::specialiser::Choice;
use crate::datalog::{Adornment, Goal, ScanArg, Term, constant};
use crate::ir::{self, CompareOp, ConstId, Polarity, PredId, TypeId, VarId};
use crate::question::CompileError;
use crate::source::Span;

/// When a negated atom's literal position matches.
enum Guard {
    Never,
    Always,
    If(Term),
}

impl<'p> Emitter<'_, 'p> {
    /// One negated goal for each way in which the predicate could hold.
    pub(super) fn negated(
        &self,
        pred: PredId,
        args: &[ir::Term],
        span: Span,
        goals: &mut Vec<Goal>,
    ) -> Result<(), CompileError> {
        let pattern = Pattern::of(self.work.program, self.frame, pred, args);
        for (choice, adornments) in self.work.known_choices(&pattern) {
            let mut frame = self.frame.clone();
            let mut guards = Vec::new();
            if !self.can_hold(&mut frame, args, adornments, span, &mut guards)? {
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
                Choice::Answer { table, answer } => {
                    let columns = args.iter().zip(adornments).filter(|(_, adornment)| adornment.has_column());
                    let args = columns.map(|(arg, _)| term(arg)).collect();
                    Goal::Call {
                        polarity: Polarity::Negated,
                        rel: self.numbering.rel(table, answer),
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

    /// Whether a negated atom can hold with these adornments; if so, the guards under which it does.
    fn can_hold(
        &self,
        frame: &mut Frame<'p>,
        args: &[ir::Term],
        adornments: &[Adornment],
        span: Span,
        guards: &mut Vec<(Term, ConstId)>,
    ) -> Result<bool, CompileError> {
        for (arg, adornment) in args.iter().zip(adornments) {
            let local = matches!(arg, ir::Term::Var(var) if self.is_local(*var));
            let unified = match *adornment {
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
            term @ (Term::Var(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored) => {
                Guard::If(term)
            }
        })
    }

    /// Keeps a comparison unless it is decided already; `false` if it can never hold.
    pub(super) fn compare(
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
