//! The engine that inputs are given to, and what it may answer.

use portcullis::engine::{Change, Engine, EngineError, EngineSettings, Fact, PolicyOptions, Value};
use std::sync::LazyLock;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// One worker, with the stack that those of the service have.
pub(crate) static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("threads can be started")
});

/// A policy with a hierarchy, a recursion through groups and folders, a negation and every kind of value.
pub(crate) const POLICY: &str = r#"
actor User {}
actor Group {}

resource Folder {
  roles = ["reader", "editor"];
  permissions = ["read"];
  relations = { parent: Folder };

  "reader" if "editor";
  role if role on "parent";
  "read" if "reader" and not is_blocked(actor, resource);
}

has_role(user: User, role: String, folder: Folder) if
  in_group(user, group) and group matches Group and has_role(group, role, folder);

has_permission(_: User, "read", folder: Folder) if is_public(folder, true);
has_permission(user: User, "read", folder: Folder) if grade(user, n) and n > 7 and level(folder, n);
declare note(User, String);
"#;

/// The settings of a service, except that no question may take long.
pub(crate) fn settings() -> EngineSettings {
    EngineSettings { query_time: Duration::from_secs(5), ..EngineSettings::default() }
}

/// An engine with the policy and some facts.
pub(crate) async fn furnished() -> Engine {
    let engine = Engine::in_memory(settings()).await.expect("an engine");
    let options = PolicyOptions::default();
    engine.set_policy(POLICY.to_owned(), "fuzz.polar".to_owned(), options).await.expect("the policy is good");
    engine.apply(vec![Change::Insert(facts())]).await.expect("the facts are good");
    engine
}

fn facts() -> Vec<Fact> {
    let user = |id| Value::new("User", id);
    let folder = |id| Value::new("Folder", id);
    let text = |id| Value::new("String", id);
    let staff = || Value::new("Group", "staff");
    vec![
        Fact::new("has_role", vec![user("ada"), text("reader"), folder("work")]),
        Fact::new("has_role", vec![staff(), text("editor"), folder("1")]),
        Fact::new("in_group", vec![user("bob"), staff()]),
        Fact::new("has_relation", vec![folder("plans"), text("parent"), folder("work")]),
        Fact::new("has_relation", vec![folder("work"), text("parent"), folder("plans")]),
        Fact::new("is_blocked", vec![user("ada"), folder("plans")]),
        Fact::new("is_public", vec![folder("open"), Value::new("Boolean", "true")]),
        Fact::new("grade", vec![user("ada"), Value::new("Integer", "8")]),
        Fact::new("level", vec![folder("high"), Value::new("Integer", "8")]),
    ]
}

/// The answer, or `None` if the asker is refused; everything else is a bug.
#[track_caller]
pub(crate) fn unless_refused<T>(answer: Result<T, EngineError>) -> Option<T> {
    match answer {
        Ok(answer) => Some(answer),
        Err(
            refused @ (EngineError::BadRequest(_)
            | EngineError::Refused(_)
            | EngineError::UnknownPredicate { .. }
            | EngineError::Bindings(_)
            | EngineError::TooLarge(_)
            | EngineError::Timeout(_)),
        ) => {
            assert!(!refused.to_string().is_empty(), "a refusal without a reason");
            None
        }
        Err(fault) => panic!("{fault}"),
    }
}
