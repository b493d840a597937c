//! Which literals a query has in several places, and holds in its `WITH`, see `local/held`.

use crate::algebra::{Condition, EmbeddedId, FromKind, Select};
use crate::ir::ConstId;
use indexmap::IndexMap;
use sqlparser::ast::Expr as Sql;

/// The fewest literals that are held. Fewer are compared one after the other as fast as they are hashed.
const FEWEST: usize = 20;

/// What a query reads in several places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HeldValues {
    /// Lists of literals that are denied.
    lists: Vec<Vec<ConstId>>,
    /// Rows of literals.
    rows: Vec<EmbeddedId>,
}

/// Nothing is held.
pub(super) static NOTHING_HELD: HeldValues = HeldValues { lists: Vec::new(), rows: Vec::new() };

/// The literals of a common table expression.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum HeldKey {
    /// A list, as it is printed.
    List(Vec<Sql>),
    /// Rows.
    Rows(EmbeddedId),
}

impl HeldValues {
    /// What these selects, and those inside them, have more than once.
    pub(super) fn of<'s>(selects: impl IntoIterator<Item = &'s Select>) -> Self {
        let mut counted = LiteralCounts::default();
        selects.into_iter().for_each(|select| counted.select(select, false));
        let lists = counted.lists.into_iter().filter(|(_, n)| *n > 1);
        let rows = counted.rows.into_iter().filter(|(_, n)| *n > 1);
        Self { lists: lists.map(|(list, _)| list.to_vec()).collect(), rows: rows.map(|(id, _)| id).collect() }
    }

    /// Whether a list that is denied is held.
    pub(super) fn has_list(&self, list: &[ConstId]) -> bool {
        self.lists.iter().any(|held| held == list)
    }

    /// Whether rows are held.
    pub(super) fn has_rows(&self, rows: EmbeddedId) -> bool {
        self.rows.contains(&rows)
    }
}

/// How often each list and each source of rows occurs.
#[derive(Default)]
struct LiteralCounts<'s> {
    lists: IndexMap<&'s [ConstId], usize>,
    rows: IndexMap<EmbeddedId, usize>,
}

impl<'s> LiteralCounts<'s> {
    fn select(&mut self, select: &'s Select, is_denied: bool) {
        for from in &select.from {
            if let FromKind::Embedded(rows) = from.kind {
                *self.rows.entry(rows).or_default() += 1;
            }
        }
        for condition in &select.filter {
            match condition {
                Condition::OneOf { literals, .. } => {
                    if is_denied && select.from.is_empty() && literals.len() >= FEWEST {
                        *self.lists.entry(literals).or_default() += 1;
                    }
                }
                Condition::None(branches) => branches
                    .iter()
                    .for_each(|branch| self.select(branch, is_denied || branch.reads_nothing())),
                Condition::Any(_)
                | Condition::In { .. }
                | Condition::Compare { .. }
                | Condition::Meets { .. } => {
                    condition.branches().iter().for_each(|branch| self.select(branch, is_denied));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, equal, reading};
    use crate::algebra::{Alias, From, SetUse};
    use crate::catalog::SourceId;

    /// A list of this many literals, of a column of source 1.
    fn list(n: usize) -> Condition {
        Condition::OneOf { expr: column(1, 0), literals: (0..n).map(ConstId::from_index).collect() }
    }

    fn denied(condition: Condition) -> Condition {
        Condition::None(vec![Select { filter: vec![condition], ..Select::default() }])
    }

    /// A select that reads a relation under these conditions.
    fn select(filter: Vec<Condition>) -> Select {
        Select { filter, ..reading(1, FromKind::Source(SourceId::from_index(0)), Vec::new()) }
    }

    #[test]
    fn a_list_is_held_if_several_places_deny_it() {
        let twice = [select(vec![denied(list(FEWEST))]), select(vec![denied(list(FEWEST))])];
        assert_eq!(HeldValues::of(&twice).lists.len(), 1);
        let inside = Condition::In {
            expr: column(1, 0),
            selects: vec![select(vec![denied(list(FEWEST))])],
            used: SetUse::ToFind,
        };
        assert_eq!(HeldValues::of(&[select(vec![inside, denied(list(FEWEST))])]).lists.len(), 1);
        for others in [
            vec![denied(list(FEWEST))],
            vec![denied(list(FEWEST)), denied(list(FEWEST + 1))],
            vec![denied(list(FEWEST - 1)), denied(list(FEWEST - 1))],
        ] {
            assert_eq!(HeldValues::of(&[select(others)]), HeldValues::default());
        }
    }

    /// An index may find rows by it, where it must hold and in a query that is denied.
    #[test]
    fn a_list_that_may_find_rows_is_not_held() {
        let holds = || select(vec![list(FEWEST)]);
        assert_eq!(HeldValues::of(&[holds(), holds()]), HeldValues::default());
        let queries = [Condition::None(vec![holds()]), Condition::None(vec![holds()])];
        assert_eq!(HeldValues::of(&[select(queries.into())]), HeldValues::default());
        let denied_query = || denied(Condition::None(vec![holds()]));
        assert_eq!(HeldValues::of(&[select(vec![denied_query(), denied_query()])]), HeldValues::default());
    }

    #[test]
    fn rows_are_held_if_several_places_read_them() {
        let rows =
            |alias, id| From { alias: Alias::of_number(alias), kind: FromKind::Embedded(EmbeddedId(id)) };
        let joined = |alias, id| Select {
            from: vec![rows(alias, id)],
            filter: vec![equal(column(alias, 0), column(1, 0))],
            ..Select::default()
        };
        let test = select(vec![Condition::Any(vec![joined(2, 0), joined(3, 1)])]);
        assert_eq!(HeldValues::of(&[joined(2, 0), test.clone()]).rows, [EmbeddedId(0)]);
        assert_eq!(HeldValues::of(&[test]), HeldValues::default());
    }
}
