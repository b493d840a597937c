//! `/docs`: the document as an interactive page.
//!
//! Two files of Swagger UI, compressed as in the crate, with our own page and script. The page's content
//! security policy forbids the browser to load from or send to anything but this service, whatever the files
//! do.

use super::{Error, sent};
use crate::http::error::ApiError;
use axum::body::Body;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::http::HeaderValue;
use axum::http::header::{CONTENT_ENCODING, CONTENT_SECURITY_POLICY, X_CONTENT_TYPE_OPTIONS};
use axum::response::Response;
use std::sync::Arc;

/// Paths are relative, so that the page also works behind a proxy that adds a prefix.
const PAGE: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Portcullis API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/swagger-ui.css">
</head>
<body>
<div id="page"></div>
<script src="docs/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"#;

/// The validator is disabled: it would send the document's address to a third party.
const START: &str = r##"SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#page",
  deepLinking: true,
  validatorUrl: null,
  presets: [SwaggerUIBundle.presets.apis],
  layout: "BaseLayout",
});
"##;

/// What the page may load: files of this service, and the styles and images within them.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// Read this document as a page
#[utoipa::path(
    get,
    path = "/docs",
    operation_id = "get_docs",
    tag = "Service",
    security(()),
    responses((status = 200, description = "The page", body = String, content_type = "text/html")),
)]
pub(super) async fn page() -> Response {
    guarded(sent(Body::from(PAGE), "text/html; charset=utf-8"))
}

/// Read a file of that page
#[utoipa::path(
    get,
    path = "/docs/{file}",
    operation_id = "get_docs_file",
    tag = "Service",
    security(()),
    params(("file" = String, Path, description = "Its name")),
    responses(
        (status = 200, description = "The file", content((String = "text/css"), (String = "text/javascript"))),
        (status = 404, description = "No such file", body = Error),
    ),
)]
pub(super) async fn file(name: Result<Path<String>, PathRejection>) -> Result<Response, ApiError> {
    match name.as_ref().map(|Path(name)| name.as_str()) {
        Ok("start.js") => Ok(guarded(sent(Body::from(START), "text/javascript"))),
        Ok(name @ "swagger-ui-bundle.js") => swagger(name, "text/javascript"),
        Ok(name @ "swagger-ui.css") => swagger(name, "text/css"),
        Ok(_) | Err(_) => Err(ApiError::NotFound("no such file".to_owned())),
    }
}

/// A file of Swagger UI.
fn swagger(name: &str, content_type: &'static str) -> Result<Response, ApiError> {
    let config = Arc::new(utoipa_swagger_ui::Config::from("openapi.json"));
    let found = utoipa_swagger_ui::serve(name, config).map_err(|error| error.to_string());
    let found = found.and_then(|found| found.ok_or_else(|| "is not in the crate".to_owned()));
    let file = found.map_err(|error| ApiError::Internal(format!("{name}: {error}")))?;
    let mut response = guarded(sent(Body::from(file.bytes.into_owned()), content_type));
    if file.gzpipped {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}

fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}
