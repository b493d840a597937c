//! Any request: method, path, headers and body, straight into the router.
//!
//! An input is a request as text: `POST /api/list`, lines with headers, an empty line, the body. The key and
//! the type of the body are added unless a header says otherwise. Every answer must be one that the service's
//! own OpenAPI document has for that endpoint, with an id, and every error JSON with a message or a message
//! itself. A single request is never a reason to be busy.

use super::world::{RUNTIME, furnished};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Method, Request, StatusCode, Uri};
use portcullis::config::Config;
use portcullis::http::{AppState, DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY, Environment, OptionalParts};
use serde_json::Value as Json;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use tower::ServiceExt;

/// The statuses that each operation has, by path and method.
type Documented = BTreeMap<String, BTreeMap<Method, Vec<u16>>>;

static DOCUMENTED: LazyLock<Documented> = LazyLock::new(|| RUNTIME.block_on(documented()));

/// An unchanged service, if there is one.
static SERVICE: Mutex<Option<Router>> = Mutex::new(None);

/// Sends a request and holds the answer against the document.
pub fn run(data: &[u8]) {
    let Some(request) = request(data) else { return };
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let documented = &*DOCUMENTED;
    RUNTIME.block_on(async {
        let kept = SERVICE.lock().unwrap_or_else(PoisonError::into_inner).take();
        let service = match kept {
            Some(service) => service,
            None => service().await,
        };
        let (status, is_told) = answer(service.clone(), request).await;
        let place = format!("{method} {path}: {status}");
        assert!(is_told, "{place} without a message");
        assert!(status.as_u16() < 500, "{place}");
        let expected = expected(documented, &method, &path);
        assert!(expected.contains(&status.as_u16()), "{place} is not one of {expected:?}");
        // What was refused has changed nothing.
        if method.is_safe() || !status.is_success() {
            *SERVICE.lock().unwrap_or_else(PoisonError::into_inner) = Some(service);
        }
    });
}

/// The request that a text is, if HTTP has such a request.
fn request(data: &[u8]) -> Option<Request<Body>> {
    let lossy = String::from_utf8_lossy(data);
    let (head, body) = match lossy.split_once("\n\n") {
        // The body as it was sent: it need not be UTF-8.
        Some((head, _)) => {
            let start = data.windows(2).position(|pair| pair == b"\n\n")? + 2;
            (head, data.get(start..)?)
        }
        None => (&*lossy, &[][..]),
    };
    let mut lines = head.lines();
    let (method, path) = lines.next()?.split_once(' ')?;
    let uri: Uri = path.parse().ok().filter(|_| path.starts_with('/'))?;
    let mut request = Request::new(Body::from(body.to_vec()));
    *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        let name = HeaderName::from_bytes(name.as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value.trim())) {
            headers.append(name, value);
        }
    }
    let key = HeaderValue::from_str(&format!("Bearer {DEVELOPMENT_KEY}")).ok()?;
    headers.entry(AUTHORIZATION).or_insert(key);
    headers.entry(CONTENT_TYPE).or_insert(HeaderValue::from_static("application/json"));
    Some(request)
}

async fn service() -> Router {
    let environment = Environment { name: DEFAULT_ENVIRONMENT.to_owned(), engine: furnished().await };
    let config = Config { dev: true, ..Config::default() };
    portcullis::app(Arc::new(AppState::new(config, [environment], OptionalParts::default())))
}

/// The status of an answer, and whether an error says what is wrong.
async fn answer(service: Router, request: Request<Body>) -> (StatusCode, bool) {
    let is_head = request.method() == Method::HEAD;
    let is_page = request.uri().path().starts_with("/api/docs") || request.uri().path() == "/metrics";
    let response = service.oneshot(request).await.expect("a router always answers");
    assert!(response.headers().contains_key("x-request-id"), "an answer without an id");
    let status = response.status();
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
    if is_head || is_page && status.is_success() {
        return (status, true);
    }
    let json: Json = serde_json::from_slice(&body).expect("JSON");
    let message = json.get("message").unwrap_or(&json).as_str();
    (status, status.is_success() || message.is_some_and(|message| !message.is_empty()))
}

/// The statuses that an answer may have.
fn expected(documented: &Documented, method: &Method, path: &str) -> Vec<u16> {
    let file = || path.strip_prefix("/api/docs/").filter(|file| !file.is_empty() && !file.contains('/'));
    let known = documented.get(path).or_else(|| file().and_then(|_| documented.get("/api/docs/{file}")));
    let Some(methods) = known else { return vec![404] };
    let asked = methods.get(method).or_else(|| methods.get(&Method::GET).filter(|_| method == Method::HEAD));
    asked.cloned().unwrap_or_else(|| vec![405])
}

/// What the document of a service says.
async fn documented() -> Documented {
    let request = Request::get("/api/openapi.json").body(Body::empty()).expect("a request");
    let response = service().await.oneshot(request).await.expect("a router always answers");
    let body = to_bytes(response.into_body(), usize::MAX).await.expect("a whole body");
    let document: Json = serde_json::from_slice(&body).expect("JSON");
    let paths = document["paths"].as_object().expect("an object").iter();
    let statuses = |operation: &Json| {
        let named = operation["responses"].as_object().expect("an object").keys();
        named.map(|status| status.parse().expect("a status")).collect::<Vec<u16>>()
    };
    let methods = |item: &Json| {
        let operations = item.as_object().expect("an object").iter();
        let each = operations.filter_map(|(method, operation)| {
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).ok()?;
            Some((method, statuses(operation)))
        });
        each.collect::<BTreeMap<_, _>>()
    };
    paths.map(|(path, item)| (path.clone(), methods(item))).collect()
}
