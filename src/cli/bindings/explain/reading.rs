//! Which rules of a policy read the rows of a table.

use crate::cli::bindings::live::Live;
use portcullis_compiler::bindings::{Binding, BindingArg, Bindings};
use portcullis_compiler::ir::{LiteralKind, Program, Rule, Term, VarType};
use portcullis_compiler::source::Span;
use std::collections::{BTreeMap, BTreeSet};

/// The lines of the rules that read facts of each table.
#[derive(Debug, Default)]
pub(super) struct TableReaders(BTreeMap<String, BTreeSet<usize>>);

impl TableReaders {
    /// Of all tables from which bound queries select a column.
    pub(super) fn new(program: &Program, bindings: &Bindings, live: &Live) -> Self {
        let mut readers: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
        for (binding, described) in bindings.facts.iter().zip(&live.facts) {
            // The implied `allow` has no line.
            let reading = program.rules.iter().filter(|rule| rule.span != Span::default());
            let reading = reading.filter(|rule| reads(program, rule, binding));
            let lines: BTreeSet<usize> = reading.map(|rule| program.source.locate(rule.span).line).collect();
            for origin in described.iter().flatten().filter_map(|column| column.origin.as_ref()) {
                readers.entry(origin.table.clone()).or_default().extend(&lines);
            }
        }
        Self(readers)
    }

    /// The lines among these at which a rule reads one of the tables.
    pub(super) fn lines(&self, among: &BTreeSet<usize>, tables: &[&str]) -> Vec<usize> {
        let lines: BTreeSet<usize> =
            tables.iter().filter_map(|table| self.0.get(*table)).flatten().copied().collect();
        lines.intersection(among).copied().collect()
    }
}

/// Whether a condition of a rule is about facts of this form.
fn reads(program: &Program, rule: &Rule, binding: &Binding) -> bool {
    let bound = program.predicate_id(&binding.predicate, binding.args.len());
    rule.body.iter().any(|literal| match &literal.kind {
        LiteralKind::Atom { pred, args, .. } => {
            Some(*pred) == bound
                && args.iter().zip(&binding.args).all(|(arg, bound)| admits(program, rule, *arg, bound))
        }
        LiteralKind::Compare { .. }
        | LiteralKind::OneOf { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => false,
    })
}

/// Whether an argument may have a value of a bound one.
fn admits(program: &Program, rule: &Rule, arg: Term, bound: &BindingArg) -> bool {
    let ty = bound.ty();
    let Some(ty) = program.type_id(ty) else { return false };
    match arg {
        Term::Var(var) => match &rule.vars[var].ty {
            VarType::Any => true,
            VarType::OneOf(types) => types.contains(&ty),
        },
        Term::Const(literal) => {
            let literal = program.literal(literal);
            let is_text = match bound {
                BindingArg::Column { .. } => true,
                BindingArg::Constant { text, .. } => literal.text == *text,
            };
            literal.ty == ty && is_text
        }
        Term::Now => true,
    }
}
