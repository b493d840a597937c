//! Advice about the database itself: indexes by which the returned SQL may look rows up, and what makes it
//! slow.
//!
//! Rules may only read a bound column of ids, and never look rows up by it. That depends on the questions,
//! and `--explain` shows where a statement misses an index.
//!
//! A finding is about the document. Advice is about the database, and none of it is wrong, so it counts as
//! neither an error nor a warning.

use super::database::{ColumnKind, ComputedColumn, Jit};
use super::judge::{is_always_text, is_entity};
use super::live::Live;
use super::report::ReportRow;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Advice about a database.
#[derive(Debug, Default)]
pub(super) struct Advice {
    /// Indexes, in the order of the document.
    indexes: Vec<IndexAdvice>,
    /// Everything else: what is the matter, and a statement that helps.
    settings: Vec<(String, String)>,
}

/// An index that look-ups would use.
#[derive(Debug)]
struct IndexAdvice {
    ddl: String,
    place: String,
    /// The type whose ids are looked up.
    ty: String,
    /// The bound facts that have the column.
    keys: Vec<String>,
}

impl Advice {
    /// What to change in a database.
    pub(super) fn new(entries: &[ReportRow], live: &Live) -> Self {
        let mut advice = Self::default();
        let mut unknown_tables = BTreeSet::new();
        for entry in entries {
            for (ty, column) in &entry.columns {
                if is_entity(ty)
                    && let Some(ComputedColumn { place, indexed: false, index_ddl: Some(ddl) }) =
                        &column.computed
                {
                    advice.want_index(ty, (ddl, place.clone()), &entry.key);
                }
                let Some(origin) = &column.origin else { continue };
                if origin.analysed == Some(false) {
                    unknown_tables.insert(origin.table.clone());
                }
                let can_use = column.ty.kind != ColumnKind::Caseless && !is_always_text(&column.ty);
                if is_entity(ty) && origin.indexed == Some(false) && can_use {
                    let place = format!("{}.{}", origin.table, origin.column);
                    advice.want_index(ty, (&origin.index_ddl, place), &entry.key);
                }
            }
        }
        advice.settings.extend(live.jit.as_ref().map(jit));
        if !unknown_tables.is_empty() {
            let tables: Vec<String> = unknown_tables.into_iter().collect();
            let what =
                "PostgreSQL has no statistics of these tables, so it overestimates recursive statements";
            advice.settings.push((what.to_owned(), format!("ANALYZE {};", tables.join(", "))));
        }
        advice
    }

    fn want_index(&mut self, ty: &str, (ddl, place): (&str, String), key: &str) {
        match self.indexes.iter_mut().find(|known| known.ddl == ddl) {
            Some(known) if known.keys.iter().any(|known| known == key) => {}
            Some(known) => known.keys.push(key.to_owned()),
            None => self.indexes.push(IndexAdvice {
                ddl: ddl.to_owned(),
                place,
                ty: ty.to_owned(),
                keys: vec![key.to_owned()],
            }),
        }
    }

    /// The advice as statements with comments; empty if there is none.
    pub(super) fn text(&self) -> String {
        let mut lines = Vec::new();
        if !self.indexes.is_empty() {
            lines.push("\nindexes for rules that look rows up by these ids:".to_owned());
        }
        for index in &self.indexes {
            lines.push(format!("  {}", index.ddl));
            lines.push(format!("    -- {}", index.reason()));
        }
        if !self.settings.is_empty() {
            lines.push("\nsettings and statistics:".to_owned());
        }
        for (what, ddl) in &self.settings {
            lines.push(format!("  {ddl}"));
            lines.push(format!("    -- {what}"));
        }
        lines.join("\n")
    }

    /// The advice as JSON.
    pub(super) fn json(&self) -> Value {
        let index = |index: &IndexAdvice| json!({ "ddl": index.ddl, "reason": index.reason() });
        let setting = |(what, ddl): &(String, String)| json!({ "ddl": ddl, "reason": what });
        json!({
            "indexes": self.indexes.iter().map(index).collect::<Vec<_>>(),
            "settings": self.settings.iter().map(setting).collect::<Vec<_>>(),
        })
    }
}

impl IndexAdvice {
    fn reason(&self) -> String {
        let Self { ddl: _, place, ty, keys } = self;
        format!("no index starts with {place}, by which {ty} is looked up in {}", keys.join(", "))
    }
}

fn jit(jit: &Jit) -> (String, String) {
    let what = format!(
        "`jit` is on: PostgreSQL compiles each statement whose estimated cost is above {}, which takes 0.1 to 5 \
         seconds even if the statement reads three rows; the estimates of recursive statements are often that high",
        jit.above_cost
    );
    (what, jit.off_ddl.clone())
}
