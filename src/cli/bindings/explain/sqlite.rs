//! Judges SQLite's plan of a statement.
//!
//! `EXPLAIN QUERY PLAN` prints one line for each step and expects no numbers of rows, so a table that is read
//! from end to end is marked even if it is small.

use super::step::{DatabasePlan, Slow, Step};
use crate::cli::bindings::database::PlanLine;
use std::collections::BTreeMap;

/// Judges one plan of a statement.
pub(super) fn judge(lines: &[PlanLine], statement: &str) -> DatabasePlan {
    let mut depths: BTreeMap<i64, usize> = BTreeMap::new();
    let mut steps = Vec::new();
    for (number, above, text) in lines {
        let depth = depths.get(above).map_or(0, |depth| depth + 1);
        depths.insert(*number, depth);
        let slow = slow(text, statement).into_iter().collect();
        steps.push(Step { depth, text: text.clone(), slow, ..Step::default() });
    }
    DatabasePlan { steps, ..DatabasePlan::default() }
}

fn slow(text: &str, statement: &str) -> Option<Slow> {
    if let Some(read) = text.strip_prefix("SCAN ") {
        let name = read.split(' ').next().unwrap_or(read);
        let is_whole = read != "CONSTANT ROW" && !read.contains(" USING ");
        let table = table(statement, name).filter(|_| is_whole)?;
        return Some(Slow { what: format!("reads all rows of `{table}`"), help: Vec::new() });
    }
    if text.contains(" USING AUTOMATIC ") {
        let name = text.split(' ').nth(1).unwrap_or_default();
        let table = table(statement, name)?;
        let what = format!("makes an index over `{table}` each time: a column that it looks up has none");
        return Some(Slow { what, help: Vec::new() });
    }
    let is_sort = text.starts_with("USE TEMP B-TREE FOR ORDER BY");
    is_sort.then(|| Slow { what: "sorts all rows".to_owned(), help: Vec::new() })
}

/// The caller's table behind a name in the plan; `None` if the statement itself defines the name.
fn table<'s>(statement: &'s str, name: &'s str) -> Option<&'s str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '"');
    let alias = format!(" AS {name}");
    let renamed = statement.match_indices(&alias).find_map(|(at, _)| {
        let after = statement.get(at + alias.len()..).unwrap_or_default();
        let before = statement.get(..at).unwrap_or_default();
        let start = before.rfind(|c| !is_part(c)).map_or(0, |at| at + 1);
        (!after.starts_with(is_part)).then_some(before.get(start..)).flatten()
    });
    let table = renamed.unwrap_or(name);
    let is_made = table.is_empty() || table.starts_with('(') || statement.contains(&format!("{table} ("));
    (!is_made).then_some(table)
}

#[cfg(test)]
mod tests {
    use super::judge;

    #[test]
    fn scans_and_sorts_are_marked() {
        let lines = [
            (2, 0, "SCAN documents"),
            (3, 0, "CORRELATED SCALAR SUBQUERY 1"),
            (5, 3, "SCAN t1"),
            (6, 3, "SCAN t10"),
            (7, 3, "SEARCH t2 USING INDEX members_user (user_id=?)"),
            (8, 3, "SEARCH t3 USING AUTOMATIC COVERING INDEX (id=?)"),
            (9, 3, "SCAN t4 USING COVERING INDEX i"),
            (10, 0, "USE TEMP B-TREE FOR ORDER BY"),
        ];
        let lines = lines.map(|(number, above, text)| (number, above, text.to_owned()));
        let statement = "WITH pc1_has_role (c0) AS (SELECT 1) SELECT id FROM documents WHERE EXISTS (
            SELECT 1 FROM folders AS t1 CROSS JOIN pc1_has_role AS t10 JOIN members AS t2 JOIN groups AS t3)";
        let plan = judge(&lines, statement);
        let marked: Vec<(usize, &str)> = plan
            .steps
            .iter()
            .flat_map(|step| step.slow.iter().map(|slow| (step.depth, slow.what.as_str())))
            .collect();
        assert_eq!(
            marked,
            [
                (0, "reads all rows of `documents`"),
                (1, "reads all rows of `folders`"),
                (1, "makes an index over `groups` each time: a column that it looks up has none"),
                (0, "sorts all rows"),
            ]
        );
    }
}
