//! Roles as data: one relation of all roles where a question asks about several.
//!
//! In: a [`Specialised`] program of a question with several literal alternatives, such as *which actions*.
//! Each action needs other roles, and specialisation made a copy of every walk for each set of roles. Out:
//! the same answers over one copy, with the role as a column; what was a copy only picks its roles:
//!
//! ```text
//! maintains(u, r) :- has_role(u, one of "maintainer" "admin", r)         roles(u, r, x) :- has_role(u, x, r)
//! maintains(u, r) :- in(r, f), maintains_folder(u, f)              ─▶    roles(u, r, x) :- in(r, f), roles_folder(u, f, x)
//! administers(u, r) :- has_role(u, "admin", r)                           maintains(u, r) :- roles(u, r, x), x in {…}
//! administers(u, r) :- in(r, f), administers_folder(u, f)                administers(u, r) :- roles(u, r, x), x in {…}
//! ```
//!
//! Two relations are copies of each other if their clauses differ only in the set of roles, with calls for
//! roles read as calls of any copy. A clause that no role decides stays where it is, and a relation that has
//! one is not read as roles by others.

use super::literals::WithoutArg;
use super::partition::{ClassId, Classes, coarsest};
use crate::builtin::HAS_ROLE;
use crate::catalog::{Catalog, SourceId};
use crate::datalog::{Adornment, Clause, Goal, RelId, Relation, ScanArg, Specialised, Term};
use crate::id_vec::IdVec;
use crate::ir::{ConstId, Polarity, PredId, Program, TypeId, VarId};
use crate::others::Others;
use crate::refusal::VarName;
use indexmap::{IndexMap, IndexSet};
use std::collections::BTreeSet;

/// The roles that a relation's clauses ask for, ascending.
type Roles = Vec<ConstId>;

/// Where a clause gets its role from: a scan's column, or a call.
enum RoleSource<'c> {
    /// The clause's goals without the argument, and the roles that it asks for.
    Scan(WithoutArg<'c>, Roles),
    /// The call.
    Call(RoleCall<'c>),
}

/// A call for roles, and the other goals of its clause.
struct RoleCall<'c> {
    goals: Others<'c, Goal>,
    callee: RelId,
    args: &'c [Term],
    guards: &'c [(Term, ConstId)],
}

impl RoleCall<'_> {
    /// The clause's goals with another call in the place of this one.
    fn with(&self, rel: RelId, args: Vec<Term>) -> Vec<Goal> {
        let guards = self.guards.to_vec();
        self.goals.with(Goal::Call { polarity: Polarity::Positive, rel, args, guards })
    }
}

/// Gives the program relations of all roles, and returns them.
pub(super) fn reify(program: &Program, catalog: &Catalog, specialised: &mut Specialised) -> IndexSet<RelId> {
    let finder = RoleFinder { program, catalog, roles: IndexMap::new(), impure: IndexSet::new() };
    let finder = finder.find(specialised);
    let classes = finder.classes(specialised);
    // Copies come in the order of their first relation.
    let mut copies: IndexMap<ClassId, Copies<'_>> = IndexMap::new();
    for (rel, roles) in &finder.roles {
        let asking = Asking { rel: *rel, roles };
        let entry = copies.entry(classes[*rel]).and_modify(|copies| copies.others.push(asking));
        entry.or_insert_with(|| Copies { first: asking, others: Vec::new() });
    }
    if copies.values().all(|copies| copies.others.is_empty()) {
        return IndexSet::new();
    }
    // The new relations call each other: each has its id before any has its clauses. They are in the order of
    // the copies.
    let mut all_roles: IndexMap<ClassId, RelId> = IndexMap::new();
    for (class, Copies { first, .. }) in &copies {
        let Relation { pred, adornments, .. } = specialised.relations[first.rel].clone();
        let own = specialised.relations.push(Relation { pred, adornments, clauses: Vec::new() });
        all_roles.insert(*class, own);
    }
    for (Copies { first, .. }, own) in copies.values().zip(all_roles.values()) {
        let relation = finder.with_role(&specialised.relations[first.rel], *own, &classes, &all_roles);
        specialised.relations[*own] = relation;
    }
    let mut lists: IndexMap<&Roles, RelId> = IndexMap::new();
    for (Copies { first, others }, own) in copies.values().zip(all_roles.values()) {
        for Asking { rel, roles } in std::iter::once(first).chain(others) {
            let pred = specialised.relations[*rel].pred;
            let list =
                *lists.entry(roles).or_insert_with(|| specialised.relations.push(list_of(pred, roles)));
            let relation = &mut specialised.relations[*rel];
            let picks = picks(relation, *own, list);
            relation.clauses.retain(|clause| finder.place(*rel, clause).is_none());
            relation.clauses.push(picks);
        }
    }
    all_roles.into_values().collect()
}

/// A relation and the roles that its clauses ask for.
#[derive(Clone, Copy)]
struct Asking<'f> {
    rel: RelId,
    roles: &'f Roles,
}

/// Relations that differ in their roles alone.
struct Copies<'f> {
    first: Asking<'f>,
    others: Vec<Asking<'f>>,
}

/// Finds relations whose clauses ask for one set of roles.
struct RoleFinder<'f> {
    program: &'f Program,
    catalog: &'f Catalog,
    /// The relations found, with their roles. INVARIANT: a relation that [`RoleSource::Call`] names has some.
    roles: IndexMap<RelId, Roles>,
    /// Those of them that also have other clauses.
    impure: IndexSet<RelId>,
}

impl RoleFinder<'_> {
    fn find(mut self, specialised: &Specialised) -> Self {
        let mut mixed: IndexSet<RelId> = IndexSet::new();
        loop {
            self.roles.clear();
            self.find_roles(specialised, &mut mixed);
            let before = self.impure.len();
            let is_impure = |rel: &&RelId| {
                let clauses = &specialised.relations[**rel].clauses;
                clauses.iter().any(|clause| self.place(**rel, clause).is_none())
            };
            let impure: Vec<RelId> = self.roles.keys().filter(is_impure).copied().collect();
            self.impure.extend(impure);
            if self.impure.len() == before {
                return self;
            }
        }
    }

    /// The roles of each relation that is not mixed, where those found impure count as unknown to others.
    fn find_roles(&mut self, specialised: &Specialised, mixed: &mut IndexSet<RelId>) {
        loop {
            let mut changed = false;
            for (rel, relation) in specialised.relations.enumerate() {
                if mixed.contains(&rel) {
                    continue;
                }
                for clause in &relation.clauses {
                    let Some(place) = self.place(rel, clause) else { continue };
                    let roles = match place {
                        RoleSource::Scan(_, roles) => Some(roles),
                        RoleSource::Call(call) => self.roles.get(&call.callee).cloned(),
                    };
                    let Some(roles) = roles else { continue };
                    match self.roles.get(&rel) {
                        None => {
                            self.roles.insert(rel, roles);
                            changed = true;
                        }
                        Some(known) if *known == roles => {}
                        Some(_) => {
                            mixed.insert(rel);
                            // What was found may rest on this relation: begin again without it.
                            self.roles.clear();
                            changed = true;
                            break;
                        }
                    }
                }
            }
            if !changed {
                return;
            }
        }
    }

    /// Where a clause gets its role from, if from one place only.
    fn place<'c>(&self, rel: RelId, clause: &'c Clause) -> Option<RoleSource<'c>> {
        let mut found = None;
        for (goals, goal) in Others::each(&clause.goals) {
            let place = match goal {
                Goal::Scan { polarity: Polarity::Positive, source, args, guards }
                    if self.is_role(*source) =>
                {
                    let args = Others::each(args);
                    let mut asking = args.filter_map(|(others, arg)| Some((others, self.literals(arg)?)));
                    let Some((args, roles)) = asking.next() else { continue };
                    if asking.next().is_some() {
                        return None;
                    }
                    RoleSource::Scan(WithoutArg { goals, source: *source, args, guards }, roles)
                }
                Goal::Call { polarity: Polarity::Positive, rel: callee, args, guards }
                    if !self.impure.contains(callee)
                        && (*callee == rel || self.roles.contains_key(callee)) =>
                {
                    RoleSource::Call(RoleCall { goals, callee: *callee, args, guards })
                }
                _ => continue,
            };
            if found.replace(place).is_some() {
                return None;
            }
        }
        found
    }

    fn is_role(&self, source: SourceId) -> bool {
        self.catalog.relations[source].predicate == HAS_ROLE
    }

    /// The String literals that a scan's argument is one of, ascending.
    fn literals(&self, arg: &ScanArg) -> Option<Roles> {
        let literals = match arg {
            ScanArg::OneOf(literals) => literals.clone(),
            ScanArg::Term(Term::Const(literal)) => vec![*literal],
            ScanArg::Term(_) => return None,
        };
        let is_string = |literal: &ConstId| {
            let held = self.program.constants.get_index(literal.index());
            held.is_some_and(|held| held.ty == TypeId::STRING)
        };
        literals.iter().all(is_string).then_some(literals)
    }

    /// A relation like this one, of all roles.
    fn with_role(
        &self,
        relation: &Relation,
        own: RelId,
        classes: &Classes,
        all_roles: &IndexMap<ClassId, RelId>,
    ) -> Relation {
        let clauses = relation.clauses.iter().filter_map(|clause| {
            let place = self.place(own, clause)?;
            let mut var_names = clause.var_names.clone();
            let role = Term::Var(var_names.push(VarName::Made("role".into())));
            let with_role = |terms: &[Term]| [terms, &[role]].concat();
            let goals = match place {
                RoleSource::Scan(without, _) => without.with(ScanArg::Term(role)),
                RoleSource::Call(call) => call.with(all_roles[&classes[call.callee]], with_role(call.args)),
            };
            Some(Clause { rule: clause.rule, head: with_role(&clause.head), goals, var_names })
        });
        let mut adornments = relation.adornments.clone();
        let clauses = clauses.collect();
        adornments.push(Adornment::Column(TypeId::STRING));
        Relation { pred: relation.pred, adornments, clauses }
    }
}

/// `list(role)`: one clause per role.
fn list_of(pred: PredId, roles: &Roles) -> Relation {
    let clause = |role: &ConstId| Clause {
        rule: None,
        head: vec![Term::Const(*role)],
        goals: Vec::new(),
        var_names: IdVec::new(),
    };
    Relation {
        pred,
        adornments: vec![Adornment::Column(TypeId::STRING)],
        clauses: roles.iter().map(clause).collect(),
    }
}

/// `rel(…) :- all(…, role), list(role)`
fn picks(relation: &Relation, all: RelId, list: RelId) -> Clause {
    let made = |column| VarName::Made(format!("v{column}").into());
    let mut var_names: IdVec<VarId, VarName> = (0..relation.n_columns()).map(made).collect();
    let head: Vec<Term> = var_names.ids().map(Term::Var).collect();
    let role = Term::Var(var_names.push(VarName::Made("role".into())));
    let call = |rel, args| Goal::Call { polarity: Polarity::Positive, rel, args, guards: Vec::new() };
    let rule = relation.clauses.iter().find_map(|clause| clause.rule);
    let mut args = head.clone();
    args.push(role);
    Clause { rule, head, goals: vec![call(all, args), call(list, vec![role])], var_names }
}

/// What is left of a clause without its roles: head, goals, and the class of what it calls for roles.
type WithoutRoles = (Vec<Term>, Vec<Goal>, Option<ClassId>);

impl RoleFinder<'_> {
    /// Sorts the relations that have roles into copies of each other; all others are in a class without
    /// meaning.
    fn classes(&self, specialised: &Specialised) -> Classes {
        let called = |rel: RelId, clause: &Clause| match self.place(rel, clause)? {
            RoleSource::Call(call) => Some(call.callee),
            RoleSource::Scan(..) => None,
        };
        let calls = specialised.relations.enumerate().map(|(rel, relation)| {
            let clauses = relation.clauses.iter().filter(|_| self.roles.contains_key(&rel));
            clauses.filter_map(|clause| called(rel, clause)).collect()
        });
        coarsest(&calls.collect(), |rel, classes| {
            let relation = self.roles.contains_key(&rel).then(|| &specialised.relations[rel])?;
            let columns = relation.adornments.iter().filter(|adornment| adornment.has_column()).copied();
            let without =
                relation.clauses.iter().filter_map(|clause| self.without_roles(rel, clause, classes));
            Some((columns.collect::<Vec<_>>(), without.collect::<BTreeSet<WithoutRoles>>()))
        })
    }

    /// A clause without its roles, its calls read as calls of classes and its variables in order.
    fn without_roles(&self, rel: RelId, clause: &Clause, classes: &Classes) -> Option<WithoutRoles> {
        let place = self.place(rel, clause)?;
        let mut head = clause.head.clone();
        let (mut goals, class) = match place {
            RoleSource::Scan(without, _) => (without.with(ScanArg::OneOf(Vec::new())), None),
            RoleSource::Call(call) => {
                (call.with(RelId::ERASED, call.args.to_vec()), Some(classes[call.callee]))
            }
        };
        let mut numbers: IndexSet<VarId> = IndexSet::new();
        let mut number = |term: &mut Term| {
            if let Term::Var(var) | Term::Local(var) = term {
                *var = VarId::from_index(numbers.insert_full(*var).0);
            }
        };
        head.iter_mut().for_each(&mut number);
        goals.iter_mut().for_each(|goal| goal.for_each_term_mut(&mut number));
        Some((head, goals, class))
    }
}
