//! The argument types of generated predicates.

use super::uses::Seen;
use crate::ir::{LiteralKind, PredId, Rule, Term};
use crate::resolve::formula::term_types;
use crate::resolve::tables::Tables;
use rustc_hash::FxHashMap;

/// The argument types of generated predicates, from their rules and from their callers.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) heads: FxHashMap<PredId, Vec<Seen>>,
    pub(super) callers: FxHashMap<PredId, Vec<Seen>>,
}

impl Parts {
    /// Reads the rules with the types that they have now.
    pub(super) fn of(tables: &Tables, rules: &[Rule]) -> Self {
        let mut parts = Self::default();
        let add = |into: &mut FxHashMap<PredId, Vec<Seen>>, pred: PredId, args: &[Term], rule: &Rule| {
            let seen = into.entry(pred).or_insert_with(|| vec![Seen::default(); args.len()]);
            for (seen, &arg) in seen.iter_mut().zip(args) {
                seen.add(term_types(tables, &rule.vars, arg).as_deref());
            }
        };
        for rule in rules {
            if tables.is_generated(rule.head) {
                add(&mut parts.heads, rule.head, &rule.params, rule);
            }
            for literal in &rule.body {
                match &literal.kind {
                    LiteralKind::Atom { pred, args, .. } if tables.is_generated(*pred) => {
                        add(&mut parts.callers, *pred, args, rule);
                    }
                    LiteralKind::Atom { .. }
                    | LiteralKind::Compare { .. }
                    | LiteralKind::OneOf { .. }
                    | LiteralKind::NotOfType { .. }
                    | LiteralKind::False => {}
                }
            }
        }
        parts
    }
}
