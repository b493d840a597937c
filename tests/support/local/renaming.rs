//! Ids as the caller's columns hold them: texts, integers of every size, UUIDs.
//!
//! In: the ids of a page, text all of them. Out: for each type a [`Kind`] of column, and for each id that a
//! table or a list of candidates holds an id of this kind, one to one. An id that only stored facts or the
//! question mention stays what it is, or becomes a different spelling of one that a table holds: `bob` and
//! `07` in an integer column's type are ids that no row can have.
//!
//! A type keeps its ids if the policy names one of them. Texts, integers and truth values in facts do not
//! change with the type of their column.

use super::kind::{Ids, Kind};
use crate::notation::{Fact, Value};
use portcullis_compiler::Dialect;
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Domain, Question};
use std::collections::{BTreeMap, BTreeSet};

/// Ids in two forms: the page's, and the tables'.
pub(crate) struct Renaming {
    kinds: BTreeMap<String, Kind>,
    ids: BTreeMap<Value, String>,
    /// Ids that no table holds and that look like one that a table holds.
    strays: BTreeMap<Value, String>,
    originals: BTreeMap<Value, String>,
}

impl Renaming {
    /// Gives the values of each type a kind; `held` are those that a table or candidates must hold, `others`
    /// those that only the store, the request or a question mentions.
    pub(crate) fn new(
        program: &Program,
        kind_of: impl Fn(usize) -> Kind,
        held: &BTreeSet<Value>,
        others: &BTreeSet<Value>,
    ) -> Self {
        let is_primitive = |ty: &str| matches!(ty, "String" | "Integer" | "Boolean");
        let is_named =
            |ty: &str| program.constants.iter().any(|literal| program.types[literal.ty].name.as_str() == ty);
        let types: BTreeSet<&str> = held.iter().chain(others).map(|value| value.ty.as_str()).collect();
        let kinds: BTreeMap<String, Kind> = types
            .into_iter()
            .filter(|ty| !is_primitive(ty))
            .enumerate()
            .map(|(at, ty)| (ty.to_owned(), if is_named(ty) { kind_of(at).as_text() } else { kind_of(at) }))
            .collect();
        let mut renaming =
            Self { kinds, ids: BTreeMap::new(), strays: BTreeMap::new(), originals: BTreeMap::new() };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for value in held.iter().chain(others) {
            let kind = renaming.kind(&value.ty);
            let is_needed = held.contains(value)
                || kind.is_canonical(&value.id)
                || kind.declared().is_none() && kind.might_be(&value.id);
            if renaming.ids.contains_key(value) || !is_needed {
                continue;
            }
            let count = counts.entry(&value.ty).or_default();
            let id = kind.id(*count).unwrap_or_else(|| value.id.clone());
            *count += 1;
            renaming.originals.insert(Value::new(&value.ty, &id), value.id.clone());
            renaming.ids.insert(value.clone(), id);
        }
        let strays: Vec<&Value> = others.iter().filter(|value| !renaming.ids.contains_key(*value)).collect();
        for (n, value) in strays.into_iter().enumerate().filter(|(n, _)| n % 3 > 0) {
            let kind = renaming.kind(&value.ty);
            let mut held = renaming.ids.iter().filter(|(held, _)| held.ty == value.ty).map(|(_, id)| id);
            let alike = held.nth(n % 2).and_then(|id| kind.look_alike(id, n));
            let Some(alike) = alike.filter(|_| kind.declared().is_some()) else { continue };
            let new = Value::new(&value.ty, &alike);
            if !renaming.originals.contains_key(&new) && !others.contains(&new) {
                renaming.originals.insert(new, value.id.clone());
                renaming.strays.insert(value.clone(), alike);
            }
        }
        renaming
    }

    /// Keeps all ids; a type's column holds those that are written as its kind's literals are.
    pub(crate) fn identity(kinds: BTreeMap<String, Kind>, values: &BTreeSet<Value>) -> Self {
        let kind = |value: &Value| kinds.get(&value.ty).copied().unwrap_or(Kind::TEXT);
        let held = values.iter().filter(|value| kind(value).is_canonical(&value.id));
        let ids = held.map(|value| (value.clone(), value.id.clone())).collect();
        Self { kinds, ids, strays: BTreeMap::new(), originals: BTreeMap::new() }
    }

    /// The kind of a type's ids.
    pub(crate) fn kind(&self, ty: &str) -> Kind {
        self.kinds.get(ty).copied().unwrap_or(Kind::TEXT)
    }

    /// What the document says of which types; no mistake that the database would not see.
    pub(crate) fn declared(&self, dialect: Dialect) -> impl Iterator<Item = (&str, &'static str)> {
        let kinds = self.kinds.iter().filter(move |(_, kind)| !kind.is_mistake_unseen(dialect));
        kinds.filter_map(|(ty, kind)| Some((ty.as_str(), kind.declared()?)))
    }

    /// Whether what the document says of a type is a mistake, over which a database may refuse a statement.
    pub(crate) fn is_contradicted(&self) -> bool {
        self.kinds.values().any(|kind| kind.is_contradicted())
    }

    /// Whether the document declares a type of integers narrower than one of its ids.
    pub(crate) fn is_too_narrow(&self) -> bool {
        self.ids.iter().any(|(value, id)| self.kind(&value.ty).is_too_narrow(id))
    }

    /// Whether no table can hold the value.
    pub(crate) fn is_stray(&self, value: &Value) -> bool {
        !self.ids.contains_key(value) && self.kind(&value.ty).ids != Ids::Text
    }

    /// The value with its new id.
    pub(crate) fn value(&self, value: &Value) -> Value {
        Value {
            ty: value.ty.clone(),
            id: self.ids.get(value).or_else(|| self.strays.get(value)).unwrap_or(&value.id).clone(),
        }
    }

    /// The facts with their new ids.
    pub(crate) fn facts(&self, facts: &[Fact]) -> Vec<Fact> {
        let fact = |fact: &Fact| Fact {
            predicate: fact.predicate.clone(),
            args: fact.args.iter().map(|arg| self.value(arg)).collect(),
        };
        facts.iter().map(fact).collect()
    }

    /// The question with its new ids.
    pub(crate) fn question(&self, question: &Question) -> Question {
        let mut question = question.clone();
        for var in &mut question.vars {
            let ty = var.ty.clone().unwrap_or_default();
            let new = |id: &String| self.value(&Value::new(&ty, id)).id;
            var.domain = match &var.domain {
                Domain::Given(id) => Domain::Given(new(id)),
                Domain::GivenOneOf(ids) => Domain::GivenOneOf(ids.iter().map(new).collect()),
                Domain::Wanted => Domain::Wanted,
                Domain::Ignored => Domain::Ignored,
            };
        }
        question
    }

    /// The value that has this id in the tables.
    pub(crate) fn original(&self, ty: &str, id: &str) -> Value {
        let new = Value::new(ty, id);
        self.originals.get(&new).map_or_else(|| new.clone(), |id| Value::new(ty, id))
    }
}
