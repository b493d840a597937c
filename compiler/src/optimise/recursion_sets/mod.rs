//! Looks a value up in the set of a recursion, instead of reading the recursion in a test of each row.
//!
//! ```text
//! not (t in barred and t.c0 = row.f)                  ─▶   not (row.f in (t.c0 where t in barred))
//! not (f in folders and f.id = row.f and f.archived   ─▶   not (f in folders and f.id = row.f and f.archived
//!      and t in barred and t.c0 = f.id)                         and row.f in (t.c0 where t in barred))
//! not (t in above and t.c0 = row.f                    ─▶   not (row.f in (t.c0 where t in above
//!      and f in folders and f.id = t.c1 and f.archived)              and f in folders and f.id = t.c1
//!                                                                    and f.archived))
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
//! are looked up are those of the row, or of sources that the row leads to. Sources that only the recursion
//! leads to are joined with it in the set, if there is at most one row of each for a row of the recursion:
//! making the set takes a few times as long as the recursion then. Otherwise they are still reached from it.
//! A test of a set stays as it is, because the recursion is defined around it, and joined there. A test
//! inside a test is never joined, not even in a set.

mod size;
#[cfg(test)]
mod tests;
mod ties;

use self::size::TestSources;
use self::ties::{reached_from, tie};
use super::setting::Setting;
use crate::algebra::aliases::free_aliases;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, SetUse, Table, TableBody};
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::question::QuestionVarId;

/// Rewrites the tests of all alternatives, and those inside the tests of tables.
pub(super) fn look_up(plan: &mut Plan, setting: &Setting<'_>) {
    let Plan { tables, answer, .. } = plan;
    let TestRewriter { sources: TestSources { keys, .. }, column } = TestRewriter::new(&[], setting);
    look_up_in_tables(tables, keys, column);
    let rewriter = TestRewriter { sources: TestSources { tables, keys }, column };
    answer.selects_mut().iter_mut().for_each(|select| rewriter.in_alternative(select));
}

/// Rewrites the tests inside the tests of tables, and of what recursions start from, each with the tables
/// before it.
fn look_up_in_tables(tables: &mut [Table], keys: Option<Keys<'_>>, column: Option<QuestionVarId>) {
    for place in 0..tables.len() {
        let (before, rest) = tables.split_at_mut(place);
        let rewriter = TestRewriter { sources: TestSources { tables: before, keys }, column };
        match rest.first_mut().map(|table| &mut table.body) {
            Some(TableBody::Union(selects) | TableBody::Recursive { base: selects, .. }) => {
                selects.iter_mut().for_each(|select| rewriter.in_set(select));
            }
            Some(TableBody::WholeState { .. }) | None => {}
        }
    }
}

/// Rewrites tests.
struct TestRewriter<'p> {
    /// What they may read.
    sources: TestSources<'p>,
    /// The variable whose value is the filter's column.
    column: Option<QuestionVarId>,
}

impl<'p> TestRewriter<'p> {
    fn new(tables: &'p [Table], setting: &Setting<'p>) -> Self {
        let keys = setting.bindings.map(|bindings| Keys { catalog: setting.catalog, bindings });
        Self { sources: TestSources { tables, keys }, column: setting.row.map(|row| row.var) }
    }

    /// Rewrites the tests of an alternative, and those of the alternatives inside it. Where it reads rows of
    /// its own, a test that must hold may find these rows, and stays; those inside it find none.
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
                    } else {
                        self.inside_test(branch);
                    }
                }),
                Condition::In { selects, .. } => selects.iter_mut().for_each(|set| self.in_set(set)),
                Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => {}
            }
        }
    }

    /// Rewrites what is inside the tests of a set. A test of the set itself is joined there.
    fn in_set(&self, set: &mut Select) {
        for condition in &mut set.filter {
            match condition {
                Condition::Any(branches) | Condition::None(branches) => {
                    for branch in branches {
                        if branch.reads_nothing() { self.in_set(branch) } else { self.inside_test(branch) }
                    }
                }
                Condition::In { selects, .. } => selects.iter_mut().for_each(|set| self.in_set(set)),
                Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => {}
            }
        }
    }

    /// Rewrites a test, and those inside it.
    fn in_test(&self, test: &mut Select) {
        for from in test.from.clone() {
            if self.sources.is_recursion(from) {
                self.look_up_in(test, from);
            }
        }
        self.inside_test(test);
    }

    /// Rewrites the tests inside a test, and what is inside its sets.
    fn inside_test(&self, test: &mut Select) {
        for condition in &mut test.filter {
            match condition {
                Condition::Any(branches) | Condition::None(branches) => {
                    branches.iter_mut().for_each(|branch| self.in_test(branch));
                }
                Condition::In { selects, .. } => selects.iter_mut().for_each(|set| self.in_set(set)),
                Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => {}
            }
        }
    }

    /// Replaces a recursion that a test reads by a look-up, if equalities of one of its columns are all that
    /// connects it, and what it alone leads to, with the row and what the row leads to.
    fn look_up_in(&self, test: &mut Select, recursion: From) {
        let is_apart = |condition: &&Condition| !free_aliases(condition).contains(&recursion.alias);
        let others = Select {
            from: test.from.iter().copied().filter(|from| *from != recursion).collect(),
            filter: test.filter.iter().filter(is_apart).cloned().collect(),
            ..Select::default()
        };
        let led = self.led(test, &others);
        let is_led = |expr: &Expr| {
            self.is_around(test, *expr) || expr.alias().is_some_and(|alias| led.contains(&alias))
        };
        let Some(Ties { set, tied, rest }) = self.ties(test, recursion, &is_led) else { return };
        let Some(value) = tied.iter().copied().find(is_led) else { return };
        let around = {
            let mut equal = tied.iter().copied().chain(rest.equal_to(value));
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
        test.filter.push(Condition::In { expr: around.unwrap_or(value), selects: vec![set], used });
    }

    /// What a recursion is connected with in a test; `None` if anything else than equalities of one column
    /// connects it, and what it leads to, with the rest.
    fn ties(&self, test: &Select, recursion: From, is_led: &dyn Fn(&Expr) -> bool) -> Option<Ties> {
        let compared = test.filter.iter().filter_map(|condition| tie(condition, recursion.alias));
        let own = compared.clone().find(|(_, other)| is_led(other)).map(|(own, _)| own)?;
        let from = reached_from(test, recursion, own, is_led);
        let is_inside = |alias: &Alias| from.iter().any(|from| from.alias == *alias);
        let (mut tied, mut inner, mut others) = (Vec::new(), Vec::new(), Vec::new());
        for condition in &test.filter {
            let free = free_aliases(condition);
            if !free.iter().any(is_inside) {
                others.push(condition.clone());
            } else if free.iter().all(is_inside) && !self.asks_row(condition) {
                inner.push(condition.clone());
            } else {
                let (_, other) = tie(condition, recursion.alias).filter(|(column, _)| *column == own)?;
                if !tied.contains(&other) {
                    tied.push(other);
                }
            }
        }
        let is_split = test.from.iter().any(|from| {
            matches!(from.kind, FromKind::Again { row, .. } if is_inside(&from.alias) != is_inside(&row))
        });
        let is_shown = test.output.iter().any(|shown| shown.alias().is_some_and(|alias| is_inside(&alias)));
        if is_split || is_shown {
            return None;
        }
        let rest = test.from.iter().copied().filter(|from| !is_inside(&from.alias)).collect();
        let rest = Select { from: rest, filter: others, output: test.output.clone() };
        let set = Select { from, filter: inner, output: vec![own].into() };
        self.sources.is_as_large(&set, recursion).then_some(Ties { set, tied, rest })
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

/// A recursion and the rest of its test.
struct Ties {
    /// The values of its column, and what it leads to.
    set: Select,
    /// The values that the column equals.
    tied: Vec<Expr>,
    /// The test without the set.
    rest: Select,
}

/// Whether a test reads the row that a source shows. Other sources are those around it.
fn reads(test: &Select, alias: Alias) -> bool {
    let is_read = |row: Alias| test.from.iter().any(|from| from.alias == row && from.kind.is_read());
    test.from.iter().any(|from| match from.kind {
        FromKind::Again { row, .. } => from.alias == alias && is_read(row),
        kind => from.alias == alias && kind.is_read(),
    })
}
