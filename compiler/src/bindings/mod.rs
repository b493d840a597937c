//! Data bindings: which of the caller's queries return which facts.
//!
//! In: the document's YAML text. Out: [`Bindings`], in which each bound query is parsed and ready to be
//! inserted into a statement in parentheses. Afterwards no query writes, closes a parenthesis that it did not
//! open, or contains a comment, and each fact's key is a predicate with typed arguments.
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
//! `tables` is a promise: the column is unique, and a filter over exactly this column is used in a query in
//! which the table has this name. The filter may then read the row's other columns instead of looking the row
//! up again.

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
    /// The dialect of the caller's database.
    pub dialect: Dialect,
    /// The bound facts, in the document's order. Several may feed one predicate: they form a union.
    pub facts: Vec<Binding>,
    /// The SQL type of the columns that hold a type's ids.
    pub sql_types: IndexMap<String, SqlType>,
    /// The table whose rows are the values of a type.
    pub tables: IndexMap<String, RowTable>,
    /// The keys that were ignored, if the document is a sync configuration.
    pub sync_keys: Vec<SyncKey>,
}

/// A key that belongs to a sync configuration and means nothing in data bindings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyncKey {
    /// Its name.
    pub key: String,
    /// The line of its first occurrence.
    pub line: usize,
    /// How many facts have it; 0 for a key of the document itself.
    pub facts: usize,
}

impl Bindings {
    /// Whether a column of a bound query is the unique column of a promised table.
    pub(crate) fn reads(&self, binding: usize, column: usize, promised: &RowTable) -> bool {
        let bound = self.facts.get(binding);
        bound.and_then(|bound| bound.query.plain.as_ref()).is_some_and(|plain| {
            plain.table == promised.table && plain.columns.get(column) == Some(&promised.column)
        })
    }
}

/// A bound fact: the rows of a query are facts of a predicate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The key as written.
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

/// A caller's query that is safe to insert in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundQuery {
    /// Its text: one statement, no comment, no trailing `;`, one space where there was white space.
    pub text: String,
    /// Every word in it, in lower case and without quotes; generated names avoid these.
    pub words: Vec<String>,
    /// Its parts, if it only selects columns of one table.
    pub plain: Option<PlainQuery>,
}

/// A query of the form `SELECT column, … FROM table [WHERE condition]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainQuery {
    /// The table as the query names it, with its schema if given.
    pub table: Vec<Name>,
    /// The selected columns, without a qualifier.
    pub columns: Vec<Name>,
    /// The condition, with the columns marked so that they can be qualified; empty if there is none. It can
    /// be joined to others by `AND`: an `OR` in it is parenthesised.
    pub condition: Vec<ConditionPart>,
}

/// A part of a plain query's condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConditionPart {
    /// Literal SQL text.
    Text(String),
    /// A column of the table, without a qualifier.
    Column(Name),
}

/// The column of a filter: an expression over one row of the caller's query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnExpr {
    /// Its text, parenthesised unless it is a name or a cast of one.
    pub text: String,
    /// The parts of the name, if it is a column, perhaps qualified.
    pub name: Option<Vec<Name>>,
    /// Every word in it, in lower case and without quotes; generated names avoid these.
    pub words: Vec<String>,
}

/// The table whose rows are the values of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// The table, with its schema if given.
    pub table: Vec<Name>,
    /// Its unique column with the ids.
    pub column: Name,
}

/// The SQL type of the columns that hold a type's ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlType {
    /// The type's name as used in casts.
    pub name: String,
    /// The family of its values.
    pub family: Family,
}

/// A family of SQL types, whose values compare without a cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Whole numbers in columns of up to 64 bits.
    Integer,
    /// Whole numbers of any size.
    Numeric,
    /// 64-bit whole numbers in a SQLite column, which also stores any other value as given.
    IntegerAffinity,
    /// Text of any length, compared byte by byte.
    Text,
    /// Text in a column that pads it with trailing blanks, which are not part of the value.
    Padded,
    /// UUIDs, canonical in lower case with hyphens.
    Uuid,
    /// Any other type; compared as text.
    Other,
    /// A type name used for columns of several families; compared as if the type were unknown.
    Ambiguous,
}

/// How an id is compared with the values of a column of some type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fit {
    /// As a value of the type.
    Value,
    /// As a whole number beyond 64 bits.
    Wide,
    /// As text: a column of the type may print it, but it is not a value in the type's canonical form.
    Text,
    /// Not at all: no column of the type prints it.
    Never,
}

/// An error in a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BindingsError {
    /// The line, from 1, if known.
    pub line: Option<usize>,
    /// The message, with the key and the reason.
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
