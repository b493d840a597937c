//! Relations: which facts share a table, and the table's columns.
//!
//! A *signature* is a predicate with the types of its arguments and, for relationships, the relation's name:
//! `has_relation(Issue, "repository", Repository)` and `has_relation(Issue, "parent", Issue)` are two
//! signatures. Nearly every question fixes that name, and it may have a million facts, so a row of its table
//! holds only the two ids. Names come from outside but must be bounded, so facts whose names come after the
//! first [`MAX_NAMES`] share one table, which has a column for the name.
//!
//! ```text
//! has_relation(Issue:7, "repository", Repository:9)
//!   f3 (a0, a2), PRIMARY KEY (a0, a2)          look-ups by issue
//!   f3r ON f3 (a2, a0)                         look-ups by repository
//! ```

use super::error::StoreError;
use super::fact::{Fact, Value};
use portcullis_compiler::builtin::HAS_RELATION;
use portcullis_compiler::primitive::STRING;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// How many names of relationships between the same two types have their own tables.
pub(super) const MAX_NAMES: usize = 16;

/// One argument of a relation's facts. As JSON, `"User"` or `["String", "repository"]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StoredArg {
    /// Values of this type, in a column.
    Column(String),
    /// This type, and this one value.
    Fixed(String, String),
}

impl StoredArg {
    /// The type's name.
    pub fn ty(&self) -> &str {
        match self {
            Self::Column(ty) | Self::Fixed(ty, _) => ty,
        }
    }
}

/// A table with facts of one signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRelation {
    /// The predicate's name.
    pub predicate: String,
    /// The arguments. One without a column has the same value in every fact.
    pub args: Vec<StoredArg>,
    /// The table's name, `f<N>`.
    pub table: String,
}

impl StoredRelation {
    /// The relation with this number. This is the only place that builds an SQL name, and it uses the number.
    pub(super) fn numbered(id: i64, predicate: &str, args: Vec<StoredArg>) -> Self {
        Self { predicate: predicate.into(), args, table: format!("f{id}") }
    }

    /// The columns with their arguments. They hold values in compact form, and never NULL.
    pub fn columns(&self) -> impl DoubleEndedIterator<Item = (usize, String)> {
        let is_column = |(_, arg): &(usize, &StoredArg)| matches!(arg, StoredArg::Column(_));
        self.args.iter().enumerate().filter(is_column).map(|(idx, _)| (idx, Self::column(idx)))
    }

    /// The name of an argument's column.
    pub fn column(idx: usize) -> String {
        format!("a{idx}")
    }

    /// The columns' names, separated by commas.
    pub(super) fn key(&self) -> String {
        self.columns().map(|(_, column)| column).collect::<Vec<_>>().join(", ")
    }

    /// The fact with these ids in the columns.
    pub(super) fn fact(&self, ids: impl IntoIterator<Item = String>) -> Fact {
        let mut ids = ids.into_iter();
        let args = self.args.iter().map(|arg| match arg {
            StoredArg::Column(ty) => Value { ty: ty.clone(), id: ids.next().unwrap_or_default() },
            StoredArg::Fixed(ty, id) => Value::new(ty, id),
        });
        Fact::new(&self.predicate, args.collect())
    }
}

/// All relations at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relations {
    /// Different for any two different sets of relations of one open store.
    pub generation: u64,
    /// The schema of their tables, where tables have one.
    pub schema: Option<String>,
    /// Ordered by predicate, then arguments.
    pub relations: Vec<StoredRelation>,
}

/// The name of the relationship, if the fact is one.
fn name(fact: &Fact) -> Option<&Value> {
    match fact.args.as_slice() {
        [_, name, _] if fact.predicate == HAS_RELATION && name.ty == STRING => Some(name),
        _ => None,
    }
}

/// The arguments of the relation that a fact belongs to, among those of its predicate: its own relation,
/// unless there is none and there are enough names already.
pub(super) fn args_of<'r>(
    fact: &Fact,
    of_predicate: impl Iterator<Item = &'r StoredRelation>,
) -> Vec<StoredArg> {
    let own = own(fact);
    let (mut n_names, mut is_known) = (0, false);
    for relation in of_predicate {
        is_known |= relation.args == own;
        let is_named = relation.args.iter().any(|arg| matches!(arg, StoredArg::Fixed(..)));
        n_names += usize::from(is_named && relation.args.iter().map(StoredArg::ty).eq(fact.types()));
    }
    if !is_known && n_names >= MAX_NAMES { shared(fact) } else { own }
}

/// The stored form of a relation's arguments.
///
/// # Errors
/// [`StoreError::NoArguments`] if there are none.
pub(super) fn stored_args(predicate: &str, args: &[StoredArg]) -> Result<String, StoreError> {
    if args.is_empty() {
        return Err(StoreError::NoArguments(predicate.into()));
    }
    serde_json::to_string(args).map_err(|error| StoreError::Bug(error.to_string()))
}

/// The order of facts by signature. Facts that are equal here belong to one relation.
pub(super) fn order(a: &Fact, b: &Fact) -> Ordering {
    let types = || a.types().cmp(b.types());
    a.predicate.cmp(&b.predicate).then_with(types).then_with(|| name(a).cmp(&name(b)))
}

/// The signature of a fact, including its relation's name.
fn own(fact: &Fact) -> Vec<StoredArg> {
    let mut args = shared(fact);
    if let (Some(name), Some(arg)) = (name(fact), args.get_mut(1)) {
        *arg = StoredArg::Fixed(name.ty.clone(), name.id.clone());
    }
    args
}

/// The signature of all facts of the same types, with any name.
fn shared(fact: &Fact) -> Vec<StoredArg> {
    fact.types().map(|ty| StoredArg::Column(ty.into())).collect()
}
