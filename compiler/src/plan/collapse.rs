//! Smaller relations with the same answers: hierarchies become one scan.
//!
//! In: a [`Specialised`] program. Out: the same relations with fewer clauses. Three rewrites, in order:
//!
//! 1. **Unfold renames.** A clause whose body is one call with the head's own columns only includes
//!    another relation (`"reader" if "maintainer"`): it is replaced by that relation's other clauses.
//! 2. **Drop the subsumed.** If `q` is included in `p`, then `p :- e, q` adds nothing beside `p :- e, p`. By
//!    induction on derivations: what the dropped clause derives, the kept one does.
//! 3. **Merge literals.** Clauses that differ in one literal of a scan become one, over `IN (…)`.
//!
//! Together they turn `reader <- maintainer <- admin`, each inherited from the parent folder, into one scan
//! `role IN ('admin', 'maintainer', 'reader')` and one recursive clause.

use crate::ir::{ConstId, Polarity};
use crate::specialise::clause::{Adornment, Clause, Goal, RelId, Relation, ScanArg, Specialised, Term};
use indexmap::{IndexMap, IndexSet};

/// A clause's head and goals with something erased, by which like clauses are found.
type Skeleton = (Vec<Term>, Vec<Goal>);

/// A number that differs for relations with other columns, or other columns that are only tested.
pub(super) fn n_tested(relation: &Relation) -> usize {
    let columns = relation.adornments.iter().filter(|adornment| adornment.has_column());
    columns.fold(1, |number, adornment| number * 2 + usize::from(matches!(adornment, Adornment::Tested(_))))
}

/// Rewrites every relation of the program.
pub(crate) fn collapse(program: &mut Specialised) {
    remove_impossible(program);
    let included: Vec<IndexSet<RelId>> =
        (0..program.relations.len()).map(|rel| included_in(program, RelId(rel))).collect();
    let unfolded: Vec<Vec<Clause>> = (0..program.relations.len())
        .map(|rel| merge_literals(without_subsumed(program, RelId(rel), &included)))
        .collect();
    for (relation, clauses) in program.relations.iter_mut().zip(unfolded) {
        relation.clauses = clauses;
    }
}

/// Removes clauses that call a relation without clauses, and negations of such relations.
fn remove_impossible(program: &mut Specialised) {
    loop {
        let empty: Vec<bool> = program.relations.iter().map(|relation| relation.clauses.is_empty()).collect();
        let is_empty = |rel: &RelId| empty.get(rel.0).copied().unwrap_or(true);
        let calls_empty = |goal: &Goal, wanted: Polarity| matches!(goal, Goal::Call { polarity, rel, .. } if *polarity == wanted && is_empty(rel));
        let mut changed = false;
        let mut clean = |clauses: &mut Vec<Clause>| {
            let before = clauses.len();
            clauses.retain(|clause| !clause.goals.iter().any(|goal| calls_empty(goal, Polarity::Positive)));
            changed |= clauses.len() != before;
            for clause in clauses {
                clause.goals.retain(|goal| !calls_empty(goal, Polarity::Negated));
            }
        };
        program.relations.iter_mut().for_each(|relation| clean(&mut relation.clauses));
        program.roots.retain_mut(|root| {
            let mut clauses = vec![root.clause.clone()];
            clean(&mut clauses);
            clauses.pop().is_some_and(|clause| {
                root.clause = clause;
                true
            })
        });
        if !changed {
            return;
        }
    }
}

/// Empties the relations that the question no longer reaches; ids stay as they are.
pub(crate) fn drop_unreachable(program: &mut Specialised) {
    let mut reached = vec![false; program.relations.len()];
    let mut queue: Vec<RelId> = program.roots.iter().flat_map(|root| called(&root.clause)).collect();
    while let Some(next) = queue.pop() {
        if let Some(slot) = reached.get_mut(next.0)
            && !std::mem::replace(slot, true)
        {
            queue.extend(
                program.relation(next).into_iter().flat_map(|relation| &relation.clauses).flat_map(called),
            );
        }
    }
    for (relation, reached) in program.relations.iter_mut().zip(reached) {
        if !reached {
            relation.clauses.clear();
        }
    }
}

/// The relations that a clause calls.
fn called(clause: &Clause) -> impl Iterator<Item = RelId> {
    clause.goals.iter().filter_map(|goal| match goal {
        Goal::Call { rel, .. } => Some(*rel),
        Goal::Scan { .. } | Goal::Values { .. } | Goal::Compare { .. } | Goal::Rows { .. } => None,
    })
}

/// The relation that a clause merely renames.
fn renamed(clause: &Clause) -> Option<RelId> {
    match clause.goals.as_slice() {
        [Goal::Call { polarity: Polarity::Positive, rel, args, guards }] => {
            let distinct: IndexSet<&Term> = clause.head.iter().collect();
            let all_vars = clause.head.iter().all(|term| matches!(term, Term::Var(_)));
            let same = *args == clause.head && distinct.len() == clause.head.len();
            (guards.is_empty() && all_vars && same).then_some(*rel)
        }
        _ => None,
    }
}

/// The relation itself and all that it includes by renaming, in order of discovery.
fn included_in(program: &Specialised, rel: RelId) -> IndexSet<RelId> {
    let mut found = IndexSet::from([rel]);
    let mut at = 0;
    while let Some(&next) = found.get_index(at) {
        let clauses = program.relation(next).map_or(&[][..], |relation| &relation.clauses);
        found.extend(clauses.iter().filter_map(renamed));
        at += 1;
    }
    found
}

/// The clauses of a relation after unfolding, without those that another one covers.
fn without_subsumed(program: &Specialised, rel: RelId, included: &[IndexSet<RelId>]) -> Vec<Clause> {
    let covers =
        |larger: RelId, smaller: RelId| included.get(larger.0).is_some_and(|set| set.contains(&smaller));
    let relations = included.get(rel.0).into_iter().flatten().filter_map(|&rel| program.relation(rel));
    let clauses = relations.flat_map(|relation| &relation.clauses).filter(|clause| renamed(clause).is_none());
    // Clauses that agree except in the relations they call.
    let mut buckets: IndexMap<Skeleton, Vec<&Clause>> = IndexMap::new();
    for clause in clauses {
        let bucket = buckets.entry(skeleton(clause)).or_default();
        if bucket.iter().any(|kept| is_subsumed(clause, kept, covers)) {
            continue;
        }
        bucket.retain(|kept| !is_subsumed(kept, clause, covers));
        bucket.push(clause);
    }
    buckets.into_values().flatten().cloned().collect()
}

/// The clause with every positively called relation erased.
fn skeleton(clause: &Clause) -> Skeleton {
    let mut goals = clause.goals.clone();
    for goal in &mut goals {
        if let Goal::Call { polarity: Polarity::Positive, rel, .. } = goal {
            *rel = RelId(usize::MAX);
        }
    }
    (clause.head.clone(), goals)
}

/// Whether each relation that `clause` calls is included in the one that `other` calls there.
fn is_subsumed(clause: &Clause, other: &Clause, covers: impl Fn(RelId, RelId) -> bool) -> bool {
    clause.goals.iter().zip(&other.goals).all(|(goal, other)| match (goal, other) {
        (
            Goal::Call { polarity: Polarity::Positive, rel: smaller, .. },
            Goal::Call { polarity: Polarity::Positive, rel: larger, .. },
        ) => covers(*larger, *smaller),
        (goal, other) => goal == other,
    })
}

/// Merges clauses that differ in one literal of a positive scan.
fn merge_literals(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut clauses = clauses;
    let places: IndexSet<(usize, usize)> = clauses
        .iter()
        .flat_map(|clause| clause.goals.iter().enumerate().flat_map(|(at, goal)| literal_places(at, goal)))
        .collect();
    for place in places {
        let mut groups: IndexMap<Skeleton, (Clause, IndexSet<ConstId>)> = IndexMap::new();
        let mut others = Vec::new();
        for clause in clauses {
            let mut erased = clause.goals.clone();
            match take_literals(&mut erased, place) {
                Some(literals) => {
                    let group = groups.entry((clause.head.clone(), erased));
                    group.or_insert_with(|| (clause, IndexSet::new())).1.extend(literals);
                }
                None => others.push(clause),
            }
        }
        let merged = groups.into_values().map(|(mut clause, mut literals)| {
            literals.sort_unstable();
            if literals.len() > 1 {
                put_literals(&mut clause.goals, place, literals.into_iter().collect());
            }
            clause
        });
        clauses = merged.chain(others).collect();
    }
    clauses
}

/// The positions of literals in a positive scan.
fn literal_places(at: usize, goal: &Goal) -> Vec<(usize, usize)> {
    match goal {
        Goal::Scan { polarity: Polarity::Positive, args, .. } => {
            let is_literal = |arg: &ScanArg| matches!(arg, ScanArg::Term(Term::Const(_)));
            args.iter().enumerate().filter(|(_, arg)| is_literal(arg)).map(|(arg, _)| (at, arg)).collect()
        }
        Goal::Scan { .. }
        | Goal::Call { .. }
        | Goal::Values { .. }
        | Goal::Compare { .. }
        | Goal::Rows { .. } => Vec::new(),
    }
}

fn scan_arg(goals: &mut [Goal], (goal, arg): (usize, usize)) -> Option<&mut ScanArg> {
    match goals.get_mut(goal) {
        Some(Goal::Scan { polarity: Polarity::Positive, args, .. }) => args.get_mut(arg),
        _ => None,
    }
}

/// Erases the literals at a place and returns them.
fn take_literals(goals: &mut [Goal], place: (usize, usize)) -> Option<Vec<ConstId>> {
    let arg = scan_arg(goals, place)?;
    let literals = match arg {
        ScanArg::Term(Term::Const(literal)) => vec![*literal],
        ScanArg::OneOf(literals) => literals.clone(),
        ScanArg::Term(_) => return None,
    };
    *arg = ScanArg::OneOf(Vec::new());
    Some(literals)
}

fn put_literals(goals: &mut [Goal], place: (usize, usize), literals: Vec<ConstId>) {
    if let Some(arg) = scan_arg(goals, place) {
        *arg = ScanArg::OneOf(literals);
    }
}
