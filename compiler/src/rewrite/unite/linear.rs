//! A recursion as exits and linear steps, and the form in which the steps of two are compared.

use crate::catalog::ColumnId;
use crate::datalog::recursion::take_apart;
use crate::datalog::visit::ignore_singletons;
use crate::datalog::{Clause, Goal, RelId, Specialised, Term};
use crate::id_vec::IdVec;
use crate::refusal::VarName;
use indexmap::IndexSet;

/// The steps of a recursion, with their calls of it erased and their variables in order, sorted.
pub(super) type NormalSteps = Vec<(Vec<Term>, Vec<Goal>)>;

/// A relation that calls itself, once in each of its steps.
pub(super) struct LinearRecursion {
    pub(super) exits: Vec<Clause>,
    steps: Vec<Clause>,
    /// What is equal in recursions that take the same steps.
    pub(super) normal: NormalSteps,
    /// Whether no step changes a column.
    pub(super) is_invariant: IdVec<ColumnId, bool>,
}

impl LinearRecursion {
    /// A relation that is alone in its component, taken apart; `None` if it is not linear.
    pub(super) fn of(program: &Specialised, rel: RelId) -> Option<Self> {
        let recursion = take_apart(program, &[rel]);
        let width = recursion.width().filter(|_| recursion.is_linear())?;
        let mut is_invariant: IdVec<ColumnId, bool> = vec![true; width].into_iter().collect();
        for step in &recursion.steps {
            let (_, args) = &step.call;
            for (column, (head, arg)) in ColumnId::all(width).zip(step.head.iter().zip(args)) {
                is_invariant[column] &= head == arg && matches!(head, Term::Var(_));
            }
        }
        let exits = recursion.exits.iter().flat_map(|exits| exits.clauses.clone()).collect();
        let steps: Vec<Clause> = recursion.steps.into_iter().map(|step| step.clause).collect();
        let normal: IndexSet<(Vec<Term>, Vec<Goal>)> = steps.iter().map(|step| normal(step, rel)).collect();
        let mut normal: NormalSteps = normal.into_iter().collect();
        normal.sort_unstable();
        Some(Self { exits, steps, normal, is_invariant })
    }

    /// The steps as those of another relation, with more columns, which they pass on.
    pub(super) fn steps_of(&self, rel: RelId, own: RelId, n_columns: usize) -> impl Iterator<Item = Clause> {
        self.steps.iter().map(move |step| widened(step, rel, own, n_columns))
    }
}

/// A step without its variables' names, and with its call of its recursion erased.
fn normal(step: &Clause, rel: RelId) -> (Vec<Term>, Vec<Goal>) {
    let mut step = step.clone();
    for goal in &mut step.goals {
        if let Goal::Call { rel: callee, .. } = goal
            && *callee == rel
        {
            *callee = RelId::ERASED;
        }
    }
    let Clause { head, goals, .. } = ignore_singletons(step, &[]);
    (head, goals)
}

/// A step of another recursion, with more columns, which it passes on.
fn widened(step: &Clause, rel: RelId, own: RelId, n_columns: usize) -> Clause {
    let mut step = step.clone();
    let more: Vec<Term> = (step.head.len()..n_columns)
        .map(|column| Term::Var(step.var_names.push(VarName::Made(format!("v{column}").into()))))
        .collect();
    step.head.extend(&more);
    for goal in &mut step.goals {
        if let Goal::Call { rel: callee, args, .. } = goal
            && *callee == rel
        {
            *callee = own;
            args.extend(&more);
        }
    }
    step
}
