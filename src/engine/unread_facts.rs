//! Refuses a policy under which stored facts would no longer deny what they deny.
//!
//! Facts are stored if the active policy can use them. A later policy may not use all of them: it may no
//! longer mention a type, or its rules may restrict a variable to other types. Such facts match nothing. If
//! a denial depended on them, it would be gone without a word, so that policy is refused, as long as they are
//! stored:
//!
//! - facts of a type that the policy does not mention, if a negation of it asks for values of any type;
//! - other facts that the policy cannot use, if a negation of the active policy asks for them, and the new
//!   one has a negation that asks for facts of the same name.

use super::error::PolicyRefusal;
use super::{Engine, EngineError};
use crate::store::{ArgPattern, FactPattern, StoredArg, StoredRelation, Value};
use portcullis_compiler::ir::{CallArg, DenyingCall, Program, SignatureArg, TypeId};
use portcullis_compiler::primitive::STRING;

impl Engine {
    /// Refuses a policy under which stored facts would no longer deny what they deny.
    pub(super) async fn keeps_denials(&self, program: &Program) -> Result<(), EngineError> {
        let calls = program.denying_calls();
        let active = self.active();
        let active_calls = active.as_ref().map(|active| active.program.denying_calls()).unwrap_or_default();
        let mut errors = Vec::new();
        for relation in &self.store().relations().relations {
            if is_usable(program, relation) {
                continue;
            }
            let unknown = relation.args.iter().map(StoredArg::ty).find(|ty| program.type_id(ty).is_none());
            let (of, calls, error) = match (unknown, &active) {
                (Some(ty), _) => (program, &calls, unmentioned(relation, ty)),
                (None, Some(active)) if calls.iter().any(|call| is_of(call, relation)) => {
                    (&*active.program, &active_calls, unread(relation))
                }
                (None, _) => continue,
            };
            let mut patterns: Vec<FactPattern> =
                calls.iter().filter_map(|call| seen(call, of, relation)).collect();
            patterns.sort();
            patterns.dedup();
            for pattern in patterns {
                if !self.store().facts(pattern, 1).await?.facts.is_empty() {
                    errors.push(error);
                    break;
                }
            }
        }
        if errors.is_empty() {
            return Ok(());
        }
        Err(EngineError::Policy(PolicyRefusal::UnreadFacts { message: errors.join("\n\n"), errors }))
    }
}

/// Whether the policy can use facts of a relation, for some of their Strings.
fn is_usable(program: &Program, relation: &StoredRelation) -> bool {
    let admits = |arg: &SignatureArg, stored: &StoredArg| {
        let ty = program.type_id(stored.ty());
        match (arg, stored) {
            (SignatureArg::Any, _) => ty.is_some(),
            (SignatureArg::OneOf(types), _) => ty.is_some_and(|ty| types.contains(&ty)),
            (SignatureArg::Literal(text), StoredArg::Fixed(_, fixed)) => text == fixed,
            (SignatureArg::Literal(_), StoredArg::Column(_)) => ty == Some(TypeId::STRING),
        }
    };
    program.signatures.iter().any(|signature| {
        signature.predicate == relation.predicate
            && signature.args.len() == relation.args.len()
            && signature.args.iter().zip(&relation.args).all(|(arg, stored)| admits(arg, stored))
    })
}

/// Whether a call asks for facts of this name.
fn is_of(call: &DenyingCall<'_>, relation: &StoredRelation) -> bool {
    call.predicate == relation.predicate && call.args.len() == relation.args.len()
}

/// The facts of a relation that a call sees; `None` if there can be none.
fn seen(call: &DenyingCall<'_>, program: &Program, relation: &StoredRelation) -> Option<FactPattern> {
    if !is_of(call, relation) {
        return None;
    }
    let args = call.args.iter().zip(&relation.args).map(|(arg, stored)| {
        let wanted = match arg {
            CallArg::Literal(literal) => Some(&literal.text),
            CallArg::Any | CallArg::OneOf(_) => None,
        };
        let is_seen = arg.admits(program.type_id(stored.ty()));
        match (stored, wanted) {
            _ if !is_seen => None,
            (StoredArg::Fixed(_, text), Some(wanted)) if text != wanted => None,
            (StoredArg::Fixed(ty, text), _) => Some(ArgPattern::Exact(Value::new(ty, text))),
            (StoredArg::Column(ty), Some(wanted)) => Some(ArgPattern::Exact(Value::new(ty, wanted))),
            (StoredArg::Column(ty), None) => Some(ArgPattern::Typed(ty.clone())),
        }
    });
    Some(FactPattern::new(&relation.predicate, args.collect::<Option<_>>()?))
}

/// The facts of a relation, as a `declare` writes them.
fn signature(relation: &StoredRelation) -> String {
    let args: Vec<String> = relation
        .args
        .iter()
        .map(|arg| match arg {
            StoredArg::Fixed(ty, text) if ty == STRING => format!("{text:?}"),
            StoredArg::Fixed(ty, _) | StoredArg::Column(ty) => ty.clone(),
        })
        .collect();
    format!("{}({})", relation.predicate, args.join(", "))
}

fn unmentioned(relation: &StoredRelation, ty: &str) -> String {
    let facts = signature(relation);
    format!(
        "stored facts `{facts}` may deny something, but the policy does not mention the type `{ty}`, so its rules would not see them: add `resource {ty} {{}}` or `actor {ty} {{}}` to the policy, give the variable of the denial a type, or delete these facts first"
    )
}

fn unread(relation: &StoredRelation) -> String {
    let facts = signature(relation);
    format!(
        "stored facts `{facts}` may deny something under the active policy, but no rule of this one would see them: add `declare {facts};` to the policy, or delete these facts first"
    )
}
