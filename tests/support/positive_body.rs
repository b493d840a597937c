//! What of a rule is joined: its positive atoms, and the variables that need a value.

use portcullis_compiler::ir::{LiteralKind, Polarity, Rule, Term, VarType};

/// A conjunction of positive atoms over typed variables.
pub struct PositiveBody<'r> {
    /// The variables' types.
    pub vars: Vec<VarType>,
    /// A predicate's number and its arguments.
    pub atoms: Vec<(usize, &'r [Term])>,
    /// Variables that must get a value in the end even if no atom binds them.
    pub needed: Vec<usize>,
}

impl<'r> PositiveBody<'r> {
    /// The positive part of a rule. Only a variable of one single negated atom needs no value.
    pub fn of(rule: &'r Rule) -> Self {
        let mut atoms = Vec::new();
        let mut uses: Vec<usize> = vec![0; rule.vars.len()];
        let mut count = |terms: &[Term], weight: usize| {
            for (at, term) in terms.iter().enumerate() {
                match term {
                    Term::Var(var) if !terms[..at].contains(term) => uses[var.index()] += weight,
                    Term::Var(_) | Term::Const(_) | Term::Now => {}
                }
            }
        };
        count(&rule.params, 2);
        for literal in &rule.body {
            match &literal.kind {
                LiteralKind::Atom { pred, args, polarity: Polarity::Positive } => {
                    atoms.push((pred.index(), args.as_slice()));
                    count(args, 2);
                }
                LiteralKind::Atom { args, polarity: Polarity::Negated, .. } => count(args, 1),
                LiteralKind::Compare { left, right, .. } => count(&[*left, *right], 2),
                LiteralKind::OneOf { term, .. } => count(&[*term], 2),
                LiteralKind::NotOfType { var, .. } => count(&[Term::Var(*var)], 2),
                LiteralKind::False => {}
            }
        }
        let needed = (0..rule.vars.len()).filter(|&var| uses[var] != 1).collect();
        Self { vars: rule.vars.iter().map(|var| var.ty.clone()).collect(), atoms, needed }
    }
}
