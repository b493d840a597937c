//! Formats a data-bindings document without changing its comments or its meaning.
//!
//! In: the text of a document. Out: the same document with two spaces of indentation for each level, one
//! space after a colon, no trailing spaces, and at most one empty line in a row. Lines are moved, but never
//! joined or broken, so values in braces, lists, and the lines of a query keep their layout:
//!
//! ```text
//! facts:                                   facts:
//!     is_public(Repo:_):                     is_public(Repo:_):
//!         # The public ones.       becomes     # The public ones.
//!         query:   SELECT id                   query: SELECT id
//!           FROM repos                           FROM repos
//! ```
//!
//! The result is read again. If it is not the same document, which can happen with anchors and other rare
//! forms, the text is returned unchanged.

mod lines;

use super::document::parse;
use super::error::BindingsError;
use super::yaml;
use crate::limits;
use granit_parser::{Event, Parser, StructureStyle, options};
use lines::MovedLines;
use std::ops::Range;

/// How many spaces each level is indented by.
const STEP: usize = 2;

/// Formats a document.
///
/// # Errors
/// If it is not YAML, or repeats a key. A document with other mistakes is formatted.
pub fn format(text: &str) -> Result<String, Vec<BindingsError>> {
    let (_, errors) = yaml::read(text);
    let (Some(before), true) = (events(text), errors.is_empty()) else { return Err(errors) };
    let mut lines = MovedLines::of(text);
    place(&mut lines, &before);
    let formatted = lines.formatted();
    let same = events(&formatted).is_some_and(|after| is_same(&before, &after)) && reads_as(text, &formatted);
    Ok(if same { formatted } else { text.to_owned() })
}

/// The events of the parser, each with its bytes.
type Placed<'a> = Vec<(Event<'a>, Range<usize>)>;

fn events(text: &str) -> Option<Placed<'_>> {
    let options = options! {
        simple_key_max_lookahead: limits::BINDINGS_KEY_LENGTH,
        flow_nesting_limit: limits::BINDINGS_DEPTH,
        block_nesting_limit: limits::BINDINGS_DEPTH,
    };
    let events = Parser::new_from_str_with_options(text, options);
    events.map(|event| event.ok().and_then(|(event, span)| Some((event, span.byte_range()?)))).collect()
}

/// Whether two texts have the same events: the same values in the same style.
fn is_same(before: &Placed<'_>, after: &Placed<'_>) -> bool {
    before.len() == after.len() && before.iter().zip(after).all(|((before, _), (after, _))| before == after)
}

/// Whether two texts have the same bindings or the same mistakes, apart from line numbers.
fn reads_as(before: &str, after: &str) -> bool {
    let read = |text: &str| match parse(text) {
        Ok(mut bindings) => {
            bindings.facts.iter_mut().for_each(|binding| binding.line = 0);
            bindings.sync_keys.iter_mut().for_each(|key| key.line = 0);
            Ok(bindings)
        }
        Err(errors) => Err(errors.into_iter().map(|error| error.message).collect::<Vec<_>>()),
    };
    read(before) == read(after)
}

/// Decides how each line is moved.
fn place(lines: &mut MovedLines<'_>, events: &Placed<'_>) {
    let mut open: Vec<OpenCollection> = Vec::new();
    for (event, span) in events {
        match event {
            Event::MappingStart(style, ..) => {
                let is_block = *style == StructureStyle::Block;
                let is_opaque = !is_block || open.iter().any(|open| open.is_opaque);
                begin_value(lines, &open, span, is_opaque);
                open.push(OpenCollection { is_opaque, is_mapping: true, key: None, begins: span.start });
            }
            Event::SequenceStart(..) => {
                begin_value(lines, &open, span, true);
                open.push(OpenCollection {
                    is_opaque: true,
                    is_mapping: false,
                    key: None,
                    begins: span.start,
                });
            }
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(closed) = open.pop()
                    && closed.is_opaque
                    && !open.iter().any(|open| open.is_opaque)
                {
                    lines.keep_together(closed.begins..span.end.max(closed.begins), STEP * open.len());
                }
                end_value(&mut open);
            }
            Event::Scalar(..) | Event::Alias(_) => {
                let depth = open.len();
                let is_transparent = !open.iter().any(|open| open.is_opaque);
                match open.last_mut() {
                    Some(OpenCollection { is_mapping: true, key: key @ None, .. }) => {
                        *key = Some(span.clone());
                        if is_transparent {
                            lines.begin_entry(span.start, STEP * (depth - 1));
                        }
                    }
                    Some(OpenCollection { is_mapping: true, key: Some(key), .. }) => {
                        if is_transparent {
                            lines.tighten(key.end, span.start);
                            lines.keep_together(span.clone(), STEP * depth);
                        }
                        end_value(&mut open);
                    }
                    Some(_) | None => {}
                }
            }
            _ => {}
        }
    }
}

/// A mapping or a sequence whose end has not been reached.
struct OpenCollection {
    /// Whether it keeps its layout.
    is_opaque: bool,
    is_mapping: bool,
    /// The key whose value is next.
    key: Option<Range<usize>>,
    begins: usize,
}

/// Tightens the space between a key and the collection after it, if that keeps its layout.
fn begin_value(lines: &mut MovedLines<'_>, open: &[OpenCollection], span: &Range<usize>, is_opaque: bool) {
    let is_inside = open.iter().any(|open| open.is_opaque);
    if let Some(OpenCollection { key: Some(key), .. }) = open.last()
        && is_opaque
        && !is_inside
    {
        lines.tighten(key.end, span.start);
    }
}

fn end_value(open: &mut [OpenCollection]) {
    if let Some(last) = open.last_mut() {
        last.key = None;
    }
}

#[cfg(test)]
mod tests {
    use super::format;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(format(text).as_deref(), Ok(expected), "{text}");
        assert_eq!(format(expected).as_deref(), Ok(expected), "again: {text}");
    }

    #[test]
    fn levels_have_two_spaces() {
        check(
            "\n\n# Bindings.  \nfacts:\n\n\n    # Who reads.\n    has_role(User:_, String:_, Repo:_):\n        query:   SELECT a, b, c FROM t   # all\n\n\n    is_public(Repo:_):\n        query: SELECT id\n          FROM repos\n          WHERE public\n    # the last\nsql_types: {User:   integer}\n# end\n\n",
            "# Bindings.\nfacts:\n\n  # Who reads.\n  has_role(User:_, String:_, Repo:_):\n    query: SELECT a, b, c FROM t   # all\n\n  is_public(Repo:_):\n    query: SELECT id\n      FROM repos\n      WHERE public\n  # the last\nsql_types: {User:   integer}\n# end\n",
        );
    }

    #[test]
    fn the_text_of_a_query_is_moved_as_a_whole() {
        check(
            "facts:\n      a(User:_):\n            query: |\n                 SELECT id -- all\n\n                   FROM t   \n      b(User:_):\n        query: >-\n         SELECT id\n         FROM t\n",
            "facts:\n  a(User:_):\n    query: |\n      SELECT id -- all\n\n        FROM t   \n  b(User:_):\n    query: >-\n      SELECT id\n      FROM t\n",
        );
        check(
            "facts:\n   a(User:_):\n      query:\n            SELECT id\n              FROM t\n   'b(User:_)':\n      query: \"SELECT id\n          FROM t\"\n",
            "facts:\n  a(User:_):\n    query:\n      SELECT id\n        FROM t\n  'b(User:_)':\n    query: \"SELECT id\n      FROM t\"\n",
        );
    }

    #[test]
    fn braces_and_lists_keep_their_layout() {
        check(
            "sql_types: {\n  User: integer,\n     Repo:   text }\nother:\n    - a\n    -   b:  c\ntables:\n      User:   users.id\n",
            "sql_types: {\n  User: integer,\n     Repo:   text }\nother:\n  - a\n  -   b:  c\ntables:\n  User: users.id\n",
        );
        check(
            "{\"facts\": {\n \"a(User:_)\": {\"query\":\"SELECT 1\"}}}",
            "{\"facts\": {\n \"a(User:_)\": {\"query\":\"SELECT 1\"}}}\n",
        );
    }

    #[test]
    fn what_cannot_be_moved_safely_stays() {
        for text in [
            "facts:\n    a(User:_): &q\n        query: SELECT 1\n    b(User:_): *q\n",
            "facts:\n    a(User:_):\n        query: |1\n          SELECT 1\n",
            "? facts\n:   a(User:_):\n       query: SELECT 1\n",
        ] {
            let formatted = format(text).unwrap();
            assert_eq!(format(&formatted).unwrap(), formatted);
            assert_eq!(formatted.replace([' ', '\n'], ""), text.replace([' ', '\n'], ""));
        }
        assert!(format("facts: [").is_err());
        assert_eq!(format("").as_deref(), Ok(""));
        assert_eq!(format("# only a comment").as_deref(), Ok("# only a comment\n"));
    }
}
