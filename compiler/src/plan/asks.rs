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
        let is_wanted = |output: &Output| matches!(output.term(), Some(Term::Var(_)));
        let mut wanted = root.outputs.iter().filter(|output| is_wanted(output)).peekable();
        if wanted.peek().is_none() {
            return Self::Whether;
        }
        let strings: Vec<Term> = wanted
            .clone()
            .filter(|output| output.ty() == Some(TypeId::STRING))
            .filter_map(Output::term)
            .collect();
        let mut are_given = wanted.count() == strings.len();
        for goal in &root.clause.goals {
            goal.for_each_term(&mut |term| {
                are_given &= match term {
                    Term::Var(_) => strings.contains(&term),
                    Term::Ignored => false,
                    Term::Const(_) | Term::Given(_) | Term::Now | Term::Local(_) => true,
                };
            });
        }
        if are_given { Self::Strings } else { Self::Values }
    }
}
