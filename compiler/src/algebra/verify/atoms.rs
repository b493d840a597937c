//! The alternatives of a plan as multisets of atoms: the conditions of a plan, in any form.
//!
//! An atom is a source, a comparison, or a negation. A test of one select and the select's own sources and
//! conditions are the same atoms; so are a value in a set and the equality with what the set shows. A test of
//! several is one alternative for each. A table of one select is what that select asks, and a value of it is
//! what it shows there; so is a table of several, where a pass takes such tables apart. So a plan may be
//! rewritten in many ways that leave its atoms as they are.

use super::budget::LayoutBudget;
use super::contradictions;
use crate::algebra::TableRef;
use crate::algebra::{Condition, Expr, From, FromKind, Plan, Select, TableBody};
use crate::catalog::{ColumnId, SourceId};
use crate::datalog::recursion::MemberId;
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::question::{QuestionVarId, Slot};
use std::borrow::Cow;
use std::rc::Rc;

/// A condition of an alternative.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PlanAtom {
    /// A row of a source.
    Source(ReadFrom),
    /// A comparison, with its lesser side first.
    Compare(CompareOp, ValueOrigin, ValueOrigin),
    /// One of several literals.
    OneOf(ValueOrigin, Vec<ConstId>),
    /// A denied alternative.
    None(Vec<Self>),
}

/// The origin of rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ReadFrom {
    /// A relation of the catalog, or the current row of the caller's query.
    Relation(SourceId),
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
pub(super) enum ValueOrigin {
    /// A column of a relation.
    Column(SourceId, ColumnId),
    /// Some column of another source; which one is left out, as unread columns are dropped.
    Of(ReadFrom),
    /// A literal.
    Const(ConstId),
    /// The value of a variable.
    Given(QuestionVarId),
    /// The time.
    Now,
    /// A member of a recursive component.
    Tag(MemberId),
    /// The value of a column that nothing looks at.
    Filler,
    /// The name of a type.
    TypeName(TypeId),
    /// Any value.
    Unconstrained,
}

/// An alternative: its atoms, sorted.
pub(super) type Alternative = Vec<PlanAtom>;

/// What a plan's tables and parts are, to find atoms behind them. A plan may not be checked yet: a missing
/// table or part is an unknown one.
#[derive(Clone, Copy)]
pub(super) struct Atoms<'a> {
    pub(super) plan: &'a Plan,
    /// The plan of each embedded source, if it is known.
    pub(super) parts: &'a [&'a Plan],
    /// Which tables count as what their selects ask.
    pub(super) inlines: Inlines,
    /// Whether alternatives with a branch and its own denial are left out.
    pub(super) exempts: bool,
}

/// Which tables count as the conditions of their selects, if they are not fixpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inlines {
    /// None.
    Nothing,
    /// Those of one select.
    Single,
    /// All.
    Every,
}

/// A source, and what an alternative reads of it if it counts as its selects: one of them, and its sources.
#[derive(Clone)]
struct Seen {
    from: From,
    arm: usize,
    inside: Rc<[Self]>,
}

impl<'a> Atoms<'a> {
    /// The alternatives of the answer, each with the guard; `None` if they are too many. `budget` is
    /// what may still be laid out.
    pub(super) fn of_answer(self, budget: &mut LayoutBudget) -> Option<Vec<Alternative>> {
        let guard = self.alternatives(&self.plan.guard, &[], budget)?;
        let all = self.of_selects(self.plan.answer.selects(), budget)?;
        let mut guarded = product(&all, &guard, budget)?;
        guarded.iter_mut().for_each(|alternative| alternative.sort());
        Some(guarded)
    }

    /// The alternatives of top-level selects; `None` if they are too many.
    pub(super) fn of_selects(
        self,
        selects: &[Select],
        budget: &mut LayoutBudget,
    ) -> Option<Vec<Alternative>> {
        let mut all = Vec::new();
        for select in selects {
            all.extend(self.alternatives(select, &[], budget)?);
        }
        Some(all)
    }

    /// How many columns a table has; `None` if there is no such table.
    pub(super) fn width(self, table: &str) -> Option<usize> {
        let found = self.plan.tables.iter().find(|known| known.name == table)?;
        let (TableBody::Union(selects)
        | TableBody::Recursive { base: selects, .. }
        | TableBody::WholeState { base: selects, .. }) = &found.body;
        selects.iter().map(|select| select.output.len()).max()
    }

    fn alternatives(
        self,
        select: &Select,
        around: &[Seen],
        budget: &mut LayoutBudget,
    ) -> Option<Vec<Alternative>> {
        let mut all = Vec::new();
        for scope in self.scopes(select, around, budget.alternatives)? {
            all.extend(self.of_scope(select, around.len(), &scope, budget)?);
        }
        Some(all)
    }

    /// The sources that a select sees, once for each choice among the selects behind its own; `None` if there
    /// are more than `most`.
    fn scopes(self, select: &Select, around: &[Seen], most: usize) -> Option<Vec<Vec<Seen>>> {
        let mut scopes = vec![around.to_vec()];
        for from in &select.from {
            let choices = self.choices(*from, most)?;
            if scopes.len().saturating_mul(choices.len()) > most {
                return None;
            }
            let mut longer = Vec::new();
            for scope in &scopes {
                let with = |choice: &Seen| scope.iter().chain([choice]).cloned().collect();
                longer.extend(choices.iter().map(with));
            }
            scopes = longer;
        }
        Some(scopes)
    }

    /// What an alternative may read of a source.
    fn choices(self, from: From, most: usize) -> Option<Vec<Seen>> {
        let Some((arms, inner)) = self.arms(from.kind) else {
            return Some(vec![Seen { from, arm: 0, inside: Rc::default() }]);
        };
        let mut choices = Vec::new();
        for (arm, select) in arms.iter().enumerate() {
            let insides = inner.scopes(select, &[], most)?;
            choices.extend(insides.into_iter().map(|inside| Seen { from, arm, inside: inside.into() }));
        }
        Some(choices)
    }

    /// The alternatives of a select for one choice; its own sources come after the `outside` ones.
    fn of_scope(
        self,
        select: &Select,
        outside: usize,
        scope: &[Seen],
        budget: &mut LayoutBudget,
    ) -> Option<Vec<Alternative>> {
        let mut read = vec![Vec::new()];
        for seen in scope.iter().skip(outside) {
            read = product(&read, &self.behind(seen, budget)?, budget)?;
            read = product(&read, &[self.sameness(seen.from.kind, scope)], budget)?;
        }
        let mut all = Vec::new();
        let cases = if self.exempts {
            contradictions::cases(select, budget.alternatives)?
        } else {
            vec![Cow::Borrowed(select)]
        };
        for case in cases {
            let mut of_case = read.clone();
            for condition in &case.filter {
                of_case = product(&of_case, &self.condition(condition, scope, budget)?, budget)?;
            }
            all.append(&mut of_case);
        }
        all.iter_mut().for_each(|alternative| alternative.sort());
        Some(all)
    }

    fn condition(
        self,
        condition: &Condition,
        scope: &[Seen],
        budget: &mut LayoutBudget,
    ) -> Option<Vec<Alternative>> {
        Some(match condition {
            Condition::Compare { op, left, right } => {
                vec![vec![compare(*op, self.value(*left, scope), self.value(*right, scope))]]
            }
            Condition::OneOf { expr, literals } => {
                vec![vec![PlanAtom::OneOf(self.value(*expr, scope), literals.clone())]]
            }
            Condition::Meets { row, source } => {
                let query = ValueOrigin::Of(ReadFrom::Relation(*source));
                vec![vec![compare(CompareOp::Equal, self.value(*row, scope), query)]]
            }
            Condition::In { expr, selects, .. } => {
                let value = self.value(*expr, scope);
                let mut all = Vec::new();
                for select in selects {
                    for inside in self.scopes(select, scope, budget.alternatives)? {
                        let shown = select.output.first().map(|shown| self.value(*shown, &inside));
                        let shown = shown.unwrap_or(ValueOrigin::Unconstrained);
                        let equal = vec![vec![compare(CompareOp::Equal, value.clone(), shown)]];
                        let of_set = self.of_scope(select, scope.len(), &inside, budget)?;
                        all.extend(product(&of_set, &equal, budget)?);
                    }
                }
                all
            }
            Condition::Any(branches) => {
                let mut all = Vec::new();
                for branch in branches {
                    all.extend(self.alternatives(branch, scope, budget)?);
                }
                all
            }
            Condition::None(branches) => {
                // Each alternative of each branch denies by itself.
                let mut none = Vec::new();
                for branch in branches {
                    none.extend(self.alternatives(branch, scope, budget)?.into_iter().map(PlanAtom::None));
                }
                vec![none]
            }
        })
    }

    /// The equality of keys that a row implies if it is not read again.
    fn sameness(self, kind: FromKind, scope: &[Seen]) -> Alternative {
        match kind {
            FromKind::Row { source, key } => {
                vec![compare(CompareOp::Equal, ValueOrigin::Column(source, key), ValueOrigin::Unconstrained)]
            }
            FromKind::Again { source, key, row, row_key } => {
                let row = self.value(Expr::Column { alias: row, column: row_key }, scope);
                vec![compare(CompareOp::Equal, ValueOrigin::Column(source, key), row)]
            }
            FromKind::Source(_) | FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => {
                Vec::new()
            }
        }
    }

    /// The atoms of a source.
    fn behind(self, seen: &Seen, budget: &mut LayoutBudget) -> Option<Vec<Alternative>> {
        if let Some((select, inner)) = self.arm(seen) {
            return inner.of_scope(select, 0, &seen.inside, budget);
        }
        Some(vec![vec![PlanAtom::Source(self.source(seen.from.kind))]])
    }

    fn source(self, kind: FromKind) -> ReadFrom {
        match kind {
            FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } => {
                ReadFrom::Relation(source)
            }
            FromKind::Table(TableRef::Itself) => ReadFrom::Itself,
            FromKind::Table(TableRef::Table(table)) => {
                ReadFrom::Table(table.of(&self.plan.tables).name.clone())
            }
            FromKind::Values(slot) => ReadFrom::Values(slot),
            FromKind::Embedded(_) => ReadFrom::Rows,
        }
    }

    /// The select that an alternative reads of a source, if the source counts as its selects, and its place.
    fn arm(self, seen: &Seen) -> Option<(&'a Select, Self)> {
        let (arms, inner) = self.arms(seen.from.kind)?;
        Some((arms.get(seen.arm)?, inner))
    }

    /// The selects that a source represents, if it counts as them, and their place.
    fn arms(self, kind: FromKind) -> Option<(&'a [Select], Self)> {
        let counts = |selects: &[Select]| match self.inlines {
            Inlines::Nothing => false,
            Inlines::Single => selects.len() == 1,
            Inlines::Every => true,
        };
        let (selects, inner) = match kind {
            FromKind::Table(TableRef::Table(table)) => match &self.plan.tables.get(table.index())?.body {
                TableBody::Union(selects) => (selects.as_slice(), self),
                TableBody::Recursive { .. } | TableBody::WholeState { .. } => return None,
            },
            FromKind::Embedded(part) => {
                let plan = *self.parts.get(part.index())?;
                (plan.answer.selects(), Atoms { plan, parts: &[], ..self })
            }
            FromKind::Source(_)
            | FromKind::Row { .. }
            | FromKind::Again { .. }
            | FromKind::Values(_)
            | FromKind::Table(TableRef::Itself) => return None,
        };
        counts(selects).then_some((selects, inner))
    }

    fn value(self, expr: Expr, scope: &[Seen]) -> ValueOrigin {
        match expr {
            Expr::Column { alias, column } => {
                let Some(seen) = scope.iter().rev().find(|seen| seen.from.alias == alias) else {
                    return ValueOrigin::Unconstrained;
                };
                match (seen.from.kind, self.arm(seen)) {
                    (
                        FromKind::Source(source)
                        | FromKind::Row { source, .. }
                        | FromKind::Again { source, .. },
                        _,
                    ) => ValueOrigin::Column(source, column),
                    (_, Some((select, inner))) => match select.output.find(column) {
                        Some(shown) => inner.value(*shown, &seen.inside),
                        None => ValueOrigin::Unconstrained,
                    },
                    (kind, None) => ValueOrigin::Of(self.source(kind)),
                }
            }
            Expr::Const(literal) => ValueOrigin::Const(literal),
            Expr::Given(var) => ValueOrigin::Given(var),
            Expr::Now => ValueOrigin::Now,
            Expr::Tag(member) => ValueOrigin::Tag(member),
            Expr::Filler => ValueOrigin::Filler,
            Expr::TypeName(ty) => ValueOrigin::TypeName(ty),
            Expr::Unconstrained => ValueOrigin::Unconstrained,
        }
    }
}

fn compare(op: CompareOp, left: ValueOrigin, right: ValueOrigin) -> PlanAtom {
    if right < left {
        PlanAtom::Compare(op.turned(), right, left)
    } else {
        PlanAtom::Compare(op, left, right)
    }
}

/// Every alternative of one with every alternative of the other, not sorted; `None` if they are too many.
fn product(
    one: &[Alternative],
    other: &[Alternative],
    budget: &mut LayoutBudget,
) -> Option<Vec<Alternative>> {
    let n_atoms = |all: &[Alternative]| all.iter().map(Vec::len).sum::<usize>();
    budget.spend(n_atoms(one) * other.len() + n_atoms(other) * one.len())?;
    if one.len().saturating_mul(other.len()) > budget.alternatives {
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
