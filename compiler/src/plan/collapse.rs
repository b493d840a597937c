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

use super::inclusion::{Inclusions, renamed};
use crate::ir::{ConstId, Polarity};
use crate::limits;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::specialise::clause::{Adornment, Clause, Goal, RelId, Relation, ScanArg, Specialised, Term};
use rustc_hash::FxHashSet;

/// A clause's head and goals with something erased, by which like clauses are found.
type Skeleton = (Vec<Term>, Vec<Goal>);

/// A number that differs for relations with other columns, or other columns that are only tested.
pub(super) fn n_tested(relation: &Relation) -> usize {
    let columns = relation.adornments.iter().filter(|adornment| adornment.has_column());
    columns.fold(1, |number, adornment| number * 2 + usize::from(matches!(adornment, Adornment::Tested(_))))
}

/// How many clauses with the same skeleton one clause is compared with; more are seldom comparable.
const COMPARED: usize = 64;

/// At how many places the clauses of a relation are compared for literals; more are seldom alike.
const PLACES: usize = 64;

/// Rewrites the relations that the question reaches, and empties all others.
pub(crate) fn collapse(program: &mut Specialised) {
    remove_impossible(program);
    let mut inclusions = Inclusions::new(program);
    let mut budget = limits::UNFOLDED_CLAUSES;
    let mut rewritten: Vec<Option<Vec<Clause>>> = vec![None; program.relations.len()];
    for root in &mut program.roots {
        represent(&mut root.clause, &inclusions);
    }
    let mut queue: Vec<RelId> = program.roots.iter().flat_map(|root| called(&root.clause)).collect();
    while let Some(rel) = queue.pop() {
        if rewritten.get(rel.0).is_some_and(Option::is_none) {
            let clauses = merge_literals(without_subsumed(program, rel, &mut inclusions, &mut budget));
            queue.extend(clauses.iter().flat_map(called));
            if let Some(slot) = rewritten.get_mut(rel.0) {
                *slot = Some(clauses);
            }
        }
    }
    for (relation, clauses) in program.relations.iter_mut().zip(rewritten) {
        relation.clauses = clauses.unwrap_or_default();
    }
}

/// Calls the representatives of what a clause calls.
fn represent(clause: &mut Clause, inclusions: &Inclusions) {
    for goal in &mut clause.goals {
        if let Goal::Call { rel, .. } = goal {
            *rel = inclusions.representative(*rel);
        }
    }
}

/// Removes clauses that call a relation without clauses, and negations of such relations.
fn remove_impossible(program: &mut Specialised) {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); program.relations.len()];
    for (reader, relation) in program.relations.iter().enumerate() {
        for rel in relation.clauses.iter().flat_map(called) {
            if let Some(readers) = readers.get_mut(rel.0) {
                readers.push(reader);
            }
        }
    }
    let mut empty: Vec<bool> = program.relations.iter().map(|relation| relation.clauses.is_empty()).collect();
    let mut emptied: Vec<usize> = (0..empty.len()).filter(|rel| empty.get(*rel) == Some(&true)).collect();
    while !emptied.is_empty() {
        let affected: OrderedSet<usize> =
            emptied.drain(..).filter_map(|rel| readers.get(rel)).flatten().copied().collect();
        for rel in affected {
            let Some(relation) =
                program.relations.get_mut(rel).filter(|relation| !relation.clauses.is_empty())
            else {
                continue;
            };
            relation.clauses.retain_mut(|clause| is_possible(clause, &empty));
            if relation.clauses.is_empty() {
                emptied.push(rel);
            }
        }
        for rel in &emptied {
            if let Some(slot) = empty.get_mut(*rel) {
                *slot = true;
            }
        }
    }
    program.roots.retain_mut(|root| is_possible(&mut root.clause, &empty));
}

/// Whether a clause calls no empty relation; without its negations of empty relations.
fn is_possible(clause: &mut Clause, empty: &[bool]) -> bool {
    let calls_empty = |goal: &Goal, wanted: Polarity| matches!(goal, Goal::Call { polarity, rel, .. } if *polarity == wanted && empty.get(rel.0).copied().unwrap_or(true));
    clause.goals.retain(|goal| !calls_empty(goal, Polarity::Negated));
    !clause.goals.iter().any(|goal| calls_empty(goal, Polarity::Positive))
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

/// The clauses of a relation after unfolding, without those that another one covers.
///
/// The relation keeps its own clauses if unfolding it would exceed the budget.
fn without_subsumed(
    program: &Specialised,
    rel: RelId,
    inclusions: &mut Inclusions,
    budget: &mut usize,
) -> Vec<Clause> {
    let clauses_of = |rel: &RelId| program.relation(*rel).map_or(&[][..], |relation| &relation.clauses);
    let mut included = inclusions.included(rel);
    let n_clauses = included.iter().map(|rel| clauses_of(rel).len()).sum();
    match budget.checked_sub(n_clauses) {
        Some(left) => *budget = left,
        None => included = inclusions.group(rel).to_vec(),
    }
    let unfolded: FxHashSet<RelId> = included.iter().copied().collect();
    let mut clauses: Vec<Clause> = included.iter().flat_map(clauses_of).cloned().collect();
    clauses.retain(|clause| renamed(clause).is_none_or(|rel| !unfolded.contains(&rel)));
    if let [clause] = clauses.as_mut_slice() {
        represent(clause, inclusions);
        return clauses;
    }
    // Clauses that agree except in the relations they call.
    let mut buckets: OrderedMap<Skeleton, Vec<Clause>> = OrderedMap::default();
    for mut clause in clauses {
        represent(&mut clause, inclusions);
        let bucket = buckets.entry(skeleton(&clause)).or_default();
        if bucket.iter().take(COMPARED).any(|kept| is_subsumed(&clause, kept, inclusions)) {
            continue;
        }
        if bucket.len() <= COMPARED {
            bucket.retain(|kept| !is_subsumed(kept, &clause, inclusions));
        }
        bucket.push(clause);
    }
    buckets.into_values().flatten().collect()
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
fn is_subsumed(clause: &Clause, other: &Clause, inclusions: &mut Inclusions) -> bool {
    clause.goals.iter().zip(&other.goals).all(|(goal, other)| match (goal, other) {
        (
            Goal::Call { polarity: Polarity::Positive, rel: smaller, .. },
            Goal::Call { polarity: Polarity::Positive, rel: larger, .. },
        ) => inclusions.includes(*larger, *smaller),
        (goal, other) => goal == other,
    })
}

/// Merges clauses that differ in one literal of a positive scan.
fn merge_literals(clauses: Vec<Clause>) -> Vec<Clause> {
    let mut clauses = clauses;
    let places: OrderedSet<(usize, usize)> = clauses
        .iter()
        .flat_map(|clause| clause.goals.iter().enumerate().flat_map(|(at, goal)| literal_places(at, goal)))
        .take_while(|_| clauses.len() > 1)
        .collect();
    for place in places.into_iter().take(PLACES) {
        let mut groups: OrderedMap<Skeleton, (Clause, OrderedSet<ConstId>)> = OrderedMap::default();
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
