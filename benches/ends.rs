//! Local checks of documents whose folders, roles and groups are stored: what a text holds, and what it
//! takes.
//!
//! ```text
//! cargo bench --bench ends [-- --folders 1000000 --users 50 --rounds 20]
//! ```
//!
//! The folders form a tree of ten levels with four subfolders in each. The service stores the whole tree;
//! only the caller's database knows which folder a document is in. A typical user has twelve roles on folders
//! of the lowest three levels, one of them through a group. A user with a role on the fifth level sees more
//! than a thousand folders, one with a role on the first level all of them, which is refused. The engine is
//! asked in this process, each question once before it is timed. A text of more than 4 KiB for a typical user
//! ends the run.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement prints, and ends at the first error"
)]

use portcullis::engine::{Engine, EngineSettings, LocalMode, LocalQuestion, LocalRequest, PolicyOptions};
use portcullis::engine::{EvaluateQuery, EvaluateVar};
use portcullis::store::{Change, Fact, Value};
use portcullis_testkit::local::stored_folders::POLICY;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::time::{Duration, Instant};

const DOCUMENT: &str = "
facts:
  has_relation(Doc:_, folder, Folder:_):
    query: SELECT id, folder_id FROM docs
sql_types:
  Doc: bigint
  Folder: bigint
tables:
  Doc: docs.id
";

/// How many folders a folder holds.
const BRANCHES: usize = 4;

/// How long a text for a typical user may be.
const MOST_BYTES: usize = 4_096;

/// Facts of one change.
const BATCH: usize = 10_000;

fn option(name: &str, default: usize) -> usize {
    let mut args = std::env::args().skip_while(|arg| arg != name);
    args.nth(1).map_or(default, |text| text.parse().unwrap())
}

fn fact(predicate: &str, args: &[(&str, &str)]) -> Fact {
    let args = args.iter().map(|(ty, id)| Value { ty: (*ty).into(), id: (*id).into() });
    Fact { predicate: predicate.into(), args: args.collect() }
}

fn role(ty: &str, who: &str, role: &str, folder: usize) -> Fact {
    fact("has_role", &[(ty, who), ("String", role), ("Folder", &folder.to_string())])
}

/// The first folder of a level.
fn first(level: u32) -> usize {
    (BRANCHES.pow(level) - 1) / (BRANCHES - 1)
}

/// All parents, and the roles of `n_users`.
fn facts(n_folders: usize, n_users: usize) -> Vec<Fact> {
    let mut random = StdRng::seed_from_u64(7);
    let parent = |n: usize| {
        let (child, parent) = (n.to_string(), ((n - 1) / BRANCHES).to_string());
        fact("has_relation", &[("Folder", &child), ("String", "parent"), ("Folder", &parent)])
    };
    let mut facts: Vec<Fact> = (1..=n_folders).map(parent).collect();
    for user in 0..n_users {
        let (name, group) = (format!("u{user}"), format!("g{user}"));
        let mut folder = || random.random_range(first(8).min(n_folders)..=n_folders);
        for n in 0..11 {
            let held = if n % 3 == 0 { "editor" } else { "reader" };
            facts.push(role("User", &name, held, folder()));
        }
        facts.push(role("Group", &group, "editor", folder()));
        facts.push(fact("in_group", &[("User", &name), ("Group", &group)]));
    }
    facts.push(role("User", "wide", "reader", first(5)));
    facts.push(role("User", "root", "reader", first(1)));
    facts
}

fn value(ty: &str, id: &str) -> Value {
    Value { ty: ty.into(), id: id.into() }
}

fn questions(user: &str) -> Vec<(&'static str, LocalQuestion)> {
    let actor = value("User", user);
    let doc = value("Doc", "17");
    let var = |ty: &str, id: &str| EvaluateVar { ty: ty.into(), ids: Some(vec![id.into()]) };
    let vars = [("u", var("User", user)), ("a", var("String", "read")), ("d", var("Doc", "17"))];
    let query = EvaluateQuery {
        atoms: vec![("allow".into(), vec!["u".into(), "a".into(), "d".into()])],
        vars: vars.into_iter().map(|(name, var)| (name.to_owned(), var)).collect(),
    };
    vec![
        (
            "authorize",
            LocalQuestion::Authorize { actor: actor.clone(), action: "read".into(), resource: doc.clone() },
        ),
        ("actions", LocalQuestion::Actions { actor: actor.clone(), resource: doc }),
        (
            "list",
            LocalQuestion::List {
                actor,
                action: "read".into(),
                resource_type: "Doc".into(),
                column: "docs.id".into(),
            },
        ),
        ("evaluate", LocalQuestion::Evaluate { query, mode: LocalMode::Select(Vec::new()) }),
    ]
}

async fn ask(engine: &Engine, question: LocalQuestion) -> (Result<usize, String>, Duration) {
    let request = LocalRequest { bindings: DOCUMENT.into(), question, context: Vec::new() };
    let start = Instant::now();
    let sql = engine.local(request).await;
    (sql.map(|sql| sql.len()).map_err(|error| error.to_string()), start.elapsed())
}

#[tokio::main]
async fn main() {
    let (n_folders, n_users) = (option("--folders", 1_000_000), option("--users", 50));
    let rounds = option("--rounds", 20);
    let engine = Engine::in_memory(EngineSettings::default()).await.unwrap();
    engine.set_policy(POLICY.into(), "policy.polar".into(), PolicyOptions::default()).await.unwrap();
    let all = facts(n_folders, n_users);
    println!("{} facts, {n_folders} of them parents of folders, {n_users} users with 12 roles", all.len());
    for batch in all.chunks(BATCH) {
        engine.apply(vec![Change::Insert(batch.to_vec())]).await.unwrap();
    }
    println!(
        "{:<10} {:>10} {:>10} {:>9} {:>9} {:>9}",
        "question", "p50 bytes", "max bytes", "p50 ms", "p99 ms", "max ms"
    );
    for at in 0..questions("u0").len() {
        let (mut sizes, mut times) = (Vec::new(), Vec::new());
        let mut name = "";
        for round in 0..=rounds {
            for user in 0..n_users {
                let (asked, question) = questions(&format!("u{user}")).swap_remove(at);
                name = asked;
                let (size, time) = ask(&engine, question).await;
                if round > 0 {
                    sizes.push(size.unwrap());
                    times.push(time.as_secs_f64() * 1_000.0);
                }
            }
        }
        sizes.sort_unstable();
        assert!(sizes[sizes.len() - 1] <= MOST_BYTES, "{name}: {sizes:?}");
        times.sort_by(f64::total_cmp);
        let share = |percent: usize| (times.len() * percent / 100).min(times.len() - 1);
        println!(
            "{name:<10} {:>10} {:>10} {:>9.2} {:>9.2} {:>9.2}",
            sizes[sizes.len() / 2],
            sizes[sizes.len() - 1],
            times[share(50)],
            times[share(99)],
            times[times.len() - 1]
        );
    }
    for user in ["wide", "root"] {
        for (name, question) in questions(user) {
            let (size, time) = ask(&engine, question).await;
            let result = size.map_or_else(|_| "refused".to_owned(), |size| format!("{size} bytes"));
            println!("{user} {name}: {result} after {:.1} ms", time.as_secs_f64() * 1_000.0);
        }
    }
}
