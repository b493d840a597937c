//! Relations that hold facts: the tables, rows and bound queries that a statement may read.
//!
//! Data types only. For a question to the store, the engine builds a [`Catalog`] from the store's tables and
//! the request's context facts; for a local check, it is built from the caller's data bindings. The compiler
//! treats all relations alike. Several relations of one predicate form a union.

use crate::id_vec::{IdVec, id};

id!(/// A column of a source of rows, by its place among the source's columns: of a relation of the catalog, a
    /// bound query, a table of a plan or a select, or of rows of literals. It has a meaning only with its
    /// source.
    pub ColumnId, "column");

id!(/// The rows of one relation that come with a request, see [`RelationSource::Context`].
    pub ContextId, "context");

id!(/// A bound fact of a data-bindings document, with its query.
    pub BindingId, "binding");

id!(/// A relation, by its place in the catalog. Results of compiling with a catalog name only its relations.
    pub SourceId, "source");

impl ColumnId {
    /// The first column of a source.
    pub const FIRST: Self = Self(0);

    /// The entry of the column in a list that has one for each column of the source.
    #[expect(clippy::indexing_slicing, reason = "a column is one of the source that the list is about")]
    pub(crate) fn of<T>(self, columns: &[T]) -> &T {
        &columns[self.index()]
    }

    /// The columns of a source with `n_columns`.
    pub(crate) fn all(n_columns: usize) -> impl Iterator<Item = Self> {
        (0..n_columns).map(Self::from_index)
    }
}

/// The relations that hold the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// In any order. The compiler keeps the order, so equal catalogs give equal SQL.
    pub relations: IdVec<SourceId, Relation>,
}

impl Catalog {
    /// Whether some facts are rows of the caller's database.
    pub(crate) fn has_bound(&self) -> bool {
        self.relations.iter().any(|relation| matches!(relation.source, RelationSource::Bound { .. }))
    }
}

/// Rows that are facts of one predicate with fixed argument types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The predicate's name.
    pub predicate: String,
    /// One entry per argument of the predicate.
    pub args: Vec<RelationArg>,
    /// The origin of its rows.
    pub source: RelationSource,
}

impl Relation {
    /// The type and name of each column, in argument order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &str)> {
        self.args.iter().filter_map(|arg| match arg {
            RelationArg::Column { ty, column } => Some((ty.as_str(), column.as_str())),
            RelationArg::Constant { .. } => None,
        })
    }

    /// The type and name of one column; `None` if it has no such column.
    pub(crate) fn column(&self, column: ColumnId) -> Option<(&str, &str)> {
        self.columns().nth(column.index())
    }

    /// The ids of its columns, in order.
    pub(crate) fn column_ids(&self) -> impl Iterator<Item = ColumnId> {
        self.columns().enumerate().map(|(place, _)| ColumnId::from_index(place))
    }

    /// The key that binds the relation's facts: `has_relation(Doc:_, String:_, Folder:_)`.
    pub fn key(&self) -> String {
        let args = self.args.iter().map(|arg| match arg {
            RelationArg::Column { ty, .. } => format!("{ty}:_"),
            RelationArg::Constant { text, .. } => text.clone(),
        });
        format!("{}({})", self.predicate, args.collect::<Vec<_>>().join(", "))
    }
}

/// One argument of a relation's facts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RelationArg {
    /// A column of never-NULL text that holds the id.
    Column {
        /// The type's name.
        ty: String,
        /// The column's name.
        column: String,
    },
    /// Every fact has this value here.
    Constant {
        /// The type's name.
        ty: String,
        /// The value's text.
        text: String,
    },
}

impl RelationArg {
    /// The name of its type.
    pub(crate) fn ty(&self) -> &str {
        match self {
            Self::Column { ty, .. } | Self::Constant { ty, .. } => ty,
        }
    }
}

/// The origin of a relation's rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationSource {
    /// A table or view.
    Table {
        /// The schema that it is in; `None` if unqualified.
        schema: Option<String>,
        /// Its name.
        name: String,
    },
    /// Rows that come with the request, with one value per [`RelationArg::Column`] in argument order. Column
    /// names do not matter. The statement takes them as JSON, an array with one array per fact
    /// ([`Slot::Context`](crate::question::Slot::Context)), or as an array for each column
    /// ([`Slot::ContextColumn`](crate::question::Slot::ContextColumn)).
    Context {
        /// The parameter.
        slot: ContextId,
    },
    /// The rows of a bound query on the caller's database. Column names do not matter.
    Bound {
        /// The bound fact.
        binding: BindingId,
        /// Whether the bindings declare the SQL type of `String`: only then does an index serve equal texts.
        has_typed_texts: bool,
    },
}
