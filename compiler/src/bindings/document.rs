//! The data-bindings document: a tree of YAML to [`Bindings`].
//!
//! People keep these files beside others, so what is not ours is passed over: unknown keys at any level,
//! and bindings of predicates and types that no policy has. What is ours is read strictly, and every error
//! names its key and line; all that can be found are reported at once.

use super::yaml::{self, Content, Entry, Node, at};
use super::{Binding, BindingArg, Bindings, BindingsError, RowTable, SqlType, column, key, query};
use crate::sql::dialect::Dialect;
use indexmap::IndexMap;

/// Reads a data-bindings document. One that is empty or `null` binds nothing.
///
/// # Errors
/// All that is wrong, sorted by line.
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
        let mut bindings = Bindings {
            dialect: Dialect::default(),
            facts: Vec::new(),
            sql_types: IndexMap::new(),
            tables: IndexMap::new(),
        };
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
        // Without the dialect nothing below can be read.
        let Some(dialect) = self.dialect(top.get("dialect")) else { return bindings };
        bindings.dialect = dialect;
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
        bindings
    }

    /// The entries of a mapping; none if there is nothing or something else.
    fn mapping<'a>(&mut self, name: &str, node: &'a Node) -> Option<&'a IndexMap<String, Entry>> {
        match &node.content {
            Content::Mapping(entries) => {
                if let Some(merge) = entries.get("<<") {
                    let message = format!("{name} merges other entries by `<<`: write them out");
                    self.report(merge.line, message);
                }
                Some(entries)
            }
            _ if node.is_null() => None,
            Content::Text { .. } | Content::Sequence => {
                self.report(node.line, format!("{name} is no mapping: write `key: value` lines"));
                None
            }
        }
    }

    /// The text of an entry; none, and an error, if it is something else or empty.
    fn text<'a>(&mut self, name: &str, entry: &'a Entry) -> Option<&'a str> {
        match &entry.value.content {
            Content::Text { text, .. } if !entry.value.is_null() && !text.trim().is_empty() => Some(text),
            Content::Text { .. } => {
                self.report(entry.line, format!("{name} is empty: write a text"));
                None
            }
            Content::Mapping(_) | Content::Sequence => {
                self.report(entry.line, format!("{name} is no text: write it as one"));
                None
            }
        }
    }

    fn dialect(&mut self, entry: Option<&Entry>) -> Option<Dialect> {
        let Some(entry) = entry.filter(|entry| !entry.value.is_null()) else {
            return Some(Dialect::default());
        };
        let name = self.text("`dialect`", entry)?;
        match name.trim().parse() {
            Ok(dialect) => Some(dialect),
            Err(unknown) => {
                self.report(entry.line, format!("`dialect`: {unknown}"));
                None
            }
        }
    }

    fn facts(&mut self, entries: &IndexMap<String, Entry>, dialect: Dialect) -> Vec<Binding> {
        let mut facts: Vec<Binding> = Vec::new();
        for (key, entry) in entries.iter().filter(|(key, _)| *key != "<<") {
            let signature = key::read(key);
            let query = self.query(key, entry);
            let (predicate, args) = match signature {
                Ok(signature) => signature,
                Err(reason) => {
                    self.report(entry.line, format!("the key `{key}` {reason}"));
                    continue;
                }
            };
            if let Some(first) = facts.iter().find(|fact| fact.predicate == predicate && fact.args == args) {
                let message = format!(
                    "the key `{key}` means the same as `{}` on line {}: join the two queries by UNION",
                    first.key, first.line
                );
                self.report(entry.line, message);
            }
            let Some((text, line)) = query else { continue };
            match bound(text, &args, dialect) {
                Ok(query) => {
                    facts.push(Binding { key: key.clone(), line: entry.line, predicate, args, query });
                }
                Err(reason) => self.report(line, format!("`{key}`: the query {reason}")),
            }
        }
        facts
    }

    /// The query's text and the line of its key.
    fn query<'a>(&mut self, key: &str, entry: &'a Entry) -> Option<(&'a str, usize)> {
        let fields = match &entry.value.content {
            Content::Mapping(_) => self.mapping(&format!("`{key}`"), &entry.value)?,
            Content::Text { .. } | Content::Sequence => {
                self.report(entry.line, format!("`{key}` has no `query`: write `query: SELECT …` below it"));
                return None;
            }
        };
        let Some(query) = fields.get("query") else {
            self.report(entry.line, format!("`{key}` has no `query`: write `query: SELECT …` below it"));
            return None;
        };
        let text = self.text(&format!("`{key}`: the query"), query)?;
        Some((text, query.line))
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

    /// A section of types' names and one text each.
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

/// The query of a binding: it has one column for each `_`.
fn bound(text: &str, args: &[BindingArg], dialect: Dialect) -> Result<super::BoundQuery, String> {
    let (query, columns) = query::read(text, dialect)?;
    let wanted = args.iter().filter(|arg| matches!(arg, BindingArg::Column { .. })).count();
    match columns {
        Some(found) if found != wanted => {
            let plural = |n: usize| if n == 1 { "" } else { "s" };
            Err(format!(
                "has {found} column{}, but the key has {wanted} `_`: select one column for each `_`, in order",
                plural(found)
            ))
        }
        _ => Ok(query),
    }
}
