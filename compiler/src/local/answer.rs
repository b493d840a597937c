//! The SQL of one question: which plan answers it, in which form.
//!
//! In: a [`LocalPlan`] and a question of its shape. Out: a [`LocalSql`]. A plan whose rows would not be the
//! whole answer is not printed: a filter tests each row then, and any other form is refused.

use super::filter::{Arranging, arranged, asks_column_inside, row_name, shown};
use super::fold::{Fetch, Fetched, Folded};
use super::plan::LocalPlan;
use super::request::{LocalError, SqlDetail, SqlForm, SqlRequest};
use super::value_pattern::places;
use super::variant::Variant;
use super::ways::{Taken, Ways};
use super::{LocalSql, filter, split};
use crate::algebra::verify::Verifier;
use crate::algebra::{AnswerColumns, Expr, FromKind, Plan, PlanAnswer, prune};
use crate::catalog::{BindingId, Catalog, ColumnId, RelationSource, SourceId};
use crate::datalog::print::Names;
use crate::ir::Constant;
use crate::optimise::{Draft, Purpose, Setting, optimise, widths};
use crate::pass::Pass;
use crate::question::{AnswerColumn, CompileError, QuestionVarId, Statement};
use crate::refusal::Refusal;
use crate::sql::local::caller::free_prefix;
use crate::sql::local::filter::Filter;
use crate::sql::local::statement::LocalStatement;
use crate::sql::local::template::Template;
use crate::sql::outline::Outline;
use crate::sql::within_parser;
use indexmap::IndexSet;

impl LocalPlan {
    /// The SQL of one question; `fetch` runs a part's statement, with the question's values, on the store,
    /// and says [`Fetched::TooMany`] beyond this number of rows.
    ///
    /// # Errors
    /// [`LocalError::Compile`] if the answer would not be whole or the text too large, [`LocalError::Fetch`]
    /// for what `fetch` fails with.
    pub fn sql<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: &mut dyn FnMut(&Statement, usize) -> Result<Fetched, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        let (_, text) = self.fitting(request, fetch)?;
        text.map_err(LocalError::Compile)
    }

    /// The plan itself and its text, or the shallow one and its text if the first text overflows the
    /// database's parser.
    pub(super) fn fitting<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: Fetch<'_, E>,
    ) -> Result<(&Self, Result<LocalSql, CompileError>), LocalError<E>> {
        match (&self.shallow, text(self.taken(request, fetch)?, request)) {
            (Some(shallow), Err(CompileError::Refused(refusal))) if refusal.overflows_parser() => {
                Ok((shallow, text(shallow.taken(request, fetch)?, request)))
            }
            (_, text) => Ok((self, text)),
        }
    }

    /// The plan that answers one question, with values and stored rows in it.
    pub(super) fn taken<E>(
        &self,
        request: &SqlRequest<'_>,
        fetch: Fetch<'_, E>,
    ) -> Result<Taken<'_>, LocalError<E>> {
        if request.catalog.relations.len() != self.n_relations {
            return Err(LocalError::Compile(CompileError::Bug("a plan over another catalog".into())));
        }
        let incomplete = match &self.refusal {
            None => None,
            Some((ways, refusal)) => {
                let Taken { folded, .. } = ways.fold(request, fetch)?;
                (!folded.plan.answer.selects().is_empty()).then_some(refusal)
            }
        };
        let ways = match (&self.ways, incomplete) {
            (Ok(ways), None) => ways,
            (Err(refusal), _) | (Ok(_), Some(refusal)) => {
                self.by_row(refusal).map_err(LocalError::Compile)?
            }
        };
        ways.fold(request, fetch)
    }

    /// A filter that tests each row, where the values that pass cannot be enumerated.
    fn by_row(&self, refusal: &Refusal) -> Result<&Ways, CompileError> {
        self.row.as_ref().ok_or_else(|| CompileError::Refused(refusal.clone()))
    }
}

/// The text of a plan with every value in it.
fn text(taken: Taken<'_>, request: &SqlRequest<'_>) -> Result<LocalSql, CompileError> {
    let Taken { variant, folded: Folded { plan, embedded, read }, constants, end } = taken;
    let SqlRequest { program, catalog, .. } = *request;
    let bindings = bindings(&plan, catalog);
    let explained = if request.detail == SqlDetail::Explained {
        Names { program, catalog, extra_constants: &constants, question_vars: &request.question.vars }
            .plan(&plan)
    } else {
        String::new()
    };
    let formed = Formed::new(variant, constants, Draft { plan, embedded }, request)?;
    let optimised = formed.optimised(request)?;
    let printed = within_parser(&optimised.draft.plan, |plan| {
        formed.printed(request, plan, &optimised, &mut |_, _| {})
    });
    let (template, outline) = printed.map_err(|error| error.at_rule(variant.largest_rule))?;
    let embedded = read.into_iter().map(|(part, n_rows)| (variant.predicates(part, catalog), n_rows));
    Ok(LocalSql {
        template,
        plan: explained,
        outline,
        rules: variant.rules.iter().copied().collect(),
        bindings,
        end,
        embedded: embedded.collect(),
    })
}

/// A plan with every value in it that answers what one form of SQL shows.
pub(super) struct Formed<'v> {
    variant: &'v Variant,
    constants: IndexSet<Constant>,
    /// The prefix of its tables' names, which no name in the caller's queries begins with.
    prefix: String,
    pub(super) draft: Draft,
}

/// An optimised plan.
pub(super) struct Optimised<'s> {
    pub(super) draft: Draft,
    /// The setting it was optimised for.
    pub(super) setting: Setting<'s>,
}

impl<'v> Formed<'v> {
    /// Keeps the variable of a filter, and names tables apart from the caller's queries.
    pub(super) fn new(
        variant: &'v Variant,
        constants: IndexSet<Constant>,
        mut draft: Draft,
        request: &SqlRequest<'_>,
    ) -> Result<Self, CompileError> {
        let of_column = match request.form {
            SqlForm::Filter { var, column } => {
                project(&mut draft.plan, *var)?;
                column.words.as_slice()
            }
            SqlForm::Decision { .. } | SqlForm::Rows { .. } | SqlForm::List { .. } => &[],
        };
        let words = request.bindings.facts.iter().flat_map(|binding| &binding.query.words);
        let prefix = free_prefix(words.chain(of_column).map(String::as_str));
        for table in &mut draft.plan.tables {
            table.name.insert_str(0, &prefix);
        }
        Ok(Self { variant, constants, prefix, draft })
    }

    /// The plan, optimised for the first of its settings that fits.
    pub(super) fn optimised<'s>(&'s self, request: &SqlRequest<'s>) -> Result<Optimised<'s>, CompileError> {
        for setting in self.settings(request) {
            let draft = self.after_passes(request, &setting, &mut |_, _| {})?;
            if self.fits(&setting, &draft.plan) {
                return Ok(Optimised { draft, setting });
            }
        }
        Err(CompileError::Bug("no setting fits the plan".into()))
    }

    /// Whether the passes for a setting have made what it needs. A plan that takes the row as given may have
    /// tables that start from it; then each row stays a test of its own.
    fn fits(&self, setting: &Setting<'_>, plan: &Plan) -> bool {
        let is_given = self.variant.tests_each_row() && setting.row.is_some();
        filter::fits(setting, plan) && !(is_given && tables_start_from_row(plan))
    }

    /// What the plan may be optimised for, best first; the last always fits.
    ///
    /// A filter over another column with a table's keys is optimised for a row of the table, or else as one
    /// that answers with the column's values. The first fits if each condition needs either the row, which
    /// has to exist, or the column alone; this is known only once passes have moved conditions. A filter that
    /// takes the row as given reads the row's own columns if it can.
    pub(super) fn settings<'s>(&'s self, request: &SqlRequest<'s>) -> Vec<Setting<'s>> {
        let setting = Setting {
            purpose: purpose(request.form, self.variant),
            catalog: request.catalog,
            features: request.bindings.dialect.features(),
            bindings: Some(request.bindings),
            row: filter::row(request),
            prefix: &self.prefix,
            deadline: request.deadline,
        };
        let tests_each_row = self.variant.tests_each_row();
        match setting.row {
            Some(row) if tests_each_row && !row.is_looked_up => {
                let as_row = Setting { purpose: Purpose::Filter, ..setting };
                vec![as_row, Setting { row: None, ..setting }]
            }
            Some(_) if tests_each_row => vec![Setting { row: None, ..setting }],
            Some(row) if row.is_looked_up => vec![setting, Setting { row: None, ..setting }],
            Some(_) | None => vec![setting],
        }
    }

    /// Runs the passes for a setting; `observe` sees the plan after each.
    pub(super) fn after_passes(
        &self,
        request: &SqlRequest<'_>,
        setting: &Setting<'_>,
        observe: &mut dyn FnMut(&Pass<Draft>, &Plan),
    ) -> Result<Draft, CompileError> {
        let mut draft = self.draft.clone();
        optimise(&mut draft, &self.verifier(request, setting), setting, observe)?;
        Ok(draft)
    }

    /// Prints an optimised plan in the form that is wanted; `observe` sees a filter after each pass that
    /// arranges it.
    pub(super) fn printed(
        &self,
        request: &SqlRequest<'_>,
        plan: &Plan,
        optimised: &Optimised<'_>,
        observe: &mut dyn FnMut(&Pass<Filter>, &Plan),
    ) -> Result<(Template, Outline), CompileError> {
        let filter = self.arranged(request, plan, optimised, observe)?;
        let Optimised { draft: Draft { embedded, .. }, setting } = optimised;
        let widths = widths(embedded);
        let statement = LocalStatement {
            verifier: Verifier { embedded: &widths, ..self.verifier(request, setting) },
            program: request.program,
            catalog: request.catalog,
            constants: &self.constants,
            dialect: request.bindings.dialect,
            bindings: request.bindings,
            embedded,
            places: &places(request.program, &self.constants, request.question),
            prefix: &self.prefix,
            deadline: request.deadline,
        };
        let outline = || {
            if request.detail == SqlDetail::Explained { statement.outline(plan) } else { Outline::default() }
        };
        match request.form {
            SqlForm::Decision { name } => Ok((statement.decision(plan, name)?, outline())),
            SqlForm::List { name } => Ok((statement.list(plan, name)?, outline())),
            SqlForm::Rows { columns } => {
                let names = output_columns(plan, columns)?;
                Ok((statement.rows(plan, &names)?, outline()))
            }
            SqlForm::Filter { var, column } => {
                filter::print(statement, plan, filter.as_ref(), *var, column, request)
            }
        }
    }

    /// An optimised plan, arranged as a filter, if the form is one whose column has the answers; `observe`
    /// sees it after each pass.
    fn arranged(
        &self,
        request: &SqlRequest<'_>,
        plan: &Plan,
        optimised: &Optimised<'_>,
        observe: &mut dyn FnMut(&Pass<Filter>, &Plan),
    ) -> Result<Option<Filter>, CompileError> {
        let Optimised { draft: Draft { embedded, .. }, setting } = optimised;
        // A filter that tests each row is printed as it is.
        let (SqlForm::Filter { var, column }, Purpose::Filter) = (request.form, setting.purpose) else {
            return Ok(None);
        };
        let widths = widths(embedded);
        let verifier = Verifier { embedded: &widths, ..self.verifier(request, setting) };
        let arranging = Arranging { plan, setting, embedded, verifier, column };
        let observe = &mut |pass: &_, filter: &_| observe(pass, &shown(filter, *var, &plan.tables));
        let mut filter = arranged(&arranging, observe)?;
        if !column.is_qualified() && asks_column_inside(&filter) {
            return Err(CompileError::Bug("an unqualified column inside a query".into()));
        }
        filter.row = row_name(setting, column);
        Ok(Some(filter))
    }

    fn verifier<'s>(&'s self, request: &SqlRequest<'s>, setting: &Setting<'_>) -> Verifier<'s> {
        let column = setting.row.map(|row| row.var).or(self.variant.column);
        Verifier { column, ..self.variant.verifier(request, &self.constants, &[]) }
    }
}

/// What a form's statement is for. A filter that tests each row is printed as it is.
fn purpose(form: &SqlForm, variant: &Variant) -> Purpose {
    match form {
        SqlForm::Decision { .. } => Purpose::Check,
        SqlForm::List { .. } => Purpose::List,
        SqlForm::Rows { .. } => Purpose::Rows,
        SqlForm::Filter { .. } if variant.tests_each_row() => Purpose::RowTest,
        SqlForm::Filter { .. } => Purpose::Filter,
    }
}

/// The caller's queries that a plan reads.
fn bindings(plan: &Plan, catalog: &Catalog) -> Vec<BindingId> {
    let bound = |source: SourceId| match catalog.relations[source].source {
        RelationSource::Bound { binding, .. } => Some(binding),
        RelationSource::Table { .. } | RelationSource::Context { .. } => None,
    };
    split::sources(plan).into_iter().filter_map(bound).collect()
}

/// Whether a table that the answer reads mentions the caller's row.
fn tables_start_from_row(plan: &Plan) -> bool {
    let tables = prune(plan.clone()).tables;
    let mut found = false;
    for select in tables.iter().flat_map(|table| table.body.selects()) {
        select.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
    }
    found
}

/// Keeps one variable of an answer that has several.
fn project(plan: &mut Plan, var: QuestionVarId) -> Result<(), CompileError> {
    let PlanAnswer::Rows { selects, columns: AnswerColumns::OfQuestion(columns), .. } = &mut plan.answer
    else {
        return Ok(());
    };
    let shown = columns.position(|column| *column == AnswerColumn::Id(var));
    let shown = shown.ok_or_else(|| CompileError::Bug("a filter without its variable".into()))?;
    for select in selects {
        select.output = vec![select.output[shown]].into();
        let mut used = IndexSet::new();
        select.for_each_expr(&mut |expr| used.extend(expr.alias()));
        // An embedded source has rows, so one whose columns are unused can go.
        select.from.retain(|from| !matches!(from.kind, FromKind::Embedded(_)) || used.contains(&from.alias));
    }
    *columns = vec![AnswerColumn::Id(var)].into();
    Ok(())
}

/// Which column of the answer each output shows.
fn output_columns(
    plan: &Plan,
    columns: &[(QuestionVarId, String)],
) -> Result<Vec<(ColumnId, String)>, CompileError> {
    let PlanAnswer::Rows { columns: AnswerColumns::OfQuestion(answered), .. } = &plan.answer else {
        return Err(CompileError::Bug("rows of a decision".into()));
    };
    let place = |(var, name): &(QuestionVarId, String)| {
        let shown = answered.position(|column| *column == AnswerColumn::Id(*var));
        shown.map(|column| (column, name.clone()))
    };
    let places: Option<Vec<_>> = columns.iter().map(place).collect();
    places.ok_or_else(|| CompileError::Bug("an output without a column".into()))
}
