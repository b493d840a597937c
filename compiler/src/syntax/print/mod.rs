//! The formatter: prints a syntax tree as policy text.
//!
//! In: a [`Policy`]. Out: its canonical text, which parses to the same tree except for spans. Parentheses are
//! kept as written; comments are lost, because the tree has none. A rule too long for one line is broken,
//! with one condition per line.

mod condition;
mod term;

use super::ast::{
    Assertion, Block, BlockKind, Declare, Fixture, Item, Member, Name, Policy, Rule, Setup, Shorthand, Test,
};
use crate::spelling::quoted;
use condition::{condition, short_condition};
use term::{call, list, param, short};

/// Longest line, in characters, before a condition is broken.
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

/// Rules of one predicate, and `declare`s, are not separated by an empty line.
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

/// A head and its condition, on one line if it fits, otherwise with each part on its own line.
fn with_condition(head: &str, keyword: &str, parts: &[String], indent: &str) -> String {
    let line = format!("{head}{keyword} {};", parts.join(" "));
    if parts.len() == 1 || indent.len() + line.chars().count() <= WIDTH {
        return line;
    }
    format!("{head}{keyword}\n{indent}  {};", parts.join(&format!("\n{indent}  ")))
}

/// Lines between braces, indented one level deeper than the opening line.
fn braces(lines: impl Iterator<Item = String>, indent: &str) -> String {
    let lines: Vec<String> = lines.map(|line| format!("{indent}  {line}")).collect();
    if lines.is_empty() { "{}".to_owned() } else { format!("{{\n{}\n{indent}}}", lines.join("\n")) }
}
