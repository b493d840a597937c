//! Recognises bound queries that only select columns of one table.
//!
//! Most bindings are `SELECT a, b FROM t`, perhaps with a condition. Such a query does not have to become a
//! subquery: the statement can join the table itself under an alias. This is correct only if every word is
//! known to be a column, a literal or a keyword, so few forms are accepted here. Any other query is used as a
//! subquery.

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

    /// A value, perhaps compared.
    fn condition(&mut self) -> Option<()> {
        let is_operand = !self.cursor.sign(&Token::Open('('));
        let n_columns = self.columns.len();
        if is_operand {
            self.operand()?;
        } else {
            self.depth += 1;
            self.alternatives()?;
            self.depth -= 1;
            self.cursor.sign(&Token::Close(')')).then_some(())?;
            // A user-defined cast may turn true or false into NULL.
            self.is_never_null &= !matches!(self.cursor.peek(), Some(Token::Cast));
            self.casts()?;
        }
        let are_tests = std::mem::take(&mut self.is_never_null);
        let compares = |token: &&Token| matches!(token, Token::Operator(operator) if ["=", "==", "<>", "<", "<=", ">", ">="].contains(operator));
        if self.cursor.peek().as_ref().is_some_and(compares) {
            self.cursor.next();
            return self.operand();
        }
        if self.cursor.word("is") {
            self.is_never_null = are_tests;
            let is_negated = self.cursor.word("not");
            if self.cursor.word("null") {
                // An operand has at most one column, perhaps cast.
                let tested = self.columns.get(n_columns).filter(|_| is_operand && is_negated);
                self.not_null.extend(tested.map(|(_, column)| column.clone()));
                return Some(());
            }
            return ["true", "false"].iter().any(|word| self.cursor.word(word)).then_some(());
        }
        let negated = self.cursor.word("not");
        if self.cursor.word("in") {
            self.cursor.sign(&Token::Open('(')).then_some(())?;
            loop {
                self.literal().then_some(())?;
                self.casts()?;
                if !self.cursor.sign(&Token::Comma) {
                    break;
                }
            }
            return self.cursor.sign(&Token::Close(')')).then_some(());
        }
        if self.cursor.word("between") {
            self.operand()?;
            self.cursor.word("and").then_some(())?;
            return self.operand();
        }
        self.is_never_null = are_tests && !is_operand;
        (!negated).then_some(())
    }

    /// A column or a literal, perhaps cast.
    fn operand(&mut self) -> Option<()> {
        let mut ahead = self.cursor.clone();
        let calls_cast = ahead.word("cast") && ahead.sign(&Token::Open('('));
        if calls_cast {
            self.cursor = ahead;
            self.operand()?;
            self.cursor.word("as").then_some(())?;
            self.cursor.data_type().then_some(())?;
            self.cursor.sign(&Token::Close(')')).then_some(())?;
        } else if !self.literal() {
            let start = self.cursor.at;
            let path = self.cursor.path()?;
            let column = self.scope.column(&path)?;
            self.columns.push((start..self.cursor.at, column));
        }
        self.casts()
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

    /// `::type`, any number of times.
    fn casts(&mut self) -> Option<()> {
        while self.cursor.sign(&Token::Cast) {
            self.cursor.data_type().then_some(())?;
        }
        Some(())
    }
}
