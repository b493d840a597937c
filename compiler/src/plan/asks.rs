//! What a question asks for: whether something holds, which actions, or which ids.

use crate::catalog::Catalog;
use crate::datalog::{Output, Root, Specialised, Term};
use crate::ir::TypeId;

/// What a question asks for, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Asks {
    /// Whether something holds, of values that are all given.
    Whether,
    /// For Strings, of values that are given otherwise: for actions.
    Strings,
    /// For ids, or for values of any other type; or for Strings where another value may be any.
    Values,
}

impl Asks {
    /// What the question of a program asks for.
    pub(super) fn of(program: &Specialised, catalog: &Catalog) -> Self {
        let asks = program.roots.iter().map(Self::of_root).max().unwrap_or(Self::Whether);
        // A walk for each alternative makes a statement over stored facts alone longer than a database takes.
        if asks == Self::Strings && !catalog.has_bound() { Self::Values } else { asks }
    }

    /// What one alternative asks for.
    fn of_root(root: &Root) -> Self {
        let is_wanted = |output: &&Output| matches!(output.term(), Some(Term::Var(_)));
        let wanted: Vec<&Output> = root.outputs.iter().filter(is_wanted).collect();
        let is_value = |term: Term| match term {
            Term::Var(_) => !wanted.iter().any(|output| output.term() == Some(term)),
            Term::Ignored => true,
            Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) => false,
        };
        let mut asks_any = wanted.iter().any(|output| output.ty() != Some(TypeId::STRING));
        for goal in &root.clause.goals {
            goal.for_each_term(&mut |term| asks_any |= is_value(term));
        }
        match wanted.as_slice() {
            [] => Self::Whether,
            _ if asks_any => Self::Values,
            _ => Self::Strings,
        }
    }
}
