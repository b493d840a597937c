//! A schema for the caller's facts, in one style.
//!
//! In: the local facts, a [`Style`], and the ids that may occur in a list. Out: a [`Schema`]: tables with
//! rows, the queries bound to facts, what the document says of ids, and for each type a table of candidates:
//! every id that the page knows, some unknown ones, and NULL.

use super::entities;
use super::forms;
use super::kind::{Ids, Live};
use super::renaming::Renaming;
use super::style::{Strings, Style};
use super::tables::{Column, ColumnType, Row, Table, quoted};
use crate::notation::{Fact, Value};
use portcullis_compiler::Dialect;
use portcullis_compiler::catalog::{Relation, RelationArg, RelationSource};
use std::collections::{BTreeMap, BTreeSet};

/// A binding's key without its columns' names: a predicate, and each argument's type with the text that all
/// facts of the binding have there, if they do.
pub(crate) type Key = (String, Vec<(String, Option<String>)>);

/// A query bound to a fact.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    /// The fact.
    pub fact: Key,
    /// The fact, as the document has it.
    pub key: String,
    /// The query.
    pub query: String,
}

/// A table whose rows a filter is to choose among.
#[derive(Clone, Debug)]
pub(crate) struct Candidates {
    /// The text after `FROM`.
    pub from: String,
    /// The column with the ids: the filter is over this expression.
    pub column: String,
}

/// A caller's schema.
#[derive(Clone, Debug, Default)]
pub(crate) struct Schema {
    /// The tables.
    pub tables: Vec<Table>,
    /// The bound queries.
    pub bound: Vec<Bound>,
    /// For a type its table and the table's unique column.
    pub promises: BTreeMap<String, String>,
    /// For each type that may be listed, tables to list from.
    pub candidates: BTreeMap<String, Vec<Candidates>>,
}

impl Schema {
    /// A schema that holds these facts, and candidates of these types.
    pub(crate) fn new(
        style: Style,
        renaming: &Renaming,
        facts: &[Fact],
        empty: &[Key],
        candidates: &BTreeMap<String, BTreeSet<String>>,
    ) -> Self {
        let mut schema = Self::default();
        let mut groups = groups(style, facts);
        for key in empty {
            groups.entry(key.clone()).or_default();
        }
        let groups: Vec<(Key, Vec<Row>)> = groups
            .into_iter()
            .map(|(key, rows)| {
                (key, rows.into_iter().map(|row| row.into_iter().map(Some).collect()).collect())
            })
            .collect();
        let rest = if style.has_entities() {
            entities::place(style, renaming, groups, candidates, &mut schema)
        } else {
            groups
        };
        for (number, (key, rows)) in rest.into_iter().enumerate() {
            schema.bind(style, renaming, number, &key, rows);
        }
        for (number, (ty, ids)) in candidates.iter().enumerate() {
            if !schema.candidates.contains_key(ty) {
                schema.list(style, renaming, number, ty, ids);
            }
        }
        schema
    }

    /// Whether several bindings feed one signature.
    pub(crate) fn binds_in_parts(&self) -> bool {
        let signature = |bound: &Bound| {
            let types: Vec<String> = bound.fact.1.iter().map(|(ty, _)| ty.clone()).collect();
            (bound.fact.0.clone(), types)
        };
        let all: BTreeSet<_> = self.bound.iter().map(signature).collect();
        all.len() < self.bound.len()
    }

    /// The bound queries as tables, for the compiler.
    pub(crate) fn relations(&self) -> impl Iterator<Item = Relation> {
        self.bound.iter().enumerate().map(|(number, bound)| {
            let (predicate, args) = &bound.fact;
            let arg = |(at, (ty, constant)): (usize, &(String, Option<String>))| match constant {
                Some(text) => RelationArg::Constant { ty: ty.clone(), text: text.clone() },
                None => RelationArg::Column { ty: ty.clone(), column: format!("arg{at}") },
            };
            Relation {
                predicate: predicate.clone(),
                args: args.iter().enumerate().map(arg).collect(),
                source: RelationSource::Table { schema: None, name: format!("bound_{number}") },
            }
        })
    }

    /// The statements that make it.
    pub(crate) fn script(&self, dialect: Dialect) -> String {
        let mut script = String::new();
        if dialect == Dialect::Postgresql {
            // The first temporary table makes the schema of the types.
            script.push_str("CREATE TEMPORARY TABLE beside_everything (id TEXT);\n");
            let columns = self.tables.iter().flat_map(|table| &table.columns);
            let types: BTreeSet<String> = columns.filter_map(|column| declaration(&column.ty)).collect();
            types.iter().for_each(|ty| script.push_str(ty));
        }
        self.tables.iter().for_each(|table| script.push_str(&table.script(dialect)));
        script
    }

    fn bind(&mut self, style: Style, renaming: &Renaming, number: usize, key: &Key, rows: Vec<Row>) {
        let types = key.1.iter().filter(|(_, constant)| constant.is_none()).map(|(ty, _)| ty);
        let column = |(at, ty): (usize, &String)| {
            let values = rows.iter().filter_map(|row| row[at].as_deref());
            Column {
                name: style.column_name(number, at),
                ty: column_type(style, renaming, ty, &format!("{} {number}.{at}", key.0), values),
            }
        };
        let columns = types.enumerate().map(column).collect();
        let mut name = style.table_name(number, &key.0);
        while self.tables.iter().any(|table| table.name == name) {
            name.insert(0, 'z');
            if name.contains('"') {
                name = quoted(&name);
            }
        }
        let (tables, query) = forms::bound(style, number, &Table { name, columns, key: None, rows });
        self.tables.extend(tables);
        self.bound.push(Bound { fact: key.clone(), key: spelled(key, number), query });
    }

    fn list(&mut self, style: Style, renaming: &Renaming, number: usize, ty: &str, ids: &BTreeSet<String>) {
        let own = style.candidate_column();
        let values = ids.iter().map(String::as_str);
        let column = Column {
            name: own.to_owned(),
            ty: column_type(style, renaming, ty, &format!("candidate {number}"), values),
        };
        let is_text = matches!(column.ty, ColumnType::Text)
            || matches!(column.ty, ColumnType::Ids(_)) && renaming.kind(ty).ids == Ids::Text;
        let decoys = style.decoys().map(|name| Column { name: name.to_owned(), ty: ColumnType::Decoy });
        let columns: Vec<Column> = std::iter::once(column).chain(decoys).collect();
        let rows = ids.iter().cloned().map(Some).chain([None]).map(|id| vec![id]).collect();
        let name = quoted(&format!("Candidates no. {number}"));
        let alias = style.candidate_alias();
        let from = format!("{name} AS {alias}");
        let plain = if style.n.is_multiple_of(2) { own.to_owned() } else { format!("{alias}.{own}") };
        let mut columns_of_ids = vec![plain];
        if is_text {
            columns_of_ids.push(match style.dialect {
                Dialect::Postgresql => format!("{alias}.{own}::TEXT"),
                Dialect::Sqlite => format!("CAST({own} AS TEXT)"),
            });
        }
        let candidates = columns_of_ids.into_iter().map(|column| Candidates { from: from.clone(), column });
        self.candidates.insert(ty.to_owned(), candidates.collect());
        self.tables.push(Table { name, columns, key: None, rows });
    }
}

/// The rows of each binding.
fn groups(style: Style, facts: &[Fact]) -> BTreeMap<Key, BTreeSet<Vec<String>>> {
    let mut groups: BTreeMap<Key, BTreeSet<Vec<String>>> = BTreeMap::new();
    for fact in facts {
        let mut args: Vec<(String, Option<String>)> =
            fact.args.iter().map(|arg| (arg.ty.clone(), constant(style, arg))).collect();
        // A query has at least one column.
        if args.iter().all(|(_, constant)| constant.is_some()) {
            args[0].1 = None;
        }
        let columns = fact.args.iter().zip(&args).filter(|(_, (_, constant))| constant.is_none());
        let row = columns.map(|(arg, _)| arg.id.clone()).collect();
        groups.entry((fact.predicate.clone(), args)).or_default().insert(row);
    }
    groups
}

/// The text of an argument in the key.
fn constant(style: Style, arg: &Value) -> Option<String> {
    let is_word = arg.id.starts_with(|c: char| c.is_ascii_alphabetic())
        && arg.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !matches!(arg.id.as_str(), "true" | "false");
    (style.strings() == Strings::Constants && arg.ty == "String" && is_word).then(|| arg.id.clone())
}

/// A key as people write it.
pub(crate) fn spelled(key: &Key, number: usize) -> String {
    let arg = |(ty, constant): &(String, Option<String>)| match constant {
        None => format!("{ty}:_"),
        Some(text) if number.is_multiple_of(2) => text.clone(),
        Some(text) => format!("String:{text}"),
    };
    format!("{}({})", key.0, key.1.iter().map(arg).collect::<Vec<_>>().join(", "))
}

/// What a column for values of a type holds.
pub(crate) fn column_type<'v>(
    style: Style,
    renaming: &Renaming,
    ty: &str,
    name: &str,
    values: impl Iterator<Item = &'v str>,
) -> ColumnType {
    match ty {
        "String" if style.strings() == Strings::Enums => {
            let labels: BTreeSet<&str> = values.collect();
            let is_fit = labels.iter().all(|label| !label.is_empty() && label.len() < 64);
            let labels: Vec<String> = labels.into_iter().map(str::to_owned).collect();
            if is_fit { ColumnType::Enum { name: name.to_owned(), labels } } else { ColumnType::Text }
        }
        "Integer" if style.has_typed_primitives() => ColumnType::Bigint,
        "Boolean" if style.has_typed_primitives() => ColumnType::Boolean,
        "String" | "Integer" | "Boolean" => ColumnType::Text,
        ty => {
            let number = name.bytes().fold(0, |sum: usize, byte| sum * 31 % 10_007 + usize::from(byte));
            of_ids(renaming.kind(ty).column(style.dialect, number), &format!("{ty} {name}"), values)
        }
    }
}

/// What the column with a type's ids holds in the table that has each of them once.
pub(crate) fn key_type<'v>(
    style: Style,
    renaming: &Renaming,
    ty: &str,
    values: impl Iterator<Item = &'v str>,
) -> ColumnType {
    of_ids(renaming.kind(ty).key_column(style.dialect), &format!("{ty} key"), values)
}

fn of_ids<'v>(live: Live, name: &str, values: impl Iterator<Item = &'v str>) -> ColumnType {
    if !live.is_enum {
        return ColumnType::Ids(live);
    }
    let labels = values.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect();
    ColumnType::Enum { name: name.to_owned(), labels }
}

/// The statement that makes a type of the caller's.
fn declaration(ty: &ColumnType) -> Option<String> {
    if let ColumnType::Ids(Live { name, domain_of: Some(of), .. }) = ty {
        return Some(format!("CREATE DOMAIN pg_temp.{name} AS {of};\n"));
    }
    let ColumnType::Enum { name, labels } = ty else { return None };
    let labels: Vec<String> = labels.iter().map(|label| super::tables::text(label)).collect();
    Some(format!("CREATE TYPE pg_temp.{} AS ENUM ({});\n", quoted(name), labels.join(", ")))
}
