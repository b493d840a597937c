//! The names of a policy as types: what may be asked, and which facts may be stored.
//!
//! In: a checked program. Out: sorted sets of names, so that the same policy gives the same text. The facts
//! are those that the service accepts, but facts of `has_permission` only with the actions that the blocks
//! declare or the rules grant.

mod actions;

use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION};
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeId, TypeKind};
use portcullis_compiler::primitive::STRING;
use std::collections::{BTreeMap, BTreeSet};

/// How many arguments a fact may have in the official clients.
const ARGUMENTS: std::ops::RangeInclusive<usize> = 1..=5;

/// The names of a policy.
#[derive(Debug)]
pub(super) struct PolicyTypes {
    /// The types of values with an id, sorted.
    pub(super) values: BTreeSet<String>,
    /// The types of actors.
    pub(super) actors: BTreeSet<String>,
    /// The types of resources.
    pub(super) resources: BTreeSet<String>,
    /// The global roles.
    pub(super) global_roles: BTreeSet<String>,
    /// The roles and relations of each block but the global one.
    pub(super) blocks: BTreeMap<String, BlockNames>,
    /// What may be asked of each type of resource, sorted by it.
    pub(super) questions: Vec<ActionType>,
    /// What may be asked without a resource.
    pub(super) global_question: Option<ActionType>,
    /// The facts that may be stored and the predicates that may be queried, sorted.
    pub(super) facts: BTreeSet<FactType>,
}

/// The names of a block.
#[derive(Debug)]
pub(super) struct BlockNames {
    /// Its roles.
    pub(super) roles: BTreeSet<String>,
    /// Its relations, each with the types that it leads to.
    pub(super) relations: BTreeMap<String, BTreeSet<String>>,
}

/// The questions whether an actor may do an action, perhaps on a type of resource.
#[derive(Debug)]
pub(super) struct ActionType {
    /// The types of actors.
    pub(super) actors: BTreeSet<String>,
    /// The actions; `None` for any text.
    pub(super) actions: Option<BTreeSet<String>>,
    /// The type of the resource; `None` if the question has none.
    pub(super) resource: Option<String>,
}

/// The facts of a predicate with every combination of these arguments.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FactType {
    /// The predicate.
    pub(super) predicate: String,
    /// What each argument may be.
    pub(super) args: Vec<ArgType>,
}

/// The values of an argument.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ArgType {
    /// Any value of one of these types, of which some may be primitive.
    OneOf(BTreeSet<String>),
    /// One of these Strings.
    Texts(BTreeSet<String>),
}

impl PolicyTypes {
    /// The names of a program.
    pub(super) fn of(program: &Program) -> Self {
        let named = |kinds: &[TypeKind]| -> BTreeSet<String> {
            let types = program.types.iter().filter(|ty| kinds.contains(&ty.kind));
            types.filter_map(|ty| ty.named()).map(str::to_owned).collect()
        };
        let is_type = |name: &str| program.type_id(name).is_some();
        let blocks = program.blocks.iter().filter(|block| is_type(&block.name)).map(|block| {
            let roles = block.roles.iter().cloned().collect();
            let relations = block.relations.iter().map(|(name, ty)| {
                let admitted = program.type_id(ty).map(|ty| names_of(program, &program.types[ty].admits));
                (name.clone(), admitted.unwrap_or_default())
            });
            (block.name.clone(), BlockNames { roles, relations: relations.collect() })
        });
        let global = program.blocks.iter().filter(|block| !is_type(&block.name));
        let questions = actions::questions(program);
        let global_question = actions::global_question(program);
        let facts = facts(program, questions.iter().chain(&global_question));
        Self {
            values: named(&[TypeKind::Actor, TypeKind::Resource, TypeKind::Plain]),
            actors: named(&[TypeKind::Actor]),
            resources: named(&[TypeKind::Resource]),
            global_roles: global.flat_map(|block| block.roles.iter().cloned()).collect(),
            blocks: blocks.collect(),
            questions,
            global_question,
            facts,
        }
    }
}

impl ActionType {
    /// The question as facts of this predicate.
    pub(super) fn fact(&self, predicate: &str) -> FactType {
        let actions = match &self.actions {
            Some(actions) => ArgType::Texts(actions.clone()),
            None => ArgType::OneOf(BTreeSet::from([STRING.to_owned()])),
        };
        let resource = self.resource.iter().map(|ty| ArgType::OneOf(BTreeSet::from([ty.clone()])));
        let args = [ArgType::OneOf(self.actors.clone()), actions].into_iter().chain(resource).collect();
        FactType { predicate: predicate.to_owned(), args }
    }
}

/// The facts that the policy can use, as far as the clients can write them.
fn facts<'q>(program: &Program, questions: impl Iterator<Item = &'q ActionType>) -> BTreeSet<FactType> {
    // The implied entry points accept any action; only actions of the policy are worth storing.
    let is_of_questions = |signature: &Signature| {
        let arity = signature.args.len();
        let name = signature.predicate.as_str();
        (2..=3).contains(&arity)
            && (name == ALLOW || name == HAS_PERMISSION)
            && !program.declared.contains(name)
    };
    let signatures = program.signatures.iter().filter(|signature| !is_of_questions(signature));
    let mut facts: BTreeSet<FactType> = signatures
        .filter(|signature| ARGUMENTS.contains(&signature.args.len()))
        .map(|signature| {
            let args = signature.args.iter().map(|arg| arg_type(program, arg)).collect();
            FactType { predicate: signature.predicate.clone(), args }
        })
        .collect();
    for position in 0..*ARGUMENTS.end() {
        facts = with_joined_texts(facts, position);
    }
    facts.extend(questions.map(|question| question.fact(HAS_PERMISSION)));
    facts
}

/// Joins facts that differ only in the Strings of one argument.
fn with_joined_texts(facts: BTreeSet<FactType>, position: usize) -> BTreeSet<FactType> {
    let mut joined: BTreeMap<FactType, BTreeSet<String>> = BTreeMap::new();
    let mut others = BTreeSet::new();
    for mut fact in facts {
        match fact.args.get_mut(position) {
            Some(ArgType::Texts(texts)) => {
                let texts = std::mem::take(texts);
                joined.entry(fact).or_default().extend(texts);
            }
            Some(ArgType::OneOf(_)) | None => drop(others.insert(fact)),
        }
    }
    others.extend(joined.into_iter().map(|(mut fact, texts)| {
        if let Some(arg) = fact.args.get_mut(position) {
            *arg = ArgType::Texts(texts);
        }
        fact
    }));
    others
}

fn arg_type(program: &Program, arg: &SignatureArg) -> ArgType {
    match arg {
        SignatureArg::Literal(text) => ArgType::Texts(BTreeSet::from([text.clone()])),
        SignatureArg::OneOf(types) => ArgType::OneOf(names_of(program, types)),
        SignatureArg::Any => {
            let is_concrete = |kind| !matches!(kind, TypeKind::Abstract | TypeKind::Foreign);
            let types = program.types.iter().filter(|ty| is_concrete(ty.kind));
            ArgType::OneOf(types.map(|ty| ty.name.clone()).collect())
        }
    }
}

/// The names of types that have one.
fn names_of(program: &Program, types: &[TypeId]) -> BTreeSet<String> {
    types.iter().filter_map(|ty| program.types[*ty].named()).map(str::to_owned).collect()
}
