//! Notes for the author of bindings: which parts were ignored, what would make the SQL faster, and from which
//! end stored facts were read.

use portcullis_compiler::bindings::{Binding, BindingArg, Bindings, Family, RowTable, SqlName};
use portcullis_compiler::ir::Program;
use portcullis_compiler::local::{End, OtherEnd, Outline, StartingEnd};
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

/// A note if a filter over the rows of this table also reads other rows of it. In a policy of row-level
/// security, such a filter fails or does not see the inserted row.
pub(super) fn own_table(bindings: &Bindings, row: &RowTable, outline: &Outline) -> Option<String> {
    let sets = outline.sets.iter().map(|set| &set.reads);
    let probes = outline.probes.iter().map(|probe| &probe.reads);
    let mut read = sets.chain(probes).flat_map(|reads| &reads.bindings);
    read.any(|binding| bindings.facts[*binding].may_read(&row.table)).then(|| {
        format!(
            "the filter also reads other rows of `{}`: use it in queries, but not in a policy of row-level security. \
             PostgreSQL refuses a policy for reading that reads its own table; one `FOR INSERT` does not see \
             the new row, and may accept it wrongly",
            SqlName::path(&row.table)
        )
    })
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
