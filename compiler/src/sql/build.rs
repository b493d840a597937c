//! The only constructors of SQL syntax nodes.
//!
//! sqlparser's nodes are public structs that grow with each release, and its printer guesses whether a
//! text is escaped already: a quote after a backslash, and every doubled quote, is printed as it is. So a
//! text becomes a node here alone, by [`lit`] and [`ident`], which double the quotes before the node is
//! built; the exhaustive test below fails if the printer ever changes.

use crate::dialect::Escapes;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    BinaryOperator, CaseWhen, CastKind, Cte, CteAsMaterialized, DataType, Distinct, Expr, Function,
    FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, GroupByExpr, Ident, Join,
    JoinOperator, LimitClause, ObjectName, ObjectNamePart, Offset, OffsetRows, OrderBy, OrderByExpr,
    OrderByKind, OrderByOptions, OrderBySort, Parens, Query, Select, SelectFlavor, SelectItem, SetExpr,
    SetOperator, SetQuantifier, TableAlias, TableAliasColumnDef, TableFactor, TableFunctionArgs,
    TableWithJoins, UnaryOperator, Value, Values, WildcardAdditionalOptions, With,
};
use sqlparser::keywords::ALL_KEYWORDS;

/// A text as a literal. NUL is refused long before; here it would end nothing, as SQLite and PostgreSQL
/// read the statement by its length.
pub(super) fn lit(text: &str) -> Expr {
    Expr::Value(Value::SingleQuotedString(text.replace('\'', "''")).into())
}

/// A name from outside as an identifier: plain if it is a simple word that is no keyword, else quoted.
pub(super) fn ident(name: &str) -> Ident {
    let mut chars = name.chars();
    let first = chars.next().is_some_and(|c| c.is_ascii_lowercase() || c == '_');
    let simple = first && chars.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if simple && ALL_KEYWORDS.binary_search(&name.to_ascii_uppercase().as_str()).is_err() {
        return Ident::new(name);
    }
    Ident {
        value: name.replace('"', "\"\""),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
    }
}

/// A text as a literal that no driver takes for more: what looks like the place of a parameter to one of them
/// (`$1`, `?`, `:x`, `%s`) is spelled in another way, and so are backslashes.
pub(super) fn plain_lit(text: &str, escapes: Escapes) -> Expr {
    let is_risky = |c: char| matches!(c, '$' | '?' | ':' | '%' | '\\' | '@' | '{') || c.is_control();
    if !text.contains(is_risky) {
        return lit(text);
    }
    match escapes {
        Escapes::EscapeStrings => {
            let chars = text.chars().map(|c| match c {
                '\'' => "''".to_owned(),
                c if is_risky(c) && c.is_ascii() => format!("\\x{:02x}", u32::from(c)),
                c => c.to_string(),
            });
            raw(&format!("E'{}'", chars.collect::<String>()))
        }
        Escapes::Char => {
            let mut parts: Vec<Expr> = Vec::new();
            let mut plain = String::new();
            for c in text.chars() {
                if is_risky(c) {
                    if !plain.is_empty() {
                        parts.push(lit(&std::mem::take(&mut plain)));
                    }
                    parts.push(call("char", vec![number(i64::from(u32::from(c)))]));
                } else {
                    plain.push(c);
                }
            }
            if !plain.is_empty() {
                parts.push(lit(&plain));
            }
            let joined =
                parts.into_iter().reduce(|left, right| binary(left, BinaryOperator::StringConcat, right));
            joined.map_or_else(|| lit(""), nested)
        }
    }
}

/// Text that is SQL already: a caller's query or column, which `bindings` has read and printed anew.
pub(super) fn raw(text: &str) -> Expr {
    Expr::Identifier(Ident::new(text))
}

/// A caller's table, or a caller's query in parentheses.
pub(super) fn raw_table(text: &str, as_alias: &str, columns: &[&str]) -> TableFactor {
    factor(name(text), None, alias(as_alias, columns))
}

/// A caller's query as a common table expression that is not made for its own sake.
pub(super) fn raw_cte(name: &str, columns: &[&str], text: &str) -> Cte {
    let from = joined(vec![raw_table(&format!("({text})"), "q", &[])]);
    let query = query(select(false, vec![star()], from, Vec::new()));
    Cte { materialized: Some(CteAsMaterialized::NotMaterialized), ..cte(name, columns, query, false) }
}

/// `VALUES (a, b), (c, d)`
pub(super) fn values(rows: Vec<Vec<Expr>>) -> SetExpr {
    SetExpr::Values(Values {
        explicit_row: false,
        value_keyword: false,
        rows: rows.into_iter().map(parens).collect(),
    })
}

fn parens(content: Vec<Expr>) -> Parens<Vec<Expr>> {
    Parens { opening_token: AttachedToken::empty(), content, closing_token: AttachedToken::empty() }
}

/// `expr IS TRUE`
pub(super) fn is_true(expr: Expr) -> Expr {
    Expr::IsTrue(Box::new(expr))
}

/// `expr IS NOT NULL`
pub(super) fn is_not_null(expr: Expr) -> Expr {
    Expr::IsNotNull(Box::new(expr))
}

/// `expr = ANY(array)`
pub(super) fn equals_any(expr: Expr, array: Expr) -> Expr {
    Expr::AnyOp {
        left: Box::new(expr),
        compare_op: BinaryOperator::Eq,
        right: Box::new(array),
        is_some: false,
    }
}

/// `expr IN (query)`
pub(super) fn in_query(expr: Expr, query: Query) -> Expr {
    Expr::InSubquery { expr: Box::new(expr), subquery: Box::new(query), negated: false }
}

/// `CASE text WHEN 'a' THEN 'b' … ELSE text END`
pub(super) fn case(text: Expr, pairs: &[(&str, &str)]) -> Expr {
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
pub(super) fn number(number: i64) -> Expr {
    Expr::Value(Value::Number(number.to_string(), false).into())
}

/// `TRUE` or `FALSE`.
pub(super) fn boolean(value: bool) -> Expr {
    Expr::Value(Value::Boolean(value).into())
}

/// `NULL`
pub(super) fn null() -> Expr {
    Expr::Value(Value::Null.into())
}

/// A parameter, as `?1` or `$1`.
pub(super) fn placeholder(text: String) -> Expr {
    Expr::Value(Value::Placeholder(text).into())
}

/// `table.column`; both are names of ours or went through [`ident`].
pub(super) fn column(table: &str, column: Ident) -> Expr {
    Expr::CompoundIdentifier(vec![Ident::new(table), column])
}

/// `left op right`
pub(super) fn binary(left: Expr, op: BinaryOperator, right: Expr) -> Expr {
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
pub(super) fn all(conditions: Vec<Expr>) -> Expr {
    chain(conditions, &BinaryOperator::And).unwrap_or_else(|| boolean(true))
}

/// `(a OR b OR …)`; `FALSE` of none, the condition itself of one.
pub(super) fn any(conditions: Vec<Expr>) -> Expr {
    let several = conditions.len() > 1;
    match chain(conditions, &BinaryOperator::Or) {
        None => boolean(false),
        Some(joined) if several => Expr::Nested(Box::new(joined)),
        Some(joined) => joined,
    }
}

/// `(a)`
pub(super) fn nested(expr: Expr) -> Expr {
    Expr::Nested(Box::new(expr))
}

/// `NOT (a)`
pub(super) fn not(expr: Expr) -> Expr {
    Expr::UnaryOp { op: UnaryOperator::Not, expr: Box::new(nested(expr)) }
}

/// `[NOT] EXISTS (query)`
pub(super) fn exists(query: Query, negated: bool) -> Expr {
    Expr::Exists { subquery: Box::new(query), negated }
}

/// `expr IN (a, b, …)`
pub(super) fn in_list(expr: Expr, list: Vec<Expr>) -> Expr {
    Expr::InList { expr: Box::new(expr), list, negated: false }
}

/// `(query)` as a value.
pub(super) fn scalar(query: Query) -> Expr {
    Expr::Subquery(Box::new(query))
}

/// `CAST(expr AS type)`
pub(super) fn cast(expr: Expr, data_type: &str) -> Expr {
    let data_type = DataType::Custom(name(data_type), Vec::new());
    Expr::Cast { kind: CastKind::Cast, expr: Box::new(expr), data_type, format: None }
}

/// `expr COLLATE collation`
pub(super) fn collate(expr: Expr, collation: &str) -> Expr {
    let collation = Ident {
        value: collation.to_owned(),
        quote_style: Some('"'),
        span: sqlparser::tokenizer::Span::empty(),
    };
    Expr::Collate { expr: Box::new(expr), collation: ObjectName(vec![ObjectNamePart::Identifier(collation)]) }
}

/// `CASE WHEN a THEN TRUE WHEN b THEN TRUE ELSE FALSE END`: the form that stops at the first that holds.
pub(super) fn first_of(conditions: Vec<Expr>) -> Expr {
    let when = |condition| CaseWhen { condition, result: boolean(true) };
    Expr::Case {
        case_token: AttachedToken::empty(),
        end_token: AttachedToken::empty(),
        operand: None,
        conditions: conditions.into_iter().map(when).collect(),
        else_result: Some(Box::new(boolean(false))),
    }
}

/// `function(a, b, …)`
pub(super) fn call(function: &str, args: Vec<Expr>) -> Expr {
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
pub(super) fn array_of(query: Query) -> Expr {
    call_with("ARRAY", FunctionArguments::Subquery(Box::new(query)))
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

fn function_args(args: Vec<Expr>) -> Vec<FunctionArg> {
    args.into_iter().map(|arg| FunctionArg::Unnamed(FunctionArgExpr::Expr(arg))).collect()
}

fn name(text: &str) -> ObjectName {
    ObjectName(vec![ObjectNamePart::Identifier(Ident::new(text))])
}

fn alias(text: &str, columns: &[&str]) -> TableAlias {
    let column = |name: &&str| TableAliasColumnDef { name: Ident::new(*name), data_type: None };
    TableAlias {
        explicit: true,
        name: Ident::new(text),
        columns: columns.iter().map(column).collect(),
        at: None,
    }
}

fn factor(name: ObjectName, args: Option<TableFunctionArgs>, alias: TableAlias) -> TableFactor {
    TableFactor::Table {
        name,
        alias: Some(alias),
        args,
        with_hints: Vec::new(),
        version: None,
        with_ordinality: false,
        partitions: Vec::new(),
        json_path: None,
        sample: None,
        index_hints: Vec::new(),
    }
}

/// `table AS alias`
pub(super) fn table(table: Ident, as_alias: &str) -> TableFactor {
    factor(ObjectName(vec![ObjectNamePart::Identifier(table)]), None, alias(as_alias, &[]))
}

/// `function(args) AS alias(columns)`
pub(super) fn table_function(
    function: &str,
    args: Vec<Expr>,
    as_alias: &str,
    columns: &[&str],
) -> TableFactor {
    let args = TableFunctionArgs { args: function_args(args), settings: None };
    factor(name(function), Some(args), alias(as_alias, columns))
}

/// `unnest(array) AS alias (column)`; a node of its own in sqlparser's tree, which shouts the name.
pub(super) fn unnest(array: Expr, as_alias: &str, column: &str) -> TableFactor {
    TableFactor::UNNEST {
        alias: Some(alias(as_alias, &[column])),
        array_exprs: vec![array],
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    }
}

/// `(query) AS alias`
pub(super) fn derived(query: Query, as_alias: &str) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(alias(as_alias, &[])),
        sample: None,
    }
}

/// `(query) AS alias (columns)`
pub(super) fn derived_as(query: Query, as_alias: &str, columns: &[&str]) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(alias(as_alias, columns)),
        sample: None,
    }
}

/// What a select reads, joined in this order by `CROSS JOIN`, which SQLite keeps.
pub(super) fn joined(factors: Vec<TableFactor>) -> Vec<TableWithJoins> {
    let mut factors = factors.into_iter();
    let Some(relation) = factors.next() else { return Vec::new() };
    let join = |relation| Join {
        relation,
        global: false,
        join_operator: JoinOperator::CrossJoin(sqlparser::ast::JoinConstraint::None),
    };
    vec![TableWithJoins { relation, joins: factors.map(join).collect() }]
}

/// An item of a select list, named if a name is given.
pub(super) fn item(expr: Expr, named: Option<Ident>) -> SelectItem {
    match named {
        Some(alias) => SelectItem::ExprWithAlias { expr, alias },
        None => SelectItem::UnnamedExpr(expr),
    }
}

/// `*`
pub(super) fn star() -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions::default())
}

/// `SELECT [DISTINCT] projection FROM from WHERE filter`
pub(super) fn select(
    distinct: bool,
    projection: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    filter: Vec<Expr>,
) -> SetExpr {
    SetExpr::Select(Box::new(Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: distinct.then_some(Distinct::Distinct),
        select_modifiers: None,
        top: None,
        top_before_distinct: false,
        projection,
        exclude: None,
        into: None,
        from,
        lateral_views: Vec::new(),
        prewhere: None,
        selection: (!filter.is_empty()).then(|| all(filter)),
        connect_by: Vec::new(),
        group_by: GroupByExpr::Expressions(Vec::new(), Vec::new()),
        cluster_by: Vec::new(),
        distribute_by: Vec::new(),
        sort_by: Vec::new(),
        having: None,
        named_window: Vec::new(),
        qualify: None,
        window_before_qualify: false,
        value_table_mode: None,
        flavor: SelectFlavor::Standard,
    }))
}

/// `a UNION [ALL] b …`
pub(super) fn union(arms: Vec<SetExpr>, all: bool) -> Option<SetExpr> {
    let set_quantifier = if all { SetQuantifier::All } else { SetQuantifier::None };
    arms.into_iter().reduce(|left, right| SetExpr::SetOperation {
        left: Box::new(left),
        op: SetOperator::Union,
        set_quantifier,
        right: Box::new(right),
    })
}

/// A query without anything around it.
pub(super) fn query(body: SetExpr) -> Query {
    Query {
        with: None,
        body: Box::new(body),
        order_by: None,
        limit_clause: None,
        fetch: None,
        locks: Vec::new(),
        for_clause: None,
        settings: None,
        format_clause: None,
        pipe_operators: Vec::new(),
    }
}

/// The query with `ORDER BY`.
pub(super) fn ordered(mut query: Query, by: Vec<(Expr, bool)>) -> Query {
    let by = by.into_iter().map(|(expr, descending)| OrderByExpr {
        expr,
        options: OrderByOptions { sort: descending.then_some(OrderBySort::Desc), nulls_first: None },
        with_fill: None,
    });
    query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(by.collect()), interpolate: None });
    query
}

/// The query with `LIMIT`.
pub(super) fn limited(mut query: Query, limit: Expr) -> Query {
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
    query
}

/// The query with `OFFSET 0`, which changes nothing but how it is planned.
pub(super) fn fenced(mut query: Query) -> Query {
    let offset = Offset { value: number(0), rows: OffsetRows::None };
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: None, offset: Some(offset), limit_by: Vec::new() });
    query
}

/// The query with `WITH [RECURSIVE]`.
pub(super) fn with(mut query: Query, recursive: bool, cte_tables: Vec<Cte>) -> Query {
    if !cte_tables.is_empty() {
        query.with = Some(With { with_token: AttachedToken::empty(), recursive, cte_tables });
    }
    query
}

/// `name(columns) AS [MATERIALIZED] (query)`
pub(super) fn cte(name: &str, columns: &[&str], query: Query, materialized: bool) -> Cte {
    Cte {
        alias: TableAlias { explicit: false, ..alias(name, columns) },
        query: Box::new(query),
        from: None,
        materialized: materialized.then_some(CteAsMaterialized::Materialized),
        closing_paren_token: AttachedToken::empty(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dialect::quote::printed_literal;

    /// Every string of up to `length` over an alphabet that confuses escapers.
    fn for_each_string(length: usize, visit: &mut impl FnMut(&str)) {
        let mut level = vec![String::new()];
        for _ in 0..=length {
            level.iter().for_each(|text| visit(text));
            level =
                level.iter().flat_map(|text| ['\'', '\\', '"', 'a'].map(|c| format!("{text}{c}"))).collect();
        }
    }

    #[test]
    fn every_short_string_prints_as_a_literal_of_itself() {
        for_each_string(8, &mut |text| {
            assert_eq!(lit(text).to_string(), format!("'{}'", text.replace('\'', "''")));
            assert_eq!(lit(text).to_string(), printed_literal(text));
        });
    }

    #[test]
    fn every_short_string_prints_as_an_identifier_of_itself() {
        for_each_string(8, &mut |text| {
            let expected = match text {
                "" => "\"\"".to_owned(),
                text if text.chars().all(|c| c == 'a') => text.to_owned(),
                text => format!("\"{}\"", text.replace('"', "\"\"")),
            };
            assert_eq!(ident(text).to_string(), expected);
        });
    }

    #[test]
    fn a_keyword_is_quoted() {
        assert_eq!(ident("user").to_string(), "\"user\"");
        assert_eq!(ident("f12").to_string(), "f12");
        assert_eq!(ident("Users").to_string(), "\"Users\"");
    }
}
