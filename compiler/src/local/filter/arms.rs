//! Merges the sets of a filter's alternatives that test the same column of the row.

use crate::algebra::aliases::{TakenAliases, renumber};
use crate::algebra::probe::probe_of;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, Table, TableBody, TableRef};
use crate::catalog::ColumnId;
use rustc_hash::FxHashSet;

/// The aliases of a filter's alternatives. The sources of a table may have the same ones; inside an
/// alternative they must have others.
pub(super) struct RowAliases {
    used: FxHashSet<Alias>,
    taken: TakenAliases,
}

impl RowAliases {
    pub(super) fn of(rows: &[Select]) -> Self {
        let mut used = FxHashSet::default();
        rows.iter().for_each(|row| row.for_each_source(&mut |from| used.extend([from.alias])));
        Self { used, taken: TakenAliases::of(rows) }
    }

    fn keep_apart(&mut self, arm: &mut Select) {
        let mut is_used = false;
        arm.for_each_source(&mut |from| is_used |= self.used.contains(&from.alias));
        if is_used {
            renumber(arm, &mut self.taken);
        }
    }
}

/// One test of a set for each arm of the tables that make the set.
pub(super) fn by_arms(row: &Select, tables: &[Table], aliases: &mut RowAliases) -> Vec<Select> {
    let mut row = row.clone();
    let Some((_, selects)) = set_of(&mut row) else { return vec![row] };
    let mut arms = Vec::new();
    for select in std::mem::take(selects) {
        match (select.from.as_slice(), select.filter.as_slice(), select.output.as_slice()) {
            (
                [From { alias, kind: FromKind::Table(TableRef::Table(table)) }],
                [],
                [Expr::Column { alias: shown, column }],
            ) if alias == shown => match &table.of(tables).body {
                TableBody::Union(union) => arms.extend(union.iter().map(|arm| {
                    let output = vec![arm.output[*column]].into();
                    let mut arm = Select { output, ..arm.clone() };
                    aliases.keep_apart(&mut arm);
                    arm
                })),
                TableBody::Recursive { .. } | TableBody::WholeState { .. } => arms.push(select),
            },
            _ => arms.push(select),
        }
    }
    let with = |arm: Select| {
        let mut row = row.clone();
        if let Some((_, selects)) = set_of(&mut row) {
            *selects = vec![arm];
        }
        row
    };
    arms.into_iter().map(with).collect()
}

/// The tests of sets that are better not listed become look-ups of the row's own value in them.
pub(super) fn probed(mut row: Select, is_better: &impl Fn(&Select) -> bool) -> Select {
    // The sources of a set get numbers that no other source of the row has.
    let mut taken = TakenAliases::of([&row]);
    probe(&mut row, &mut taken, is_better);
    row
}

fn probe(row: &mut Select, taken: &mut TakenAliases, is_better: &impl Fn(&Select) -> bool) {
    match row.filter.as_mut_slice() {
        [Condition::In { expr, selects, .. }] => {
            let [set] = selects.as_mut_slice() else { return };
            if is_better(set) {
                let probe = probe_of(std::mem::take(set), *expr, taken);
                row.filter = vec![Condition::Any(vec![probe])];
            }
        }
        conditions => {
            for condition in conditions {
                if let Condition::Any(branches) = condition
                    && branches.iter().all(Select::reads_nothing)
                {
                    branches.iter_mut().for_each(|branch| probe(branch, taken, is_better));
                }
            }
        }
    }
}

/// Makes one test of those that look the same value of the row up in different sets.
pub(super) fn merge_sets(rows: &mut Vec<Select>) {
    let mut merged: Vec<Select> = Vec::new();
    for mut row in std::mem::take(rows) {
        let place = set_of(&mut row).map(|(place, _)| place);
        let is_same = |known: &mut Select| set_of(known).map(|(place, _)| place) == place;
        let at = merged.iter_mut().position(is_same).filter(|_| place.is_some());
        match (at.and_then(|at| merged.get_mut(at)), set_of(&mut row)) {
            (Some(known), Some((_, new))) => add_sets(known, std::mem::take(new)),
            _ => merged.push(row),
        }
    }
    *rows = merged;
}

/// Adds the selects of another set to the only set of a row, in which no source has the number of the row.
fn add_sets(row: &mut Select, mut selects: Vec<Select>) {
    let mut taken = TakenAliases::of([&*row]);
    for select in &mut selects {
        let mut is_taken = false;
        select.for_each_source(&mut |from| is_taken |= row.from.iter().any(|own| own.alias == from.alias));
        if is_taken {
            renumber(select, &mut taken);
        }
    }
    if let Some((_, known)) = set_of(row) {
        known.append(&mut selects);
    }
}

/// The value of the caller's row that is looked up in a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Looked {
    /// The filter's column.
    Key,
    /// A column of a bound query that shows the row.
    Column { kind: FromKind, column: ColumnId },
    /// A column of a row that is shown around the test.
    Outer { alias: Alias, column: ColumnId },
}

/// The value that is looked up and the set, if the only condition of a select is a lookup in a set.
fn set_of(select: &mut Select) -> Option<(Looked, &mut Vec<Select>)> {
    let Select { from, filter, .. } = select;
    let [Condition::In { expr, selects, .. }] = filter.as_mut_slice() else { return None };
    let looked = match (from.as_slice(), *expr) {
        ([], Expr::Given(_)) => Looked::Key,
        ([], Expr::Column { alias, column }) => Looked::Outer { alias, column },
        ([From { alias: row, kind: kind @ FromKind::Row { .. } }], Expr::Column { alias, column })
            if *row == alias =>
        {
            Looked::Column { kind: *kind, column }
        }
        _ => return None,
    };
    Some((looked, selects))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, read, source};
    use crate::algebra::{SetUse, TableId};
    use crate::catalog::SourceId;

    /// The row, which the source 0 shows, has a value in a set of the source 1.
    fn looked_up(row: usize, own: usize) -> Select {
        let kind = FromKind::Row { source: SourceId::from_index(0), key: ColumnId::FIRST };
        let set = read(&[(own, source(1))], Vec::new(), vec![column(own, 0)]);
        let expr = column(row, 1);
        let filter = vec![Condition::In { expr, selects: vec![set], used: SetUse::ToFind }];
        let from = vec![From { alias: Alias::of_number(row), kind }];
        Select { from, filter, ..Select::default() }
    }

    #[test]
    fn a_merged_set_reads_no_source_under_the_number_of_the_row() {
        let mut rows = vec![looked_up(3, 1), looked_up(9, 3), looked_up(8, 2)];
        merge_sets(&mut rows);
        let [row] = rows.as_slice() else { panic!("{rows:?}") };
        let [Condition::In { selects, .. }] = row.filter.as_slice() else { panic!("{row:?}") };
        let numbers: Vec<Alias> = selects.iter().flat_map(|set| &set.from).map(|from| from.alias).collect();
        assert_eq!(row.from.first().map(|from| from.alias), Some(Alias::of_number(3)));
        assert_eq!(numbers, [1, 4, 2].map(Alias::of_number));
        let shown = selects.iter().filter_map(|set| set.output.first()?.alias());
        assert_eq!(shown.collect::<Vec<_>>(), numbers);
    }

    /// The row is known as a source of the table is.
    #[test]
    fn an_arm_of_a_table_gets_aliases_that_the_row_does_not_have() {
        let arm = read(&[(3, source(1))], Vec::new(), vec![column(3, 0)]);
        let body = TableBody::Union(vec![arm.clone(), arm]);
        let tables = [Table::new("pc".to_owned(), String::new(), 1, body)];
        let mut row = looked_up(3, 9);
        if let Some((_, selects)) = set_of(&mut row) {
            *selects = vec![read(&[(9, TableId::from_index(0).source())], Vec::new(), vec![column(9, 0)])];
        }
        let mut aliases = RowAliases::of(std::slice::from_ref(&row));
        let mut arms = by_arms(&row, &tables, &mut aliases);
        assert_eq!(arms.len(), 2);
        for arm in &mut arms {
            let Some((_, [set])) = set_of(arm).map(|(looked, sets)| (looked, sets.as_slice())) else {
                panic!("{arm:?}")
            };
            assert!(set.from.iter().all(|from| from.alias > Alias::of_number(9)), "{set:?}");
        }
    }
}
