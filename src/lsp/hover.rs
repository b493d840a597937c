//! What is known at a position: the rule in longhand with the types of its variables, and the facts that it
//! reads; before it, the types of the variable there; or the facts and rules of a predicate.

use super::document::OpenDocument;
use super::names::{Named, Names};
use super::position;
use gen_lsp_types::{Hover, MarkupContent, MarkupKind, Position};
use portcullis_compiler::ir::{
    LiteralKind, Program, Rule, Signature, SignatureArg, Term, TypeId, VarType, print,
};
use portcullis_compiler::source::Span;
use std::fmt::Write;

/// How many rules are shown; a shorthand rule has one for each alternative of its body.
const RULES: usize = 12;

/// What is shown at a position. Statements with errors are left out.
pub(super) fn hover(document: &OpenDocument, at: Position) -> Option<Hover> {
    let program = document.sound_program()?;
    let byte = position::byte(&document.source, at);
    let names = Names::of(&document.policy);
    // Implied rules have an empty span, and generated ones a name that begins with `'`.
    let is_written =
        |rule: &Rule| rule.span.start < rule.span.end && !program.predicate(rule.head).name.starts_with('\'');
    let holds = |span: Span| (span.start as usize..=span.end as usize).contains(&byte);
    let is_here = |rule: &&Rule| is_written(rule) && holds(rule.span);
    let rules: Vec<&Rule> = program.rules.iter().filter(is_here).collect();
    let named = names.at(byte).find_map(|name| match name.named {
        Named::Predicate(predicate, arity) => Some((of_predicate(program, predicate, arity), name.span)),
        Named::Variable(_, variable) => Some((of_variable(program, variable, &rules)?, name.span)),
        Named::Type(_) | Named::Declared(_) | Named::Fixture(_) => None,
    });
    let (text, span) = match named {
        Some(known) => known,
        None => (of_rules(program, &rules), rules.first()?.span),
    };
    if text.is_empty() {
        return None;
    }
    let contents = MarkupContent::new(MarkupKind::Markdown, text);
    Some(Hover::new(contents.into(), Some(position::range(&document.source, span))))
}

/// A variable with the types that it has in rules, and these rules.
fn of_variable(program: &Program, variable: &str, rules: &[&Rule]) -> Option<String> {
    let vars = rules.iter().flat_map(|rule| &rule.vars).filter(|var| var.name == variable);
    let mut types: Vec<TypeId> = Vec::new();
    for var in vars {
        match &var.ty {
            VarType::OneOf(possible) => types.extend(possible),
            VarType::Any => return Some(of_rules(program, rules)),
        }
    }
    types.sort_unstable();
    types.dedup();
    let names: Vec<&str> = types.iter().filter_map(|ty| program.types[*ty].named()).collect();
    let shown = match names.as_slice() {
        [] => return (!rules.is_empty()).then(|| of_rules(program, rules)),
        [name] => format!("{variable}: {name}"),
        names => format!("{variable}: {{{}}}", names.join(", ")),
    };
    let mut text = String::new();
    code(&mut text, std::iter::once(shown));
    text.push_str(&of_rules(program, rules));
    Some(text)
}

/// The rules of a predicate, and what may be stored of it.
fn of_predicate(program: &Program, name: &str, arity: usize) -> String {
    let predicate = program.predicate_id(name, arity);
    let rules: Vec<&Rule> = program.rules.iter().filter(|rule| Some(rule.head) == predicate).collect();
    let mut text = String::new();
    if !rules.is_empty() {
        code(&mut text, rules.iter().map(|rule| print::rule(program, rule)));
    }
    let is_its = |fact: &&Signature| fact.predicate == name && fact.args.len() == arity;
    stored(&mut text, "May be stored", program, program.signatures.iter().filter(is_its));
    text
}

/// Rules in longhand, and the facts that they read.
fn of_rules(program: &Program, rules: &[&Rule]) -> String {
    let mut text = String::new();
    code(&mut text, rules.iter().map(|rule| print::rule(program, rule)));
    let is_read = |signature: &&Signature| rules.iter().any(|rule| reads(program, rule, signature));
    stored(&mut text, "Reads facts", program, program.signatures.iter().filter(is_read));
    text
}

/// Whether a condition of a rule may be such a fact.
fn reads(program: &Program, rule: &Rule, signature: &Signature) -> bool {
    rule.body.iter().any(|literal| match &literal.kind {
        LiteralKind::Atom { pred, args, .. } => {
            program.predicate(*pred).name == signature.predicate
                && args.len() == signature.args.len()
                && args.iter().zip(&signature.args).all(|(term, arg)| agrees(program, rule, *term, arg))
        }
        LiteralKind::Compare { .. }
        | LiteralKind::OneOf { .. }
        | LiteralKind::NotOfType { .. }
        | LiteralKind::False => false,
    })
}

/// Whether a term may be an argument of a fact.
fn agrees(program: &Program, rule: &Rule, term: Term, arg: &SignatureArg) -> bool {
    let (types, text) = match arg {
        SignatureArg::Any => return true,
        SignatureArg::OneOf(types) => (types.as_slice(), None),
        SignatureArg::Literal(text) => ([TypeId::STRING].as_slice(), Some(text)),
    };
    match term {
        Term::Var(var) => match &rule.vars[var].ty {
            VarType::OneOf(possible) => types.iter().any(|ty| possible.contains(ty)),
            VarType::Any => true,
        },
        Term::Const(id) => {
            let constant = program.literal(id);
            types.contains(&constant.ty) && text.is_none_or(|text| *text == constant.text)
        }
        Term::Now => types.contains(&TypeId::INTEGER),
    }
}

fn stored<'p>(text: &mut String, title: &str, program: &Program, facts: impl Iterator<Item = &'p Signature>) {
    let facts: Vec<String> = facts.map(|fact| print::signature(program, fact)).collect();
    if !facts.is_empty() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{title}:\n");
        code(text, facts.into_iter());
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
