//! Who may act on a resource: all of them, everyone as one entry, and pages of many.

use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{fact_json, value_json};
use serde_json::{Value as Json, json};

fn ask(action: &str, resource: &str) -> Json {
    let resource = value_json(resource);
    json!({ "action": action, "resource_type": resource["type"], "resource_id": resource["id"] })
}

fn with(mut body: Json, field: &str, value: Json) -> Json {
    body[field] = value;
    body
}

fn results(subjects: &[&str]) -> Json {
    json!({ "results": subjects.iter().map(|subject| value_json(subject)).collect::<Vec<_>>() })
}

fn serving(policy: &str) -> Server {
    let server = Server::empty();
    let answer = server.post("/api/policy", &json!({ "src": policy }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    server
}

const SEVERAL: &str = r#"
actor User {}
actor Bot {}
resource Repo {
  roles = ["reader"];
  permissions = ["read", "see"];
  "read" if "reader";
  "see" if is_public(resource);
}
allow(_, "ping", _: Repo);
allow(user: User, "push", repo: Repo) if not is_banned(user) and is_public(repo);
allow(bot: Bot, "push", repo: Repo) if has_role(bot, "reader", repo);
allow(actor, action, repo: Repo) if has_permission(actor, action, repo);
"#;

#[test]
fn every_type_is_listed_unless_types_are_given() {
    let server = serving(SEVERAL);
    server.add(&[
        &["has_role", "User:ada", "String:reader", "Repo:a"],
        &["has_role", "Bot:10", "String:reader", "Repo:a"],
        &["has_role", "Bot:9", "String:reader", "Repo:a"],
        &["has_role", "User:bob", "String:reader", "Repo:b"],
    ]);
    let read = ask("read", "Repo:a");
    let list = |types: Json| server.post("/api/list_subjects", &with(read.clone(), "actor_types", types));
    let all = results(&["Bot:9", "Bot:10", "User:ada"]);
    server.post("/api/list_subjects", &read).is(200, &all);
    list(json!(null)).is(200, &all);
    list(json!(["User", "Bot", "User"])).is(200, &all);
    list(json!(["User"])).is(200, &results(&["User:ada"]));
    list(json!(["Martian"])).is(200, &results(&[]));
    list(json!(["Martian", "Bot"])).is(200, &results(&["Bot:9", "Bot:10"]));
    server.post("/api/list_subjects", &ask("fly", "Repo:a")).is(200, &results(&[]));
    server.post("/api/list_subjects", &ask("read", "Crater:a")).is(200, &results(&[]));
    Server::empty().post("/api/list_subjects", &read).is(200, &results(&[]));
}

#[test]
fn everyone_is_an_entry_of_its_own() {
    let server = serving(SEVERAL);
    server.add(&[&["is_public", "Repo:a"], &["has_role", "User:ada", "String:reader", "Repo:a"]]);
    server.post("/api/list_subjects", &ask("see", "Repo:a")).is(200, &results(&["Bot:*", "User:*"]));
    server.post("/api/list_subjects", &ask("see", "Repo:b")).is(200, &results(&[]));
    server.post("/api/list_subjects", &ask("ping", "Repo:b")).is(200, &results(&["*:*"]));
    let of = |types: Json| with(ask("ping", "Repo:b"), "actor_types", types);
    server.post("/api/list_subjects", &of(json!(["User"]))).is(200, &results(&["User:*"]));
    server.post("/api/list_subjects", &of(json!(["Martian"]))).is(200, &results(&["Martian:*"]));
    let context = json!([fact_json(&["has_role", "User:*", "String:reader", "Repo:a"])]);
    let with_star = with(ask("read", "Repo:a"), "context_facts", context);
    server.post("/api/list_subjects", &with_star).is(200, &results(&["User:*", "User:ada"]));
}

#[test]
fn everyone_but_some_is_refused_with_the_rule_where_it_holds() {
    let server = serving(SEVERAL);
    server.add(&[
        &["is_public", "Repo:a"],
        &["has_role", "Bot:7", "String:reader", "Repo:a"],
        &["has_role", "Bot:7", "String:reader", "Repo:b"],
    ]);
    let refused = server.post("/api/list_subjects", &ask("push", "Repo:a"));
    refused.fails(400, "`actor` cannot be enumerated: the rule at line 11 only tests it");
    assert_eq!(refused.json()["code"], "not_enumerable");
    // The rule holds for no user here, and never for a bot.
    server.post("/api/list_subjects", &ask("push", "Repo:b")).is(200, &results(&["Bot:7"]));
    let bots = with(ask("push", "Repo:a"), "actor_types", json!(["Bot"]));
    server.post("/api/list_subjects", &bots).is(200, &results(&["Bot:7"]));
}

#[test]
fn context_facts_count_for_their_request_only() {
    let server = serving(SEVERAL);
    let fact = json!([fact_json(&["has_role", "User:eve", "String:reader", "Repo:a"])]);
    let body = with(ask("read", "Repo:a"), "context_facts", fact);
    server.post("/api/list_subjects", &body).is(200, &results(&["User:eve"]));
    server.post("/api/list_subjects", &ask("read", "Repo:a")).is(200, &results(&[]));
    let unknown = with(ask("read", "Repo:a"), "context_facts", json!([fact_json(&["unheard_of", "Repo:a"])]));
    server.post("/api/list_subjects", &unknown).fails(400, "not used in policy");
}

#[test]
fn wrong_questions_are_refused() {
    let server = serving(SEVERAL);
    let read = ask("read", "Repo:a");
    for field in ["action", "resource_type", "resource_id"] {
        let mut body = read.clone();
        body.as_object_mut().unwrap().remove(field);
        server.post("/api/list_subjects", &body).fails(400, &format!("missing field `{field}`"));
    }
    let of = |types: Json| with(read.clone(), "actor_types", types);
    for (types, part) in [
        (json!([]), "the list of actor types is empty"),
        (json!(["Actor"]), "no actor has the type `Actor`"),
        (json!(["User", ""]), "empty type"),
        (json!(["a\0b"]), "NUL"),
        (json!("User"), "`actor_types`: invalid type"),
        (json!([null]), "`actor_types[0]`"),
    ] {
        server.post("/api/list_subjects", &of(types)).fails(400, part);
    }
    let many: Vec<String> = (0..101).map(|n| format!("T{n}")).collect();
    server.post("/api/list_subjects", &of(json!(many))).fails(413, "at most 100");
    server.post("/api/list_subjects", &ask("read", "Repo:")).fails(400, "the resource has an empty id");
    let small = with(read, "page_size", json!(9_999));
    server.post("/api/list_subjects", &small).fails(400, "page_size");
}

/// The actors of a page and its token.
fn page(server: &Server, body: &Json) -> (Vec<Json>, Option<String>) {
    let answer = server.post("/api/list_subjects", body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    let body = answer.json();
    assert_eq!(body.as_object().unwrap().len(), 2);
    (body["results"].as_array().unwrap().clone(), body["next_page_token"].as_str().map(str::to_owned))
}

#[test]
fn pages_together_are_the_list_also_after_a_restart() {
    let server = serving(SEVERAL);
    let of = |ty: &'static str, n: usize| {
        (0..n).map(move |i| fact_json(&["has_role", &format!("{ty}:{i}"), "String:reader", "Repo:a"]))
    };
    let facts: Vec<Json> = of("Bot", 8_000).chain(of("User", 15_000)).collect();
    assert_eq!(server.post("/api/bulk_load", &json!(facts)).status, 200);
    let expected =
        |ty: &'static str, n: usize| (0..n).map(move |i| json!({ "type": ty, "id": i.to_string() }));
    let expected: Vec<Json> = expected("Bot", 8_000).chain(expected("User", 15_000)).collect();

    let whole = server.post("/api/list_subjects", &ask("read", "Repo:a"));
    assert!(whole.json() == json!({ "results": expected }));
    for types in [json!(null), json!(["Bot", "User"])] {
        let asked = with(with(ask("read", "Repo:a"), "page_size", json!(10_000)), "actor_types", types);
        let (first, token) = page(&server, &asked);
        let token = token.unwrap();
        let (second, next) = page(&server, &with(asked.clone(), "page_token", json!(token)));
        let (third, last) = page(&server, &with(asked, "page_token", json!(next.unwrap())));
        assert_eq!([first.len(), second.len(), third.len()], [10_000, 10_000, 3_000]);
        assert_eq!(last, None);
        assert!([first, second, third].concat() == expected);
    }
    // A page starts after an actor, also if that actor is gone.
    let asked = with(ask("read", "Repo:a"), "page_size", json!(10_000));
    let (_, token) = page(&server, &asked);
    let gone: Vec<Json> = (1_000..2_000)
        .map(|i| fact_json(&["has_role", &format!("User:{i}"), "String:reader", "Repo:a"]))
        .collect();
    assert_eq!(server.post("/api/batch", &json!([{ "deletes": gone }])).status, 200);
    let server = server.restart();
    let (second, _) = page(&server, &with(asked, "page_token", json!(token.unwrap())));
    assert!(second == expected[10_000..20_000]);
}

#[test]
fn a_token_belongs_to_its_question() {
    let server = serving(SEVERAL);
    let facts: Vec<Json> = (0..10_001)
        .map(|i| fact_json(&["has_role", &format!("User:{i}"), "String:reader", "Repo:a"]))
        .collect();
    assert_eq!(server.post("/api/bulk_load", &json!(facts)).status, 200);
    let asked = with(ask("read", "Repo:a"), "page_size", json!(10_000));
    let (_, token) = page(&server, &asked);
    let asked = with(asked, "page_token", json!(token.unwrap()));
    assert_eq!(page(&server, &asked).0.len(), 1);
    let context = json!([fact_json(&["is_public", "Repo:x"])]);
    for (field, other) in [
        ("action", json!("see")),
        ("resource_type", json!("User")),
        ("resource_id", json!("b")),
        ("actor_types", json!(["User"])),
        ("context_facts", context),
        ("page_token", json!("r09999")),
    ] {
        server.post("/api/list_subjects", &with(asked.clone(), field, other)).fails(400, "page_token");
    }
    let list = json!({
        "actor_type": "", "actor_id": "read", "action": "Repo", "resource_type": "a",
        "page_token": asked["page_token"],
    });
    server.post("/api/list", &list).fails(400, "page_token");
}
