//! Checks, lists and actions.

use super::super::{ActionsQuestion, Change, FactPattern, Page};
use super::{engine, engine_with, fact, repositories, value};
use crate::share::Asker;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test]
async fn before_the_first_policy_nothing_is_granted_and_nothing_accepted() {
    let engine = engine().await;
    let (ada, repo) = (value("User", "ada"), value("Repo", "r"));
    assert!(!engine.authorize(ada.clone(), "read".into(), repo.clone(), vec![]).await.unwrap());
    assert!(engine.actions(ada.clone(), repo.clone(), vec![]).await.unwrap().is_empty());
    assert!(
        engine.list(ada.clone(), "read".into(), "Repo".into(), None, vec![]).await.unwrap().ids.is_empty()
    );
    let context = vec![fact("is_public", &["Repo:r"])];
    let refused = engine.authorize(ada, "read".into(), repo, context.clone()).await.unwrap_err();
    assert!(refused.to_string().contains("not used in policy"));
    assert!(engine.apply(vec![Change::Insert(context)]).await.is_err());
    assert_eq!(engine.stats().await.unwrap().facts.total, 0);
}

#[tokio::test]
async fn stored_facts_decide() {
    let engine = repositories().await;
    let may = async |user: &str, action: &str, repo: &str| {
        engine.authorize(value("User", user), action.into(), value("Repo", repo), vec![]).await.unwrap()
    };
    assert!(may("ada", "write", "anvils").await);
    assert!(may("bob", "read", "tools").await);
    assert!(!may("bob", "write", "tools").await);
    assert!(may("bob", "read", "site").await);
    assert!(may("root", "anything", "nobody-knows-this").await);
    assert!(!may("nobody", "read", "anvils").await);
    assert!(!may("ada", "no such action", "anvils").await);
    let of_type = async |actor: &str, resource: &str| {
        engine.authorize(value(actor, "ada"), "read".into(), value(resource, "anvils"), vec![]).await.unwrap()
    };
    assert!(
        !of_type("Bot", "Repo").await && !of_type("User", "Lab").await && !of_type("Actor", "Repo").await
    );
}

#[tokio::test]
async fn context_facts_count_for_their_request_alone() {
    let engine = repositories().await;
    let (eve, tools) = (value("User", "eve"), value("Repo", "tools"));
    let context = vec![fact("has_role", &["User:eve", "String:writer", "Repo:tools"])];
    let may =
        async |context| engine.authorize(eve.clone(), "write".into(), tools.clone(), context).await.unwrap();
    assert!(may(context.clone()).await);
    assert!(!may(vec![]).await);
    let of_others = vec![fact("has_role", &["User:bob", "String:writer", "Repo:tools"])];
    assert!(!may(of_others).await);
    let pattern = FactPattern::new("has_role", vec![]);
    assert_eq!(engine.facts(FactPattern { open_arity: true, ..pattern }).await.unwrap().len(), 2);
    let many = vec![context[0].clone(); 101];
    let refused = engine.authorize(eve.clone(), "write".into(), tools.clone(), many).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        "the request has 101 context facts, at most 100 are allowed: send fewer, store them, or raise `max_context_facts`"
    );
}

#[tokio::test]
async fn a_set_of_resources_keeps_its_order_and_duplicates() {
    let engine = repositories().await;
    let resources = ["rockets", "tools", "anvils", "rockets", "nobody-knows-this"];
    let resources = resources.map(|id| value("Repo", id)).into_iter().chain([value("Org", "acme")]).collect();
    let allowed =
        engine.authorize_resources(value("User", "ada"), "write".into(), resources, vec![]).await.unwrap();
    let ids: Vec<&str> = allowed.iter().map(|resource| resource.id.as_str()).collect();
    assert_eq!(ids, ["rockets", "anvils", "rockets"]);
}

#[tokio::test]
async fn actions_are_sorted_and_any_is_one_of_them() {
    let engine = repositories().await;
    let question = |user: &str, repo: &str| ActionsQuestion {
        actor: value("User", user),
        resource: value("Repo", repo),
    };
    let asked = vec![question("ada", "anvils"), question("eve", "site"), question("root", "site")];
    let answers = engine.bulk_actions(asked, vec![]).await.unwrap();
    assert_eq!(answers, [vec!["read", "write"], vec!["read"], vec!["*", "read"]]);
}

#[tokio::test]
async fn a_list_reads_the_same_whole_and_in_pages() {
    let engine = repositories().await;
    let list = async |user: &str, page| {
        engine.list(value("User", user), "read".into(), "Repo".into(), page, vec![]).await.unwrap()
    };
    assert_eq!(list("ada", None).await.ids, ["anvils", "rockets", "site"]);
    for (user, whole) in
        [("ada", vec!["anvils", "rockets", "site"]), ("root", vec!["*", "site"]), ("eve", vec!["site"])]
    {
        for size in 1..=4 {
            let (mut ids, mut after) = (Vec::new(), None);
            loop {
                let page = list(user, Some(Page { size, after })).await;
                assert!(page.ids.len() == size || page.next_after.is_none());
                ids.extend(page.ids);
                after = page.next_after;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(ids, whole, "{user} in pages of {size}");
        }
    }
}

#[tokio::test]
async fn a_table_that_comes_later_is_seen_at_once() {
    let engine = engine_with(super::POLICY, &[]).await;
    let may = async || {
        engine.authorize(value("User", "a"), "read".into(), value("Repo", "r"), vec![]).await.unwrap()
    };
    assert!(!may().await);
    engine.apply(vec![Change::Insert(vec![fact("is_public", &["Repo:r"])])]).await.unwrap();
    assert!(may().await);
    engine.apply(vec![Change::Delete(vec![(&fact("is_public", &["Repo:r"])).into()])]).await.unwrap();
    assert!(!may().await);
}

#[tokio::test]
async fn hostile_text_is_only_text() {
    let engine = repositories().await;
    for text in ["'; DROP TABLE f1; --", "\\' OR 1=1 --", "\"", "%", "\u{202e}", "[]", "null", "*"] {
        let (actor, resource) = (value("User", text), value("Repo", text));
        assert!(!engine.authorize(actor.clone(), text.into(), resource, vec![]).await.unwrap(), "{text}");
        let context = vec![fact("has_role", &["User:x", "String:reader", "Repo:x"])];
        let mut context_fact = context;
        context_fact[0].args[0].id = text.into();
        context_fact[0].args[2].id = text.into();
        assert!(
            engine.authorize(actor, "read".into(), value("Repo", text), context_fact).await.unwrap(),
            "{text}"
        );
    }
    let nul = engine.authorize(value("User", "a\0"), "read".into(), value("Repo", "r"), vec![]).await;
    assert!(nul.is_err());
}

/// Ids with different stored forms, in the order of answers.
const IDS: [&str; 15] = [
    "-9223372036854775808",
    "-10",
    "0",
    "9",
    "10",
    "9223372036854775807",
    "\u{1}9",
    "01994a5e-8f2b-7c31-9d4e-5b6a7c8d9e0f",
    "$",
    "+9",
    "09",
    "9.0",
    "9223372036854775808",
    "a",
    "ä",
];

#[tokio::test]
async fn ids_of_every_form_have_one_order_and_each_its_own_answer() {
    let repos: Vec<String> = IDS.iter().map(|id| format!("Repo:{id}")).collect();
    let granted = |repo: &String| fact("has_role", &["User:ada", "String:reader", repo]);
    let engine = repositories().await;
    engine.apply(vec![Change::Insert(repos.iter().map(granted).collect())]).await.unwrap();
    let list = async |user: &str, page| {
        engine.list(value("User", user), "read".into(), "Repo".into(), page, vec![]).await.unwrap()
    };
    let whole = list("ada", None).await.ids;
    let own: Vec<&str> = whole.iter().map(String::as_str).filter(|id| IDS.contains(id)).collect();
    assert_eq!(own, IDS);
    for user in ["ada", "root"] {
        let whole = list(user, None).await.ids;
        for size in 1..=whole.len() + 1 {
            let (mut ids, mut after) = (Vec::new(), None);
            loop {
                let page = list(user, Some(Page { size, after })).await;
                ids.extend(page.ids);
                after = page.next_after;
                if after.is_none() {
                    break;
                }
            }
            assert_eq!(ids, whole, "{user} in pages of {size}");
        }
    }
    let unlike = ["8", "-0", "+10", "9223372036854775809", "01994A5E-8F2B-7C31-9D4E-5B6A7C8D9E0F", "\u{1}"];
    let asked: Vec<_> = IDS.iter().chain(&unlike).map(|id| value("Repo", id)).collect();
    let allowed =
        engine.authorize_resources(value("User", "ada"), "read".into(), asked.clone(), vec![]).await.unwrap();
    assert_eq!(allowed, asked[..IDS.len()]);
    for repo in asked {
        let single = engine.authorize(value("User", "ada"), "read".into(), repo.clone(), vec![]).await;
        assert_eq!(single.unwrap(), allowed.contains(&repo), "{}", repo.id);
        let context = vec![fact("has_role", &["User:eve", "String:reader", &format!("Repo:{}", repo.id)])];
        let mine = engine.authorize(value("User", "eve"), "read".into(), repo.clone(), context).await;
        assert!(mine.unwrap(), "{} by a fact of the request", repo.id);
    }
}

/// New questions take turns being compiled, however many there are; compiled ones do not wait.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_questions_wait_to_be_compiled() {
    let engine = repositories().await;
    let may = async |action: &str| {
        engine.authorize(value("User", "ada"), action.into(), value("Repo", "anvils"), vec![]).await.unwrap()
    };
    assert!(may("write").await);
    let turns = Arc::clone(&engine.settings().compiling);
    let (ends, ended): (Vec<_>, Vec<_>) =
        (0..thread::available_parallelism().unwrap().get()).map(|_| mpsc::channel::<()>()).unzip();
    let busy: Vec<_> = ended
        .into_iter()
        .map(|ended| {
            let turns = Arc::clone(&turns);
            tokio::spawn(async move { turns.run(Asker::default(), move || ended.recv()).await })
        })
        .collect();
    let list_within = async |most: Duration| {
        let list = engine.list(value("User", "ada"), "write".into(), "Repo".into(), None, vec![]);
        timeout(most, list).await.is_ok()
    };
    // Until all of them are busy, it may be compiled; then a policy that takes its place makes it new again.
    while list_within(Duration::from_millis(50)).await {
        engine.activate(engine.active());
    }
    drop(ends);
    for each in busy {
        each.await.unwrap().unwrap().unwrap_err();
    }
    assert!(list_within(Duration::from_mins(1)).await);
}
