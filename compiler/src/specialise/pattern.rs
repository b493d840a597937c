//! Call patterns: what a caller knows of a predicate's arguments before the predicate answers.

use super::frame::{Frame, Replacement, TypeSet};
use crate::id_vec::id;
use crate::ir::{ConstId, Given, PredId, Program, Term, TypeId};

id!(/// A predicate called in one way, which a table answers.
    pub(crate) CallId, "call");

/// What a caller knows of one argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PatternArg {
    /// This literal.
    Literal(ConstId),
    /// A value of this type.
    Typed(TypeId),
    /// Nothing.
    Untyped,
}

/// A predicate called in one way; the key of a table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pattern {
    /// The predicate.
    pub(super) pred: PredId,
    /// One entry per argument.
    pub(super) args: Vec<PatternArg>,
}

impl Pattern {
    /// What is known of each argument.
    pub(super) fn given(&self) -> impl Iterator<Item = Given> {
        self.args.iter().map(|arg| match arg {
            PatternArg::Literal(literal) => Given::Literal(*literal),
            PatternArg::Typed(ty) => Given::Type(*ty),
            PatternArg::Untyped => Given::Nothing,
        })
    }

    /// How many arguments of an atom are unknown under what the frame knows so far.
    pub(super) fn n_untyped(program: &Program, frame: &Frame<'_>, args: &[Term]) -> usize {
        args.iter().filter(|arg| pattern_arg(program, frame, **arg) == PatternArg::Untyped).count()
    }

    /// The pattern of an atom under what the frame knows so far.
    pub(super) fn of(program: &Program, frame: &Frame<'_>, pred: PredId, args: &[Term]) -> Self {
        Self { pred, args: args.iter().map(|arg| pattern_arg(program, frame, *arg)).collect() }
    }
}

fn pattern_arg(program: &Program, frame: &Frame<'_>, term: Term) -> PatternArg {
    match term {
        Term::Const(literal) => literal_or_type(program, literal, program.literal(literal).ty),
        Term::Now => PatternArg::Typed(TypeId::INTEGER),
        Term::Var(var) => match (frame.value(var), frame.types(var)) {
            (Some(Replacement::Const(literal)), TypeSet::One(ty)) => literal_or_type(program, literal, *ty),
            (Some(Replacement::Now), _) => PatternArg::Typed(TypeId::INTEGER),
            (Some(Replacement::Given(_)) | None, TypeSet::One(ty)) => PatternArg::Typed(*ty),
            (
                Some(Replacement::Const(_) | Replacement::Given(_)) | None,
                TypeSet::Any | TypeSet::OneOf(_),
            ) => PatternArg::Untyped,
        },
    }
}

/// The policy's String literals specialise a call; others are compared when the statement runs.
fn literal_or_type(program: &Program, literal: ConstId, ty: TypeId) -> PatternArg {
    if ty == TypeId::STRING && literal.index() < program.constants.len() {
        PatternArg::Literal(literal)
    } else {
        PatternArg::Typed(ty)
    }
}
