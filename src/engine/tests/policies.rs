//! Uploading policies, their own tests, and what stays when one is refused.

use super::super::{Change, Engine, EngineError, EngineSettings, PolicyChange, PolicyOptions, PolicyRefusal};
use super::{POLICY, engine, engine_with, fact, repositories, value};
use std::sync::Arc;

async fn upload(engine: &Engine, src: &str, options: PolicyOptions) -> Result<PolicyChange, EngineError> {
    Ok(engine.set_policy(src.into(), "test.polar".into(), options).await?.change)
}

#[tokio::test]
async fn the_same_policy_again_changes_nothing() {
    let engine = engine().await;
    let options = PolicyOptions::default();
    assert_eq!(upload(&engine, POLICY, options).await.unwrap(), PolicyChange::Updated);
    assert_eq!(upload(&engine, POLICY, options).await.unwrap(), PolicyChange::Unchanged);
    assert_eq!(engine.stats().await.unwrap().versions.len(), 1);
}

#[tokio::test]
async fn a_refused_policy_leaves_the_active_one() {
    let engine = repositories().await;
    let force = PolicyOptions { force: true, ..PolicyOptions::default() };
    let refused = upload(&engine, "allow(a, b) if nonsense(", force).await.unwrap_err();
    let EngineError::Policy(PolicyRefusal::Validation { message, errors }) = refused else {
        panic!("{refused}")
    };
    assert!(message.contains("test.polar:1:") && !errors.is_empty(), "{message}");
    let policy = engine.policy(None).await.unwrap().unwrap();
    assert_eq!(policy.src, POLICY);
    assert!(
        engine.authorize(value("User", "ada"), "read".into(), value("Repo", "anvils"), vec![]).await.unwrap()
    );
}

const FAILING: &str = r#"
actor User {}
resource Repo { permissions = ["read", "write"]; roles = ["reader"]; "read" if "reader"; }
test "readers read" {
  setup { has_role(User{"a"}, "reader", Repo{"r"}); }
  assert allow(User{"a"}, "read", Repo{"r"});
  assert allow(User{"a"}, "write", Repo{"r"});
  assert_not allow(User{"a"}, "read", Repo{"r"});
  assert allow(User{"a"}, action: String, Repo{"r"}) iff action in ["write"];
  assert allow(user: User, "read", Repo{"r"});
}
test "strangers do not" { assert_not allow(user: User, "read", Repo{"r"}); }
"#;

#[tokio::test]
async fn failing_tests_say_where_and_what_was_found_and_only_force_passes_them() {
    let engine = engine().await;
    let refused = upload(&engine, FAILING, PolicyOptions::default()).await.unwrap_err();
    let EngineError::Policy(PolicyRefusal::Tests { message, report }) = refused else { panic!("{refused}") };
    let expected = [
        r#"test `readers read`, line 7: `assert allow(User{"a"}, "write", Repo{"r"})` has no answer"#,
        r#"test `readers read`, line 8: `assert_not allow(User{"a"}, "read", Repo{"r"})` has an answer"#,
        r#"test `readers read`, line 9: `assert allow(User{"a"}, action: String, Repo{"r"}) iff action in ["write"]` holds for "read", and does not hold for "write""#,
        r#"test `readers read`, line 10: `assert allow(user: User, "read", Repo{"r"})` does not hold for any other User"#,
    ];
    assert_eq!(message.lines().collect::<Vec<_>>(), expected);
    let counts: Vec<_> = report.tests.iter().map(|test| (test.passed, test.total)).collect();
    assert_eq!(counts, [(1, 5), (1, 1)]);
    assert!(engine.policy(None).await.unwrap().is_none());

    let force = PolicyOptions { force: true, ..PolicyOptions::default() };
    assert_eq!(upload(&engine, FAILING, force).await.unwrap(), PolicyChange::Updated);
}

#[tokio::test]
async fn fail_fast_stops_at_the_first_failing_test() {
    let engine = engine().await;
    let fail_fast = PolicyOptions { fail_fast: true, ..PolicyOptions::default() };
    let refused = upload(&engine, FAILING, fail_fast).await.unwrap_err();
    let EngineError::Policy(PolicyRefusal::Tests { report, .. }) = refused else { panic!("{refused}") };
    assert_eq!(report.tests.len(), 1);
}

#[tokio::test]
async fn tests_are_independent_and_see_no_stored_fact() {
    let policy = r#"
        actor User {}
        resource Doc { permissions = ["read"]; }
        has_permission(u: User, "read", d: Doc) if owner(d, u) and not frozen(d);
        cheap(x: Integer) if x < 10;
        test fixture owned { owner(Doc{"d"}, User{"a"}); }
        test "with a fixture" {
          setup { fixture owned; }
          assert allow(User{"a"}, "read", Doc{"d"});
          assert allow(u: User, "read", Doc{"d"}) iff u = User{"a"};
        }
        test "frozen" {
          setup { fixture owned; frozen(Doc{"d"}); }
          assert_not allow(u: User, "read", Doc{"d"});
        }
        test "integers" { assert cheap(n: Integer) iff n <= 9; }
    "#;
    let engine = engine_with(policy, &[("owner", &["Doc:d", "User:b"]), ("frozen", &["Doc:d"])]).await;
    let program = Arc::new(super::super::fixture::program(policy));
    let report = engine.test_policy(&program, false).await.unwrap();
    assert_eq!(report.errors(), Vec::<String>::new());
    assert_eq!(report.tests.len(), 3);
}

#[tokio::test]
async fn suggestions_are_added_on_request() {
    let engine = engine().await;
    let policy = "allow(actor, action, resource) if owner(actor, resource);".replace("action,", "axtion,");
    let options = PolicyOptions { show_suggestions: true, ..PolicyOptions::default() };
    let outcome = engine.set_policy(policy, "test.polar".into(), options).await.unwrap();
    assert!(outcome.message.starts_with("The policy was updated.\n\nwarning[P07"), "{}", outcome.message);
}

#[tokio::test]
async fn a_policy_that_no_check_fits_is_accepted_with_a_lint() {
    let engine = engine().await;
    let policy = |n: usize| {
        let ways: Vec<String> = (0..n).map(|way| format!("way{way}(user, doc)")).collect();
        let ways = ways.join(" or ");
        format!(
            "actor User {{}} resource Doc {{ permissions = [\"read\"]; }}
             has_permission(user: User, \"read\", doc: Doc) if {ways};"
        )
    };
    let options = PolicyOptions { show_suggestions: true, ..PolicyOptions::default() };
    let outcome = engine.set_policy(policy(10), "test.polar".into(), options).await.unwrap();
    assert_eq!(outcome.message, "The policy was updated.");
    let outcome = engine.set_policy(policy(1_000), "test.polar".into(), options).await.unwrap();
    let lint = "The policy was updated.\n\nwarning[P0707]: with facts of every kind, no check of this policy can be answered\n";
    assert!(outcome.message.starts_with(lint), "{}", outcome.message);
    assert!(!outcome.message.contains("variables"), "a check has none: {}", outcome.message);
    let outcome =
        engine.set_policy(policy(1_001), "test.polar".into(), PolicyOptions::default()).await.unwrap();
    assert!(outcome.message.starts_with(lint), "without being asked for: {}", outcome.message);
    // A rule of `allow` names the action where the block declares none.
    let own = policy(1_000).replace("permissions = [\"read\"];", "").replace("has_permission", "allow");
    let outcome = engine.set_policy(own, "test.polar".into(), PolicyOptions::default()).await.unwrap();
    assert!(outcome.message.starts_with(lint), "{}", outcome.message);
}

#[tokio::test]
async fn a_restart_reloads_the_policy_and_old_versions_stay_readable() {
    let data = tempfile::tempdir().unwrap();
    let open = async || Engine::open(data.path(), EngineSettings::default()).await.unwrap();
    let first = {
        let engine = open().await;
        upload(&engine, "actor User {} resource Doc { roles = [\"owner\"]; }", PolicyOptions::default())
            .await
            .unwrap();
        upload(&engine, POLICY, PolicyOptions::default()).await.unwrap();
        engine.apply(vec![Change::Insert(vec![fact("is_public", &["Repo:r"])])]).await.unwrap();
        engine.stats().await.unwrap().versions[0]
    };
    let engine = open().await;
    assert!(engine.authorize(value("User", "x"), "read".into(), value("Repo", "r"), vec![]).await.unwrap());
    let names = async |id| {
        let blocks = engine.metadata(id).await.unwrap();
        blocks.into_iter().map(|block| block.name).collect::<Vec<_>>()
    };
    assert_eq!(names(None).await, ["Org", "Repo", "User", "global"]);
    assert_eq!(names(Some(first)).await, ["Doc", "User", "global"]);
    assert!(matches!(engine.metadata(Some(99)).await, Err(EngineError::NotFound(_))));
    assert!(matches!(engine.policy(Some(99)).await, Err(EngineError::NotFound(_))));
}

#[tokio::test]
async fn clearing_removes_facts_and_policy() {
    let engine = repositories().await;
    engine.clear().await.unwrap();
    assert!(engine.policy(None).await.unwrap().is_none());
    assert!(matches!(engine.metadata(None).await, Err(EngineError::NotFound(_))));
    assert!(!engine.authorize(value("User", "root"), "x".into(), value("Repo", "r"), vec![]).await.unwrap());
    assert_eq!(upload(&engine, POLICY, PolicyOptions::default()).await.unwrap(), PolicyChange::Updated);
    assert!(!engine.authorize(value("User", "root"), "x".into(), value("Repo", "r"), vec![]).await.unwrap());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_check_during_an_upload_uses_the_old_or_the_new_policy() {
    let grant =
        |extra: &str| format!("actor User {{}} resource Doc {{}} allow(_: User, \"read\", _: Doc); {extra}");
    let engine = engine_with(&grant(""), &[]).await;
    let uploads = {
        let engine = engine.clone();
        tokio::spawn(async move {
            for n in 0..30 {
                upload(&engine, &grant(&format!("p{n}(1);")), PolicyOptions::default()).await.unwrap();
            }
        })
    };
    while !uploads.is_finished() {
        assert!(
            engine.authorize(value("User", "u"), "read".into(), value("Doc", "d"), vec![]).await.unwrap()
        );
    }
    uploads.await.unwrap();
}
