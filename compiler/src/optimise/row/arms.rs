//! Replaces a set of a filter that only reads a table by the table's alternatives.
//!
//! ```text
//! row.f in (t)   with   t = roles(u, f) ∪ folders(f, o), owns(u, o)
//!     ─▶   row.f in (roles(u, f)) ∪ (folders(f, o), owns(u, o))
//! ```
//!
//! Conditions on the set then apply to each alternative, which often reads the row already: see
//! [`super::guards`] and [`super::super::keyed::read_once`]. A table stays where each of its alternatives
//! would get a copy of long conditions: PostgreSQL plans every copy.

use super::super::in_place::{in_place_of, shows_columns};
use super::super::sets::set_tests;
use super::guards::probed_column;
use super::rows_of;
use crate::algebra::aliases::TakenAliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, PlanAnswer, Select, TableBody, TableRef};
use crate::catalog::Catalog;

/// How many alternatives a set may become; a table with more is read as it is.
const MOST_ARMS: usize = 8;

/// How many selects copies of conditions may add.
const MOST_COPIED: usize = 8;

/// The same for conditions of the set itself: they test all of its values either way, but sooner where an
/// alternative reads the row that they are about.
const MOST_OWN_COPIED: usize = 24;

/// The conditions on one value of the row, and how many selects they have.
type ProbedValue = (Expr, usize);

/// Takes the tables of all sets of a filter apart.
pub(in super::super) fn take_tables_apart(plan: &mut Plan, catalog: &Catalog) {
    let Plan { tables, answer, .. } = plan;
    let anchors = Anchors::new(catalog, tables);
    let mut taken = TakenAliases::of(answer.selects());
    match answer {
        PlanAnswer::Decision(conditions) => {
            let taker = Taker { anchors: &anchors, rows: &[], probed: &[] };
            conditions.iter_mut().for_each(|select| taker.in_select(select, &mut taken));
        }
        // What a filter returns is one set, in which the caller's column is looked up.
        PlanAnswer::Rows { selects, .. } => {
            let sets = std::mem::take(selects).into_iter();
            *selects = sets.flat_map(|set| arms(set, 0, &anchors, &mut taken)).collect();
        }
    }
}

/// What surrounds a condition on the row.
struct Taker<'a> {
    anchors: &'a Anchors<'a>,
    /// The sources that expose the row.
    rows: &'a [From],
    /// The probes that [`super::guards`] may put into the sets of these values.
    probed: &'a [ProbedValue],
}

impl Taker<'_> {
    fn in_select(&self, select: &mut Select, taken: &mut TakenAliases) {
        let rows: Vec<From> = self.rows.iter().copied().chain(rows_of(&select.from)).collect();
        let own = select
            .filter
            .iter()
            .filter_map(|condition| Some((probed_column(condition, &rows)?, n_selects_of(condition))));
        let probed: Vec<ProbedValue> = self.probed.iter().copied().chain(own).collect();
        let inside = Taker { rows: &rows, probed: &probed, ..*self };
        for condition in &mut select.filter {
            match condition {
                Condition::In { expr, selects, .. } => {
                    let of_value = probed.iter().filter(|(value, _)| value == expr);
                    let n_selects = of_value.map(|(_, n_selects)| n_selects).sum();
                    let sets = std::mem::take(selects).into_iter();
                    *selects = sets.flat_map(|set| arms(set, n_selects, self.anchors, taken)).collect();
                }
                Condition::Any(branches) => {
                    branches.iter_mut().for_each(|branch| inside.in_select(branch, taken));
                }
                Condition::None(_)
                | Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::Meets { .. } => {}
            }
        }
    }
}

/// How many selects a condition has.
fn n_selects_of(condition: &Condition) -> usize {
    condition.branches().iter().map(|branch| 1 + branch.n_nested()).sum()
}

/// The alternatives of the table that a set is, if it is one, and of the tables that these are. Each would
/// get probes of so many selects.
fn arms(set: Select, n_selects: usize, anchors: &Anchors<'_>, taken: &mut TakenAliases) -> Vec<Select> {
    let (mut open, mut all) = (vec![set], Vec::new());
    while let Some(set) = open.pop() {
        match table_arms(&set, open.len() + all.len(), n_selects, anchors) {
            Some((alias, arms)) => {
                let mut arms: Vec<Select> =
                    arms.iter().map(|arm| in_place_of(alias, arm, &set, taken)).collect();
                for arm in &mut arms {
                    if let Some(main) = arm.output.first().copied().and_then(Expr::alias) {
                        set_tests(arm, main, Some(anchors));
                    }
                }
                open.extend(arms.into_iter().rev());
            }
            None => all.push(set),
        }
    }
    all
}

/// The selects of the table that a set is, if they may take its place beside so many others: all of them are
/// few, and so are the copies of the conditions that each would get.
fn table_arms<'p>(
    set: &Select,
    n_others: usize,
    n_selects: usize,
    anchors: &Anchors<'p>,
) -> Option<(Alias, &'p [Select])> {
    let [From { alias, kind: FromKind::Table(TableRef::Table(table)) }] = set.from.as_slice() else {
        return None;
    };
    let TableBody::Union(arms) = &table.of(anchors.tables).body else { return None };
    let n_arms = n_others + arms.len();
    let n_copies = n_arms.saturating_sub(1);
    let n_own: usize = set.filter.iter().map(n_selects_of).sum();
    let is_short =
        n_arms <= MOST_ARMS && n_copies * n_selects <= MOST_COPIED && n_copies * n_own <= MOST_OWN_COPIED;
    (is_short && arms.iter().all(shows_columns)).then_some((*alias, arms))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{self, column, equal, given, literal, read, reading, source};
    use crate::algebra::{AnswerColumns, Range, SetUse, Table, TableId};
    use crate::catalog::{ColumnId, SourceId};

    fn catalog() -> Catalog {
        let types: &[&str] = &["User", "Folder", "Folder"];
        sample::catalog(&[("owns", types), ("banned", types), ("documents", types)])
    }

    /// An alternative that starts from the actor.
    fn arm() -> Select {
        read(&[(1, source(0))], vec![equal(column(1, 0), given(0))], vec![column(1, 1)])
    }

    fn of_table(alias: usize, table: usize) -> Select {
        reading(alias, TableId::from_index(table).source(), vec![column(alias, 0)])
    }

    /// A probe of so many selects that depends on this value.
    fn probe(value: Expr, n_selects: usize) -> Condition {
        let denied = |alias| read(&[(alias, source(1))], vec![equal(column(alias, 0), value)], Vec::new());
        Condition::None((20..20 + n_selects).map(denied).collect())
    }

    fn plan(tables: &[Vec<Select>], answer: PlanAnswer) -> Plan {
        let table = |arms: &Vec<Select>| {
            Table::new("pc".to_owned(), String::new(), 1, TableBody::Union(arms.clone()))
        };
        Plan::new(tables.iter().map(table).collect(), answer)
    }

    /// What becomes of the last table where a column of the row is looked up in it, next to these conditions.
    fn looked_up(tables: &[Vec<Select>], beside: Vec<Condition>) -> Vec<Select> {
        let set = vec![of_table(11, tables.len() - 1)];
        let is_in = Condition::In { expr: column(10, 1), selects: set, used: SetUse::ToFind };
        let row = FromKind::Row { source: SourceId::from_index(2), key: ColumnId::FIRST };
        let filter = [vec![is_in], beside].concat();
        let test = read(&[(10, row)], filter, Vec::new());
        let mut plan = plan(tables, PlanAnswer::Decision(vec![test]));
        take_tables_apart(&mut plan, &catalog());
        let filter = &plan.answer.selects()[0].filter;
        let Some(Condition::In { selects, .. }) = filter.first() else { panic!("{filter:?}") };
        selects.clone()
    }

    /// How many selects of a set read a relation, and how many read a table.
    fn n_reading(selects: &[Select]) -> (usize, usize) {
        let n_tables = selects.iter().filter(|select| select.from[0].kind.table().is_some()).count();
        (selects.len() - n_tables, n_tables)
    }

    #[test]
    fn a_table_with_many_alternatives_stays() {
        let looked_up = |n_arms| looked_up(&[vec![arm(); n_arms]], Vec::new());
        assert_eq!(n_reading(&looked_up(MOST_ARMS)), (MOST_ARMS, 0));
        assert_eq!(looked_up(MOST_ARMS + 1), [of_table(11, 0)]);
    }

    /// Wherever the inner table stands among the alternatives of the outer one.
    #[test]
    fn the_alternatives_of_nested_tables_count_together() {
        for place in [0, 2, 4] {
            let looked_up = |n_inner| {
                let mut outer = vec![arm(); 4];
                outer.insert(place, of_table(1, 0));
                looked_up(&[vec![arm(); n_inner], outer], Vec::new())
            };
            assert_eq!(n_reading(&looked_up(MOST_ARMS - 4)), (MOST_ARMS, 0));
            assert_eq!(n_reading(&looked_up(MOST_ARMS - 3)), (4, 1));
        }
    }

    /// The first of three alternatives has the probe in any case; the others would each get a copy.
    #[test]
    fn long_probes_of_the_value_keep_the_table() {
        let looked_up = |value, n_selects| looked_up(&[vec![arm(); 3]], vec![probe(value, n_selects)]);
        let n_most = MOST_COPIED / 2;
        assert_eq!(n_reading(&looked_up(column(10, 1), n_most)), (3, 0));
        assert_eq!(looked_up(column(10, 1), n_most + 1), [of_table(11, 0)]);
        // A probe of another value of the row is not copied.
        assert_eq!(n_reading(&looked_up(column(10, 2), n_most + 1)), (3, 0));
    }

    #[test]
    fn selects_inside_a_probe_and_several_probes_count() {
        let nested = |n_selects| {
            let inside = vec![probe(column(30, 1), n_selects - 1)];
            let value = equal(column(30, 0), column(10, 1));
            let branch = read(&[(30, source(1))], [vec![value], inside].concat(), Vec::new());
            Condition::Any(vec![branch])
        };
        let looked_up = |beside| n_reading(&looked_up(&[vec![arm(); 3]], beside));
        let n_most = MOST_COPIED / 2;
        assert_eq!(looked_up(vec![nested(n_most)]), (3, 0));
        assert_eq!(looked_up(vec![nested(n_most + 1)]), (0, 1));
        let probe = |n_selects| probe(column(10, 1), n_selects);
        assert_eq!(looked_up(vec![probe(2), probe(n_most - 2)]), (3, 0));
        assert_eq!(looked_up(vec![probe(2), probe(n_most - 1)]), (0, 1));
    }

    /// The conditions of the set itself are copied, too.
    #[test]
    fn long_conditions_of_the_set_keep_the_table() {
        let looked_up = |n_selects| {
            let outer = Select { filter: vec![probe(column(1, 0), n_selects)], ..of_table(1, 0) };
            looked_up(&[vec![arm(); 3], vec![outer]], Vec::new())
        };
        let n_most = MOST_OWN_COPIED / 2;
        assert_eq!(n_reading(&looked_up(n_most)), (3, 0));
        assert_eq!(n_reading(&looked_up(n_most + 1)), (0, 1));
    }

    #[test]
    fn an_alternative_that_shows_a_literal_keeps_the_table() {
        let shows = |value| vec![arm(), Select { output: vec![value].into(), ..arm() }];
        assert_eq!(n_reading(&looked_up(&[shows(column(1, 0))], Vec::new())), (2, 0));
        for value in [literal(0), given(1)] {
            assert_eq!(looked_up(&[shows(value)], Vec::new()), [of_table(11, 0)]);
        }
    }

    #[test]
    fn a_recursion_and_a_table_that_is_joined_stay() {
        let body = TableBody::Recursive { base: vec![arm()], step: Vec::new() };
        let table = Table::new("pc".to_owned(), String::new(), 1, body);
        let joined = read(&[(11, TableId(0).source()), (12, source(0))], Vec::new(), vec![column(11, 0)]);
        for (mut plan, set) in [
            (Plan::new(vec![table], PlanAnswer::Decision(Vec::new())), of_table(11, 0)),
            (plan(&[vec![arm()]], PlanAnswer::Decision(Vec::new())), joined),
        ] {
            plan.answer = PlanAnswer::Rows {
                selects: vec![set.clone()],
                columns: AnswerColumns::OfPart(1),
                range: Range::All,
            };
            take_tables_apart(&mut plan, &catalog());
            assert_eq!(plan.answer.selects(), [set]);
        }
    }
}
