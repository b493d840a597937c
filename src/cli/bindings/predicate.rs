//! Compares conditions and expressions of a bound query with those of indexes, as PostgreSQL prints them.
//!
//! PostgreSQL prints `status IN ('a', 'b')` as `((status)::text = ANY (ARRAY['a'::text, 'b'::text]))`. So
//! both texts are read as conditions of tests, without casts and without parentheses that only group. This
//! decides only whether an index is advised, and what is not recognised is advised.

use portcullis_compiler::bindings::RowPart;

/// A condition.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(Vec<String>),
}

/// A word, a name, a literal or a sign.
#[derive(Clone, Debug)]
struct SqlToken {
    text: String,
    /// Whether it is a name whatever its text is.
    is_name: bool,
}

impl SqlToken {
    fn is(&self, text: &str) -> bool {
        !self.is_name && self.text == text
    }

    /// Whether a parenthesis after it holds the arguments of a call.
    fn calls(&self) -> bool {
        const OTHERS: &[&str] = &["all", "and", "any", "array", "in", "is", "like", "not", "or", "~~"];
        let is_word = self.text.starts_with(|c: char| c.is_alphabetic() || c == '_');
        (self.is_name || is_word) && !OTHERS.iter().any(|word| self.is(word))
    }
}

/// Whether a condition demands the predicate of a partial index. That the index's own column is not NULL is
/// demanded by each look-up.
pub(super) fn implies(condition: &[RowPart], predicate: &str, column: &str) -> bool {
    let (Some(given), Some(needed)) = (read(of_row(condition)), read(tokens(predicate))) else {
        return false;
    };
    let not_null: Vec<String> = [column, "is", "not", "null"].map(str::to_owned).into();
    let given = conjuncts(given);
    conjuncts(needed).iter().all(|part| *part == Condition::Test(not_null.clone()) || given.contains(part))
}

/// Whether a computed value is the expression of an index.
pub(super) fn is_same(value: &[RowPart], expression: &str) -> bool {
    test(&of_row(value)) == test(&tokens(expression))
}

fn conjuncts(condition: Condition) -> Vec<Condition> {
    match condition {
        Condition::All(parts) => parts,
        Condition::Any(_) | Condition::Not(_) | Condition::Test(_) => vec![condition],
    }
}

fn of_row(parts: &[RowPart]) -> Vec<SqlToken> {
    let token = |part: &RowPart| match part {
        RowPart::Text(text) => tokens(text),
        RowPart::Column(name) => vec![SqlToken { text: name.folded().to_owned(), is_name: true }],
    };
    parts.iter().flat_map(token).collect()
}

fn tokens(text: &str) -> Vec<SqlToken> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '\'' | '"' => end_of_quoted(rest, first),
            _ if is_word(first) => rest.find(|c| !is_word(c)),
            _ if is_operator(first) => rest.find(|c| !is_operator(c)),
            ':' if rest.starts_with("::") => Some(2),
            _ => Some(first.len_utf8()),
        };
        let (token, after) = rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, ""));
        found.push(match token.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
            Some(name) => SqlToken { text: name.replace("\"\"", "\""), is_name: true },
            None if first == '\'' => SqlToken { text: token.to_owned(), is_name: false },
            None => SqlToken { text: token.to_lowercase(), is_name: false },
        });
        rest = after.trim_start();
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_operator(c: char) -> bool {
    "+-*/<>=~!@#%^&|?".contains(c)
}

/// The end of a quoted text; a doubled quote is part of it.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut quotes = text.match_indices(quote).map(|(at, _)| at).skip(1).peekable();
    while let Some(at) = quotes.next() {
        if quotes.next_if_eq(&(at + 1)).is_none() {
            return Some(at + 1);
        }
    }
    None
}

fn read(tokens: Vec<SqlToken>) -> Option<Condition> {
    let mut reader = ConditionReader { tokens, at: 0 };
    let condition = reader.any()?;
    (reader.at == reader.tokens.len()).then_some(condition)
}

struct ConditionReader {
    tokens: Vec<SqlToken>,
    at: usize,
}

impl ConditionReader {
    fn takes(&mut self, word: &str) -> bool {
        let found = self.tokens.get(self.at).is_some_and(|token| token.is(word));
        self.at += usize::from(found);
        found
    }

    fn any(&mut self) -> Option<Condition> {
        let mut parts = vec![self.all()?];
        while self.takes("or") {
            parts.push(self.all()?);
        }
        let mut flat = Vec::new();
        for part in parts {
            match part {
                Condition::Any(inner) => flat.extend(inner),
                Condition::All(_) | Condition::Not(_) | Condition::Test(_) => flat.push(part),
            }
        }
        Some(single(flat, Condition::Any))
    }

    fn all(&mut self) -> Option<Condition> {
        let mut parts = vec![self.one()?];
        while self.takes("and") {
            parts.push(self.one()?);
        }
        Some(single(parts.into_iter().flat_map(conjuncts).collect(), Condition::All))
    }

    fn one(&mut self) -> Option<Condition> {
        if self.takes("not") {
            return self.one().map(|inner| Condition::Not(Box::new(inner)));
        }
        if self.is_group() {
            self.at += 1;
            let inner = self.any()?;
            return self.takes(")").then_some(inner);
        }
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(token) = self.tokens.get(self.at) {
            if depth == 0 && ["and", "or", ")"].iter().any(|end| token.is(end)) {
                break;
            }
            if token.is("(") {
                depth += 1;
            } else if token.is(")") {
                depth -= 1;
            }
            self.at += 1;
        }
        if depth > 0 {
            return None;
        }
        let words = test(self.tokens.get(start..self.at)?);
        match words.as_slice() {
            [] => None,
            [column, equals, truth] if equals == "=" && truth == "true" => {
                Some(Condition::Test(vec![column.clone()]))
            }
            [column, equals, truth] if equals == "=" && truth == "false" => {
                Some(Condition::Not(Box::new(Condition::Test(vec![column.clone()]))))
            }
            _ => Some(Condition::Test(words)),
        }
    }

    /// Whether here is a parenthesis that holds a condition, and not a part of a test.
    fn is_group(&self) -> bool {
        let mut depth = 0_usize;
        for (at, token) in self.tokens.iter().enumerate().skip(self.at) {
            if token.is("(") {
                depth += 1;
            } else if token.is(")") {
                depth = depth.saturating_sub(1);
            }
            if depth == 0 {
                let next = self.tokens.get(at + 1);
                let ends = next.is_none_or(|next| ["and", "or", ")"].iter().any(|end| next.is(end)));
                return at > self.at && ends;
            }
        }
        false
    }
}

fn single(mut parts: Vec<Condition>, several: fn(Vec<Condition>) -> Condition) -> Condition {
    if parts.len() > 1 {
        return several(parts);
    }
    parts.pop().unwrap_or_else(|| several(Vec::new()))
}

/// The words of a test, without casts and grouping parentheses, and with PostgreSQL's spelling of operators.
fn test(tokens: &[SqlToken]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut calls: Vec<bool> = Vec::new();
    let mut before: Option<&SqlToken> = None;
    let mut rest = tokens.iter().peekable();
    while let Some(token) = rest.next() {
        if token.is("::") {
            skip_type(&mut rest);
            continue;
        }
        match token.text.as_str() {
            "(" => calls.push(before.is_some_and(SqlToken::calls)),
            "[" => calls.push(false),
            _ => {}
        }
        let is_grouping = match token.text.as_str() {
            "(" | "[" => !calls.last().copied().unwrap_or_default(),
            ")" | "]" => !calls.pop().unwrap_or_default(),
            _ => false,
        };
        if token.is_name || !is_grouping {
            let spelled = respelled(token, &mut words);
            words.extend(spelled);
        }
        before = Some(token);
    }
    words
}

/// A word as PostgreSQL prints it. A `NOT` before it is taken back from the words.
fn respelled(token: &SqlToken, words: &mut Vec<String>) -> Vec<String> {
    let is_negated = !token.is_name
        && ["in", "like", "ilike"].contains(&token.text.as_str())
        && words.pop_if(|word| word == "not").is_some();
    let spelling: &[&str] = match (token.is_name, token.text.as_str(), is_negated) {
        (false, "in", false) => &["=", "any", "array"],
        (false, "in", true) => &["<>", "all", "array"],
        (false, "like", false) => &["~~"],
        (false, "like", true) => &["!~~"],
        (false, "ilike", false) => &["~~*"],
        (false, "ilike", true) => &["!~~*"],
        (false, "!=", _) => &["<>"],
        (_, text, _) => &[text],
    };
    spelling.iter().map(|word| (*word).to_owned()).collect()
}

/// Skips the type of a cast.
fn skip_type<'a>(rest: &mut std::iter::Peekable<impl Iterator<Item = &'a SqlToken>>) {
    const MORE: &[&str] = &["varying", "precision", "with", "without", "time", "zone"];
    rest.next();
    while let Some(token) = rest.peek() {
        if token.is(".") {
            rest.next();
            rest.next();
        } else if MORE.iter().any(|word| token.is(word)) {
            rest.next();
        } else if token.is("(") || token.is("[") {
            let end = if token.is("(") { ")" } else { "]" };
            rest.find(|token| token.is(end));
        } else {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{implies, is_same};
    use portcullis_compiler::bindings::{self, PlainColumn, PlainQuery};

    /// A bound query with this condition, of a table with the given selected value.
    fn plain(value: &str, condition: &str) -> PlainQuery {
        let query = format!("SELECT {value} FROM t x{condition}");
        let document = format!("facts:\n  is_open(Doc:_):\n    query: |\n      {query}\n");
        let bindings = bindings::parse(&document).unwrap();
        bindings.facts.iter().next().unwrap().query.plain.clone().unwrap()
    }

    #[track_caller]
    fn check(condition: &str, predicate: &str, expected: bool) {
        let query = plain("id", &format!(" WHERE {condition}"));
        assert_eq!(implies(&query.condition, predicate, "id"), expected, "{condition}; {predicate}");
    }

    #[test]
    fn a_condition_demands_the_predicate_that_postgresql_prints() {
        for (condition, predicate) in [
            ("revoked_at IS NULL", "(revoked_at IS NULL)"),
            ("x.Revoked_At is null AND kind = 'a'", "(revoked_at IS NULL)"),
            ("NOT revoked", "(NOT revoked)"),
            ("revoked = false", "(NOT revoked)"),
            ("kind = 'it''s' AND n > 3", "(((kind)::text = 'it''s'::text) AND (n > 3))"),
            ("n > 3 AND kind = 'a'", "((kind)::text = 'a'::character varying(9))"),
            (
                "kind IN ('a', 'b')",
                "((kind)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))",
            ),
            ("kind NOT IN ('a', 'b')", "(kind <> ALL (ARRAY['a'::e.color, 'b'::e.color]))"),
            ("kind != 'a'", "(kind <> 'a'::text)"),
            ("kind NOT LIKE 'a_'", "(kind !~~ 'a_'::text)"),
            ("(a = 1 OR b = 2 AND c = 3)", "((a = 1) OR ((b = 2) AND (c = 3)))"),
            ("lower(kind) = 'a'", "(lower((kind)::text) = 'a'::text)"),
            ("\"Gone\" IS NULL", "(\"Gone\" IS NULL)"),
            ("gone IS NULL", "((id IS NOT NULL) AND (gone IS NULL))"),
        ] {
            check(condition, predicate, true);
        }
    }

    #[test]
    fn another_condition_does_not() {
        for (condition, predicate) in [
            ("revoked_at IS NOT NULL", "(revoked_at IS NULL)"),
            ("revoked_at IS NULL OR n = 1", "(revoked_at IS NULL)"),
            ("revoked", "(NOT revoked)"),
            ("NOT (a = 1 OR b = 2)", "((NOT (a = 1)) OR (b = 2))"),
            ("a = 1 OR b = 2", "((a = 1) AND (b = 2))"),
            ("kind = 'A'", "(kind = 'a'::text)"),
            ("kind IN ('a', 'b', 'c')", "(kind = ANY (ARRAY['a'::text, 'b'::text]))"),
            ("gone IS NULL", "((gone IS NULL) AND (n > 3))"),
            ("upper(kind) = 'a'", "(lower(kind) = 'a'::text)"),
            ("gone IS NULL", "((gone IS NULL"),
        ] {
            check(condition, predicate, false);
        }
    }

    #[test]
    fn a_computed_value_is_the_expression_of_an_index() {
        let same = |value: &str, expression: &str| {
            let query = plain(value, "");
            let Some(PlainColumn::Computed(parts)) = query.columns.iter().next() else { panic!("{value}") };
            is_same(parts, expression)
        };
        assert!(same("market || '/' || x.country", "((market || '/'::text) || country)"));
        assert!(same("market || '/' || country", "(((market)::text || '/'::text) || (country)::text)"));
        assert!(same("lower(market)", "lower((market)::text)"));
        assert!(!same("lower(market)", "upper(market)"));
        assert!(!same("market || country", "(country || market)"));
    }
}
