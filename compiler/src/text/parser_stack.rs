//! How many symbols SQLite's parser holds at once while it reads a statement.
//!
//! The parser pushes each word that it cannot reduce yet. Before `c` of `SELECT a FROM b WHERE d AND c` these
//! are `SELECT`, an optional `DISTINCT`, the columns, the sources, `WHERE`, `d` and `AND`, and a parenthesis
//! leaves all of them on the stack until it closes. In older versions the stack has a fixed size, and a text
//! that needs more is refused: `parser stack overflow`. Each test in a test takes about ten symbols.
//!
//! In: a printed statement. Out: the number of symbols at its deepest place, or a few more. Only the clauses
//! and operators before a parenthesis count; the rules are those of `parse.y`.

use super::tokens::PrintedToken;

/// The largest number of symbols on the parser's stack while it reads a statement.
pub(super) fn symbols(tokens: &[PrintedToken<'_>]) -> usize {
    let words = tokens.iter().map(|token| token.text).filter(|word| !word.trim().is_empty());
    let words: Vec<String> = words.map(str::to_ascii_uppercase).collect();
    let mut reader = Reader { open: vec![OpenParenthesis::default()], most: 0 };
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before));
        let after = words.get(at + 1).map_or("", String::as_str);
        reader.word(word, before.map_or("", String::as_str), after);
    }
    reader.most
}

/// An operator that waits for its right side.
#[derive(Clone, Copy, Debug)]
struct Operator {
    /// Operators that bind at least as tightly are reduced when the next one is read.
    precedence: u8,
    /// The symbols of its left operand and its own.
    symbols: usize,
}

/// One open parenthesis or `CASE`, or the statement itself.
#[derive(Clone, Debug, Default)]
struct OpenParenthesis {
    /// The symbols before it.
    outside: usize,
    /// The common table expressions before the current place.
    with: OpenWith,
    /// Whether it holds a query.
    is_query: bool,
    /// The selects of the union before the current one.
    selects: usize,
    /// What the current place is in.
    clause: Clause,
    operators: Vec<Operator>,
}

/// A part of a select, a `CASE` or a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Clause {
    #[default]
    Start,
    /// A value of a list, after the first.
    List,
    /// The columns of a select, or `VALUES`.
    Columns,
    /// The sources of a select.
    Sources,
    /// A condition after `ON`.
    JoinCondition,
    /// `WHERE` or `PARTITION BY`.
    Where,
    /// A case of a `CASE`.
    Case,
    Having,
    /// `GROUP BY`, `WINDOW` or `LIMIT`.
    Group,
    /// `ORDER BY` or `OFFSET`.
    Order,
}

impl Clause {
    /// The symbols of the clauses before the current place, with its own keyword.
    fn symbols(self) -> usize {
        match self {
            Self::Start => 0,
            Self::List => 2,
            Self::Columns => 4,
            Self::Sources | Self::Where => 5,
            // The operand, the earlier cases, `WHEN`, a condition and `THEN`.
            Self::Case => 6,
            Self::Having => 7,
            Self::Group => 9,
            Self::Order => 11,
            Self::JoinCondition => 12,
        }
    }
}

/// Where a `WITH` is.
#[derive(Clone, Copy, Debug, Default)]
enum OpenWith {
    /// There is none.
    #[default]
    Absent,
    /// The current place is among its tables.
    Open {
        /// `WITH` or `WITH RECURSIVE`.
        words: usize,
        /// The tables before the current one, and the comma.
        before: usize,
    },
    /// The current place is in the query that follows it.
    Over {
        /// `WITH` or `WITH RECURSIVE`.
        words: usize,
    },
}

impl OpenWith {
    fn symbols(self) -> usize {
        match self {
            Self::Absent => 0,
            // The name, its columns and `AS`.
            Self::Open { words, before } => words + before + 3,
            Self::Over { words } => words + 1,
        }
    }
}

impl OpenParenthesis {
    fn symbols(&self) -> usize {
        let operators: usize = self.operators.iter().map(|operator| operator.symbols).sum();
        self.outside + self.with.symbols() + self.selects + self.clause.symbols() + operators
    }

    fn begin(&mut self, clause: Clause) {
        self.clause = clause;
        self.operators.clear();
    }

    fn infix(&mut self, precedence: u8) {
        while self.operators.pop_if(|before| before.precedence >= precedence).is_some() {}
        self.operators.push(Operator { precedence, symbols: 2 });
    }
}

/// A whole `SELECT`, before the parser makes one symbol of it.
const SELECT: usize = 10;

/// What a parenthesis holds when it closes, at most: the value, `AS` and type of a `CAST`, and `)`.
const CLOSED: usize = 4;

struct Reader {
    open: Vec<OpenParenthesis>,
    /// The symbols at the deepest place so far.
    most: usize,
}

impl Reader {
    /// Reads one word; `before` and `after` are its neighbours.
    fn word(&mut self, word: &str, before: &str, after: &str) {
        let Some(level) = self.open.last_mut() else { return };
        if matches!(before, "." | "AS") && word != "(" {
            self.most = self.most.max(level.symbols() + 1);
            return;
        }
        match word {
            "(" => return self.open(before),
            ")" | "END" => return self.close(),
            "CASE" => {
                let (outside, clause) = (level.symbols(), Clause::Case);
                self.open.push(OpenParenthesis { outside, clause, ..OpenParenthesis::default() });
            }
            "WITH" => level.with = OpenWith::Open { words: 1, before: 0 },
            "RECURSIVE" => level.with = OpenWith::Open { words: 2, before: 0 },
            "SELECT" | "VALUES" => {
                if let OpenWith::Open { words, .. } = level.with {
                    level.with = OpenWith::Over { words };
                }
                level.is_query = true;
                level.begin(Clause::Start);
                self.most = self.most.max(level.symbols() + SELECT);
                level.begin(Clause::Columns);
            }
            "UNION" | "EXCEPT" | "INTERSECT" => {
                level.selects = 2;
                level.begin(Clause::Start);
            }
            "FROM" if before == "DISTINCT" => {}
            "FROM" | "JOIN" => level.begin(Clause::Sources),
            "ON" => level.begin(Clause::JoinCondition),
            "WHERE" | "PARTITION" => level.begin(Clause::Where),
            "HAVING" => level.begin(Clause::Having),
            "GROUP" | "WINDOW" | "LIMIT" => level.begin(Clause::Group),
            "ORDER" | "OFFSET" => level.begin(Clause::Order),
            "WHEN" | "THEN" | "ELSE" => level.operators.clear(),
            "," => Self::comma(level),
            _ => Self::operator(level, word, before, after),
        }
        let Some(level) = self.open.last() else { return };
        self.most = self.most.max(level.symbols() + 1);
    }

    /// A comma between tables, sources, columns or values.
    fn comma(level: &mut OpenParenthesis) {
        level.operators.clear();
        match &mut level.with {
            OpenWith::Open { before, .. } => *before = 2,
            OpenWith::Absent | OpenWith::Over { .. } if level.clause == Clause::Start => {
                level.clause = Clause::List;
            }
            // A comma after a join condition starts the next source.
            OpenWith::Absent | OpenWith::Over { .. } if level.clause == Clause::JoinCondition => {
                level.begin(Clause::Sources);
            }
            OpenWith::Absent | OpenWith::Over { .. } => {}
        }
    }

    /// An operator, if the word is one.
    fn operator(level: &mut OpenParenthesis, word: &str, before: &str, after: &str) {
        match word {
            "NOT" if before == "IS" || after == "IN" => {}
            "NOT" => level.operators.push(Operator { precedence: 3, symbols: 1 }),
            "~" => level.operators.push(Operator { precedence: 12, symbols: 1 }),
            // The `AND` of a `BETWEEN` does not reduce it.
            "BETWEEN" => level.operators.push(Operator { precedence: 0, symbols: 4 }),
            "OR" => level.infix(1),
            "AND" => level.infix(2),
            "IS" => {
                level.infix(4);
                // `NOT DISTINCT FROM`
                level.operators.push(Operator { precedence: 4, symbols: 3 });
            }
            "IN" | "LIKE" | "GLOB" | "MATCH" | "REGEXP" | "=" | "!" => level.infix(4),
            "<" | ">" => level.infix(5),
            "ESCAPE" => level.infix(6),
            "&" => level.infix(7),
            "+" | "-" => level.infix(8),
            "*" | "/" | "%" => level.infix(9),
            "|" => level.infix(10),
            "COLLATE" => level.infix(11),
            "." => level.infix(13),
            _ => {}
        }
    }

    fn open(&mut self, before: &str) {
        let Some(level) = self.open.last() else { return };
        let opening = match before {
            "EXISTS" | "CAST" => 2,
            // A function and its arguments.
            "OVER" | "FILTER" => 8,
            _ if is_keyword(before) => 1,
            _ if level.clause == Clause::Sources && !matches!(before, "," | "(") => 3,
            // A function, and its `DISTINCT`.
            _ if before.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '`')) => 3,
            _ => 1,
        };
        let inside = OpenParenthesis { outside: level.symbols() + opening, ..OpenParenthesis::default() };
        self.most = self.most.max(inside.outside);
        self.open.push(inside);
    }

    fn close(&mut self) {
        if self.open.len() > 1
            && let Some(inside) = self.open.pop()
        {
            self.most = self.most.max(inside.outside + CLOSED);
        }
    }
}

/// Whether a word before a parenthesis is not the name of a function.
fn is_keyword(word: &str) -> bool {
    let keywords = [
        "ALL",
        "AND",
        "AS",
        "BY",
        "CASE",
        "DISTINCT",
        "ELSE",
        "FROM",
        "HAVING",
        "IN",
        "IS",
        "JOIN",
        "LIKE",
        "LIMIT",
        "MATERIALIZED",
        "NOT",
        "OFFSET",
        "ON",
        "OR",
        "SELECT",
        "THEN",
        "VALUES",
        "WHEN",
        "WHERE",
    ];
    keywords.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::symbols;

    /// The first number is how many symbols SQLite 3.40 holds: 94, less the parentheses that fit around the
    /// query in `EXPLAIN SELECT …` before its parser overflows. The second is what is counted.
    #[test]
    fn no_less_is_counted_than_sqlite_holds() {
        for (sql, held, counted) in [
            ("SELECT 1", 9, 10),
            ("SELECT a FROM b WHERE d AND (c)", 10, 12),
            (
                "SELECT 1 FROM t WHERE a AND EXISTS (SELECT 1 FROM u WHERE b AND NOT EXISTS (SELECT 1 FROM v))",
                28,
                29,
            ),
            (
                "SELECT 1 FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM v WHERE t.a = v.a))",
                25,
                25,
            ),
            (
                "SELECT 1 FROM t WHERE a || '' IN (SELECT 1 UNION ALL SELECT 2 FROM (SELECT 1 FROM u, (SELECT 1) AS x) AS y)",
                31,
                32,
            ),
            (
                "WITH RECURSIVE a (x) AS (SELECT 1), b AS MATERIALIZED (SELECT 2 UNION SELECT x FROM a, b) SELECT 1 FROM b WHERE (x = 1 OR x > 2 AND (x))",
                19,
                20,
            ),
            ("SELECT CASE x WHEN 1 THEN 2 WHEN a AND f(b, (c)) THEN CAST((d) AS TEXT) ELSE 3 END", 18, 22),
            (
                "SELECT e.\"value\" ->> 0 FROM json_each((SELECT s FROM st ORDER BY json_array_length(s), (s) DESC LIMIT (1))) AS e",
                23,
                27,
            ),
            (
                "SELECT 1 FROM t JOIN u ON t.a = u.a AND (t.b IS NOT DISTINCT FROM (u.b)), v WHERE x BETWEEN 1 AND (2) AND (3)",
                21,
                25,
            ),
            ("SELECT count(*) OVER (PARTITION BY a, (b)) FROM t GROUP BY a, (b) HAVING NOT (a)", 17, 22),
        ] {
            assert!(held <= counted, "{sql}");
            assert_eq!(symbols(&tokens(sql)), counted, "{sql}");
        }
    }
}
