//! Why a question may be refused, by what its message says.

/// A part of the message of each kind of refusal. Anything else is none.
const KINDS: [&str; 9] = [
    "the policy has no predicate",
    // A rule only tests a variable whose values are asked for.
    "cannot be enumerated",
    "recurses through a predicate whose values nothing enumerates",
    "which may be of any type",
    // One statement is not enough.
    "too many places for one statement, which takes",
    "too many alternatives for one statement",
    "rule copies",
    "in one select, which the database refuses",
    "values of stored facts in its SQL",
];

/// The kind of a refusal; `None` if it is none, but a fault of ours.
pub(crate) fn kind(message: &str) -> Option<&'static str> {
    let is_fault = message.starts_with(super::hosted::FAULT);
    KINDS.into_iter().find(|kind| !is_fault && message.contains(kind))
}
