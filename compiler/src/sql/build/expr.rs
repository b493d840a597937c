//! Expressions.

use super::quoted::{ident, lit};
use crate::catalog::ColumnId;
use crate::ir::CompareOp;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Array, BinaryOperator, CaseWhen, CastKind, DataType, Expr, Function, FunctionArg, FunctionArgExpr,
    FunctionArgumentList, FunctionArguments, Ident, ObjectName, ObjectNamePart, Query, UnaryOperator, Value,
};

/// `expr IS TRUE`
pub(in crate::sql) fn is_true(expr: Expr) -> Expr {
    Expr::IsTrue(Box::new(expr))
}

/// `(expr) IS TRUE`, or the expression itself if it is an `IS TRUE` already.
pub(in crate::sql) fn made_true(expr: Expr) -> Expr {
    if matches!(expr, Expr::IsTrue(_)) { expr } else { is_true(nested(expr)) }
}

/// `expr IS NOT NULL`
pub(in crate::sql) fn is_not_null(expr: Expr) -> Expr {
    Expr::IsNotNull(Box::new(expr))
}

/// `expr = ANY(array)`
pub(in crate::sql) fn any_of(expr: Expr, op: BinaryOperator, array: Expr) -> Expr {
    Expr::AnyOp { left: Box::new(expr), compare_op: op, right: Box::new(array), is_some: false }
}

/// `expr IN (query)`
pub(in crate::sql) fn in_query(expr: Expr, query: Query) -> Expr {
    Expr::InSubquery { expr: Box::new(expr), subquery: Box::new(query), negated: false }
}

/// `CASE text WHEN 'a' THEN 'b' … ELSE text END`
pub(in crate::sql) fn case(text: Expr, pairs: &[(&str, &str)]) -> Expr {
    let when = |(value, result): &(&str, &str)| CaseWhen { condition: lit(value), result: lit(result) };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: Some(Box::new(text.clone())),
        conditions: pairs.iter().map(when).collect(),
        else_result: Some(Box::new(text)),
    }
}

/// A number.
pub(in crate::sql) fn number(number: i64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

/// `TRUE` or `FALSE`.
pub(in crate::sql) fn boolean(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// `NULL`
pub(in crate::sql) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// A parameter, as `?1` or `$1`.
pub(in crate::sql) fn placeholder(text: String) -> Expr {
    Expr::Value(Value::Placeholder(text).into())
}

/// `table.column`; the compiler made both names up, or they went through [`ident`].
pub(in crate::sql) fn column(table: &str, column: Ident) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(table), column])
}

/// `table.value ->> column`: one value of a tuple that is an array.
pub(in crate::sql) fn element(table: &str, at: ColumnId) -> Expr {
    let at = number(i64::try_from(at.index()).unwrap_or(i64::MAX));
    binary(column(table, ident("value")), BinaryOperator::LongArrow, at)
}

/// The operator of a comparison.
pub(in crate::sql) fn operator(op: CompareOp) -> BinaryOperator {
    match op {
        CompareOp::Equal => BinaryOperator::Eq,
        CompareOp::NotEqual => BinaryOperator::NotEq,
        CompareOp::Less => BinaryOperator::Lt,
        CompareOp::LessOrEqual => BinaryOperator::LtEq,
        CompareOp::Greater => BinaryOperator::Gt,
        CompareOp::GreaterOrEqual => BinaryOperator::GtEq,
    }
}

/// `left op right`
pub(in crate::sql) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
    Expr::BinaryOp { left: Box::new(left), op, right: Box::new(right) }
}

/// The most conditions that one `AND` or `OR` joins; more are joined in groups. They are joined one by one,
/// so each adds to the depth of the expression, of which SQLite takes a thousand.
const JOINED: usize = 250;

/// `a op b op …`, in groups if there are many.
fn chain(conditions: Vec<Expr>, op: &BinaryOperator) -> Option<Expr> {
    let join = |left, right| binary(left, op.clone(), right);
    if conditions.len() <= JOINED {
        return conditions.into_iter().reduce(join);
    }
    let mut conditions = conditions.into_iter().peekable();
    let mut groups = Vec::new();
    while conditions.peek().is_some() {
        groups.extend(conditions.by_ref().take(JOINED).reduce(join).map(nested));
    }
    chain(groups, op)
}

/// `a AND b AND …`; `TRUE` of none.
pub(in crate::sql) fn all(conditions: Vec<Expr>) -> Expr {
    chain(conditions, &BinaryOperator::And).unwrap_or_else(|| boolean(true))
}

/// `(a OR b OR …)`; `FALSE` of none, the condition itself of one.
pub(in crate::sql) fn any(conditions: Vec<Expr>) -> Expr {
    let several = conditions.len() > 1;
    match chain(conditions, &BinaryOperator::Or) {
        None => boolean(false),
        Some(joined) if several => Expr::Nested(Box::new(joined)),
        Some(joined) => joined,
    }
}

/// `(a)`
pub(in crate::sql) fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

/// `NOT (a)`
pub(in crate::sql) fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

/// `EXISTS (query)`
pub(in crate::sql) fn exists(query: Query) -> Expr {
    Expr::Exists { subquery: Box::new(query), negated: false }
}

/// `NOT EXISTS (query)`
pub(in crate::sql) fn not_exists(query: Query) -> Expr {
    Expr::Exists { subquery: Box::new(query), negated: true }
}

/// `expr = a` of one, `expr IN (a, b, …)` of several, `FALSE` of none.
pub(in crate::sql) fn equals_one(expr: Expr, list: Vec<Expr>) -> Expr {
    let mut list = list.into_iter();
    match (list.next(), list.len()) {
        (None, _) => boolean(false),
        (Some(only), 0) => binary(expr, BinaryOperator::Eq, only),
        (Some(first), _) => in_list(expr, std::iter::once(first).chain(list).collect()),
    }
}

/// `expr IN (a, b, …)`
pub(in crate::sql) fn in_list(expr: Expr, list: Vec<Expr>) -> Expr {
    Expr::InList { expr: Box::new(expr), list, negated: false }
}

/// The value and the list of `value IN (a, b, …)`; of `(… IN (…) AND value IN (…))`, where the first is for
/// an index, those of the second.
pub(in crate::sql) fn exact_list(condition: &Expr) -> Option<(Expr, Vec<Expr>)> {
    match condition {
        Expr::InList { expr, list, negated: false } => Some((*expr.clone(), list.clone())),
        Expr::Nested(both) => match both.as_ref() {
            Expr::BinaryOp { left, op: BinaryOperator::And, right }
                if matches!((left.as_ref(), right.as_ref()), (Expr::InList { .. }, Expr::InList { .. })) =>
            {
                exact_list(right)
            }
            _ => None,
        },
        _ => None,
    }
}

/// `(a, b, …)`; the value itself of one.
pub(in crate::sql) fn tuple(mut values: Vec<Expr>) -> Expr {
    match (values.pop(), values.is_empty()) {
        (Some(only), true) => only,
        (last, _) => Expr::Tuple(values.into_iter().chain(last).collect()),
    }
}

/// `(query)` as a value.
pub(in crate::sql) fn scalar(query: Query) -> Expr {
    Expr::Subquery(Box::new(query))
}

/// `CAST(expr AS type)`
pub(in crate::sql) fn cast(expr: Expr, data_type: &str) -> Expr {
    let data_type = DataType::Custom(name(data_type), Vec::new());
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None }
}

/// `expr COLLATE collation`
pub(in crate::sql) fn collate(expr: Expr, collation: &str) -> Expr {
    let collation = Ident {
        value: collation.to_owned(),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
    };
    Expr::Collate { expr: Box::new(expr), collation: ObjectName(vec![ObjectNamePart::Identifier(collation)]) }
}

/// `CASE WHEN a THEN TRUE WHEN b THEN TRUE ELSE FALSE END`: the form that stops at the first that holds.
pub(in crate::sql) fn first_of(conditions: Vec<Expr>) -> Expr {
    let when = |condition| CaseWhen { condition, result: boolean(true) };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: conditions.into_iter().map(when).collect(),
        else_result: Some(Box::new(boolean(false))),
    }
}

/// `CASE WHEN condition THEN value END`
pub(in crate::sql) fn only_if(condition: Expr, value: Expr) -> Expr {
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: vec![CaseWhen { condition, result: value }],
        else_result: None,
    }
}

/// Whether a value is there [only if](only_if) a condition holds, or never.
pub(in crate::sql) fn is_conditional(value: &Expr) -> bool {
    matches!(value, Expr::Case { .. }) || *value == null()
}

/// `expr SIMILAR TO 'pattern'`
pub(in crate::sql) fn similar(expr: Expr, pattern: &str) -> Expr {
    Expr::SimilarTo {
        negated: false,
        expr: Box::new(expr),
        pattern: Box::new(lit(pattern)),
        escape_char: None,
    }
}

/// `expr BETWEEN low AND high`
pub(in crate::sql) fn between(expr: Expr, low: i64, high: i64) -> Expr {
    let [low, high] = [low, high].map(|bound| Box::new(number(bound)));
    Expr::Between { expr: Box::new(expr), negated: false, low, high }
}

/// `likelihood(typeof(expr) <> '', rate)`: true for every row, but SQLite expects this rate of them to pass.
pub(in crate::sql) fn likelihood(expr: Expr, rate: &str) -> Expr {
    let always = binary(call("typeof", vec![expr]), BinaryOperator::NotEq, lit(""));
    let rate = Expr::Value(Value::Number(rate.to_owned(), false).into());
    call("likelihood", vec![always, rate])
}

/// `function(a, b, …)`
pub(in crate::sql) fn call(function: &str, args: Vec<Expr>) -> Expr {
    call_with(
        function,
        FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args: function_args(args),
            clauses: vec![],
        }),
    )
}

/// `ARRAY(query)`
pub(in crate::sql) fn array_of(query: Query) -> Expr {
    call_with("ARRAY", FunctionArguments::Subquery(Box::new(query)))
}

/// `ARRAY[a, b, …]`
pub(in crate::sql) fn array(values: Vec<Expr>) -> Expr {
    Expr::Array(Array { elem: values, named: true })
}

fn call_with(function: &str, args: FunctionArguments) -> Expr {
    Expr::Function(Function {
        name: name(function),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args,
        filter: None,
        null_treatment: None,
        over: None,
        within_group: Vec::new(),
    })
}

pub(super) fn function_args(args: Vec<Expr>) -> Vec<FunctionArg> {
    args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect()
}

pub(super) fn name(text: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::new(text))])
}
