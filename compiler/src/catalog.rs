//! What relations hold the facts: the tables, rows and bound queries that a statement may read.
//!
//! In: nothing, these are types. The engine builds a [`Catalog`] for a hosted check from the store's
//! tables and the request's context facts; a local check builds one from the caller's data bindings. The
//! compiler treats every relation alike, so a hosted check is a local check with other bindings.
//! Several relations of one predicate form a union.

/// The relations that hold the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Catalog {
    /// In any order; the compiler keeps it, so equal catalogs give equal text.
    pub relations: Vec<Relation>,
}

/// One relation: rows that are facts of one predicate with fixed argument types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// The predicate's name.
    pub predicate: String,
    /// One entry an argument of the predicate.
    pub args: Vec<RelationArg>,
    /// Where the rows are.
    pub source: RelationSource,
}

impl Relation {
    /// The type and the name of each column, in the arguments' order.
    pub fn columns(&self) -> impl Iterator<Item = (&str, &str)> {
        self.args.iter().filter_map(|arg| match arg {
            RelationArg::Column { ty, column } => Some((ty.as_str(), column.as_str())),
            RelationArg::Constant { .. } => None,
        })
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

/// Where a relation's rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelationSource {
    /// A table or view; unqualified.
    Table {
        /// Its name.
        name: String,
    },
    /// Rows that come with the request, as one JSON parameter: an array of arrays of text, one inner
    /// array a fact, one element a [`RelationArg::Column`] in argument order (the columns' names do not
    /// matter). The statement asks for it as [`Slot::Context`](crate::question::Slot::Context).
    Context {
        /// Which parameter.
        slot: usize,
    },
    /// The rows of a query of the caller's, on the caller's database; the columns' names do not matter.
    Bound {
        /// Index into [`Bindings::facts`](crate::bindings::Bindings::facts).
        binding: usize,
    },
}
