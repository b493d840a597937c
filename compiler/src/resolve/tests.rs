//! Tests of the resolver, from policy text to printed rules.
use super::*;
use crate::diagnostic::{render, settle};
use crate::ir::print;
use crate::syntax;

fn resolved(text: &str) -> (Option<Program>, Vec<Diagnostic>, SourceMap) {
    let source = SourceMap::new("p.polar", text);
    let (policy, mut found) = syntax::parse(&source);
    let (program, more) = resolve(&source, &policy);
    found.extend(more);
    (program, settle(found), source)
}

#[test]
fn scratch() {
    let text = std::fs::read_to_string(std::env::var("SCRATCH").unwrap_or_default()).unwrap_or_default();
    let (program, found, source) = resolved(&text);
    println!("{}", render::render_all(&source, &found));
    if let Some(program) = program {
        println!(
            "{}\n{}\n{:#?}\n{:?}",
            print::program(&program),
            print::signatures(&program),
            program.blocks,
            program.tests
        );
    }
}
