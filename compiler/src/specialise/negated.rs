//! Negated atoms and comparisons of a solved rule copy: decided where they can be, else goals.
//!
//! A variable that nothing binds, that the head does not have and that only negations and comparisons mention
//! is *fresh*: some value that no fact and no literal mentions is always a witness. A negated column never
//! holds it, so the negation is true; `!=` to anything else is true. A variable of a positive atom is not
//! fresh, even if the atom's rules only test it: they may require a value, as `p(x) if same(x, y) and f(y);`
//! does with `same(x, x);`. Its conditions stay, and unfolding the atom may bind it.

use super::emit::{Emitter, term_in};
use super::frame::{Frame, Impossible};
use super::index::SourceArg;
use super::pattern::Pattern;
use super::solve::Body;
use super::specialiser::{Choice, Specialiser};
use crate::datalog::{Adornment, Goal, ScanArg, Term};
use crate::ir::{self, CompareOp, ConstId, LiteralKind, Polarity, PredId, TypeId, VarId};
use crate::question::CompileError;
use crate::source::Span;
use rustc_hash::FxHashSet;

/// When a term equals the literal at one position of a negated atom.
enum LiteralMatch {
    Never,
    Always,
    If(Term),
}

impl Specialiser<'_> {
    /// The number of ways in which the negated atoms of a solved body could hold. Each kind of fact is one,
    /// and there may be thousands.
    pub(super) fn denials(&self, body: &Body<'_>, frame: &Frame<'_>) -> Result<usize, CompileError> {
        let mut denials = 0;
        for literal in body.literals {
            if let LiteralKind::Atom { polarity: Polarity::Negated, pred, args } = &literal.kind {
                let pattern = Pattern::of(self.program, frame, *pred, args);
                denials += self.choices(self.answerer_of_negated(&pattern)?).count();
            }
        }
        Ok(denials)
    }
}

impl<'p> Emitter<'_, 'p> {
    /// One negated goal for each way in which the predicate could hold, unless it is `denied` already.
    pub(super) fn negated(
        &self,
        pred: PredId,
        args: &[ir::Term],
        span: Span,
        goals: &mut Vec<Goal>,
        denied: &mut FxHashSet<Goal>,
    ) -> Result<(), CompileError> {
        let pattern = Pattern::of(self.work.program, self.frame, pred, args);
        let answerer = self.work.answerer_of_negated(&pattern)?;
        for (choice, adornments) in self.work.choices(answerer) {
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
                    let source = self.work.sources.find(index)?;
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
            if denied.insert(goal.clone()) {
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
                Adornment::Column(ty)
                | Adornment::Tested(Some(ty))
                | Adornment::Same { ty: Some(ty), .. }
                | Adornment::Unconstrained(Some(ty))
                    if local =>
                {
                    self.work.unify_type(frame, *arg, ty)
                }
                Adornment::Literal(literal) => match self.literal_match(*arg, literal, span)? {
                    LiteralMatch::Never => Err(Impossible),
                    LiteralMatch::Always => Ok(()),
                    LiteralMatch::If(term) => {
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
                Adornment::Tested(Some(ty))
                | Adornment::Same { ty: Some(ty), .. }
                | Adornment::Unconstrained(Some(ty)) => {
                    if self.type_of(*arg, span)? == ty {
                        Ok(())
                    } else {
                        Err(Impossible)
                    }
                }
                Adornment::Tested(None)
                | Adornment::Same { ty: None, .. }
                | Adornment::Unconstrained(None) => Ok(()),
            };
            if unified.is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// When a term outside the negation equals a literal.
    fn literal_match(
        &self,
        arg: ir::Term,
        literal: ConstId,
        span: Span,
    ) -> Result<LiteralMatch, CompileError> {
        let held = self.work.literal(literal);
        if self.type_of(arg, span)? != held.ty {
            return Ok(LiteralMatch::Never);
        }
        if self.is_fresh(arg) {
            self.check_infinite(arg, span)?;
            return Ok(LiteralMatch::Never);
        }
        Ok(match self.term(arg) {
            Term::Const(other) if other == literal => LiteralMatch::Always,
            Term::Const(_) => LiteralMatch::Never,
            Term::Given(_)
                if held.ty == TypeId::STRING && literal.index() < self.work.program.constants.len() =>
            {
                LiteralMatch::Never
            }
            term @ (Term::Var(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored) => {
                LiteralMatch::If(term)
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
        // Only Integers are compared by order, and each fits into 64 bits.
        let number = |id: ConstId| self.work.literal(id).text.parse::<i64>().ok();
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
        self.body.is_local(var)
    }

    /// Whether a fresh value is a witness for this term: nothing binds it, and neither the head nor a
    /// positive atom mentions it.
    fn is_fresh(&self, arg: ir::Term) -> bool {
        let ir::Term::Var(var) = arg else { return false };
        let root = self.frame.root(var);
        let is_it =
            |param: &ir::Term| matches!(param, ir::Term::Var(param) if self.frame.root(*param) == root);
        !self.frame.is_bound(var)
            && !self.body.params.iter().any(is_it)
            && !self.work.is_tested_by_call(self.body, self.frame, self.choices, var)
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
            ir::Term::Const(literal) => Ok(self.work.literal(literal).ty),
        }
    }
}
