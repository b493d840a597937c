//! Statements for a caller's own database, over bound queries and stored facts mixed.
//!
//! In: a question over a catalog of stored relations and bound queries, and the form of SQL that is wanted.
//! Out, in two steps: a [`LocalPlan`], which depends on the question's shape alone and is worth keeping; and
//! with a question's values and the store's rows for it the SQL text. Nothing of the caller's is read here.
//!
//! 1. `split` separates what the store decides from what is left for the caller's database;
//! 2. `fold` puts values and rows in, and decides what they decide;
//! 3. `filter` sorts the alternatives of a filter, `sets` gives lists the shape that is looked up fast;
//! 4. `sql::forms` prints.

mod anchor;
mod checks;
mod filter;
pub(crate) mod fold;
mod guards;
mod key;
mod prefix;
mod sets;
mod split;
mod types;

pub use fold::Fetched;

use crate::bindings::Bindings;
use crate::bindings::ColumnExpr;
use crate::catalog::{Catalog, RelationSource};
use crate::dialect::{self, Dialect};
use crate::ir::{Constant, Program, RuleId, TypeId};
use crate::limits;
use crate::plan::algebra::{FromKind, Plan, PlanAnswer};
use crate::plan::print::Names;
use crate::plan::{self, Planned};
use crate::question::{AnswerColumn, CompileError, Question, Shape, ShapeDomain, Statement};
use crate::sql;
use crate::sql::forms::LocalStatement;
use crate::sql::held::{Held, LocalValues};
use crate::sql::lower::Values;
use fold::{Folded, Folder};
use indexmap::IndexSet;
use split::Residual;
use std::collections::BTreeMap;
use types::Types;

/// The form of SQL that is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// One row with one truth value, in a column of this name.
    Decision {
        /// The column's name.
        name: String,
    },
    /// Distinct rows of text: for each column the question's variable and the column's name.
    Rows {
        /// The columns.
        columns: Vec<(usize, String)>,
    },
    /// Distinct text in one column, sorted, with `*` for any value; the question has one wanted variable.
    List {
        /// The column's name.
        name: String,
    },
    /// A condition over a column of the caller's that holds values of a wanted variable.
    Filter {
        /// The variable.
        var: usize,
        /// The column.
        column: ColumnExpr,
    },
}

/// A question of one shape, planned for a caller's database.
#[derive(Clone, Debug)]
pub struct LocalPlan {
    catalog: Catalog,
    /// The question as it was asked.
    asked: Result<Variant, CompileError>,
    /// When the rows are not the whole answer, and why.
    refusal: Option<(Variant, String)>,
    /// For a filter: the question with the column's value given.
    row: Option<Variant>,
}

/// One plan, what it needs from the store, and how to ask for it.
#[derive(Clone, Debug)]
struct Variant {
    residual: Residual,
    /// For each part the types of its columns.
    types: Vec<Vec<Option<TypeId>>>,
    /// For each part the statement on the embedded store.
    statements: Vec<Statement>,
    constants: IndexSet<Constant>,
    rules: IndexSet<RuleId>,
    /// The variable whose value is the caller's column.
    column: Option<usize>,
}

/// SQL for a caller's database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalSql {
    /// The text.
    pub sql: String,
    /// The plan that it prints.
    pub plan: String,
    /// The rules that took part.
    pub rules: Vec<RuleId>,
    /// The bindings that it reads, by index.
    pub bindings: Vec<usize>,
    /// The stored facts that went into the text or decided parts of it: the predicates that they come from, and
    /// how many rows.
    pub embedded: Vec<(Vec<String>, usize)>,
}

/// Why there is no SQL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LocalError<E> {
    /// The question has none.
    Compile(CompileError),
    /// The store failed.
    Fetch(E),
}

/// One question with everything that it needs to become SQL.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The policy.
    pub program: &'a Program,
    /// The caller's queries.
    pub bindings: &'a Bindings,
    /// The question, of the plan's shape.
    pub question: &'a Question,
    /// What is wanted.
    pub form: &'a Form,
    /// Seconds since the epoch.
    pub now: i64,
    /// How many values may stand in the text.
    pub most_values: usize,
    /// Whether the plan is told, too.
    pub explains: bool,
}

/// Plans a shape for a caller's `dialect`; `most_rows` bounds what is read of each part.
///
/// # Errors
/// [`CompileError::Refused`] if the question cannot be answered by one statement.
pub fn plan(
    program: &Program,
    catalog: Catalog,
    shape: &Shape,
    form: &Form,
    dialect: Dialect,
    most_rows: usize,
) -> Result<LocalPlan, CompileError> {
    let variant = |planned: Planned, shape: &Shape, column: Option<usize>| {
        Variant::new(program, &catalog, shape, planned, column, most_rows)
    };
    let expands_tables = dialect.features().expands_tables;
    let mut asked = plan::plan(program, &catalog, shape, expands_tables);
    let refusal = match &mut asked {
        Ok(planned) => planned.refusal.take(),
        Err(_) => None,
    };
    let refusal = match (&asked, refusal) {
        (Ok(planned), Some((plan, message))) => {
            let extra_constants = planned.extra_constants.clone();
            let planned = Planned { plan, refusal: None, extra_constants, rules: planned.rules.clone() };
            Some((variant(planned, shape, None)?, message))
        }
        (Ok(_) | Err(_), _) => None,
    };
    let row = match form {
        // A String is specialised by its value, which a row tells too late.
        Form::Filter { var, .. } if !is_string(shape, *var) && (asked.is_err() || refusal.is_some()) => {
            let mut given = shape.clone();
            if let Some(var) = given.vars.get_mut(*var) {
                var.domain = ShapeDomain::Given;
            }
            match plan::plan(program, &catalog, &given, expands_tables) {
                Ok(planned) => Some(variant(planned, &given, Some(*var))?),
                Err(error @ CompileError::Bug(_)) => return Err(error),
                Err(CompileError::Refused(_)) => None,
            }
        }
        Form::Filter { .. } | Form::Decision { .. } | Form::Rows { .. } | Form::List { .. } => None,
    };
    let asked = match asked {
        Ok(planned) => Ok(variant(planned, shape, None)?),
        Err(error) if row.is_none() => return Err(error),
        Err(error) => Err(error),
    };
    Ok(LocalPlan { catalog, asked, refusal, row })
}

impl Variant {
    fn new(
        program: &Program,
        catalog: &Catalog,
        shape: &Shape,
        planned: Planned,
        column: Option<usize>,
        most_rows: usize,
    ) -> Result<Self, CompileError> {
        let constants = planned.extra_constants;
        let residual = split::split(planned.plan, catalog, column, most_rows);
        let types = Types { program, catalog, constants: &constants, shape }.of_parts(&residual);
        let mut statements = Vec::new();
        for part in &residual.parts {
            if part.plan.n_readings() > limits::TABLE_READINGS {
                return Err(CompileError::Refused(
                    "the stored facts of the question are read in too many places for one statement: give its variables types or values, or split the rules".into(),
                ));
            }
            let planned = Planned {
                plan: part.plan.clone(),
                refusal: None,
                extra_constants: constants.clone(),
                rules: IndexSet::new(),
            };
            statements.push(sql::to_sql(program, catalog, &planned, dialect::STORE, Values::Parameters)?);
        }
        Ok(Self { residual, types, statements, constants, rules: planned.rules, column })
    }

    /// Puts values and rows into the plan.
    fn fold<E>(
        &self,
        asked: &Asked<'_>,
        catalog: &Catalog,
        fetch: &mut dyn FnMut(&Statement) -> Result<Fetched, E>,
    ) -> Result<(Folded, IndexSet<Constant>), LocalError<E>> {
        let mut constants = self.constants.clone();
        let mut plan = self.residual.plan.clone();
        fold::put_values(&mut plan, asked.question, asked.now, self.column, |ty, text| {
            let ty = asked.program.type_id(ty).unwrap_or(TypeId::FOREIGN);
            fold::intern(asked.program, &mut constants, Constant { ty, text: text.to_owned() })
        });
        let mut part = |part: usize| match self.statements.get(part) {
            Some(statement) => fetch(statement),
            None => Ok(Fetched::Rows(Vec::new())),
        };
        let mut folder = Folder {
            program: asked.program,
            constants: &mut constants,
            types: &self.types,
            fetch: &mut part,
            fetched: BTreeMap::new(),
            embedded: Vec::new(),
        };
        let folded = folder.fold(plan).map_err(LocalError::Fetch)?;
        self.check_size(&folded, asked, catalog).map_err(LocalError::Compile)?;
        Ok((folded, constants))
    }

    /// Refuses a plan that holds more values than may stand in a text.
    fn check_size(&self, folded: &Folded, asked: &Asked<'_>, catalog: &Catalog) -> Result<(), CompileError> {
        let used = embedded_sources(&folded.plan);
        for index in used {
            let Some(embedded) = folded.embedded.get(index) else { continue };
            let n_values = embedded.rows.as_ref().map(|rows| rows.iter().map(Vec::len).sum::<usize>());
            if n_values.is_none_or(|n_values| n_values > asked.most_values) {
                return Err(self.too_many(embedded.part, asked.most_values, catalog));
            }
        }
        if most_literals(&folded.plan) > asked.most_values {
            return Err(self.too_many(None, asked.most_values, catalog));
        }
        Ok(())
    }

    fn too_many(&self, part: Option<usize>, most: usize, catalog: &Catalog) -> CompileError {
        let parts: Vec<usize> =
            part.map_or_else(|| (0..self.residual.parts.len()).collect(), |part| vec![part]);
        let names: IndexSet<String> =
            parts.into_iter().flat_map(|part| self.predicates(part, catalog)).collect();
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        CompileError::Refused(format!(
            "the question needs more than {most} values of stored facts in its SQL: bind {} in the data bindings, so that the database looks them up itself, or ask with more values given",
            names.join(" or ")
        ))
    }

    /// The predicates whose facts a part reads.
    fn predicates(&self, part: usize, catalog: &Catalog) -> Vec<String> {
        let sources = self.residual.parts.get(part).map_or(&[][..], |part| part.sources.as_slice());
        let names = sources.iter().filter_map(|source| catalog.relations.get(*source));
        let names: IndexSet<String> = names.map(|relation| relation.predicate.clone()).collect();
        names.into_iter().collect()
    }
}

impl LocalPlan {
    /// The SQL of one question; `fetch` runs a part's statement, with the question's values, on the store.
    ///
    /// # Errors
    /// [`LocalError::Compile`] if the answer would not be whole or the text too large, [`LocalError::Fetch`]
    /// for what `fetch` fails with.
    pub fn sql<E>(
        &self,
        asked: &Asked<'_>,
        fetch: &mut dyn FnMut(&Statement) -> Result<Fetched, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        let incomplete = match &self.refusal {
            None => None,
            Some((variant, message)) => {
                let (folded, _) = variant.fold(asked, &self.catalog, fetch)?;
                (!folded.plan.answer.selects().is_empty()).then(|| CompileError::Refused(message.clone()))
            }
        };
        match (&self.asked, incomplete) {
            (Ok(variant), None) => self.print(variant, asked, fetch),
            (Err(error), _) => self.by_row(error.clone(), asked, fetch),
            (Ok(_), Some(error)) => self.by_row(error, asked, fetch),
        }
    }

    /// A filter that tests each row, where the values that pass cannot be enumerated.
    fn by_row<E>(
        &self,
        error: CompileError,
        asked: &Asked<'_>,
        fetch: &mut dyn FnMut(&Statement) -> Result<Fetched, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        match &self.row {
            Some(variant) => self.print(variant, asked, fetch),
            None => Err(LocalError::Compile(error)),
        }
    }

    fn print<E>(
        &self,
        variant: &Variant,
        asked: &Asked<'_>,
        fetch: &mut dyn FnMut(&Statement) -> Result<Fetched, E>,
    ) -> Result<LocalSql, LocalError<E>> {
        let (folded, constants) = variant.fold(asked, &self.catalog, fetch)?;
        self.text(variant, folded, &constants, asked).map_err(LocalError::Compile)
    }

    fn text(
        &self,
        variant: &Variant,
        folded: Folded,
        constants: &IndexSet<Constant>,
        asked: &Asked<'_>,
    ) -> Result<LocalSql, CompileError> {
        let Folded { mut plan, mut embedded, read } = folded;
        let mut common = Vec::new();
        if let Form::List { .. } | Form::Rows { .. } = asked.form {
            common = guards::take_common(plan.answer.selects_mut());
        }
        if let Form::List { .. } = asked.form {
            guards::merge_literals(plan.answer.selects_mut(), &mut embedded);
        }
        let words = asked.bindings.facts.iter().flat_map(|binding| &binding.query.words);
        let of_column = match asked.form {
            Form::Filter { column, .. } => column.words.as_slice(),
            Form::Decision { .. } | Form::Rows { .. } | Form::List { .. } => &[],
        };
        let prefix = LocalValues::free_prefix(words.chain(of_column).map(String::as_str));
        for table in &mut plan.tables {
            table.name.insert_str(0, &prefix);
        }
        let values = LocalValues {
            bindings: asked.bindings,
            embedded: &embedded,
            prefix,
            tables: Vec::new(),
            current: None,
            column: None,
            row: None,
            answer: Held::Text,
            own_tables: false,
            hashes: false,
            read: IndexSet::new(),
        };
        let statement = LocalStatement {
            program: asked.program,
            catalog: &self.catalog,
            constants,
            dialect: asked.bindings.dialect,
            values,
        };
        let starts_from_rows = matches!(asked.form, Form::Decision { .. } | Form::List { .. });
        if starts_from_rows && asked.bindings.dialect.features().sets_are_arrays {
            checks::flatten(&mut plan);
            prefix::share(&mut plan, &self.catalog, asked.bindings, &statement.values.prefix);
        }
        let sql = match asked.form {
            Form::Decision { name } => {
                guards::factor_decision(&mut plan);
                statement.decision(&plan, name)?
            }
            Form::List { name } => {
                let columns = [(0, name.clone())];
                statement.rows(&plan, 1, &columns, true, &common)?
            }
            Form::Rows { columns } => {
                if asked.bindings.dialect.features().sets_are_arrays {
                    sets::to_sets(&mut plan);
                }
                let names = output_columns(&plan, columns)?;
                let n_columns = match &plan.answer {
                    PlanAnswer::Rows { columns, .. } => columns.len(),
                    PlanAnswer::Decision(_) => 0,
                };
                statement.rows(&plan, n_columns, &names, false, &common)?
            }
            Form::Filter { var, column } => {
                project(&mut plan, *var)?;
                filter::print(statement, &mut plan, variant.column, *var, column, asked)?
            }
        };
        let embedded =
            read.into_iter().map(|(part, n_rows)| (variant.predicates(part, &self.catalog), n_rows));
        let bindings = split::sources(&plan).into_iter().filter_map(|source| {
            match self.catalog.relations.get(source).map(|relation| &relation.source) {
                Some(RelationSource::Bound { binding }) => Some(*binding),
                _ => None,
            }
        });
        let told = if asked.explains {
            Names { program: asked.program, catalog: &self.catalog, extra_constants: constants }.plan(&plan)
        } else {
            String::new()
        };
        Ok(LocalSql {
            sql,
            plan: told,
            rules: variant.rules.iter().copied().collect(),
            bindings: bindings.collect(),
            embedded: embedded.collect(),
        })
    }
}

fn is_string(shape: &Shape, var: usize) -> bool {
    shape.vars.get(var).is_some_and(|var| var.ty == Some(TypeId::STRING))
}

/// Keeps one variable of an answer that has several.
fn project(plan: &mut Plan, var: usize) -> Result<(), CompileError> {
    let PlanAnswer::Rows { selects, columns, .. } = &mut plan.answer else { return Ok(()) };
    let place = columns.iter().position(|column| *column == AnswerColumn::Id(var));
    let place = place.ok_or_else(|| CompileError::Bug("a filter without its variable".into()))?;
    for select in selects {
        select.output = select.output.get(place).copied().into_iter().collect();
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

/// The embedded sources that a plan reads, ascending.
fn embedded_sources(plan: &Plan) -> Vec<usize> {
    let mut found = Vec::new();
    split::for_each_source(plan, &mut |kind| {
        if let FromKind::Embedded(index) = kind {
            found.push(index);
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}

/// The most literals that one condition of a plan lists.
fn most_literals(plan: &Plan) -> usize {
    let mut most = 0;
    split::for_each_condition(plan, &mut |condition| {
        if let crate::plan::algebra::Condition::OneOf { literals, .. } = condition {
            most = most.max(literals.len());
        }
    });
    most
}
