//! Denies each branch by itself where a denial of the row has several.
//!
//! ```text
//! not (row.owner = o and (blocks(user, o) or blocks(o, user)))
//!     ─▶   not (row.owner = o and blocks(user, o)) and not (row.owner = o and blocks(o, user))
//! not (f in folders and f.id = row.folder and (member(user, f) or f.parent in above(user)))
//!     ─▶   not (f in folders and f.id = row.folder and member(user, f))
//!          and not (f in folders and f.id = row.folder and f.parent in above(user))
//! ```
//!
//! PostgreSQL turns each of these into an anti-join, and estimates it. A negated `OR` of tests would run for
//! each row, at a cost for which the statement is compiled first. A container of the row is looked up once
//! more for each branch, so it is split only where a branch reads a recursion, whose cost PostgreSQL would
//! count for each row.

use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, free_aliases, renumber};
use crate::algebra::{Condition, From, Plan, Select};
use crate::keys::{Keys, OneRowTables};

/// How many branches are denied one by one: more make the statement long, and slow to plan.
const MOST_BRANCHES: usize = 4;

/// Splits the denials of all alternatives of a filter.
pub(in super::super) fn split(plan: &mut Plan, keys: Keys<'_>) {
    let Plan { tables, answer, .. } = plan;
    let splitter = DenialSplitter { one_row: OneRowTables::of(tables, keys) };
    let mut taken = TakenAliases::of(answer.selects());
    for select in answer.selects_mut() {
        splitter.in_select(select, &[], &mut taken);
    }
}

/// Splits denials.
struct DenialSplitter<'k> {
    one_row: OneRowTables<'k>,
}

impl DenialSplitter<'_> {
    /// Splits the denials of an alternative, and of those inside it; `outside` expose the row around it. What
    /// an only branch reads besides becomes a set, and its denials stay conditions on the row.
    fn in_select(&self, select: &mut Select, outside: &[From], taken: &mut TakenAliases) {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        for condition in &mut select.filter {
            match condition {
                Condition::Any(branches)
                    if branches.len() == 1 || branches.iter().all(Select::reads_nothing) =>
                {
                    branches.iter_mut().for_each(|branch| self.in_select(branch, &rows, taken));
                }
                Condition::None(branches) => {
                    let split = branches.iter().flat_map(|branch| {
                        self.branches_of(branch, &rows, taken).unwrap_or_else(|| vec![branch.clone()])
                    });
                    *branches = split.collect();
                }
                Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::In { .. }
                | Condition::Meets { .. }
                | Condition::Any(_) => {}
            }
        }
    }

    /// A denial for each branch, if what is denied is a comparison of the row, or of a container of it, with
    /// one of several branches, each of which looks up something else.
    fn branches_of(&self, denied: &Select, rows: &[From], taken: &mut TakenAliases) -> Option<Vec<Select>> {
        let rows: Vec<From> = rows.iter().copied().chain(rows_of(&denied.from)).collect();
        let (choices, others): (Vec<&Condition>, Vec<&Condition>) =
            denied.filter.iter().partition(|condition| matches!(condition, Condition::Any(_)));
        let [Condition::Any(branches)] = choices.as_slice() else { return None };
        let known: Vec<From> = rows.iter().chain(&denied.from).copied().collect();
        let looks_up = |branch: &Select| {
            let mut of_known = false;
            branch.for_each_expr(&mut |expr| of_known |= is_of_row(expr, &known));
            of_known && !branch.reads_nothing()
        };
        let are_plain = others.iter().all(|condition| condition.branches().is_empty());
        let filter: Vec<Condition> = others.into_iter().cloned().collect();
        let common = Select { from: denied.from.clone(), filter, output: denied.output.clone() };
        let is_split = are_plain
            && (2..=MOST_BRANCHES).contains(&branches.len())
            && branches.iter().all(looks_up)
            && (denied.reads_nothing() || self.is_of_container(denied, &common, &rows));
        is_split.then(|| {
            let with = |branch: &Select| {
                let mut split = common.clone();
                split.from.extend(&branch.from);
                split.filter.extend(branch.filter.iter().cloned());
                renumber(&mut split, taken);
                split
            };
            branches.iter().map(with).collect()
        })
    }

    /// Whether what is denied depends on the row alone, finds a container of it by a key, and reads a
    /// recursion there.
    fn is_of_container(&self, denied: &Select, container: &Select, rows: &[From]) -> bool {
        let defined = || denied.from.iter().chain(rows).map(|from| from.alias);
        let is_of_row =
            denied.filter.iter().flat_map(free_aliases).all(|alias| defined().any(|own| own == alias));
        is_of_row
            && denied.reads_table()
            && !container.reads_table()
            && self.one_row.has_at_most_one_row(container)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::aliases::number_aliases;
    use crate::algebra::sample::{bound_catalog, column, equal, literal, read, source};
    use crate::algebra::{FromKind, TableId};
    use crate::bindings::parse;
    use crate::catalog::ColumnId;
    use crate::ir::CompareOp;

    const FILES: usize = 0;
    const BLOCKS: usize = 1;
    const FOLDERS: usize = 2;

    const BINDINGS: &str = "facts:
  owned(File:_, User:_):
    query: SELECT id, owner FROM files
  blocks(User:_, User:_):
    query: SELECT user, blocked FROM blocks
  owned(Folder:_, User:_):
    query: SELECT id, owner FROM folders
tables: {File: files.id, Folder: folders.id}
";

    /// The caller's row in `files`, with alias 1.
    fn row() -> (usize, FromKind) {
        let FromKind::Source(source) = source(FILES) else { panic!("no relation") };
        (1, FromKind::Row { source, key: ColumnId::FIRST })
    }

    /// A denial about the row under alias 1: its owner, and a condition on the owner.
    fn denied(about: Vec<Condition>) -> Select {
        let is_owned = Condition::Compare { op: CompareOp::NotEqual, left: column(1, 1), right: literal(1) };
        read(&[row()], [vec![is_owned], about].concat(), Vec::new())
    }

    /// The owner and a user, in this order, are in the relation.
    fn blocked(place: usize, user: u32, owner: u32) -> Select {
        let filter = vec![equal(column(place, user), literal(0)), equal(column(place, owner), column(1, 1))];
        read(&[(place, source(BLOCKS))], filter, Vec::new())
    }

    /// An alternative after the pass.
    fn split_in(mut select: Select) -> Select {
        let catalog = bound_catalog(&[
            ("owned", &["File", "User"]),
            ("blocks", &["User", "User"]),
            ("owned", &["Folder", "User"]),
        ]);
        let bindings = parse(BINDINGS).expect("the bindings are read");
        let keys = Keys { catalog: &catalog, bindings: &bindings };
        let mut taken = TakenAliases::of([&select]);
        DenialSplitter { one_row: OneRowTables::of(&[], keys) }.in_select(&mut select, &[], &mut taken);
        select
    }

    /// The branches of a denial after the pass, numbered.
    fn split_up(denied: Select) -> Vec<Select> {
        let select = split_in(Select { filter: vec![Condition::None(vec![denied])], ..Select::default() });
        let mut branches: Vec<Select> = select.filter.iter().flat_map(Condition::branches).cloned().collect();
        branches.iter_mut().for_each(|branch| number_aliases([branch]));
        branches
    }

    #[test]
    fn each_branch_is_denied_with_what_the_others_share() {
        let both = Condition::Any(vec![blocked(2, 0, 1), blocked(3, 1, 0)]);
        let alone = |user: u32, owner: u32| {
            let Select { from, filter, .. } = blocked(2, user, owner);
            let mut alone = denied(filter);
            alone.from.extend(from);
            alone
        };
        assert_eq!(split_up(denied(vec![both])), [alone(0, 1), alone(1, 0)]);
    }

    /// A branch about the row alone, or about something else, needs no anti-join; other tests would be
    /// repeated.
    #[test]
    fn other_choices_stay() {
        let of_row = read(&[], vec![equal(column(1, 1), literal(0))], Vec::new());
        let apart = read(&[(4, source(BLOCKS))], vec![equal(column(4, 0), literal(0))], Vec::new());
        let both = |other: Select| Condition::Any(vec![blocked(2, 0, 1), other]);
        let tested = Condition::None(vec![blocked(5, 0, 1)]);
        for about in [vec![both(of_row)], vec![both(apart)], vec![both(blocked(3, 1, 0)), tested]] {
            assert_eq!(split_up(denied(about)).len(), 1);
        }
    }

    /// A test of this column of the folder 2: its owner is in this.
    fn in_folder(place: usize, kind: FromKind, of_folder: u32) -> Select {
        read(&[(place, kind)], vec![equal(column(place, 0), column(2, of_folder))], Vec::new())
    }

    /// A denial of the folder 2 whose column equals the row's, by its owner in this or in `blocks`.
    fn denied_folder(found_by: u32, other: FromKind) -> Select {
        let choice = Condition::Any(vec![in_folder(3, source(BLOCKS), 1), in_folder(4, other, 1)]);
        let is_found = equal(column(2, found_by), column(1, 1));
        read(&[row(), (2, source(FOLDERS))], vec![is_found, choice], Vec::new())
    }

    #[test]
    fn a_container_is_looked_up_for_each_branch_where_one_reads_a_recursion() {
        let recursion = TableId::from_index(0).source();
        let alone = |kind: FromKind| {
            let filter = vec![equal(column(2, 0), column(1, 1)), equal(column(3, 0), column(2, 1))];
            read(&[row(), (2, source(FOLDERS)), (3, kind)], filter, Vec::new())
        };
        assert_eq!(split_up(denied_folder(0, recursion)), [alone(source(BLOCKS)), alone(recursion)]);
        assert_eq!(split_up(denied_folder(0, source(BLOCKS))).len(), 1, "nothing is counted for each row");
        assert_eq!(split_up(denied_folder(1, recursion)).len(), 1, "there may be many folders");
    }

    /// What else the test reads becomes a set, and the denial is a condition on the row.
    #[test]
    fn a_denial_of_the_row_inside_the_only_test_is_split() {
        let n_denied = |condition: Option<Condition>| {
            let mut denied = denied_folder(0, TableId::from_index(0).source());
            denied.filter.extend(condition);
            let test = read(&[(7, source(BLOCKS))], vec![Condition::None(vec![denied])], Vec::new());
            let select = split_in(read(&[row()], vec![Condition::Any(vec![test])], Vec::new()));
            select.filter[0].branches()[0].filter[0].branches().len()
        };
        assert_eq!(n_denied(None), 2);
        assert_eq!(n_denied(Some(equal(column(7, 1), column(2, 1)))), 1, "it is about the other source");
    }
}
