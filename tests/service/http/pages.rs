//! Lists in pages: every id once, even during writes, and no token but the right one.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::fact_json;
use serde_json::{Value as Json, json};

const N: usize = 25_000;

fn id(i: usize) -> String {
    format!("r{i:05}")
}

/// A server on which anybody may read `N` repositories.
fn populated() -> Server {
    let server = Server::start();
    let facts: Vec<_> = (0..N).map(|i| fact_json(&["is_public", &format!("Repo:{}", id(i))])).collect();
    let answer = server.post("/api/bulk_load", &json!(facts));
    assert_eq!(answer.status, 200, "{}", answer.text);
    server
}

fn ask() -> Json {
    json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Repo", "page_size": 10_000 })
}

fn with(mut body: Json, field: &str, value: Json) -> Json {
    body[field] = value;
    body
}

/// A page's ids and its token.
fn page(server: &Server, body: &Json) -> (Vec<String>, Option<String>) {
    let answer = server.post("/api/list", body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 2);
    let ids = body["results"].as_array().unwrap().iter().map(|id| id.as_str().unwrap().to_owned());
    (ids.collect(), body["next_page_token"].as_str().map(str::to_owned))
}

#[test]
fn pages_together_are_the_list_also_after_a_restart() {
    let server = populated();
    let (first, token) = page(&server, &ask());
    assert_eq!(first.len(), 10_000);
    let server = server.restart();
    let (second, token) = page(&server, &with(ask(), "page_token", json!(token.unwrap())));
    assert_eq!(second.len(), 10_000);
    let (third, token) = page(&server, &with(ask(), "page_token", json!(token.unwrap())));
    assert_eq!(third.len(), 5_000);
    assert_eq!(token, None);
    let all: Vec<String> = [first, second, third].concat();
    assert_eq!(all, (0..N).map(id).collect::<Vec<_>>());
    // Unpaged lists have no token.
    let mut whole = ask();
    whole.as_object_mut().unwrap().remove("page_size");
    let answer = server.post("/api/list", &whole).json();
    assert_eq!(answer["results"].as_array().unwrap().len(), N);
    assert_eq!(answer.as_object().unwrap().len(), 1);
}

#[test]
fn writes_between_pages_neither_repeat_nor_skip() {
    let server = populated();
    let (first, token) = page(&server, &ask());
    let gone: Vec<_> = (0..5_000).map(|i| fact_json(&["is_public", &format!("Repo:{}", id(i))])).collect();
    let came = fact_json(&["is_public", "Repo:r00000a"]);
    let body = json!([{ "deletes": gone }, { "inserts": [came] }]);
    assert_eq!(server.post("/api/batch", &body).status, 200);
    let (second, _) = page(&server, &with(ask(), "page_token", json!(token.unwrap())));
    assert_eq!(first.last().unwrap(), &id(9_999));
    assert_eq!(second, (10_000..20_000).map(id).collect::<Vec<_>>());
}

#[test]
fn the_token_carries_the_page_size() {
    let server = populated();
    let (_, token) = page(&server, &with(ask(), "page_size", json!(12_000)));
    let token = token.unwrap();
    for size in [json!(10_000), json!(1), json!(0), json!(null)] {
        let body = with(with(ask(), "page_token", json!(token)), "page_size", size);
        assert_eq!(page(&server, &body).0.len(), 12_000);
    }
}

#[test]
fn a_page_size_under_the_least_is_400() {
    let server = Server::start();
    for size in [json!(9_999), json!(0), json!(-1), json!("10000"), json!(10_000.5)] {
        server.post("/api/list", &with(ask(), "page_size", size)).fails(400, "page_size");
    }
    assert_eq!(page(&server, &with(ask(), "page_size", json!(u64::MAX))), (vec![], None));
    for none in [json!(null), json!("")] {
        assert_eq!(page(&server, &with(ask(), "page_token", none)), (vec![], None));
    }
}

#[test]
fn a_foreign_or_damaged_token_is_400() {
    let server = populated();
    let (_, token) = page(&server, &ask());
    let token = token.unwrap();
    let asked = with(ask(), "page_token", json!(token));
    assert_eq!(server.post("/api/list", &asked).status, 200);

    let context = json!([fact_json(&["is_public", "Repo:x"])]);
    for (field, other) in [
        ("actor_id", json!("bob")),
        ("actor_type", json!("Org")),
        ("action", json!("write")),
        ("resource_type", json!("Org")),
        ("context_facts", context),
    ] {
        server.post("/api/list", &with(asked.clone(), field, other)).fails(400, "page_token");
    }
    let mut flipped = token.clone().into_bytes();
    flipped[12] ^= 1;
    let flipped = String::from_utf8(flipped).unwrap();
    let halved: String = token.chars().take(token.len() / 2).collect();
    for damaged in [flipped, halved, format!("{token}A"), "r09999".to_owned(), "ü".to_owned()] {
        server.post("/api/list", &with(ask(), "page_token", json!(damaged))).fails(400, "page_token");
    }
    // The same question, another store.
    Server::start().post("/api/list", &asked).fails(400, "page_token");
}
