//! Random entry points: `allow` with what else must hold, and above all what must not.
//!
//! A custom `allow` is where policies deny: a ban, a lock, an archive, before any permission is asked for. So
//! its guards apply to every action, resource and actor at once, about relations that the permissions read as
//! well, and in most of these rules a negation comes first. Nothing refers to `allow`, so any of it may be
//! negated.

use super::generate::Choices;
use super::vocabulary::Vocabulary;
use super::{several, shorthand};

/// A rule whose two arguments are one value: a guard may know the resource only by it.
const TIE: &str = "same(x: Resource, x);";

/// The rules of `allow`; without any the policy has the usual one.
pub fn rules(words: &Vocabulary, choices: &mut Choices<'_>) -> Vec<String> {
    if choices.below(5) == 0 {
        return Vec::new();
    }
    let n = 1 + usize::from(choices.rarely(6));
    let mut rules: Vec<String> = (0..n).map(|_| rule(words, choices)).collect();
    if rules.iter().any(|rule| rule.contains("same(")) {
        rules.push(TIE.to_owned());
    }
    rules
}

fn rule(words: &Vocabulary, choices: &mut Choices<'_>) -> String {
    let about = words.resource(choices).name;
    let actor = choices.of(&["Actor", "User", "Actor", "User", ""]);
    let resource = choices.of(&["Resource", "Resource", "Resource", about, about, ""]);
    let action = choices.of(&["action: String", "action: String", "action", "action: String"]);
    let typed = |name: &str, ty: &str| if ty.is_empty() { name.to_owned() } else { format!("{name}: {ty}") };
    let goal = match choices.below(8) {
        5 => format!("(has_permission(actor, action, resource) or {})", role(words, about, choices)),
        6 => "action in [\"p0\", \"p1\"] and has_permission(actor, action, resource)".to_owned(),
        7 => {
            let guard = guard(words, about, "elsewhere", choices);
            format!(
                "(has_permission(actor, action, resource) or has_permission(actor, \"p0\", resource) and {guard} and action = \"p2\")"
            )
        }
        _ => "has_permission(actor, action, resource)".to_owned(),
    };
    let mut guards = vec![guard(words, about, "there", choices)];
    while guards.len() < 3 && choices.rarely(3) {
        let there = format!("there{}", guards.len());
        guards.push(guard(words, about, &there, choices));
    }
    if choices.rarely(5) {
        let tie = choices.of(&["same(resource, itself)", "same(itself, resource)"]);
        guards[0] = format!("{tie} and {}", guards[0].replace("resource", "itself"));
    }
    let place = if choices.rarely(4) { 0 } else { guards.len() };
    guards.insert(place, goal);
    let head = format!("allow({}, {action}, {})", typed("actor", actor), typed("resource", resource));
    format!("{head} if {};", guards.join(" and "))
}

/// A condition next to a permission, most of them negations; `there` is a variable of its own.
fn guard(words: &Vocabulary, about: &str, there: &str, choices: &mut Choices<'_>) -> String {
    let relation = |choices: &mut Choices<'_>| {
        let related = words.block(about).map_or_else(Vec::new, |block| words.related(block));
        (!related.is_empty()).then(|| choices.of(&related))
    };
    let several = |choices: &mut Choices<'_>| {
        words.block(about).and_then(|about| several::conditions(words, about, there, choices))
    };
    match choices.below(28) {
        0..9 => format!("not {}", role(words, about, choices)),
        9..12 => format!("not {}", shorthand::fitting(words, about, choices)),
        12 => {
            let [left, right] = [(); 2].map(|()| role(words, about, choices));
            format!("not ({left} or {right})")
        }
        13 => {
            format!("not ({} and {})", role(words, about, choices), shorthand::fitting(words, about, choices))
        }
        14 => match relation(choices) {
            Some((name, to)) => {
                let role = choices.of(&to.roles);
                format!(
                    "not (has_relation(resource, {name:?}, {there}) and has_role(actor, {role:?}, {there}))"
                )
            }
            None => role(words, about, choices),
        },
        15 => match relation(choices) {
            Some((name, to)) => {
                let guard = shorthand::fitting(words, to.name, choices).replace("resource", there);
                format!("has_relation(resource, {name:?}, {there}) and not {guard}")
            }
            None => shorthand::fitting(words, about, choices),
        },
        16 => "not has_role(actor, \"g0\")".to_owned(),
        17 => "not has_permission(actor, \"p1\", resource)".to_owned(),
        18 => {
            choices.of(&["action != \"p1\"", "actor matches User", "not resource matches Group"]).to_owned()
        }
        20..25 => match several(choices) {
            Some(conditions) => format!("not ({conditions})"),
            None => shorthand::fitting(words, about, choices),
        },
        25..27 => several(choices).unwrap_or_else(|| shorthand::fitting(words, about, choices)),
        _ => shorthand::fitting(words, about, choices),
    }
}

/// A role of the actor on the resource.
fn role(words: &Vocabulary, about: &str, choices: &mut Choices<'_>) -> String {
    let roles = words.block(about).map_or(&[][..], |block| &block.roles);
    format!("has_role(actor, {:?}, resource)", choices.of(roles))
}
