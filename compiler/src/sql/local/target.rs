//! Statements for a caller's database.
//!
//! Each value is compared in the representation that its column has. The question's values are literals of
//! the text, since there are no parameters.

use super::analysis::{Caller, of_column};
use super::template::{Spelling, mark};
use crate::algebra::readers::{reads_tables_in_sets, tables_read_once};
use crate::algebra::{Expr, FromKind, Plan, Select, SetUse};
use crate::bindings::{Family, Fit, SqlType};
use crate::catalog::{BindingId, ColumnId, SourceId};
use crate::id_vec::IdVec;
use crate::ir::{CompareOp, ConstId};
use crate::keys::{Keys, OneRowTables};
use crate::question::{CompileError, Slot};
use crate::sql::at::{At, OwnScope, SelectOutput};
use crate::sql::build;
use crate::sql::held::HeldKey;
use crate::sql::lower::{Lowering, column_name};
use crate::sql::printing::Printing;
use crate::sql::representation::{ColumnOf, Representation};
use indexmap::IndexMap;
use sqlparser::ast::{Expr as Sql, Query, TableFactor};

/// A statement for a caller's database.
pub(in crate::sql) struct Local<'l> {
    pub(in crate::sql) caller: Caller<'l>,
    /// How each column of each of the plan's tables is represented.
    pub(in crate::sql) tables: Vec<IdVec<ColumnId, Representation>>,
    /// Which of them have at most one row.
    pub(in crate::sql) one_row: OneRowTables<'l>,
    /// The bound queries that were read by name and are not in a `WITH` yet, each with the number of its
    /// columns.
    pub(in crate::sql) read: IndexMap<BindingId, usize>,
    /// The literals that were read by name and are not in a `WITH` yet, each with the number of its columns.
    pub(in crate::sql) held: IndexMap<HeldKey, (Query, usize)>,
}

impl<'l> Local<'l> {
    /// A statement of a plan.
    pub(in crate::sql) fn of(caller: Caller<'l>, plan: &Plan) -> Self {
        let keys = Keys { catalog: caller.inputs.catalog, bindings: caller.bindings };
        let one_row = OneRowTables::of(&plan.tables, keys);
        Self {
            tables: caller.represent_tables(plan),
            one_row,
            caller,
            read: IndexMap::new(),
            held: IndexMap::new(),
        }
    }
}

impl Lowering<'_, Local<'_>> {
    /// How a value is represented.
    pub(in crate::sql) fn represent(&self, at: At<'_>, expr: Expr) -> Representation {
        let itself = match at.output {
            SelectOutput::Table(table) => Some(table),
            SelectOutput::Values(_) => None,
        };
        self.target.caller.represent(&self.target.tables, itself, at.scope, expr)
    }

    /// How the column of this number must come out of a select.
    fn wanted(&self, at: At<'_>, column: ColumnId) -> Representation {
        match at.output {
            SelectOutput::Table(table) => of_column(&self.target.tables, table, column),
            SelectOutput::Values(wanted) => {
                wanted.get(column.index()).cloned().unwrap_or(Representation::Text)
            }
        }
    }

    /// A literal as a value of a type that it [fits](crate::bindings::Fit), wide or not.
    pub(in crate::sql) fn native(&self, ty: &SqlType, literal: ConstId) -> Result<Sql, CompileError> {
        match (ty.family, self.target.caller.place(literal)) {
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, Some(var)) => {
                Ok(mark(Spelling::Number, var))
            }
            (Family::Integer | Family::Numeric | Family::IntegerAffinity, None) => {
                let number = build::whole(self.inputs.literal_text(literal)?);
                number.ok_or_else(|| CompileError::Bug("a literal that is not a number".into()))
            }
            (
                Family::Uuid
                | Family::Padded
                | Family::Caseless
                | Family::Text
                | Family::Other
                | Family::Ambiguous,
                _,
            ) => self.literal(literal),
        }
    }
}

impl Printing for Lowering<'_, Local<'_>> {
    fn named(&self, name: &str) -> String {
        format!("{}{name}", self.target.caller.prefix)
    }

    fn literal(&self, literal: ConstId) -> Result<Sql, CompileError> {
        if let Some(var) = self.target.caller.place(literal) {
            return Ok(mark(Spelling::Quoted, var));
        }
        Ok(build::plain_lit(self.inputs.literal_text(literal)?, self.inputs.features.escapes))
    }

    /// The SQL of the caller's column. All other values are literals in the plan, because a statement for
    /// the caller has no parameters.
    fn value(&mut self, slot: Slot) -> Result<Sql, CompileError> {
        match &self.target.caller.column {
            Some(column) if slot == Slot::Given(column.var) => Ok(column.name.clone()),
            Some(_) | None => Err(CompileError::Bug(format!("{slot} in a statement without parameters"))),
        }
    }

    fn output(&mut self, at: At<'_>, column: ColumnId, value: Expr) -> Result<Sql, CompileError> {
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
                let is_table = matches!(at.output, SelectOutput::Table(_));
                let (is_text, is_strict) = (ty.family == Family::Text, self.inputs.features.strict_types);
                // A cast of a text to a number is a number, where it is not an error. Values of a type whose
                // operators are not those of text would compare by that type's.
                let is_cast = if is_table { is_strict || is_text } else { is_strict && is_text };
                Ok(if is_cast { build::cast(value, &ty.name) } else { value })
            }
            (Representation::Collated, _) => self.expr(at, value),
            (
                Representation::Text | Representation::Undeclared(_) | Representation::Opaque(_),
                Expr::Column { .. } | Expr::Given(_),
            ) => {
                let representation = self.represent(at, value);
                Ok(representation.as_text(self.expr(at, value)?, self.inputs.features))
            }
            (Representation::Text | Representation::Undeclared(_) | Representation::Opaque(_), _) => {
                let value = self.expr(at, value)?;
                Ok(self.as_value(value))
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
        // A lone literal has no column type that the other side could be printed in.
        if let Expr::Const(own) = value {
            let own = self.literal(own)?;
            return self.one_of(own, &Representation::Text, ColumnOf::Caller, literals);
        }
        let (representation, column_of) = (self.represent(at, value), at.column_of(value));
        let value = self.expr(at, value)?;
        let test = self.one_of(value, &representation, column_of, literals)?;
        Ok(self.held_list(at, test, literals))
    }

    fn in_selects(
        &mut self,
        at: At<'_>,
        value: Expr,
        selects: &[Select],
        used: SetUse,
    ) -> Result<Sql, CompileError> {
        let representation = self.represent(at, value);
        let value = self.expr(at, value)?;
        self.value_in_set(at, &value, &representation, selects, used)
    }

    fn holds_text(&self, at: At<'_>, column: ColumnId) -> bool {
        match self.wanted(at, column) {
            Representation::Native(ty) => ty.family == Family::Text,
            Representation::Text
            | Representation::Collated
            | Representation::Undeclared(_)
            | Representation::Opaque(_) => true,
        }
    }

    fn source(&mut self, at: At<'_>, kind: FromKind, alias: &str) -> Result<TableFactor, CompileError> {
        match kind {
            FromKind::Source(source) => self.bound(source, alias),
            FromKind::Embedded(rows) => match self.held_rows(at, rows)? {
                Some(table) => Ok(build::table(build::ident(&table), alias)),
                None => self.embedded(rows, alias),
            },
            FromKind::Row { .. } | FromKind::Again { .. } | FromKind::Table(_) | FromKind::Values(_) => {
                Err(CompileError::Bug("a source that is not read".into()))
            }
        }
    }

    fn source_column(&self, kind: FromKind, alias: &str, column: ColumnId) -> Result<Sql, CompileError> {
        match kind {
            FromKind::Source(source) | FromKind::Again { source, .. } => {
                self.bound_column(source, alias, column)
            }
            FromKind::Row { source, .. } => self.row_column(source, column),
            FromKind::Embedded(_) => Ok(build::column(alias, build::ident(&column_name(column)))),
            FromKind::Table(_) | FromKind::Values(_) => {
                Err(CompileError::Bug("a column of no source".into()))
            }
        }
    }

    fn row_conditions(&self, select: &Select, conditions: &mut Vec<Sql>) -> Result<(), CompileError> {
        self.facts_only(select, conditions)
    }

    fn row_meets(&self, at: At<'_>, source: SourceId) -> Result<Sql, CompileError> {
        self.row_meets_condition(at, source)
    }

    fn has_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        self.tested(at, select)
    }

    fn has_no_row(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        let fence = self.denial_fence(at, select);
        Ok(build::not_exists(self.fenced_test(at, select, fence)?))
    }

    fn test(&mut self, at: At<'_>, select: &Select) -> Result<Query, CompileError> {
        // PostgreSQL makes no join of a test that has a `WITH`. A query that is read by name needs one.
        let features = self.inputs.features;
        let needs_no_with = features.joins_tests && features.derived_columns;
        if at.brings_tables && needs_no_with && reads_tables_in_sets(select) {
            return Ok(build::query(self.select(at.in_test(), select)?));
        }
        let derived = if at.brings_tables { tables_read_once(at.tables, select) } else { Vec::new() };
        self.in_own_scope(at.in_test(), std::slice::from_ref(select), OwnScope::Test(&derived), |this, at| {
            Ok(build::query(this.select(at, select)?))
        })
    }
}
