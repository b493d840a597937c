//! The relational algebra of one statement: which tables, in which order, joined how. No rules are left here.
//!
//! The data types are in [`plan`], [`select`] and [`ids`]. The other files are what several folders need to
//! do with a plan: [`visit`] its parts, find its [`equalities`], number its [`aliases`], see where it is
//! [`anchor`]ed, [`prune`](prune()) what nothing reads, [`print`] it, [`verify`] it between passes. A
//! [`Plan`] is a list of common table expressions, dependencies first, and one answer over them. Every select
//! joins its sources in the order in which it lists them; a condition is placed where all its columns are
//! known. `sql::lower` prints it for one dialect.
//!
//! What a plan refers to has ids of one type each: an [`Alias`] names a source of a select, a [`TableId`] a
//! table, a [`SourceId`](crate::catalog::SourceId) a relation of the catalog, an [`EmbeddedId`] rows of
//! literals. The last three index what they name, and indexing is total: [`verify`] alone reads plans that
//! may refer to nothing. A [`ColumnId`](crate::catalog::ColumnId) has a meaning only with its source: it is a
//! column of a relation, of a table, of the outputs of a select or of a row of literals, which are all one
//! for the source's reader. A variable of the question has the id that it has in [`crate::question`].

pub(crate) mod aliases;
pub(crate) mod anchor;
mod cost;
mod embedded;
pub(crate) mod equalities;
pub(crate) mod groups;
mod ids;
pub(crate) mod links;
mod nesting;
mod plan;
pub(crate) mod print;
pub(crate) mod probe;
mod prune;
pub(crate) mod readers;
#[cfg(test)]
pub(crate) mod sample;
mod select;
pub(crate) mod verify;
mod visit;

pub(crate) use embedded::{Embedded, LiteralRow, LiteralRows};
pub(crate) use ids::{Alias, EmbeddedId, TableId, TableRef};
pub(crate) use plan::{AnswerColumns, Plan, PlanAnswer, Range, Repeats, Table, TableBody};
pub(crate) use prune::prune;
pub(crate) use select::{Condition, Expr, From, FromKind, ITSELF, Select, SetUse};
