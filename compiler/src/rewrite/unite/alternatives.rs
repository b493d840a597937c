//! Clauses of one relation that differ in one call and its condition alone.
//!
//! In: the clauses. Out: groups of them, each with what its clauses share, and what each asks for:
//!
//! ```text
//! may(u, p, x) :- in(x, g), admin(u, g), grants("admin", p)          shared: may(u, p, x) :- in(x, g), ⟨u, g, p⟩
//! may(u, p, x) :- in(x, g), editor(u, g), grants("editor", p)        ⟨u, g, p⟩: admin(u, g), grants("admin", p)
//!                                                                               editor(u, g), grants("editor", p)
//! ```

use crate::catalog::ColumnId;
use crate::datalog::numbering::ClauseNumbering;
use crate::datalog::{Adornment, Clause, Goal, RelId, Term};
use crate::id_vec::IdVec;
use crate::ir::Polarity;
use crate::ordered::{OrderedMap, OrderedSet};
use crate::others::Others;
use rustc_hash::FxHashSet;

/// What clauses of a group share.
#[derive(Clone, Debug)]
pub(super) struct Shared {
    /// The first clause of the group, without the call and its condition.
    clause: Clause,
    /// The arguments of the call, different variables, then variables of the head that the conditions alone
    /// give a value.
    columns: Vec<Term>,
    /// The columns of the latter.
    pub(super) added: Vec<Adornment>,
}

impl Shared {
    /// The clause that asks for the tuples of a relation where the group's clauses asked for theirs.
    pub(super) fn with_call(&self, rel: RelId) -> Clause {
        let mut clause = self.clause.clone();
        let args = self.columns.clone();
        clause.goals.push(Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() });
        clause
    }
}

/// What one clause of a group asks for.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// The relation that it calls.
    pub(super) callee: RelId,
    /// The arguments of the call.
    pub(super) args: Vec<Term>,
    /// What is asked for, with the call as first goal and its condition as the others.
    pub(super) clause: Clause,
}

/// What is equal in the clauses of a group: head, goals, and what is asked for.
type GroupKey = (Vec<Term>, Vec<Goal>, Vec<Term>, usize);

/// Groups of alternatives by the places of their clauses. A clause may be in several groups, with another
/// call in each; each group calls at least two relations.
///
/// `columns` are those of the relation that the clauses define; `is_invariant` says for each column of a
/// called relation whether its exits can be asked for a condition on it.
pub(super) fn groups(
    clauses: &[Clause],
    columns: &[Adornment],
    is_invariant: impl Fn(RelId) -> IdVec<ColumnId, bool>,
) -> Vec<(Shared, OrderedMap<usize, Asked>)> {
    let mut groups: OrderedMap<GroupKey, (Shared, OrderedMap<usize, Asked>)> = OrderedMap::default();
    for (place, clause) in clauses.iter().enumerate() {
        for (others, goal) in Others::each(&clause.goals) {
            let Goal::Call { polarity: Polarity::Positive, rel, args, .. } = goal else { continue };
            let Some(split) = Split::of(clause, &others, args, columns, &is_invariant(*rel)) else {
                continue;
            };
            let (shared, alternative) = split.numbered(clause, *rel, args);
            let Clause { head, goals, .. } = &shared.clause;
            let key = (head.clone(), goals.clone(), shared.columns.clone(), args.len());
            groups.entry(key).or_insert_with(|| (shared, OrderedMap::default())).1.insert(place, alternative);
        }
    }
    let calls_several = |alternatives: &OrderedMap<usize, Asked>| {
        let callees: OrderedSet<RelId> = alternatives.values().map(|one| one.callee).collect();
        callees.len() > 1
    };
    let groups = groups.into_values().filter(|(_, alternatives)| calls_several(alternatives));
    groups.map(|(shared, alternatives)| with_common_conditions(shared, alternatives)).collect()
}

/// A group in which a condition of all alternatives is the shared clause's, if it has no variables but the
/// arguments.
fn with_common_conditions(
    mut shared: Shared,
    mut alternatives: OrderedMap<usize, Asked>,
) -> (Shared, OrderedMap<usize, Asked>) {
    let Some(first) = alternatives.values().next() else { return (shared, alternatives) };
    let is_common = |goal: &&Goal| {
        let mut is_of_args = true;
        goal.for_each_term(&mut |term| {
            is_of_args &= !matches!(term, Term::Var(_) | Term::Local(_)) || first.args.contains(&term);
        });
        is_of_args && alternatives.values().all(|one| one.clause.goals.contains(*goal))
    };
    let common: Vec<Goal> = first.clause.goals.iter().skip(1).filter(is_common).cloned().collect();
    for one in alternatives.values_mut() {
        one.clause.goals.retain(|goal| !common.contains(goal));
    }
    shared.clause.goals.extend(common);
    (shared, alternatives)
}

/// The goals of a clause around a call.
struct Split {
    /// Those that stay with the head.
    rest: Vec<Goal>,
    /// The condition of the call.
    condition: Vec<Goal>,
    /// Variables of the head that only the condition gives a value, with their columns.
    added: Vec<(Term, Adornment)>,
}

impl Split {
    /// Splits a clause at a call; `None` if the arguments are not different variables.
    fn of(
        clause: &Clause,
        others: &Others<'_, Goal>,
        args: &[Term],
        columns: &[Adornment],
        is_invariant: &IdVec<ColumnId, bool>,
    ) -> Option<Self> {
        let distinct: FxHashSet<Term> = args.iter().copied().collect();
        if distinct.len() < args.len() || !args.iter().all(|arg| matches!(arg, Term::Var(_))) {
            return None;
        }
        let is_head = |term: &Term| clause.head.contains(term);
        let enumerated = |term: &Term| {
            let mut found = clause.head.iter().zip(columns).filter(|(head, _)| *head == term);
            found.next().map(|(_, column)| *column).filter(|column| matches!(column, Adornment::Column(_)))
        };
        // A goal stays with the head if it shares a variable with what stays: those of the call, but for the
        // head's that no step of the callee changes.
        let fixed: FxHashSet<Term> = args
            .iter()
            .zip(is_invariant)
            .filter(|(arg, invariant)| **invariant && is_head(arg))
            .map(|(arg, _)| *arg)
            .collect();
        let mut staying: FxHashSet<Term> = args.iter().copied().filter(|arg| !fixed.contains(arg)).collect();
        staying.extend(clause.head.iter().filter(|term| enumerated(term).is_none() && !fixed.contains(term)));
        let mut condition: Vec<Goal> = others.iter().cloned().collect();
        let mut rest: Vec<Goal> = Vec::new();
        loop {
            let stays = |goal: &Goal| goal.variables().iter().any(|var| staying.contains(var));
            let moved: Vec<Goal> = condition.extract_if(.., |goal| stays(goal)).collect();
            if moved.is_empty() {
                break;
            }
            let found = moved.iter().flat_map(Goal::variables);
            staying.extend(found.filter(|term| !fixed.contains(term)));
            rest.extend(moved);
        }
        // In their order, which is part of what groups compare.
        rest = others.iter().filter(|goal| rest.contains(goal)).cloned().collect();
        let given: FxHashSet<Term> = condition.iter().flat_map(Goal::variables).collect();
        let added = clause.head.iter().filter(|term| given.contains(term) && !fixed.contains(term));
        let added: OrderedSet<Term> = added.copied().collect();
        let added = added.into_iter().map(|term| Some((term, enumerated(&term)?))).collect::<Option<_>>()?;
        Some(Self { rest, condition, added })
    }

    /// What the clause shares with others, and what it asks for, with variables numbered in order.
    fn numbered(self, clause: &Clause, callee: RelId, args: &[Term]) -> (Shared, Asked) {
        let mut numbering = ClauseNumbering::of(clause);
        let (terms, added): (Vec<Term>, Vec<Adornment>) = self.added.into_iter().unzip();
        let mut head = clause.head.clone();
        let mut goals = self.rest;
        let mut asked = [args, &terms].concat();
        let mut condition = self.condition;
        numbering.terms(&mut head);
        numbering.goals(&mut goals);
        numbering.terms(&mut asked);
        let shared = Clause { rule: clause.rule, head, goals, var_names: numbering.names() };
        numbering.goals(&mut condition);
        let args: Vec<Term> = asked.iter().take(args.len()).copied().collect();
        let call =
            Goal::Call { polarity: Polarity::Positive, rel: callee, args: args.clone(), guards: Vec::new() };
        condition.insert(0, call);
        let own =
            Clause { rule: clause.rule, head: asked.clone(), goals: condition, var_names: numbering.names() };
        (Shared { clause: shared, columns: asked, added }, Asked { callee, args, clause: own })
    }
}
