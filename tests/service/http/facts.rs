//! Facts go in, go out, and stay exactly what they were.

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{bearer, fact_json, value_json};
use serde_json::json;

#[test]
fn a_batch_is_applied_in_order() {
    let server = Server::start();
    let reader = fact_json(&["has_role", "User:ada", "String:reader", "Repo:a"]);
    let writer = fact_json(&["has_role", "User:ada", "String:writer", "Repo:a"]);
    let body = json!([{ "inserts": [reader, writer] }, { "deletes": [writer] }, { "inserts": [] }]);
    let answer = server.post("/api/batch", &body);
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["message"]);
    assert_eq!(server.stored(), ["has_role(User:ada, String:reader, Repo:a)"]);

    let body = json!([{ "deletes": [reader] }, { "inserts": [reader] }]);
    assert_eq!(server.post("/api/batch", &body).status, 200);
    assert_eq!(server.stored(), ["has_role(User:ada, String:reader, Repo:a)"]);
    assert_eq!(server.post("/api/batch", &json!([])).status, 200);
}

#[test]
fn a_batch_with_one_wrong_fact_changes_nothing() {
    let server = Server::start();
    server.add(&[&["is_public", "Repo:kept"]]);
    let good = fact_json(&["is_public", "Repo:a"]);
    for bad in [
        json!({ "predicate": "is_public", "args": [null] }),
        json!({ "predicate": "is_public", "args": [{ "type": "Repo" }] }),
        json!({ "predicate": "is_public", "args": [{ "type": "", "id": "x" }] }),
        json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "" }] }),
        json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "x".repeat(400) }] }),
        json!({ "predicate": "unheard_of", "args": [{ "type": "Repo", "id": "x" }] }),
        json!({ "predicate": "is_public", "args": [] }),
        json!({ "predicate": "age", "args": [{ "type": "User", "id": "a" }, { "type": "Integer", "id": "007" }] }),
        json!({ "predicate": "age", "args": [{ "type": "User", "id": "a" }, { "type": "Integer", "id": "9".repeat(19) }] }),
        json!({ "predicate": "active", "args": [{ "type": "User", "id": "a" }, { "type": "Boolean", "id": "yes" }] }),
    ] {
        let wipe = json!({ "predicate": "is_public", "args": [null] });
        let answer = server.post("/api/batch", &json!([{ "deletes": [wipe] }, { "inserts": [good, bad] }]));
        assert_eq!(answer.status, 400, "{bad} gave {}", answer.text);
        assert!(!answer.message().is_empty());
        assert_eq!(server.stored(), ["is_public(Repo:kept)"], "{bad}");
    }
}

#[test]
fn a_batch_item_is_one_of_two_things() {
    let server = Server::start();
    for item in [json!({}), json!({ "inserts": [], "deletes": [] }), json!(null), json!([]), json!("x")] {
        let answer = server.post("/api/batch", &json!([item]));
        assert_eq!(answer.status, 400, "{item} gave {}", answer.text);
    }
    server.post("/api/batch", &json!({ "inserts": [] })).fails(400, "expected an array");
    let item = json!([{ "inserts": [], "comment": "newer clients send more" }]);
    assert_eq!(server.post("/api/batch", &item).status, 200);
}

#[test]
fn every_form_of_a_wildcard_deletes() {
    for any in [json!(null), json!({}), json!({ "type": null, "id": null }), json!({ "id": null })] {
        let server = Server::start();
        let with_role = ["has_role", "User:ada", "String:reader", "Repo:a"];
        server.add(&[&with_role, &["is_public", "Repo:a"], &["age", "User:ada", "Integer:7"]]);
        let deletes = json!([{ "predicate": "has_role", "args": [any, value_json("String:reader"), any] }]);
        assert_eq!(server.post("/api/batch", &json!([{ "deletes": deletes }])).status, 200, "{any}");
        assert_eq!(server.stored(), ["age(User:ada, Integer:7)", "is_public(Repo:a)"], "{any}");
    }
}

#[test]
fn a_typed_wildcard_deletes_one_type_only() {
    for typed in [json!({ "type": "Org" }), json!({ "type": "Org", "id": null })] {
        let server = Server::start();
        let on_repo = ["has_role", "User:ada", "String:reader", "Repo:a"];
        server.add(&[&on_repo, &["has_role", "User:ada", "String:member", "Org:o"]]);
        let pattern = json!({ "predicate": "has_role", "args": [value_json("User:ada"), null, typed] });
        assert_eq!(server.call("DELETE", "/api/facts", &pattern).status, 200);
        assert_eq!(server.stored(), ["has_role(User:ada, String:reader, Repo:a)"], "{typed}");
    }
}

#[test]
fn an_id_without_a_type_and_an_id_that_is_no_text_are_refused() {
    let server = Server::start();
    for (arg, part) in [
        (json!({ "id": "a" }), "an id without a type"),
        (json!({ "type": null, "id": "a" }), "an id without a type"),
        (json!({ "type": "Repo", "id": 7 }), "expected a string"),
        (json!({ "type": "Repo", "id": true }), "expected a string"),
        (json!({ "type": 7 }), "expected a string"),
        (json!(["Repo", "a"]), "expected an object"),
        (json!("Repo:a"), "expected an object"),
    ] {
        let fact = json!({ "predicate": "is_public", "args": [arg] });
        server.post("/api/facts", &fact).fails(400, part);
        server.call("DELETE", "/api/facts", &fact).fails(400, part);
        server.post("/api/batch", &json!([{ "inserts": [fact] }])).fails(400, part);
        server.post("/api/query", &json!({ "fact": fact })).fails(400, part);
    }
}

#[test]
fn the_message_names_the_argument() {
    let server = Server::start();
    let facts = json!([fact_json(&["is_public", "Repo:a"]), { "predicate": "is_public", "args": [null] }]);
    server
        .post("/api/bulk_load", &facts)
        .fails(400, "`[1].args[0]`: expected a concrete value with `type` and `id`");
}

#[test]
fn the_older_endpoints_are_short_forms_of_a_batch() {
    let server = Server::start();
    let [a, b, c] = ["Repo:a", "Repo:b", "Repo:c"].map(|repo| fact_json(&["is_public", repo]));
    assert_eq!(server.post("/api/bulk_load", &json!([a, b])).status, 200);
    assert_eq!(server.stored(), ["is_public(Repo:a)", "is_public(Repo:b)"]);
    // Deletions run first: what is in both lists is there afterwards.
    assert_eq!(server.post("/api/bulk", &json!({ "delete": [a, b], "tell": [b, c] })).status, 200);
    assert_eq!(server.stored(), ["is_public(Repo:b)", "is_public(Repo:c)"]);
    assert_eq!(server.post("/api/bulk", &json!({ "tell": null, "delete": [b] })).status, 200);
    for nothing in [json!({}), json!({ "delete": null }), json!({ "tell": [], "newer": [a] })] {
        assert_eq!(server.post("/api/bulk", &nothing).status, 200, "{nothing}");
    }
    let misspelt = "unknown field `deletes`, `inserts`: write `delete` for the facts to delete";
    server.post("/api/bulk", &json!({ "deletes": [c], "inserts": [] })).fails(400, misspelt);
    let beside = json!({ "tells": [a], "delete": [] });
    server.post("/api/bulk", &beside).fails(400, "unknown field `tells`");
    let headers = [&*bearer(DEVELOPMENT_KEY), "Content-Type: application/json"];
    let twice = server.send("POST", "/api/bulk", &headers, br#"{"delete":[],"delete":[]}"#);
    twice.fails(400, "duplicate field `delete`");
    server.post("/api/bulk", &json!({ "tell": [7] })).fails(400, "`tell[0]`");
    assert_eq!(server.stored(), ["is_public(Repo:c)"]);
    assert_eq!(
        server.post("/api/bulk_delete", &json!([{ "predicate": "is_public", "args": [null] }, a])).status,
        200
    );
    assert_eq!(server.stored(), Vec::<String>::new());
}

#[test]
fn one_fact_is_answered_with_itself() {
    let server = Server::start();
    let fact = fact_json(&["age", "User:ada", "Integer:-7"]);
    server.post("/api/facts", &fact).is(200, &fact);
    server.post("/api/facts", &fact).is(200, &fact);
    assert_eq!(server.stored(), ["age(User:ada, Integer:-7)"]);
    assert_eq!(server.call("DELETE", "/api/facts", &fact).status, 200);
    assert_eq!(server.call("DELETE", "/api/facts", &fact).status, 200);
    assert_eq!(server.stored(), Vec::<String>::new());
}

#[test]
fn a_fact_that_the_policy_cannot_use_is_refused() {
    let server = Server::start();
    let fact = fact_json(&["has_role", "User:ada", "String:steward", "Lab:l"]);
    let text = "has_role(User, \"steward\", Lab) is not used in policy. Help: use this fact in your policy, or add \
                'declare has_role(...)' to your policy to force this fact type to be accepted.";
    server.post("/api/facts", &fact).fails(400, text);
    Server::empty().post("/api/facts", &fact).fails(400, "not used in policy");
}

#[test]
fn facts_are_read_back_by_pattern() {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:reader", "Repo:a"],
        &["has_role", "User:bob", "String:writer", "Repo:a"],
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["is_public", "Repo:a"],
    ]);
    let found = |query: &str| {
        let answer = server.get(&format!("/api/facts?{query}"));
        assert_eq!(answer.status, 200, "{query} gave {}", answer.text);
        answer.json().as_array().unwrap().len()
    };
    assert_eq!(found(""), 4);
    assert_eq!(found("predicate=_"), 4);
    assert_eq!(found("predicate=has_role"), 3);
    assert_eq!(found("predicate=has_role&args.0.type=User&args.0.id=ada"), 2);
    assert_eq!(found("predicate=has_role&args.2.type=Repo"), 2);
    assert_eq!(found("args.0.type=Repo&args.0.id=a"), 1);
    assert_eq!(found("predicate=is_public&args.1.type=Repo"), 0);
    assert_eq!(found("predicate=nothing"), 0);
    server.get("/api/facts?args.0.id=ada").fails(400, "`args.0.id`: an id without a type: add `args.0.type`");
    server
        .get("/api/facts?predicate=is_public&args.0.type=Repo")
        .is(200, &json!([fact_json(&["is_public", "Repo:a"])]));
}

#[test]
fn hostile_ids_are_plain_ids() {
    let server = Server::start();
    for id in [
        "'; DROP TABLE facts; --",
        "\\' OR 1=1 --",
        "\"",
        "a\nb",
        "ümläut \u{202e}",
        "*",
        "%",
        "a,b",
        "null",
        "\u{1F9CC}",
    ] {
        server
            .post("/api/facts", &json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": id }] }));
        assert!(server.may("eve", "read", id), "{id:?}");
        assert!(!server.may("eve", "write", id), "{id:?}");
        assert!(!server.may(id, "read", "another"), "{id:?}");
    }
    assert_eq!(server.stored().len(), 10);
    let nul = json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "a\u{0}b" }] });
    server.post("/api/facts", &nul).fails(400, "NUL");
}

#[test]
fn clearing_takes_facts_and_policy() {
    let server = Server::start();
    server.add(&[&["is_public", "Repo:a"]]);
    let answer = server.send(
        "POST",
        "/api/clear_data",
        &[&portcullis_testkit::wire::bearer(portcullis::http::DEVELOPMENT_KEY)],
        b"",
    );
    assert_eq!(answer.status, 200);
    assert_eq!(answer.json().as_object().unwrap().keys().collect::<Vec<_>>(), ["message"]);
    assert_eq!(server.stored(), Vec::<String>::new());
    server.get("/api/policy").is(200, &json!({ "policy": null }));
    assert!(!server.may("ada", "read", "a"));
}

#[test]
fn ten_megabytes_of_facts_are_one_batch() {
    let server = Server::start();
    let n = 80_000;
    let facts: Vec<_> = (0..n).map(|i| fact_json(&["is_public", &format!("Repo:{i:064}")])).collect();
    let body = json!(facts).to_string();
    assert!(body.len() > 9_000_000 && body.len() < 10 * 1024 * 1024, "{}", body.len());
    let headers = [
        &*portcullis_testkit::wire::bearer(portcullis::http::DEVELOPMENT_KEY),
        "Content-Type: application/json",
    ];
    assert_eq!(server.send("POST", "/api/bulk_load", &headers, body.as_bytes()).status, 200);
    let stats = server.get("/api/stats").json();
    assert_eq!(stats["facts"]["total"], n);
}
