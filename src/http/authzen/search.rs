//! Searches: subjects, resources or actions for which an evaluation is permitted.
//!
//! A search is complete or refused, with the rule that cannot be enumerated. Subjects and resources come in
//! pages if a limit is given.

use super::TAG;
use super::input::{ActionIn, EntitiesIn, EntityIn, PageIn, Properties, Taken};
use crate::engine::{Engine, Page, SubjectsQuestion, Value};
use crate::http::auth::QuestionAccess;
use crate::http::error::ApiError;
use crate::http::json::{Json, Object};
use crate::http::page::{Bound, PagePosition, bad_token};
use crate::http::subjects;
use crate::http::values::ValueOut;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use utoipa::ToSchema;

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenSubjectSearch)]
pub(super) struct SubjectSearchIn {
    #[schema(value_type = EntitiesIn)]
    subject: Object<EntitiesIn>,
    #[schema(value_type = ActionIn)]
    action: Object<ActionIn>,
    #[schema(value_type = EntityIn)]
    resource: Object<EntityIn>,
    /// What the policy reads of it is facts of this request; the rest is ignored.
    #[schema(value_type = Option<Object>)]
    context: Properties,
    #[schema(value_type = Option<PageIn>)]
    page: Option<Object<PageIn>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenResourceSearch)]
pub(super) struct ResourceSearchIn {
    #[schema(value_type = EntityIn)]
    subject: Object<EntityIn>,
    #[schema(value_type = ActionIn)]
    action: Object<ActionIn>,
    #[schema(value_type = EntitiesIn)]
    resource: Object<EntitiesIn>,
    /// What the policy reads of it is facts of this request; the rest is ignored.
    #[schema(value_type = Option<Object>)]
    context: Properties,
    #[schema(value_type = Option<PageIn>)]
    page: Option<Object<PageIn>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = AuthzenActionSearch)]
pub(super) struct ActionSearchIn {
    #[schema(value_type = EntityIn)]
    subject: Object<EntityIn>,
    #[schema(value_type = EntityIn)]
    resource: Object<EntityIn>,
    /// What the policy reads of it is facts of this request; the rest is ignored.
    #[schema(value_type = Option<Object>)]
    context: Properties,
    /// There are no pages: all actions are on the first.
    #[schema(value_type = Option<PageIn>)]
    page: Option<Object<PageIn>>,
}

/// The results of a search.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenResults)]
pub(super) struct ResultsOut<T> {
    results: Vec<T>,
    page: PageOut,
}

/// Where the results continue.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenPage)]
struct PageOut {
    /// Empty on the last page.
    next_token: String,
    /// How many results this page has.
    #[schema(value_type = u64)]
    count: usize,
}

/// An action of the policy.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AuthzenFoundAction)]
pub(super) struct ActionOut {
    name: String,
}

impl<T> ResultsOut<T> {
    fn new(results: Vec<T>, next_token: Option<String>) -> Self {
        let page = PageOut { next_token: next_token.unwrap_or_default(), count: results.len() };
        Self { results, page }
    }
}

/// Search for the subjects of a type that may do this to a resource
///
/// The id `*` stands for every subject of the type.
#[utoipa::path(
    post,
    path = "/access/v1/search/subject",
    operation_id = "authzen_search_subject",
    tag = TAG,
    request_body(content = SubjectSearchIn, example = json!({
        "subject": {"type": "User"}, "action": {"name": "read"},
        "resource": {"type": "Repository", "id": "site"}, "page": {"limit": 100},
    })),
    responses((status = 200, description = "The subjects", body = ResultsOut<ValueOut>, example = json!({
        "results": [{"type": "User", "id": "alice"}], "page": {"next_token": "", "count": 1},
    }))),
)]
pub(super) async fn subjects(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<SubjectSearchIn>>,
) -> Result<Json<ResultsOut<ValueOut>>, ApiError> {
    let mut taken = Taken::default();
    let (ty, action) = (taken.subject_type(asked.subject), taken.action(asked.action));
    let resource = taken.resource(asked.resource);
    taken.context(asked.context);
    let attributes = taken.written();
    let question = [SUBJECTS, &ty, &action, &resource.ty, &resource.id, &attributes];
    let bound = Bound { environment: access.environment(), question: &question, context: &[] };
    let secret = access.secret();
    let place = position(&bound, secret, asked.page)?;
    let page = place.as_ref().map(subjects::page).transpose()?;
    let types = Some(BTreeSet::from([ty.clone()]));
    let question = SubjectsQuestion { action: action.clone(), resource: resource.clone(), types };
    let list = async |engine: &Engine| {
        engine.with_attributes(taken.attributes).list_subjects(question, page, Vec::new()).await
    };
    let list = access.ask(list).await?;
    let results = list.subjects.into_iter().map(subjects::shown).collect();
    let after = list.next_after.map(|after| subjects::written(&after));
    Ok(Json(ResultsOut::new(results, token(&bound, secret, place, after))))
}

/// Search for the resources of a type to which a subject may do this
///
/// The id `*` stands for every resource of the type.
#[utoipa::path(
    post,
    path = "/access/v1/search/resource",
    operation_id = "authzen_search_resource",
    tag = TAG,
    request_body(content = ResourceSearchIn, example = json!({
        "subject": {"type": "User", "id": "alice"}, "action": {"name": "read"},
        "resource": {"type": "Repository"}, "page": {"limit": 100},
    })),
    responses((status = 200, description = "The resources", body = ResultsOut<ValueOut>, example = json!({
        "results": [{"type": "Repository", "id": "docs"}, {"type": "Repository", "id": "site"}],
        "page": {"next_token": "", "count": 2},
    }))),
)]
pub(super) async fn resources(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<ResourceSearchIn>>,
) -> Result<Json<ResultsOut<ValueOut>>, ApiError> {
    let mut taken = Taken::default();
    let (subject, action) = (taken.subject(asked.subject), taken.action(asked.action));
    let ty = taken.resource_type(asked.resource);
    taken.context(asked.context);
    let attributes = taken.written();
    let question = [RESOURCES, &subject.ty, &subject.id, &action, &ty, &attributes];
    let bound = Bound { environment: access.environment(), question: &question, context: &[] };
    let secret = access.secret();
    let place = position(&bound, secret, asked.page)?;
    let page = place.as_ref().map(|place| Page { size: place.size, after: place.after.clone() });
    let list = async |engine: &Engine| {
        let engine = engine.with_attributes(taken.attributes);
        engine.list(subject.clone(), action.clone(), ty.clone(), page, Vec::new()).await
    };
    let list = access.ask(list).await?;
    let results = list.ids.into_iter().map(|id| ValueOut::from(Value { ty: ty.clone(), id })).collect();
    Ok(Json(ResultsOut::new(results, token(&bound, secret, place, list.next_after))))
}

/// Search for the actions that a subject may do to a resource
///
/// The name `*` stands for every action.
#[utoipa::path(
    post,
    path = "/access/v1/search/action",
    operation_id = "authzen_search_action",
    tag = TAG,
    request_body(content = ActionSearchIn, example = json!({
        "subject": {"type": "User", "id": "alice"}, "resource": {"type": "Repository", "id": "docs"},
    })),
    responses((status = 200, description = "The actions", body = ResultsOut<ActionOut>, example = json!({
        "results": [{"name": "open_issue"}, {"name": "read"}], "page": {"next_token": "", "count": 2},
    }))),
)]
pub(super) async fn actions(
    access: QuestionAccess,
    Json(Object(asked)): Json<Object<ActionSearchIn>>,
) -> Result<Json<ResultsOut<ActionOut>>, ApiError> {
    let mut taken = Taken::default();
    let (subject, resource) = (taken.subject(asked.subject), taken.resource(asked.resource));
    taken.context(asked.context);
    if let Some(Object(page)) = asked.page {
        page.size()?;
        if page.token.is_some_and(|token| !token.is_empty()) {
            return Err(bad_token());
        }
    }
    let actions = async |engine: &Engine| {
        engine.with_attributes(taken.attributes).actions(subject, resource, Vec::new()).await
    };
    let actions = access.ask(actions).await?;
    Ok(Json(ResultsOut::new(actions.into_iter().map(|name| ActionOut { name }).collect(), None)))
}

/// What keeps the tokens of the two searches apart, and from those of `/list`: no type has a NUL.
const SUBJECTS: &str = "\0search/subject";
const RESOURCES: &str = "\0search/resource";

/// Where the requested page starts; `None` for the whole list.
fn position(
    bound: &Bound<'_>,
    secret: &[u8; 32],
    page: Option<Object<PageIn>>,
) -> Result<Option<PagePosition>, ApiError> {
    let page = page.map_or_else(PageIn::default, |Object(page)| page);
    bound.position(secret, page.token.as_deref(), page.size()?, 1)
}

/// The token of the page after `after`.
fn token(
    bound: &Bound<'_>,
    secret: &[u8; 32],
    place: Option<PagePosition>,
    after: Option<String>,
) -> Option<String> {
    Some(bound.token(secret, place?.size, &after?))
}
