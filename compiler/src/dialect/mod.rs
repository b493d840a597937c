//! The databases that statements are printed for, as data rows.
//!
//! Code asks for a feature, never for a database by name. The facts in each row were measured on the engines.
//! What one of them cannot express is refused before it is printed, except what only the text shows: its
//! cursors, the arms of its unions, the symbols that a parser stacks and its bytes, which `text` counts.

mod features;
pub(crate) mod lexis;
pub(crate) mod quote;

pub(crate) use features::{
    Escapes, Extent, Features, IntegerTest, Limits, ParameterRows, ParserStack, Placeholder, State,
    TableReadings, ValueForm,
};
use std::str::FromStr;

/// A database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// SQLite 3.38 or newer.
    Sqlite,
    /// PostgreSQL 12 or newer.
    #[default]
    Postgresql,
}

/// The database of a store, which holds values in a form of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoreDialect {
    /// The embedded store: a recent SQLite, with values in their [compact](crate::compact::Compact) form.
    Sqlite,
    /// A store on PostgreSQL, with values as [bytes](crate::compact::bytes) in columns of the type `bytea`.
    /// Its statements must be prepared with the types of their parameters: `bytea[]` for several values,
    /// `bigint` for the limit of a page, and `bytea` for all others.
    Postgresql,
}

const SQLITE: Features = Features {
    placeholder: Placeholder::Question,
    flat_recursive_arms: true,
    value_cast: None,
    state: State::Json,
    rows: ParameterRows::JsonEach,
    fences_alternatives: false,
    escapes: Escapes::Char,
    strict_types: false,
    boolean_is_number: true,
    literals_are_untyped: false,
    arrays_are_looked_up: false,
    joins_sets: false,
    joins_tests: false,
    overestimates_recursion: false,
    // From 3.38 to 3.40.
    builds_bloom_filters: true,
    arrays_count_as_few: false,
    has_laterals: false,
    makes_maps: false,
    tries_join_orders: false,
    hashes_distinct: false,
    starts_whole_plans: false,
    rechecks_alternatives: false,
    counts_sets_per_row: false,
    derived_columns: false,
    byte_order: None,
    columns_are_collated: true,
    values: ValueForm::Text,
    integer_test: IntegerTest::RoundTrip,
    integer: "INTEGER",
    limits: Limits {
        joined_tables: 64,
        union_arms: 500,
        tables: Some(499),
        nested_tests: Some(29),
        // As it is usually built.
        bytes: 1_000_000,
        // The stack of 3.40 has a hundred entries, that of 3.54 grows. One entry is the parser's first state,
        // and one may be `EXPLAIN`. `SELECT … FROM … WHERE … AND` takes seven, and inside another as many.
        parser_stack: ParserStack::Fixed { symbols: 98, of_caller: 14 },
    },
    // It refuses a thousand.
    table_readings: TableReadings::Expanded { cursors: 999, of_caller: 39 },
    lexis: lexis::SQLITE,
};

const POSTGRESQL: Features = Features {
    placeholder: Placeholder::Dollar,
    flat_recursive_arms: false,
    value_cast: Some("TEXT"),
    state: State::Arrays { collation: Some("default") },
    rows: ParameterRows::JsonbArrayElements,
    fences_alternatives: true,
    escapes: Escapes::EscapeStrings,
    strict_types: true,
    boolean_is_number: false,
    literals_are_untyped: true,
    arrays_are_looked_up: true,
    joins_sets: true,
    joins_tests: true,
    overestimates_recursion: true,
    builds_bloom_filters: false,
    arrays_count_as_few: true,
    has_laterals: true,
    makes_maps: true,
    tries_join_orders: true,
    hashes_distinct: false,
    starts_whole_plans: true,
    rechecks_alternatives: true,
    counts_sets_per_row: true,
    derived_columns: true,
    byte_order: Some("C"),
    columns_are_collated: false,
    values: ValueForm::Text,
    integer_test: IntegerTest::Pattern,
    integer: "BIGINT",
    limits: Limits {
        joined_tables: 100,
        // PostgreSQL has no such limit, but recurses on each select of a union.
        union_arms: 1_000,
        tables: None,
        nested_tests: None,
        // PostgreSQL takes more, but reads such a text for longer than a check may take.
        bytes: 1_000_000,
        parser_stack: ParserStack::Growing,
    },
    table_readings: TableReadings::Shared,
    lexis: lexis::POSTGRESQL,
};

/// The embedded store. The parser of its SQLite has a stack that grows. Its tables are never analysed, and
/// its version builds no Bloom filter for a recursion.
const SQLITE_STORE: Features = Features {
    values: ValueForm::Compact,
    builds_bloom_filters: false,
    limits: Limits { parser_stack: ParserStack::Growing, ..SQLITE.limits },
    ..SQLITE
};

/// A store on PostgreSQL. Bytes have no collation.
const POSTGRESQL_STORE: Features = Features {
    values: ValueForm::Bytes,
    value_cast: Some("BYTEA"),
    rows: ParameterRows::Arrays,
    state: State::Arrays { collation: None },
    byte_order: None,
    hashes_distinct: true,
    ..POSTGRESQL
};

const _: () = assert!(SQLITE.takes_every_plan() && POSTGRESQL.takes_every_plan());

impl StoreDialect {
    /// The one whose database takes the fewest statements.
    pub(crate) const STRICTEST: Self = Self::Sqlite;

    /// The row of its database.
    pub(crate) const fn features(self) -> &'static Features {
        match self {
            Self::Sqlite => &SQLITE_STORE,
            Self::Postgresql => &POSTGRESQL_STORE,
        }
    }
}

impl Dialect {
    /// Every dialect, in the order in which messages list them.
    pub const ALL: [Self; 2] = [Self::Postgresql, Self::Sqlite];

    /// The dialect's row.
    pub(crate) const fn features(self) -> &'static Features {
        match self {
            Self::Sqlite => &SQLITE,
            Self::Postgresql => &POSTGRESQL,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Sqlite => "sqlite",
            Self::Postgresql => "postgresql",
        })
    }
}

/// A name that no dialect has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownDialect {
    name: String,
}

impl std::fmt::Display for UnknownDialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let known: Vec<String> = Dialect::ALL.iter().map(|dialect| format!("`{dialect}`")).collect();
        write!(f, "unknown dialect `{}`: write {}", self.name, known.join(" or "))
    }
}

impl std::error::Error for UnknownDialect {}

impl FromStr for Dialect {
    type Err = UnknownDialect;

    /// Reads a dialect's name as people write it, in any case.
    fn from_str(name: &str) -> Result<Self, UnknownDialect> {
        match name.to_ascii_lowercase().as_str() {
            "sqlite" | "sqlite3" => Ok(Self::Sqlite),
            "postgresql" | "postgres" | "pg" => Ok(Self::Postgresql),
            _ => Err(UnknownDialect { name: name.to_owned() }),
        }
    }
}
