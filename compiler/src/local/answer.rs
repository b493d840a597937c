//! The SQL of one question: which plan answers it, in which form.
//!
//! In: a [`LocalPlan`] and a question of its shape. Out: a [`LocalSql`]. A plan whose rows would not be the
//! whole answer is not printed: a filter tests each row then, and any other form is refused.

use super::asked::{Asked, Form, LocalError};
use super::fold::{Fetch, Fetched, Folded};
use super::likeness::places;
use super::plan::LocalPlan;
use super::ways::{Taken, Ways};
use super::{LocalSql, filter, split};
use crate::algebra::verify::{Open, Verifier};
use crate::algebra::{FromKind, Plan, PlanAnswer};
use crate::catalog::{Catalog, RelationSource, SourceId};
use crate::datalog::print::Names;
use crate::optimise::{Draft, Purpose, Setting, optimise, widths};
use crate::question::{AnswerColumn, CompileError, Statement};
use crate::refusal::Refusal;
use crate::sql::caller::free_prefix;
use crate::sql::forms::LocalStatement;
use crate::sql::outline::Outline;
use indexmap::IndexSet;

impl LocalPlan {
    /// The SQL of one question; `fetch` runs a part's statement, with the question's values, on the store,
    /// and says [`Fetched::TooMany`] beyond so many rows.
    ///
    /// # Errors
    /// [`LocalError::Compile`] if the answer would not be whole or the text too large, [`LocalError::Fetch`]
    /// for what `fetch` fails with.
    pub fn sql<E>(
        &self,
        asked: &Asked<'_>,
        fetch: &mut dyn FnMut(&Statement, usize) -> Result<Fetched, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        if asked.catalog.relations.len() != self.n_relations {
            return Err(LocalError::Compile(CompileError::Bug("a plan over another catalog".into())));
        }
        let incomplete = match &self.refusal {
            None => None,
            Some((ways, refusal)) => {
                let Taken { folded, .. } = ways.fold(asked, fetch)?;
                (!folded.plan.answer.selects().is_empty()).then_some(refusal)
            }
        };
        match (&self.asked, incomplete) {
            (Ok(ways), None) => print(ways, asked, fetch),
            (Err(refusal), _) | (Ok(_), Some(refusal)) => self.by_row(refusal, asked, fetch),
        }
    }

    /// A filter that tests each row, where the values that pass cannot be enumerated.
    fn by_row<E>(
        &self,
        refusal: &Refusal,
        asked: &Asked<'_>,
        fetch: Fetch<'_, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        match &self.row {
            Some(ways) => print(ways, asked, fetch),
            None => Err(LocalError::Compile(CompileError::Refused(refusal.clone()))),
        }
    }
}

fn print<E>(ways: &Ways, asked: &Asked<'_>, fetch: Fetch<'_, E>) -> Result<LocalSql, LocalError<E>> {
    text(ways.fold(asked, fetch)?, asked).map_err(LocalError::Compile)
}

fn text(taken: Taken<'_>, asked: &Asked<'_>) -> Result<LocalSql, CompileError> {
    let Taken { variant, folded, constants, end } = taken;
    let constants = &constants;
    let catalog = asked.catalog;
    let places = places(asked.program, constants, asked.question);
    let Folded { mut plan, embedded, read } = folded;
    let bindings = bindings(&plan, catalog);
    let explained = if asked.explains {
        let names = Names {
            program: asked.program,
            catalog,
            extra_constants: constants,
            asked: &asked.question.vars,
        };
        (variant.explained(asked.program, catalog), names.plan(&plan))
    } else {
        (String::new(), String::new())
    };
    if let Form::Filter { var, .. } = asked.form {
        project(&mut plan, *var)?;
    }
    let words = asked.bindings.facts.iter().flat_map(|binding| &binding.query.words);
    let of_column = match asked.form {
        Form::Filter { column, .. } => column.words.as_slice(),
        Form::Decision { .. } | Form::Rows { .. } | Form::List { .. } => &[],
    };
    let prefix = free_prefix(words.chain(of_column).map(String::as_str));
    for table in &mut plan.tables {
        table.name.insert_str(0, &prefix);
    }
    let row = filter::row(asked, variant.column);
    let mut setting = Setting {
        purpose: purpose(asked.form, variant.column),
        catalog,
        features: asked.bindings.dialect.features(),
        bindings: Some(asked.bindings),
        row,
        prefix: &prefix,
    };
    let verifier = |setting: &Setting<'_>| {
        let column = setting.row.map(|row| row.var).or(variant.column);
        Verifier { open: Open::Column(column), ..variant.verifier(asked, constants, &[]) }
    };
    let whole = Draft { plan, embedded };
    let mut draft = whole.clone();
    optimise(&mut draft, &verifier(&setting), &setting, &mut |_, _| {})?;
    if row.is_some_and(|row| row.is_looked_up) && !filter::is_separable(&draft.plan) {
        setting.row = None;
        draft = whole;
        optimise(&mut draft, &verifier(&setting), &setting, &mut |_, _| {})?;
    }
    let verifier = verifier(&setting);
    let Draft { plan, embedded } = draft;
    let widths = widths(&embedded);
    let verifier = Verifier { embedded: &widths, ..verifier };
    let statement = LocalStatement {
        verifier,
        program: asked.program,
        catalog,
        constants,
        dialect: asked.bindings.dialect,
        bindings: asked.bindings,
        embedded: &embedded,
        places: &places,
        prefix: &prefix,
    };
    let outline = || if asked.explains { statement.outline(&plan) } else { Outline::default() };
    let (template, outline) = match asked.form {
        Form::Decision { name } => (statement.decision(&plan, name)?, outline()),
        Form::List { name } => {
            let columns = [(0, name.clone())];
            (statement.rows(&plan, 1, &columns, true)?, outline())
        }
        Form::Rows { columns } => {
            let names = output_columns(&plan, columns)?;
            (statement.rows(&plan, plan.answer.n_columns(), &names, false)?, outline())
        }
        Form::Filter { var, column } => {
            filter::print(statement, &plan, &setting, variant.column, *var, column, asked)?
        }
    };
    let embedded = read.into_iter().map(|(part, n_rows)| (variant.predicates(part, catalog), n_rows));
    Ok(LocalSql {
        template,
        split: explained.0,
        plan: explained.1,
        outline,
        rules: variant.rules.iter().copied().collect(),
        bindings,
        end,
        embedded: embedded.collect(),
    })
}

/// What a form's statement is for. A filter that tests each row is printed as it is.
fn purpose(form: &Form, given: Option<usize>) -> Purpose {
    match form {
        Form::Decision { .. } => Purpose::Check,
        Form::List { .. } => Purpose::List,
        Form::Rows { .. } => Purpose::Rows,
        Form::Filter { .. } if given.is_some() => Purpose::RowTest,
        Form::Filter { .. } => Purpose::Filter,
    }
}

/// The caller's queries that a plan reads.
fn bindings(plan: &Plan, catalog: &Catalog) -> Vec<usize> {
    let bound = |source: SourceId| match catalog.relation(source).source {
        RelationSource::Bound { binding } => Some(binding),
        RelationSource::Table { .. } | RelationSource::Context { .. } => None,
    };
    split::sources(plan).into_iter().filter_map(bound).collect()
}

/// Keeps one variable of an answer that has several.
fn project(plan: &mut Plan, var: usize) -> Result<(), CompileError> {
    let PlanAnswer::Rows { selects, columns, .. } = &mut plan.answer else { return Ok(()) };
    let place = columns.iter().position(|column| *column == AnswerColumn::Id(var));
    let place = place.ok_or_else(|| CompileError::Bug("a filter without its variable".into()))?;
    for select in selects {
        select.output = select.output.get(place).copied().into_iter().collect();
        let mut used = IndexSet::new();
        select.for_each_expr(&mut |expr| used.extend(expr.alias()));
        // Rows of values are some rows, and nothing else was asked of these.
        select.from.retain(|from| !matches!(from.kind, FromKind::Embedded(_)) || used.contains(&from.alias));
    }
    *columns = vec![AnswerColumn::Id(var)];
    Ok(())
}

/// Which column of the answer each output shows.
fn output_columns(plan: &Plan, columns: &[(usize, String)]) -> Result<Vec<(usize, String)>, CompileError> {
    let PlanAnswer::Rows { columns: answered, .. } = &plan.answer else {
        return Err(CompileError::Bug("rows of a decision".into()));
    };
    let place = |(var, name): &(usize, String)| {
        let place = answered.iter().position(|column| *column == AnswerColumn::Id(*var));
        place.map(|place| (place, name.clone()))
    };
    let places: Option<Vec<_>> = columns.iter().map(place).collect();
    places.ok_or_else(|| CompileError::Bug("an output without a column".into()))
}
