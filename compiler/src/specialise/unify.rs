//! Unifies a rule's variables with values, calls and answers.
//!
//! In: a frame and two things that must be equal. Out: the frame with what follows, or [`Impossible`]: then
//! the rule does not answer the call.

use super::frame::{Frame, Impossible, Replacement};
use super::pattern::{Pattern, PatternArg};
use super::specialiser::Specialiser;
use crate::datalog::Adornment;
use crate::ir::{ConstId, Term, TypeId};

impl<'p> Specialiser<'p> {
    /// Decides two values where that is known at compile time.
    pub(super) fn same(&self) -> impl Fn(Replacement, Replacement, TypeId) -> Option<bool> + use<'p> {
        let n_policy = self.program.constants.len();
        move |left, right, ty| match (left, right) {
            (Replacement::Const(left), Replacement::Const(right)) => Some(left == right),
            (Replacement::Given(left), Replacement::Given(right)) if left == right => Some(true),
            (Replacement::Now, Replacement::Now) => Some(true),
            // A given String is not one of the policy's literals: see `ShapeDomain::Given`.
            (Replacement::Given(_), Replacement::Const(literal))
            | (Replacement::Const(literal), Replacement::Given(_))
                if ty == TypeId::STRING && literal.index() < n_policy =>
            {
                Some(false)
            }
            (
                Replacement::Const(_) | Replacement::Given(_) | Replacement::Now,
                Replacement::Const(_) | Replacement::Given(_) | Replacement::Now,
            ) => None,
        }
    }

    /// Learns that a term has this literal as its value.
    pub(super) fn unify_literal(
        &self,
        frame: &mut Frame<'p>,
        term: Term,
        literal: ConstId,
    ) -> Result<(), Impossible> {
        let ty = self.literal(literal).ty;
        match term {
            Term::Var(var) => frame.assign(var, Replacement::Const(literal), ty, self.same()),
            Term::Const(other) if other == literal => Ok(()),
            Term::Const(_) => Err(Impossible),
            Term::Now if ty == TypeId::INTEGER => {
                frame.equal.push((Replacement::Now, Replacement::Const(literal)));
                Ok(())
            }
            Term::Now => Err(Impossible),
        }
    }

    /// Learns that a term has this type.
    pub(super) fn unify_type(&self, frame: &mut Frame<'p>, term: Term, ty: TypeId) -> Result<(), Impossible> {
        let known = match term {
            Term::Var(var) => return frame.narrow(var, ty),
            Term::Const(literal) => self.literal(literal).ty,
            Term::Now => TypeId::INTEGER,
        };
        if known == ty { Ok(()) } else { Err(Impossible) }
    }

    pub(super) fn unify(&self, frame: &mut Frame<'p>, left: Term, right: Term) -> Result<(), Impossible> {
        match (left, right) {
            (Term::Var(left), Term::Var(right)) => frame.merge(left, right, self.same()),
            (term, Term::Const(literal)) | (Term::Const(literal), term) => {
                self.unify_literal(frame, term, literal)
            }
            (Term::Var(var), Term::Now) | (Term::Now, Term::Var(var)) => {
                frame.assign(var, Replacement::Now, TypeId::INTEGER, self.same())
            }
            (Term::Now, Term::Now) => Ok(()),
        }
    }

    /// Learns what a call pattern says of a rule's parameters.
    pub(super) fn unify_head(
        &self,
        frame: &mut Frame<'p>,
        params: &[Term],
        pattern: &Pattern,
    ) -> Result<(), Impossible> {
        for (param, arg) in params.iter().zip(&pattern.args) {
            match arg {
                PatternArg::Literal(literal) => self.unify_literal(frame, *param, *literal)?,
                PatternArg::Typed(ty) => self.unify_type(frame, *param, *ty)?,
                PatternArg::Untyped => {}
            }
        }
        Ok(())
    }

    /// Learns what an answer says of an atom's arguments.
    pub(super) fn unify_answer(
        &self,
        frame: &mut Frame<'p>,
        args: &[Term],
        adornments: &[Adornment],
    ) -> Result<(), Impossible> {
        for (arg, adornment) in args.iter().zip(adornments) {
            match *adornment {
                Adornment::Literal(literal) => self.unify_literal(frame, *arg, literal)?,
                Adornment::Column(ty) => {
                    self.unify_type(frame, *arg, ty)?;
                    if let Term::Var(var) = *arg {
                        frame.mark_bound(var);
                    }
                }
                Adornment::Tested(Some(ty)) | Adornment::Unconstrained(Some(ty)) => {
                    self.unify_type(frame, *arg, ty)?;
                }
                Adornment::Same { position, ty } => {
                    if let Some(ty) = ty {
                        self.unify_type(frame, *arg, ty)?;
                    }
                    self.unify(frame, *position.of(args), *arg)?;
                }
                Adornment::Tested(None) | Adornment::Unconstrained(None) => {}
            }
        }
        Ok(())
    }
}
