//! Keeps SQLite from building Bloom filters for joins with a recursion.
//!
//! SQLite estimates a recursive table at 1,048,576 rows, whatever it starts from. Versions 3.38 to 3.40
//! expect as many searches of each table that follows it in a join. If such a table is analysed, smaller, and
//! has a condition of its own, such as `parent_id IS NOT NULL`, they read all of it to build a Bloom filter
//! of its keys (`whereCheckIfBloomFilterIsUseful` in where.c), although a check follows only a few rows.
//! Since 3.41 every table before it must be analysed as well, and a recursive table never is.
//!
//! So the join gets a condition that is always true, with a `likelihood` that lowers the estimate to a
//! hundred rows. With so few, SQLite reads at most a table of a few hundred rows, but still builds an
//! automatic index on a column that has none. A second recursion would multiply the estimate, so it is
//! estimated at one row.

use crate::algebra::{Alias, From, FromKind, Select, TableBody, TableId, TableRef};
use crate::sql::at::{At, SelectOutput};
use crate::sql::lower::Inputs;
use indexmap::IndexSet;

/// The rate that leaves about a hundred of 1,048,576 rows.
const HUNDRED: &str = "0.0001";

/// The rate that leaves about one of 1,048,576 rows.
const ONE: &str = "0.000001";

/// The recursions of a select whose estimate must be lowered, because a table of the caller follows them.
/// Each comes with the likelihood that lowers it.
pub(in crate::sql) fn overestimated(
    at: At<'_>,
    select: &Select,
    inputs: &Inputs<'_>,
) -> Vec<(Alias, &'static str)> {
    // The store has no such version of SQLite, and never analyses its tables.
    if inputs.keys.is_none() || !inputs.features.builds_bloom_filters {
        return Vec::new();
    }
    let is_callers = |from: &From| matches!(from.kind, FromKind::Source(_));
    let last = select.from.iter().rposition(is_callers).unwrap_or(0);
    let before = select.from.iter().take(last);
    let recursions = before.filter(|from| has_many_rows(at, from.kind)).map(|from| from.alias);
    recursions.zip(std::iter::once(HUNDRED).chain(std::iter::repeat(ONE))).collect()
}

/// Whether a source is estimated at as many rows as a recursion: it is one, or a union that ends in one.
fn has_many_rows(at: At<'_>, kind: FromKind) -> bool {
    let ((FromKind::Table(TableRef::Table(id)), _)
    | (FromKind::Table(TableRef::Itself), SelectOutput::Table(id))) = (kind, at.output)
    else {
        return false;
    };
    let mut read = IndexSet::from([id]);
    let mut next = 0;
    while let Some(table) = read.get_index(next).map(|id| id.of(at.tables)) {
        match &table.body {
            TableBody::Recursive { .. } => return id.of(at.tables).n_columns > 0,
            // Its rows come from a JSON array, for which the estimate is low.
            TableBody::WholeState { .. } => {}
            TableBody::Union(selects) => read.extend(selects.iter().flat_map(tables_at_end)),
        }
        next += 1;
    }
    false
}

/// The tables of a select that no table of the caller follows.
fn tables_at_end(select: &Select) -> impl Iterator<Item = TableId> {
    let is_callers = |from: &&From| matches!(from.kind, FromKind::Source(_));
    select.from.iter().rev().take_while(move |from| !is_callers(from)).filter_map(|from| from.kind.table())
}
