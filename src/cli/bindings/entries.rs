//! The entries of a report: each part of the document with what the database reports about it, judged.

use super::column_types::{self, CommonTypes};
use super::finding::{Finding, FindingCode, Severity, TypedPlace};
use super::fix::{undecided_tables, unpromised_types};
use super::judge;
use super::live::{Described, Live};
use super::report::ReportRow;
use super::texts;
use crate::engine::{UnboundDenials, reads_bound};
use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Binding, Bindings};
use portcullis_compiler::ir::{DenyingCalls, Program};
use portcullis_compiler::primitive::STRING;
use std::collections::{BTreeMap, BTreeSet};

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
    let denials = program.map(|program| UnboundDenials::of(program, &DenyingCalls::of(program), bindings));
    for (binding, described) in bindings.facts.iter().zip(&live.facts) {
        let mut row = bound(binding, described, (live, &common));
        row.findings.extend(program.and_then(|program| unread(program, denials.as_ref()?, binding)));
        entries.push(row);
    }
    for (ty, described) in &live.tables {
        entries.push(row_table(ty, described, (live, &common), bindings.dialect));
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

/// The findings of one kind about all columns of a type.
struct OfType {
    worst: Severity,
    /// The columns, for people.
    places: BTreeSet<String>,
    is_said: bool,
}

/// Keeps one finding of each kind for each type: the first of the most severe. It names the other columns.
fn once_for_each_type(entries: &mut [ReportRow]) {
    let mut kinds: BTreeMap<(&str, String, Option<String>), OfType> = BTreeMap::new();
    for finding in entries.iter().flat_map(|entry| &entry.findings) {
        let Some(TypedPlace { ty, only, place }) = finding.of_type.clone() else { continue };
        let of_type = kinds.entry((finding.code.as_str(), ty, only)).or_insert_with(|| OfType {
            worst: finding.severity,
            places: BTreeSet::new(),
            is_said: false,
        });
        of_type.worst = of_type.worst.min(finding.severity);
        of_type.places.insert(place);
    }
    for findings in entries.iter_mut().map(|entry| &mut entry.findings) {
        findings.retain_mut(|finding| {
            let Some(TypedPlace { ty, only, place }) = finding.of_type.clone() else { return true };
            let Some(of_type) = kinds.get_mut(&(finding.code.as_str(), ty, only)) else { return true };
            if of_type.is_said || finding.severity > of_type.worst {
                return false;
            }
            of_type.is_said = true;
            of_type.places.remove(&place);
            let others = of_type.places.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
            if !others.is_empty() {
                let also = match finding.code {
                    FindingCode::OtherSqlType => format!("the entry is not true of {others} either"),
                    _ => format!("the same holds for {others}"),
                };
                finding.message = format!("{}; {also}", finding.message);
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

/// A key whose facts the policy does not read, with the facts of a denial that it probably means.
fn unread(program: &Program, denials: &UnboundDenials<'_>, binding: &Binding) -> Option<Finding> {
    if reads_bound(program, binding) {
        return None;
    }
    let help = |meant: &str| {
        format!(
            ", but a denial reads `{meant}`, which no key binds: write `{meant}`, unless its facts are stored"
        )
    };
    let (severity, help) = if let Some(meant) = denials.in_other_case(binding) {
        (Severity::Error, help(meant))
    } else if let Some(meant) = denials.one_letter_off(binding) {
        (Severity::Warning, help(meant))
    } else {
        (Severity::Warning, ": compare the names and types with the policy".to_owned())
    };
    let message = format!("no rule of the policy reads such facts{help}");
    Some(Finding::new(FindingCode::NotRead, severity, message))
}

fn bound(binding: &Binding, described: &Described, (live, common): (&Live, &CommonTypes)) -> ReportRow {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    match described {
        Ok(found) => {
            findings.extend(judge::binding(binding, found, &live.sql_types, common));
            let types = judge::column_types(binding).into_iter().map(str::to_owned);
            columns.extend(types.zip(found.iter().cloned()));
        }
        Err(refusal) => findings.push(Finding::new(FindingCode::QueryRefused, Severity::Error, refusal)),
    }
    ReportRow { section: "facts", key: binding.key.clone(), line: Some(binding.line), columns, findings }
}

fn row_table(
    ty: &str,
    described: &Described,
    (live, common): (&Live, &CommonTypes),
    dialect: Dialect,
) -> ReportRow {
    let (mut findings, mut columns) = (Vec::new(), Vec::new());
    match described {
        Ok(found) => {
            let judged = |column| judge::row_table(ty, column, (&live.sql_types, common.get(ty)), dialect);
            findings.extend(found.iter().flat_map(judged));
            columns.extend(found.iter().map(|column| (ty.to_owned(), column.clone())));
        }
        Err(refusal) => findings.push(Finding::new(FindingCode::QueryRefused, Severity::Error, refusal)),
    }
    ReportRow { section: "tables", key: ty.to_owned(), line: None, columns, findings }
}
