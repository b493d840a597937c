//! Random shorthand rules of a block.

use super::generate::{Choices, Style};
use super::longhand;
use super::vocabulary::{Block, Predicate, Vocabulary};

/// One shorthand rule.
pub fn rule(words: &Vocabulary, block: &Block, style: Style, choices: &mut Choices<'_>) -> String {
    if let Some(rule) = every_name(words, block, choices) {
        return rule;
    }
    let names = names(words, block);
    let (head, level) = names[choices.below(names.len())];
    let body = Body { words, block, style }.either(level, choices, 2);
    format!("\"{head}\" if {body};")
}

/// `role if role on …` and its relatives, rarely.
fn every_name(words: &Vocabulary, block: &Block, choices: &mut Choices<'_>) -> Option<String> {
    let relations = words.related(block);
    if relations.is_empty() || !choices.rarely(4) {
        return None;
    }
    let (relation, target) = relations[choices.below(relations.len())];
    let has_permissions = !block.permissions.is_empty() && !target.permissions.is_empty();
    Some(match choices.below(4) {
        1 if has_permissions => format!("permission if permission on \"{relation}\";"),
        2 if has_permissions => format!("permission if \"{}\" on \"{relation}\";", choices.of(&target.roles)),
        3 if !block.permissions.is_empty() => format!("permission if \"{}\";", choices.of(&block.roles)),
        _ => format!("role if role on \"{relation}\";"),
    })
}

/// The text after `if`.
struct Body<'w> {
    words: &'w Vocabulary,
    block: &'w Block,
    style: Style,
}

impl Body<'_> {
    fn either(&self, level: usize, choices: &mut Choices<'_>, depth: usize) -> String {
        if depth == 0 {
            return self.atom(level, choices);
        }
        match choices.below(6) {
            3 => {
                let left = self.either(level, choices, depth - 1);
                let right = self.either(level, choices, depth - 1);
                format!("({left} and {right})")
            }
            4 => {
                let left = self.either(level, choices, depth - 1);
                let right = self.either(level, choices, depth - 1);
                format!("({left} or {right})")
            }
            5 if self.style == Style::Layered => {
                let negated =
                    if level == 0 { self.call(choices) } else { self.either(level - 1, choices, depth - 1) };
                let other = self.atom(level, choices);
                if choices.rarely(4) {
                    format!("not ({negated})")
                } else {
                    format!("({other} and not ({negated}))")
                }
            }
            _ => self.atom(level, choices),
        }
    }

    fn atom(&self, level: usize, choices: &mut Choices<'_>) -> String {
        let Self { words, block, style } = *self;
        let may_use = |name: &(&'static str, usize)| style == Style::Tangled || name.1 <= level;
        let related = words.related(block);
        match choices.below(9) {
            2..=4 if !related.is_empty() => {
                let (relation, target) = related[choices.below(related.len())];
                let there: Vec<(&str, usize)> = names(words, target).into_iter().filter(may_use).collect();
                let is_role_fine = style == Style::Tangled || level >= 3;
                if is_role_fine && choices.rarely(5) {
                    return format!("role on \"{relation}\"");
                }
                if there.is_empty() {
                    self.call(choices)
                } else {
                    format!("\"{}\" on \"{relation}\"", choices.of(&there).0)
                }
            }
            5 => format!("global \"{}\"", choices.of(&["g0", "g1", "q0"])),
            6 => self.call(choices),
            7 => {
                let is_actor = |ty: &str| matches!(ty, "User" | "Group" | "Actor");
                let actors = block.relations.iter().filter(|(_, ty)| is_actor(ty));
                let actors: Vec<&str> = actors.map(|(name, _)| *name).collect();
                if actors.is_empty() { self.call(choices) } else { format!("\"{}\"", choices.of(&actors)) }
            }
            _ => {
                let here: Vec<(&str, usize)> = names(words, block).into_iter().filter(may_use).collect();
                if here.is_empty() { self.call(choices) } else { format!("\"{}\"", choices.of(&here).0) }
            }
        }
    }

    /// A call that fits the block.
    fn call(&self, choices: &mut Choices<'_>) -> String {
        if !self.words.is_fixed {
            return fitting(self.words, self.block.name, choices);
        }
        let calls: &[&str] = match self.block.name {
            "Doc" | "Memo" => {
                &["f6(resource)", "f7(actor, resource)", "d2(actor, resource)", "d0(resource)", "f1(actor)"]
            }
            "Org" => &["f5(resource)", "d4(actor, resource)", "d3(resource)", "f1(actor)"],
            _ => &["f1(actor)", "f7(actor, Doc{\"a\"})"],
        };
        choices.of(calls).to_owned()
    }
}

/// A call of a predicate about `resource`, of this type, or about any resource; `actor` is used where a user
/// may be.
pub fn fitting(words: &Vocabulary, ty: &str, choices: &mut Choices<'_>) -> String {
    let about: Vec<&Predicate> =
        words.predicates.iter().filter(|predicate| predicate.types.contains(&ty)).collect();
    let all: Vec<&Predicate> =
        words.predicates.iter().filter(|predicate| !predicate.types.is_empty()).collect();
    let predicate = choices.of(if about.is_empty() { &all } else { &about });
    about_resource(predicate, ty, choices)
}

/// The same call of a given predicate.
pub fn about_resource(predicate: &Predicate, ty: &str, choices: &mut Choices<'_>) -> String {
    let mut is_said = false;
    let arg = |of: &&'static str| {
        if *of == ty && !is_said {
            is_said = true;
            return "resource".to_owned();
        }
        match (*of, choices.below(4)) {
            ("User", 0..3) => "actor".to_owned(),
            (of, 3) => longhand::literal(of, choices),
            _ => "_".to_owned(),
        }
    };
    let args: Vec<String> = predicate.types.iter().map(arg).collect();
    format!("{}({})", predicate.name, args.join(", "))
}

/// A block's roles and permissions with their levels, inherited ones included.
fn names(words: &Vocabulary, block: &Block) -> Vec<(&'static str, usize)> {
    let parent = block.parent.and_then(|parent| words.block(parent));
    let mut names = Vec::new();
    for block in parent.into_iter().chain([block]) {
        names.extend(block.roles.iter().map(|name| (*name, level_of(name))));
        names.extend(block.permissions.iter().map(|name| (*name, level_of(name))));
    }
    names
}

/// Roles are below permissions, and lower numbers below higher ones.
pub fn level_of(name: &str) -> usize {
    let number = name.chars().filter_map(|c| c.to_digit(10)).sum::<u32>() as usize;
    number + if name.starts_with('p') { 4 } else { 0 }
}
