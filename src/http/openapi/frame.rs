//! Completes the OpenAPI document with what all endpoints share.
//!
//! In: the descriptions of the handlers. A handler describes what is specific to it: its body, its successful
//! answers, that it needs no key (`security`), that it changes something (`x-access`), what replaces it
//! (`x-replacement`). Out: the text of the document. Afterwards every operation has the headers and errors of
//! its kind, operations with a replacement are deprecated, and schemas that only answers use allow no unknown
//! fields.

use crate::http::authzen;
use crate::http::code::ErrorCode;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use utoipa::openapi::OpenApi;

/// An error that several endpoints have: its status, name, cause and an example.
type ErrorExample = (&'static str, &'static str, &'static str, Example);

/// The code and the message of an error.
type Example = (ErrorCode, &'static str);

/// Errors of every request that needs a key.
const WITH_KEY: &[ErrorExample] = &[
    (
        "400",
        "BadRequest",
        "The body, a parameter or a value is wrong, or the question cannot be answered within its limits",
        (ErrorCode::InvalidRequest, "missing field `action` at line 1 column 40"),
    ),
    (
        "401",
        "Unauthorized",
        "The key is missing, unknown or revoked",
        (ErrorCode::Unauthorized, "the API key is unknown or was revoked: send another one"),
    ),
    (
        "409",
        "Conflict",
        "A write that the header `OsoOffset` names was lost",
        (
            ErrorCode::LostWrite,
            "revision 7 was lost when another server took over or a backup was restored: check what it wrote, and write it again",
        ),
    ),
    (
        "429",
        "TooManyRequests",
        "The key is over its rate",
        (
            ErrorCode::RateLimited,
            "this key is over its rate limit of 50 requests per second: wait as long as `Retry-After` says, and try again",
        ),
    ),
];

/// Errors of every request that changes something.
const WITH_CHANGE: &[ErrorExample] = &[(
    "403",
    "Forbidden",
    "The key is read-only",
    (ErrorCode::ReadOnlyKey, "this API key is read-only: send a read-write key"),
)];

/// Errors of every request with a body.
const WITH_BODY: &[ErrorExample] = &[
    (
        "408",
        "RequestTimeout",
        "The body did not arrive in time",
        (ErrorCode::SlowBody, "the body did not arrive within 30 s: send it again"),
    ),
    (
        "413",
        "ContentTooLarge",
        "The body, a batch or the context facts are over their limit",
        (
            ErrorCode::LimitExceeded,
            "the body is larger than the limit of 10485760 bytes: send less at once, or raise `max_body`",
        ),
    ),
    (
        "415",
        "UnsupportedMediaType",
        "The body is not sent as `application/json`",
        (ErrorCode::UnsupportedMediaType, "the body must be sent as `Content-Type: application/json`"),
    ),
];

/// Errors of every request.
const ALWAYS: &[ErrorExample] = &[
    (
        "500",
        "InternalError",
        "A fault of the service, logged under the request's id",
        (
            ErrorCode::InternalError,
            "internal error; the service's log has the details under this request's id",
        ),
    ),
    (
        "503",
        "Unavailable",
        "The service cannot answer at the moment",
        (
            ErrorCode::Unavailable,
            "the service is not available at the moment: wait as long as `Retry-After` says, and try again",
        ),
    ),
];

/// Errors of requests that match no operation.
const ELSEWHERE: &[ErrorExample] = &[
    (
        "404",
        "NotFound",
        "There is no such path",
        (
            ErrorCode::NotFound,
            "there is no such path: `/api/docs` describes all, `/api/openapi.json` is for programs",
        ),
    ),
    (
        "405",
        "MethodNotAllowed",
        "The path has no such method",
        (ErrorCode::MethodNotAllowed, "this path has no such method: see the header `Allow`"),
    ),
];

const ABOUT: &str = "Portcullis compiles an authorization policy to SQL and answers with it: on its own store of \
facts, or as SQL for the caller's own database.\n\nEvery error is a JSON object with a `message` for people and a `code` for programs, but the AuthZEN endpoints \
return the message alone, as a JSON string. An unknown path returns 404, and a method that a path does not support 405. \
Unknown fields and parameters are ignored, except in the values of a pattern to delete. Every answer carries `X-Request-ID` and `Server-Timing`.";

/// The finished document as text.
pub(super) fn complete(described: &OpenApi) -> serde_json::Result<Vec<u8>> {
    let mut document = serde_json::to_value(described)?;
    if let Some(paths) = document.get_mut("paths").and_then(Value::as_object_mut) {
        let operations = paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut);
        operations.filter_map(Value::as_object_mut).for_each(frame);
    }
    if let Some(schemas) = document.pointer("/components/schemas").and_then(Value::as_object) {
        let closed = closed(&document, schemas);
        if let Some(place) = document.pointer_mut("/components/schemas") {
            *place = closed;
        }
    }
    if let Some(fields) = document.as_object_mut() {
        fields.insert(
            "info".into(),
            json!({
                "title": "Portcullis",
                "version": env!("CARGO_PKG_VERSION"),
                "description": ABOUT,
                "license": { "name": env!("CARGO_PKG_LICENSE"), "identifier": env!("CARGO_PKG_LICENSE") },
            }),
        );
        fields.insert("servers".into(), json!([{ "url": "/", "description": "This service" }]));
        fields.insert("security".into(), json!([{ "key": [] }]));
        fields.insert("tags".into(), tags());
        if let Some(components) = fields.get_mut("components").and_then(Value::as_object_mut) {
            components.extend(shared());
        }
    }
    serde_json::to_vec(&document)
}

fn tags() -> Value {
    json!([
        { "name": "Checks", "description": "What an actor may do" },
        { "name": "Facts", "description": "What is stored" },
        { "name": "Policy", "description": "The rules" },
        { "name": "Queries", "description": "Any predicate of the policy" },
        { "name": "Local checks", "description": "SQL for the caller's own database" },
        { "name": authzen::TAG, "description": "The OpenID AuthZEN Authorization API 1.0: properties and context that the policy reads are facts of the request" },
        { "name": "Service", "description": "Health and statistics" },
    ])
}

/// Completes an operation.
fn frame(operation: &mut Map<String, Value>) {
    let public = operation.contains_key("security");
    let changes = operation.get("x-access").is_some();
    let body = operation.contains_key("requestBody");
    // The client asks for the lists of a review with its offset.
    let answers_offset = operation.get("operationId") == Some(&json!("review"));
    let as_text = !public && operation.get("tags") == Some(&json!([authzen::TAG]));
    if public {
        operation.insert("security".into(), json!([]));
    } else if !changes {
        operation.insert("x-access".into(), json!("read-only"));
    }
    if let Some(replacement) = operation.get("x-replacement").and_then(Value::as_str) {
        let hint = format!("Deprecated: use {replacement}.");
        let before = operation.get("description").and_then(Value::as_str);
        let description = before.map_or(hint.clone(), |before| format!("{before}\n\n{hint}"));
        operation.insert("description".into(), description.into());
        operation.insert("deprecated".into(), true.into());
    }

    let kinds = [(!public, WITH_KEY), (changes, WITH_CHANGE), (body, WITH_BODY), (true, ALWAYS)];
    let failures = kinds.iter().filter(|(has, _)| *has).flat_map(|(_, failures)| *failures);
    if let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) {
        for (status, response) in responses.iter_mut() {
            let written = (changes || answers_offset) && status.starts_with('2');
            if let Some(response) = response.as_object_mut() {
                response.insert("headers".into(), headers(if written { &["OsoOffset"] } else { &[] }));
            }
        }
        let failures = failures.filter(|failure| !as_text || is_of_authzen(failure));
        for (status, name, ..) in failures {
            let kind = if as_text { "Authzen" } else { "" };
            let common = json!({ "$ref": format!("#/components/responses/{kind}{name}") });
            responses.entry(*status).or_insert(common);
        }
    }
    let shared: &[&str] =
        if changes { &["RequestId", "ApiVersion"] } else { &["RequestId", "ApiVersion", "Offset"] };
    if !public
        && let Some(parameters) = operation.entry("parameters").or_insert_with(|| json!([])).as_array_mut()
    {
        parameters
            .extend(shared.iter().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })));
    }
}

/// The headers of every answer, plus these.
fn headers(others: &[&str]) -> Value {
    let names = ["X-Request-ID", "Server-Timing"].iter().chain(others);
    names
        .map(|name| ((*name).to_owned(), json!({ "$ref": format!("#/components/headers/{name}") })))
        .collect()
}

/// The shared components.
fn shared() -> Map<String, Value> {
    let text = json!({ "type": "string" });
    let header = |name: &str, description: &str| json!({ "name": name, "in": "header", "required": false, "description": description, "schema": text });
    let failures = [WITH_KEY, WITH_CHANGE, WITH_BODY, ALWAYS, ELSEWHERE];
    let responses: Map<String, Value> =
        failures.into_iter().flatten().map(|failure| (failure.1.to_owned(), response(failure))).collect();
    let of_authzen =
        [WITH_KEY, WITH_BODY, ALWAYS].into_iter().flatten().filter(|failure| is_of_authzen(failure));
    let of_authzen = of_authzen.map(|failure| (format!("Authzen{}", failure.1), text_response(failure)));
    let responses: Map<String, Value> = responses.into_iter().chain(of_authzen).collect();
    let all = json!({
        "securitySchemes": { "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key, `e_<environment>_<key id>_<secret>`. Keys are read-write or read-only.",
        } },
        "parameters": {
            "RequestId": header("X-Request-ID", "The id of the request in the log; it is echoed if it has at most 128 visible ASCII characters, and replaced otherwise"),
            "ApiVersion": header("X-OsoApiVersion", "The version that the client was made for; ignored"),
            "Offset": header("OsoOffset", "The offset of an earlier write that a read must see. Without replicas, every read sees all acknowledged writes anyway; if this one was lost, the read is answered 409"),
        },
        "headers": {
            "X-Request-ID": { "required": true, "description": "The id under which the request is logged", "schema": { "type": "string", "pattern": "^[!-~]{1,128}$" } },
            "Server-Timing": { "required": true, "description": "How long it took in milliseconds", "schema": { "type": "string", "pattern": r"^oso;dur=[0-9]+\.[0-9]{3}$" } },
            "OsoOffset": { "required": true, "description": "The offset of this change; opaque", "schema": { "type": "string" } },
            "Retry-After": { "required": false, "description": "After how many seconds to try again; missing if the error stays until the service is started again", "schema": { "type": "integer", "minimum": 1 } },
            "WWW-Authenticate": { "required": true, "description": "How a key is sent", "schema": { "type": "string", "const": "Bearer" } },
            "Allow": { "required": true, "description": "The methods of the path", "schema": { "type": "string" } },
        },
        "responses": responses,
    });
    match all {
        Value::Object(fields) => fields,
        _ => Map::new(),
    }
}

/// The response for an error.
fn response((status, _, description, (code, message)): &ErrorExample) -> Value {
    let others: &[&str] = match *status {
        "401" => &["WWW-Authenticate"],
        "405" => &["Allow"],
        "429" | "503" => &["Retry-After"],
        _ => &[],
    };
    let example = json!({ "message": message, "code": code });
    let content = json!({ "schema": { "$ref": "#/components/schemas/Error" }, "example": example });
    json!({ "description": description, "headers": headers(others), "content": { "application/json": content } })
}

/// Whether the AuthZEN endpoints have an error; a body of a different type is a bad request to them.
fn is_of_authzen((status, ..): &ErrorExample) -> bool {
    *status != "415"
}

/// The response of an AuthZEN endpoint for an error.
fn text_response(failure: &ErrorExample) -> Value {
    let mut response = response(failure);
    let content = json!({ "schema": { "type": "string" }, "example": failure.3.1 });
    if let Some(place) = response.pointer_mut("/content/application~1json") {
        *place = content;
    }
    response
}

/// The schemas, of which those that only successful answers use allow no further fields.
fn closed(document: &Value, schemas: &Map<String, Value>) -> Value {
    let mut sent = BTreeSet::new();
    let mut answered = BTreeSet::new();
    let operations = document.get("paths").and_then(Value::as_object).into_iter().flat_map(Map::values);
    for operation in operations.filter_map(Value::as_object).flat_map(Map::values) {
        if let Some(body) = operation.get("requestBody") {
            reach(body, schemas, &mut sent);
        }
        let responses = operation.get("responses").and_then(Value::as_object).into_iter().flatten();
        for (_, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            reach(response, schemas, &mut answered);
        }
    }
    let all = schemas.iter().map(|(name, schema)| {
        let mut schema = schema.clone();
        if answered.contains(name) && !sent.contains(name) {
            close(&mut schema);
        }
        (name.clone(), schema)
    });
    all.collect()
}

/// Collects the names of the schemas to which a part of the document refers, directly or indirectly.
fn reach(part: &Value, schemas: &Map<String, Value>, names: &mut BTreeSet<String>) {
    match part {
        Value::Object(fields) => {
            let target = fields.get("$ref").and_then(Value::as_str);
            if let Some(name) = target.and_then(|target| target.strip_prefix("#/components/schemas/"))
                && names.insert(name.to_owned())
                && let Some(schema) = schemas.get(name)
            {
                reach(schema, schemas, names);
            }
            fields.values().for_each(|part| reach(part, schemas, names));
        }
        Value::Array(parts) => parts.iter().for_each(|part| reach(part, schemas, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Disallows unknown fields in an object and the objects within it.
fn close(schema: &mut Value) {
    if let Some(fields) = schema.as_object_mut() {
        if fields.get("type") == Some(&json!("object")) && !fields.contains_key("additionalProperties") {
            fields.insert("additionalProperties".into(), false.into());
        }
        for (name, part) in fields.iter_mut() {
            match name.as_str() {
                "items" => close(part),
                "properties" => part.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(close),
                "oneOf" | "anyOf" => part.as_array_mut().into_iter().flatten().for_each(close),
                _ => {}
            }
        }
    }
}
