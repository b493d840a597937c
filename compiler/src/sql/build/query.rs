//! Queries, what they read, and common table expressions.

use super::expr::{all, call, cast, function_args, name, null, number};
use super::quoted::ident;
use crate::algebra::Repeats;
use sqlparser::ast::helpers::attached_token::AttachedToken;
use sqlparser::ast::{
    Cte, CteAsMaterialized, Distinct, Expr, GroupByExpr, Ident, Join, JoinOperator, LimitClause, ObjectName,
    ObjectNamePart, Offset, OffsetRows, OrderBy, OrderByExpr, OrderByKind, OrderByOptions, OrderBySort,
    Parens, Query, Select, SelectFlavor, SelectItem, SetExpr, SetOperator, SetQuantifier, TableAlias,
    TableAliasColumnDef, TableFactor, TableFunctionArgs, TableWithJoins, Values, WildcardAdditionalOptions,
    With,
};

/// A caller's table, or a caller's query in parentheses.
pub(in crate::sql) fn raw_table(text: &str, as_alias: &str, columns: &[&str]) -> TableFactor {
    factor(name(text), None, alias(as_alias, columns))
}

/// A caller's query as a common table expression that is not made for its own sake.
pub(in crate::sql) fn raw_cte(name: &str, columns: &[&str], text: &str) -> Cte {
    let from = joined(vec![raw_table(&format!("({text})"), "q", &[])]);
    let query = query(select(vec![star()], from, Vec::new()));
    inlined(cte(name, columns, query))
}

/// `VALUES (a, b), (c, d)`
pub(in crate::sql) fn values(rows: Vec<Vec<Expr>>) -> SetExpr {
    SetExpr::Values(Values {
        explicit_row: false,
        value_keyword: false,
        rows: rows.into_iter().map(parens).collect(),
    })
}

fn parens(content: Vec<Expr>) -> Parens<Vec<Expr>> {
    Parens { opening_token: AttachedToken::empty(), content, closing_token: AttachedToken::empty() }
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
pub(in crate::sql) fn table(table: Ident, as_alias: &str) -> TableFactor {
    factor(ObjectName(vec![ObjectNamePart::Identifier(table)]), None, alias(as_alias, &[]))
}

/// `schema.table AS alias`, or the same without a schema, for names from outside.
pub(in crate::sql) fn stored_table(schema: Option<&str>, table: &str, as_alias: &str) -> TableFactor {
    let names = schema.into_iter().chain([table]);
    let name = names.map(|name| ObjectNamePart::Identifier(ident(name))).collect();
    factor(ObjectName(name), None, alias(as_alias, &[]))
}

/// `function(args) AS alias(columns)`
pub(in crate::sql) fn table_function(
    function: &str,
    args: Vec<Expr>,
    as_alias: &str,
    columns: &[&str],
) -> TableFactor {
    let args = TableFunctionArgs { args: function_args(args), settings: None };
    factor(name(function), Some(args), alias(as_alias, columns))
}

/// `unnest(arrays) AS alias (columns)`; a node of its own in sqlparser's tree, which prints the name in
/// capitals.
pub(in crate::sql) fn unnest(arrays: Vec<Expr>, as_alias: &str, columns: &[&str]) -> TableFactor {
    TableFactor::UNNEST {
        alias: Some(alias(as_alias, columns)),
        array_exprs: arrays,
        with_offset: false,
        with_offset_alias: None,
        with_ordinality: false,
    }
}

/// `SELECT unnest(array)`
pub(in crate::sql) fn elements_of(array: Expr) -> SetExpr {
    select(vec![item(call("unnest", vec![array]), None)], Vec::new(), Vec::new())
}

/// `(query) AS alias`
pub(in crate::sql) fn derived(query: Query, as_alias: &str) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(alias(as_alias, &[])),
        sample: None,
    }
}

/// `(query) AS alias (columns)`
pub(in crate::sql) fn derived_as(query: Query, as_alias: &str, columns: &[&str]) -> TableFactor {
    TableFactor::Derived {
        lateral: false,
        subquery: Box::new(query),
        alias: Some(alias(as_alias, columns)),
        sample: None,
    }
}

/// `LATERAL (query) AS alias (columns)`: the query may use the columns of the sources before it.
pub(in crate::sql) fn lateral(query: Query, as_alias: &str, columns: &[&str]) -> TableFactor {
    TableFactor::Derived {
        lateral: true,
        subquery: Box::new(query),
        alias: Some(alias(as_alias, columns)),
        sample: None,
    }
}

/// What a select reads, joined in this order by `CROSS JOIN`, which SQLite keeps.
pub(in crate::sql) fn joined(factors: Vec<TableFactor>) -> Vec<TableWithJoins> {
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
pub(in crate::sql) fn item(expr: Expr, named: Option<Ident>) -> SelectItem {
    match named {
        Some(alias) => SelectItem::ExprWithAlias { expr, alias },
        None => SelectItem::UnnamedExpr(expr),
    }
}

/// `*`
pub(in crate::sql) fn star() -> SelectItem {
    SelectItem::Wildcard(WildcardAdditionalOptions::default())
}

/// `SELECT projection FROM from WHERE filter`
pub(in crate::sql) fn select(
    projection: Vec<SelectItem>,
    from: Vec<TableWithJoins>,
    filter: Vec<Expr>,
) -> SetExpr {
    SetExpr::Select(Box::new(Select {
        select_token: AttachedToken::empty(),
        optimizer_hints: Vec::new(),
        distinct: None,
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

/// `SELECT DISTINCT …` for `SELECT …`; anything else as it is.
pub(in crate::sql) fn distinct(mut arm: SetExpr) -> SetExpr {
    if let SetExpr::Select(select) = &mut arm {
        select.distinct = Some(Distinct::Distinct);
    }
    arm
}

/// `SELECT DISTINCT ON (a, …) …` for `SELECT …`; anything else as it is.
pub(in crate::sql) fn distinct_on(mut arm: SetExpr, by: Vec<Expr>) -> SetExpr {
    if let SetExpr::Select(select) = &mut arm {
        select.distinct = Some(Distinct::On(by));
    }
    arm
}

/// `a UNION b …`, or `a UNION ALL b …`
pub(in crate::sql) fn union(arms: Vec<SetExpr>, repeats: Repeats) -> Option<SetExpr> {
    let set_quantifier = match repeats {
        Repeats::Removed => SetQuantifier::None,
        Repeats::Kept => SetQuantifier::All,
    };
    arms.into_iter().reduce(|left, right| SetExpr::SetOperation {
        left: Box::new(left),
        op: SetOperator::Union,
        set_quantifier,
        right: Box::new(right),
    })
}

/// A query without anything around it.
pub(in crate::sql) fn query(body: SetExpr) -> Query {
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
pub(in crate::sql) fn ordered(mut query: Query, by: Vec<OrderByExpr>) -> Query {
    query.order_by = Some(OrderBy { kind: OrderByKind::Expressions(by), interpolate: None });
    query
}

/// `expr` in an `ORDER BY`
pub(in crate::sql) fn ascending(expr: Expr) -> OrderByExpr {
    OrderByExpr { expr, options: OrderByOptions { sort: None, nulls_first: None }, with_fill: None }
}

/// The same with NULL before all values
pub(in crate::sql) fn nulls_first(by: OrderByExpr) -> OrderByExpr {
    OrderByExpr { options: OrderByOptions { nulls_first: Some(true), ..by.options }, ..by }
}

/// `expr DESC` in an `ORDER BY`
pub(in crate::sql) fn descending(expr: Expr) -> OrderByExpr {
    let options = OrderByOptions { sort: Some(OrderBySort::Desc), nulls_first: None };
    OrderByExpr { expr, options, with_fill: None }
}

/// The query with `LIMIT`.
pub(in crate::sql) fn limited(mut query: Query, limit: Expr) -> Query {
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: Some(limit), offset: None, limit_by: Vec::new() });
    query
}

/// The query with `LIMIT (SELECT CAST(NULL AS BIGINT))`, which is no limit: but one that is unknown when the
/// statement is planned counts as a tenth of the rows.
pub(in crate::sql) fn counted_as_a_tenth(rows: Query) -> Query {
    let unknown = select(vec![item(cast(null(), "BIGINT"), None)], Vec::new(), Vec::new());
    limited(rows, Expr::Subquery(Box::new(query(unknown))))
}

/// The query with `OFFSET 0`, which changes nothing but how it is planned.
pub(in crate::sql) fn fenced(mut query: Query) -> Query {
    let offset = Offset { value: number(0), rows: OffsetRows::None };
    query.limit_clause =
        Some(LimitClause::LimitOffset { limit: None, offset: Some(offset), limit_by: Vec::new() });
    query
}

/// Which common table expressions there are in a `WITH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sql) enum CteKind {
    /// None reads itself.
    Plain,
    /// One reads itself.
    Recursive,
}

/// The query with `WITH`, or with `WITH RECURSIVE`.
pub(in crate::sql) fn with(mut query: Query, kind: CteKind, cte_tables: Vec<Cte>) -> Query {
    if !cte_tables.is_empty() {
        let recursive = kind == CteKind::Recursive;
        query.with = Some(With { with_token: AttachedToken::empty(), recursive, cte_tables });
    }
    query
}

/// `name(columns) AS (query)`
pub(in crate::sql) fn cte(name: &str, columns: &[&str], query: Query) -> Cte {
    Cte {
        alias: TableAlias { explicit: false, ..alias(name, columns) },
        query: Box::new(query),
        from: None,
        materialized: None,
        closing_paren_token: AttachedToken::empty(),
    }
}

/// `name(columns) AS NOT MATERIALIZED (query)`
pub(in crate::sql) fn inlined(cte: Cte) -> Cte {
    Cte { materialized: Some(CteAsMaterialized::NotMaterialized), ..cte }
}

/// `name(columns) AS MATERIALIZED (query)`
pub(in crate::sql) fn materialized(cte: Cte) -> Cte {
    Cte { materialized: Some(CteAsMaterialized::Materialized), ..cte }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_table_is_quoted_part_by_part() {
        assert_eq!(stored_table(None, "f7", "t1").to_string(), "f7 AS t1");
        assert_eq!(stored_table(Some("e1"), "user", "t1").to_string(), "e1.\"user\" AS t1");
        assert_eq!(stored_table(Some("a\".b"), "c.d", "t1").to_string(), "\"a\"\".b\".\"c.d\" AS t1");
    }
}
