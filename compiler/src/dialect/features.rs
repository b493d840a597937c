//! What a database can do, and how its SQL is written: the columns of the rows in [`dialect`](super).

use super::lexis::Lexis;
use crate::limits;

/// The features of a database, and how its SQL is written.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a feature of its own; code asks for one at a time"
)]
pub(crate) struct Features {
    /// How parameters are written.
    pub(crate) placeholder: Placeholder,
    /// A recursion may have several recursive arms; otherwise they are one arm that names the table once.
    pub(crate) flat_recursive_arms: bool,
    /// The type to which values that come from no column are cast; `None` if they need no cast.
    pub(crate) value_cast: Option<&'static str>,
    /// How the whole state of a fixpoint is kept in one row.
    pub(crate) state: State,
    /// How rows are read from a parameter.
    pub(crate) rows: ParameterRows,
    /// A test inside a test is planned twice, once to be hashed, unless a fence encloses it. So the time to
    /// plan doubles with each level.
    pub(crate) fences_alternatives: bool,
    /// How a literal spells characters that a driver could take for a parameter.
    pub(crate) escapes: Escapes,
    /// Types are checked before any row is read: a value that meets one of a different type, in a comparison
    /// or in the arms of a union, is an error.
    pub(crate) strict_types: bool,
    /// A truth value is a number, 0 or 1.
    pub(crate) boolean_is_number: bool,
    /// A literal takes the type of the column that it is compared with.
    pub(crate) literals_are_untyped: bool,
    /// `x = ANY(ARRAY(query))` runs the query once and looks each element up by the index on `x`, where
    /// `x IN (query)` may scan.
    pub(crate) arrays_are_looked_up: bool,
    /// `x IN (query)` that is a condition by itself is turned into a join, and the query is then sorted or
    /// hashed for each row of the select around it. `(x IN (query)) IS TRUE` stays a test.
    pub(crate) joins_sets: bool,
    /// `EXISTS (query)` as a whole condition is turned into a join, which starts from the cheaper side.
    pub(crate) joins_tests: bool,
    /// A recursive table is estimated at ten times the rows that it starts from, times what a step finds for
    /// each. So whole tables are scanned to be joined with it.
    pub(crate) overestimates_recursion: bool,
    /// A recursive table is estimated at 1,048,576 rows. So an analysed table that is joined with it is read
    /// from end to end to build a Bloom filter.
    pub(crate) builds_bloom_filters: bool,
    /// An array is estimated at ten elements, for any query.
    pub(crate) arrays_count_as_few: bool,
    /// `LATERAL (query)` is evaluated for each row of the sources before it, whose columns it may use.
    pub(crate) has_laterals: bool,
    /// Whether `jsonb_object_agg` makes a map, in which `->>` looks a key up.
    pub(crate) makes_maps: bool,
    /// Planning a join tries the orders of its sources, so that planning a short check takes longer than
    /// running it.
    pub(crate) tries_join_orders: bool,
    /// Rows of `SELECT DISTINCT` are hashed, and then sorted if they must be in order. Those of `DISTINCT ON`
    /// are only sorted, in any order that its columns have: not in that of a collation.
    pub(crate) hashes_distinct: bool,
    /// Every part of a plan is set up before the first row, whether it runs or not: a large statement takes
    /// long even if its first part decides.
    pub(crate) starts_whole_plans: bool,
    /// The rows that several indexes find for an `OR` are compared with all alternatives again.
    pub(crate) rechecks_alternatives: bool,
    /// The cost of a set inside a test is counted for every row that is tested, although the set is made
    /// once. So the statement looks costly.
    pub(crate) counts_sets_per_row: bool,
    /// A derived table may name its columns, `(…) AS t (a, b)`.
    pub(crate) derived_columns: bool,
    /// The collation that orders values by their bytes, where that is not the default.
    pub(crate) byte_order: Option<&'static str>,
    /// A text column may have a collation that treats different texts as equal.
    pub(crate) columns_are_collated: bool,
    /// The form of values in stored tables, parameters, literals and answers.
    pub(crate) values: ValueForm,
    /// How texts that are integers are recognised.
    pub(crate) integer_test: IntegerTest,
    /// The type of 64-bit integers.
    pub(crate) integer: &'static str,
    /// How much one statement may hold.
    pub(crate) limits: Limits,
    /// How a common table expression that is read in several places is evaluated.
    pub(crate) table_readings: TableReadings,
    /// How it reads SQL from outside.
    pub(crate) lexis: Lexis,
}

/// How much one statement may hold. The compiler's own bounds, which are lower, are in `crate::limits`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Sources of one select.
    pub(crate) joined_tables: usize,
    /// Selects of one union.
    pub(crate) union_arms: usize,
    /// Common table expressions of one `WITH`; `None` if there is no bound.
    pub(crate) tables: Option<usize>,
    /// Nested `EXISTS`; `None` if there is no bound below that of the brackets.
    pub(crate) nested_tests: Option<usize>,
    /// Bytes of its text.
    pub(crate) bytes: usize,
    /// What is open at one place of the text: clauses, operators and brackets.
    pub(crate) parser_stack: ParserStack,
}

/// The stack on which a database's parser holds the words that it cannot reduce yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParserStack {
    /// A text that needs more is refused. Only the printed text shows what it needs.
    Fixed {
        /// The most symbols of a statement.
        symbols: usize,
        /// How many of them a filter leaves to the caller's statement around it.
        of_caller: usize,
    },
    /// It grows as needed.
    Growing,
}

impl ParserStack {
    /// Whether a text may be too deep for it.
    pub(crate) fn is_fixed(self) -> bool {
        self != Self::Growing
    }

    /// The most symbols of a text; `None` if there is no bound.
    pub(crate) fn most(self, extent: Extent) -> Option<usize> {
        match (self, extent) {
            (Self::Fixed { symbols, .. }, Extent::Statement) => Some(symbols),
            (Self::Fixed { symbols, of_caller }, Extent::Condition) => {
                Some(symbols.saturating_sub(of_caller))
            }
            (Self::Growing, _) => None,
        }
    }
}

/// Whether a text is the whole statement that the database runs, or a condition in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// All of the statement.
    Statement,
    /// A condition; the rest is the caller's.
    Condition,
}

/// How a database evaluates a common table expression that a statement reads in several places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TableReadings {
    /// It copies the query to each place that reads it, and refuses a statement that then takes more cursors
    /// than this limit. Only the printed text shows how many it takes.
    Expanded {
        /// The most cursors of a statement.
        cursors: usize,
        /// How many of them a filter leaves to the caller's statement around it.
        of_caller: usize,
    },
    /// It evaluates the query once; any number of readings is accepted.
    Shared,
}

/// How parameters are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placeholder {
    /// `?1`
    Question,
    /// `$1`
    Dollar,
}

/// How the whole state of a fixpoint is kept in one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// A JSON array of JSON arrays, by `json_group_array` and `json_each`.
    Json,
    /// An array for each column, by `ARRAY(…)` and `unnest`.
    Arrays {
        /// The collation of texts that gives way to another in a comparison; `None` if there are no texts.
        collation: Option<&'static str>,
    },
}

/// How texts that are integers in canonical form are recognised; nothing else may be cast to an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IntegerTest {
    /// A cast never fails, and casting to an integer and back returns the same text only for integers.
    RoundTrip,
    /// By `SIMILAR TO`, before a cast that fails on anything else.
    Pattern,
}

/// How a literal escapes a character that it must not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Escapes {
    /// `E'\x3a'`
    EscapeStrings,
    /// `'a' || char(58)`
    Char,
}

/// The form of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueForm {
    /// The text that it is.
    Text,
    /// Its [compact](crate::compact::Compact) form.
    Compact,
    /// Its [bytes](crate::compact::bytes). Those of Integers are in the order of the numbers.
    Bytes,
}

/// How rows are read from a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParameterRows {
    /// From JSON: `json_each(x) AS t`, the row is `t.value`.
    JsonEach,
    /// From JSON: `jsonb_array_elements(CAST(x AS jsonb)) AS t(value)`.
    JsonbArrayElements,
    /// From an array for each column: `unnest(x, y) AS t (c0, c1)`.
    Arrays,
}

impl Features {
    /// Whether a statement is refused that reads its tables in too many places.
    pub(crate) const fn bounds_readings(&self) -> bool {
        matches!(self.table_readings, TableReadings::Expanded { .. })
    }

    /// Whether the database takes every plan that is within our own bounds.
    pub(super) const fn takes_every_plan(&self) -> bool {
        let Limits { union_arms, tables, nested_tests, .. } = self.limits;
        let takes_tables = match tables {
            Some(most) => limits::TABLES <= most,
            None => true,
        };
        let takes_tests = match nested_tests {
            Some(most) => 2 * limits::NESTED_BRANCHES <= most,
            None => true,
        };
        let takes_readings = match self.table_readings {
            TableReadings::Expanded { cursors, of_caller } => limits::TABLE_READINGS + of_caller <= cursors,
            TableReadings::Shared => true,
        };
        limits::SELECTS <= union_arms && takes_tables && takes_tests && takes_readings
    }
}
