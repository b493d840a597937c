//! Orders predicates so that a negated one is complete before anyone reads it, or refuses the policy.
//!
//! In: a resolved [`Program`]. Out: the diagnostics of its negation cycles; none means that every question
//! has strata, dependencies first. `plan` orders the relations of one question with the same
//! `datalog::graph`.
//!
//! ```text
//! allow ──▶ member_of ◀─┐      stratum 0: banned          (facts only)
//!   │           └───────┘      stratum 1: member_of       (recursive)
//!   └─ not ─▶ banned           stratum 2: allow
//! ```
//!
//! Predicates alone are too coarse: `"read" if not "banned"` over two permissions is one predicate that
//! negates itself, but no permission does. So the nodes are *call patterns*, predicates with the types and
//! String literals with which they are called. They are made only if the coarse graph has a cycle.

use crate::datalog::graph::{StrongComponent, components};
use crate::diagnostic::{Code, Diagnostic};
use crate::id_vec::{Id, IdVec};
use crate::ir::{LiteralKind, Polarity, PredId, Program};
use crate::limits;
use crate::question::CompileError;
use crate::source::Span;
use crate::specialise::{self, CallId, Dependency};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Returns a diagnostic for each component whose members negate each other.
pub fn check(program: &Program) -> Vec<Diagnostic> {
    if negative_components(program.predicates.len(), &coarse(program)).is_empty() {
        return Vec::new();
    }
    let dependencies = match specialise::dependencies(program) {
        Ok(dependencies) => dependencies,
        Err(error) => return vec![unordered(&error)],
    };
    let negative = negative_components(dependencies.names.len(), &dependencies.edges);
    let mut found: Vec<Diagnostic> = Vec::new();
    for edge in negative {
        let diagnostic = describe(&dependencies, edge);
        if !found.iter().any(|other| other.primary.span == diagnostic.primary.span) {
            found.push(diagnostic);
        }
    }
    found
}

/// Why the negations of a policy could not be ordered.
fn unordered(error: &CompileError) -> Diagnostic {
    let code = Code::TooManyCases;
    let refusal = match error {
        CompileError::Refused(refusal) => refusal,
        CompileError::Bug(text) => return unordered_by_fault(text),
        CompileError::OutOfTime(_) => return unordered_by_fault("a deadline that nobody set is over"),
    };
    let span = refusal.place().map_or_else(Span::default, |at| at.span);
    let title = "the negations of this policy have too many cases to order";
    Diagnostic::new(code, title, span, "most cases come from this rule")
        .with_note(format!(
            "a rule has a case for each combination of types with which it is called; the limit is {} cases",
            limits::SPECIALISATION_STEPS
        ))
        .with_help("give the variables of this rule narrower types, or negate facts instead of rules")
}

fn unordered_by_fault(text: &str) -> Diagnostic {
    let title = format!("the negations of this policy cannot be ordered: internal error: {text}");
    let label = "this is a fault of Portcullis: report it";
    Diagnostic::new(Code::TooManyCases, title, Span::default(), label)
}

/// What each predicate reads, for all types and literals.
fn coarse(program: &Program) -> Vec<Dependency<PredId>> {
    let edges = program.rules.iter().flat_map(|rule| {
        rule.body.iter().filter_map(|literal| match &literal.kind {
            LiteralKind::Atom { polarity, pred, .. } => {
                Some(Dependency { reader: rule.head, read: *pred, polarity: *polarity, span: literal.span })
            }
            LiteralKind::Compare { .. }
            | LiteralKind::OneOf { .. }
            | LiteralKind::NotOfType { .. }
            | LiteralKind::False => None,
        })
    });
    edges.collect()
}

/// One negated edge of each component that has any, in order of position.
fn negative_components<N: Id + Eq>(n_nodes: usize, edges: &[Dependency<N>]) -> Vec<Dependency<N>> {
    let all = components(n_nodes, edges.iter().map(|edge| (edge.reader.to_index(), edge.read.to_index())));
    let nodes = |(index, component): (usize, &StrongComponent)| {
        component.nodes.iter().map(move |node| (*node, index)).collect::<Vec<_>>()
    };
    let component_of: FxHashMap<usize, usize> = all.iter().enumerate().flat_map(nodes).collect();
    let of = |node: N| component_of.get(&node.to_index());
    let inside =
        edges.iter().filter(|edge| edge.polarity == Polarity::Negated && of(edge.reader) == of(edge.read));
    let mut negative: Vec<Dependency<N>> = inside.copied().collect();
    negative.sort_by_key(|edge| edge.span);
    let mut seen = Vec::new();
    negative.retain(|edge| {
        let component = of(edge.reader).copied();
        let new = !seen.contains(&component);
        seen.push(component);
        new
    });
    negative
}

/// The cycle through one negated edge, step by step.
fn describe(dependencies: &specialise::Dependencies, edge: Dependency<CallId>) -> Diagnostic {
    let name = |node: CallId| &dependencies.names[node];
    let verb = |polarity: Polarity| match polarity {
        Polarity::Positive => "reads",
        Polarity::Negated => "negates",
    };
    let title = format!("`{}` depends on its own negation", name(edge.reader));
    let label = format!("`{}` negates `{}` here", name(edge.reader), name(edge.read));
    let mut diagnostic = Diagnostic::new(Code::NegationCycle, title, edge.span, label);
    for step in path(dependencies, edge.read, edge.reader) {
        if step.span != edge.span {
            let text =
                format!("and `{}` {} `{}` here", name(step.reader), verb(step.polarity), name(step.read));
            diagnostic = diagnostic.with_label(step.span, text);
        }
    }
    diagnostic
        .with_note("what is negated must be complete before it is read")
        .with_help("break the cycle: let one of these rules read facts instead of what it negates")
}

/// A shortest way from one pattern to another.
fn path(dependencies: &specialise::Dependencies, from: CallId, to: CallId) -> Vec<Dependency<CallId>> {
    let mut came_by = IdVec::like(&dependencies.names, None);
    let mut queue = VecDeque::from([from]);
    while let Some(node) = queue.pop_front().filter(|node| *node != to) {
        for edge in dependencies.edges.iter().filter(|edge| edge.reader == node) {
            if edge.read != from && came_by[edge.read].is_none() {
                came_by[edge.read] = Some(*edge);
                queue.push_back(edge.read);
            }
        }
    }
    // Nothing comes by an edge to where the way starts, so this ends there.
    let mut steps: Vec<Dependency<CallId>> =
        std::iter::successors(came_by[to], |edge| came_by[edge.reader]).collect();
    steps.reverse();
    steps
}

#[cfg(test)]
mod tests {
    use crate::check;
    use crate::diagnostic::Code;
    use crate::source::SourceMap;

    /// The codes of a policy whose `allow` excludes a type, and in which a guest must not have this role.
    fn codes(guest: &str) -> Vec<Code> {
        let policy = format!(
            r#"
            actor User {{}}
            resource Safe {{}}
            resource Box {{
              roles = ["reader", "guest"];
              permissions = ["read"];
              "guest" if "reader" and not "{guest}";
              "read" if "guest";
            }}
            allow(actor: User, action: String, resource) if
              not resource matches Safe and has_permission(actor, action, resource);
            "#
        );
        let diagnostics = check(&SourceMap::new("policy.polar", &policy)).diagnostics;
        diagnostics.iter().map(|diagnostic| diagnostic.code).collect()
    }

    #[test]
    fn an_excluded_type_neither_hides_a_cycle_nor_makes_one() {
        assert_eq!(codes("guest"), [Code::NegationCycle]);
        assert_eq!(codes("reader"), []);
    }
}
