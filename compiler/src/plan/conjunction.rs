//! Orders the goals of a body and turns them into selects.
//!
//! In: a [`Build`] with goals. Out: one or more [`Select`]s whose union answers it. The order is greedy, by
//! what is bound (sideways information passing, Beeri and Ramakrishnan 1987): tests as soon as their values
//! are known; relations with one clause are inlined; then the source that binds most with the fewest rows. A
//! call whose values nothing else needs becomes a branch (`EXISTS`); one that binds becomes a table of its
//! own, or its clauses are distributed over the select.

use super::approach::Shares;
use super::asks::Asks;
use super::body::{Clause, Goal, ScanArg, Term};
use super::build::Build;
use super::error::PlanError;
use super::next_goal::{GoalUse, is_ready};
use super::planner::Planner;
use super::scope::Enclosing;
use crate::algebra::{Condition, FromKind, Select};
use crate::datalog::RelId;
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId, LiteralKind, Polarity, RuleId};
use crate::limits;
use crate::refusal::VarName;

impl Planner<'_> {
    /// Plans a body: the union of the selects answers it.
    pub(super) fn selects(&mut self, scope: &Enclosing<'_>, build: Build) -> Result<Vec<Select>, PlanError> {
        self.nested(|this| this.drain(scope, build))
    }

    /// Plans a body inside those that are being planned. The depth is restored in any case.
    fn nested<T>(&mut self, plan: impl FnOnce(&mut Self) -> T) -> T {
        self.depth += 1;
        let planned = plan(self);
        self.depth -= 1;
        planned
    }

    /// Plans a build and all that it splits into.
    fn drain(&mut self, scope: &Enclosing<'_>, build: Build) -> Result<Vec<Select>, PlanError> {
        let mut done = Vec::new();
        let mut open = vec![build];
        while let Some(build) = open.pop() {
            self.deadline.check()?;
            self.n_branches += 1;
            let too_many = done.len() + open.len() > limits::SELECTS || self.n_branches > limits::BRANCHES;
            if too_many || self.depth > limits::DEPTH || self.tables.len() > limits::TABLES {
                // An alternative of stored facts belongs to no rule.
                let rule = build.rule.or_else(|| open.iter().rev().find_map(|build| build.rule));
                return Err(PlanError::TooLarge { rule });
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
        Ok(done)
    }

    /// Whether a test may be a branch; one that is too deep or has too many siblings becomes a table.
    fn may_nest(&self, scope: &Enclosing<'_>) -> bool {
        let most = match self.shares {
            Shares::Rows | Shares::Tests | Shares::Relations => limits::NESTED_BRANCHES,
            Shares::DeepTests => limits::FEW_NESTED_BRANCHES,
        };
        scope.depth() < most && self.n_branches < limits::BRANCHES / 4
    }

    /// Plans the branches of a test.
    fn branches(
        &mut self,
        scope: &Enclosing<'_>,
        outer: &Build,
        goal: &Goal,
    ) -> Result<Vec<Select>, PlanError> {
        let mut build = outer.inner(goal);
        let calls = |goal: &Goal| matches!(goal, Goal::Call { rel, .. } if !self.is_recursive(*rel));
        if !self.may_nest(scope)
            && let Some(at) = build.goals.iter().position(calls)
            && let Goal::Call { rel, args, .. } = build.goals.remove(at)
        {
            let rows = match self.attempt(|this| this.produce(&build, rel, &args)) {
                Ok(rows) => rows,
                // It has no source of values; in a branch the enclosing select binds its values.
                Err(PlanError::Unbound { .. } | PlanError::Unseeded { .. }) => Goal::call(rel, args),
                Err(error @ (PlanError::TooLarge { .. } | PlanError::OutOfTime(_) | PlanError::Bug(_))) => {
                    return Err(error);
                }
            };
            build.goals.push(rows);
        }
        if scope.depth() > 2 * limits::NESTED_BRANCHES {
            return Err(PlanError::TooLarge { rule: outer.rule });
        }
        let inner = Enclosing { outer: Some(scope), select: Some(&outer.select), in_step: false };
        let mut branches = self.selects(&inner, build)?;
        branches.sort_by_key(Select::cost);
        Ok(branches)
    }

    /// Plans one build until it is done or splits into alternatives.
    fn advance(&mut self, scope: &Enclosing<'_>, mut build: Build) -> Result<Advance, PlanError> {
        loop {
            self.tests(scope, &mut build)?;
            let next = build
                .goals
                .iter()
                .enumerate()
                .filter_map(|(at, goal)| Some((self.use_of(scope, &build, at, goal)?, at)));
            let Some((goal_use, at)) = next.min() else {
                if build.take_column() {
                    continue;
                }
                return Ok(self.finish(build));
            };
            if goal_use == GoalUse::Cut {
                self.cut(&mut build, at)?;
                continue;
            }
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
                Goal::Call { rel, args, .. } => match self.call(scope, &mut build, goal_use, rel, &args)? {
                    Called::Replaced(goal) => build.goals.insert(at, goal),
                    Called::Tested => {}
                    Called::Distributed(builds) => return Ok(Advance::Open(builds)),
                },
                Goal::Compare { .. } => {
                    return Err(PlanError::Bug("a comparison is not a goal to go on with"));
                }
            }
        }
    }

    /// Plans a call for the use that it was chosen for, or as something smaller that does the same.
    fn call(
        &mut self,
        scope: &Enclosing<'_>,
        build: &mut Build,
        goal_use: GoalUse,
        rel: RelId,
        args: &[Term],
    ) -> Result<Called, PlanError> {
        let is_alone = build.select.from.is_empty() && build.goals.is_empty();
        let is_recursive = self.is_recursive(rel);
        if is_recursive && (is_alone || goal_use != GoalUse::Test) {
            return self.close(scope, build, rel, args).map(Called::Replaced);
        }
        if let Some(test) = self.test_of_literals(build, rel, args) {
            build.select.filter.push(test);
            return Ok(Called::Tested);
        }
        let alternatives = self.clauses(rel).len();
        if self.shared.contains(&rel) && alternatives > 1 && !is_recursive && !scope.is_in_step() {
            return self.supplement(scope, build, rel, args).map(Called::Replaced);
        }
        let shares_tests = matches!(self.shares, Shares::Tests | Shares::Relations);
        let shares_all = self.shares == Shares::Relations && !args.is_empty();
        let n_split = build.n_split.saturating_mul(alternatives);
        // What the select tests already is copied into each alternative.
        let n_copied = build.select.n_nested().saturating_mul(alternatives.saturating_sub(1));
        let copies_much = n_copied > limits::SPLITS;
        let is_small = !shares_tests || args.is_empty();
        let nests = (!is_alone || copies_much) && is_small && self.may_nest(scope);
        let may_split = is_alone || self.asks == Asks::Whether && !shares_all && n_split <= limits::SPLITS;
        let is_table = match goal_use {
            GoalUse::Test if nests && !self.reads_listed(scope, build, rel, args) => {
                let branches = self.branches(scope, build, &Goal::call(rel, args.to_vec()))?;
                build.select.filter.push(Condition::Any(branches));
                return Ok(Called::Tested);
            }
            GoalUse::Test => !is_alone,
            GoalUse::Enumerate if alternatives == 1 => false,
            GoalUse::Produce | GoalUse::Enumerate => !may_split,
            GoalUse::Distribute => {
                shares_all && alternatives > 1 && !is_alone || n_split > limits::SPLITS * 4
            }
            GoalUse::Probe
            | GoalUse::Inline
            | GoalUse::Small
            | GoalUse::Lookup
            | GoalUse::Holders
            | GoalUse::Cut
            | GoalUse::Again
            | GoalUse::Set
            | GoalUse::Filtered
            | GoalUse::Whole => false,
        };
        if is_table {
            return self.table_of(scope, build, rel, args).map(Called::Replaced);
        }
        build.n_split = build.n_split.saturating_mul(alternatives.max(1));
        self.n_branches += n_copied;
        Ok(Called::Distributed(self.distribute(build, rel, args)))
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

    /// A build for each clause of the relation.
    pub(super) fn distribute(&self, build: &Build, rel: RelId, args: &[Term]) -> Vec<Build> {
        let clauses = self.clauses(rel).iter();
        clauses
            .map(|clause| {
                let mut build = build.clone();
                build.inline(clause, args);
                build
            })
            .collect()
    }

    /// Emits every test whose values are known, and binds what equalities bind.
    fn tests(&mut self, scope: &Enclosing<'_>, build: &mut Build) -> Result<(), PlanError> {
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
                        (None, None) if left == right => {}
                        (None, None) => return Err(PlanError::Bug("an equality of two unknown values")),
                    }
                }
                Goal::Compare { op, left, right } => {
                    let (Some(left), Some(right)) = (build.expr(left), build.expr(right)) else {
                        return Err(PlanError::Bug("a comparison with an unknown value"));
                    };
                    build.select.filter.push(Condition::Compare { op, left, right });
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

    /// The finished select, or what is not bound.
    fn finish(&self, build: Build) -> Advance {
        let unbound = |term: Term, denied| PlanError::Unbound {
            var: build.name(term).clone(),
            rule: build.rule_of(term),
            denied,
        };
        if let Some(goal) = build.goals.first() {
            let mut stuck = None;
            goal.for_each_term(&mut |term| {
                if build.expr(term).is_none() && matches!(term, Term::Var(_)) && stuck.is_none() {
                    stuck = Some(term);
                }
            });
            let denied = self.denied(goal);
            let error = match stuck {
                Some(term) => unbound(term, denied),
                None => PlanError::Unbound { var: VarName::UNNAMED, rule: build.rule, denied },
            };
            return Advance::Stuck(build.select, error);
        }
        let mut output = IdVec::new();
        for term in &build.output {
            let Some(expr) = build.expr(*term) else {
                let error = unbound(*term, None);
                return Advance::Stuck(build.select, error);
            };
            output.push(expr);
        }
        Advance::Done(Select { output, ..build.select })
    }

    /// The predicate that a goal denies, if it is one of the policy's own.
    fn denied(&self, goal: &Goal) -> Option<String> {
        let name = match goal {
            Goal::Scan { polarity: Polarity::Negated, source, .. } => {
                self.catalog.relations.find(*source)?.predicate.as_str()
            }
            Goal::Call { polarity: Polarity::Negated, rel, .. } => {
                self.program.predicate(self.pred(*rel)).name.as_str()
            }
            Goal::Scan { .. }
            | Goal::Call { .. }
            | Goal::Values { .. }
            | Goal::Compare { .. }
            | Goal::Rows { .. } => return None,
        };
        // The name of a generated predicate begins with a sign that no name has.
        let is_written = name.starts_with(|c: char| c.is_alphabetic() || c == '_');
        is_written.then(|| name.to_owned())
    }

    /// The rule that denies a predicate, if it is this one or the only one. Otherwise the denial is not
    /// named: a goal does not say from which of the rules it comes that were put together.
    pub(super) fn denying(&self, rule: Option<RuleId>, denied: String) -> (Option<RuleId>, Option<String>) {
        let denies = |id: &RuleId| {
            self.program.rules[*id].body.iter().any(|literal| match &literal.kind {
                LiteralKind::Atom { polarity: Polarity::Negated, pred, .. } => {
                    self.program.predicate(*pred).name == denied
                }
                _ => false,
            })
        };
        if rule.as_ref().is_some_and(denies) {
            return (rule, Some(denied));
        }
        let mut others = self.program.rules.ids().filter(denies);
        match (others.next(), others.next()) {
            (Some(only), None) => (Some(only), Some(denied)),
            (_, _) => (rule, None),
        }
    }
}

/// How a call was planned.
enum Called {
    /// A goal that binds the same values takes its place.
    Replaced(Goal),
    /// A condition tests it.
    Tested,
    /// The build was split, one for each clause.
    Distributed(Vec<Build>),
}

/// A build that is done, or its alternatives.
enum Advance {
    Done(Select),
    /// Nothing binds what a goal or the output needs; the select so far must hold for there to be answers.
    Stuck(Select, PlanError),
    Open(Vec<Build>),
}
