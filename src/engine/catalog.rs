//! The relations that a hosted check reads: the store's tables and the request's context facts.
//!
//! In: the store's relations and a policy, or the facts of one request. Out: relations for the compiler. A
//! hosted check is then like a local check whose bindings are generated. Stored relations of a type that the
//! policy does not mention cannot match and are left out, which keeps the statements of a small policy small
//! even if the store is large.
//!
//! Context facts are grouped by signature, with parameters for each, so a statement depends only on which
//! signatures are present, not on the facts. They are JSON for the embedded store, and arrays of the columns
//! for a store on PostgreSQL.

use crate::store::{Fact, Param, Relations, StoredArg, StoredRelation};
use portcullis_compiler::StoreDialect;
use portcullis_compiler::catalog::{Catalog, ColumnId, ContextId, Relation, RelationArg, RelationSource};
use portcullis_compiler::compact::{Compact, compact};
use portcullis_compiler::id_vec::IdVec;
use portcullis_compiler::ir::Program;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The signature of context facts: predicate and argument types.
pub(super) type ContextSignature = (String, Vec<String>);

/// The context facts of one request, by signature.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// The signatures, sorted.
    pub(super) signatures: Vec<ContextSignature>,
    store: StoreDialect,
    /// The rows of each.
    rows: IdVec<ContextId, ContextRows>,
}

/// The context facts of a signature.
#[derive(Clone, Debug)]
enum ContextRows {
    /// A JSON array of arrays of values.
    Json(String),
    /// The values of each column.
    Columns(IdVec<ColumnId, Arc<[String]>>),
}

impl ContextRows {
    fn of(rows: &BTreeSet<Vec<&str>>, n_columns: usize, store: StoreDialect) -> Self {
        match store {
            StoreDialect::Sqlite => {
                let row = |row: &Vec<&str>| row.iter().map(|id| json(id)).collect::<serde_json::Value>();
                Self::Json(rows.iter().map(row).collect::<serde_json::Value>().to_string())
            }
            StoreDialect::Postgresql => {
                let column = |idx: usize| {
                    let ids = rows.iter().filter_map(|row| row.get(idx));
                    ids.map(|id| (*id).to_owned()).collect::<Arc<[String]>>()
                };
                let columns: Vec<_> = (0..n_columns).map(column).collect();
                Self::Columns(columns.into())
            }
        }
    }
}

impl Context {
    /// Groups facts for the statements of a store. Duplicates count once.
    pub(super) fn of(facts: &[Fact], store: StoreDialect) -> Self {
        let mut groups: BTreeMap<ContextSignature, BTreeSet<Vec<&str>>> = BTreeMap::new();
        for fact in facts {
            let types = fact.args.iter().map(|arg| arg.ty.clone()).collect();
            let row = fact.args.iter().map(|arg| arg.id.as_str()).collect();
            groups.entry((fact.predicate.clone(), types)).or_default().insert(row);
        }
        let mut context = Self { signatures: Vec::new(), store, rows: IdVec::new() };
        for (signature, rows) in groups {
            context.rows.push(ContextRows::of(&rows, signature.1.len(), store));
            context.signatures.push(signature);
        }
        context
    }

    /// The parameter with the rows of a signature, if the store's statements read them so.
    pub(super) fn rows(&self, slot: ContextId) -> Option<Param> {
        match self.rows.find(slot)? {
            ContextRows::Json(rows) => Some(Param::Json(rows.clone())),
            ContextRows::Columns(_) => None,
        }
    }

    /// The parameter with a column of a signature, if the store's statements read them so.
    pub(super) fn column(&self, slot: ContextId, column: ColumnId) -> Option<Param> {
        match self.rows.find(slot)? {
            ContextRows::Json(_) => None,
            ContextRows::Columns(columns) => {
                columns.find(column).map(|values| Param::Values(Arc::clone(values)))
            }
        }
    }

    /// The parameter with several values of a variable.
    pub(super) fn values(&self, texts: &[String]) -> Param {
        match self.store {
            StoreDialect::Sqlite => {
                Param::Json(texts.iter().map(|text| json(text)).collect::<serde_json::Value>().to_string())
            }
            StoreDialect::Postgresql => Param::Values(texts.into()),
        }
    }
}

/// The store's relations that a policy can read.
pub(super) fn stored(program: &Program, relations: &Relations) -> Vec<Relation> {
    let Relations { schema, relations, .. } = relations;
    let known =
        |relation: &&StoredRelation| relation.args.iter().all(|arg| program.type_id(arg.ty()).is_some());
    let arg = |(idx, arg): (usize, &StoredArg)| match arg {
        StoredArg::Column(ty) => RelationArg::Column { ty: ty.clone(), column: StoredRelation::column(idx) },
        StoredArg::Fixed(ty, text) => RelationArg::Constant { ty: ty.clone(), text: text.clone() },
    };
    let relation = |relation: &StoredRelation| Relation {
        predicate: relation.predicate.clone(),
        args: relation.args.iter().enumerate().map(arg).collect(),
        source: RelationSource::Table { schema: schema.clone(), name: relation.table.clone() },
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
        let facts = [
            fact("has_role", &["User:b", "String:x", "Repo:r"]),
            fact("banned", &["User:b"]),
            fact("has_role", &["User:a", "String:\"", "Repo:r"]),
            fact("has_role", &["User:b", "String:x", "Repo:r"]),
        ];
        let context = Context::of(&facts, StoreDialect::Sqlite);
        assert_eq!(context.signatures.len(), 2);
        let json = |text: &str| Some(Param::Json(text.to_owned()));
        assert_eq!(context.rows(ContextId(0)), json(r#"[["b"]]"#));
        assert_eq!(context.rows(ContextId(1)), json(r#"[["a","\"","r"],["b","x","r"]]"#));
        assert_eq!(context.rows(ContextId(2)), None);
        assert_eq!(context.column(ContextId(0), ColumnId(0)), None);
        let columns = Context::of(&facts, StoreDialect::Postgresql);
        assert_eq!(columns.signatures, context.signatures);
        let values =
            |texts: &[&str]| Some(Param::Values(texts.iter().map(|text| (*text).to_owned()).collect()));
        assert_eq!(columns.column(ContextId(1), ColumnId(0)), values(&["a", "b"]));
        assert_eq!(columns.column(ContextId(1), ColumnId(2)), values(&["r", "r"]));
        assert_eq!(columns.column(ContextId(1), ColumnId(3)), None);
        assert_eq!(columns.rows(ContextId(0)), None);
    }

    #[test]
    fn a_relation_of_a_foreign_type_is_left_out() {
        let program = program("declare has_role(User, String, Repo);");
        let relation = |ty: &str| StoredRelation {
            predicate: "has_role".into(),
            args: ["User", "String", ty].map(|ty| StoredArg::Column(ty.into())).to_vec(),
            table: format!("f_{ty}"),
        };
        let relations = vec![relation("Repo"), relation("Lab")];
        let stored = stored(&program, &Relations { relations, ..Relations::default() });
        let context = [("has_role".to_owned(), vec!["User".to_owned()])];
        let catalog = catalog(&stored, &context);
        let sources: Vec<_> = catalog.relations.iter().map(|relation| &relation.source).collect();
        let table = RelationSource::Table { schema: None, name: "f_Repo".into() };
        assert_eq!(sources, [&table, &RelationSource::Context { slot: ContextId(0) }]);
    }
}
