//! Replaces a call of a recursive relation by tables that hold its closure.
//!
//! In: a call whose arguments are static (known for the whole statement), known for the row, wanted or
//! ignored. Out: a call of a relation made for it, without recursion. Four forms, best first:
//!
//! - **Walk** a class of columns from the values that bind it to all that they lead to, then look for an exit
//!   there: up from a folder to the root, up from a user through groups. A walk from values that differ by
//!   row starts from the enclosing select (its demand) and remembers where it started, so that no answer is
//!   ever attributed to another row (magic sets with supplementary relations, Beeri and Ramakrishnan 1987).
//! - **Close forwards** the columns that nothing binds, from the exits that the walks reach. This
//!   includes the column of a call with only one, if nothing in the question leads to it. What the known ones
//!   of a class [lead to](led) is walked first.
//! - [**Guarded**](guarded): a walk and then the exits, where the steps ask for one condition on columns that
//!   do not move.
//! - [**Flat**](flat): the whole component in one table, as a linear fixpoint or, where a step calls
//!   the component twice, on the whole state at once.

mod columns;
mod ends;
mod flat;
mod guarded;
mod led;
mod separable;

use super::approach::Shares;
use super::asks::Asks;
use super::body::{Clause, Goal, Term};
use super::build::Build;
use super::error::PlanError;
use super::planner::{ClosureStarts, Planner};
use super::scope::Enclosing;
use crate::algebra::anchor::Anchors;
use crate::algebra::{Expr, Select, TableRef};
use crate::datalog::RelId;
use crate::datalog::recursion::{ClassId, ColumnClasses, MemberId, Recursion, classes};
use crate::id_vec::IdVec;
use indexmap::IndexSet;
use rustc_hash::FxHashSet;

/// How one class of columns is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mode {
    Walk,
    Forward,
}

/// What the call knows of one column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KnownColumn {
    Static(Expr),
    Row(Expr),
    No,
}

/// A call to be closed.
pub(super) struct ClosureCall<'c> {
    pub(super) rel: RelId,
    pub(super) recursion: &'c Recursion,
    /// For each member the relation of its exits.
    pub(super) exits: &'c IdVec<MemberId, RelId>,
    pub(super) known: Vec<KnownColumn>,
    pub(super) scope: &'c Enclosing<'c>,
    /// The build that contains the call.
    pub(super) build: &'c Build,
    /// The arguments of the call.
    pub(super) args: &'c [Term],
}

impl Planner<'_> {
    /// Returns the goal that replaces a call of a recursive relation.
    pub(super) fn close(
        &mut self,
        scope: &Enclosing<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
    ) -> Result<Goal, PlanError> {
        let (recursion, exits) = self.recursion(rel)?;
        let known = args.iter().map(|arg| match build.expr(*arg) {
            Some(expr) if expr.is_static() => KnownColumn::Static(expr),
            Some(expr) => KnownColumn::Row(expr),
            None => KnownColumn::No,
        });
        let known: Vec<KnownColumn> = known.collect();
        let mut call = ClosureCall {
            rel,
            recursion: &recursion,
            exits: &exits,
            known: known.clone(),
            scope,
            build,
            args,
        };
        for known in &mut call.known {
            // A shared table holds everything that the question's values lead to, for all its readers.
            let is_hidden = match *known {
                KnownColumn::Static(expr) => self.is_hidden(scope, &build.select, rel, expr),
                KnownColumn::Row(expr) => {
                    self.shares == Shares::Relations || self.is_hidden(scope, &build.select, rel, expr)
                }
                KnownColumn::No => false,
            };
            if is_hidden {
                *known = KnownColumn::No;
            }
        }
        let hides = call.known != known;
        let closed = match self.attempt(|this| this.close_call(&call)) {
            // Hidden columns have no other source.
            Err(PlanError::Unbound { .. } | PlanError::Unseeded { .. }) if hides => {
                call.known = known;
                self.close_call(&call)?
            }
            closed => closed?,
        };
        Ok(Goal::call(closed, args.to_vec()))
    }

    fn close_call(&mut self, call: &ClosureCall<'_>) -> Result<RelId, PlanError> {
        let Some(width) = call.recursion.width().filter(|_| call.recursion.is_linear()) else {
            return self.flat(call);
        };
        if call.known.len() != width {
            return Err(PlanError::Bug("a call with another number of columns than its recursion"));
        }
        let is_static: Vec<bool> =
            call.known.iter().map(|known| matches!(known, KnownColumn::Static(_))).collect();
        if self.asks == Asks::Values {
            match self.attempt(|this| this.guarded(call, width)) {
                Ok(Some(closed)) => return Ok(closed),
                Err(error @ (PlanError::OutOfTime(_) | PlanError::Bug(_))) => return Err(error),
                Ok(None) | Err(_) => {}
            }
        }
        let classes = classes(call.recursion, width, &is_static);
        let mut last = PlanError::Bug("no mode to close a component");
        for modes in self.modes(call, &classes) {
            match self.attempt(|this| this.separable(call, &classes, &modes)) {
                Ok(closed) => return Ok(closed),
                Err(error @ (PlanError::OutOfTime(_) | PlanError::Bug(_))) => return Err(error),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// The ways to close the classes, best first.
    fn modes(&mut self, call: &ClosureCall<'_>, classes: &ColumnClasses) -> IndexSet<Vec<Mode>> {
        let columns =
            |class: ClassId| classes.columns(class).into_iter().map(|column| *column.of(&call.known));
        let is_bound = |class: ClassId| columns(class).all(|known| known != KnownColumn::No);
        let is_fixed = |class: ClassId| columns(class).all(|known| matches!(known, KnownColumn::Static(_)));
        let mode = |walks: bool| if walks { Mode::Walk } else { Mode::Forward };
        let all_bound = classes.ids().all(is_bound);
        let walk_bound: Vec<Mode> = classes.ids().map(|class| mode(is_bound(class))).collect();
        let walk_fixed: Vec<Mode> = classes.ids().map(|class| mode(is_fixed(class))).collect();
        let forward = vec![Mode::Forward; walk_fixed.len()];
        let is_given = |known: &KnownColumn| matches!(known, KnownColumn::Static(_));
        let gives_id = self
            .columns(call.rel)
            .zip(&call.known)
            .any(|(column, known)| column.holds_ids() && is_given(known));
        // Other plans are tried because this one is too large or too deep. Closing forwards may add to that.
        let starts_anywhere = self.shares == Shares::Rows
            && matches!(call.known.as_slice(), [KnownColumn::Row(value)] if self.starts_anywhere(call, *value));
        let mut modes: IndexSet<Vec<Mode>> = IndexSet::new();
        if starts_anywhere {
            modes.insert(forward.clone());
        }
        if all_bound && (self.asks != Asks::Values || !gives_id) {
            modes.insert(walk_bound.clone());
        }
        modes.insert(walk_fixed);
        if all_bound {
            modes.insert(walk_bound);
        }
        modes.insert(forward);
        modes
    }

    /// Whether the only column of a call is closed from the exits: nothing leads to its value from one that
    /// the question gives, or that is so in another alternative of a filter, which needs the whole closure
    /// anyway.
    fn starts_anywhere(&mut self, call: &ClosureCall<'_>, value: Expr) -> bool {
        if self.whole.contains(&call.rel) {
            return true;
        }
        // A walk from all rows of a table remembers each step from each of them, and a closure of one column
        // has fewer rows.
        let demand = call.scope.demand(&call.build.select, vec![value].into());
        let anchors = Anchors::of_shape(self.catalog, &self.tables, self.answered_column());
        let is_anchored = anchors.is_anchored(&demand);
        let starts = if is_anchored { &mut self.starts.given } else { &mut self.starts.anywhere };
        starts.insert(call.rel);
        !is_anchored
    }

    /// The relations that some alternatives of a filter close from given values, and others as a whole.
    pub(super) fn closed_both_ways(&mut self) -> FxHashSet<RelId> {
        let ClosureStarts { given, anywhere } = std::mem::take(&mut self.starts);
        if self.answered_column().is_none() {
            return FxHashSet::default();
        }
        given.intersection(&anywhere).copied().collect()
    }

    /// Plans one clause of a table on its own; its head is what comes out.
    pub(super) fn step_selects(&mut self, clause: &Clause) -> Result<Vec<Select>, PlanError> {
        let mut build = Build::default();
        let output: Vec<Term> = clause.head.iter().map(|term| build.new_var(clause.name(*term))).collect();
        build.inline(clause, &output);
        build.output = output;
        let recursive =
            clause.goals.iter().any(|goal| matches!(goal, Goal::Rows { table: TableRef::Itself, .. }));
        let scope = if recursive { Enclosing::STEP } else { Enclosing::TOP };
        self.selects(&scope, build)
    }
}
