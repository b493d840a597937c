//! Selects that are listed for each row of another source, with `LATERAL`.

use super::at::At;
use super::build;
use super::lower::{Lowering, Unconstrained, column_names};
use super::printing::Printing;
use super::strategy::Applied;
use crate::algebra::Select;
use crate::question::CompileError;
use sqlparser::ast::{SetExpr, TableFactor};

impl<T> Lowering<'_, T>
where
    Self: Printing,
{
    /// `SELECT l.c0 FROM (SELECT * FROM outer) AS t1 CROSS JOIN LATERAL (SELECT … FROM inner) AS l`, if that
    /// is how a select is evaluated. Both count as a tenth of what PostgreSQL expects: on tables without
    /// statistics, it would expect thousands of rows for each of hundreds, and compile the statement. The
    /// limit also keeps it from joining both.
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
        let sources = read.map(|from| Ok((self.alias(from.alias), self.factor(at, *from)?)));
        let sources = sources.collect::<Result<Vec<(String, TableFactor)>, CompileError>>()?;
        let filter = self.conditions(at, &outer)?;
        let (mut factors, filter) = match <[_; 1]>::try_from(sources) {
            Ok([(name, only)]) => {
                let rows = build::select(vec![build::star()], build::joined(vec![only]), filter);
                (vec![build::derived(build::counted_as_a_tenth(build::query(rows)), &name)], Vec::new())
            }
            Err(sources) => (sources.into_iter().map(|(_, source)| source).collect(), filter),
        };
        let rows = build::counted_as_a_tenth(build::query(rows));
        factors.push(build::lateral(rows, &alias, &[]));
        let mut names = names.iter();
        let items = listed.iter().map(|column| {
            let value = build::column(&alias, build::ident(column));
            build::item(value, names.next().map(|name| build::ident(name)))
        });
        Ok(Some(build::select(items.collect(), build::joined(factors), filter)))
    }
}
