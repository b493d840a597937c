//! Shares look-ups by key: a row that many parts of a check look up is read once.
//!
//! In: a folded plan of a check. Out: the same plan with a table of one row where at least [`READINGS`]
//! selects look the same row up by its key: the resource itself, then what that row leads to by the key of
//! another table. Planning a look-up costs PostgreSQL more than the look-up, and a check is mostly planning.
//!
//! Only keys that the bindings promise are taken (`tables:`), so that the table is small. The answer does
//! not depend on the promise.

use super::setting::Setting;
use crate::algebra::{
    Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableId, TableRef,
};
use crate::bindings::Bindings;
use crate::catalog::{Catalog, ColumnId, SourceId};
use crate::ir::{CompareOp, ConstId};
use crate::keys::Keys;
use indexmap::IndexMap;

/// Minimum number of reads before a row is shared.
const READINGS: usize = 3;

/// How many rows a row may lead to, one by the other.
const LENGTH: usize = 3;

/// A look-up by key: the relation, its column, and what the column equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KeyLookUp {
    source: SourceId,
    column: ColumnId,
    equals: KeyValue,
}

/// What a key equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyValue {
    /// A literal.
    Const(ConstId),
    /// A column of a table made here.
    Column { table: TableId, column: ColumnId },
}

/// Gives a plan tables of the rows that it looks up again and again.
pub(super) fn share(plan: &mut Plan, setting: &Setting<'_>, bindings: &Bindings) {
    let Setting { catalog, prefix, .. } = *setting;
    let mut n_made = 0;
    for _ in 0..LENGTH {
        let finder = LookUpFinder { catalog, bindings, n_made };
        let mut readings: IndexMap<KeyLookUp, usize> = IndexMap::new();
        plan.selects_mut().for_each(|select| {
            finder.visit(select, &mut Vec::new(), &mut |_, look_up| {
                *readings.entry(look_up).or_default() += 1;
            });
        });
        readings.retain(|_, readings| *readings >= READINGS);
        if readings.is_empty() {
            return;
        }
        let look_ups: Vec<KeyLookUp> = readings.into_keys().collect();
        shift_tables(plan, n_made, look_ups.len());
        plan.selects_mut().for_each(|select| {
            finder.visit(select, &mut Vec::new(), &mut |from, look_up| {
                if let Some(at) = look_ups.iter().position(|known| *known == look_up) {
                    from.kind = TableId::from_index(n_made + at).source();
                }
            });
            drop_decided(select, &look_ups, n_made);
        });
        for (at, look_up) in look_ups.iter().enumerate() {
            let table = finder.table(*look_up, format!("{prefix}pk{}", n_made + at + 1));
            plan.tables.insert(n_made + at, table);
        }
        n_made += look_ups.len();
    }
}

/// Drops the comparisons with literals that a new table has made already.
fn drop_decided(select: &mut Select, look_ups: &[KeyLookUp], n_made: usize) {
    let Select { from, filter, .. } = select;
    filter.retain_mut(|condition| match condition {
        Condition::Compare {
            op: CompareOp::Equal,
            left: Expr::Column { alias, column },
            right: Expr::Const(literal),
        } => {
            let from = from.iter().find(|from| from.alias == *alias);
            let Some(table) = from.and_then(|from| from.kind.table()) else { return true };
            let look_up = table.index().checked_sub(n_made).and_then(|at| look_ups.get(at));
            let equals = KeyValue::Const(*literal);
            !look_up.is_some_and(|look_up| look_up.column == *column && look_up.equals == equals)
        }
        Condition::In { selects: branches, .. } | Condition::Any(branches) | Condition::None(branches) => {
            branches.iter_mut().for_each(|branch| drop_decided(branch, look_ups, n_made));
            true
        }
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => true,
    });
}

/// Makes room for `n` tables after the first `n_made`.
fn shift_tables(plan: &mut Plan, n_made: usize, n: usize) {
    plan.selects_mut().for_each(|select| {
        select.for_each_source_mut(&mut |from| {
            if let FromKind::Table(TableRef::Table(table)) = &mut from.kind
                && table.index() >= n_made
            {
                *table = TableId::from_index(table.index() + n);
            }
        });
    });
}

struct LookUpFinder<'f> {
    catalog: &'f Catalog,
    bindings: &'f Bindings,
    /// The first tables of the plan, which were made here.
    n_made: usize,
}

impl LookUpFinder<'_> {
    /// Visits the look-ups of a select and its branches; `around` are the sources of the enclosing selects.
    fn visit(
        &self,
        select: &mut Select,
        around: &mut Vec<From>,
        found: &mut impl FnMut(&mut From, KeyLookUp),
    ) {
        let before = around.len();
        around.extend(&select.from);
        let Select { from, filter, .. } = select;
        for from in from {
            if let Some(look_up) = self.look_up(*from, filter, around) {
                found(from, look_up);
            }
        }
        for condition in filter {
            if let Condition::Any(branches) | Condition::None(branches) = condition {
                branches.iter_mut().for_each(|branch| self.visit(branch, around, found));
            }
        }
        around.truncate(before);
    }

    fn look_up(&self, from: From, filter: &[Condition], around: &[From]) -> Option<KeyLookUp> {
        let FromKind::Source(source) = from.kind else { return None };
        filter.iter().find_map(|condition| {
            let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return None };
            let (column, other) = match (left, right) {
                (Expr::Column { alias, column }, other) if *alias == from.alias => (*column, *other),
                (other, Expr::Column { alias, column }) if *alias == from.alias => (*column, *other),
                _ => return None,
            };
            let equals = match other {
                Expr::Const(literal) => KeyValue::Const(literal),
                Expr::Column { alias, column } => {
                    let from = around.iter().rev().find(|from| from.alias == alias)?;
                    let table = from.kind.table().filter(|table| table.index() < self.n_made)?;
                    KeyValue::Column { table, column }
                }
                _ => return None,
            };
            let Self { catalog, bindings, .. } = *self;
            let is_key = Keys { catalog, bindings }.is_typed_key(source, column);
            is_key.then_some(KeyLookUp { source, column, equals })
        })
    }

    /// The table of a look-up's rows, all columns.
    fn table(&self, look_up: KeyLookUp, name: String) -> Table {
        let KeyLookUp { source, column, equals } = look_up;
        let n_columns = self.catalog.relations[source].columns().count();
        let [leading, found] = [1, 2].map(Alias::of_number);
        let row = From { alias: found, kind: FromKind::Source(source) };
        let (from, right) = match equals {
            KeyValue::Const(literal) => (vec![row], Expr::Const(literal)),
            KeyValue::Column { table, column } => {
                let leads = From { alias: leading, kind: table.source() };
                (vec![leads, row], Expr::Column { alias: leading, column })
            }
        };
        let left = Expr::Column { alias: found, column };
        let select = Select {
            from,
            filter: vec![Condition::Compare { op: CompareOp::Equal, left, right }],
            output: ColumnId::all(n_columns).map(|column| Expr::Column { alias: found, column }).collect(),
        };
        Table::new(name, "shared look-up".to_owned(), n_columns, TableBody::Union(vec![select]))
    }
}
