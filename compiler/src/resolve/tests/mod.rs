//! Tests of the resolver, from policy text to printed rules, signatures and findings.

mod blocks;
mod cases;
mod inference;
mod limits;
mod lints;
mod mistakes;
mod rules;
mod semantics;
mod shorthand;
mod signatures;

use crate::diagnostic::{Severity, settle};
use crate::ir::{Program, print};
use crate::source::SourceMap;
use crate::syntax;

/// The findings, and the program if there is one.
fn resolved(text: &str) -> (Option<Program>, String) {
    let source = SourceMap::new("policy.polar", text);
    let (policy, mut found) = syntax::parse(&source);
    let (program, more) = super::resolve(&source, &policy);
    found.extend(more);
    let refused = found.iter().any(|found| found.severity() == Severity::Error);
    let program = program.filter(|_| !refused);
    let shown = settle(found).into_iter().map(|found| {
        let at = source.locate(found.primary.span);
        let fix = found.fix.map(|fix| format!(" -> {}", fix.replacement)).unwrap_or_default();
        let snippet = source.snippet(found.primary.span).lines().next().unwrap_or("");
        format!("{} {}:{} [{snippet}] {}{fix}\n", found.code, at.line, at.column, found.title)
    });
    (program, shown.collect())
}

/// Errors and lints, one per line: code, position, text under the carets, title, fix.
fn findings(text: &str) -> String {
    resolved(text).1
}

/// The program of a policy without errors.
fn program(text: &str) -> Program {
    let (program, found) = resolved(text);
    program.unwrap_or_else(|| panic!("the policy is refused:\n{found}"))
}

/// The policy's rules, without the implied ones.
fn rules(text: &str) -> String {
    let program = program(text);
    let implied = |line: &&str| !line.starts_with("allow(actor, action: String");
    print::rules(&program).lines().filter(implied).collect::<Vec<_>>().join("\n")
}

/// The signatures, without those of the implied entry points.
fn signatures(text: &str) -> String {
    let program = program(text);
    let implied = [
        "allow(_, String)",
        "allow(_, String, _)",
        "has_permission(_, String)",
        "has_permission(_, String, _)",
    ];
    let shown = print::signatures(&program);
    shown.lines().filter(|line| !implied.contains(line)).collect::<Vec<_>>().join("\n")
}
