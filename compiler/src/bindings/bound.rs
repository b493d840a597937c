//! What a document binds: facts to queries, SQL types to the types of ids, tables to types, and aliases to
//! tables.

use super::name::SqlName;
use super::types::SqlType;
use crate::catalog::{BindingId, ColumnId};
use crate::dialect::Dialect;
use crate::id_vec::IdVec;
use indexmap::IndexMap;

/// A parsed data-bindings document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// The dialect of the caller's database.
    pub dialect: Dialect,
    /// The bound facts, in the document's order. Several may feed one predicate: they form a union.
    pub facts: IdVec<BindingId, Binding>,
    /// The SQL type of the columns that hold a type's ids.
    pub sql_types: IndexMap<String, SqlType>,
    /// The table whose rows are the values of a type.
    pub tables: IndexMap<String, RowTable>,
    /// The aliases under which the caller's own queries read tables, each with its table.
    pub aliases: IndexMap<SqlName, Vec<SqlName>>,
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
    pub(crate) fn reads(&self, binding: BindingId, column: ColumnId, promised: &RowTable) -> bool {
        self.facts[binding].query.plain.as_ref().is_some_and(|plain| {
            plain.table == promised.table && plain.name(column) == Some(&promised.column)
        })
    }

    /// Whether the columns of two bound queries are the same column of the same table, or computed alike from
    /// its columns.
    pub(crate) fn are_same_column(&self, one: (BindingId, ColumnId), other: (BindingId, ColumnId)) -> bool {
        let plain = |(binding, column): (BindingId, ColumnId)| {
            let plain = self.facts[binding].query.plain.as_ref()?;
            Some((&plain.table, plain.columns.find(column)?))
        };
        let one = plain(one);
        one.is_some() && one == plain(other)
    }

    /// Whether the caller's queries call a promised table so: by its name, with or without its schema, or by
    /// a declared alias.
    pub(crate) fn is_called(&self, promised: &RowTable, name: &[SqlName]) -> bool {
        let declared = match name {
            [] => return false,
            [alias] => self.aliases.get(alias),
            _ => None,
        };
        declared.map_or_else(|| promised.table.ends_with(name), |table| *table == promised.table)
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
    /// One entry per argument of the predicate.
    pub args: Vec<BindingArg>,
    /// Where the rows are.
    pub query: BoundQuery,
}

impl Binding {
    /// Whether the query may read a table. Schemas are ignored, because a query may leave them out.
    pub fn may_read(&self, table: &[SqlName]) -> bool {
        let Some(name) = table.last() else { return false };
        match &self.query.plain {
            Some(plain) => plain.table.last() == Some(name),
            None => self.query.words.contains(&name.folded().to_lowercase()),
        }
    }
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

impl BindingArg {
    /// The name of its type.
    pub fn ty(&self) -> &str {
        match self {
            Self::Column { ty } | Self::Constant { ty, .. } => ty,
        }
    }
}

/// A caller's query that is safe to insert in parentheses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundQuery {
    /// Its text: one statement, no comment, no trailing `;`, one space where there was white space.
    pub text: String,
    /// Every word in it, in lower case and without quotes; generated names avoid these.
    pub words: Vec<String>,
    /// Whether something in it is cast.
    pub casts: bool,
    /// Its parts, if it only selects columns of one table, or what is computed from them.
    pub plain: Option<PlainQuery>,
}

/// A query of the form `SELECT value, … FROM table [WHERE condition]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainQuery {
    /// The table as the query names it, with its schema if given.
    pub table: Vec<SqlName>,
    /// What it selects.
    pub columns: IdVec<ColumnId, PlainColumn>,
    /// The condition, with the columns marked so that they can be qualified; empty if there is none. It can
    /// be joined to others by `AND`: an `OR` in it is parenthesised.
    pub condition: Vec<RowPart>,
    /// The columns that the condition obviously demands not to be NULL.
    pub not_null: Vec<SqlName>,
    /// The columns that the condition obviously demands to equal a literal, or one of several.
    pub fixed: Vec<SqlName>,
    /// Whether the condition is obviously never NULL itself: it only has tests such as `IS NOT NULL`.
    pub is_never_null: bool,
}

impl PlainQuery {
    /// The name of a column of the table that the query selects; `None` if it selects a computed value there.
    pub fn name(&self, column: ColumnId) -> Option<&SqlName> {
        match self.columns.find(column)? {
            PlainColumn::Named(name) => Some(name),
            PlainColumn::Computed(_) => None,
        }
    }
}

/// What a plain query selects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlainColumn {
    /// A column of the table, without a qualifier.
    Named(SqlName),
    /// A value computed from columns of the row, such as `org || '/' || no`.
    Computed(Vec<RowPart>),
}

/// A part of a text about one row of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowPart {
    /// Literal SQL text.
    Text(String),
    /// A column of the table, without a qualifier.
    Column(SqlName),
}

impl RowPart {
    /// The text over a row that is called `alias`, in parentheses.
    pub(crate) fn over(parts: &[Self], alias: &str) -> String {
        let text = |part: &Self| match part {
            Self::Text(text) => text.clone(),
            Self::Column(column) => format!("{alias}.{column}"),
        };
        format!("({})", parts.iter().map(text).collect::<String>())
    }
}

/// The column of a filter: an expression over one row of the caller's query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ColumnExpr {
    /// Its text, parenthesised unless it is a name or a cast of one.
    pub text: String,
    /// The parts of the name, if it is a column, perhaps qualified.
    pub name: Option<Vec<SqlName>>,
    /// Every word in it, in lower case and without quotes; generated names avoid these.
    pub words: Vec<String>,
}

impl ColumnExpr {
    /// Whether it is a name with its table, which means the same inside a query.
    pub(crate) fn is_qualified(&self) -> bool {
        self.name.as_ref().is_some_and(|name| name.len() > 1)
    }
}

/// The table whose rows are the values of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowTable {
    /// The table, with its schema if given.
    pub table: Vec<SqlName>,
    /// Its unique column with the ids.
    pub column: SqlName,
}
