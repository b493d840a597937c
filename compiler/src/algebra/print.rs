//! Plans as text, for `explain` and snapshots. Deterministic.

use super::ids::TableRef;
use super::plan::{Plan, PlanAnswer, Repeats, TableBody};
use super::select::{Condition, Expr, FromKind, Select, SetUse};
use crate::datalog::print::Names;
use std::fmt::Write;

impl Names<'_> {
    /// A plan: its tables in order, then the answer.
    pub(crate) fn plan(&self, plan: &Plan) -> String {
        let mut text = String::new();
        for table in &plan.tables {
            let repeats = match table.repeats {
                Repeats::Removed => "",
                Repeats::Kept => ", perhaps repeated",
            };
            let _ = writeln!(text, "table {}: {}{repeats}", table.name, table.comment);
            let (base, step, kind) = match &table.body {
                TableBody::Union(selects) => (selects, None, ""),
                TableBody::Recursive { base, step } => (base, Some(step), "step"),
                TableBody::WholeState { base, step } => (base, Some(step), "step on the whole state"),
            };
            base.iter().for_each(|select| self.select(&mut text, plan, select, "rows", 1));
            step.into_iter().flatten().for_each(|select| self.select(&mut text, plan, select, kind, 1));
        }
        if !plan.guard.is_unit() {
            self.select(&mut text, plan, &plan.guard, "only if", 0);
        }
        let (selects, kind) = match &plan.answer {
            PlanAnswer::Decision(selects) => (selects, "allowed if"),
            PlanAnswer::Rows { selects, .. } => (selects, "answer"),
        };
        selects.iter().for_each(|select| self.select(&mut text, plan, select, kind, 0));
        text
    }

    fn select(&self, text: &mut String, plan: &Plan, select: &Select, kind: &str, depth: usize) {
        let indent = "    ".repeat(depth);
        let output: Vec<String> = select.output.iter().map(|expr| self.expr(*expr)).collect();
        let from = select.from.iter().map(|from| format!("{} {}", self.read(plan, from.kind), from.alias));
        let from: Vec<String> = from.collect();
        let _ = writeln!(
            text,
            "{indent}{kind} ({}) from {}",
            output.join(", "),
            if from.is_empty() { "nothing".into() } else { from.join(", ") }
        );
        for condition in &select.filter {
            match condition {
                Condition::Compare { op, left, right } => {
                    let (left, right) = (self.expr(*left), self.expr(*right));
                    let _ = writeln!(text, "{indent}    where {left} {op} {right}");
                }
                Condition::OneOf { expr, literals } => {
                    let literals: Vec<String> =
                        literals.iter().map(|literal| self.literal(*literal)).collect();
                    let _ =
                        writeln!(text, "{indent}    where {} in {}", self.expr(*expr), literals.join(" "));
                }
                Condition::Meets { row, source } => {
                    let (row, source) = (self.expr(*row), self.source(*source));
                    let _ = writeln!(text, "{indent}    where {row} meets the condition of {source}");
                }
                Condition::In { expr, selects, used } => {
                    let kind = match used {
                        SetUse::ToFind => format!("where {} in", self.expr(*expr)),
                        SetUse::ToTest => format!("where {} among", self.expr(*expr)),
                    };
                    selects.iter().for_each(|select| self.select(text, plan, select, &kind, depth + 1));
                }
                Condition::Any(branches) => {
                    branches
                        .iter()
                        .for_each(|branch| self.select(text, plan, branch, "or exists", depth + 1));
                }
                Condition::None(branches) => {
                    branches
                        .iter()
                        .for_each(|branch| self.select(text, plan, branch, "not exists", depth + 1));
                }
            }
        }
    }

    fn read(&self, plan: &Plan, kind: FromKind) -> String {
        match kind {
            FromKind::Source(source) => self.source(source),
            FromKind::Table(TableRef::Itself) => "itself".to_owned(),
            FromKind::Table(TableRef::Table(table)) => table.of(&plan.tables).name.clone(),
            FromKind::Values(slot) => slot.to_string(),
            FromKind::Embedded(rows) => format!("{rows:?}"),
            FromKind::Row { source, .. } => format!("the row of {}", self.source(source)),
            FromKind::Again { source, row, .. } => format!("the row {row} of {}", self.source(source)),
        }
    }

    fn expr(&self, expr: Expr) -> String {
        match expr {
            Expr::Column { alias, column } => format!("{alias}.{}", column.index()),
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => format!("given#{}", var.index()),
            Expr::Now => "@current_unix_time".to_owned(),
            Expr::Tag(member) => format!("tag#{}", member.index()),
            Expr::Filler => "filler".to_owned(),
            Expr::TypeName(ty) => match ty.unmentioned_var() {
                Some(var) => format!("type of given#{}", var.index()),
                None => self.program.types[ty].name.clone(),
            },
            Expr::Unconstrained => "*".to_owned(),
        }
    }
}
