//! A policy's text as a program, and the tables that facts would live in.

use super::notation::Fact;
use portcullis_compiler::catalog::{Catalog, Relation, RelationArg, RelationSource};
use portcullis_compiler::check;
use portcullis_compiler::diagnostic::Severity;
use portcullis_compiler::ir::Program;
use portcullis_compiler::source::SourceMap;
use std::collections::BTreeSet;

/// The program, or the titles of all that is wrong with it.
pub fn program(text: &str) -> Result<Program, String> {
    let checked = check(&SourceMap::new("policy.polar", text));
    let errors = checked.diagnostics.iter().filter(|found| found.severity() == Severity::Error);
    let titles = errors.map(|found| format!("{}: {}", found.code.as_str(), found.title));
    let titles: Vec<String> = titles.collect();
    checked.program.ok_or_else(|| titles.join("\n"))
}

/// One table for each shape of these facts, named after the shape.
pub fn tables(facts: &[Fact]) -> Catalog {
    let types = |fact: &Fact| fact.args.iter().map(|arg| arg.ty.clone()).collect::<Vec<String>>();
    let shapes: BTreeSet<_> = facts.iter().map(|fact| (fact.predicate.clone(), types(fact))).collect();
    let relation = |(predicate, types): (String, Vec<String>)| {
        let column = |(at, ty)| RelationArg::Column { ty, column: format!("arg{at}") };
        let name = format!("{predicate}_{}", types.join("_")).to_lowercase();
        let args = types.into_iter().enumerate().map(column).collect();
        Relation { predicate, args, source: RelationSource::Table { schema: None, name } }
    };
    Catalog { relations: shapes.into_iter().map(relation).collect() }
}
