//! Whether checks under the active policy can be answered at all.
//!
//! A policy may be right and yet so large that no check of it fits one statement: it is accepted, and then every
//! request is refused. Whoever uploads it hears of that at once, by asking some checks of each kind here.

use super::catalog::Context;
use super::plans::{PlanKey, Plans};
use super::{Engine, EngineError, questions};
use crate::store::Value;
use portcullis_compiler::ir::{Program, TypeKind};
use portcullis_compiler::question::{CompileError, Question};

/// How many checks are tried; the first that fits is enough.
const MOST_TRIED: usize = 16;

impl Engine {
    /// Why every check under the active policy is refused; `None` if one fits, or if there is nothing to check.
    pub(super) async fn unfit(&self) -> Result<Option<String>, EngineError> {
        let Some(plans) = self.plans() else { return Ok(None) };
        self.in_turn(move || refusal(&plans)).await
    }
}

fn refusal(plans: &Plans) -> Option<String> {
    let mut refused = None;
    for question in checks(&plans.policy.program).take(MOST_TRIED) {
        match plans.compile(PlanKey::of(plans, &question, &Context::default())) {
            Err(CompileError::Refused(reason)) => refused = Some(reason),
            Ok(_) | Err(CompileError::Bug(_)) => return None,
        }
    }
    refused
}

/// A check for every kind of actor and of resource, of the first permission that the resource has.
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
