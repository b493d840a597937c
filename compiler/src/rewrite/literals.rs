//! Merges clauses that differ in one literal.
//!
//! Clauses that differ only in one String of a positive scan become one clause, which scans for any of them:
//! `role IN ('admin', 'maintainer', 'reader')`.

use crate::datalog::{Clause, Goal, ScanArg, Specialised, Term};
use crate::ir::{ConstId, Polarity};
use crate::ordered::{OrderedMap, OrderedSet};

/// At how many places the clauses of a relation are compared for literals; more are seldom alike.
const PLACES: usize = 64;

/// A clause's head and goals with the literals at one place erased, by which like clauses are found.
type WithoutLiteral = (Vec<Term>, Vec<Goal>);

/// The place of an argument in a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct ArgPlace {
    /// The goal's place among the clause's goals.
    pub(super) goal: usize,
    /// The argument's place in the goal.
    pub(super) arg: usize,
}

/// Merges the clauses of every relation.
pub(super) fn merge_clauses(program: &mut Specialised) {
    for relation in &mut program.relations {
        if relation.clauses.len() > 1 {
            relation.clauses = merged(std::mem::take(&mut relation.clauses));
        }
    }
}

fn merged(mut clauses: Vec<Clause>) -> Vec<Clause> {
    let places: OrderedSet<ArgPlace> = clauses
        .iter()
        .flat_map(|clause| {
            clause.goals.iter().enumerate().flat_map(|(place, goal)| literal_places(place, goal))
        })
        .collect();
    for place in places.into_iter().take(PLACES) {
        let mut groups: OrderedMap<WithoutLiteral, (Clause, OrderedSet<ConstId>)> = OrderedMap::default();
        let mut others = Vec::new();
        for clause in clauses {
            let mut erased = clause.goals.clone();
            match take_literals(&mut erased, place) {
                Some(literals) => {
                    let group = groups.entry((clause.head.clone(), erased));
                    group.or_insert_with(|| (clause, OrderedSet::default())).1.extend(literals);
                }
                None => others.push(clause),
            }
        }
        let merged = groups.into_values().map(|(mut clause, mut literals)| {
            literals.sort_unstable();
            if literals.len() > 1
                && let Some(arg) = scan_arg(&mut clause.goals, place)
            {
                *arg = ScanArg::OneOf(literals.into_iter().collect());
            }
            clause
        });
        clauses = merged.chain(others).collect();
    }
    clauses
}

/// The positions of literals in a positive scan.
fn literal_places(goal_place: usize, goal: &Goal) -> Vec<ArgPlace> {
    match goal {
        Goal::Scan { polarity: Polarity::Positive, args, .. } => {
            let is_literal = |arg: &ScanArg| matches!(arg, ScanArg::Term(Term::Const(_)));
            let literals = args.iter().enumerate().filter(|(_, arg)| is_literal(arg));
            literals.map(|(arg, _)| ArgPlace { goal: goal_place, arg }).collect()
        }
        Goal::Scan { .. } | Goal::Call { .. } | Goal::Values { .. } | Goal::Compare { .. } => Vec::new(),
    }
}

/// The argument of a positive scan at a place.
pub(super) fn scan_arg(goals: &mut [Goal], place: ArgPlace) -> Option<&mut ScanArg> {
    match goals.get_mut(place.goal) {
        Some(Goal::Scan { polarity: Polarity::Positive, args, .. }) => args.get_mut(place.arg),
        _ => None,
    }
}

/// Erases the literals at a place and returns them.
fn take_literals(goals: &mut [Goal], place: ArgPlace) -> Option<Vec<ConstId>> {
    let arg = scan_arg(goals, place)?;
    let literals = match arg {
        ScanArg::Term(Term::Const(literal)) => vec![*literal],
        ScanArg::OneOf(literals) => literals.clone(),
        ScanArg::Term(_) => return None,
    };
    *arg = ScanArg::OneOf(Vec::new());
    Some(literals)
}
