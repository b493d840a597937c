//! Which predicates follow from which: the rules of a policy as a graph.
//!
//! In: a program. Out: a node for each predicate with the name and the type that its calls give, such as the
//! role `reader` of a `Repository`, and an edge from each condition of a rule to what the rule derives.

use super::Draft;
use portcullis_compiler::builtin::HAS_RELATION;
use portcullis_compiler::ir::{LiteralKind, Polarity, PredId, Program, Rule, Term, TypeId, VarType};
use portcullis_compiler::primitive::STRING;
use std::collections::{BTreeMap, BTreeSet};

/// How many nodes a graph has; nobody can read a larger one.
const MOST_NODES: usize = 400;

/// How many edges it has.
const MOST_EDGES: usize = 2_000;

/// The rules of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleGraph {
    /// What holds by a fact or by a rule.
    pub nodes: Vec<RuleNode>,
    /// What follows from what.
    pub edges: Vec<RuleEdge>,
    /// Whether nodes or edges were left out.
    pub truncated: bool,
}

/// A predicate, as rules call it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleNode {
    /// Its name.
    pub predicate: String,
    /// The text among its arguments: the name of a role, a permission or a relation.
    pub text: Option<String>,
    /// The type that it is about, if there is exactly one.
    pub ty: Option<String>,
}

/// A condition of a rule, and what the rule derives.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleEdge {
    /// The place of the condition among the nodes.
    pub from: usize,
    /// The place of what is derived.
    pub to: usize,
    /// The rule's line.
    pub line: usize,
    /// Whether the condition must not hold.
    pub is_negated: bool,
}

impl Draft {
    /// Its rules as a graph.
    pub fn graph(&self) -> RuleGraph {
        let program = self.program();
        let mut places: BTreeMap<RuleNode, usize> = BTreeMap::new();
        let mut edges: BTreeSet<RuleEdge> = BTreeSet::new();
        let mut truncated = false;
        let mut place = |node: RuleNode| {
            let next = places.len();
            if next >= MOST_NODES && !places.contains_key(&node) {
                return None;
            }
            Some(*places.entry(node).or_insert(next))
        };
        for rule in program.rules.iter().filter(|rule| is_written(program, rule)) {
            let line = program.source.locate(rule.span).line;
            let to = place(node(program, rule, rule.head, &rule.params));
            for literal in &rule.body {
                let LiteralKind::Atom { polarity, pred, args } = &literal.kind else { continue };
                let from = place(node(program, rule, *pred, args));
                let (Some(from), Some(to)) = (from, to) else {
                    truncated = true;
                    continue;
                };
                if edges.len() == MOST_EDGES {
                    truncated = true;
                    break;
                }
                let is_negated = *polarity == Polarity::Negated;
                edges.insert(RuleEdge { from, to, line, is_negated });
            }
        }
        let mut nodes: Vec<(usize, RuleNode)> =
            places.into_iter().map(|(node, place)| (place, node)).collect();
        nodes.sort_unstable();
        let nodes = nodes.into_iter().map(|(_, node)| node).collect();
        RuleGraph { nodes, edges: edges.into_iter().collect(), truncated }
    }
}

/// Whether a rule is written in the policy: others are made from tests, or for every policy.
fn is_written(program: &Program, rule: &Rule) -> bool {
    rule.span.start < rule.span.end && !program.predicate(rule.head).name.starts_with('\'')
}

/// The node of a call.
fn node(program: &Program, rule: &Rule, pred: PredId, args: &[Term]) -> RuleNode {
    let predicate = program.predicate(pred).name.clone();
    let constant = |term: &Term| match term {
        Term::Const(id) => Some(program.literal(*id)),
        Term::Var(_) | Term::Now => None,
    };
    let is_text = |ty: TypeId| program.types[ty].name == STRING;
    let text = args.iter().filter_map(constant).find(|constant| is_text(constant.ty));
    // A relation is about what has it, all else about its last argument; a global role is about nothing.
    let about = if predicate == HAS_RELATION { args.first() } else { args.last() };
    let ty = about.and_then(|term| match term {
        Term::Const(id) => Some(program.literal(*id).ty).filter(|ty| !is_text(*ty)),
        Term::Var(var) => match &rule.vars[*var].ty {
            VarType::OneOf(types) => match types.as_slice() {
                [ty] => Some(*ty),
                _ => None,
            },
            VarType::Any => None,
        },
        Term::Now => None,
    });
    let text = text.map(|constant| constant.text.clone());
    RuleNode { predicate, text, ty: ty.map(|ty| program.types[ty].name.clone()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_leads_to_what_its_rule_derives() {
        let policy = r#"actor User {}
resource Repo {
  roles = ["reader", "banned"];
  permissions = ["read"];
  "read" if "reader" and not "banned";
}"#;
        let graph = Draft::check(policy.to_owned(), "p").unwrap().graph();
        let named = |place: usize| {
            let RuleNode { predicate, text, ty } = &graph.nodes[place];
            format!("{predicate} {} {}", text.as_deref().unwrap_or("_"), ty.as_deref().unwrap_or("_"))
        };
        let shown = |edge: &RuleEdge| {
            let not = if edge.is_negated { "not " } else { "" };
            format!("{}: {not}{} -> {}", edge.line, named(edge.from), named(edge.to))
        };
        let mut edges: Vec<String> = graph.edges.iter().map(shown).collect();
        edges.sort();
        assert_eq!(
            edges,
            [
                "5: has_role reader Repo -> has_permission read Repo",
                "5: not has_role banned Repo -> has_permission read Repo",
            ]
        );
        assert!(!graph.truncated);
    }
}
