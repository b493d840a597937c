//! Several conditions on one value: what a resource lies in must meet all of them, or the resource is denied.
//! Each becomes a set of values in a statement, and a plan chooses one to look the value up in.

use super::generate::Choices;
use super::shorthand::about_resource;
use super::vocabulary::{Block, Predicate, Vocabulary};

/// The fewest conditions: of two sets, one may simply be in the other.
const FEWEST: usize = 3;

/// `resource` is related to a thing, named `there`, that meets three or four different conditions; `None` if
/// too little is said of what it is related to.
pub fn conditions(
    words: &Vocabulary,
    about: &Block,
    there: &str,
    choices: &mut Choices<'_>,
) -> Option<String> {
    // Most are about facts, since a derived predicate is seldom a set.
    let n_predicates = if choices.rarely(4) { words.predicates.len() } else { words.n_stored };
    let said = |of: &Block| -> Vec<&Predicate> {
        let predicates = words.predicates[..n_predicates].iter();
        predicates.filter(|predicate| predicate.types.contains(&of.name)).collect()
    };
    let mut related = words.related(about);
    related.retain(|(_, to)| to.roles.len() + said(to).len() >= FEWEST);
    let (relation, to) = (!related.is_empty()).then(|| choices.of(&related))?;
    let roles = to.roles.iter().map(|role| format!("has_role(actor, {role:?}, resource)"));
    let mut left: Vec<String> = roles.collect();
    left.extend(said(to).into_iter().map(|predicate| about_resource(predicate, to.name, choices)));
    let n = (FEWEST + choices.below(2)).min(left.len());
    let mut all = vec![format!("has_relation(resource, {relation:?}, {there})")];
    for _ in 0..n {
        all.push(left.remove(choices.below(left.len())).replace("resource", there));
    }
    Some(all.join(" and "))
}
