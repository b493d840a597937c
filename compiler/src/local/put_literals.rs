//! Puts literals into selects: a question's values, and rows of the store.
//!
//! In: a select, and rows that are known. Out: the select with literals where the rows had columns, or
//! nothing if the literals contradict each other. One row becomes literals, one column that equals another
//! value becomes a test (`x in (…)`); rows whose columns are needed together stay.

use super::fold::Folder;
use crate::algebra::{Alias, Condition, Embedded, Expr, LiteralRow, LiteralRows, Plan, Select};
use crate::catalog::ColumnId;
use crate::datalog::constant;
use crate::ir::{CompareOp, ConstId};
use crate::primitive::INTEGER;
use crate::question::{CompileError, Domain, Question, QuestionVarId};
use indexmap::IndexSet;

/// Puts the values of a question into a plan; `column` stays as it is.
pub(crate) fn put_values(
    plan: &mut Plan,
    question: &Question,
    now: i64,
    column: Option<QuestionVarId>,
    mut intern: impl FnMut(&str, &str) -> ConstId,
) -> Result<(), CompileError> {
    let mut done = Ok(());
    let mut value = |expr: &mut Expr| match *expr {
        Expr::Given(var) if column != Some(var) => {
            if let Domain::Given(text) = &question.vars[var].domain {
                match question.type_of(var) {
                    Ok(ty) => *expr = Expr::Const(intern(ty, text)),
                    Err(bug) => done = Err(bug),
                }
            }
        }
        Expr::Now => *expr = Expr::Const(intern(INTEGER, &now.to_string())),
        Expr::Tag(member) => *expr = Expr::Const(intern("", &member.index().to_string())),
        Expr::Filler => *expr = Expr::Const(intern("", "0")),
        Expr::Column { .. } | Expr::Const(_) | Expr::Given(_) | Expr::TypeName(_) | Expr::Unconstrained => {}
    };
    plan.selects_mut().for_each(|select| select.for_each_expr_mut(&mut value));
    done
}

impl<E> Folder<'_, E> {
    /// Puts embedded rows into a select where they become literals or tests; false if nothing is left.
    pub(super) fn put_in(&self, select: &mut Select, sources: &mut Vec<(Alias, Embedded)>) -> bool {
        loop {
            let before = (select.filter.len(), sources.len());
            let mut at = 0;
            while let Some((alias, embedded)) = sources.get_mut(at) {
                let alias = *alias;
                let used = used_columns(select, alias);
                let Some(rows) = &mut embedded.rows else {
                    // If only existence is asked, "too many rows" means that there is one.
                    if used.is_empty() {
                        sources.remove(at);
                    } else {
                        at += 1;
                    }
                    continue;
                };
                self.keep_matching(select, alias, rows);
                let used = used_columns(select, alias);
                project(select, alias, &used, rows);
                match (rows.as_slice(), used.len()) {
                    ([], _) => return false,
                    (_, 0) => {}
                    ([row], _) => {
                        let row = row.clone();
                        substitute(select, alias, |column| Some(Expr::Const(row[column])));
                    }
                    (_, 1) => {
                        let literals = rows.iter().map(|row| row[ColumnId::FIRST]).collect();
                        if !becomes_test(select, alias, literals) {
                            at += 1;
                            continue;
                        }
                    }
                    _ => {
                        at += 1;
                        continue;
                    }
                }
                sources.remove(at);
            }
            if !self.decide(select) {
                return false;
            }
            if (select.filter.len(), sources.len()) == before {
                return true;
            }
        }
    }

    /// Keeps the rows that agree with the conditions on this source alone, and drops those conditions.
    fn keep_matching(&self, select: &mut Select, alias: Alias, rows: &mut LiteralRows) {
        select.filter.retain(|condition| {
            let of_row = |expr: &Expr, row: &LiteralRow| match *expr {
                Expr::Column { alias: other, column } if other == alias => Some(row[column]),
                Expr::Const(literal) => Some(literal),
                _ => None,
            };
            let decided = |row: &LiteralRow| match condition {
                Condition::Compare { op, left, right } => {
                    self.compare(*op, of_row(left, row)?, of_row(right, row)?)
                }
                Condition::OneOf { expr, literals } => self.is_one_of(of_row(expr, row)?, literals),
                Condition::Meets { .. } | Condition::In { .. } | Condition::Any(_) | Condition::None(_) => {
                    None
                }
            };
            if rows.first().is_none_or(|row| decided(row).is_none()) {
                return true;
            }
            rows.retain(|row| decided(row) == Some(true));
            false
        });
    }

    /// Drops the comparisons of literals that hold; false if one does not.
    pub(super) fn decide(&self, select: &mut Select) -> bool {
        let mut possible = true;
        select.filter.retain(|condition| {
            let holds = match condition {
                Condition::Compare { op, left: Expr::Const(left), right: Expr::Const(right) } => {
                    self.compare(*op, *left, *right)
                }
                Condition::Compare { op, left, right } if left == right => match op {
                    CompareOp::Equal | CompareOp::LessOrEqual | CompareOp::GreaterOrEqual => Some(true),
                    CompareOp::NotEqual | CompareOp::Less | CompareOp::Greater => Some(false),
                },
                Condition::OneOf { expr: Expr::Const(value), literals } => self.is_one_of(*value, literals),
                _ => None,
            };
            possible &= holds != Some(false);
            holds.is_none()
        });
        possible
    }

    /// Whether a literal is one of several; `None` as for [`Self::compare`].
    fn is_one_of(&self, value: ConstId, literals: &[ConstId]) -> Option<bool> {
        let equal = literals.iter().map(|literal| self.compare(CompareOp::Equal, value, *literal));
        equal.collect::<Option<Vec<bool>>>().map(|equal| equal.contains(&true))
    }

    /// Whether a comparison of literals holds; `None` if one of them is not known, so that the comparison
    /// stays.
    fn compare(&self, op: CompareOp, left: ConstId, right: ConstId) -> Option<bool> {
        let text = |id| constant(self.program, self.constants, id).map(|held| held.text.as_str());
        let (left, right) = (text(left)?, text(right)?);
        let ordered = || left.parse::<i64>().ok().zip(right.parse::<i64>().ok()).map(|(l, r)| l.cmp(&r));
        Some(match op {
            CompareOp::Equal => left == right,
            CompareOp::NotEqual => left != right,
            CompareOp::Less => ordered().is_some_and(std::cmp::Ordering::is_lt),
            CompareOp::LessOrEqual => ordered().is_some_and(std::cmp::Ordering::is_le),
            CompareOp::Greater => ordered().is_some_and(std::cmp::Ordering::is_gt),
            CompareOp::GreaterOrEqual => ordered().is_some_and(std::cmp::Ordering::is_ge),
        })
    }
}

/// The columns of a source that a select and its branches mention, ascending.
fn used_columns(select: &mut Select, alias: Alias) -> Vec<ColumnId> {
    let mut used = Vec::new();
    select.for_each_expr_mut(&mut |expr| {
        if let Expr::Column { alias: other, column } = *expr
            && other == alias
        {
            used.push(column);
        }
    });
    used.sort_unstable();
    used.dedup();
    used
}

/// Keeps the used columns of the rows, each row once, and renames the columns in the select.
fn project(select: &mut Select, alias: Alias, used: &[ColumnId], rows: &mut LiteralRows) {
    let kept: IndexSet<LiteralRow> =
        rows.iter().map(|row| used.iter().map(|column| row[*column]).collect()).collect();
    *rows = kept.into_iter().collect();
    substitute(select, alias, |column| {
        let place = used.iter().position(|kept| *kept == column)?;
        Some(Expr::Column { alias, column: ColumnId::from_index(place) })
    });
}

fn substitute(select: &mut Select, alias: Alias, by: impl Fn(ColumnId) -> Option<Expr>) {
    select.for_each_expr_mut(&mut |expr| {
        if let Expr::Column { alias: other, column } = *expr
            && other == alias
            && let Some(value) = by(column)
        {
            *expr = value;
        }
    });
}

/// Replaces a one-column source by `value IN (literals)` for the value that its column equals.
fn becomes_test(select: &mut Select, alias: Alias, literals: Vec<ConstId>) -> bool {
    let equal = select.filter.iter_mut().find_map(|condition| match *condition {
        Condition::Compare { op: CompareOp::Equal, left, right } => {
            let (left_is, right_is) = (left.alias() == Some(alias), right.alias() == Some(alias));
            match (left_is, right_is) {
                (true, false) => Some((condition, right)),
                (false, true) => Some((condition, left)),
                _ => None,
            }
        }
        _ => None,
    });
    let Some((condition, value)) = equal else { return false };
    *condition = Condition::OneOf { expr: value, literals };
    substitute(select, alias, |_| Some(value));
    true
}
