//! Makes one clause of those that differ only in a condition on the values of their head.
//!
//! In: a [`Specialised`] program. Out: the same answers. A rule gets one clause for each relation
//! that a call in it can refer to, and facts that hold for every actor are a relation of their own, without
//! the actor:
//!
//! ```text
//! edit(u, c) :- client(c, a), buys(u, a), anywhere(c)                                            ─▶
//! edit(u, c) :- client(c, a), buys(u, a), serves(u, c)
//!
//! edit(u, c) :- client(c, a), buys(u, a), case(u, c)         case(u, c) :- anywhere(c)
//!                                                            case(u, c) :- serves(u, c)
//! ```
//!
//! As in [`super::factor`], both derive the same. Without the case, each way of `buys` is planned and printed
//! once for each condition.

use super::factor::{called, gives_all, has_ways, recursive, tested};
use crate::datalog::numbering::ClauseNumbering;
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::{Polarity, VarId};
use crate::ordered::{OrderedMap, OrderedSet};
use crate::others::Others;
use crate::refusal::VarName;

/// The head of a clause and its goals without one of them, with the variables of the head numbered first.
type WithoutGoal = (Vec<Term>, Vec<Goal>);

/// A clause and one of its goals, which mentions no variable that the head does not mention.
struct Conditioned {
    /// Where the clause is.
    place: usize,
    /// Where the goal is in the clause.
    at: usize,
    /// The goal, with the variables numbered as in the clause's [`WithoutGoal`].
    condition: Goal,
    /// The names of the variables so numbered.
    var_names: IdVec<VarId, VarName>,
}

/// Clauses that differ in one condition.
struct Merged {
    /// Where they are, in order.
    places: Vec<usize>,
    /// The clause that replaces them.
    clause: Clause,
    /// The relation of their conditions.
    conditions: Relation,
}

/// Merges the clauses of every relation that is not recursive.
pub(super) fn merge_conditions(program: &mut Specialised) {
    let recursive = recursive(program);
    let mut has_ways = has_ways(program);
    let relations: Vec<RelId> = program.relations.ids().filter(|rel| !recursive.contains(rel)).collect();
    for rel in relations {
        loop {
            let merged = merged(program, rel, &has_ways);
            if merged.is_empty() {
                break;
            }
            replace(program, rel, merged, &mut has_ways);
        }
    }
}

/// Replaces clauses of a relation by those that they are merged into, each in the place of its first.
fn replace(program: &mut Specialised, rel: RelId, merged: Vec<Merged>, has_ways: &mut IdVec<RelId, bool>) {
    let mut clauses: Vec<Option<Clause>> =
        std::mem::take(&mut program.relations[rel].clauses).into_iter().map(Some).collect();
    for Merged { places, clause, conditions } in merged {
        let mut replacement = Some(clause);
        for place in places {
            if let Some(clause) = clauses.get_mut(place) {
                *clause = replacement.take();
            }
        }
        program.relations.push(conditions);
        has_ways.push(true);
    }
    program.relations[rel].clauses = clauses.into_iter().flatten().collect();
}

/// Clauses of a relation that can be merged; no clause is in two groups.
fn merged(program: &Specialised, rel: RelId, has_ways: &IdVec<RelId, bool>) -> Vec<Merged> {
    let mut alike: OrderedMap<WithoutGoal, Vec<Conditioned>> = OrderedMap::default();
    for (place, clause) in program.relations[rel].clauses.iter().enumerate() {
        for (at, (others, goal)) in Others::each(&clause.goals).enumerate() {
            // A single way would not be multiplied.
            if others.iter().filter_map(called).any(|callee| has_ways[callee])
                && let Some((without, condition, var_names)) = conditioned(clause, &others, goal)
            {
                let cases = alike.entry(without).or_default();
                // A clause may ask the same twice.
                if cases.last().is_none_or(|last| last.place != place) {
                    cases.push(Conditioned { place, at, condition, var_names });
                }
            }
        }
    }
    let mut all: Vec<Merged> = Vec::new();
    let mut taken = OrderedSet::default();
    for (without, cases) in alike {
        if cases.iter().any(|case| taken.contains(&case.place)) {
            continue;
        }
        let made = RelId::from_index(program.relations.len() + all.len());
        if let Some(merged) = with_conditions(program, (rel, made), &without, &cases) {
            taken.extend(merged.places.iter().copied());
            all.push(merged);
        }
    }
    all
}

/// A clause without one of its positive goals, and the goal, if this mentions no variable that the head does
/// not mention, and if the head has a variable of its own in each place.
fn conditioned(
    clause: &Clause,
    others: &Others<'_, Goal>,
    goal: &Goal,
) -> Option<(WithoutGoal, Goal, IdVec<VarId, VarName>)> {
    let is_own = |(place, term): (usize, &Term)| {
        matches!(term, Term::Var(_)) && clause.head.iter().position(|other| other == term) == Some(place)
    };
    let is_positive = match goal {
        Goal::Scan { polarity, .. } | Goal::Call { polarity, .. } => *polarity == Polarity::Positive,
        Goal::Values { .. } | Goal::Compare { .. } => false,
    };
    let mut is_of_head = is_positive && clause.head.iter().enumerate().all(is_own);
    goal.for_each_term(&mut |term| {
        is_of_head &= !matches!(term, Term::Var(_)) || clause.head.contains(&term);
    });
    if !is_of_head {
        return None;
    }
    let (mut head, mut goals, mut condition) = (clause.head.clone(), others.to_vec(), [goal.clone()]);
    let mut numbering = ClauseNumbering::of(clause);
    numbering.terms(&mut head);
    numbering.goals(&mut goals);
    numbering.goals(&mut condition);
    let [condition] = condition;
    Some(((head, goals), condition, numbering.names()))
}

/// One clause of several of `rel`, with their conditions as the relation `made`; `None` if a value would be
/// tested before anything binds it.
fn with_conditions(
    program: &Specialised,
    (rel, made): (RelId, RelId),
    (head, others): &WithoutGoal,
    cases: &[Conditioned],
) -> Option<Merged> {
    let [first, _, ..] = cases else { return None };
    let relation = &program.relations[rel];
    let gives_all = |goals: &[Goal]| gives_all(program, relation, head, goals);
    // The conditions either bind every column or only test them, as in `factor`.
    let adorn: fn(Adornment) -> Adornment =
        if cases.iter().all(|case| gives_all(std::slice::from_ref(&case.condition))) {
            |adornment| adornment
        } else if gives_all(others) {
            tested
        } else {
            return None;
        };
    let is_asked = |variable: &Term| cases.iter().any(|case| mentions(&case.condition, *variable));
    let asked: Vec<Term> = head.iter().copied().filter(is_asked).collect();
    let mut variables = head.iter();
    let mut adornment = |of: &Adornment| {
        let is_unasked = of.has_column() && !variables.next().is_some_and(is_asked);
        if is_unasked { unconstrained(*of) } else { adorn(*of) }
    };
    let adornments = relation.adornments.iter().map(&mut adornment).collect();
    let clause_of = |case: &Conditioned| {
        let rule = relation.clauses.get(case.place)?.rule;
        let goals = vec![case.condition.clone()];
        Some(Clause { rule, head: asked.clone(), goals, var_names: case.var_names.clone() })
    };
    let clauses = cases.iter().map(clause_of).collect::<Option<_>>()?;
    let conditions = Relation { pred: relation.pred, adornments, clauses };
    let call = Goal::Call { polarity: Polarity::Positive, rel: made, args: asked, guards: Vec::new() };
    let mut goals = others.clone();
    goals.insert(first.at.min(goals.len()), call);
    let rule = relation.clauses.get(first.place)?.rule;
    let clause = Clause { rule, head: head.clone(), goals, var_names: first.var_names.clone() };
    Some(Merged { places: cases.iter().map(|case| case.place).collect(), clause, conditions })
}

/// Whether a goal mentions a variable.
fn mentions(goal: &Goal, variable: Term) -> bool {
    let mut found = false;
    goal.for_each_term(&mut |term| found |= term == variable);
    found
}

/// The adornment of a column that no condition asks about.
fn unconstrained(adornment: Adornment) -> Adornment {
    match adornment {
        Adornment::Column(ty) => Adornment::Unconstrained(Some(ty)),
        Adornment::Tested(ty) | Adornment::Same { ty, .. } => Adornment::Unconstrained(ty),
        Adornment::Literal(_) | Adornment::Unconstrained(_) => adornment,
    }
}
