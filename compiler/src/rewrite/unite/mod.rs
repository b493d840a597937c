//! Makes one recursion of several that take the same steps, where a rule asks for any of them.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer fixpoints. A role that is looked up in a
//! table of permissions has a recursion for each role, and each is asked under a condition of its own:
//!
//! ```text
//! may(u, p, x) :- admin(u, x), grants("admin", p)       admin(u, x) :- role(u, "admin", x)
//!                                                       admin(u, x) :- parent(x, y), admin(u, y)
//! may(u, p, x) :- editor(u, x), grants("editor", p)     editor(u, x) :- role(u, "editor", x)
//!                                                       editor(u, x) :- parent(x, y), editor(u, y)
//!     ─▶
//! may(u, p, x) :- any(u, x, p)                          any(u, x, p) :- role(u, "admin", x), grants("admin", p)
//!                                                       any(u, x, p) :- role(u, "editor", x), grants("editor", p)
//!                                                       any(u, x, p) :- parent(x, y), any(u, y, p)
//! ```
//!
//! A step that calls its recursion once distributes over union: what it derives from two sets is what it
//! derives from each. So the least fixpoint over all exits is the union of the fixpoints over the exits of
//! each. A condition on columns that no step changes, or on none, holds for a tuple if it held for the exit
//! that the tuple comes from, so it can be asked there: a selection commutes with such a fixpoint (Aho and
//! Ullman 1979). Relations between the rule and the recursions, such as roles on a container, are unfolded.
//!
//! A recursion that something else asks for as well stays: there would be no fewer. So do those over stored
//! facts alone. There, who may do something to a resource is found upwards from it, and each recursion's one
//! exit is joined with the walk; several exits would be a table of everybody's roles.

mod alternatives;
mod linear;

use super::literals::merged;
use crate::catalog::ColumnId;
use crate::datalog::unfold::unfold_call;
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, Specialised, Term};
use crate::deadline::Deadline;
use crate::id_vec::IdVec;
use crate::ir::Polarity;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::refusal::VarName;
use alternatives::{Asked, Shared, groups};
use linear::{LinearRecursion, NormalSteps};

/// How many relations are looked at one below the other, from the rule on.
const DEPTH: usize = 8;

/// With more clauses than this a rule stays as it is: each would be compared with all others.
const MOST_CLAUSES: usize = 64;

/// Unites the recursions that the clauses of each relation ask for.
pub(super) fn unite(program: &mut Specialised, deadline: Deadline) {
    if program.self_recursive().len() < 2 {
        return;
    }
    // Readers first: what they read is unfolded there.
    let strata = program.strata();
    let mut uniter = Uniter::of(program, deadline);
    for component in strata.iter().rev() {
        for rel in component.nodes.iter().copied().map(RelId::from_index) {
            if !uniter.calls.contains_key(&rel) {
                continue;
            }
            let clauses = uniter.program.relations[rel].clauses.iter().cloned();
            let is_step = |clause: &Clause| clause.callees().any(|to| component.nodes.contains(&to.index()));
            let (steps, exits): (Vec<Clause>, Vec<Clause>) = clauses.partition(is_step);
            if let Some(united) = uniter.united(&exits, &uniter.columns(rel), 0) {
                uniter.program.relations[rel].clauses = [united, steps].concat();
                uniter = Uniter::of(uniter.program, deadline);
            }
        }
    }
}

/// A program whose recursions are united, and what is known of it.
struct Uniter<'p> {
    program: &'p mut Specialised,
    recursions: OrderedMap<RelId, LinearRecursion>,
    /// All relations that take part in a recursion.
    recursive: OrderedSet<RelId>,
    /// How often the clauses that the question reaches call each relation, but for calls of itself.
    calls: OrderedMap<RelId, usize>,
    deadline: Deadline,
}

impl<'p> Uniter<'p> {
    fn of(program: &'p mut Specialised, deadline: Deadline) -> Self {
        let alone = program.self_recursive();
        let recursion = |rel: RelId| Some((rel, LinearRecursion::of(program, rel)?));
        let recursions = alone.into_iter().filter_map(recursion).collect();
        let components = program.strata().into_iter().filter(|component| component.recursive);
        let recursive = components.flat_map(|component| component.nodes).map(RelId::from_index).collect();
        let calls = calls(program);
        Self { program, recursions, recursive, calls, deadline }
    }

    /// The columns of a relation.
    fn columns(&self, rel: RelId) -> Vec<Adornment> {
        let adornments = self.program.relations[rel].adornments.iter();
        adornments.filter(|adornment| adornment.has_column()).copied().collect()
    }

    /// Clauses of one relation with fewer recursions; `None` if they stay as they are.
    fn united(&mut self, clauses: &[Clause], columns: &[Adornment], depth: usize) -> Option<Vec<Clause>> {
        if clauses.len() < 2 || clauses.len() > MOST_CLAUSES || depth >= DEPTH || self.deadline.is_over() {
            return None;
        }
        let mut places: OrderedMap<usize, Option<Clause>> = OrderedMap::default();
        for (shared, alternatives) in groups(clauses, columns, |rel| self.is_invariant(rel)) {
            if alternatives.keys().any(|place| places.contains_key(place)) {
                continue;
            }
            if let Some(clause) = self.one_clause(&shared, &alternatives.values().collect::<Vec<_>>(), depth)
            {
                // It replaces the first.
                let mut clause = Some(clause);
                places.extend(alternatives.keys().map(|place| (*place, clause.take())));
            }
        }
        let others = clauses.iter().enumerate().map(|(place, clause)| match places.get(&place) {
            Some(replaced) => replaced.clone(),
            None => Some(clause.clone()),
        });
        (!places.is_empty()).then(|| others.flatten().collect())
    }

    /// For each column of a relation whether a condition on it can be asked of its exits.
    fn is_invariant(&self, rel: RelId) -> IdVec<ColumnId, bool> {
        match self.recursions.get(&rel) {
            Some(recursion) => recursion.is_invariant.clone(),
            None => vec![!self.recursive.contains(&rel); self.program.relations[rel].n_columns()]
                .into_iter()
                .collect(),
        }
    }

    /// One clause for alternatives that share all but a call and its condition; `None` if no two of their
    /// recursions are united.
    fn one_clause(&mut self, shared: &Shared, asked: &[&Asked], depth: usize) -> Option<Clause> {
        let first = asked.first()?;
        let columns = self.columns(first.callee);
        let is_enumerated = |column: &Adornment| matches!(column, Adornment::Column(_));
        if !columns.iter().all(is_enumerated) || asked.iter().any(|one| self.columns(one.callee) != columns) {
            return None;
        }
        let union = self.union(asked, &[columns, shared.added.clone()].concat(), depth)?;
        Some(shared.with_call(union))
    }

    /// The relation of all tuples of some alternatives.
    fn union(&mut self, asked: &[&Asked], columns: &[Adornment], depth: usize) -> Option<RelId> {
        let mut clauses = Vec::new();
        let mut by_steps: OrderedMap<NormalSteps, Vec<&Asked>> = OrderedMap::default();
        for one in asked {
            let n_calls = asked.iter().filter(|other| other.callee == one.callee).count();
            let is_needed_here_alone = self.calls.get(&one.callee).is_none_or(|calls| *calls <= n_calls);
            match self.recursions.get(&one.callee) {
                Some(recursion) if is_needed_here_alone => {
                    by_steps.entry(recursion.normal.clone()).or_default().push(one);
                }
                None if is_needed_here_alone && !self.recursive.contains(&one.callee) => {
                    clauses.extend(one.unfolded(&self.program.relations[one.callee].clauses));
                }
                _ => clauses.push(one.clause.clone()),
            }
        }
        let pred = self.program.relations[asked.first()?.callee].pred;
        let relation = |clauses| Relation { pred, adornments: columns.to_vec(), clauses };
        let mut made = Vec::new();
        for (_, alike) in by_steps {
            let callees: OrderedSet<RelId> = alike.iter().map(|one| one.callee).collect();
            if callees.len() > 1 {
                made.push(self.recursion_of(&alike, relation(Vec::new()), depth)?);
            } else {
                clauses.extend(alike.iter().map(|one| one.clause.clone()));
            }
        }
        if let ([only], []) = (made.as_slice(), clauses.as_slice()) {
            return Some(*only);
        }
        let mut clauses = merged(clauses);
        match self.united(&clauses, columns, depth + 1) {
            Some(united) => clauses = united,
            None if made.is_empty() => return None,
            None => {}
        }
        clauses.extend(made.into_iter().map(|rel| renaming(rel, columns.len())));
        Some(self.program.relations.push(relation(clauses)))
    }

    /// One recursion for alternatives whose recursions take the same steps.
    fn recursion_of(&mut self, alike: &[&Asked], empty: Relation, depth: usize) -> Option<RelId> {
        let columns = empty.adornments.clone();
        let (mut exits, mut steps) = (Vec::new(), Vec::new());
        let own = self.program.relations.push(empty);
        for one in alike {
            let recursion = self.recursions.get(&one.callee)?;
            exits.extend(one.unfolded(&recursion.exits));
            if steps.is_empty() {
                let widened = recursion.steps_of(one.callee, own, columns.len());
                steps.extend(widened);
            }
        }
        let exits = merged(exits);
        let mut clauses = self.united(&exits, &columns, depth + 1).unwrap_or(exits);
        clauses.extend(steps);
        self.program.relations[own].clauses = clauses;
        Some(own)
    }
}

/// `(v0, …) :- rel(v0, …)`
fn renaming(rel: RelId, n_columns: usize) -> Clause {
    let var_names: IdVec<_, _> =
        (0..n_columns).map(|column| VarName::Made(format!("v{column}").into())).collect();
    let head: Vec<Term> = var_names.ids().map(Term::Var).collect();
    let call = Goal::Call { polarity: Polarity::Positive, rel, args: head.clone(), guards: Vec::new() };
    Clause { rule: None, head, goals: vec![call], var_names }
}

/// How often the clauses that the question reaches call each relation, but for calls of itself.
fn calls(program: &Specialised) -> OrderedMap<RelId, usize> {
    let mut calls: OrderedMap<RelId, usize> = OrderedMap::default();
    let mut queue: Vec<RelId> = Vec::new();
    let mut note = |callee: RelId, queue: &mut Vec<RelId>| {
        let count = calls.entry(callee).or_default();
        if *count == 0 {
            queue.push(callee);
        }
        *count += 1;
    };
    program.roots.iter().flat_map(|root| root.clause.callees()).for_each(|callee| note(callee, &mut queue));
    while let Some(next) = queue.pop() {
        let callees = program.relations[next].clauses.iter().flat_map(Clause::callees);
        callees.filter(|callee| *callee != next).for_each(|callee| note(callee, &mut queue));
    }
    calls
}

impl Asked {
    /// The alternative with each of some clauses of the called relation in the place of the call.
    fn unfolded(&self, clauses: &[Clause]) -> Vec<Clause> {
        clauses.iter().map(|clause| unfold_call(&self.clause, 0, &self.args, clause)).collect()
    }
}
