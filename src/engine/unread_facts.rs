//! Refuses a policy under which stored facts would no longer deny what they deny.
//!
//! Facts are stored if the active policy can use them. A later policy may not see all of them: it may no
//! longer mention a type, or its rules may restrict a variable to other types. Such facts match nothing. If
//! a denial depended on them, it would be gone without a word, so that policy is refused, as long as they are
//! stored:
//!
//! - facts of a type that the policy does not mention, if a negation of it asks for values of any type;
//! - facts that a negation of the active policy asks for and none of the new one sees, although the new one
//!   still has a negation that asks for facts of the same name and number of arguments.
//!
//! Types are compared, and not the texts of Strings: a rule that asks for another text was changed on
//! purpose.

use super::error::PolicyRefusal;
use super::versions::Active;
use super::{Engine, EngineError};
use crate::store::{ArgPattern, FactPattern, StoredArg, StoredRelation, Value};
use portcullis_compiler::ir::{CallArg, DenyingCall, DenyingCalls, Program, TypeId};
use std::collections::BTreeSet;

/// How many patterns for the facts of one relation are looked for. If there are more, all of them count.
const MOST_PATTERNS: usize = 100;

impl Engine {
    /// Refuses a policy under which stored facts would no longer deny what they deny.
    pub(super) async fn check_denials(&self, program: &Program) -> Result<(), EngineError> {
        self.follow().await?;
        let active = self.active();
        let new = Denials { program, calls: &DenyingCalls::of(program) };
        let old = active.as_ref().map(|active| Denials::of(active));
        let mut errors = Vec::new();
        for relation in &self.store().relations().relations {
            let asked = new.admitting(relation).next().is_some();
            let unknown = relation.args.iter().map(StoredArg::ty).find(|ty| program.type_id(ty).is_none());
            let (patterns, error) = match (unknown, &old) {
                (None, _) if asked => continue,
                (Some(ty), _) if asked => (new.patterns(relation), unmentioned(relation, ty)),
                (_, Some(old)) if !new.calls_of(relation).is_empty() => {
                    (old.patterns(relation), unseen(relation))
                }
                (_, _) => continue,
            };
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

/// What a policy may deny by facts.
struct Denials<'p> {
    program: &'p Program,
    calls: &'p DenyingCalls,
}

impl<'p> Denials<'p> {
    fn of(active: &'p Active) -> Self {
        Self { program: &active.program, calls: active.denying_calls() }
    }

    /// The calls by which facts of the relation's name may deny something.
    fn calls_of(&self, relation: &StoredRelation) -> &'p [DenyingCall] {
        self.calls.of_predicate(&relation.predicate, relation.args.len(), self.program)
    }

    /// Those that ask for values of the relation's types.
    fn admitting(&self, relation: &StoredRelation) -> impl Iterator<Item = &'p DenyingCall> {
        let program = self.program;
        let types: Vec<Option<TypeId>> = relation.args.iter().map(|arg| program.type_id(arg.ty())).collect();
        let calls = self.calls_of(relation).iter();
        calls.filter(move |call| call.args.iter().zip(&types).all(|(arg, ty)| arg.admits(*ty, program)))
    }

    /// What they ask for among the facts of a relation.
    fn patterns(&self, relation: &StoredRelation) -> BTreeSet<FactPattern> {
        let any = vec![CallArg::Any; relation.args.len()];
        let calls = self.admitting(relation);
        let found: BTreeSet<FactPattern> =
            calls.filter_map(|call| pattern(self.program, &call.args, relation)).collect();
        if found.len() > MOST_PATTERNS {
            pattern(self.program, &any, relation).into_iter().collect()
        } else {
            found
        }
    }
}

/// The facts of a relation for which a call with these arguments asks; `None` if there can be none.
fn pattern(program: &Program, args: &[CallArg], relation: &StoredRelation) -> Option<FactPattern> {
    let args = args.iter().zip(&relation.args).map(|(arg, stored)| {
        let wanted = match arg {
            CallArg::Literal(literal) => Some(&program.literal(*literal).text),
            CallArg::Any | CallArg::OneOf(_) => None,
        };
        match (stored, wanted) {
            (StoredArg::Fixed(_, text), Some(wanted)) if text != wanted => None,
            (StoredArg::Fixed(ty, text), _) => Some(ArgPattern::Exact(Value::new(ty, text))),
            (StoredArg::Column(ty), Some(wanted)) => Some(ArgPattern::Exact(Value::new(ty, wanted))),
            (StoredArg::Column(ty), None) => Some(ArgPattern::Typed(ty.clone())),
        }
    });
    Some(FactPattern::new(&relation.predicate, args.collect::<Option<_>>()?))
}

/// The facts of a relation as a `declare` writes them.
fn signature(relation: &StoredRelation) -> String {
    let types: Vec<&str> = relation.args.iter().map(StoredArg::ty).collect();
    format!("{}({})", relation.predicate, types.join(", "))
}

fn unmentioned(relation: &StoredRelation, ty: &str) -> String {
    let facts = signature(relation);
    format!(
        "stored facts `{facts}` may deny something, but the policy does not mention the type `{ty}`, so its rules would not see them: add `resource {ty} {{}}` or `actor {ty} {{}}` to the policy, give the variable of the denial a type, or delete these facts first"
    )
}

fn unseen(relation: &StoredRelation) -> String {
    let facts = signature(relation);
    format!(
        "stored facts `{facts}` may deny something under the active policy, but no denial of this one would see them: add `declare {facts};` if the rules leave the types open, give the rules these types, or delete the facts first"
    )
}
