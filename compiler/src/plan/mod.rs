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
//!    of them. [`step`] says what is planned next, [`produce`] makes tables of calls;
//! 9. [`implied`] leaves out what the rows of a table imply, with [`columns`] that nobody reads then; [`guards`] are
//!    asked once. For a caller's database these wait until it is known what stored facts decide.

mod absorb;
pub(crate) mod algebra;
pub(crate) mod aliases;
mod answer;
mod build;
mod closure;
mod collapse;
mod columns;
mod conjunction;
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
mod recursion;
mod repeats;
mod roles;
mod scope;
mod separable;
mod step;
mod unify;
mod values;

pub(crate) use answer::prune;

use crate::catalog::Catalog;
use crate::ir::{Constant, Program, RuleId};
use crate::limits;
use crate::question::{CompileError, Shape};
use crate::specialise;
use crate::specialise::clause::{Root, Specialised, Term};
use algebra::Plan;
use indexmap::IndexSet;
use planner::Planner;
use print::Names;

/// A plan and the literals that it mentions beside the policy's.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) plan: Plan,
    /// When the rows are not the whole answer, as a decision, and why.
    pub(crate) refusal: Option<(Plan, String)>,
    pub(crate) extra_constants: IndexSet<Constant>,
    /// The rules that the question could reach.
    pub(crate) rules: IndexSet<RuleId>,
}

impl Planned {
    /// The same answers from less: for a plan that one statement runs as it is.
    pub(crate) fn shortened(mut self) -> Self {
        implied::drop_implied(&mut self.plan);
        guards::factor_decision(&mut self.plan);
        self
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

/// Plans a question. `expands_tables` says whether the database expands a table wherever it is read, and so
/// bounds how often.
pub(crate) fn plan(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    expands_tables: bool,
) -> Result<Planned, CompileError> {
    let specialised = specialise::specialise(program, catalog, shape)?;
    let (planned, _) = settle_and_finish(program, catalog, shape, specialised, expands_tables)?;
    Ok(planned)
}

/// Plans a question for one statement, and tells how.
pub(crate) fn explain(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    expands_tables: bool,
) -> Result<(Planned, Stages), CompileError> {
    let specialised = specialise::specialise(program, catalog, shape)?;
    let extra_constants = specialised.extra_constants.clone();
    let names = Names { program, catalog, extra_constants: &extra_constants };
    let before = names.specialised(&specialised);
    let (planned, settled) = settle_and_finish(program, catalog, shape, specialised, expands_tables)?;
    let planned = planned.shortened();
    let collapsed = names.specialised(&settled);
    let strata = names.strata(&settled, &planner::strata(&settled.relations));
    let plan = names.plan(&planned.plan);
    Ok((planned, Stages { specialised: before, collapsed, strata, plan }))
}

/// The passes that leave clauses out.
fn shrink(mut specialised: Specialised) -> Specialised {
    collapse::collapse(&mut specialised);
    unify::unify(&mut specialised);
    contained::drop_contained(&mut specialised);
    specialised
}

/// Plans the relations, and returns those that were planned.
fn settle_and_finish(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: Specialised,
    expands_tables: bool,
) -> Result<(Planned, Specialised), CompileError> {
    let rules = rules(&specialised);
    let shrunk = shrink(specialised);
    if asks_for_literals(&shrunk) {
        let mut with_roles = shrunk.clone();
        collapse::drop_unreachable(&mut with_roles);
        with_roles.shared = roles::reify(program, catalog, &mut with_roles);
        let settled = settle(with_roles);
        match finish(program, catalog, shape, &settled, expands_tables, &rules) {
            Ok(planned) => return Ok((planned, settled)),
            // Whatever picks its roles needs a list of them, and many lists are too much.
            Err(CompileError::Refused(_)) => {}
            Err(error @ CompileError::Bug(_)) => return Err(error),
        }
    }
    let settled = settle(shrunk);
    Ok((finish(program, catalog, shape, &settled, expands_tables, &rules)?, settled))
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

/// Plans the settled relations: with branches where they are tested, or, if that makes the statement too
/// large, with a table for whatever is tested in several ways.
fn finish(
    program: &Program,
    catalog: &Catalog,
    shape: &Shape,
    specialised: &Specialised,
    expands_tables: bool,
    rules: &IndexSet<RuleId>,
) -> Result<Planned, CompileError> {
    let attempt = |shares_tests: bool| {
        let extra_constants = specialised.extra_constants.clone();
        let mut planner = Planner::new(program, catalog, specialised.clone(), shares_tests);
        let answer = planner.answer(shape, &specialised.roots)?;
        let refusal = planner.take_refusal()?;
        Ok(Planned { plan: planner.into_plan(answer), refusal, extra_constants, rules: rules.clone() })
    };
    let fits = |planned: &Planned| planned.plan.n_readings() <= limits::TABLE_READINGS;
    let first = attempt(false);
    if matches!(&first, Err(CompileError::Bug(_))) || matches!(&first, Ok(planned) if fits(planned)) {
        return first;
    }
    match attempt(true) {
        Ok(planned) if !expands_tables || fits(&planned) => Ok(planned),
        Ok(_) => Err(CompileError::Refused(format!(
            "the question reads the results of recursive rules in too many places for one statement, which takes {}: give its variables types or values, or split the rules",
            limits::TABLE_READINGS
        ))),
        Err(_) if !expands_tables => first,
        Err(error) => Err(first.err().unwrap_or(error)),
    }
}
