//! Syntax tree to policy text: the formatter.
//!
//! In: a [`Policy`]. Out: its one canonical text. Reading that text gives the same tree again, spans
//! aside. Parentheses are printed where they were written, no more; comments are not in the tree and so
//! not in the text. A rule too long for its line goes on below, one condition a line.

mod condition;

use super::ast::{
    Assertion, Block, BlockKind, Call, Declare, Fixture, Item, Member, Name, Param, Policy, Rule, Setup,
    Short, Shorthand, Spanned, Term, Test,
};
use super::token::Kind;
use crate::primitive::Primitive;
use condition::{condition, short_condition};

/// Columns that a line may take before a condition is broken.
const WIDTH: usize = 100;

/// The canonical text of a policy.
pub fn print(policy: &Policy) -> String {
    let mut text = String::new();
    let mut previous: Option<&Item> = None;
    for item in &policy.items {
        if previous.is_some_and(|previous| !stand_together(previous, item)) {
            text.push('\n');
        }
        text.push_str(&print_item(item));
        previous = Some(item);
    }
    text
}

/// Rules of one predicate, and `declare`s, stand without an empty line between them.
fn stand_together(above: &Item, below: &Item) -> bool {
    match (above, below) {
        (Item::Rule(above), Item::Rule(below)) => above.name.value == below.name.value,
        (Item::Declare(_), Item::Declare(_)) => true,
        _ => false,
    }
}

fn print_item(item: &Item) -> String {
    match item {
        Item::Block(block) => print_block(block),
        Item::Rule(rule) => print_rule(rule),
        Item::Declare(Declare { name, types, .. }) => {
            format!("declare {}({});\n", name.value, list(types, |ty| ty.value.clone()))
        }
        Item::Fixture(Fixture { name, facts, .. }) => {
            let lines = facts.iter().map(|fact| format!("{};", call(fact)));
            format!("test fixture {} {}\n", name.value, braces(lines, ""))
        }
        Item::Test(test) => print_test(test),
    }
}

fn print_block(block: &Block) -> String {
    let head = match block.kind {
        BlockKind::Actor => format!("actor {}", block.name.value),
        BlockKind::Resource => format!("resource {}", block.name.value),
        BlockKind::Global => "global".to_owned(),
    };
    let extends = match block.extends.as_slice() {
        [] => String::new(),
        names => format!(" extends {}", list(names, |name| name.value.clone())),
    };
    format!("{head}{extends} {}\n", braces(block.members.iter().map(print_member), ""))
}

fn print_member(member: &Member) -> String {
    let strings = |names: &[Name]| list(names, |name| quoted(&name.value));
    match member {
        Member::Roles(roles) => format!("roles = [{}];", strings(&roles.names)),
        Member::Permissions(permissions) => format!("permissions = [{}];", strings(&permissions.names)),
        Member::Relations(relations) if relations.relations.is_empty() => "relations = {};".to_owned(),
        Member::Relations(relations) => {
            let pairs = list(&relations.relations, |(name, ty)| format!("{}: {}", name.value, ty.value));
            format!("relations = {{ {pairs} }};")
        }
        Member::Shorthand(Shorthand { head, body, .. }) => {
            with_condition(&short(&head.value), " if", &short_condition(body), "  ")
        }
    }
}

fn print_rule(rule: &Rule) -> String {
    let head = format!("{}({})", rule.name.value, list(&rule.params, param));
    match &rule.body {
        None => format!("{head};\n"),
        Some(body) => with_condition(&head, " if", &condition(body), "") + "\n",
    }
}

fn print_test(test: &Test) -> String {
    let facts = test.setup.iter().map(|line| match line {
        Setup::Fact(fact) => format!("{};", call(fact)),
        Setup::Fixture(name) => format!("fixture {};", name.value),
    });
    let setup = (!test.setup.is_empty()).then(|| format!("setup {}", braces(facts, "  ")));
    let lines = setup.into_iter().chain(test.assertions.iter().map(print_assertion));
    format!("test {} {}\n", quoted(&test.name.value), braces(lines, ""))
}

fn print_assertion(assertion: &Assertion) -> String {
    let keyword = if assertion.positive { "assert" } else { "assert_not" };
    let head = format!("{keyword} {}({})", assertion.name.value, list(&assertion.params, param));
    match &assertion.iff {
        None => format!("{head};"),
        Some(iff) => with_condition(&head, " iff", &condition(iff), "  "),
    }
}

/// A head and its condition: on one line if that is short, else each part of it on a line of its own.
fn with_condition(head: &str, keyword: &str, parts: &[String], indent: &str) -> String {
    let line = format!("{head}{keyword} {};", parts.join(" "));
    if parts.len() == 1 || indent.len() + line.chars().count() <= WIDTH {
        return line;
    }
    format!("{head}{keyword}\n{indent}  {};", parts.join(&format!("\n{indent}  ")))
}

/// Lines between braces, indented once more than the line that opens them.
fn braces(lines: impl Iterator<Item = String>, indent: &str) -> String {
    let lines: Vec<String> = lines.map(|line| format!("{indent}  {line}")).collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n{indent}}}", lines.join("\n")) }
}

fn list<T>(items: &[T], print: impl Fn(&T) -> String) -> String {
    items.iter().map(print).collect::<Vec<_>>().join(", ")
}

fn param(param: &Param) -> String {
    match &param.ty {
        None => term(&param.term),
        Some(ty) => format!("{}: {}", term(&param.term), ty.value),
    }
}

fn call(call: &Call) -> String {
    format!("{}({})", call.name.value, list(&call.args, term))
}

fn term(term: &Spanned<Term>) -> String {
    match &term.value {
        Term::String(text) => quoted(text),
        Term::Integer(number) => number.to_string(),
        Term::Boolean(value) => value.to_string(),
        Term::Object { ty, id } => match Primitive::named(&ty.value) {
            Some(Primitive::Integer | Primitive::Boolean) => format!("{}{{{}}}", ty.value, id.value),
            Some(Primitive::String) | None => format!("{}{{{}}}", ty.value, quoted(&id.value)),
        },
        Term::CurrentUnixTime => Kind::Now.text().to_owned(),
        Term::Variable(name) => name.clone(),
    }
}

fn short(short: &Short) -> String {
    match short {
        Short::Name(name) => quoted(name),
        Short::Role => "role".to_owned(),
        Short::Permission => "permission".to_owned(),
    }
}

/// A text as a string literal, quotes included.
pub(super) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            '\0' => literal.push_str("\\0"),
            _ => literal.push(c),
        }
    }
    literal.push('"');
    literal
}

/// Whether this text, unquoted, would be read as one name.
pub(super) fn is_plain_name(text: &str) -> bool {
    let (tokens, findings) = super::lexer::lex(text);
    findings.is_empty()
        && matches!(tokens.kinds.as_slice(), [kind] if kind.is_name())
        && tokens.spans.iter().all(|span| span.range() == (0..text.len()))
}
