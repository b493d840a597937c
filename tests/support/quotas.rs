//! Rules of one permission that each have a role and a quota over the same thing that the resource lies in: a
//! filter has several sets over one column then, and none may serve for another. Or two rules take the
//! quota from the user and from another user, whom a fact names.

use super::generate::Choices;
use super::vocabulary::{Block, Predicate, Vocabulary};

/// How many pairs of types are tried.
const TRIES: usize = 4;

/// The kinds of quota that the rules ask for, where a predicate has a text.
const KINDS: [&str; 2] = ["\"r0\"", "\"r1\""];

/// Two such rules, which differ in the role or in the quota.
pub fn rules(words: &Vocabulary, choices: &mut Choices<'_>) -> Vec<String> {
    // Chance alone seldom finds two types that a quota refers to.
    let has_quota = |(from, _, to): &(&Block, &str, &Block)| {
        !from.permissions.is_empty()
            && !to.roles.is_empty()
            && !quotas(words, [from, to], ["_"; 2], "u").is_empty()
    };
    let edge = (0..TRIES).find_map(|_| words.edge(choices).filter(has_quota));
    let Some((from, relation, to)) = edge else { return Vec::new() };
    let permission = choices.of(&from.permissions);
    if choices.below(3) > 0
        && let Some(rules) = of_two_users(words, from, relation, to, permission, choices)
    {
        return rules;
    }
    let numbers = [choices.below(to.roles.len()), choices.below(2), choices.below(2)];
    let rule = |at: usize, choices: &mut Choices<'_>| {
        let role = to.roles[(numbers[0] + at) % to.roles.len()];
        let kept = to.roles[(numbers[0] + at * numbers[1]) % to.roles.len()];
        let quota = quota(words, [from, to], [kept, KINDS[at]], "u", choices)?;
        let there = format!("has_relation(x, {relation:?}, y) and has_role(u, {role:?}, y)");
        let again = format!("has_relation(x, {relation:?}, z) and {quota}");
        let body = if numbers[2] == 0 { [there, again] } else { [again, there] };
        Some(format!("has_permission(u: User, {permission:?}, x: {}) if {};", from.name, body.join(" and ")))
    };
    (0..2).filter_map(|at| rule(at, choices)).collect()
}

/// Two rules that differ only in whose role and quota they ask for: the user's, or that of a user whom a fact
/// relates to the user. `None` if no predicate relates two users.
fn of_two_users(
    words: &Vocabulary,
    from: &Block,
    relation: &str,
    to: &Block,
    permission: &str,
    choices: &mut Choices<'_>,
) -> Option<Vec<String>> {
    let stored = &words.predicates[..words.n_stored];
    let acts_for =
        stored.iter().find_map(|predicate| call(predicate, &[("User", "v"), ("User", "u")], "_"))?;
    let role = choices.of(&to.roles);
    let of_other = quota(words, [from, to], [role, "_"], "v", choices)?;
    let owner = from.relations.iter().find(|(_, ty)| *ty == "User");
    let third = match owner {
        Some((relation, _)) => Some(format!("has_relation(x, {relation:?}, w)")),
        None => stored.iter().find_map(|of| call(of, &[(from.name, "x"), ("User", "w")], "_")),
    };
    let third = third.filter(|_| choices.below(2) == 0);
    let denied = choices.of(&[&[][..], &["u"], &["v"], &["u", "v"]]);
    let rule = |user: &str, acting: &str| {
        let name = |var: &str| if var == "u" { user.to_owned() } else { var.to_owned() };
        let compared = third.iter().flat_map(|third| {
            let unlike = ["u", "v"].map(|var| format!("w != {}", name(var)));
            [third.clone()].into_iter().chain(unlike)
        });
        let denials = denied.iter().map(|var| format!("not has_role({}, \"g0\")", name(var)));
        let there =
            [format!("has_relation(x, {relation:?}, z) and has_role(v, {role:?}, z)"), of_other.clone()];
        let body: Vec<String> = there.into_iter().chain(compared).chain(denials).collect();
        let head = format!("has_permission({user}: User, {permission:?}, x: {})", from.name);
        format!("{head} if {acting}{};", body.join(" and "))
    };
    // Users may also act for themselves: a condition on both users is then on the same user twice.
    let derived = &words.predicates[words.n_stored..];
    if let Some(Predicate { name, .. }) = derived.iter().find(|of| of.types == ["User"; 2]) {
        let acting = [format!("{name}(u: User, v: User) if {acts_for};"), format!("{name}(u: User, u);")];
        return Some(acting.into_iter().chain([rule("u", &format!("{name}(u, v) and "))]).collect());
    }
    // With both named `v`, the second rule is the first about the user.
    Some(vec![rule("u", &format!("{acts_for} and ")), rule("v", "")])
}

/// One of the quotas.
fn quota(
    words: &Vocabulary,
    blocks: [&Block; 2],
    [role, kind]: [&str; 2],
    user: &str,
    choices: &mut Choices<'_>,
) -> Option<String> {
    let quotas = quotas(words, blocks, [role, kind], user);
    (!quotas.is_empty()).then(|| quotas[choices.below(quotas.len())].clone())
}

/// Conditions on the user `user`, the resource `x` and what it lies in, `z`, that are more than one equality.
/// `kind` is what they ask of a text.
fn quotas(words: &Vocabulary, [from, to]: [&Block; 2], [role, kind]: [&str; 2], user: &str) -> Vec<String> {
    let stored = &words.predicates[..words.n_stored];
    let held = format!("has_role({user}, {role:?}, z)");
    let number_of = |ty: &str| {
        let is_number = |predicate: &&Predicate| predicate.types == [ty, "Integer"];
        stored.iter().find(is_number).map(|predicate| predicate.name)
    };
    let mut quotas = Vec::new();
    for predicate in stored {
        if let Some(call) = call(predicate, &[(to.name, "z"), (from.name, "x"), ("User", user)], kind) {
            let has_user = predicate.types.contains(&"User");
            quotas.push(if has_user { call } else { format!("{held} and {call}") });
        }
        let limit = call(predicate, &[(to.name, "z"), ("Integer", "most"), ("User", user)], kind);
        if let Some((limit, size)) = limit.zip(number_of(from.name)) {
            let has_user = predicate.types.contains(&"User");
            let limit = if has_user { limit } else { format!("{held} and {limit}") };
            quotas.push(format!("{limit} and {size}(x, size) and size <= most"));
        }
    }
    quotas
}

/// A call of a predicate with variables of these types, of which it must have the first two. `kind` is the
/// text of the predicate's other arguments.
fn call(predicate: &Predicate, vars: &[(&str, &str)], kind: &str) -> Option<String> {
    let mut left = vars.to_vec();
    let args: Vec<&str> = predicate
        .types
        .iter()
        .map(|ty| match left.iter().position(|(of, _)| of == ty) {
            Some(place) => left.remove(place).1,
            None if *ty == "String" => kind,
            None => "_",
        })
        .collect();
    let has = |var: &(&str, &str)| !left.contains(var);
    let [first, second, ..] = vars else { return None };
    (has(first) && has(second)).then(|| format!("{}({})", predicate.name, args.join(", ")))
}
