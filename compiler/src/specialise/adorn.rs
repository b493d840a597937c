//! What a solved rule copy answers with: for each position of its head a literal, a column, or nothing.

use super::frame::{Frame, Replacement};
use super::solve::Body;
use super::specialiser::{Choice, Specialiser};
use crate::datalog::{Adornment, PositionId};
use crate::ir::{BodyLiteralId, CompareOp, Literal, LiteralKind, Polarity, Term, TypeId, VarId};

impl<'p> Specialiser<'p> {
    /// What a rule copy answers at each position of its head.
    pub(super) fn adornments(
        &self,
        body: &Body<'_>,
        frame: &Frame<'p>,
        choices: &[(BodyLiteralId, Choice)],
    ) -> Vec<Adornment> {
        let adornment = |(position, param): (usize, &Term)| match *param {
            Term::Const(literal) => Adornment::Literal(literal),
            Term::Now => Adornment::Column(TypeId::INTEGER),
            Term::Var(var) => match frame.value(var) {
                Some(Replacement::Const(literal)) => Adornment::Literal(literal),
                Some(Replacement::Now) => Adornment::Column(TypeId::INTEGER),
                Some(Replacement::Given(_)) => Adornment::Tested(frame.only_type(var)),
                None if frame.is_bound(var) => match frame.only_type(var) {
                    Some(ty) => Adornment::Column(ty),
                    None => Adornment::Tested(None),
                },
                None => {
                    let is_it = |param: &Term| is_variable(frame, *param, var);
                    let ty = frame.only_type(var);
                    match body.params.iter().position(is_it) {
                        Some(first) if first < position => {
                            Adornment::Same { position: PositionId::from_index(first), ty }
                        }
                        _ if body.params.iter().filter(|param| is_it(param)).count() > 1
                            || self.is_tested(body, frame, choices, var) =>
                        {
                            Adornment::Tested(ty)
                        }
                        _ => Adornment::Unconstrained(ty),
                    }
                }
            },
        };
        body.params.iter().enumerate().map(adornment).collect()
    }

    /// Whether a negation or a comparison mentions the variable, or a positive atom that only tests it.
    pub(super) fn is_tested(
        &self,
        body: &Body<'_>,
        frame: &Frame<'p>,
        choices: &[(BodyLiteralId, Choice)],
        var: VarId,
    ) -> bool {
        let is_it = |term: &Term| is_variable(frame, *term, var);
        let asks = |literal: &Literal| match &literal.kind {
            LiteralKind::Atom { polarity: Polarity::Negated, args, .. } => args.iter().any(is_it),
            LiteralKind::Atom { polarity: Polarity::Positive, .. } => false,
            LiteralKind::Compare { op: CompareOp::Equal, .. }
            | LiteralKind::NotOfType { .. }
            | LiteralKind::False => false,
            LiteralKind::Compare { left, right, .. } => is_it(left) || is_it(right),
            LiteralKind::OneOf { polarity: Polarity::Negated, term, .. } => is_it(term),
            LiteralKind::OneOf { polarity: Polarity::Positive, .. } => false,
        };
        body.literals.iter().any(asks) || self.is_tested_by_call(body, frame, choices, var)
    }

    /// Whether the variable is in a positive atom, where the rules of the atom only test it.
    pub(super) fn is_tested_by_call(
        &self,
        body: &Body<'_>,
        frame: &Frame<'p>,
        choices: &[(BodyLiteralId, Choice)],
        var: VarId,
    ) -> bool {
        choices.iter().any(|(literal, choice)| {
            // A relation of the catalog tests nothing.
            let Choice::Answer { table, answer } = *choice else { return false };
            let LiteralKind::Atom { args, .. } = &body.literals[*literal].kind else { return false };
            args.iter()
                .zip(self.tables[table].answer(answer))
                .any(|(arg, adornment)| adornment.is_tested() && is_variable(frame, *arg, var))
        })
    }
}

/// Whether a term is the variable, or one that was merged with it.
fn is_variable(frame: &Frame<'_>, term: Term, var: VarId) -> bool {
    matches!(term, Term::Var(other) if frame.root(other) == frame.root(var))
}
