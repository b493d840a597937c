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
use crate::others::Others;
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
            let Clause { head, goals, .. } = clause;
            Others::for_each_mut(goals, |others, goal| {
                if let Goal::Call { polarity: Polarity::Positive, rel, args, .. } = goal
                    && let Some(theirs) = closures.get(rel)
                    && let Some(class) = absorbed(theirs, own, head, args, &others)
                    // A closure that cannot be copied stays as it is.
                    && let Some(copy) = without_class(program, &mut reduced, *rel, class)
                {
                    *rel = copy;
                }
            });
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

/// The class of columns of the called relation that a class of the caller absorbs, if there is one. `args`
/// are the arguments of the call, and `others` are the other goals of its clause.
fn absorbed<'t>(
    theirs: &'t [Closure],
    own: &[Closure],
    head: &[Term],
    args: &[Term],
    others: &Others<'_, Goal>,
) -> Option<&'t [ColumnId]> {
    own.iter().find_map(|class| {
        let passed = class.columns.iter().map(|column| {
            let term = *column.of(head);
            let place = args.iter().position(|arg| *arg == term)?;
            is_only_passed(head, args, others, term).then_some(ColumnId::from_index(place))
        });
        let passed = passed.collect::<Option<Vec<ColumnId>>>()?;
        let same = theirs.iter().find(|their| their.columns == sorted(&passed) && passed.is_sorted())?;
        same.steps.iter().all(|step| class.steps.contains(step)).then_some(same.columns.as_slice())
    })
}

fn sorted(columns: &[ColumnId]) -> Vec<ColumnId> {
    let mut columns = columns.to_vec();
    columns.sort_unstable();
    columns
}

/// Whether a variable of the head occurs once in the head and once in the clause, in this call.
fn is_only_passed(head: &[Term], args: &[Term], others: &Others<'_, Goal>, term: Term) -> bool {
    let count = |terms: &[Term]| terms.iter().filter(|other| **other == term).count();
    let mut elsewhere = count(head);
    for goal in others.iter() {
        goal.for_each_term(&mut |other| elsewhere += usize::from(other == term));
    }
    elsewhere == 1 && count(args) == 1 && matches!(term, Term::Var(_))
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
