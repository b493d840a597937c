//! One good request to every endpoint, with chosen ids in every place that takes a text.

use serde_json::{Value as Json, json};
use std::fmt::Write;

/// What the policy of these tests says.
pub(crate) const POLICY: &str = r#"
actor User {}
resource Doc {
  roles = ["reader"];
  permissions = ["read"];
  relations = { parent: Doc };
  "reader" if "reader" on "parent";
  "read" if "reader";
}
declare note(User, String);
"#;

/// A data-bindings document over a table `docs (id, parent)`.
pub(crate) const BINDINGS: &str = "
facts:
  has_relation(Doc:_, parent, Doc:_):
    query: SELECT id, parent FROM docs
";

/// A request: `METHOD /path`, and its body.
pub(crate) type Request = (String, Option<Json>);

pub(crate) fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

pub(crate) fn role(user: &str, doc: &str) -> Json {
    json!({ "predicate": "has_role", "args": [value("User", user), value("String", "reader"), value("Doc", doc)] })
}

pub(crate) fn note(user: &str, text: &str) -> Json {
    json!({ "predicate": "note", "args": [value("User", user), value("String", text)] })
}

pub(crate) fn check(user: &str, action: &str, doc: &str) -> Json {
    json!({ "actor_type": "User", "actor_id": user, "action": action, "resource_type": "Doc", "resource_id": doc })
}

pub(crate) fn list(user: &str, action: &str) -> Json {
    json!({ "actor_type": "User", "actor_id": user, "action": action, "resource_type": "Doc" })
}

/// Which documents may the user read?
pub(crate) fn conjunction(user: &str, context: &[Json]) -> Json {
    json!({
        "predicate": ["allow", ["actor", "action", "doc"]], "calls": [], "context_facts": context,
        "constraints": {
            "actor": { "type": "User", "ids": [user] },
            "action": { "type": "String", "ids": ["read"] },
            "doc": { "type": "Doc", "ids": null },
        },
    })
}

/// A text where parameters of a path stand.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        write!(encoded, "%{byte:02X}").unwrap();
        encoded
    })
}

/// With a field more.
fn with(mut body: Json, name: &str, value: Json) -> Json {
    body.as_object_mut().unwrap().insert(name.to_owned(), value);
    body
}

/// Every operation but those that answer with files, the mutations last.
pub(crate) fn every(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let get = |path: &str| (format!("GET {path}"), None);
    let post = |path: &str, body: Json| (format!("POST /api/{path}"), Some(body));
    let context = [role(user, text)];
    let select = json!({ "mode": "select", "query_vars_to_output_column_names": { "doc": text } });
    let filter = json!({ "mode": "filter", "query_var": "doc", "output_column_name": "docs.id" });
    let local = |query: Json| json!({ "query": query, "data_bindings": BINDINGS });
    let entity = |ty: &str, id: &str| {
        with(value(ty, id), "properties", json!({ "label": text, "has_role": ["reader", doc] }))
    };
    let read = |subject: Json, resource: Json| {
        json!({
            "subject": subject, "action": { "name": "read" }, "resource": resource, "context": { "note": text },
        })
    };
    let authzen = |path: &str, body: Json| (format!("POST /access/v1/{path}"), Some(body));
    let one = || read(entity("User", user), entity("Doc", doc));
    let by_user = format!("/api/facts?predicate=has_role&args.0.type=User&args.0.id={}", encoded(user));
    vec![
        get("/health"),
        get("/ready"),
        get("/api/healthcheck"),
        get("/api/stats"),
        get("/api/policy"),
        get("/api/policy_metadata"),
        get("/api/policy_metadata?id=1"),
        get("/api/policy?id=2"),
        get("/api/facts"),
        get(&by_user),
        post("authorize", check(user, "read", doc)),
        post("authorize", with(check(user, "read", text), "context_facts", json!(context))),
        post(
            "authorize_resources",
            json!({ "actor_type": "User", "actor_id": user, "action": "read", "resources": [value("Doc", doc), value("Doc", text)] }),
        ),
        post("list", list(user, "read")),
        post("list", with(list(user, "read"), "page_size", json!(10_000))),
        post("list_subjects", check(user, "read", doc)),
        post("list_subjects", with(check(user, "read", doc), "actor_types", json!(["User", text]))),
        post("review", json!({ "actor_type": "User", "actor_id": user })),
        post("review", json!({ "resource_type": "Doc", "resource_id": doc, "types": ["User", text] })),
        authzen("evaluation", one()),
        authzen("evaluations", with(one(), "evaluations", json!([{}, { "subject": value("User", text) }]))),
        authzen("search/subject", read(json!({ "type": "User" }), entity("Doc", doc))),
        authzen("search/resource", read(entity("User", user), json!({ "type": "Doc" }))),
        authzen("search/action", one()),
        get("/.well-known/authzen-configuration"),
        post("actions", check(user, "read", doc)),
        post("bulk_actions", json!([check(user, "read", doc), check(text, "read", doc)])),
        post(
            "query",
            json!({ "fact": { "predicate": "has_role", "args": [null, null, value("Doc", doc)] } }),
        ),
        post(
            "query",
            json!({ "fact": { "predicate": "note", "args": [value("User", user), null] }, "context_facts": [note(user, text)] }),
        ),
        post("evaluate_query", conjunction(user, &context)),
        post("explain", with(check(user, "read", text), "context_facts", json!(context))),
        post("explain", conjunction(user, &context)),
        post("authorize_query", local(check(user, "read", doc))),
        post("list_query", with(local(list(user, "read")), "column", json!("docs.id"))),
        post(
            "list_subjects_query",
            with(
                local(with(check(user, "read", doc), "actor_type", json!("Doc"))),
                "column",
                json!("docs.id"),
            ),
        ),
        post("actions_query", local(check(user, "read", doc))),
        post("evaluate_query_local", with(local(conjunction(user, &context)), "mode", select)),
        post("evaluate_query_local", with(local(conjunction(user, &context)), "mode", filter)),
        post("explain_query", local(check(user, "read", doc))),
        post("why_query", local(check(user, "read", doc))),
        post(
            "why_query",
            with(
                local(conjunction(user, &context)),
                "rows",
                json!([[json!([0, 64, [doc]]).to_string(), text]]),
            ),
        ),
        post("expect", json!({ "request_id": text, "expected": true })),
        post("facts", note(user, text)),
        ("DELETE /api/facts".to_owned(), Some(note(user, text))),
        post("bulk_load", json!([note(user, text), role(user, doc)])),
        post("bulk", json!({ "delete": [note(user, text)], "tell": [note(user, doc)] })),
        post("bulk_delete", json!([note(user, doc)])),
        post("batch", json!([{ "inserts": [note(user, text)] }, { "deletes": [note(user, doc)] }])),
        post("policy", json!({ "src": format!("{POLICY}# {text}\n"), "filename": text })),
        post("clear_data", json!({})),
    ]
}

/// The same requests, each with a mistake in it.
pub(crate) fn mistaken(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let post = |path: &str, body: Json| (format!("POST /api/{path}"), Some(body));
    let wrong = json!({ "predicate": text, "args": [value(text, doc)] });
    let local = |query: Json, bindings: String| json!({ "query": query, "data_bindings": bindings });
    vec![
        (format!("GET /api/{}", encoded(text)), None),
        (format!("GET /api/policy?id={}", encoded(text)), None),
        (format!("GET /api/facts?args.0.id={}", encoded(text)), None),
        (format!("PATCH /api/facts?x={}", encoded(text)), None),
        post("facts", wrong.clone()),
        post("facts", json!({ "predicate": "note", "args": [value("User", user)] })),
        post("batch", json!([{ "inserts": [wrong] }])),
        post("batch", json!([{ text: [note(user, text)] }])),
        post("bulk_load", json!([note(&text.repeat(300), doc)])),
        post("bulk_delete", json!([{ "predicate": "note", "args": [text] }])),
        post("authorize", json!({ "actor_type": text })),
        post("authorize", json!(text)),
        post("authorize", check(&format!("{text}\0"), "read", doc)),
        post("authorize_resources", json!({ "actor_type": text, "actor_id": user, "action": 7 })),
        post("list", with(list(user, "read"), "page_token", json!(text))),
        post(
            "list",
            json!({ "actor_type": "User", "actor_id": user, "action": text, "resource_type": format!("{text}\0") }),
        ),
        post("list_subjects", with(check(user, "read", doc), "page_token", json!(text))),
        ("POST /access/v1/evaluation".to_owned(), Some(json!({ "subject": text }))),
        ("POST /access/v1/evaluation".to_owned(), Some(check(user, "read", doc))),
        (
            "POST /access/v1/search/action".to_owned(),
            Some(json!({ "subject": value("User", text), "page": text })),
        ),
        post("list_subjects", with(check(user, text, doc), "actor_types", json!([format!("{text}\0")]))),
        post("review", json!({ "actor_type": "User", "actor_id": user, "types": [format!("{text}\0")] })),
        post("actions", json!({ "actor_type": text })),
        post("bulk_actions", json!([text])),
        post("query", json!({ "fact": { "predicate": text, "args": [value(text, doc), text] } })),
        post("evaluate_query", json!({ "predicate": [text, [text]], "constraints": {} })),
        post("authorize_query", local(check(user, "read", doc), format!("{text}: [{doc}"))),
        post(
            "authorize_query",
            local(
                check(user, "read", doc),
                format!("facts:\n  note(User:_, {text}):\n    query: SELECT '{doc}' FROM '{text}"),
            ),
        ),
        post(
            "list_query",
            with(local(list(user, "read"), BINDINGS.to_owned()), "column", json!(format!("'{text}"))),
        ),
        post("explain_query", local(json!({ "actor_type": text }), text.to_owned())),
        post(
            "why_query",
            with(local(check(user, "read", doc), BINDINGS.to_owned()), "rows", json!([[text, doc]])),
        ),
        post("expect", json!({ "request_id": [text] })),
        post("policy", json!({ "src": format!("allow({text}"), "filename": text })),
        post(
            "policy",
            json!({ "src": format!("{POLICY} test \"{text}\" {{ assert allow(User{{\"{user}\"}}, \"read\", Doc{{\"{doc}\"}}); }}") }),
        ),
    ]
}
