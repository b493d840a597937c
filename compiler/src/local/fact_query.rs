//! One statement that reads single facts from the caller's database, for an explanation.
//!
//! An explanation reads facts through `why::Rows`. A read of facts in the caller's database is compiled as a
//! question with one atom over one bound query, under the policy without its rules, so it compares values as
//! all local SQL does. The statements of many reads are combined into one, whose first column names the read:
//!
//! ```text
//! part                     | value1 | value2 | …
//! [1,64,["ada",null]]      | reader | NULL   |       a row of a read
//! [2,64,["7"]]             | NULL   | NULL   |       a read without rows
//! [1760000000,"5d1b…"]     | true   | NULL   |       a decision
//! ```

use super::request::{LocalError, PlanOptions, SqlDetail, SqlForm, SqlRequest};
use crate::bindings::Bindings;
use crate::catalog::{Catalog, Relation, RelationArg};
use crate::deadline::Deadline;
use crate::dialect::quote::plain_literal;
use crate::dialect::{Dialect, Escapes, StoreDialect};
use crate::ir::Program;
use crate::limits;
use crate::question::{CompileError, Domain, Question, QuestionVar, QuestionVarId, Shape};
use crate::text;

/// The column of a decision on a fact.
const HOLDS: &str = "holds";

/// A part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedQuery {
    /// What is in the first column of its rows.
    pub name: String,
    /// Its own statement.
    pub sql: String,
    /// The rows that it returns.
    pub returns: Returns,
}

/// What the statement of a part returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Returns {
    /// One truth value, in a column of this name; it is shown as `true` or `false`.
    Decision(String),
    /// Rows with this number of values, of which at most `most` are shown. If there are none, the part has
    /// one row of NULL.
    Rows {
        /// How many columns there are.
        n_values: usize,
        /// How many rows are shown at most.
        most: usize,
    },
}

/// Reads at most `most` rows of a bound query whose columns have these values, where there is one. The rows
/// have the values of the other columns; without any, it is decided whether there is such a row. `facts` is
/// the policy [without its rules](Program::without_rules).
///
/// # Errors
/// [`CompileError::Refused`] if there is no SQL for it.
pub fn fact_rows(
    facts: &Program,
    bindings: &Bindings,
    relation: &Relation,
    bound: &[Option<String>],
    most: usize,
    name: String,
) -> Result<NamedQuery, CompileError> {
    let question = question(relation, bound);
    let wanted = question.vars.enumerate().filter(|(_, var)| var.domain == Domain::Wanted);
    let columns: Vec<(QuestionVarId, String)> =
        wanted.zip(1..).map(|((var, _), place)| (var, value_name(place))).collect();
    let returns = match columns.len() {
        0 => Returns::Decision(HOLDS.to_owned()),
        n_values => Returns::Rows { n_values, most },
    };
    let form = if columns.is_empty() {
        SqlForm::Decision { name: HOLDS.to_owned() }
    } else {
        SqlForm::Rows { columns }
    };
    let catalog = Catalog { relations: vec![relation.clone()].into() };
    let shape = Shape::of(facts, &question);
    // The store has no part of it, so its dialect does not matter.
    let store = StoreDialect::STRICTEST;
    let (most_rows, deadline) = (limits::PARAMETERS, Deadline::NEVER);
    let options = PlanOptions { store, most_rows, deadline };
    let plan = super::plan(facts, &catalog, &shape, form.filter_var(), bindings, options)?;
    let request = SqlRequest {
        program: facts,
        catalog: &catalog,
        bindings,
        question: &question,
        form: &form,
        now: 0,
        most_values: limits::PARAMETERS,
        deadline,
        detail: SqlDetail::Sql,
    };
    let bug = |what: &str| CompileError::Bug(what.to_owned());
    let made = plan.sql(&request, &mut |_, _| Err(bug("a bound query is asked of the store")));
    let made = made.map_err(|error| match error {
        LocalError::Compile(error) | LocalError::Fetch(error) => error,
    })?;
    let sql = made.template.text(&question).ok_or_else(|| bug("a read without its values"))?;
    Ok(NamedQuery { name, sql, returns })
}

/// The question of one atom for the rows of a relation.
fn question(relation: &Relation, bound: &[Option<String>]) -> Question {
    let mut bound = bound.iter();
    let var = |(at, arg): (usize, &RelationArg)| {
        let (ty, known) = match arg {
            RelationArg::Column { ty, .. } => (ty, bound.next().cloned().flatten()),
            RelationArg::Constant { ty, text } => (ty, Some(text.clone())),
        };
        let domain = known.map_or(Domain::Wanted, Domain::Given);
        QuestionVar { name: at.to_string(), ty: Some(ty.clone()), domain }
    };
    Question::atom(&relation.predicate, relation.args.iter().enumerate().map(var).collect())
}

/// Combines the first parts, as many as the database accepts in one statement and at least one. The columns
/// are `part`, `value1` and so on.
pub fn together(mut parts: &[NamedQuery], dialect: Dialect) -> String {
    let features = dialect.features();
    loop {
        let n_values = parts.iter().map(|part| part.returns.n_values()).max().unwrap_or(1);
        let selects = parts.iter().map(|part| part.select(n_values, features.escapes));
        let text = selects.collect::<Vec<_>>().join("\nUNION ALL\n");
        match parts.split_at_checked(parts.len().div_ceil(2)) {
            Some((first, rest)) if !rest.is_empty() && !text::fits(&text, features) => parts = first,
            _ => return text,
        }
    }
}

impl Returns {
    fn n_values(&self) -> usize {
        match self {
            Self::Decision(_) => 1,
            Self::Rows { n_values, .. } => *n_values,
        }
    }
}

impl NamedQuery {
    fn select(&self, n_columns: usize, escapes: Escapes) -> String {
        let name = plain_literal(&self.name, escapes);
        let value = |place: usize| match &self.returns {
            Returns::Decision(column) if place == 1 => {
                format!("CASE WHEN r.{column} THEN 'true' ELSE 'false' END AS {}", value_name(place))
            }
            Returns::Rows { n_values, .. } if place <= *n_values => format!("r.{}", value_name(place)),
            Returns::Decision(_) | Returns::Rows { .. } => {
                format!("CAST(NULL AS TEXT) AS {}", value_name(place))
            }
        };
        let values = (1..=n_columns).map(value).collect::<Vec<_>>().join(", ");
        let Self { sql, .. } = self;
        let from = match &self.returns {
            Returns::Decision(_) => format!("({sql}) AS r"),
            // Without a row of its own, a part is one row of NULL.
            Returns::Rows { most, .. } => format!(
                "(SELECT 1 AS one) AS o LEFT JOIN (SELECT * FROM ({sql}) AS s LIMIT {most}) AS r ON 1 = 1"
            ),
        };
        format!("SELECT {name} AS part, {values} FROM {from}")
    }
}

fn value_name(place: usize) -> String {
    format!("value{place}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bindings;
    use crate::catalog::{BindingId, RelationSource};
    use crate::source::SourceMap;

    /// The parts of a read with these values known, and of a decision.
    fn read(dialect: &str, bound: &[Option<&str>]) -> String {
        let policy = "actor User {} resource Doc { roles = [\"reader\"]; }";
        let facts = crate::check(&SourceMap::new("policy.polar", policy)).program.unwrap().without_rules();
        let document = format!(
            "dialect: {dialect}\nfacts:\n  has_role(User:_, reader, Doc:_):\n    query: SELECT who, doc FROM readers\n\
             sql_types: {{Doc: integer}}\n"
        );
        let bindings = bindings::parse(&document).unwrap();
        let column = |ty: &str| RelationArg::Column { ty: ty.into(), column: "c".into() };
        let role = RelationArg::Constant { ty: "String".into(), text: "reader".into() };
        let relation = Relation {
            predicate: "has_role".into(),
            args: vec![column("User"), role, column("Doc")],
            source: RelationSource::Bound { binding: BindingId(0), has_typed_texts: false },
        };
        let bound: Vec<Option<String>> = bound.iter().map(|value| value.map(str::to_owned)).collect();
        let part = fact_rows(&facts, &bindings, &relation, &bound, 64, "it's".into()).unwrap();
        let decision = NamedQuery {
            name: "[7]".into(),
            sql: "SELECT 1 AS d".into(),
            returns: Returns::Decision("d".into()),
        };
        let text = together(&[part, decision], bindings.dialect);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_read_is_restricted_as_local_sql_restricts_it() {
        let by_doc = read("postgresql", &[None, Some("7")]);
        assert!(by_doc.starts_with("SELECT 'it''s' AS part, r.value1 FROM (SELECT 1 AS one) AS o LEFT JOIN"));
        assert!(by_doc.contains("FROM readers AS t1 WHERE t1.doc = 7"), "{by_doc}");
        assert!(
            by_doc.contains("LIMIT 64) AS r ON 1 = 1 UNION ALL SELECT '[7]' AS part, CASE WHEN r.d"),
            "{by_doc}"
        );
        let all = read("sqlite", &[None, None]);
        assert!(
            all.contains("r.value1, r.value2 FROM") && all.contains("CAST(NULL AS TEXT) AS value2"),
            "{all}"
        );
        let whole = read("sqlite", &[Some("a?"), Some("7")]);
        assert!(whole.contains("CASE WHEN r.holds THEN 'true' ELSE 'false' END AS value1"), "{whole}");
        assert!(whole.contains("char(63)"), "a driver may read `?` as a parameter: {whole}");
        // No row has an id that is not a number.
        let none = read("postgresql", &[None, Some("x")]);
        assert!(none.contains("(t1.doc = 0 AND false)"), "{none}");
    }

    #[test]
    fn a_statement_has_as_many_parts_as_the_database_takes() {
        let part = |number: usize| NamedQuery {
            name: number.to_string(),
            sql: "SELECT true AS d".into(),
            returns: Returns::Decision("d".into()),
        };
        let parts: Vec<NamedQuery> = (0..1_200).map(part).collect();
        let n_parts = |dialect| together(&parts, dialect).matches("AS part").count();
        // SQLite takes 500 selects in a union.
        assert_eq!((n_parts(Dialect::Sqlite), n_parts(Dialect::Postgresql)), (300, 1_200));
    }
}
