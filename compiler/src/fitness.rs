//! Finds out whether checks under a policy can be answered at all.
//!
//! In: a program without errors. Out: a lint if every check that was tried is refused. A policy may be valid
//! but so large that no check of it fits into one statement; without the lint, its author would learn of that
//! from the first check. So checks are compiled here as if there were a fact of every kind that the policy
//! reads.

use crate::builtin::{ALLOW, HAS_PERMISSION, HAS_RELATION, is_abstract};
use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
use crate::compile::{self, Target};
use crate::deadline::Deadline;
use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::StoreDialect;
use crate::ir::{Program, Rule, Signature, SignatureArg, Term, TypeKind, VarType};
use crate::plan::Request;
use crate::primitive::STRING;
use crate::question::{CompileError, Question, QuestionVar, Shape};
use crate::source::Span;
use std::collections::BTreeSet;

/// How many checks are tried; the first that fits is enough.
const MOST_TRIED: usize = 16;

/// A lint if every check is refused; `None` if one fits, if there is nothing to check, or if it is not known
/// in time.
pub(crate) fn check(program: &Program, deadline: Deadline) -> Option<Diagnostic> {
    let catalog = every_kind(program);
    let target = Target::store(StoreDialect::STRICTEST);
    let mut refused = None;
    for question in checks(program).take(MOST_TRIED) {
        let shape = &Shape::of(program, &question);
        match compile::statement(
            &Request { program, catalog: &catalog, shape, filters: false, deadline },
            &target,
        ) {
            Err(CompileError::Refused(refusal)) => refused = Some(question.refused(refusal).message),
            Ok(_) | Err(CompileError::OutOfTime(_) | CompileError::Bug(_)) => return None,
        }
    }
    let title = "with facts of every kind, no check of this policy can be answered";
    let label = "the rules that every check reads are too much for one statement";
    Some(Diagnostic::new(Code::Unanswerable, title, entry(program), label).with_note(refused?))
}

/// The first rule that a check reads.
fn entry(program: &Program) -> Span {
    let is_entry = |name: &str| name == ALLOW || name == HAS_PERMISSION;
    let starts_check = |rule: &&Rule| {
        // The implied `allow` is nowhere in the text.
        rule.span != Span::default() && is_entry(&program.predicate(rule.head).name)
    };
    program.rules.iter().find(starts_check).map(|rule| rule.span).unwrap_or_default()
}

/// A check for each type of actor and resource, with the resource's first permission, or the first action
/// that a rule of `allow` names for it.
fn checks(program: &Program) -> impl Iterator<Item = Question> {
    let actors = program.types.iter().filter(|ty| ty.kind == TypeKind::Actor);
    actors.flat_map(|actor| {
        program.blocks.iter().filter(|block| block.name != "global").filter_map(|block| {
            if is_abstract(&actor.name) || is_abstract(&block.name) {
                return None;
            }
            let actor = QuestionVar::given("actor", &actor.name, "someone");
            let action = block.permissions.first().map(String::as_str);
            let action = action.or_else(|| allowed_action(program, &block.name))?;
            let action = QuestionVar::given("action", STRING, action);
            let resource = QuestionVar::given("resource", &block.name, "something");
            Some(Question::atom(ALLOW, vec![actor, action, resource]))
        })
    })
}

/// The first action that a rule of `allow` names for a type of resource.
fn allowed_action<'p>(program: &'p Program, resource: &str) -> Option<&'p str> {
    let (allow, resource) = (program.predicate_id(ALLOW, 3)?, program.type_id(resource)?);
    program.rules.iter().filter(|rule| rule.head == allow).find_map(|rule| match rule.params.as_slice() {
        [_, Term::Const(action), Term::Var(var)] => {
            let takes = match &rule.vars[*var].ty {
                VarType::Any => true,
                VarType::OneOf(types) => types.contains(&resource),
            };
            takes.then(|| program.literal(*action).text.as_str())
        }
        _ => None,
    })
}

/// Tables for facts of every kind. An argument with several possible types gets the first.
fn every_kind(program: &Program) -> Catalog {
    let kinds: BTreeSet<_> = program.signatures.iter().filter_map(|each| kind(program, each)).collect();
    let relation = |(at, (predicate, args)): (usize, (&str, Vec<RelationArg>))| Relation {
        predicate: predicate.to_owned(),
        args,
        source: RelationSource::Table { schema: None, name: format!("f{at}") },
    };
    Catalog { relations: kinds.into_iter().enumerate().map(relation).collect() }
}

/// A predicate with its arguments; `None` if the type of one is unknown.
fn kind<'p>(program: &Program, signature: &'p Signature) -> Option<(&'p str, Vec<RelationArg>)> {
    let arg = |(idx, arg): (usize, &SignatureArg)| {
        let ty = match arg {
            // Each relation name has its own table.
            SignatureArg::Literal(text) if signature.predicate == HAS_RELATION => {
                return Some(RelationArg::Constant { ty: STRING.to_owned(), text: text.clone() });
            }
            SignatureArg::Literal(_) => STRING,
            SignatureArg::OneOf(types) => {
                let first = types.first()?;
                program
                    .types
                    .iter()
                    .map(|ty| ty.name.as_str())
                    .find(|name| program.type_id(name) == Some(*first))?
            }
            SignatureArg::Any => return None,
        };
        Some(RelationArg::Column { ty: ty.to_owned(), column: format!("a{idx}") })
    };
    let args = signature.args.iter().enumerate().map(arg).collect::<Option<_>>()?;
    Some((&signature.predicate, args))
}
