//! What may be written at a position, by the words around it.

use crate::lsp::names::longhand::{NamedKind, naming};
use crate::lsp::words::{Around, Current, Spot, Word};
use portcullis_compiler::syntax::ast::BlockKind;
use std::collections::BTreeSet;

/// What a position is for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum CompletionPlace<'t> {
    /// The name of a relation of a block, after `"held" on` if a string is held.
    Relation { block: &'t str, held: Option<String> },
    /// A name that a relation of the block leads to, before `on "relation"`.
    Held { block: &'t str, relation: String },
    /// Any other name in the shorthand of a block.
    Own { block: &'t str },
    /// A name of the global block.
    Global,
    /// The name in a call of a built-in predicate.
    Named { wanted: NamedKind, of: Holder<'t> },
    /// Any other string literal.
    Text,
    /// A string literal that names nothing in the policy, such as an id.
    Free,
    /// The name of a fixture.
    Fixture,
    /// A type.
    Type,
    /// A type whose block may be extended by another block.
    Extended { kind: BlockKind, by: &'t str },
    /// Anything else.
    Word,
}

/// Whose roles, permissions or relations a call names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holder<'t> {
    /// Those of values of a type.
    Type(&'t str),
    /// Those of values whose type is not known.
    Unknown,
    /// Those of the global block.
    Nobody,
}

/// What a position is for.
pub(super) fn place<'t>(spot: &Spot<'t>) -> CompletionPlace<'t> {
    match spot.current {
        Current::Text => text(spot),
        Current::Name => name(spot),
    }
}

fn text<'t>(spot: &Spot<'t>) -> CompletionPlace<'t> {
    let before = spot.before.as_slice();
    match before {
        [.., Word::Name("test")] => return CompletionPlace::Free,
        [.., Word::Name(_), Word::Sign('{')] => return CompletionPlace::Free,
        [.., Word::Name("global")] => return CompletionPlace::Global,
        _ => {}
    }
    if let Some(call) = EnclosingCall::around(spot) {
        return call.text(spot);
    }
    let Around::Block(block) = spot.around else { return CompletionPlace::Text };
    match (before, spot.after.as_slice()) {
        // A new name is declared here.
        ([Word::Name("roles" | "permissions" | "relations"), ..], _) => CompletionPlace::Free,
        ([.., held, Word::Name("on")], _) => CompletionPlace::Relation { block, held: held.value() },
        (_, [Word::Name("on"), relation, ..]) => match relation.value() {
            Some(relation) => CompletionPlace::Held { block, relation },
            None => CompletionPlace::Own { block },
        },
        ([] | [Word::Name(_) | Word::Text(_) | Word::Sign(_), ..], _) => CompletionPlace::Own { block },
    }
}

fn name<'t>(spot: &Spot<'t>) -> CompletionPlace<'t> {
    match spot.before.as_slice() {
        [Word::Name(kind @ ("actor" | "resource")), Word::Name(by), Word::Name("extends"), ..]
            if matches!(spot.before.last(), Some(Word::Sign(',') | Word::Name("extends"))) =>
        {
            let kind = if *kind == "actor" { BlockKind::Actor } else { BlockKind::Resource };
            CompletionPlace::Extended { kind, by }
        }
        [.., Word::Sign(':') | Word::Name("matches" | "extends")] => CompletionPlace::Type,
        [.., Word::Name("matches"), Word::Sign('!')] => CompletionPlace::Type,
        [Word::Name("declare"), .., Word::Sign('(' | ',')] => CompletionPlace::Type,
        [Word::Name("fixture")] if spot.around == Around::Facts => CompletionPlace::Fixture,
        _ => CompletionPlace::Word,
    }
}

/// A call around a position.
struct EnclosingCall<'s, 't> {
    predicate: &'t str,
    /// The words of its arguments before and after the position.
    before: &'s [Word<'t>],
    after: &'s [Word<'t>],
}

impl<'s, 't> EnclosingCall<'s, 't> {
    fn around(spot: &'s Spot<'t>) -> Option<Self> {
        let mut depth = 0_usize;
        let open = spot.before.iter().rposition(|word| match word {
            Word::Sign(')' | '}' | ']') => {
                depth += 1;
                false
            }
            Word::Sign('(' | '{' | '[') if depth > 0 => {
                depth -= 1;
                false
            }
            Word::Sign('(') => true,
            Word::Sign(_) | Word::Name(_) | Word::Text(_) => false,
        })?;
        let (head, before) = spot.before.split_at_checked(open)?;
        let Some(Word::Name(predicate)) = head.last() else { return None };
        if matches!(*predicate, "and" | "or" | "not" | "if" | "iff" | "in") {
            return None;
        }
        Some(Self { predicate, before: before.get(1..).unwrap_or_default(), after: &spot.after })
    }

    /// What a string in the call is for.
    fn text(&self, spot: &Spot<'t>) -> CompletionPlace<'t> {
        let left = arguments(self.before);
        let at = left.len().saturating_sub(1);
        let right = arguments(self.after);
        // The argument at the position is the last on the left and the first on the right.
        let argument = |n: usize| if n < at { left.get(n) } else { right.get(n - at) };
        let arity = (at + right.len()).max(at + 1);
        // An unfinished call may lack its last argument.
        let Some(naming) = naming(self.predicate, arity).or_else(|| naming(self.predicate, 3)) else {
            return CompletionPlace::Text;
        };
        if naming.name != at {
            return CompletionPlace::Free;
        }
        let is_finished = self.after.contains(&Word::Sign(')'));
        let of = match naming.of {
            None if is_finished => Holder::Nobody,
            None => Holder::Unknown,
            Some(n) => {
                argument(n).and_then(|words| type_of(words, spot)).map_or(Holder::Unknown, Holder::Type)
            }
        };
        CompletionPlace::Named { wanted: naming.wanted, of }
    }
}

/// The arguments in some words, up to the end of their call.
fn arguments<'s, 't>(words: &'s [Word<'t>]) -> Vec<&'s [Word<'t>]> {
    let mut depth = 0_usize;
    let mut arguments = Vec::new();
    let mut start = 0;
    let mut end = words.len();
    for (at, word) in words.iter().enumerate() {
        match word {
            Word::Sign('(' | '{' | '[') => depth += 1,
            Word::Sign(')' | '}' | ']') if depth > 0 => depth -= 1,
            Word::Sign(')' | '}' | ']') => {
                end = at;
                break;
            }
            Word::Sign(',') if depth == 0 => {
                arguments.push(words.get(start..at).unwrap_or_default());
                start = at + 1;
            }
            Word::Sign(_) | Word::Name(_) | Word::Text(_) => {}
        }
    }
    arguments.push(words.get(start..end).unwrap_or_default());
    arguments
}

/// The type of an argument: its own, or that which the statement gives to the variable.
fn type_of<'t>(argument: &[Word<'t>], spot: &Spot<'t>) -> Option<&'t str> {
    match argument {
        [Word::Name(ty), Word::Sign('{'), ..] => Some(ty),
        [Word::Name(_), Word::Sign(':'), Word::Name(ty)] => Some(ty),
        [Word::Name("resource")] if let Around::Block(block) = spot.around => Some(block),
        [variable @ Word::Name(_)] => {
            let windows = spot.before.windows(3).chain(spot.after.windows(3));
            windows.into_iter().find_map(|words| match words {
                [name, Word::Sign(':') | Word::Name("matches"), Word::Name(ty)] if name == variable => {
                    Some(*ty)
                }
                _ => None,
            })
        }
        _ => None,
    }
}

/// The variables of the statement around a position; those that its block implies, too.
pub(super) fn variables<'t>(spot: &Spot<'t>) -> Vec<&'t str> {
    let mut met = BTreeSet::new();
    let mut found = Vec::new();
    let words = [spot.before.as_slice(), spot.after.as_slice()];
    for words in words {
        for (at, word) in words.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|at| words.get(at));
            if let Word::Name(name) = word
                && is_variable(name, before, words.get(at + 1))
                && met.insert(*name)
            {
                found.push(*name);
            }
        }
    }
    match spot.around {
        Around::Block(_) if EnclosingCall::around(spot).is_some() => {
            found.extend(["resource", "actor"].into_iter().filter(|name| met.insert(name)));
        }
        // Facts have no variables, and what comes before the first call is not a statement yet.
        Around::Facts => found.clear(),
        Around::Block(_) | Around::Top | Around::Test => {}
    }
    found
}

/// Whether a name is a variable, by the words next to it.
fn is_variable(name: &str, before: Option<&Word<'_>>, after: Option<&Word<'_>>) -> bool {
    let is_word = matches!(
        name,
        "_" | "if"
            | "iff"
            | "and"
            | "or"
            | "not"
            | "in"
            | "matches"
            | "true"
            | "false"
            | "assert"
            | "assert_not"
            | "setup"
            | "test"
            | "fixture"
            | "declare"
            | "global"
            | "extends"
            | "roles"
            | "permissions"
            | "relations"
            | "role"
            | "permission"
            | "on"
            | "current_unix_time"
    );
    let is_type = match before {
        Some(Word::Sign(':' | '!')) => true,
        Some(Word::Name(word)) => matches!(*word, "matches" | "extends" | "actor" | "resource" | "declare"),
        Some(Word::Sign(_) | Word::Text(_)) | None => false,
    };
    let is_called = matches!(after, Some(Word::Sign('(' | '{')));
    !is_word && !is_type && !is_called && before.is_some()
}
