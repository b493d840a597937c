//! How each test, set and comparison of a statement is evaluated.
//!
//! In: a part of a plan, where it is printed, how its values are represented, and what the database can do.
//! Out: a strategy. The printer prints what was decided, and the [`outline`](super::outline) reports it.
//!
//! These decisions are no pass of `optimise`, since the algebra cannot express their results: each is a
//! spelling of the same condition. A set and a bound also depend on how columns are represented, which is
//! known only once the whole plan is.

use super::at::{At, Siblings, SourceScope};
use super::local::filter::{Filter, LookedUp};
use super::local::target::Local;
use super::lower::Lowering;
use super::representation::Representation;
use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, Table, TableBody, TableId};
use crate::catalog::SourceId;
use crate::dialect::Features;
use crate::ir::CompareOp;
use crate::keys::Keys;

/// How a test of whether a select has a row is evaluated.
#[derive(Clone, Debug)]
pub(super) enum TestStrategy<'s> {
    /// `EXISTS (query)`
    Probe(Fence),
    /// `(SELECT column FROM table WHERE key = …) IN (set)`
    LookedUp(KeyedRow<'s>),
    /// `value <= ANY(ARRAY(set))`
    Bounded(NumberBound),
}

/// Whether a query is planned apart from the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fence {
    /// It is, by `OFFSET 0`.
    Around,
    /// That is left to the database.
    Absent,
}

/// A row that is found by its key, one of whose columns is looked up in a set that is the same for all rows.
#[derive(Clone, Debug)]
pub(super) struct KeyedRow<'s> {
    /// The row, and the column as its output.
    pub(super) row: Select,
    /// How the column is represented.
    pub(super) representation: Representation,
    /// The set.
    pub(super) set: &'s [Select],
}

/// A value that is only compared with the numbers of a small set, which is made once.
#[derive(Clone, Debug)]
pub(super) struct NumberBound {
    /// The value, from around the test.
    pub(super) value: Expr,
    /// How it must compare with one of the numbers.
    pub(super) op: CompareOp,
    /// The numbers.
    pub(super) set: Select,
    /// How they are represented.
    pub(super) representation: Representation,
}

/// How a value is looked up in a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SetStrategy {
    /// `value = ANY(ARRAY(query))`, for a value that an index finds. Without one, each row would search the
    /// array from end to end.
    Array,
    /// `value IN (SELECT unnest(ARRAY(query)))`. A query that is estimated to be too large for a hash table
    /// would be read for each row; an array is estimated at ten elements.
    HashedElements,
    /// `value IN (query)`
    Subquery,
}

/// The selects of a set whose values are compared alike.
#[derive(Clone, Debug)]
pub(super) struct SetPart<'s> {
    /// The selects.
    pub(super) selects: Vec<&'s Select>,
    /// How the value is compared with theirs.
    pub(super) comparison: ComparisonStrategy,
    /// How it is looked up.
    pub(super) strategy: SetStrategy,
    /// Whether the database must not make a join of it. A join could compare each row with each element: it,
    /// too, counts on ten of them.
    pub(super) stays_test: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComparisonStrategy {
    /// As they are represented, so that an index serves.
    Native,
    /// As texts, by their bytes.
    Text,
    /// In both ways: an index finds rows, some of which only the bytes exclude.
    NativeAndText,
}

/// How a filter's column is looked up among the keys of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyStrategy {
    /// `EXISTS (SELECT 1 FROM table WHERE key = column AND …)`, which the database may join from either side.
    Row,
    /// Among all keys that pass.
    Set(SetStrategy),
}

/// How rows are read by a query that is planned by how many they seem to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowStrategy {
    /// From an array of their one column, which is estimated at ten elements.
    Array,
    /// As they are.
    Query,
}

impl Fence {
    /// For a test inside a test.
    pub(super) fn nested(features: &Features) -> Self {
        if features.fences_alternatives { Self::Around } else { Self::Absent }
    }
}

impl SetStrategy {
    /// For a set that is made once, and a value for which there is an index.
    fn indexed(features: &Features) -> Self {
        if features.arrays_are_looked_up { Self::Array } else { Self::Subquery }
    }

    /// For a set that is made once, and a value without an index, or rows that are all looked at anyway.
    fn hashed(features: &Features) -> Self {
        if features.arrays_are_looked_up { Self::HashedElements } else { Self::Subquery }
    }
}

impl ComparisonStrategy {
    /// For values that are represented like these.
    pub(super) fn of(op: CompareOp, left: &Representation, right: &Representation) -> Self {
        if !left.compares_natively_with(right) {
            Self::Text
        } else if !(left.is_inexact() || right.is_inexact()) {
            Self::Native
        } else if op == CompareOp::Equal {
            Self::NativeAndText
        } else {
            Self::Text
        }
    }
}

impl KeyStrategy {
    /// For the keys of a filter.
    pub(super) fn of(filter: &Filter, looked_up: &LookedUp, features: &Features) -> Self {
        let Filter { literals, conditioned, rows, set, .. } = filter;
        let is_alone = literals.is_empty() && conditioned.is_empty() && rows.is_empty() && set.is_empty();
        if features.joins_tests && looked_up.is_qualified && is_alone {
            Self::Row
        } else {
            Self::Set(SetStrategy::indexed(features))
        }
    }
}

impl RowStrategy {
    /// For rows of so many columns.
    pub(super) fn of(n_columns: usize, features: &Features) -> Self {
        if features.arrays_count_as_few && n_columns == 1 { Self::Array } else { Self::Query }
    }
}

/// How a fixpoint over the whole state reads another table. A recursive one is estimated at many rows.
pub(super) fn read_by_state(state: &Table, id: TableId, read: &Table, features: &Features) -> RowStrategy {
    let is_read = state.body.selects().any(|select| select.n_readings(id) > 0);
    match read.body {
        TableBody::Recursive { .. } if is_read => RowStrategy::of(read.n_columns, features),
        TableBody::Recursive { .. } | TableBody::Union(_) | TableBody::WholeState { .. } => {
            RowStrategy::Query
        }
    }
}

/// Where the alternatives of a condition are printed.
pub(super) fn at_alternatives<'p>(at: At<'p>, branches: &[Select]) -> At<'p> {
    let siblings = if branches.len() > 1 { Siblings::Present } else { Siblings::Absent };
    // This test runs only for the few rows that match the denied comparisons, so its sets are not hashed.
    let at = if branches.iter().any(exempts) { at.in_test() } else { at };
    At { siblings, ..at }
}

/// Whether an alternative only denies comparisons with the enclosing row.
fn exempts(select: &Select) -> bool {
    matches!((select.from.as_slice(), select.filter.as_slice()), ([], [Condition::None(denied)])
        if denied.iter().all(Select::reads_nothing))
}

impl Lowering<'_, Local<'_>> {
    /// How a test of whether a select has a row is evaluated.
    pub(super) fn test_strategy<'s>(&self, at: At<'_>, select: &'s Select) -> TestStrategy<'s> {
        if let Some(keyed) = self.keyed_row(at, select) {
            return TestStrategy::LookedUp(keyed);
        }
        if let Some(bound) = self.number_bound(at, select) {
            return TestStrategy::Bounded(bound);
        }
        // At the top the choice between probing and hashing is left to the database, unless the filter has
        // made it.
        let is_left_open = at.depth == 0 && !at.hashes_sets;
        let fence = if is_left_open { Fence::Absent } else { Fence::nested(self.inputs.features) };
        TestStrategy::Probe(fence)
    }

    /// If the test is of one row that is found by its key, and one of its columns is looked up in a set that
    /// is the same for every row.
    fn keyed_row<'s>(&self, at: At<'_>, select: &'s Select) -> Option<KeyedRow<'s>> {
        let [From { alias, kind: FromKind::Source(source) }] = select.from.as_slice() else { return None };
        if at.depth > 0 || !at.hashes_sets || !self.inputs.features.counts_sets_per_row {
            return None;
        }
        let is_set = |condition: &&Condition| {
            matches!(condition, Condition::In { .. }) && free_aliases(condition) == [*alias]
        };
        let (sets, others): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_set);
        let [Condition::In { expr, selects }] = sets.as_slice() else { return None };
        let is_simple =
            |condition: &&Condition| matches!(condition, Condition::Compare { .. } | Condition::OneOf { .. });
        let is_found = others.iter().any(|condition| self.finds_by_key(condition, *alias, *source));
        if !is_found || !others.iter().all(is_simple) {
            return None;
        }
        let filter = others.into_iter().cloned().collect();
        let row = Select { from: select.from.clone(), filter, output: vec![*expr] };
        Some(KeyedRow { row, representation: self.represent(at.inside(select), *expr), set: selects })
    }

    /// Whether a condition is an equality of a source's unique column with a value from elsewhere.
    fn finds_by_key(&self, condition: &Condition, alias: Alias, source: SourceId) -> bool {
        let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return false };
        match (*left, *right) {
            (Expr::Column { alias: own, column }, other) | (other, Expr::Column { alias: own, column })
                if own == alias && other.alias() != Some(alias) =>
            {
                let keys = Keys { catalog: self.inputs.catalog, bindings: self.target.caller.bindings };
                keys.is_key(source, column)
            }
            _ => false,
        }
    }

    /// If the test only compares a value from around it with the numbers of a small set.
    fn number_bound(&self, at: At<'_>, select: &Select) -> Option<NumberBound> {
        let is_own =
            |expr: Expr| expr.alias().is_some_and(|alias| select.from.iter().any(|from| from.alias == alias));
        let is_around = |condition: &&Condition| {
            let mut given = false;
            condition.for_each_expr(&mut |expr| given |= matches!(expr, Expr::Given(_)));
            given
                || !free_aliases(condition).into_iter().all(|alias| is_own(Expr::Column { alias, column: 0 }))
        };
        let (links, inner): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_around);
        let [Condition::Compare { op, left, right }] = links.as_slice() else { return None };
        let (value, op, own) =
            if is_own(*left) { (*right, op.turned(), *left) } else { (*left, *op, *right) };
        let representation = self.represent(at.inside(select), own);
        let is_order = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let filter = inner.into_iter().cloned().collect();
        let set = Select { from: select.from.clone(), filter, output: vec![own] };
        let anchors = Anchors { catalog: self.inputs.catalog, tables: at.tables };
        let is_bound = self.inputs.features.arrays_are_looked_up
            && is_order
            && is_own(own)
            && !is_own(value)
            && representation.is_integer()
            && anchors.is_anchored(&set);
        is_bound.then_some(NumberBound { value, op, set, representation })
    }

    /// How a value that is represented like this is looked up in a set: in each of these parts.
    pub(super) fn set_parts<'s>(
        &self,
        at: At<'_>,
        representation: &Representation,
        selects: &'s [Select],
    ) -> Vec<SetPart<'s>> {
        let is_same = |select: &&Select| {
            let at = At { scope: SourceScope::of(select), ..at };
            let output = select.output.first().map(|expr| self.represent(at, *expr));
            // A value without a collation would be compared by that of the set's column.
            let is_exact = |output: &Representation| {
                *output != Representation::Collated || *representation == Representation::Collated
            };
            output.is_some_and(|output| output.compares_natively_with(representation) && is_exact(&output))
        };
        let (native, text): (Vec<&Select>, Vec<&Select>) = selects.iter().partition(is_same);
        // Padded values ignore blanks at the end, which a VARCHAR in the set may have.
        let of_native = if representation.is_padded() {
            ComparisonStrategy::NativeAndText
        } else {
            ComparisonStrategy::Native
        };
        let parts = [(native, of_native), (text, ComparisonStrategy::Text)].into_iter();
        let parts = parts.filter(|(selects, _)| !selects.is_empty());
        parts
            .map(|(selects, comparison)| {
                let features = self.inputs.features;
                // No index finds a value that is cast.
                let is_cast = comparison == ComparisonStrategy::Text && !representation.is_text();
                let strategy = if is_cast || at.hashes_sets {
                    SetStrategy::hashed(features)
                } else {
                    SetStrategy::indexed(features)
                };
                let stays_test = features.joins_sets && (is_cast || at.hashes_sets && at.depth > 0);
                SetPart { selects, comparison, strategy, stays_test }
            })
            .collect()
    }
}
