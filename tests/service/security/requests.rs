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

/// A text as a parameter of a path.
pub(crate) fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        write!(encoded, "%{byte:02X}").unwrap();
        encoded
    })
}

/// The same with one more field, or another value of it.
fn with(mut body: Json, name: &str, value: Json) -> Json {
    body.as_object_mut().unwrap().insert(name.to_owned(), value);
    body
}

/// Every operation but those that answer with files, the mutations last.
pub(crate) fn every(user: &str, doc: &str, text: &str) -> Vec<Request> {
    [
        stored(user),
        questions(user, doc, text),
        authzen(user, doc, text),
        local(user, doc, text),
        mutations(user, doc, text),
    ]
    .concat()
}

fn get(path: &str) -> Request {
    (format!("GET {path}"), None)
}

fn post(path: &str, body: Json) -> Request {
    (format!("POST /api/{path}"), Some(body))
}

/// What the service is and has.
fn stored(user: &str) -> Vec<Request> {
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
        get(&format!("/api/facts?predicate=has_role&args.0.type=User&args.0.id={}", encoded(user))),
        get("/.well-known/authzen-configuration"),
    ]
}

fn questions(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let context = [role(user, text)];
    vec![
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
        post("explain?effects=true", check(text, "read", doc)),
        post("expect", json!({ "request_id": text, "expected": true })),
    ]
}

/// Questions by the AuthZEN API.
fn authzen(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let entity = |ty: &str, id: &str| {
        with(value(ty, id), "properties", json!({ "label": text, "has_role": ["reader", doc] }))
    };
    let read = |subject: Json, resource: Json| {
        json!({
            "subject": subject, "action": { "name": "read" }, "resource": resource, "context": { "note": text },
        })
    };
    let post = |path: &str, body: Json| (format!("POST /access/v1/{path}"), Some(body));
    let one = || read(entity("User", user), entity("Doc", doc));
    vec![
        post("evaluation", one()),
        post("evaluations", with(one(), "evaluations", json!([{}, { "subject": value("User", text) }]))),
        post("search/subject", read(json!({ "type": "User" }), entity("Doc", doc))),
        post("search/resource", read(entity("User", user), json!({ "type": "Doc" }))),
        post("search/action", one()),
    ]
}

/// A question about facts in the database that the bindings describe.
fn bound(query: &Json, bindings: &str) -> Json {
    json!({ "query": query, "data_bindings": bindings })
}

/// Local checks.
fn local(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let context = [role(user, text)];
    let select = json!({ "mode": "select", "query_vars_to_output_column_names": { "doc": text } });
    let filter = json!({ "mode": "filter", "query_var": "doc", "output_column_name": "docs.id" });
    let bound = |query: Json| bound(&query, BINDINGS);
    let subjects = with(check(user, "read", doc), "actor_type", json!("Doc"));
    let row = json!([json!([0, 64, [doc]]).to_string(), text]);
    vec![
        post("authorize_query", bound(check(user, "read", doc))),
        post("list_query", with(bound(list(user, "read")), "column", json!("docs.id"))),
        post("list_subjects_query", with(bound(subjects), "column", json!("docs.id"))),
        post("actions_query", bound(check(user, "read", doc))),
        post("evaluate_query_local", with(bound(conjunction(user, &context)), "mode", select)),
        post("evaluate_query_local", with(bound(conjunction(user, &context)), "mode", filter)),
        post("explain_query", bound(check(user, "read", doc))),
        post("why_query", bound(check(user, "read", doc))),
        post("why_query", with(bound(conjunction(user, &context)), "rows", json!([row]))),
    ]
}

fn mutations(user: &str, doc: &str, text: &str) -> Vec<Request> {
    vec![
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

/// Requests with a mistake each.
pub(crate) fn mistaken(user: &str, doc: &str, text: &str) -> Vec<Request> {
    [mistaken_facts(user, doc, text), mistaken_questions(user, doc, text), mistaken_local(user, doc, text)]
        .concat()
}

fn mistaken_facts(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let wrong = json!({ "predicate": text, "args": [value(text, doc)] });
    let failing = format!("assert allow(User{{\"{user}\"}}, \"read\", Doc{{\"{doc}\"}});");
    vec![
        get(&format!("/api/{}", encoded(text))),
        get(&format!("/api/policy?id={}", encoded(text))),
        get(&format!("/api/facts?args.0.id={}", encoded(text))),
        (format!("PATCH /api/facts?x={}", encoded(text)), None),
        post("facts", wrong.clone()),
        post("facts", json!({ "predicate": "note", "args": [value("User", user)] })),
        post("batch", json!([{ "inserts": [wrong] }])),
        post("batch", json!([{ text: [note(user, text)] }])),
        post("bulk_load", json!([note(&text.repeat(300), doc)])),
        post("bulk_delete", json!([{ "predicate": "note", "args": [text] }])),
        post("expect", json!({ "request_id": [text] })),
        post("policy", json!({ "src": format!("allow({text}"), "filename": text })),
        post("policy", json!({ "src": format!("{POLICY} test \"{text}\" {{ {failing} }}") })),
    ]
}

fn mistaken_questions(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let evaluation = |body: Json| ("POST /access/v1/evaluation".to_owned(), Some(body));
    let nul = format!("{text}\0");
    vec![
        post("authorize", json!({ "actor_type": text })),
        post("authorize", json!(text)),
        post("authorize", check(&nul, "read", doc)),
        post("authorize_resources", json!({ "actor_type": text, "actor_id": user, "action": 7 })),
        post("list", with(list(user, "read"), "page_token", json!(text))),
        post("list", with(list(user, text), "resource_type", json!(nul))),
        post("list_subjects", with(check(user, "read", doc), "page_token", json!(text))),
        evaluation(json!({ "subject": text })),
        evaluation(check(user, "read", doc)),
        (
            "POST /access/v1/search/action".to_owned(),
            Some(json!({ "subject": value("User", text), "page": text })),
        ),
        post("list_subjects", with(check(user, text, doc), "actor_types", json!([nul]))),
        post("review", json!({ "actor_type": "User", "actor_id": user, "types": [nul] })),
        post("actions", json!({ "actor_type": text })),
        post("bulk_actions", json!([text])),
        post("query", json!({ "fact": { "predicate": text, "args": [value(text, doc), text] } })),
        post("evaluate_query", json!({ "predicate": [text, [text]], "constraints": {} })),
    ]
}

fn mistaken_local(user: &str, doc: &str, text: &str) -> Vec<Request> {
    let note = format!("facts:\n  note(User:_, {text}):\n    query: SELECT '{doc}' FROM '{text}");
    let column = json!(format!("'{text}"));
    vec![
        post("authorize_query", bound(&check(user, "read", doc), &format!("{text}: [{doc}"))),
        post("authorize_query", bound(&check(user, "read", doc), &note)),
        post("list_query", with(bound(&list(user, "read"), BINDINGS), "column", column)),
        post("explain_query", bound(&json!({ "actor_type": text }), text)),
        post("why_query", with(bound(&check(user, "read", doc), BINDINGS), "rows", json!([[text, doc]]))),
    ]
}
