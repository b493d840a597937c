//! Ids, actions and context facts that look like SQL are data in every position.

use portcullis::engine::{Change, Engine, EngineSettings, Fact, PolicyOptions, Value};

const POLICY: &str = r#"
actor User {}
resource Folder { roles = ["reader"]; relations = { parent: Folder }; "reader" if "reader" on "parent"; }
resource Doc {
  permissions = ["read"];
  relations = { folder: Folder };
  "read" if "reader" on "folder" and not is_banned(actor, resource);
}
"#;

/// Texts that end a literal, a statement or a comment somewhere, or stand for a parameter.
const HOSTILE: [&str; 24] = [
    "'; DROP TABLE facts; --",
    "\\' OR 1=1 --",
    "' OR '1'='1",
    "\" OR 1=1 --",
    "'' OR ''",
    "\\",
    "\\\\'",
    "$1",
    "?1",
    ":x",
    "%s",
    "%",
    "_",
    "*",
    "--",
    "/*",
    "*/",
    "[\"a\"]",
    "{\"a\":1}",
    "NULL",
    "\u{202e}abc",
    "é\u{301}\u{1f512}",
    "a\nb\t\r",
    "x'); DELETE FROM relation; --",
];

fn value(ty: &str, id: &str) -> Value {
    Value::new(ty, id)
}

fn facts(id: &str) -> Vec<Fact> {
    let outer = format!("outer {id}");
    vec![
        Fact::new("has_relation", vec![value("Doc", id), value("String", "folder"), value("Folder", id)]),
        Fact::new(
            "has_relation",
            vec![value("Folder", id), value("String", "parent"), value("Folder", &outer)],
        ),
        Fact::new("has_role", vec![value("User", id), value("String", "reader"), value("Folder", &outer)]),
    ]
}

async fn engine() -> Engine {
    let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
    engine.set_policy(POLICY.into(), "policy.polar".into(), PolicyOptions::default()).await.unwrap();
    engine
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_id_is_only_itself_when_stored() {
    let engine = engine().await;
    for id in HOSTILE {
        engine.apply(vec![Change::Insert(facts(id))]).await.unwrap();
    }
    let before = engine.stats().await.unwrap();
    for id in HOSTILE {
        for other in HOSTILE {
            let asked = engine.authorize(value("User", id), "read".into(), value("Doc", other), Vec::new());
            assert_eq!(asked.await.unwrap(), id == other, "{id:?} reads {other:?}");
        }
        let list =
            engine.list(value("User", id), "read".into(), "Doc".into(), None, Vec::new()).await.unwrap();
        assert_eq!(list.ids, [id]);
        let actions = engine.actions(value("User", id), value("Doc", id), Vec::new()).await.unwrap();
        assert_eq!(actions, ["read"]);
    }
    assert_eq!(engine.stats().await.unwrap(), before, "a question changes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_id_is_only_itself_in_the_request() {
    let engine = engine().await;
    for id in HOSTILE {
        let mut context = facts(id);
        let asked = engine.authorize(value("User", id), "read".into(), value("Doc", id), context.clone());
        assert!(asked.await.unwrap(), "{id:?}");
        context.push(Fact::new("is_banned", vec![value("User", id), value("Doc", id)]));
        let asked = engine.authorize(value("User", id), "read".into(), value("Doc", id), context);
        assert!(!asked.await.unwrap(), "{id:?} is banned");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hostile_action_or_type_is_unknown() {
    let engine = engine().await;
    engine.apply(vec![Change::Insert(facts("a"))]).await.unwrap();
    for text in HOSTILE {
        let asked = engine.authorize(value("User", "a"), text.into(), value("Doc", "a"), Vec::new());
        assert!(!asked.await.unwrap(), "{text:?} as an action");
        let asked = engine.authorize(value("User", "a"), "read".into(), value(text, "a"), Vec::new());
        assert!(!asked.await.unwrap(), "{text:?} as a type");
    }
}
