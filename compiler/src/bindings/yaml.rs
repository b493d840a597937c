//! Reads YAML into a tree of mappings and texts with line numbers.
//!
//! In: a document. Out: a [`Node`], or `None` for an empty document, and an error for every duplicate key.
//! Values are not interpreted. An alias shares the node that it refers to, so a thousand aliases cost a
//! thousand pointers.

use super::error::BindingsError;
use crate::limits;
use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError, Span, options};
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// A value, and the line on which it begins.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) line: usize,
    pub(super) content: Content,
    /// How deep mappings and sequences are nested in it.
    depth: usize,
}

/// The kind of a value.
#[derive(Debug)]
pub(super) enum Content {
    /// A scalar; a plain one may be `null`.
    Text {
        /// The text.
        text: String,
        /// Whether it is unquoted.
        plain: bool,
        /// The original text, if its lines were folded into one.
        folded: Option<String>,
    },
    /// A mapping, in the order of its keys.
    Mapping(IndexMap<String, Entry>),
    /// A sequence; its items are never needed.
    Sequence,
}

/// A value of a mapping, and the line of its key.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: usize,
    pub(super) value: Rc<Node>,
}

impl Node {
    /// Whether this is YAML's `null`.
    pub(super) fn is_null(&self) -> bool {
        match &self.content {
            Content::Text { text, plain, .. } => {
                *plain && matches!(text.as_str(), "" | "~" | "null" | "Null" | "NULL")
            }
            Content::Mapping(_) | Content::Sequence => false,
        }
    }
}

/// Reads a document.
pub(super) fn read(text: &str) -> (Option<Rc<Node>>, Vec<BindingsError>) {
    if text.len() > limits::BINDINGS_BYTES {
        let message =
            format!("the document has more than {} bytes: bind fewer queries", limits::BINDINGS_BYTES);
        return (None, vec![BindingsError { line: None, message }]);
    }
    let mut builder = Builder::default();
    let options = options! {
        simple_key_max_lookahead: limits::BINDINGS_KEY_LENGTH,
        flow_nesting_limit: limits::BINDINGS_DEPTH,
        block_nesting_limit: limits::BINDINGS_DEPTH,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        let taken = match event {
            Ok((event, span)) => builder.take(text, event, span),
            Err(error) => Err(at(error.marker().line(), not_yaml(&error))),
        };
        if let Err(error) = taken {
            builder.errors.push(error);
            return (None, builder.errors);
        }
    }
    (builder.root, builder.errors)
}

/// The message for invalid YAML, with a remedy for a mistake that is common in keys.
fn not_yaml(error: &ScanError) -> String {
    let remedy = match error.kind() {
        ErrorKind::MappingValueNotAllowed => ": write no space after a `:` within a key, or quote the key",
        _ => "",
    };
    format!("this is not YAML: {}{remedy}", error.info())
}

/// An error on a line.
pub(super) fn at(line: usize, message: String) -> BindingsError {
    BindingsError { line: Some(line), message }
}

/// A mapping or sequence being read.
struct OpenNode {
    line: usize,
    anchor: usize,
    depth: usize,
    /// The mapping so far; `None` for a sequence.
    entries: Option<IndexMap<String, Entry>>,
    /// The key whose value comes next.
    key: Option<(String, usize)>,
}

#[derive(Default)]
struct Builder {
    root: Option<Rc<Node>>,
    open: Vec<OpenNode>,
    anchors: FxHashMap<usize, Rc<Node>>,
    documents: usize,
    errors: Vec<BindingsError>,
}

impl Builder {
    fn take(&mut self, document: &str, event: Event<'_>, span: Span) -> Result<(), BindingsError> {
        let line = span.start.line();
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    let message = "a second document begins: write all bindings in one".to_owned();
                    return Err(at(line, message));
                }
            }
            Event::Scalar(text, style, anchor, _) => {
                let folds = style != ScalarStyle::Literal && span.end.line() > line;
                let folded = span.slice(document).filter(|_| folds).map(ToOwned::to_owned);
                let plain = style == ScalarStyle::Plain;
                let content = Content::Text { text: text.into_owned(), plain, folded };
                self.value(Rc::new(Node { line, content, depth: 0 }), anchor, line)?;
            }
            Event::MappingStart(_, anchor, _) => self.begin(line, anchor, Some(IndexMap::new())),
            Event::SequenceStart(_, anchor, _) => self.begin(line, anchor, None),
            Event::MappingEnd | Event::SequenceEnd => {
                if let Some(OpenNode { line, anchor, depth, entries, .. }) = self.open.pop() {
                    let content = entries.map_or(Content::Sequence, Content::Mapping);
                    self.value(Rc::new(Node { line, content, depth: depth + 1 }), anchor, line)?;
                }
            }
            Event::Alias(anchor) => {
                let Some(node) = self.anchors.get(&anchor).map(Rc::clone) else {
                    return Err(at(
                        line,
                        "an alias refers to a node that contains it: write it out".to_owned(),
                    ));
                };
                self.value(node, 0, line)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, line: usize, anchor: usize, entries: Option<IndexMap<String, Entry>>) {
        self.open.push(OpenNode { line, anchor, depth: 0, entries, key: None });
    }

    /// Handles a complete node: the document, an item, a key, or the value of a key.
    fn value(&mut self, node: Rc<Node>, anchor: usize, line: usize) -> Result<(), BindingsError> {
        if anchor > 0 {
            self.anchors.insert(anchor, Rc::clone(&node));
        }
        let Some(open) = self.open.last_mut() else {
            self.root = Some(node);
            return Ok(());
        };
        open.depth = open.depth.max(node.depth);
        if open.depth > limits::BINDINGS_DEPTH {
            let message = format!("more than {} levels are nested", limits::BINDINGS_DEPTH);
            return Err(at(line, message));
        }
        let Some(entries) = &mut open.entries else { return Ok(()) };
        match (open.key.take(), &node.content) {
            (Some((key, key_line)), _) => match entries.get(&key) {
                Some(first) => {
                    let message =
                        format!("`{key}` is written twice, first on line {}: remove one", first.line);
                    self.errors.push(at(key_line, message));
                }
                None => {
                    entries.insert(key, Entry { line: key_line, value: node });
                }
            },
            (None, Content::Text { text, .. }) => open.key = Some((text.clone(), line)),
            (None, Content::Mapping(_) | Content::Sequence) => {
                return Err(at(line, "a key is not a text: write `key: value`".to_owned()));
            }
        }
        Ok(())
    }
}
