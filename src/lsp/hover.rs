//! What is known at a position: the rule in longhand with the types of its variables, and the facts that it
//! reads; or the facts and rules of a predicate.

use super::document::Document;
use super::position;
use gen_lsp_types::{Hover, MarkupContent, MarkupKind, Position};
use portcullis_compiler::ir::{LiteralKind, Program, Rule, print};
use portcullis_compiler::source::Span;
use portcullis_compiler::syntax::names::{Named, names};
use std::collections::BTreeSet;
use std::fmt::Write;

/// How many rules are shown; a shorthand rule has one for each alternative of its body.
const RULES: usize = 12;

/// What is shown at a position; nothing while the policy has errors.
pub(super) fn hover(document: &Document, at: Position) -> Option<Hover> {
    let program = document.program.as_ref()?;
    let byte = position::byte(&document.source, at);
    let holds = |span: Span| (span.start as usize..=span.end as usize).contains(&byte);
    let predicate = names(&document.policy).into_iter().find_map(|name| match name.named {
        Named::Predicate(predicate, arity) if holds(name.span) => Some((predicate, arity, name.span)),
        Named::Predicate(_, _) | Named::Type(_) | Named::Declared(_, _) => None,
    });
    let (text, span) = if let Some((predicate, arity, span)) = predicate {
        (of_predicate(program, predicate, arity), span)
    } else {
        // An implied rule stands nowhere.
        let is_here = |rule: &&Rule| rule.span.start < rule.span.end && holds(rule.span);
        let rules: Vec<&Rule> = program.rules.iter().filter(is_here).collect();
        (of_rules(program, &rules), rules.first()?.span)
    };
    let contents = MarkupContent::new(MarkupKind::Markdown, text);
    Some(Hover::new(contents.into(), Some(position::range(&document.source, span))))
}

/// The rules of a predicate, and what may be stored of it.
fn of_predicate(program: &Program, name: &str, arity: usize) -> String {
    let is_its = |rule: &&Rule| {
        let head = program.predicates.get_index(rule.head.index());
        head.is_some_and(|head| head.name == name && head.arity == arity)
    };
    let rules: Vec<&Rule> = program.rules.iter().filter(is_its).collect();
    let mut text = String::new();
    if !rules.is_empty() {
        code(&mut text, rules.iter().map(|rule| print::rule(program, rule)));
    }
    let facts = facts(program, |predicate, n_args| predicate == name && n_args == arity);
    stored(&mut text, "May be stored", &facts);
    text
}

/// Rules in longhand, and the facts that they read.
fn of_rules(program: &Program, rules: &[&Rule]) -> String {
    let mut text = String::new();
    code(&mut text, rules.iter().map(|rule| print::rule(program, rule)));
    let read: BTreeSet<(&str, usize)> = rules.iter().flat_map(|rule| reads(program, rule)).collect();
    let facts = facts(program, |predicate, n_args| read.contains(&(predicate, n_args)));
    stored(&mut text, "Reads facts", &facts);
    text
}

/// The predicates in the body of a rule.
fn reads<'p>(program: &'p Program, rule: &'p Rule) -> impl Iterator<Item = (&'p str, usize)> {
    rule.body.iter().filter_map(|literal| match &literal.kind {
        LiteralKind::Atom { pred, .. } => {
            let predicate = program.predicates.get_index(pred.index())?;
            Some((predicate.name.as_str(), predicate.arity))
        }
        LiteralKind::Compare { .. }
        | LiteralKind::OneOf { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => None,
    })
}

/// The kinds of facts of the wanted predicates.
fn facts(program: &Program, wanted: impl Fn(&str, usize) -> bool) -> Vec<String> {
    let signatures = program.signatures.iter();
    let wanted = signatures.filter(|signature| wanted(&signature.predicate, signature.args.len()));
    wanted.map(|signature| print::signature(program, signature)).collect()
}

fn stored(text: &mut String, title: &str, facts: &[String]) {
    if !facts.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title}:\n");
        code(text, facts.iter().cloned());
    }
}

/// Lines as a block of code.
fn code(text: &mut String, lines: impl ExactSizeIterator<Item = String>) {
    let n_left = lines.len().saturating_sub(RULES);
    text.push_str("```polar\n");
    for line in lines.take(RULES) {
        text.push_str(&line);
        text.push('\n');
    }
    if n_left > 0 {
        let _ = writeln!(text, "# and {n_left} more");
    }
    text.push_str("```\n");
}
