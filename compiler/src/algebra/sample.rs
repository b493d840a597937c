//! Selects and values for the unit tests of plans.

use super::{Alias, Condition, Expr, From, FromKind, Select};
use crate::catalog::{BindingId, Catalog, ColumnId, Relation, RelationArg, RelationSource, SourceId};
use crate::ir::{CompareOp, ConstId, QuestionVarId};

/// Tables that hold the facts of these predicates, with the types of their columns.
pub(crate) fn catalog(predicates: &[(&str, &[&str])]) -> Catalog {
    let column = |ty: &&str| RelationArg::Column { ty: (*ty).to_owned(), column: "c".to_owned() };
    let relations = predicates.iter().map(|(predicate, types)| Relation {
        predicate: (*predicate).to_owned(),
        args: types.iter().map(column).collect(),
        source: RelationSource::Table { schema: None, name: (*predicate).to_owned() },
    });
    Catalog { relations: relations.collect() }
}

/// The same as bound queries, in their order.
pub(crate) fn bound_catalog(predicates: &[(&str, &[&str])]) -> Catalog {
    let mut catalog = catalog(predicates);
    for (binding, relation) in catalog.relations.iter_mut().enumerate() {
        let binding = BindingId::from_index(binding);
        relation.source = RelationSource::Bound { binding, has_typed_texts: false };
    }
    catalog
}

/// A column of a source.
pub(crate) fn column(alias: usize, column: u32) -> Expr {
    Expr::Column { alias: Alias::of_number(alias), column: ColumnId(column) }
}

/// The value of a question's variable.
pub(crate) fn given(var: u32) -> Expr {
    Expr::Given(QuestionVarId(var))
}

/// A literal.
pub(crate) fn literal(place: usize) -> Expr {
    Expr::Const(ConstId::from_index(place))
}

/// The condition that two values are equal.
pub(crate) fn equal(left: Expr, right: Expr) -> Condition {
    Condition::Compare { op: CompareOp::Equal, left, right }
}

/// A source that reads the relation at this place.
pub(crate) fn source(place: usize) -> FromKind {
    FromKind::Source(SourceId::from_index(place))
}

/// A select of sources, each with its alias.
pub(crate) fn read(from: &[(usize, FromKind)], filter: Vec<Condition>, output: Vec<Expr>) -> Select {
    let from = from.iter().map(|(alias, kind)| From { alias: Alias::of_number(*alias), kind: *kind });
    Select { from: from.collect(), filter, output: output.into() }
}

/// A select of one source, without conditions.
pub(crate) fn reading(alias: usize, kind: FromKind, output: Vec<Expr>) -> Select {
    read(&[(alias, kind)], Vec::new(), output)
}
