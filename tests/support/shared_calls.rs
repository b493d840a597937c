//! Rules of one permission that all ask for the same other permission or role, each in a case of its own: who
//! may read and is on duty, or may read what is free, may download. The call can be made once for all cases,
//! and so can a condition that all of them share.

use super::generate::{Choices, Style};
use super::shorthand::{about_resource, fitting};
use super::vocabulary::{Block, Predicate, Vocabulary};

/// Two to four such rules.
pub fn rules(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> Vec<String> {
    let about = words.resource(choices);
    let Some(permission) = about.permissions.last() else { return Vec::new() };
    let actor = choices.of(&["Actor", "User"]);
    let head = format!("has_permission(actor: {actor}, {permission:?}, resource: {})", about.name);
    let call = shared_call(about, choices);
    let common = (choices.below(3) > 0).then(|| condition(words, about, style, choices));
    let n = 2 + choices.below(3);
    let rule = |at: usize, choices: &mut Choices<'_>| {
        let mut body = vec![call.clone(), case(words, about, style, &format!("there{at}"), choices)];
        body.extend(common.clone());
        let first = choices.below(body.len());
        body.rotate_left(first);
        format!("{head} if {};", body.join(" and "))
    };
    (0..n).map(|at| rule(at, choices)).collect()
}

/// A lower permission of the same resource, or a role on it.
fn shared_call(about: &Block, choices: &mut Choices<'_>) -> String {
    let (_, lower) = about.permissions.split_last().unwrap_or((&"", &[]));
    if lower.is_empty() || choices.rarely(3) {
        format!("has_role(actor, {:?}, resource)", choices.of(&about.roles))
    } else {
        format!("has_permission(actor, {:?}, resource)", choices.of(lower))
    }
}

/// What a case asks besides the call; `there` is a variable of its own.
fn case(words: &Vocabulary, about: &Block, style: Style, there: &str, choices: &mut Choices<'_>) -> String {
    let related = words.related(about);
    match choices.below(6) {
        0 => fitting(words, about.name, choices),
        1 => format!("has_role(actor, {:?}, resource)", choices.of(&about.roles)),
        2 | 3 if !related.is_empty() => {
            let (relation, to) = choices.of(&related);
            let role = choices.of(&to.roles);
            format!("has_relation(resource, {relation:?}, {there}) and has_role(actor, {role:?}, {there})")
        }
        _ => condition(words, about, style, choices),
    }
}

/// What stored facts say of the resource or do not say of it, perhaps together with the actor.
fn condition(words: &Vocabulary, about: &Block, style: Style, choices: &mut Choices<'_>) -> String {
    let stored = words.predicates.iter().take(words.n_stored);
    let said: Vec<&Predicate> = stored.filter(|stored| stored.types.contains(&about.name)).collect();
    if said.is_empty() {
        return format!("has_role(actor, {:?}, resource)", choices.of(&about.roles));
    }
    let fact = about_resource(choices.of(&said), about.name, choices);
    if style == Style::Layered && choices.rarely(2) { format!("not {fact}") } else { fact }
}
