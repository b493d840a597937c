//! Selects that are listed for each row of another source, with `LATERAL`.

use super::at::At;
use super::build;
use super::lower::{Lowering, Unconstrained, column_names};
use super::printing::Printing;
use super::strategy::Applied;
use crate::algebra::Select;
use crate::question::CompileError;
use sqlparser::ast::SetExpr;

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// `SELECT l.c0 FROM outer CROSS JOIN LATERAL (SELECT … FROM inner OFFSET 0) AS l`, if that is how a select
    /// is evaluated. Without `OFFSET 0`, PostgreSQL would join both.
    pub(super) fn applied(
        &mut self,
        at: At<'_>,
        select: &Select,
        names: &[String],
        unconstrained: Unconstrained,
    ) -> Result<Option<SetExpr>, CompileError> {
        let Some(Applied { outer, inner }) = Applied::of(select, self.inputs.features) else {
            return Ok(None);
        };
        let at = at.in_where(&outer);
        let listed = column_names(inner.output.len());
        let rows = self.named_select(at, &inner, &listed, unconstrained)?;
        let alias = self.named("l");
        let read = outer.from.iter().filter(|from| from.kind.is_read());
        let mut factors = read.map(|from| self.factor(at, *from)).collect::<Result<Vec<_>, _>>()?;
        factors.push(build::lateral(build::fenced(build::query(rows)), &alias, &[]));
        let mut names = names.iter();
        let items = listed.iter().map(|column| {
            let value = build::column(&alias, build::ident(column));
            build::item(value, names.next().map(|name| build::ident(name)))
        });
        let projection = items.collect();
        let filter = self.conditions(at, &outer)?;
        Ok(Some(build::select(projection, build::joined(factors), filter)))
    }
}
