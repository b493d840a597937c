//! Endpoints that answer what an actor may do.
//!
//! All of them ask `allow(actor, action, resource)` with some of the three left open. Context facts come
//! with a request, count for it alone, and are not stored.

use std::sync::Arc;

use axum::{Router, extract::State, routing::post};
use serde::{Deserialize, Serialize};

use super::{
    AppState,
    auth::ReadAccess,
    error::ApiError,
    headers::RequestId,
    json::{Json, Object, Results},
    page::{Bound, Place},
    values::{FactsIn, ValueIn, ValueOut, facts},
};
use crate::engine::{ActionsQuestion, Page, Value};

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new()
        .route("/authorize", post(authorize))
        .route("/authorize_resources", post(authorize_resources))
        .route("/list", post(list))
        .route("/actions", post(actions))
        .route("/bulk_actions", post(bulk_actions))
}

/// One decision.
#[derive(Debug, Deserialize)]
pub(super) struct AuthorizeIn {
    pub(super) actor_type: String,
    pub(super) actor_id: String,
    pub(super) action: String,
    pub(super) resource_type: String,
    pub(super) resource_id: String,
    pub(super) context_facts: FactsIn,
}

#[derive(Debug, Serialize)]
struct Decision {
    allowed: bool,
}

async fn authorize(
    ReadAccess(environment): ReadAccess,
    State(app): State<Arc<AppState>>,
    request: RequestId,
    Json(Object(asked)): Json<Object<AuthorizeIn>>,
) -> Result<Json<Decision>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let resource = Value { ty: asked.resource_type, id: asked.resource_id };
    let context = facts(asked.context_facts);
    let allowed = environment.engine.authorize(actor, asked.action, resource, context).await?;
    app.decisions.keep(&environment.name, &request, allowed);
    Ok(Json(Decision { allowed }))
}

#[derive(Debug, Deserialize)]
struct ResourcesIn {
    actor_type: String,
    actor_id: String,
    action: String,
    resources: Vec<ValueIn>,
    context_facts: FactsIn,
}

async fn authorize_resources(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<ResourcesIn>>,
) -> Result<Json<Results<ValueOut>>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let resources = asked.resources.into_iter().map(Value::from).collect();
    let context = facts(asked.context_facts);
    let allowed = environment.engine.authorize_resources(actor, asked.action, resources, context).await?;
    Ok(Json(Results { results: allowed.into_iter().map(ValueOut::from).collect() }))
}

/// Which resources of a type.
#[derive(Debug, Deserialize)]
pub(super) struct ListIn {
    pub(super) actor_type: String,
    pub(super) actor_id: String,
    pub(super) action: String,
    pub(super) resource_type: String,
    page_size: Option<usize>,
    page_token: Option<String>,
    pub(super) context_facts: FactsIn,
}

/// A list; the token's key is there exactly if pages were asked for, and null on the last page.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ListOut {
    Whole { results: Vec<String> },
    Page { results: Vec<String>, next_page_token: Option<String> },
}

async fn list(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<ListIn>>,
) -> Result<Json<ListOut>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let context = facts(asked.context_facts);
    let bound = Bound {
        environment: &environment.name,
        actor: &actor,
        action: &asked.action,
        resource_type: &asked.resource_type,
        context: &context,
    };
    let secret = environment.engine.secret();
    let place = match (&asked.page_token, asked.page_size) {
        (Some(token), _) => Some(bound.open(secret, token)?),
        (None, Some(size)) => Some(Place::first(size)?),
        (None, None) => None,
    };
    let page = place.as_ref().map(|place| Page { size: place.size, after: place.after.clone() });
    let (question_actor, action, resource_type) =
        (actor.clone(), asked.action.clone(), asked.resource_type.clone());
    let answer =
        environment.engine.list(question_actor, action, resource_type, page, context.clone()).await?;
    let results = answer.ids;
    Ok(Json(match place {
        None => ListOut::Whole { results },
        Some(Place { size, .. }) => {
            let next_page_token = answer.next_after.map(|after| bound.token(secret, size, &after));
            ListOut::Page { results, next_page_token }
        }
    }))
}

/// Which actions on a resource.
#[derive(Debug, Deserialize)]
pub(super) struct ActionsIn {
    actor_type: String,
    actor_id: String,
    resource_type: String,
    resource_id: String,
    pub(super) context_facts: FactsIn,
}

impl ActionsIn {
    /// The question without its context.
    pub(super) fn question(self) -> ActionsQuestion {
        ActionsQuestion {
            actor: Value { ty: self.actor_type, id: self.actor_id },
            resource: Value { ty: self.resource_type, id: self.resource_id },
        }
    }
}

async fn actions(
    ReadAccess(environment): ReadAccess,
    Json(Object(mut asked)): Json<Object<ActionsIn>>,
) -> Result<Json<Results<String>>, ApiError> {
    let context = facts(asked.context_facts.take());
    let ActionsQuestion { actor, resource } = asked.question();
    Ok(Json(Results { results: environment.engine.actions(actor, resource, context).await? }))
}

/// Several questions at once; the context facts of the first count for all, those of the others for none.
async fn bulk_actions(
    ReadAccess(environment): ReadAccess,
    Json(mut asked): Json<Vec<Object<ActionsIn>>>,
) -> Result<Json<Vec<Results<String>>>, ApiError> {
    let context = facts(asked.first_mut().and_then(|Object(first)| first.context_facts.take()));
    let questions = asked.into_iter().map(|Object(asked)| asked.question()).collect();
    let answers = environment.engine.bulk_actions(questions, context).await?;
    Ok(Json(answers.into_iter().map(|results| Results { results }).collect()))
}
