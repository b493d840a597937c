//! The types of the columns that a part answers with, so that its values are literals of the right type.

use super::split::Residual;
use crate::algebra::{Expr, FromKind, Plan, Select, Table, TableRef};
use crate::catalog::{Catalog, ColumnId, SourceId};
use crate::datalog::constant;
use crate::id_vec::IdVec;
use crate::ir::{Constant, Program, TypeId};
use crate::question::{QuestionVarId, Shape, Slot};
use indexmap::IndexSet;

/// What the types of values depend on.
pub(super) struct Types<'t> {
    pub(super) program: &'t Program,
    pub(super) catalog: &'t Catalog,
    pub(super) constants: &'t IndexSet<Constant>,
    pub(super) shape: &'t Shape,
}

/// What an expression says of the type of its values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JoinedType {
    /// Nothing yet: a column that a fixpoint reads from itself.
    Nothing,
    /// All are of this type.
    One(TypeId),
    /// They are of several types, or of one that the policy does not know.
    Several,
}

/// What the values of each column of a table are.
type KnownColumns = IdVec<ColumnId, JoinedType>;

impl JoinedType {
    fn of(ty: Option<TypeId>) -> Self {
        ty.map_or(Self::Several, Self::One)
    }

    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Nothing, known) | (known, Self::Nothing) => known,
            (Self::One(one), Self::One(other)) if one == other => self,
            (Self::One(_) | Self::Several, _) => Self::Several,
        }
    }

    fn ty(self) -> Option<TypeId> {
        match self {
            Self::One(ty) => Some(ty),
            Self::Nothing | Self::Several => None,
        }
    }
}

impl Types<'_> {
    /// For each part the types of its columns; `None` where a column holds values of several.
    pub(super) fn of_parts(&self, residual: &Residual) -> Vec<IdVec<ColumnId, Option<TypeId>>> {
        residual.parts.iter().map(|part| self.of_answer(&part.plan)).collect()
    }

    fn of_answer(&self, plan: &Plan) -> IdVec<ColumnId, Option<TypeId>> {
        let mut tables: Vec<KnownColumns> = Vec::new();
        for table in &plan.tables {
            let columns = self.of_table(table, &tables);
            tables.push(columns);
        }
        let select = plan.answer.selects().first();
        let itself = KnownColumns::new();
        select.map_or_else(IdVec::new, |select| {
            let types = select.output.iter().map(|expr| self.of_expr(select, *expr, &tables, &itself).ty());
            types.collect()
        })
    }

    /// The columns of a table over those before it. A step may show a column of its table in the place of
    /// another one, so each round may learn more, until there is nothing more to learn.
    fn of_table(&self, table: &Table, tables: &[KnownColumns]) -> KnownColumns {
        let mut columns: KnownColumns = vec![JoinedType::Nothing; table.n_columns].into();
        loop {
            let mut learned = columns.clone();
            for select in table.body.selects() {
                for (known, expr) in learned.iter_mut().zip(&select.output) {
                    *known = known.join(self.of_expr(select, *expr, tables, &columns));
                }
            }
            if learned == columns {
                return columns;
            }
            columns = learned;
        }
    }

    /// What a select says of an expression; `itself` is what is known of the columns of its own table.
    fn of_expr(
        &self,
        select: &Select,
        expr: Expr,
        tables: &[KnownColumns],
        itself: &KnownColumns,
    ) -> JoinedType {
        match expr {
            Expr::Column { alias, column } => {
                let from = select.from.iter().find(|from| from.alias == alias);
                match from.map(|from| from.kind) {
                    Some(FromKind::Source(source)) => JoinedType::of(self.of_source(source, column)),
                    Some(FromKind::Table(TableRef::Table(table))) => table.of(tables)[column],
                    Some(FromKind::Table(TableRef::Itself)) => itself[column],
                    Some(FromKind::Values(Slot::OneOf(var) | Slot::Given(var))) => {
                        JoinedType::of(self.of_var(var))
                    }
                    Some(
                        FromKind::Values(
                            Slot::Context(_)
                            | Slot::ContextColumn(..)
                            | Slot::TypeOf(_)
                            | Slot::Now
                            | Slot::PageAfter
                            | Slot::PageLimit,
                        )
                        | FromKind::Embedded(_)
                        | FromKind::Row { .. }
                        | FromKind::Again { .. },
                    )
                    | None => JoinedType::Several,
                }
            }
            Expr::Const(literal) => {
                JoinedType::of(constant(self.program, self.constants, literal).map(|held| held.ty))
            }
            Expr::Given(var) => JoinedType::of(self.of_var(var)),
            Expr::Now => JoinedType::One(TypeId::INTEGER),
            Expr::Tag(_) | Expr::Filler | Expr::TypeName(_) | Expr::Unconstrained => JoinedType::Several,
        }
    }

    fn of_source(&self, source: SourceId, column: ColumnId) -> Option<TypeId> {
        let (ty, _) = self.catalog.relations[source].column(column)?;
        self.program.type_id(ty)
    }

    fn of_var(&self, var: QuestionVarId) -> Option<TypeId> {
        self.shape.vars[var].ty
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::algebra::sample::{column, reading};
    use crate::algebra::{PlanAnswer, TableBody, TableId};
    use crate::check;
    use crate::id_vec::IdVec;
    use crate::local::split::Part;
    use crate::source::SourceMap;

    /// The types of a part that reads a fixpoint over pairs of a user and a document.
    fn types(step: Vec<Expr>) -> IdVec<ColumnId, Option<TypeId>> {
        let policy = "actor User {} resource Doc {}";
        let program = check(&SourceMap::new("policy.polar", policy)).program.unwrap();
        let value = |ty: &str| Constant { ty: program.type_id(ty).unwrap(), text: "1".into() };
        let mut constants = IndexSet::new();
        let [user, doc] = ["User", "Doc"]
            .map(|ty| Expr::Const(crate::datalog::intern(&program, &mut constants, value(ty))));
        let base = vec![Select { output: vec![user, doc].into(), ..Select::default() }];
        let step = vec![reading(1, FromKind::Table(TableRef::Itself), step)];
        let table = Table::new("pairs".into(), String::new(), 2, TableBody::Recursive { base, step });
        let answer = reading(2, TableId(0).source(), vec![column(2, 0), column(2, 1)]);
        let plan = Plan::new(vec![table], PlanAnswer::Decision(vec![answer]));
        let residual = Residual { plan: plan.clone(), parts: vec![Part { plan, sources: Vec::new() }] };
        let shape = Shape { atoms: Vec::new(), vars: IdVec::new(), paged: false };
        let types =
            Types { program: &program, catalog: &Catalog::default(), constants: &constants, shape: &shape };
        let of_parts = types.of_parts(&residual);
        assert_eq!(program.type_id("Doc"), of_parts[0][ColumnId(1)], "nothing changes the second column");
        of_parts.into_iter().next().unwrap()
    }

    #[test]
    fn a_column_that_is_shown_as_another_one_gives_it_its_type() {
        assert!(types(vec![column(1, 0), column(1, 1)])[ColumnId::FIRST].is_some());
        assert_eq!(types(vec![column(1, 1), column(1, 1)])[ColumnId::FIRST], None);
    }
}
