//! The indexes by which a condition of PostgreSQL's plan would find the rows of a table.
//!
//! In: a condition, as `EXPLAIN (VERBOSE)` prints it, and the bound columns of the table. Out: the columns
//! that need an index. Where all parts of a condition must hold, an index for one of them is enough, and
//! where one part suffices, each needs its own: PostgreSQL joins the rows that the indexes find. A test
//! whether a column is NULL, or a comparison of two columns of one row, finds nothing by an index.
//!
//! ```text
//! ((t1.folder_id IS NOT NULL) AND (t1.user_id = 1))        user_id
//! ((t1.owner_id = 1) OR (t1.folder_id = ANY ($0)))         owner_id, folder_id
//! ((t1.owner_id = 1) OR (hashed SubPlan 2))                no index helps
//! ```

use super::known::KnownColumn;
use super::mention::spellings;
use crate::cli::bindings::database::ColumnKind;

/// A table that a step reads.
pub(super) struct ScannedTable<'k> {
    /// Its name in the plan.
    pub(super) alias: &'k str,
    /// Its bound columns.
    pub(super) columns: Vec<&'k KnownColumn>,
}

impl<'k> ScannedTable<'k> {
    /// The columns that still need an index before indexes can find the rows of a condition. Empty: every
    /// column has one. `None`: no index can find some of the rows.
    pub(super) fn unindexed(&self, condition: &str) -> Option<Vec<&'k KnownColumn>> {
        self.of_part(condition, ConditionPart::Whole)
    }

    fn of_part(&self, condition: &str, part: ConditionPart) -> Option<Vec<&'k KnownColumn>> {
        let condition = unwrapped(condition);
        let alternatives = split(condition, " OR ");
        if alternatives.len() > 1 {
            let of_each = alternatives.into_iter().map(|each| self.of_part(each, ConditionPart::OfOr));
            let of_each: Vec<Vec<&'k KnownColumn>> = of_each.collect::<Option<_>>()?;
            let mut found: Vec<&'k KnownColumn> = Vec::new();
            for column in of_each.into_iter().flatten() {
                if found.iter().all(|known| known.origin.column != column.origin.column) {
                    found.push(column);
                }
            }
            return Some(found);
        }
        let conditions = split(condition, " AND ");
        if conditions.len() > 1 {
            let of_each = conditions.into_iter().filter_map(|each| self.of_part(each, part));
            return of_each.min_by_key(|columns| match part {
                // PostgreSQL knows the index that exists, and read the table instead.
                ConditionPart::Whole => (columns.is_empty(), columns.len()),
                ConditionPart::OfOr => (false, columns.len()),
            });
        }
        let column = self.compared(condition)?;
        match column.origin.indexed {
            Some(true) => Some(Vec::new()),
            Some(false) if column.is_entity() => Some(vec![column]),
            Some(false) | None => None,
        }
    }

    /// The column that a comparison compares with a value from elsewhere.
    fn compared(&self, comparison: &str) -> Option<&'k KnownColumn> {
        let sides = split(comparison, " = ");
        let [left, right] = sides.as_slice() else { return None };
        let mut turned = [(left, right), (right, left)].into_iter();
        turned.find_map(|(side, value)| self.column(side).filter(|_| !self.is_of_row(value)))
    }

    /// The column that this is. A `varchar` is printed with a cast, and compared by its own index.
    fn column(&self, text: &str) -> Option<&'k KnownColumn> {
        self.columns.iter().copied().find(|column| {
            spellings(self.alias, &column.origin.column).into_iter().any(|(alias, name)| {
                let is_cast = || column.kind == ColumnKind::Text && text == format!("({alias}.{name})::text");
                text == format!("{alias}.{name}") || is_cast()
            })
        })
    }

    /// Whether a value depends on the row itself: on one of its columns, or on a query that runs for each
    /// row.
    fn is_of_row(&self, value: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '"' | '.' | '$');
        let quoted = format!("\"{}\"", self.alias.replace('"', "\"\""));
        let mut names = [self.alias, quoted.as_str()].map(|alias| format!("{alias}.")).into_iter();
        value.contains("(SubPlan ")
            || names.any(|name| {
                let before = |at: usize| value.get(..at).unwrap_or_default();
                value.match_indices(&name).any(|(at, _)| !before(at).ends_with(is_part))
            })
    }
}

/// Which part of a condition is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConditionPart {
    /// All of it, or what must hold in any case.
    Whole,
    /// An alternative of an OR.
    OfOr,
}

/// A condition without the parentheses around it.
fn unwrapped(condition: &str) -> &str {
    let inner = condition.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    match inner {
        Some(inner) if is_closed(inner) => unwrapped(inner),
        Some(_) | None => condition,
    }
}

/// Whether each parenthesis in a text is closed in it, and none before it is opened.
fn is_closed(text: &str) -> bool {
    let mut nesting = Nesting::default();
    text.chars().all(|c| nesting.pass(c) >= 0) && nesting.depth == 0
}

/// The parts of a text between those separators that are in no parentheses and in no quotes.
fn split<'t>(text: &'t str, separator: &str) -> Vec<&'t str> {
    let (mut parts, mut start, mut nesting) = (Vec::new(), 0, Nesting::default());
    for (at, c) in text.char_indices() {
        let is_outside = nesting.depth == 0 && nesting.quote.is_none() && at >= start;
        if is_outside && text.get(at..).is_some_and(|rest| rest.starts_with(separator)) {
            parts.extend(text.get(start..at));
            start = at + separator.len();
        }
        nesting.pass(c);
    }
    parts.extend(text.get(start..));
    parts
}

/// Where in a condition a character is.
#[derive(Default)]
struct Nesting {
    /// The number of parentheses around it.
    depth: i64,
    /// The quote that it is in.
    quote: Option<char>,
}

impl Nesting {
    /// Goes past a character; the number of parentheses around what follows.
    fn pass(&mut self, c: char) -> i64 {
        match (self.quote, c) {
            (Some(quote), c) if quote == c => self.quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => self.quote = Some(c),
            (None, '(') => self.depth += 1,
            (None, ')') => self.depth -= 1,
            (None, _) => {}
        }
        self.depth
    }
}

#[cfg(test)]
mod tests {
    use super::ScannedTable;
    use crate::cli::bindings::database::{ColumnKind, ColumnOrigin, Nulls, PartitionKey};
    use crate::cli::bindings::explain::known::KnownColumn;

    fn column(name: &str, ty: &str, kind: ColumnKind, indexed: bool) -> KnownColumn {
        let origin = ColumnOrigin {
            table: "t".to_owned(),
            column: name.to_owned(),
            not_null: Some(true),
            indexed: Some(indexed),
            partial: Vec::new(),
            behind: Vec::new(),
            unique: Some(false),
            partition_key: PartitionKey::None,
            nulls: Nulls::Declarable,
            analysed: Some(true),
            index_ddl: format!("CREATE INDEX ON t ({name});"),
            collation: None,
        };
        KnownColumn { origin, kind, ty: ty.to_owned(), lacking: None }
    }

    #[test]
    fn an_index_is_named_for_each_way_to_find_a_row() {
        let known = [
            column("a", "A", ColumnKind::Integer, false),
            column("b", "B", ColumnKind::Integer, false),
            column("slug", "S", ColumnKind::Text, false),
            column("id", "Doc", ColumnKind::Integer, true),
            column("role", "String", ColumnKind::Text, false),
        ];
        let table = ScannedTable { alias: "t1", columns: known.iter().collect() };
        for (condition, expected) in [
            ("(t1.a = 7)", Some(vec!["a"])),
            ("(7 = t1.a)", Some(vec!["a"])),
            ("(t2.id = t1.a)", Some(vec!["a"])),
            ("(t1.a = ANY ($0))", Some(vec!["a"])),
            ("((t1.slug)::text = 'a) OR (b'::text)", Some(vec!["slug"])),
            ("((t1.a IS NOT NULL) AND (t1.b = 1) AND (t1.role = 'viewer'::text))", Some(vec!["b"])),
            ("((t1.a = 1) OR (t1.b = ANY ('{1,2}'::integer[])))", Some(vec!["a", "b"])),
            ("((t1.a = 1) OR (t1.a = 2))", Some(vec!["a"])),
            ("((t1.a = 1) OR (t1.id = 2))", Some(vec!["a"])),
            ("(((t1.a = 1) OR (t1.slug = 's'::text)) AND (t1.b = 1))", Some(vec!["b"])),
            ("((t1.id = 1) AND (t1.b = 1))", Some(vec!["b"])),
            ("(((t1.id = 1) AND (t1.b = 1)) OR (t1.a = 2))", Some(vec!["a"])),
            ("(t1.id = 1)", Some(vec![])),
            ("((t1.a = 1) OR (hashed SubPlan 2))", None),
            ("((t1.a = 1) OR (t1.role = 'viewer'::text))", None),
            ("(t1.a IS NOT NULL)", None),
            ("(t1.a <> 1)", None),
            ("(t1.a = t1.b)", None),
            ("(t1.a = t1.unbound)", None),
            ("(t1.a = (SubPlan 1))", None),
            ("((t1.a)::text = '1'::text)", None),
            ("(t2.a = 1)", None),
        ] {
            let found = table.unindexed(condition);
            let found =
                found.map(|columns| columns.iter().map(|it| it.origin.column.as_str()).collect::<Vec<_>>());
            assert_eq!(found, expected, "{condition}");
        }
    }
}
