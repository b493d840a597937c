//! PostgreSQL's plan, as `EXPLAIN (FORMAT JSON, VERBOSE)` writes it.
//!
//! Only the members that are shown or judged are read; the others are left alone.

use serde::Deserialize;
use std::fmt::Write;

/// The answer to `EXPLAIN`, an array of one.
pub(super) type StatementPlans = Vec<StatementPlan>;

/// One statement's plan.
#[derive(Debug, Deserialize)]
pub(super) struct StatementPlan {
    #[serde(rename = "Plan")]
    pub(super) plan: Node,
    /// There if PostgreSQL compiles the statement.
    #[serde(rename = "JIT")]
    pub(super) jit: Option<serde::de::IgnoredAny>,
    /// In milliseconds, if the statement was run.
    #[serde(rename = "Execution Time")]
    pub(super) execution_time: Option<f64>,
}

/// One step of a plan.
#[derive(Debug, Deserialize)]
pub(super) struct Node {
    #[serde(rename = "Node Type")]
    pub(super) kind: String,
    #[serde(rename = "Join Type")]
    pub(super) join_type: Option<String>,
    /// How the step above reads this one: `Outer`, `Inner`, `SubPlan`, `InitPlan` and so on.
    #[serde(rename = "Parent Relationship")]
    pub(super) relationship: Option<String>,
    #[serde(rename = "Subplan Name")]
    pub(super) subplan: Option<String>,
    #[serde(rename = "Schema")]
    pub(super) schema: Option<String>,
    #[serde(rename = "Relation Name")]
    pub(super) relation: Option<String>,
    #[serde(rename = "Alias")]
    pub(super) alias: Option<String>,
    #[serde(rename = "Index Name")]
    pub(super) index: Option<String>,
    #[serde(rename = "CTE Name")]
    pub(super) cte: Option<String>,
    #[serde(rename = "Plan Rows")]
    pub(super) rows: f64,
    #[serde(rename = "Total Cost")]
    pub(super) cost: f64,
    #[serde(rename = "Actual Rows")]
    pub(super) actual_rows: Option<f64>,
    #[serde(rename = "Actual Loops")]
    pub(super) actual_loops: Option<f64>,
    #[serde(rename = "Actual Total Time")]
    pub(super) actual_time: Option<f64>,
    #[serde(rename = "Index Cond")]
    pub(super) index_condition: Option<String>,
    #[serde(rename = "Recheck Cond")]
    pub(super) recheck_condition: Option<String>,
    #[serde(rename = "Hash Cond")]
    pub(super) hash_condition: Option<String>,
    #[serde(rename = "Merge Cond")]
    pub(super) merge_condition: Option<String>,
    #[serde(rename = "Join Filter")]
    pub(super) join_filter: Option<String>,
    #[serde(rename = "Filter")]
    pub(super) filter: Option<String>,
    #[serde(rename = "One-Time Filter")]
    pub(super) one_time_filter: Option<String>,
    #[serde(rename = "Output", default)]
    pub(super) output: Vec<String>,
    #[serde(rename = "Plans", default)]
    pub(super) plans: Vec<Node>,
}

impl Node {
    /// Its conditions with their names.
    pub(super) fn conditions(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let all = [
            ("index condition", &self.index_condition),
            ("recheck", &self.recheck_condition),
            ("hash condition", &self.hash_condition),
            ("merge condition", &self.merge_condition),
            ("join filter", &self.join_filter),
            ("filter", &self.filter),
            ("one-time filter", &self.one_time_filter),
        ];
        all.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?)))
    }

    /// Visits the node and all under it.
    pub(super) fn for_each<'n>(&'n self, visit: &mut impl FnMut(&'n Self)) {
        visit(self);
        self.plans.iter().for_each(|plan| plan.for_each(visit));
    }

    /// The nodes above one that is under this one, the closest first.
    pub(super) fn above(&self, node: &Self) -> Vec<&Self> {
        let mut path = Vec::new();
        self.climb(node, &mut path);
        path
    }

    /// Collects the nodes above one; whether it is this one or under it.
    fn climb<'n>(&'n self, node: &Self, path: &mut Vec<&'n Self>) -> bool {
        let is_under = self.plans.iter().any(|plan| plan.climb(node, path));
        if is_under {
            path.push(self);
        }
        is_under || std::ptr::eq(self, node)
    }

    /// The table that it reads, with its schema.
    pub(super) fn table(&self) -> Option<(&str, &str)> {
        Some((self.schema.as_deref().unwrap_or_default(), self.relation.as_deref()?))
    }

    /// Whether it reads a table from end to end: without an index, or by an index without a condition on it.
    pub(super) fn reads_all(&self) -> bool {
        match self.kind.as_str() {
            "Seq Scan" | "Parallel Seq Scan" => true,
            "Index Scan" | "Index Only Scan" | "Bitmap Index Scan" => self.index_condition.is_none(),
            _ => false,
        }
    }

    /// Whether each row that several indexes find is looked up in an array, which is searched from
    /// end to end.
    pub(super) fn compares_again(&self) -> bool {
        let joins_indexes = self.plans.iter().any(|plan| plan.kind == "BitmapOr");
        joins_indexes && self.filter.as_ref().is_some_and(|filter| filter.contains("= ANY ($"))
    }

    /// How many rows came out in total, if the statement was run.
    pub(super) fn n_read(&self) -> Option<f64> {
        Some(self.actual_rows? * self.actual_loops?)
    }

    /// What it does, in PostgreSQL's words.
    pub(super) fn text(&self) -> String {
        let Self { kind, join_type, subplan, relation, alias, index, cte, .. } = self;
        let mut text = subplan.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        text.push_str(kind);
        // Writing to a String cannot fail.
        if let Some(join) = join_type.as_deref().filter(|join| *join != "Inner") {
            let _ = write!(text, " ({join} join)");
        }
        if let Some(index) = index {
            let _ = write!(text, " using {index}");
        }
        if let Some(read) = relation.as_ref().or(cte.as_ref()) {
            let _ = write!(text, " on {read}");
            if let Some(alias) = alias.as_ref().filter(|alias| *alias != read) {
                let _ = write!(text, " {alias}");
            }
        }
        text
    }

    /// Whether a condition or output of this step hashes the rows of one of its subplans, and so runs it
    /// once.
    pub(super) fn hashes(&self, subplan: &str) -> bool {
        let hashed = format!("hashed {subplan}");
        let texts = self.conditions().map(|(_, text)| text).chain(self.output.iter().map(String::as_str));
        texts.into_iter().any(|text| {
            text.match_indices(&hashed).any(|(at, _)| {
                let after = text.get(at + hashed.len()..).unwrap_or_default();
                !after.starts_with(|c: char| c.is_ascii_digit())
            })
        })
    }
}
