//! Endpoints that answer with SQL for the caller's own database.
//!
//! Each takes a question like its hosted counterpart, in the field `query`, and the data bindings that say
//! where the caller's facts are. The answer is SQL for that database. `/explain_query` takes the body of any
//! of the others and explains its SQL; `/why_query` explains an answer.
//!
//! | endpoint | in addition to `query` and `data_bindings` | the SQL |
//! |---|---|---|
//! | `/authorize_query` | nothing | one row, a boolean column `allowed` |
//! | `/list_query` | `column` | a condition over the column |
//! | `/list_subjects_query` | `column` | a condition over the column |
//! | `/actions_query` | nothing | a column `actions` |
//! | `/evaluate_query_local` | `mode` | rows with the columns that the mode names, or a condition |
//!
//! Clients send `null` or an empty text if they have no bindings. They also send a page size and token, which
//! do not apply to a condition; they are decoded and ignored.

mod explain;
mod mode;
mod why;

use super::auth::ReadAccess;
use super::checks::{ActionsIn, AuthorizeIn};
use super::error::ApiError;
use super::json::{Json, Object};
use super::openapi::{Name, Text};
use super::queries::EvaluateIn;
use super::values::{FactIn, FactsIn, facts};
use super::{AppState, Environment};
use crate::engine::{ActionsQuestion, LocalQuestion, LocalRequest, Value};
pub use explain::ExplanationOut;
use mode::ModeIn;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
pub use why::LocalWhyOut;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(authorize))
        .routes(routes!(list))
        .routes(routes!(list_subjects))
        .routes(routes!(actions))
        .routes(routes!(evaluate))
        .routes(routes!(explain::explain))
        .routes(routes!(why::why))
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthorizeQueryRequest)]
struct AuthorizeLocal {
    #[schema(value_type = AuthorizeIn)]
    query: Object<AuthorizeIn>,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
}

/// A list of resources of a type, as a condition.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListQuestion)]
struct ListQuestionIn {
    #[schema(value_type = Name)]
    actor_type: String,
    #[schema(value_type = Name)]
    actor_id: String,
    #[schema(value_type = Text)]
    action: String,
    #[schema(value_type = Name)]
    resource_type: String,
    /// Left alone: a condition has no pages.
    #[serde(rename = "page_size")]
    _page_size: Option<u64>,
    /// Left alone: a condition has no pages.
    #[serde(rename = "page_token")]
    _page_token: Option<String>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListQueryRequest)]
struct ListLocal {
    #[schema(value_type = ListQuestionIn)]
    query: Object<ListQuestionIn>,
    /// The column of the condition, such as `issues.id`.
    #[schema(value_type = Text)]
    column: String,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
}

/// A list of actors of a type, as a condition.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListSubjectsQuestion)]
struct SubjectsQuestionIn {
    /// Not `Actor` or `Resource`.
    #[schema(value_type = Name)]
    actor_type: String,
    #[schema(value_type = Text)]
    action: String,
    #[schema(value_type = Name)]
    resource_type: String,
    #[schema(value_type = Name)]
    resource_id: String,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListSubjectsQueryRequest)]
struct SubjectsLocal {
    #[schema(value_type = SubjectsQuestionIn)]
    query: Object<SubjectsQuestionIn>,
    /// The column of the condition, such as `users.id`.
    #[schema(value_type = Text)]
    column: String,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ActionsQueryRequest)]
struct ActionsLocal {
    #[schema(value_type = ActionsIn)]
    query: Object<ActionsIn>,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = EvaluateQueryLocalRequest)]
struct EvaluateLocal {
    #[schema(value_type = EvaluateIn)]
    query: Object<EvaluateIn>,
    #[schema(value_type = ModeIn)]
    mode: Object<ModeIn>,
    /// The document that says which of the caller's queries hold which facts; none if empty or null.
    /// For SQLite it has the line `dialect: sqlite`; without it, the SQL is for PostgreSQL.
    data_bindings: Option<String>,
}

impl From<AuthorizeLocal> for LocalRequest {
    fn from(AuthorizeLocal { query: Object(asked), data_bindings }: AuthorizeLocal) -> Self {
        let question = LocalQuestion::Authorize {
            actor: Value { ty: asked.actor_type, id: asked.actor_id },
            action: asked.action,
            resource: Value { ty: asked.resource_type, id: asked.resource_id },
        };
        request(question, data_bindings, asked.context_facts)
    }
}

impl From<ListLocal> for LocalRequest {
    fn from(ListLocal { query: Object(asked), column, data_bindings }: ListLocal) -> Self {
        let question = LocalQuestion::List {
            actor: Value { ty: asked.actor_type, id: asked.actor_id },
            action: asked.action,
            resource_type: asked.resource_type,
            column,
        };
        request(question, data_bindings, asked.context_facts)
    }
}

impl From<SubjectsLocal> for LocalRequest {
    fn from(SubjectsLocal { query: Object(asked), column, data_bindings }: SubjectsLocal) -> Self {
        let question = LocalQuestion::Subjects {
            actor_type: asked.actor_type,
            action: asked.action,
            resource: Value { ty: asked.resource_type, id: asked.resource_id },
            column,
        };
        request(question, data_bindings, asked.context_facts)
    }
}

impl From<ActionsLocal> for LocalRequest {
    fn from(ActionsLocal { query: Object(mut asked), data_bindings }: ActionsLocal) -> Self {
        let context = asked.context_facts.take();
        let ActionsQuestion { actor, resource } = asked.question();
        request(LocalQuestion::Actions { actor, resource }, data_bindings, context)
    }
}

impl From<EvaluateLocal> for LocalRequest {
    fn from(EvaluateLocal { query: Object(mut asked), mode, data_bindings }: EvaluateLocal) -> Self {
        let context = asked.context_facts.take();
        let Object(mode) = mode;
        let question = LocalQuestion::Evaluate { query: asked.query(), mode: mode.into() };
        request(question, data_bindings, context)
    }
}

/// The engine's request; missing bindings are empty.
fn request(question: LocalQuestion, bindings: Option<String>, context: FactsIn) -> LocalRequest {
    LocalRequest { bindings: bindings.unwrap_or_default(), question, context: facts(context) }
}

/// SQL for the caller's own database.
#[derive(Debug, Serialize, ToSchema)]
struct Sql {
    sql: String,
}

async fn answer(environment: &Environment, asked: impl Into<LocalRequest>) -> Result<Json<Sql>, ApiError> {
    Ok(Json(Sql { sql: environment.engine.local(asked.into()).await? }))
}

/// Make the SQL that decides whether an actor may do this to a resource
///
/// It returns one row with a boolean column `allowed`.
#[utoipa::path(
    post,
    path = "/authorize_query",
    operation_id = "authorize_query",
    tag = "Local checks",
    request_body(content = AuthorizeLocal, example = json!({
        "query": {
            "actor_type": "User", "actor_id": "alice", "action": "read",
            "resource_type": "Repository", "resource_id": "docs", "context_facts": [],
        },
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The statement", body = Sql)),
)]
async fn authorize(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<AuthorizeLocal>>,
) -> Result<Json<Sql>, ApiError> {
    answer(&environment, asked).await
}

/// Make the SQL condition that keeps the resources to which an actor may do this
#[utoipa::path(
    post,
    path = "/list_query",
    operation_id = "list_query",
    tag = "Local checks",
    request_body(content = ListLocal, example = json!({
        "query": {
            "actor_type": "User", "actor_id": "alice", "action": "read", "resource_type": "Repository",
            "page_size": 10_000, "page_token": null, "context_facts": [],
        },
        "column": "repositories.id",
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The condition", body = Sql)),
)]
async fn list(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<ListLocal>>,
) -> Result<Json<Sql>, ApiError> {
    answer(&environment, asked).await
}

/// Make the SQL condition that keeps the actors that may do this to a resource
#[utoipa::path(
    post,
    path = "/list_subjects_query",
    operation_id = "list_subjects_query",
    tag = "Local checks",
    request_body(content = SubjectsLocal, example = json!({
        "query": {
            "actor_type": "User", "action": "read", "resource_type": "Repository", "resource_id": "docs",
            "context_facts": [],
        },
        "column": "users.id",
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The condition", body = Sql)),
)]
async fn list_subjects(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<SubjectsLocal>>,
) -> Result<Json<Sql>, ApiError> {
    answer(&environment, asked).await
}

/// Make the SQL that lists what an actor may do to a resource
///
/// It answers with rows of one column, `actions`.
#[utoipa::path(
    post,
    path = "/actions_query",
    operation_id = "actions_query",
    tag = "Local checks",
    request_body(content = ActionsLocal, example = json!({
        "query": {
            "actor_type": "User", "actor_id": "alice", "resource_type": "Repository", "resource_id": "docs",
            "context_facts": [],
        },
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The statement", body = Sql)),
)]
async fn actions(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<ActionsLocal>>,
) -> Result<Json<Sql>, ApiError> {
    answer(&environment, asked).await
}

/// Make the SQL for the values of variables of which predicates hold
#[utoipa::path(
    post,
    path = "/evaluate_query_local",
    operation_id = "evaluate_query_local",
    tag = "Local checks",
    request_body(content = EvaluateLocal, example = json!({
        "query": {
            "predicate": ["allow", ["actor", "action", "repository"]],
            "calls": [],
            "constraints": {
                "actor": {"type": "User", "ids": ["alice"]},
                "action": {"type": "String", "ids": ["read"]},
                "repository": {"type": "Repository", "ids": null},
            },
            "context_facts": [],
        },
        "mode": {"mode": "select", "query_vars_to_output_column_names": {"repository": "id"}},
        "data_bindings": "facts:\n  is_public(Repository:_):\n    query: SELECT id FROM repositories WHERE public\n",
    })),
    responses((status = 200, description = "The statement or the condition", body = Sql)),
)]
async fn evaluate(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<EvaluateLocal>>,
) -> Result<Json<Sql>, ApiError> {
    answer(&environment, asked).await
}
