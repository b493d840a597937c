//! Literals that a query has once in its `WITH`, although it reads them in several places.
//!
//! ```text
//! … NOT (t1.id IN (1, 2, …)) … NOT (t2.id IN (1, 2, …)) …
//!     ─▶  WITH pe1 (c0) AS (SELECT ARRAY[1, 2, …])
//!         … NOT (t1.id IN (SELECT unnest(c0) FROM pe1)) … NOT (t2.id IN (SELECT unnest(c0) FROM pe1)) …
//! ```
//!
//! Stored facts are literals of the text, and each rule that uses them has them again. The database reads,
//! plans and hashes every copy. Rows that are a source are defined once, and planned as if they were in each
//! place. A list is held only where it is denied: one that may hold tells how many rows it finds, and may
//! find them by an index.
//!
//! A text holds literals where it has a `WITH` anyway, or where one does no harm: in a whole statement and in
//! a set that is made once. The conditions of a filter around its sets have them where they are.

use super::target::Local;
use crate::algebra::EmbeddedId;
use crate::catalog::ColumnId;
use crate::ir::ConstId;
use crate::question::CompileError;
use crate::sql::at::At;
use crate::sql::build;
use crate::sql::held::HeldKey;
use crate::sql::lower::{Lowering, column_name, column_names};
use crate::sql::printing::Printing;
use sqlparser::ast::{Cte, Expr as Sql, Query};

impl Lowering<'_, Local<'_>> {
    /// A test whether a value is one of these literals, which reads them from a table if they are held. One
    /// that compares some literals in another way than others stays.
    pub(in crate::sql) fn held_list(&mut self, at: At<'_>, test: Sql, literals: &[ConstId]) -> Sql {
        if !at.holds(literals) {
            return test;
        }
        match build::exact_list(&test) {
            Some((value, list)) => {
                let features = self.inputs.features;
                let held = if features.arrays_are_looked_up {
                    let array = vec![build::item(build::array(list.clone()), None)];
                    build::select(array, Vec::new(), Vec::new())
                } else {
                    build::values(list.iter().map(|value| vec![value.clone()]).collect())
                };
                let name = self.hold(HeldKey::List(list), build::query(held), 1);
                let s = self.named("s");
                let column = build::column(&s, build::ident(&column_name(ColumnId::FIRST)));
                let shown =
                    if features.arrays_are_looked_up { build::call("unnest", vec![column]) } else { column };
                let from = build::joined(vec![build::table(build::ident(&name), &s)]);
                let shown = vec![build::item(shown, None)];
                build::in_query(value, build::query(build::select(shown, from, Vec::new())))
            }
            None => test,
        }
    }

    /// The table that has these rows, if they are held.
    pub(in crate::sql) fn held_rows(
        &mut self,
        at: At<'_>,
        rows: EmbeddedId,
    ) -> Result<Option<String>, CompileError> {
        if !at.held.has_rows(rows) {
            return Ok(None);
        }
        let (values, n_columns) = self.embedded_values(rows)?;
        Ok(Some(self.hold(HeldKey::Rows(rows), build::query(values), n_columns)))
    }

    /// The name of the table with these literals.
    fn hold(&mut self, key: HeldKey, query: Query, n_columns: usize) -> String {
        let entry = self.target.held.entry(key);
        let number = entry.index() + 1;
        entry.or_insert((query, n_columns));
        self.named(&format!("pe{number}"))
    }

    /// The literals that were read since the last call, as common table expressions.
    pub(in crate::sql) fn take_held(&mut self) -> Vec<Cte> {
        let held = std::mem::take(&mut self.target.held);
        let cte = |(number, (key, (query, n_columns))): (usize, (HeldKey, (Query, usize)))| {
            let columns = column_names(n_columns);
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            let cte = build::cte(&self.named(&format!("pe{number}")), &columns, query);
            match key {
                HeldKey::List(_) => cte,
                HeldKey::Rows(_) => build::inlined(cte),
            }
        };
        (1..).zip(held).map(cte).collect()
    }
}
