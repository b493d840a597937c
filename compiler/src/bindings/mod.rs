//! The data-bindings document: which of the caller's own queries hold which facts.
//!
//! In: the document's text, YAML. Out: [`Bindings`], in which each bound query was parsed once and stands
//! ready to be put between parentheses of a statement. Afterwards no query writes, closes a parenthesis that
//! it did not open, or holds a comment; a fact's key is a predicate with typed arguments.
//!
//! ```yaml
//! facts:
//!   has_role(User:_, String:_, Organization:_):
//!     query: SELECT user_id, role, org_id FROM memberships
//!   has_relation(Issue:_, parent, Repository:_):       # a bare word is a String constant
//!     query: SELECT id, repository_id FROM issues
//! sql_types:                                            # how ids are compared, and literals written
//!   Issue: integer
//! tables:                                               # where a type's rows are, by their unique column
//!   Issue: issues.id
//! dialect: postgresql
//! ```
//!
//! `tables` is a promise of the caller's: the column is unique, and a filter over exactly this column stands
//! in a query in which the table goes by this name. A filter may then read the row's other columns instead
//! of looking the row up again.

mod column;
mod document;
mod grammar;
mod guard;
mod key;
mod lexer;
mod name;
mod plain;
mod query;
mod reader;
mod sync;
mod token;
#[cfg(test)]
mod tests;
mod types;
mod yaml;

use crate::dialect::Dialect;
pub(crate) use crate::primitive::{is_uuid, is_whole};
pub use column::{column, output_name};
pub use document::parse;
use indexmap::IndexMap;
pub use name::Name;

/// A parsed data-bindings document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// The caller's database.
    pub dialect: Dialect,
    /// The bound facts, in the document's order. Several may feed one predicate: they form a union.
    pub facts: Vec<Binding>,
    /// How the ids of a type are held by the caller's columns.
    pub sql_types: IndexMap<String, SqlType>,
    /// The table whose rows are the values of a type.
    pub tables: IndexMap<String, RowTable>,
    /// What was passed over, if the document is the configuration of a sync: keys that mean nothing here.
    pub sync_keys: Vec<SyncKey>,
}

/// A key that means something to a sync and nothing to data bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncKey {
    /// Its name.
    pub key: String,
    /// The line on which it stands first.
    pub line: usize,
    /// How many facts have it; 0 for a key of the document itself.
    pub facts: usize,
}

impl Bindings {
    /// Whether a column of a bound query is the column of a table that is promised to be unique.
    pub(crate) fn reads(&self, binding: usize, column: usize, promised: &RowTable) -> bool {
        let bound = self.facts.get(binding);
        bound.and_then(|bound| bound.query.plain.as_ref()).is_some_and(|plain| {
            plain.table == promised.table && plain.columns.get(column) == Some(&promised.column)
        })
    }
}

/// One bound fact: the rows of a query are facts of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The key as the document has it.
    pub key: String,
    /// The key's line, from 1.
    pub line: usize,
    /// The predicate's name.
    pub predicate: String,
    /// One entry an argument of the predicate.
    pub args: Vec<BindingArg>,
    /// Where the rows are.
    pub query: BoundQuery,
}

/// One argument of a bound fact.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BindingArg {
    /// The next column of the query.
    Column {
        /// The type's name.
        ty: String,
    },
    /// Every row has this value here.
    Constant {
        /// The type's name.
        ty: String,
        /// The value's text.
        text: String,
    },
}

/// A query of the caller's, fit to stand between parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundQuery {
    /// Its text: one statement, no comment, no trailing `;`, one space where there was white space.
    pub text: String,
    /// Every word of it, in lower case and without quotes: names that ours must not be.
    pub words: Vec<String>,
    /// What it reads, if it is no more than columns of one table.
    pub plain: Option<PlainQuery>,
}

/// A query of the form `SELECT column, … FROM table [WHERE condition]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainQuery {
    /// The table as the query names it, schema and all.
    pub table: Vec<Name>,
    /// The selected columns, without a qualifier.
    pub columns: Vec<Name>,
    /// The condition, with places for the columns' qualifier; empty if there is none. It may be joined to
    /// others by `AND`: an `OR` within it stands between brackets.
    pub condition: Vec<ConditionPart>,
}

/// A part of a plain query's condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionPart {
    /// Text as it is.
    Text(String),
    /// A column of the table, without a qualifier.
    Column(Name),
}

/// The column that a filter looks at: an expression of the caller's over one row.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnExpr {
    /// Its text; between brackets unless it is a name or a cast of one.
    pub text: String,
    /// The parts of the name, if it is no more than a column, perhaps qualified.
    pub name: Option<Vec<Name>>,
    /// Every word of it, in lower case and without quotes: names that ours must not be.
    pub words: Vec<String>,
}

/// The table whose rows are the values of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// The table, schema and all.
    pub table: Vec<Name>,
    /// Its unique column with the ids.
    pub column: Name,
}

/// How the ids of a type are held by the caller's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// The type's name as it is written into casts.
    pub name: String,
    /// What its values look like.
    pub family: Family,
}

/// What the values of an SQL type look like: types of one family compare without a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Whole numbers in columns of up to 64 bits.
    Integer,
    /// Whole numbers of any size.
    Numeric,
    /// Whole numbers of 64 bits, in a column that keeps whatever else it is given as it is (SQLite).
    IntegerAffinity,
    /// Text of any length; compares byte by byte.
    Text,
    /// Text in a column that pads it with blanks at the end; they are no part of the value.
    Padded,
    /// UUIDs; canonical in lower case with hyphens.
    Uuid,
    /// Any other type; compared as text.
    Other,
    /// A name that stands for columns of several families; compared as if it were not told.
    Ambiguous,
}

/// How an id compares with the values of a column of some type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// As a value of the type.
    Value,
    /// As a whole number that no column of 64 bits holds.
    Wide,
    /// As text: a column of the type may show it, but it is no value in the type's canonical form.
    Text,
    /// With none: no column of the type shows it.
    Never,
}

/// Why a document is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingsError {
    /// The line, from 1, where it is known.
    pub line: Option<usize>,
    /// Names the key and the reason.
    pub message: String,
}

impl std::fmt::Display for BindingsError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "data bindings, line {line}: {}", self.message),
            None => write!(f, "data bindings: {}", self.message),
        }
    }
}

impl std::error::Error for BindingsError {}
