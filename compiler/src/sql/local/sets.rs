//! Tests and sets in a statement for a caller's database, each as its strategy says, and the tables that
//! their queries define.

use super::filter::RowAccess;
use super::target::Local;
use crate::algebra::readers::needed;
use crate::algebra::{Select, SetUse, TableId};
use crate::catalog::ColumnId;
use crate::ir::CompareOp;
use crate::question::CompileError;
use crate::sql::at::{At, OwnScope, SelectOutput};
use crate::sql::build;
use crate::sql::fixpoint::as_few;
use crate::sql::held::HeldValues;
use crate::sql::lower::{Lowering, Unconstrained, column_name, column_names, cte_kind};
use crate::sql::printing::Printing;
use crate::sql::representation::Representation;
use crate::sql::strategy::{
    ComparisonStrategy, KeyedBound, KeyedRow, NumberBound, SetPart, SetStrategy, TableReader, TestStrategy,
    ValueTuple,
};
use sqlparser::ast::{BinaryOperator, Cte, Expr as Sql, Query};

impl Lowering<'_, Local<'_>> {
    /// A test of whether a select has a row.
    pub(in crate::sql) fn tested(&mut self, at: At<'_>, select: &Select) -> Result<Sql, CompileError> {
        match self.test_strategy(at, select) {
            TestStrategy::Probe(fence) => self.probe(at, select, fence),
            TestStrategy::LookedUp(keyed) => self.looked_up(at, &keyed),
            TestStrategy::Bounded(bound) => self.bounded(at, bound),
            TestStrategy::Paired(tuple) => self.paired(at, tuple),
            TestStrategy::Mapped(keyed) => self.mapped(at, keyed),
        }
    }

    /// `(SELECT column FROM table WHERE key = …) IN (set)`
    fn looked_up(&mut self, at: At<'_>, keyed: &KeyedRow<'_>) -> Result<Sql, CompileError> {
        let KeyedRow { row, representation, set, used } = keyed;
        let inside =
            At { output: SelectOutput::Values(std::slice::from_ref(representation)), ..at.in_test() };
        let row = build::scalar(build::query(self.select(inside, row)?));
        let test = self.value_in_set(at, &row, representation, set, *used)?;
        Ok(build::made_true(test))
    }

    /// `(value <= (SELECT max(number) FROM set)) IS TRUE`: one of the numbers is as large if the largest is.
    /// PostgreSQL estimates that a third of all rows pass one bound, and that almost all pass one of ten, as
    /// many as it expects in an array.
    fn bounded(&mut self, at: At<'_>, bound: NumberBound) -> Result<Sql, CompileError> {
        let NumberBound { value, op, set, representation } = bound;
        let sets = [set];
        let output = SelectOutput::Values(std::slice::from_ref(&representation));
        let inside = At { output, access: RowAccess::ByIndex, ..at };
        let query = self.in_own_scope(inside, &sets, OwnScope::Set, |this, at| {
            Ok(build::query(this.arms(at, &sets, 1, Unconstrained::Null)?))
        })?;
        let furthest = if is_upper(op)? { "max" } else { "min" };
        let set = self.named("q");
        let number = build::column(&set, build::ident(&column_name(ColumnId::FIRST)));
        let item = build::item(build::call(furthest, vec![number]), None);
        let from = build::joined(vec![build::derived(query, &set)]);
        let bound = build::scalar(build::query(build::select(vec![item], from, Vec::new())));
        let test = build::binary(self.integer(at, value)?, build::operator(op), bound);
        Ok(build::is_true(build::nested(test)))
    }

    /// `(value IS NOT NULL AND … AND ((value, …) IN (set)) IS TRUE)`. A row of which only some values are
    /// NULL would be compared with the whole set.
    fn paired(&mut self, at: At<'_>, tuple: ValueTuple) -> Result<Sql, CompileError> {
        let ValueTuple { values, set } = tuple;
        let features = self.inputs.features;
        let (mut known, mut looked_up, mut wanted) = (Vec::new(), Vec::new(), Vec::new());
        for (value, representation, comparison) in values {
            let value = self.expr(at, value)?;
            known.push(build::is_not_null(value.clone()));
            let (value, representation) = match comparison {
                ComparisonStrategy::Native => (value, representation),
                ComparisonStrategy::Text | ComparisonStrategy::NativeAndText => {
                    (representation.as_text(value, features), Representation::Text)
                }
            };
            looked_up.push(value);
            wanted.push(representation);
        }
        let sets = [set];
        let inside = At { output: SelectOutput::Values(&wanted), access: RowAccess::ByIndex, ..at };
        let query = self.in_own_scope(inside, &sets, OwnScope::Set, |this, at| {
            let rows = this.arms(at, &sets, wanted.len(), Unconstrained::Null)?;
            Ok(build::query(as_few(rows, wanted.len())))
        })?;
        let test = build::in_query(build::tuple(looked_up), query);
        known.push(build::is_true(build::nested(test)));
        Ok(build::nested(build::all(known)))
    }

    /// `(value <= CAST((SELECT jsonb_object_agg(key, number) FROM set) ->> key AS BIGINT)) IS TRUE`, where
    /// the set has the largest number of each key.
    fn mapped(&mut self, at: At<'_>, keyed: KeyedBound) -> Result<Sql, CompileError> {
        let KeyedBound { key: (key, of_key), bound: NumberBound { value, op, set, representation } } = keyed;
        let [set_name, map_name] = ["s", "q"].map(|name| self.named(name));
        let names = column_names(2);
        let columns: Vec<&str> = names.iter().map(String::as_str).collect();
        let of = |table: &str| names.iter().map(|name| build::column(table, build::ident(name))).collect();
        let (of_set, of_map): (Vec<Sql>, Vec<Sql>) = (of(&set_name), of(&map_name));
        let (sets, wanted) = ([set], [of_key.clone(), representation]);
        let inside = At { output: SelectOutput::Values(&wanted), access: RowAccess::ByIndex, ..at };
        let rows = self.in_own_scope(inside, &sets, OwnScope::Set, |this, at| {
            Ok(build::query(this.arms(at, &sets, 2, Unconstrained::Null)?))
        })?;
        let from = build::joined(vec![build::derived_as(rows, &set_name, &columns)]);
        let items = of_set
            .iter()
            .zip(&names)
            .map(|(column, name)| build::item(column.clone(), Some(build::ident(name))));
        let known = of_set.iter().cloned().map(build::is_not_null).collect();
        let all = build::select(items.collect(), from, known);
        let [own_key, number] = of_set.as_slice() else {
            return Err(CompileError::Bug("a map of other columns than two".into()));
        };
        let furthest = if is_upper(op)? { build::descending } else { build::ascending };
        let by = vec![build::ascending(own_key.clone()), furthest(number.clone())];
        let furthest = build::ordered(build::query(build::distinct_on(all, vec![own_key.clone()])), by);
        let map = build::item(build::call("jsonb_object_agg", of_map), None);
        let from = build::joined(vec![build::derived(furthest, &map_name)]);
        let map = build::scalar(build::query(build::select(vec![map], from, Vec::new())));
        let key = self.expr(at, key)?;
        let key = of_key.as_text(key, self.inputs.features);
        let number = build::cast(build::binary(map, BinaryOperator::LongArrow, key), "BIGINT");
        let test = build::binary(self.integer(at, value)?, build::operator(op), number);
        Ok(build::is_true(build::nested(test)))
    }

    /// `value IN (selects)`, for a value that is already SQL.
    pub(in crate::sql) fn value_in_set(
        &mut self,
        at: At<'_>,
        value: &Sql,
        representation: &Representation,
        selects: &[Select],
        used: SetUse,
    ) -> Result<Sql, CompileError> {
        let text = representation.as_text(value.clone(), self.inputs.features);
        let mut any = Vec::new();
        for part in self.set_parts(at, representation, selects, used) {
            let native = (value.clone(), representation);
            let text = (text.clone(), &Representation::Text);
            any.push(match part.comparison {
                ComparisonStrategy::Native => self.in_part(at, native, &part)?,
                ComparisonStrategy::Text => self.in_part(at, text, &part)?,
                ComparisonStrategy::NativeAndText => {
                    let texts = part.as_texts(representation, self.inputs.features);
                    let mut all = Vec::new();
                    if part.needs_both(representation) {
                        all.push(self.in_part(at, native, &part)?);
                    }
                    all.push(self.in_part(at, text, &texts)?);
                    build::nested(build::all(all))
                }
            });
        }
        Ok(build::any(any))
    }

    /// `value IN (selects)`, or `(value, text) IN (selects)`, with the selects' values in the representation
    /// of the value; see [`Representation::looked_up`].
    fn in_part(
        &mut self,
        at: At<'_>,
        (value, wanted): (Sql, &Representation),
        part: &SetPart<'_>,
    ) -> Result<Sql, CompileError> {
        let mut selects: Vec<Select> = part.selects.iter().map(|select| (*select).clone()).collect();
        let value = wanted.looked_up(value, self.inputs.features);
        for select in &mut selects {
            select.output = select.output.as_slice().repeat(value.len()).into();
        }
        // The database may join what a set reads.
        let (output, access) = (SelectOutput::Values(std::slice::from_ref(wanted)), RowAccess::ByIndex);
        let inside = At { output, access, under_or: false, ..at };
        let query = self.in_own_scope(inside, &selects, OwnScope::Set, |this, at| {
            let arms = this.arms(at, &selects, value.len(), Unconstrained::Null)?;
            // SQLite looks a tuple up by an index only if the set is one select.
            let is_wrapped = value.len() > 1 && selects.len() > 1;
            Ok(build::query(if is_wrapped { Self::wrap(arms) } else { arms }))
        })?;
        let test = in_query(part.strategy, build::tuple(value), query);
        Ok(if part.stays_test { build::is_true(build::nested(test)) } else { test })
    }

    /// The query that `print` builds from these selects. Where queries define their own tables, it defines
    /// those that it reads, except the derived ones.
    pub(in crate::sql) fn in_own_scope(
        &mut self,
        at: At<'_>,
        selects: &[Select],
        kind: OwnScope<'_>,
        print: impl FnOnce(&mut Self, At<'_>) -> Result<Query, CompileError>,
    ) -> Result<Query, CompileError> {
        if !at.brings_tables {
            return print(self, at);
        }
        let mut ctes: Vec<Cte> = Vec::new();
        // A test starts from one row, which leads to few rows of a recursion anyway.
        let (derived, (tables, few)) = match kind {
            OwnScope::Set => (&[][..], self.tested_as_few(at.tables, selects, TableReader::Set)),
            OwnScope::Test(derived) => (derived, (at.tables.to_vec(), Vec::new())),
        };
        let needed = needed(at.tables, selects);
        let is_named = |id: &TableId| needed.contains(id) && !derived.contains(id);
        let has_with = kind == OwnScope::Set || needed.iter().any(is_named);
        let inner = needed.iter().flat_map(|id| id.of(at.tables).body.selects());
        let held = HeldValues::of(selects.iter().chain(inner).filter(|_| has_with));
        let at = At { held: &held, ..at };
        let named = || TableId::enumerate(at.tables).filter(|(id, _)| is_named(id));
        for (id, table) in named() {
            ctes.extend(self.table(at.in_table(id), table)?);
        }
        let query = print(self, At { brings_tables: false, derived, tables: &tables, ..at })?;
        let mut all = self.read_by_name();
        all.extend(ctes.into_iter().chain(few));
        Ok(build::with(query, cte_kind(named().map(|(_, table)| table)), all))
    }
}

/// `value IN (query)`, as a strategy says.
pub(in crate::sql) fn in_query(strategy: SetStrategy, value: Sql, query: Query) -> Sql {
    match strategy {
        SetStrategy::OneRow => build::binary(value, BinaryOperator::Eq, build::scalar(query)),
        SetStrategy::Array => build::any_of(value, BinaryOperator::Eq, build::array_of(query)),
        SetStrategy::HashedElements => {
            build::in_query(value, build::query(build::elements_of(build::array_of(query))))
        }
        SetStrategy::Subquery => build::in_query(value, query),
    }
}

/// Whether the largest of several numbers is the furthest bound of a value; otherwise it is the smallest.
fn is_upper(op: CompareOp) -> Result<bool, CompileError> {
    match op {
        CompareOp::Less | CompareOp::LessOrEqual => Ok(true),
        CompareOp::Greater | CompareOp::GreaterOrEqual => Ok(false),
        CompareOp::Equal | CompareOp::NotEqual => {
            Err(CompileError::Bug("a bound that is no order comparison".into()))
        }
    }
}
