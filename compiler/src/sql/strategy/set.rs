//! Look-ups in sets, and the comparisons with their values.

use crate::algebra::{Select, SetUse};
use crate::dialect::Features;
use crate::ir::CompareOp;
use crate::sql::at::{At, NullCondition, SourceScope};
use crate::sql::local::filter::{Filter, LookedUp, RowAccess};
use crate::sql::local::target::Local;
use crate::sql::lower::Lowering;
use crate::sql::representation::Representation;

/// How a value is looked up in a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum SetStrategy {
    /// `value = (query)`, for a query that has at most one row. It is NULL if there is none.
    OneRow,
    /// `value = ANY(ARRAY(query))`, for a value that an index finds. Without one, each row would search the
    /// array from end to end.
    Array,
    /// `value IN (SELECT unnest(ARRAY(query)))`. A query that is estimated to be too large for a hash table
    /// would be read for each row; an array is estimated at ten elements.
    HashedElements,
    /// `value IN (query)`
    Subquery,
}

/// The selects of a set whose values are compared alike.
#[derive(Clone, Debug)]
pub(in crate::sql) struct SetPart<'s> {
    /// The selects.
    pub(in crate::sql) selects: Vec<&'s Select>,
    /// How the value is compared with theirs.
    pub(in crate::sql) comparison: ComparisonStrategy,
    /// How it is looked up.
    pub(in crate::sql) strategy: SetStrategy,
    /// Whether the database must not turn the look-up into a join. A join could compare each row with each
    /// element, because it is planned for ten elements, too.
    pub(in crate::sql) stays_test: bool,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum ComparisonStrategy {
    /// In their representation, so that an index can be used.
    Native,
    /// As texts, by their bytes.
    Text,
    /// In both ways: an index finds rows, and the bytes exclude some of them.
    NativeAndText,
}

/// How a filter's column is looked up among the keys of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum KeyStrategy {
    /// `EXISTS (SELECT 1 FROM table WHERE key = column AND …)`, which the database may join from either side.
    Row,
    /// Among all keys that pass.
    Set(SetStrategy),
}

impl SetStrategy {
    /// The strategy for a set that is made once, and a value for which there is an index.
    fn indexed(features: &Features) -> Self {
        if features.arrays_are_looked_up { Self::Array } else { Self::Subquery }
    }

    /// The strategy for a set that is made once, and a value without an index, or rows that are all read
    /// anyway.
    fn hashed(features: &Features) -> Self {
        if features.arrays_are_looked_up { Self::HashedElements } else { Self::Subquery }
    }
}

impl SetPart<'_> {
    /// The part as its values are compared as texts, beside the look-up by an index or in place of it. No
    /// index finds a `citext` by its text, and each row would search an array from end to end.
    pub(in crate::sql) fn as_texts(&self, representation: &Representation, features: &Features) -> Self {
        let is_hashed = representation.is_caseless() && self.strategy == SetStrategy::Array;
        if !is_hashed {
            return self.clone();
        }
        Self { strategy: SetStrategy::hashed(features), stays_test: features.joins_sets, ..self.clone() }
    }

    /// Whether both comparisons are needed: the texts alone decide, if no index is asked.
    pub(in crate::sql) fn needs_both(&self, representation: &Representation) -> bool {
        !representation.is_caseless() || matches!(self.strategy, SetStrategy::OneRow | SetStrategy::Array)
    }
}

impl ComparisonStrategy {
    /// The strategy for values that are represented like these.
    pub(in crate::sql) fn of(op: CompareOp, left: &Representation, right: &Representation) -> Self {
        if !left.compares_natively_with(right) {
            Self::Text
        } else if !(left.is_inexact() || right.is_inexact()) {
            Self::Native
        } else if op == CompareOp::Equal {
            Self::NativeAndText
        } else {
            Self::Text
        }
    }

    /// Whether the database can hash values that are compared like this.
    pub(in crate::sql) fn is_hashed(self, left: &Representation, right: &Representation) -> bool {
        match self {
            Self::Native => {
                let are_both = |is: fn(&Representation) -> bool| is(left) && is(right);
                left == right || are_both(Representation::is_text) || are_both(Representation::is_integer)
            }
            Self::Text => true,
            // Each side as text.
            Self::NativeAndText => left.is_caseless(),
        }
    }
}

impl KeyStrategy {
    /// The strategy for the keys of a filter.
    pub(in crate::sql) fn of(filter: &Filter, looked_up: &LookedUp, features: &Features) -> Self {
        let Filter { literals, conditioned, rows, set, .. } = filter;
        let is_alone = literals.is_empty() && conditioned.is_empty() && rows.is_empty() && set.is_empty();
        if features.joins_tests && looked_up.is_qualified && is_alone {
            Self::Row
        } else {
            Self::Set(SetStrategy::indexed(features))
        }
    }
}

impl Lowering<'_, Local<'_>> {
    /// How a value that is represented like this is looked up in a set with this use: in each of these parts.
    pub(in crate::sql) fn set_parts<'s>(
        &self,
        at: At<'_>,
        representation: &Representation,
        selects: &'s [Select],
        used: SetUse,
    ) -> Vec<SetPart<'s>> {
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
        // Padded values ignore blanks at the end, which a VARCHAR in the set may have, and a `citext` case.
        let of_native = if representation.is_inexact_type() {
            ComparisonStrategy::NativeAndText
        } else {
            ComparisonStrategy::Native
        };
        let parts = [(native, of_native), (text, ComparisonStrategy::Text)].into_iter();
        let parts = parts.filter(|(selects, _)| !selects.is_empty());
        parts
            .map(|(selects, comparison)| {
                let features = self.inputs.features;
                // No index finds a value that is cast.
                let is_cast = comparison == ComparisonStrategy::Text && !representation.is_text();
                let is_tested = is_cast || used == SetUse::ToTest;
                // A test that is not one of several alternatives can become a join, which an index may
                // serve.
                let is_joined = at.depth > 0 && !at.under_or;
                let is_each_row = at.access == RowAccess::EveryRow && !is_joined;
                let strategy = if self.is_one_row(at, &selects) {
                    SetStrategy::OneRow
                } else if is_tested || is_each_row {
                    SetStrategy::hashed(features)
                } else {
                    SetStrategy::indexed(features)
                };
                let stays_test = features.joins_sets
                    && (is_tested || is_each_row && (at.depth > 0 || at.must_stay_test()));
                SetPart { selects, comparison, strategy, stays_test }
            })
            .collect()
    }

    /// Whether a set has at most one value, which the database then estimates as one. If a promised key is
    /// not unique after all, the statement fails.
    fn is_one_row(&self, at: At<'_>, selects: &[&Select]) -> bool {
        self.inputs.features.arrays_are_looked_up
            && at.null == NullCondition::KeepsNoRow
            && matches!(selects, [only] if self.target.one_row.has_at_most_one_row(only))
    }
}
