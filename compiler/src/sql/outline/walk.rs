//! Walks a plan for its sets, its look-ups for each row, and its comparisons.

use super::report::{FilterColumn, Outline, Probe, SetKind, SetMade, SlowPart, Start};
use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::readers::{needed, reads_tables_in_sets};
use crate::algebra::{Condition, Expr, FromKind, Plan, Select, SetUse, TableBody, TableId};
use crate::sql::at::{At, QueryAround};
use crate::sql::local::filter::{Filter, LookedUp, RowAccess};
use crate::sql::local::target::Local;
use crate::sql::lower::Lowering;
use crate::sql::strategy::{KeyStrategy, SetStrategy, TestStrategy, at_alternatives};

/// How often a test is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frequency {
    /// For the text as a whole, or for each row of a query inside it.
    Once,
    /// For each row of the caller's query.
    PerRow,
}

/// A walk through one plan.
pub(super) struct Walk<'w, 'l> {
    pub(super) lowering: &'w Lowering<'l, Local<'l>>,
    pub(super) plan: &'w Plan,
    anchors: Anchors<'w>,
    /// The filter's column.
    pub(super) column: Option<&'w FilterColumn<'w>>,
    pub(super) outline: Outline,
}

impl<'w, 'l> Walk<'w, 'l> {
    pub(super) fn new(
        lowering: &'w Lowering<'l, Local<'l>>,
        plan: &'w Plan,
        column: Option<&'w FilterColumn<'w>>,
    ) -> Self {
        let anchors = Anchors::new(lowering.inputs.catalog, &plan.tables);
        Self { lowering, plan, anchors, column, outline: Outline::default() }
    }

    /// The plan's tables; for a filter, those that its sets define.
    pub(super) fn tables(&mut self, read: &[Select]) {
        let top = At::top(&self.plan.tables);
        let needed = needed(&self.plan.tables, read);
        for (id, table) in TableId::enumerate(&self.plan.tables) {
            if self.column.is_some() && !needed.contains(&id) {
                continue;
            }
            let (kind, starts): (SetKind, &[Select]) = match &table.body {
                TableBody::Union(selects) => {
                    (SetKind::Table { n_readings: self.n_readings(id, read) }, selects)
                }
                TableBody::Recursive { base, .. } => (SetKind::Recursion, base),
                TableBody::WholeState { base, .. } => (SetKind::WholeState, base),
            };
            if kind == SetKind::WholeState {
                self.slow(SlowPart::WholeState { table: table.name.clone() });
            }
            if table.body.selects().any(|select| self.shows_rows(select)) {
                self.slow(SlowPart::OwnRows { table: table.name.clone() });
            }
            let name = Some((table.name.clone(), table.comment.clone()));
            let all: Vec<&Select> = table.body.selects().collect();
            let reads = self.reads(&all);
            let start = self.start(starts);
            self.made(SetMade { name, kind, start, reads }, starts);
            for select in table.body.selects() {
                self.conditions(top.in_table(id).in_where(select), select, Frequency::Once);
            }
        }
    }

    /// A select of a check or of rows.
    pub(super) fn select(&mut self, select: &Select) {
        let top = At::top(&self.plan.tables);
        let at = if select.reads_nothing() { top.inside(select) } else { top.in_where(select) };
        self.conditions(at, select, Frequency::Once);
    }

    /// The alternatives of a filter.
    pub(super) fn filter(&mut self, filter: &Filter) {
        let under_or = filter.n_alternatives() > 1;
        let at = At { access: filter.access, under_or, ..At::filter(&self.plan.tables) };
        for row in &filter.rows {
            if !self.anchors.has_index(row) {
                let reads = self.with_rows(&[row]);
                self.slow(SlowPart::EachRow(reads));
            }
            self.branch(at, row, Frequency::PerRow);
        }
        // Guards alone are the same for every row.
        if filter.n_alternatives() > filter.guards.len() {
            for guard in &filter.guards {
                let reads = self.reads(&[guard]);
                self.slow(SlowPart::EveryRow(reads));
            }
        }
        for select in filter.conditioned.iter().map(|(_, select)| select).chain(&filter.guards) {
            self.branch(at, select, Frequency::Once);
        }
        for condition in &filter.common {
            self.condition(at, condition, Frequency::Once);
        }
        if let Some(column) = self.column.filter(|_| !filter.set.is_empty()) {
            let selects = filter.set.clone();
            let set = Condition::In { expr: Expr::Given(column.var), selects, used: SetUse::ToFind };
            self.condition(at, &set, Frequency::Once);
        }
        if let Some(looked_up) = &filter.looked_up {
            self.looked_up(filter, looked_up);
        }
    }

    /// The keys of a table's rows that pass, among which a filter's column is looked up.
    fn looked_up(&mut self, filter: &Filter, looked_up: &LookedUp) {
        let LookedUp { rows, access, .. } = looked_up;
        if rows.is_empty() {
            return;
        }
        let strategy = KeyStrategy::of(filter, looked_up, self.lowering.inputs.features);
        let kind = match strategy {
            KeyStrategy::Row | KeyStrategy::Set(SetStrategy::Array) => SetKind::Array,
            KeyStrategy::Set(SetStrategy::OneRow | SetStrategy::HashedElements | SetStrategy::Subquery) => {
                SetKind::Subquery
            }
        };
        let rows: Vec<&Select> = rows.iter().collect();
        let reads = self.with_rows(&rows);
        let start = match access {
            RowAccess::ByIndex => Start::Values,
            RowAccess::EveryRow => Start::Nowhere,
        };
        if start == Start::Nowhere {
            self.slow(SlowPart::Unbounded(reads.clone()));
        }
        self.outline.sets.push(SetMade { name: None, kind, start, reads });
        let query_around =
            if strategy == KeyStrategy::Row { QueryAround::RowOfKey } else { QueryAround::Anything };
        let at =
            At { access: *access, under_or: rows.len() > 1, query_around, ..At::filter(&self.plan.tables) };
        for row in rows {
            self.branch(at, row, Frequency::Once);
        }
    }

    /// An alternative of a condition.
    fn branch(&mut self, at: At<'_>, select: &Select, frequency: Frequency) {
        if select.reads_nothing() {
            return self.conditions(at.inside(select), select, frequency);
        }
        match (self.lowering.test_strategy(at, select), frequency) {
            (
                TestStrategy::Bounded(_) | TestStrategy::Paired(_) | TestStrategy::Mapped(_),
                Frequency::PerRow,
            ) => {
                let reads = self.reads(&[select]);
                self.made(SetMade { name: None, kind: SetKind::Subquery, start: Start::Values, reads }, &[]);
                self.conditions(at.in_test().in_where(select), select, Frequency::Once);
            }
            (
                TestStrategy::Bounded(_) | TestStrategy::Paired(_) | TestStrategy::Mapped(_),
                Frequency::Once,
            )
            | (TestStrategy::Probe(_) | TestStrategy::LookedUp(_), _) => self.probe(at, select, frequency),
        }
    }

    /// A denied alternative of a condition.
    fn denied(&mut self, at: At<'_>, select: &Select, frequency: Frequency) {
        if select.reads_nothing() {
            self.conditions(at.denied(select), select, frequency);
        } else {
            self.probe(at, select, frequency);
        }
    }

    /// A query that finds a row.
    fn probe(&mut self, at: At<'_>, select: &Select, frequency: Frequency) {
        if frequency == Frequency::PerRow && mentions_outside(select) {
            let (reads, mut by) = (self.reads(&[select]), self.led_by(select));
            let is_led = !by.is_empty() || self.is_led_by_table(select) || self.anchors.is_anchored(select);
            if !is_led {
                self.slow(SlowPart::Unled(reads.clone()));
            }
            if self.lowering.inputs.features.joins_tests {
                self.tested_recursions(select);
            }
            if by.is_empty() && is_led {
                let names_thing = |own: Expr| self.anchors.names_thing(own, &select.from);
                by = self.equal_to(select, |own, other| matches!(other, Expr::Const(_)) && names_thing(own));
            }
            let probe = Probe { reads, by };
            if !self.outline.probes.contains(&probe) {
                self.outline.probes.push(probe);
            }
        }
        self.conditions(at.in_test().in_where(select), select, Frequency::Once);
    }

    /// Notes the recursions that a test reads itself, not only in its sets.
    fn tested_recursions(&mut self, test: &Select) {
        if reads_tables_in_sets(test) {
            return;
        }
        for id in needed(&self.plan.tables, std::slice::from_ref(test)) {
            let table = id.of(&self.plan.tables);
            match table.body {
                TableBody::Union(_) => {}
                TableBody::Recursive { .. } | TableBody::WholeState { .. } => {
                    self.slow(SlowPart::TestedRecursion { table: table.name.clone() });
                }
            }
        }
    }

    /// The conditions of a select; `at` is inside it.
    fn conditions(&mut self, at: At<'_>, select: &Select, frequency: Frequency) {
        for condition in &select.filter {
            self.condition(at, condition, frequency);
        }
    }

    fn condition(&mut self, at: At<'_>, condition: &Condition, frequency: Frequency) {
        match condition {
            Condition::Compare { op, left, right } => self.compared(at, *op, *left, *right),
            Condition::OneOf { expr, literals } => self.one_of(at, *expr, literals),
            Condition::Meets { .. } => {}
            Condition::In { expr, selects, used } => {
                let parts = self.lowering.set_parts(at, &self.lowering.represent(at, *expr), selects, *used);
                self.in_parts(at, *expr, &parts);
                let are_all = |strategy| parts.iter().all(|part| part.strategy == strategy);
                let kind = if are_all(SetStrategy::OneRow) {
                    SetKind::Row
                } else if are_all(SetStrategy::Array) {
                    SetKind::Array
                } else {
                    SetKind::Subquery
                };
                let around = mentions_around(condition);
                let start = if around { Start::Row } else { self.start(selects) };
                let reads = self.reads(&selects.iter().collect::<Vec<_>>());
                // A set that only shows a table is that table.
                let is_table = reads.bindings.is_empty() && !reads.has_values && reads.tables.len() == 1;
                if !is_table {
                    self.made(SetMade { name: None, kind, start, reads }, selects);
                }
                let at = At { access: RowAccess::ByIndex, ..at };
                for select in selects {
                    self.conditions(at.in_where(select), select, Frequency::Once);
                }
            }
            Condition::Any(branches) => {
                let at = at_alternatives(at, branches);
                branches.iter().for_each(|branch| self.branch(at, branch, frequency));
            }
            Condition::None(branches) => {
                branches.iter().for_each(|branch| self.denied(at, branch, frequency));
            }
        }
    }

    /// In how many places a table is read.
    fn n_readings(&self, table: TableId, read: &[Select]) -> usize {
        let tables = self.plan.tables.iter().flat_map(|table| table.body.selects());
        tables.chain(read).map(|select| select.n_readings(table)).sum()
    }

    /// What bounds a set.
    fn start(&self, selects: &[Select]) -> Start {
        if selects.iter().all(|select| self.anchors.is_anchored(select)) {
            Start::Values
        } else {
            Start::Nowhere
        }
    }

    /// Notes a set, which starts with these selects.
    fn made(&mut self, set: SetMade, starts: &[Select]) {
        if set.start == Start::Nowhere {
            let open: Vec<&Select> =
                starts.iter().filter(|select| !self.anchors.is_anchored(select)).collect();
            let reads = self.reads(&open);
            self.slow(SlowPart::Unbounded(reads));
        }
        if !self.outline.sets.contains(&set) {
            self.outline.sets.push(set);
        }
    }

    pub(super) fn slow(&mut self, part: SlowPart) {
        if !self.outline.slow.contains(&part) {
            self.outline.slow.push(part);
        }
    }
}

fn mentions_given(condition: &Condition) -> bool {
    let mut found = false;
    condition.for_each_expr(&mut |expr| found |= matches!(expr, Expr::Given(_)));
    found
}

/// Whether a select mentions something from around it.
fn mentions_outside(select: &Select) -> bool {
    let test = Condition::Any(vec![select.clone()]);
    let mut has_row = false;
    select.for_each_source(&mut |from| has_row |= matches!(from.kind, FromKind::Row { .. }));
    has_row || mentions_given(&test) || !free_aliases(&test).is_empty()
}

/// Whether a set mentions something from around it.
fn mentions_around(condition: &Condition) -> bool {
    condition.branches().iter().any(mentions_outside)
}
