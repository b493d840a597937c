//! Rules that ask a closure for both ends of a row: whether what one column of the row leads to is what
//! another column holds. A plan that takes the row for implied by the closure's start loses the other end.

use super::generate::Choices;
use super::patterns::pair;
use super::vocabulary::{Predicate, Vocabulary};

/// A closure over a stored pair, and a permission for things next to a row whose two ends it leads to.
pub fn rules(words: &Vocabulary, choices: &mut Choices<'_>) -> Vec<String> {
    let is_closure = |predicate: &&Predicate| match predicate.types.as_slice() {
        [one, other] => one == other && pair(words, one).is_some(),
        _ => false,
    };
    let derived: Vec<&Predicate> = words.predicates[words.n_stored..].iter().filter(is_closure).collect();
    if derived.is_empty() {
        return Vec::new();
    }
    let Predicate { name, types } = choices.of(&derived);
    let on = types[0];
    let (Some(block), Some(pair)) = (words.block(on), pair(words, on)) else { return Vec::new() };
    if block.permissions.is_empty() || block.parent.is_some() {
        return Vec::new();
    }
    let (permission, role) = (choices.of(&block.permissions), choices.of(&block.roles));
    let mut starts = vec![format!("{pair}(resource, y)"), format!("{pair}(y, resource)")];
    let mut rows = vec![format!("{pair}(z, y)")];
    for (relation, _) in words.related(block).into_iter().filter(|(_, to)| to.name == on) {
        starts.push(format!("has_relation(resource, {relation:?}, y)"));
        rows.push(format!("has_relation(y, {relation:?}, z)"));
        rows.push(format!("has_relation(z, {relation:?}, y)"));
    }
    let mut pick = |texts: &[String]| texts[choices.below(texts.len())].clone();
    let (start, row) = (pick(&starts), pick(&rows));
    let held =
        if choices.below(2) == 0 { format!("has_role(actor, {role:?}, y) and ") } else { String::new() };
    vec![
        format!("{name}(x0: {on}, x1: {on}) if {pair}(x0, x1);"),
        format!("{name}(x0: {on}, x1: {on}) if {pair}(x0, y) and {name}(y, x1);"),
        format!(
            "has_permission(actor: User, {permission:?}, resource: {on}) if {held}{start} and {row} and {name}(y, z);"
        ),
    ]
}
