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
//! aliases:                                              # what queries around filters call a table
//!   i: issues
//! dialect: postgresql
//! ```
//!
//! `tables` is a promise: the column is unique, and a filter over exactly this column is used in a query in
//! which the table has this name. The filter may then read the row's other columns instead of looking the row
//! up again. `aliases` promises the same for a filter over `i.id`.

mod bound;
mod column;
mod document;
mod error;
mod format;
mod grammar;
mod forbidden;
mod key;
mod lexer;
mod misplaced;
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

pub use bound::{
    Binding, BindingArg, Bindings, BoundQuery, ColumnExpr, PlainColumn, PlainQuery, RowPart, RowTable,
    SyncKey,
};
pub use column::{column, output_name};
pub use document::parse;
pub use error::BindingsError;
pub use format::format;
pub use name::SqlName;
pub use types::{Family, Fit, SqlType};

pub(crate) use crate::primitive::{is_uuid, is_whole};
