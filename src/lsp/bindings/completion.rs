//! Completions in data bindings: the facts of the open policies as keys, tables and columns in queries.

use super::place::{BindingsPlace, place};
use super::{BindingsDocument, Schema, SchemaTable};
use crate::lsp::position;
use gen_lsp_types::{CompletionItem, CompletionItemKind, Position, TextEdit};
use portcullis_compiler::builtin::{ALLOW, HAS_PERMISSION};
use portcullis_compiler::ir::{Program, Signature, SignatureArg, TypeKind};
use portcullis_compiler::source::Span;
use portcullis_compiler::spelling::{continues_name, quoted};
use std::collections::BTreeSet;

/// How many types an argument may have at most so that a key is offered for each of them.
const TYPES: usize = 8;

/// How many keys are offered for facts of one signature.
const KEYS: usize = 100;

/// Words that may follow a table and are not an alias of it.
const NO_ALIAS: &[&str] = &[
    "on",
    "where",
    "join",
    "left",
    "right",
    "full",
    "inner",
    "outer",
    "cross",
    "natural",
    "using",
    "group",
    "order",
    "having",
    "limit",
    "offset",
    "union",
    "intersect",
    "except",
    "set",
];

/// What may be inserted at a position, likely items first.
///
/// # Errors
/// Why the tables of the database are not known.
pub(in crate::lsp) fn items<'p>(
    document: &BindingsDocument,
    at: Position,
    policies: impl Iterator<Item = &'p Program>,
    schema: impl FnOnce() -> Result<Schema, String>,
) -> Result<Vec<CompletionItem>, String> {
    let byte = position::byte(&document.source, at);
    let (typed, found) = match place(document.source.text(), byte) {
        BindingsPlace::Fact { typed } => (typed, keys(policies)),
        BindingsPlace::Query { before, text } => (last_name(before), in_query(before, text, &schema()?)),
        BindingsPlace::Table { before } => (last_name(before), in_query(before, "", &schema()?)),
        BindingsPlace::Other => return Ok(Vec::new()),
    };
    let range = position::range(&document.source, Span::new(byte - typed.len(), byte));
    let mut names = BTreeSet::new();
    let found = found.into_iter().filter(|(name, _)| names.insert(name.clone())).enumerate();
    let item = |(at, (name, kind)): (usize, (String, CompletionItemKind))| CompletionItem {
        kind: Some(kind),
        // Without this, editors sort by label.
        sort_text: Some(format!("{at:04}")),
        filter_text: Some(name.clone()),
        text_edit: Some(TextEdit::new(range, name.clone()).into()),
        label: name,
        ..CompletionItem::default()
    };
    Ok(found.map(item).collect())
}

/// The keys of the facts that policies read or declare.
fn keys<'p>(policies: impl Iterator<Item = &'p Program>) -> Vec<(String, CompletionItemKind)> {
    let mut keys = BTreeSet::new();
    for program in policies {
        let is_bound =
            |signature: &&Signature| ![ALLOW, HAS_PERMISSION].contains(&signature.predicate.as_str());
        for signature in program.signatures.iter().filter(is_bound) {
            let mut heads = vec![String::new()];
            for arg in &signature.args {
                let forms = forms(program, arg);
                heads = heads
                    .iter()
                    .flat_map(|head| {
                        let separator = if head.is_empty() { "" } else { ", " };
                        forms.iter().map(move |form| format!("{head}{separator}{form}"))
                    })
                    .take(KEYS)
                    .collect();
            }
            keys.extend(heads.iter().map(|head| format!("{}({head})", signature.predicate)));
        }
    }
    keys.into_iter().map(|key| (as_yaml(key), CompletionItemKind::Event)).collect()
}

/// A key as YAML has it: in quotes, if a part of it would end it.
fn as_yaml(key: String) -> String {
    if key.contains(": ") || key.contains(" #") { format!("'{}'", key.replace('\'', "''")) } else { key }
}

/// The forms of an argument in a key.
fn forms(program: &Program, arg: &SignatureArg) -> Vec<String> {
    let of_type = |name: &str| format!("{name}:_");
    match arg {
        SignatureArg::Literal(text) => {
            vec![if text.chars().all(continues_name) { text.clone() } else { quoted(text) }]
        }
        SignatureArg::OneOf(types) if types.len() <= TYPES => {
            types.iter().filter_map(|ty| program.types[*ty].named()).map(of_type).collect()
        }
        SignatureArg::OneOf(_) | SignatureArg::Any => {
            let is_entity = |kind| matches!(kind, TypeKind::Actor | TypeKind::Resource);
            let types = program.types.iter().filter(|ty| is_entity(ty.kind)).take(TYPES);
            types.map(|ty| of_type(&ty.name)).collect()
        }
    }
}

/// The tables and columns that fit after `before`, which is the part of a query before the position.
fn in_query(before: &str, query: &str, schema: &Schema) -> Vec<(String, CompletionItemKind)> {
    let Schema { tables } = schema;
    let columns = |table: &SchemaTable| {
        let columns = table.columns.iter().cloned();
        columns.map(|column| (column, CompletionItemKind::Field)).collect::<Vec<_>>()
    };
    let names = tables.iter().map(|table| (table.name.clone(), CompletionItemKind::Struct));
    let rest = before.strip_suffix(last_name(before)).unwrap_or_default();
    let mentioned = mentioned(query, schema);
    if let Some(qualifier) = rest.strip_suffix('.').map(last_path) {
        let is_meant = |(table, alias): &&(&SchemaTable, Option<&str>)| {
            is_name(&table.name, qualifier) || alias.is_some_and(|alias| is_name(alias, qualifier))
        };
        let of_schema = tables.iter().filter_map(|table| {
            let (schema, name) = table.name.split_once('.')?;
            is_name(schema, qualifier).then(|| (name.to_owned(), CompletionItemKind::Struct))
        });
        let known = mentioned.iter().filter(is_meant).flat_map(|(table, _)| columns(table));
        let named = tables.iter().filter(|table| is_name(&table.name, qualifier)).flat_map(columns);
        return known.chain(named).chain(of_schema).collect();
    }
    let word = last_path(rest.trim_end()).to_ascii_lowercase();
    if query.is_empty() || word == "from" || word == "join" {
        return names.collect();
    }
    mentioned.iter().flat_map(|(table, _)| columns(table)).chain(names).collect()
}

/// The tables that a query mentions, each with its alias.
fn mentioned<'s>(query: &'s str, schema: &'s Schema) -> Vec<(&'s SchemaTable, Option<&'s str>)> {
    let words: Vec<&str> =
        query.split(|c: char| !is_part(c) && c != '.').filter(|word| !word.is_empty()).collect();
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(table) = schema.tables.iter().find(|table| is_name(&table.name, word)) else { continue };
        let next = |n: usize| words.get(at + n).copied();
        let alias = match next(1) {
            Some(word) if word.eq_ignore_ascii_case("as") => next(2),
            Some(word) if NO_ALIAS.iter().any(|other| word.eq_ignore_ascii_case(other)) => None,
            other => other,
        };
        found.push((table, alias));
    }
    found
}

/// Whether a character may be part of a name.
fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$' || c == '"'
}

/// The name at the end of a text.
fn last_name(text: &str) -> &str {
    last_path(text).rsplit('.').next().unwrap_or_default()
}

/// The path at the end of a text: names with dots between them.
fn last_path(text: &str) -> &str {
    let mut start = text.len();
    for (at, c) in text.char_indices().rev() {
        if !is_part(c) && c != '.' {
            break;
        }
        start = at;
    }
    text.get(start..).unwrap_or_default()
}

/// Whether two names are the same, ignoring case or quotes.
fn is_name(known: &str, written: &str) -> bool {
    known.eq_ignore_ascii_case(written) || known.replace('"', "") == written.replace('"', "")
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_compiler::check;
    use portcullis_compiler::source::SourceMap;

    fn schema() -> Schema {
        let table = |name: &str, columns: &[&str]| SchemaTable {
            name: name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
        };
        Schema {
            tables: vec![
                table("repos", &["id", "owner"]),
                table("users", &["id", "Name"]),
                table("app.\"Odd\"", &["x"]),
            ],
        }
    }

    /// What is offered at `^`.
    #[track_caller]
    fn check_at(text: &str, expected: &[&str]) {
        let policy = r#"actor User {} actor Bot {} resource Repo { roles = ["reader", "a b"]; relations = { parent: Repo }; }
            declare is_public(Repo);"#;
        let program = check(&SourceMap::new("p", policy)).program.unwrap();
        let byte = text.find('^').unwrap();
        let document = BindingsDocument::of("b.yaml", 1, text.replacen('^', "", 1));
        let at = position::range(&document.source, Span::new(byte, byte)).start;
        let found = items(&document, at, [&program].into_iter(), || Ok(schema())).unwrap();
        let found: Vec<&str> = found.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn keys_are_the_facts_of_the_policy() {
        check_at(
            "facts:\n  ^",
            &[
                "has_relation(Repo:_, parent, Repo:_)",
                "has_role(Bot:_, \"a b\", Repo:_)",
                "has_role(Bot:_, reader, Repo:_)",
                "has_role(User:_, \"a b\", Repo:_)",
                "has_role(User:_, reader, Repo:_)",
                "is_public(Repo:_)",
            ],
        );
    }

    #[test]
    fn queries_offer_tables_and_columns() {
        let query = |text: &str| format!("facts:\n  is_public(Repo:_):\n    query: {text}\n");
        check_at(&query("SELECT id FROM ^"), &["repos", "users", "app.\"Odd\""]);
        check_at(&query("SELECT ^ FROM repos"), &["id", "owner", "repos", "users", "app.\"Odd\""]);
        check_at(&query("SELECT u.N^ FROM repos r JOIN users AS u ON true"), &["id", "Name"]);
        check_at(&query("SELECT r.^ FROM repos r WHERE true"), &["id", "owner"]);
        check_at(&query("SELECT x FROM app.^"), &["\"Odd\""]);
        check_at(&query("|\n      SELECT id\n      FROM repos\n      WHERE repos.^"), &["id", "owner"]);
        check_at("tables:\n  User: ^", &["repos", "users", "app.\"Odd\""]);
        check_at("tables:\n  User: users.^", &["id", "Name"]);
        check_at("sql_types:\n  User: ^", &[]);
    }
}
