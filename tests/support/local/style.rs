//! How a caller's schema looks: names, types of columns, and the shape of the bound queries.
//!
//! A [`Style`] is a number; every choice is read off it, so that a failure names its schema by one number,
//! and neighbouring numbers differ in everything.

use super::kind::Kind;
use super::tables::quoted;
use portcullis_compiler::Dialect;

/// How the rows of a table become the rows of a bound query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `SELECT a, b FROM t`
    Plain,
    /// `SELECT DISTINCT x.a, x.b FROM t AS x`
    Distinct,
    /// `SELECT * FROM t`
    Star,
    /// `TABLE t`
    Table,
    /// `WITH t2 AS (SELECT a, b FROM t) SELECT a, b FROM t2`
    With,
    /// `SELECT a, b FROM t WHERE …`, and the rows that do not count are there
    Where,
    /// The columns come from two tables.
    PositiveBody,
    /// The rows come from two tables.
    Union,
    /// `VALUES (…), (…)`
    Values,
    /// With comments, line breaks and a `;` at the end.
    Commented,
}

const FORMS: [Form; 10] = [
    Form::Plain,
    Form::Where,
    Form::Distinct,
    Form::Commented,
    Form::Star,
    Form::With,
    Form::Union,
    Form::Table,
    Form::PositiveBody,
    Form::Values,
];

/// How a String argument is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strings {
    /// In a column of text.
    Columns,
    /// In the binding's key, one binding for each text.
    Constants,
    /// In a column of an enumerated type.
    Enums,
}

/// Names that printed statements have, or might have.
pub const LIKE_OURS: [&str; 20] = [
    "t1",
    "w",
    "pc1_has_role",
    "r",
    "pc1",
    "t",
    "pc0_allow",
    "s",
    "q",
    "x",
    "c",
    "pb0",
    "e",
    "given",
    "u",
    "st",
    "l",
    "t0",
    "a",
    "p_w",
];

/// Names of columns that a careless statement would take for its own, or for each other.
const CLASHING: [&str; 6] = ["id", "a0", "value", "\"order\"", "c0", "\"userId\""];

/// One way in which a schema may look.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Its number.
    pub n: usize,
    /// The database.
    pub dialect: Dialect,
}

impl Style {
    /// The kind of the `at`th type's ids.
    pub fn kind(&self, at: usize) -> Kind {
        if self.n.is_multiple_of(4) {
            return Kind::TEXT;
        }
        // Neighbouring types and numbers differ in everything.
        Kind::of((self.n + 1) * 2_654_435_761 / 97 % 1_000_003 + at * 7_919)
    }

    /// Whether ids that are in the store alone keep a form that no column could hold.
    pub fn has_strays(&self) -> bool {
        self.n % 2 == 1
    }

    /// How String arguments are held.
    pub fn strings(&self) -> Strings {
        match self.n % 4 {
            0 => Strings::Columns,
            1 | 3 => Strings::Constants,
            _ => Strings::Enums,
        }
    }

    /// Whether Integers and truth values have columns of their types.
    pub fn has_typed_primitives(&self) -> bool {
        (self.n / 2).is_multiple_of(2)
    }

    /// Whether there is a table for each type of things, with what is said of a thing in its row.
    pub fn has_entities(&self) -> bool {
        self.n % 4 == 3
    }

    /// Whether there are rows with NULL, and rows twice.
    pub fn has_nulls(&self) -> bool {
        self.n % 3 != 1
    }

    /// Whether facts that no table holds are bound to empty tables.
    pub fn binds_empty_tables(&self) -> bool {
        self.n % 5 == 2 || self.n % 5 == 4
    }

    /// The form of the `at`th bound query.
    pub fn form(&self, at: usize) -> Form {
        FORMS[(self.n + at) % FORMS.len()]
    }

    /// The name of the `at`th table, short enough for every database to keep whole.
    pub fn table_name(&self, at: usize, predicate: &str) -> String {
        let word: String = predicate.chars().filter(char::is_ascii_alphanumeric).take(32).collect();
        match (self.n + at) % 4 {
            0 => format!("facts_of_{}_{at}", word.to_lowercase()),
            1 | 2 => match LIKE_OURS.get((self.n + at) / 4 % LIKE_OURS.len()) {
                Some(name) if at < 4 => format!("{name}{}", "x".repeat(at / 2)),
                _ => format!("pc{at}"),
            },
            _ => quoted(&format!("The \"{word}\" facts; no. {at}'s")),
        }
    }

    /// How a query names a table: with its schema or without.
    pub fn reference(&self, table: &str, at: usize) -> String {
        match ((self.n / 2 + at) % 3, self.dialect) {
            (0, Dialect::Postgresql) => format!("pg_temp.{table}"),
            (0, Dialect::Sqlite) => format!("main.{table}"),
            _ => table.to_owned(),
        }
    }

    /// The name of a table's column.
    pub fn column_name(&self, table: usize, at: usize) -> String {
        match (self.n + table) % 4 {
            0 => format!("a{at}"),
            1 => CLASHING.get(at).map_or_else(|| format!("more{at}"), |name| (*name).to_owned()),
            2 => quoted(&format!("Column {at}'s \"value\"")),
            _ => format!("c{at}"),
        }
    }

    /// The name of a list's column.
    pub fn candidate_column(&self) -> &'static str {
        CLASHING[self.n % CLASHING.len()]
    }

    /// What a list's table is called in the query around the filter.
    pub fn candidate_alias(&self) -> &'static str {
        LIKE_OURS[self.n % LIKE_OURS.len()]
    }

    /// Columns that a list's table has besides the ids.
    pub fn decoys(&self) -> impl Iterator<Item = &'static str> {
        let others = ["a1", "c1", "actor", "resource", "t1", "w", "r", "t", "allowed"];
        let own = self.candidate_column();
        CLASHING.into_iter().filter(move |name| *name != own).chain(others)
    }
}
