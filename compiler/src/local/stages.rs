//! The result of each stage for one question about the caller's own database, for `explain`.
//!
//! In: the plan that answers it, with values and stored rows. Out: the stages from the policy to the plan
//! that is printed, each as text. The stages up to the plan run once more, in the way that made the plan.

use super::answer::Formed;
use super::fold::{Fetched, Folded};
use super::plan::LocalPlan;
use super::request::{LocalError, SqlRequest};
use super::ways::Taken;
use crate::datalog::print::Names;
use crate::optimise::{Draft, Purpose, Setting};
use crate::plan::Request;
use crate::question::{CompileError, Shape, Statement};
use crate::sql::within_parser;
use crate::stages::{Changes, Stage, to_plan};

impl LocalPlan {
    /// The result of each stage for one question, from the policy to the plan that is printed.
    ///
    /// # Errors
    /// As [`LocalPlan::sql`].
    pub fn stages<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: &mut dyn FnMut(&Statement, usize) -> Result<Fetched, E>,
    ) -> Result<Vec<Stage>, LocalError<E>> {
        let (plan, _) = self.fitting(request, fetch)?;
        stages(plan.taken(request, fetch)?, request).map_err(LocalError::Compile)
    }
}

/// The stages of a question in their order; passes that changed nothing are omitted.
fn stages(taken: Taken<'_>, request: &SqlRequest<'_>) -> Result<Vec<Stage>, CompileError> {
    let Taken { variant, folded: Folded { plan, embedded, .. }, constants, .. } = taken;
    let SqlRequest { program, catalog, question, form, deadline, .. } = *request;
    let shape = &Shape { vars: variant.vars.clone(), ..Shape::of(program, question) };
    let filters = form.filter_var().is_some();
    let posed = Request { program, catalog, shape, filters, deadline };
    let (mut stages, _) = to_plan(&posed, &question.vars, variant.approach)?;
    stages.append(&mut variant.stages(&posed)?);
    let extra_constants = &constants.clone();
    let names = Names { program, catalog, extra_constants, question_vars: &question.vars };
    stages.push(Stage::new("the plan with values and stored rows", names.plan(&plan)));
    let formed = Formed::new(variant, constants, Draft { plan, embedded }, request)?;
    let optimised = formed.optimised(request)?;
    stages.extend(choice(&formed.settings(request), &optimised.setting));
    let mut changes = Changes::since(names.plan(&formed.draft.plan));
    formed.after_passes(request, &optimised.setting, &mut |pass, plan| {
        changes.after(pass, names.plan(plan));
    })?;
    let (_, mut changes) = within_parser(&optimised.draft.plan, |plan| {
        let mut changes = changes.clone();
        changes.printed(names.plan(plan));
        let printed = formed.printed(request, plan, &optimised, &mut |pass, plan| {
            changes.after(pass, names.plan(plan));
        })?;
        Ok((printed, changes))
    })?;
    stages.append(&mut changes.stages);
    Ok(stages)
}

/// What a filter is optimised for, if there are several settings.
fn choice(settings: &[Setting<'_>], taken: &Setting<'_>) -> Option<Stage> {
    let text = match (taken.row, taken.purpose) {
        (Some(_), _) => "the row of the promised table whose key is the column's value",
        (None, Purpose::RowTest) => "a test of each row: it leads to other rows through a recursion",
        (None, _) => "the column's values: a condition needs both the column and a row of the promised table",
    };
    (settings.len() > 1).then(|| Stage::new("what the filter is optimised for", text.to_owned()))
}
