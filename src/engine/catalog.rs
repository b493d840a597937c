//! The relations that a hosted check reads: the store's tables and the request's context facts.
//!
//! In: the store's relations and a policy, or the facts of one request. Out: relations for the compiler. A
//! hosted check is then like a local check whose bindings are generated. Stored relations of a type that the
//! policy does not mention cannot match and are left out, which keeps the statements of a small policy small
//! even if the store is large.
//!
//! Context facts are grouped by signature, with one parameter for each, so a statement depends only on which
//! signatures are present, not on the facts.

use crate::store::{Fact, StoredArg, StoredRelation};
use portcullis_compiler::catalog::{Catalog, ContextId, Relation, RelationArg, RelationSource};
use portcullis_compiler::compact::{Compact, compact};
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::ir::Program;
use std::collections::{BTreeMap, BTreeSet};

/// The signature of context facts: predicate and argument types.
pub(super) type ContextSignature = (String, Vec<String>);

/// The context facts of one request, by signature.
#[derive(Clone, Debug, Default)]
pub(super) struct Context {
    /// One signature per parameter, sorted.
    pub(super) signatures: Vec<ContextSignature>,
    /// The rows for each, as a JSON array of arrays of values.
    rows: IdVec<ContextId, String>,
}

impl Context {
    /// Groups facts. Duplicates count once.
    pub(super) fn of(facts: &[Fact]) -> Self {
        let mut groups: BTreeMap<ContextSignature, BTreeSet<Vec<&str>>> = BTreeMap::new();
        for fact in facts {
            let types = fact.args.iter().map(|arg| arg.ty.clone()).collect();
            let row = fact.args.iter().map(|arg| arg.id.as_str()).collect();
            groups.entry((fact.predicate.clone(), types)).or_default().insert(row);
        }
        let mut context = Self::default();
        for (signature, rows) in groups {
            let row = |row: &Vec<&str>| row.iter().map(|id| json(id)).collect::<serde_json::Value>();
            context.signatures.push(signature);
            context.rows.push(rows.iter().map(row).collect::<serde_json::Value>().to_string());
        }
        context
    }

    /// The rows for a parameter.
    pub(super) fn rows(&self, slot: ContextId) -> Option<&str> {
        self.rows.find(slot).map(String::as_str)
    }
}

/// The store's relations that a policy can read.
pub(super) fn stored(program: &Program, relations: &[StoredRelation]) -> Vec<Relation> {
    let known =
        |relation: &&StoredRelation| relation.args.iter().all(|arg| program.type_id(arg.ty()).is_some());
    let arg = |(idx, arg): (usize, &StoredArg)| match arg {
        StoredArg::Column(ty) => RelationArg::Column { ty: ty.clone(), column: StoredRelation::column(idx) },
        StoredArg::Fixed(ty, text) => RelationArg::Constant { ty: ty.clone(), text: text.clone() },
    };
    let relation = |relation: &StoredRelation| Relation {
        predicate: relation.predicate.clone(),
        args: relation.args.iter().enumerate().map(arg).collect(),
        source: RelationSource::Table { schema: None, name: relation.table.clone() },
    };
    relations.iter().filter(known).map(relation).collect()
}

/// Stored relations and context relations together.
pub(super) fn catalog(stored: &[Relation], context: &[ContextSignature]) -> Catalog {
    let arg = |(idx, ty): (usize, &String)| RelationArg::Column {
        ty: ty.clone(),
        column: StoredRelation::column(idx),
    };
    let context = (0..).map(ContextId).zip(context).map(|(slot, (predicate, types))| Relation {
        predicate: predicate.clone(),
        args: types.iter().enumerate().map(arg).collect(),
        source: RelationSource::Context { slot },
    });
    Catalog { relations: stored.iter().cloned().chain(context).collect() }
}

/// A value in compact form, for the JSON of a parameter.
pub(super) fn json(text: &str) -> serde_json::Value {
    match compact(text) {
        Compact::Integer(number) => number.into(),
        Compact::Text(form) => form.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{fact, program};
    use super::*;

    #[test]
    fn context_facts_share_a_parameter_by_signature() {
        let context = Context::of(&[
            fact("has_role", &["User:b", "String:x", "Repo:r"]),
            fact("banned", &["User:b"]),
            fact("has_role", &["User:a", "String:\"", "Repo:r"]),
            fact("has_role", &["User:b", "String:x", "Repo:r"]),
        ]);
        assert_eq!(context.signatures.len(), 2);
        assert_eq!(context.rows(ContextId(0)), Some(r#"[["b"]]"#));
        assert_eq!(context.rows(ContextId(1)), Some(r#"[["a","\"","r"],["b","x","r"]]"#));
        assert_eq!(context.rows(ContextId(2)), None);
    }

    #[test]
    fn a_relation_of_a_foreign_type_is_left_out() {
        let program = program("declare has_role(User, String, Repo);");
        let relation = |ty: &str| StoredRelation {
            predicate: "has_role".into(),
            args: ["User", "String", ty].map(|ty| StoredArg::Column(ty.into())).to_vec(),
            table: format!("f_{ty}"),
        };
        let stored = stored(&program, &[relation("Repo"), relation("Lab")]);
        let context = [("has_role".to_owned(), vec!["User".to_owned()])];
        let catalog = catalog(&stored, &context);
        let sources: Vec<_> = catalog.relations.iter().map(|relation| &relation.source).collect();
        let table = RelationSource::Table { schema: None, name: "f_Repo".into() };
        assert_eq!(sources, [&table, &RelationSource::Context { slot: ContextId(0) }]);
    }
}
