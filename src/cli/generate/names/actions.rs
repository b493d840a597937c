//! The actions on each type of resource: the permissions of its block, and those that rules grant.

use super::{ActionType, names_of};
use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION};
use portcullis_compiler::ir::{LiteralKind, Polarity, Program, Rule, Term, TypeId, TypeKind, VarType};
use portcullis_compiler::source::Span;
use std::collections::BTreeSet;

/// The actions that a rule grants.
enum RuleActions {
    /// These actions.
    Actions(BTreeSet<String>),
    /// The permissions that other rules grant.
    Permissions,
    /// Any action.
    Any,
}

/// The questions about each type of resource, sorted by it.
pub(super) fn questions(program: &Program) -> Vec<ActionType> {
    let rules: Vec<&Rule> = rules(program, 3).collect();
    let mut resources: BTreeSet<TypeId> =
        program.types.enumerate().filter(|(_, ty)| ty.kind == TypeKind::Resource).map(|(id, _)| id).collect();
    // A rule without a type is about all resources. A type that a rule names counts as a resource of any
    // kind.
    resources.extend(rules.iter().filter_map(|rule| types_of(program, rule, 2)).flatten());
    let mut questions: Vec<ActionType> = resources
        .into_iter()
        .filter_map(|ty| {
            let name = program.types[ty].named()?;
            let is_about = |rule: &&&Rule| types_of(program, rule, 2).is_none_or(|types| types.contains(&ty));
            let of_type: Vec<&Rule> = rules.iter().filter(is_about).copied().collect();
            question(program, &of_type, Some(name))
        })
        .collect();
    questions.sort_by(|a, b| a.resource.cmp(&b.resource));
    questions
}

/// The questions without a resource, if there are any.
pub(super) fn global_question(program: &Program) -> Option<ActionType> {
    question(program, &rules(program, 2).collect::<Vec<_>>(), None)
}

/// The rules that answer questions with this number of arguments, without the implied ones.
fn rules(program: &Program, arity: usize) -> impl Iterator<Item = &Rule> {
    program.rules.iter().filter(move |rule| {
        let head = program.predicate(rule.head);
        let is_answer = head.name == ALLOW || head.name == HAS_PERMISSION;
        is_answer && head.arity == arity && rule.span != Span::default()
    })
}

/// A question over these rules; `None` if there is no action.
fn question(program: &Program, rules: &[&Rule], resource: Option<&str>) -> Option<ActionType> {
    let is_block = |name: &str| match resource {
        Some(resource) => name == resource,
        None => program.type_id(name).is_none(),
    };
    let blocks = program.blocks.iter().filter(|block| is_block(&block.name));
    let declared = blocks.flat_map(|block| block.permissions.iter().cloned());
    let mut actions: Option<BTreeSet<String>> = Some(declared.collect());
    let mut actors: BTreeSet<String> =
        program.types.iter().filter(|ty| ty.kind == TypeKind::Actor).map(|ty| ty.name.clone()).collect();
    for rule in rules {
        if let Some(types) = types_of(program, rule, 0) {
            actors.extend(names_of(program, &types));
        }
        match given(program, rule) {
            RuleActions::Actions(given) => {
                actions.iter_mut().for_each(|actions| actions.extend(given.iter().cloned()));
            }
            RuleActions::Permissions => {}
            RuleActions::Any => actions = None,
        }
    }
    let is_empty = actors.is_empty() || actions.as_ref().is_some_and(BTreeSet::is_empty);
    (!is_empty).then(|| ActionType { actors, actions, resource: resource.map(str::to_owned) })
}

/// The concrete types of a parameter; `None` for any.
fn types_of(program: &Program, rule: &Rule, position: usize) -> Option<Vec<TypeId>> {
    match rule.params.get(position)? {
        Term::Const(constant) => Some(vec![program.literal(*constant).ty]),
        Term::Now => Some(vec![TypeId::INTEGER]),
        Term::Var(var) => match &rule.vars[*var].ty {
            VarType::OneOf(types) => Some(types.clone()),
            VarType::Any => None,
        },
    }
}

fn given(program: &Program, rule: &Rule) -> RuleActions {
    let text = |id| program.literal(id).text.clone();
    let var = match rule.params.get(1) {
        Some(Term::Const(action)) => return RuleActions::Actions(BTreeSet::from([text(*action)])),
        Some(Term::Var(var)) => Term::Var(*var),
        Some(Term::Now) | None => return RuleActions::Any,
    };
    let mut given = RuleActions::Any;
    for literal in &rule.body {
        match &literal.kind {
            LiteralKind::OneOf { polarity: Polarity::Positive, term, values } if *term == var => {
                return RuleActions::Actions(values.iter().map(|value| text(*value)).collect());
            }
            // The rules for this permission are among the rules of the same question.
            LiteralKind::Atom { polarity: Polarity::Positive, pred, args }
                if program.predicate(*pred).name == HAS_PERMISSION
                    && args.get(1) == Some(&var)
                    && args.get(2) == rule.params.get(2) =>
            {
                given = RuleActions::Permissions;
            }
            LiteralKind::Atom { .. }
            | LiteralKind::OneOf { .. }
            | LiteralKind::Compare { .. }
            | LiteralKind::NotOfType { .. }
            | LiteralKind::False => {}
        }
    }
    given
}
