//! Tests of whether a select has a row, which are the branches of conditions.

use super::set::ComparisonStrategy;
use crate::algebra::aliases::free_aliases;
use crate::algebra::anchor::Anchors;
use crate::algebra::links::{Link, LinkedRows};
use crate::algebra::{Condition, Expr, From, FromKind, Select, SetUse};
use crate::dialect::Features;
use crate::ir::CompareOp;
use crate::keys::Keys;
use crate::primitive::Primitive;
use crate::sql::at::{At, Siblings};
use crate::sql::local::filter::RowAccess;
use crate::sql::local::target::Local;
use crate::sql::lower::Lowering;
use crate::sql::representation::Representation;

/// How a test of whether a select has a row is evaluated.
#[derive(Clone, Debug)]
pub(in crate::sql) enum TestStrategy<'s> {
    /// `EXISTS (query)`
    Probe(Fence),
    /// `(SELECT column FROM table WHERE key = …) IN (set)`
    LookedUp(KeyedRow<'s>),
    /// `value <= (SELECT max(number) FROM set)`
    Bounded(NumberBound),
    /// `(value, value) IN (SELECT column, column FROM set)`
    Paired(ValueTuple),
    /// `value <= (SELECT a map from keys to their largest numbers FROM set) ->> key`
    Mapped(KeyedBound),
}

/// The most values that are looked up together.
const MOST_VALUES: usize = 3;

/// Whether a query is planned apart from the one around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum Fence {
    /// It is planned apart, because of an `OFFSET 0`.
    Around,
    /// The database decides.
    Absent,
}

/// A row that is found by its key, and meets conditions on its own columns. One column is looked up in a set
/// that is the same for all rows.
#[derive(Clone, Debug)]
pub(in crate::sql) struct KeyedRow<'s> {
    /// The row, and the column as its output.
    pub(in crate::sql) row: Select,
    /// How the column is represented.
    pub(in crate::sql) representation: Representation,
    /// The set.
    pub(in crate::sql) set: &'s [Select],
    /// What the set is for.
    pub(in crate::sql) used: SetUse,
}

/// A value that is only compared with the numbers of a small set, which is made once.
#[derive(Clone, Debug)]
pub(in crate::sql) struct NumberBound {
    /// The value, from around the test.
    pub(in crate::sql) value: Expr,
    /// How it must compare with one of the numbers.
    pub(in crate::sql) op: CompareOp,
    /// The numbers.
    pub(in crate::sql) set: Select,
    /// How they are represented.
    pub(in crate::sql) representation: Representation,
}

/// Values of one row, which are looked up together in a small set that is made once.
#[derive(Clone, Debug)]
pub(in crate::sql) struct ValueTuple {
    /// The values, from around the test, each with its representation and how it is compared.
    pub(in crate::sql) values: Vec<(Expr, Representation, ComparisonStrategy)>,
    /// The set, which shows as many columns.
    pub(in crate::sql) set: Select,
}

/// A value that is only compared with the numbers that a small set has for another value of the row.
#[derive(Clone, Debug)]
pub(in crate::sql) struct KeyedBound {
    /// The other value, from around the test, and how it is represented.
    pub(in crate::sql) key: (Expr, Representation),
    /// The value, and the numbers: the second column of their set.
    pub(in crate::sql) bound: NumberBound,
}

/// Whether a select shows the caller's row.
fn shows_row(select: &Select) -> bool {
    select.from.iter().any(|from| matches!(from.kind, FromKind::Row { .. }))
}

impl Fence {
    /// The fence around a test inside a test.
    pub(in crate::sql) fn nested(features: &Features) -> Self {
        if features.fences_alternatives { Self::Around } else { Self::Absent }
    }
}

/// Where the alternatives of a condition are printed.
pub(in crate::sql) fn at_alternatives<'p>(at: At<'p>, branches: &[Select]) -> At<'p> {
    let siblings = if branches.len() > 1 { Siblings::Present } else { Siblings::Absent };
    // This test runs only for the few rows that match the denied comparisons, so its sets are not hashed.
    let at = if branches.iter().any(exempts) { at.in_test() } else { at };
    At { siblings, under_or: at.under_or || branches.len() > 1, ..at }
}

/// Whether an alternative only denies comparisons with the enclosing row.
fn exempts(select: &Select) -> bool {
    matches!((select.from.as_slice(), select.filter.as_slice()), ([], [Condition::None(denied)])
        if denied.iter().all(Select::reads_nothing))
}

impl Lowering<'_, Local<'_>> {
    /// How a test of whether a select has a row is evaluated.
    pub(in crate::sql) fn test_strategy<'s>(&self, at: At<'_>, select: &'s Select) -> TestStrategy<'s> {
        if let Some(keyed) = self.keyed_row(at, select) {
            return TestStrategy::LookedUp(keyed);
        }
        if let Some(bound) = self.number_bound(at, select) {
            return TestStrategy::Bounded(bound);
        }
        if let Some(tuple) = self.value_tuple(at, select) {
            return TestStrategy::Paired(tuple);
        }
        if let Some(bound) = self.keyed_bound(at, select) {
            return TestStrategy::Mapped(bound);
        }
        // At the top the choice between probing and hashing is left to the database, unless the filter has
        // made it. A test by key is fenced, except one that could also be a set of the actor's rows. A test
        // that all alternatives share may become a join, unless a row is looked up.
        let may_be_hashed = || !self.is_found_by_key(select) || self.could_be_listed(at, select);
        let is_open = at.access == RowAccess::ByIndex && may_be_hashed();
        let is_left_open = at.depth == 0 && (is_open || !at.under_or && !at.must_stay_test());
        let fence = if is_left_open { Fence::Absent } else { Fence::nested(self.inputs.features) };
        TestStrategy::Probe(fence)
    }

    /// Whether a test that compares several values of the row could be a set of rows of the actor's.
    fn could_be_listed(&self, at: At<'_>, select: &Select) -> bool {
        let anchors = Anchors::new(self.inputs.catalog, at.tables);
        LinkedRows::of(select).is_some_and(|rows| rows.links.len() > 1 && anchors.is_anchored(&rows.set))
    }

    /// The fence around a denial. Without one, in a test that looks up one relation for each row, the
    /// database could turn the denial into a join that reads a whole table each time. Without statistics, it
    /// could also hash everything that a denial in an alternative reads, with a look-up for each of its rows.
    /// Nor may a denial become part of a look-up of the filter's row.
    pub(in crate::sql) fn denial_fence(&self, at: At<'_>, denied: &Select) -> Fence {
        let is_in_look_up = at.depth > 0 && at.scope.is_one_relation();
        let may_be_hashed = at.depth == 0 && denied.looks_up_inside();
        if at.must_stay_test() || at.under_or && (is_in_look_up || may_be_hashed) {
            Fence::nested(self.inputs.features)
        } else {
            Fence::Absent
        }
    }

    /// The row and the set, if the test finds one row by its key, and looks one of its columns up in a set
    /// that is the same for every row. A row that fails the other conditions gives NULL, which is in no set.
    fn keyed_row<'s>(&self, at: At<'_>, select: &'s Select) -> Option<KeyedRow<'s>> {
        let [From { alias, kind: FromKind::Source(_) }] = select.from.as_slice() else { return None };
        let may_be_joined = at.access == RowAccess::ByIndex && !at.under_or;
        if at.depth > 0 || may_be_joined || !self.inputs.features.counts_sets_per_row {
            return None;
        }
        let is_set = |condition: &&Condition| {
            matches!(condition, Condition::In { .. }) && free_aliases(condition) == [*alias]
        };
        let (sets, others): (Vec<&Condition>, Vec<&Condition>) = select.filter.iter().partition(is_set);
        let [Condition::In { expr, selects, used }] = sets.as_slice() else { return None };
        if !self.is_found_by_key(select) || !others.iter().all(|condition| condition.is_of_columns()) {
            return None;
        }
        let filter = others.into_iter().cloned().collect();
        let row = Select { from: select.from.clone(), filter, output: vec![*expr].into() };
        let representation = self.represent(at.inside(select), *expr);
        Some(KeyedRow { row, representation, set: selects, used: *used })
    }

    /// Whether a select reads a row that is found by its key: that equals a value from around the select.
    fn is_found_by_key(&self, select: &Select) -> bool {
        let keys = Keys { catalog: self.inputs.catalog, bindings: self.target.caller.bindings };
        let is_around = |value: Expr| select.from.iter().all(|from| value.alias() != Some(from.alias));
        select.from.iter().any(|from| {
            let mut found = select.filter.iter().filter_map(|condition| keys.looked_up(condition, *from));
            found.any(is_around)
        })
    }

    /// The bound, if the test only compares a value from around it with the numbers of a small set.
    fn number_bound(&self, at: At<'_>, select: &Select) -> Option<NumberBound> {
        let LinkedRows { links, set } = LinkedRows::of(select)?;
        let [Link { value, op, own }] = *links.as_slice() else { return None };
        let representation = self.represent(at.inside(select), own);
        let is_order = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let is_bound = self.inputs.features.arrays_are_looked_up
            && is_order
            && representation.is_integer()
            && (Anchors::new(self.inputs.catalog, at.tables).is_anchored(&set) || self.is_setting(&set));
        is_bound.then_some(NumberBound { value, op, set, representation })
    }

    /// The values and the set, if the test only compares a few values of the filter's row with those of
    /// a small set. PostgreSQL can hash such a test by itself, but counts it as if it were run for each row,
    /// and so compiles the statement.
    fn value_tuple(&self, at: At<'_>, select: &Select) -> Option<ValueTuple> {
        let LinkedRows { links, set } = LinkedRows::of(select)?;
        // A test that is not one of several alternatives can become a join, unless it defines what it reads.
        let is_of_row = at.brings_tables && at.depth == 0 && (at.under_or || select.reads_table());
        let is_short = (2..=MOST_VALUES).contains(&links.len());
        if !is_of_row || shows_row(select) || !is_short || !self.inputs.features.arrays_count_as_few {
            return None;
        }
        let inside = at.inside(select);
        let value = |link: &Link| {
            let (of_value, of_own) = (self.represent(inside, link.value), self.represent(inside, link.own));
            let comparison = ComparisonStrategy::of(link.op, &of_value, &of_own);
            let is_hashed = link.op == CompareOp::Equal && comparison.is_hashed(&of_value, &of_own);
            is_hashed.then_some((link.value, of_value, comparison))
        };
        let values = links.iter().map(value).collect::<Option<Vec<_>>>()?;
        let anchors = Anchors::new(self.inputs.catalog, at.tables);
        (!self.joins_much(at, &set) && anchors.is_anchored(&set)).then_some(ValueTuple { values, set })
    }

    /// Whether a set joins rows by a text, and some source of it has no column that equals a given value. The
    /// user's roles joined with everything that the roles may do are as many rows as a table has; with what
    /// they may *view*, only a few.
    fn joins_much(&self, at: At<'_>, set: &Select) -> bool {
        let anchors = Anchors::new(self.inputs.catalog, at.tables);
        let equal = |condition: &Condition| match condition {
            Condition::Compare { op: CompareOp::Equal, left, right } => Some((*left, *right)),
            _ => None,
        };
        let equalities = || set.filter.iter().filter_map(equal);
        let joins_texts = equalities().any(|(left, right)| {
            let are_columns = left.alias().is_some() && right.alias().is_some();
            are_columns && [left, right].iter().any(|side| !anchors.names_thing(*side, &set.from))
        });
        let is_restricted = |from: &From| {
            let is_own = |side: Expr| side.alias() == Some(from.alias);
            equalities()
                .any(|(left, right)| is_own(left) && right.is_static() || is_own(right) && left.is_static())
        };
        joins_texts && !set.from.iter().all(is_restricted)
    }

    /// The key and the bound, if the test only compares a value of the filter's row with the numbers of a
    /// small set for another value of it, and reads a recursion, which a test of each row would read again.
    fn keyed_bound(&self, at: At<'_>, select: &Select) -> Option<KeyedBound> {
        let LinkedRows { links, set } = LinkedRows::of(select)?;
        let [one, other] = links.as_slice() else { return None };
        let (key, Link { value, op, own }) =
            if one.op == CompareOp::Equal { (one, *other) } else { (other, *one) };
        let inside = at.inside(select);
        let (of_value, of_key) = (self.represent(inside, key.value), self.represent(inside, key.own));
        let representation = self.represent(inside, own);
        let is_order = !matches!(op, CompareOp::Equal | CompareOp::NotEqual);
        let is_mapped = self.inputs.features.makes_maps
            && at.brings_tables
            && at.depth == 0
            && select.reads_table()
            && !shows_row(select)
            && key.op == CompareOp::Equal
            && is_order
            && of_value.has_one_text()
            && of_key.has_one_text()
            && representation.is_integer()
            && Anchors::new(self.inputs.catalog, at.tables).is_anchored(&set);
        let set = Select { output: vec![key.own, own].into(), ..set };
        let bound = NumberBound { value, op, set, representation };
        is_mapped.then_some(KeyedBound { key: (key.value, of_key), bound })
    }

    /// Whether a set is what a table of words and numbers, such as the levels of roles, has for a literal. A
    /// word narrows down no table of things. But here it names the thing.
    fn is_setting(&self, set: &Select) -> bool {
        let [From { kind: FromKind::Source(source), .. }] = set.from.as_slice() else { return false };
        let mut types = self.inputs.catalog.relations[*source].columns().map(|(ty, _)| ty);
        let is_literal = |condition: &Condition| match condition {
            Condition::Compare { op, left, right } => {
                let has_literal = [left, right].iter().any(|side| matches!(side, Expr::Const(_)));
                *op == CompareOp::Equal && has_literal
            }
            Condition::OneOf { .. } => true,
            Condition::Meets { .. } | Condition::In { .. } | Condition::Any(_) | Condition::None(_) => false,
        };
        types.all(|ty| Primitive::named(ty).is_some()) && set.filter.iter().any(is_literal)
    }
}
