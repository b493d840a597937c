//! What each database takes in one statement, as data, and how much of it a statement needs.
//!
//! The bounds were measured on the engines (SQLite 3.54, PostgreSQL 15); some are silent, as names that
//! PostgreSQL cuts, and some belong to builds of SQLite with the usual settings, which the embedded one does
//! not have. So running a statement does not show that it stays below them. A statement is measured by its
//! tokens, level by level of its parentheses.

use portcullis_compiler::Dialect;
use rusqlite::Connection;
use rusqlite::limits::Limit;
use sqlparser::dialect::{Dialect as Grammar, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, Tokenizer};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How large a part of a statement is, or may be.
type Size = usize;

/// How much of everything one statement has, or may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Bytes of its text.
    pub bytes: Size,
    /// Selects of one union.
    pub union_arms: Size,
    /// Terms of one chain of `OR`, or of `AND`.
    pub terms: Size,
    /// Tables and subqueries of one `FROM`.
    pub sources: Size,
    /// Common table expressions of one `WITH`.
    pub tables: Size,
    /// Columns of one select.
    pub columns: Size,
    /// Nested parentheses.
    pub nesting: Size,
    /// The highest number of a parameter.
    pub parameters: Size,
    /// Bytes of its longest name.
    pub name_bytes: Size,
    /// Cursors when SQLite copies its last common table expression.
    pub cursors: Size,
}

/// SQLite as it is usually built; it has no bound on names.
pub const SQLITE: Sizes = Sizes {
    bytes: 1_000_000,
    union_arms: 500,
    terms: 999,
    sources: 64,
    tables: 499,
    columns: 2_000,
    nesting: 100,
    parameters: 32_766,
    name_bytes: usize::MAX,
    cursors: 999,
};

/// PostgreSQL. It has no bound on tables, but plans a chain of them in the third power of their number: 3 s
/// for 400.
const POSTGRESQL: Sizes = Sizes {
    bytes: 1_000_000,
    union_arms: 5_000,
    terms: 5_000,
    sources: 100,
    tables: 400,
    columns: 1_664,
    nesting: 500,
    parameters: 65_535,
    name_bytes: 63,
    cursors: usize::MAX,
};

/// What a database takes.
pub fn limits(dialect: Dialect) -> Sizes {
    match dialect {
        Dialect::Sqlite => SQLITE,
        Dialect::Postgresql => POSTGRESQL,
    }
}

impl Sizes {
    /// Every size with its name.
    fn named(&self) -> [(&'static str, Size); 10] {
        [
            ("bytes", self.bytes),
            ("arms of a union", self.union_arms),
            ("terms of a chain", self.terms),
            ("sources of a select", self.sources),
            ("common table expressions", self.tables),
            ("columns of a select", self.columns),
            ("nested parentheses", self.nesting),
            ("parameters", self.parameters),
            ("bytes of a name", self.name_bytes),
            ("cursors", self.cursors),
        ]
    }
}

/// One level of parentheses while it is read.
#[derive(Debug, Default)]
struct Level {
    arms: Size,
    terms: [Size; 2],
    sources: Size,
    tables: Size,
    items: Size,
    /// Between `SELECT` and `FROM`.
    in_list: bool,
    /// Between `FROM` and what follows it.
    in_from: bool,
    /// Between `WITH` and its select.
    in_with: bool,
}

/// How large a statement is.
pub fn measure(sql: &str, dialect: Dialect) -> Result<Sizes, String> {
    let grammar: &dyn Grammar = match dialect {
        Dialect::Sqlite => &SQLiteDialect {},
        Dialect::Postgresql => &PostgreSqlDialect {},
    };
    let tokens =
        Tokenizer::new(grammar, sql).with_unescape(false).tokenize().map_err(|error| error.to_string())?;
    let cursors = portcullis_compiler::statement_size(sql).cursors.unwrap_or(0);
    let mut found = Sizes { bytes: sql.len(), cursors, ..Sizes::default() };
    let mut levels = vec![Level::default()];
    for token in tokens.iter().filter(|token| !matches!(token, Token::Whitespace(_))) {
        let Some(level) = levels.last_mut() else { return Err(format!("closes more than it opens\n{sql}")) };
        match token {
            Token::LParen => levels.push(Level::default()),
            Token::RParen => drop(levels.pop()),
            Token::Comma if level.in_from => level.sources += 1,
            Token::Comma => {
                level.items += usize::from(level.in_list);
                level.terms = [0, 0];
            }
            Token::Placeholder(text) => {
                let number = text.trim_start_matches(['?', '$']).parse().unwrap_or(usize::MAX);
                found.parameters = found.parameters.max(number);
            }
            Token::Word(word) if word.quote_style.is_some() || word.keyword == Keyword::NoKeyword => {
                found.name_bytes = found.name_bytes.max(word.value.len());
            }
            Token::Word(word) => level.keyword(word.keyword),
            _ => {}
        }
        found.nesting = found.nesting.max(levels.len() - 1);
        if let Some(level) = levels.last() {
            found.union_arms = found.union_arms.max(level.arms);
            found.terms = found.terms.max(1 + level.terms[0].max(level.terms[1]));
            found.sources = found.sources.max(level.sources);
            found.tables = found.tables.max(level.tables);
            found.columns = found.columns.max(level.items);
        }
    }
    Ok(found)
}

impl Level {
    fn keyword(&mut self, keyword: Keyword) {
        let ends_from = [Keyword::WHERE, Keyword::GROUP, Keyword::ORDER, Keyword::HAVING, Keyword::LIMIT];
        match keyword {
            Keyword::WITH => self.in_with = true,
            Keyword::AS if self.in_with => self.tables += 1,
            Keyword::SELECT => {
                *self = Self {
                    arms: self.arms + 1,
                    tables: self.tables,
                    items: 1,
                    in_list: true,
                    ..Self::default()
                };
            }
            Keyword::VALUES => self.arms += 1,
            Keyword::FROM => (self.in_from, self.in_list, self.sources) = (true, false, 1),
            Keyword::JOIN => self.sources += 1,
            Keyword::OR => self.terms[0] += 1,
            Keyword::AND => self.terms[1] += 1,
            Keyword::ON | Keyword::WHEN | Keyword::THEN | Keyword::ELSE => self.terms = [0, 0],
            Keyword::UNION | Keyword::INTERSECT | Keyword::EXCEPT => self.in_from = false,
            other if ends_from.contains(&other) => (self.in_from, self.terms) = (false, [0, 0]),
            _ => {}
        }
    }
}

/// Says what a statement has more of than its database takes.
pub fn check(sql: &str, dialect: Dialect) -> Result<(), String> {
    let (found, most) = (measure(sql, dialect)?, limits(dialect));
    let over = found.named().into_iter().zip(most.named()).filter(|((_, found), (_, most))| found > most);
    let over = over.fold(String::new(), |mut text, ((name, found), (_, most))| {
        write!(text, "{found} {name}, {dialect} takes {most}; ").unwrap();
        text
    });
    if over.is_empty() {
        Ok(())
    } else {
        Err(format!("{over}\n{}", sql.chars().take(2_000).collect::<String>()))
    }
}

/// Whether SQLite counts no more cursors than the compiler, seen from what it refuses with a lower limit.
/// Only the database knows what a view reads, and an expression may be too deep for a limit so low.
pub fn check_cursors(connection: &Connection, sql: &str) -> Result<(), String> {
    let Some(cursors) = portcullis_compiler::statement_size(sql).cursors else { return Ok(()) };
    let views = "SELECT count(*) FROM (SELECT type FROM sqlite_schema UNION ALL SELECT type FROM sqlite_temp_schema) WHERE type = 'view'";
    let n_views: i64 = connection.query_row(views, [], |row| row.get(0)).unwrap();
    let refusal = |limit: usize| {
        let limit = i32::try_from(limit).unwrap();
        let usual = connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, limit).unwrap();
        let refusal = connection.prepare(sql).err().map(|error| error.to_string());
        connection.set_limit(Limit::SQLITE_LIMIT_EXPR_DEPTH, usual).unwrap();
        refusal.unwrap_or_default()
    };
    let (below, at) = (refusal(cursors), refusal(cursors + 1));
    let is_told = |refusal: &String| refusal.contains("nested too deep");
    if n_views > 0 || below.contains("Expression tree") {
        return Ok(());
    }
    if is_told(&at) {
        return Err(format!("SQLite counts more than {cursors} cursors: {at:.80}\n{sql}"));
    }
    // Where SQLite drops a condition before it copies the tables inside, it counts fewer.
    COMPARED.fetch_add(usize::from(is_told(&below)), Ordering::Relaxed);
    Ok(())
}

/// How many statements SQLite counted, too.
static COMPARED: AtomicUsize = AtomicUsize::new(0);

/// How often [`check_cursors`] found both counts equal.
pub fn n_compared() -> usize {
    COMPARED.load(Ordering::Relaxed)
}

/// The measure itself, on a statement that a reader can count.
pub fn counts_what_is_there() {
    let sql = "WITH RECURSIVE a AS MATERIALIZED (SELECT 1 AS x UNION SELECT 2 UNION SELECT 3), b (y) AS (SELECT x FROM a, c)
               SELECT a.x, b.y, $3 FROM a JOIN b ON TRUE JOIN (SELECT 1) AS longest ON TRUE
               WHERE (x = 1 OR x = 2 OR x = 3 OR (x = 4 AND y IN (1, 2, 3, 4, 5)))";
    let found = measure(sql, Dialect::Postgresql).unwrap();
    let expected = Sizes {
        bytes: sql.len(),
        union_arms: 3,
        terms: 4,
        sources: 3,
        tables: 2,
        columns: 3,
        nesting: 3,
        parameters: 3,
        name_bytes: 7,
        cursors: 5,
    };
    assert_eq!(found, expected);
}
