//! The cache of parsed data-bindings documents, by their text.
//!
//! In: a document's text. Out: its [`Document`], with a number that represents the text in other keys. A
//! caller sends the same document with every request, so the cache is small; it is bounded by the length of
//! the texts. New documents, and those too long to hash in place, are handled in turn, off the async workers.

use crate::engine::{Engine, EngineError};
use portcullis_compiler::bindings::{self, BindingArg, Bindings, ColumnExpr};
use portcullis_compiler::catalog::{Relation, RelationArg, RelationSource};
use portcullis_compiler::primitive::STRING;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The longest document that is hashed in place, in bytes.
const BRIEF: usize = 64 * 1024;

/// How many bytes the columns take that are kept with a document.
const COLUMNS: u64 = 16 * 1024;

/// A parsed document.
#[derive(Debug)]
pub(in crate::engine) struct Document {
    /// Different for every parsed text.
    pub(in crate::engine) number: u64,
    /// Its content.
    pub(in crate::engine) bindings: Bindings,
    /// The columns of filters that were read last: an application asks for the same few each time.
    columns: Cache<String, ColumnExpr, ColumnBytes>,
}

impl Document {
    /// A document with a number of its own.
    fn new(number: u64, bindings: Bindings) -> Self {
        Self { number, bindings, columns: Cache::with_weighter(16, COLUMNS, ColumnBytes) }
    }

    /// The column of a filter, read or from the cache.
    pub(super) fn column(&self, text: &str) -> Result<ColumnExpr, String> {
        if let Some(known) = self.columns.get(text) {
            return Ok(known);
        }
        let column = bindings::column(text, self.bindings.dialect)?;
        self.columns.insert(text.to_owned(), column.clone());
        Ok(column)
    }

    /// The relations that it binds.
    pub(in crate::engine) fn relations(&self) -> impl Iterator<Item = Relation> + '_ {
        let has_typed_texts = self.bindings.sql_types.contains_key(STRING);
        self.bindings.facts.enumerate().map(move |(binding, bound)| {
            let arg = |(position, arg): (usize, &BindingArg)| match arg {
                BindingArg::Column { ty } => {
                    RelationArg::Column { ty: ty.clone(), column: format!("c{position}") }
                }
                BindingArg::Constant { ty, text } => {
                    RelationArg::Constant { ty: ty.clone(), text: text.clone() }
                }
            };
            Relation {
                predicate: bound.predicate.clone(),
                args: bound.args.iter().enumerate().map(arg).collect(),
                source: RelationSource::Bound { binding, has_typed_texts },
            }
        })
    }
}

/// The documents that were used last.
#[derive(Debug)]
pub(in crate::engine) struct Documents {
    cache: Cache<String, Arc<Document>, TextBytes>,
    next: AtomicU64,
}

impl Documents {
    /// An empty cache for texts of at most `bytes` bytes in total.
    pub(in crate::engine) fn new(bytes: u64) -> Self {
        Self { cache: Cache::with_weighter(64, bytes, TextBytes), next: AtomicU64::new(0) }
    }

    /// The document of a text, parsed or from the cache.
    fn parse(&self, text: &str) -> Result<Arc<Document>, EngineError> {
        if let Some(known) = self.cache.get(text) {
            return Ok(known);
        }
        let bindings = bindings::parse(text).map_err(|errors| {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            EngineError::Bindings(errors.join("\n"))
        })?;
        if let Some(note) = bindings.sync_note() {
            tracing::warn!("data bindings: {note}");
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let document = Arc::new(Document::new(number, bindings));
        self.cache.insert(text.to_owned(), Arc::clone(&document));
        Ok(document)
    }
}

impl Engine {
    /// The document of a text, parsed or from the cache, in turn if it takes long.
    pub(in crate::engine) async fn document(&self, text: &str) -> Result<Arc<Document>, EngineError> {
        if text.len() <= BRIEF
            && let Some(known) = self.documents().cache.get(text)
        {
            return Ok(known);
        }
        let (engine, text) = (self.clone(), text.to_owned());
        self.in_turn(move || engine.documents().parse(&text)).await?
    }
}

/// Weighs a document by its text; the parsed form takes a small multiple of it.
#[derive(Clone, Copy, Debug)]
struct TextBytes;

impl Weighter<String, Arc<Document>> for TextBytes {
    fn weight(&self, text: &String, _: &Arc<Document>) -> u64 {
        u64::try_from(text.len() * 4 + 256).unwrap_or(u64::MAX)
    }
}

/// Weighs a column by its texts.
#[derive(Clone, Copy, Debug)]
struct ColumnBytes;

impl Weighter<String, ColumnExpr> for ColumnBytes {
    fn weight(&self, text: &String, column: &ColumnExpr) -> u64 {
        u64::try_from(2 * text.len() + column.text.len() + 64 * column.words.len() + 256).unwrap_or(u64::MAX)
    }
}
