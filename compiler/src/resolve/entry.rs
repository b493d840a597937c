//! Adds the implied entry points.
//!
//! In: all rules. Out: `allow(actor, action, resource) if has_permission(actor, action, resource)` and its
//! form without a resource, each unless the policy defines `allow` with that many parameters.

use super::tables::Tables;
use crate::builtin::{ALLOW, HAS_PERMISSION};
use crate::ir::{Literal, LiteralKind, Polarity, Rule, Term, TypeId, VarId, VarType, Variable};
use crate::source::Span;
use crate::syntax::ast::{Item, Policy};

/// The numbers of parameters that an entry point may have.
pub(super) const ARITIES: [usize; 2] = [3, 2];

/// Adds the implied `allow` rules.
pub(super) fn add_implied(tables: &mut Tables, policy: &Policy) {
    for arity in ARITIES {
        let defines = |item: &Item| match item {
            Item::Rule(rule) => rule.name.value == ALLOW && rule.params.len() == arity,
            Item::Block(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => false,
        };
        if policy.items.iter().any(defines) {
            continue;
        }
        let vars = ["actor", "action", "resource"].into_iter().take(arity).map(|name| Variable {
            name: name.to_owned(),
            ty: if name == "action" { VarType::OneOf(vec![TypeId::STRING]) } else { VarType::Any },
        });
        let params: Vec<Term> = (0..arity).map(|at| Term::Var(VarId::from_index(at))).collect();
        let pred = tables.predicate(HAS_PERMISSION, arity);
        let kind = LiteralKind::Atom { polarity: Polarity::Positive, pred, args: params.clone() };
        let span = Span::default();
        let head = tables.predicate(ALLOW, arity);
        tables.add_rule(Rule {
            head,
            params,
            vars: vars.collect(),
            body: vec![Literal { kind, span }].into(),
            span,
        });
    }
}
