//! Why a question is answered as it is.

use portcullis::http::WhyOut;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{fact_json, question, value_json};
use serde_json::{Value as Json, json};

fn populated() -> Server {
    let server = Server::start();
    server.add(&[
        &["has_role", "User:ada", "String:member", "Org:o"],
        &["has_relation", "Repo:a", "String:org", "Org:o"],
        &["is_public", "Repo:c"],
    ]);
    server
}

fn explained(server: &Server, body: &Json) -> WhyOut {
    let answer = server.post("/api/explain", body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    serde_json::from_value(answer.json()).unwrap()
}

/// The facts of a list of lists, as they are sent.
fn facts(suggestions: &Json) -> Vec<Json> {
    suggestions.as_array().unwrap().iter().map(|set| set[0].clone()).collect()
}

#[test]
fn a_yes_has_a_proof() {
    let server = populated();
    let answer = server.post("/api/explain", &question("ada", "read", "a")).json();
    assert_eq!((&answer["allowed"], &answer["truncated"]), (&json!(true), &json!(false)));
    assert_eq!((&answer["policy"], &answer["failures"]), (&json!("policy.polar"), &json!([])));
    let step = |place: &Json| &answer["steps"][usize::try_from(place.as_u64().unwrap()).unwrap()];
    let allow = step(&answer["proof"][0]);
    assert_eq!(allow["fact"], fact_json(&["allow", "User:ada", "String:read", "Repo:a"]));
    assert_eq!((&allow["height"], &allow["rule"]["line"]), (&json!(3), &json!(null)));
    let permission = step(&allow["conditions"][0]["step"]);
    assert_eq!(permission["rule"], json!({ "line": 22, "text": "\"read\" if \"reader\";" }));
    let role = step(&permission["conditions"][0]["step"]);
    assert_eq!((&role["rule"]["line"], &role["height"]), (&json!(21), &json!(1)));
    let leaves: Vec<&Json> =
        role["conditions"].as_array().unwrap().iter().map(|condition| step(&condition["step"])).collect();
    assert!(leaves.iter().all(|leaf| leaf["source"] == "stored" && leaf["height"] == 0), "{leaves:?}");
}

#[test]
fn what_holds_for_everybody_has_a_wildcard() {
    let server = populated();
    let answer = server.post("/api/explain", &question("nobody", "read", "c")).json();
    let place = usize::try_from(answer["proof"][0].as_u64().unwrap()).unwrap();
    assert_eq!(answer["steps"][place]["fact"]["args"][0]["id"], json!(null));
}

#[test]
fn a_no_has_reasons_and_what_would_change_it() {
    let server = populated();
    let answer = server.post("/api/explain", &question("bob", "write", "a")).json();
    assert_eq!((&answer["allowed"], &answer["proof"]), (&json!(false), &json!([])));
    let first = &answer["failures"][0];
    assert_eq!(first["goal"], fact_json(&["allow", "User:bob", "String:write", "Repo:a"]));
    assert_eq!(first["attempts"][0]["lacks"], json!({ "goal": 1 }));
    let writer = fact_json(&["has_role", "User:bob", "String:writer", "Repo:a"]);
    assert_eq!(facts(&answer["suggestions"]), [writer]);
    let read = server.post("/api/explain", &question("bob", "read", "a")).json();
    for fact in facts(&read["suggestions"]) {
        let mut body = question("bob", "read", "a");
        assert!(!server.may("bob", "read", "a"));
        body["context_facts"] = json!([fact]);
        server.post("/api/authorize", &body).is(200, &json!({ "allowed": true }));
    }
    assert_eq!(read["suggestions"].as_array().unwrap().len(), 4, "{read}");
}

#[test]
fn larger_sets_are_suggested_if_no_smaller_one_helps() {
    let server = Server::empty();
    // Trusted users are watched, so trust alone never helps.
    let policy = "actor User {} resource Repo {} \
        allow(user: User, \"read\", repo: Repo) if is_trusted(user) and not is_watched(user) and exists(repo); \
        is_watched(user: User) if is_trusted(user); \
        allow(user: User, \"read\", repo: Repo) if is_member(user) and is_open(repo); \
        exists(_: Repo); \
        declare is_trusted(User); declare is_member(User); declare is_open(Repo);";
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    let why = server.post("/api/explain", &question("bob", "read", "a")).json();
    let both = json!([[fact_json(&["is_member", "User:bob"]), fact_json(&["is_open", "Repo:a"])]]);
    assert_eq!((&why["suggestions"], &why["suggestions_truncated"]), (&both, &json!(false)));
}

#[test]
fn context_facts_are_part_of_the_explanation() {
    let server = populated();
    let mut body = question("bob", "write", "a");
    body["context_facts"] = json!([fact_json(&["has_role", "User:bob", "String:writer", "Repo:a"])]);
    let answer = server.post("/api/explain", &body).json();
    let steps = answer["steps"].as_array().unwrap();
    assert!(answer["allowed"] == true && steps.iter().any(|step| step["source"] == "context"), "{answer}");
    assert!(!explained(&server, &question("bob", "write", "a")).allowed);
}

/// One rule of `allow` denies a role from which another rule may permit: the plan has an alternative that
/// asks what it denies, as a test or as rows that it reads.
#[test]
fn a_rule_may_deny_the_role_that_permits() {
    let asked = [
        r#"has_relation(resource, "parent", there)"#,
        r#"has_relation(resource, "parent", there) and has_role(actor, "reader", there)
            and has_role(actor, "writer", there) and open(there)"#,
    ];
    for asked in asked {
        let server = Server::empty();
        let policy = format!(
            r#"
            actor User {{}}
            resource Doc {{
              roles = ["reader", "writer", "owner"];
              permissions = ["read"];
              relations = {{ parent: Doc }};
              "read" if "reader";
            }}
            resource Memo extends Doc {{
              roles = ["author"];
              "reader" if role on "parent";
            }}
            declare open(Doc);
            allow(actor: Actor, action: String, resource: Resource) if
              {asked} and has_permission(actor, action, resource);
            allow(actor: Actor, action: String, resource: Resource) if
              not has_role(actor, "reader", resource) and has_permission(actor, action, resource);
            has_permission(user: User, _: String, _: Doc) if has_role(user, "trusted");"#
        );
        assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
        server.add(&[
            &["has_role", "User:ada", "String:trusted"],
            &["has_role", "User:ada", "String:author", "Memo:m"],
        ]);
        let mut body = json!({
            "actor_type": "User", "actor_id": "ada", "action": "read",
            "resource_type": "Memo", "resource_id": "m",
            "context_facts": [
                fact_json(&["has_relation", "Memo:n", "String:parent", "Memo:m"]),
                fact_json(&["has_role", "User:ada", "String:writer", "Memo:n"]),
                fact_json(&["has_role", "User:bob", "String:owner", "Doc:d"]),
            ],
        });
        assert!(explained(&server, &body).allowed, "{asked}");
        body["actor_id"] = json!("bob");
        assert!(!explained(&server, &body).allowed, "{asked}");
    }
}

#[test]
fn any_predicate_can_be_explained() {
    let server = populated();
    let repo = |name: &str| json!({ "type": name, "ids": null });
    let body = json!({
        "predicate": ["has_role", ["user", "role", "repo"]],
        "calls": [["is_public", ["open"]]],
        "constraints": {
            "user": { "type": "User", "ids": ["ada"] },
            "role": { "type": "String", "ids": ["reader"] },
            "repo": repo("Repo"),
            "open": repo("Repo"),
        },
    });
    let why = explained(&server, &body);
    let found: Vec<String> =
        why.proof.iter().map(|step| why.steps[*step].fact.args.last().unwrap().id.clone().unwrap()).collect();
    assert_eq!((why.allowed, found), (true, vec!["a".to_owned(), "c".to_owned()]));
    let mut none = body.clone();
    none["constraints"]["role"]["ids"] = json!(["writer"]);
    let why = explained(&server, &none);
    assert!(!why.allowed && why.failures[0].goal.is_none(), "{why:?}");
    none["constraints"]["role"]["ids"] = json!([]);
    assert!(!explained(&server, &none).allowed);
    let unknown =
        json!({ "predicate": ["likes", ["u"]], "constraints": { "u": { "type": "User", "ids": ["a"] } } });
    server.post("/api/explain", &unknown).fails(400, "no predicate `likes`");
}

#[test]
fn an_older_version_of_the_policy_explains_with_the_current_facts() {
    let server = populated();
    let asked = question("ada", "read", "a");
    let first = explained(&server, &asked);
    assert_eq!((first.allowed, first.policy_version), (true, Some(1)));
    let stricter = "actor User {} resource Org { roles = [\"member\"]; } resource Repo { permissions = [\"read\"]; \
                    relations = { org: Org }; } declare is_public(Repo); declare is_new(Repo);";
    assert_eq!(server.post("/api/policy", &json!({ "src": stricter })).status, 200);
    assert!(!explained(&server, &asked).allowed);
    let at = |version: &str| server.post(&format!("/api/explain?version={version}"), &asked);
    let then = at("1").json();
    assert_eq!((&then["allowed"], &then["policy_version"]), (&json!(true), &json!(1)));
    assert!(then["offset"].as_u64() > Some(first.offset), "the offset is the current one");
    assert_eq!((&at("2").json()["allowed"], &at("2").json()["policy_version"]), (&json!(false), &json!(2)));
    // A fact of a kind that version 1 does not have; and one that it reads is gone.
    server.add(&[&["is_new", "Repo:a"]]);
    assert_eq!(at("1").json()["allowed"], json!(true));
    let member = json!({ "predicate": "has_role", "args": [
        { "type": "User", "id": "ada" }, { "type": "String", "id": "member" }, { "type": "Org", "id": "o" }
    ] });
    assert_eq!(server.post("/api/bulk_delete", &json!([member])).status, 200);
    assert_eq!(at("1").json()["allowed"], json!(false));
    at("99").fails(404, "there is no policy with id 99");
    at("first").fails(400, "`first` is not the number of a policy version");
}

#[test]
fn a_grant_for_some_time_is_explained_at_another_time() {
    let server = Server::empty();
    let policy = "actor User {} resource Repo {} \
        allow(user: User, \"read\", _: Repo) if granted_until(user, time) and time > @current_unix_time; \
        declare granted_until(User, Integer);";
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    server.add(&[&["granted_until", "User:ada", "Integer:1700000000"]]);
    let at =
        |parameters: &str| server.post(&format!("/api/explain{parameters}"), &question("ada", "read", "a"));
    assert_eq!(at("").json()["allowed"], json!(false));
    assert_eq!(at("?at=1700000000").json()["allowed"], json!(false));
    let then = at("?at=1699999999&version=1").json();
    assert_eq!(then["allowed"], json!(true), "{then}");
    let comparison = json!({ "test": "time > @current_unix_time: 1700000000 > 1699999999" });
    let steps = then["steps"].as_array().unwrap();
    assert!(steps.iter().any(|step| step["conditions"].as_array().unwrap().contains(&comparison)), "{then}");
    at("?at=yesterday").fails(400, "`yesterday` is not a time");
}

#[test]
fn a_request_that_is_wrong_is_refused_like_a_check() {
    let server = populated();
    let mut body = question("ada", "read", "a");
    body.as_object_mut().unwrap().remove("action");
    server.post("/api/explain", &body).fails(400, "missing field `action`");
    let mut body = question("ada", "read", "a");
    body["context_facts"] = json!([fact_json(&["unheard_of", "Repo:a"])]);
    server.post("/api/explain", &body).fails(400, "not used in policy");
    assert!(!explained(&Server::empty(), &question("ada", "read", "a")).allowed);
}

#[test]
fn types_that_the_policy_does_not_know_are_named_as_in_the_question() {
    let server = populated();
    let strange = json!({ "actor_type": "Martian", "actor_id": "x", "action": "read", "resource_type": "Crater", "resource_id": "y" });
    let why = server.post("/api/explain", &strange).json();
    assert_eq!(why["allowed"], json!(false));
    assert_eq!(why["failures"][0]["goal"]["args"][2], value_json("Crater:y"));
}

/// Hierarchies and groups that would take a whole explanation far beyond its limits.
#[test]
fn what_is_too_deep_or_too_wide_is_cut_in_time() {
    let server = Server::empty();
    let policy = r#"
        actor User {}
        actor Group {}
        resource Folder {
          roles = ["reader"];
          permissions = ["read"];
          relations = { parent: Folder };
          "read" if "reader";
          "reader" if "reader" on "parent";
        }
        is_old(group: Group) if joined(_user, group, year) and year > 2100;
        declare joined(User, Group, Integer);
    "#;
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    let folder = |name: &str, n: usize| format!("Folder:{name}{n}");
    let parent = |child: &str, parent: &str| fact_json(&["has_relation", child, "String:parent", parent]);
    let insert = |facts: Vec<Json>| {
        for part in facts.chunks(20_000) {
            assert_eq!(server.post("/api/batch", &json!([{ "inserts": part }])).status, 200);
        }
    };
    insert((0..20_000).map(|n| parent(&folder("deep", n), &folder("deep", n + 1))).collect());
    insert((0..20).map(|n| parent(&folder("round", n), &folder("round", (n + 1) % 20))).collect());
    let member = |n: usize| fact_json(&["joined", &format!("User:u{n}"), "Group:all", "Integer:2026"]);
    insert((0..100_000).map(member).collect());
    insert(vec![fact_json(&["has_role", "User:ada", "String:reader", "Folder:deep20000"])]);
    let explain = |body: &Json| {
        let begun = std::time::Instant::now();
        let why = explained(&server, body);
        // In a debug build and next to other tests, it takes a multiple of its limit of two seconds.
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{:?}", begun.elapsed());
        why
    };
    let ask = |user: &str, folder: &str| {
        let mut body = question(user, "read", folder);
        body["resource_type"] = json!("Folder");
        explain(&body)
    };
    let yes = ask("ada", "deep0");
    assert!(yes.allowed && yes.truncated, "{} {}", yes.allowed, yes.truncated);
    let no = ask("eve", "deep0");
    assert!(!no.allowed && no.truncated && no.failures.is_empty());
    let round = ask("eve", "round0");
    assert!(!round.allowed && !round.failures.is_empty() && !round.suggestions.is_empty());
    let members = explain(&json!({
        "predicate": ["is_old", ["group"]],
        "constraints": { "group": { "type": "Group", "ids": ["all"] } },
    }));
    assert!(!members.allowed && members.truncated, "{members:?}");
}

#[test]
fn a_suggestion_says_what_else_it_would_change() {
    let server = Server::start();
    let policy = r#"
        actor User {}
        resource Repo {
          roles = ["reader", "writer"];
          permissions = ["read", "write", "delete", "apply"];
          "reader" if "writer";
          "read" if "reader";
          "write" if "writer";
          "delete" if "writer";
        }
        has_permission(user: User, "apply", repo: Repo) if not has_role(user, "writer", repo);
    "#;
    assert_eq!(server.post("/api/policy", &json!({ "src": policy })).status, 200);
    let effects = |path: &str, body: &Json| {
        let answer = server.post(path, body);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let answer = answer.json();
        (facts(&answer["suggestions"]), answer["suggestion_effects"].clone())
    };
    let role = |role: &str| fact_json(&["has_role", "User:bob", &format!("String:{role}"), "Repo:a"]);
    let asked = "/api/explain?effects=true";
    let (suggested, told) = effects(asked, &question("bob", "write", "a"));
    assert_eq!(suggested, [role("writer")]);
    assert_eq!(told, json!([{ "allows": ["delete", "read"], "denies": ["apply"] }]));

    // What is allowed already, and what the request adds, is no effect.
    let (suggested, told) = effects(asked, &question("bob", "read", "a"));
    assert_eq!(suggested, [role("reader"), role("writer")]);
    let of_writer = json!({ "allows": ["delete", "write"], "denies": ["apply"] });
    assert_eq!(told, json!([{ "allows": [], "denies": [] }, of_writer]));
    let mut with_context = question("bob", "write", "a");
    with_context["context_facts"] = json!([role("reader")]);
    let (_, told) = effects(asked, &with_context);
    assert_eq!(told, json!([{ "allows": ["delete"], "denies": ["apply"] }]));

    let (suggested, told) = effects("/api/explain", &question("bob", "write", "a"));
    assert_eq!((suggested, told), (vec![role("writer")], json!([])));
    let query = json!({
        "predicate": ["has_role", ["user", "role", "repo"]], "constraints": {
            "user": { "type": "User", "ids": ["bob"] }, "role": { "type": "String", "ids": ["writer"] },
            "repo": { "type": "Repo", "ids": ["a"] },
        },
    });
    let (_, told) = effects(asked, &query);
    assert_eq!(told, json!([]), "only a check has an actor and a resource");
}
