//! The relational plan of one question.
//!
//! In: a [`Program`], a [`Catalog`] and a question's [`Shape`]. Out: a [`Plan`]: common table expressions
//! and an answer over them, without rules. Afterwards every join, its order and every fixpoint is decided;
//! only spelling is left to `sql`.
//!
//! The passes, in order:
//!
//! 1. [`specialise`](crate::specialise) copies the predicates for the question's types and literals;
//! 2. [`collapse`] turns hierarchies of roles into one scan;
//! 3. [`unify`] makes one relation of those with the same clauses;
//! 4. [`contained`] drops the ways to an answer that other rules find anyway;
//! 5. [`roles`] makes one relation of those that differ in a role, where several are asked for;
//! 6. [`linearise`] makes transitivity linear;
//! 7. [`absorb`] removes closures inside the same closure;
//! 8. [`planner`] finds the strata; [`conjunction`] orders each body; [`closure`] closes recursion, with the
//!    [`recursion`]'s classes of columns, from the demand of the enclosing [`scope`]; [`separable`] are the best
//!    of them. [`ends`] are what closures over stored facts start from; [`step`] says what is planned next,
//!    [`produce`] makes tables of calls;
//! 9. [`implied`] leaves out what the rows of a table imply, with [`columns`] that nobody reads then; [`guards`] are
//!    asked once. For a caller's database these wait until it is known what stored facts decide.
//!
//! [`verify`] checks the plan after each of the passes over it.

mod absorb;
pub(crate) mod algebra;
pub(crate) mod aliases;
mod answer;
mod build;
mod closure;
mod collapse;
mod columns;
mod conjunction;
pub(crate) mod ends;
mod contained;
pub(crate) mod exempt;
pub(crate) mod groups;
pub(crate) mod guards;
pub(crate) mod implied;
mod inclusion;
mod linearise;
mod planner;
pub(crate) mod print;
mod produce;
mod readings;
mod recursion;
mod repeats;
mod roles;
mod scope;
mod separable;
mod step;
mod unify;
mod values;
pub(crate) mod verify;

pub(crate) use answer::prune;

use crate::catalog::Catalog;
use crate::ir::{Constant, Program, RuleId};
use crate::limits;
use crate::question::{CompileError, Question, Shape};
use crate::refusal::Refusal;
use crate::specialise;
use crate::specialise::clause::{Root, Specialised, Term};
use algebra::Plan;
use ends::Ends;
use indexmap::IndexSet;
use planner::{Planner, Shares};
use print::Names;
use verify::{Keeps, Verifier};

/// A plan and the literals that it mentions beside the policy's.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// When the rows are not the whole answer, as a decision, and why.
    pub(crate) refusal: Option<(Plan, Refusal)>,
    pub(crate) extra_constants: IndexSet<Constant>,
    /// The rules that the question could reach.
    pub(crate) rules: IndexSet<RuleId>,
    /// Whether a plan with other [`Ends`] may differ.
    pub(crate) has_other_end: bool,
}

impl Planned {
    /// The same answers from less: for a plan that one statement runs as it is.
    ///
    /// # Errors
    /// [`CompileError::Bug`] if a pass broke the plan.
    pub(crate) fn shortened(
        mut self,
        program: &Program,
        catalog: &Catalog,
        shape: &Shape,
    ) -> Result<Self, CompileError> {
        let Self { plan, extra_constants, .. } = &mut self;
        let verifier = Verifier::of(program, catalog, extra_constants, &shape.vars);
        verifier.run("implied", plan, Keeps::AllButImplied, implied::drop_implied)?;
        verifier.run("guards", plan, Keeps::Once, guards::factor_decision)?;
        Ok(self)
    }
}

/// The stages between the program and the plan, as text.
#[derive(Debug)]
pub(crate) struct Stages {
    pub(crate) specialised: String,
    pub(crate) collapsed: String,
    pub(crate) strata: String,
    pub(crate) plan: String,
}

/// What becomes of a plan. One question has several plans, and the first of which something can be made is taken.
pub(crate) struct Aim<'a, T> {
    /// Makes it, or refuses a plan of which it would become too large.
    pub(crate) make: &'a mut dyn FnMut(Planned) -> Result<T, CompileError>,
    /// Whether [`make`](Self::make) tells itself what is too large. Otherwise a plan that reads its tables in many
    /// places is taken only if there is no other.
    pub(crate) measures: bool,
    /// From which end closures over stored facts start.
    pub(crate) ends: Ends,
}

/// Plans a question, and makes of the plan what is wanted.
pub(crate) fn plan<T>(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    mut aim: Aim<'_, T>,
) -> Result<T, CompileError> {
    let specialised = specialise::specialise(program, catalog, shape)?;
    let (made, _) = settle_and_finish(program, catalog, shape, specialised, &mut aim)?;
    Ok(made)
}

/// Plans a question for one statement, and tells how.
pub(crate) fn explain<T>(
    program: &Program,
    catalog: &Catalog,
    question: &Question,
    shape: &Shape,
    aim: Aim<'_, T>,
) -> Result<(T, Stages), CompileError> {
    let specialised = specialise::specialise(program, catalog, shape)?;
    let extra_constants = specialised.extra_constants.clone();
    let names = Names { program, catalog, extra_constants: &extra_constants, asked: &question.vars };
    let before = names.specialised(&specialised);
    let Aim { make, measures, ends } = aim;
    let mut make = |planned: Planned| {
        let planned = planned.shortened(program, catalog, shape)?;
        let plan = names.plan(&planned.plan);
        Ok((make(planned)?, plan))
    };
    let mut aim = Aim { make: &mut make, measures, ends };
    let ((made, plan), settled) = settle_and_finish(program, catalog, shape, specialised, &mut aim)?;
    let collapsed = names.specialised(&settled);
    let strata = names.strata(&settled, &planner::strata(&settled.relations));
    Ok((made, Stages { specialised: before, collapsed, strata, plan }))
}

/// The passes that leave clauses out.
fn shrink(mut specialised: Specialised) -> Specialised {
    collapse::collapse(&mut specialised);
    unify::unify(&mut specialised);
    contained::drop_contained(&mut specialised);
    specialised
}

/// Plans the relations, and returns those that were planned.
fn settle_and_finish<T>(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: Specialised,
    aim: &mut Aim<'_, T>,
) -> Result<(T, Specialised), CompileError> {
    let rules = rules(&specialised);
    let shrunk = shrink(specialised);
    let mut candidates = Vec::new();
    if asks_for_literals(&shrunk) {
        let mut with_roles = shrunk.clone();
        collapse::drop_unreachable(&mut with_roles);
        with_roles.shared = roles::reify(program, catalog, &mut with_roles);
        // Whatever picks its roles needs a list of them, and many lists are too much.
        candidates.push(settle(with_roles));
    }
    candidates.push(settle(shrunk));
    let mut refused = CompileError::Bug("no plan was tried".into());
    for is_last_resort in [false, true] {
        for settled in &candidates {
            let made = if is_last_resort {
                finish_shared(program, catalog, shape, settled, &rules, aim)
            } else {
                finish(program, catalog, shape, settled, &rules, aim)
            };
            match made {
                Ok(made) => return Ok((made, settled.clone())),
                Err(bug @ CompileError::Bug(_)) => return Err(bug),
                // The form that names roles may answer what the form with roles as data cannot enumerate.
                Err(error) if candidates.len() == 1 && !error.another_plan_may_help() => return Err(error),
                Err(_) if is_last_resort => {}
                Err(error) => refused = error,
            }
        }
    }
    Err(refused)
}

/// The passes from shrunk relations to the relations that are planned.
fn settle(mut specialised: Specialised) -> Specialised {
    linearise::linearise(&mut specialised);
    absorb::absorb(&mut specialised);
    collapse::drop_unreachable(&mut specialised);
    specialised
}

/// Whether the alternatives of the question differ in literals that they answer with, as actions do.
fn asks_for_literals(specialised: &Specialised) -> bool {
    let answers_literal =
        |root: &Root| root.outputs.iter().any(|output| matches!(output.term(), Some(Term::Const(_))));
    specialised.roots.iter().filter(|root| answers_literal(root)).nth(1).is_some()
}

/// The rules that clauses come from.
fn rules(specialised: &Specialised) -> IndexSet<RuleId> {
    let roots = specialised.roots.iter().map(|root| &root.clause);
    let clauses = specialised.relations.iter().flat_map(|relation| &relation.clauses);
    roots.chain(clauses).filter_map(|clause| clause.rule).collect()
}

/// Plans the settled relations with a table for each that has several clauses, which whatever needs it reads: the
/// smallest plan, and one that takes no account of who asks for what.
fn finish_shared<T>(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: &Specialised,
    rules: &IndexSet<RuleId>,
    aim: &mut Aim<'_, T>,
) -> Result<T, CompileError> {
    let how = (Shares::Relations, aim.ends);
    (aim.make)(attempt(program, catalog, shape, specialised, rules, how)?)
}

/// One plan of the settled relations.
fn attempt(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: &Specialised,
    rules: &IndexSet<RuleId>,
    (shares, ends): (Shares, Ends),
) -> Result<Planned, CompileError> {
    let extra_constants = specialised.extra_constants.clone();
    let mut planner = Planner::new(program, catalog, specialised.clone(), shares, ends);
    let answer = planner.answer(shape, &specialised.roots)?;
    let refusal = planner.take_refusal()?;
    let has_other_end = planner.has_other_end;
    let plan = planner.into_plan(answer);
    if cfg!(debug_assertions) {
        let verifier = Verifier::of(program, catalog, &extra_constants, &shape.vars);
        verifier.check("plan", &plan)?;
        refusal.iter().try_for_each(|(plan, _)| verifier.check("refusal", plan))?;
    }
    Ok(Planned { plan, refusal, extra_constants, rules: rules.clone(), has_other_end })
}

/// Plans the settled relations: with branches where they are tested, or, if that makes too much of it, with a table
/// for whatever is tested in several ways.
fn finish<T>(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: &Specialised,
    rules: &IndexSet<RuleId>,
    aim: &mut Aim<'_, T>,
) -> Result<T, CompileError> {
    let attempt = |shares: Shares| attempt(program, catalog, shape, specialised, rules, (shares, aim.ends));
    let mut make = |planned: Result<Planned, CompileError>| planned.and_then(&mut aim.make);
    let first = attempt(Shares::Rows);
    let is_large = |planned: &Planned| planned.plan.n_readings() > limits::TABLE_READINGS;
    if !aim.measures && first.as_ref().is_ok_and(is_large) {
        return or_else(make(attempt(Shares::Tests)), || make(first));
    }
    or_else(make(first), || make(attempt(Shares::Tests)))
}

/// What the first plan became; what the second one does if the first is refused and the second may not be. Refused
/// for the first one's reason if both are.
fn or_else<T>(
    first: Result<T, CompileError>,
    second: impl FnOnce() -> Result<T, CompileError>,
) -> Result<T, CompileError> {
    match first {
        Err(refused) if refused.another_plan_may_help() => match second() {
            Err(CompileError::Refused(_)) => Err(refused),
            made => made,
        },
        made => made,
    }
}

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
    use crate::question::{Domain, Question, QuestionAtom, QuestionVar, Shape};
    use crate::source::SourceMap;
    use crate::{Dialect, check, compile};

    /// Groups share once anybody has any role. Users have all roles but one under a condition, so nobody can list them.
    const POLICY: &str = r#"
        actor User {}
        actor Group {}
        resource Doc {
          roles = ["reader"];
          permissions = ["read", "share"];
          permission if "reader";
        }
        allow(actor: Actor, action, resource: Resource) if
          not banned(actor) and (has_permission(actor, action, resource) or has_role(actor, "owner", resource));
        linked(from: Doc, to: Doc) if has_role(_, "reader", to) and page(from);
        has_role(_: User, role: String, _: Doc) if linked(_, _) and role != "owner";
        has_permission(_: Group, "share", _: Doc) if has_role(_, _, _);
    "#;

    /// Where roles are data, they would have to be listed; a plan that names them asks only whether there is one.
    #[test]
    fn actions_are_planned_by_names_where_roles_cannot_be_listed() {
        let program = check(&SourceMap::new("policy.polar", POLICY)).program.expect("a policy");
        let relation = |predicate: &str, types: &[&str]| Relation {
            predicate: predicate.into(),
            args: types
                .iter()
                .map(|ty| RelationArg::Column { ty: (*ty).into(), column: "c".into() })
                .collect(),
            source: RelationSource::Table { name: predicate.into() },
        };
        let catalog = Catalog {
            relations: vec![
                relation("has_role", &["Group", "String", "Doc"]),
                relation("page", &["Doc"]),
                relation("banned", &["User"]),
            ],
        };
        let var = |ty: &str, domain| QuestionVar { name: String::new(), ty: Some(ty.into()), domain };
        let question = Question {
            vars: vec![
                var("Group", Domain::Given("g".into())),
                var("String", Domain::Wanted),
                var("Doc", Domain::Given("d".into())),
            ],
            atoms: vec![QuestionAtom { predicate: "allow".into(), args: vec![0, 1, 2] }],
            paged: false,
        };
        let compiled = compile(&program, &catalog, &Shape::of(&program, &question), Dialect::Postgresql);
        assert!(compiled.is_ok(), "{compiled:?}");
    }
}
