//! Compares conditions and expressions of a bound query with those of indexes, as PostgreSQL prints them.
//!
//! PostgreSQL prints `status IN ('a', 'b')` as `((status)::text = ANY (ARRAY['a'::text, 'b'::text]))`. So
//! both texts are parsed, and compared without the parentheses and casts that PostgreSQL adds, and in its
//! spelling. This decides only whether an index is advised, and what is not recognised is advised.

use portcullis_compiler::bindings::RowPart;
use sqlparser::ast::{
    BinaryOperator, DataType, ExactNumberInfo, Expr, FunctionArg, FunctionArgExpr, FunctionArguments,
    TypedString, Value,
};
use sqlparser::dialect::PostgreSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Token, Tokenizer};

/// A value or a condition as it is compared.
#[derive(Clone, Debug, PartialEq, Eq)]
enum SqlTerm {
    /// A column, a literal, or what is only compared as text.
    Word(String),
    /// An operator or a function, with what it is applied to.
    Of(String, Vec<SqlTerm>),
}

/// Whether a condition demands the predicate of a partial index. That the index's own column is not NULL is
/// demanded by each look-up.
pub(super) fn implies(condition: &[RowPart], predicate: &str, column: &str) -> bool {
    let (Some(given), Some(needed)) = (parsed(&over_row(condition)), parsed(predicate)) else {
        return false;
    };
    let not_null = SqlTerm::Of("IS NOT NULL".to_owned(), vec![named(column)]);
    let given = parts(given, "AND");
    parts(needed, "AND").iter().all(|part| *part == not_null || given.contains(part))
}

/// Whether a computed value is the expression of an index.
pub(super) fn is_same(value: &[RowPart], expression: &str) -> bool {
    parsed(&over_row(value)).is_some_and(|value| parsed(expression) == Some(value))
}

fn over_row(parts: &[RowPart]) -> String {
    let text = |part: &RowPart| match part {
        RowPart::Text(text) => text.clone(),
        RowPart::Column(name) => format!("\"{}\"", name.folded().replace('"', "\"\"")),
    };
    parts.iter().map(text).collect()
}

/// How many tokens a text may have to be compared. Each operator of a chain nests the tree by one level.
const MOST_TOKENS: usize = 400;

/// The term that a text is; `None` if it is too long or not one expression.
fn parsed(text: &str) -> Option<SqlTerm> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, text).tokenize().ok()?;
    let is_space = |token: &&Token| matches!(token, Token::Whitespace(_));
    if tokens.iter().filter(|token| !is_space(token)).count() > MOST_TOKENS {
        return None;
    }
    let mut parser = Parser::new(&PostgreSqlDialect {}).with_tokens(tokens);
    let found = parser.parse_expr().ok()?;
    (parser.peek_token() == Token::EOF).then(|| term(&found))
}

fn term(expr: &Expr) -> SqlTerm {
    let expr = bare(expr);
    if let Some((test, operands)) = tested(expr) {
        return of(test, &operands);
    }
    match expr {
        Expr::Identifier(name) => named(&name.value),
        Expr::Value(literal) => SqlTerm::Word(literal.to_string()),
        Expr::TypedString(TypedString { value, .. }) => SqlTerm::Word(value.to_string()),
        Expr::Cast { expr, data_type, .. } => of(&format!("::{}", spelled(data_type)), &[expr]),
        Expr::BinaryOp { left, op, right } => match (op, bare(right)) {
            (BinaryOperator::And, _) => joined("AND", [term(left), term(right)]),
            (BinaryOperator::Or, _) => joined("OR", [term(left), term(right)]),
            (BinaryOperator::Eq, Expr::Value(literal)) if literal.value == Value::Boolean(true) => term(left),
            (BinaryOperator::Eq, Expr::Value(literal)) if literal.value == Value::Boolean(false) => {
                of("NOT", &[left])
            }
            _ => of(&op.to_string(), &[left, right]),
        },
        Expr::UnaryOp { op, expr } => of(&op.to_string(), &[expr]),
        Expr::IsNotDistinctFrom(left, right) => {
            SqlTerm::Of("NOT".to_owned(), vec![of("IS DISTINCT FROM", &[left, right])])
        }
        Expr::InList { expr, list, negated } => one_of(if *negated { "<> ALL" } else { "= ANY" }, expr, list),
        Expr::AnyOp { left, compare_op, right, .. } => quantified(&format!("{compare_op} ANY"), left, right),
        Expr::AllOp { left, compare_op, right } => quantified(&format!("{compare_op} ALL"), left, right),
        Expr::Between { expr, negated: false, low, high } => {
            joined("AND", [of(">=", &[expr, low]), of("<=", &[expr, high])])
        }
        Expr::Between { expr, negated: true, low, high } => {
            joined("OR", [of("<", &[expr, low]), of(">", &[expr, high])])
        }
        Expr::Array(array) => of("ARRAY", &array.elem.iter().collect::<Vec<_>>()),
        Expr::Function(function) => match arguments(&function.args) {
            // Whatever else a call has is in its text.
            Some(arguments) if function.to_string() == format!("{}{}", function.name, function.args) => {
                of(&function.name.to_string().to_lowercase(), &arguments)
            }
            _ => SqlTerm::Word(function.to_string()),
        },
        other => SqlTerm::Word(other.to_string()),
    }
}

/// A test of values with words in place of an operator.
fn tested(expr: &Expr) -> Option<(&'static str, Vec<&Expr>)> {
    Some(match expr {
        Expr::IsNull(value) => ("IS NULL", vec![value]),
        Expr::IsNotNull(value) => ("IS NOT NULL", vec![value]),
        Expr::IsTrue(value) => ("IS TRUE", vec![value]),
        Expr::IsNotTrue(value) => ("IS NOT TRUE", vec![value]),
        Expr::IsFalse(value) => ("IS FALSE", vec![value]),
        Expr::IsNotFalse(value) => ("IS NOT FALSE", vec![value]),
        Expr::IsDistinctFrom(left, right) => ("IS DISTINCT FROM", vec![left, right]),
        Expr::Like { negated, expr, pattern, escape_char: None, any: false } => {
            (if *negated { "!~~" } else { "~~" }, vec![expr, pattern])
        }
        Expr::ILike { negated, expr, pattern, escape_char: None, any: false } => {
            (if *negated { "!~~*" } else { "~~*" }, vec![expr, pattern])
        }
        _ => return None,
    })
}

fn of(operator: &str, operands: &[&Expr]) -> SqlTerm {
    SqlTerm::Of(operator.to_owned(), operands.iter().map(|operand| term(operand)).collect())
}

/// An expression without the parentheses and casts around it that PostgreSQL adds.
fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Nested(inner) => bare(inner),
        Expr::Cast { expr: inner, data_type, .. } => {
            let value = bare(inner);
            if is_added(value, data_type) { value } else { expr }
        }
        _ => expr,
    }
}

/// Whether PostgreSQL may have added a cast: of a literal, or to a type that values of others become where
/// an operator demands it.
fn is_added(value: &Expr, ty: &DataType) -> bool {
    let is_literal = matches!(value, Expr::Value(_) | Expr::Array(_));
    is_literal
        || matches!(ty, DataType::Text | DataType::Numeric(ExactNumberInfo::None) | DataType::DoublePrecision)
}

/// A type as PostgreSQL calls it.
fn spelled(ty: &DataType) -> String {
    match ty {
        DataType::Int(None) | DataType::Int4(None) => "integer".to_owned(),
        DataType::Int8(None) => "bigint".to_owned(),
        DataType::Int2(None) => "smallint".to_owned(),
        DataType::Bool => "boolean".to_owned(),
        DataType::Varchar(length) => DataType::CharacterVarying(*length).to_string().to_lowercase(),
        other => other.to_string().to_lowercase(),
    }
}

fn named(column: &str) -> SqlTerm {
    SqlTerm::Word(format!("\"{column}\""))
}

/// Terms with an operator between them under which it does not matter how they are grouped.
fn joined(operator: &str, terms: [SqlTerm; 2]) -> SqlTerm {
    SqlTerm::Of(operator.to_owned(), terms.into_iter().flat_map(|term| parts(term, operator)).collect())
}

/// The terms that an operator joins, or the term itself.
fn parts(term: SqlTerm, operator: &str) -> Vec<SqlTerm> {
    match term {
        SqlTerm::Of(joining, parts) if joining == operator => parts,
        SqlTerm::Of(..) | SqlTerm::Word(_) => vec![term],
    }
}

fn one_of(test: &str, value: &Expr, list: &[Expr]) -> SqlTerm {
    SqlTerm::Of(test.to_owned(), std::iter::once(value).chain(list).map(term).collect())
}

fn quantified(test: &str, value: &Expr, values: &Expr) -> SqlTerm {
    match bare(values) {
        Expr::Array(array) => one_of(test, value, &array.elem),
        _ => SqlTerm::Of(format!("{test} OF"), vec![term(value), term(values)]),
    }
}

/// The arguments of a call, if it only has plain ones.
fn arguments(arguments: &FunctionArguments) -> Option<Vec<&Expr>> {
    let FunctionArguments::List(list) = arguments else { return None };
    if list.duplicate_treatment.is_some() || !list.clauses.is_empty() {
        return None;
    }
    let values = list.args.iter().map(|argument| match argument {
        FunctionArg::Unnamed(FunctionArgExpr::Expr(value)) => Some(value),
        _ => None,
    });
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::{MOST_TOKENS, implies, is_same};
    use portcullis_compiler::bindings::{self, PlainColumn, PlainQuery, RowPart};

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
            ("a - b - c > 0", "(((a - b) - c) > 0)"),
            ("a + b * 2 > 3.5", "(((a + (b * 2)))::numeric > 3.5)"),
            ("n BETWEEN 1 AND 3 AND kind = 'a'", "((n >= 1) AND (n <= 3))"),
            ("made < DATE '2026-01-01'", "(made < '2026-01-01'::date)"),
            ("made::date < CURRENT_DATE", "((made)::date < CURRENT_DATE)"),
            ("n::int > 3", "((n)::integer > 3)"),
            (
                "gone IS TRUE AND a IS NOT DISTINCT FROM b",
                "((gone IS TRUE) AND (NOT (a IS DISTINCT FROM b)))",
            ),
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
            ("(a - b) - c > 0", "((a - (b - c)) > 0)"),
            ("(a + b) * c > 0", "((a + (b * c)) > 0)"),
            ("NOT (a = b)", "((NOT a) = b)"),
            ("made < '2026-01-01'", "((made)::date < '2026-01-01'::date)"),
            ("made::timestamp < '2026-01-01'", "((made)::date < '2026-01-01'::date)"),
            ("n = 7", "(n = '7'::text)"),
        ] {
            check(condition, predicate, false);
        }
    }

    /// The tree of the longer chain is so deep that walking it would overflow the stack.
    #[test]
    fn a_text_of_any_length_is_compared_or_not_recognised() {
        let same = |n: usize| {
            let chain = vec!["a"; n].join("+");
            is_same(&[RowPart::Text(chain.clone())], &chain)
        };
        assert!(same(MOST_TOKENS / 2));
        assert!(!same(1_000_000));
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
        let same = |value: &str, expression: &str| is_same(&[RowPart::Text(value.to_owned())], expression);
        assert!(same("a - b - c", "((a - b) - c)"));
        assert!(!same("a - b - c", "(a - (b - c))"));
        assert!(same("CAST(made AS date)", "(made)::date"));
        assert!(!same("date_trunc('day', made)", "date_trunc('day'::text, (made)::date)"));
    }
}
