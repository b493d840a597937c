//! Which call patterns read which, over everything that may be stored: the graph of `strata`.

use super::index::Sources;
use super::pattern::{CallId, Pattern, PatternArg};
use super::specialiser::{Answerer, Choice, Origin, Specialiser};
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::{LiteralKind, Polarity, Program, Rule, Term, TypeId, VarType};
use crate::ordered::OrderedSet;
use crate::question::CompileError;
use crate::source::Span;

/// One call pattern, or one predicate, reads another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dependency<N> {
    /// What reads.
    pub(crate) reader: N,
    /// What is read.
    pub(crate) read: N,
    /// Whether it is negated.
    pub(crate) polarity: Polarity,
    /// The position in the policy.
    pub(crate) span: Span,
}

/// The dependency graph of a policy.
#[derive(Debug)]
pub(crate) struct Dependencies {
    /// The call patterns as an author would write them.
    pub(crate) names: IdVec<CallId, String>,
    /// All edges.
    pub(crate) edges: Vec<Dependency<CallId>>,
}

/// More combinations of types than this in one rule head are called as one pattern of any type.
const HEAD_PATTERNS: usize = 64;

/// Returns the dependency graph of all rules, each called with the types and literals of its own head.
pub(crate) fn dependencies(program: &Program) -> Result<Dependencies, CompileError> {
    let mut work = Specialiser::new(program, Sources::of_signatures(program), Deadline::NEVER);
    for rule in &program.rules {
        for pattern in head_patterns(program, rule) {
            work.call(pattern, None);
        }
    }
    work.fixpoint()?;
    let mut edges = OrderedSet::default();
    for (table, entry) in work.tables.enumerate() {
        for solution in &entry.solutions {
            let Origin::Rule { rule, frame, choices } = &solution.origin else { continue };
            let rule = &program.rules[*rule];
            for (literal_id, literal) in rule.body.enumerate() {
                let LiteralKind::Atom { polarity, pred, args } = &literal.kind else { continue };
                let read = match polarity {
                    Polarity::Positive => choices
                        .iter()
                        .find(|(literal, _)| *literal == literal_id)
                        .and_then(|(_, choice)| match choice {
                            Choice::Answer { table, .. } => Some(*table),
                            Choice::Source(_) => None,
                        }),
                    Polarity::Negated => {
                        match work.answerer_of_negated(&Pattern::of(program, frame, *pred, args))? {
                            Answerer::Table(table) => Some(table),
                            Answerer::Direct(_) => None,
                        }
                    }
                };
                let edge = read.map(|read| Dependency {
                    reader: table,
                    read,
                    polarity: *polarity,
                    span: literal.span,
                });
                edges.extend(edge);
            }
        }
    }
    let names = work.tables.iter().map(|table| name(program, &table.pattern)).collect();
    Ok(Dependencies { names, edges: edges.into_iter().collect() })
}

/// The patterns with which a rule's own head would be called.
fn head_patterns(program: &Program, rule: &Rule) -> Vec<Pattern> {
    let mut patterns = vec![Vec::new()];
    for param in &rule.params {
        let choices: Vec<PatternArg> = match param {
            Term::Const(literal) => match program.literal(*literal).ty {
                TypeId::STRING => vec![PatternArg::Literal(*literal)],
                ty => vec![PatternArg::Typed(ty)],
            },
            Term::Now => vec![PatternArg::Typed(TypeId::INTEGER)],
            Term::Var(var) => match &rule.vars[*var].ty {
                VarType::OneOf(types) if patterns.len() * types.len() <= HEAD_PATTERNS => {
                    types.iter().map(|ty| PatternArg::Typed(*ty)).collect()
                }
                VarType::OneOf(_) | VarType::Any => vec![PatternArg::Untyped],
            },
        };
        patterns = patterns
            .iter()
            .flat_map(|pattern| choices.iter().map(|choice| [pattern.as_slice(), &[*choice]].concat()))
            .collect();
    }
    patterns.into_iter().map(|args| Pattern { pred: rule.head, args }).collect()
}

fn name(program: &Program, pattern: &Pattern) -> String {
    let predicate = program.predicate(pattern.pred).name.as_str();
    let literals = pattern.args.iter().filter(|arg| matches!(arg, PatternArg::Literal(_)));
    let types = pattern.args.iter().map(|arg| match arg {
        PatternArg::Literal(literal) => format!("{:?}", program.literal(*literal).text),
        // Nothing is said of a type that the policy does not mention.
        PatternArg::Typed(ty) => program.types.find(*ty).map_or("_".into(), |ty| ty.name.clone()),
        PatternArg::Untyped => "_".into(),
    });
    let generated = predicate.starts_with('\'');
    match literals.count() {
        _ if generated => "the condition".into(),
        0 => predicate.to_owned(),
        _ => format!("{predicate}({})", types.collect::<Vec<_>>().join(", ")),
    }
}
