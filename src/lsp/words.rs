//! Splits policy text into words, whether or not it parses, and finds the statement around a position.
//!
//! In: a text and a position. Out: the words of the statement on both sides of the position, and the braces
//! around it. An unfinished line rarely parses, so completion looks at words instead of the tree.

use portcullis_compiler::source::LINE_ENDS;
use portcullis_compiler::spelling::{continues_name, split_literal, split_name, unescape};

/// A word of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'t> {
    /// A name or a keyword, with its `::` segments.
    Name(&'t str),
    /// A string literal with its quotes; the last one is missing if it is not closed on its line.
    Text(&'t str),
    /// A digit or any other character.
    Sign(char),
}

impl Word<'_> {
    /// The value of a closed string literal.
    pub(super) fn value(self) -> Option<String> {
        match self {
            Self::Text(literal) if split_literal(literal).is_some() => Some(unescape(literal)),
            Self::Text(_) | Self::Name(_) | Self::Sign(_) => None,
        }
    }
}

/// What ends a text.
enum End {
    /// Anything but a comment.
    Code,
    Comment,
}

/// The words of a text with the byte at which each begins.
fn words(text: &str) -> (Vec<(usize, Word<'_>)>, End) {
    let mut words = Vec::new();
    let mut end = End::Code;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let start = text.len() - rest.len();
        // Only comments and strings need it: finding its end at each character takes long in a long line.
        let line = || rest.split(LINE_ENDS).next().unwrap_or_default();
        let after = |length: usize| rest.get(length..).unwrap_or_default();
        rest = if c == '#' {
            let line = line();
            if line.len() == rest.len() {
                end = End::Comment;
            }
            after(line.len())
        } else if c == '"' {
            let line = line();
            let literal = split_literal(line).map_or(line, |(literal, _)| literal);
            words.push((start, Word::Text(literal)));
            after(literal.len())
        } else if let Some((name, after)) = split_name(rest) {
            words.push((start, Word::Name(name)));
            after
        } else {
            if !c.is_whitespace() {
                words.push((start, Word::Sign(c)));
            }
            after(c.len_utf8())
        };
    }
    (words, end)
}

/// The innermost braces of statements around a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around<'t> {
    /// None: the position is at top level.
    Top,
    /// Those of the block with this name; `global` for the global one.
    Block(&'t str),
    /// Those of a test.
    Test,
    /// Those of `setup` or of a fixture, which have facts in them.
    Facts,
}

/// What is being written at a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Current {
    /// A string literal.
    Text,
    /// A name, or nothing yet.
    Name,
}

/// A position in the words of a text.
#[derive(Debug)]
pub(super) struct Spot<'t> {
    /// The braces around it.
    pub(super) around: Around<'t>,
    /// The words of its statement before it, without the current one.
    pub(super) before: Vec<Word<'t>>,
    /// The words of its statement after it, without the current one.
    pub(super) after: Vec<Word<'t>>,
    /// What is being written.
    pub(super) current: Current,
    /// How many bytes of it are before the position, without the opening quote.
    pub(super) typed: usize,
}

/// The spot at a byte; `None` in a comment.
pub(super) fn spot(text: &str, byte: usize) -> Option<Spot<'_>> {
    let (left, right) = text.split_at_checked(byte)?;
    let (mut found, End::Code) = words(left) else { return None };
    let is_open = |start: usize, word: Word<'_>| match word {
        // A quote alone is open, too.
        Word::Text(literal) => word.value().is_none() && start + literal.len() == byte,
        Word::Name(name) => start + name.len() == byte,
        Word::Sign(_) => false,
    };
    let current = found.pop_if(|(start, word)| is_open(*start, *word));
    let (current, typed) = match current {
        Some((_, Word::Text(literal))) => (Current::Text, literal.len() - 1),
        Some((_, Word::Name(name))) => (Current::Name, name.len()),
        Some((_, Word::Sign(_))) | None => (Current::Name, typed_path(&mut found, left)),
    };
    let right = match current {
        Current::Text => after_text(right),
        Current::Name => right.trim_start_matches(continues_name),
    };
    let (around, before) = statement(text, &found);
    let is_inside = |word: &Word<'_>| !matches!(word, Word::Sign(';'));
    let after = words(right).0.into_iter().map(|(_, word)| word).take_while(is_inside).collect();
    Some(Spot { around, before, after, current, typed })
}

/// Removes a name that ends in `::` from the words, and returns its length.
fn typed_path(found: &mut Vec<(usize, Word<'_>)>, left: &str) -> usize {
    let colons = [Word::Sign(':'), Word::Sign(':')];
    let is_path = left.ends_with("::") && found.iter().rev().take(2).map(|(_, word)| *word).eq(colons);
    let start = found.len().checked_sub(3).and_then(|at| found.get(at));
    match start {
        Some(&(start, Word::Name(name))) if is_path && start + name.len() + 2 == left.len() => {
            found.truncate(found.len() - 3);
            name.len() + 2
        }
        Some(_) | None => 0,
    }
}

/// What follows a literal whose opening quote is before the text: a quote that follows letters closes it, and
/// otherwise it is not closed yet.
fn after_text(right: &str) -> &str {
    let rest = right.trim_start_matches(|c| continues_name(c) || "-.:/".contains(c));
    rest.strip_prefix('"').unwrap_or(right)
}

/// The braces around the end of some words, and the words of the last statement.
fn statement<'t>(text: &str, words: &[(usize, Word<'t>)]) -> (Around<'t>, Vec<Word<'t>>) {
    // Inside out: the braces of statements, and between them those of objects and declared relations.
    let mut open: Vec<Option<Around<'t>>> = Vec::new();
    let mut begun: Vec<Word<'t>> = Vec::new();
    for (at, &(start, word)) in words.iter().enumerate() {
        let in_first_column =
            text.get(..start).is_some_and(|left| left.is_empty() || left.ends_with(LINE_ENDS));
        let next = words.get(at + 1).map(|(_, word)| *word);
        if in_first_column && !continues(begun.last()) && begins_item(word, next, &open) {
            open.clear();
            begun.clear();
        }
        match word {
            Word::Sign('{') => {
                let opened = opened(&begun);
                if opened.is_some() {
                    begun.clear();
                } else {
                    begun.push(word);
                }
                open.push(opened);
            }
            Word::Sign('}') => match open.pop() {
                Some(None) => begun.push(word),
                Some(Some(_)) | None => begun.clear(),
            },
            // No object and no list of relations continues after it.
            Word::Sign(';') => {
                while open.pop_if(|opened| opened.is_none()).is_some() {}
                begun.clear();
            }
            Word::Name(_) | Word::Text(_) | Word::Sign(_) => begun.push(word),
        }
    }
    let around = open.into_iter().rev().flatten().next().unwrap_or(Around::Top);
    (around, begun)
}

/// The braces that a `{` after these words of a statement opens; `None` for those of an object or of declared
/// relations.
fn opened<'t>(begun: &[Word<'t>]) -> Option<Around<'t>> {
    match begun {
        [Word::Name("global")] => Some(Around::Block("global")),
        [Word::Name("actor" | "resource"), Word::Name(name)]
        | [Word::Name("actor" | "resource"), Word::Name(name), Word::Name("extends"), ..] => {
            Some(Around::Block(name))
        }
        [Word::Name("test"), Word::Name("fixture"), ..] | [Word::Name("setup")] => Some(Around::Facts),
        [Word::Name("test"), ..] => Some(Around::Test),
        _ => None,
    }
}

/// Whether a word in the first column begins an item, even if the braces before it are not closed.
fn begins_item(word: Word<'_>, next: Option<Word<'_>>, open: &[Option<Around<'_>>]) -> bool {
    match (word, next) {
        (Word::Name("actor" | "resource" | "declare"), Some(Word::Name(_)))
        | (Word::Name("test"), Some(Word::Name("fixture") | Word::Text(_)))
        | (Word::Name("global"), Some(Word::Sign('{'))) => true,
        // A fact that is not indented looks like a rule.
        (Word::Name(_), Some(Word::Sign('('))) => {
            matches!(open.iter().rev().flatten().next(), Some(Around::Block(_)))
        }
        (Word::Name(_) | Word::Text(_) | Word::Sign(_), _) => false,
    }
}

/// Whether a statement cannot end after this word.
fn continues(word: Option<&Word<'_>>) -> bool {
    match word {
        None => false,
        Some(Word::Name(name)) => {
            matches!(
                *name,
                "if" | "iff" | "and" | "or" | "not" | "in" | "on" | "matches" | "extends" | "global"
            )
        }
        Some(Word::Sign(sign)) => ",([:=<>!".contains(*sign),
        Some(Word::Text(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spot at `^`.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let byte = text.find('^').unwrap();
        let text = text.replacen('^', "", 1);
        let shown = spot(&text, byte).map(|spot| {
            let words = |words: &[Word<'_>]| {
                let word = |word: &Word<'_>| match word {
                    Word::Name(text) | Word::Text(text) => (*text).to_owned(),
                    Word::Sign(sign) => sign.to_string(),
                };
                words.iter().map(word).collect::<Vec<_>>().join(" ")
            };
            let Spot { around, before, after, current, typed } = &spot;
            format!("{around:?}: {} <{current:?} {typed}> {}", words(before), words(after))
        });
        assert_eq!(shown.as_deref().unwrap_or("none"), expected);
    }

    #[test]
    fn a_statement_may_span_lines_and_comments() {
        check("resource R {\n \"a\" if # b\n \"x\"\n on \"pa^", "Block(\"R\"): \"a\" if \"x\" on <Text 2> ");
        check("resource R { roles = [\"a\"]; \"b\" if ^ }", "Block(\"R\"): \"b\" if <Name 0> }");
        check("a(x) if b(x); # c(^", "none");
        check("a(x) if # b\n c(^x) and d(y); e(z);", "Top: a ( x ) if c ( <Name 0> ) and d ( y )");
    }

    #[test]
    fn a_text_is_closed_if_a_quote_follows_letters() {
        check("global { \"a\" if \"x^y\" on \"p\"; }", "Block(\"global\"): \"a\" if <Text 1> on \"p\"");
        check("resource R { \"a\" if \"^ on \"p\"; }", "Block(\"R\"): \"a\" if <Text 0> on \"p\"");
        check("p(\"a \\\" ^", "Top: p ( <Text 5> ");
        check("p(\"a \\\"^", "Top: p ( <Text 4> ");
    }

    #[test]
    fn braces_of_objects_and_relations_are_part_of_a_statement() {
        check("test \"t\" { setup { p(User{\"a\"}, ^ } }", "Facts: p ( User { \"a\" } , <Name 0> } }");
        check("test \"t\" { setup { p(1); } assert ^", "Test: assert <Name 0> ");
        check("actor A { relations = { a: ^ }; }", "Block(\"A\"): relations = { a : <Name 0> }");
        check("test fixture f { q(^ }", "Facts: q ( <Name 0> }");
    }

    #[test]
    fn an_item_in_the_first_column_ends_what_is_not_closed() {
        check(
            "resource R {\n \"a\" if\n}\nactor U {\n roles = [\"x\"\nresource S extends B, C { ^",
            "Block(\"S\"):  <Name 0> ",
        );
        check("p(x) if\nq(x) and ^", "Top: p ( x ) if q ( x ) and <Name 0> ");
        check("p(x: A::^", "Top: p ( x : <Name 3> ");
        check("p(x: A::B^)", "Top: p ( x : <Name 4> )");
    }
}
