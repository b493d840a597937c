//! Notes for the author of bindings: which parts were ignored, what would make the SQL faster, and from which
//! end stored facts were read.

use portcullis_compiler::Dialect;
use portcullis_compiler::bindings::{Binding, BindingArg, Bindings, Family, SqlName};
use portcullis_compiler::ir::Program;
use portcullis_compiler::local::{End, OtherEnd, Outline, SlowPart, StartingEnd};
use portcullis_compiler::primitive::Primitive;
use std::collections::{BTreeMap, BTreeSet};

/// From which of two ends stored facts were read.
pub(super) fn end(End { from, n_values, other }: &End) -> String {
    let (stored, demanded) = ("the question's own values", "the rows of your tables");
    let (taken, left) = match from {
        StartingEnd::Stored => (stored, demanded),
        StartingEnd::Demanded => (demanded, stored),
    };
    let otherwise = match other {
        OtherEnd::Counted(n_values) => format!("it would be {n_values}"),
        OtherEnd::NoFewer => "it would be no fewer".to_owned(),
        OtherEnd::TooMany => "it would be more than allowed".to_owned(),
        OtherEnd::NotCounted => "the number was not counted, as this one is small".to_owned(),
    };
    format!(
        "stored facts are followed from {taken}, which puts {n_values} values into the SQL; from {left} {otherwise}"
    )
}

/// A note if a filter for PostgreSQL decides by rows as they were before the statement around it. Such a
/// filter says nothing of rows that the statement itself inserts or changes; and in a policy of row-level
/// security, one that reads the policy's table fails.
pub(super) fn rows_before(
    bindings: &Bindings,
    ty: &str,
    outline: &Outline,
    bound: &[&Binding],
) -> Option<String> {
    if bindings.dialect != Dialect::Postgresql {
        return None;
    }
    let sets = outline.sets.iter().map(|set| &set.reads);
    let probes = outline.probes.iter().map(|probe| &probe.reads);
    let read: Vec<&Binding> = sets
        .chain(probes)
        .flat_map(|reads| &reads.bindings)
        .map(|binding| &bindings.facts[*binding])
        .collect();
    let table = bindings.tables.get(ty).map(|row| &row.table);
    let of_table = table.filter(|table| read.iter().any(|binding| binding.may_read(table)));
    if let Some(table) = of_table {
        return Some(format!(
            "the filter also reads other rows of `{}`, as they were before the statement: use it in queries, but \
             not in a policy of row-level security, nor to check new or changed rows {PLACES}. PostgreSQL refuses \
             a policy for reading that reads its own table; other checks do not see the new row, and may accept \
             it wrongly",
            SqlName::path(table)
        ));
    }
    if let Some(known) = outline.slow.iter().find_map(|part| only_id(part, ty)) {
        return bound.iter().any(|binding| n_ids(binding, ty) > 0).then_some(known);
    }
    let leads_on = |binding: &&&Binding| n_ids(binding, ty) > 1 && !is_of_another(bindings, binding, ty);
    let (follows, table) = (*read.iter().find(leads_on)?, SqlName::path(table?));
    let (key, query) = (&follows.key, &follows.query.plain);
    let source = match query {
        Some(plain) => format!("`{}`", SqlName::path(&plain.table)),
        None => "its query".to_owned(),
    };
    Some(format!(
        "the filter follows `{key}` from one {ty} to another. If {source} reads `{table}`, as through a view, it \
         does so in rows as they were before the statement: do not use the filter to check new or changed rows of \
         `{table}` then {PLACES}"
    ))
}

/// Where a filter checks new and changed rows.
const PLACES: &str = "(`WITH CHECK`, `RETURNING`, `BEFORE` triggers)";

/// What a filter knows that takes only the id from its column.
fn only_id(part: &SlowPart, ty: &str) -> Option<String> {
    match part {
        SlowPart::OtherColumn { is_of_row: true, .. } => Some(format!(
            "the filter decides by the {ty} that its column names, as it was before the statement. That says \
             nothing of the row itself: see \"Row-level security\" in docs/local-checks before you use it to check \
             new or changed rows {PLACES}"
        )),
        SlowPart::NoPromise { .. } => Some(format!(
            "the filter takes only the id from its column, as `tables` has no entry for {ty}. If one of the bound \
             queries reads the table of the rows, it may decide by them as they were before the statement: do \
             not use it then to check a {ty} that the statement itself inserts or changes {PLACES}"
        )),
        SlowPart::OtherColumn { is_of_row: false, .. } | SlowPart::RowTest { .. } => Some(format!(
            "the filter takes only the id from its column, and reads your tables as they were before the \
             statement: use it in queries, but not to check a {ty} that the statement itself inserts or \
             changes {PLACES}"
        )),
        SlowPart::Cast { .. }
        | SlowPart::Unbounded(_)
        | SlowPart::Unled(_)
        | SlowPart::EachRow(_)
        | SlowPart::EveryRow(_)
        | SlowPart::OwnRows { .. }
        | SlowPart::Composite { .. }
        | SlowPart::TestedRecursion { .. }
        | SlowPart::WholeState { .. } => None,
    }
}

/// In how many of its columns a binding has ids of a type.
fn n_ids(binding: &Binding, ty: &str) -> usize {
    let of_type = |arg: &&BindingArg| matches!(arg, BindingArg::Column { ty: of } if of == ty);
    binding.args.iter().filter(of_type).count()
}

/// Whether a binding only reads the table that holds the rows of another type.
fn is_of_another(bindings: &Bindings, binding: &Binding, ty: &str) -> bool {
    let plain = binding.query.plain.as_ref();
    plain.is_some_and(|plain| bindings.tables.iter().any(|(of, row)| of != ty && row.table == plain.table))
}

/// A note for each type that the policy does not mention, if the policy has a predicate with facts of the
/// type.
pub(super) fn unmentioned(program: &Program, bindings: &Bindings) -> Vec<String> {
    let mut keys: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for binding in &bindings.facts {
        let mut types = binding.args.iter().map(BindingArg::ty);
        let is_known = program.predicate_id(&binding.predicate, binding.args.len()).is_some();
        if let Some(ty) = types.find(|ty| is_known && program.type_id(ty).is_none()) {
            keys.entry(ty).or_default().push(&binding.key);
        }
    }
    let note = |(ty, keys): (&str, Vec<&str>)| {
        let (first, others) = (keys.first().copied().unwrap_or_default(), keys.len().saturating_sub(1));
        let all = match others {
            0 => format!("`{first}` is not read"),
            1 => format!("`{first}` and one other key are not read"),
            _ => format!("`{first}` and {others} other keys are not read"),
        };
        format!("{all}: the policy does not mention the type `{ty}`")
    };
    keys.into_iter().map(note).collect()
}

/// Distinct notes on the bindings that a statement reads.
pub(super) fn notes(bindings: &Bindings, read: &[&Binding]) -> Vec<String> {
    let mut notes = BTreeSet::new();
    for binding in read {
        let columns = binding.args.iter().filter_map(|arg| match arg {
            BindingArg::Column { ty } => Some(ty.as_str()),
            BindingArg::Constant { .. } => None,
        });
        for ty in columns.filter(|ty| Primitive::named(ty).is_none()) {
            match bindings.sql_types.get(ty) {
                None => notes.insert(format!(
                    "`sql_types` has no entry for `{ty}`: its ids are compared as text, so an index over a column of another type is not used"
                )),
                Some(sql_type) if matches!(sql_type.family, Family::Other | Family::Ambiguous) => notes.insert(format!(
                    "ids of `{ty}` are compared as text, because `{}` is not an integer, uuid or text type: an index over the column is not used",
                    sql_type.name
                )),
                Some(_) => false,
            };
        }
        if binding.query.plain.is_none() {
            notes.insert(format!(
                "the query of `{}` is more than columns of one table: it is embedded as a subquery",
                binding.key
            ));
        }
        if binding.query.casts {
            notes.insert(format!(
                "the query of `{}` casts a column: an index over the column is not used",
                binding.key
            ));
        }
    }
    bindings.sync_note().into_iter().chain(notes).collect()
}
