//! Factors out the calls that several clauses of a relation make.
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
//! other permission is copied into each case once the call is replaced by what it calls. The copies may order
//! their goals differently, so that later passes do not see that they are the same.

use crate::datalog::numbering::ClauseNumbering;
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, ScanArg, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::{Polarity, VarId};
use crate::ordered::OrderedMap;
use crate::refusal::VarName;
use indexmap::IndexSet;
use std::cmp::Reverse;

/// A call of values of the head: the relation, and for each argument its place in the head.
type HeadCall = (RelId, Vec<usize>);

/// Clauses with a call factored out.
struct Factored {
    /// Where they are.
    places: Vec<usize>,
    /// The clause that replaces them.
    asked: Clause,
    /// The relation of what is left of each.
    cases: Relation,
}

/// Factors calls out of the clauses of every relation, those of the relations that it makes as well.
pub(super) fn factor_calls(program: &mut Specialised) {
    let recursive = recursive(program);
    let mut has_ways = has_ways(program);
    let mut queue: Vec<RelId> = program.relations.ids().filter(|rel| !recursive.contains(rel)).collect();
    while let Some(rel) = queue.pop() {
        while let Some(Factored { places, asked, cases }) = factored(program, rel, &has_ways) {
            let clauses = &mut program.relations[rel].clauses;
            for place in places.iter().rev() {
                clauses.remove(*place);
            }
            clauses.insert(places.first().copied().unwrap_or_default(), asked);
            queue.push(program.relations.push(cases));
            has_ways.push(true);
        }
    }
}

/// The relations that call themselves, directly or through others.
pub(super) fn recursive(program: &Specialised) -> IndexSet<RelId> {
    let components = program.strata().into_iter().filter(|component| component.recursive);
    components.flat_map(|component| component.nodes).map(RelId::from_index).collect()
}

/// For each relation whether there are several ways to its tuples, by its own clauses or by what the only one
/// calls. Every recursion has several clauses.
pub(super) fn has_ways(program: &Specialised) -> IdVec<RelId, bool> {
    let mut has_ways = IdVec::like(&program.relations, false);
    // What is called comes first.
    for rel in program.strata().into_iter().flat_map(|component| component.nodes).map(RelId::from_index) {
        let clauses = &program.relations[rel].clauses;
        has_ways[rel] = clauses.len() > 1
            || clauses
                .iter()
                .flat_map(|clause| clause.goals.iter().filter_map(called))
                .any(|callee| has_ways[callee]);
    }
    has_ways
}

/// The relation that a goal calls, if it does so positively.
pub(super) fn called(goal: &Goal) -> Option<RelId> {
    match goal {
        Goal::Call { polarity: Polarity::Positive, rel, .. } => Some(*rel),
        Goal::Call { .. } | Goal::Scan { .. } | Goal::Values { .. } | Goal::Compare { .. } => None,
    }
}

/// The clauses of a relation that make the same call, without it; the call that most of them make is first.
fn factored(program: &Specialised, rel: RelId, has_ways: &IdVec<RelId, bool>) -> Option<Factored> {
    let mut shared: OrderedMap<HeadCall, Vec<usize>> = OrderedMap::default();
    for (place, clause) in program.relations[rel].clauses.iter().enumerate() {
        // A clause of a call alone covers the others.
        if clause.goals.len() < 2 {
            continue;
        }
        let calls: IndexSet<HeadCall> =
            clause.goals.iter().filter_map(|goal| head_call(clause, goal)).collect();
        // A single way would not be multiplied.
        for call in calls.into_iter().filter(|(callee, _)| has_ways[*callee]) {
            shared.entry(call).or_default().push(place);
        }
    }
    let mut shared: Vec<_> = shared.into_iter().filter(|(_, places)| places.len() > 1).collect();
    shared.sort_by_key(|(_, places)| Reverse(places.len()));
    shared.into_iter().find_map(|(call, places)| without_call(program, rel, &call, places))
}

/// The clauses of a relation at some places without a call; `None` if a value would be tested before anything
/// binds it.
fn without_call(program: &Specialised, rel: RelId, call: &HeadCall, places: Vec<usize>) -> Option<Factored> {
    let relation = &program.relations[rel];
    let clauses = places.iter().filter_map(|place| relation.clauses.get(*place));
    let mut cases: Vec<Clause> = clauses.map(|clause| case(clause, call)).collect();
    let made = RelId::from_index(program.relations.len());
    let asked = clause_of_both(call, made, &mut cases);
    let own: Vec<Adornment> = columns(relation).collect();
    let is_tested = |place: usize| own.get(place).is_some_and(|column| column.is_tested());
    let gives_all = |goals: &[Goal]| gives_all(program, relation, &asked.head, goals);
    let (_, others) = asked.goals.split_last()?;
    let waits = || {
        let tested =
            columns(&program.relations[call.0]).zip(&call.1).filter(|(column, _)| column.is_tested());
        tested.into_iter().any(|(_, place)| !is_tested(*place))
    };
    // The cases either bind every column or only test them: a table of cases cannot see the values of the row
    // around it.
    let adornments = if cases.iter().all(|case| gives_all(&case.goals)) {
        relation.adornments.clone()
    } else if gives_all(others) && !waits() {
        relation.adornments.iter().map(|adornment| tested(*adornment)).collect()
    } else {
        return None;
    };
    let cases = Relation { pred: relation.pred, adornments, clauses: cases };
    Some(Factored { places, asked, cases })
}

/// The adornment of a position whose values are only tested where they were enumerated.
pub(super) fn tested(adornment: Adornment) -> Adornment {
    match adornment {
        Adornment::Column(ty) => Adornment::Tested(Some(ty)),
        Adornment::Literal(_)
        | Adornment::Tested(_)
        | Adornment::Same { .. }
        | Adornment::Unconstrained(_) => adornment,
    }
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

/// A clause without its first call of this kind, with the variables of its head numbered first.
fn case(clause: &Clause, call: &HeadCall) -> Clause {
    let is_call = |goal: &Goal| head_call(clause, goal).as_ref() == Some(call);
    let at = clause.goals.iter().position(is_call);
    let others = clause.goals.iter().enumerate().filter(|(place, _)| Some(*place) != at);
    let mut goals: Vec<Goal> = others.map(|(_, goal)| goal.clone()).collect();
    let mut head = clause.head.clone();
    let mut numbering = ClauseNumbering::of(clause);
    numbering.terms(&mut head);
    numbering.goals(&mut goals);
    Clause { rule: clause.rule, head, goals, var_names: numbering.names() }
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

/// The columns of a relation.
fn columns(relation: &Relation) -> impl Iterator<Item = Adornment> {
    relation.adornments.iter().filter(|adornment| adornment.has_column()).copied()
}

/// Whether goals give all variables of a relation's head their values, except those that are only tested.
pub(super) fn gives_all(program: &Specialised, relation: &Relation, head: &[Term], goals: &[Goal]) -> bool {
    let mut enumerated = columns(relation).zip(head).filter(|(column, _)| !column.is_tested());
    enumerated.all(|(_, variable)| goals.iter().any(|goal| gives(program, goal, *variable)))
}

/// Whether rows or tuples of a goal give a variable its values.
fn gives(program: &Specialised, goal: &Goal, variable: Term) -> bool {
    match goal {
        Goal::Scan { polarity: Polarity::Positive, args, .. } => {
            args.iter().any(|arg| matches!(arg, ScanArg::Term(term) if *term == variable))
        }
        Goal::Call { polarity: Polarity::Positive, rel, args, .. } => columns(&program.relations[*rel])
            .zip(args)
            .any(|(column, arg)| !column.is_tested() && *arg == variable),
        Goal::Values { term, .. } => *term == variable,
        Goal::Call { .. } | Goal::Scan { .. } | Goal::Compare { .. } => false,
    }
}
