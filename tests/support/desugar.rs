//! Shorthand written out as rules in full, as the language's table has it.
//!
//! In: a policy as [`generate`](super::generate) lays it out, with plain ids, and its words. Out: the same
//! policy, with a rule in full in place of each shorthand line. No code of the compiler is used here: it is
//! the table once more.

use super::vocabulary::{Block, Vocabulary};
use std::fmt::Write;

/// The policy without shorthand.
pub fn desugared(words: &Vocabulary, policy: &str) -> String {
    let (mut text, mut rules) = (String::new(), String::new());
    // The compiler numbers constants in this order, and lists in statements follow the numbers.
    let (mut global, mut outside) = (String::new(), String::new());
    let mut inside: Option<&str> = None;
    for line in policy.lines() {
        match (inside, line.split_once(" if ")) {
            (Some(head), Some((left, right))) => {
                let (left, right) = (left.trim(), right.trim_end_matches(';'));
                match words.blocks.iter().find(|block| block.head == head) {
                    Some(block) => rules.push_str(&rule(words, block, left, right)),
                    None => {
                        let _ =
                            writeln!(global, "{} if {};", of_global(left, ": Actor"), of_global(right, ""));
                    }
                }
            }
            (None, _) if !line.ends_with(['{', '}']) => outside.extend([line, "\n"]),
            _ => {
                text.extend([line, "\n"]);
                inside = if line == "}" { None } else { line.strip_suffix(" {").or(inside) };
            }
        }
    }
    text + &rules + &global + &outside
}

fn of_global(name: &str, ty: &str) -> String {
    let predicate = if name == "\"q0\"" { "has_permission" } else { "has_role" };
    format!("{predicate}(actor{ty}, {name})")
}

/// The rules that a line of a block expands to.
fn rule(words: &Vocabulary, block: &Block, head: &str, body: &str) -> String {
    let own = |block: &Block| if head == "role" { block.roles.clone() } else { block.permissions.clone() };
    let mut text = String::new();
    if !matches!(head, "role" | "permission") {
        let name = head.trim_matches('"');
        write_rule(&mut text, words, block, block.name, name, body);
        return text;
    }
    for name in words.all(block, own) {
        write_rule(&mut text, words, block, block.name, name, body);
    }
    // What a subtype adds is among every role of the subtype.
    for subtype in words.blocks.iter().filter(|other| other.parent == Some(block.name)) {
        for name in own(subtype) {
            write_rule(&mut text, words, block, subtype.name, name, body);
        }
    }
    text
}

fn write_rule(text: &mut String, words: &Vocabulary, block: &Block, ty: &str, name: &str, body: &str) {
    let mut reader = Reader { rest: body, words, block, head: name, n_related: 0 };
    let body = reader.either();
    let predicate = if is_permission(name) { "has_permission" } else { "has_role" };
    let _ = writeln!(text, "{predicate}(actor: Actor, {name:?}, resource: {ty}) if {body};");
}

/// A body that is read.
struct Reader<'t> {
    rest: &'t str,
    words: &'t Vocabulary,
    block: &'t Block,
    /// The name that a keyword of the head means.
    head: &'t str,
    n_related: usize,
}

impl<'t> Reader<'t> {
    fn eat(&mut self, token: &str) -> bool {
        self.rest.strip_prefix(token).map(|rest| self.rest = rest).is_some()
    }

    fn name(&mut self) -> Option<&'t str> {
        let (name, rest) = self.rest.strip_prefix('"')?.split_once('"')?;
        self.rest = rest;
        Some(name)
    }

    fn either(&mut self) -> String {
        let mut text = self.all();
        while self.eat(" or ") {
            text = format!("{text} or {}", self.all());
        }
        text
    }

    fn all(&mut self) -> String {
        let mut text = self.negated();
        while self.eat(" and ") {
            text = format!("{text} and {}", self.negated());
        }
        text
    }

    fn negated(&mut self) -> String {
        if self.eat("not ") { format!("not {}", self.negated()) } else { self.atom() }
    }

    fn atom(&mut self) -> String {
        if self.eat("(") {
            let inside = self.either();
            assert!(self.eat(")"), "no end before `{}`", self.rest);
            return format!("({inside})");
        }
        if self.eat("global ") {
            return of_global(&format!("{:?}", self.name().unwrap()), "");
        }
        if self.eat("role") {
            let names = if is_permission(self.head) { None } else { Some(self.head) };
            return self.related(names);
        }
        if self.eat("permission") {
            return self.related(Some(self.head));
        }
        if let Some(name) = self.name() {
            return self.related(Some(name));
        }
        let (call, rest) = self.rest.split_once(')').unwrap();
        self.rest = rest;
        format!("{call})")
    }

    /// A name here, or on what a relation leads to; without a name any role.
    fn related(&mut self, name: Option<&str>) -> String {
        if !self.eat(" on ") {
            return self.held(self.block, name.unwrap(), "resource");
        }
        let relation = self.name().unwrap();
        let relations = self.words.all(self.block, |block| block.relations.clone());
        let (_, ty) = relations.into_iter().find(|(known, _)| *known == relation).unwrap();
        let target = self.words.block(ty).unwrap();
        self.n_related += 1;
        let var = format!("related{}", self.n_related);
        let names =
            name.map_or_else(|| self.words.all(target, |block| block.roles.clone()), |name| vec![name]);
        let mut held: Vec<String> = names.into_iter().map(|name| self.held(target, name, &var)).collect();
        // A thing of a subtype has the roles that the subtype adds.
        let blocks = self.words.blocks.iter();
        for subtype in blocks.filter(|other| name.is_none() && other.parent == Some(target.name)) {
            let added = subtype.roles.iter().map(|role| self.held(subtype, role, &var));
            held.extend(added.map(|held| format!("({var} matches {} and {held})", subtype.name)));
        }
        format!(
            "(has_relation(resource, {relation:?}, {var}) and {var} matches {ty} and ({}))",
            held.join(" or ")
        )
    }

    /// What holds of the actor: a role, a permission or a relation, by what the block declares.
    fn held(&self, block: &Block, name: &str, var: &str) -> String {
        let relations = self.words.all(block, |block| block.relations.clone());
        if relations.iter().any(|(known, _)| *known == name) {
            return format!("has_relation({var}, {name:?}, actor)");
        }
        let predicate = if is_permission(name) { "has_permission" } else { "has_role" };
        format!("{predicate}(actor, {name:?}, {var})")
    }
}

/// In every block permissions begin with one letter and roles with another.
fn is_permission(name: &str) -> bool {
    name.starts_with('p')
}
