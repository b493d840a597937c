//! Derives the head of a clause from its own body, by other clauses, or one of its calls from the rest of it.
//!
//! The variables of the body are frozen: each counts as a value of its own. A goal of another clause holds if
//! it is a goal of the body, or a call that clauses derive.

use crate::datalog::{Clause, Goal, RelId, ScanArg, Specialised, Term};
use crate::id_vec::{IdVec, id};
use crate::ir::{CompareOp, Polarity};

/// How many goals a body may have that is searched; each step looks at all of them.
pub(super) const GOALS: usize = 32;

/// How many calls deep a derivation may go.
const DEPTH: usize = 2;

/// How many clauses and goals one search may try.
const STEPS: usize = 1_000;

/// Whether the program without the clause at one place derives a clause's head from its body. `left` is how
/// many clauses and goals may still be tried.
pub(super) fn derives_head(
    program: &Specialised,
    without: (RelId, usize),
    clause: &Clause,
    left: &mut usize,
) -> bool {
    let (rel, _) = without;
    Search::of(program, Some(without), &clause.goals).finds(rel, &clause.head, left)
}

/// Whether the program derives a tuple of a relation from these goals. `left` is the same.
pub(super) fn derives_call(
    program: &Specialised,
    goals: &[Goal],
    (rel, args): (RelId, &[Term]),
    left: &mut usize,
) -> bool {
    Search::of(program, None, goals).finds(rel, args, left)
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
    without: Option<(RelId, usize)>,
    /// The frozen body.
    body: &'s [Goal],
    steps: usize,
}

impl<'s> Search<'s> {
    fn of(program: &'s Specialised, without: Option<(RelId, usize)>, body: &'s [Goal]) -> Self {
        Self { program, without, body, steps: STEPS }
    }

    /// Derives a tuple of a relation, with at most so many of the steps that are `left`.
    fn finds(mut self, rel: RelId, tuple: &[Term], left: &mut usize) -> bool {
        self.steps = STEPS.min(*left);
        let started = self.steps;
        let mut bindings = Substitution::default();
        let args: Vec<DerivedValue> = tuple
            .iter()
            .map(|term| match term {
                Term::Ignored => DerivedValue::Open(bindings.0.push(None)),
                term => DerivedValue::Frozen(*term),
            })
            .collect();
        let found = self.derives(rel, &args, &bindings, DEPTH, &mut |_, _| true);
        *left -= started - self.steps;
        found
    }

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
            if Some((rel, at)) == self.without {
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
