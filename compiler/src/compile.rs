//! One question from policy to statement: specialise, rewrite, plan, optimise, print.
//!
//! The stages run in this order and none returns to one before it. A question has several plans; each
//! candidate is optimised and printed in turn, and the first statement that the database takes is the answer.

use crate::algebra::verify::Verifier;
use crate::catalog::Catalog;
use crate::datalog::print::Names;
use crate::dialect::{self, Dialect, Features};
use crate::ir::{self, Program};
use crate::optimise::{self, Draft, Purpose, Setting};
use crate::plan::candidates::{Candidate, Candidates, first_fit};
use crate::plan::{Ends, Planned, Request};
use crate::question::{CompileError, Question, Shape, Statement};
use crate::rewrite::{self, Context, Form, Pass};
use crate::specialise;
use crate::sql;
use crate::sql::hosted::Values;

/// Where a statement runs, and how its values get there.
pub(crate) struct Target<'t> {
    purpose: Purpose,
    features: &'static Features,
    values: Values<'t>,
}

impl Target<'static> {
    /// The embedded store.
    pub(crate) const STORE: Self =
        Self { purpose: Purpose::Store, features: &dialect::STORE, values: Values::Parameters };
}

impl<'t> Target<'t> {
    /// One table for each kind of fact.
    pub(crate) fn tables(dialect: Dialect, values: Values<'t>) -> Self {
        Self { purpose: Purpose::Tables, features: dialect.features(), values }
    }
}

/// Compiles a question to one statement.
///
/// # Errors
/// [`CompileError::Refused`] if the answer cannot be enumerated or expressed.
pub(crate) fn statement(request: &Request<'_>, target: &Target<'_>) -> Result<Statement, CompileError> {
    let forms = forms(request, &mut |_, _| {})?;
    let candidates = Candidates::new(*request, &forms, Ends::Asked, target.features.limits.cursors.is_some());
    first_fit(candidates, |Candidate { planned, .. }| finish(request, target, planned, &mut |_, _| {}))
}

/// The forms of a question's program, best first; `observe` sees each after each pass.
///
/// # Errors
/// [`CompileError::Refused`] if the policy would be copied too often, or a type is missing.
pub(crate) fn forms(
    request: &Request<'_>,
    observe: &mut dyn FnMut(&'static Pass, &Form),
) -> Result<Vec<Form>, CompileError> {
    let Request { program, catalog, shape } = *request;
    let specialised = specialise::specialise(program, catalog, shape)?;
    Ok(rewrite::forms(specialised, &Context { program, catalog }, observe))
}

/// Optimises and prints a plan; `observe` sees it after each pass.
fn finish(
    request: &Request<'_>,
    target: &Target<'_>,
    mut planned: Planned,
    observe: &mut dyn FnMut(&optimise::Pass, &crate::algebra::Plan),
) -> Result<Statement, CompileError> {
    let Target { purpose, features, ref values } = *target;
    let setting =
        Setting { purpose, catalog: request.catalog, features, bindings: None, row: None, prefix: "" };
    let verifier =
        Verifier::of(request.program, request.catalog, &planned.extra_constants, &request.shape.vars);
    let mut draft = Draft { plan: planned.plan, embedded: Vec::new() };
    optimise::optimise(&mut draft, &verifier, &setting, observe)?;
    planned.plan = draft.plan;
    sql::to_sql(request.program, request.catalog, request.shape, &planned, features, values)
}

/// What the stages made of a question, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The stages; a pass that changed nothing is none of them.
    pub stages: Vec<Stage>,
    /// The statement.
    pub sql: String,
}

/// What one stage or pass made of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub title: String,
    /// Its result as text; a pass says first what it does.
    pub text: String,
}

impl Stage {
    fn new(title: &str, text: String) -> Self {
        Self { title: title.to_owned(), text }
    }
}

/// What each pass made of a program or a plan, without those that changed nothing.
struct Changes {
    before: String,
    stages: Vec<Stage>,
}

impl Changes {
    fn since(before: String) -> Self {
        Self { before, stages: Vec::new() }
    }

    fn after(&mut self, name: &str, does: &str, text: String) {
        if text != self.before {
            self.stages.push(Stage::new(&format!("after {name}"), format!("-- {does}\n{text}")));
            self.before = text;
        }
    }
}

/// Compiles a question for review, and says what each stage made of it.
///
/// # Errors
/// As [`statement`].
pub(crate) fn explain(
    program: &Program,
    catalog: &Catalog,
    question: &Question,
    dialect: Dialect,
) -> Result<Explanation, CompileError> {
    let shape = &Shape::of(program, question);
    let request = Request { program, catalog, shape };
    let target = Target::tables(dialect, Values::Parameters);
    let specialised = specialise::specialise(program, catalog, shape)?;
    let extra_constants = specialised.extra_constants.clone();
    let names = Names { program, catalog, extra_constants: &extra_constants, asked: &question.vars };
    let mut stages = vec![
        Stage::new("the policy as typed rules", ir::print::program(program)),
        Stage::new("the rules of this question", names.specialised(&specialised)),
    ];
    let before = stages.last().map(|stage| stage.text.clone()).unwrap_or_default();
    let mut passes: Vec<(&'static Pass, Form)> = Vec::new();
    let forms = rewrite::forms(specialised, &Context { program, catalog }, &mut |pass, form| {
        passes.push((pass, form.clone()));
    });
    let candidates = Candidates::new(request, &forms, Ends::Asked, target.features.limits.cursors.is_some());
    let mut planned_as = 0;
    let mut planned_stages = Vec::new();
    let statement = first_fit(candidates, |Candidate { form, planned, .. }| {
        planned_as = form;
        let plan = names.plan(&planned.plan);
        let mut changes = Changes::since(plan.clone());
        let statement = finish(&request, &target, planned, &mut |pass, plan| {
            changes.after(pass.name, pass.does, names.plan(plan));
        })?;
        planned_stages = vec![Stage::new("the plan", plan)];
        planned_stages.append(&mut changes.stages);
        Ok(statement)
    })?;
    let mut changes = Changes::since(before);
    if let Some(form) = forms.get(planned_as) {
        for (pass, after) in passes.iter().filter(|(pass, after)| form.passed(pass, after)) {
            changes.after(pass.name, pass.does, names.specialised(&after.program));
        }
        stages.append(&mut changes.stages);
        let strata = names.strata(&form.program, &form.program.strata());
        stages.push(Stage::new("in the order of evaluation", strata));
    }
    stages.append(&mut planned_stages);
    Ok(Explanation { stages, sql: statement.sql })
}

#[cfg(test)]
mod tests {
    use super::{optimise, rewrite};

    /// `ARCHITECTURE.md` has a table of each room's passes, in their order.
    #[test]
    fn the_architecture_lists_the_passes() {
        let page = include_str!("../ARCHITECTURE.md");
        let table = |passes: &[(&str, &str)]| {
            let rows = passes.iter().map(|(name, does)| format!("| `{name}` | {does} |\n"));
            format!("| pass | what it does |\n| --- | --- |\n{}\n", rows.collect::<String>())
        };
        let rewrites = [rewrite::SHRINK, rewrite::ROLES, rewrite::CLOSE].concat();
        let rewrites: Vec<_> = rewrites.iter().map(|pass| (pass.name, pass.does)).collect();
        let optimisations: Vec<_> = optimise::PASSES.iter().map(|pass| (pass.name, pass.does)).collect();
        for table in [table(&rewrites), table(&optimisations)] {
            assert!(page.contains(&table), "the page lacks\n{table}");
        }
    }
}
