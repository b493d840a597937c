//! The entries of a report: each part of the document with what the database reports about it, judged.

use super::column_types::{self, CommonTypes};
use super::finding::{Finding, FindingCode, Severity};
use super::fix::{undecided_tables, unpromised_types};
use super::judge;
use super::live::{Described, Live};
use super::policy;
use super::report::ReportRow;
use super::texts;
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Binding, Bindings};
use portcullis_compiler::ir::Program;
use portcullis_compiler::primitive::STRING;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// The entries of a document, in its order.
pub(super) fn entries(bindings: &Bindings, live: &Live, program: Option<&Program>) -> Vec<ReportRow> {
    let mut entries = Vec::new();
    let common = column_types::common_types(bindings, live);
    for (ty, declared) in &bindings.sql_types {
        if !live.sql_types.contains_key(ty) {
            entries.push(unknown_type(ty, &declared.name));
        }
    }
    for (ty, columns) in live.columns_by_type(bindings) {
        if let Some(finding) = column_types::disagreement(ty, &columns) {
            entries.push(alone("types", ty, finding));
        }
        let is_open = bindings.dialect == Dialect::Postgresql && !bindings.sql_types.contains_key(ty);
        if let Some(finding) = texts::prevented(&columns).filter(|_| ty == STRING && is_open) {
            entries.push(alone("types", ty, finding));
        }
    }
    for (binding, described) in bindings.facts.iter().zip(&live.facts) {
        entries.push(bound(binding, described, (live, &common), program));
    }
    for (ty, described) in &live.tables {
        entries.push(row_table(ty, described, (live, &common)));
    }
    for (ty, columns) in undecided_tables(bindings, live) {
        entries.push(several_tables(&ty, &columns));
    }
    for (ty, reason) in unpromised_types(bindings, live, program) {
        let message =
            format!("has no entry, so a filter looks each id up in the set of all that pass: {reason}");
        entries.push(alone("tables", &ty, Finding::new(FindingCode::NoPromise, Severity::Note, message)));
    }
    once_for_each_type(&mut entries);
    entries
}

/// Leaves one of the findings about all columns of a type, the first of the worst, which names the others.
fn once_for_each_type(entries: &mut [ReportRow]) {
    let key = |finding: &Finding| Some((finding.code.as_str(), finding.of_type.as_ref()?.ty.clone()));
    let mut found: BTreeMap<_, Vec<Finding>> = BTreeMap::new();
    for finding in entries.iter().flat_map(|entry| &entry.findings) {
        if let Some(key) = key(finding) {
            found.entry(key).or_default().push(finding.clone());
        }
    }
    for entry in entries {
        entry.findings.retain_mut(|finding| {
            let Some(key) = key(finding) else { return true };
            let all = found.get(&key).map(Vec::as_slice).unwrap_or_default();
            if all.iter().any(|other| other.severity < finding.severity) {
                return false;
            }
            let Some(all) = found.insert(key, Vec::new()).filter(|all| !all.is_empty()) else { return false };
            let places = all.iter().filter_map(|other| other.of_type.as_ref());
            let own = finding.of_type.clone();
            let others: BTreeSet<&str> = places
                .filter(|place| Some(*place) != own.as_ref())
                .map(|place| place.place.as_str())
                .collect();
            if !others.is_empty() {
                let others: Vec<&str> = others.into_iter().collect();
                // Writing to a String cannot fail.
                let _ = write!(finding.message, "; the same holds for {}", others.join(", "));
            }
            true
        });
    }
}

/// A type with several tables, of which one should be promised.
fn several_tables(ty: &str, columns: &[String]) -> ReportRow {
    let message = format!(
        "each of {} contains an id once: write the one whose rows you filter under `tables`, so that a filter tests \
         a row by its own columns",
        columns.join(", ")
    );
    alone("tables", ty, Finding::new(FindingCode::SeveralTables, Severity::Note, message))
}

fn unknown_type(ty: &str, name: &str) -> ReportRow {
    let message =
        format!("the database has no type `{name}`: write the type of the column that holds the ids");
    alone("sql_types", ty, Finding::new(FindingCode::UnknownSqlType, Severity::Error, message))
}

/// An entry that is about no single column.
fn alone(section: &'static str, key: &str, finding: Finding) -> ReportRow {
    ReportRow { section, key: key.to_owned(), line: None, columns: Vec::new(), findings: vec![finding] }
}

fn bound(
    binding: &Binding,
    described: &Described,
    (live, common): (&Live, &CommonTypes),
    program: Option<&Program>,
) -> ReportRow {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    match described {
        Ok(found) => {
            findings.extend(judge::binding(binding, found, &live.sql_types, common));
            let types = judge::column_types(binding).into_iter().map(str::to_owned);
            columns.extend(types.zip(found.iter().cloned()));
        }
        Err(refusal) => findings.push(Finding::new(FindingCode::QueryRefused, Severity::Error, refusal)),
    }
    if program.is_some_and(|program| !policy::uses(program, binding)) {
        let message = "no rule of the policy reads such facts: compare the names and types with the policy";
        findings.push(Finding::new(FindingCode::NotRead, Severity::Warning, message));
    }
    ReportRow { section: "facts", key: binding.key.clone(), line: Some(binding.line), columns, findings }
}

fn row_table(ty: &str, described: &Described, (live, common): (&Live, &CommonTypes)) -> ReportRow {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    match described {
        Ok(found) => {
            findings.extend(
                found.iter().flat_map(|column| judge::row_table(ty, column, &live.sql_types, common)),
            );
            columns.extend(found.iter().map(|column| (ty.to_owned(), column.clone())));
        }
        Err(refusal) => findings.push(Finding::new(FindingCode::QueryRefused, Severity::Error, refusal)),
    }
    ReportRow { section: "tables", key: ty.to_owned(), line: None, columns, findings }
}
