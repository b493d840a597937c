//! Hostile texts in every place of every request that the service answers from its own store.
//!
//! A text equals itself and nothing else: who is called like one gets what was stored for exactly that text.
//! As a name it is unknown or refused. Afterwards everything that was stored is still there, and nothing
//! more.

use super::requests::{POLICY, check, conjunction, encoded, list, note, role, value};
use portcullis_testkit::hostile_texts::TEXTS;
use portcullis_testkit::program::portcullis;
use portcullis_testkit::program::{Caller, Service, key, run};
use serde_json::{Value as Json, json};

/// Texts that a reader, an escaper or a collation may take for another: two of them, others for each `n`.
fn alike(n: usize, text: &str) -> Vec<String> {
    let mut alike = vec![
        format!("{text} "),
        format!(" {text}"),
        format!("{text}'"),
        format!("\\{text}"),
        text.replace('\'', "''"),
        text.replace('\\', "\\\\"),
        text.replace('\'', "\u{2019}"),
        text.replace('a', "\u{430}"),
        text.to_uppercase(),
        text.to_lowercase(),
        text.trim().to_owned(),
        text.chars().skip(1).collect(),
    ];
    alike.retain(|other| other != text && !other.is_empty() && !TEXTS.contains(&other.as_str()));
    let turn = n % alike.len();
    alike.rotate_left(turn);
    alike.truncate(2);
    alike
}

/// A service with the texts as users, roles aside, each a reader of the document of its own name.
struct World {
    service: Service,
    key: String,
    _folder: tempfile::TempDir,
}

impl World {
    fn new(facts: &[Json]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let key = key(folder.path(), "0123456789");
        let service = Service::start(folder.path(), &[]);
        let world = Self { service, key, _folder: folder };
        assert_eq!(world.post("policy", &json!({ "src": POLICY })).0, 200);
        for facts in facts.chunks(200) {
            assert_eq!(world.post("batch", &json!([{ "inserts": facts }])).0, 200);
        }
        world
    }

    fn post(&self, path: &str, body: &Json) -> (u16, Json) {
        self.service.caller.post(&self.key, path, body)
    }

    /// The answer of a good request.
    #[track_caller]
    fn ask(&self, path: &str, body: &Json) -> Json {
        let (status, answer) = self.post(path, body);
        assert_eq!(status, 200, "{path} {body}: {answer}");
        answer
    }

    fn total(&self) -> Json {
        self.service.caller.get(&self.key, "stats").1["facts"]["total"].clone()
    }
}

fn with_context(mut body: Json, context: &[Json]) -> Json {
    body.as_object_mut().unwrap().insert("context_facts".into(), json!(context));
    body
}

#[test]
fn an_id_equals_only_itself() {
    let facts: Vec<Json> = TEXTS.iter().flat_map(|text| [role(text, text), note("canary", text)]).collect();
    let world = World::new(&facts);
    let caller: &Caller = &world.service.caller;
    let results = |list: &[&str]| json!({ "results": list });
    for (n, text) in TEXTS.iter().enumerate() {
        assert_eq!(
            world.ask("authorize", &check(text, "read", text)),
            json!({ "allowed": true }),
            "{text:?}"
        );
        assert_eq!(world.ask("list", &list(text, "read")), results(&[text]), "{text:?}");
        assert_eq!(world.ask("actions", &check(text, "read", text)), results(&["read"]), "{text:?}");
        let who = world.ask("list_subjects", &check(text, "read", text));
        assert_eq!(who, json!({ "results": [value("User", text)] }), "{text:?}");
        let found = world.ask("evaluate_query", &conjunction(text, &[]));
        assert_eq!(found["results"], json!([{ "actor": text, "action": "read", "doc": text }]), "{found}");
        let pattern =
            json!({ "fact": { "predicate": "has_role", "args": [null, null, value("Doc", text)] } });
        assert_eq!(world.ask("query", &pattern), json!({ "results": [role(text, text)] }), "{text:?}");
        let path = format!("facts?predicate=has_role&args.0.type=User&args.0.id={}", encoded(text));
        assert_eq!(caller.get(&world.key, &path), (200, json!([role(text, text)])), "{text:?}");
        for other in alike(n, text) {
            let asked = [check(&other, "read", text), check(text, "read", &other), check(text, &other, text)];
            for asked in asked {
                assert_eq!(world.ask("authorize", &asked), json!({ "allowed": false }), "{text:?} {other:?}");
            }
            assert_eq!(world.ask("list", &list(&other, "read")), results(&[]), "{text:?} {other:?}");
            assert_eq!(world.ask("list_subjects", &check(text, "read", &other)), results(&[]), "{other:?}");
            // Facts of the request count, for their own text.
            let context = [role("eve", &other)];
            assert_eq!(world.ask("list", &with_context(list("eve", "read"), &context)), results(&[&other]));
            let asked = with_context(check("eve", "read", text), &context);
            assert_eq!(world.ask("authorize", &asked), json!({ "allowed": false }), "{text:?} {other:?}");
            let gone = json!([{ "deletes": [role(&other, text), note("canary", &other)] }]);
            world.ask("batch", &gone);
        }
    }
    assert_eq!(world.total(), json!(facts.len()), "nothing came, nothing went, and no two were one");
    // Each is deleted alone.
    for (n, text) in (1..).zip(TEXTS) {
        world.ask(
            "batch",
            &json!([{ "deletes": [{ "predicate": "has_role", "args": [value("User", text), null, null] }] }]),
        );
        assert_eq!(world.total(), json!(facts.len() - n), "{text:?}");
    }
    world.service.stop();
}

/// Requests that have the text where a name is expected.
fn with_name(text: &str) -> Vec<(&'static str, Json)> {
    vec![
        ("facts", json!({ "predicate": text, "args": [value("User", "ada")] })),
        ("facts", json!({ "predicate": "note", "args": [value(text, "ada"), value("String", "x")] })),
        ("batch", json!([{ "inserts": [{ "predicate": text, "args": [value(text, text)] }] }])),
        ("batch", json!([{ "deletes": [{ "predicate": text, "args": [value(text, text), null] }] }])),
        ("batch", json!([{ "deletes": [{ "predicate": "note", "args": [{ "type": text }, null] }] }])),
        (
            "authorize",
            json!({ "actor_type": text, "actor_id": "ada", "action": "read", "resource_type": text, "resource_id": "memo" }),
        ),
        ("list", json!({ "actor_type": text, "actor_id": "ada", "action": text, "resource_type": text })),
        (
            "list",
            json!({ "actor_type": "User", "actor_id": "ada", "action": "read", "resource_type": "Doc", "page_size": 10_000, "page_token": text }),
        ),
        (
            "actions",
            json!({ "actor_type": "User", "actor_id": "ada", "resource_type": text, "resource_id": "memo" }),
        ),
        ("query", json!({ "fact": { "predicate": text, "args": [null, { "type": text }] } })),
        (
            "query",
            with_context(
                json!({ "fact": { "predicate": "note", "args": [null, null] } }),
                &[json!({ "predicate": text, "args": [value(text, text)] })],
            ),
        ),
        (
            "evaluate_query",
            json!({ "predicate": [text, [text]], "calls": [[text, [text, text]]], "constraints": { text: { "type": text, "ids": [text] } } }),
        ),
        ("expect", json!({ "request_id": text, "expected": true })),
        ("policy", json!({ "src": format!("allow({text}"), "filename": text })),
    ]
}

/// As a type, a predicate, an action, a variable or a key of a body a text is unknown or refused.
#[test]
fn a_name_is_known_or_refused() {
    let world = World::new(&[role("ada", "memo"), note("canary", "here")]);
    for text in TEXTS {
        for (path, body) in with_name(text) {
            let (status, answer) = world.post(path, &body);
            assert!([200, 202, 400].contains(&status), "{path} {body}: {status} {answer}");
            let grants = json!({ "allowed": true });
            assert!(
                answer != grants && !answer["results"].to_string().contains("memo"),
                "{path} {body}: {answer}"
            );
        }
        // A variable may have any name; the answer is by that name.
        let named = json!({
            "predicate": ["has_role", ["u", text, "d"]],
            "constraints": { "u": { "type": "User", "ids": null }, *text: { "type": "String", "ids": null }, "d": { "type": "Doc", "ids": null } },
        });
        let (status, answer) = world.post("evaluate_query", &named);
        if *text != "u" && *text != "d" {
            assert_eq!((status, &answer["results"][0][text]), (200, &json!("reader")), "{text:?}: {answer}");
        }
        let key = format!("e_{text}_1_x");
        if key.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
            let (status, _) = world.service.caller.send(&key, "GET /api/stats", &[], None).unwrap();
            assert_eq!(status, 401, "{key}");
        }
        assert_eq!(
            world.post("authorize", &check("ada", "read", "memo")).1,
            json!({ "allowed": true }),
            "{text:?}"
        );
    }
    assert_eq!(world.total(), json!(2));
    world.service.stop();
}

/// The author of a policy may call a role, a permission or a relation what the language accepts. The engine
/// is asked about all of them in `tests/endurance/hostile`; an upload of each second one is enough here.
#[test]
fn a_constant_of_a_policy_is_itself() {
    let world = World::new(&[]);
    let printable = TEXTS.iter().filter(|text| text.chars().all(|c| !c.is_control()));
    let mut n_accepted = 0;
    for text in printable.step_by(2) {
        let quoted = format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""));
        let src = format!(
            "actor User {{}}\nresource Doc {{ roles = [{quoted}]; permissions = [\"read\"]; relations = {{ parent: Doc }};\n\
             {quoted} if {quoted} on \"parent\"; \"read\" if {quoted}; }}\n\
             has_permission(u: User, \"see\", d: Doc) if label(u, {quoted}, d);\ndeclare note(User, String);"
        );
        let (status, answer) = world.post("policy", &json!({ "src": src }));
        assert!(status == 200 || status == 400, "{text:?}: {status} {answer}");
        if status == 400 {
            continue;
        }
        n_accepted += 1;
        let role = |user: &str, role: &str, doc: &str| json!({ "predicate": "has_role", "args": [value("User", user), value("String", role), value("Doc", doc)] });
        world.ask("batch", &json!([{ "inserts": [
            role(text, text, text), note("canary", "here"),
            { "predicate": "label", "args": [value("User", "ada"), value("String", text), value("Doc", text)] },
            { "predicate": "has_relation", "args": [value("Doc", "child"), value("String", "parent"), value("Doc", text)] },
        ] }]));
        let readable = world.ask("list", &list(text, "read"));
        let mut expected = ["child", text];
        expected.sort_unstable();
        assert_eq!(readable, json!({ "results": expected }), "{text:?}");
        assert_eq!(world.ask("list", &list("ada", "see")), json!({ "results": [text] }), "{text:?}");
        assert_eq!(world.ask("list", &list("ada", "read")), json!({ "results": [] }), "{text:?}");
        world.ask("clear_data", &json!({}));
    }
    assert!(n_accepted > 20, "{n_accepted} texts are accepted as names of roles");
    world.service.stop();
}

/// Names of environments come from the command line, and become folders.
#[test]
fn an_environment_has_a_plain_name() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let mut n_refused = 0;
    for text in TEXTS.iter().filter(|text| !text.contains('\0')) {
        let plain =
            text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
        if plain {
            continue;
        }
        let made = portcullis(folder)
            .args(["keys", "create", "--data", "d"])
            .arg(format!("--environment={text}"))
            .output();
        let made = made.unwrap();
        assert_eq!(made.status.code(), Some(1), "{text:?}: {}", String::from_utf8_lossy(&made.stderr));
        n_refused += 1;
        if n_refused > 30 {
            break;
        }
    }
    assert!(!folder.join("d").exists(), "nothing was made");
    assert_eq!(run(folder, &["keys", "list", "--data", "d", "--environment", "../d"]).0, Some(1));
}
