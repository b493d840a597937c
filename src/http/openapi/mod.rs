//! `/openapi.json` and `/docs`: the interface as an OpenAPI document and as a web page.
//!
//! In: the routes, which can only be added together with the descriptions of their handlers. Out: an OpenAPI
//! 3.1 document, made once. [`shapes`] has the schemas that cannot be derived, [`frame`] adds what all
//! endpoints share: the key, the headers and the errors. The page is Swagger UI from a crate; its files are
//! embedded in the program, and the page forbids the browser to load anything from elsewhere.

mod frame;
mod page;
mod shapes;

pub(super) use shapes::{
    AnsweredValue, BatchItem, Call, Error, ExplainDecisionRequest, ExplainRequest, ManyActions, Name, Text,
    ValuePattern,
};

use super::AppState;
use super::error::ApiError;
use axum::body::{Body, Bytes};
use axum::http::HeaderValue;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use std::sync::{Arc, LazyLock};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub(super) fn router() -> OpenApiRouter<Arc<AppState>> {
    OpenApiRouter::new().routes(routes!(document)).routes(routes!(page::page)).routes(routes!(page::file))
}

/// The policy of the examples in the document.
pub(super) const EXAMPLE: &str = include_str!("example.polar");

/// The document, which is always the same for one build.
static DOCUMENT: LazyLock<Result<Bytes, String>> = LazyLock::new(|| {
    let described = super::routes().into_openapi();
    frame::complete(&described).map(Bytes::from).map_err(|error| error.to_string())
});

/// Read this document
#[utoipa::path(
    get,
    path = "/openapi.json",
    operation_id = "get_openapi",
    tag = "Service",
    security(()),
    responses((status = 200, description = "The document", body = Object)),
)]
async fn document() -> Result<Response, ApiError> {
    match &*DOCUMENT {
        Ok(text) => Ok(sent(Body::from(text.clone()), "application/json")),
        Err(error) => Err(ApiError::Internal(format!("cannot encode the OpenAPI document: {error}"))),
    }
}

/// A body with its content type.
fn sent(body: Body, content_type: &'static str) -> Response {
    let mut response = Response::new(body);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
