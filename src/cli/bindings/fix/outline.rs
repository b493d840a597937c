//! The places of the parts of a document in its text.
//!
//! The document has been parsed, so its size and nesting are within bounds. Values are not read here.

use granit_parser::{Event, Parser, ScanError, Span, StructureStyle, options};
use portcullis_compiler::limits;
use std::ops::Range;

/// A document's text with the positions of its parts.
#[derive(Debug)]
pub(super) struct Outline<'a> {
    pub(super) text: &'a str,
    /// Its value; `None` if it is empty or cannot be followed.
    pub(super) root: Option<YamlNode>,
}

/// A value, with its place in the text.
#[derive(Debug)]
pub(super) struct YamlNode {
    /// Its bytes. Those of a mapping in block style may include comments after it.
    pub(super) span: Range<usize>,
    pub(super) content: Content,
}

/// The kind of a value.
#[derive(Debug)]
pub(super) enum Content {
    /// A text, or nothing.
    Scalar,
    /// A mapping with one entry to a line.
    Block(Vec<Entry>),
    /// A mapping in braces.
    Flow(Vec<Entry>),
    /// A sequence or an alias.
    Other,
}

/// An entry of a mapping.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    /// The bytes of the key.
    pub(super) key_span: Range<usize>,
    pub(super) value: YamlNode,
}

impl<'a> Outline<'a> {
    /// Reads the positions.
    pub(super) fn read(text: &'a str) -> Self {
        let options = options! { simple_key_max_lookahead: limits::BINDINGS_KEY_LENGTH };
        let mut events = Parser::new_from_str_with_options(text, options);
        let root = loop {
            match events.next() {
                Some(Ok((Event::StreamStart | Event::DocumentStart(..), _))) => {}
                Some(Ok((event, span))) => break node(&event, span, &mut events),
                Some(Err(_)) | None => break None,
            }
        };
        Self { text, root }
    }

    /// The position of a bound fact's query, without quotes around it.
    pub(super) fn query(&self, key: &str) -> Option<Range<usize>> {
        let facts = self.root.as_ref()?.entry("facts")?;
        let query = facts.value.entry(key)?.value.entry("query")?;
        let YamlNode { span, content: Content::Scalar } = &query.value else { return None };
        let is_quoted = self.text.get(span.clone())?.starts_with(['"', '\'']);
        let quote = usize::from(is_quoted);
        Some(span.start + quote..span.end - quote)
    }
}

impl YamlNode {
    /// The entries of a mapping.
    pub(super) fn entries(&self) -> Option<&[Entry]> {
        match &self.content {
            Content::Block(entries) | Content::Flow(entries) => Some(entries),
            Content::Scalar | Content::Other => None,
        }
    }

    /// The entry with a key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries()?.iter().find(|entry| entry.key == key)
    }
}

/// Reads a value whose first event has been taken.
fn node<'a>(
    event: &Event<'a>,
    span: Span,
    events: &mut impl Iterator<Item = Result<(Event<'a>, Span), ScanError>>,
) -> Option<YamlNode> {
    let mut bytes = span.byte_range()?;
    let content = match event {
        Event::Scalar(..) => Content::Scalar,
        Event::Alias(_) => Content::Other,
        Event::SequenceStart(..) => loop {
            let (event, span) = events.next()?.ok()?;
            if event == Event::SequenceEnd {
                bytes.end = span.byte_range()?.end;
                break Content::Other;
            }
            node(&event, span, events)?;
        },
        Event::MappingStart(style, ..) => {
            let mut entries = Vec::new();
            loop {
                let (event, span) = events.next()?.ok()?;
                let key = match event {
                    Event::MappingEnd => {
                        bytes.end = span.byte_range()?.end;
                        break;
                    }
                    Event::Scalar(text, ..) => text.into_owned(),
                    _ => return None,
                };
                let (event, value) = events.next()?.ok()?;
                entries.push(Entry {
                    key,
                    key_span: span.byte_range()?,
                    value: node(&event, value, events)?,
                });
            }
            match style {
                StructureStyle::Block => Content::Block(entries),
                StructureStyle::Flow => Content::Flow(entries),
            }
        }
        _ => return None,
    };
    Some(YamlNode { span: bytes, content })
}
