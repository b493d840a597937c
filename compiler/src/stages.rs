//! The result of each stage for a question, for `explain`.
//!
//! In: a question and how its statement was planned. Out: the stages in their order, each as text. Nothing is
//! recorded while questions are compiled: the stages run once more, with an observer.

use crate::catalog::Catalog;
use crate::compile::{self, Target};
use crate::datalog::print::Names;
use crate::dialect::Dialect;
use crate::id_vec::IdVec;
use crate::ir::{self, Program};
use crate::pass::{Pass, Rewritable};
use crate::plan::{Approach, Planned, Request, plan};
use crate::question::{CompileError, Question, QuestionVar, QuestionVarId, Shape};
use crate::rewrite::{self, Context, RoleForm};
use crate::specialise::specialise;
use crate::sql::hosted::Values;

/// The results of the stages for a question, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explained {
    /// The stages; passes that changed nothing are omitted.
    pub stages: Vec<Stage>,
    /// The statement.
    pub sql: String,
}

/// The result of one stage or pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Its name.
    pub title: String,
    /// Its result as text; a pass says first what it does.
    pub text: String,
}

impl Stage {
    pub(crate) fn new(title: &str, text: String) -> Self {
        Self { title: title.to_owned(), text }
    }
}

/// The program or plan after each pass that changed it.
pub(crate) struct Changes {
    before: String,
    pub(crate) stages: Vec<Stage>,
}

impl Changes {
    /// Nothing has changed since this text.
    pub(crate) fn since(before: String) -> Self {
        Self { before, stages: Vec::new() }
    }

    /// Adds a pass if it changed the text.
    pub(crate) fn after<R: Rewritable>(&mut self, pass: &Pass<R>, text: String) {
        if text != self.before {
            let Pass { name, does, .. } = pass;
            self.stages.push(Stage::new(&format!("after {name}"), format!("-- {does}\n{text}")));
            self.before = text;
        }
    }
}

/// Compiles a question for review, and returns the result of each stage.
///
/// # Errors
/// As [`compile::statement`].
pub(crate) fn explain(
    program: &Program,
    catalog: &Catalog,
    question: &Question,
    dialect: Dialect,
) -> Result<Explained, CompileError> {
    let shape = &Shape::of(program, question);
    let request = Request { program, catalog, shape };
    let target = Target::tables(dialect, Values::Parameters);
    let (approach, statement) = compile::planned_statement(&request, &target)?;
    let (mut stages, planned) = to_plan(&request, &question.vars, approach)?;
    let extra_constants = &planned.extra_constants.clone();
    let names = Names { program, catalog, extra_constants, asked: &question.vars };
    let mut changes = Changes::since(names.plan(&planned.plan));
    compile::finish(&request, &target, planned, &mut |pass, plan| {
        changes.after(pass, names.plan(plan));
    })?;
    stages.append(&mut changes.stages);
    Ok(Explained { stages, sql: statement.sql })
}

/// The stages from the policy to the plan that is made in one way, and that plan; `asked` are the question's
/// variables.
///
/// # Errors
/// [`CompileError::Refused`] if the question cannot be planned so.
pub(crate) fn to_plan(
    request: &Request<'_>,
    asked: &IdVec<QuestionVarId, QuestionVar>,
    approach: Approach,
) -> Result<(Vec<Stage>, Planned), CompileError> {
    let Request { program, catalog, shape } = *request;
    let specialised = specialise(program, catalog, shape)?;
    let extra_constants = &specialised.extra_constants.clone();
    let names = Names { program, catalog, extra_constants, asked };
    let rules = names.specialised(&specialised);
    let mut passes: Vec<(&'static Pass<RoleForm>, RoleForm)> = Vec::new();
    let forms = rewrite::forms(specialised, &Context { program, catalog }, &mut |pass, form| {
        passes.push((pass, form.clone()));
    });
    let planned = plan(request, &forms, approach)?;
    let mut stages = vec![
        Stage::new("the policy as typed rules", ir::print::program(program)),
        Stage::new("the rules of this question", rules.clone()),
    ];
    let form = &forms[approach.form];
    let mut changes = Changes::since(rules);
    for (pass, after) in passes.iter().filter(|(pass, after)| form.passed(pass, after)) {
        changes.after(pass, names.specialised(&after.program));
    }
    stages.append(&mut changes.stages);
    let strata = names.strata(&form.program, &form.program.strata());
    stages.push(Stage::new("in the order of evaluation", strata));
    stages.push(Stage::new("the plan", names.plan(&planned.plan)));
    Ok((stages, planned))
}
