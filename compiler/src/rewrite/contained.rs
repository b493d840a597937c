//! Drops the ways to an answer that other rules find anyway.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer clauses. If a member of a group has the
//! group's role on a folder, and a role on a folder implies it on the folder's repositories, then a role of
//! the group on a folder reaches the user on the repository twice: by the group first, or by the folder
//! first.
//!
//! A clause is superfluous if the other clauses derive its head from its own body for any contents of the
//! relations: uniform containment (Sagiv 1987), which is sound under recursion. A call that only some clauses
//! of the callee make superfluous is replaced by the others:
//!
//! ```text
//! p(u, r) :- group(u, g), q(g, r)         q(g, r) :- grant(g, r)
//!                                         q(g, r) :- in(r, f), s(g, f)       superfluous, if
//! p(u, r) :- in(r, f), t(u, f)            t(u, f) :- group(u, g), s(g, f)
//! ```
//!
//! The search is bounded; what it does not find stays, and costs time but no answer.

use crate::datalog::unfold::unfold_call;
use crate::datalog::{Clause, Goal, RelId, ScanArg, Specialised, Term};
use crate::deadline::Deadline;
use crate::id_vec::{IdVec, id};
use crate::ir::{CompareOp, Polarity};
use indexmap::IndexSet;

/// How many calls deep a derivation may go.
const DEPTH: usize = 2;

/// How many clauses and goals one search may try.
const STEPS: usize = 1_000;

/// How many clauses and goals all searches of a program may try.
const ALL_STEPS: usize = 100_000;

/// How many goals a body may have that is searched; each step looks at all of them.
const GOALS: usize = 32;

/// What a pass over the clauses of all relations replaces one by: its relation, its place, itself.
type ClauseRewrite<'r> = dyn Fn(&Specialised, RelId, usize, &Clause, &mut usize) -> Option<Vec<Clause>> + 'r;

/// Rewrites every relation. Whole clauses go first: a rule that another one covers may no longer be covered
/// when that one has lost some of its alternatives, which further rules find.
pub(super) fn drop_contained(program: &mut Specialised, deadline: Deadline) {
    let components = program.strata().into_iter().filter(|component| component.recursive);
    let recursive: IndexSet<RelId> =
        components.flat_map(|component| component.nodes).map(RelId::from_index).collect();
    let whole = |program: &Specialised, rel, at, clause: &Clause, left: &mut usize| {
        is_superfluous(program, rel, at, clause, &recursive, left).then(Vec::new)
    };
    let parts = |program: &Specialised, rel, at, clause: &Clause, left: &mut usize| {
        without_contained(program, rel, at, clause, &recursive, left)
    };
    replace_clauses(program, deadline, &whole);
    replace_clauses(program, deadline, &parts);
}

/// Replaces clauses of every relation, as long as there are steps left.
fn replace_clauses(program: &mut Specialised, deadline: Deadline, replace: &ClauseRewrite<'_>) {
    let mut left = ALL_STEPS;
    for rel in program.relations.ids() {
        if deadline.is_over() {
            return;
        }
        let mut at = 0;
        while let Some(clause) = program.relations[rel].clauses.get(at).cloned() {
            let n_clauses = program.relations[rel].clauses.len();
            let is_searched = n_clauses > 1 && clause.goals.len() <= GOALS;
            let replaced = is_searched.then(|| replace(program, rel, at, &clause, &mut left)).flatten();
            let Some(replaced) = replaced else {
                at += 1;
                continue;
            };
            let n_new = replaced.len();
            program.relations[rel].clauses.splice(at..=at, replaced);
            at += n_new;
        }
    }
}

/// Whether the other clauses find all answers of this one: as it is, or once a call is replaced by any clause
/// of what it calls.
fn is_superfluous(
    program: &Specialised,
    rel: RelId,
    at: usize,
    clause: &Clause,
    recursive: &IndexSet<RelId>,
    left: &mut usize,
) -> bool {
    is_contained(program, rel, at, clause, left)
        || calls(program, clause, recursive).any(|(goal_at, args, alternatives)| {
            alternatives.iter().all(|alternative| {
                let unfolded = unfold_call(clause, goal_at, args, alternative);
                unfolded.goals.len() <= GOALS && is_contained(program, rel, at, &unfolded, left)
            })
        })
}

/// The calls of a clause that may be replaced by the clauses of what they call: each with its place and its
/// arguments. A recursion is one fixpoint; taken apart it would be more.
fn calls<'c>(
    program: &'c Specialised,
    clause: &'c Clause,
    recursive: &'c IndexSet<RelId>,
) -> impl Iterator<Item = (usize, &'c [Term], &'c [Clause])> {
    let call = |(goal_at, goal): (usize, &'c Goal)| match goal {
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } if !recursive.contains(rel) => {
            let alternatives = program.relations[*rel].clauses.as_slice();
            (!alternatives.is_empty()).then_some((goal_at, args.as_slice(), alternatives))
        }
        _ => None,
    };
    clause.goals.iter().enumerate().filter_map(call)
}

/// Better clauses to replace this one, if any.
fn without_contained(
    program: &Specialised,
    rel: RelId,
    at: usize,
    clause: &Clause,
    recursive: &IndexSet<RelId>,
    left: &mut usize,
) -> Option<Vec<Clause>> {
    for (goal_at, args, alternatives) in calls(program, clause, recursive) {
        if alternatives.len() < 2 || alternatives.len() > *left {
            continue;
        }
        *left -= alternatives.len();
        let mut kept = Vec::new();
        for alternative in alternatives {
            let unfolded = unfold_call(clause, goal_at, args, alternative);
            if unfolded.goals.len() > GOALS || !is_contained(program, rel, at, &unfolded, left) {
                kept.push(unfolded);
            }
        }
        if kept.len() < alternatives.len() {
            return Some(kept);
        }
    }
    None
}

/// Whether the program without one clause derives another clause's head from its body.
fn is_contained(
    program: &Specialised,
    rel: RelId,
    without: usize,
    clause: &Clause,
    left: &mut usize,
) -> bool {
    let mut search =
        Search { program, without: (rel, without), body: &clause.goals, steps: STEPS.min(*left) };
    let started = search.steps;
    let head: Vec<DerivedValue> = clause.head.iter().map(|term| DerivedValue::Frozen(*term)).collect();
    let found = search.derives(rel, &head, &Substitution::default(), DEPTH, &mut |_, _| true);
    *left -= started - search.steps;
    found
}

id!(/// A variable of a derivation.
    OpenId, "open");

/// A value of a derivation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DerivedValue {
    /// A term of the frozen body.
    Frozen(Term),
    /// Some value of one argument of one goal of the frozen body: one of several literals, or one that
    /// nothing else mentions.
    Some(usize, usize),
    /// A variable of the derivation.
    Open(OpenId),
}

/// The values of the variables of a derivation.
#[derive(Clone, Debug, Default)]
struct Substitution(IdVec<OpenId, Option<DerivedValue>>);

impl Substitution {
    fn resolve(&self, value: DerivedValue) -> DerivedValue {
        let mut value = value;
        while let DerivedValue::Open(var) = value
            && let Some(next) = self.0[var]
        {
            value = next;
        }
        value
    }

    fn unify(&mut self, left: DerivedValue, right: DerivedValue) -> bool {
        match (self.resolve(left), self.resolve(right)) {
            (left, right) if left == right => true,
            (DerivedValue::Open(var), other) | (other, DerivedValue::Open(var)) => {
                self.0[var] = Some(other);
                true
            }
            _ => false,
        }
    }
}

/// What is done with the bindings of a derivation: true ends the search.
type Then<'t> = &'t mut dyn FnMut(&mut Search<'_>, &Substitution) -> bool;

struct Search<'s> {
    program: &'s Specialised,
    /// The clause that must not be used.
    without: (RelId, usize),
    /// The frozen body.
    body: &'s [Goal],
    steps: usize,
}

impl Search<'_> {
    /// Derives a tuple of a relation by one of its clauses.
    fn derives(
        &mut self,
        rel: RelId,
        args: &[DerivedValue],
        bindings: &Substitution,
        depth: usize,
        then: Then<'_>,
    ) -> bool {
        let program = self.program;
        for (at, clause) in program.relations[rel].clauses.iter().enumerate() {
            if (rel, at) == self.without {
                continue;
            }
            let Some(left) = self.steps.checked_sub(1) else { return false };
            self.steps = left;
            let mut bindings = bindings.clone();
            let base = bindings.0.len();
            for _ in &clause.var_names {
                bindings.0.push(None);
            }
            let heads = clause.head.iter().zip(args);
            let matches = heads.into_iter().all(|(head, arg)| bindings.unify(value(*head, base), *arg));
            if matches && self.goals(&clause.goals, base, &bindings, depth, then) {
                return true;
            }
        }
        false
    }

    /// Derives all goals of a clause whose variables start at `base`.
    fn goals(
        &mut self,
        goals: &[Goal],
        base: usize,
        bindings: &Substitution,
        depth: usize,
        then: Then<'_>,
    ) -> bool {
        let Some((goal, rest)) = goals.split_first() else { return then(self, bindings) };
        let Some(left) = self.steps.checked_sub(1) else { return false };
        self.steps = left;
        for (at, held) in self.body.iter().enumerate() {
            let mut bindings = bindings.clone();
            if is_goal(goal, base, (at, held), &mut bindings)
                && self.goals(rest, base, &bindings, depth, then)
            {
                return true;
            }
        }
        match goal {
            Goal::Compare { op: CompareOp::Equal, left, right } => {
                let mut bindings = bindings.clone();
                bindings.unify(value(*left, base), value(*right, base))
                    && self.goals(rest, base, &bindings, depth, then)
            }
            Goal::Call { polarity: Polarity::Positive, rel, args, guards }
                if guards.is_empty() && depth > 0 =>
            {
                let mut bindings = bindings.clone();
                let args: Vec<DerivedValue> = args
                    .iter()
                    .map(|arg| match arg {
                        Term::Ignored => DerivedValue::Open(bindings.0.push(None)),
                        arg => value(*arg, base),
                    })
                    .collect();
                self.derives(*rel, &args, &bindings, depth - 1, &mut |search, bindings| {
                    search.goals(rest, base, bindings, depth, then)
                })
            }
            _ => false,
        }
    }
}

/// Whether a goal is this one of the frozen body, which has this place there.
fn is_goal(goal: &Goal, base: usize, (at, held): (usize, &Goal), bindings: &mut Substitution) -> bool {
    match (goal, held) {
        (
            Goal::Scan { polarity: Polarity::Positive, source, args, .. },
            Goal::Scan { polarity: Polarity::Positive, source: held, args: values, .. },
        ) => {
            source == held
                && args
                    .iter()
                    .zip(values)
                    .enumerate()
                    .all(|(column, (arg, held))| is_arg(arg, base, held, (at, column), bindings))
        }
        (
            Goal::Call { polarity: Polarity::Positive, rel, args, .. },
            Goal::Call { polarity: Polarity::Positive, rel: held, args: values, .. },
        ) => {
            rel == held
                && args
                    .iter()
                    .zip(values)
                    .enumerate()
                    .all(|(column, (arg, held))| is_term(*arg, base, *held, (at, column), bindings))
        }
        (Goal::Values { slot, term }, Goal::Values { slot: held, term: other }) => {
            slot == held && is_term(*term, base, *other, (at, 0), bindings)
        }
        (
            Goal::Compare { op, left, right },
            Goal::Compare { op: held, left: held_left, right: held_right },
        ) => {
            op == held
                && is_term(*left, base, *held_left, (at, 0), bindings)
                && is_term(*right, base, *held_right, (at, 1), bindings)
        }
        // A negation is the same only to the letter, once its variables are known.
        (
            Goal::Scan { polarity: Polarity::Negated, .. } | Goal::Call { polarity: Polarity::Negated, .. },
            _,
        ) => same_negation(goal, base, held, bindings),
        _ => false,
    }
}

fn value(term: Term, base: usize) -> DerivedValue {
    match term {
        Term::Var(var) => DerivedValue::Open(OpenId::from_index(base + var.index())),
        other => DerivedValue::Frozen(other),
    }
}

fn is_term(term: Term, base: usize, held: Term, place: (usize, usize), bindings: &mut Substitution) -> bool {
    match (term, held) {
        (Term::Ignored, _) => true,
        (_, Term::Ignored) => bindings.unify(value(term, base), DerivedValue::Some(place.0, place.1)),
        _ => bindings.unify(value(term, base), DerivedValue::Frozen(held)),
    }
}

fn is_arg(
    arg: &ScanArg,
    base: usize,
    held: &ScanArg,
    place: (usize, usize),
    bindings: &mut Substitution,
) -> bool {
    match (arg, held) {
        (ScanArg::Term(term), ScanArg::Term(held)) => is_term(*term, base, *held, place, bindings),
        (ScanArg::Term(Term::Ignored), ScanArg::OneOf(_)) => true,
        (ScanArg::Term(term), ScanArg::OneOf(_)) => {
            bindings.unify(value(*term, base), DerivedValue::Some(place.0, place.1))
        }
        (ScanArg::OneOf(wanted), ScanArg::OneOf(held)) => held.iter().all(|literal| wanted.contains(literal)),
        (ScanArg::OneOf(wanted), ScanArg::Term(Term::Const(held))) => wanted.contains(held),
        (ScanArg::OneOf(_), ScanArg::Term(_)) => false,
    }
}

/// Whether two negated goals are the same goal: of known variables, and with the same names for their own.
fn same_negation(goal: &Goal, base: usize, held: &Goal, bindings: &Substitution) -> bool {
    let mut goal = goal.clone();
    let mut is_known = true;
    goal.for_each_term_mut(&mut |term| {
        if let Term::Var(_) = *term {
            match bindings.resolve(value(*term, base)) {
                DerivedValue::Frozen(frozen) => *term = frozen,
                DerivedValue::Some(..) | DerivedValue::Open(_) => is_known = false,
            }
        }
    });
    is_known && goal == *held
}
