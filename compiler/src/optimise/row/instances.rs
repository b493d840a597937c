//! Makes one alternative of a filter out of two that differ only in where a value comes from.
//!
//! ```text
//! delegations(u, f) ⋈ limits(f, row.dept, m) ⋈ row.amount <= m
//! or                  limits(u, row.dept, m) ⋈ row.amount <= m
//!     ─▶   t(f) ⋈ limits(f, row.dept, m) ⋈ row.amount <= m   with   t = delegations(u, f) ∪ {u}
//! ```
//!
//! The second alternative is an instance of the first, with a literal in place of one source and the
//! conditions on that source. Each would become a probe, because it tests several columns of the row.
//! PostgreSQL can turn a single probe into a join that starts from the smaller side, but it runs two probes
//! under an `OR` for every row. Alternatives that test one column become sets, which [`super::sets`] merges
//! without this pass.

use super::{is_of_row, rows_of};
use crate::algebra::aliases::{TakenAliases, free_aliases, renumber_inside};
use crate::algebra::groups::around;
use crate::algebra::{Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableId};
use crate::catalog::ColumnId;
use crate::id_vec::IdVec;
use indexmap::IndexSet;

/// How many literals of an alternative may be the value in which it differs.
const MOST_VALUES: usize = 8;

/// An alternative and its instance.
#[derive(Debug)]
struct Pair<'s> {
    /// The alternative that gets the value from a source.
    general: &'s Select,
    /// Its place.
    general_at: usize,
    /// The place of the one that has a literal instead.
    instance_at: usize,
    /// The source.
    from: From,
    /// Its column with the value.
    column: ColumnId,
    /// The literal.
    value: Expr,
}

/// Merges the instances among the alternatives of a filter; the names of new tables begin with `prefix`.
pub(in super::super) fn merge(plan: &mut Plan, prefix: &str) {
    let Plan { tables, answer, .. } = plan;
    merge_in(answer.selects_mut(), &[], tables, prefix);
}

/// Merges the instances among alternatives and inside them; `outside` expose the row around them.
fn merge_in(selects: &mut Vec<Select>, outside: &[From], tables: &mut Vec<Table>, prefix: &str) {
    for select in selects.iter_mut() {
        let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
        for condition in &mut select.filter {
            if let Condition::Any(branches) = condition {
                merge_in(branches, &rows, tables, prefix);
            }
        }
    }
    while let Some(pair) = pair(selects, outside) {
        let table = TableId::after(tables);
        let name = format!("{prefix}pe{}", tables.len() + 1);
        tables.push(pair.values(name));
        let merged = pair.reading(table);
        let Pair { general_at, instance_at, .. } = pair;
        let places = std::mem::take(selects).into_iter().enumerate();
        let left = places.filter(|(at, _)| *at != instance_at);
        *selects = left.map(|(at, select)| if at == general_at { merged.clone() } else { select }).collect();
    }
}

/// Two alternatives of which one is an instance of the other.
fn pair<'s>(selects: &'s [Select], outside: &[From]) -> Option<Pair<'s>> {
    for (general_at, select) in selects.iter().enumerate() {
        for (instance_at, other) in selects.iter().enumerate() {
            if other.from.len() + 1 != select.from.len() {
                continue;
            }
            let sources = select.from.iter().filter(|from| matches!(from.kind, FromKind::Source(_)));
            for from in sources.filter(|from| is_probed(select, **from, outside)) {
                if let Some((column, value)) = difference(select, other, *from) {
                    let from = *from;
                    return Some(Pair { general: select, general_at, instance_at, from, column, value });
                }
            }
        }
    }
    None
}

/// Whether more than one value of the row decides what is read together with a source.
fn is_probed(select: &Select, from: From, outside: &[From]) -> bool {
    let rows: Vec<From> = outside.iter().copied().chain(rows_of(&select.from)).collect();
    let groups = around(select, &|expr| is_of_row(expr, &rows)).groups;
    let group = groups.into_iter().find(|group| group.from.iter().any(|own| own.alias == from.alias));
    let mut asked = IndexSet::new();
    for link in group.iter().flat_map(|group| &group.links) {
        link.for_each_expr(&mut |expr| {
            if is_of_row(expr, &rows) {
                asked.insert(expr);
            }
        });
    }
    asked.len() > 1
}

/// The column of a source and the literal in its place that make the one alternative the other.
fn difference(general: &Select, instance: &Select, from: From) -> Option<(ColumnId, Expr)> {
    let is_again = |other: &From| matches!(other.kind, FromKind::Again { row, .. } if row == from.alias);
    let mut sees_row = false;
    general.for_each_source(&mut |other| sees_row |= is_again(other));
    let (_, rest) = apart(general, from.alias);
    if sees_row {
        return None;
    }
    let mut columns = IndexSet::new();
    rest.for_each_expr(&mut |expr| {
        if let Expr::Column { alias, column } = expr
            && alias == from.alias
        {
            columns.insert(column);
        }
    });
    let column = columns.pop().filter(|_| columns.is_empty())?;
    let mut values = IndexSet::new();
    instance.for_each_expr(&mut |expr| {
        if matches!(expr, Expr::Const(_)) {
            values.insert(expr);
        }
    });
    let wanted = canonical(instance);
    let value = values.into_iter().take(MOST_VALUES).find(|value| {
        let mut placed = rest.clone();
        place(&mut placed, from.alias, *value);
        canonical(&placed) == wanted
    });
    value.map(|value| (column, value))
}

/// A source with the conditions that are its own, and the rest of a select.
fn apart(select: &Select, alias: Alias) -> (Select, Select) {
    let (own, others): (Vec<From>, Vec<From>) = select.from.iter().partition(|from| from.alias == alias);
    let (inner, rest): (Vec<Condition>, Vec<Condition>) =
        select.filter.iter().cloned().partition(|condition| is_own(condition, alias));
    (
        Select { from: own, filter: inner, output: IdVec::new() },
        Select { from: others, filter: rest, output: select.output.clone() },
    )
}

/// Whether a condition is about a source alone, and not about the filter's column.
fn is_own(condition: &Condition, alias: Alias) -> bool {
    let mut asks_key = false;
    condition.for_each_expr(&mut |expr| asks_key |= matches!(expr, Expr::Given(_)));
    !asks_key && free_aliases(condition) == [alias]
}

/// Puts a value in the place of the columns of a source.
fn place(select: &mut Select, alias: Alias, value: Expr) {
    select.for_each_expr_mut(&mut |expr| {
        if expr.alias() == Some(alias) {
            *expr = value;
        }
    });
}

impl Pair<'_> {
    /// The table of the values.
    fn values(&self, name: String) -> Table {
        let alias = self.from.alias;
        let (mut own, _) = apart(self.general, alias);
        own.output.push(Expr::Column { alias, column: self.column });
        let literal = Select { output: vec![self.value].into(), ..Select::default() };
        let comment = "a value, and those that a fact relates to it".to_owned();
        Table::new(name, comment, 1, TableBody::Union(vec![own, literal]))
    }

    /// The alternative that reads the table of the values in place of the source.
    fn reading(&self, table: TableId) -> Select {
        let alias = self.from.alias;
        let mut merged = self.general.clone();
        merged.filter.retain(|condition| !is_own(condition, alias));
        for from in merged.from.iter_mut().filter(|from| from.alias == alias) {
            from.kind = table.source();
        }
        place(&mut merged, alias, Expr::Column { alias, column: ColumnId::FIRST });
        merged
    }
}

/// A canonical form in which selects are equal that differ only in the numbers of their sources and the
/// order of their conditions.
fn canonical(select: &Select) -> (Vec<FromKind>, IndexSet<Condition>, IdVec<ColumnId, Expr>) {
    let mut select = select.clone();
    for condition in &mut select.filter {
        renumber_inside(condition, &mut TakenAliases::with_canonical());
    }
    let own: Vec<Alias> = select.from.iter().map(|from| from.alias).collect();
    select.for_each_alias_mut(&mut |alias| {
        if let Some(place) = own.iter().position(|own| own == alias) {
            *alias = Alias::canonical(place);
        }
    });
    let kinds = select.from.iter().map(|from| from.kind).collect();
    (kinds, select.filter.into_iter().collect(), select.output)
}
