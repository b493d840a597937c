//! Resolves names: turns the syntax tree into typed, flat rules.
//!
//! In: a syntax tree. Out: all findings, and a [`Program`] if none is an error. Afterwards every name is
//! resolved, shorthand is expanded, each rule is a flat conjunction, each variable has a set of possible
//! types, and the signatures say which facts may be stored.
//!
//! ```text
//! blocks ──declare──▶ names and types ─┐
//!   └─ shorthand ──────────────────desugar─▶ NestedRule ─┬─scope──▶ scope of each variable
//! rules ───────────────────────────lower───▶ NestedRule ─┘    └─flatten──▶ rules ──infer──▶ variable types
//! tests ─────cases──▶ facts, goals                                 └──signature──▶ signatures
//! ```
//!
//! Each pass reports what it finds and continues, so that one run shows every mistake. Whether a predicate
//! depends on its own negation is checked later, in `strata`.

mod blocks;
mod cases;
mod declare;
mod desugar;
mod entry;
mod flatten;
mod formula;
mod infer;
mod inherit;
mod lint;
mod lower;
mod scope;
mod signature;
mod tables;
mod walk;
#[cfg(test)]
mod tests;

use crate::diagnostic::{Diagnostic, Severity};
use crate::ir::{Index, Program};
use crate::source::SourceMap;
use crate::syntax::ast::{Item, Policy};
use tables::Tables;

/// Resolves a policy. There is a program if no finding is an error. Findings are not sorted.
pub fn resolve(source: &SourceMap, policy: &Policy) -> (Option<Program>, Vec<Diagnostic>) {
    let mut tables = Tables::new();
    let blocks = declare::declare(&mut tables, policy);
    desugar::desugar(&mut tables, &blocks);
    for item in &policy.items {
        match item {
            Item::Rule(rule) => {
                let nested = lower::rule(&mut tables, rule);
                flatten::flatten(&mut tables, nested);
            }
            Item::Block(_) | Item::Declare(_) | Item::Fixture(_) | Item::Test(_) => {}
        }
    }
    entry::add_implied(&mut tables, policy);
    let declared = signature::declared(&mut tables, policy);
    infer::infer(&mut tables, &blocks, &declared);
    let stated = signature::stated(&mut tables, &blocks);
    let signatures = signature::signatures(&tables, &declared, &stated).into();
    // Lints would mostly repeat the mistakes: for example, anything that a rejected rule reads would count as
    // unused.
    if tables.diagnostics.is_empty() {
        lint::lint(&mut tables, &blocks, policy);
    }
    let (tests, facts) = cases::cases(&mut tables, policy);
    let blocks = blocks.infos(&tables);
    let Tables { types, predicates, constants, rules, mut diagnostics, .. } = tables;
    let index = Index::new(&types, &predicates, &constants, &signatures, &rules);
    let source = source.clone();
    let declared = declared.into_iter().map(|declared| declared.predicate).collect();
    let program =
        Program { source, types, predicates, rules, constants, signatures, declared, blocks, tests, index };
    diagnostics.extend(cases::check_facts(&program, &facts));
    let refused = diagnostics.iter().any(|found| found.severity() == Severity::Error);
    ((!refused).then_some(program), diagnostics)
}
