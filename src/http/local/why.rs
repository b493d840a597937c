//! `/why_query`: why a local check is answered as it is.
//!
//! The service has no connection to the caller's database. It answers with a statement, the caller runs it
//! and sends the request again with its rows, until the answer is the explanation. The service keeps no state
//! between these requests: each has the rows of all statements so far.

use crate::engine::{CallerRow, LocalWhy, LocalWhyRequest};
use crate::http::auth::ReadAccess;
use crate::http::distinct::DistinctFields;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::http::openapi::ExplainDecisionRequest;
use crate::http::why::{WhyOut, asked};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A question about a caller's database, with the rows that it has returned so far.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = WhyQueryRequest)]
pub(super) struct WhyLocal {
    #[schema(value_type = ExplainDecisionRequest)]
    query: DistinctFields,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
    /// The rows of all statements so far, each a list of its columns in order. Empty in the first request.
    rows: Option<Vec<Vec<Option<String>>>>,
}

/// The next statement to run, or the explanation. The other one is null.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = WhyQueryAnswer)]
pub struct LocalWhyOut {
    /// Run this on your database, and append its rows to `rows` in the next request.
    pub sql: Option<String>,
    /// The answer, and why it is so.
    pub explanation: Option<WhyOut>,
}

/// Make the SQL that explains a local check, and explain it with the rows
///
/// Send the question without rows first. Run the statement that comes back on your database, send the same
/// request with its rows, and so on until there is an explanation instead of a statement: a few times, and
/// about once for each level of a hierarchy. Run all statements in one read-only transaction, in PostgreSQL
/// with `REPEATABLE READ`, so that they see one state of the data. The first one also answers the local
/// check itself, and an explanation that disagrees with it is refused.
#[utoipa::path(
    post,
    path = "/why_query",
    operation_id = "why_query",
    tag = "Local checks",
    request_body(content = WhyLocal, example = json!({
        "query": {
            "actor_type": "User", "actor_id": "alice", "action": "read",
            "resource_type": "Repository", "resource_id": "docs", "context_facts": [],
        },
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
        "rows": [],
    })),
    responses((status = 200, description = "A statement, or the explanation", body = LocalWhyOut)),
)]
pub(super) async fn why(
    ReadAccess(environment): ReadAccess,
    Json(Object(WhyLocal { query: DistinctFields(query), data_bindings, rows })): Json<Object<WhyLocal>>,
) -> Result<Json<LocalWhyOut>, ApiError> {
    let (question, context) = asked(query)?;
    let rows = rows.unwrap_or_default().into_iter().map(row).collect();
    let bindings = data_bindings.unwrap_or_default();
    let request = LocalWhyRequest { bindings, question, context, rows };
    Ok(Json(environment.engine.explain_on_caller(request).await?.into()))
}

/// A row; one without columns belongs to no part.
fn row(columns: Vec<Option<String>>) -> CallerRow {
    let mut columns = columns.into_iter();
    CallerRow { part: columns.next().flatten().unwrap_or_default(), values: columns.collect() }
}

impl From<LocalWhy> for LocalWhyOut {
    fn from(why: LocalWhy) -> Self {
        match why {
            LocalWhy::Ask(sql) => Self { sql: Some(sql), explanation: None },
            LocalWhy::Explained(why) => Self { sql: None, explanation: Some(WhyOut::from(&*why)) },
        }
    }
}
