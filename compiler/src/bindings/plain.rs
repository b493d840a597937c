//! Recognises bound queries that only select columns of one table.
//!
//! Most bindings are `SELECT a, b FROM t`, perhaps with a condition. Such a query does not have to become a
//! subquery: the statement can join the table itself under an alias. This is correct only if every word is
//! known to be a column, a literal, a keyword or a function's name, so only common forms are accepted here.
//! Any other query is used as a subquery.

use super::bound::{ConditionPart, PlainQuery};
use super::grammar::{Cursor, folded};
use super::name::SqlName;
use super::token::{Lexeme, Token, apart};
use crate::dialect::Escapes;
use crate::dialect::lexis::Lexis;
use std::ops::Range;

/// The query's parts, if it is `SELECT column, … FROM table [alias] [WHERE condition]`.
pub(super) fn plain(lexemes: &[Lexeme], lexis: &'static Lexis, escapes: Escapes) -> Option<PlainQuery> {
    let mut cursor = Cursor::new(lexemes, lexis);
    if !cursor.word("select") {
        return None;
    }
    // Duplicates do not matter: a relation is a set.
    cursor.word("distinct");
    let mut selected = Vec::new();
    loop {
        selected.push(cursor.path()?);
        if cursor.word("as") {
            cursor.next().filter(|token| token.is_wordlike())?;
        } else {
            cursor.name();
        }
        if !cursor.sign(&Token::Comma) {
            break;
        }
    }
    if !cursor.word("from") {
        return None;
    }
    let table = cursor.path()?;
    let alias = if cursor.word("as") { Some(cursor.name()?) } else { cursor.name() };
    let scope = QueryScope { called: folded(alias.or(table.last().copied())?, lexis), lexis };
    let columns = selected.iter().map(|path| scope.column(path)).collect::<Option<Vec<_>>>()?;
    let table = SqlName::all(&table, lexis);
    let whole = PlainQuery {
        table,
        columns: columns.into(),
        condition: Vec::new(),
        not_null: Vec::new(),
        is_never_null: true,
    };
    if cursor.word("where") {
        condition(cursor, &scope, escapes, whole)
    } else {
        cursor.done().then_some(whole)
    }
}

/// The names in scope within the query.
struct QueryScope {
    /// The table's alias, or its own name.
    called: String,
    lexis: &'static Lexis,
}

impl QueryScope {
    /// The column that a path names. A name alone could also be the table, which means its whole row, and in
    /// some databases a name in double quotes could be a text.
    fn column(&self, path: &[&Token]) -> Option<SqlName> {
        let column = match path {
            [qualifier, column] if folded(qualifier, self.lexis) == self.called => column,
            [column] => {
                let unsure =
                    self.lexis.unknown_names_are_texts && matches!(column, Token::Name { quote: '"', .. });
                let is_row = folded(column, self.lexis) == self.called;
                (!unsure && !is_row).then_some(column)?
            }
            _ => return None,
        };
        Some(SqlName::of(column, self.lexis))
    }
}

/// The query with its rest as a condition, parenthesised if it has an `OR` at the top level.
fn condition(
    cursor: Cursor<'_>,
    scope: &QueryScope,
    escapes: Escapes,
    whole: PlainQuery,
) -> Option<PlainQuery> {
    let start = cursor.at;
    let lexemes = cursor.lexemes;
    let mut reader = ConditionReader {
        cursor,
        scope,
        columns: Vec::new(),
        not_null: Vec::new(),
        depth: 0,
        outer_or: false,
        is_conjunction: true,
        is_never_null: true,
    };
    reader.alternatives()?;
    if !reader.cursor.done() {
        return None;
    }
    let not_null = if reader.is_conjunction { reader.not_null } else { Vec::new() };
    let is_never_null = reader.is_never_null;
    let mut columns = reader.columns.into_iter().peekable();
    let mut parts = Vec::new();
    let mut text = String::new();
    let mut previous = None;
    let mut at = start;
    while let Some(lexeme) = lexemes.get(at) {
        if apart(previous, lexeme) {
            text.push(' ');
        }
        if let Some((range, column)) = columns.next_if(|(range, _)| range.start == at) {
            parts.extend((!text.is_empty()).then(|| ConditionPart::Text(std::mem::take(&mut text))));
            parts.push(ConditionPart::Column(column));
            at = range.end;
            previous = lexemes.get(at - 1).map(|lexeme| &lexeme.token);
        } else {
            text.push_str(&lexeme.token.plain(escapes));
            previous = Some(&lexeme.token);
            at += 1;
        }
    }
    parts.extend((!text.is_empty()).then_some(ConditionPart::Text(text)));
    if reader.outer_or {
        parts.insert(0, ConditionPart::Text("(".to_owned()));
        parts.push(ConditionPart::Text(")".to_owned()));
    }
    Some(PlainQuery { condition: parts, not_null, is_never_null, ..whole })
}

/// A condition being read. Precedence does not matter, because only the columns are wanted.
struct ConditionReader<'a> {
    cursor: Cursor<'a>,
    scope: &'a QueryScope,
    /// The positions of the columns, in order.
    columns: Vec<(Range<usize>, SqlName)>,
    /// The columns that are tested by `IS NOT NULL`.
    not_null: Vec<SqlName>,
    depth: usize,
    outer_or: bool,
    /// Whether each test must hold: there was neither `OR` nor `NOT` so far.
    is_conjunction: bool,
    /// Whether there were only tests with `IS` so far.
    is_never_null: bool,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    /// A column alone, perhaps cast.
    Column,
    /// Conditions in parentheses.
    Group,
    /// Something else.
    Computed,
}

impl ConditionReader<'_> {
    /// Conditions with `AND` and `OR` between them.
    fn alternatives(&mut self) -> Option<()> {
        loop {
            while self.cursor.word("not") {
                self.is_conjunction = false;
            }
            self.condition()?;
            if self.cursor.word("or") {
                self.outer_or |= self.depth == 0;
                self.is_conjunction = false;
            } else if !self.cursor.word("and") {
                return Some(());
            }
        }
    }

    /// A value, perhaps tested.
    fn condition(&mut self) -> Option<()> {
        let (n_columns, n_not_null) = (self.columns.len(), self.not_null.len());
        let value = self.value()?;
        let are_tests = std::mem::take(&mut self.is_never_null);
        if value == Value::Group && self.is_end() {
            self.is_never_null = are_tests;
            return Some(());
        }
        let is_known = self.test(are_tests)?;
        // A group that is only part of a test need not hold, so it demands nothing.
        self.not_null.truncate(n_not_null);
        let known = self.columns.get(n_columns).filter(|_| is_known && value == Value::Column);
        self.not_null.extend(known.map(|(_, column)| column.clone()));
        Some(())
    }

    /// The test of a value, if there is one; whether it demands that the value is not NULL. `are_tests` says
    /// whether there were only tests with `IS` before it.
    fn test(&mut self, are_tests: bool) -> Option<bool> {
        if self.cursor.word("is") {
            let is_negated = self.cursor.word("not");
            if self.cursor.word("distinct") {
                self.cursor.word("from").then_some(())?;
                self.value()?;
                return Some(false);
            }
            self.is_never_null = are_tests;
            if self.cursor.word("null") {
                return Some(is_negated);
            }
            return ["true", "false"].iter().any(|word| self.cursor.word(word)).then_some(false);
        }
        let is_negated = self.cursor.word("not");
        if self.cursor.word("in") {
            self.cursor.sign(&Token::Open('(')).then_some(())?;
            self.values(&Token::Close(')'))?;
        } else if self.cursor.word("between") {
            self.value()?;
            self.cursor.word("and").then_some(())?;
            self.value()?;
        } else if self.cursor.word("like") || self.cursor.word("ilike") {
            self.value()?;
            if self.cursor.word("escape") {
                self.literal().then_some(())?;
            }
        } else if is_negated {
            return None;
        }
        Some(false)
    }

    /// Whether a condition ends here.
    fn is_end(&self) -> bool {
        match self.cursor.peek() {
            None | Some(Token::Close(_) | Token::Comma) => true,
            Some(token) => token.is("and") || token.is("or"),
        }
    }

    /// Terms with operators between them.
    fn value(&mut self) -> Option<Value> {
        let mut value = self.term()?;
        while let Some(Token::Operator(operator)) = self.cursor.peek() {
            // In `f(name => value)` the name is not a column.
            (*operator != "=>").then_some(())?;
            self.cursor.next();
            value = Value::Computed;
            if ["any", "some", "all"].iter().any(|word| self.cursor.word(word)) {
                self.cursor.sign(&Token::Open('(')).then_some(())?;
                self.value()?;
                self.cursor.sign(&Token::Close(')')).then_some(())?;
            } else {
                self.term()?;
            }
        }
        Some(value)
    }

    /// Values with commas between them, up to a bracket.
    fn values(&mut self, end: &Token) -> Option<()> {
        loop {
            self.depth += 1;
            self.alternatives()?;
            self.depth -= 1;
            if !self.cursor.sign(&Token::Comma) {
                return self.cursor.sign(end).then_some(());
            }
        }
    }

    /// A column, a literal, a call or a condition in parentheses, perhaps cast.
    fn term(&mut self) -> Option<Value> {
        let value = if self.cursor.sign(&Token::Open('(')) {
            self.depth += 1;
            self.alternatives()?;
            self.depth -= 1;
            self.cursor.sign(&Token::Close(')')).then_some(Value::Group)?
        } else if self.literal() || self.moment() {
            Value::Computed
        } else if self.cursor.word("array") {
            self.cursor.sign(&Token::Open('[')).then_some(())?;
            self.values(&Token::Close(']'))?;
            Value::Computed
        } else {
            self.column_or_call()?
        };
        let is_cast = self.casts()?;
        // A user-defined cast may turn true or false into NULL.
        Some(if is_cast && value == Value::Group { Value::Computed } else { value })
    }

    /// A column, `CAST(term AS type)` or `function(value, …)`.
    fn column_or_call(&mut self) -> Option<Value> {
        let mut ahead = self.cursor.clone();
        if ahead.word("cast") && ahead.sign(&Token::Open('(')) {
            self.cursor = ahead;
            let value = self.term()?;
            self.cursor.word("as").then_some(())?;
            self.cursor.data_type().then_some(())?;
            self.cursor.sign(&Token::Close(')')).then_some(())?;
            return Some(if value == Value::Group { Value::Computed } else { value });
        }
        let start = self.cursor.at;
        let path = self.cursor.path()?;
        let end = self.cursor.at;
        if self.cursor.sign(&Token::Open('(')) {
            if !self.cursor.sign(&Token::Close(')')) {
                self.values(&Token::Close(')'))?;
            }
            return Some(Value::Computed);
        }
        self.columns.push((start..end, self.scope.column(&path)?));
        Some(Value::Column)
    }

    fn literal(&mut self) -> bool {
        let mut ahead = self.cursor.clone();
        let signed = ahead.sign(&Token::Operator("-"));
        let found = match ahead.next() {
            Some(Token::Number(_)) => true,
            Some(Token::Text(_)) => !signed,
            Some(word) => !signed && ["null", "true", "false"].iter().any(|literal| word.is(literal)),
            None => false,
        };
        if found {
            self.cursor = ahead;
        }
        found
    }

    /// A literal such as `DATE '2026-01-01'`, or a keyword such as `CURRENT_DATE`.
    fn moment(&mut self) -> bool {
        let mut ahead = self.cursor.clone();
        let is_typed =
            ["date", "time", "timestamp", "timestamptz", "interval"].iter().any(|ty| ahead.word(ty))
                && matches!(ahead.next(), Some(Token::Text(_)));
        if is_typed {
            self.cursor = ahead;
        }
        is_typed
            || ["current_date", "current_time", "current_timestamp"].iter().any(|now| self.cursor.word(now))
    }

    /// `::type`, any number of times; whether there was one.
    fn casts(&mut self) -> Option<bool> {
        let mut is_cast = false;
        while self.cursor.sign(&Token::Cast) {
            self.cursor.data_type().then_some(())?;
            is_cast = true;
        }
        Some(is_cast)
    }
}
