//! Shares look-ups by key: a row that many parts of a check look up is read once.
//!
//! In: a folded plan of a check. Out: the same plan with a table of one row where at least [`READINGS`]
//! selects look the same row up by its key: the resource itself, then what that row leads to by the key of
//! another table. Planning a look-up costs PostgreSQL more than the look-up, and a check is mostly planning.
//!
//! Only keys that the bindings promise are taken (`tables:`), so that the table is small. The answer does
//! not depend on the promise.
//!
//! A select reads a row itself, and not the table, where two facts of the row lead to two other sources,
//! which lead to each other and are tested row by row:
//!
//! ```text
//! t1(document, kind) ⋈ handles(team, kind) ⋈ placed(team, region) ⋈ t2(document, region)
//!     where member(user, team) or …
//! ```
//!
//! `read-once` makes one source of `t1` and `t2`, so that all conditions are those of one join, which starts
//! from the document. With its region in a table of its own, the two would be unrelated: `sets` would test
//! all teams of that kind, and only then look for those in the region. Where nothing is tested, that is
//! quick, and planned in less time than the join.

use super::super::setting::Setting;
use crate::algebra::aliases::mentioned;
use crate::algebra::groups::around;
use crate::algebra::{
    Alias, Condition, Expr, From, FromKind, Plan, Select, Table, TableBody, TableId, TableRef,
};
use crate::bindings::Bindings;
use crate::catalog::{Catalog, ColumnId, SourceId};
use crate::ir::{CompareOp, ConstId};
use crate::keys::Keys;
use indexmap::IndexMap;

/// Minimum number of reads before a row is shared.
const READINGS: usize = 3;

/// How many rows a row may lead to, one by the other.
const LENGTH: usize = 3;

/// A look-up by key: the relation, its column, and what the column equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct KeyLookUp {
    source: SourceId,
    column: ColumnId,
    equals: KeyValue,
}

/// What a key equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum KeyValue {
    /// A literal.
    Const(ConstId),
    /// A column of a table made here.
    Column { table: TableId, column: ColumnId },
}

/// Gives a plan tables of the rows that it looks up again and again.
pub(in super::super) fn share(plan: &mut Plan, setting: &Setting<'_>, bindings: &Bindings) {
    let Setting { catalog, prefix, .. } = *setting;
    let mut n_made = 0;
    for _ in 0..LENGTH {
        let finder = LookUpFinder { catalog, bindings, n_made };
        let mut readings: IndexMap<KeyLookUp, usize> = IndexMap::new();
        plan.selects_mut().for_each(|select| {
            finder.visit(select, &mut Vec::new(), &mut |_, look_up| {
                *readings.entry(look_up).or_default() += 1;
            });
        });
        readings.retain(|_, readings| *readings >= READINGS);
        if readings.is_empty() {
            return;
        }
        let look_ups: Vec<KeyLookUp> = readings.into_keys().collect();
        shift_tables(plan, n_made, look_ups.len());
        plan.selects_mut().for_each(|select| {
            finder.visit(select, &mut Vec::new(), &mut |from, look_up| {
                if let Some(at) = look_ups.iter().position(|known| *known == look_up) {
                    from.kind = TableId::from_index(n_made + at).source();
                }
            });
            drop_decided(select, &look_ups, n_made);
        });
        for (at, look_up) in look_ups.iter().enumerate() {
            let table = finder.table(*look_up, format!("{prefix}pk{}", n_made + at + 1));
            plan.tables.insert(n_made + at, table);
        }
        n_made += look_ups.len();
    }
}

/// Drops the comparisons with literals that a new table has made already.
fn drop_decided(select: &mut Select, look_ups: &[KeyLookUp], n_made: usize) {
    let Select { from, filter, .. } = select;
    filter.retain_mut(|condition| match condition {
        Condition::Compare {
            op: CompareOp::Equal,
            left: Expr::Column { alias, column },
            right: Expr::Const(literal),
        } => {
            let from = from.iter().find(|from| from.alias == *alias);
            let Some(table) = from.and_then(|from| from.kind.table()) else { return true };
            let look_up = table.index().checked_sub(n_made).and_then(|at| look_ups.get(at));
            let equals = KeyValue::Const(*literal);
            !look_up.is_some_and(|look_up| look_up.column == *column && look_up.equals == equals)
        }
        Condition::In { selects: branches, .. } | Condition::Any(branches) | Condition::None(branches) => {
            branches.iter_mut().for_each(|branch| drop_decided(branch, look_ups, n_made));
            true
        }
        Condition::Compare { .. } | Condition::OneOf { .. } | Condition::Meets { .. } => true,
    });
}

/// Makes room for `n` tables after the first `n_made`.
fn shift_tables(plan: &mut Plan, n_made: usize, n: usize) {
    plan.selects_mut().for_each(|select| {
        select.for_each_source_mut(&mut |from| {
            if let FromKind::Table(TableRef::Table(table)) = &mut from.kind
                && table.index() >= n_made
            {
                *table = TableId::from_index(table.index() + n);
            }
        });
    });
}

struct LookUpFinder<'f> {
    catalog: &'f Catalog,
    bindings: &'f Bindings,
    /// The first tables of the plan, which were made here.
    n_made: usize,
}

impl LookUpFinder<'_> {
    /// Visits the look-ups of a select and its branches that a table may replace; `outside` are the sources
    /// of the enclosing selects.
    fn visit(
        &self,
        select: &mut Select,
        outside: &mut Vec<From>,
        found: &mut impl FnMut(&mut From, KeyLookUp),
    ) {
        let before = outside.len();
        outside.extend(&select.from);
        let look_up = |from: &From| {
            let (look_up, value) = self.look_up(*from, &select.filter, outside)?;
            (!self.meets_another_reading(from.alias, look_up, value, select)).then_some(look_up)
        };
        let look_ups: Vec<Option<KeyLookUp>> = select.from.iter().map(look_up).collect();
        for (from, look_up) in select.from.iter_mut().zip(look_ups) {
            if let Some(look_up) = look_up {
                found(from, look_up);
            }
        }
        for condition in &mut select.filter {
            if let Condition::Any(branches) | Condition::None(branches) = condition {
                branches.iter_mut().for_each(|branch| self.visit(branch, outside, found));
            }
        }
        outside.truncate(before);
    }

    /// Whether a look-up and another one of the same row lead to different sources of the select, which lead
    /// to each other without the row and are tested. The row is that of a value from outside the select.
    fn meets_another_reading(&self, alias: Alias, look_up: KeyLookUp, value: Expr, select: &Select) -> bool {
        let of_row = self.readings_of_row(look_up, value, select);
        let is_inside = select.from.iter().any(|from| value.alias() == Some(from.alias));
        if is_inside || of_row.len() < 2 {
            return false;
        }
        let groups = around(select, &|expr| expr.alias().is_some_and(|alias| of_row.contains(&alias))).groups;
        groups.iter().any(|group| {
            let led_to_by = |leads: &dyn Fn(Alias) -> bool| {
                let links = group.links.iter().map(mentioned);
                let links = links.filter(|aliases| aliases.iter().any(|alias| leads(*alias)));
                let is_of_group = |alias: &Alias| group.from.iter().any(|from| from.alias == *alias);
                links.flatten().filter(is_of_group).collect::<Vec<Alias>>()
            };
            let own = led_to_by(&|leading| leading == alias);
            let others = led_to_by(&|leading| leading != alias && of_row.contains(&leading));
            let mut tests = group.inner.iter().chain(&group.links).flat_map(Condition::branches);
            let is_tested = tests.any(|branch| !branch.reads_nothing());
            is_tested && own.iter().any(|alias| others.iter().any(|other| other != alias))
        })
    }

    /// The sources of a select that look up the same row by the same value, each perhaps through another
    /// bound query.
    fn readings_of_row(&self, look_up: KeyLookUp, value: Expr, select: &Select) -> Vec<Alias> {
        let keys = self.keys();
        let Some((_, table)) = keys.of(look_up.source).find(|(key, _)| *key == look_up.column) else {
            return Vec::new();
        };
        let is_looked_up = |alias: Alias, column: ColumnId| {
            select.equal_to(Expr::Column { alias, column }).any(|equal| equal == value)
        };
        let reading = |from: &From| {
            let FromKind::Source(source) = from.kind else { return None };
            let mut known = keys.of(source);
            known.any(|(key, of)| of == table && is_looked_up(from.alias, key)).then_some(from.alias)
        };
        select.from.iter().filter_map(reading).collect()
    }

    /// The look-up by key that a source is, and the value that the key equals.
    fn look_up(&self, from: From, filter: &[Condition], outside: &[From]) -> Option<(KeyLookUp, Expr)> {
        let FromKind::Source(source) = from.kind else { return None };
        filter.iter().find_map(|condition| {
            let Condition::Compare { op: CompareOp::Equal, left, right } = condition else { return None };
            let (column, other) = match (left, right) {
                (Expr::Column { alias, column }, other) if *alias == from.alias => (*column, *other),
                (other, Expr::Column { alias, column }) if *alias == from.alias => (*column, *other),
                _ => return None,
            };
            let equals = match other {
                Expr::Const(literal) => KeyValue::Const(literal),
                Expr::Column { alias, column } => {
                    let from = outside.iter().rev().find(|from| from.alias == alias)?;
                    let table = from.kind.table().filter(|table| table.index() < self.n_made)?;
                    KeyValue::Column { table, column }
                }
                _ => return None,
            };
            self.keys().is_typed_key(source, column).then_some((KeyLookUp { source, column, equals }, other))
        })
    }

    fn keys(&self) -> Keys<'_> {
        let Self { catalog, bindings, .. } = *self;
        Keys { catalog, bindings }
    }

    /// The table of a look-up's rows, all columns.
    fn table(&self, look_up: KeyLookUp, name: String) -> Table {
        let KeyLookUp { source, column, equals } = look_up;
        let n_columns = self.catalog.relations[source].columns().count();
        let [leading, found] = [1, 2].map(Alias::of_number);
        let row = From { alias: found, kind: FromKind::Source(source) };
        let (from, right) = match equals {
            KeyValue::Const(literal) => (vec![row], Expr::Const(literal)),
            KeyValue::Column { table, column } => {
                let leads = From { alias: leading, kind: table.source() };
                (vec![leads, row], Expr::Column { alias: leading, column })
            }
        };
        let left = Expr::Column { alias: found, column };
        let select = Select {
            from,
            filter: vec![Condition::Compare { op: CompareOp::Equal, left, right }],
            output: ColumnId::all(n_columns).map(|column| Expr::Column { alias: found, column }).collect(),
        };
        Table::new(name, "shared look-up".to_owned(), n_columns, TableBody::Union(vec![select]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{bound_catalog, column, equal, literal, read, source};
    use crate::bindings::parse;

    /// The kind, region and owner of a document, in one table, and of which kinds and where teams are.
    const KINDS: usize = 0;
    const REGIONS: usize = 1;
    const HANDLES: usize = 2;
    const PLACED: usize = 3;
    const NEEDS: usize = 4;

    const BINDINGS: &str = "facts:
  of_kind(Document:_, Kind:_):
    query: SELECT id, kind FROM documents
  is_in(Document:_, Region:_):
    query: SELECT id, region FROM documents
  handles(Team:_, Kind:_):
    query: SELECT team, kind FROM skills
  placed(Team:_, Region:_):
    query: SELECT id, region FROM teams
  needs(Kind:_, Region:_):
    query: SELECT kind, region FROM needs
sql_types: {Document: bigint, Kind: bigint, Region: bigint, Team: bigint}
tables: {Document: documents.id, Team: teams.id}
";

    /// The sources of a select that a table may replace.
    fn shared(select: Select) -> Vec<Alias> {
        shared_of(select, 0)
    }

    /// The same, where the first tables of the plan are rows that are shared already.
    fn shared_of(mut select: Select, n_made: usize) -> Vec<Alias> {
        let catalog = bound_catalog(&[
            ("of_kind", &["Document", "Kind"]),
            ("is_in", &["Document", "Region"]),
            ("handles", &["Team", "Kind"]),
            ("placed", &["Team", "Region"]),
            ("needs", &["Kind", "Region"]),
        ]);
        let bindings = parse(BINDINGS).expect("the bindings are read");
        let mut shared = Vec::new();
        let finder = LookUpFinder { catalog: &catalog, bindings: &bindings, n_made };
        finder.visit(&mut select, &mut Vec::new(), &mut |from, _| shared.push(from.alias));
        shared
    }

    /// 1 and 2 are the kind and the region of these documents.
    fn documents(
        [kind, region]: [usize; 2],
        others: &[(usize, FromKind)],
        conditions: &[Condition],
    ) -> Select {
        let facts = [(1, source(KINDS)), (2, source(REGIONS))];
        let keys = vec![equal(column(1, 0), literal(kind)), equal(column(2, 0), literal(region))];
        read(&[&facts, others].concat(), [&keys, conditions].concat(), Vec::new())
    }

    /// The documents' facts, and teams of that kind in that region, which are tested.
    fn of_teams(documents_read: [usize; 2], others: &[Condition]) -> Select {
        let led_to = [equal(column(1, 1), column(3, 1)), equal(column(2, 1), column(4, 1))];
        let teams = [(3, source(HANDLES)), (4, source(PLACED))];
        documents(documents_read, &teams, &[&led_to, others].concat())
    }

    /// A team is in one of two ways what the test wants.
    fn tested() -> Condition {
        let way = |relation: usize| {
            read(&[(5, source(relation))], vec![equal(column(5, 0), column(3, 0))], Vec::new())
        };
        Condition::Any(vec![way(HANDLES), way(PLACED)])
    }

    #[test]
    fn facts_that_meet_in_a_tested_container_are_read_with_it() {
        let is_one_team = || equal(column(3, 0), column(4, 0));
        assert_eq!(shared(of_teams([0, 0], &[is_one_team(), tested()])), []);
        let both = [1, 2].map(Alias::of_number);
        assert_eq!(shared(of_teams([0, 0], &[tested()])), both, "the teams are unrelated");
        assert_eq!(shared(of_teams([0, 1], &[is_one_team(), tested()])), both, "the documents are");
        assert_eq!(shared(of_teams([0, 0], &[is_one_team()])), both, "nothing is tested");
    }

    /// Each fact is a value that the source is looked up by.
    #[test]
    fn facts_of_one_source_are_shared() {
        let way = read(&[(5, source(NEEDS))], vec![equal(column(5, 0), column(3, 0))], Vec::new());
        let led_to = [equal(column(1, 1), column(3, 0)), equal(column(2, 1), column(3, 1))];
        let conditions = [led_to.as_slice(), &[Condition::Any(vec![way])]].concat();
        let select = documents([0, 0], &[(3, source(NEEDS))], &conditions);
        assert_eq!(shared(select), [1, 2].map(Alias::of_number));
    }

    /// The row that another one leads to, in a test inside the select that reads the other one.
    #[test]
    fn a_row_from_around_a_test_is_read_in_it() {
        let leading = From { alias: Alias::of_number(9), kind: TableId::from_index(0).source() };
        let mut branch = of_teams([0, 0], &[equal(column(3, 0), column(4, 0)), tested()]);
        branch.filter.splice(..2, [equal(column(1, 0), column(9, 1)), equal(column(2, 0), column(9, 1))]);
        let with = |from: Vec<From>, branch: Select| {
            let filter = vec![Condition::Any(vec![branch])];
            shared_of(Select { from, filter, ..Select::default() }, 1)
        };
        assert_eq!(with(vec![leading], branch.clone()), []);
        branch.from.push(leading);
        assert_eq!(with(Vec::new(), branch), [1, 2].map(Alias::of_number));
    }
}
