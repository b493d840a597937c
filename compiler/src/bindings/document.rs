//! Reads the YAML tree of a data-bindings document into [`Bindings`].
//!
//! Such files often serve other tools as well, so unknown keys at any level are ignored, as are bindings of
//! predicates and types that the policy does not have. A sync configuration is recognised ([`sync`]), and so
//! are keys at the top level that are meant for this reader ([`misplaced`]). The keys defined here are read
//! strictly: every error names its key and line, and all errors are reported at once.

use super::bound::{Binding, BindingArg, Bindings, BoundQuery, RowTable};
use super::error::BindingsError;
use super::name::SqlName;
use super::types::SqlType;
use super::yaml::{self, Content, Entry, Node, at};
use super::{column, key, misplaced, query, sync};
use crate::catalog::BindingId;
use crate::dialect::Dialect;
use crate::id_vec::IdVec;
use crate::limits;
use indexmap::IndexMap;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry as MapEntry;

/// Reads a data-bindings document. An empty or `null` document binds nothing.
///
/// # Errors
/// All errors, sorted by line.
pub fn parse(text: &str) -> Result<Bindings, Vec<BindingsError>> {
    let (root, errors) = yaml::read(text);
    let mut document = Document { errors };
    let bindings = document.bindings(root.as_deref());
    document.errors.sort_by_key(|error| error.line);
    if document.errors.is_empty() { Ok(bindings) } else { Err(document.errors) }
}

struct Document {
    errors: Vec<BindingsError>,
}

impl Document {
    fn report(&mut self, line: usize, message: String) {
        self.errors.push(at(line, message));
    }

    fn bindings(&mut self, root: Option<&Node>) -> Bindings {
        let mut bindings = Bindings::default();
        let top = match root {
            None => return bindings,
            Some(Node { content: Content::Text { text, .. }, .. }) if text.trim().is_empty() => {
                return bindings;
            }
            Some(root) => match self.mapping("the document", root) {
                Some(top) => top,
                None => return bindings,
            },
        };
        if let Some((line, message)) = sync::foreign_source(top) {
            self.report(line, message);
            return bindings;
        }
        for (line, message) in misplaced::misplaced(top) {
            self.report(line, message);
        }
        // The dialect decides how everything below is read.
        if !self.dialect(top.get("dialect"), &mut bindings.dialect) {
            return bindings;
        }
        bindings.sync_keys = sync::keys(top);
        let dialect = bindings.dialect;
        let section = |document: &mut Self, name: &str| {
            let entry = top.get(name)?;
            document.mapping(&format!("`{name}`"), &entry.value)
        };
        if let Some(facts) = section(self, "facts") {
            bindings.facts = self.facts(facts, dialect);
        }
        if let Some(types) = section(self, "sql_types") {
            bindings.sql_types = self.sql_types(types, dialect);
        }
        if let Some(tables) = section(self, "tables") {
            bindings.tables = self.tables(tables, dialect);
        }
        if let Some(aliases) = section(self, "aliases") {
            bindings.aliases = self.aliases(aliases, dialect);
        }
        bindings
    }

    /// The entries of a mapping; `None` if there is no value, or one of a different kind, which is reported.
    fn mapping<'a>(&mut self, name: &str, node: &'a Node) -> Option<&'a IndexMap<String, Entry>> {
        match &node.content {
            Content::Mapping(entries) => {
                if let Some(merge) = entries.get("<<") {
                    let message = format!("{name} merges entries with `<<`: write them out");
                    self.report(merge.line, message);
                }
                Some(entries)
            }
            _ if node.is_null() => None,
            Content::Text { .. } | Content::Sequence => {
                self.report(node.line, format!("{name} is not a mapping: write `key: value` lines"));
                None
            }
        }
    }

    /// The text of an entry. An empty value, or one of a different kind, is reported.
    fn text<'a>(&mut self, name: &str, entry: &'a Entry) -> Option<&'a str> {
        match &entry.value.content {
            Content::Text { text, .. } if !entry.value.is_null() && !text.trim().is_empty() => Some(text),
            Content::Text { .. } => {
                self.report(entry.line, format!("{name} is empty: write a text"));
                None
            }
            Content::Mapping(_) | Content::Sequence => {
                self.report(entry.line, format!("{name} must be a string"));
                None
            }
        }
    }

    /// Reads the dialect, if given; returns whether it is valid.
    fn dialect(&mut self, entry: Option<&Entry>, dialect: &mut Dialect) -> bool {
        let Some(entry) = entry.filter(|entry| !entry.value.is_null()) else { return true };
        let Some(name) = self.text("`dialect`", entry) else { return false };
        match name.trim().parse() {
            Ok(named) => {
                *dialect = named;
                true
            }
            Err(unknown) => {
                self.report(entry.line, format!("`dialect`: {unknown}"));
                false
            }
        }
    }

    fn facts(&mut self, entries: &IndexMap<String, Entry>, dialect: Dialect) -> IdVec<BindingId, Binding> {
        let mut facts = IdVec::new();
        let mut known: FxHashMap<(String, Vec<BindingArg>), (&str, usize)> = FxHashMap::default();
        for (n, (key, entry)) in entries.iter().filter(|(key, _)| *key != "<<").enumerate() {
            let line = entry.line;
            if n >= limits::BINDINGS_FACTS {
                let limit = limits::BINDINGS_FACTS;
                self.report(
                    line,
                    format!("`{key}` exceeds the limit of {limit} bound facts: bind fewer queries"),
                );
                return facts;
            }
            let query = self.query(key, entry);
            let (predicate, args) = match key::read(key) {
                Ok(signature) => signature,
                Err(reason) => {
                    self.report(line, format!("the key `{key}` {reason}"));
                    continue;
                }
            };
            match known.entry((predicate.clone(), args.clone())) {
                MapEntry::Occupied(first) => {
                    let (first, first_line) = first.get();
                    let message = format!(
                        "the key `{key}` means the same as `{first}` on line {first_line}: combine the two queries \
                         by UNION"
                    );
                    self.report(line, message);
                }
                MapEntry::Vacant(place) => {
                    place.insert((key, line));
                }
            }
            let Some(entry) = query else { continue };
            let Some(text) = self.text(&format!("`{key}`: the query"), entry) else { continue };
            let folded = match &entry.value.content {
                Content::Text { folded, .. } => folded.as_deref(),
                Content::Mapping(_) | Content::Sequence => None,
            };
            match bound(text, folded, &args, dialect) {
                Ok(query) => {
                    facts.push(Binding { key: key.clone(), line, predicate, args, query });
                }
                Err(reason) => self.report(entry.line, format!("`{key}`: the query {reason}")),
            }
        }
        facts
    }

    /// The entry with a fact's query.
    fn query<'a>(&mut self, key: &str, entry: &'a Entry) -> Option<&'a Entry> {
        let fields = match &entry.value.content {
            Content::Mapping(_) => self.mapping(&format!("`{key}`"), &entry.value)?,
            Content::Text { .. } | Content::Sequence => {
                self.report(entry.line, format!("`{key}` has no `query`: write `query: SELECT …` below it"));
                return None;
            }
        };
        if let Some((line, message)) = sync::not_sql(key, fields) {
            self.report(line, message);
            return None;
        }
        let query = fields.get("query");
        if query.is_none() {
            self.report(entry.line, format!("`{key}` has no `query`: write `query: SELECT …` below it"));
        }
        query
    }

    fn sql_types(
        &mut self,
        entries: &IndexMap<String, Entry>,
        dialect: Dialect,
    ) -> IndexMap<String, SqlType> {
        self.named("sql_types", entries, |text| SqlType::parse(text, dialect))
    }

    fn tables(&mut self, entries: &IndexMap<String, Entry>, dialect: Dialect) -> IndexMap<String, RowTable> {
        let lexis = &dialect.features().lexis;
        self.named("tables", entries, |text| {
            let (table, column) = column::table_column(text, lexis)?;
            Ok(RowTable { table, column })
        })
    }

    /// The aliases of tables. Spellings of one name are the same alias.
    fn aliases(
        &mut self,
        entries: &IndexMap<String, Entry>,
        dialect: Dialect,
    ) -> IndexMap<SqlName, Vec<SqlName>> {
        let lexis = &dialect.features().lexis;
        let tables = self.named("aliases", entries, |text| column::table(text, lexis));
        let mut found = IndexMap::new();
        for (name, table) in tables {
            let line = entries.get(&name).map_or(0, |entry| entry.line);
            match column::alias(&name, lexis) {
                Ok(alias) if found.contains_key(&alias) => {
                    self.report(line, format!("`aliases`: `{name}` is declared twice"));
                }
                Ok(alias) => {
                    found.insert(alias, table);
                }
                Err(reason) => self.report(line, format!("`aliases`: `{name}` {reason}")),
            }
        }
        found
    }

    /// A section that maps names to texts.
    fn named<T>(
        &mut self,
        section: &str,
        entries: &IndexMap<String, Entry>,
        read: impl Fn(&str) -> Result<T, String>,
    ) -> IndexMap<String, T> {
        let mut found = IndexMap::new();
        for (name, entry) in entries.iter().filter(|(name, _)| *name != "<<") {
            let Some(text) = self.text(&format!("`{section}`: `{name}`"), entry) else { continue };
            match read(text) {
                Ok(value) => {
                    found.insert(name.clone(), value);
                }
                Err(reason) => {
                    let shown: String = text.chars().take(60).collect();
                    let message = format!("`{section}`: `{name}`: `{}` {reason}", shown.escape_debug());
                    self.report(entry.line, message);
                }
            }
        }
        found
    }
}

/// Reads the query of a binding, which needs one column for each `_`.
fn bound(
    text: &str,
    folded: Option<&str>,
    args: &[BindingArg],
    dialect: Dialect,
) -> Result<BoundQuery, String> {
    let settled = query::read(text, dialect)?;
    // `>` folds several lines into one, so `--` comments out more than intended, perhaps a whole WHERE.
    let swallowed = |comment: &String| folded.is_some_and(|source| !source.contains(comment.as_str()));
    if settled.line_comments.iter().any(swallowed) {
        return Err("is folded into one line by YAML, so its `--` comment hides what follows: write \
                    the query below `query: |`, or the comment as `/* … */`"
            .to_owned());
    }
    let wanted = args.iter().filter(|arg| matches!(arg, BindingArg::Column { .. })).count();
    match settled.columns {
        Some(found) if found != wanted => Err(format!(
            "has {found} column{}, but the key has {wanted} `_`: select one column for each `_`, in order",
            if found == 1 { "" } else { "s" }
        )),
        _ => Ok(settled.query),
    }
}
