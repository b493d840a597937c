//! Looks a value up in the set of a recursion, instead of reading the recursion in a test of each row.
//!
//! ```text
//! not (t in barred and t.c0 = row.f)                  ─▶   not (row.f in (t.c0 where t in barred))
//! not (f in folders and f.id = row.f and f.archived   ─▶   not (f in folders and f.id = row.f and f.archived
//!      and t in barred and t.c0 = f.id)                         and row.f in (t.c0 where t in barred))
//! ```
//!
//! PostgreSQL estimates a recursion at many more rows than it has, and makes no join of a test that defines
//! the recursion itself. So each row may scan all that is denied, and even a few rows look expensive enough
//! to be compiled. A set is estimated as small. For a value of the row it is hashed. For a column of another
//! source in the test it is an array: PostgreSQL would count the cost of a hash table for each look-up in
//! that source, and so read it from end to end even for a few rows.
//!
//! Only values of the recursion itself become a set. A set of what leads to it, such as all documents of a
//! denied collection, may be as large as a table, and would be made for a single row, too. The values that
//! are looked up are those of the row, or of sources that the row leads to: sources that only the recursion
//! leads to are still reached from it. What is inside a set stays as it is, because the recursion is defined
//! around it, and joined there.

use super::setting::Setting;
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse, Table, TableBody};
use crate::ir::CompareOp;
use crate::question::QuestionVarId;

/// Rewrites the tests of all alternatives.
pub(super) fn look_up(plan: &mut Plan, setting: &Setting<'_>) {
    let Plan { tables, answer, .. } = plan;
    let rewriter = TestRewriter { tables, column: setting.row.map(|row| row.var) };
    answer.selects_mut().iter_mut().for_each(|select| rewriter.in_alternative(select));
}

/// Rewrites tests.
struct TestRewriter<'p> {
    /// The tables that they may read.
    tables: &'p [Table],
    /// The variable whose value is the filter's column.
    column: Option<QuestionVarId>,
}

impl TestRewriter<'_> {
    /// Rewrites the tests of an alternative, and those of the alternatives inside it. Where it reads rows of
    /// its own, a test that must hold may find these rows, and stays.
    fn in_alternative(&self, select: &mut Select) {
        let reads_nothing = select.reads_nothing();
        for condition in &mut select.filter {
            match condition {
                Condition::None(branches) => branches.iter_mut().for_each(|branch| self.in_test(branch)),
                Condition::Any(branches) => branches.iter_mut().for_each(|branch| {
                    if branch.reads_nothing() {
                        self.in_alternative(branch);
                    } else if reads_nothing {
                        self.in_test(branch);
                    }
                }),
                Condition::Compare { .. } | Condition::OneOf { .. } | Condition::In { .. } => {}
            }
        }
    }

    /// Rewrites a test, and those inside it.
    fn in_test(&self, test: &mut Select) {
        for from in test.from.clone() {
            if self.is_recursion(from) {
                self.look_up_in(test, from);
            }
        }
        for condition in &mut test.filter {
            if let Condition::Any(branches) | Condition::None(branches) = condition {
                branches.iter_mut().for_each(|branch| self.in_test(branch));
            }
        }
    }

    fn is_recursion(&self, from: From) -> bool {
        match from.kind.table().map(|table| &table.of(self.tables).body) {
            Some(TableBody::Recursive { .. }) => true,
            Some(TableBody::Union(_) | TableBody::WholeState { .. }) | None => false,
        }
    }

    /// Replaces a recursion that a test reads by a look-up, if equalities of one of its columns are all that
    /// connects it with other values, and the row leads to one of these.
    fn look_up_in(&self, test: &mut Select, recursion: From) {
        let Some(Ties { own, tied, inner, others }) = self.ties(test, recursion.alias) else { return };
        let rest = Select {
            from: test.from.iter().copied().filter(|from| *from != recursion).collect(),
            filter: others,
            ..Select::default()
        };
        let led = self.led(test, &rest);
        let is_led = |expr: &Expr| {
            self.is_around(test, *expr) || expr.alias().is_some_and(|alias| led.contains(&alias))
        };
        let Some(value) = tied.iter().copied().find(is_led) else { return };
        let around = {
            let mut equal = tied.iter().copied().chain(equal_to(value, &rest));
            equal.find(|expr| self.is_around(test, *expr))
        };
        let used = if around.is_some() { SetUse::ToTest } else { SetUse::ToFind };
        *test = rest;
        let equal = tied.into_iter().filter(|other| *other != value).map(|other| Condition::Compare {
            op: CompareOp::Equal,
            left: value,
            right: other,
        });
        test.filter.extend(equal);
        let set = Select { from: vec![recursion], filter: inner, output: vec![own].into() };
        test.filter.push(Condition::In { expr: around.unwrap_or(value), selects: vec![set], used });
    }

    /// What a source of a test is connected with; `None` if anything else than equalities of one column
    /// connects it.
    fn ties(&self, test: &Select, source: Alias) -> Option<Ties> {
        let mut column = None;
        let (mut tied, mut inner, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for condition in &test.filter {
            let free = free_aliases(condition);
            if !free.contains(&source) {
                others.push(condition.clone());
            } else if free == [source] && !self.asks_row(condition) {
                inner.push(condition.clone());
            } else if let Condition::Compare { op: CompareOp::Equal, left, right } = condition {
                let (own, other) =
                    if left.alias() == Some(source) { (*left, *right) } else { (*right, *left) };
                if other.alias() == Some(source) || column.is_some_and(|column| column != own) {
                    return None;
                }
                column = Some(own);
                if !tied.contains(&other) {
                    tied.push(other);
                }
            } else {
                return None;
            }
        }
        let is_shown = test.output.iter().any(|shown| shown.alias() == Some(source));
        let own = column.filter(|_| !is_shown)?;
        Some(Ties { own, tied, inner, others })
    }

    /// The sources of a test that equalities lead to from around it, by the conditions of the rest.
    fn led(&self, test: &Select, rest: &Select) -> Vec<Alias> {
        let mut led: Vec<Alias> = Vec::new();
        loop {
            let before = led.len();
            for condition in &rest.filter {
                let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { continue };
                for (own, other) in [(*left, *right), (*right, *left)] {
                    let is_led = other.alias().is_some_and(|alias| led.contains(&alias));
                    let is_known = is_led || self.is_around(test, other);
                    let new = own.alias().filter(|alias| reads(test, *alias) && !led.contains(alias));
                    led.extend(new.filter(|_| is_known));
                }
            }
            for from in &rest.from {
                if let FromKind::Again { row, .. } = from.kind
                    && led.contains(&row)
                    && !led.contains(&from.alias)
                {
                    led.push(from.alias);
                }
            }
            if led.len() == before {
                return led;
            }
        }
    }

    /// Whether a value is of the row, or of a source around a test.
    fn is_around(&self, test: &Select, expr: Expr) -> bool {
        self.is_given(expr) || expr.alias().is_some_and(|alias| !reads(test, alias))
    }

    /// Whether a value is the filter's column.
    fn is_given(&self, expr: Expr) -> bool {
        matches!(expr, Expr::Given(var) if Some(var) == self.column)
    }

    /// Whether a condition asks the filter's row.
    fn asks_row(&self, condition: &Condition) -> bool {
        let mut found = false;
        condition.for_each_expr(&mut |expr| found |= self.is_given(expr));
        for branch in condition.branches() {
            branch.for_each_source(&mut |from| found |= matches!(from.kind, FromKind::Row { .. }));
        }
        found
    }
}

/// What connects a source with the rest of its test.
struct Ties {
    /// Its column.
    own: Expr,
    /// The values that the column equals.
    tied: Vec<Expr>,
    /// The conditions on the source alone.
    inner: Vec<Condition>,
    /// The conditions on anything else.
    others: Vec<Condition>,
}

/// Whether a test reads the row that a source shows. Other sources are those around it.
fn reads(test: &Select, alias: Alias) -> bool {
    let is_read = |row: Alias| test.from.iter().any(|from| from.alias == row && from.kind.is_read());
    test.from.iter().any(|from| match from.kind {
        FromKind::Again { row, .. } => from.alias == alias && is_read(row),
        kind => from.alias == alias && kind.is_read(),
    })
}

/// The values that a condition of a select equates with a value.
fn equal_to(value: Expr, select: &Select) -> impl Iterator<Item = Expr> {
    select.filter.iter().filter_map(move |condition| match condition {
        Condition::Compare { op: CompareOp::Equal, left, right } if *left == value => Some(*right),
        Condition::Compare { op: CompareOp::Equal, left, right } if *right == value => Some(*left),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::TableId;
    use crate::algebra::sample::{column, equal, given, reading};
    use crate::catalog::SourceId;

    /// What [`TestRewriter`] makes of a test that reads the recursion as 1, and relations as 2 and above, for
    /// a filter over `given(0)` around which 9 is read.
    fn rewritten(n_relations: usize, filter: Vec<Condition>) -> Select {
        let body = TableBody::Recursive { base: Vec::new(), step: Vec::new() };
        let tables = [Table::new("pc".to_owned(), String::new(), 2, body)];
        let rewriter = TestRewriter { tables: &tables, column: Some(QuestionVarId(0)) };
        let mut test = reading(1, recursion(), Vec::new());
        test.from.extend((0..n_relations).map(|place| From {
            alias: Alias::of_number(place + 2),
            kind: FromKind::Source(SourceId::from_index(place)),
        }));
        test.filter = filter;
        rewriter.in_test(&mut test);
        test
    }

    fn recursion() -> FromKind {
        TableId::after::<Table>(&[]).source()
    }

    /// Whether a test still reads the recursion.
    fn reads_recursion(test: &Select) -> bool {
        test.from.iter().any(|from| from.kind == recursion())
    }

    fn is_in(expr: Expr, used: SetUse, inner: Vec<Condition>) -> Condition {
        let set = Select { filter: inner, ..reading(1, recursion(), vec![column(1, 0)]) };
        Condition::In { expr, selects: vec![set], used }
    }

    #[test]
    fn a_recursion_becomes_a_set_for_the_row_and_for_what_the_row_leads_to() {
        let of_row = rewritten(0, vec![equal(column(1, 0), column(9, 1))]);
        assert_eq!(of_row.filter, [is_in(column(9, 1), SetUse::ToTest, Vec::new())]);
        assert!(of_row.from.is_empty());
        let led = equal(column(2, 0), given(0));
        let behind = rewritten(1, vec![led.clone(), equal(column(1, 0), column(2, 1))]);
        assert_eq!(behind.filter, [led, is_in(column(2, 1), SetUse::ToFind, Vec::new())]);
        assert!(!reads_recursion(&behind));
    }

    /// What is asked of the recursion alone is asked of the set.
    #[test]
    fn the_value_of_the_row_is_looked_up_if_another_equals_it() {
        let led = equal(column(2, 0), column(9, 1));
        let own = equal(column(1, 1), given(7));
        let test = rewritten(1, vec![led.clone(), own.clone(), equal(column(2, 0), column(1, 0))]);
        assert_eq!(test.filter, [led, is_in(column(9, 1), SetUse::ToTest, vec![own])]);
    }

    #[test]
    fn values_that_equal_one_column_of_the_recursion_equal_each_other() {
        let led = equal(column(2, 0), given(0));
        let ties = [equal(column(2, 1), column(1, 0)), equal(column(9, 1), column(1, 0))];
        let test = rewritten(1, [vec![led.clone()], ties.into()].concat());
        let same = equal(column(2, 1), column(9, 1));
        assert_eq!(test.filter, [led, same, is_in(column(9, 1), SetUse::ToTest, Vec::new())]);
    }

    #[test]
    fn a_recursion_stays_where_no_set_can_take_its_place() {
        let order = Condition::Compare { op: CompareOp::Less, left: column(1, 0), right: column(9, 2) };
        for (n_relations, filter) in [
            // Two columns of it are tied.
            (0, vec![equal(column(1, 0), column(9, 1)), equal(column(1, 1), column(9, 2))]),
            // Something else ties it.
            (0, vec![equal(column(1, 0), column(9, 1)), order]),
            // Only the recursion leads to the relation.
            (1, vec![equal(column(1, 0), column(2, 0))]),
            // Nothing ties it.
            (1, vec![equal(column(2, 0), given(0))]),
        ] {
            let test = rewritten(n_relations, filter.clone());
            assert!(reads_recursion(&test), "{test:?}");
            assert_eq!(test.filter, filter);
        }
    }
}
