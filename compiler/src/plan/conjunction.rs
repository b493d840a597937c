//! Orders the goals of a body and turns them into selects.
//!
//! In: a [`Build`] with goals. Out: one or more [`Select`]s whose union answers it. The order is greedy, by
//! what is bound (sideways information passing, Beeri and Ramakrishnan 1987): tests as soon as their
//! values are known; relations with one clause are inlined; then the source that binds most with the fewest
//! rows. A call whose values nobody needs becomes a branch (`EXISTS`); one that binds becomes a table of
//! its own, or its clauses are distributed over the select.

use super::algebra::{Condition, Expr, FromKind, Select, TableBody};
use super::build::Build;
use super::planner::{Asked, PlanError, Planner};
use super::scope::Scope;
use crate::ir::{CompareOp, ConstId, Polarity};
use crate::limits;
use crate::specialise::clause::{Clause, Goal, RelId, ScanArg, Term};

/// What to do with a positive goal, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// A source whose columns are all known.
    Probe,
    /// A call of a relation with one clause.
    Inline,
    /// Rows that come with the question or from a walk.
    Small,
    /// A source with an indexed column known.
    Lookup,
    /// A call whose values nobody else needs.
    Test,
    /// A call that binds, with a value known for the whole statement.
    Produce,
    /// Those who hold a role: never while the actor leads anywhere.
    Holders,
    /// A call that binds, with a value known for the row.
    Distribute,
    /// A source with one column, all of it: a set is smaller than what is related to it.
    Set,
    /// A source with some column known.
    Filtered,
    /// A source of which nothing is known.
    Whole,
    /// A call of which nothing is known.
    Enumerate,
}

impl Planner<'_> {
    /// Plans a body: the union of the selects answers it.
    pub(super) fn selects(&mut self, scope: &Scope<'_>, build: Build) -> Result<Vec<Select>, PlanError> {
        let mut done = Vec::new();
        let mut open = vec![build];
        self.depth += 1;
        let result = self.drain(scope, &mut open, &mut done);
        self.depth -= 1;
        result.map(|()| done)
    }

    fn drain(
        &mut self,
        scope: &Scope<'_>,
        open: &mut Vec<Build>,
        done: &mut Vec<Select>,
    ) -> Result<(), PlanError> {
        while let Some(build) = open.pop() {
            self.n_branches += 1;
            let too_many = done.len() + open.len() > limits::SELECTS || self.n_branches > limits::BRANCHES;
            if too_many || self.depth > limits::DEPTH || self.tables.len() > limits::TABLES {
                return Err(PlanError::TooLarge);
            }
            match self.advance(scope, build)? {
                Advance::Done(select) => done.push(select),
                Advance::Stuck(select, error) => match &mut self.refused {
                    Some(refused) if self.depth == 1 => refused.push((select, error)),
                    Some(_) | None => return Err(error),
                },
                Advance::Open(builds) => open.extend(builds.into_iter().rev()),
            }
        }
        Ok(())
    }

    /// Whether a test may be a branch; one that is too deep or has too many fellows becomes a table.
    fn may_nest(&self, scope: &Scope<'_>) -> bool {
        scope.depth() < limits::NESTED_BRANCHES && self.n_branches < limits::BRANCHES / 4
    }

    /// Plans the branches of a test.
    fn branches(&mut self, scope: &Scope<'_>, outer: &Build, goal: &Goal) -> Result<Vec<Select>, PlanError> {
        let mut build = outer.inner(goal);
        let calls = |goal: &Goal| matches!(goal, Goal::Call { rel, .. } if !self.is_recursive(*rel));
        if !self.may_nest(scope)
            && let Some(at) = build.goals.iter().position(calls)
            && let Goal::Call { rel, args, .. } = build.goals.remove(at)
        {
            let n_tables = self.tables.len();
            let rows = match self.produce(&build, rel, &args) {
                Ok(rows) => rows,
                // Nothing enumerates it; as a branch it is told its values.
                Err(PlanError::Unbound { .. } | PlanError::Unseeded) => {
                    self.forget_tables(n_tables);
                    Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() }
                }
                Err(error @ (PlanError::TooLarge | PlanError::Bug(_))) => return Err(error),
            };
            build.goals.push(rows);
        }
        if scope.depth() > 2 * limits::NESTED_BRANCHES {
            return Err(PlanError::TooLarge);
        }
        let inner = Scope { outer: Some(scope), select: Some(&outer.select), in_step: false };
        let mut branches = self.selects(&inner, build)?;
        branches.sort_by_key(cost);
        Ok(branches)
    }

    /// Plans one build until it is done or splits into alternatives.
    fn advance(&mut self, scope: &Scope<'_>, mut build: Build) -> Result<Advance, PlanError> {
        loop {
            self.tests(scope, &mut build)?;
            let next = build
                .goals
                .iter()
                .enumerate()
                .filter_map(|(at, goal)| Some((self.step_of(&build, at, goal)?, at)));
            let Some((step, at)) = next.min() else {
                return Ok(finish(build));
            };
            let goal = build.goals.remove(at);
            match goal {
                Goal::Scan { source, args, .. } => {
                    let alias = self.alias();
                    build.join(alias, FromKind::Source(source), &args);
                }
                Goal::Values { slot, term } => {
                    let alias = self.alias();
                    build.join(alias, FromKind::Values(slot), &[ScanArg::Term(term)]);
                }
                Goal::Rows { table, args } => {
                    let alias = self.alias();
                    let args: Vec<ScanArg> = args.into_iter().map(ScanArg::Term).collect();
                    build.join(alias, FromKind::Table(table), &args);
                }
                Goal::Call { rel, args, polarity, guards } => {
                    let alone = build.select.from.is_empty() && build.goals.is_empty();
                    if self.is_recursive(rel) && (alone || step != Step::Test) {
                        let goal = self.close(scope, &build, rel, &args)?;
                        build.goals.insert(at, goal);
                        continue;
                    }
                    if let Some(test) = self.test_of_literals(&build, rel, &args) {
                        build.select.filter.push(test);
                        continue;
                    }
                    let is_supplemented = self.shared.contains(&rel)
                        && self.clauses(rel).len() > 1
                        && !self.is_recursive(rel)
                        && !scope.is_in_step();
                    if is_supplemented {
                        let rows = self.supplement(scope, &build, rel, &args)?;
                        build.goals.insert(at, rows);
                        continue;
                    }
                    let alternatives = self.clauses(rel).len();
                    let nested = self.may_nest(scope) && (!self.shares_tests || args.is_empty());
                    match step {
                        Step::Test if !alone && nested => {
                            let goal = Goal::Call { rel, args, polarity, guards };
                            let branches = self.branches(scope, &build, &goal)?;
                            build.select.filter.push(Condition::Any(branches));
                        }
                        Step::Test if !alone => {
                            let rows = self.produce(&build, rel, &args)?;
                            build.goals.insert(at, rows);
                        }
                        Step::Produce | Step::Enumerate
                            if !(alone
                                || self.is_decision
                                    && build.n_split.saturating_mul(alternatives) <= limits::SPLITS) =>
                        {
                            let rows = self.produce(&build, rel, &args)?;
                            build.goals.insert(at, rows);
                        }
                        Step::Distribute
                            if build.n_split.saturating_mul(alternatives) > limits::SPLITS * 4 =>
                        {
                            let rows = self.produce(&build, rel, &args)?;
                            build.goals.insert(at, rows);
                        }
                        _ => {
                            build.n_split = build.n_split.saturating_mul(alternatives.max(1));
                            return Ok(Advance::Open(self.distribute(&build, rel, &args)));
                        }
                    }
                }
                Goal::Compare { .. } => return Err(PlanError::Bug("a comparison is not a step")),
            }
        }
    }

    /// The test of a known value, where the relation holds nothing but several literals.
    fn test_of_literals(&self, build: &Build, rel: RelId, args: &[Term]) -> Option<Condition> {
        let [arg] = args else { return None };
        let expr = build.expr(*arg)?;
        let literal = |clause: &Clause| match (clause.head.as_slice(), clause.goals.as_slice()) {
            ([Term::Const(literal)], []) => Some(*literal),
            _ => None,
        };
        let mut literals: Vec<ConstId> = self.clauses(rel).iter().map(literal).collect::<Option<_>>()?;
        literals.sort_unstable();
        literals.dedup();
        (literals.len() > 1).then_some(Condition::OneOf { expr, literals })
    }

    /// One build a clause of the relation.
    fn distribute(&self, build: &Build, rel: RelId, args: &[Term]) -> Vec<Build> {
        let clauses = self.clauses(rel).iter();
        clauses
            .map(|clause| {
                let mut build = build.clone();
                build.inline(clause, args);
                build
            })
            .collect()
    }

    /// A table with the relation's tuples for the values known for the whole statement.
    fn produce(&mut self, build: &Build, rel: RelId, args: &[Term]) -> Result<Goal, PlanError> {
        let mut inner = Build::default();
        inner.rule = build.rule;
        let mut call = Vec::new();
        let mut asked = Vec::new();
        let mut outer_args = Vec::new();
        for arg in args {
            let of = match build.expr(*arg) {
                Some(expr) if expr.is_static() => Asked::Of(expr),
                None if !is_wanted(build, None, args, *arg) => Asked::Ignored,
                Some(_) | None => Asked::Column,
            };
            asked.push(of);
            call.push(match of {
                Asked::Of(expr) => inner.bound(expr),
                Asked::Column => inner.fresh(build.name(*arg)),
                Asked::Ignored => Term::Ignored,
            });
            if of == Asked::Column {
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
            inner.output.push(Term::Tag(0));
            outer_args.push(Term::Tag(0));
        }
        if let Some(table) = self.produced.get(&(rel, asked.clone())) {
            return Ok(Goal::Rows { table: *table, args: outer_args });
        }
        inner.goals.push(Goal::Call { polarity: Polarity::Positive, rel, args: call, guards: Vec::new() });
        let n_columns = inner.output.len();
        let selects = self.selects(&Scope::TOP, inner)?;
        let table = self.add_table(rel, "", n_columns, TableBody::Union(selects));
        self.produced.insert((rel, asked), table);
        Ok(Goal::Rows { table, args: outer_args })
    }

    /// A table with the relation's tuples for the rows that the enclosing selects lead to (a supplementary
    /// relation, Beeri and Ramakrishnan 1987). Alternatives that differ in the role alone share it.
    fn supplement(
        &mut self,
        scope: &Scope<'_>,
        build: &Build,
        rel: RelId,
        args: &[Term],
    ) -> Result<Goal, PlanError> {
        let mut rows: Vec<Expr> = Vec::new();
        for arg in args {
            if let Some(expr) = build.expr(*arg).filter(|expr| !expr.is_static() && !rows.contains(expr)) {
                rows.push(expr);
            }
        }
        let mut inner = Build::default();
        inner.rule = build.rule;
        if !rows.is_empty() {
            inner.select = Select { output: Vec::new(), ..scope.demand(&build.select, rows) };
        }
        let mut call = Vec::new();
        let mut outer_args = Vec::new();
        for arg in args {
            // A known role picks from the table that holds all.
            let expr = build.expr(*arg).filter(|expr| !matches!(expr, Expr::Const(_)));
            let term = match expr {
                Some(expr) => inner.bound(expr),
                None if *arg == Term::Ignored => Term::Ignored,
                None => inner.fresh(build.name(*arg)),
            };
            if term != Term::Ignored && !expr.is_some_and(Expr::is_static) {
                inner.output.push(term);
                outer_args.push(*arg);
            }
            call.push(term);
        }
        let mut selects = Vec::new();
        for build in self.distribute(&inner, rel, &call) {
            selects.extend(self.selects(&Scope::TOP, build)?);
        }
        let n_columns = inner.output.len();
        let table = self.add_table(rel, "for the rows that lead to it", n_columns, TableBody::Union(selects));
        Ok(Goal::Rows { table, args: outer_args })
    }

    /// Emits every test whose values are known, and binds what equalities bind.
    fn tests(&mut self, scope: &Scope<'_>, build: &mut Build) -> Result<(), PlanError> {
        let mut at = 0;
        while let Some(goal) = build.goals.get(at) {
            let ready = match goal {
                Goal::Compare { op: CompareOp::Equal, left, right } => {
                    build.expr(*left).is_some() || build.expr(*right).is_some() || left == right
                }
                Goal::Compare { left, right, .. } => {
                    build.expr(*left).is_some() && build.expr(*right).is_some()
                }
                Goal::Scan { polarity: Polarity::Negated, .. }
                | Goal::Call { polarity: Polarity::Negated, .. } => is_ready(build, goal),
                Goal::Scan { .. } | Goal::Call { .. } | Goal::Values { .. } | Goal::Rows { .. } => false,
            };
            if !ready {
                at += 1;
                continue;
            }
            let goal = build.goals.remove(at);
            match goal {
                Goal::Compare { op: CompareOp::Equal, left, right } => {
                    match (build.expr(left), build.expr(right)) {
                        (Some(expr), _) => build.meet(right, expr),
                        (None, Some(expr)) => build.meet(left, expr),
                        (None, None) => {}
                    }
                }
                Goal::Compare { op, left, right } => {
                    if let (Some(left), Some(right)) = (build.expr(left), build.expr(right)) {
                        build.select.filter.push(Condition::Compare { op, left, right });
                    }
                }
                goal => {
                    let branches = self.branches(scope, build, &goal)?;
                    build.select.filter.push(Condition::None(branches));
                }
            }
            at = 0;
        }
        Ok(())
    }

    /// What planning a positive goal next would be; `None` if it must wait.
    fn step_of(&self, build: &Build, at: usize, goal: &Goal) -> Option<Step> {
        match goal {
            Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
                let known: Vec<bool> = args.iter().map(|arg| scan_known(build, arg)).collect();
                let indexed = args.iter().zip(&known).any(|(arg, known)| *known && !is_literal(arg));
                let by_holder = known.first() == Some(&true) || !self.is_role(*source);
                Some(if known.iter().all(|known| *known) {
                    Step::Probe
                } else if indexed && !by_holder {
                    Step::Holders
                } else if indexed {
                    Step::Lookup
                } else if args.len() == 1 {
                    Step::Set
                } else if known.contains(&true) {
                    Step::Filtered
                } else {
                    Step::Whole
                })
            }
            Goal::Values { .. } | Goal::Rows { .. } => Some(Step::Small),
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                if !self.tested_known(build, *rel, args) {
                    return None;
                }
                if self.clauses(*rel).len() == 1 && !self.is_recursive(*rel) {
                    return Some(Step::Inline);
                }
                let wanted = args.iter().any(|arg| is_wanted(build, Some(at), args, *arg));
                let exprs = || args.iter().filter_map(|arg| build.expr(*arg));
                let unknown_alone = exprs().next().is_none() && !args.is_empty();
                Some(if !wanted && !unknown_alone {
                    Step::Test
                } else if exprs().any(|expr| expr.is_static() && !matches!(expr, Expr::Const(_))) {
                    Step::Produce
                } else if exprs().any(|expr| !expr.is_static()) {
                    Step::Distribute
                } else if !wanted {
                    Step::Test
                } else {
                    Step::Enumerate
                })
            }
            Goal::Scan { .. } | Goal::Call { .. } | Goal::Compare { .. } => None,
        }
    }

    /// Whether every argument that the relation only tests is known, or could be while inlining.
    fn tested_known(&self, build: &Build, rel: RelId, args: &[Term]) -> bool {
        if self.clauses(rel).len() == 1 && !self.is_recursive(rel) {
            return true;
        }
        let tested = self.tested_columns(rel);
        args.iter()
            .zip(tested)
            .all(|(arg, tested)| !tested || build.expr(*arg).is_some() || !self.could_bind(build, *arg))
    }

    /// Whether some goal that is still to plan may bind the variable.
    fn could_bind(&self, build: &Build, term: Term) -> bool {
        build.goals.iter().any(|goal| match goal {
            Goal::Scan { polarity: Polarity::Positive, args, .. } => args.contains(&ScanArg::Term(term)),
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                let tested = self.tested_columns(*rel);
                args.iter().zip(tested).any(|(arg, tested)| *arg == term && !tested)
            }
            Goal::Values { term: other, .. } => *other == term,
            Goal::Rows { args, .. } => args.contains(&term),
            Goal::Compare { op: CompareOp::Equal, left, right } => *left == term || *right == term,
            Goal::Scan { .. } | Goal::Call { .. } | Goal::Compare { .. } => false,
        })
    }
}

/// The finished select, or what is not bound.
fn finish(build: Build) -> Advance {
    let unbound = |term: Term| PlanError::Unbound { name: build.name(term).to_owned(), rule: build.rule };
    if let Some(goal) = build.goals.first() {
        let mut stuck = None;
        for_each_term(goal, &mut |term| {
            if build.expr(term).is_none() && matches!(term, Term::Var(_)) && stuck.is_none() {
                stuck = Some(term);
            }
        });
        let error = stuck.map_or(PlanError::Unbound { name: "_".into(), rule: build.rule }, unbound);
        return Advance::Stuck(build.select, error);
    }
    let mut output = Vec::new();
    for term in &build.output {
        let Some(expr) = build.expr(*term) else {
            let error = unbound(*term);
            return Advance::Stuck(build.select, error);
        };
        output.push(expr);
    }
    Advance::Done(Select { output, ..build.select })
}

/// A build that is done, or its alternatives.
enum Advance {
    Done(Select),
    /// Nothing binds what a goal or the output needs; the select so far must hold for there to be answers.
    Stuck(Select, PlanError),
    Open(Vec<Build>),
}

fn for_each_term(goal: &Goal, visit: &mut impl FnMut(Term)) {
    crate::specialise::for_each_goal_term(&mut goal.clone(), &mut |term| visit(*term));
}

/// Whether a call must bind this argument: it is unbound, and another goal, the output or the call itself
/// mentions it again. `call` is the call's index if it is still among the goals.
fn is_wanted(build: &Build, call: Option<usize>, args: &[Term], arg: Term) -> bool {
    if build.expr(arg).is_some() || arg == Term::Ignored {
        return false;
    }
    let others = build.goals.iter().enumerate().filter(|(at, _)| Some(*at) != call);
    build.output.contains(&arg)
        || args.iter().filter(|other| **other == arg).count() > 1
        || others.into_iter().any(|(_, goal)| mentions(goal, arg))
}

/// Whether every term of a negated goal is known, or existential inside the negation.
fn is_ready(build: &Build, goal: &Goal) -> bool {
    let mut ready = true;
    for_each_term(goal, &mut |term| {
        ready &= build.expr(term).is_some() || matches!(term, Term::Local(_) | Term::Ignored);
    });
    ready
}

fn mentions(goal: &Goal, term: Term) -> bool {
    let mut found = false;
    for_each_term(goal, &mut |other| found |= other == term);
    found
}

fn scan_known(build: &Build, arg: &ScanArg) -> bool {
    match arg {
        ScanArg::Term(term) => build.expr(*term).is_some(),
        ScanArg::OneOf(_) => true,
    }
}

fn is_literal(arg: &ScanArg) -> bool {
    matches!(arg, ScanArg::OneOf(_) | ScanArg::Term(Term::Const(_)))
}

/// A rough cost of a branch: tables first count, then sources, then nested branches.
pub(super) fn cost(select: &Select) -> (usize, usize) {
    let mut tables = 0;
    let mut sources = 0;
    count(select, &mut tables, &mut sources);
    (tables, sources)
}

fn count(select: &Select, tables: &mut usize, sources: &mut usize) {
    for from in &select.from {
        match from.kind {
            FromKind::Table(_) => *tables += 1,
            FromKind::Source(_) | FromKind::Values(_) | FromKind::Embedded(_) | FromKind::Row(_) => {
                *sources += 1;
            }
        }
    }
    for condition in &select.filter {
        match condition {
            Condition::In { selects: branches, .. }
            | Condition::Any(branches)
            | Condition::None(branches) => {
                branches.iter().for_each(|branch| count(branch, tables, sources));
            }
            Condition::Compare { .. } | Condition::OneOf { .. } => {}
        }
    }
}
