//! Endpoints for checks: what an actor may do.
//!
//! All of them ask `allow(actor, action, resource)` with some of the three left open. Context facts come with
//! a request, apply only to it, and are not stored.

use super::AppState;
use super::auth::QuestionAccess;
use super::decision_log::{Decided, Outcome, Witness};
use super::error::ApiError;
use super::headers::RequestId;
use super::json::{Json, Object, Results};
use super::openapi::{ManyActions, Name, Text};
use super::page::{Bound, MIN_PAGE, PagePosition};
use super::values::{FactIn, FactsIn, ValueIn, ValueOut, facts};
use crate::engine::{ActionsQuestion, Decision, Engine, Page, Value};
use axum::extract::State;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new()
        .routes(routes!(authorize))
        .routes(routes!(authorize_resources))
        .routes(routes!(list))
        .routes(routes!(actions))
        .routes(routes!(bulk_actions))
}

/// One decision.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthorizeRequest)]
pub(super) struct AuthorizeIn {
    #[schema(value_type = Name)]
    pub(super) actor_type: String,
    #[schema(value_type = Name)]
    pub(super) actor_id: String,
    #[schema(value_type = Text)]
    pub(super) action: String,
    #[schema(value_type = Name)]
    pub(super) resource_type: String,
    #[schema(value_type = Name)]
    pub(super) resource_id: String,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    pub(super) context_facts: FactsIn,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Decision)]
struct DecisionOut {
    allowed: bool,
}

/// Decide whether an actor may do this to a resource
#[utoipa::path(
    post,
    path = "/authorize",
    operation_id = "authorize",
    tag = "Checks",
    request_body(content = AuthorizeIn, example = json!({
        "actor_type": "User", "actor_id": "alice", "action": "read",
        "resource_type": "Repository", "resource_id": "docs",
    })),
    responses((status = 200, description = "The decision", body = DecisionOut, example = json!({"allowed": true}))),
)]
async fn authorize(
    access: QuestionAccess,
    State(app): State<Arc<AppState>>,
    request: RequestId,
    witness: Witness,
    Json(Object(asked)): Json<Object<AuthorizeIn>>,
) -> Result<Json<DecisionOut>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let resource = Value { ty: asked.resource_type, id: asked.resource_id };
    let context = facts(asked.context_facts);
    let decide = async |engine: &Engine| engine.decide(&actor, &asked.action, &resource, &context).await;
    let decision = access.ask(decide).await?;
    let allowed = decision.answer;
    app.decisions.keep(access.opened(), &request, allowed);
    witness.note(Decided {
        environment: access.opened(),
        actor: &actor,
        action: &asked.action,
        resource: &resource,
        outcome: (&decision).into(),
        context: &context,
    });
    Ok(Json(DecisionOut { allowed }))
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthorizeResourcesRequest)]
struct ResourcesIn {
    #[schema(value_type = Name)]
    actor_type: String,
    #[schema(value_type = Name)]
    actor_id: String,
    #[schema(value_type = Text)]
    action: String,
    #[schema(value_type = Vec<ValueOut>)]
    resources: Vec<ValueIn>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

/// Keep the resources to which an actor may do this
///
/// Keeps their order and their duplicates.
#[utoipa::path(
    post,
    path = "/authorize_resources",
    operation_id = "authorize_resources",
    tag = "Checks",
    request_body(content = ResourcesIn, example = json!({
        "actor_type": "User", "actor_id": "alice", "action": "read",
        "resources": [{"type": "Repository", "id": "docs"}, {"type": "Repository", "id": "secret"}],
    })),
    responses((status = 200, description = "The allowed resources", body = Results<ValueOut>, example = json!({
        "results": [{"type": "Repository", "id": "docs"}],
    }))),
)]
async fn authorize_resources(
    access: QuestionAccess,
    witness: Witness,
    Json(Object(asked)): Json<Object<ResourcesIn>>,
) -> Result<Json<Results<ValueOut>>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let resources: Vec<Value> = asked.resources.into_iter().map(Value::from).collect();
    let context = facts(asked.context_facts);
    let noted = if witness.is_watching() { resources.clone() } else { Vec::new() };
    let decide = async |engine: &Engine| engine.decide_each(&actor, &asked.action, resources, &context).await;
    let decision = access.ask(decide).await?;
    let Decision { answer: allowed, policy, offset, .. } = decision;
    // INVARIANT: what is allowed keeps the order and the duplicates of what was asked.
    let mut rest = allowed.iter().peekable();
    for resource in &noted {
        let outcome = Outcome::Answer { allowed: rest.next_if_eq(&resource).is_some(), policy, offset };
        let (environment, actor, action) = (access.opened(), &actor, asked.action.as_str());
        let context = context.as_slice();
        witness.note(Decided { environment, actor, action, resource, outcome, context });
    }
    Ok(Json(Results { results: allowed.into_iter().map(ValueOut::from).collect() }))
}

/// A list of resources of a type.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ListRequest)]
struct ListIn {
    #[schema(value_type = Name)]
    actor_type: String,
    #[schema(value_type = Name)]
    actor_id: String,
    #[schema(value_type = Text)]
    action: String,
    #[schema(value_type = Name)]
    resource_type: String,
    /// The maximum number of ids in a page; without it the complete list is answered at once. A page never
    /// has more than 1,000,000 ids.
    #[schema(value_type = Option<u64>, minimum = 10_000)]
    page_size: Option<usize>,
    /// The `next_page_token` of the previous page, which also determines the page size; empty or null for
    /// none.
    page_token: Option<String>,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
    context_facts: FactsIn,
}

/// A list. The key of the token is present exactly if pages were requested, and null on the last page.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListResponse)]
#[serde(untagged)]
enum ListOut {
    /// All ids
    Whole { results: Vec<String> },
    /// A page
    Page {
        results: Vec<String>,
        #[schema(required = true)]
        next_page_token: Option<String>,
    },
}

/// List the resources of a type to which an actor may do this
///
/// The ids are in a fixed order, numbers first. `*` stands for every id; concrete ids may accompany it.
#[utoipa::path(
    post,
    path = "/list",
    operation_id = "list",
    tag = "Checks",
    request_body(content = ListIn, example = json!({
        "actor_type": "User", "actor_id": "alice", "action": "read", "resource_type": "Repository",
        "page_size": 10_000,
    })),
    responses((status = 200, description = "The ids", body = ListOut, example = json!({
        "results": ["docs", "site"], "next_page_token": null,
    }))),
)]
async fn list(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<ListIn>>,
) -> Result<Json<ListOut>, ApiError> {
    let actor = Value { ty: asked.actor_type, id: asked.actor_id };
    let context = facts(asked.context_facts);
    let question = [&*actor.ty, &*actor.id, &*asked.action, &*asked.resource_type];
    let bound = Bound { environment: access.environment(), question: &question, context: &context };
    let secret = access.secret();
    let place = bound.position(secret, asked.page_token.as_deref(), asked.page_size, MIN_PAGE)?;
    let page = place.as_ref().map(|place| Page { size: place.size, after: place.after.clone() });
    let (question_actor, action, resource_type) =
        (actor.clone(), asked.action.clone(), asked.resource_type.clone());
    let list = async |engine: &Engine| {
        engine.list(question_actor, action, resource_type, page, context.clone()).await
    };
    let answer = access.ask(list).await?;
    let results = answer.ids;
    Ok(Json(match place {
        None => ListOut::Whole { results },
        Some(PagePosition { size, .. }) => {
            let next_page_token = answer.next_after.map(|after| bound.token(secret, size, &after));
            ListOut::Page { results, next_page_token }
        }
    }))
}

/// The actions on a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ActionsRequest)]
pub(super) struct ActionsIn {
    #[schema(value_type = Name)]
    actor_type: String,
    #[schema(value_type = Name)]
    actor_id: String,
    #[schema(value_type = Name)]
    resource_type: String,
    #[schema(value_type = Name)]
    resource_id: String,
    /// Facts that count for this request alone.
    #[schema(value_type = Option<Vec<FactIn>>)]
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

/// List what an actor may do to a resource
///
/// The actions are sorted. `*` stands for every action; other actions may accompany it.
#[utoipa::path(
    post,
    path = "/actions",
    operation_id = "actions",
    tag = "Checks",
    request_body(content = ActionsIn, example = json!({
        "actor_type": "User", "actor_id": "alice", "resource_type": "Repository", "resource_id": "docs",
    })),
    responses((status = 200, description = "The actions", body = Results<String>, example = json!({"results": ["open_issue", "read"]}))),
)]
async fn actions(
    access: QuestionAccess,
    Json(Object(mut asked)): Json<Object<ActionsIn>>,
) -> Result<Json<Results<String>>, ApiError> {
    let context = facts(asked.context_facts.take());
    let ActionsQuestion { actor, resource } = asked.question();
    let actions = async |engine: &Engine| engine.actions(actor, resource, context).await;
    Ok(Json(Results { results: access.ask(actions).await? }))
}

/// List what actors may do to resources, several questions at once
///
/// The context facts of the first question apply to all; those of the others are ignored.
#[utoipa::path(
    post,
    path = "/bulk_actions",
    operation_id = "bulk_actions",
    tag = "Checks",
    request_body(content = Vec<ActionsIn>, example = json!([
        {"actor_type": "User", "actor_id": "alice", "resource_type": "Repository", "resource_id": "docs"},
        {"actor_type": "User", "actor_id": "bob", "resource_type": "Repository", "resource_id": "site"},
    ])),
    responses((status = 200, description = "The actions, in the order of the questions", body = ManyActions, example = json!([
        {"results": ["open_issue", "read"]}, {"results": []},
    ]))),
)]
async fn bulk_actions(
    access: QuestionAccess,
    Json(mut asked): Json<Vec<Object<ActionsIn>>>,
) -> Result<Json<Vec<Results<String>>>, ApiError> {
    let context = facts(asked.first_mut().and_then(|Object(first)| first.context_facts.take()));
    let questions = asked.into_iter().map(|Object(asked)| asked.question()).collect();
    let answers = access.ask(async |engine: &Engine| engine.bulk_actions(questions, context).await).await?;
    Ok(Json(answers.into_iter().map(|results| Results { results }).collect()))
}
