//! Evaluates the stored parts of a residual plan.
//!
//! In: the plan of a `Residual`, and a way to ask the store for a part. Out: a plan in which every value is a
//! literal, and without the conditions that the values decide: a part without rows ends its select, one row
//! becomes literals, one column becomes a test (`x in (…)`), a branch that always holds disappears. A part is
//! asked for only when nothing before it has ended its select.
//!
//! Rows whose columns are needed together are embedded in the statement as a relation of literals.

use crate::algebra::prune;
use crate::algebra::{
    Alias, Condition, Embedded, EmbeddedId, Expr, From, FromKind, LiteralRow, LiteralRows, Plan, PlanAnswer,
    Select, TableBody, TableRef,
};
use crate::catalog::ColumnId;
use crate::datalog::intern;
use crate::id_vec::IdVec;
use crate::ir::{ConstId, Constant, Program, TypeId};
use crate::question::Statement;
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// What the store answers for a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetched {
    /// All rows; a decision that holds is one row without columns.
    Rows(Vec<Vec<String>>),
    /// More rows than may be put into a statement.
    TooMany,
}

/// Reads up to a given number of rows of a part from the store.
pub(super) type Fetch<'f, E> = &'f mut dyn FnMut(&Statement, usize) -> Result<Fetched, E>;

/// A plan whose values are all literals.
#[derive(Debug)]
pub(crate) struct Folded {
    /// The plan.
    pub(crate) plan: Plan,
    /// The rows of its [`FromKind::Embedded`] sources.
    pub(crate) embedded: Vec<Embedded>,
    /// The parts that had rows, and how many; what they decided is not in the plan any more.
    pub(crate) read: Vec<(EmbeddedId, usize)>,
}

/// What a table of the residual turned out to hold.
enum KnownTable {
    /// These rows.
    Rows(LiteralRows),
    /// What its selects say.
    Open,
}

/// The state of folding one plan.
pub(crate) struct Folder<'f, E> {
    /// The policy, for its literals.
    pub(crate) program: &'f Program,
    /// Literals that the policy does not have; grows.
    pub(crate) constants: &'f mut IndexSet<Constant>,
    /// The types of each part's columns.
    pub(crate) types: &'f [IdVec<ColumnId, Option<TypeId>>],
    /// Asks the store for a part.
    pub(crate) fetch: &'f mut dyn FnMut(EmbeddedId) -> Result<Fetched, E>,
    /// What was fetched, by part; `None` if there were too many rows.
    pub(crate) fetched: BTreeMap<EmbeddedId, Option<LiteralRows>>,
    /// The rows that the statement contains: those of each part, then those that were made from them.
    pub(crate) embedded: Vec<Embedded>,
}

impl<E> Folder<'_, E> {
    /// Folds a residual whose question's values are put in.
    pub(crate) fn fold(&mut self, plan: Plan) -> Result<Folded, E> {
        let Plan { mut tables, guard, mut answer } = plan;
        let mut known: Vec<KnownTable> = Vec::new();
        for table in &mut tables {
            let body = std::mem::replace(&mut table.body, TableBody::Union(Vec::new()));
            table.body = match body {
                TableBody::Union(selects) => TableBody::Union(self.selects(selects, &known)?),
                TableBody::Recursive { base, step } => {
                    let (base, step) = self.fixpoint(base, step, &known)?;
                    if step.is_empty() { TableBody::Union(base) } else { TableBody::Recursive { base, step } }
                }
                TableBody::WholeState { base, step } => {
                    let (base, step) = self.fixpoint(base, step, &known)?;
                    if step.is_empty() {
                        TableBody::Union(base)
                    } else {
                        TableBody::WholeState { base, step }
                    }
                }
            };
            known.push(match &table.body {
                TableBody::Union(selects) => self.constant_rows(selects),
                TableBody::Recursive { .. } | TableBody::WholeState { .. } => KnownTable::Open,
            });
        }
        let selects = self.selects(std::mem::take(answer.selects_mut()), &known)?;
        *answer.selects_mut() = match (&answer, selects.iter().find(|select| select.is_unit())) {
            (PlanAnswer::Decision(_), Some(unit)) => vec![unit.clone()],
            _ => selects,
        };
        let rows = |(part, rows): (&EmbeddedId, &Option<LiteralRows>)| {
            let n_rows = rows.as_ref()?.len();
            (n_rows > 0).then_some((*part, n_rows))
        };
        let read = self.fetched.iter().filter_map(rows).collect();
        let plan = prune(Plan { tables, guard, answer });
        Ok(Folded { plan, embedded: std::mem::take(&mut self.embedded), read })
    }

    fn fixpoint(
        &mut self,
        base: Vec<Select>,
        step: Vec<Select>,
        known: &[KnownTable],
    ) -> Result<(Vec<Select>, Vec<Select>), E> {
        let base = self.selects(base, known)?;
        let step = if base.is_empty() { Vec::new() } else { self.selects(step, known)? };
        Ok((base, step))
    }

    /// The selects that may have rows, each once.
    fn selects(&mut self, selects: Vec<Select>, known: &[KnownTable]) -> Result<Vec<Select>, E> {
        let mut left: Vec<Select> = Vec::new();
        for select in selects {
            if let Some(select) = self.select(select, known)?
                && !left.contains(&select)
            {
                left.push(select);
            }
        }
        Ok(left)
    }

    /// The rows of selects that are nothing but literals.
    fn constant_rows(&self, selects: &[Select]) -> KnownTable {
        let mut all: IndexSet<LiteralRow> = IndexSet::new();
        for select in selects {
            let rows = match select.from.as_slice() {
                [] => Some(vec![LiteralRow::new()]),
                [From { kind: FromKind::Embedded(rows), .. }] => rows.of(&self.embedded).rows.clone(),
                _ => None,
            };
            let Some(rows) = rows.filter(|_| select.filter.is_empty()) else { return KnownTable::Open };
            for row in rows {
                let value = |expr: &Expr| match expr {
                    Expr::Const(literal) => Some(*literal),
                    Expr::Column { column, .. } => Some(row[*column]),
                    _ => None,
                };
                match select.output.iter().map(value).collect() {
                    Some(row) => all.insert(row),
                    None => return KnownTable::Open,
                };
            }
        }
        KnownTable::Rows(all.into_iter().collect())
    }

    /// A select that may have rows, with what is known put in.
    fn select(&mut self, mut select: Select, known: &[KnownTable]) -> Result<Option<Select>, E> {
        if !self.decide(&mut select) {
            return Ok(None);
        }
        let mut sources: Vec<(Alias, Embedded)> = Vec::new();
        let mut left = Vec::new();
        for from in std::mem::take(&mut select.from) {
            let embedded = match from.kind {
                FromKind::Embedded(part) => Some(Embedded { rows: self.rows(part)?, part: Some(part) }),
                FromKind::Table(TableRef::Table(table)) => match table.of(known) {
                    KnownTable::Rows(rows) => Some(Embedded { rows: Some(rows.clone()), part: None }),
                    KnownTable::Open => None,
                },
                FromKind::Table(TableRef::Itself)
                | FromKind::Source(_)
                | FromKind::Values(_)
                | FromKind::Row { .. }
                | FromKind::Again { .. } => None,
            };
            match embedded {
                Some(embedded) if embedded.rows.as_ref().is_some_and(Vec::is_empty) => return Ok(None),
                Some(embedded) => sources.push((from.alias, embedded)),
                None => left.push(from),
            }
        }
        select.from = left;
        if !self.put_in(&mut select, &mut sources) || !self.branches(&mut select, known)? {
            return Ok(None);
        }
        // The branches may have decided more.
        if !self.put_in(&mut select, &mut sources) {
            return Ok(None);
        }
        let leading = sources.into_iter().map(|(alias, embedded)| {
            let known = self.embedded.iter().position(|known| *known == embedded);
            let rows =
                known.map_or_else(|| EmbeddedId::push(&mut self.embedded, embedded), EmbeddedId::from_index);
            From { alias, kind: FromKind::Embedded(rows) }
        });
        let leading: Vec<From> = leading.collect();
        select.from.splice(0..0, leading);
        Ok(Some(select))
    }

    /// The rows of a part, asked for once.
    fn rows(&mut self, part: EmbeddedId) -> Result<Option<LiteralRows>, E> {
        if let Some(known) = self.fetched.get(&part) {
            return Ok(known.clone());
        }
        let rows = match (self.fetch)(part)? {
            Fetched::TooMany => None,
            Fetched::Rows(rows) => {
                let types = part.of(self.types);
                let mut interned: LiteralRows = Vec::with_capacity(rows.len());
                for row in rows {
                    let cells = ColumnId::all(row.len()).zip(row);
                    let cell = |(column, text): (ColumnId, String)| {
                        let ty = types[column].unwrap_or(TypeId::FOREIGN);
                        self.intern(Constant { ty, text })
                    };
                    interned.push(cells.map(cell).collect());
                }
                Some(interned)
            }
        };
        self.fetched.insert(part, rows.clone());
        part.of_mut(&mut self.embedded).rows.clone_from(&rows);
        Ok(rows)
    }

    fn intern(&mut self, value: Constant) -> ConstId {
        intern(self.program, self.constants, value)
    }

    /// Folds the branches of a select's conditions; false if nothing is left.
    fn branches(&mut self, select: &mut Select, known: &[KnownTable]) -> Result<bool, E> {
        let mut left = Vec::new();
        for condition in std::mem::take(&mut select.filter) {
            match condition {
                Condition::Any(branches) => {
                    let mut branches = self.selects(branches, known)?;
                    if branches.is_empty() {
                        return Ok(false);
                    }
                    if branches.iter().any(Select::is_unit) {
                        continue;
                    }
                    match branches.as_mut_slice() {
                        [only] if only.from.is_empty() => left.append(&mut only.filter),
                        _ => left.push(Condition::Any(branches)),
                    }
                }
                Condition::None(branches) => {
                    let branches = self.selects(branches, known)?;
                    if branches.iter().any(Select::is_unit) {
                        return Ok(false);
                    }
                    if !branches.is_empty() {
                        left.push(Condition::None(branches));
                    }
                }
                simple => left.push(simple),
            }
        }
        select.filter = left;
        Ok(true)
    }
}
