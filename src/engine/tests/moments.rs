//! An answer is of one moment, even if a table is added meanwhile.

use super::super::{Change, EngineError, questions};
use super::{Engine, EngineSettings, PolicyOptions, engine_with, fact, value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// What grants is in an existing table; what forbids has a new name, and so a new table, each time.
const POLICY: &str = r#"
actor User {}
resource Doc { permissions = ["read"]; }
declare granted(User, Doc);
declare has_relation(Doc, String, Doc);
blocked(d: Doc) if has_relation(d, _name, d);
allow(u: User, "read", d: Doc) if granted(u, d) and not blocked(d);
"#;

const ROUNDS: usize = 60;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_batch_is_never_seen_without_its_new_tables() {
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::open(dir.path(), EngineSettings::default()).await.unwrap();
    engine.set_policy(POLICY.into(), "test.polar".into(), PolicyOptions::default()).await.unwrap();
    engine.apply(vec![Change::Insert(vec![fact("granted", &["User:u", "Doc:open"])])]).await.unwrap();
    let round = Arc::new(AtomicUsize::new(0));
    let ended = Arc::new(AtomicBool::new(false));
    let askers: Vec<_> = (0..3)
        .map(|_| {
            let (engine, round, ended) = (engine.clone(), Arc::clone(&round), Arc::clone(&ended));
            tokio::spawn(async move {
                let mut n_asked = 0;
                while !ended.load(Ordering::Relaxed) {
                    let doc = value("Doc", &format!("d{}", round.load(Ordering::Relaxed)));
                    let allowed =
                        engine.authorize(value("User", "u"), "read".into(), doc.clone(), vec![]).await;
                    assert!(!allowed.unwrap(), "{} is granted and blocked in one batch", doc.id);
                    n_asked += 1;
                }
                n_asked
            })
        })
        .collect();
    for n in 0..ROUNDS {
        round.store(n, Ordering::Relaxed);
        let (doc, name) = (format!("Doc:d{n}"), format!("String:n{n}"));
        let batch = vec![fact("granted", &["User:u", &doc]), fact("has_relation", &[&doc, &name, &doc])];
        engine.apply(vec![Change::Insert(batch)]).await.unwrap();
    }
    ended.store(true, Ordering::Relaxed);
    let mut n_asked = 0;
    for asker in askers {
        n_asked += asker.await.unwrap();
    }
    assert!(n_asked > ROUNDS, "{n_asked} questions in {ROUNDS} rounds");
    let open = engine.authorize(value("User", "u"), "read".into(), value("Doc", "open"), vec![]).await;
    assert!(open.unwrap());
    let counted = engine.counters().stored_plans;
    assert_eq!(counted.hits + counted.misses, n_asked as u64 + 1, "a question counts once: {counted:?}");
}

#[tokio::test]
async fn what_is_asked_again_counts_once() {
    let engine = engine_with(POLICY, &[("granted", &["User:u", "Doc:d"])]).await;
    let question = questions::list(&value("User", "u"), "read", "Doc").unwrap();
    let (engine, question) = (&engine, &question);
    let asked = engine.store().consistently(|attempt| async move {
        let ids = engine.window(attempt.clone(), question, None, &[]).await?;
        if attempt.is_first() {
            assert_eq!(ids, ["d"]);
            let blocked = fact("has_relation", &["Doc:d", "String:n", "Doc:d"]);
            engine.apply(vec![Change::Insert(vec![blocked])]).await?;
        }
        Ok::<_, EngineError>(ids)
    });
    assert_eq!(asked.await.unwrap(), [""; 0], "the answer is of the second attempt");
    let counted = engine.counters().stored_plans;
    assert_eq!((counted.hits, counted.misses), (0, 1));
}
