//! Policies that are small to write and large to answer with. Each test writes such a policy, stores a few
//! facts and says what every engine must answer. The files differ in what there is too much of.

mod alternatives;
mod chains;
mod rules;
mod types;

use super::probe::{OR_TOO_LARGE, complaints, on_a_small_stack};

const USER_AND_DOC: &str = "actor User {}\nresource Doc { permissions = [\"read\"]; }\n";

fn answers(name: &str, policy: String, facts: &str, asked: &[(&str, &str)]) {
    let facts = facts.to_owned();
    let asked = asked.iter().map(|(text, answer)| ((*text).to_owned(), (*answer).to_owned())).collect();
    let complaints = on_a_small_stack(name, move || complaints(&policy, &facts, asked));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The same, but a statement may be refused as too large for its database.
fn answers_or_refusals(name: &str, policy: String, facts: &str, asked: &[(&str, &str)]) {
    let lenient: Vec<String> = asked.iter().map(|(_, answer)| format!("{answer}{OR_TOO_LARGE}")).collect();
    let asked = asked.iter().zip(&lenient).map(|((text, _), answer)| (*text, answer.as_str()));
    answers(name, policy, facts, &asked.collect::<Vec<_>>());
}

/// The same line for each number.
fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|n| line(n) + "\n").collect()
}

/// Parts joined by a word.
fn joined(count: usize, word: &str, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(word)
}
