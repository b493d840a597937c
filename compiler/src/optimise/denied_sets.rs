//! Looks a value up in the set of a recursion that denies it, instead of testing the recursion for each row.
//!
//! ```text
//! not (t in barred and t.c0 = row.f)   ─▶   not (row.f in (t.c0 where t in barred))
//! ```
//!
//! PostgreSQL estimates a recursion at many more rows than it has, and makes no anti-join of a test that
//! defines the recursion itself. So each row may scan all that is denied, and even a few rows look expensive
//! enough to be compiled. A set that is only tested is hashed, and estimated as small.
//!
//! Only a value of the recursion itself is looked up. A set of what leads to it, such as all documents of a
//! denied collection, may be as large as a table, and would be made for a single row, too. What is inside a
//! set or a test of another source stays as it is: the recursion is defined around it, and joined there.

use super::setting::Setting;
use crate::algebra::groups::{Around, Group, around};
use crate::algebra::{Alias, Condition, Expr, FromKind, Plan, Select, SetUse, Table, TableBody};
use crate::ir::CompareOp;
use crate::question::QuestionVarId;

/// Rewrites the denials of all alternatives.
pub(super) fn look_up_denied(plan: &mut Plan, setting: &Setting<'_>) {
    let Plan { tables, answer, .. } = plan;
    let rewriter = DenialRewriter { tables, column: setting.row.map(|row| row.var) };
    answer.selects_mut().iter_mut().for_each(|select| rewriter.in_select(select));
}

/// Rewrites denials.
struct DenialRewriter<'p> {
    /// The tables that they may read.
    tables: &'p [Table],
    /// The variable whose value is the filter's column.
    column: Option<QuestionVarId>,
}

impl DenialRewriter<'_> {
    fn in_select(&self, select: &mut Select) {
        for condition in &mut select.filter {
            match condition {
                Condition::None(branches) => branches.iter_mut().for_each(|branch| self.in_denial(branch)),
                Condition::Any(branches) if branches.iter().all(Select::reads_nothing) => {
                    branches.iter_mut().for_each(|branch| self.in_select(branch));
                }
                Condition::Any(_)
                | Condition::Compare { .. }
                | Condition::OneOf { .. }
                | Condition::In { .. } => {}
            }
        }
    }

    /// Rewrites a denial and the tests that it consists of.
    fn in_denial(&self, denial: &mut Select) {
        self.look_up(denial);
        if !denial.reads_nothing() {
            return;
        }
        for condition in &mut denial.filter {
            if let Condition::Any(branches) | Condition::None(branches) = condition {
                branches.iter_mut().for_each(|branch| self.in_denial(branch));
            }
        }
    }

    /// Replaces the recursion that a test reads by a look-up, if the test is of one value of a row around it.
    fn look_up(&self, test: &mut Select) {
        let read = read_by(test);
        let is_around = |expr: Expr| match expr {
            Expr::Column { alias, .. } => !read.contains(&alias),
            Expr::Given(var) => Some(var) == self.column,
            _ => false,
        };
        let Around { main, own, groups } = around(test, &is_around);
        let [group] = groups.as_slice() else { return };
        let Some(looked_up) = self.looked_up(group, &is_around) else { return };
        test.from = main;
        test.filter = own;
        test.filter.push(looked_up);
    }

    /// The look-up of the one value from around a group that is a recursion.
    fn looked_up(&self, group: &Group, is_around: &dyn Fn(Expr) -> bool) -> Option<Condition> {
        let Group { from, links, inner } = group;
        let [recursion] = from.as_slice() else { return None };
        let [Condition::Compare { op: CompareOp::Equal, left, right }] = links.as_slice() else {
            return None;
        };
        let (expr, own) = if is_around(*left) { (*left, *right) } else { (*right, *left) };
        let body = recursion.kind.table().map(|table| &table.of(self.tables).body);
        let is_set = is_around(expr)
            && own.alias() == Some(recursion.alias)
            && matches!(body, Some(TableBody::Recursive { .. }));
        let set = Select { from: from.clone(), filter: inner.clone(), output: vec![own].into() };
        is_set.then(|| Condition::In { expr, selects: vec![set], used: SetUse::ToTest })
    }
}

/// The sources whose rows a select reads, and those that read one of them again.
fn read_by(select: &Select) -> Vec<Alias> {
    let of = |row: Alias| select.from.iter().any(|from| from.alias == row && from.kind.is_read());
    let is_read = |kind: FromKind| match kind {
        FromKind::Again { row, .. } => of(row),
        kind => kind.is_read(),
    };
    select.from.iter().filter(|from| is_read(from.kind)).map(|from| from.alias).collect()
}
