//! `/studio/draft/local`: the SQL of a question for the database that data bindings describe, under a draft.

use super::draft::{AskedDraft, DraftIn};
use crate::engine::{LocalRequest, local_question};
use crate::http::auth::ReadAccess;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::http::{AppState, ExplanationOut};
use axum::extract::State;
use serde::Deserialize;
use std::sync::Arc;

/// A draft, a question and data bindings.
#[derive(Debug, Deserialize)]
pub(super) struct LocalIn {
    #[serde(flatten)]
    draft: DraftIn,
    bindings: String,
    /// A column, for a condition over it instead of rows.
    filter: Option<String>,
}

/// The SQL, with its explanation
pub(super) async fn local(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    Json(Object(sent)): Json<Object<LocalIn>>,
) -> Result<Json<ExplanationOut>, ApiError> {
    let LocalIn { draft, bindings, filter } = sent;
    let AskedDraft { engine, question, context, .. } = draft.asked(&environment.engine, &app).await?;
    let filter = filter.filter(|column| !column.trim().is_empty());
    let question = local_question(&question, filter.as_deref()).map_err(ApiError::BadRequest)?;
    let explanation = engine.explain_local(LocalRequest { bindings, question, context }).await?;
    Ok(Json(explanation.into()))
}
