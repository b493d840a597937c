//! The data-bindings document of a schema, spelled in the ways that people spell them.

use super::renaming::Renaming;
use super::schema::Schema;
use super::style::Style;
use portcullis_compiler::Dialect;
use std::fmt::Write;

/// The document's text.
pub(crate) fn document(style: Style, renaming: &Renaming, schema: &Schema) -> String {
    let mut text = String::new();
    let dialect = match (style.dialect, style.n % 3) {
        (Dialect::Sqlite, n) => ["dialect: sqlite\n", "dialect: SQLite\n", "dialect: \"sqlite\"\n"][n],
        (Dialect::Postgresql, n) => ["", "dialect: postgresql\n", "dialect: postgres\n"][n],
    };
    if schema.bound.is_empty() && dialect.is_empty() && renaming.declared(style.dialect).next().is_none() {
        return ["", "null\n", "facts:\n", "facts: null\n", "# nothing\n"][style.n / 3 % 5].to_owned();
    }
    if style.n % 2 == 1 {
        text.push_str("version: 1\nsource: app.yaml\ndbs: {main: {connection_string: \"postgres://x\"}}\n");
    }
    text.push_str(dialect);
    text.push_str("facts:\n");
    for (number, bound) in schema.bound.iter().enumerate() {
        let key = if number % 3 == 1 { json(&bound.key) } else { bound.key.clone() };
        let _ = writeln!(text, "  {key}:");
        if number % 2 == 1 {
            text.push_str("    db: main\n");
        }
        text.push_str(&query(&bound.query, style.n + number));
    }
    if style.n % 4 == 2 {
        text.push_str("  nobody_reads(Nothing:_, String:_):\n    query: SELECT a, b FROM there_is_none\n");
    }
    let declared: Vec<(&str, &str)> = renaming.declared(style.dialect).collect();
    if !declared.is_empty() {
        text.push_str("sql_types:\n");
    }
    for (ty, name) in declared {
        let _ = writeln!(text, "  {ty}: {name}");
    }
    if !schema.promises.is_empty() {
        text.push_str("tables:\n");
    }
    for (ty, column) in &schema.promises {
        let column = if column.contains('"') { json(column) } else { column.clone() };
        let _ = writeln!(text, "  {ty}: {column}");
    }
    text
}

/// A query in one of YAML's many forms; a comment to the line's end wants its line, and a carriage return
/// quotes, as YAML takes it for a part of the line's end anywhere else.
fn query(sql: &str, form: usize) -> String {
    let is_plain = !sql.contains(": ") && !sql.contains(" #") && !sql.contains(['\n', '\\']);
    let block = |mark: &str| {
        let lines: Vec<String> = sql.lines().map(|line| format!("      {line}\n")).collect();
        format!("    query: {mark}\n{}", lines.concat())
    };
    match form % 4 {
        _ if sql.contains(is_unwritten) => format!("    query: {}\n", json(sql)),
        0 if is_plain => format!("    query: {sql}\n"),
        1 if !sql.contains('\r') => block("|"),
        2 if !sql.contains('\n') => block(">-"),
        _ => format!("    query: {}\n", json(sql)),
    }
}

/// A text in double quotes: JSON's form is YAML's, too, and YAML has its escapes for every character.
fn json(text: &str) -> String {
    let json = serde_json::json!(text).to_string();
    let escaped = |c: char| if is_unwritten(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}

/// Whether YAML has the character between quotes and as an escape only.
fn is_unwritten(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r')
}
