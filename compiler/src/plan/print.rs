//! x
use crate::ir::Program;
use crate::specialise::clause::{Adornment, Relation};

/// The name of a relation with what is known of each position.
pub(super) fn heading(program: &Program, relation: &Relation) -> String {
    let name =
        program.predicates.get_index(relation.pred.index()).map_or("", |predicate| predicate.name.as_str());
    let ty = |ty: Option<crate::ir::TypeId>| {
        ty.and_then(|ty| program.types.get(ty.index())).map_or("any", |ty| ty.name.as_str()).to_owned()
    };
    let args = relation.adornments.iter().map(|adornment| match adornment {
        Adornment::Literal(literal) => {
            program.constants.get_index(literal.index()).map_or("?".into(), |c| format!("{:?}", c.text))
        }
        Adornment::Column(t) => ty(Some(*t)),
        Adornment::Tested(t) => format!("{}?", ty(*t)),
        Adornment::Unconstrained(t) => format!("{}*", ty(*t)),
    });
    format!("{name}({})", args.collect::<Vec<_>>().join(", "))
}
