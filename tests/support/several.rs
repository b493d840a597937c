//! Several conditions on one value: what a resource lies in must meet all of them, or the resource is denied.
//! Each becomes a set of values in a statement, and a plan chooses one to look the value up in.

use super::generate::Choices;
use super::shorthand::fitting;
use super::vocabulary::{Block, Vocabulary};

/// `resource` is related to a thing, named `there`, that meets three or four conditions; `None` if it is
/// related to none.
pub fn conditions(
    words: &Vocabulary,
    about: &Block,
    there: &str,
    choices: &mut Choices<'_>,
) -> Option<String> {
    let related = words.related(about);
    let (relation, to) = (!related.is_empty()).then(|| choices.of(&related))?;
    let mut all = vec![format!("has_relation(resource, {relation:?}, {there})")];
    for _ in 0..3 + choices.below(2) {
        let condition = if choices.below(2) == 0 {
            format!("has_role(actor, {:?}, {there})", choices.of(&to.roles))
        } else {
            fitting(words, to.name, choices).replace("resource", there)
        };
        if !all.contains(&condition) {
            all.push(condition);
        }
    }
    Some(all.join(" and "))
}
