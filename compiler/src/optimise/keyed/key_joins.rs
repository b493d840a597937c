//! Reads the alternatives of a table instead of looking rows up by the keys that the table has.
//!
//! *A desk shows if I may read one of its stories* joins the stories that I may read with the stories again,
//! for their desks. Each alternative of the first reads the row already:
//!
//! ```text
//! (t) ⋈ story(s, d)   with   t = wrote(u, s) ∪ edits(u, e) ⋈ story(s, e)
//!     ─▶   wrote(u, s) ⋈ story(s, d)   ∪   edits(u, e) ⋈ story(s, e) ⋈ story(s, d)
//! ```
//!
//! [`super::read_once`] then reads the row with that key once. Without the pass, the statement makes the
//! table and looks its rows up again.

use super::super::in_place::{in_place_of, shows_columns};
use crate::algebra::aliases::TakenAliases;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableRef};
use crate::bindings::RowTable;
use crate::catalog::ColumnId;
use crate::ir::CompareOp;
use crate::keys::Keys;

/// How many alternatives a union may have afterwards; where it would have more, the table stays.
const MOST_ARMS: usize = 8;

/// Replaces such joins in the alternatives of the answer and of each table. The base of a recursion is
/// included, unless its steps read the whole state.
pub(in super::super) fn take_apart(plan: &mut Plan, keys: Keys<'_>) {
    for at in 0..plan.tables.len() {
        let (before, rest) = plan.tables.split_at_mut(at);
        let Some(table) = rest.first_mut() else { continue };
        match &mut table.body {
            TableBody::Union(selects) | TableBody::Recursive { base: selects, .. } => {
                in_union(selects, before, keys);
            }
            TableBody::WholeState { .. } => {}
        }
    }
    in_union(plan.answer.selects_mut(), &plan.tables, keys);
}

/// Replaces the joins among alternatives that may read these tables.
fn in_union(selects: &mut Vec<Select>, tables: &[Table], keys: Keys<'_>) {
    let mut taken = TakenAliases::of(selects.iter());
    let mut n_selects = selects.len();
    for select in std::mem::take(selects) {
        match arms(&select, tables, keys).filter(|(_, arms)| n_selects + arms.len() <= MOST_ARMS + 1) {
            Some((table, arms)) => {
                n_selects += arms.len().saturating_sub(1);
                selects.extend(arms.iter().map(|arm| in_place_of(table, arm, &select, &mut taken)));
            }
            None => selects.push(select),
        }
    }
}

/// The table that a select joins by a key, and its alternatives, if each reads the row that has the key.
fn arms<'p>(select: &Select, tables: &'p [Table], keys: Keys<'_>) -> Option<(Alias, &'p [Select])> {
    let kind = |alias| select.from.iter().find(|from| from.alias == alias).map(|from| from.kind);
    let pairs = select.filter.iter().filter_map(equal_columns);
    pairs.flat_map(|(one, other)| [(one, other), (other, one)]).find_map(|((row, key), (table, shown))| {
        let FromKind::Source(source) = kind(row)? else { return None };
        let FromKind::Table(TableRef::Table(id)) = kind(table)? else { return None };
        let (_, promised) = keys.of(source).find(|(column, _)| *column == key)?;
        let TableBody::Union(arms) = &tables.get(id.index())?.body else { return None };
        arms.iter().all(|arm| shows_key(arm, shown, promised, keys)).then_some((table, arms.as_slice()))
    })
}

/// The two columns that a condition equates.
fn equal_columns(condition: &Condition) -> Option<((Alias, ColumnId), (Alias, ColumnId))> {
    let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return None };
    let column = |expr: &Expr| match *expr {
        Expr::Column { alias, column } => Some((alias, column)),
        _ => None,
    };
    Some((column(left)?, column(right)?))
}

/// Whether an alternative shows columns alone, in one place the promised key of a row that it reads.
fn shows_key(arm: &Select, shown: ColumnId, promised: &RowTable, keys: Keys<'_>) -> bool {
    let Expr::Column { alias, column } = arm.output[shown] else { return false };
    let is_row = |from: &From| match from.kind {
        FromKind::Source(source) => {
            from.alias == alias && keys.of(source).any(|(key, of)| key == column && of == promised)
        }
        _ => false,
    };
    arm.from.iter().any(is_row) && shows_columns(arm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, literal, read, reading, source};
    use crate::algebra::{PlanAnswer, TableId};
    use crate::bindings::parse;

    const FOLDERS: usize = 0;
    const OWNERS: usize = 1;
    const EDITORS: usize = 2;

    const BINDINGS: &str = "facts:
  folder(Doc:_, Folder:_):
    query: SELECT id, folder FROM docs
  owner(Doc:_, User:_):
    query: SELECT id, owner FROM docs
  editor(User:_, Doc:_):
    query: SELECT user, doc FROM editors
tables: {Doc: docs.id}
";

    /// A document that the user owns, from the row that has its folder.
    fn owned() -> Select {
        read(&[(1, source(OWNERS))], vec![equal(column(1, 1), literal(0))], vec![column(1, 0)])
    }

    /// A document in a folder, by its row.
    fn filed() -> Select {
        read(&[(1, source(FOLDERS))], vec![equal(column(1, 1), literal(1))], vec![column(1, 0)])
    }

    /// A document that the user edits: its id is not the key of a row that is read.
    fn edited() -> Select {
        read(&[(1, source(EDITORS))], vec![equal(column(1, 0), literal(0))], vec![column(1, 1)])
    }

    /// The folders of the documents in a table.
    fn folders_of_table() -> Select {
        let from = [(5, TableId(0).source()), (6, source(FOLDERS))];
        read(&from, vec![equal(column(5, 0), column(6, 0))], vec![column(6, 1)])
    }

    /// What the pass makes of alternatives that read a table of these.
    fn taken_apart(arms: Vec<Select>, answer: Vec<Select>) -> Vec<Select> {
        let catalog = bound_catalog(&[
            ("folder", &["Doc", "Folder"]),
            ("owner", &["Doc", "User"]),
            ("editor", &["User", "Doc"]),
        ]);
        let bindings = parse(BINDINGS).expect("bindings");
        let table = Table::new("pc1".to_owned(), String::new(), 1, TableBody::Union(arms));
        let mut plan = Plan::new(vec![table], PlanAnswer::Decision(answer));
        take_apart(&mut plan, Keys { catalog: &catalog, bindings: &bindings });
        plan.answer.selects().to_vec()
    }

    #[test]
    fn rows_that_the_alternatives_read_are_not_looked_up() {
        let selects = taken_apart(vec![owned(), filed()], vec![folders_of_table()]);
        let joined = |alias, owner: usize, asked| {
            let from = [(alias, source(owner)), (6, source(FOLDERS))];
            let is_same = equal(column(alias, 0), column(6, 0));
            read(&from, vec![equal(column(alias, 1), literal(asked)), is_same], vec![column(6, 1)])
        };
        assert_eq!(selects, [joined(7, OWNERS, 0), joined(8, FOLDERS, 1)]);
    }

    #[test]
    fn a_table_with_another_alternative_stays() {
        assert_eq!(taken_apart(vec![owned(), edited()], vec![folders_of_table()]), [folders_of_table()]);
    }

    /// The owner is no key, and a table that is read alone is no join.
    #[test]
    fn a_table_without_a_join_by_a_key_stays() {
        let by_owner = {
            let from = [(5, TableId(0).source()), (6, source(OWNERS))];
            read(&from, vec![equal(column(5, 0), column(6, 1))], vec![column(6, 0)])
        };
        let alone = reading(5, TableId(0).source(), vec![column(5, 0)]);
        for select in [by_owner, alone] {
            assert_eq!(taken_apart(vec![owned(), filed()], vec![select.clone()]), [select]);
        }
    }

    #[test]
    fn a_table_of_many_alternatives_stays() {
        let n_left = |n_arms| taken_apart(vec![owned(); n_arms], vec![folders_of_table()]).len();
        assert_eq!((n_left(MOST_ARMS), n_left(MOST_ARMS + 1)), (MOST_ARMS, 1));
    }
}
