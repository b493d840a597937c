//! Sync configurations: documents that look like data bindings but were written for another tool.
//!
//! Oso Cloud copies facts out of databases (`oso-cloud reconcile`). The configuration of that command has
//! `facts` with a `query` each, like data bindings, and also names the databases. Such files are sometimes
//! sent as data bindings. If every fact has an SQL query, the file is accepted, and
//! [`Bindings::sync_keys`](super::Bindings::sync_keys) lists what was ignored. If facts come from a source
//! without SQL, the document is rejected here.

use super::bound::{Bindings, SyncKey};
use super::yaml::{Content, Entry};
use crate::dialect::Dialect;
use indexmap::IndexMap;
use std::fmt::Write;

/// Top-level keys of a sync configuration.
const TOP: [&str; 4] = ["version", "source", "dbs", "db"];

/// Keys of a database, a source or a fact that give its kind.
const KIND: [&str; 4] = ["kind", "source", "type", "engine"];

/// Keys of a database with an address, whose scheme gives its kind.
const ADDRESS: [&str; 3] = ["connection_string", "url", "uri"];

/// The key of a fact that names one of the databases.
const OF_FACT: &str = "db";

/// Keys of a fact that comes from a document collection or a file instead of SQL.
const INSTEAD_OF_SQL: [&str; 7] = ["collection", "fields", "aggregate", "find", "csv", "file", "path"];

/// Sources whose queries are not in a supported dialect.
const FOREIGN_SOURCES: [&str; 14] = [
    "mysql",
    "mariadb",
    "mongodb",
    "mongo",
    "csv",
    "files",
    "mssql",
    "sqlserver",
    "oracle",
    "snowflake",
    "bigquery",
    "clickhouse",
    "dynamodb",
    "redis",
];

/// The keys that only a sync uses; empty if the document is not a sync configuration.
pub(super) fn keys(top: &IndexMap<String, Entry>) -> Vec<SyncKey> {
    let facts = top.get("facts").and_then(mapping).into_iter().flat_map(|facts| facts.values());
    let mut of_facts = facts.filter_map(|fact| mapping(fact)?.get(OF_FACT));
    let of_fact = of_facts.next();
    // Any file may have a `version` and a `source`.
    let is_sync = of_fact.is_some()
        || ["dbs", "db"].iter().any(|name| top.contains_key(*name))
        || source(top).is_some_and(|(_, source)| source.parse::<Dialect>().is_ok());
    if !is_sync {
        return Vec::new();
    }
    let in_top = TOP.iter().filter_map(|name| Some((*name, top.get(*name)?, 0)));
    let in_facts = of_fact.map(|first| (OF_FACT, first, 1 + of_facts.count()));
    let key =
        |(key, entry, facts): (&str, &Entry, usize)| SyncKey { key: key.to_owned(), line: entry.line, facts };
    let mut found: Vec<SyncKey> = in_top.chain(in_facts).map(key).collect();
    found.sort_by_key(|key| key.line);
    found
}

/// The value of `source`, and its line.
fn source(top: &IndexMap<String, Entry>) -> Option<(usize, String)> {
    word(top.get("source")?)
}

/// The text of an entry, in lower case, and its line.
fn word(entry: &Entry) -> Option<(usize, String)> {
    match &entry.value.content {
        Content::Text { text, .. } => Some((entry.line, text.trim().to_lowercase())),
        Content::Mapping(_) | Content::Sequence => None,
    }
}

/// The error for a sync configuration whose source is not supported.
pub(super) fn foreign_source(top: &IndexMap<String, Entry>) -> Option<(usize, String)> {
    let inside = |name: &str| top.get(name).and_then(mapping).into_iter().flat_map(IndexMap::values);
    let of_top = top.get_key_value("source").into_iter();
    let nested = top.get("source").and_then(mapping).into_iter();
    let described = nested.chain(inside("dbs").chain(inside("facts")).filter_map(mapping));
    let of_parts = described.flat_map(|part| {
        let keys = KIND.into_iter().chain(ADDRESS);
        keys.filter_map(|name| part.get_key_value(name))
    });
    of_top.chain(of_parts).find_map(|(name, entry)| {
        let (line, text) = word(entry)?;
        let scheme = || text.split_once("://").map(|(scheme, _)| scheme.split('+').next().unwrap_or(scheme));
        let source = if ADDRESS.contains(&name.as_str()) { scheme()? } else { &text };
        let unknown = source.parse::<Dialect>().err().filter(|_| FOREIGN_SOURCES.contains(&source))?;
        // An address may hold a password.
        let message = format!(
            "this is a sync configuration, `{name}: {source}` ({unknown}): bind queries of the database that runs the SQL \
             and remove `{name}`, or import the facts"
        );
        Some((line, message))
    })
}

/// The error for a fact of a sync configuration that has something else in place of SQL.
pub(super) fn not_sql(key: &str, fields: &IndexMap<String, Entry>) -> Option<(usize, String)> {
    let query = fields.get("query");
    let is_mapping = query.is_some_and(|query| matches!(query.value.content, Content::Mapping(_)));
    if query.is_some() && !is_mapping {
        return None;
    }
    let (name, entry) = fields
        .iter()
        .find(|(name, _)| INSTEAD_OF_SQL.contains(&name.as_str()))
        .or_else(|| fields.get_key_value("query"))?;
    let what = if name == "query" { "a `query` that is not a text".to_owned() } else { format!("`{name}`") };
    let message = format!(
        "`{key}` has {what}, as in a sync configuration, and no SQL: write `query: SELECT …` for the database that \
         runs the SQL, or import the facts"
    );
    Some((entry.line, message))
}

fn mapping(entry: &Entry) -> Option<&IndexMap<String, Entry>> {
    match &entry.value.content {
        Content::Mapping(entries) => Some(entries),
        Content::Text { .. } | Content::Sequence => None,
    }
}

impl Bindings {
    /// A note for the author of a sync configuration; `None` for any other document.
    pub fn sync_note(&self) -> Option<String> {
        if self.sync_keys.is_empty() {
            return None;
        }
        let mut keys = String::new();
        for SyncKey { key, line, facts } in &self.sync_keys {
            let comma = if keys.is_empty() { "" } else { ", " };
            let place = match facts {
                0 => format!("(line {line})"),
                1 => format!("of a fact (line {line})"),
                n => format!("of {n} facts (from line {line})"),
            };
            // Writing to a String cannot fail.
            let _ = write!(keys, "{comma}`{key}` {place}");
        }
        Some(format!(
            "this is a sync configuration: its queries are read as data bindings of one {} database, and these keys are \
             ignored: {keys}",
            self.dialect
        ))
    }
}
