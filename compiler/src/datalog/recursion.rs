//! What a recursive component is made of: exits, steps, and the classes of columns that move together.
//!
//! A *step* is a clause that calls a member of its own component; an *exit* is any other clause. A column
//! moves in a step if the step's call has a different term there than its head. Columns that move in one
//! step, or that a step's other goals connect, form a *class*; the remaining columns are invariant. Steps of
//! different classes commute, so the closure is the product of the classes' closures around the exits
//! (separable recursion, Naughton 1988): each class can be walked from the values that bind it, or closed
//! forwards from the exits, independently of the others.

use super::visit::ignore_singletons;
use super::{Clause, Goal, RelId, Relation, Specialised, Term};
use crate::catalog::ColumnId;
use crate::id_vec::{IdVec, id};
use crate::ir::Polarity;
use indexmap::IndexSet;

id!(/// A member of a recursive component.
    pub(crate) MemberId, "member");
id!(/// A class of columns that move together.
    pub(crate) ClassId, "class");

/// A clause that calls its own component.
#[derive(Clone, Debug)]
pub(crate) struct RecursiveClause {
    /// The member it defines.
    pub(crate) member: MemberId,
    /// Its head.
    pub(crate) head: Vec<Term>,
    /// The first call of a member: the only one of a linear step.
    pub(crate) call: MemberCall,
    /// The other calls of members.
    pub(crate) others: Vec<MemberCall>,
    /// The other goals.
    pub(crate) goals: Vec<Goal>,
    /// The clause it comes from.
    pub(crate) clause: Clause,
}

/// A call of a member, with its arguments.
pub(crate) type MemberCall = (MemberId, Vec<Term>);

impl RecursiveClause {
    /// All calls of members.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &MemberCall> {
        std::iter::once(&self.call).chain(&self.others)
    }
}

/// A recursive component, taken apart.
#[derive(Clone, Debug)]
pub(crate) struct Recursion {
    /// The members.
    pub(crate) members: IdVec<MemberId, RelId>,
    /// For each member its exits alone.
    pub(crate) exits: IdVec<MemberId, Relation>,
    /// All steps.
    pub(crate) steps: Vec<RecursiveClause>,
    /// The members' numbers of columns.
    pub(crate) widths: IdVec<MemberId, usize>,
}

impl Recursion {
    /// Whether every step calls the component once.
    pub(crate) fn is_linear(&self) -> bool {
        self.steps.iter().all(|step| step.others.is_empty())
    }

    /// The common number of columns, if there is one.
    pub(crate) fn width(&self) -> Option<usize> {
        let first = *self.widths.iter().next()?;
        self.widths.iter().all(|width| *width == first).then_some(first)
    }

    /// The member that a relation is, if it is one.
    pub(crate) fn member(&self, rel: RelId) -> Option<MemberId> {
        self.members.enumerate().find(|(_, member)| **member == rel).map(|(id, _)| id)
    }
}

/// The columns of a linear component of uniform width, in classes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ColumnClasses {
    /// For each column its class; `None` if it is invariant.
    pub(crate) of_column: IdVec<ColumnId, Option<ClassId>>,
    /// For each step its class; `None` if the step changes nothing and can be left out.
    pub(crate) of_step: Vec<Option<ClassId>>,
    /// The class whose steps lead from member to member.
    pub(crate) of_tag: Option<ClassId>,
    count: usize,
}

impl ColumnClasses {
    /// All classes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ClassId> + use<> {
        (0..self.count).map(ClassId::from_index)
    }

    /// The columns of a class, ascending.
    pub(crate) fn columns(&self, class: ClassId) -> Vec<ColumnId> {
        self.of_column.enumerate().filter(|(_, of)| **of == Some(class)).map(|(column, _)| column).collect()
    }

    /// The steps of a class.
    pub(crate) fn steps<'r>(
        &self,
        recursion: &'r Recursion,
        class: ClassId,
    ) -> impl Iterator<Item = &'r RecursiveClause> {
        let steps = recursion.steps.iter().zip(&self.of_step);
        steps.filter(move |(_, of)| **of == Some(class)).map(|(step, _)| step)
    }
}

/// Takes a component apart; the exits get no relations of their own yet.
pub(crate) fn take_apart(program: &Specialised, members: &[RelId]) -> Recursion {
    let members: IdVec<MemberId, RelId> = members.iter().copied().collect();
    let mut recursion = Recursion { members, exits: IdVec::new(), steps: Vec::new(), widths: IdVec::new() };
    for member in recursion.members.ids() {
        let relation = &program.relations[recursion.members[member]];
        let mut exits = Vec::new();
        for clause in &relation.clauses {
            let (mut calls, mut goals) = (Vec::new(), Vec::new());
            for goal in &clause.goals {
                let called = match goal {
                    Goal::Call { polarity: Polarity::Positive, rel, args, .. } => {
                        recursion.member(*rel).map(|callee| (callee, args.clone()))
                    }
                    _ => None,
                };
                match called {
                    Some(call) => calls.push(call),
                    None => goals.push(goal.clone()),
                }
            }
            let mut calls = calls.into_iter();
            match calls.next() {
                None => exits.push(clause.clone()),
                Some(call) => recursion.steps.push(RecursiveClause {
                    member,
                    head: clause.head.clone(),
                    call,
                    others: calls.collect(),
                    goals,
                    clause: clause.clone(),
                }),
            }
        }
        recursion.widths.push(relation.n_columns());
        recursion.exits.push(Relation {
            clauses: exits,
            pred: relation.pred,
            adornments: relation.adornments.clone(),
        });
    }
    recursion
}

/// Groups the columns of a linear component of uniform width.
///
/// `is_static` says which columns the call fixes for the whole statement: an invariant column among them
/// connects nothing, as its value is a constant.
pub(crate) fn classes(recursion: &Recursion, width: usize, is_static: &[bool]) -> ColumnClasses {
    // To lead to another member is like to move in one more column.
    let tag = ColumnId::from_index(width);
    let mut groups = Groups::new(width + 1);
    let moving: Vec<Vec<ColumnId>> = recursion.steps.iter().map(|step| moving_columns(step, tag)).collect();
    let moves_somewhere: IndexSet<ColumnId> = moving.iter().flatten().copied().collect();
    let mut touched = Vec::new();
    for (step, moving) in recursion.steps.iter().zip(moving) {
        let mut columns = moving;
        if columns.is_empty() {
            touched.push(columns);
            continue;
        }
        for (column, term) in ColumnId::all(width).zip(&step.head) {
            let fixed = *column.of(is_static) && !moves_somewhere.contains(&column);
            if !columns.contains(&column) && !fixed && is_connected(step, column, *term) {
                columns.push(column);
            }
        }
        for pair in columns.windows(2) {
            if let [left, right] = pair {
                groups.join(*left, *right);
            }
        }
        touched.push(columns);
    }
    // A class apart from the one that changes members must have the same steps in each of them.
    let in_class = |groups: &Groups, root: ColumnId| -> Vec<ColumnId> {
        ColumnId::all(width).filter(|column| groups.root(*column) == root).collect()
    };
    if recursion.members.len() > 1 {
        for columns in &touched {
            let Some(&first) = columns.first() else { continue };
            let root = groups.root(first);
            if root != groups.root(tag) {
                let class = in_class(&groups, root);
                if !has_equal_steps(recursion, &touched, &class, |c| groups.root(c) == root) {
                    groups.join(first, tag);
                }
            }
        }
    }
    // The class of a root is its place among them.
    let mut roots: IndexSet<ColumnId> = IndexSet::new();
    let mut of_step = Vec::new();
    for columns in &touched {
        let root = columns.first().map(|first| groups.root(*first));
        of_step.push(root.map(|root| ClassId::from_index(roots.insert_full(root).0)));
    }
    let class = |column| roots.get_index_of(&groups.root(column)).map(ClassId::from_index);
    let of_column = ColumnId::all(width).map(class).collect();
    ColumnClasses { of_column, of_step, of_tag: class(tag), count: roots.len() }
}

/// The columns in which a step's call differs from its head, and the tag if it leads to another member.
fn moving_columns(step: &RecursiveClause, tag: ColumnId) -> Vec<ColumnId> {
    let (callee, args) = &step.call;
    let terms = ColumnId::all(args.len()).zip(step.head.iter().zip(args));
    let mut columns: Vec<ColumnId> =
        terms.filter(|(_, (head, arg))| head != arg).map(|(column, _)| column).collect();
    if *callee != step.member {
        columns.push(tag);
    }
    columns
}

/// Whether the term of an unmoved column occurs in the step's other goals or in another column.
fn is_connected(step: &RecursiveClause, column: ColumnId, term: Term) -> bool {
    let mut found = false;
    for goal in &step.goals {
        goal.for_each_term(&mut |other| found |= other == term);
    }
    let (_, args) = &step.call;
    let in_others = |terms: &[Term]| {
        let mut columns = ColumnId::all(terms.len()).zip(terms);
        columns.any(|(other, found)| other != column && *found == term)
    };
    found || in_others(&step.head) || in_others(args) || !matches!(term, Term::Var(_))
}

/// Whether every member has the same steps for the columns of one class.
fn has_equal_steps(
    recursion: &Recursion,
    touched: &[Vec<ColumnId>],
    class: &[ColumnId],
    is_in: impl Fn(ColumnId) -> bool,
) -> bool {
    let none: IndexSet<(Vec<Term>, Vec<Goal>)> = IndexSet::new();
    let mut of_member = IdVec::like(&recursion.members, none);
    for (step, columns) in recursion.steps.iter().zip(touched) {
        if !columns.first().is_some_and(|first| is_in(*first)) {
            continue;
        }
        let (_, args) = &step.call;
        let terms = |all: &[Term]| -> Vec<Term> { class.iter().map(|column| *column.of(all)).collect() };
        let head = [terms(&step.head), terms(args)].concat();
        let clause = Clause { head, goals: step.goals.clone(), ..step.clause.clone() };
        let normal = ignore_singletons(clause, &[]);
        of_member[step.member].insert((normal.head, normal.goals));
    }
    let Some(first) = of_member.iter().next() else { return true };
    of_member.iter().all(|steps| steps.len() == first.len() && steps.iter().all(|step| first.contains(step)))
}

/// Union-find over a few columns.
struct Groups {
    parents: IdVec<ColumnId, ColumnId>,
}

impl Groups {
    fn new(count: usize) -> Self {
        Self { parents: ColumnId::all(count).collect() }
    }

    fn root(&self, column: ColumnId) -> ColumnId {
        let mut at = column;
        while self.parents[at] != at {
            at = self.parents[at];
        }
        at
    }

    fn join(&mut self, left: ColumnId, right: ColumnId) {
        let (left, right) = (self.root(left), self.root(right));
        self.parents[right] = left;
    }
}
