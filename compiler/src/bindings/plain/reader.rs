//! Reads a value or a condition over one row, to find the columns in it.
//!
//! Every word must be known to be a column, a literal, a keyword or a function's name: a word that is taken
//! for a column gets a qualifier.

use super::super::grammar::Cursor;
use super::super::token::Token;
use std::ops::Range;

/// Reads values and conditions. Precedence does not matter, because only the columns are wanted.
pub(super) struct RowReader<'a> {
    pub(super) cursor: Cursor<'a>,
    /// Which functions may be called.
    pub(super) functions: Functions,
    /// The columns, in order: their positions, and the names as written.
    pub(super) columns: Vec<(Range<usize>, Vec<&'a Token>)>,
    /// The columns that are tested by `IS NOT NULL`, as positions in [`Self::columns`].
    pub(super) not_null: Vec<usize>,
    /// The columns that equal a literal, or one of several, as positions in [`Self::columns`].
    pub(super) fixed: Vec<usize>,
    /// Whether each test must hold: there was neither `OR` nor `NOT` so far.
    pub(super) is_conjunction: bool,
    /// Whether there were only tests with `IS` so far.
    pub(super) is_never_null: bool,
    /// Whether all values so far can be computed from any row. A cast to a number fails for some texts, and a
    /// division for zero.
    pub(super) is_total: bool,
}

/// What joins conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Junction {
    /// `AND`, if anything.
    And,
    /// `OR`, and perhaps `AND`.
    Or,
}

/// Which functions may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Functions {
    /// All: the database refuses an aggregate, and a function that returns a set, in a condition.
    Any,
    /// Those of [`TOTAL_FUNCTIONS`]: what a query selects may be an aggregate or a set.
    Total,
}

/// Functions that compute one value of one row, and fail for none. `char` is how literals with control
/// characters are printed.
const TOTAL_FUNCTIONS: &[&str] = &[
    "char", "coalesce", "concat", "ifnull", "lower", "ltrim", "nullif", "replace", "rtrim", "trim", "upper",
];

/// Operators whose values can be computed from any row. SQLite's `->>` fails for a text that is not JSON.
const TOTAL_OPERATORS: &[&str] = &["||", "=", "<>", "!=", "<", "<=", ">", ">="];

/// Types to which any value can be cast.
const TEXT_TYPES: &[&str] = &["char", "character", "text", "varchar"];

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value {
    /// A column alone, perhaps cast.
    Column,
    /// Conditions in parentheses.
    Group,
    /// Something else.
    Computed,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(cursor: Cursor<'a>, functions: Functions) -> Self {
        Self {
            cursor,
            functions,
            columns: Vec::new(),
            not_null: Vec::new(),
            fixed: Vec::new(),
            is_conjunction: true,
            is_never_null: true,
            is_total: true,
        }
    }

    /// Conditions with `AND` and `OR` between them.
    pub(super) fn alternatives(&mut self) -> Option<Junction> {
        let mut junction = Junction::And;
        loop {
            while self.cursor.word("not") {
                self.is_conjunction = false;
            }
            self.condition()?;
            if self.cursor.word("or") {
                junction = Junction::Or;
                self.is_conjunction = false;
            } else if !self.cursor.word("and") {
                return Some(junction);
            }
        }
    }

    /// A value, perhaps tested.
    fn condition(&mut self) -> Option<()> {
        let (n_columns, n_not_null, n_fixed) = (self.columns.len(), self.not_null.len(), self.fixed.len());
        let start = self.cursor.clone();
        let value = self.value()?;
        let are_tests = std::mem::take(&mut self.is_never_null);
        if value == Value::Group && self.is_end() {
            self.is_never_null = are_tests;
            return Some(());
        }
        let is_known = self.test(are_tests)?;
        // A group that is only part of a test need not hold, so it demands nothing.
        self.not_null.truncate(n_not_null);
        self.fixed.truncate(n_fixed);
        self.fixed.extend((self.columns.len() == n_columns + 1 && is_fixed(start)).then_some(n_columns));
        self.not_null.extend((is_known && value == Value::Column).then_some(n_columns));
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
    pub(super) fn value(&mut self) -> Option<Value> {
        let mut value = self.term()?;
        while let Some(Token::Operator(operator)) = self.cursor.peek() {
            // In `f(name => value)` the name is not a column.
            (*operator != "=>").then_some(())?;
            self.is_total &= TOTAL_OPERATORS.contains(operator);
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
            self.alternatives()?;
            if !self.cursor.sign(&Token::Comma) {
                return self.cursor.sign(end).then_some(());
            }
        }
    }

    /// A column, a literal, a call or a condition in parentheses, perhaps cast.
    fn term(&mut self) -> Option<Value> {
        let value = if self.cursor.sign(&Token::Open('(')) {
            self.alternatives()?;
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
            self.data_type()?;
            self.cursor.sign(&Token::Close(')')).then_some(())?;
            return Some(if value == Value::Group { Value::Computed } else { value });
        }
        let start = self.cursor.at;
        let path = self.cursor.path()?;
        let end = self.cursor.at;
        if self.cursor.sign(&Token::Open('(')) {
            self.may_call(&path).then_some(())?;
            if !self.cursor.sign(&Token::Close(')')) {
                self.values(&Token::Close(')'))?;
            }
            return Some(Value::Computed);
        }
        self.columns.push((start..end, path));
        Some(Value::Column)
    }

    fn may_call(&self, path: &[&Token]) -> bool {
        match (self.functions, path) {
            (Functions::Any, _) => true,
            (Functions::Total, [name]) => TOTAL_FUNCTIONS.iter().any(|function| name.is(function)),
            (Functions::Total, _) => false,
        }
    }

    fn data_type(&mut self) -> Option<()> {
        let is_text = self.cursor.peek().is_some_and(|name| TEXT_TYPES.iter().any(|text| name.is(text)));
        self.cursor.data_type().then_some(())?;
        let last = self.cursor.at.checked_sub(1).and_then(|at| self.cursor.lexemes.get(at));
        let is_array = last.is_some_and(|last| last.token == Token::Close(']'));
        self.is_total &= is_text && !is_array;
        Some(())
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
            self.data_type()?;
            is_cast = true;
        }
        Some(is_cast)
    }
}

/// Whether a test that starts here is `column = literal` or `column IN (literal, …)`.
fn is_fixed(mut cursor: Cursor<'_>) -> bool {
    if cursor.path().is_none() {
        return false;
    }
    let is_list = cursor.word("in") && cursor.sign(&Token::Open('('));
    if !is_list && !cursor.sign(&Token::Operator("=")) {
        return false;
    }
    let mut reader = RowReader::new(cursor, Functions::Any);
    loop {
        if !reader.literal() || reader.casts().is_none() {
            return false;
        }
        if !is_list || !reader.cursor.sign(&Token::Comma) {
            break;
        }
    }
    let is_closed = !is_list || reader.cursor.sign(&Token::Close(')'));
    is_closed && reader.is_end()
}
