//! Recognises bound queries that only select from one table.
//!
//! Most bindings are `SELECT a, b FROM t`, perhaps with a condition. Such a query does not have to become a
//! subquery: the statement can join the table itself under an alias. This is correct only if every word is
//! known to be a column, a literal, a keyword or a function's name, so only common forms are accepted here.
//! Any other query is used as a subquery.
//!
//! A selected value may also be computed from columns, as in `SELECT id, org || '/' || no FROM t`. A database
//! may then compute it before it tests the query's condition. If the condition could be there to exclude
//! rows for which the computation fails, as in `SELECT ref::int FROM t WHERE kind = 'x'`, the query stays a
//! subquery.

mod reader;

use super::bound::{PlainColumn, PlainQuery, RowPart};
use super::grammar::{Cursor, folded};
use super::name::SqlName;
use super::token::{Lexeme, Token, apart};
use crate::dialect::Escapes;
use crate::dialect::lexis::Lexis;
use reader::{Functions, Junction, RowReader, Value};
use std::ops::Range;

/// The query's parts, if it is `SELECT value, … FROM table [alias] [WHERE condition]`.
pub(super) fn plain(lexemes: &[Lexeme], lexis: &'static Lexis, escapes: Escapes) -> Option<PlainQuery> {
    let mut cursor = Cursor::new(lexemes, lexis);
    if !cursor.word("select") {
        return None;
    }
    // Duplicates do not matter: a relation is a set.
    cursor.word("distinct");
    let mut selected = Vec::new();
    loop {
        let item = Selected::read(cursor)?;
        cursor = item.reader.cursor.clone();
        selected.push(item);
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
    let scope = QueryScope { called: folded(alias.or(table.last().copied())?, lexis), lexis, escapes };
    let columns = selected.iter().map(|item| item.column(&scope)).collect::<Option<Vec<_>>>()?;
    let whole = PlainQuery {
        table: SqlName::all(&table, lexis),
        columns: columns.into(),
        condition: Vec::new(),
        not_null: Vec::new(),
        fixed: Vec::new(),
        is_never_null: true,
    };
    let whole = if cursor.word("where") {
        condition(cursor, &scope, whole)?
    } else {
        cursor.done().then_some(whole)?
    };
    let is_total = selected.iter().all(|item| item.reader.is_total);
    (is_total || whole.condition.is_empty()).then_some(whole)
}

/// A selected value.
struct Selected<'a> {
    /// The reader, past the value.
    reader: RowReader<'a>,
    /// Where the value is.
    range: Range<usize>,
    /// Whether it is a column alone.
    is_column: bool,
}

impl<'a> Selected<'a> {
    fn read(cursor: Cursor<'a>) -> Option<Self> {
        let start = cursor.at;
        let mut reader = RowReader::new(cursor, Functions::Total);
        let value = reader.value()?;
        let range = start..reader.cursor.at;
        let is_column = value == Value::Column && reader.columns.first().is_some_and(|(at, _)| *at == range);
        Some(Self { reader, range, is_column })
    }

    /// The column of the relation; `None` if no column of the table is in it.
    fn column(&self, scope: &QueryScope) -> Option<PlainColumn> {
        let columns = scope.columns(&self.reader)?;
        match columns.first()? {
            (_, column) if self.is_column => Some(PlainColumn::Named(column.clone())),
            _ => {
                let lexemes = self.reader.cursor.lexemes;
                Some(PlainColumn::Computed(scope.parts(lexemes, self.range.clone(), columns)))
            }
        }
    }
}

/// The names in scope within the query.
struct QueryScope {
    /// The table's alias, or its own name.
    called: String,
    lexis: &'static Lexis,
    escapes: Escapes,
}

impl QueryScope {
    /// The columns that were read, each with its position.
    fn columns(&self, reader: &RowReader<'_>) -> Option<Vec<(Range<usize>, SqlName)>> {
        let columns = reader.columns.iter();
        columns.map(|(range, path)| Some((range.clone(), self.column(path)?))).collect()
    }

    /// The column that a path names. A name alone could also be the table, which means its whole row.
    fn column(&self, path: &[&Token]) -> Option<SqlName> {
        let column = match path {
            [qualifier, column] if folded(qualifier, self.lexis) == self.called => column,
            [column] if folded(column, self.lexis) != self.called => column,
            _ => return None,
        };
        Some(SqlName::of(column, self.lexis))
    }

    /// The text of a range in which the columns are marked.
    fn parts(
        &self,
        lexemes: &[Lexeme],
        range: Range<usize>,
        columns: Vec<(Range<usize>, SqlName)>,
    ) -> Vec<RowPart> {
        let mut columns = columns.into_iter().peekable();
        let mut parts = Vec::new();
        let mut text = String::new();
        let mut previous = None;
        let mut at = range.start;
        while let Some(lexeme) = lexemes.get(at).filter(|_| at < range.end) {
            if apart(previous, lexeme) {
                text.push(' ');
            }
            if let Some((range, column)) = columns.next_if(|(range, _)| range.start == at) {
                parts.extend((!text.is_empty()).then(|| RowPart::Text(std::mem::take(&mut text))));
                parts.push(RowPart::Column(column));
                at = range.end;
                previous = lexemes.get(at - 1).map(|lexeme| &lexeme.token);
            } else {
                text.push_str(&lexeme.token.plain(self.escapes));
                previous = Some(&lexeme.token);
                at += 1;
            }
        }
        parts.extend((!text.is_empty()).then_some(RowPart::Text(text)));
        parts
    }
}

/// The query with its rest as a condition, parenthesised if it has an `OR` at the top level.
fn condition(cursor: Cursor<'_>, scope: &QueryScope, whole: PlainQuery) -> Option<PlainQuery> {
    let range = cursor.at..cursor.lexemes.len();
    let lexemes = cursor.lexemes;
    let mut reader = RowReader::new(cursor, Functions::Any);
    let junction = reader.alternatives()?;
    if !reader.cursor.done() {
        return None;
    }
    let columns = scope.columns(&reader)?;
    let demanded = |places: &[usize]| -> Vec<SqlName> {
        let places = places.iter().filter(|_| reader.is_conjunction);
        places.filter_map(|at| Some(columns.get(*at)?.1.clone())).collect()
    };
    let (not_null, fixed) = (demanded(&reader.not_null), demanded(&reader.fixed));
    let mut parts = scope.parts(lexemes, range, columns);
    if junction == Junction::Or {
        parts.insert(0, RowPart::Text("(".to_owned()));
        parts.push(RowPart::Text(")".to_owned()));
    }
    Some(PlainQuery { condition: parts, not_null, fixed, is_never_null: reader.is_never_null, ..whole })
}
