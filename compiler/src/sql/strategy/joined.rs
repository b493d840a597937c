//! Recursions that are joined with a caller's tables.
//!
//! SQLite estimates a recursive table at 1,048,576 rows, whatever it starts from. From 3.38 to 3.40 it
//! expects as many searches of each table after it in a join. If that table is analysed, smaller, and has a
//! condition of its own, such as `parent_id IS NOT NULL`, all of it is read to make a Bloom filter of its
//! keys (`whereCheckIfBloomFilterIsUseful` in where.c), though a check follows a few rows. Since 3.41 it
//! makes one only if all tables before are analysed as well, which no recursive table is.
//!
//! A condition that every row of the recursion meets, and that SQLite is told is rare, makes these rows a
//! hundred: so few that only a table of a few hundred rows is read, and enough that a column without an index
//! still gets an automatic one. Rows of further recursions multiply them, so they count as one.

use crate::algebra::{Alias, From, FromKind, Select, TableBody, TableId, TableRef};
use crate::sql::at::{At, SelectOutput};
use crate::sql::lower::Inputs;
use indexmap::IndexSet;

/// A hundred of 1,048,576 rows.
const HUNDRED: &str = "0.0001";

/// One of 1,048,576 rows.
const ONE: &str = "0.000001";

/// The recursions of a select that must be estimated at fewer rows, each with the rate of them: those with a
/// caller's table after them.
pub(in crate::sql) fn overestimated(
    at: At<'_>,
    select: &Select,
    inputs: &Inputs<'_>,
) -> Vec<(Alias, &'static str)> {
    // Only a caller's database has any version, and tables that are analysed.
    if inputs.keys.is_none() || !inputs.features.makes_bloom_filters {
        return Vec::new();
    }
    let is_callers = |from: &From| matches!(from.kind, FromKind::Source(_));
    let last = select.from.iter().rposition(is_callers).unwrap_or(0);
    let before = select.from.iter().take(last);
    let recursions = before.filter(|from| has_many_rows(at, from.kind)).map(|from| from.alias);
    recursions.zip(std::iter::once(HUNDRED).chain(std::iter::repeat(ONE))).collect()
}

/// Whether a source has the rows of a recursion, as no join has made them fewer.
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
            // Its rows are those of a JSON array, which are estimated at few.
            TableBody::WholeState { .. } => {}
            TableBody::Union(selects) => read.extend(selects.iter().flat_map(tables_at_end)),
        }
        next += 1;
    }
    false
}

/// The tables of a select that no caller's table comes after.
fn tables_at_end(select: &Select) -> impl Iterator<Item = TableId> {
    let is_callers = |from: &&From| matches!(from.kind, FromKind::Source(_));
    select.from.iter().rev().take_while(move |from| !is_callers(from)).filter_map(|from| from.kind.table())
}
