//! Queries that have at most one row, because keys lead from given values to each row that they read.
//!
//! A database estimates such a query rightly if it reads the row's key in an equality. Where the row comes
//! from an array it counts ten, and ten times as many rows of what is looked up by them. On tables without
//! statistics these factors multiply, until the statement seems worth compiling to machine code.

use super::promised::Keys;
use crate::algebra::aliases::{free_aliases, mentions};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, Table, TableBody, TableId, TableRef};
use indexmap::IndexSet;

/// The tables of a plan that have at most one row, and the promises from which that follows.
#[derive(Clone, Debug)]
pub(crate) struct OneRowTables<'k> {
    keys: Keys<'k>,
    tables: IndexSet<TableId>,
}

impl<'k> OneRowTables<'k> {
    /// Those of a plan's tables, under these promises.
    pub(crate) fn of(tables: &[Table], keys: Keys<'k>) -> Self {
        let mut known = Self { keys, tables: IndexSet::new() };
        for (id, table) in TableId::enumerate(tables) {
            if known.is_one_row_table(table) {
                known.tables.insert(id);
            }
        }
        known
    }

    fn is_one_row_table(&self, table: &Table) -> bool {
        match &table.body {
            TableBody::Union(selects) => {
                matches!(selects.as_slice(), [select] if self.has_at_most_one_row(select))
            }
            TableBody::Recursive { .. } | TableBody::WholeState { .. } => false,
        }
    }

    /// Whether a select has at most one row for each row around it.
    pub(crate) fn has_at_most_one_row(&self, select: &Select) -> bool {
        let is_given = |alias: Alias, found: &IndexSet<Alias>| {
            found.contains(&alias) || select.from.iter().all(|from| from.alias != alias)
        };
        let mut found: IndexSet<Alias> =
            select.from.iter().filter(|from| self.reads_one_row(**from)).map(|from| from.alias).collect();
        let mut open: Vec<&Condition> = select.filter.iter().collect();
        loop {
            let before = found.len();
            for from in &select.from {
                if from.kind.seen_row().is_some_and(|row| is_given(row, &found)) {
                    found.insert(from.alias);
                }
            }
            open.retain(|condition| {
                let mut unknown = free_aliases(condition);
                unknown.retain(|alias| !is_given(*alias, &found));
                let row = match unknown.as_slice() {
                    [] => return false,
                    [alias] => select.from.iter().find(|from| from.alias == *alias),
                    _ => None,
                };
                // A condition is looked at once: when one row is all that it leaves open.
                let Some(row) = row else { return true };
                if self.finds_by_key(condition, *row) {
                    found.insert(row.alias);
                }
                false
            });
            if found.len() == before {
                return found.len() == select.from.len();
            }
        }
    }

    /// Whether a source has one row whatever the conditions say.
    fn reads_one_row(&self, from: From) -> bool {
        match from.kind {
            FromKind::Table(TableRef::Table(id)) => self.tables.contains(&id),
            FromKind::Row { .. } => true,
            FromKind::Table(TableRef::Itself)
            | FromKind::Again { .. }
            | FromKind::Source(_)
            | FromKind::Values(_)
            | FromKind::Embedded(_) => false,
        }
    }

    /// Whether a condition says that a row's key equals one value, and nothing of another row.
    fn finds_by_key(&self, condition: &Condition, row: From) -> bool {
        let is_key = |value: Expr| match (value, row.kind) {
            (Expr::Column { alias, column }, FromKind::Source(source)) => {
                alias == row.alias && self.keys.is_key(source, column)
            }
            _ => false,
        };
        match condition {
            Condition::Compare { .. } => self.keys.looked_up(condition, row).is_some(),
            Condition::In { expr, selects, .. } => match selects.as_slice() {
                [set] => is_key(*expr) && !mentions(set, row.alias) && self.has_at_most_one_row(set),
                _ => false,
            },
            Condition::OneOf { .. } | Condition::Meets { .. } | Condition::Any(_) | Condition::None(_) => {
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, given, read, source};
    use crate::algebra::{EmbeddedId, ITSELF, SetUse};
    use crate::bindings::{self, Bindings};
    use crate::catalog::{Catalog, ColumnId};
    use crate::ir::{CompareOp, ConstId};

    /// Folders with their parents, by the promised key `id`; and owners, of whose columns nobody promises
    /// anything.
    const BINDINGS: &str = "
        dialect: postgresql
        facts:
          has_parent(Folder:_, Folder:_): { query: 'SELECT id, parent_id FROM folders' }
          owns(Folder:_, User:_): { query: 'SELECT folder_id, user_id FROM owners' }
        tables: { Folder: folders.id }
    ";
    const FOLDERS: usize = 0;
    const OWNERS: usize = 1;

    fn bound() -> (Catalog, Bindings) {
        let predicates: [(&str, &[&str]); 2] =
            [("has_parent", &["Folder", "Folder"]), ("owns", &["Folder", "User"])];
        (bound_catalog(&predicates), bindings::parse(BINDINGS).unwrap())
    }

    /// Whether a select over these tables has at most one row.
    fn is_one_row_over(tables: Vec<TableBody>, select: &Select) -> bool {
        let (catalog, bindings) = bound();
        let tables = tables.into_iter().map(|body| Table::new("pc".to_owned(), String::new(), 1, body));
        let tables: Vec<Table> = tables.collect();
        let keys = Keys { catalog: &catalog, bindings: &bindings };
        OneRowTables::of(&tables, keys).has_at_most_one_row(select)
    }

    /// The same for a select over sources that read folders, by their aliases.
    fn is_one_row(folders: &[usize], filter: Vec<Condition>) -> bool {
        let from: Vec<(usize, FromKind)> = folders.iter().map(|alias| (*alias, source(FOLDERS))).collect();
        is_one_row_over(Vec::new(), &read(&from, filter, Vec::new()))
    }

    /// The parent of the folder with this key, which it reads as this alias.
    fn parent_of(alias: usize, key: Expr) -> Select {
        read(&[(alias, source(FOLDERS))], vec![equal(column(alias, 0), key)], vec![column(alias, 1)])
    }

    fn is_in(expr: Expr, selects: Vec<Select>) -> Condition {
        Condition::In { expr, selects, used: SetUse::ToFind }
    }

    /// The row that another source reads, with the columns of the folders.
    fn again(row: usize) -> FromKind {
        let (row, key) = (Alias::of_number(row), ColumnId::FIRST);
        let FromKind::Source(source) = source(FOLDERS) else { unreachable!("folders are a relation") };
        FromKind::Again { source, key, row, row_key: key }
    }

    #[test]
    fn a_key_that_equals_a_given_value_is_one_row() {
        assert!(is_one_row(&[1], vec![equal(column(1, 0), given(0))]));
        assert!(is_one_row(&[1], vec![equal(given(0), column(1, 0)), equal(column(1, 1), given(1))]));
        // A column of a row of the select around it.
        assert!(is_one_row(&[1], vec![equal(column(1, 0), column(9, 1))]));
        assert!(is_one_row(&[], Vec::new()));
    }

    #[test]
    fn what_may_hold_for_several_rows_finds_none() {
        let compare = |op| Condition::Compare { op, left: column(1, 0), right: given(0) };
        let literals = [1, 2].map(ConstId::from_index).into();
        let test = || vec![read(&[], vec![equal(column(1, 0), given(0))], Vec::new())];
        for filter in [
            Vec::new(),
            vec![equal(column(1, 1), given(0))],
            vec![compare(CompareOp::Less)],
            vec![compare(CompareOp::NotEqual)],
            vec![Condition::OneOf { expr: column(1, 0), literals }],
            vec![Condition::Any(test())],
            vec![Condition::None(test())],
        ] {
            assert!(!is_one_row(&[1], filter.clone()), "{filter:?}");
        }
        // Nobody promises that a folder has one owner.
        let owner = read(&[(1, source(OWNERS))], vec![equal(column(1, 0), given(0))], Vec::new());
        assert!(!is_one_row_over(Vec::new(), &owner));
    }

    /// The folders that are their own parents may be many.
    #[test]
    fn a_key_that_equals_a_column_of_its_own_row_finds_none() {
        assert!(!is_one_row(&[1], vec![equal(column(1, 0), column(1, 1))]));
        assert!(!is_one_row(&[1], vec![equal(column(1, 1), column(1, 0))]));
        assert!(!is_one_row(&[1], vec![is_in(column(1, 0), vec![parent_of(2, column(1, 1))])]));
    }

    /// The same where another source shows the row again.
    #[test]
    fn a_row_that_is_seen_again_is_one_row_once_it_is_found() {
        let seen = |filter| {
            let from = [(1, source(FOLDERS)), (2, again(1))];
            is_one_row_over(Vec::new(), &read(&from, filter, Vec::new()))
        };
        assert!(!seen(vec![equal(column(1, 0), column(2, 1))]));
        assert!(!seen(vec![is_in(column(1, 0), vec![parent_of(3, column(2, 1))])]));
        assert!(seen(vec![equal(column(2, 1), given(1)), equal(column(1, 0), given(0))]));
        let set = read(&[(2, again(1))], Vec::new(), vec![column(2, 1)]);
        assert!(!is_one_row(&[1], vec![is_in(column(1, 0), vec![set])]));
        // The row of the select around it is given.
        let around = read(&[(2, again(9))], Vec::new(), Vec::new());
        assert!(is_one_row_over(Vec::new(), &around));
    }

    #[test]
    fn rows_that_lead_only_to_each_other_may_be_many() {
        let cycle = vec![equal(column(1, 0), column(2, 1)), equal(column(2, 0), column(1, 1))];
        assert!(!is_one_row(&[1, 2], cycle.clone()));
        assert!(is_one_row(&[1, 2], [cycle, vec![equal(column(1, 0), given(0))]].concat()));
    }

    #[test]
    fn keys_lead_from_one_row_to_the_next() {
        let start = is_in(column(1, 0), vec![parent_of(4, given(0))]);
        let next = equal(column(2, 0), column(1, 1));
        let last = is_in(column(3, 0), vec![parent_of(5, column(2, 1))]);
        assert!(is_one_row(&[1, 2, 3], vec![start.clone(), next.clone(), last.clone()]));
        assert!(is_one_row(&[3, 2, 1], vec![last.clone(), next.clone(), start.clone()]));
        // A link is missing.
        assert!(!is_one_row(&[1, 2, 3], vec![start.clone(), last.clone()]));
        assert!(!is_one_row(&[1, 2, 3], vec![next, last]));
        assert!(!is_one_row(&[1, 2], vec![start]));
    }

    #[test]
    fn a_set_of_several_rows_finds_several() {
        let all = read(&[(4, source(FOLDERS))], Vec::new(), vec![column(4, 1)]);
        assert!(!is_one_row(&[1], vec![is_in(column(1, 0), vec![all])]));
        let two = vec![parent_of(4, given(0)), parent_of(5, given(1))];
        assert!(!is_one_row(&[1], vec![is_in(column(1, 0), two)]));
        assert!(!is_one_row(&[1], vec![is_in(column(1, 1), vec![parent_of(4, given(0))])]));
    }

    #[test]
    fn a_table_of_one_select_of_one_row_is_one_row() {
        let reads = |kind: FromKind| read(&[(1, kind)], Vec::new(), vec![column(1, 0)]);
        let [first, second] = [TableId(0), TableId(1)].map(TableId::source);
        let one = || parent_of(1, given(0));
        let union = |selects| vec![TableBody::Union(selects)];
        assert!(is_one_row_over(union(vec![one()]), &reads(first)));
        let of_table = vec![TableBody::Union(vec![one()]), TableBody::Union(vec![reads(first)])];
        assert!(is_one_row_over(of_table, &reads(second)));
        let found =
            read(&[(1, first), (2, source(FOLDERS))], vec![equal(column(2, 0), column(1, 0))], Vec::new());
        assert!(is_one_row_over(union(vec![one()]), &found));
        assert!(!is_one_row_over(union(vec![one(), one()]), &found));
        assert!(!is_one_row_over(union(vec![one(), one()]), &reads(first)));
        let (base, step) = (vec![one()], Vec::new());
        let whole = TableBody::WholeState { base: base.clone(), step: Vec::new() };
        assert!(!is_one_row_over(vec![whole], &reads(first)));
        assert!(!is_one_row_over(vec![TableBody::Recursive { base, step }], &reads(first)));
        for many in [ITSELF, FromKind::Embedded(EmbeddedId(0)), source(OWNERS)] {
            assert!(!is_one_row_over(union(vec![one()]), &reads(many)), "{many:?}");
        }
    }
}
