//! Asks once what several clauses of a relation ask of another one.
//!
//! In: a [`Specialised`] program. Out: the same answers. A permission that is granted on top of another one
//! in several cases calls the other one in each of them:
//!
//! ```text
//! download(u, d) :- view(u, d), free(d)                                      ─▶
//! download(u, d) :- view(u, d), owner(d, o), licensed(u, o)
//!
//! download(u, d) :- view(u, d), case(u, d)          case(u, d) :- free(d)
//!                                                   case(u, d) :- owner(d, o), licensed(u, o)
//! ```
//!
//! Conjunction distributes over union, so that both forms derive the same. In the first, each way of the
//! other permission is multiplied by each case once the call is replaced by what it calls, and what shares a
//! way may be written in different orders by then.

use crate::datalog::numbering::ClauseNumbering;
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, ScanArg, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::{Polarity, VarId};
use crate::ordered::OrderedMap;
use crate::refusal::VarName;
use indexmap::IndexSet;

/// A call of values of the head: the relation, and for each argument its place in the head.
type HeadCall = (RelId, Vec<usize>);

/// Factors calls out of the clauses of every relation, those of the relations that it makes as well.
pub(super) fn factor_calls(program: &mut Specialised) {
    let components = program.strata().into_iter().filter(|component| component.recursive);
    let recursive: IndexSet<RelId> =
        components.flat_map(|component| component.nodes).map(RelId::from_index).collect();
    let mut queue: Vec<RelId> = program.relations.ids().filter(|rel| !recursive.contains(rel)).collect();
    while let Some(rel) = queue.pop() {
        while let Some((call, places)) = most_shared(program, &program.relations[rel].clauses) {
            let made = RelId::from_index(program.relations.len());
            let mut cases = take_cases(&mut program.relations[rel], &call, &places);
            let asked = clause_of_both(&call, made, &mut cases);
            let adornments = adornments(program, rel, &call, &cases);
            let relation = &mut program.relations[rel];
            relation.clauses.insert(places.first().copied().unwrap_or_default(), asked);
            let pred = relation.pred;
            program.relations.push(Relation { pred, adornments, clauses: cases });
            queue.push(made);
        }
    }
}

/// The call that most clauses make, two at least, and their places; the first of several.
fn most_shared(program: &Specialised, clauses: &[Clause]) -> Option<(HeadCall, Vec<usize>)> {
    let mut shared: OrderedMap<HeadCall, Vec<usize>> = OrderedMap::default();
    for (place, clause) in clauses.iter().enumerate() {
        // A clause of a call alone covers the others.
        if clause.goals.len() < 2 {
            continue;
        }
        let calls: IndexSet<HeadCall> =
            clause.goals.iter().filter_map(|goal| head_call(clause, goal)).collect();
        // One clause would not be multiplied.
        for call in calls.into_iter().filter(|(rel, _)| program.relations[*rel].clauses.len() > 1) {
            shared.entry(call).or_default().push(place);
        }
    }
    shared.into_iter().filter(|(_, places)| places.len() > 1).rev().max_by_key(|(_, places)| places.len())
}

/// A positive goal as a call of values of the head alone, if it is one, and if the head has a variable of its
/// own in each place.
fn head_call(clause: &Clause, goal: &Goal) -> Option<HeadCall> {
    let Goal::Call { polarity: Polarity::Positive, rel, args, .. } = goal else { return None };
    let variables: IndexSet<&Term> = clause.head.iter().filter(|term| matches!(term, Term::Var(_))).collect();
    if variables.len() < clause.head.len() {
        return None;
    }
    let places = args.iter().map(|arg| variables.get_index_of(arg)).collect::<Option<_>>()?;
    Some((*rel, places))
}

/// Takes the clauses at some places, without their first call of this kind, and with the same variables in
/// their heads.
fn take_cases(relation: &mut Relation, call: &HeadCall, places: &[usize]) -> Vec<Clause> {
    let mut cases = Vec::new();
    for place in places.iter().rev() {
        let mut clause = relation.clauses.remove(*place);
        let is_call = |goal: &Goal| head_call(&clause, goal).as_ref() == Some(call);
        if let Some(at) = clause.goals.iter().position(is_call) {
            clause.goals.remove(at);
        }
        let mut numbering = ClauseNumbering::of(&clause);
        let Clause { rule, mut head, mut goals, .. } = clause.clone();
        numbering.terms(&mut head);
        numbering.goals(&mut goals);
        cases.push(Clause { rule, head, goals, var_names: numbering.names() });
    }
    cases.reverse();
    cases
}

/// `(v0, …) :- call(…), cases(v0, …)`, with the goals of the head's values that all cases have.
fn clause_of_both((rel, places): &HeadCall, made: RelId, cases: &mut [Clause]) -> Clause {
    let head = cases.first().map_or_else(Vec::new, |case| case.head.clone());
    let var_names: IdVec<VarId, VarName> =
        (0..head.len()).map(|column| VarName::Made(format!("v{column}").into())).collect();
    let call = |rel, args| Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() };
    let args = places.iter().filter_map(|place| head.get(*place).copied()).collect();
    let mut goals = vec![call(*rel, args)];
    let is_of_head = |goal: &Goal| {
        let mut is_of_head = true;
        goal.for_each_term(&mut |term| {
            is_of_head &= !matches!(term, Term::Var(_) | Term::Local(_)) || head.contains(&term);
        });
        is_of_head
    };
    let (first, others) = match cases.split_first() {
        Some((first, others)) => (first.goals.clone(), others.iter().collect::<Vec<_>>()),
        None => (Vec::new(), Vec::new()),
    };
    let is_common = |goal: &&Goal| is_of_head(goal) && others.iter().all(|other| other.goals.contains(goal));
    let common: Vec<Goal> = first.iter().filter(is_common).cloned().collect();
    if cases.iter().all(|case| case.goals.iter().any(|goal| !common.contains(goal))) {
        for case in cases.iter_mut() {
            case.goals.retain(|goal| !common.contains(goal));
        }
        goals.extend(common);
    }
    goals.push(call(made, head.clone()));
    Clause { rule: cases.first().and_then(|case| case.rule), head, goals, var_names }
}

/// The columns of the relation of cases. What the call gives a value is only tested where a case does not.
fn adornments(program: &Specialised, rel: RelId, (_, called): &HeadCall, cases: &[Clause]) -> Vec<Adornment> {
    let mut places = 0..;
    let adornments = program.relations[rel].adornments.iter().map(|adornment| {
        let place = if adornment.has_column() { places.next() } else { None };
        match (*adornment, place) {
            (Adornment::Column(ty), Some(place))
                if called.contains(&place) && !cases.iter().all(|case| gives(program, case, place)) =>
            {
                Adornment::Tested(Some(ty))
            }
            (other, _) => other,
        }
    });
    adornments.collect()
}

/// Whether rows or tuples give the variable of a clause's head at a place its values.
fn gives(program: &Specialised, clause: &Clause, place: usize) -> bool {
    let variable = clause.head.get(place);
    clause.goals.iter().any(|goal| match goal {
        Goal::Scan { polarity: Polarity::Positive, args, .. } => {
            args.iter().any(|arg| matches!(arg, ScanArg::Term(term) if Some(term) == variable))
        }
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
            let columns = program.relations[*rel].adornments.iter().filter(|column| column.has_column());
            columns.zip(args).any(|(column, arg)| !column.is_tested() && Some(arg) == variable)
        }
        Goal::Values { term, .. } => Some(term) == variable,
        Goal::Call { .. } | Goal::Scan { .. } | Goal::Compare { .. } => false,
    })
}
