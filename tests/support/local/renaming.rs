//! Ids as the caller's columns hold them: text, integers of two sizes, UUIDs.
//!
//! In: the ids of a page, text all of them. Out: for each type a [`Kind`] of column, and for each id that a
//! table or a list of candidates holds an id of this kind, one to one. An id that only stored facts or the
//! question mention stays what it is: `bob` in an integer column's type is an id that no row can have.
//!
//! A type keeps its ids if the policy names one of them. Text, integers and truth values that stand in facts
//! are what they are, whatever the type of their column.

use crate::support::notation::{Fact, Value};
use portcullis_compiler::ir::Program;
use portcullis_compiler::question::{Domain, Question};
use std::collections::{BTreeMap, BTreeSet};

/// What a type's ids look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// As the page has them, in columns of text; the document says nothing of the type.
    Text,
    /// The same, but the document says that it is text of some length.
    Varchar,
    /// Integers, and the document says so.
    Integer,
    /// Integers that no floating point number holds, and the document says so.
    Bigint,
    /// UUIDs, and the document says so.
    Uuid,
    /// Integers, of which the document says nothing.
    Undeclared,
}

impl Kind {
    /// The kinds in the order in which types take them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Integer, Self::Text, Self::Uuid, Self::Undeclared, Self::Bigint, Self::Varchar];

    /// The id of the type's `n`th value; `None` if ids stay as they are.
    fn id(self, n: usize) -> Option<String> {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        let id = match self {
            Self::Text | Self::Varchar => return None,
            // The ends of the range are ids too, and none sorts as its text does.
            Self::Integer | Self::Undeclared => match n {
                0 => i64::from(i32::MAX),
                1 => i64::from(i32::MIN),
                2 => 0,
                n if n % 2 == 0 => -n,
                n => 7 * n,
            }
            .to_string(),
            Self::Bigint => match n {
                0 => i64::MIN,
                n => 9_007_199_254_740_992 + n,
            }
            .to_string(),
            Self::Uuid => format!("{:08x}-c0de-4abc-8def-{:012x}", n * 0x1020_3041 % 0xffff_ffff, n),
        };
        Some(id)
    }

    /// Whether an id is written as the database writes it.
    fn is_canonical(self, id: &str) -> bool {
        match self {
            Self::Text | Self::Varchar => true,
            Self::Integer | Self::Undeclared => id.parse::<i32>().is_ok_and(|n| n.to_string() == id),
            Self::Bigint => id.parse::<i64>().is_ok_and(|n| n.to_string() == id),
            Self::Uuid => id.len() == 36 && self.might_be(id) && id.to_lowercase() == id,
        }
    }

    /// Whether a text that is no id of ours could be one of this kind. In a column of which the document says
    /// nothing, it could also be a literal that PostgreSQL refuses to compare with the column.
    fn might_be(self, id: &str) -> bool {
        match self {
            Self::Text | Self::Varchar => true,
            Self::Integer | Self::Bigint => id.trim().parse::<i128>().is_ok(),
            Self::Undeclared => Self::Integer.might_be(id) || Self::Uuid.might_be(id),
            Self::Uuid => id.len() >= 32 && id.chars().all(|c| c.is_ascii_hexdigit() || "{}-".contains(c)),
        }
    }
}

/// Ids in two forms: the page's, and the tables'.
pub(crate) struct Renaming {
    kinds: BTreeMap<String, Kind>,
    ids: BTreeMap<Value, String>,
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
        let is_named = |ty: &str| {
            program.constants.iter().any(|literal| program.types[literal.ty.index()].name.as_str() == ty)
        };
        let types: BTreeSet<&str> = held.iter().chain(others).map(|value| value.ty.as_str()).collect();
        let kinds: BTreeMap<String, Kind> = types
            .into_iter()
            .filter(|ty| !is_primitive(ty))
            .enumerate()
            .map(|(at, ty)| (ty.to_owned(), if is_named(ty) { Kind::Text } else { kind_of(at) }))
            .collect();
        let mut renaming = Self { kinds, ids: BTreeMap::new(), originals: BTreeMap::new() };
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for value in held.iter().chain(others) {
            let kind = renaming.kind(&value.ty);
            let is_needed = held.contains(value) || kind.might_be(&value.id);
            if renaming.ids.contains_key(value) || !is_needed {
                continue;
            }
            let count = counts.entry(&value.ty).or_default();
            let id = kind.id(*count).unwrap_or_else(|| value.id.clone());
            *count += 1;
            renaming.originals.insert(Value::new(&value.ty, &id), value.id.clone());
            renaming.ids.insert(value.clone(), id);
        }
        renaming
    }

    /// Keeps all ids; a type's column holds those that are written as its kind's literals are.
    pub(crate) fn identity(kinds: BTreeMap<String, Kind>, values: &BTreeSet<Value>) -> Self {
        let kind = |value: &Value| kinds.get(&value.ty).copied().unwrap_or(Kind::Text);
        let held = values.iter().filter(|value| kind(value).is_canonical(&value.id));
        let ids = held.map(|value| (value.clone(), value.id.clone())).collect();
        Self { kinds, ids, originals: BTreeMap::new() }
    }

    /// The kind of a type's ids.
    pub(crate) fn kind(&self, ty: &str) -> Kind {
        self.kinds.get(ty).copied().unwrap_or(Kind::Text)
    }

    /// The types of a kind that the document declares.
    pub(crate) fn declared(&self) -> impl Iterator<Item = (&str, Kind)> {
        let is_declared = |kind: Kind| !matches!(kind, Kind::Text | Kind::Undeclared);
        self.kinds.iter().map(|(ty, kind)| (ty.as_str(), *kind)).filter(move |(_, kind)| is_declared(*kind))
    }

    /// Whether no table can hold the value.
    pub(crate) fn is_stray(&self, value: &Value) -> bool {
        !self.ids.contains_key(value) && !matches!(self.kind(&value.ty), Kind::Text | Kind::Varchar)
    }

    /// The value with its new id.
    pub(crate) fn value(&self, value: &Value) -> Value {
        Value { ty: value.ty.clone(), id: self.ids.get(value).unwrap_or(&value.id).clone() }
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
