//! What there is to review about one actor or one resource.
//!
//! In: an actor, or a resource. Out: for each type that the other side may have, the actions that are allowed
//! between the two; [`super::pages`] and [`super::subjects`] then list the resources or the actors of each.
//! The actions are asked for and not read from the policy, because facts can name others than its rules do:
//! `allow` with *some value* of the type on the other side.
//!
//! If a rule allows every action, a clause of the question that it covers may be left out, whatever the
//! resource is. Then the resources are asked for as well, and each row names its action.
//!
//! If a part cannot be answered, the rest is not left out: a type whose actions cannot be listed has those
//! that its block declares, and the refusal.

use super::answers::{expected, read};
use super::{ANY, Engine, EngineError, facts, questions};
use crate::store::{ConsistentRead, Reader, Value, WriteMark};
use portcullis_compiler::builtin::is_abstract;
use portcullis_compiler::ir::{Program, TypeKind};
use portcullis_compiler::question::{AnswerColumn, Domain, Question};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The maximum number of types in one question.
const MAX_TYPES: usize = 100;

/// Whom or what a review is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reviewed {
    /// What may this actor do?
    Actor(Value),
    /// Who may do what to this resource?
    Resource(Value),
}

/// A review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewQuestion {
    /// Whom or what it is about.
    pub about: Reviewed,
    /// The types of the other side, [`ANY`] for those that the policy does not name; `None` for all, and for
    /// what an actor may do without a resource.
    pub types: Option<BTreeSet<String>>,
}

/// The actions between the reviewed value and those of one type.
#[derive(Debug)]
pub struct ReviewedType {
    /// The type, [`ANY`] for every type that the policy does not name; `None` without a resource.
    pub ty: Option<String>,
    /// The actions, sorted; [`ANY`] for every action.
    pub actions: Vec<String>,
    /// Why there may be other actions, if they cannot be listed.
    pub refused: Option<EngineError>,
}

/// What there is to review.
#[derive(Debug)]
pub struct Review {
    /// Each type once, in the order of their names.
    pub types: Vec<ReviewedType>,
    /// Types of the question that the policy does not name.
    pub unknown_types: Vec<String>,
    /// The version of the policy; `None` before the first one.
    pub version: Option<u64>,
    /// A moment of the store: the answer saw all writes up to it, and perhaps later ones.
    pub mark: WriteMark,
}

impl Engine {
    /// The types and actions of a review.
    pub async fn review(&self, question: ReviewQuestion) -> Result<Review, EngineError> {
        question.check()?;
        let primary = self.of_primary();
        primary.reviewed(question).await
    }

    /// The same, of the state of the primary: its offset shows whether the state changed meanwhile.
    async fn reviewed(&self, ReviewQuestion { about, types }: ReviewQuestion) -> Result<Review, EngineError> {
        let mark = self.store().last_write();
        let Some(active) = self.active() else {
            return Ok(Review { types: Vec::new(), unknown_types: Vec::new(), version: None, mark });
        };
        let (program, version) = (Arc::clone(&active.program), Some(active.version));
        let named = types.iter().flatten().chain([about.ty()]);
        let is_unknown = |ty: &&String| ty.as_str() != ANY && program.type_id(ty).is_none();
        let unknown_types = named.filter(is_unknown).cloned().collect::<BTreeSet<_>>().into_iter().collect();
        let asked = match types {
            Some(types) => types.into_iter().map(Some).collect(),
            None => all(&program, &about),
        };
        let mut found = Vec::with_capacity(asked.len());
        for ty in asked {
            let (actions, refused) = match self.reviewed_actions(&about, ty.as_deref()).await {
                Ok(actions) => (actions, None),
                Err(
                    error @ (EngineError::Refused(_) | EngineError::TooLarge(_) | EngineError::Timeout(_)),
                ) => (declared(&program, &about, ty.as_deref()), Some(error)),
                Err(error) => return Err(error),
            };
            found.push(ReviewedType { ty, actions, refused });
        }
        Ok(Review { types: found, unknown_types, version, mark })
    }

    /// The actions between the reviewed value and any of this type.
    async fn reviewed_actions(&self, about: &Reviewed, ty: Option<&str>) -> Result<Vec<String>, EngineError> {
        let Some(some) = question(about, ty, Domain::Ignored) else { return Ok(Vec::new()) };
        let actions = self.consistently(|attempt| self.window(attempt, &some, None, &[])).await?;
        let is_exact = ty.is_none() || actions.iter().all(|action| action != ANY);
        match question(about, ty, Domain::Wanted) {
            Some(each) if !is_exact => {
                self.consistently(|attempt| self.actions_in_rows(attempt, &each)).await
            }
            Some(_) | None => Ok(actions),
        }
    }

    /// The distinct actions in the rows of a question that asks for the other side as well.
    async fn actions_in_rows(
        &self,
        attempt: ConsistentRead<'_>,
        question: &Question,
    ) -> Result<Vec<String>, EngineError> {
        let Some(view) = self.view(&attempt, &[])? else { return Ok(Vec::new()) };
        let prepared = view.prepare(question).await?;
        let expected = expected([&prepared]);
        let distinct = move |reader: &Reader| {
            let is_action = |column: &AnswerColumn| *column == AnswerColumn::Id(questions::ACTION);
            let at = prepared.columns().iter().position(is_action);
            let mut actions = BTreeSet::new();
            prepared.each(reader, |row| {
                let action = at.and_then(|at| row.get(at)?.as_deref()).unwrap_or(ANY);
                if !actions.contains(action) {
                    actions.insert(action.to_owned());
                }
                Ok(ControlFlow::Continue(()))
            })?;
            Ok(actions.into_iter().collect())
        };
        read(&attempt, expected, distinct).await
    }
}

/// Which actions are allowed between the reviewed value and values of this type, or without a resource.
fn question(about: &Reviewed, ty: Option<&str>, others: Domain) -> Option<Question> {
    match (about, ty) {
        (Reviewed::Actor(actor), Some(ty)) => questions::actions_of_actor(actor, ty, others),
        (Reviewed::Actor(actor), None) => Some(questions::global_actions(actor)),
        (Reviewed::Resource(resource), Some(ty)) => questions::actions_on_resource(ty, resource, others),
        (Reviewed::Resource(_), None) => None,
    }
}

/// Everything that the other side may be: each concrete type of the policy, any other, and for an actor no
/// resource at all.
fn all(program: &Program, about: &Reviewed) -> Vec<Option<String>> {
    let is_concrete = |kind: TypeKind| match kind {
        TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
        TypeKind::Abstract | TypeKind::Foreign => false,
    };
    let concrete = program.types.iter().filter(|ty| is_concrete(ty.kind)).map(|ty| ty.name.clone());
    let types: BTreeSet<String> = concrete.chain([ANY.to_owned()]).collect();
    let global = matches!(about, Reviewed::Actor(_)).then_some(None);
    global.into_iter().chain(types.into_iter().map(Some)).collect()
}

/// The permissions that the block of the resource declares. Without a resource there is nothing to list, and
/// none is allowed because it is declared.
fn declared(program: &Program, about: &Reviewed, ty: Option<&str>) -> Vec<String> {
    let of = match (about, ty) {
        (Reviewed::Actor(_), Some(ty)) => ty,
        (Reviewed::Resource(resource), Some(_)) => &resource.ty,
        (_, None) => return Vec::new(),
    };
    let block = program.blocks.iter().find(|block| block.name == of);
    block.map(|block| block.permissions.clone()).unwrap_or_default()
}

impl Reviewed {
    fn ty(&self) -> &String {
        let (Self::Actor(value) | Self::Resource(value)) = self;
        &value.ty
    }
}

impl ReviewQuestion {
    fn check(&self) -> Result<(), EngineError> {
        let (of, other, value) = match &self.about {
            Reviewed::Actor(actor) => ("actor", "resource", actor),
            Reviewed::Resource(resource) => ("resource", "actor", resource),
        };
        facts::check_entity(of, value)?;
        check_concrete(of, &value.ty)?;
        let Some(types) = &self.types else { return Ok(()) };
        let bad = |text: String| Err(EngineError::BadRequest(text));
        if types.is_empty() {
            return bad("the list of types is empty: leave it out to ask about all types".to_owned());
        }
        if types.len() > MAX_TYPES {
            let n = types.len();
            return Err(EngineError::TooLarge(format!(
                "the question has {n} types, at most {MAX_TYPES} are allowed: ask for them in several requests"
            )));
        }
        types.iter().try_for_each(|ty| {
            facts::check_type(other, ty)?;
            check_concrete(other, ty)
        })
    }
}

/// Refuses a type that no value has, so that an empty answer does not look like "nothing".
fn check_concrete(what: &str, ty: &str) -> Result<(), EngineError> {
    if is_abstract(ty) {
        return Err(EngineError::BadRequest(format!("no {what} has the type `{ty}`: use a concrete type")));
    }
    Ok(())
}
