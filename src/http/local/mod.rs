//! Endpoints that answer with SQL for the caller's own database.
//!
//! Each takes a question as its hosted sibling does, in a field `query`, beside the data bindings that say
//! where the caller's facts are, and what is answered is a text to run there. `/explain_query` takes the
//! body of any of the other four and says how its SQL came about.
//!
//! | endpoint | beside `query` and `data_bindings` | the SQL |
//! |---|---|---|
//! | `/authorize_query` | nothing | one row, a boolean column `allowed` |
//! | `/list_query` | `column` | a condition over the column |
//! | `/actions_query` | nothing | a column `actions` |
//! | `/evaluate_query_local` | `mode` | rows with the columns that the mode names, or a condition |
//!
//! Clients send `null` or an empty text where they were given no bindings. A page's size and token mean
//! nothing to a condition; clients send them all the same, so they are decoded and left alone.

mod explain;
mod mode;

use std::sync::Arc;

use axum::{Router, routing::post};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use self::mode::ModeIn;
use super::{
    AppState,
    auth::ReadAccess,
    checks::{ActionsIn, AuthorizeIn, ListIn},
    error::ApiError,
    json::{Json, Object},
    queries::EvaluateIn,
    values::{FactsIn, facts},
};
use crate::engine::{ActionsQuestion, LocalQuestion, LocalRequest, Value};

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new()
        .route("/authorize_query", post(answer::<AuthorizeLocal>))
        .route("/list_query", post(answer::<ListLocal>))
        .route("/actions_query", post(answer::<ActionsLocal>))
        .route("/evaluate_query_local", post(answer::<EvaluateLocal>))
        .route("/explain_query", post(explain::explain))
}

#[derive(Debug, Deserialize)]
struct AuthorizeLocal {
    query: Object<AuthorizeIn>,
    data_bindings: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ListLocal {
    query: Object<ListIn>,
    column: String,
    data_bindings: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ActionsLocal {
    query: Object<ActionsIn>,
    data_bindings: Option<String>,
}

#[derive(Debug, Deserialize)]
struct EvaluateLocal {
    query: Object<EvaluateIn>,
    mode: Object<ModeIn>,
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

/// The engine's request; bindings that are not there are empty.
fn request(question: LocalQuestion, bindings: Option<String>, context: FactsIn) -> LocalRequest {
    LocalRequest { bindings: bindings.unwrap_or_default(), question, context: facts(context) }
}

#[derive(Debug, Serialize)]
struct Sql {
    sql: String,
}

async fn answer<T: DeserializeOwned + Into<LocalRequest>>(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<T>>,
) -> Result<Json<Sql>, ApiError> {
    Ok(Json(Sql { sql: environment.engine.local(asked.into()).await? }))
}
