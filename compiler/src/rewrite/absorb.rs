//! Removes a closure nested inside the same closure.
//!
//! In: a [`Specialised`] program. Out: the same answers with fewer fixpoints. If `p` climbs `parent` in a
//! column, and one of its exits calls `q` with that very column, and `q` climbs `parent` there too, then
//! `q` need not climb: `p` has tried every ancestor already. The call is replaced by a copy of `q` without
//! the steps of that class. Sound because the copy derives less; complete because `q(f)` holds exactly if
//! the copy holds at an ancestor of `f`, which `p` reaches by its own steps.

use crate::catalog::ColumnId;
use crate::datalog::recursion::{ClassId, ColumnClasses, Recursion, classes, take_apart};
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Clause, Goal, RelId, Relation, Specialised, Term};
use crate::ir::Polarity;
use indexmap::{IndexMap, IndexSet};
use rustc_hash::FxHashMap;

/// The columns of one class and its normalised steps.
struct Closure {
    columns: Vec<ColumnId>,
    steps: IndexSet<(Vec<Term>, Vec<Goal>)>,
}

/// Rewrites the exits of every recursive relation that is alone in its component.
pub(super) fn absorb(program: &mut Specialised) {
    let mut reduced: IndexMap<(RelId, Vec<ColumnId>), RelId> = IndexMap::new();
    let closures: FxHashMap<RelId, Vec<Closure>> =
        program.self_recursive().into_iter().filter_map(|rel| Some((rel, closures(program, rel)?))).collect();
    for rel in program.relations.ids() {
        let Some(own) = closures.get(&rel) else { continue };
        let mut clauses = program.relations[rel].clauses.clone();
        for clause in clauses.iter_mut().filter(|clause| !clause.callees().any(|callee| callee == rel)) {
            for at in 0..clause.goals.len() {
                if let Some((callee, class)) = absorbed(&closures, own, clause, at) {
                    // A closure that cannot be copied stays as it is.
                    let copy = without_class(program, &mut reduced, callee, &class);
                    if let (Some(copy), Some(Goal::Call { rel, .. })) = (copy, clause.goals.get_mut(at)) {
                        *rel = copy;
                    }
                }
            }
        }
        program.relations[rel].clauses = clauses;
    }
}

/// A relation that is alone in its component, taken apart, if it is linear.
fn apart(program: &Specialised, rel: RelId) -> Option<(Recursion, ColumnClasses)> {
    let recursion = take_apart(program, &[rel]);
    let width = recursion.width().filter(|_| recursion.is_linear())?;
    let classes = classes(&recursion, width, &vec![false; width]);
    Some((recursion, classes))
}

/// The classes of a relation with their steps in a form that does not depend on variable names.
fn closures(program: &Specialised, rel: RelId) -> Option<Vec<Closure>> {
    let (recursion, classes) = apart(program, rel)?;
    let closure = |class: ClassId| {
        let columns = classes.columns(class);
        let steps = classes.steps(&recursion, class).map(|step| {
            let (_, args) = &step.call;
            let pick = |terms: &[Term]| columns.iter().map(|column| *column.of(terms)).collect::<Vec<_>>();
            let head = [pick(&step.head), pick(args)].concat();
            let normal =
                ignore_singletons(Clause { head, goals: step.goals.clone(), ..step.clause.clone() }, &[]);
            (normal.head, normal.goals)
        });
        Closure { steps: steps.collect(), columns }
    };
    Some(classes.ids().map(closure).collect())
}

/// The callee of a goal and its class that one of the caller's own classes absorbs.
fn absorbed(
    closures: &FxHashMap<RelId, Vec<Closure>>,
    own: &[Closure],
    clause: &Clause,
    at: usize,
) -> Option<(RelId, Vec<ColumnId>)> {
    let Goal::Call { polarity: Polarity::Positive, rel, args, .. } = clause.goals.get(at)? else {
        return None;
    };
    let theirs = closures.get(rel)?;
    for class in own {
        let passed: Option<Vec<ColumnId>> = class
            .columns
            .iter()
            .map(|column| {
                let term = *column.of(&clause.head);
                let place = args.iter().position(|arg| *arg == term)?;
                is_only_passed(clause, at, term).then_some(ColumnId::from_index(place))
            })
            .collect();
        let Some(passed) = passed else { continue };
        let same = theirs.iter().find(|their| their.columns == sorted(&passed) && passed.is_sorted());
        if let Some(their) = same
            && their.steps.iter().all(|step| class.steps.contains(step))
        {
            return Some((*rel, their.columns.clone()));
        }
    }
    None
}

fn sorted(columns: &[ColumnId]) -> Vec<ColumnId> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns
}

/// Whether a variable of the head occurs once in the head and once in the clause, in this goal.
fn is_only_passed(clause: &Clause, at: usize, term: Term) -> bool {
    let mut elsewhere = clause.head.iter().filter(|head| **head == term).count();
    for (index, goal) in clause.goals.iter().enumerate() {
        goal.for_each_term(&mut |other| elsewhere += usize::from(other == term && index != at));
    }
    let here = match clause.goals.get(at) {
        Some(Goal::Call { args, .. }) => args.iter().filter(|arg| **arg == term).count(),
        _ => 0,
    };
    elsewhere == 1 && here == 1 && matches!(term, Term::Var(_))
}

/// A copy of a relation without the steps of one class.
fn without_class(
    program: &mut Specialised,
    reduced: &mut IndexMap<(RelId, Vec<ColumnId>), RelId>,
    rel: RelId,
    columns: &[ColumnId],
) -> Option<RelId> {
    if let Some(copy) = reduced.get(&(rel, columns.to_vec())) {
        return Some(*copy);
    }
    let (recursion, classes) = apart(program, rel)?;
    let relation = program.relations[rel].clone();
    let class = classes.of_column[*columns.first()?]?;
    let copy = program.relations.push(Relation { clauses: Vec::new(), ..relation.clone() });
    let dropped: Vec<&Clause> = classes.steps(&recursion, class).map(|step| &step.clause).collect();
    let kept =
        relation.clauses.iter().filter(|clause| !dropped.contains(clause)).cloned().map(|mut clause| {
            for goal in &mut clause.goals {
                if let Goal::Call { rel: callee, polarity: Polarity::Positive, .. } = goal
                    && *callee == rel
                {
                    *callee = copy;
                }
            }
            clause
        });
    program.relations[copy].clauses = kept.collect();
    reduced.insert((rel, columns.to_vec()), copy);
    Some(copy)
}
