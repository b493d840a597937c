//! The result of each stage for a question, for `explain`.
//!
//! In: a question and how its statement was planned. Out: the stages in their order, each as text. Nothing is
//! recorded while questions are compiled: the stages run once more, with an observer.

use crate::compile::{self, Finishing, Target};
use crate::datalog::print::Names;
use crate::dialect::Dialect;
use crate::id_vec::IdVec;
use crate::ir;
use crate::pass::{Pass, Rewritable};
use crate::plan::{Approach, Planned, Request, plan};
use crate::question::{CompileError, Question, QuestionVar, QuestionVarId};
use crate::rewrite::{self, RoleForm};
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
#[derive(Clone)]
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
        self.add(pass.name, pass.does, text);
    }

    /// Adds the plan that is printed; it changes only if the database's parser needs the deepest tests first.
    pub(crate) fn printed(&mut self, text: String) {
        self.add("deepest-first", "moves the deepest tests first, for the database's parser", text);
    }

    /// Adds the plan of a step that finishes a statement.
    pub(crate) fn finishing(&mut self, step: Finishing<'_>, text: String) {
        match step {
            Finishing::Optimised(pass) => self.after(pass, text),
            Finishing::Printed => self.printed(text),
        }
    }

    fn add(&mut self, name: &str, does: &str, text: String) {
        if text != self.before {
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
    request: &Request<'_>,
    question: &Question,
    dialect: Dialect,
) -> Result<Explained, CompileError> {
    let Request { program, catalog, .. } = *request;
    let target = Target::tables(dialect, Values::Parameters);
    let (approach, _) = compile::planned_statement(request, &target)?;
    let (mut stages, planned) = to_plan(request, &question.vars, approach)?;
    let extra_constants = &planned.extra_constants.clone();
    let names = Names { program, catalog, extra_constants, question_vars: &question.vars };
    let mut changes = Changes::since(names.plan(&planned.plan));
    let statement = compile::finish(request, &target, planned, &mut |step, plan| {
        changes.finishing(step, names.plan(plan));
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
    question_vars: &IdVec<QuestionVarId, QuestionVar>,
    approach: Approach,
) -> Result<(Vec<Stage>, Planned), CompileError> {
    let Request { program, catalog, shape, deadline, .. } = *request;
    let specialised = specialise(program, catalog, shape, deadline)?;
    let extra_constants = &specialised.extra_constants.clone();
    let names = Names { program, catalog, extra_constants, question_vars };
    let rules = names.specialised(&specialised);
    let mut passes: Vec<(&'static Pass<RoleForm>, RoleForm)> = Vec::new();
    let forms = rewrite::forms(specialised, &request.context(), &mut |pass, form| {
        passes.push((pass, form.clone()));
    })?;
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

#[cfg(test)]
mod tests {
    use crate::catalog::{Catalog, Relation, RelationArg, RelationSource};
    use crate::check;
    use crate::deadline::Deadline;
    use crate::dialect::Dialect;
    use crate::question::{Question, QuestionVar};
    use crate::source::SourceMap;
    use std::fmt::Write as _;

    /// The titles of the stages of a check with this many nested denials, each after another one.
    fn titles(levels: usize) -> Vec<String> {
        let mut policy = "actor User {}\ndeclare decided(User, String);\n".to_owned();
        for level in 0..levels {
            let next = level + 1;
            let denied = format!("not decided(user, \"not {level}\") and not p{next}(user)");
            writeln!(policy, "p{level}(user: User) if decided(user, \"{level}\") and {denied};")
                .expect("a text grows");
        }
        writeln!(policy, "p{levels}(user: User) if decided(user, \"{levels}\");").expect("a text grows");
        let program = check(&SourceMap::new("policy.polar", &policy)).program.expect("a policy");
        let column = |ty: &str, column: &str| RelationArg::Column { ty: ty.into(), column: column.into() };
        let decided = Relation {
            predicate: "decided".into(),
            args: vec![column("User", "arg0"), column("String", "arg1")],
            source: RelationSource::Table { schema: None, name: "decided".into() },
        };
        let catalog = Catalog { relations: vec![decided].into() };
        let question = Question::atom("p0", vec![QuestionVar::given("who", "User", "ada")]);
        let explained = crate::explain(&program, &catalog, &question, Dialect::Sqlite, Deadline::NEVER);
        let explained = explained.expect("a statement");
        explained.stages.into_iter().map(|stage| stage.title).collect()
    }

    /// The plan that is shown last is the one that is printed.
    #[test]
    fn the_order_that_the_parser_needs_is_a_stage() {
        let last = |levels| titles(levels).pop();
        assert_ne!(last(3).as_deref(), Some("after deepest-first"));
        assert_eq!(last(9).as_deref(), Some("after deepest-first"));
    }
}
