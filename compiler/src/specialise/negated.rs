//! Negated atoms and comparisons of a solved rule copy: decided where they can be, else goals.
//!
//! A variable that nothing binds, that the head does not have and that only tests mention is *fresh*: some
//! value that no fact and no literal mentions is always a witness. A negated column never holds it, so the
//! negation is true; `!=` to anything else is true. A positive atom whose rules only test its arguments may
//! tie them to each other, as `same(x, x);` does: what it ties to a value or to the head is not fresh, and of
//! two that it ties, neither is known to differ from the other.

use super::emit::{Emitter, term_in};
use super::frame::{Frame, Impossible};
use super::index::SourceArg;
use super::pattern::Pattern;
use super::specialiser::Choice;
use crate::datalog::{Adornment, Goal, ScanArg, Term};
use crate::ir::{self, CompareOp, ConstId, LiteralKind, Polarity, PredId, TypeId, VarId};
use crate::question::CompileError;
use crate::source::Span;

/// When a term equals the literal at one position of a negated atom.
enum LiteralMatch {
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
                Adornment::Literal(literal) => match self.literal_match(*arg, literal, span)? {
                    LiteralMatch::Never => Err(Impossible),
                    LiteralMatch::Always => Ok(()),
                    LiteralMatch::If(term) => {
                        guards.push((term, literal));
                        Ok(())
                    }
                },
                Adornment::Column(ty) => {
                    if self.is_fresh(*arg)? {
                        self.check_infinite(*arg, span)?;
                    }
                    let same = self.type_of(*arg, span)? == ty;
                    if same && !self.is_fresh(*arg)? { Ok(()) } else { Err(Impossible) }
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
        if self.is_fresh(arg)? {
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
            if (self.is_fresh(left)? || self.is_fresh(right)?) && !self.are_tied(left, right)? {
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

    /// Whether a fresh value is a witness for this term: nothing binds it, and the head has neither it nor
    /// anything that it may be tied to.
    fn is_fresh(&self, arg: ir::Term) -> Result<bool, CompileError> {
        match arg {
            ir::Term::Var(var) => Ok(self.tied(var)?.is_some()),
            ir::Term::Const(_) | ir::Term::Now => Ok(false),
        }
    }

    /// Whether atoms may require two terms to be equal.
    fn are_tied(&self, left: ir::Term, right: ir::Term) -> Result<bool, CompileError> {
        match (left, right) {
            (ir::Term::Var(left), ir::Term::Var(right)) => {
                let right = self.frame.root(right);
                Ok(self.tied(left)?.is_some_and(|tied| tied.contains(&right)))
            }
            (ir::Term::Var(_) | ir::Term::Const(_) | ir::Term::Now, _) => Ok(false),
        }
    }

    /// A variable and those that it may be tied to; `None` if something gives one of them a value.
    fn tied(&self, var: VarId) -> Result<Option<Vec<VarId>>, CompileError> {
        let root = |var: VarId| self.frame.root(var);
        let has_value = |var: VarId| {
            let is_it = |param: &ir::Term| matches!(param, ir::Term::Var(param) if root(*param) == root(var));
            self.frame.is_bound(var) || self.body.params.iter().any(is_it)
        };
        let mut tied = vec![root(var)];
        let mut at = 0;
        while let Some(var) = tied.get(at).copied() {
            if has_value(var) {
                return Ok(None);
            }
            let columns = self.positive_columns()?.into_iter();
            for term in columns.filter(|columns| columns.contains(&Term::Var(var))).flatten() {
                match term {
                    Term::Var(other) if tied.contains(&other) => {}
                    Term::Var(other) => tied.push(other),
                    Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) | Term::Ignored => {
                        return Ok(None);
                    }
                }
            }
            at += 1;
        }
        Ok(Some(tied))
    }

    /// The columns of each positive atom that rules answer.
    fn positive_columns(&self) -> Result<Vec<Vec<Term>>, CompileError> {
        let mut columns = Vec::new();
        for (literal_idx, literal) in self.body.literals.iter().enumerate() {
            if let LiteralKind::Atom { polarity: Polarity::Positive, args, .. } = &literal.kind
                && let Goal::Call { args, .. } = self.positive(literal_idx, args)?
            {
                columns.push(args);
            }
        }
        Ok(columns)
    }

    /// A fresh value exists for every type but Boolean, which has two values.
    fn check_infinite(&self, arg: ir::Term, span: Span) -> Result<(), CompileError> {
        match arg {
            ir::Term::Var(var)
                if self.is_fresh(arg)? && self.frame.only_type(var) == Some(TypeId::BOOLEAN) =>
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
