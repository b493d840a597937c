//! Judges PostgreSQL's plan of a statement.
//!
//! In: a plan, and what is known about its tables. Out: its steps, with what is slow about each. A step under
//! another one may run many times: once for each row that a join or a condition looks at. What counts is how
//! many rows are read in total.

use super::known::{KnownColumn, KnownDatabase};
use super::lookup::ScannedTable;
use super::mention::{Mention, is_compared, is_looked_up_as_text, mentions};
use super::node::{Node, StatementPlan};
use super::step::{AskedStatement, DatabasePlan, Measured, Slow, Step, counted};
use crate::cli::bindings::database::{ColumnKind, TableSize};

/// From how many rows on reading them all is worth a remark.
const MANY_ROWS: f64 = 10_000.0;

/// An index helps if one of this many rows passes.
const FEW_OF: f64 = 10.0;

/// By which factor an estimate must be too small for a remark.
const MISJUDGED: f64 = 100.0;

/// Judges the plan of a statement.
pub(super) fn judge(
    explained: &StatementPlan,
    statement: &AskedStatement<'_>,
    known: &KnownDatabase,
) -> DatabasePlan {
    let mut judge = Judge { plan: &explained.plan, statement, known, steps: Vec::new() };
    judge.visit(&explained.plan, 0, 1.0);
    let mut slow = Vec::new();
    if explained.jit.is_some() {
        let above = known.jit.as_ref().map_or("jit_above_cost", |jit| jit.above_cost.as_str());
        slow.push(Slow {
            what: format!(
                "PostgreSQL compiles the statement before it runs it, because its estimated cost of {} is above \
                 {above}: that takes 0.1 to 5 seconds",
                counted(explained.plan.cost)
            ),
            help: known.jit.iter().map(|jit| jit.off_ddl.clone()).collect(),
        });
    }
    slow.extend(judge.unknown_tables());
    let is_slow = judge.steps.iter().any(|step| !step.slow.is_empty());
    if let (true, Some(ty), Some(promise)) = (is_slow, statement.listed, judge.promise()) {
        let what = format!(
            "the condition looks the id up in the set of all that pass, because `tables` does not name the table of {ty}"
        );
        slow.push(Slow { what, help: vec![promise] });
    }
    DatabasePlan { steps: judge.steps, slow, milliseconds: explained.execution_time }
}

struct Judge<'a> {
    plan: &'a Node,
    statement: &'a AskedStatement<'a>,
    known: &'a KnownDatabase,
    steps: Vec<Step>,
}

impl<'a> Judge<'a> {
    /// Adds a step that runs `times` times, and those under it.
    fn visit(&mut self, node: &'a Node, depth: usize, times: f64) {
        let measured = match (node.actual_rows, node.actual_loops, node.actual_time) {
            (Some(rows), Some(runs), Some(each)) => Some(Measured { rows, runs, milliseconds: each * runs }),
            (_, _, _) => None,
        };
        let slow = self.slow(node, times);
        let rule_lines = if slow.is_empty() { Vec::new() } else { self.rule_lines(node) };
        self.steps.push(Step {
            depth,
            text: node.text(),
            conditions: node.conditions().map(|(name, text)| format!("{name}: {text}")).collect(),
            rows: Some(node.rows),
            cost: Some(node.cost),
            measured,
            slow,
            rule_lines,
        });
        for under in &node.plans {
            let times_under = times * self.repeats(node, under);
            self.visit(under, depth + 1, times_under);
        }
    }

    /// How often a step runs for each time that the one above it runs.
    fn repeats(&self, node: &Node, under: &Node) -> f64 {
        match (under.relationship.as_deref(), under.subplan.as_deref()) {
            (Some("SubPlan"), Some(name)) if !node.hashes(name) => self.looked_at(node).max(1.0),
            (Some("Inner"), _) if node.kind == "Nested Loop" => {
                let is_kept = matches!(under.kind.as_str(), "Materialize" | "Memoize");
                let outer = node.plans.iter().find(|plan| plan.relationship.as_deref() == Some("Outer"));
                outer.filter(|_| !is_kept).map_or(1.0, |outer| outer.rows.max(1.0))
            }
            (_, _) => 1.0,
        }
    }

    /// How many rows a step looks at, at least: all of its table's, or those that come out of it.
    fn looked_at(&self, node: &Node) -> f64 {
        let all = node.table().filter(|_| node.reads_all()).and_then(|table| self.known.table(table));
        all.map_or(node.rows, |table| table.n_rows).max(node.rows)
    }

    /// The lines of the rules that took part and read the table of a step. A subplan is about the tables of
    /// all steps in it.
    fn rule_lines(&self, node: &Node) -> Vec<usize> {
        let name = |node: &Node| Some(self.known.table(node.table()?)?.name.as_str());
        let mut tables: Vec<&str> = name(node).into_iter().collect();
        if node.relationship.as_deref() == Some("SubPlan") {
            node.for_each(&mut |under| tables.extend(name(under)));
        }
        self.known.readers.lines(&self.statement.rule_lines, &tables)
    }

    /// What is slow about a step that runs `times` times.
    fn slow(&self, node: &Node, times: f64) -> Vec<Slow> {
        let mut slow = Vec::new();
        let is_subplan = node.relationship.as_deref() == Some("SubPlan");
        if is_subplan && times >= MANY_ROWS {
            let what = format!("runs for each row of the step above, about {} times", counted(times));
            slow.push(Slow { what, help: Vec::new() });
        }
        let table = node.table().and_then(|table| self.known.table(table));
        if let Some(table) = table.filter(|table| node.reads_all() && table.n_rows * times >= MANY_ROWS) {
            let again = if times < 1.5 { String::new() } else { format!(" about {} times", counted(times)) };
            let (help, casts) = (self.indexes(node), self.casts(node));
            let because = if help.is_empty() && casts.is_empty() {
                format!(": {}", self.because(node, table))
            } else {
                String::new()
            };
            let what = format!(
                "reads all {} rows of `{}`{again}, of which {} are expected to pass{because}",
                counted(table.n_rows),
                table.name,
                counted(node.rows)
            );
            slow.push(Slow { what, help });
            slow.extend(casts);
        }
        if node.compares_again() {
            let what = "compares each row that the indexes find with the arrays again, from end to end";
            slow.push(Slow { what: what.to_owned(), help: Vec::new() });
        }
        if let Some(read) =
            node.n_read().filter(|read| *read >= MANY_ROWS && *read >= MISJUDGED * node.rows * times)
        {
            let what =
                format!("returned {} rows, {} were expected", counted(read), counted(node.rows * times));
            slow.push(Slow { what, help: Vec::new() });
        }
        if matches!(node.kind.as_str(), "Sort" | "Incremental Sort") && node.rows * times >= MANY_ROWS {
            slow.push(Slow { what: format!("sorts about {} rows", counted(node.rows)), help: Vec::new() });
        }
        slow
    }

    /// Indexed columns of a step's table that are compared through a cast or a function, anywhere in the
    /// plan.
    fn casts(&self, node: &Node) -> Vec<Slow> {
        let mut found = Vec::new();
        for (column, mention) in self.mentioned(node) {
            if column.origin.indexed != Some(true) {
                continue;
            }
            let through = match mention {
                Mention::Bare => continue,
                // A cast of text to text changes nothing, and PostgreSQL still prints it.
                Mention::Cast(ty) if column.kind == ColumnKind::Text && ty == "text" => continue,
                Mention::Cast(ty) => format!("a cast to `{ty}`"),
                Mention::Function(name) => format!("`{name}`"),
            };
            let what = format!(
                "compares `{}.{}` through {through}, so its index is not used",
                column.origin.table, column.origin.column
            );
            found.push(Slow { what, help: column.lacking.iter().cloned().collect() });
        }
        found
    }

    /// The missing indexes that make a step read its whole table: those for its own filter, or else those for
    /// the closest join above it.
    fn indexes(&self, node: &Node) -> Vec<String> {
        let table = node.table().and_then(|table| self.known.table(table));
        let (Some(table), Some(alias)) = (table, node.alias.as_deref()) else { return Vec::new() };
        let table = ScannedTable { alias, columns: self.known.columns(table) };
        let of_joins = self.plan.above(node).into_iter().flat_map(Node::conditions).map(|(_, text)| text);
        let conditions = node.filter.as_deref().into_iter().chain(of_joins);
        let mut unindexed = conditions.filter_map(|condition| table.unindexed(condition));
        let columns = unindexed.find(|columns| !columns.is_empty()).unwrap_or_default();
        columns.into_iter().map(|column| column.origin.index_ddl.clone()).collect()
    }

    /// Why a step reads its whole table, if neither an index on a bound column nor the document is at fault.
    fn because(&self, node: &Node, table: &TableSize) -> String {
        let alias = node.alias.as_deref().unwrap_or_default();
        let compares = |condition: &str, column: &str| is_compared(condition, alias, column);
        let mut served = Vec::new();
        self.plan.for_each(&mut |step| {
            for (_, condition) in step.conditions() {
                let columns = self.known.columns(table).into_iter().map(|column| &column.origin);
                let indexed = columns.filter(|column| column.indexed == Some(true));
                served.extend(indexed.map(|it| it.column.as_str()).filter(|it| compares(condition, it)));
            }
        });
        let is_by_index = |filter: &String| served.iter().any(|column| compares(filter, column));
        match (&node.filter, served.first()) {
            (Some(filter), _) if node.rows * FEW_OF <= table.n_rows && !is_by_index(filter) => {
                "an index on the columns of its filter would find them".to_owned()
            }
            (_, Some(column)) => {
                format!("PostgreSQL expects this to cost less than look-ups by the index on `{column}`")
            }
            (Some(_), None) => "many pass its filter, so no index helps".to_owned(),
            (None, None) => "nothing filters them, so no index helps".to_owned(),
        }
    }

    /// The known columns of a step's table that conditions mention, those of joins above it included.
    fn mentioned(&self, node: &Node) -> Vec<(&'a KnownColumn, Mention)> {
        let mut found = Vec::new();
        let table = node.table().and_then(|table| self.known.table(table));
        let (Some(table), Some(alias)) = (table, node.alias.as_deref()) else { return found };
        for column in self.known.columns(table) {
            if is_looked_up_as_text(self.statement.text, alias, &column.origin.column) {
                found.push((column, Mention::Cast("text".to_owned())));
            }
            self.plan.for_each(&mut |step| {
                for (_, condition) in step.conditions() {
                    for mention in mentions(condition, alias, &column.origin.column) {
                        if !found.iter().any(|(known, seen): &(&KnownColumn, Mention)| {
                            known.origin.column == column.origin.column && *seen == mention
                        }) {
                            found.push((column, mention));
                        }
                    }
                }
            });
        }
        found
    }

    /// The promise without which a list cannot test a row by its own columns.
    fn promise(&self) -> Option<String> {
        self.known.promise(self.statement.listed?)
    }

    /// Tables whose statistics are missing.
    fn unknown_tables(&self) -> Vec<Slow> {
        let mut names: Vec<&str> = Vec::new();
        self.plan.for_each(&mut |node| {
            let table = node.table().and_then(|table| self.known.table(table));
            names.extend(table.filter(|table| !table.is_analysed).map(|table| table.name.as_str()));
        });
        names.sort_unstable();
        names.dedup();
        let unknown = |name: &str| Slow {
            what: format!("there are no statistics of `{name}`, so the estimates are guesses"),
            help: vec![format!("ANALYZE {name};")],
        };
        names.into_iter().map(unknown).collect()
    }
}
