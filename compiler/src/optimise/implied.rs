//! Leaves out the sources that the rows of a table imply.
//!
//! In: a plan. Out: the same answers from fewer sources. A closure starts from values of the select that asks
//! for it, and keeps with each value that it reaches the one that it started from. If the
//! select uses that value for nothing else, it need not look it up again, since every row of the closure came
//! from such a value:
//!
//! ```text
//! t1(r) ⋈ t2(r, f) ⋈ closure(f, g) ⋈ t3(g)   ─▶   closure(f, g) ⋈ t3(g)     closure starts from t1(r) ⋈ t2(r, f)
//! ```
//!
//! An inclusion dependency makes this a semijoin that keeps every row. Often nothing reads the start then,
//! and [`super::columns`] drops the column, too. An alternative inside a test is taken out of it where that
//! frees it of the test's sources.

use super::columns;
use crate::algebra::groups::{Group, groups};
use crate::algebra::{
    Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableId, TableRef,
};
use crate::catalog::ColumnId;
use crate::ir::CompareOp;

/// Up to how many alternatives are taken out of tests: each repeats the conditions around it.
const ALTERNATIVES: usize = 16;

/// Drops implied sources, and the columns that nothing reads then, from the answer down to the first table.
pub(super) fn drop_implied(plan: &mut Plan) {
    let Plan { tables, answer, .. } = plan;
    let selects = answer.selects_mut();
    *selects = std::mem::take(selects).into_iter().flat_map(|select| take_out(select, tables)).collect();
    // INVARIANT: a table is read by later ones only, and its rows are those of its planning until its turn.
    for table in TableId::all(&plan.tables).rev() {
        columns::drop_unread(plan, table);
        let (before, rest) = plan.tables.split_at_mut(table.index());
        if let Some(TableBody::Union(selects) | TableBody::Recursive { base: selects, .. }) =
            rest.first_mut().map(|table| &mut table.body)
        {
            for select in selects {
                drop_in(select, before);
            }
        }
    }
}

/// Frees a select of implied sources, and takes out of its one test the alternatives that can be freed so.
fn take_out(mut select: Select, tables: &[Table]) -> Vec<Select> {
    drop_in(&mut select, tables);
    let Some((at, arms)) = choice(&select) else { return vec![select] };
    let mut around = select.clone();
    around.filter.remove(at);
    let (mut free, mut kept) = (Vec::new(), Vec::new());
    for arm in arms {
        let mut joined = around.clone();
        joined.from.extend(&arm.from);
        joined.filter.extend(arm.filter.iter().cloned());
        if drop_in(&mut joined, tables) {
            free.extend(take_out(joined, tables));
        } else {
            kept.push(arm.clone());
        }
    }
    if free.is_empty() {
        return vec![select];
    }
    if !kept.is_empty() {
        // What needs no closure is tested first.
        around.filter.insert(at, Condition::Any(kept));
        free.insert(0, around);
    }
    free
}

/// The test whose alternatives may be taken out of a select: the first with one, or else the only one.
fn choice(select: &Select) -> Option<(usize, &[Select])> {
    let tests = select.filter.iter().enumerate().filter_map(|(at, condition)| match condition {
        Condition::Any(arms) if arms.len() <= ALTERNATIVES => Some((at, arms.as_slice())),
        _ => None,
    });
    let tests: Vec<_> = tests.collect();
    match tests.as_slice() {
        [only] => Some(*only),
        several => several.iter().find(|(_, arms)| arms.len() == 1).copied(),
    }
}

/// Drops the sources of a select that only look up where a table started; says whether there were any.
fn drop_in(select: &mut Select, tables: &[Table]) -> bool {
    let before = select.from.len();
    while let Some(group) = implied(select, tables) {
        select.from.retain(|from| !group.from.contains(from));
        select
            .filter
            .retain(|condition| !group.links.contains(condition) && !group.inner.contains(condition));
    }
    select.from.len() < before
}

/// Sources that are implied, with all conditions on them.
fn implied(select: &Select, tables: &[Table]) -> Option<Group> {
    let is_shown = |from: &From| select.output.iter().any(|expr| expr.alias() == Some(from.alias));
    select.from.iter().find_map(|main| {
        let body = &main.kind.table()?.of(tables).body;
        groups(select, main.alias).groups.into_iter().find(|group| {
            !group.from.iter().any(is_shown)
                && TiedSources::of(group, main.alias).is_some_and(|look_up| look_up.is_implied(body))
        })
    })
}

/// Sources that one equality ties to a column of a table.
struct TiedSources<'g> {
    group: &'g Group,
    /// The value of the sources that equals the column.
    value: Expr,
    column: ColumnId,
}

impl<'g> TiedSources<'g> {
    fn of(group: &'g Group, main: Alias) -> Option<Self> {
        let [Condition::Compare { op: CompareOp::Equal, left, right }] = group.links.as_slice() else {
            return None;
        };
        match (*left, *right) {
            (Expr::Column { alias, column }, value) | (value, Expr::Column { alias, column })
                if alias == main && value.alias().is_some() =>
            {
                Some(Self { group, value, column })
            }
            _ => None,
        }
    }

    /// Whether every row of a table has in the column a value of the sources.
    fn is_implied(&self, body: &TableBody) -> bool {
        let (base, step): (&[Select], &[Select]) = match body {
            TableBody::Union(selects) => (selects, &[]),
            TableBody::Recursive { base, step } => (base, step),
            TableBody::WholeState { .. } => return false,
        };
        let keeps = |step: &Select| {
            let own = step.from.iter().find(|from| from.kind == FromKind::Table(TableRef::Itself));
            let kept = own.map(|own| Expr::Column { alias: own.alias, column: self.column });
            kept == Some(step.output[self.column])
        };
        let starts = |base: &Select| self.is_part_of(base, base.output[self.column]);
        base.iter().all(starts) && step.iter().all(keeps)
    }

    /// Whether each row of a select holds a row of the sources, whose value is the select's `start`.
    ///
    /// The sources are found in their order, in which the demand of a closure is copied; another is not
    /// tried.
    fn is_part_of(&self, select: &Select, start: Expr) -> bool {
        let mut candidates = select.from.iter();
        let mut found = Vec::new();
        for from in &self.group.from {
            match candidates.find(|candidate| candidate.kind == from.kind) {
                Some(same) => found.push((from.alias, same.alias)),
                None => return false,
            }
        }
        let renamed = |expr: Expr| match expr {
            Expr::Column { alias, column } => {
                let same = found.iter().find(|(own, _)| *own == alias);
                same.map(|(_, alias)| Expr::Column { alias: *alias, column })
            }
            _ => Some(expr),
        };
        let is_asked = |condition: &Condition| match condition {
            Condition::Compare { op, left, right } => {
                let (Some(left), Some(right)) = (renamed(*left), renamed(*right)) else { return false };
                let as_written = Condition::Compare { op: *op, left, right };
                let turned = Condition::Compare { op: *op, left: right, right: left };
                select.filter.contains(&as_written)
                    || *op == CompareOp::Equal && select.filter.contains(&turned)
            }
            Condition::OneOf { expr, literals } => renamed(*expr).is_some_and(|expr| {
                select.filter.contains(&Condition::OneOf { expr, literals: literals.clone() })
            }),
            Condition::Meets { .. } | Condition::In { .. } | Condition::Any(_) | Condition::None(_) => false,
        };
        renamed(self.value) == Some(start) && self.group.inner.iter().all(is_asked)
    }
}
