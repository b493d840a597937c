//! A policy's text as a program, and the tables that its facts would live in.

use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::check;
use portcullis_compiler::diagnostic::Severity;
use portcullis_compiler::ir::{Program, SignatureArg, TypeKind};
use portcullis_compiler::source::SourceMap;
use std::collections::BTreeSet;

/// The program, or the titles of all that is wrong with it.
pub(crate) fn program(text: &str) -> Result<Program, String> {
    let checked = check(&SourceMap::new("policy.polar", text));
    let errors = checked.diagnostics.iter().filter(|found| found.severity() == Severity::Error);
    let titles = errors.map(|found| format!("{}: {}", found.code.as_str(), found.title));
    let titles: Vec<String> = titles.collect();
    checked.program.ok_or_else(|| titles.join("\n"))
}

/// One table for each shape of fact that the policy can store, named after the shape.
pub(crate) fn tables(program: &Program) -> Catalog {
    let is_storable = |kind: TypeKind| match kind {
        TypeKind::Primitive | TypeKind::Actor | TypeKind::Resource | TypeKind::Plain => true,
        TypeKind::Abstract | TypeKind::Foreign => false,
    };
    let all = program.types.iter().filter(|ty| is_storable(ty.kind)).map(|ty| ty.name.clone());
    let all: Vec<String> = all.collect();
    let mut shapes = BTreeSet::new();
    for signature in &program.signatures {
        let mut combinations: Vec<Vec<String>> = vec![Vec::new()];
        for arg in &signature.args {
            let types = match arg {
                SignatureArg::OneOf(types) => {
                    types.iter().map(|ty| program.types[ty.index()].name.clone()).collect()
                }
                SignatureArg::Literal(_) => vec!["String".to_owned()],
                SignatureArg::Any => all.clone(),
            };
            let longer = |args: &Vec<String>| {
                types.iter().map(|ty| [args.as_slice(), &[ty.clone()]].concat()).collect::<Vec<_>>()
            };
            combinations = combinations.iter().flat_map(longer).collect();
        }
        shapes.extend(combinations.into_iter().map(|types| (signature.predicate.clone(), types)));
    }
    let relation = |(predicate, types): (String, Vec<String>)| {
        let column = |(at, ty)| RelationArg::Column { ty, column: format!("arg{at}") };
        let name = format!("{predicate}_{}", types.join("_")).to_lowercase();
        let args = types.into_iter().enumerate().map(column).collect();
        Relation { predicate, args, source: RelationSource::Table { name } }
    };
    Catalog { relations: shapes.into_iter().map(relation).collect() }
}
