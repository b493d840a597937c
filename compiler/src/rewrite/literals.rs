//! Merges clauses that differ in one literal.
//!
//! Clauses that differ only in one String of a positive scan become one clause, which scans for any of them:
//! `role IN ('admin', 'maintainer', 'reader')`.
//!
//! A call of a relation that is nothing but one scan counts as that scan. So roles that a rule of their own
//! puts together are merged with a role that a clause asks for directly, if both have their goals in the same
//! order:
//!
//! ```text
//! teller(u, b) :- role(u, "teller" or "manager", b).
//! view(u, a) :- branch(a, b), teller(u, b).
//! view(u, a) :- branch(a, b), role(u, "auditor", b).
//!     ─▶   view(u, a) :- branch(a, b), role(u, "auditor" or "manager" or "teller", b).
//! ```

use crate::catalog::SourceId;
use crate::datalog::unfold::unfold_call;
use crate::datalog::{Clause, Goal, RelId, ScanArg, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::{ConstId, Polarity};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::others::Others;
use std::rc::Rc;

/// At how many places the clauses of a relation are compared for literals; more are seldom alike.
const PLACES: usize = 64;

/// The place of an argument in clauses. It is looked up in each clause of a relation, so it is no id: a
/// clause may have no argument there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct ArgPlace {
    /// The goal's place among the clause's goals.
    goal: usize,
    /// The argument's place in the goal.
    arg: usize,
}

/// The goals of a clause without one argument of a positive scan.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct WithoutArg<'c> {
    pub(super) goals: Others<'c, Goal>,
    pub(super) source: SourceId,
    pub(super) args: Others<'c, ScanArg>,
    pub(super) guards: &'c [(Term, ConstId)],
}

impl WithoutArg<'_> {
    /// The goals with this argument there.
    pub(super) fn with(&self, arg: ScanArg) -> Vec<Goal> {
        self.goals.with(Goal::Scan {
            polarity: Polarity::Positive,
            source: self.source,
            args: self.args.with(arg),
            guards: self.guards.to_vec(),
        })
    }
}

/// What must be equal in clauses of which one can stand for all.
type WithoutLiteral<'c> = (&'c [Term], WithoutArg<'c>);

/// Merges the clauses of every relation.
pub(super) fn merge_clauses(program: &mut Specialised) {
    for relation in &mut program.relations {
        if relation.clauses.len() > 1 {
            relation.clauses = merged(std::mem::take(&mut relation.clauses));
        }
    }
    let scans: IdVec<RelId, Option<Clause>> =
        program.relations.iter().map(|relation| only_scan(&relation.clauses).cloned()).collect();
    for relation in &mut program.relations {
        let calls_scan = |clause: &Clause| clause.callees().any(|rel| scans[rel].is_some());
        if relation.clauses.len() > 1 && relation.clauses.iter().any(calls_scan) {
            let scanning: Vec<Clause> =
                relation.clauses.iter().map(|clause| with_scans(clause, &scans)).collect();
            let fewer = merged(scanning.clone());
            if fewer.len() < relation.clauses.len() {
                // A clause that was merged with no other keeps its calls, which other clauses may share.
                let calling: OrderedMap<Clause, Clause> =
                    scanning.into_iter().zip(std::mem::take(&mut relation.clauses)).collect();
                let kept = |clause: Clause| calling.get(&clause).cloned().unwrap_or(clause);
                relation.clauses = fewer.into_iter().map(kept).collect();
            }
        }
    }
}

/// The clause of a relation that is nothing but one scan.
fn only_scan(clauses: &[Clause]) -> Option<&Clause> {
    let [clause] = clauses else { return None };
    match clause.goals.as_slice() {
        [Goal::Scan { polarity: Polarity::Positive, guards, .. }] if guards.is_empty() => Some(clause),
        _ => None,
    }
}

/// The clause, with each call of a relation that is one scan replaced by that scan, unless that takes
/// comparisons, too.
fn with_scans(clause: &Clause, scans: &IdVec<RelId, Option<Clause>>) -> Clause {
    let mut clause = clause.clone();
    for place in 0..clause.goals.len() {
        if let Some(Goal::Call { polarity: Polarity::Positive, rel, args, guards }) = clause.goals.get(place)
            && let Some(scan) = &scans[*rel]
            && guards.is_empty()
        {
            let mut unfolded = unfold_call(&clause, place, args, scan);
            if unfolded.goals.len() == clause.goals.len()
                && let Some(scan) = unfolded.goals.pop()
            {
                unfolded.goals.insert(place, scan);
                clause = unfolded;
            }
        }
    }
    clause
}

/// Clauses of one relation, of which those that differ in one literal are one.
pub(super) fn merged(clauses: Vec<Clause>) -> Vec<Clause> {
    let places: OrderedSet<ArgPlace> = clauses
        .iter()
        .flat_map(|clause| {
            clause.goals.iter().enumerate().flat_map(|(place, goal)| literal_places(place, goal))
        })
        .collect();
    let mut clauses: Vec<Rc<Clause>> = clauses.into_iter().map(Rc::new).collect();
    for place in places.into_iter().take(PLACES) {
        let mut groups: OrderedMap<WithoutLiteral<'_>, (&Rc<Clause>, OrderedSet<ConstId>)> =
            OrderedMap::default();
        let mut others = Vec::new();
        for clause in &clauses {
            match literals_at(clause, place) {
                Some((without, literals)) => {
                    let group = groups.entry((clause.head.as_slice(), without));
                    group.or_insert_with(|| (clause, OrderedSet::default())).1.extend(literals);
                }
                None => others.push(Rc::clone(clause)),
            }
        }
        let merged = groups.into_iter().map(|((_, without), (clause, mut literals))| {
            literals.sort_unstable();
            if literals.len() > 1 {
                let goals = without.with(ScanArg::OneOf(literals.into_iter().collect()));
                let (head, var_names) = (clause.head.clone(), clause.var_names.clone());
                Rc::new(Clause { rule: clause.rule, head, goals, var_names })
            } else {
                Rc::clone(clause)
            }
        });
        clauses = merged.chain(others).collect();
    }
    clauses.into_iter().map(Rc::unwrap_or_clone).collect()
}

/// The positions of literals in a positive scan.
fn literal_places(goal_place: usize, goal: &Goal) -> Vec<ArgPlace> {
    match goal {
        Goal::Scan { polarity: Polarity::Positive, args, .. } => {
            let is_literal = |arg: &ScanArg| matches!(arg, ScanArg::Term(Term::Const(_)) | ScanArg::OneOf(_));
            let literals = args.iter().enumerate().filter(|(_, arg)| is_literal(arg));
            literals.map(|(arg, _)| ArgPlace { goal: goal_place, arg }).collect()
        }
        Goal::Scan { .. } | Goal::Call { .. } | Goal::Values { .. } | Goal::Compare { .. } => Vec::new(),
    }
}

/// The literals that a clause asks for at a place, and the clause's goals without them.
fn literals_at(clause: &Clause, place: ArgPlace) -> Option<(WithoutArg<'_>, Vec<ConstId>)> {
    let (goals, goal) = Others::at(&clause.goals, place.goal)?;
    let Goal::Scan { polarity: Polarity::Positive, source, args, guards } = goal else { return None };
    let (args, arg) = Others::at(args, place.arg)?;
    let literals = match arg {
        ScanArg::Term(Term::Const(literal)) => vec![*literal],
        ScanArg::OneOf(literals) => literals.clone(),
        ScanArg::Term(_) => return None,
    };
    Some((WithoutArg { goals, source: *source, args, guards }, literals))
}
