//! Prints a syntax tree as policy text.
//!
//! In: a [`Policy`], and the [`SourceLayout`] of its source or none. Out: a text that parses to the same tree
//! except for spans. Parentheses are kept as written; comments are lost, because the tree has none, and
//! [`format`](super::format) puts them back. What is too long for one line is broken, with one condition or
//! one name per line, and so is what the layout shows broken.

mod condition;
mod layout;
mod term;

use super::ast::{
    Assertion, Block, BlockKind, Declare, Fixture, Item, Member, Name, Policy, Rule, Setup, Shorthand, Test,
};
use super::token::Kind;
use crate::source::Span;
use crate::spelling::quoted;
use condition::{condition, short_condition};
pub(super) use layout::SourceLayout;
use term::{call, list, param, short};

/// Longest line, in characters, before it is broken.
const WIDTH: usize = 100;

/// The brackets of a list.
const SQUARE: [Kind; 2] = [Kind::OpenBracket, Kind::CloseBracket];

/// The canonical text of a policy.
pub fn print(policy: &Policy) -> String {
    Printer { layout: &SourceLayout::default() }.policy(policy)
}

/// The text of a policy that is broken where its source is.
pub(super) fn print_as_laid_out(policy: &Policy, layout: &SourceLayout<'_>) -> String {
    Printer { layout }.policy(policy)
}

/// Whether two items need no empty line between them: neither has braces.
fn may_touch(above: &Item, below: &Item) -> bool {
    let is_line = |item: &Item| matches!(item, Item::Rule(_) | Item::Declare(_));
    is_line(above) && is_line(below)
}

/// Whether the canonical text leaves out the empty line between them: rules of one predicate, and `declare`s.
fn stand_together(above: &Item, below: &Item) -> bool {
    match (above, below) {
        (Item::Rule(above), Item::Rule(below)) => above.name.value == below.name.value,
        (Item::Declare(_), Item::Declare(_)) => true,
        _ => false,
    }
}

/// Prints the parts of a policy.
struct Printer<'l> {
    layout: &'l SourceLayout<'l>,
}

impl Printer<'_> {
    fn policy(&self, policy: &Policy) -> String {
        let touch = if self.layout.is_known() { may_touch } else { stand_together };
        let mut text = String::new();
        let mut previous: Option<&Item> = None;
        for item in &policy.items {
            if previous.is_some_and(|previous| !touch(previous, item)) {
                text.push('\n');
            }
            text.push_str(&self.item(item));
            text.push('\n');
            previous = Some(item);
        }
        text
    }

    fn item(&self, item: &Item) -> String {
        match item {
            Item::Block(block) => self.block(block),
            Item::Rule(rule) => self.rule(rule),
            Item::Declare(Declare { name, types, .. }) => {
                format!("declare {}({});", name.value, list(types, |ty| ty.value.clone()))
            }
            Item::Fixture(Fixture { name, facts, span }) => {
                let lines = facts.iter().map(|fact| format!("{};", call(fact))).collect::<Vec<_>>();
                format!("test fixture {} {}", name.value, self.braces(&lines, "", *span))
            }
            Item::Test(test) => self.test(test),
        }
    }

    fn block(&self, block: &Block) -> String {
        let head = match block.kind {
            BlockKind::Actor => format!("actor {}", block.name.value),
            BlockKind::Resource => format!("resource {}", block.name.value),
            BlockKind::Global => "global".to_owned(),
        };
        let extends = match block.extends.as_slice() {
            [] => String::new(),
            names => format!(" extends {}", list(names, |name| name.value.clone())),
        };
        let members = block.members.iter().map(|member| self.member(member)).collect::<Vec<_>>();
        format!("{head}{extends} {}", self.braces(&members, "", block.span))
    }

    fn member(&self, member: &Member) -> String {
        let strings = |names: &[Name]| names.iter().map(|name| quoted(&name.value)).collect::<Vec<_>>();
        match member {
            Member::Roles(roles) => self.declared("roles", SQUARE, &strings(&roles.names), roles.span),
            Member::Permissions(permissions) => {
                self.declared("permissions", SQUARE, &strings(&permissions.names), permissions.span)
            }
            Member::Relations(relations) => {
                let pair = |(name, ty): &(Name, Name)| format!("{}: {}", name.value, ty.value);
                let pairs: Vec<String> = relations.relations.iter().map(pair).collect();
                self.declared("relations", [Kind::OpenBrace, Kind::CloseBrace], &pairs, relations.span)
            }
            Member::Shorthand(Shorthand { head, body, span }) => {
                self.with_condition(&short(&head.value), Kind::If, &short_condition(body), "  ", *span)
            }
        }
    }

    /// A declaration of a block, on one line or with a line for each item.
    fn declared(&self, word: &str, brackets: [Kind; 2], items: &[String], span: Span) -> String {
        let [opener, _] = brackets;
        let [open, close] = brackets.map(Kind::text);
        let space = if opener == Kind::OpenBrace && !items.is_empty() { " " } else { "" };
        let line = format!("{word} = {open}{space}{}{space}{close};", items.join(", "));
        let is_broken = if items.is_empty() {
            self.layout.has_comment_after(opener, span)
        } else {
            self.layout.is_broken_after(opener, span) || "  ".len() + line.chars().count() > WIDTH
        };
        if !is_broken {
            return line;
        }
        let items = items.iter().map(|item| format!("    {item},"));
        let lines: Vec<String> = std::iter::once(format!("{word} = {open}")).chain(items).collect();
        format!("{}\n  {close};", lines.join("\n"))
    }

    fn rule(&self, rule: &Rule) -> String {
        let head = format!("{}({})", rule.name.value, list(&rule.params, param));
        match &rule.body {
            None => format!("{head};"),
            Some(body) => self.with_condition(&head, Kind::If, &condition(body), "", rule.span),
        }
    }

    fn test(&self, test: &Test) -> String {
        let facts = test.setup.iter().map(|line| match line {
            Setup::Fact(fact) => format!("{};", call(fact)),
            Setup::Fixture(name) => format!("fixture {};", name.value),
        });
        let facts: Vec<String> = facts.collect();
        let setup = if facts.is_empty() && self.layout.has_comment_in_empty(Kind::Setup, test.span) {
            Some("setup {\n  }".to_owned())
        } else {
            (!facts.is_empty()).then(|| format!("setup {}", self.braces(&facts, "  ", Span::default())))
        };
        let assertions = test.assertions.iter().map(|assertion| self.assertion(assertion));
        let lines = setup.into_iter().chain(assertions).collect::<Vec<_>>();
        format!("test {} {}", quoted(&test.name.value), self.braces(&lines, "", test.span))
    }

    fn assertion(&self, assertion: &Assertion) -> String {
        let keyword = if assertion.positive { "assert" } else { "assert_not" };
        let head = format!("{keyword} {}({})", assertion.name.value, list(&assertion.params, param));
        match &assertion.iff {
            None => format!("{head};"),
            Some(iff) => self.with_condition(&head, Kind::Iff, &condition(iff), "  ", assertion.span),
        }
    }

    /// A head and its condition: on one line; or the whole condition on the next line, if the source breaks
    /// only there; or each part of the condition on its own line.
    fn with_condition(&self, head: &str, word: Kind, parts: &[String], indent: &str, span: Span) -> String {
        let head = format!("{head} {}", word.text());
        let body = format!("{};", parts.join(" "));
        let one_line = format!("{head} {body}");
        let two_lines = format!("{head}\n{indent}  {body}");
        let is_broken = self.layout.is_broken_after(word, span);
        if !is_broken && indent.len() + one_line.chars().count() <= WIDTH {
            return one_line;
        }
        let is_broken_once = is_broken && !self.layout.is_broken_further(word, span);
        if is_broken_once && indent.len() + "  ".len() + body.chars().count() <= WIDTH {
            return two_lines;
        }
        format!("{head}\n{indent}  {};", parts.join(&format!("\n{indent}  ")))
    }

    /// Lines between braces, indented one level deeper than the opening line.
    fn braces(&self, lines: &[String], indent: &str, span: Span) -> String {
        if lines.is_empty() && !self.layout.has_comment_after(Kind::OpenBrace, span) {
            return "{}".to_owned();
        }
        let lines = lines.iter().map(|line| format!("{indent}  {line}"));
        let lines: Vec<String> = std::iter::once("{".to_owned()).chain(lines).collect();
        format!("{}\n{indent}}}", lines.join("\n"))
    }
}
