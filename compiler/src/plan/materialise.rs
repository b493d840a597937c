//! Calls that become tables: of all that a call answers, or of what the enclosing rows ask for.

use super::approach::Shares;
use super::body::{Goal, Term};
use super::build::Build;
use super::error::PlanError;
use super::next_goal::is_wanted;
use super::planner::Planner;
use super::scope::Enclosing;
use super::table_call::{TableArg, TableCall};
use crate::algebra::anchor::Anchors;
use crate::algebra::{Expr, From, FromKind, Select, TableBody};
use crate::datalog::RelId;
use crate::id_vec::IdVec;
use rustc_hash::FxHashSet;

/// How deep the bodies may be nested in which a table is made for the rows that lead to it, not for all that
/// read it: at each depth the table is planned again.
const DEMANDED_DEPTH: usize = 3;

impl Planner<'_> {
    /// A table of a call's answers. If a recursion behind the call can start from the rows that lead to it,
    /// the table has the answers for these rows alone.
    pub(super) fn table_of(
        &mut self,
        scope: &Enclosing<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
    ) -> Result<Goal, PlanError> {
        if self.starts_from_rows(scope, build, rel, args) {
            match self.attempt(|this| this.supplement(scope, build, rel, args)) {
                Err(PlanError::Unbound { .. } | PlanError::Unseeded { .. } | PlanError::TooLarge { .. }) => {}
                rows => return rows,
            }
        }
        self.produce(build, rel, args)
    }

    /// Whether a local check lists a call's answers for values that other rows give, such as the user of a
    /// token. In a table of all answers, a recursion would start from every row of the listed table, unless
    /// it can start from an id that the question gives.
    fn starts_from_rows(&self, scope: &Enclosing<'_>, build: &Build, rel: RelId, args: &[Term]) -> bool {
        let is_closest = self.shares == Shares::Rows && self.depth <= DEMANDED_DEPTH;
        let known = args.iter().map(|arg| build.expr(*arg).is_some_and(Expr::is_static));
        let gives_id =
            self.columns(rel).zip(known).any(|(column, is_static)| is_static && column.holds_ids());
        // A walk leads to the exits of a recursion.
        let is_led = self.exits.values().any(|exits| *exits == rel);
        let may_start = self.catalog.has_bound() && (is_led || self.calls_recursion(rel));
        // A table that is made for the rows of a step would read what the recursion has found so far.
        if !is_closest || gives_id || !may_start || scope.is_in_step() {
            return false;
        }
        let anchors = Anchors::of_shape(self.catalog, &self.tables, self.answered_column());
        let rows = args.iter().filter_map(|arg| build.expr(*arg)).filter(|expr| !expr.is_static());
        let mut demands = rows.map(|row| scope.demand(&build.select, vec![row].into()));
        demands.any(|demand| anchors.is_anchored(&demand))
    }

    /// Whether a relation, or one that it depends on, takes part in recursion.
    fn calls_recursion(&self, rel: RelId) -> bool {
        let mut seen = FxHashSet::default();
        let mut open = vec![rel];
        while let Some(rel) = open.pop() {
            if self.is_recursive(rel) {
                return true;
            }
            if seen.insert(rel) {
                let goals = self.clauses(rel).iter().flat_map(|clause| &clause.goals);
                open.extend(goals.filter_map(|goal| match goal {
                    Goal::Call { rel, .. } => Some(*rel),
                    Goal::Scan { .. } | Goal::Rows { .. } | Goal::Values { .. } | Goal::Compare { .. } => {
                        None
                    }
                }));
            }
        }
        false
    }

    /// A table with the relation's tuples for the values known for the whole statement.
    pub(super) fn produce(&mut self, build: &Build, rel: RelId, args: &[Term]) -> Result<Goal, PlanError> {
        let mut inner = Build::default();
        inner.rule = build.rule;
        let mut call = Vec::new();
        let mut outer_args = Vec::new();
        let table_args = self.table_args(build, rel, args);
        for (arg, of) in args.iter().zip(&table_args) {
            call.push(match *of {
                TableArg::Of(expr) => inner.bound(expr),
                TableArg::Column => inner.new_var(build.name(*arg)),
                TableArg::Ignored => Term::Ignored,
            });
            if *of == TableArg::Column {
                outer_args.push(*arg);
            }
        }
        inner.output = call
            .iter()
            .copied()
            .filter(|term| *term != Term::Ignored && inner.expr(*term).is_none())
            .collect();
        if inner.output.is_empty() {
            // A table needs a column, also where only the existence of a row counts.
            inner.output.push(Term::Filler);
            outer_args.push(Term::Filler);
        }
        if let Some(table) = self.produced.get(&(rel, table_args.clone())) {
            return Ok(Goal::Rows { table: *table, args: outer_args });
        }
        inner.goals.push(Goal::call(rel, call));
        let n_columns = inner.output.len();
        let selects = self.selects(&Enclosing::TOP, inner)?;
        let table = self.add_table(rel, "", n_columns, TableBody::Union(selects));
        self.produced.insert((rel, table_args), table);
        Ok(Goal::Rows { table, args: outer_args })
    }

    /// What a table of a call holds of each argument.
    fn table_args(&mut self, build: &Build, rel: RelId, args: &[Term]) -> Vec<TableArg> {
        let mut table_args = Vec::new();
        for arg in args {
            table_args.push(match build.expr(*arg) {
                Some(expr)
                    if expr.is_static() && !self.is_hidden(&Enclosing::TOP, &build.select, rel, expr) =>
                {
                    TableArg::Of(expr)
                }
                None if !is_wanted(build, None, args, *arg) => TableArg::Ignored,
                Some(_) | None => TableArg::Column,
            });
        }
        table_args
    }

    /// Whether a select of a filter that is inside no other one reads the table of a call instead of testing
    /// the values at hand: another select makes that table anyway, and what both ask is then recognised as
    /// the same. Notes the call if that is not known yet.
    pub(super) fn reads_listed(
        &mut self,
        scope: &Enclosing<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
    ) -> bool {
        if !scope.is_top() || self.answered_column().is_none() {
            return false;
        }
        let call = (rel, self.table_args(build, rel, args));
        let is_listed = self.listed.contains(&call);
        if !is_listed {
            self.tested.push(call);
        }
        is_listed
    }

    /// The calls that alternatives of a filter test, and of which others make tables.
    pub(super) fn tested_and_listed(&mut self) -> FxHashSet<TableCall> {
        let tested = std::mem::take(&mut self.tested).into_iter();
        tested.filter(|call| self.produced.contains_key(call)).collect()
    }

    /// A table with the relation's tuples for the rows that the enclosing selects lead to (a supplementary
    /// relation, Beeri and Ramakrishnan 1987). Alternatives that differ in the role alone share it.
    pub(super) fn supplement(
        &mut self,
        scope: &Enclosing<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
    ) -> Result<Goal, PlanError> {
        let known: Vec<Option<Expr>> = args.iter().map(|arg| build.expr(*arg)).collect();
        let mut seen = known.clone();
        for expr in &mut seen {
            *expr = expr.filter(|expr| !self.is_hidden(scope, &build.select, rel, *expr));
        }
        match self.attempt(|this| this.supplement_with(scope, build, rel, args, &seen)) {
            // Hidden columns have no other source.
            Err(PlanError::Unbound { .. } | PlanError::Unseeded { .. }) if seen != known => {
                self.supplement_with(scope, build, rel, args, &known)
            }
            rows => rows,
        }
    }

    fn supplement_with(
        &mut self,
        scope: &Enclosing<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
        known: &[Option<Expr>],
    ) -> Result<Goal, PlanError> {
        let mut rows: Vec<Expr> = Vec::new();
        for expr in known.iter().flatten().filter(|expr| !expr.is_static()) {
            if !rows.contains(expr) {
                rows.push(*expr);
            }
        }
        let mut inner = Build::default();
        inner.rule = build.rule;
        if !rows.is_empty() {
            inner.select = Select { output: IdVec::new(), ..scope.demand(&build.select, rows.into()) };
        }
        let mut call = Vec::new();
        let mut outer_args = Vec::new();
        for (arg, known) in args.iter().zip(known) {
            // A known role picks from the table that holds all.
            let expr = known.filter(|expr| !matches!(expr, Expr::Const(_)));
            let term = match expr {
                Some(expr) => inner.bound(expr),
                None if *arg == Term::Ignored => Term::Ignored,
                None => inner.new_var(build.name(*arg)),
            };
            if term != Term::Ignored && !expr.is_some_and(Expr::is_static) {
                inner.output.push(term);
                outer_args.push(*arg);
            }
            call.push(term);
        }
        let mut selects = Vec::new();
        for build in self.distribute(&inner, rel, &call) {
            selects.extend(self.selects(&Enclosing::TOP, build)?);
        }
        let n_columns = inner.output.len();
        let table = self.add_table(rel, "for the rows that lead to it", n_columns, TableBody::Union(selects));
        Ok(Goal::Rows { table, args: outer_args })
    }

    /// Turns what a body found so far into a table of the values that the rest of it needs, of which the goal
    /// at `next` is the next to plan (a supplementary relation, too). Each combination of values goes on
    /// once.
    pub(super) fn cut(&mut self, build: &mut Build, next: usize) -> Result<(), PlanError> {
        let rel = match build.goals.get(next) {
            Some(Goal::Call { rel, .. }) => *rel,
            _ => return Err(PlanError::Bug("a body is cut before something else than a call")),
        };
        let needed = build.needed();
        // A table needs a column, also where only the existence of a row counts.
        let output = if needed.is_empty() { vec![Expr::Filler] } else { needed.clone() };
        let n_columns = output.len();
        let select = Select { output: output.into(), ..std::mem::take(&mut build.select) };
        let table = self.add_table(rel, "what leads to it", n_columns, TableBody::Union(vec![select]));
        let from = From { alias: self.alias(), kind: FromKind::Table(table) };
        build.go_on_from(from, &needed);
        Ok(())
    }
}
