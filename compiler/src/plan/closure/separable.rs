//! The closure of a recursion whose columns move in classes of their own: walks, and closing forwards.
//!
//! In: a call of it, its classes of columns, and for each class whether it is walked or closed forwards. Out:
//! a relation without recursion over the tables that hold both.

use super::super::body::{Clause, Goal, Term, terms, unnamed_columns};
use super::super::error::PlanError;
use super::super::planner::Planner;
use super::columns::{at_columns, fixed};
use super::led::Led;
use super::{ClosureCall, KnownColumn, Mode};
use crate::algebra::{Condition, Expr, Select, TableBody, TableRef};
use crate::catalog::ColumnId;
use crate::datalog::RelId;
use crate::datalog::recursion::{ClassId, ColumnClasses, MemberId};
use crate::id_vec::IdVec;
use crate::ir::CompareOp;
use crate::refusal::VarName;

impl Planner<'_> {
    /// Closes each class in its mode, and returns a relation with the columns of the call.
    pub(super) fn separable(
        &mut self,
        call: &ClosureCall<'_>,
        classes: &ColumnClasses,
        modes: &[Mode],
    ) -> Result<RelId, PlanError> {
        let mut walks = Vec::new();
        let mut forward = Vec::new();
        for (class, mode) in classes.ids().zip(modes) {
            match mode {
                Mode::Walk => walks.push((class, self.walk(call, classes, class)?)),
                Mode::Forward => forward.push(class),
            }
        }
        let own = call.recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        // Where no class leads from member to member, only the called one's exits count.
        let ends: Vec<MemberId> =
            if classes.of_tag.is_some() { call.recursion.members.ids().collect() } else { vec![own] };
        let reached = ends.into_iter().map(|member| (member, exit_of_walks(call, classes, &walks, member)));
        let clauses = if forward.is_empty() {
            reached.map(|(_, clause)| clause).collect()
        } else {
            let reached: Vec<(MemberId, Clause)> = reached.collect();
            vec![self.forward(call, classes, &forward, &reached)?]
        };
        Ok(self.relation_like(call.rel, clauses))
    }

    /// The table of all that a class's bound values lead to: where it started (for values that differ by
    /// row), the member, and where it is.
    fn walk(
        &mut self,
        call: &ClosureCall<'_>,
        classes: &ColumnClasses,
        class: ClassId,
    ) -> Result<TableRef, PlanError> {
        let columns = classes.columns(class);
        let has_tag = classes.of_tag == Some(class);
        let own = call.recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        let expr = |column: &ColumnId| match column.of(&call.known) {
            KnownColumn::Static(expr) | KnownColumn::Row(expr) => Ok(*expr),
            KnownColumn::No => Err(PlanError::Bug("a walk from an unknown value")),
        };
        let here = columns.iter().map(expr).collect::<Result<Vec<_>, _>>()?;
        let started: Vec<Expr> = here.iter().copied().filter(|expr| !expr.is_static()).collect();
        let tag = has_tag.then_some(Expr::Tag(own));
        let n_started = started.len();
        let output: IdVec<ColumnId, Expr> = started.into_iter().chain(tag).chain(here).collect();
        let n_columns = output.len();
        let base = if n_started == 0 {
            Select { output, ..Select::default() }
        } else if call.scope.is_in_step() {
            let differs = |column: &&ColumnId| matches!(column.of(&call.known), KnownColumn::Row(_));
            let arg = columns.iter().find(differs).map(|column| column.of(call.args));
            let var = arg.map_or(&VarName::UNNAMED, |arg| call.build.name(*arg)).clone();
            let rule = arg.map_or(call.build.rule, |arg| call.build.rule_of(*arg));
            return Err(PlanError::Unseeded { pred: self.pred(call.rel), var, rule });
        } else {
            call.scope.demand(&call.build.select, output)
        };
        let mut step = Vec::new();
        for rule in classes.steps(call.recursion, class) {
            let (callee, args) = &rule.call;
            let (head, args) = (terms(&rule.head), terms(args));
            let mut clause = Clause::like(&rule.clause);
            let mut from = Vec::new();
            for _ in 0..n_started {
                let start = Term::Var(clause.var_names.push(VarName::UNNAMED));
                from.push(start);
                clause.head.push(start);
            }
            if has_tag {
                from.push(Term::Tag(rule.member));
                clause.head.push(Term::Tag(*callee));
            }
            from.extend(at_columns(&columns, &head));
            clause.head.extend(at_columns(&columns, &args));
            clause.goals.push(Goal::Rows { table: TableRef::Itself, args: from });
            clause.goals.extend(rule.goals.iter().map(Goal::from));
            clause.goals.extend(fixed(call, classes, &head)?);
            step.extend(self.step_selects(&clause)?);
        }
        let body = TableBody::Recursive { base: vec![base], step };
        Ok(self.add_table(call.rel, "all that the bound values lead to", n_columns, body))
    }

    /// The clause over the table that closes the forward classes from where the walks end: if possible, only
    /// for what the given ones of their columns lead to.
    fn forward(
        &mut self,
        call: &ClosureCall<'_>,
        classes: &ColumnClasses,
        forward: &[ClassId],
        reached: &[(MemberId, Clause)],
    ) -> Result<Clause, PlanError> {
        let led = self.attempt(|this| match this.led(call, classes, forward)? {
            Some(led) => this.closed_forwards(call, classes, forward, reached, Some(&led)).map(Some),
            None => Ok(None),
        });
        match led {
            Ok(Some(clause)) => Ok(clause),
            Err(error @ (PlanError::OutOfTime(_) | PlanError::Bug(_))) => Err(error),
            Ok(None) | Err(_) => self.closed_forwards(call, classes, forward, reached, None),
        }
    }

    fn closed_forwards(
        &mut self,
        call: &ClosureCall<'_>,
        classes: &ColumnClasses,
        forward: &[ClassId],
        reached: &[(MemberId, Clause)],
        led: Option<&Led>,
    ) -> Result<Clause, PlanError> {
        let is_kept = |column: ColumnId| match classes.of_column[column] {
            Some(class) => forward.contains(&class),
            None => !matches!(column.of(&call.known), KnownColumn::Static(_)),
        };
        let kept: Vec<ColumnId> = classes.of_column.ids().filter(|column| is_kept(*column)).collect();
        let has_tag = forward.iter().any(|class| classes.of_tag == Some(*class));
        let tag = |member: MemberId| has_tag.then_some(Term::Tag(member));
        let pick = |terms: &[Term]| at_columns(&kept, terms);
        let mut base = Vec::new();
        for (member, clause) in reached {
            let mut clause = clause.clone();
            clause.goals.extend(fixed(call, classes, &clause.head)?);
            clause.goals.splice(0..0, led.map(|led| led.goal(tag(*member), &clause.head)));
            clause.head = tag(*member).into_iter().chain(pick(&clause.head)).collect();
            base.extend(self.step_selects(&clause)?);
        }
        demand(call, classes, &kept, usize::from(has_tag), &mut base);
        let own = call.recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        let mut step = Vec::new();
        for class in forward {
            for rule in classes.steps(call.recursion, *class).filter(|rule| has_tag || rule.member == own) {
                let (callee, args) = &rule.call;
                let head = terms(&rule.head);
                let mut clause = Clause::like(&rule.clause);
                clause.head = tag(rule.member).into_iter().chain(pick(&head)).collect();
                let from = tag(*callee).into_iter().chain(pick(&terms(args))).collect();
                clause.goals.push(Goal::Rows { table: TableRef::Itself, args: from });
                clause.goals.extend(rule.goals.iter().map(Goal::from));
                // Before the step's own goals, each tuple would be joined with all that is led to.
                clause
                    .goals
                    .extend(led.filter(|led| led.moves(rule)).map(|led| led.goal(tag(rule.member), &head)));
                clause.goals.extend(fixed(call, classes, &head)?);
                step.extend(self.step_selects(&clause)?);
            }
        }
        let n_columns = kept.len() + usize::from(has_tag);
        let table =
            self.add_table(call.rel, "all that is reached", n_columns, TableBody::Recursive { base, step });
        let (head, var_names) = unnamed_columns(classes.of_column.len());
        let args = tag(own).into_iter().chain(pick(&head)).collect();
        Ok(Clause { rule: None, head, goals: vec![Goal::Rows { table, args }], var_names })
    }
}

/// The tuples to which the walks, one for each class, lead through the exits of a member. The variables of
/// the head are the columns of the call.
fn exit_of_walks(
    call: &ClosureCall<'_>,
    classes: &ColumnClasses,
    walks: &[(ClassId, TableRef)],
    member: MemberId,
) -> Clause {
    let (head, mut var_names) = unnamed_columns(classes.of_column.len());
    let mut at_exit = head.clone();
    let mut goals = Vec::new();
    for (class, table) in walks {
        let mut args = Vec::new();
        for ((of, known), term) in classes.of_column.iter().zip(&call.known).zip(&head) {
            if *of == Some(*class) && matches!(known, KnownColumn::Row(_)) {
                args.push(*term);
            }
        }
        if classes.of_tag == Some(*class) {
            args.push(Term::Tag(member));
        }
        for (of, term) in classes.of_column.iter().zip(&mut at_exit) {
            if *of == Some(*class) {
                *term = Term::Var(var_names.push(VarName::UNNAMED));
                args.push(*term);
            }
        }
        goals.push(Goal::Rows { table: *table, args });
    }
    goals.push(Goal::call(call.exits[member], at_exit));
    Clause { rule: None, head, goals, var_names }
}

/// Restricts the base of a closure to what the enclosing select asks for in its invariant columns.
///
/// Those columns never change on the way, so what starts elsewhere ends elsewhere. `kept` are the columns
/// that come out, after `n_tags` others.
fn demand(
    call: &ClosureCall<'_>,
    classes: &ColumnClasses,
    kept: &[ColumnId],
    n_tags: usize,
    base: &mut [Select],
) {
    let of_base = ColumnId::all(n_tags + kept.len()).skip(n_tags);
    let demanded: Vec<(ColumnId, Expr)> = of_base
        .zip(kept)
        .filter_map(|(place, column)| match (column.of(&call.known), classes.of_column[*column]) {
            (KnownColumn::Row(expr), None) => Some((place, *expr)),
            _ => None,
        })
        .collect();
    if demanded.is_empty() || call.scope.is_in_step() {
        return;
    }
    let (places, demanded): (Vec<ColumnId>, Vec<Expr>) = demanded.into_iter().unzip();
    let demand = call.scope.demand(&call.build.select, demanded.clone().into());
    for select in base {
        let own = at_columns(&places, select.output.as_slice());
        let equal = own.into_iter().zip(&demanded).map(|(left, right)| Condition::Compare {
            op: CompareOp::Equal,
            left,
            right: *right,
        });
        let filter: Vec<Condition> = demand.filter.iter().cloned().chain(equal).collect();
        select.filter.splice(0..0, filter);
        select.from.splice(0..0, demand.from.iter().copied());
    }
}
