//! Finds out whether checks under the active policy can be answered at all.
//!
//! A policy may be valid but so large that no check of it fits into one statement: it is accepted, and once
//! its facts are stored every check is refused. Its author should learn of that at the upload. So checks are
//! compiled here as if there were a fact of every kind that the policy reads.

use super::{Engine, EngineError, questions};
use crate::store::Value;
use portcullis_compiler::builtin::HAS_RELATION;
use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::compile_for_store;
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeKind};
use portcullis_compiler::primitive::STRING;
use portcullis_compiler::question::{CompileError, Question, Shape};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How many checks are tried; the first that fits is enough.
const MOST_TRIED: usize = 16;

impl Engine {
    /// Why every check under the active policy is refused; `None` if one fits, or if there is nothing to check.
    pub(super) async fn unfit(&self) -> Result<Option<String>, EngineError> {
        let Some(plans) = self.plans() else { return Ok(None) };
        let program = Arc::clone(&plans.policy.program);
        self.in_turn(move || refusal(&program)).await
    }
}

fn refusal(program: &Program) -> Option<String> {
    let catalog = every_kind(program);
    let mut refused = None;
    for question in checks(program).take(MOST_TRIED) {
        match compile_for_store(program, &catalog, &Shape::of(program, &question)) {
            Err(CompileError::Refused(refusal)) => refused = Some(question.refused(refusal).message),
            Ok(_) | Err(CompileError::Bug(_)) => return None,
        }
    }
    refused
}

/// A check for each type of actor and resource, with the resource's first permission.
fn checks(program: &Program) -> impl Iterator<Item = Question> {
    let actors = program.types.iter().filter(|ty| ty.kind == TypeKind::Actor);
    actors.flat_map(|actor| {
        program.blocks.iter().filter(|block| block.name != "global").filter_map(|block| {
            let actor = Value::new(&actor.name, "someone");
            let resource = Value::new(&block.name, "something");
            questions::authorize(&actor, block.permissions.first()?, &resource)
        })
    })
}

/// Tables for facts of every kind. An argument with several possible types gets the first.
fn every_kind(program: &Program) -> Catalog {
    let kinds: BTreeSet<_> = program.signatures.iter().filter_map(|each| kind(program, each)).collect();
    let relation = |(at, (predicate, args)): (usize, (&str, Vec<RelationArg>))| Relation {
        predicate: predicate.to_owned(),
        args,
        source: RelationSource::Table { name: format!("f{at}") },
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
