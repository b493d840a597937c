//! Random shorthand rules of a block.

use super::generate::{BLOCKS, Block, Choices, Style};

/// One shorthand rule.
pub(crate) fn rule(block: &Block, style: Style, choices: &mut Choices<'_>) -> String {
    if let Some(rule) = every_name(block, choices) {
        return rule;
    }
    let names = names(block);
    let (head, level) = names[choices.below(names.len())];
    let body = either(block, style, level, choices, 2);
    format!("\"{head}\" if {body};")
}

/// `role if role on …` and its relatives, rarely.
fn every_name(block: &Block, choices: &mut Choices<'_>) -> Option<String> {
    let relations: Vec<(&str, &Block)> = related(block);
    if relations.is_empty() || !choices.rarely(4) {
        return None;
    }
    let (relation, target) = relations[choices.below(relations.len())];
    let has_permissions = !block.permissions.is_empty() && !target.permissions.is_empty();
    Some(match choices.below(4) {
        1 if has_permissions => format!("permission if permission on \"{relation}\";"),
        2 if has_permissions => format!("permission if \"{}\" on \"{relation}\";", choices.of(target.roles)),
        3 if !block.permissions.is_empty() => format!("permission if \"{}\";", choices.of(block.roles)),
        _ => format!("role if role on \"{relation}\";"),
    })
}

fn either(block: &Block, style: Style, level: usize, choices: &mut Choices<'_>, depth: usize) -> String {
    if depth == 0 {
        return atom(block, style, level, choices);
    }
    match choices.below(6) {
        3 => {
            let left = either(block, style, level, choices, depth - 1);
            let right = either(block, style, level, choices, depth - 1);
            format!("({left} and {right})")
        }
        4 => {
            let left = either(block, style, level, choices, depth - 1);
            let right = either(block, style, level, choices, depth - 1);
            format!("({left} or {right})")
        }
        5 if style == Style::Layered => {
            let negated = if level == 0 {
                call(block, choices)
            } else {
                either(block, style, level - 1, choices, depth - 1)
            };
            let beside = atom(block, style, level, choices);
            if choices.rarely(4) {
                format!("not ({negated})")
            } else {
                format!("({beside} and not ({negated}))")
            }
        }
        _ => atom(block, style, level, choices),
    }
}

fn atom(block: &Block, style: Style, level: usize, choices: &mut Choices<'_>) -> String {
    let may_use = |name: &(&'static str, usize)| style == Style::Tangled || name.1 <= level;
    let related = related(block);
    match choices.below(9) {
        2..=4 if !related.is_empty() => {
            let (relation, target) = related[choices.below(related.len())];
            let there: Vec<(&str, usize)> = names(target).into_iter().filter(may_use).collect();
            let is_role_fine = style == Style::Tangled || level >= 3;
            if is_role_fine && choices.rarely(5) {
                return format!("role on \"{relation}\"");
            }
            if there.is_empty() {
                call(block, choices)
            } else {
                format!("\"{}\" on \"{relation}\"", choices.of(&there).0)
            }
        }
        5 => format!("global \"{}\"", choices.of(&["g0", "g1", "q0"])),
        6 => call(block, choices),
        7 => {
            let actors = block.relations.iter().filter(|(_, ty)| matches!(*ty, "User" | "Group" | "Actor"));
            let actors: Vec<&str> = actors.map(|(name, _)| *name).collect();
            if actors.is_empty() { call(block, choices) } else { format!("\"{}\"", choices.of(&actors)) }
        }
        _ => {
            let here: Vec<(&str, usize)> = names(block).into_iter().filter(may_use).collect();
            if here.is_empty() { call(block, choices) } else { format!("\"{}\"", choices.of(&here).0) }
        }
    }
}

/// A call that fits the block.
fn call(block: &Block, choices: &mut Choices<'_>) -> String {
    let calls: &[&str] = match block.name {
        "Doc" | "Memo" => {
            &["f6(resource)", "f7(actor, resource)", "d2(actor, resource)", "d0(resource)", "f1(actor)"]
        }
        "Org" => &["f5(resource)", "d4(actor, resource)", "d3(resource)", "f1(actor)"],
        _ => &["f1(actor)", "f7(actor, Doc{\"a\"})"],
    };
    choices.of(calls).to_owned()
}

/// A block's roles and permissions with their levels, inherited ones included.
fn names(block: &Block) -> Vec<(&'static str, usize)> {
    let blocks: &[&Block] = if block.name == "Memo" { &[&BLOCKS[0], block] } else { &[block] };
    let mut names = Vec::new();
    for block in blocks {
        names.extend(block.roles.iter().map(|name| (*name, level_of(name))));
        names.extend(block.permissions.iter().map(|name| (*name, level_of(name))));
    }
    names
}

/// Roles are below permissions, and lower numbers below higher ones.
pub(crate) fn level_of(name: &str) -> usize {
    let number = name.chars().filter_map(|c| c.to_digit(10)).sum::<u32>() as usize;
    number + if name.starts_with('p') { 4 } else { 0 }
}

/// The block's relations to other blocks with roles.
fn related(block: &Block) -> Vec<(&'static str, &'static Block)> {
    let of = if block.name == "Memo" { &BLOCKS[0] } else { block };
    let target =
        |&(name, ty): &(&'static str, &str)| Some((name, BLOCKS.iter().find(|block| block.name == ty)?));
    of.relations.iter().filter_map(target).collect()
}
