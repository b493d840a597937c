//! Sets in a statement for a caller's database: `value IN (selects)`, and the tables that a set's query
//! brings.

use super::at::{At, SelectOutput, SourceScope};
use super::build;
use super::local::Local;
use super::lower::Lowering;
use super::representation::Representation;
use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::readers::needed;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Select, TableBody, TableId};
use crate::bindings::Family;
use crate::catalog::SourceId;
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::question::CompileError;
use sqlparser::ast::{BinaryOperator, Cte, Expr as Sql, Query};

impl Lowering<'_, Local<'_>> {
    /// `value IN (selects)`, for a value that is already SQL. It is compared as text with selects whose
    /// values have another representation.
    pub(super) fn value_in_set(
        &mut self,
        at: At<'_>,
        value: Sql,
        representation: &Representation,
        selects: &[Select],
    ) -> Result<Sql, CompileError> {
        let features = self.inputs.features;
        let is_same = |select: &&Select| {
            let at = At { scope: SourceScope::of(select), ..at };
            let output = select.output.first().map(|expr| self.represent(at, *expr));
            // A value without a collation would be compared by that of the set's column.
            let is_exact = |output: &Representation| {
                *output != Representation::Collated || *representation == Representation::Collated
            };
            output.is_some_and(|output| output.compares_natively_with(representation) && is_exact(&output))
        };
        let (native, text): (Vec<&Select>, Vec<&Select>) = selects.iter().partition(is_same);
        let mut any = Vec::new();
        if !native.is_empty() {
            let indexed = self.in_arms(at, value.clone(), representation, true, &native)?;
            any.push(if representation.is_padded() {
                // Padded values ignore blanks at the end, which a VARCHAR in the set may have.
                let value = representation.as_text(value.clone(), features);
                let exact = self.in_arms(at, value, &Representation::Text, true, &native)?;
                build::nested(build::all(vec![indexed, exact]))
            } else {
                indexed
            });
        }
        if !text.is_empty() {
            let value = representation.as_text(value, features);
            any.push(self.in_arms(at, value, &Representation::Text, representation.is_text(), &text)?);
        }
        Ok(build::any(any))
    }

    /// `value IN (selects)`, or `(value, text) IN (selects)`, with the selects' values in the representation
    /// `wanted`; see [`Representation::looked_up`]. No index finds a value that is not `is_bare`, since it is
    /// cast.
    fn in_arms(
        &mut self,
        at: At<'_>,
        value: Sql,
        wanted: &Representation,
        is_bare: bool,
        selects: &[&Select],
    ) -> Result<Sql, CompileError> {
        let mut selects: Vec<Select> = selects.iter().map(|select| (*select).clone()).collect();
        let features = self.inputs.features;
        let value = wanted.looked_up(value, features);
        for select in &mut selects {
            select.output = select.output.repeat(value.len());
        }
        let inside = At { output: SelectOutput::Values(wanted), hashes_sets: false, ..at };
        let query = self.in_own_scope(inside, &selects, &[], |this, at| {
            let arms = this.arms(at, &selects, value.len(), false)?;
            // SQLite looks a tuple up by an index only if the set is one select.
            let is_wrapped = value.len() > 1 && selects.len() > 1;
            Ok(build::query(if is_wrapped { Self::wrap(arms) } else { arms }))
        })?;
        let value = build::tuple(value);
        let test = match (features.arrays_are_looked_up, is_bare && !at.hashes_sets) {
            // Without an index, each row would search the array from end to end.
            (true, true) => build::any_of(value, BinaryOperator::Eq, build::array_of(query)),
            // A set that is estimated to be too large for a hash table would be read for each row. An array
            // is estimated at ten elements.
            (true, false) => {
                let elements = build::elements_of(build::array_of(query));
                build::in_query(value, build::query(elements))
            }
            (false, _) => build::in_query(value, query),
        };
        // A join could compare each row with each element: it, too, counts on ten of them.
        let stays_test = !is_bare || at.hashes_sets && at.depth > 0;
        Ok(if stays_test && features.joins_sets { build::is_true(build::nested(test)) } else { test })
    }

    /// `value = ANY(ARRAY(query))`, or `value IN (query)`.
    pub(super) fn is_in(&self, value: Sql, query: Query) -> Sql {
        if self.inputs.features.arrays_are_looked_up {
            build::any_of(value, BinaryOperator::Eq, build::array_of(query))
        } else {
            build::in_query(value, query)
        }
    }

    /// `(SELECT column FROM table WHERE key = …) IN (set)`, if the test is of one row that is found by its
    /// key, and one of its columns is looked up in a set that is the same for every row.
    pub(super) fn looked_up(&mut self, at: At<'_>, select: &Select) -> Result<Option<Sql>, CompileError> {
        let [From { alias, kind: FromKind::Source(source) }] = select.from.as_slice() else {
            return Ok(None);
        };
        if at.depth > 0 || !at.hashes_sets || !self.inputs.features.counts_sets_per_row {
            return Ok(None);
        }
        let is_set = |condition: &&Condition| {
            matches!(condition, Condition::In { .. }) && free_aliases(condition) == [*alias]
        };
        let (sets, others): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_set);
        let [Condition::In { expr, selects }] = sets.as_slice() else { return Ok(None) };
        let is_simple =
            |condition: &&Condition| matches!(condition, Condition::Compare { .. } | Condition::OneOf { .. });
        let is_found = others.iter().any(|condition| self.finds_by_key(condition, *alias, *source));
        if !is_found || !others.iter().all(is_simple) {
            return Ok(None);
        }
        let representation = self.represent(at.inside(select), *expr);
        let row = Select {
            from: select.from.clone(),
            filter: others.into_iter().cloned().collect(),
            output: vec![*expr],
        };
        let inside = At { output: SelectOutput::Values(&representation), ..at.in_test() };
        let row = build::scalar(build::query(self.select(inside, &row, None, false)?));
        let test = self.value_in_set(at, row, &representation, selects)?;
        Ok(Some(build::is_true(build::nested(test))))
    }

    /// `value <= ANY(ARRAY(set))`, if the test only compares a value from around it with the numbers of a
    /// small set, which is then made once.
    pub(super) fn bounded(&mut self, at: At<'_>, select: &Select) -> Result<Option<Sql>, CompileError> {
        let is_own =
            |expr: Expr| expr.alias().is_some_and(|alias| select.from.iter().any(|from| from.alias == alias));
        let is_around = |condition: &&Condition| {
            let mut given = false;
            condition.for_each_expr(&mut |expr| given |= matches!(expr, Expr::Given(_)));
            given
                || !free_aliases(condition).into_iter().all(|alias| is_own(Expr::Column { alias, column: 0 }))
        };
        let (links, inner): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_around);
        let [Condition::Compare { op, left, right }] = links.as_slice() else { return Ok(None) };
        let (value, op, own) =
            if is_own(*left) { (*right, op.turned(), *left) } else { (*left, *op, *right) };
        let representation = self.represent(at.inside(select), own);
        let is_number = matches!(&representation, Representation::Native(ty) if ty.family == Family::Integer);
        let is_order = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let filter = inner.into_iter().cloned().collect();
        let set = Select { from: select.from.clone(), filter, output: vec![own] };
        let anchors = Anchors { catalog: self.inputs.catalog, tables: at.tables };
        let is_bound = is_order && is_own(own) && !is_own(value) && is_number && anchors.is_anchored(&set);
        if !is_bound || !self.inputs.features.arrays_are_looked_up {
            return Ok(None);
        }
        let sets = [set];
        let inside = At { output: SelectOutput::Values(&representation), hashes_sets: false, ..at };
        let query = self
            .in_own_scope(inside, &sets, &[], |this, at| Ok(build::query(this.arms(at, &sets, 1, false)?)))?;
        let value = self.integer(at, value)?;
        Ok(Some(build::any_of(value, build::operator(op), build::array_of(query))))
    }

    /// Whether a condition is an equality of a source's unique column with a value from elsewhere.
    fn finds_by_key(&self, condition: &Condition, alias: Alias, source: SourceId) -> bool {
        let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return false };
        match (*left, *right) {
            (Expr::Column { alias: own, column }, other) | (other, Expr::Column { alias: own, column })
                if own == alias && other.alias() != Some(alias) =>
            {
                let keys = Keys { catalog: self.inputs.catalog, bindings: self.target.caller.bindings };
                keys.is_key(source, column)
            }
            _ => false,
        }
    }

    /// The query that `print` makes of these selects; where queries bring their tables, with those that it
    /// reads, but for the `derived` ones.
    pub(super) fn in_own_scope(
        &mut self,
        at: At<'_>,
        selects: &[Select],
        derived: &[TableId],
        print: impl FnOnce(&mut Self, At<'_>) -> Result<Query, CompileError>,
    ) -> Result<Query, CompileError> {
        if !at.brings_tables {
            return print(self, at);
        }
        let mut ctes: Vec<Cte> = Vec::new();
        let mut recursive = false;
        let needed = needed(at.tables, selects);
        let is_named = |id: &TableId| needed.contains(id) && !derived.contains(id);
        for (id, table) in TableId::enumerate(at.tables).filter(|(id, _)| is_named(id)) {
            recursive |= !matches!(table.body, TableBody::Union(_));
            ctes.extend(self.table(at.in_table(id), table)?);
        }
        let query = print(self, At { brings_tables: false, derived, ..at })?;
        let mut all = self.read_queries()?;
        all.extend(ctes);
        Ok(build::with(query, recursive, all))
    }
}
