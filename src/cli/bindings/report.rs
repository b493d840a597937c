//! Writes the report: a table of the bound columns, then the findings, worst first, then advice.

use super::advice::Advice;
use super::database::{Column, ColumnOrigin};
use super::entries::entries;
use super::finding::{Finding, FindingCode, Severity};
use super::judge::is_entity;
use super::live::Live;
use crate::cli::validate::plural;
use portcullis_compiler::bindings::Bindings;
use portcullis_compiler::ir::Program;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The report on a document.
pub(super) struct Report {
    /// The document's file.
    pub(super) file: String,
    /// The database.
    dialect: String,
    /// Its entries, in order.
    entries: Vec<ReportRow>,
    /// What to change in the database.
    advice: Advice,
}

/// One entry of the document.
pub(super) struct ReportRow {
    /// Its section.
    pub(super) section: &'static str,
    /// Its key.
    pub(super) key: String,
    /// Its line, if known.
    pub(super) line: Option<usize>,
    /// Its columns with the types of their ids; empty if the database refused the query.
    pub(super) columns: Vec<(String, Column)>,
    /// The findings.
    pub(super) findings: Vec<Finding>,
}

impl ReportRow {
    /// Its label: a bound fact's key; for other entries the section and the key.
    fn label(&self) -> String {
        match self.section {
            "facts" => self.key.clone(),
            section => format!("{section}: {}", self.key),
        }
    }
}

impl Report {
    /// Judges a document.
    pub(super) fn new(file: String, bindings: &Bindings, live: &Live, program: Option<&Program>) -> Self {
        let entries = entries(bindings, live, program);
        let advice = Advice::new(&entries, live);
        Self { file, dialect: bindings.dialect.to_string(), entries, advice }
    }

    /// The number of findings of this severity.
    pub(super) fn count(&self, severity: Severity) -> usize {
        self.findings().filter(|(_, finding)| finding.severity == severity).count()
    }

    fn findings(&self) -> impl Iterator<Item = (&ReportRow, &Finding)> {
        self.entries.iter().flat_map(|entry| entry.findings.iter().map(move |finding| (entry, finding)))
    }

    /// The columns that may be NULL, by table. Many bindings may read one of them.
    fn nullable(&self) -> BTreeMap<&str, BTreeSet<&str>> {
        let mut tables: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (entry, finding) in self.findings().filter(|(_, finding)| finding.code == FindingCode::Nullable) {
            let is_meant = |(_, column): &&(String, Column)| Some(&column.name) == finding.column.as_ref();
            let origins =
                entry.columns.iter().filter(is_meant).filter_map(|(_, column)| column.origin.as_ref());
            for origin in origins.filter(|origin| origin.not_null == Some(false)) {
                tables.entry(&origin.table).or_default().insert(&origin.column);
            }
        }
        tables
    }

    /// The report as text.
    pub(super) fn text(&self) -> String {
        let mut text = table(&self.entries);
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let of_severity = |(_, finding): &(&ReportRow, &Finding)| {
                finding.severity == severity && finding.code != FindingCode::Nullable
            };
            for (entry, finding) in self.findings().filter(of_severity) {
                let line = entry.line.map(|line| format!("line {line}, ")).unwrap_or_default();
                let column =
                    finding.column.as_ref().map(|column| format!(", column `{column}`")).unwrap_or_default();
                // Writing to a String cannot fail.
                let _ = write!(text, "\n{}: {line}{}{column}:", severity.as_str(), entry.label());
                let _ = write!(text, "\n  {}", finding.message);
            }
        }
        let nullable = self.nullable();
        for (table, columns) in &nullable {
            let columns: Vec<String> = columns.iter().map(|column| format!("`{column}`")).collect();
            let noun = if columns.len() == 1 { "column" } else { "columns" };
            let _ = write!(text, "\nnote: table `{table}`, {noun} {}:", columns.join(", "));
            let _ = write!(text, "\n  may be NULL, and rows with NULL are not facts");
        }
        let advice = self.advice.text();
        if !advice.is_empty() {
            let _ = write!(text, "\n{advice}\n");
        }
        let n_nullable = self.findings().filter(|(_, finding)| finding.code == FindingCode::Nullable).count();
        let n_notes = self.count(Severity::Note) - n_nullable + nullable.len();
        let [errors, warnings] =
            [Severity::Error, Severity::Warning].map(|each| plural(self.count(each), each.as_str()));
        let notes = plural(n_notes, Severity::Note.as_str());
        let _ = write!(text, "\n{} on {}: {errors}, {warnings}, {notes}", self.file, self.dialect);
        text
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> Value {
        let column = |(ty, column): &(String, Column)| {
            let origin = column.origin.as_ref();
            json!({
                "name": column.name, "type": column.ty.name, "ids_of": ty,
                "nullable": origin.and_then(|origin| origin.not_null).map(|not_null| !not_null),
                "indexed": column.indexed(),
                "unique": origin.and_then(|origin| origin.unique),
            })
        };
        let finding = |finding: &Finding| {
            json!({
                "code": finding.code.as_str(), "severity": finding.severity.as_str(),
                "column": finding.column, "message": finding.message,
            })
        };
        let entry = |entry: &ReportRow| {
            json!({
                "section": entry.section, "key": entry.key, "line": entry.line,
                "columns": entry.columns.iter().map(column).collect::<Vec<_>>(),
                "findings": entry.findings.iter().map(finding).collect::<Vec<_>>(),
            })
        };
        json!({
            "file": self.file, "dialect": self.dialect,
            "errors": self.count(Severity::Error), "warnings": self.count(Severity::Warning),
            "entries": self.entries.iter().map(entry).collect::<Vec<_>>(), "advice": self.advice.json(),
        })
    }
}

const TITLES: [&str; 6] = ["line", "bound", "column", "type", "null", "index"];

/// One row for each column, aligned; an entry's label is in its first row.
fn table(entries: &[ReportRow]) -> String {
    let mut rows: Vec<[String; 6]> = vec![TITLES.map(str::to_owned)];
    for entry in entries {
        let line = entry.line.map(|line| line.to_string()).unwrap_or_default();
        let mut head = Some((line, entry.label()));
        for (ty, column) in &entry.columns {
            let (line, key) = head.take().unwrap_or_default();
            let known = |get: fn(&ColumnOrigin) -> Option<bool>| column.origin.as_ref().and_then(get);
            let null = said(known(|origin| origin.not_null.map(|not_null| !not_null)));
            let index = if is_entity(ty) { said(column.indexed()) } else { "-" };
            rows.push([line, key, column.name.clone(), column.ty.name.clone(), null.into(), index.into()]);
        }
        // What is said of a whole type has no column.
        if let Some((line, key)) = head.filter(|_| entry.section == "facts") {
            rows.push([line, key, "-".into(), "-".into(), "-".into(), "-".into()]);
        }
    }
    let width = |at: usize| rows.iter().filter_map(|row| row.get(at)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..TITLES.len()).map(|at| width(at).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        let line = cells.collect::<Vec<_>>().join("  ");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn said(known: Option<bool>) -> &'static str {
    match known {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}
