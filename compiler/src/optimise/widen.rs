//! Merges an alternative of a decision into a wider one, which has more literals, under an extra condition.
//!
//! A maintainer closes an issue, and so does a reader who created it:
//!
//! ```text
//! p(x) with x in L   or   e and p(x) with x in M     ─▶   p(x) with x in M and (x in L or e)
//! ```
//!
//! where L is a part of M, and `e` depends on no row of `p`. A database that sets up every part of a plan
//! before the first row then sets up `p` once. The literals of M stay a condition of their own, by which an
//! index finds the rows.
//!
//! If `e` is tested in several places, it becomes a table, which is read in each of them.
//!
//! `p` may have several such tests, if only one of them concerns a row: they are in different branches of a
//! condition. A test inside a denial is not one of them.

use super::literals::literal_test;
use crate::algebra::aliases::{TakenAliases, number_aliases, renumber};
use crate::algebra::groups::around;
use crate::algebra::{Condition, Expr, From, Plan, PlanAnswer, Repeats, Select, Table, TableBody, TableId};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId};

/// With more alternatives than this, all stay: each is compared with all others.
const MOST_ALTERNATIVES: usize = 64;

/// Merges alternatives of a decision with those that ask the same with more literals.
pub(super) fn merge_wider(plan: &mut Plan) {
    let mut taken = TakenAliases::of(plan.selects());
    let Plan { tables, answer: PlanAnswer::Decision(selects), .. } = plan else { return };
    if selects.len() > MOST_ALTERNATIVES {
        return;
    }
    while let Some(MergedPair { places: pair, select, table }) = merged(selects, tables.len(), &mut taken) {
        tables.extend(table);
        // It replaces the first of them.
        let mut merged = Some(select);
        let places = std::mem::take(selects).into_iter().enumerate();
        let left =
            places.filter_map(|(at, select)| if pair.contains(&at) { merged.take() } else { Some(select) });
        *selects = left.collect();
    }
}

/// Two alternatives that are asked as one.
struct MergedPair {
    /// Their places.
    places: [usize; 2],
    /// The one.
    select: Select,
    /// The table that it reads and that was not there before.
    table: Option<Table>,
}

/// Two of the alternatives that can be asked as one with fewer sources.
fn merged(selects: &[Select], n_tables: usize, taken: &mut TakenAliases) -> Option<MergedPair> {
    let all: Vec<AlternativeParts> = selects.iter().map(AlternativeParts::of).collect();
    for (at, narrow) in all.iter().enumerate() {
        for (other, wide) in all.iter().enumerate() {
            let Some(widened) = narrow.within(wide).filter(|_| other != at) else { continue };
            let (select, table) = widened.merged(n_tables, taken);
            let of_table = table.iter().flat_map(|table| table.body.selects());
            let before = [selects.get(at), selects.get(other)].into_iter().flatten();
            if n_sources(of_table.chain([&select])) < n_sources(before) {
                return Some(MergedPair { places: [at, other], select, table });
            }
        }
    }
    None
}

fn n_sources<'s>(selects: impl IntoIterator<Item = &'s Select>) -> usize {
    let mut count = 0;
    selects.into_iter().for_each(|select| select.for_each_source(&mut |_| count += 1));
    count
}

/// The parts of an alternative that no condition connects.
struct AlternativeParts(Vec<AlternativePart>);

/// Sources with the conditions on them, or a condition on no source.
struct AlternativePart {
    select: Select,
    /// The part without the literals of its tests, in a form in which equal ones are equal.
    shape: Select,
    /// The literals of its tests.
    literals: Vec<Vec<ConstId>>,
}

impl AlternativeParts {
    fn of(select: &Select) -> Self {
        let around = around(select, &|_| false);
        let groups = around.groups.into_iter().map(|group| {
            let filter = [group.links, group.inner].concat();
            Select { from: group.from, filter, output: IdVec::new() }
        });
        let own =
            around.own.into_iter().map(|condition| Select { filter: vec![condition], ..Select::default() });
        Self(groups.chain(own).map(AlternativePart::of).collect())
    }

    /// What the other alternative asks, if that is what this one asks with more literals and more conditions.
    fn within<'w>(&self, wide: &'w Self) -> Option<Widened<'w>> {
        let mut left: Vec<&AlternativePart> = wide.0.iter().collect();
        let mut common = Vec::new();
        for part in &self.0 {
            let other = left.remove(left.iter().position(|other| part.shape == other.shape)?);
            let mut fewer = Vec::new();
            for (narrow, wide) in part.literals.iter().zip(&other.literals) {
                if !narrow.iter().all(|literal| wide.contains(literal)) {
                    return None;
                }
                fewer.push((narrow.len() < wide.len()).then(|| narrow.clone()));
            }
            common.push((&other.select, fewer));
        }
        let mut further = Select::default();
        for part in left {
            further.from.extend(&part.select.from);
            further.filter.extend(part.select.filter.iter().cloned());
        }
        let widened = Widened { common, further };
        widened.is_exact().then_some(widened)
    }
}

impl AlternativePart {
    fn of(select: Select) -> Self {
        let (mut shape, mut literals) = (select.clone(), Vec::new());
        for_each_test(&mut shape, &mut |expr, tested, test| {
            literals.push(tested);
            *test = Condition::OneOf { expr, literals: Vec::new() };
            None
        });
        number_aliases([&mut shape]);
        Self { select, shape, literals }
    }
}

/// An alternative that asks what another one asks, with more literals, and more.
struct Widened<'w> {
    /// The parts that both have, and the literals of each test in the other one where they are fewer.
    common: Vec<(&'w Select, Vec<Option<Vec<ConstId>>>)>,
    /// What only this one asks.
    further: Select,
}

impl Widened<'_> {
    /// Whether one alternative can ask both: it has more literals only under further conditions, and at most
    /// in one test of any row.
    fn is_exact(&self) -> bool {
        let of_part = |(part, fewer): &(&Select, Vec<Option<Vec<ConstId>>>)| {
            wider_tests(part, &mut fewer.iter().map(Option::is_some))
        };
        let wider: Vec<Tests> = self.common.iter().map(of_part).collect();
        Tests::all(wider) == Tests::One && !self.further.is_unit()
    }

    /// Asks both. What is asked further in several places is a table, the next after `n_tables`.
    fn merged(&self, n_tables: usize, taken: &mut TakenAliases) -> (Select, Option<Table>) {
        let n_places =
            self.common.iter().flat_map(|(_, fewer)| fewer).filter(|fewer| fewer.is_some()).count();
        let is_table = n_places > 1 && self.further.from.iter().any(|from| from.kind.is_read());
        let (further, table) = if is_table {
            let alias = taken.take();
            let from = vec![From { alias, kind: TableId::from_index(n_tables).source() }];
            let rows = Select { output: vec![Expr::Filler].into(), ..self.further.clone() };
            let name = format!("pw{}_further", n_tables + 1);
            let comment = "a condition that several tests share".to_owned();
            let table = Table::new(name, comment, 1, TableBody::Union(vec![rows]));
            (Select { from, ..Select::default() }, Some(Table { repeats: Repeats::Kept, ..table }))
        } else {
            (self.further.clone(), None)
        };
        let mut merged = Select::default();
        for (part, fewer) in &self.common {
            let (mut part, mut fewer) = ((*part).clone(), fewer.iter());
            for_each_test(&mut part, &mut |expr, _, _| {
                let narrow = match fewer.next()?.as_deref()? {
                    [literal] => {
                        let right = Expr::Const(*literal);
                        Condition::Compare { op: CompareOp::Equal, left: expr, right }
                    }
                    literals => Condition::OneOf { expr, literals: literals.to_vec() },
                };
                let narrow = Select { filter: vec![narrow], ..Select::default() };
                let mut further = further.clone();
                renumber(&mut further, taken);
                Some(Condition::Any(vec![narrow, further]))
            });
            merged.from.append(&mut part.from);
            merged.filter.append(&mut part.filter);
        }
        (merged, table)
    }
}

/// How many tests of one row have more literals.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tests {
    None,
    One,
    Several,
}

impl Tests {
    /// Those of conditions that must all hold.
    fn all(each: Vec<Self>) -> Self {
        let mut wider = each.into_iter().filter(|tests| *tests != Self::None);
        match (wider.next(), wider.next()) {
            (None, _) => Self::None,
            (Some(tests), None) => tests,
            (Some(_), Some(_)) => Self::Several,
        }
    }
}

/// The tests with more literals, given whether each of them has.
fn wider_tests(select: &Select, is_wider: &mut impl Iterator<Item = bool>) -> Tests {
    let mut each = Vec::new();
    for condition in &select.filter {
        each.push(match condition {
            Condition::Any(branches) | Condition::In { selects: branches, .. } => {
                let branches: Vec<Tests> =
                    branches.iter().map(|branch| wider_tests(branch, is_wider)).collect();
                branches.into_iter().max().unwrap_or(Tests::None)
            }
            Condition::None(_) | Condition::Meets { .. } => Tests::None,
            Condition::Compare { .. } | Condition::OneOf { .. } => {
                let is_wider = literal_test(condition).is_some() && is_wider.next() == Some(true);
                if is_wider { Tests::One } else { Tests::None }
            }
        });
    }
    Tests::all(each)
}

/// Visits every test of a value for literals that is not inside a denial; a condition that the visitor
/// returns is added next to it.
fn for_each_test(
    select: &mut Select,
    visit: &mut impl FnMut(Expr, Vec<ConstId>, &mut Condition) -> Option<Condition>,
) {
    let mut filter = Vec::new();
    for mut condition in std::mem::take(&mut select.filter) {
        let mut added = None;
        if let Some((expr, literals)) = literal_test(&condition) {
            added = visit(expr, literals, &mut condition);
        } else if !matches!(condition, Condition::None(_)) {
            condition.branches_mut().iter_mut().for_each(|branch| for_each_test(branch, visit));
        }
        filter.push(condition);
        filter.extend(added);
    }
    select.filter = filter;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::FromKind;
    use crate::algebra::sample::{column, equal, given, reading};
    use crate::catalog::SourceId;

    const ROLE: usize = 1;
    const CREATOR: usize = 2;

    fn one_of(expr: Expr, literals: &[usize]) -> Condition {
        let literals = literals.iter().map(|literal| ConstId::from_index(*literal)).collect();
        Condition::OneOf { expr, literals }
    }

    fn source(alias: usize, source: usize, filter: Vec<Condition>) -> Select {
        let kind = FromKind::Source(SourceId::from_index(source));
        Select { filter, ..reading(alias, kind, Vec::new()) }
    }

    /// A reading of a role with these literals.
    fn role(alias: usize, literals: &[usize]) -> Select {
        let has = equal(column(alias, 0), given(0));
        source(alias, ROLE, vec![has, one_of(column(alias, 1), literals)])
    }

    fn with(mut select: Select, other: Select) -> Select {
        select.from.extend(other.from);
        select.filter.extend(other.filter);
        select
    }

    fn creator(alias: usize) -> Select {
        source(alias, CREATOR, vec![equal(column(alias, 0), given(1))])
    }

    /// The alternatives, and the selects of the tables.
    fn all_merged(selects: Vec<Select>) -> [Vec<Select>; 2] {
        let mut plan = Plan::new(Vec::new(), PlanAnswer::Decision(selects));
        merge_wider(&mut plan);
        let of_tables = plan.tables.iter().flat_map(|table| table.body.selects()).cloned().collect();
        let mut all = [plan.answer.selects().to_vec(), of_tables];
        all.iter_mut().flatten().for_each(|select| number_aliases([select]));
        all
    }

    fn merged_of(selects: Vec<Select>) -> Vec<Select> {
        let [selects, of_tables] = all_merged(selects);
        assert_eq!(of_tables, []);
        selects
    }

    /// Both as they are, but for the numbers of their aliases.
    fn assert_stays(selects: Vec<Select>) {
        let mut same = selects.clone();
        same.iter_mut().for_each(|select| number_aliases([select]));
        assert_eq!(merged_of(selects), same);
    }

    /// A test of whether one of these branches has a row, in a select that reads a source.
    fn any(alias: usize, branches: Vec<Select>) -> Select {
        source(alias, 3, vec![Condition::Any(branches)])
    }

    /// A role with more literals under a further condition.
    fn widened(alias: usize, further: Select) -> Select {
        let narrow = Select { filter: vec![one_of(column(alias, 1), &[1, 2])], ..Select::default() };
        let mut select = role(alias, &[1, 2, 3]);
        select.filter.push(Condition::Any(vec![narrow, further]));
        select
    }

    #[test]
    fn more_literals_under_a_further_condition_are_tested_together() {
        let all = |first, second| {
            let branches = |n, literals| vec![role(n + 1, literals), creator(n + 2)];
            vec![
                any(first, branches(first, &[1, 2])),
                with(creator(9), any(second, branches(second, &[1, 2, 3]))),
            ]
        };
        let mut expected = any(1, vec![widened(2, creator(3)), creator(4)]);
        number_aliases([&mut expected]);
        assert_eq!(merged_of(all(11, 21)), [expected.clone()]);
        // In the other order, too.
        assert_eq!(merged_of(all(11, 21).into_iter().rev().collect()), [expected]);
    }

    #[test]
    fn a_further_condition_of_several_tests_is_a_table() {
        let branches = |n: usize, literals| vec![role(n + 1, literals), role(n + 2, literals)];
        let all = vec![any(11, branches(11, &[1, 2])), with(creator(9), any(21, branches(21, &[1, 2, 3])))];
        let shared = |alias| reading(alias, TableId::from_index(0).source(), Vec::new());
        let mut expected = any(1, vec![widened(2, shared(3)), widened(4, shared(5))]);
        number_aliases([&mut expected]);
        let rows = Select { output: vec![Expr::Filler].into(), ..creator(1) };
        assert_eq!(all_merged(all), [vec![expected], vec![rows]]);
    }

    #[test]
    fn what_one_alternative_cannot_ask_stays() {
        let pair = |narrow: Vec<Condition>, wide: Vec<Condition>| {
            let [narrow, wide] = [(1, narrow), (2, wide)].map(|(alias, filter)| {
                let mut big = source(alias, 3, filter);
                // Large enough to be worth it.
                big.filter.push(Condition::Any(vec![creator(alias + 10), creator(alias + 20)]));
                big
            });
            vec![narrow, with(creator(9), wide)]
        };
        let [a, b] = [column(1, 0), column(2, 0)];
        let [a2, b2] = [column(1, 1), column(2, 1)];
        assert_eq!(merged_of(pair(vec![one_of(a, &[1])], vec![one_of(b, &[1, 2])])).len(), 1);
        // Fewer literals, or others.
        assert_stays(pair(vec![one_of(a, &[1, 2])], vec![one_of(b, &[1])]));
        assert_stays(pair(vec![one_of(a, &[1, 4])], vec![one_of(b, &[1, 2, 3])]));
        // Of another value.
        assert_stays(pair(vec![one_of(a, &[1])], vec![one_of(b2, &[1, 2])]));
        // Two tests of one row.
        let both = |a, a2, literals: &[usize]| vec![one_of(a, literals), one_of(a2, literals)];
        assert_stays(pair(both(a, a2, &[1]), both(b, b2, &[1, 2])));
        // Inside a denial.
        let denied = |literals| vec![Condition::None(vec![role(30, literals)])];
        assert_stays(pair(denied(&[1]), denied(&[1, 2])));
    }

    #[test]
    fn a_condition_that_depends_on_the_rows_stays() {
        let wide = with(role(2, &[1, 2]), source(3, CREATOR, vec![equal(column(3, 0), column(2, 0))]));
        assert_stays(vec![role(1, &[1]), wide]);
    }
}
