//! The decisions that the studio shows: whose they are, and who sees them.

use super::client::{Reply, open, origin, send};
use libtest_mimic::Trial;
use portcullis_testkit::program::{Service, key, portcullis};
use portcullis_testkit::tools::outputs;
use serde_json::{Value as Json, json};
use std::path::Path;

pub(super) fn trials() -> Vec<Trial> {
    vec![
        Trial::test("decisions_stay_in_their_environment", || {
            decisions_stay_in_their_environment();
            Ok(())
        }),
        Trial::test("decisions_are_kept_only_if_they_are_logged", || {
            decisions_are_kept_only_if_they_are_logged();
            Ok(())
        }),
    ]
}

const POLICY: &str = r#"actor User {}
resource Repo { roles = ["reader"]; permissions = ["read"]; "read" if "reader"; "read" if is_open(resource); }
declare is_open(Repo);"#;

/// A session in the studio, as its page asks.
struct StudioPage<'s> {
    service: &'s Service,
    cookie: String,
}

impl<'s> StudioPage<'s> {
    fn open(service: &'s Service, key: &str) -> Self {
        let cookie = open(service, &json!({ "key": key }));
        Self { service, cookie: cookie.unwrap_or_else(|refused| panic!("{}", refused.body)) }
    }

    fn post(&self, path: &str, body: &Json) -> Reply {
        let origin = origin(self.service);
        let headers = [("Cookie", self.cookie.as_str()), ("Origin", origin.as_str())];
        send(self.service, &format!("POST /studio/draft/{path}"), &headers, Some(body))
    }

    fn answer(&self, path: &str, body: &Json) -> Json {
        let reply = self.post(path, body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.json()
    }
}

fn value(ty: &str, id: &str) -> Json {
    json!({ "type": ty, "id": id })
}

/// Asks whether a user may read a repository; with these context facts.
fn check(service: &Service, key: &str, user: &str, context: &Json) -> bool {
    let body = json!({
        "actor_type": "User", "actor_id": user, "action": "read", "resource_type": "Repo", "resource_id": "docs",
        "context_facts": context,
    });
    let (status, answer) = service.caller.post(key, "authorize", &body);
    assert_eq!(status, 200, "{answer}");
    answer["allowed"].as_bool().unwrap()
}

fn store(service: &Service, key: &str, user: &str) {
    let (status, answer) = service.caller.post(key, "policy", &json!({ "src": POLICY }));
    assert_eq!(status, 200, "{answer}");
    let role = [value("User", user), value("String", "reader"), value("Repo", "docs")];
    let (status, answer) =
        service.caller.post(key, "facts", &json!({ "predicate": "has_role", "args": role }));
    assert_eq!(status, 200, "{answer}");
}

fn reader(folder: &Path) -> String {
    let mut create = portcullis(folder);
    create.args(["keys", "create", "--name", "looks", "--read-only", "--environment", "one", "--data", "d"]);
    outputs(&mut create).unwrap().trim().to_owned()
}

fn decisions_stay_in_their_environment() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("decisions.log");
    let flags = ["--studio", "--decision-log", log.to_str().unwrap(), "--decision-log-facts", "only is_open"];
    let [one, other] = ["one", "other"].map(|environment| key(folder.path(), environment));
    let reader = reader(folder.path());
    let service = Service::start(folder.path(), &flags);
    store(&service, &one, "tom");
    store(&service, &other, "eve");
    let open = json!([{ "predicate": "is_open", "args": [value("Repo", "docs")] }]);
    let role = [value("User", "bob"), value("String", "reader"), value("Repo", "docs")];
    let hidden = json!([{ "predicate": "has_role", "args": role }]);
    assert!(check(&service, &one, "tom", &json!([])));
    assert!(check(&service, &one, "tom", &json!([])));
    assert!(check(&service, &one, "bob", &open));
    assert!(check(&service, &one, "bob", &hidden));
    assert!(check(&service, &reader, "tom", &json!([])));
    assert!(check(&service, &other, "eve", &json!([])));

    let page = StudioPage::open(&service, &one);
    let found = page.answer("decisions", &json!({}));
    let decisions = found["decisions"].as_array().unwrap();
    let actors: Vec<&str> = decisions.iter().map(|line| line["actor"]["id"].as_str().unwrap()).collect();
    assert_eq!(actors, ["tom", "bob", "bob", "tom", "tom"], "newest first, and none of another environment");
    assert_eq!((&found["is_kept"], &found["latest"]), (&json!(true), &json!(5)));
    assert_eq!((&decisions[0]["key"], &decisions[0]["allowed"]), (&json!("looks"), &json!(true)));
    // What the log does not show, the page does not show either.
    assert_eq!(decisions[1]["context_facts_left_out"], 1);
    assert_eq!(decisions[1].get("context_facts"), None);
    assert_eq!(decisions[2]["context_facts"], open);
    let newer = page.answer("decisions", &json!({ "after": 4 }));
    assert_eq!(newer["decisions"].as_array().unwrap().len(), 1);

    let elsewhere = StudioPage::open(&service, &other);
    let found = elsewhere.post("decisions", &json!({}));
    assert!(!found.body.contains("tom") && !found.body.contains("bob"), "{}", found.body);
    assert_eq!(found.json()["decisions"].as_array().unwrap().len(), 1);
    let draft = json!({ "policy": POLICY.replace(r#""read" if "reader";"#, "") });
    let changed = elsewhere.post("decisions/changed", &draft);
    assert!(!changed.body.contains("tom") && changed.body.contains("eve"), "{}", changed.body);

    let changed = page.answer("decisions/changed", &draft);
    let [change] = changed["changes"].as_array().unwrap().as_slice() else { panic!("{changed}") };
    assert_eq!((&change["actor"]["id"], &change["times"]), (&json!("tom"), &json!(3)));
    assert_eq!((&change["active"], &change["draft"]), (&json!(true), &json!(false)));
    let counts =
        ["decisions", "questions", "compared", "not_whole"].map(|name| changed[name].as_u64().unwrap());
    assert_eq!(counts, [5, 2, 2, 1], "{changed}");
    assert_eq!(page.post("decisions/changed", &json!({ "policy": "actor" })).status, 400);

    let reading = StudioPage::open(&service, &reader);
    for path in ["decisions", "decisions/changed"] {
        let refused = reading.post(path, &draft);
        assert_eq!((refused.status, refused.json()["code"].clone()), (403, json!("read_only_key")), "{path}");
        assert!(!refused.body.contains("tom"), "{}", refused.body);
    }
}

fn decisions_are_kept_only_if_they_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let one = key(folder.path(), "one");
    let service = Service::start(folder.path(), &["--studio"]);
    store(&service, &one, "tom");
    assert!(check(&service, &one, "tom", &json!([])));
    let page = StudioPage::open(&service, &one);
    let found = page.answer("decisions", &json!({}));
    assert_eq!((&found["is_kept"], &found["decisions"]), (&json!(false), &json!([])));
    let changed = page.answer("decisions/changed", &json!({ "policy": "" }));
    assert_eq!((&changed["is_kept"], &changed["changes"]), (&json!(false), &json!([])));
}
