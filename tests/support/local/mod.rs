//! Local checks: facts in the store, in the request and in a caller's own databases, and the SQL that joins
//! them.
//!
//! In: a policy, a [`Split`] of facts, the number of a [`Style`]. Out: an engine that holds the stored facts,
//! a PostgreSQL and an SQLite that hold the local ones in tables of that style, and the document that binds
//! them. [`Local::ask`] asks the engine for SQL, runs it where a caller would, and returns the answer with
//! the page's own ids; `Referee` says whether it is right.
//!
//! ```text
//! facts ─split─▶ stored ──────────────────────────▶ engine ─▶ SQL ─▶ rows ─▶ answer ─▶ referee
//!             └▶ local ─renaming, style─▶ schema ─▶ tables and document ─┘
//! ```

pub mod ways;
mod answer;
pub mod caller;
mod document;
mod entities;
mod forms;
mod kind;
pub mod referee;
mod renaming;
mod schema;
pub mod split;
pub mod stored_folders;
pub mod style;
mod tables;
mod why;
mod written;

use super::hosted::Hosted;
use super::notation::{Fact, Value};
use super::outcome::Outcome;
use super::policy;
use super::refusal::NoAnswer;
use caller::Caller;
use kind::Ids;
use portcullis_compiler::Dialect;
use portcullis_compiler::catalog::Catalog;
use portcullis_compiler::ir::{Program, SignatureArg};
use portcullis_compiler::question::Question;
use renaming::Renaming;
use schema::{Candidates, Key, Schema};
use split::Split;
use std::cell::Cell as Counter;
use std::collections::{BTreeMap, BTreeSet};
use style::Style;
use ways::Way;

/// The databases.
pub const DIALECTS: [Dialect; 2] = [Dialect::Postgresql, Dialect::Sqlite];

/// How PostgreSQL refuses values of types that do not compare: no such operator, no common type, no literal
/// of the type, no cast, a number out of range.
const MISMATCHES: [&str; 5] = ["[42883]", "[42804]", "[22P02]", "[42846]", "[22003]"];

/// One split of facts, ready to be asked.
pub struct Local {
    /// The split and the style, for a person.
    pub name: String,
    engine: Hosted,
    renaming: Renaming,
    stored: Vec<Fact>,
    request: Vec<Fact>,
    sides: Vec<Side>,
    /// Whether facts of one signature are in several places, or bound by several bindings.
    is_divided: bool,
    /// The tables of all facts, stored and bound, those without a row included.
    tables: Catalog,
    /// The values of the lists of candidates.
    listed: BTreeSet<Value>,
    /// How often the SQL is compared with what is printed for the question alone: every `alone`th time.
    pub alone: usize,
    n_asked: Counter<usize>,
}

/// One answer.
pub struct Asked<'l> {
    side: &'l Side,
    /// What a filter is over.
    over: Option<&'l Candidates>,
    /// The answer.
    pub found: Outcome,
}

impl Asked<'_> {
    /// The database.
    pub fn dialect(&self) -> Dialect {
        self.side.style.dialect
    }

    /// Where it was asked, for a person.
    pub fn place(&self) -> String {
        let over = self.over.map(|candidates| format!(", over {}", candidates.column)).unwrap_or_default();
        format!("{}{over}", self.side.style.dialect)
    }
}

/// One database with its document.
struct Side {
    style: Style,
    schema: Schema,
    document: String,
    caller: Caller,
}

impl Local {
    /// Puts the facts where the split says, in the style of this number. `values` are all that may occur in
    /// an answer.
    pub fn new(
        policy: &str,
        program: &Program,
        split: &Split,
        n: usize,
        values: &BTreeSet<Value>,
        questions: &[&Question],
    ) -> Result<Self, String> {
        let first = Style { n, dialect: Dialect::Postgresql };
        let (renaming, known) = renamed(program, split, first, values);
        let mut listed_types = ways::filtered_types(questions);
        if first.has_entities() {
            listed_types.extend(values_of(&split.local).into_iter().map(|value| value.ty));
        }
        let is_listed = |value: &Value| listed_types.contains(&value.ty) && !renaming.is_stray(value);
        let listed: BTreeSet<Value> = known.into_iter().filter(is_listed).collect();
        let mut candidates: BTreeMap<String, BTreeSet<String>> =
            listed_types.iter().map(|ty| (ty.clone(), BTreeSet::new())).collect();
        for value in &listed {
            candidates.entry(value.ty.clone()).or_default().insert(renaming.value(value).id);
        }

        let engine = Hosted::new(policy)?;
        let stored = renaming.facts(&split.stored);
        engine.store(&stored)?;
        let empty = if first.binds_empty_tables() { unbound(program, split) } else { Vec::new() };
        let facts = renaming.facts(&split.local);
        let mut sides = Vec::new();
        for dialect in DIALECTS {
            let style = Style { n, dialect };
            let schema = Schema::new(style, &renaming, &facts, &empty, &candidates);
            let document = document::document(style, &renaming, &schema);
            let caller = Caller::new(dialect)?;
            caller.script(&schema.script(dialect))?;
            sides.push(Side { style, schema, document, caller });
        }
        let mut tables = policy::tables(&[split.stored.as_slice(), &split.request].concat());
        tables.relations.extend(sides.iter().take(1).flat_map(|side: &Side| side.schema.relations()));
        let name = format!("{}, style {n}", split.name);
        let request = renaming.facts(&split.request);
        let is_divided = split.is_divided()
            || !empty.is_empty()
            || sides.iter().any(|side: &Side| side.schema.binds_in_parts());
        Ok(Self {
            name,
            engine,
            renaming,
            stored,
            request,
            sides,
            is_divided,
            tables,
            listed,
            alone: 1,
            n_asked: Counter::default(),
        })
    }

    /// Asks on both databases, filters over each form of the column; `is_asked` chooses some of these places,
    /// by their number and how many there are on a database.
    pub fn ask(
        &self,
        question: &Question,
        way: Way,
        mut is_asked: impl FnMut(usize, usize) -> bool,
    ) -> Vec<Asked<'_>> {
        let renamed = self.renaming.question(question);
        let mut all = Vec::new();
        for side in &self.sides {
            match ways::filtered(question, way) {
                Some((ty, _)) => {
                    let places = &side.schema.candidates[&ty];
                    for (at, candidates) in places.iter().enumerate() {
                        if is_asked(at, places.len()) {
                            let found = self.filter(side, &renamed, way, &ty, candidates);
                            all.push(Asked { side, over: Some(candidates), found });
                        }
                    }
                }
                None if is_asked(0, 1) => {
                    all.push(Asked { side, over: None, found: self.rows(side, &renamed, way) });
                }
                None => {}
            }
        }
        all
    }

    /// The values of a type that a filter may let through.
    pub fn listed<'l>(&'l self, ty: &'l str) -> impl Iterator<Item = &'l Value> {
        self.listed.iter().filter(move |value| value.ty == ty)
    }

    /// What is special about the types of the caller's columns, each with whether it is so here: declared
    /// narrower than some ids, and declared as what they are not.
    pub fn kinds(&self) -> [(&'static str, bool); 2] {
        [
            ("types too narrow for their ids", self.renaming.is_too_narrow()),
            ("types that are mistaken", self.renaming.is_contradicted()),
        ]
    }

    /// Whether the database may refuse a statement in this way: the document says of a type's columns that
    /// they are what they are not.
    pub fn is_mistaken(&self, message: &str) -> bool {
        self.renaming.is_contradicted() && MISMATCHES.iter().any(|code| message.contains(code))
    }

    /// The tables, the document and the SQL of an answer, for a person.
    pub fn explained(&self, question: &Question, way: Way, asked: &Asked<'_>) -> String {
        let side = asked.side;
        let column = asked.over.map_or("", |candidates| candidates.column.as_str());
        let question = ways::local(&self.renaming.question(question), way, column);
        let request: Vec<String> = self.request.iter().map(Fact::to_string).collect();
        let stored: Vec<String> = self.stored.iter().map(Fact::to_string).collect();
        let sql = self.sql(side, question.clone()).unwrap_or_else(NoAnswer::into_message);
        format!(
            "{}{}stored:\n  {}\nrequest:\n  {}\n{question:?}\n{sql}\n",
            side.schema.script(side.style.dialect),
            side.document,
            stored.join("\n  "),
            request.join("\n  "),
        )
    }

    fn sql(&self, side: &Side, question: portcullis::engine::LocalQuestion) -> Result<String, NoAnswer> {
        self.n_asked.set(self.n_asked.get() + 1);
        if self.n_asked.get().is_multiple_of(self.alone) {
            self.engine.local_alone(&side.document, question, &self.request)
        } else {
            self.engine.local(&side.document, question, &self.request)
        }
    }

    /// Compares what the bound queries return with the facts that are local.
    pub fn verify(&self, split: &Split) -> Result<(), String> {
        let expected: BTreeSet<Fact> = split.local.iter().cloned().collect();
        for side in &self.sides {
            let mut found = BTreeSet::new();
            for bound in &side.schema.bound {
                for row in caller::printed(&side.caller, &bound.query)? {
                    found.extend(self.fact(&bound.fact, row));
                }
            }
            if found != expected {
                let document = &side.document;
                return Err(format!("{}: the tables hold {found:?}\n{document}", side.style.dialect));
            }
        }
        Ok(())
    }

    fn fact(&self, key: &Key, row: Vec<Option<String>>) -> Option<Fact> {
        let mut cells = row.into_iter();
        let arg = |(ty, constant): &(String, Option<String>)| {
            let id = match constant {
                Some(text) => text.clone(),
                None => cells.next()??,
            };
            let id = match (ty.as_str(), id.as_str()) {
                ("Boolean", "t") => "true".to_owned(),
                ("Boolean", "f") => "false".to_owned(),
                // The database fills short texts of some types with blanks.
                _ if self.renaming.kind(ty).ids == Ids::Words => id.trim_end().to_owned(),
                _ => id,
            };
            Some(self.renaming.original(ty, &id))
        };
        Some(Fact { predicate: key.0.clone(), args: key.1.iter().map(arg).collect::<Option<_>>()? })
    }
}

/// New names for all values that may occur, which are returned, too. Those that are in no column may keep a
/// form that no column could hold.
fn renamed(
    program: &Program,
    split: &Split,
    style: Style,
    values: &BTreeSet<Value>,
) -> (Renaming, BTreeSet<Value>) {
    let local = values_of(&split.local);
    let elsewhere: BTreeSet<Value> =
        values_of(&split.stored).union(&values_of(&split.request)).cloned().collect();
    let is_nowhere = |value: &Value| !local.contains(value) && !elsewhere.contains(value);
    let is_fresh = |value: &Value| is_nowhere(value) && value.id.starts_with("fresh");
    let is_held = |value: &Value| local.contains(value) || !style.has_strays() || is_fresh(value);
    let known: BTreeSet<Value> = values.iter().chain(&local).chain(&elsewhere).cloned().collect();
    let (held, others): (BTreeSet<Value>, BTreeSet<Value>) = known.iter().cloned().partition(is_held);
    (Renaming::new(program, |at| style.kind(at), &held, &others), known)
}

/// The arguments of facts.
fn values_of(facts: &[Fact]) -> BTreeSet<Value> {
    facts.iter().flat_map(|fact| fact.args.clone()).collect()
}

/// Facts that no table holds: some that the policy reads and are not stated, and some that are stated
/// elsewhere only.
fn unbound(program: &Program, split: &Split) -> Vec<Key> {
    let elsewhere: BTreeSet<split::Signature> =
        split.stored.iter().chain(&split.request).map(split::signature).collect();
    let local: BTreeSet<split::Signature> = split.local.iter().map(split::signature).collect();
    let facts = split.stored.iter().chain(&split.local).chain(&split.request);
    let known: BTreeSet<&str> = facts.map(|fact| fact.predicate.as_str()).collect();
    let arg = |arg: &SignatureArg| match arg {
        SignatureArg::Literal(_) => Some(("String".to_owned(), None)),
        SignatureArg::OneOf(types) => Some((program.types[*types.first()?].name.clone(), None)),
        SignatureArg::Any => None,
    };
    let unstated = program
        .signatures
        .iter()
        .filter(|signature| !known.contains(signature.predicate.as_str()) && !signature.args.is_empty());
    let unstated = unstated.filter_map(|signature| {
        let args = signature.args.iter().map(arg).collect::<Option<Vec<_>>>()?;
        Some((signature.predicate.clone(), args))
    });
    let others = elsewhere
        .difference(&local)
        .filter(|(_, types)| !types.is_empty() && types.iter().all(|ty| program.type_id(ty).is_some()));
    let others = others
        .map(|(predicate, types)| (predicate.clone(), types.iter().map(|ty| (ty.clone(), None)).collect()));
    unstated.take(4).chain(others.take(3)).collect()
}
