//! The engine as its callers see it: policies and facts in, decisions out.

mod evaluating;
mod moments;
mod policies;
mod questions;

use super::fixture::{fact, value};
use super::{Change, Engine, EngineSettings, PolicyOptions};

/// Repositories of organizations, public ones, and superusers who may do everything.
const POLICY: &str = r#"
actor User {}
resource Org { roles = ["member", "admin"]; "member" if "admin"; }
resource Repo {
  relations = { org: Org };
  roles = ["reader", "writer"];
  permissions = ["read", "write"];
  "read" if "reader"; "write" if "writer"; "reader" if "writer";
  "reader" if "member" on "org"; "writer" if "admin" on "org";
  "read" if is_public(resource);
}
allow(u: User, _: String, _: Repo) if is_superuser(u);
allow(u: User, action: String, r: Repo) if has_permission(u, action, r);
"#;

/// An engine in memory.
async fn engine() -> Engine {
    Engine::in_memory(EngineSettings::default()).await.expect("a store in memory")
}

/// An engine with this policy and these facts, written like `has_role(User:a, String:b)`.
async fn engine_with(policy: &str, facts: &[(&str, &[&str])]) -> Engine {
    let engine = engine().await;
    engine
        .set_policy(policy.into(), "test.polar".into(), PolicyOptions::default())
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let facts = facts.iter().map(|(predicate, args)| fact(predicate, args)).collect();
    engine.apply(vec![Change::Insert(facts)]).await.unwrap_or_else(|error| panic!("{error}"));
    engine
}

/// [`POLICY`] with one organization, three repositories and three people.
async fn repositories() -> Engine {
    engine_with(
        POLICY,
        &[
            ("has_role", &["User:ada", "String:admin", "Org:acme"]),
            ("has_role", &["User:bob", "String:reader", "Repo:tools"]),
            ("has_relation", &["Repo:anvils", "String:org", "Org:acme"]),
            ("has_relation", &["Repo:rockets", "String:org", "Org:acme"]),
            ("is_public", &["Repo:site"]),
            ("is_superuser", &["User:root"]),
        ],
    )
    .await
}
