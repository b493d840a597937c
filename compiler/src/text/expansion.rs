//! How large a statement becomes once SQLite has expanded its common table expressions.
//!
//! SQLite has no table for a common table expression. Wherever one is read, its query is copied, along with
//! everything that it reads in turn, and each source of each copy gets a cursor. Before each copy SQLite
//! looks at the number of cursors, and at a thousand it refuses the statement: `VIEWs and/or subqueries
//! nested too deep` (`resolveFromTermToCte` in `select.c`). So the size of the text does not matter; the size
//! of its expansion does. And only the text shows all of it: the plan's sources, the subqueries around its
//! arms, rows of values, and the caller's own queries.
//!
//! In: a printed statement. Out: the number of cursors at the last copy, and the number of selects in the
//! longest union, which SQLite also bounds. Not counted are the sources of a view, which only the database
//! knows, and a table that is read before it is defined.
//!
//! A word is recognised by its position: a source follows a `FROM`, a `JOIN`, or a comma after one of them,
//! and a parenthesis that opens a query has sources of its own. The order is SQLite's: the last select of a
//! union first; for each select the cursors of its sources, then their queries, then the queries among its
//! values. Where that order is uncertain, the larger count is returned.

use super::tokens::{PrintedToken, tokens};

/// What SQLite counts of a statement, or of a condition in one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatementSize {
    /// The cursors before the last copy of a common table expression; `None` if there is no copy.
    pub cursors: Option<usize>,
    /// The selects of the longest union.
    pub arms: usize,
}

/// Counts them.
pub fn statement_size(sql: &str) -> StatementSize {
    size_of(&tokens(sql))
}

/// Counts them in the tokens of a statement.
pub(super) fn size_of(tokens: &[PrintedToken<'_>]) -> StatementSize {
    let words = tokens.iter().map(|token| token.text).filter(|word| !word.trim().is_empty());
    let words: Vec<&str> = words.collect();
    let mut reader =
        StatementReader { levels: vec![Parenthesis::new(Opened::Plain)], has_tables: false, arms: 1 };
    for (at, word) in words.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| words.get(before)).copied();
        let after = words.get(at + 1).copied();
        reader.word(word, before.unwrap_or(""), after.unwrap_or(""));
    }
    reader.levels.truncate(1);
    let cursors = reader.levels.pop().and_then(|level| level.finished().whole().looked);
    StatementSize { cursors, arms: reader.arms }
}

/// The cursors that a part of a statement adds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    /// All of them.
    added: usize,
    /// How many of them there are when SQLite last looks at their number; `None` if it never does.
    looked: Option<usize>,
}

impl Cost {
    /// SQLite looks at the number.
    const LOOK: Self = Self { added: 0, looked: Some(0) };

    fn of(added: usize) -> Self {
        Self { added, looked: None }
    }

    /// One part after another.
    fn then(self, next: Self) -> Self {
        let looked = next.looked.map(|looked| self.added.saturating_add(looked));
        Self { added: self.added.saturating_add(next.added), looked: looked.or(self.looked) }
    }

    /// The same where the order is uncertain: if SQLite looks at all, it is assumed to look last.
    fn latest(self) -> Self {
        Self { looked: self.looked.map(|_| self.added), ..self }
    }
}

/// A select. Its cursors are added in the order of the fields.
#[derive(Clone, Copy, Debug, Default)]
struct SelectCost {
    /// The cursors of its sources, and of the sources of those that are queries.
    sources: usize,
    /// What the sources' queries add.
    queries: Cost,
    /// The queries among its values and conditions.
    values: Cost,
    /// The queries in the arguments of functions that are sources.
    arguments: Cost,
    /// The queries in the conditions of joins, which come anywhere after the sources' queries.
    joins: Cost,
    /// Whether it reads the common table expression whose query it belongs to.
    is_recursive: bool,
}

impl SelectCost {
    /// Its cost without the cursors of its sources.
    fn rest(self) -> Cost {
        let all = self.queries.then(self.values).then(self.arguments).then(self.joins);
        if self.joins.added == 0 { all } else { all.latest() }
    }
}

/// A complete query.
#[derive(Clone, Copy, Debug)]
struct Query {
    /// The cursors of the sources of its last select.
    sources: usize,
    rest: Cost,
}

impl Query {
    fn whole(self) -> Cost {
        Cost::of(self.sources).then(self.rest)
    }
}

/// What an open parenthesis holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opened {
    /// A value, a list, or a query among the values.
    Plain,
    /// A source of the query around it.
    Source,
    /// The arguments of a function that is a source of the query around it.
    Arguments,
    /// The query of the common table expression that is being defined around it.
    Table,
}

/// Where a `WITH` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum With {
    /// There is none, or it is over.
    Over,
    /// A name comes next.
    Name,
    /// Behind a name, before its `AS`: columns may come.
    Columns,
    /// Behind an `AS`: the query comes next.
    Query,
}

/// A common table expression.
#[derive(Debug)]
struct TableCost<'t> {
    name: &'t str,
    /// What a copy adds; none before its query was read.
    copy: Option<Cost>,
}

/// One open parenthesis, or the statement itself.
#[derive(Debug)]
struct Parenthesis<'t> {
    opened: Opened,
    with: With,
    tables: Vec<TableCost<'t>>,
    /// The selects of a union before the last.
    before: Vec<SelectCost>,
    last: SelectCost,
    /// Between `FROM` and what follows it.
    in_from: bool,
    /// A source comes next.
    wants_source: bool,
    /// The name of a source came last.
    is_named: bool,
    /// The rows of a `VALUES` so far; 0 elsewhere.
    n_rows: usize,
    /// For how many selects the first of a union counts: a `VALUES` for each of its rows.
    n_first: usize,
}

impl Parenthesis<'_> {
    fn new(opened: Opened) -> Self {
        Self {
            opened,
            with: With::Over,
            tables: Vec::new(),
            before: Vec::new(),
            last: SelectCost::default(),
            in_from: false,
            wants_source: false,
            is_named: false,
            n_rows: 0,
            n_first: 0,
        }
    }

    fn finished(&self) -> Query {
        let others = self.before.iter().rev().map(|select| Cost::of(select.sources).then(select.rest()));
        Query { sources: self.last.sources, rest: others.fold(self.last.rest(), Cost::then) }
    }

    /// What a copy of a common table expression with this query adds: of a recursive one the selects that
    /// start it come first, and it has a cursor of its own.
    fn copied(&self) -> Cost {
        let selects = || self.before.iter().chain([&self.last]).rev();
        let (steps, starts): (Vec<&SelectCost>, Vec<&SelectCost>) =
            selects().partition(|select| select.is_recursive);
        let own = Cost::of(usize::from(!steps.is_empty()));
        let all = starts.into_iter().chain(steps);
        all.map(|select| Cost::of(select.sources).then(select.rest())).fold(own.then(Cost::LOOK), Cost::then)
    }
}

/// A statement that is being read.
struct StatementReader<'t> {
    levels: Vec<Parenthesis<'t>>,
    /// Whether there was a common table expression.
    has_tables: bool,
    /// The selects of the longest union so far.
    arms: usize,
}

impl<'t> StatementReader<'t> {
    /// Reads a word between these two.
    fn word(&mut self, word: &'t str, before: &str, after: &str) {
        let Some(level) = self.levels.last_mut() else { return };
        // After a dot or an `AS` that defines no table, even a keyword is a name.
        let is_name = level.with == With::Over && (before == "." || before.eq_ignore_ascii_case("AS"));
        let is = |keyword: &str| !is_name && word.eq_ignore_ascii_case(keyword);
        let begins_query = ["SELECT", "VALUES", "WITH"].into_iter().any(is);
        // The text between a source's parentheses is a query or a join.
        if before == "(" && level.opened == Opened::Source && !begins_query {
            (level.in_from, level.wants_source) = (true, true);
        }
        match (word, level.with) {
            ("(", _) => return self.open(),
            (")", _) => return self.close(),
            (_, With::Name) => {
                if !is("RECURSIVE") {
                    level.tables.push(TableCost { name: unquoted(word), copy: None });
                    level.with = With::Columns;
                }
                return;
            }
            (_, With::Columns) => {
                level.with = if is("AS") { With::Query } else { With::Columns };
                return;
            }
            (",", With::Query) => level.with = With::Name,
            (_, With::Query) if !begins_query => return,
            (_, With::Query | With::Over) => {}
        }
        level.is_named = level.wants_source;
        if word == "," {
            level.wants_source = level.in_from;
            if level.n_rows > 0 {
                level.n_rows += 1;
                // A later arm of several rows becomes a subquery.
                let is_second = level.n_rows == 2 && !level.before.is_empty() && self.has_tables;
                level.last.sources += usize::from(is_second);
            }
        } else if level.wants_source {
            level.wants_source = after == ".";
            if !level.wants_source {
                self.source(unquoted(word), before == ".");
            }
        } else {
            self.keyword(is, before);
        }
    }

    /// Reads a word that may be a keyword: `is` says which.
    fn keyword(&mut self, is: impl Fn(&str) -> bool, before: &str) {
        let Some(level) = self.levels.last_mut() else { return };
        let is_any = |keywords: &[&str]| keywords.iter().any(|keyword| is(keyword));
        if is_any(&["SELECT", "VALUES", "WITH"]) {
            level.with = if is("WITH") { With::Name } else { With::Over };
            level.in_from = false;
            level.n_rows = usize::from(is("VALUES"));
            // Several rows become a subquery, unless a `WITH` came before.
            self.has_tables |= is("WITH");
            level.last.sources += usize::from(is("VALUES") && !self.has_tables);
        } else if is("FROM") {
            // Not the one of `IS DISTINCT FROM`, which may be in the condition of a join.
            if !before.eq_ignore_ascii_case("DISTINCT") {
                (level.in_from, level.wants_source) = (true, true);
            }
        } else if is("JOIN") {
            level.wants_source = level.in_from;
        } else if is_any(&["UNION", "INTERSECT", "EXCEPT"]) {
            level.in_from = false;
            if level.before.is_empty() {
                level.n_first = level.n_rows.max(1);
            }
            level.n_rows = 0;
            level.before.push(std::mem::take(&mut level.last));
            self.arms = self.arms.max(level.n_first + level.before.len());
        } else if is_any(&["WHERE", "GROUP", "HAVING", "WINDOW", "ORDER", "LIMIT"]) {
            level.in_from = false;
            // A union that is sorted by a collation becomes a subquery.
            level.last.sources += usize::from(is("ORDER") && !level.before.is_empty());
        }
    }

    fn open(&mut self) {
        let Some(level) = self.levels.last_mut() else { return };
        let opened = if level.with == With::Query {
            Opened::Table
        } else if std::mem::take(&mut level.wants_source) {
            Opened::Source
        } else if std::mem::take(&mut level.is_named) {
            Opened::Arguments
        } else {
            Opened::Plain
        };
        self.levels.push(Parenthesis::new(opened));
    }

    fn close(&mut self) {
        let Some(closed) = self.levels.pop() else { return };
        let Some(level) = self.levels.last_mut() else { return };
        let query = closed.finished();
        let select = &mut level.last;
        match closed.opened {
            Opened::Table => {
                if let Some(table) = level.tables.last_mut() {
                    table.copy = Some(closed.copied());
                }
            }
            Opened::Source => {
                select.sources = select.sources.saturating_add(1).saturating_add(query.sources);
                select.queries = select.queries.then(query.rest);
            }
            Opened::Arguments => select.arguments = select.arguments.then(query.whole()),
            Opened::Plain if level.in_from => select.joins = select.joins.then(query.whole()),
            Opened::Plain => select.values = select.values.then(query.whole()),
        }
    }

    /// A source by its name: a common table expression, if one of the queries around has it and the name is
    /// alone.
    fn source(&mut self, name: &str, is_qualified: bool) {
        let tables = self.levels.iter().rev().flat_map(|level| level.tables.iter().rev());
        let table = tables.filter(|_| !is_qualified).find(|table| table.name.eq_ignore_ascii_case(name));
        let copy = table.map(|table| table.copy);
        let Some(level) = self.levels.last_mut() else { return };
        match copy {
            // All readings of itself share the cursor that it has of its own.
            Some(None) => return level.last.is_recursive = true,
            Some(Some(copy)) => level.last.queries = level.last.queries.then(copy),
            None => {}
        }
        level.last.sources = level.last.sources.saturating_add(1);
    }
}

fn unquoted(word: &str) -> &str {
    let inner = |quote: char| word.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    ['"', '`', '\''].into_iter().find_map(inner).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::{StatementSize, statement_size};

    /// Each number is what SQLite says: the least limit that it takes the statement with, less one.
    #[test]
    fn a_table_counts_wherever_it_is_read() {
        for (sql, expected) in [
            ("SELECT 1 FROM a, b JOIN (SELECT 1 FROM c) AS c ON true", None),
            ("WITH t AS (SELECT 1 FROM a) SELECT 1 FROM b", None),
            ("WITH t AS (SELECT 1 FROM a) SELECT 1 FROM main.t", None),
            ("WITH t AS (SELECT 1 FROM a) SELECT 1 FROM t", Some(1)),
            ("WITH t AS (SELECT 1 FROM a, b) SELECT 1 FROM t, c, t AS u", Some(5)),
            (
                "WITH t AS (SELECT 1 FROM a), \"U\" AS (SELECT 1 FROM t, t) SELECT 1 FROM u WHERE EXISTS (SELECT 1 FROM T)",
                Some(6),
            ),
            (
                "WITH RECURSIVE t (x) AS (SELECT 1 UNION SELECT x FROM t UNION SELECT x FROM t, a) SELECT 1 FROM t, t",
                Some(5),
            ),
            (
                "WITH t AS (SELECT 1 FROM a, b) SELECT a.window FROM a JOIN b ON a.x IS DISTINCT FROM b.x JOIN t JOIN t AS with",
                Some(6),
            ),
            ("WITH t AS (SELECT 1 FROM a UNION ALL VALUES (1), (2)) SELECT 1 FROM t, t AS u", Some(4)),
            ("WITH t AS (SELECT 1 FROM a UNION ALL VALUES (1)) SELECT 1 FROM t, t AS u", Some(3)),
        ] {
            assert_eq!(statement_size(sql).cursors, expected, "{sql}");
        }
    }

    #[test]
    fn the_longest_union_counts() {
        let sql = "WITH t AS (SELECT 1 UNION ALL SELECT 2 UNION SELECT 3), u AS (SELECT 1 UNION SELECT 2) \
                   SELECT 1 FROM t UNION SELECT 'x UNION SELECT y'";
        assert_eq!(statement_size(sql), StatementSize { cursors: Some(1), arms: 3 });
        assert_eq!(statement_size("a IN (SELECT 1) OR b").arms, 1);
        assert_eq!(
            statement_size("WITH t AS (SELECT 1) VALUES (0), (1), (2) UNION ALL SELECT 1 FROM t").arms,
            4
        );
    }
}
