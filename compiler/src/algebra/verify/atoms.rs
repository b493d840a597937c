//! The alternatives of a plan as multisets of atoms: what a plan asks, without how it asks it.
//!
//! An atom is a source, a comparison, or a negation. A test of one select and the select's own sources and
//! conditions are the same atoms; so are a value in a set and the equality with what the set shows. A test of
//! several is one alternative for each. A table of one select is what that select asks, and a value of it is
//! what it shows there. So a plan may be rewritten in many ways that leave its atoms as they are.

use crate::algebra::TableRef;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select, TableBody};
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::question::Slot;

/// How many alternatives one plan may have; beyond that its atoms are not accounted for.
const ALTERNATIVES: usize = 512;

/// How many atoms are laid out for one check; a plan that needs more is not accounted for. Tables of tables
/// multiply.
pub(super) const WORK: usize = 50_000;

/// What an alternative asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    /// A row of a source.
    Source(Source),
    /// A comparison; an equality has its lesser side first.
    Compare(CompareOp, Value, Value),
    /// One of several literals.
    OneOf(Value, Vec<ConstId>),
    /// Not what this alternative asks.
    None(Vec<Self>),
}

/// What is read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// A relation of the catalog, or the current row of the caller's query.
    Relation(usize),
    /// A table, by its name.
    Table(String),
    /// The table whose step this is.
    Itself,
    /// The values of a parameter.
    Values(Slot),
    /// Rows of literals.
    Rows,
}

/// A value, by where it comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value {
    /// A column of a relation.
    Column(usize, usize),
    /// Some column of another source; which one is left out, as unread columns are dropped.
    Of(Source),
    /// A literal.
    Const(ConstId),
    /// The value of a variable.
    Given(usize),
    /// The time.
    Now,
    /// A member of a recursive component.
    Tag(usize),
    /// The name of a type.
    TypeName(TypeId),
    /// Any value.
    Unconstrained,
}

/// An alternative: its atoms, sorted.
pub(super) type Alternative = Vec<Atom>;

/// What a plan's tables and parts are, to find atoms behind them.
#[derive(Clone, Copy)]
pub(super) struct Atoms<'a> {
    pub(super) plan: &'a Plan,
    /// What stands behind each embedded source, if that is known.
    pub(super) parts: &'a [&'a Plan],
    /// Whether a table of one select counts as what that select asks.
    pub(super) inlines: bool,
}

impl<'a> Atoms<'a> {
    /// The alternatives of the answer, each with the guard; `None` if they are too many. `left` is how many
    /// atoms may still be laid out.
    pub(super) fn of_answer(self, left: &mut usize) -> Option<Vec<Alternative>> {
        let guard = self.alternatives(&self.plan.guard, &[], left)?;
        let all = self.of_selects(self.plan.answer.selects(), left)?;
        let mut guarded = product(&all, &guard, left)?;
        guarded.iter_mut().for_each(|alternative| alternative.sort());
        Some(guarded)
    }

    /// The alternatives of top-level selects; `None` if they are too many.
    pub(super) fn of_selects(self, selects: &[Select], left: &mut usize) -> Option<Vec<Alternative>> {
        let mut all = Vec::new();
        for select in selects {
            all.extend(self.alternatives(select, &[], left)?);
        }
        Some(all)
    }

    fn alternatives(self, select: &Select, around: &[From], left: &mut usize) -> Option<Vec<Alternative>> {
        let mut scope = around.to_vec();
        scope.extend(&select.from);
        let mut all = vec![Vec::new()];
        for from in &select.from {
            all = product(&all, &self.behind(from.kind, left)?, left)?;
            all = product(&all, &[self.sameness(from.kind, &scope)], left)?;
        }
        for condition in &select.filter {
            all = product(&all, &self.condition(condition, &scope, left)?, left)?;
        }
        all.iter_mut().for_each(|alternative| alternative.sort());
        Some(all)
    }

    fn condition(self, condition: &Condition, scope: &[From], left: &mut usize) -> Option<Vec<Alternative>> {
        Some(match condition {
            Condition::Compare { op, left, right } => {
                vec![vec![compare(*op, self.value(*left, scope), self.value(*right, scope))]]
            }
            Condition::OneOf { expr, literals } => {
                vec![vec![Atom::OneOf(self.value(*expr, scope), literals.clone())]]
            }
            Condition::In { expr, selects } => {
                let value = self.value(*expr, scope);
                let mut all = Vec::new();
                for select in selects {
                    let mut inside = scope.to_vec();
                    inside.extend(&select.from);
                    let shown =
                        select.output.first().map_or(Value::Unconstrained, |expr| self.value(*expr, &inside));
                    let equal = vec![vec![compare(CompareOp::Equal, value.clone(), shown)]];
                    all.extend(product(&self.alternatives(select, scope, left)?, &equal, left)?);
                }
                all
            }
            Condition::Any(branches) => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(self.alternatives(branch, scope, left)?);
                }
                all
            }
            Condition::None(branches) => {
                // Each alternative of each branch denies by itself.
                let mut none = Vec::new();
                for branch in branches {
                    none.extend(self.alternatives(branch, scope, left)?.into_iter().map(Atom::None));
                }
                vec![none]
            }
        })
    }

    /// The equality of keys that a row which is not read again stands for.
    fn sameness(self, kind: FromKind, scope: &[From]) -> Alternative {
        match kind {
            FromKind::Row { source, key } => {
                vec![compare(CompareOp::Equal, Value::Column(source, key), Value::Unconstrained)]
            }
            FromKind::Again { source, key, row, row_key } => {
                let row = self.value(Expr::Column { alias: row, column: row_key }, scope);
                vec![compare(CompareOp::Equal, Value::Column(source, key), row)]
            }
            FromKind::Source(_) | FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => {
                Vec::new()
            }
        }
    }

    /// The atoms behind a source.
    fn behind(self, kind: FromKind, left: &mut usize) -> Option<Vec<Alternative>> {
        if let Some((select, inner)) = self.only_select(kind) {
            return inner.alternatives(select, &[], left);
        }
        Some(vec![vec![Atom::Source(self.source(kind))]])
    }

    fn source(self, kind: FromKind) -> Source {
        match kind {
            FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } => {
                Source::Relation(source)
            }
            FromKind::Table(TableRef::Itself) => Source::Itself,
            FromKind::Table(TableRef::Table(table)) => Source::Table(
                self.plan.tables.get(table).map_or_else(String::new, |table| table.name.clone()),
            ),
            FromKind::Values(slot) => Source::Values(slot),
            FromKind::Embedded(_) => Source::Rows,
        }
    }

    /// The one select that a source stands for, if it does, and where that stands.
    fn only_select(self, kind: FromKind) -> Option<(&'a Select, Self)> {
        match kind {
            _ if !self.inlines => None,
            FromKind::Table(TableRef::Table(table)) => match &self.plan.tables.get(table)?.body {
                TableBody::Union(selects) => match selects.as_slice() {
                    [only] => Some((only, self)),
                    _ => None,
                },
                TableBody::Recursive { .. } | TableBody::WholeState { .. } => None,
            },
            FromKind::Embedded(part) => {
                let plan = *self.parts.get(part)?;
                match plan.answer.selects() {
                    [only] => Some((only, Atoms { plan, parts: &[], inlines: true })),
                    _ => None,
                }
            }
            FromKind::Source(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. }
            | FromKind::Values(_)
            | FromKind::Table(TableRef::Itself) => None,
        }
    }

    fn value(self, expr: Expr, scope: &[From]) -> Value {
        match expr {
            Expr::Column { alias, column } => {
                let Some(from) = scope.iter().rev().find(|from| from.alias == alias) else {
                    return Value::Unconstrained;
                };
                match (from.kind, self.only_select(from.kind)) {
                    (
                        FromKind::Source(source)
                        | FromKind::Row { source, .. }
                        | FromKind::Again { source, .. },
                        _,
                    ) => Value::Column(source, column),
                    (_, Some((select, inner))) => match select.output.get(column) {
                        Some(shown) => inner.value(*shown, &select.from),
                        None => Value::Unconstrained,
                    },
                    (kind, None) => Value::Of(self.source(kind)),
                }
            }
            Expr::Const(literal) => Value::Const(literal),
            Expr::Given(var) => Value::Given(var),
            Expr::Now => Value::Now,
            Expr::Tag(tag) => Value::Tag(tag),
            Expr::TypeName(ty) => Value::TypeName(ty),
            Expr::Unconstrained => Value::Unconstrained,
        }
    }
}

fn compare(op: CompareOp, left: Value, right: Value) -> Atom {
    let turns = matches!(op, CompareOp::Equal | CompareOp::NotEqual);
    if turns && right < left { Atom::Compare(op, right, left) } else { Atom::Compare(op, left, right) }
}

/// Every alternative of one with every alternative of the other, not sorted; `None` if they are too many.
fn product(one: &[Alternative], other: &[Alternative], left: &mut usize) -> Option<Vec<Alternative>> {
    let n_atoms = |all: &[Alternative]| all.iter().map(Vec::len).sum::<usize>();
    *left = left.checked_sub(n_atoms(one) * other.len() + n_atoms(other) * one.len())?;
    if one.len().saturating_mul(other.len()) > ALTERNATIVES {
        return None;
    }
    let mut all = Vec::with_capacity(one.len() * other.len());
    for first in one {
        for second in other {
            all.push([first.as_slice(), second].concat());
        }
    }
    Some(all)
}
