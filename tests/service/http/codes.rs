//! The code of every kind of error, the same on the wire, in the document and on the page.

use portcullis::config::Config;
use portcullis::http::ErrorCode;
use portcullis_compiler::question::QuestionVarId;
use portcullis_compiler::refusal::{Limit, Place, Refusal, VarName};
use portcullis_compiler::source::Span;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::fact_json;
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The codes with their statuses.
fn known() -> BTreeMap<String, u16> {
    ErrorCode::ALL.iter().map(|code| (code.as_str().to_owned(), code.status().as_u16())).collect()
}

#[test]
fn the_page_has_every_code_with_its_status_a_meaning_and_a_remedy() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors.md");
    let page = fs::read_to_string(page).unwrap();
    // The codes below that heading are not those of the interface; a unit test of the commands compares them.
    let (page, _) = page.split_once("\n## Commands\n").unwrap();
    let mut described = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").map(str::trim).collect();
        let [code, status, meaning, remedy] = cells[..] else { panic!("{row}") };
        assert!(meaning.ends_with('.') && remedy.ends_with('.'), "{row}");
        let before = described.insert(code.trim_matches('`').to_owned(), status.parse().unwrap());
        assert_eq!(before, None, "{code} twice");
    }
    assert_eq!(described, known());
}

#[test]
fn the_document_has_every_code() {
    let document = Server::empty().get("/api/openapi.json").json();
    let schemas = &document["components"]["schemas"];
    let described: Vec<&str> =
        schemas["ErrorCode"]["enum"].as_array().unwrap().iter().map(|code| code.as_str().unwrap()).collect();
    let listed: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(described, listed);
    let reference = json!("#/components/schemas/ErrorCode");
    assert_eq!(schemas["Error"]["properties"]["code"]["$ref"], reference);
    assert_eq!(schemas["Error"]["required"], json!(["message", "code"]));
    for form in schemas["PolicyError"]["oneOf"].as_array().unwrap() {
        assert_eq!(form["properties"]["code"]["$ref"], reference, "{form}");
    }
}

#[test]
fn a_refusal_has_the_same_code_everywhere() {
    let (var, test) = (VarName::OfQuestion(QuestionVarId(0)), Place { span: Span::default(), line: 1 });
    for refusal in [
        Refusal::NotEnumerable { var: var.clone(), rule: None, denied: None, wanted: Vec::new() },
        Refusal::NotExplainable { var: var.clone(), rule: None },
        Refusal::Untyped { var: var.clone(), test },
        Refusal::Unseeded { predicate: "within".into(), var, rule: None, wanted: Vec::new() },
        Refusal::TooLarge { limit: Limit::Readings { most: 1 }, rule: None },
        Refusal::TooManyValues { keys: Vec::new(), bound: Vec::new(), most: 1 },
        Refusal::Unmentioned { key: String::new(), ty: String::new(), rule: None },
    ] {
        assert_eq!(ErrorCode::from(&refusal).as_str(), refusal.code());
    }
}

/// Every user may read what is not secret, so what a user may read cannot be enumerated.
const OPEN: &str = r#"
actor User {}
resource Repo { permissions = ["read"]; }
allow(_: User, "read", repo: Repo) if not is_secret(repo);
allow(user: User, "push", repo: Repo) if has_role(user, "writer", repo);
equal(x, y) if x = y and not other(x, y);
same(x: User, x);
"#;

#[test]
fn a_refused_question_says_why_in_the_callers_words() {
    let server = Server::with(Config { embedded_values: 1, ..Config::default() });
    let uploaded = server.post("/api/policy", &json!({ "src": OPEN }));
    assert_eq!(uploaded.status, 200, "{}", uploaded.text);
    let list = json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo" });
    let refused = server.post("/api/list", &list);
    refused.fails(400, "`resource` cannot be enumerated: the rule at line 4 only tests it");
    assert_eq!(refused.code(), "not_enumerable");

    let any = json!({ "type": "Repo", "ids": null });
    let evaluate = |predicate: &str, vars: [&str; 3]| {
        let constraints = json!({
            vars[0]: { "type": "User", "ids": ["ada"] }, vars[1]: { "type": "String", "ids": ["read"] }, vars[2]: any,
        });
        server.post(
            "/api/evaluate_query",
            &json!({ "predicate": [predicate, vars], "constraints": constraints }),
        )
    };
    for names in [["v0", "v1", "v2"], ["who", "how", "?1"]] {
        let refused = evaluate("allow", names);
        refused.fails(400, &format!("`{}` cannot be enumerated: the rule at line 4 only tests it", names[2]));
        assert_eq!(refused.code(), "not_enumerable");
    }
    let unknown = evaluate("likes", ["a", "b", "c"]);
    unknown.fails(400, "the policy has no predicate `likes` with 3 arguments");
    assert_eq!(unknown.code(), "unknown_predicate");

    let users = json!({ "type": "User", "ids": null });
    let same =
        json!({ "predicate": ["same", ["one", "other"]], "constraints": { "one": users, "other": users } });
    let unexplained = server.post("/api/explain", &same);
    unexplained
        .fails(400, "the answer cannot be explained: the question only tests `one`, which nothing binds");
    assert!(unexplained.text.contains("give `one` or `other` a value"), "{}", unexplained.text);
    assert_eq!(unexplained.code(), "not_explainable");

    server.add(&[
        &["has_role", "User:ada", "String:writer", "Repo:a"],
        &["has_role", "User:ada", "String:writer", "Repo:b"],
    ]);
    let query = json!({ "actor_type": "User", "actor_id": "ada", "action": "push", "resource_type": "Repo", "context_facts": [] });
    let local =
        server.post("/api/list_query", &json!({ "query": query, "column": "id", "data_bindings": "" }));
    local.fails(400, "values of stored facts: bind `has_role(");
    // The column gives the values of `resource`.
    assert!(!local.text.contains("a value"), "{}", local.text);
    assert_eq!(local.code(), "too_many_values");
    let roles = "facts:\n  has_role(User:_, String:_, Repo:_):\n    query: SELECT u, r, p FROM roles\n";
    let bound =
        server.post("/api/list_query", &json!({ "query": query, "column": "id", "data_bindings": roles }));
    bound.fails(
        400,
        "delete the stored facts of `has_role(User:_, String:_, Repo:_)`, which the data bindings bind",
    );
}

/// The example of docs/errors.md: alternatives in one rule multiply, and in rules of their own they do not.
#[test]
fn a_rule_with_too_many_alternatives_is_refused_until_each_or_has_a_rule() {
    let all = |part: fn(u32) -> String, between: &str| (1..=14).map(part).collect::<Vec<_>>().join(between);
    let declared = all(|n| format!("declare a{n}(Doc); declare b{n}(Doc);"), "\n");
    let policy =
        |rules: String| json!({ "src": format!("actor User {{}} resource Doc {{}}\n{declared}\n{rules}") });
    let allow = |body: String| format!("allow(_: User, \"read\", doc: Doc) if {body};");
    let one = allow(all(|n| format!("(a{n}(doc) or b{n}(doc))"), " and "));
    let named = all(|n| format!("c{n}(doc: Doc) if a{n}(doc) or b{n}(doc);"), "\n");
    let several = named + &allow(all(|n| format!("c{n}(doc)"), " and "));

    let server = Server::start();
    assert_eq!(server.post("/api/policy", &policy(one)).status, 200);
    let facts: Vec<String> = (1..=14).flat_map(|n| [format!("a{n}"), format!("b{n}")]).collect();
    let facts: Vec<[&str; 2]> = facts.iter().map(|name| [name.as_str(), "Doc:plan"]).collect();
    server.add(&facts.iter().map(<[&str; 2]>::as_slice).collect::<Vec<_>>());
    let check = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "resource_id": "plan",
    });
    let refused = server.post("/api/authorize", &check);
    refused.fails(400, "the rule at line 16");
    assert_eq!(refused.code(), "question_too_large");

    assert_eq!(server.post("/api/policy", &policy(several)).status, 200);
    assert_eq!(server.post("/api/authorize", &check).json(), json!({ "allowed": true }));
}

#[test]
fn a_wrong_request_says_what_kind_of_mistake_it_is() {
    let server = Server::start();
    let code = |path: &str, body: &str| {
        let headers = [
            &*portcullis_testkit::wire::bearer(portcullis::http::DEVELOPMENT_KEY),
            "Content-Type: application/json",
        ];
        server.send("POST", path, &headers, body.as_bytes()).code()
    };
    assert_eq!(code("/api/authorize", "{"), "invalid_json");
    assert_eq!(code("/api/authorize", "{}"), "invalid_request");
    assert_eq!(code("/api/authorize", "[]"), "invalid_request");
    for (call, found) in [(json!(["p", ["x"], 3, {}]), 4), (json!(["p"]), 1), (json!([]), 0)] {
        let refused = server.post("/api/evaluate_query", &json!({ "predicate": call }));
        let message = format!(
            "`predicate`: invalid length {found}, expected an array of a predicate's name and an array of variables"
        );
        refused.fails(400, &message);
        assert_eq!(refused.code(), "invalid_request");
    }
    let bound = json!({
        "query": {
            "actor_type": "User", "actor_id": "ada", "action": "read",
            "resource_type": "Repo", "resource_id": "a", "context_facts": [],
        },
        "data_bindings": "facts: 7",
    });
    assert_eq!(code("/api/authorize_query", &bound.to_string()), "invalid_bindings");
    assert_eq!(code("/api/policy", r#"{"src":"actor"}"#), "invalid_policy");
    let failing = r#"actor User {} test "t" { setup {} assert allow(User{"a"}, "b", User{"c"}); }"#;
    assert_eq!(code("/api/policy", &json!({ "src": failing }).to_string()), "policy_tests_failed");
    assert_eq!(
        code("/api/batch", &json!([{ "inserts": [fact_json(&["likes", "User:a"])] }]).to_string()),
        "invalid_request"
    );
    assert_eq!(server.get("/api/policy_metadata?version=99").code(), "not_found");
}

/// A rule grants to everybody who is not banned, but only what is open. Nothing is, so the list is empty, but
/// the explanation of *some* user would have to know who is banned.
#[test]
fn a_question_about_anybody_that_is_answered_but_not_explained_says_so() {
    let server = Server::with(Config::default());
    let policy = "actor User {}\nresource Repo {}\n\
        allow(user: User, \"read\", repo: Repo) if is_open(repo) and not is_banned(user);\n\
        declare is_open(Repo); declare is_banned(User);";
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    let asked = json!({
        "predicate": ["allow", ["who", "how", "what"]],
        "constraints": {
            "who": { "type": "User", "ids": null },
            "how": { "type": "String", "ids": ["read"] },
            "what": { "type": "Repo", "ids": ["a"] },
        },
    });
    assert_eq!(server.post("/api/evaluate_query", &asked).json()["results"], json!([]));
    let unexplained = server.post("/api/explain", &asked);
    unexplained.fails(400, "the answer cannot be explained: the question only tests `who`");
    assert!(unexplained.text.contains("give `who` a value"), "{}", unexplained.text);
    assert_eq!(unexplained.code(), "not_explainable");
}
