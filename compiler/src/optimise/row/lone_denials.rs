//! Makes each denial a condition on the caller's row alone, where given values lead to everything else in it.
//!
//! ```text
//! f in files and f.id = 7 and not (d in denials and d.folder = f.folder and d.user = row)
//!   ─▶   f in files and f.id = 7
//!        and not (g in files and g.id = 7 and d in denials and d.folder = g.folder and d.user = row)
//! not (a in above(7) and (d in denials and d.folder = a and d.user = row
//!                         or e in denials and e.folder = a and m in e.group and m.user = row))
//!   ─▶   not (row in (d.user where a in above(7) and d in denials and d.folder = a)
//!             or row in (m.user where a in above(7) and e in denials and e.folder = a and m in e.group))
//! ```
//!
//! A list of subjects filters rows of users, but its guard can depend on the folder of the given file.
//! Without this pass, the denial is nested in the look-up of the file and tested once for each user. Keys
//! lead from given values to the file, so there is at most one, and the denial can look it up itself. If
//! there is no such file, the alternative fails anyway. If there could be two, one might be denied and the
//! other not, so the denial stays where it is.
//!
//! A denial that branches after a recursion would define the recursion in each test, and PostgreSQL would
//! count its cost once for each user. It becomes a set of all that is denied, provided that each branch
//! starts from a given value and is connected with the caller's row by one equality. For a denial without
//! branches, [`recursion_sets`](super::super::recursion_sets) finds a smaller set.

use super::super::sets::set_tests;
use super::sets::{asks, set_of};
use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, free_aliases, renumber};
use crate::algebra::anchor::Anchors;
use crate::algebra::groups::Group;
use crate::algebra::verify::{Keeps, keeps_conditions};
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse};
use crate::catalog::Catalog;
use crate::ir::CompareOp;
use crate::keys::{Keys, OneRowTables};
use indexmap::{IndexMap, IndexSet};

/// How many selects the set of one denial may have.
const MOST_SELECTS: usize = 8;

/// Rewrites the denials of all alternatives of a filter. The plan stays as it is if the verifier cannot
/// confirm the result: it compares atoms without aliases, and can lose track where many sources read one
/// relation.
pub(in super::super) fn deny_alone(plan: &mut Plan, catalog: &Catalog, keys: Keys<'_>) {
    let mut alone = plan.clone();
    rewrite(&mut alone, catalog, keys);
    if alone != *plan && keeps_conditions(Keeps::LoneDenials, plan, &alone) {
        *plan = alone;
    }
}

fn rewrite(plan: &mut Plan, catalog: &Catalog, keys: Keys<'_>) {
    let one_row = OneRowTables::of(&plan.tables, keys);
    let Plan { tables, answer, .. } = plan;
    let rewriter = DenialRewriter { keys, one_row, anchors: Anchors::new(catalog, tables) };
    let mut taken = TakenAliases::of(answer.selects());
    for select in answer.selects_mut() {
        rewriter.in_select(select, &[], &mut taken);
    }
}

/// Rewrites denials.
struct DenialRewriter<'a> {
    keys: Keys<'a>,
    one_row: OneRowTables<'a>,
    anchors: Anchors<'a>,
}

impl DenialRewriter<'_> {
    /// Rewrites the denials of an alternative, and of those inside it; `outside` expose the row around it.
    fn in_select(&self, select: &mut Select, outside: &[From], taken: &mut TakenAliases) {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        for place in 0..select.filter.len() {
            let alone = select.filter.get(place).and_then(|denial| self.alone(denial, select, &rows, taken));
            match (select.filter.get_mut(place), alone) {
                (Some(denial), Some(alone)) => *denial = alone,
                (Some(Condition::Any(branches)), None) => {
                    branches.iter_mut().for_each(|branch| self.in_select(branch, &rows, taken));
                }
                (Some(_) | None, _) => {}
            }
        }
    }

    /// A denial that depends on the caller's row alone, if keys lead from given values to all else that it
    /// mentions.
    fn alone(
        &self,
        denial: &Condition,
        select: &Select,
        rows: &[From],
        taken: &mut TakenAliases,
    ) -> Option<Condition> {
        let Condition::None(branches) = denial else { return None };
        if !asks(denial, &|expr| is_of_row(expr, rows)) {
            return None;
        }
        let found = self.one_row_of(denial, select, rows)?;
        let mut joined: Vec<Select> =
            branches.iter().map(|branch| joined(found.clone(), branch, taken)).collect();
        let has_alternatives = branches
            .iter()
            .flat_map(|branch| &branch.filter)
            .any(|test| matches!(test, Condition::Any(_)) && asks(test, &|expr| is_of_row(expr, rows)));
        if has_alternatives && reads_tables(branches) {
            return self.set(joined, rows, taken);
        }
        if found.from.is_empty() {
            return None;
        }
        joined.iter_mut().for_each(|branch| renumber(branch, taken));
        Some(Condition::None(joined))
    }

    /// The denial of the set of all that these selects deny, if each of its values starts from a given one.
    fn set(&self, denied: Vec<Select>, rows: &[From], taken: &mut TakenAliases) -> Option<Condition> {
        let mut sets: Vec<(Expr, Select)> = Vec::new();
        for select in denied {
            for alternative in alternatives(select, rows, taken)? {
                sets.push(self.set_of_one(alternative, rows, taken)?);
            }
        }
        if sets.is_empty() || sets.len() > MOST_SELECTS {
            return None;
        }
        let mut of_values: IndexMap<Expr, Vec<Select>> = IndexMap::new();
        for (value, set) in sets {
            of_values.entry(value).or_default().push(set);
        }
        let denied = of_values.into_iter().map(|(expr, selects)| Select {
            filter: vec![Condition::In { expr, selects, used: SetUse::ToTest }],
            ..Select::default()
        });
        Some(Condition::None(denied.collect()))
    }

    /// The sources of a select on which a denial depends, and how keys lead to them, if that is one row at
    /// most, the same for all of the caller's. Sources that lead to others are found step by step.
    fn one_row_of(&self, denial: &Condition, select: &Select, rows: &[From]) -> Option<Select> {
        let is_row = |expr: Expr| is_of_row(expr, rows);
        let mut known = select.clone();
        known.filter.retain(|condition| !asks(condition, &is_row));
        read_again(&mut known);
        let own = |alias: &Alias| known.from.iter().any(|from| from.alias == *alias && from.kind.is_read());
        let is_row_itself = |alias: &Alias| rows.iter().any(|row| row.alias == *alias);
        let mut found: IndexSet<Alias> =
            free_aliases(denial).into_iter().filter(|alias| !is_row_itself(alias)).collect();
        if !found.iter().all(own) {
            return None;
        }
        loop {
            let from = known.from.iter().copied().filter(|from| found.contains(&from.alias)).collect();
            let mut row = Select { from, ..Select::default() };
            let leads = |condition: &Condition| {
                row.from.iter().any(|from| self.keys.looked_up(condition, *from).is_some())
            };
            let leading: Vec<Condition> =
                known.filter.iter().filter(|condition| leads(condition)).cloned().collect();
            let mentioned: Vec<Alias> = leading.iter().flat_map(free_aliases).collect();
            if !mentioned.iter().all(own) {
                return None;
            }
            if mentioned.iter().all(|alias| found.contains(alias)) {
                row.filter = leading;
                return self.one_row.has_at_most_one_row(&row).then_some(row);
            }
            found.extend(mentioned);
        }
    }

    /// The set of what one alternative of a denial denies, and the value of the row that is looked up in it.
    fn set_of_one(&self, denied: Select, rows: &[From], taken: &mut TakenAliases) -> Option<(Expr, Select)> {
        let is_row = |expr: Expr| is_of_row(expr, rows);
        let (links, inner) = denied.filter.into_iter().partition(|condition| asks(condition, &is_row));
        let group = Group { from: denied.from, links, inner };
        let found = set_of(&group, rows, &self.anchors).filter(|found| found.is_whole)?;
        let mut set = found.set;
        if let Some(main) = set.output.first().copied().and_then(Expr::alias) {
            set_tests(&mut set, main, Some(&self.anchors));
        }
        renumber(&mut set, taken);
        Some((found.value, set))
    }
}

/// Reads by its own key each row that a source sees again, if a value is known for the key of that row.
fn read_again(select: &mut Select) {
    let mut known = Vec::new();
    for from in &mut select.from {
        let FromKind::Again { source, key, row, row_key } = from.kind else { continue };
        let seen = Expr::Column { alias: row, column: row_key };
        let value = select.filter.iter().find_map(|condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } if *left == seen => Some(*right),
            Condition::Compare { op: CompareOp::Equal, left, right } if *right == seen => Some(*left),
            _ => None,
        });
        if let Some(right) = value.filter(|value| value.is_static()) {
            from.kind = FromKind::Source(source);
            let left = Expr::Column { alias: from.alias, column: key };
            known.push(Condition::Compare { op: CompareOp::Equal, left, right });
        }
    }
    select.filter.extend(known);
}

/// The alternatives of a select, without tests of several branches that ask the row; `None` if they are too
/// many.
fn alternatives(select: Select, rows: &[From], taken: &mut TakenAliases) -> Option<Vec<Select>> {
    let is_row = |expr: Expr| is_of_row(expr, rows);
    let (mut open, mut found) = (vec![select], Vec::new());
    while let Some(mut select) = open.pop() {
        let asks_row =
            |condition: &Condition| matches!(condition, Condition::Any(_)) && asks(condition, &is_row);
        let Some(place) = select.filter.iter().position(asks_row) else {
            found.push(select);
            continue;
        };
        let test = select.filter.remove(place);
        open.extend(test.branches().iter().rev().map(|branch| joined(select.clone(), branch, taken)));
        if open.len() + found.len() > MOST_SELECTS {
            return None;
        }
    }
    Some(found)
}

/// A select with what a branch reads and asks.
fn joined(mut select: Select, branch: &Select, taken: &mut TakenAliases) -> Select {
    let mut branch = branch.clone();
    renumber(&mut branch, taken);
    select.from.extend(branch.from);
    select.filter.extend(branch.filter);
    select
}

/// Whether selects read a table of the plan, such as a recursion.
fn reads_tables(selects: &[Select]) -> bool {
    let mut found = false;
    for select in selects {
        select.for_each_source(&mut |from| found |= from.kind.table().is_some());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, given, literal, read, source};
    use crate::algebra::{ITSELF, PlanAnswer, Table, TableBody, TableId};
    use crate::bindings;
    use crate::catalog::ColumnId;

    /// Files and folders, each with what holds it, by promised keys; and who is denied on which folder.
    const BINDINGS: &str = "
        dialect: postgresql
        facts:
          in_folder(File:_, Folder:_): { query: 'SELECT id, folder_id FROM files' }
          above(Folder:_, Folder:_): { query: 'SELECT id, parent_id FROM folders' }
          denied(User:_, Folder:_): { query: 'SELECT user_id, folder_id FROM denials' }
        tables: { File: files.id, Folder: folders.id }
    ";
    const FILES: usize = 0;
    const FOLDERS: usize = 1;
    const DENIALS: usize = 2;

    /// What becomes of an alternative over these sources and the recursion of the folders above another one.
    fn rewritten(from: &[(usize, FromKind)], filter: Vec<Condition>) -> Vec<Condition> {
        let predicates: [(&str, &[&str]); 3] = [
            ("in_folder", &["File", "Folder"]),
            ("above", &["Folder", "Folder"]),
            ("denied", &["User", "Folder"]),
        ];
        let catalog = bound_catalog(&predicates);
        let start = read(&[(1, source(FILES))], vec![of_file(1)], vec![column(1, 1)]);
        let up = vec![equal(column(3, 0), column(2, 0))];
        let step = read(&[(2, ITSELF), (3, source(FOLDERS))], up, vec![column(3, 1)]);
        let body = TableBody::Recursive { base: vec![start], step: vec![step] };
        let above = Table::new("above".to_owned(), String::new(), 1, body);
        let answer = PlanAnswer::Decision(vec![read(from, filter, Vec::new())]);
        let mut plan = Plan::new(vec![above], answer);
        let bindings = bindings::parse(BINDINGS).unwrap();
        deny_alone(&mut plan, &catalog, Keys { catalog: &catalog, bindings: &bindings });
        plan.answer.selects()[0].filter.clone()
    }

    /// The file of the question is this source's key.
    fn of_file(alias: usize) -> Condition {
        equal(column(alias, 0), literal(0))
    }

    /// The denial of the caller's row on the folder that is this value.
    fn denied_on(folder: Expr) -> Condition {
        let filter = vec![equal(column(9, 1), folder), equal(column(9, 0), given(0))];
        Condition::None(vec![read(&[(9, source(DENIALS))], filter, Vec::new())])
    }

    /// The sources that a denial reads, at any depth, and whether it is that of a set.
    fn denies(condition: &Condition) -> (Vec<FromKind>, bool) {
        let Condition::None(branches) = condition else { panic!("{condition:?}") };
        let mut read = Vec::new();
        branches.iter().for_each(|branch| branch.for_each_source(&mut |from| read.push(from.kind)));
        let is_set = matches!(
            branches.as_slice(),
            [only] if matches!(only.filter.as_slice(), [Condition::In { used: SetUse::ToTest, .. }])
        );
        (read, is_set)
    }

    #[test]
    fn a_denial_looks_up_the_one_row_on_which_it_depends() {
        let filter = vec![of_file(1), denied_on(column(1, 1))];
        let found = rewritten(&[(1, source(FILES))], filter);
        assert_eq!(found[0], of_file(1));
        assert_eq!(denies(&found[1]), (vec![source(FILES), source(DENIALS)], false));
        // The folder above the file's: keys lead from one row to the other.
        let filter = vec![of_file(1), equal(column(2, 0), column(1, 1)), denied_on(column(2, 1))];
        let found = rewritten(&[(1, source(FILES)), (2, source(FOLDERS))], filter);
        assert_eq!(denies(&found[2]).0.len(), 3);
    }

    /// A source that sees the file again is read by the file's key, if that is known.
    #[test]
    fn a_row_that_is_seen_again_is_looked_up_by_its_key() {
        let (FromKind::Source(source_id), key) = (source(FILES), ColumnId::FIRST) else { panic!() };
        let again = FromKind::Again { source: source_id, key, row: Alias::of_number(1), row_key: key };
        let from = [(1, source(FILES)), (2, again)];
        let found = rewritten(&from, vec![of_file(1), denied_on(column(2, 1))]);
        assert_eq!(denies(&found[1]), (vec![source(FILES), source(DENIALS)], false));
        let filter = vec![denied_on(column(2, 1))];
        assert_eq!(rewritten(&from, filter.clone()), filter);
    }

    /// One of two rows may be denied, and the other not.
    #[test]
    fn a_denial_about_one_of_several_rows_stays() {
        let in_folder = equal(column(1, 1), literal(0));
        let filter = vec![in_folder, denied_on(column(1, 1))];
        assert_eq!(rewritten(&[(1, source(FILES))], filter.clone()), filter);
        // The caller's row leads to this one.
        let filter = vec![equal(column(1, 0), given(0)), denied_on(column(1, 1))];
        assert_eq!(rewritten(&[(1, source(FILES))], filter.clone()), filter);
        // What does not depend on the caller's row is tested once anyway.
        let denied = read(&[(9, source(DENIALS))], vec![equal(column(9, 1), column(1, 1))], Vec::new());
        let filter = vec![of_file(1), Condition::None(vec![denied])];
        assert_eq!(rewritten(&[(1, source(FILES))], filter.clone()), filter);
    }

    #[test]
    fn a_recursion_before_alternatives_becomes_a_set_of_what_is_denied() {
        let above = TableId::after::<Table>(&[]).source();
        let on_any = |alternatives: Vec<Select>| {
            let filter = vec![Condition::Any(alternatives)];
            Condition::None(vec![read(&[(8, above)], filter, Vec::new())])
        };
        let Condition::None(direct) = denied_on(column(8, 0)) else { panic!() };
        let found = rewritten(&[], vec![on_any(direct.clone())]);
        assert_eq!(denies(&found[0]), (vec![source(DENIALS), above], true));
        let Condition::None(alone) = on_any(direct.clone()) else { panic!() };
        let joined = alone.iter().map(|test| {
            let Some(Condition::Any(branches)) = test.filter.first() else { panic!("{test:?}") };
            let from = test.from.iter().chain(&branches[0].from).copied().collect();
            Select { from, filter: branches[0].filter.clone(), ..Select::default() }
        });
        let filter = vec![Condition::None(joined.collect())];
        assert_eq!(rewritten(&[], filter.clone()), filter);
        // Nothing that is given leads to the second alternative.
        let everybody = read(&[(7, source(DENIALS))], vec![equal(column(7, 0), given(0))], Vec::new());
        let filter = vec![on_any([direct, vec![everybody]].concat())];
        assert_eq!(rewritten(&[], filter.clone()), filter);
    }
}
