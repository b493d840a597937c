//! Which call patterns read which, over everything that may be stored: the graph of `strata`.

use super::index::Sources;
use super::pattern::{Pattern, PatternArg};
use super::specialiser::{Answerer, Choice, Origin, Specialiser};
use crate::ir::{LiteralKind, Polarity, Program, Rule, Term, TypeId, VarType};
use crate::ordered::OrderedSet;
use crate::question::CompileError;
use crate::source::Span;

/// One call pattern reads another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Dependency {
    /// Who reads.
    pub(crate) reader: usize,
    /// What is read.
    pub(crate) read: usize,
    /// Whether it is negated.
    pub(crate) polarity: Polarity,
    /// Where the author wrote it.
    pub(crate) span: Span,
}

/// The dependency graph of a policy.
#[derive(Debug)]
pub(crate) struct Dependencies {
    /// The call patterns as an author would write them.
    pub(crate) names: Vec<String>,
    /// All edges.
    pub(crate) edges: Vec<Dependency>,
}

/// More combinations of types than this in one rule head are called as one pattern of any type.
const HEAD_PATTERNS: usize = 64;

/// Returns the dependency graph of all rules, each called with the types and literals of its own head.
pub(crate) fn dependencies(program: &Program) -> Result<Dependencies, CompileError> {
    let mut work = Specialiser::new(program, Sources::of_signatures(program));
    for rule in &program.rules {
        for pattern in head_patterns(program, rule) {
            work.call(pattern, None);
        }
    }
    work.fixpoint()?;
    let mut edges = OrderedSet::default();
    for (table, entry) in work.tables.iter().enumerate() {
        for solution in &entry.solutions {
            let Origin::Rule { rule, frame, choices } = &solution.origin else { continue };
            let Some(rule) = program.rules.get(rule.index()) else { continue };
            for (literal_idx, literal) in rule.body.iter().enumerate() {
                let LiteralKind::Atom { polarity, pred, args } = &literal.kind else { continue };
                let read = match polarity {
                    Polarity::Positive => {
                        choices.iter().find(|(index, _)| *index == literal_idx).and_then(|(_, choice)| {
                            match choice {
                                Choice::Answer { table, .. } => Some(*table),
                                Choice::Source(_) => None,
                            }
                        })
                    }
                    Polarity::Negated => {
                        match work.by_pattern.get(&Pattern::of(program, frame, *pred, args)) {
                            Some(Answerer::Table(table)) => Some(*table),
                            Some(Answerer::Direct(_)) | None => None,
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
            Term::Const(literal) => match program.constants.get_index(literal.index()) {
                Some(constant) if constant.ty == TypeId::STRING => vec![PatternArg::Literal(*literal)],
                Some(constant) => vec![PatternArg::Typed(constant.ty)],
                None => vec![PatternArg::Untyped],
            },
            Term::Now => vec![PatternArg::Typed(TypeId::INTEGER)],
            Term::Var(var) => match rule.vars.get(var.index()).map(|var| &var.ty) {
                Some(VarType::OneOf(types)) if patterns.len() * types.len() <= HEAD_PATTERNS => {
                    types.iter().map(|ty| PatternArg::Typed(*ty)).collect()
                }
                Some(VarType::OneOf(_) | VarType::Any) | None => vec![PatternArg::Untyped],
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
    let predicate = program.predicates.get_index(pattern.pred.index());
    let literals = pattern.args.iter().filter_map(|arg| match arg {
        PatternArg::Literal(literal) => program.constants.get_index(literal.index()),
        PatternArg::Typed(_) | PatternArg::Untyped => None,
    });
    let types = pattern.args.iter().map(|arg| match arg {
        PatternArg::Literal(literal) => program
            .constants
            .get_index(literal.index())
            .map_or("_".into(), |literal| format!("{:?}", literal.text)),
        PatternArg::Typed(ty) => program.types.get(ty.index()).map_or("_".into(), |ty| ty.name.clone()),
        PatternArg::Untyped => "_".into(),
    });
    let predicate = predicate.map_or("_", |predicate| predicate.name.as_str());
    let generated = predicate.starts_with('\'');
    match literals.count() {
        _ if generated => "the condition".into(),
        0 => predicate.to_owned(),
        _ => format!("{predicate}({})", types.collect::<Vec<_>>().join(", ")),
    }
}
