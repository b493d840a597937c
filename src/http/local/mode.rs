//! The `mode` of `/evaluate_query_local`, as it is sent.
//!
//! `{"mode":"select","query_vars_to_output_column_names":{variable: column, …}}` asks for rows, and
//! `{"mode":"filter","query_var":…,"output_column_name":…}` for a condition. The columns of the rows are in
//! the order of the body. Empty and duplicate column names are refused, because readers of the rows could not
//! tell the columns apart. The engine checks that the variables exist.

use crate::engine::LocalMode;
use crate::http::openapi::Name;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;
use utoipa::ToSchema;

/// Rows or a condition.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = Mode)]
#[serde(tag = "mode", rename_all = "lowercase")]
pub(super) enum ModeIn {
    /// Rows; without columns, one row that says whether the conjunction holds.
    Select {
        /// The column of each variable; all are different.
        #[schema(value_type = Option<BTreeMap<String, Name>>)]
        query_vars_to_output_column_names: Option<Columns>,
    },
    /// A condition over a column with the values of one variable.
    Filter { query_var: String, output_column_name: String },
}

impl From<ModeIn> for LocalMode {
    fn from(mode: ModeIn) -> Self {
        match mode {
            ModeIn::Select { query_vars_to_output_column_names: columns } => {
                Self::Select(columns.map(|Columns(columns)| columns).unwrap_or_default())
            }
            ModeIn::Filter { query_var: var, output_column_name: column } => Self::Filter { var, column },
        }
    }
}

/// Variables with the names of their columns, in the order of the body.
#[derive(Debug)]
pub(super) struct Columns(Vec<(String, String)>);

impl<'de> Deserialize<'de> for Columns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;

        impl<'de> Visitor<'de> for InOrder {
            type Value = Columns;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from variables to the names of their columns")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Columns, A::Error> {
                let mut columns: Vec<(String, String)> = Vec::new();
                while let Some((var, column)) = map.next_entry::<String, String>()? {
                    if column.is_empty() {
                        return Err(A::Error::custom(format!("the column of `{var}` has an empty name")));
                    }
                    if columns.iter().any(|(other, _)| *other == var) {
                        return Err(A::Error::custom(format!("variable `{var}` is selected twice")));
                    }
                    if columns.iter().any(|(_, other)| *other == column) {
                        return Err(A::Error::custom(format!("two columns are named `{column}`")));
                    }
                    columns.push((var, column));
                }
                Ok(Columns(columns))
            }
        }

        deserializer.deserialize_map(InOrder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(text: &str) -> Result<LocalMode, String> {
        serde_json::from_str::<ModeIn>(text).map(LocalMode::from).map_err(|error| error.to_string())
    }

    fn select(columns: &str) -> Result<LocalMode, String> {
        mode(&format!(r#"{{"query_vars_to_output_column_names":{columns},"mode":"select"}}"#))
    }

    #[test]
    fn columns_keep_the_order_of_the_body() {
        let pair = |var: &str, column: &str| (var.to_owned(), column.to_owned());
        let expected = LocalMode::Select(vec![pair("v2", "Repo id"), pair("v1", "action")]);
        assert_eq!(select(r#"{"v2":"Repo id","v1":"action"}"#), Ok(expected));
    }

    #[test]
    fn no_columns_may_be_written_in_any_way() {
        for none in [select("{}"), select("null"), mode(r#"{"mode":"select"}"#)] {
            assert_eq!(none, Ok(LocalMode::Select(Vec::new())));
        }
    }

    #[test]
    fn a_filter_names_a_variable_and_a_column() {
        let text = r#"{"mode":"filter","output_column_name":"id","query_var":"v"}"#;
        assert_eq!(mode(text), Ok(LocalMode::Filter { var: "v".into(), column: "id".into() }));
        assert!(mode(r#"{"mode":"filter","query_var":"v"}"#).unwrap_err().contains("output_column_name"));
    }

    #[test]
    fn what_could_not_be_told_apart_is_refused() {
        let refused = [
            (r#"{"v":""}"#, "the column of `v` has an empty name"),
            (r#"{"v":"a","v":"b"}"#, "variable `v` is selected twice"),
            (r#"{"v":"a","w":"a"}"#, "two columns are named `a`"),
            (r#"["v"]"#, "expected an object from variables"),
            (r#"{"v":7}"#, "expected a string"),
        ];
        for (columns, why) in refused {
            assert!(select(columns).unwrap_err().contains(why), "{columns}");
        }
        assert!(mode(r#"{"mode":"delete"}"#).unwrap_err().contains("expected `select` or `filter`"));
    }
}
