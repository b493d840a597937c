//! Facts as an application would hold them: in tables of any name, in a table for one role alone, or in the
//! request.

use super::notation::Fact;
use portcullis_compiler::catalog::{Catalog, ContextId, Relation, RelationArg, RelationSource};
use portcullis_compiler::ir::Program;
use std::collections::{BTreeMap, BTreeSet};

/// The place of the facts of a catalog.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// They are in one table per signature.
    Tables,
    /// In one table for each signature and String in it.
    ByLiteral,
    /// In the request.
    Request,
}

/// The rows of a relation, a text for each column.
pub type Rows = Vec<Vec<String>>;

/// A predicate and its arguments' types, with the value if all facts share it.
type Signature = (String, Vec<(String, Option<String>)>);

/// Relations for the compiler, and the facts that each holds.
#[derive(Clone)]
pub struct FactTables {
    /// The relations.
    pub catalog: Catalog,
    /// The rows of each.
    pub rows: Vec<Rows>,
}

impl FactTables {
    /// Puts the facts where the layout says.
    pub fn of(program: &Program, facts: &[Fact], layout: Layout) -> Self {
        let mut groups: BTreeMap<Signature, BTreeSet<Vec<String>>> = BTreeMap::new();
        // A table of a type that the policy does not know cannot be bound.
        for fact in facts.iter().filter(|fact| fact.args.iter().all(|arg| program.type_id(&arg.ty).is_some()))
        {
            let constant =
                |ty: &str, id: &str| (layout == Layout::ByLiteral && ty == "String").then(|| id.to_owned());
            let args = fact.args.iter().map(|arg| (arg.ty.clone(), constant(&arg.ty, &arg.id))).collect();
            let columns = fact.args.iter().filter(|arg| constant(&arg.ty, &arg.id).is_none());
            let row = columns.map(|arg| arg.id.clone()).collect();
            groups.entry((fact.predicate.clone(), args)).or_default().insert(row);
        }
        let mut placed = Self { catalog: Catalog::default(), rows: Vec::new() };
        for (number, ((predicate, args), rows)) in groups.into_iter().enumerate() {
            let args = args.into_iter().enumerate().map(|(at, (ty, constant))| match constant {
                Some(text) => RelationArg::Constant { ty, text },
                None => RelationArg::Column { ty, column: column_name(number, at) },
            });
            let source = match layout {
                Layout::Request => RelationSource::Context { slot: ContextId::from_index(number) },
                Layout::Tables | Layout::ByLiteral => {
                    RelationSource::Table { schema: None, name: table_name(layout, number) }
                }
            };
            placed.catalog.relations.push(Relation { predicate, args: args.collect(), source });
            placed.rows.push(rows.into_iter().collect());
        }
        placed
    }

    /// The same in tables of a schema, with other names.
    #[must_use]
    pub fn in_schema(&self, in_schema: &str) -> Self {
        let mut placed = self.clone();
        for relation in &mut placed.catalog.relations {
            if let RelationSource::Table { schema, name } = &mut relation.source {
                *schema = Some(in_schema.to_owned());
                name.insert_str(0, "stored ");
            }
        }
        placed
    }

    /// The tables to make: name, columns, rows.
    pub fn tables(&self) -> impl Iterator<Item = (String, Vec<String>, &Rows)> {
        self.catalog.relations.iter().zip(&self.rows).filter_map(|(relation, rows)| {
            let RelationSource::Table { schema, name } = &relation.source else { return None };
            let column = |arg: &RelationArg| match arg {
                RelationArg::Column { column, .. } => Some(quoted(column)),
                RelationArg::Constant { .. } => None,
            };
            let name: Vec<String> = schema.iter().chain([name]).map(|name| quoted(name)).collect();
            Some((name.join("."), relation.args.iter().filter_map(column).collect(), rows))
        })
    }
}

/// Some names are plain, some are keywords, some want every quote there is.
fn table_name(layout: Layout, number: usize) -> String {
    let kind = if layout == Layout::Tables { "all" } else { "some" };
    match number % 3 {
        0 => format!("{kind}_facts_{number}"),
        1 => format!("{kind} \"facts\" of o'{number} -- \\"),
        _ => format!("{kind}Select{number}"),
    }
}

const KEYWORDS: [&str; 8] = ["order", "user", "select", "from", "where", "union", "group", "limit"];

fn column_name(number: usize, at: usize) -> String {
    match (number + at) % 4 {
        0 => format!("a{at}"),
        1 => format!("Column {at}'s \"value\""),
        2 => KEYWORDS.get(at).map_or_else(|| format!("Order{at}"), |keyword| (*keyword).to_owned()),
        _ => format!("c{at}"),
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
