//! What to do next with the goals of a body: how much each would bind, and how many rows that costs.

use super::body::{Goal, ScanArg, Term};
use super::build::Build;
use super::planner::Planner;
use super::scope::Enclosing;
use crate::algebra::{Expr, FromKind, TableRef};
use crate::datalog::RelId;
use crate::ir::{CompareOp, Polarity};
use crate::limits;

/// What to do with a positive goal, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum GoalUse {
    /// A source whose columns are all known.
    Probe,
    /// A call of a relation with one clause.
    Inline,
    /// Rows that come with the question or from a walk.
    Small,
    /// A source with an indexed column known.
    Lookup,
    /// A call by a body that is so long that what it found so far becomes a table first.
    Cut,
    /// A call whose values no other goal needs.
    Test,
    /// A call that binds, with a value known for the whole statement.
    Produce,
    /// All holders of a role on a known resource; avoided while another goal can start from the actor.
    Holders,
    /// A call that binds, with a value known for the row.
    Distribute,
    /// The table that a step extends, once more, with a column that is not known.
    Again,
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
    /// What planning a positive goal next would be; `None` if it must wait.
    pub(super) fn use_of(
        &self,
        scope: &Enclosing<'_>,
        build: &Build,
        at: usize,
        goal: &Goal,
    ) -> Option<GoalUse> {
        match goal {
            Goal::Scan { polarity: Polarity::Positive, source, args, .. } => {
                let known: Vec<bool> = args.iter().map(|arg| scan_known(build, arg)).collect();
                let indexed = args.iter().zip(&known).any(|(arg, known)| *known && !is_literal(arg));
                let by_holder = known.first() == Some(&true) || !self.is_role(*source);
                Some(if known.iter().all(|known| *known) {
                    GoalUse::Probe
                } else if indexed && !by_holder {
                    GoalUse::Holders
                } else if indexed {
                    GoalUse::Lookup
                } else if args.len() == 1 {
                    GoalUse::Set
                } else if known.contains(&true) {
                    GoalUse::Filtered
                } else {
                    GoalUse::Whole
                })
            }
            Goal::Rows { table: TableRef::Itself, args } if waits(build, args) => Some(GoalUse::Again),
            Goal::Values { .. } | Goal::Rows { .. } => Some(GoalUse::Small),
            Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                if !self.tested_known(build, *rel, args) {
                    return None;
                }
                let is_long = scope.is_top() && is_long(build);
                if is_long && build.select.from.len() >= limits::LONG_JOIN {
                    return Some(GoalUse::Cut);
                }
                if self.clauses(*rel).len() == 1 && !self.is_recursive(*rel) {
                    return Some(if is_long { GoalUse::Enumerate } else { GoalUse::Inline });
                }
                let wanted = args.iter().any(|arg| is_wanted(build, Some(at), args, *arg));
                let exprs = || args.iter().filter_map(|arg| build.expr(*arg));
                let unknown_alone = exprs().next().is_none() && !args.is_empty();
                Some(if !wanted && !unknown_alone {
                    GoalUse::Test
                } else if exprs().any(|expr| expr.is_static() && !matches!(expr, Expr::Const(_))) {
                    GoalUse::Produce
                } else if exprs().any(|expr| !expr.is_static()) {
                    GoalUse::Distribute
                } else if !wanted {
                    GoalUse::Test
                } else {
                    GoalUse::Enumerate
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

    /// Whether some goal that is still to plan may bind the variable. `Ignored` is not a variable.
    fn could_bind(&self, build: &Build, term: Term) -> bool {
        if term == Term::Ignored {
            return false;
        }
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

/// Whether a call must bind this argument: it is unbound, and another goal, the output or the call itself
/// mentions it again. `call` is the call's index if it is still among the goals.
pub(super) fn is_wanted(build: &Build, call: Option<usize>, args: &[Term], arg: Term) -> bool {
    if build.expr(arg).is_some() || arg == Term::Ignored {
        return false;
    }
    let others = build.goals.iter().enumerate().filter(|(at, _)| Some(*at) != call);
    build.output.contains(&arg)
        || args.iter().filter(|other| **other == arg).count() > 1
        || others.into_iter().any(|(_, goal)| goal.mentions(arg))
}

/// Whether every term of a negated goal is known, or existential inside the negation.
pub(super) fn is_ready(build: &Build, goal: &Goal) -> bool {
    let mut ready = true;
    goal.for_each_term(&mut |term| {
        ready &= build.expr(term).is_some() || matches!(term, Term::Local(_) | Term::Ignored);
    });
    ready
}

/// Whether a body is so long that it is not to become one join.
fn is_long(build: &Build) -> bool {
    build.select.from.len() + build.goals.len() > limits::BODY
}

/// Whether a step that reads its table several times should find out first what it reads here: the table is
/// large compared with what another source leads to.
fn waits(build: &Build, args: &[Term]) -> bool {
    let is_itself = |goal: &&Goal| matches!(goal, Goal::Rows { table: TableRef::Itself, .. });
    let read = build.select.from.iter().filter(|from| from.kind == FromKind::Table(TableRef::Itself));
    let n_readings = read.count() + build.goals.iter().filter(is_itself).count();
    let is_known = |arg: &Term| *arg == Term::Ignored || build.expr(*arg).is_some();
    n_readings > 1 && !build.select.from.is_empty() && !args.iter().all(is_known)
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
