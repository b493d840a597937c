//! Rules over random words that random choices would seldom make: roles that groups hand on, what containers
//! hand on, recursion through predicates of one to five arguments, and what leads from those to roles and
//! permissions.

use super::generate::{Choices, Style};
use super::shorthand::fitting;
use super::vocabulary::{Predicate, Vocabulary};
use super::{longhand, several};

/// The role of a group is that of its members, on anything.
const OF_GROUPS: &str = "has_role(user: User, role: String, resource: Resource) if group matches Group and f0(user, group) and has_role(group, role, resource);";

/// Rules that most policies have: groups, what containers hand on, and a permission from another thing's.
pub fn most(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> Vec<String> {
    let mut rules = Vec::new();
    if choices.below(3) > 0 {
        rules.push(OF_GROUPS.to_owned());
    }
    if choices.below(2) > 0 {
        rules.push(handed_on(words, style, choices));
    }
    if choices.below(2) > 0 {
        let at = words.resource(choices);
        let pair = pair(words, at.name);
        let last = at.permissions.last();
        rules.extend(pair.zip(last).map(|(pair, last)| {
            let on = at.name;
            format!(
                "has_permission(u: User, {last:?}, x: {on}) if {pair}(x, y) and has_permission(u, \"p0\", y);"
            )
        }));
    }
    rules
}

/// One rule.
pub fn rule(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> String {
    let at = words.resource(choices);
    let on = at.name;
    let [low, high] = [0, 1].map(|_| choices.below(at.permissions.len()));
    let [low, high] = [low.min(high), low.max(high)].map(|number| at.permissions[number]);
    let role = choices.of(&at.roles);
    match choices.below(16) {
        0 | 1 => OF_GROUPS.to_owned(),
        2 => format!(
            "has_role(user: User, {role:?}, resource: {on}) if f0(user, group) and has_role(group, {role:?}, resource);"
        ),
        3 => handed_on(words, style, choices),
        4 => match pair(words, on) {
            Some(pair) => format!(
                "has_permission(u: User, {high:?}, x: {on}) if {pair}(x, y) and has_permission(u, {low:?}, y);"
            ),
            None => OF_GROUPS.to_owned(),
        },
        5 => format!(
            "has_permission(actor: Actor, {high:?}, resource: {on}) if {};",
            fitting(words, on, choices)
        ),
        6 if style == Style::Layered => format!(
            "has_permission(actor: Actor, {high:?}, resource: {on}) if has_role(actor, {role:?}, resource) and not {};",
            fitting(words, on, choices)
        ),
        7 => format!("has_role(actor: Actor, {role:?}, resource: {on}) if {};", fitting(words, on, choices)),
        8 => "has_permission(actor: Actor, \"p0\", resource: Resource) if has_role(actor, \"r0\", resource);"
            .to_owned(),
        9 => match several::conditions(words, at, "there", choices) {
            Some(conditions) => {
                format!("has_permission(actor: User, {high:?}, resource: {on}) if {conditions};")
            }
            None => derived(words, style, choices),
        },
        10 => tied(words, style, choices).unwrap_or_else(|| derived(words, style, choices)),
        11 => inherited(words, choices).unwrap_or_else(|| derived(words, style, choices)),
        12 => on_behalf(words, on, high, style, choices).unwrap_or_else(|| derived(words, style, choices)),
        _ => derived(words, style, choices),
    }
}

/// A rule whose two arguments are one value, and one that asks something of a value that it has only by such
/// a rule; `None` if no predicate has two arguments of one type.
fn tied(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> Option<String> {
    let all = &words.predicates[words.n_stored..];
    let ties: Vec<&Predicate> = all
        .iter()
        .filter(|derived| derived.types.len() == 2 && derived.types[0] == derived.types[1])
        .collect();
    if ties.is_empty() {
        return None;
    }
    let Predicate { name: tie, types } = ties[choices.below(ties.len())];
    let ty = types[0];
    let heads: Vec<&Predicate> = all.iter().filter(|derived| derived.types.contains(&ty)).collect();
    let Predicate { name, types } = heads[choices.below(heads.len())];
    let at = types.iter().position(|of| *of == ty)?;
    let params: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("x{at}: {ty}")).collect();
    let mut body = said(words, types, choices);
    body.push(if choices.rarely(2) { format!("{tie}(x{at}, w)") } else { format!("{tie}(w, x{at})") });
    body.push(if style == Style::Layered && choices.rarely(2) {
        let stored = Vocabulary { predicates: words.predicates[..words.n_stored].to_vec(), ..words.clone() };
        let denied = fitting(&stored, ty, choices).replace("resource", "w").replace("actor", "_");
        format!("not {denied}")
    } else {
        format!("w != {}", longhand::literal(ty, choices))
    });
    let tying = format!("{tie}(x0: {ty}, x0);");
    Some(format!("{tying}\n{name}({}) if {};", params.join(", "), body.join(" and ")))
}

/// Roles that what something lies in hands on, of which each grants a permission under a condition of its
/// own; `None` if nothing lies in another of its type, or no predicate is about users.
fn inherited(words: &Vocabulary, choices: &mut Choices<'_>) -> Option<String> {
    let granting = words.blocks.iter().filter(|block| !block.permissions.is_empty());
    let edges = granting.flat_map(|block| block.relations.iter().map(move |at| (block, at)));
    let nested: Vec<_> = edges.filter(|(block, (_, to))| block.name == *to).collect();
    let about: Vec<&Predicate> = words
        .predicates
        .iter()
        .take(words.n_stored)
        .filter(|stored| stored.types.contains(&"User"))
        .collect();
    if nested.is_empty() || about.is_empty() {
        return None;
    }
    let (block, (relation, _)) = choices.of(&nested);
    let on = block.name;
    let mut rules = vec![format!(
        "has_role(actor: Actor, name: String, resource: {on}) if has_relation(resource, {relation:?}, there) and has_role(actor, name, there);"
    )];
    let any = choices.of(&about);
    if choices.rarely(2) && any.types == ["User", "String"] {
        // The word is a role, or a permission.
        let (word, permission) = choices.of(&[("name", "\"p0\""), ("p", "p: String")]);
        rules.push(format!(
            "has_permission(u: User, {permission}, x: {on}) if has_role(u, name, x) and {}(u, {word});",
            any.name
        ));
        return Some(rules.join("\n"));
    }
    let permission = choices.of(&block.permissions);
    for role in &block.roles {
        let stored = choices.of(&about);
        let user = stored.types.iter().position(|ty| *ty == "User");
        let args: Vec<String> = (0..stored.types.len())
            .map(|at| if Some(at) == user { "u".to_owned() } else { "_".to_owned() })
            .collect();
        let condition = match choices.below(3) {
            0 => String::new(),
            _ => format!(" and {}({})", stored.name, args.join(", ")),
        };
        rules.push(format!(
            "has_permission(u: User, {permission:?}, x: {on}) if has_role(u, {role:?}, x){condition};"
        ));
    }
    Some(rules.join("\n"))
}

/// A permission of one user for another one, under a condition on the resource, or on both; `None` if no
/// predicate connects users, or none is about the resource.
fn on_behalf(
    words: &Vocabulary,
    on: &str,
    permission: &str,
    style: Style,
    choices: &mut Choices<'_>,
) -> Option<String> {
    let other = pair(words, "User")?;
    let stored = words.predicates.iter().take(words.n_stored);
    let about: Vec<&Predicate> = stored.filter(|stored| stored.types.contains(&on)).collect();
    if about.is_empty() {
        return None;
    }
    let Predicate { name, types } = choices.of(&about);
    let place = types.iter().position(|ty| *ty == on)?;
    let is_on_user = choices.rarely(3);
    let arg = |(at, ty): (usize, &&str)| match *ty {
        _ if at == place => "x",
        "User" if is_on_user => "u",
        _ => "_",
    };
    let args: Vec<&str> = types.iter().enumerate().map(arg).collect();
    let not = if style == Style::Layered && choices.rarely(2) { "not " } else { "" };
    Some(format!(
        "has_permission(u: User, {permission:?}, x: {on}) if {other}(u, v) and has_permission(v, {permission:?}, x) and {not}{name}({});",
        args.join(", ")
    ))
}

/// A role or a permission on what something lies in, for what lies in it.
fn handed_on(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> String {
    let Some((from, relation, to)) = words.edge(choices) else { return OF_GROUPS.to_owned() };
    let of = if choices.rarely(2) { "has_permission" } else { "has_role" };
    let head = format!("{of}(actor: Actor, name: String, resource: {})", from.name);
    let body = format!("has_relation(resource, {relation:?}, there) and {of}(actor, name, there)");
    let guard = fitting(words, to.name, choices).replace("resource", "there");
    // A lower predicate may be denied: stored ones are below everything.
    let is_stored = words.predicates.iter().take(words.n_stored).any(|stored| guard.starts_with(stored.name));
    if style == Style::Layered && is_stored && choices.rarely(3) {
        return format!("{head} if {body} and not {guard};");
    }
    format!("{head} if {body};")
}

/// A rule of a derived predicate: from a stored one, or by recursion.
fn derived(words: &Vocabulary, style: Style, choices: &mut Choices<'_>) -> String {
    let all = &words.predicates[words.n_stored..];
    let Predicate { name, types } = &all[choices.below(all.len())];
    let params: Vec<String> = types.iter().enumerate().map(|(at, ty)| format!("x{at}: {ty}")).collect();
    let head = format!("{name}({})", params.join(", "));
    let vars = || (0..types.len()).map(|at| format!("x{at}"));
    // An argument that moves, and the stored pair that moves it.
    let moving = (0..types.len()).filter(|&at| pair(words, types[at]).is_some()).collect::<Vec<_>>();
    let kind = choices.below(8);
    if moving.is_empty() || kind < 3 {
        let body = said(words, types, choices);
        return if body.is_empty() {
            format!("{head};")
        } else {
            format!("{head} if {};", body.join(" and "))
        };
    }
    let at = choices.of(&moving);
    let pair = pair(words, types[at]).unwrap_or_default();
    let with = |new: &str| {
        let args: Vec<String> =
            vars().enumerate().map(|(place, var)| if place == at { new.to_owned() } else { var }).collect();
        format!("{name}({})", args.join(", "))
    };
    let body = match kind {
        3 => format!("{pair}(x{at}, y) and {}", with("y")),
        4 => format!("{} and {pair}(y, x{at})", with("y")),
        5 => format!("{} and {} and {pair}(y, z) and {pair}(z, x{at})", with("y"), with("z")),
        6 if style == Style::Layered => {
            let guard = fitting(
                &Vocabulary { predicates: words.predicates[..words.n_stored].to_vec(), ..words.clone() },
                types[at],
                choices,
            );
            format!(
                "{pair}(x{at}, y) and {} and not {}",
                with("y"),
                guard.replace("resource", "y").replace("actor", "_")
            )
        }
        _ if types.len() == 2 && types[0] == types[1] => format!("{name}(x0, y) and {name}(y, x1)"),
        _ => format!("{pair}(x{at}, y) and {pair}(y, z) and {}", with("z")),
    };
    format!("{head} if {body};")
}

/// What stored predicates say of the variables `x0`, `x1` … of these types: each is in one of them.
pub(crate) fn said(words: &Vocabulary, types: &[&'static str], choices: &mut Choices<'_>) -> Vec<String> {
    let mut open: Vec<usize> = (0..types.len()).collect();
    let mut body = Vec::new();
    while let Some(&first) = open.first() {
        let stored = &words.predicates[..words.n_stored];
        let about: Vec<&Predicate> =
            stored.iter().filter(|stored| stored.types.contains(&types[first])).collect();
        if about.is_empty() {
            open.remove(0);
            continue;
        }
        let stored = choices.of(&about);
        let args: Vec<String> = stored
            .types
            .iter()
            .map(|ty| match open.iter().position(|&at| types[at] == *ty) {
                Some(place) => format!("x{}", open.remove(place)),
                None => "_".to_owned(),
            })
            .collect();
        body.push(format!("{}({})", stored.name, args.join(", ")));
    }
    body
}

/// A stored predicate of two things of a type.
pub(crate) fn pair(words: &Vocabulary, ty: &str) -> Option<&'static str> {
    let stored = words.predicates.iter().take(words.n_stored);
    let is_pair =
        |predicate: &&Predicate| predicate.types.iter().all(|of| *of == ty) && predicate.types.len() == 2;
    stored.into_iter().find(is_pair).map(|predicate| predicate.name)
}
