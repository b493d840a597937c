//! Everything that a plan names exists: sources, tables made before their readers, aliases in scope, columns
//! within their source and of the type that they are compared as, literals, and variables of the question.

use super::verifier::{Open, Verifier};
use crate::algebra::{
    Condition, Expr, From, FromKind, Plan, PlanAnswer, Select, TableBody, TableId, TableRef,
};
use crate::catalog::ColumnId;
use crate::datalog::constant;
use crate::id_vec::IdVec;
use crate::ir::{ConstId, QuestionVarId, TypeId};
use crate::question::{ShapeDomain, Slot};

/// What is known of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ColumnKind {
    /// Values of one type of the policy.
    Of(TypeId),
    /// Names of the members of a recursive component.
    Tag,
    /// Anything, as far as is known.
    Any,
    /// Nothing yet: a column that a fixpoint reads from itself.
    Nothing,
}

impl ColumnKind {
    fn of(ty: Option<TypeId>) -> Self {
        ty.filter(|ty| *ty != TypeId::FOREIGN).map_or(Self::Any, Self::Of)
    }

    /// Whether values of both may be equal.
    fn fits(self, other: Self) -> bool {
        let is_open = |kind| matches!(kind, Self::Any | Self::Nothing);
        self == other || is_open(self) || is_open(other)
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, kind) | (kind, Self::Nothing) => kind,
            _ if self == other => self,
            (Self::Of(_) | Self::Tag | Self::Any, _) => Self::Any,
        }
    }
}

/// The place of a select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SelectPlace {
    /// In a table: which tables it may read are those before this one.
    Table { table: TableId, is_step: bool },
    /// In the guard or the answer.
    Answer,
}

type Verified<T = ()> = Result<T, String>;

/// What is known of the values of each column of a source.
type KnownValues = IdVec<ColumnId, ColumnKind>;

/// Checks every select of a plan.
pub(super) fn check(verifier: &Verifier<'_>, plan: &Plan) -> Verified {
    let mut walk = ReferenceWalk { verifier, tables: Vec::new(), itself: KnownValues::new() };
    for (id, table) in TableId::enumerate(&plan.tables) {
        walk.table(id, table.n_columns, &table.body).map_err(|fault| format!("{}: {fault}", table.name))?;
    }
    if !plan.guard.from.is_empty() || !plan.guard.output.is_empty() {
        return Err("the guard has sources or columns".into());
    }
    walk.select(&plan.guard, SelectPlace::Answer, &mut Vec::new())?;
    let width = match &plan.answer {
        PlanAnswer::Decision(_) => None,
        PlanAnswer::Rows { columns, .. } => Some(columns.len()),
    };
    for select in plan.answer.selects() {
        let kinds = walk.select(select, SelectPlace::Answer, &mut Vec::new())?;
        if width.is_some_and(|width| width != kinds.len()) {
            return Err(format!("an answer of {} columns in place of {width:?}", kinds.len()));
        }
    }
    Ok(())
}

struct ReferenceWalk<'w> {
    verifier: &'w Verifier<'w>,
    /// The columns of the tables so far.
    tables: Vec<KnownValues>,
    /// The columns of the table whose steps are being checked.
    itself: KnownValues,
}

impl ReferenceWalk<'_> {
    fn table(&mut self, table: TableId, n_columns: usize, body: &TableBody) -> Verified {
        let (base, step): (&[Select], &[Select]) = match body {
            TableBody::Union(selects) => (selects, &[]),
            TableBody::Recursive { base, step } | TableBody::WholeState { base, step } => (base, step),
        };
        if matches!(body, TableBody::Recursive { .. }) {
            step.iter().try_for_each(reads_itself_once)?;
        }
        let mut columns: KnownValues = vec![ColumnKind::Nothing; n_columns].into();
        // Each round may learn more about a column, or that it holds values of several types.
        loop {
            self.itself.clone_from(&columns);
            let base = base.iter().map(|select| (select, false));
            for (select, is_step) in base.chain(step.iter().map(|select| (select, true))) {
                let kinds = self.select(select, SelectPlace::Table { table, is_step }, &mut Vec::new())?;
                if kinds.len() != n_columns {
                    return Err(format!("{} columns in place of {n_columns}", kinds.len()));
                }
                columns = columns.into_iter().zip(kinds).map(|(one, other)| one.join(other)).collect();
            }
            // Where a column says which member of a component a row is of, the types of the others depend on
            // it, and rows of members with fewer columns are padded. A name that is put in has no type.
            if columns.iter().any(|kind| matches!(kind, ColumnKind::Tag | ColumnKind::Any)) {
                columns.iter_mut().for_each(|kind| *kind = ColumnKind::Any);
            }
            if columns == self.itself {
                break;
            }
        }
        self.tables.push(columns);
        Ok(())
    }

    /// Checks a select inside others, and returns what is known of its columns.
    fn select(&self, select: &Select, place: SelectPlace, scope: &mut Vec<From>) -> Verified<KnownValues> {
        let outside = scope.len();
        for from in &select.from {
            if scope.iter().any(|known| known.alias == from.alias) {
                return Err(format!("{} is defined twice", from.alias));
            }
            self.columns(from.kind, place)?;
            scope.push(*from);
        }
        select.from.iter().try_for_each(|from| is_read_again(*from, scope))?;
        for condition in &select.filter {
            self.condition(condition, place, scope)?;
        }
        let may_be_any = place == SelectPlace::Answer && outside == 0;
        let kinds = select.output.iter().map(|expr| match expr {
            Expr::Unconstrained | Expr::TypeName(_) if may_be_any => Ok(ColumnKind::Any),
            expr => self.expr(*expr, place, scope),
        });
        let kinds = kinds.collect();
        scope.truncate(outside);
        kinds
    }

    fn condition(&self, condition: &Condition, place: SelectPlace, scope: &mut Vec<From>) -> Verified {
        match condition {
            Condition::Compare { left, right, .. } => {
                let (one, other) = (self.expr(*left, place, scope)?, self.expr(*right, place, scope)?);
                if !one.fits(other) {
                    return Err(format!("{left:?} is compared with {right:?}, which is of another type"));
                }
            }
            Condition::OneOf { expr, literals } => {
                let kind = self.expr(*expr, place, scope)?;
                for literal in literals {
                    if !self.literal(*literal)?.fits(kind) {
                        return Err(format!("{expr:?} is compared with literals of another type"));
                    }
                }
            }
            Condition::Meets { row, source } => {
                self.expr(*row, place, scope)?;
                self.columns(FromKind::Source(*source), place)?;
                if !matches!(row, Expr::Given(_)) {
                    return Err(
                        "a condition of a bound query is asked of another row than the filter's".into()
                    );
                }
            }
            Condition::In { expr, selects, .. } => {
                let kind = self.expr(*expr, place, scope)?;
                for select in selects {
                    match self.select(select, place, scope)?.as_slice() {
                        [only] if only.fits(kind) => {}
                        [_] => return Err(format!("{expr:?} is looked up among values of another type")),
                        columns => return Err(format!("a set of {} columns", columns.len())),
                    }
                }
            }
            Condition::Any(branches) | Condition::None(branches) => {
                for branch in branches {
                    self.select(branch, place, scope)?;
                }
            }
        }
        Ok(())
    }

    /// What is known of a value, which must not be a wildcard.
    fn expr(&self, expr: Expr, place: SelectPlace, scope: &[From]) -> Verified<ColumnKind> {
        match expr {
            Expr::Column { alias, column } => {
                let from = scope.iter().find(|from| from.alias == alias);
                let from = from.ok_or_else(|| format!("{alias} is not in scope"))?;
                let columns = self.columns(from.kind, place)?;
                let kind = columns.find(column).copied();
                kind.ok_or_else(|| {
                    format!("{alias} has {} columns, and no column {}", columns.len(), column.index())
                })
            }
            Expr::Const(literal) => self.literal(literal),
            Expr::Given(var) => self.var(var),
            Expr::Now if self.verifier.open == Open::Given => Ok(ColumnKind::Of(TypeId::INTEGER)),
            Expr::Tag(_) | Expr::Filler if self.verifier.open == Open::Given => Ok(ColumnKind::Tag),
            Expr::Now | Expr::Tag(_) | Expr::Filler => Err("a value is not put in".into()),
            Expr::TypeName(_) | Expr::Unconstrained => {
                Err("a wildcard is used where a value is needed".into())
            }
        }
    }

    fn literal(&self, literal: ConstId) -> Verified<ColumnKind> {
        let Verifier { program, constants, .. } = *self.verifier;
        let held = constant(program, constants, literal).ok_or_else(|| format!("no literal {literal:?}"))?;
        Ok(ColumnKind::of(Some(held.ty)))
    }

    fn var(&self, var: QuestionVarId) -> Verified<ColumnKind> {
        let known = self.verifier.vars.find(var).ok_or_else(|| format!("no variable {}", var.index()))?;
        let is_given = match self.verifier.open {
            Open::Nothing => false,
            Open::Given => matches!(known.domain, ShapeDomain::Given | ShapeDomain::Literal(_)),
        };
        if is_given || self.verifier.column == Some(var) {
            Ok(ColumnKind::of(known.ty))
        } else {
            Err(format!("the variable {} has no value", var.index()))
        }
    }

    /// What is known of the columns of a source.
    fn columns(&self, kind: FromKind, place: SelectPlace) -> Verified<KnownValues> {
        match kind {
            FromKind::Source(source) | FromKind::Row { source, .. } | FromKind::Again { source, .. } => {
                let relation = self.verifier.catalog.relations.find(source);
                let relation = relation.ok_or_else(|| format!("no relation {}", source.index()))?;
                Ok(relation
                    .columns()
                    .map(|(ty, _)| ColumnKind::of(self.verifier.program.type_id(ty)))
                    .collect())
            }
            FromKind::Table(TableRef::Itself) => match place {
                SelectPlace::Table { is_step: true, .. } => Ok(self.itself.clone()),
                SelectPlace::Table { is_step: false, .. } | SelectPlace::Answer => {
                    Err("a table reads itself outside of its steps".into())
                }
            },
            FromKind::Table(TableRef::Table(table)) => {
                let is_made = match place {
                    SelectPlace::Table { table: reader, .. } => table < reader,
                    SelectPlace::Answer => true,
                };
                let columns = self.tables.get(table.index()).filter(|_| is_made);
                columns
                    .cloned()
                    .ok_or_else(|| format!("the table {} is not made before it is read", table.index()))
            }
            FromKind::Values(Slot::OneOf(var)) => {
                let known =
                    self.verifier.vars.find(var).ok_or_else(|| format!("no variable {}", var.index()))?;
                match known.domain {
                    ShapeDomain::GivenOneOf => Ok(vec![ColumnKind::of(known.ty)].into()),
                    _ => Err(format!("the variable {} has no list of values", var.index())),
                }
            }
            FromKind::Values(slot) => Err(format!("{slot} is not a list of values")),
            FromKind::Embedded(rows) => {
                let index = rows.index();
                let width = self.verifier.embedded.get(index).ok_or_else(|| format!("no rows {index}"))?;
                let width = width.ok_or_else(|| format!("the rows {index} are not known"))?;
                Ok(vec![ColumnKind::Any; width].into())
            }
        }
    }
}

/// A row that is read once is that of a bound query, which is in scope.
fn is_read_again(from: From, scope: &[From]) -> Verified {
    let FromKind::Again { row, .. } = from.kind else { return Ok(()) };
    match scope.iter().find(|known| known.alias == row).map(|known| known.kind) {
        Some(FromKind::Source(_)) => Ok(()),
        Some(kind) => Err(format!("{} sees a row of {kind:?}", from.alias)),
        None => Err(format!("{} sees a row of {row}, which is not in scope", from.alias)),
    }
}

/// A linear step reads its table exactly once, and in no branch.
fn reads_itself_once(select: &Select) -> Verified {
    fn of_sources(select: &Select) -> usize {
        select.from.iter().filter(|from| from.kind == FromKind::Table(TableRef::Itself)).count()
    }
    fn count(select: &Select) -> usize {
        let branches = select.filter.iter().flat_map(Condition::branches);
        of_sources(select) + branches.map(count).sum::<usize>()
    }
    if of_sources(select) == 1 && count(select) == 1 {
        Ok(())
    } else {
        Err("a step that is not linear".into())
    }
}
