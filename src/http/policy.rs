//! Endpoints that replace and read the policy.
//!
//! A refused policy leaves the active one as it was. `POST /policy` has its own form of errors, for which
//! even its extractors run inside the handler.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Router,
    extract::{FromRequest, FromRequestParts, Request, State},
    http::{StatusCode, Uri},
    response::{IntoResponse, Response},
    routing::get,
};
use serde::{Deserialize, Serialize};

use super::{
    AppState,
    auth::{ReadAccess, WriteAccess},
    error::{ApiError, PolicyError},
    headers::Offset,
    json::{Json, Message, Object, with_status},
    params::{flag, pairs, version},
};
use crate::engine::{PolicyChange, PolicyOptions};

pub(super) fn router() -> Router<Arc<AppState>> {
    Router::new().route("/policy", get(read).post(replace)).route("/policy_metadata", get(metadata))
}

#[derive(Debug, Deserialize)]
struct PolicyIn {
    src: String,
    filename: Option<String>,
}

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
    // The clients send an empty one; a diagnostic reads better with a name.
    let named = sent.filename.filter(|name| !name.is_empty());
    let filename = named.unwrap_or_else(|| "policy.polar".to_owned());
    let outcome = environment.engine.set_policy(sent.src, filename, options).await?;
    let status = match outcome.change {
        PolicyChange::Updated => StatusCode::OK,
        PolicyChange::Unchanged => StatusCode::ACCEPTED,
    };
    let answer = with_status(status, Message { message: outcome.message });
    Ok((Offset(outcome.offset), answer).into_response())
}

#[derive(Debug, Serialize)]
struct PolicyBody {
    filename: String,
    src: String,
}

#[derive(Debug, Serialize)]
struct PolicyOut {
    policy: Option<PolicyBody>,
}

async fn read(ReadAccess(environment): ReadAccess, uri: Uri) -> Result<Json<PolicyOut>, ApiError> {
    let id = version(&pairs(&uri)?, &["id"])?;
    let found = environment.engine.policy(id).await?;
    let policy = found.map(|policy| PolicyBody { filename: policy.version.filename, src: policy.src });
    Ok(Json(PolicyOut { policy }))
}

/// The name under which the global block stands among the others.
const GLOBAL: &str = "global";

/// What one actor or resource block declares.
#[derive(Debug, Default, Serialize)]
struct BlockOut {
    roles: Vec<String>,
    permissions: Vec<String>,
    relations: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct BlocksOut {
    resources: BTreeMap<String, BlockOut>,
}

#[derive(Debug, Serialize)]
struct MetadataOut {
    metadata: BlocksOut,
}

async fn metadata(ReadAccess(environment): ReadAccess, uri: Uri) -> Result<Json<MetadataOut>, ApiError> {
    let id = version(&pairs(&uri)?, &["id", "version"])?;
    let blocks = environment.engine.metadata(id).await?;
    // The clients read the entry of the global block whether a policy has one or not.
    let mut resources = BTreeMap::from([(GLOBAL.to_owned(), BlockOut::default())]);
    for block in blocks {
        let relations = block.relations.into_iter().collect();
        let found = BlockOut { roles: block.roles, permissions: block.permissions, relations };
        resources.insert(block.name, found);
    }
    Ok(Json(MetadataOut { metadata: BlocksOut { resources } }))
}
