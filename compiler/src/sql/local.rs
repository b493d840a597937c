//! Statements for a caller's database.
//!
//! The values of the caller's columns are represented in several ways. Which way is known of each column here, and of
//! each table that a statement makes of them: [`Caller`] looks at a plan before it is printed, [`Local`] is the target
//! that prints it.

use super::at::{At, Output, Scope};
use super::build;
use super::lower::{Inputs, Lowering};
use super::representation::Representation;
use super::target::Target;
use super::template::{Place, Spelling, mark};
use crate::algebra::TableRef;
use crate::algebra::{Embedded, Expr, FromKind, Plan, Select, TableBody};
use crate::bindings::{Bindings, Family, Fit, Name, SqlType};
use crate::catalog::RelationSource;
use crate::ir::{CompareOp, ConstId, TypeId};
use crate::question::{CompileError, Slot};
use indexmap::IndexMap;
use sqlparser::ast::{Expr as Sql, Query, TableFactor};

/// What is known of a caller's database and of the question.
#[derive(Clone)]
pub(super) struct Caller<'l> {
    pub(super) inputs: Inputs<'l>,
    /// The caller's queries and types.
    pub(super) bindings: &'l Bindings,
    /// The rows of embedded sources.
    pub(super) embedded: &'l [Embedded],
    /// The literals that are values of the question.
    pub(super) places: &'l [Place],
    /// What the names begin with that this compiler gives, so that the caller has none of them.
    pub(super) prefix: &'l str,
    /// The question's variable that is a column of the caller's.
    pub(super) column: Option<GivenColumn>,
    /// The name of the caller's row and its key, where a filter may read the row's other columns.
    pub(super) row: Option<(String, Name)>,
}

/// A variable of the question whose value is a column of the caller's.
#[derive(Clone)]
pub(super) struct GivenColumn {
    pub(super) var: usize,
    pub(super) representation: Representation,
    /// What the statement calls the column.
    pub(super) name: Sql,
}

/// A statement for a caller's database.
pub(super) struct Local<'l> {
    pub(super) caller: Caller<'l>,
    /// How each column of each of the plan's tables is represented.
    pub(super) tables: Vec<Vec<Representation>>,
    /// The bound queries that were read by name and stand in no `WITH` yet, each with the number of its columns.
    pub(super) read: IndexMap<usize, usize>,
}

impl<'l> Local<'l> {
    /// A statement of a plan.
    pub(super) fn of(caller: Caller<'l>, plan: &Plan) -> Self {
        Self { tables: caller.represent_tables(plan), caller, read: IndexMap::new() }
    }
}

impl Caller<'_> {
    /// How the caller's columns represent the values of a type.
    fn of_type(&self, ty: Option<TypeId>, name: &str) -> Representation {
        Representation::of(self.bindings.sql_types.get(name), ty)
    }

    /// How a value is represented. `tables` are the columns of the plan's tables, and `itself` is the table whose step
    /// this is.
    pub(super) fn represent(
        &self,
        tables: &[Vec<Representation>],
        itself: Option<usize>,
        scope: Scope<'_>,
        expr: Expr,
    ) -> Representation {
        match expr {
            Expr::Column { alias, column } => match scope.kind(alias) {
                Some(FromKind::Source(source) | FromKind::Row(source)) => self.of_source(source, column),
                Some(FromKind::Table(TableRef::Table(table))) => of_column(tables, table, column),
                Some(FromKind::Table(TableRef::Itself)) => {
                    itself.map_or(Representation::Text, |table| of_column(tables, table, column))
                }
                Some(FromKind::Embedded(index)) => self.of_embedded(index, column),
                Some(FromKind::Values(_)) | None => Representation::Text,
            },
            Expr::Const(literal) => self.of_literal(literal),
            Expr::Given(var) => match &self.column {
                Some(column) if column.var == var => column.representation.clone(),
                Some(_) | None => Representation::Text,
            },
            Expr::Now | Expr::Tag(_) | Expr::TypeName(_) | Expr::Unconstrained => Representation::Text,
        }
    }

    /// How a column of a relation is represented.
    pub(super) fn of_source(&self, source: usize, column: usize) -> Representation {
        match self.column_type(source, column) {
            Some(name) => self.of_type(self.inputs.program.type_id(name), name),
            None => Representation::Text,
        }
    }

    /// The type of a bound relation's column, by name.
    fn column_type(&self, source: usize, column: usize) -> Option<&str> {
        let relation = self.inputs.catalog.relations.get(source)?;
        match relation.source {
            RelationSource::Bound { .. } => {}
            RelationSource::Table { .. } | RelationSource::Context { .. } => return None,
        }
        relation.columns().nth(column).map(|(ty, _)| ty)
    }

    /// A literal is a native value if its own type is represented so and it is one; a number too wide for the type is
    /// one of the wider type.
    fn of_literal(&self, literal: ConstId) -> Representation {
        let Some(literal) = self.inputs.constant(literal) else { return Representation::Text };
        let ty = self.inputs.program.types.get(literal.ty.index());
        match ty.map(|ty| self.of_type(None, &ty.name)) {
            Some(Representation::Native(ty)) => match ty.fit(&literal.text) {
                Fit::Value => Representation::Native(ty),
                Fit::Wide => Representation::Native(SqlType::numeric()),
                Fit::Text | Fit::Never => Representation::Text,
            },
            _ => Representation::Text,
        }
    }

    pub(super) fn of_embedded(&self, index: usize, column: usize) -> Representation {
        let rows = self.embedded.get(index).and_then(|embedded| embedded.rows.as_deref()).unwrap_or_default();
        let values = rows.iter().filter_map(|row| row.get(column));
        let each = values.map(|literal| self.of_literal(*literal));
        each.reduce(Representation::join).unwrap_or(Representation::Text)
    }

    /// How the columns of each table are represented: natively if everything that goes into them is.
    fn represent_tables(&self, plan: &Plan) -> Vec<Vec<Representation>> {
        let mut tables: Vec<Vec<Representation>> = Vec::new();
        for (index, table) in plan.tables.iter().enumerate() {
            let mut columns: Vec<Option<Representation>> = vec![None; table.n_columns];
            if matches!(table.body, TableBody::WholeState { .. }) {
                columns = vec![Some(Representation::Text); table.n_columns];
            }
            // Each round may turn a column into text, and text it stays.
            for _ in 0..=table.n_columns {
                tables.truncate(index);
                tables.push(
                    columns.iter().map(|known| known.clone().unwrap_or(Representation::Text)).collect(),
                );
                for select in table.body.selects() {
                    self.represent_select(&tables, index, select, &mut columns);
                }
            }
            tables.truncate(index);
            tables.push(columns.into_iter().map(|known| known.unwrap_or(Representation::Text)).collect());
        }
        tables
    }

    /// Joins what a select of a table's body puts into its columns.
    fn represent_select(
        &self,
        tables: &[Vec<Representation>],
        table: usize,
        select: &Select,
        columns: &mut [Option<Representation>],
    ) {
        let scope = Scope::of(select);
        let before = columns.to_vec();
        for (slot, expr) in columns.iter_mut().zip(&select.output) {
            let new = match *expr {
                Expr::Column { alias, column }
                    if scope.kind(alias) == Some(FromKind::Table(TableRef::Itself)) =>
                {
                    before.get(column).cloned().flatten()
                }
                expr => Some(match self.represent(tables, Some(table), scope, expr) {
                    Representation::Undeclared(_) | Representation::Opaque(_) => Representation::Text,
                    // As a value of its own type it would equal what differs in blanks, also in a column of another type.
                    Representation::Native(ty) if ty.family == Family::Padded => Representation::Text,
                    known @ (Representation::Text | Representation::Native(_)) => known,
                }),
            };
            *slot = match (slot.take(), new) {
                (Some(old), Some(new)) => Some(old.join(new)),
                (old, new) => old.or(new),
            };
        }
    }

    /// The variable whose value a literal is.
    fn place(&self, literal: ConstId) -> Option<usize> {
        self.places.iter().find(|(known, _)| *known == literal).map(|(_, var)| *var)
    }
}

fn of_column(tables: &[Vec<Representation>], table: usize, column: usize) -> Representation {
    let column = tables.get(table).and_then(|columns| columns.get(column));
    column.cloned().unwrap_or(Representation::Text)
}

impl Lowering<'_, Local<'_>> {
    /// How a value is represented.
    pub(super) fn represent(&self, at: At<'_>, expr: Expr) -> Representation {
        let itself = match at.output {
            Output::Table(table) => Some(table),
            Output::Values(_) => None,
        };
        self.target.caller.represent(&self.target.tables, itself, at.scope, expr)
    }

    /// How the column of this number must come out of a select.
    fn wanted(&self, at: At<'_>, column: usize) -> Representation {
        match at.output {
            Output::Table(table) => of_column(&self.target.tables, table, column),
            Output::Values(wanted) => wanted.clone(),
        }
    }

    /// A literal as a value of a type that it [fits](crate::bindings::Fit), wide or not.
    pub(super) fn native(&self, ty: &SqlType, literal: ConstId) -> Result<Sql, CompileError> {
        match (ty.family, self.target.caller.place(literal)) {
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, Some(var)) => {
                Ok(mark(Spelling::Number, var))
            }
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, None) => {
                let number = build::whole(self.inputs.literal_text(literal)?);
                number.ok_or_else(|| CompileError::Bug("a literal that is no number".into()))
            }
            (Family::Uuid | Family::Padded | Family::Text | Family::Other | Family::Ambiguous, _) => {
                self.literal(literal)
            }
        }
    }
}

impl Target for Lowering<'_, Local<'_>> {
    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.target.caller.prefix)
    }

    fn literal(&self, literal: ConstId) -> Result<Sql, CompileError> {
        if let Some(var) = self.target.caller.place(literal) {
            return Ok(mark(Spelling::Quoted, var));
        }
        Ok(build::plain_lit(self.inputs.literal_text(literal)?, self.inputs.features.escapes))
    }

    /// The caller's column; every other value stands in the plan as a literal, and there are no parameters.
    fn value(&mut self, slot: Slot) -> Result<Sql, CompileError> {
        match &self.target.caller.column {
            Some(column) if slot == Slot::Given(column.var) => {
                Ok(column.representation.exact(column.name.clone(), self.inputs.features))
            }
            Some(_) | None => Err(CompileError::Bug(format!("{slot:?} in a statement without parameters"))),
        }
    }

    fn output(&mut self, at: At<'_>, column: usize, value: Expr) -> Result<Sql, CompileError> {
        match (self.wanted(at, column), value) {
            (Representation::Native(ty), Expr::Const(literal)) => {
                match ty.fit(self.inputs.literal_text(literal)?) {
                    Fit::Value => Ok(build::cast(self.native(&ty, literal)?, &ty.name)),
                    Fit::Wide => Ok(build::cast(self.native(&ty, literal)?, &SqlType::numeric().name)),
                    Fit::Text | Fit::Never => {
                        Err(CompileError::Bug("a literal in a column of another type".into()))
                    }
                }
            }
            (Representation::Native(ty), _) => {
                let value = self.expr(at, value)?;
                let is_table = matches!(at.output, Output::Table(_));
                // A cast of a text to a number is a number, where it is no error.
                let is_cast = self.inputs.features.strict_types || ty.family == Family::Text;
                Ok(if is_table && is_cast { build::cast(value, &ty.name) } else { value })
            }
            (
                Representation::Text | Representation::Undeclared(_) | Representation::Opaque(_),
                Expr::Column { .. } | Expr::Given(_),
            ) => {
                let representation = self.represent(at, value);
                Ok(representation.as_text(self.expr(at, value)?, self.inputs.features))
            }
            (Representation::Text | Representation::Undeclared(_) | Representation::Opaque(_), _) => {
                let value = self.expr(at, value)?;
                Ok(self.text(value))
            }
        }
    }

    fn comparison(
        &mut self,
        at: At<'_>,
        op: CompareOp,
        left: Expr,
        right: Expr,
    ) -> Result<Sql, CompileError> {
        self.compared(at, op, left, right)
    }

    fn in_literals(&mut self, at: At<'_>, value: Expr, literals: &[ConstId]) -> Result<Sql, CompileError> {
        let representation = self.represent(at, value);
        let value = self.expr(at, value)?;
        self.one_of(value, &representation, literals)
    }

    fn in_selects(&mut self, at: At<'_>, value: Expr, selects: &[Select]) -> Result<Sql, CompileError> {
        let representation = self.represent(at, value);
        let value = self.expr(at, value)?;
        self.value_in_set(at, value, &representation, selects)
    }

    fn source(&mut self, kind: FromKind, alias: &str) -> Result<TableFactor, CompileError> {
        match kind {
            FromKind::Source(source) => self.bound(source, alias),
            FromKind::Embedded(index) => self.embedded(index, alias),
            FromKind::Row(_) | FromKind::Table(_) | FromKind::Values(_) => {
                Err(CompileError::Bug("a source that is not read".into()))
            }
        }
    }

    fn source_column(&self, kind: FromKind, alias: &str, column: usize) -> Result<Sql, CompileError> {
        let (source, name) = match kind {
            FromKind::Source(source) => (source, self.bound_column(source, alias, column)?),
            FromKind::Row(source) => (source, self.row_column(source, column)?),
            FromKind::Embedded(_) => return Ok(build::column(alias, build::ident(&format!("c{column}")))),
            FromKind::Table(_) | FromKind::Values(_) => {
                return Err(CompileError::Bug("a column of no source".into()));
            }
        };
        let representation = self.target.caller.of_source(source, column);
        Ok(representation.exact(name, self.inputs.features))
    }

    fn row_conditions(&self, select: &Select, conditions: &mut Vec<Sql>) -> Result<(), CompileError> {
        self.facts_only(select, conditions)
    }

    fn has_row(&mut self, at: At<'_>, select: &Select, _several: bool) -> Result<Sql, CompileError> {
        if let Some(looked_up) = self.looked_up(at, select)? {
            return Ok(looked_up);
        }
        // At the top the choice between probing and hashing is left to the database, unless the filter has made it.
        let is_nested = at.depth > 0 || at.hashes_sets;
        let query = self.test(at, select)?;
        Ok(build::exists(self.fenced(query, is_nested), false))
    }

    fn test(&mut self, at: At<'_>, select: &Select) -> Result<Query, CompileError> {
        self.in_own_scope(at.in_test(), std::slice::from_ref(select), |this, at| {
            Ok(build::query(this.select(at, select, None, false)?))
        })
    }
}
