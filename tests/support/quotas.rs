//! Rules of one permission that each have a role and a quota over the same thing that the resource lies in: a
//! filter has several sets over one column then, and none may serve for another.

use super::generate::Choices;
use super::vocabulary::{Block, Predicate, Vocabulary};

/// Two such rules, which differ in the role or in the quota.
pub fn rules(words: &Vocabulary, choices: &mut Choices<'_>) -> Vec<String> {
    let Some((from, relation, to)) = words.edge(choices) else { return Vec::new() };
    if from.permissions.is_empty() || to.roles.is_empty() {
        return Vec::new();
    }
    let permission = choices.of(&from.permissions);
    let numbers = [choices.below(to.roles.len()), choices.below(2), choices.below(2)];
    let rule = |at: usize, choices: &mut Choices<'_>| {
        let role = to.roles[(numbers[0] + at) % to.roles.len()];
        let kept = to.roles[(numbers[0] + at * numbers[1]) % to.roles.len()];
        let quota = quota(words, from, to, kept, choices)?;
        let there = format!("has_relation(x, {relation:?}, y) and has_role(u, {role:?}, y)");
        let again = format!("has_relation(x, {relation:?}, z) and {quota}");
        let body = if numbers[2] == 0 { [there, again] } else { [again, there] };
        Some(format!("has_permission(u: User, {permission:?}, x: {}) if {};", from.name, body.join(" and ")))
    };
    (0..2).filter_map(|at| rule(at, choices)).collect()
}

/// A condition on the user `u`, the resource `x` and what it lies in, `z`, that is more than one equality.
fn quota(
    words: &Vocabulary,
    from: &Block,
    to: &Block,
    role: &str,
    choices: &mut Choices<'_>,
) -> Option<String> {
    let stored = &words.predicates[..words.n_stored];
    let held = format!("has_role(u, {role:?}, z)");
    let number_of = |ty: &str| {
        let is_number = |predicate: &&Predicate| predicate.types == [ty, "Integer"];
        stored.iter().find(is_number).map(|predicate| predicate.name)
    };
    let mut quotas = Vec::new();
    for predicate in stored {
        if let Some(call) = call(predicate, &[(to.name, "z"), (from.name, "x"), ("User", "u")]) {
            let has_user = predicate.types.contains(&"User");
            quotas.push(if has_user { call } else { format!("{held} and {call}") });
        }
        let limit = call(predicate, &[(to.name, "z"), ("Integer", "most"), ("User", "u")]);
        if let Some((limit, size)) = limit.zip(number_of(from.name)) {
            let has_user = predicate.types.contains(&"User");
            let limit = if has_user { limit } else { format!("{held} and {limit}") };
            quotas.push(format!("{limit} and {size}(x, size) and size <= most"));
        }
    }
    let quotas: Vec<&str> = quotas.iter().map(String::as_str).collect();
    (!quotas.is_empty()).then(|| choices.of(&quotas).to_owned())
}

/// A call of a predicate with variables of these types, of which it must have the first two.
fn call(predicate: &Predicate, vars: &[(&str, &str)]) -> Option<String> {
    let mut left = vars.to_vec();
    let args: Vec<&str> = predicate
        .types
        .iter()
        .map(|ty| match left.iter().position(|(of, _)| of == ty) {
            Some(place) => left.remove(place).1,
            None => "_",
        })
        .collect();
    let has = |var: &(&str, &str)| !left.contains(var);
    let [first, second, ..] = vars else { return None };
    (has(first) && has(second)).then(|| format!("{}({})", predicate.name, args.join(", ")))
}
