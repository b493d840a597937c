//! Distinguishes sets that start from a given value from sets as large as a table.
//!
//! A set that starts from the actor is small: it is looked up as a whole. A set like "every public
//! repository" is not; whether a value is in it is tested for each row, and a filter with such a test is no
//! longer answered by indexes, so that its other sets are hashed instead.

#[cfg(test)]
mod tests;

use super::ids::{Alias, TableRef};
use super::plan::{Table, TableBody};
use super::select::{Condition, Expr, From, FromKind, Select, SetUse};
use crate::catalog::{Catalog, RelationSource};
use crate::ir::{CompareOp, QuestionVarId};
use crate::primitive::{BOOLEAN, INTEGER, STRING};
use indexmap::IndexSet;

/// Types of which a literal is too unselective to start from: a role's name narrows nothing down.
const WIDE: [&str; 2] = [STRING, BOOLEAN];

/// Whose column a value is.
enum ValueColumn<'a> {
    /// That of a relation with this origin; the column's type.
    Relation(&'a str, &'a RelationSource),
    /// That of rows that the statement makes or contains.
    Made,
}

/// What decides whether a set is anchored.
pub(crate) struct Anchors<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) tables: &'a [Table],
    /// Whether each table is anchored. A table reads only those before it.
    anchored: Vec<bool>,
    /// The variables that stand for given values. Once a plan has values, the only variable left is that of a
    /// filter's column.
    given: GivenVars,
}

/// The variables of a question that stand for given values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GivenVars {
    /// None: the plan has the values.
    InPlan,
    /// All but that of a filter's column.
    InShape {
        /// The filter's column.
        column: Option<QuestionVarId>,
    },
}

impl<'a> Anchors<'a> {
    /// For selects that read these tables, in a plan with values.
    pub(crate) fn new(catalog: &'a Catalog, tables: &'a [Table]) -> Self {
        Self::with(catalog, tables, GivenVars::InPlan)
    }

    /// The same in a plan without values; `column` is the variable of a filter's column.
    pub(crate) fn of_shape(catalog: &'a Catalog, tables: &'a [Table], column: Option<QuestionVarId>) -> Self {
        Self::with(catalog, tables, GivenVars::InShape { column })
    }

    fn with(catalog: &'a Catalog, tables: &'a [Table], given: GivenVars) -> Self {
        let mut anchors = Self { catalog, tables, anchored: Vec::with_capacity(tables.len()), given };
        for table in tables {
            let (TableBody::Union(selects)
            | TableBody::Recursive { base: selects, .. }
            | TableBody::WholeState { base: selects, .. }) = &table.body;
            let is_anchored = selects.iter().all(|select| anchors.is_anchored(select));
            anchors.anchored.push(is_anchored);
        }
        anchors
    }

    /// Whether a select starts from a given value: equalities lead from one to what it shows.
    pub(crate) fn is_anchored(&self, select: &Select) -> bool {
        let reached = self.reached(select);
        let mut shown = select.output.iter().filter_map(|shown| shown.alias()).peekable();
        if shown.peek().is_none() {
            return select.from.is_empty() || !reached.is_empty();
        }
        shown.all(|alias| reached.contains(&alias) || !select.from.iter().any(|from| from.alias == alias))
    }

    /// The sources of a select that equalities with given values lead to.
    fn reached(&self, select: &Select) -> IndexSet<Alias> {
        let starts = |from: &&From| match from.kind {
            FromKind::Embedded(_) | FromKind::Values(_) | FromKind::Row { .. } => true,
            FromKind::Table(TableRef::Table(table)) => *table.of(&self.anchored),
            FromKind::Table(TableRef::Itself) | FromKind::Source(_) | FromKind::Again { .. } => false,
        };
        let mut reached: IndexSet<Alias> = select.from.iter().filter(starts).map(|from| from.alias).collect();
        loop {
            let before = reached.len();
            for condition in &select.filter {
                match condition {
                    Condition::Compare { op: CompareOp::Equal, left, right } => {
                        for (own, other) in [(*left, *right), (*right, *left)] {
                            let narrows = match (other, self.given) {
                                (Expr::Const(_), _) => self.finds(&select.from, own),
                                // A code, a tag or a country of a row may be as selective as its id.
                                (Expr::Column { .. }, GivenVars::InShape { .. }) => true,
                                (Expr::Column { .. }, GivenVars::InPlan) => self.leads(&select.from, own),
                                _ => self.narrows(&select.from, own),
                            };
                            if self.is_known(other, select, &reached) && narrows {
                                reached.extend(own.alias());
                            }
                        }
                    }
                    Condition::OneOf { expr, .. } if self.finds(&select.from, *expr) => {
                        reached.extend(expr.alias());
                    }
                    Condition::In { expr, selects, .. }
                        if selects.iter().all(|select| self.is_anchored(select)) =>
                    {
                        reached.extend(expr.alias());
                    }
                    Condition::Compare { .. }
                    | Condition::OneOf { .. }
                    | Condition::Meets { .. }
                    | Condition::In { .. }
                    | Condition::Any(_)
                    | Condition::None(_) => {}
                }
            }
            for from in &select.from {
                if let FromKind::Again { row, .. } = from.kind
                    && (reached.contains(&row) || reached.contains(&from.alias))
                {
                    reached.extend([row, from.alias]);
                }
            }
            if reached.len() == before {
                return reached;
            }
        }
    }

    /// Whether an index can find the rows that pass this condition: a column must be in a set, or equal a
    /// value that few rows have.
    pub(crate) fn has_index(&self, row: &Select) -> bool {
        self.has_index_among(row, &[])
    }

    /// The same, for a condition that has rows `around` it.
    pub(crate) fn has_index_among(&self, row: &Select, around: &[From]) -> bool {
        let from: Vec<From> = around.iter().chain(&row.from).copied().collect();
        row.filter.iter().any(|condition| self.is_indexed(condition, &from))
    }

    /// Whether an index can find the rows, among those `from`, for which a condition holds.
    pub(crate) fn is_indexed(&self, condition: &Condition, from: &[From]) -> bool {
        match condition {
            Condition::In { expr, used: SetUse::ToFind, .. } => {
                matches!(expr, Expr::Given(_) | Expr::Column { .. })
            }
            Condition::In { used: SetUse::ToTest, .. } => false,
            Condition::Compare { op: CompareOp::Equal, left: Expr::Given(_), right: Expr::Const(_) }
            | Condition::Compare { op: CompareOp::Equal, left: Expr::Const(_), right: Expr::Given(_) }
            | Condition::OneOf { expr: Expr::Given(_), .. } => true,
            Condition::Compare { op: CompareOp::Equal, left, right: Expr::Const(_) }
            | Condition::Compare { op: CompareOp::Equal, left: Expr::Const(_), right: left } => {
                self.finds(from, *left)
            }
            Condition::OneOf { expr, .. } => self.finds(from, *expr),
            Condition::Any(branches) => {
                branches.iter().all(|branch| branch.reads_nothing() && self.has_index_among(branch, from))
            }
            Condition::Compare { .. } | Condition::Meets { .. } | Condition::None(_) => false,
        }
    }

    /// Whether a value names a thing, as the filter's column does: many rows may share a text, a number or a
    /// truth value.
    pub(crate) fn names_thing(&self, value: Expr, from: &[From]) -> bool {
        matches!(value, Expr::Given(_)) || self.finds(from, value)
    }

    /// Whether an index on a column of a source finds few rows for a literal. Not for a number: many rows may
    /// share it, because it is a level or a count rather than an id, and it seldom has an index.
    fn finds(&self, sources: &[From], value: Expr) -> bool {
        let is_number = matches!(self.column(sources, value), Some(ValueColumn::Relation(INTEGER, _)));
        !is_number && self.narrows(sources, value)
    }

    /// Whether an equality with another row's column narrows a source down to rows that an index finds. Texts
    /// without a declared SQL type are compared through a cast, which no index serves.
    fn leads(&self, sources: &[From], value: Expr) -> bool {
        match self.column(sources, value) {
            Some(ValueColumn::Relation(BOOLEAN, _)) | None => false,
            Some(ValueColumn::Relation(STRING, source)) => {
                matches!(source, RelationSource::Bound { has_typed_texts: true, .. })
            }
            Some(ValueColumn::Relation(..) | ValueColumn::Made) => true,
        }
    }

    /// Whether few rows of a source have a given value here.
    fn narrows(&self, sources: &[From], expr: Expr) -> bool {
        match self.column(sources, expr) {
            Some(ValueColumn::Relation(ty, _)) => !WIDE.contains(&ty),
            Some(ValueColumn::Made) => true,
            None => false,
        }
    }

    /// Whose column a value is, if it is one of these sources.
    fn column(&self, sources: &[From], value: Expr) -> Option<ValueColumn<'_>> {
        let Expr::Column { alias, column } = value else { return None };
        match sources.iter().find(|from| from.alias == alias)?.kind {
            FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } => {
                let relation = &self.catalog.relations[source];
                let (ty, _) = relation.column(column)?;
                Some(ValueColumn::Relation(ty, &relation.source))
            }
            FromKind::Table(_) | FromKind::Values(_) | FromKind::Embedded(_) => Some(ValueColumn::Made),
        }
    }

    /// Whether a value is given, of a source that is reached, or of a select around this one.
    fn is_known(&self, expr: Expr, select: &Select, reached: &IndexSet<Alias>) -> bool {
        if let Some(alias) = expr.alias() {
            return reached.contains(&alias) || !select.from.iter().any(|from| from.alias == alias);
        }
        match (expr, self.given) {
            (Expr::Given(var), GivenVars::InShape { column }) => column != Some(var),
            (expr, _) => matches!(expr, Expr::Const(_)),
        }
    }
}
