//! The answer of a local check: runs its SQL on the caller's database and maps the rows to the page's ids.
//! A filter runs twice, for the rows that it keeps and for those that it drops. Rows with the wrong columns,
//! in the wrong order or returned twice are a fault.

use super::caller::Statements;
use super::schema::Candidates;
use super::ways::{self, Way};
use super::{Local, Side};
use crate::fixture::{Answer, Expected};
use crate::notation::Cell;
use crate::outcome::Outcome;
use crate::refusal::NoAnswer;
use portcullis_compiler::Dialect;
use portcullis_compiler::question::{Question, QuestionVarId};
use std::collections::BTreeSet;

impl Local {
    pub(super) fn rows(&self, side: &Side, question: &Question, way: Way) -> Outcome {
        let sql = match self.sql(side, ways::local(question, way, "")) {
            Ok(sql) => sql,
            Err(told) => return Expected::Refused(told),
        };
        let returned = side.caller.run(&sql);
        match returned.and_then(|returned| self.answer(side, question, way, &returned)) {
            Ok(answer) => Expected::Is(answer),
            Err(message) => Expected::Refused(NoAnswer::fault(format!("{message}\n{sql}"))),
        }
    }

    pub(super) fn filter(
        &self,
        side: &Side,
        question: &Question,
        way: Way,
        ty: &str,
        candidates: &Candidates,
    ) -> Outcome {
        let Candidates { from, column } = candidates;
        let filter = match self.sql(side, ways::local(question, way, column)) {
            Ok(filter) => filter,
            Err(told) => return Expected::Refused(told),
        };
        let fault = |message: String| Expected::Refused(NoAnswer::fault(message));
        let passing = format!("SELECT CAST({column} AS TEXT) AS found FROM {from} WHERE {filter}");
        // What is left out must be false, and not NULL.
        let rejected = format!("SELECT count(*) FROM {from} WHERE NOT {filter}");
        let all = format!("SELECT count(*) FROM {from}");
        let [passing, rejected, all] = match side.caller.run_all([&passing, &rejected, &all]) {
            Ok(found) => found.map(|found| found.rows.concat()),
            Err(message) => return fault(message),
        };
        let mut ids = passing;
        let number = |cells: &[Option<String>]| match cells {
            [Some(number)] => number.parse::<usize>().ok(),
            _ => None,
        };
        if number(&all) != number(&rejected).map(|rejected| ids.len() + rejected) {
            return fault(format!("of {all:?} rows {ids:?} are in and {rejected:?} are out\n{filter}"));
        }
        let is_null = ids.contains(&None);
        ids.retain(Option::is_some);
        let cell =
            |id: Option<String>| vec![Cell::Value(self.renaming.original(ty, &id.unwrap_or_default()))];
        let rows: BTreeSet<Vec<Cell>> = ids.into_iter().map(cell).collect();
        // A row without an id passes at most where every id does, also unknown ones.
        let n_listed = self.listed.iter().filter(|value| value.ty == ty).count();
        let is_fresh =
            |row: &Vec<Cell>| matches!(row.as_slice(), [Cell::Value(value)] if value.id.starts_with("fresh"));
        if is_null && rows.len() < n_listed && !rows.iter().any(is_fresh) {
            return fault(format!("NULL passes\n{filter}"));
        }
        Expected::Is(Answer::Rows(rows))
    }

    /// Rows as an answer, if they have the columns that the contract says.
    fn answer(
        &self,
        side: &Side,
        question: &Question,
        way: Way,
        returned: &Statements,
    ) -> Result<Answer, String> {
        let is_postgres = side.style.dialect == Dialect::Postgresql;
        let vars: Vec<QuestionVarId> = ways::asked(question).collect();
        let names: Vec<String> = match way {
            Way::Authorize => vec!["allowed".into()],
            Way::Actions => vec!["actions".into()],
            Way::Select if vars.is_empty() => vec!["result".into()],
            Way::Select => vars.iter().map(|&var| ways::output(question, var)).collect(),
            Way::List | Way::Subjects | Way::Filter(_) => return Err("a filter has no rows".into()),
        };
        let is_decision = way == Way::Authorize || way == Way::Select && vars.is_empty();
        let found: Vec<&String> = returned.columns.iter().map(|(name, _)| name).collect();
        if found != names.iter().collect::<Vec<_>>() {
            return Err(format!("columns {found:?} instead of {names:?}"));
        }
        let ty = if is_decision { "bool" } else { "text" };
        if is_postgres && returned.columns.iter().any(|(_, found)| found != ty) {
            return Err(format!("columns of types {:?} instead of {ty}", returned.columns));
        }
        if is_decision {
            return match returned.rows.as_slice() {
                [row] if matches!(row[0].as_deref(), Some("true" | "1")) => Ok(Answer::Decision(true)),
                [row] if matches!(row[0].as_deref(), Some("false" | "0")) => Ok(Answer::Decision(false)),
                rows => Err(format!("no decision: {rows:?}")),
            };
        }
        let distinct: BTreeSet<&Vec<Option<String>>> = returned.rows.iter().collect();
        if distinct.len() != returned.rows.len() {
            return Err(format!("a row twice: {:?}", returned.rows));
        }
        if way == Way::Actions && !returned.rows.is_sorted_by_key(|row| (row[0].is_none(), &row[0])) {
            return Err(format!("out of order: {:?}", returned.rows));
        }
        let row = |row: &Vec<Option<String>>| {
            let cells = vars.iter().zip(row).map(|(&var, id)| {
                let ty = question.vars[var].ty.as_deref().unwrap_or_default();
                let id = id.as_deref().filter(|id| way != Way::Actions || *id != "*");
                ways::cell(ty, id, |ty, id| self.renaming.original(ty, id))
            });
            cells.collect::<Vec<Cell>>()
        };
        Ok(Answer::Rows(returned.rows.iter().map(row).collect()))
    }
}
