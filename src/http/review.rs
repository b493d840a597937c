//! `/review`: what there is to review about an actor or a resource.
//!
//! The answer is short: types and actions. Each is a list that `/list` or `/list_subjects` answers in pages,
//! so a review of any size needs no more memory than a page, neither here nor at the client. The offset lets
//! the client see afterwards whether all of it is of one state of the store. The client sends it back as a
//! header with its lists: then no replica answers them from an older state.

use super::AppState;
use super::auth::ReadAccess;
use super::code::ErrorCode;
use super::error::ApiError;
use super::headers::Offset;
use super::json::{Json, Object};
use super::openapi::Name;
use crate::engine::{Review, ReviewQuestion, Reviewed, ReviewedType, Value};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(review))
}

/// An actor or a resource.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ReviewRequest)]
struct ReviewIn {
    /// The actor; not together with a resource.
    #[schema(value_type = Option<Name>)]
    actor_type: Option<String>,
    #[schema(value_type = Option<Name>)]
    actor_id: Option<String>,
    /// The resource; not together with an actor.
    #[schema(value_type = Option<Name>)]
    resource_type: Option<String>,
    #[schema(value_type = Option<Name>)]
    resource_id: Option<String>,
    /// Only these types of the other side, `*` for those that the policy does not name; without them, or
    /// null, all.
    #[schema(value_type = Option<Vec<Name>>, min_items = 1, max_items = 100)]
    types: Option<BTreeSet<String>>,
}

/// What there is to review.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewResponse)]
pub struct ReviewOut {
    /// The policy's version; null before the first one.
    pub policy_version: Option<u64>,
    /// The offset of the store: the answer saw all writes up to it. If it is still the same after everything
    /// was listed, nothing has changed in between.
    pub offset: u64,
    /// What each type of the other side has part in.
    pub types: Vec<ReviewedTypeOut>,
    /// Types of the question that the policy does not name.
    pub unknown_types: Vec<String>,
}

/// The actions that are allowed with one type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewedType)]
pub struct ReviewedTypeOut {
    /// The type; `*` for every type that the policy does not name, null for what needs no resource.
    #[serde(rename = "type")]
    pub ty: Option<String>,
    /// The actions, `*` for every action. List each to see with which resources, or by which actors.
    pub actions: Vec<String>,
    /// Why there may be other actions; null if these are all.
    pub refused: Option<ReviewRefusedOut>,
}

/// Why something cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = ReviewRefused)]
pub struct ReviewRefusedOut {
    /// What is wrong, and what to do.
    pub message: String,
    /// The kind of error.
    #[schema(value_type = ErrorCode)]
    pub code: String,
}

/// List what there is to review about an actor or a resource
///
/// Of an actor: the actions that it may do to some resource of each type. Of a resource: the actions that
/// some actor of each type may do to it. Ask `/list` or `/list_subjects` for each of them. If the actions of
/// a type cannot be listed, they are those that the policy declares, with the reason.
#[utoipa::path(
    post,
    path = "/review",
    operation_id = "review",
    tag = "Checks",
    request_body(content = ReviewIn, example = json!({
        "actor_type": "User", "actor_id": "alice", "types": ["Repository"],
    })),
    responses((status = 200, description = "The types and actions", body = ReviewOut, example = json!({
        "policy_version": 1, "offset": 4, "unknown_types": [], "types": [
            {"type": "Repository", "actions": ["open_issue", "read"], "refused": null},
        ],
    }))),
)]
async fn review(
    ReadAccess(environment): ReadAccess,
    Json(Object(asked)): Json<Object<ReviewIn>>,
) -> Result<(Offset, Json<ReviewOut>), ApiError> {
    let ReviewIn { actor_type, actor_id, resource_type, resource_id, types } = asked;
    let about = match (actor_type, actor_id, resource_type, resource_id) {
        (Some(ty), Some(id), None, None) => Reviewed::Actor(Value { ty, id }),
        (None, None, Some(ty), Some(id)) => Reviewed::Resource(Value { ty, id }),
        (_, _, _, _) => {
            return Err(ApiError::BadRequest(
                "give `actor_type` and `actor_id`, or `resource_type` and `resource_id`".to_owned(),
            ));
        }
    };
    let found = environment.engine.review(ReviewQuestion { about, types }).await?;
    Ok((Offset(found.mark), Json(found.into())))
}

impl From<Review> for ReviewOut {
    fn from(Review { types, unknown_types, version, mark }: Review) -> Self {
        let types = types.into_iter().map(ReviewedTypeOut::from).collect();
        Self { policy_version: version, offset: mark.offset, types, unknown_types }
    }
}

impl From<ReviewedType> for ReviewedTypeOut {
    /// Types with nothing are in the answer, too: it says that they were asked about.
    fn from(ReviewedType { ty, actions, refused }: ReviewedType) -> Self {
        let refused = refused.map(|error| ReviewRefusedOut {
            message: error.to_string(),
            code: ErrorCode::from(error).as_str().to_owned(),
        });
        Self { ty, actions, refused }
    }
}
