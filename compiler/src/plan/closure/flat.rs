//! The closure of a component that no class of columns divides: all of it in one table.
//!
//! In: a call of it. Out: a relation over the table, which is a linear fixpoint or, where a step calls the
//! component twice, one over the whole state. It holds no more than the call asks for:
//!
//! - An argument that no step changes, and that the call fixes for the whole statement, gets no column.
//! - Where the call gives all the others, a linear fixpoint finds their **demand** first: the tuples from
//!   which the asked ones may be derived, from the head of each step to each of its calls. No other tuple is
//!   derived (magic sets, Bancilhon, Maier, Sagiv and Ullman 1986).
//!
//! A tuple that is demanded is derived if and only if the whole component has it, whichever member it is of;
//! so negations outside remain correct. Proof: take a derivation of a demanded tuple by a step. The step's
//! goals hold, and the demand goes through some of them, so it reaches all calls of the step. These are
//! demanded in turn, and have shorter derivations. So the demand may go through fewer goals than the step
//! has: it leaves out negations, order comparisons, and what it does not need on the way from the head to the
//! calls. It may not go through another call of the step. If only another call binds a call's values, the
//! component is closed in full.

use super::super::asks::Asks;
use super::super::body::{Clause, Goal, Term, terms, unnamed_columns};
use super::super::error::PlanError;
use super::super::planner::{FlatClosures, Planner};
use super::columns::static_term;
use super::{ClosureCall, KnownColumn};
use crate::algebra::{Expr, Select, TableBody, TableRef};
use crate::catalog::ColumnId;
use crate::datalog::recursion::{MemberId, Recursion, RecursiveClause};
use crate::datalog::{self, RelId};
use crate::ir::CompareOp;
use crate::limits;

/// The columns of one table for all members of a component.
struct MemberColumns {
    /// How many columns the widest member has.
    width: usize,
    /// Whether a column says which member a row is of.
    has_tag: bool,
    /// For each column of the call the value that takes its place.
    fixed: Vec<Option<Term>>,
}

impl MemberColumns {
    fn of(call: &ClosureCall<'_>) -> Self {
        let Recursion { members, steps, widths, .. } = call.recursion;
        let stays = |column: ColumnId, step: &RecursiveClause| {
            let head = column.of(&step.head);
            let is_same = |(_, args): &(MemberId, Vec<datalog::Term>)| column.of(args) == head;
            matches!(head, datalog::Term::Var(_)) && step.calls().all(is_same)
        };
        let is_uniform = call.recursion.width().is_some();
        let value = |(column, known): (ColumnId, &KnownColumn)| match known {
            KnownColumn::Static(expr) if is_uniform && steps.iter().all(|step| stays(column, step)) => {
                static_term(*expr)
            }
            KnownColumn::Static(_) | KnownColumn::Row(_) | KnownColumn::No => None,
        };
        let fixed: Vec<Option<Term>> = ColumnId::all(call.known.len()).zip(&call.known).map(value).collect();
        let width = widths.iter().copied().max().unwrap_or(0);
        let n_fixed = fixed.iter().flatten().count();
        // A table needs a column.
        Self { width, has_tag: members.len() > 1 || width == n_fixed, fixed }
    }

    /// A member's tuple as a row; `padding` fills the columns that only others have.
    fn row(&self, member: MemberId, terms: &[Term], padding: Term) -> Vec<Term> {
        let tag = self.has_tag.then_some(Term::Tag(member));
        let n_padded = self.width.saturating_sub(terms.len());
        // Only where all members have the same columns is one of them fixed.
        let fixed = self.fixed.iter().map(Option::is_some).chain(std::iter::repeat(false));
        let kept = terms.iter().zip(fixed).filter(|(_, is_fixed)| !is_fixed).map(|(term, _)| *term);
        tag.into_iter().chain(kept).chain(std::iter::repeat_n(padding, n_padded)).collect()
    }

    fn n_columns(&self) -> usize {
        usize::from(self.has_tag) + self.width.saturating_sub(self.fixed.iter().flatten().count())
    }

    /// Equalities for the arguments of a tuple that have no column.
    fn fixing(&self, terms: &[Term]) -> Vec<Goal> {
        let columns = terms.iter().zip(&self.fixed);
        let fixing = columns.filter_map(|(term, fixed)| {
            fixed.map(|value| Goal::Compare { op: CompareOp::Equal, left: *term, right: value })
        });
        fixing.collect()
    }
}

impl Planner<'_> {
    /// Closes a component in one table.
    pub(super) fn flat(&mut self, call: &ClosureCall<'_>) -> Result<RelId, PlanError> {
        let layout = MemberColumns::of(call);
        let key = (call.rel, layout.fixed.clone());
        if let Some(known) = self.flat.get(&key) {
            return Ok(*known);
        }
        let demand = match self.flat_closures {
            FlatClosures::OfDemand => self.demanded(call, &layout)?,
            FlatClosures::Whole => None,
        };
        if demand.is_some() {
            // What a demanded closure reads is closed once for all that read it, however often they are
            // planned.
            let outside = std::mem::replace(&mut self.flat_closures, FlatClosures::Whole);
            let closed = self.flat_over(call, &layout, demand);
            self.flat_closures = outside;
            return closed;
        }
        let closed = self.flat_over(call, &layout, None)?;
        self.flat.insert(key, closed);
        Ok(closed)
    }

    /// The relation over the table, which holds what is demanded.
    fn flat_over(
        &mut self,
        call: &ClosureCall<'_>,
        layout: &MemberColumns,
        demand: Option<TableRef>,
    ) -> Result<RelId, PlanError> {
        let recursion = call.recursion;
        let demanded = |member: MemberId, terms: &[Term]| {
            demand.map(|table| Goal::Rows { table, args: layout.row(member, terms, Term::Ignored) })
        };
        let mut base = Vec::new();
        for (member, exit) in call.exits.enumerate() {
            let (head, var_names) = unnamed_columns(recursion.widths[member]);
            let mut goals: Vec<Goal> = demanded(member, &head).into_iter().collect();
            goals.push(Goal::call(*exit, head.clone()));
            goals.extend(layout.fixing(&head));
            let head = layout.row(member, &head, Term::Filler);
            base.extend(self.step_selects(&Clause { rule: None, head, goals, var_names })?);
        }
        let mut step = Vec::new();
        for rule in &recursion.steps {
            let head = terms(&rule.head);
            let mut clause = Clause::like(&rule.clause);
            clause.head = layout.row(rule.member, &head, Term::Filler);
            clause.goals.extend(demanded(rule.member, &head));
            for (callee, args) in rule.calls() {
                let args = layout.row(*callee, &terms(args), Term::Ignored);
                clause.goals.push(Goal::Rows { table: TableRef::Itself, args });
            }
            clause.goals.extend(rule.goals.iter().map(Goal::from));
            clause.goals.extend(layout.fixing(&head));
            step.extend(self.step_selects(&clause)?);
        }
        let body = if recursion.is_linear() {
            TableBody::Recursive { base, step }
        } else {
            TableBody::WholeState { base, step }
        };
        let purpose =
            if demand.is_some() { "what is demanded of the component" } else { "the whole component" };
        let table = self.add_table(call.rel, purpose, layout.n_columns(), body);
        let own = recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        let (head, var_names) = unnamed_columns(recursion.widths[own]);
        let goals = vec![Goal::Rows { table, args: layout.row(own, &head, Term::Ignored) }];
        Ok(self.relation_like(call.rel, vec![Clause { rule: None, head, goals, var_names }]))
    }

    /// The table of all tuples from which the asked ones may be derived; none if the call does not give them
    /// in full, or a step does not lead from its head to its calls.
    fn demanded(
        &mut self,
        call: &ClosureCall<'_>,
        layout: &MemberColumns,
    ) -> Result<Option<TableRef>, PlanError> {
        let n_branches = self.n_branches;
        let own = call.recursion.member(call.rel).ok_or(PlanError::Bug("a call outside its component"))?;
        let Some(base) = self.demanded_tuples(call, layout, own) else { return Ok(None) };
        let goals: Option<Vec<Vec<Goal>>> = call.recursion.steps.iter().map(leading).collect();
        let Some(goals) = goals else { return Ok(None) };
        let demanded = self.attempt(|this| {
            let step = this.demand_steps(call, layout, &goals)?;
            if this.n_branches > limits::BRANCHES / 4 {
                return Err(PlanError::TooLarge { rule: None });
            }
            let body = TableBody::Recursive { base: vec![base], step };
            Ok(this.add_table(call.rel, "everything it may depend on", layout.n_columns(), body))
        });
        match demanded {
            Ok(table) => Ok(Some(table)),
            Err(PlanError::Unbound { .. } | PlanError::Unseeded { .. } | PlanError::TooLarge { .. }) => {
                // The component is closed as a whole instead.
                self.n_branches = n_branches;
                Ok(None)
            }
            Err(error @ (PlanError::OutOfTime(_) | PlanError::Bug(_))) => Err(error),
        }
    }

    /// The tuples that are demanded. Values that differ by row are those of all rows, which are few only
    /// where the question is about given values.
    fn demanded_tuples(
        &self,
        call: &ClosureCall<'_>,
        layout: &MemberColumns,
        own: MemberId,
    ) -> Option<Select> {
        let mut demanded = Vec::new();
        for (known, fixed) in call.known.iter().zip(&layout.fixed) {
            match known {
                _ if fixed.is_some() => {}
                KnownColumn::Static(expr) => demanded.push(*expr),
                KnownColumn::Row(expr) if self.asks != Asks::Values && !call.scope.is_in_step() => {
                    demanded.push(*expr);
                }
                KnownColumn::Row(_) | KnownColumn::No => return None,
            }
        }
        if demanded.is_empty() {
            return None;
        }
        let is_static = demanded.iter().all(|expr| expr.is_static());
        let tag = layout.has_tag.then_some(Expr::Tag(own));
        let padding = std::iter::repeat(Expr::Filler);
        let output = tag.into_iter().chain(demanded).chain(padding).take(layout.n_columns()).collect();
        Some(if is_static {
            Select { output, ..Select::default() }
        } else {
            call.scope.demand(&call.build.select, output)
        })
    }

    /// From the head of each step to each of its calls.
    fn demand_steps(
        &mut self,
        call: &ClosureCall<'_>,
        layout: &MemberColumns,
        goals: &[Vec<Goal>],
    ) -> Result<Vec<Select>, PlanError> {
        let mut step = Vec::new();
        for (rule, goals) in call.recursion.steps.iter().zip(goals) {
            let head = terms(&rule.head);
            for (callee, args) in rule.calls() {
                let mut clause = Clause::like(&rule.clause);
                clause.head = layout.row(*callee, &terms(args), Term::Filler);
                let args = layout.row(rule.member, &head, Term::Ignored);
                clause.goals.push(Goal::Rows { table: TableRef::Itself, args });
                clause.goals.extend(goals.iter().cloned());
                clause.goals.extend(layout.fixing(&head));
                step.extend(self.step_selects(&clause)?);
            }
        }
        Ok(step)
    }
}

/// The goals that lead from a step's head to the arguments of its calls, if they lead to all.
fn leading(step: &RecursiveClause) -> Option<Vec<Goal>> {
    let is_var = |term: &datalog::Term| matches!(term, datalog::Term::Var(_));
    let mut known: Vec<datalog::Term> = step.head.iter().copied().filter(is_var).collect();
    let mut leads = vec![false; step.goals.len()];
    loop {
        let before = known.len();
        for (goal, leads) in step.goals.iter().zip(&mut leads).filter(|(goal, _)| goal.binds()) {
            let mut own = Vec::new();
            goal.for_each_term(&mut |term| own.push(term));
            if own.iter().any(|term| known.contains(term)) {
                *leads = true;
                own.retain(|term| is_var(term) && !known.contains(term));
                known.extend(own);
            }
        }
        if known.len() == before {
            break;
        }
    }
    let mut args = step.calls().flat_map(|(_, args)| args);
    let is_value = |arg: &datalog::Term| match arg {
        datalog::Term::Const(_) | datalog::Term::Given(_) | datalog::Term::Now => true,
        datalog::Term::Var(_) | datalog::Term::Local(_) | datalog::Term::Ignored => false,
    };
    let is_known = |arg: &datalog::Term| known.contains(arg) || is_value(arg);
    let goals = step.goals.iter().zip(leads).filter(|(_, leads)| *leads).map(|(goal, _)| Goal::from(goal));
    args.all(is_known).then(|| goals.collect())
}
