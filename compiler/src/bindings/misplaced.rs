//! Top-level keys that are probably meant for this reader.
//!
//! Unknown keys belong to other tools and are ignored. But under `Facts:` or `fact:`, at the top level or one
//! level too deep, bound facts would be ignored as well, without a word, and so would what they deny.

use super::key;
use super::yaml::{Content, Entry};
use crate::diagnostic::suggest::one_slip;
use crate::spelling::split_name;
use indexmap::IndexMap;

/// The key of the bound facts.
const FACTS: &str = "facts";

/// The key of the dialect, the only one with a text.
const DIALECT: &str = "dialect";

/// The keys that this reader knows.
const KNOWN: [&str; 5] = [DIALECT, FACTS, "sql_types", "tables", "aliases"];

/// What is wrong with the top-level keys of a document, and where.
pub(super) fn misplaced(top: &IndexMap<String, Entry>) -> impl Iterator<Item = (usize, String)> {
    let unknown = top.iter().filter(|(key, _)| !KNOWN.contains(&key.as_str()));
    let has_facts = top.contains_key(FACTS);
    unknown.filter_map(move |(key, entry)| {
        let message = if is_signature(key) && mapping(entry).is_some() {
            format!("the fact `{key}` is not below `facts`, and would be ignored: move it there")
        } else if let Some(known) = misspelt(key).filter(|known| is_of_form(known, entry)) {
            format!("the key `{key}` is not known, and would be ignored: write `{known}`, or another name")
        } else if !has_facts && holds_facts(entry) {
            format!("the `facts` below `{key}` would be ignored: move them to the top level")
        } else {
            return None;
        };
        Some((entry.line, message))
    })
}

/// Whether a key is written like a bound fact, even if there is a mistake in it.
fn is_signature(key: &str) -> bool {
    let key = key.trim();
    let name = split_name(key).map(|(_, rest)| rest.strip_prefix('?').unwrap_or(rest));
    name.is_some_and(|rest| rest.trim_start().starts_with('(') && rest.ends_with(')'))
}

/// The known key that was probably meant.
fn misspelt(key: &str) -> Option<&'static str> {
    let lower = key.trim().to_lowercase();
    let is_same = KNOWN.into_iter().find(|known| *known == lower);
    is_same.or_else(|| one_slip(&lower, KNOWN))
}

/// Whether an entry could be that of a known key: a text for the dialect, and a mapping for any other.
fn is_of_form(known: &str, entry: &Entry) -> bool {
    mapping(entry).is_none() == (known == DIALECT)
}

/// Whether an entry is a mapping with bound facts of its own.
fn holds_facts(entry: &Entry) -> bool {
    let facts = mapping(entry).and_then(|entries| entries.get(FACTS)).and_then(mapping);
    facts.is_some_and(|facts| facts.keys().any(|key| key::read(key).is_ok()))
}

fn mapping(entry: &Entry) -> Option<&IndexMap<String, Entry>> {
    match &entry.value.content {
        Content::Mapping(entries) => Some(entries),
        Content::Text { .. } | Content::Sequence => None,
    }
}
