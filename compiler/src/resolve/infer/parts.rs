//! The argument types of predicates that have rules.

use super::uses::{SeenTypes, noun};
use crate::id_vec::IdVec;
use crate::ir::{LiteralKind, PredId, Rule, RuleId, Signature, SignatureArg, Term};
use crate::resolve::formula::term_types;
use crate::resolve::tables::Tables;
use rustc_hash::FxHashMap;

/// The argument types of predicates that have rules, except those for which blocks declare names.
#[derive(Default)]
pub(super) struct Parts {
    /// From the rules and, for predicates that may also be stored, from typed calls and declarations.
    pub(super) heads: FxHashMap<PredId, Vec<SeenTypes>>,
    /// For generated predicates, from their callers.
    pub(super) callers: FxHashMap<PredId, Vec<SeenTypes>>,
}

impl Parts {
    /// Collects the types from the rules, as inferred so far, and from the `declare`s.
    pub(super) fn of(tables: &Tables, declared: &[Signature], rules: &IdVec<RuleId, Rule>) -> Self {
        let mut parts = Self::default();
        let add = |into: &mut FxHashMap<PredId, Vec<SeenTypes>>, pred: PredId, args: &[Term], rule: &Rule| {
            let seen = into.entry(pred).or_insert_with(|| vec![SeenTypes::default(); args.len()]);
            for (seen, &arg) in seen.iter_mut().zip(args) {
                seen.add(term_types(tables, rule, arg).as_deref());
            }
        };
        for rule in rules {
            if noun(tables, rule.head).is_none() {
                add(&mut parts.heads, rule.head, &rule.params, rule);
            }
        }
        for rule in rules {
            for literal in &rule.body {
                match &literal.kind {
                    LiteralKind::Atom { pred, args, .. } if tables.is_generated(*pred) => {
                        add(&mut parts.callers, *pred, args, rule);
                    }
                    LiteralKind::Atom { pred, args, .. } => {
                        let heads = parts.heads.get_mut(pred).into_iter().flatten();
                        for (seen, &arg) in heads.zip(args) {
                            // An untyped call says nothing about what is stored or derived.
                            if let Some(types) = term_types(tables, rule, arg) {
                                seen.add(Some(&types));
                            }
                        }
                    }
                    LiteralKind::Compare { .. }
                    | LiteralKind::OneOf { .. }
                    | LiteralKind::NotOfType { .. }
                    | LiteralKind::False => {}
                }
            }
        }
        for signature in declared {
            let pred = tables.find_predicate(&signature.predicate, signature.args.len());
            let heads = pred.and_then(|pred| parts.heads.get_mut(&pred)).into_iter().flatten();
            for (seen, arg) in heads.zip(&signature.args) {
                match arg {
                    SignatureArg::OneOf(types) => seen.add(Some(types)),
                    SignatureArg::Literal(_) | SignatureArg::Any => seen.add(None),
                }
            }
        }
        parts
    }
}
