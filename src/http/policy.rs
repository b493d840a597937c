//! Endpoints that replace and read the policy.
//!
//! A refused policy leaves the active one unchanged. `POST /policy` has its own form of errors, so even its
//! extractors run inside the handler.

use super::auth::{ReadAccess, WriteAccess};
use super::error::ApiError;
use super::headers::Offset;
use super::json::{Json, Message, Object, with_status};
use super::openapi::{EXAMPLE, Error, Text};
use super::params::{flag, pairs, version};
use super::policy_error::{PolicyError, PolicyErrorBody};
use super::{AppState, PREFIX};
use crate::engine::{PolicyChange, PolicyOptions};
use axum::extract::{FromRequest, FromRequestParts, Request, State};
use axum::http::{StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(read, replace)).routes(routes!(metadata))
}

/// Refuses a policy that is larger than the service allows.
pub(super) fn check_size(src: &str, app: &AppState) -> Result<(), ApiError> {
    let (n_bytes, limit) = (src.len(), app.config.max_policy);
    if n_bytes > limit {
        let text = format!(
            "the policy has {n_bytes} bytes, more than the limit of {limit}: store what changes often as facts"
        );
        return Err(ApiError::TooLarge(text));
    }
    Ok(())
}

/// Whether this is the path of the policy, where errors have their own form.
pub(super) fn is_at(path: &str) -> bool {
    path.strip_prefix(PREFIX) == Some("/policy")
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PolicyRequest)]
struct PolicyIn {
    /// The complete text of the policy.
    #[schema(value_type = Text)]
    src: String,
    /// The name of its file; `policy.polar` by default.
    filename: Option<String>,
}

/// Replace the policy
///
/// A policy that does not validate, or whose tests fail, is refused, and the active one stays unchanged.
#[utoipa::path(
    post,
    path = "/policy",
    operation_id = "post_policy",
    tag = "Policy",
    extensions(("x-access" = json!("read-write"))),
    params(
        ("force" = Option<bool>, Query, description = "Store a policy whose tests fail"),
        ("fail_fast" = Option<bool>, Query, description = "Stop at the first test that fails"),
        ("show_suggestions" = Option<bool>, Query, description = "Add suggestions to the message"),
    ),
    request_body(content = PolicyIn, example = json!({
        "src": EXAMPLE,
        "filename": "policy.polar",
    })),
    responses(
        (status = 200, description = "The policy is active", body = Message, example = json!({"message": "The policy was updated."})),
        (status = 202, description = "The policy was already active", body = Message, example = json!({"message": "The policy was not updated because it is unchanged."})),
        (status = 400, description = "The policy is refused, or the request is wrong", body = PolicyErrorBody, example = json!({
            "error_type": "Generic", "message": "malformed JSON: EOF while parsing an object at line 1 column 1",
            "code": "invalid_json",
        })),
    ),
)]
async fn replace(State(app): State<Arc<AppState>>, request: Request) -> Result<Response, PolicyError> {
    let (mut head, body) = request.into_parts();
    let WriteAccess(environment) = WriteAccess::from_request_parts(&mut head, &app).await?;
    let pairs = pairs(&head.uri)?;
    let options = PolicyOptions {
        force: flag(&pairs, "force")?,
        fail_fast: flag(&pairs, "fail_fast")?,
        show_suggestions: flag(&pairs, "show_suggestions")?,
    };
    let request = Request::from_parts(head, body);
    let Json(Object(sent)) = Json::<Object<PolicyIn>>::from_request(request, &app).await?;
    check_size(&sent.src, &app)?;
    // Clients send an empty name; diagnostics need one.
    let named = sent.filename.filter(|name| !name.is_empty());
    let filename = named.unwrap_or_else(|| "policy.polar".to_owned());
    let outcome = environment.engine.set_policy(sent.src, filename, options).await?;
    let status = match outcome.change {
        PolicyChange::Updated => StatusCode::OK,
        PolicyChange::Unchanged => StatusCode::ACCEPTED,
    };
    let answer = with_status(status, Message { message: outcome.message });
    Ok((Offset(outcome.mark), answer).into_response())
}

/// The answer to an upload that failed before it was handled.
pub(super) fn refused(error: ApiError) -> Response {
    PolicyError::from(error).into_response()
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Policy)]
struct PolicyBody {
    filename: String,
    src: String,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PolicyResponse)]
struct PolicyOut {
    /// Null before the first policy.
    #[schema(required = true)]
    policy: Option<PolicyBody>,
}

/// Read the active policy, or an older version
#[utoipa::path(
    get,
    path = "/policy",
    operation_id = "get_policy",
    tag = "Policy",
    params(("id" = Option<u64>, Query, description = "The version; by default the active one")),
    responses(
        (status = 200, description = "The policy", body = PolicyOut, example = json!({"policy": {"filename": "policy.polar", "src": EXAMPLE}})),
        (status = 404, description = "No such version", body = Error),
    ),
)]
async fn read(ReadAccess(environment): ReadAccess, uri: Uri) -> Result<Json<PolicyOut>, ApiError> {
    let id = version(&pairs(&uri)?, &["id"])?;
    let found = environment.engine.policy(id).await?;
    let policy = found.map(|policy| PolicyBody { filename: policy.version.filename, src: policy.src });
    Ok(Json(PolicyOut { policy }))
}

/// The name of the global block among the others.
const GLOBAL: &str = "global";

/// What one actor or resource block declares.
#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = ResourceMetadata)]
struct BlockOut {
    roles: Vec<String>,
    permissions: Vec<String>,
    /// The type that each relation leads to, by its name.
    relations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Metadata)]
struct BlocksOut {
    /// By type; `global` is always present.
    resources: BTreeMap<String, BlockOut>,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MetadataResponse)]
struct MetadataOut {
    metadata: BlocksOut,
}

/// Read what the policy declares
#[utoipa::path(
    get,
    path = "/policy_metadata",
    operation_id = "get_policy_metadata",
    tag = "Policy",
    params(
        ("id" = Option<u64>, Query, description = "The version; by default the active one"),
        ("version" = Option<u64>, Query, description = "An alias of `id`, which takes precedence"),
    ),
    responses(
        (status = 200, description = "Roles, permissions and relations", body = MetadataOut, example = json!({"metadata": {"resources": {
            "Organization": {"roles": ["maintainer", "reader"], "permissions": [], "relations": {}},
            "Repository": {"roles": [], "permissions": ["open_issue", "read", "write"], "relations": {"organization": "Organization"}},
            "User": {"roles": [], "permissions": [], "relations": {}},
            "global": {"roles": [], "permissions": [], "relations": {}},
        }}})),
        (status = 404, description = "No policy yet, or no such version", body = Error),
    ),
)]
async fn metadata(ReadAccess(environment): ReadAccess, uri: Uri) -> Result<Json<MetadataOut>, ApiError> {
    let id = version(&pairs(&uri)?, &["id", "version"])?;
    let blocks = environment.engine.metadata(id).await?;
    // Clients read the entry of the global block even if the policy has none.
    let mut resources = BTreeMap::from([(GLOBAL.to_owned(), BlockOut::default())]);
    for block in blocks {
        let relations = block.relations.into_iter().collect();
        let found = BlockOut { roles: block.roles, permissions: block.permissions, relations };
        resources.insert(block.name, found);
    }
    Ok(Json(MetadataOut { metadata: BlocksOut { resources } }))
}
