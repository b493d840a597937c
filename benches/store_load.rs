//! How fast the store loads, how large it gets, and what a question costs on its way through the pool.
//!
//! ```text
//! cargo bench --bench store_load [-- FACTS]        1,000,000 facts unless said otherwise
//! ```
//!
//! The facts are those of a code host: users have ids of 36 characters, other ids are numbers. They come in random
//! order, 10,000 in a batch, each batch durable before the next begins. Prints plain lines; asserts nothing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement prints, and ends at the first error"
)]

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use portcullis::store::{Change, Fact, FactPattern, Param, Store, StoreOptions, Value};
use rand::{
    RngExt, SeedableRng,
    rngs::StdRng,
    seq::{IndexedRandom, SliceRandom},
};

// As in the service: SQLite allocates through it too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCH: usize = 10_000;

fn main() {
    let n_facts = std::env::args().find_map(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(run(n_facts));
}

async fn run(n_facts: usize) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let store = Store::open(dir.path(), &StoreOptions::default()).unwrap();
    let facts = facts(n_facts);
    let sample: Vec<Fact> = facts.iter().step_by((n_facts / 5_000).max(1)).cloned().collect();

    let batches: Vec<Vec<Change>> =
        facts.chunks(BATCH).map(|batch| vec![Change::Insert(batch.to_vec())]).collect();
    drop(facts);
    let start = Instant::now();
    let mut times = Vec::new();
    let mut stored = 0;
    for batch in batches {
        let start = Instant::now();
        stored += store.apply(batch).await.unwrap().inserted;
        times.push(start.elapsed());
    }
    let elapsed = start.elapsed();
    println!("load: {stored} facts in {elapsed:.2?}, {:.0} facts/s", rate(stored, elapsed));
    println!("      batch of {BATCH}: {}", quantiles(&mut times));

    single_facts(&store).await;
    shared_commits(&store).await;
    questions(&store, &sample).await;

    let start = Instant::now();
    drop(store);
    println!("close: {:.2?}", start.elapsed());
    let bytes: u64 =
        fs::read_dir(dir.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
    println!("size: {bytes} bytes, {} a fact", bytes / stored);
    open(dir.path());
}

fn open(dir: &Path) {
    let start = Instant::now();
    let options = StoreOptions { check_time: Duration::from_mins(10), ..StoreOptions::default() };
    drop(Store::open(dir, &options).unwrap());
    println!("open, with the whole check: {:.2?}", start.elapsed());
}

async fn single_facts(store: &Store) {
    let mut times = Vec::new();
    for n in 0..500 {
        let fact = Fact::new("single", vec![Value::new("N", &n.to_string())]);
        let start = Instant::now();
        store.apply(vec![Change::Insert(vec![fact])]).await.unwrap();
        times.push(start.elapsed());
    }
    println!("one fact, durable: {}", quantiles(&mut times));
}

async fn shared_commits(store: &Store) {
    let start = Instant::now();
    let writers: Vec<_> = (0..64)
        .map(|lane| {
            let store = store.clone();
            tokio::spawn(async move {
                for n in 0..100 {
                    let fact = Fact::new("shared", vec![Value::new("N", &format!("{lane}-{n}"))]);
                    store.apply(vec![Change::Insert(vec![fact])]).await.unwrap();
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    println!("64 writers of one fact each: {:.0} writes/s", rate(6_400, start.elapsed()));
}

/// The same statement directly and through the pool: the difference is the price of leaving the async worker.
async fn questions(store: &Store, sample: &[Fact]) {
    let relations = store.relations();
    let questions: Vec<(String, Vec<Param>)> = sample
        .iter()
        .map(|fact| {
            let relation = relations
                .relations
                .iter()
                .find(|r| {
                    r.predicate == fact.predicate && r.types.iter().eq(fact.args.iter().map(|arg| &arg.ty))
                })
                .unwrap();
            let test = |(k, column): (usize, &String)| format!("{column} = ?{}", k + 1);
            let tests: Vec<String> = relation.columns.iter().enumerate().map(test).collect();
            let sql =
                format!("SELECT EXISTS (SELECT 1 FROM {} WHERE {})", relation.table, tests.join(" AND "));
            (sql, fact.args.iter().map(|arg| Param::Text(arg.id.clone())).collect())
        })
        .collect();
    let direct = questions.clone();
    for _ in 0..2 {
        let direct = direct.clone();
        let mut times = store
            .read(move |reader| {
                let ask = |(sql, params): &(String, Vec<Param>)| {
                    let start = Instant::now();
                    reader.decision(sql, params).map(|_| start.elapsed())
                };
                direct.iter().map(ask).collect::<Result<Vec<_>, _>>()
            })
            .await
            .unwrap();
        println!("look-up, direct: {}", quantiles(&mut times));
    }
    for n_lanes in [1, 2, 8] {
        let start = Instant::now();
        let lanes: Vec<_> = (0..n_lanes)
            .map(|lane| {
                let (store, questions) = (store.clone(), questions.clone());
                tokio::spawn(async move {
                    let mut times = Vec::new();
                    for (sql, params) in questions.into_iter().skip(lane) {
                        let start = Instant::now();
                        store.read(move |reader| reader.decision(&sql, &params)).await.unwrap();
                        times.push(start.elapsed());
                    }
                    times
                })
            })
            .collect();
        let mut times = Vec::new();
        for lane in lanes {
            times.extend(lane.await.unwrap());
        }
        let rate = rate(times.len() as u64, start.elapsed());
        println!("look-up, {n_lanes} at a time: {}, {rate:.0}/s", quantiles(&mut times));
    }
    let mut times = Vec::new();
    for fact in sample.iter().take(500) {
        let start = Instant::now();
        store.facts(FactPattern::from(fact), 10).await.unwrap();
        times.push(start.elapsed());
    }
    println!("facts of a pattern: {}", quantiles(&mut times));
}

/// Random facts, without repetition but for a few.
fn facts(n_facts: usize) -> Vec<Fact> {
    let mut random = StdRng::seed_from_u64(7);
    let share = |percent: usize| n_facts * percent / 100;
    let users: Vec<String> = (0..share(10)).map(|_| uuid(&mut random)).collect();
    let (n_groups, n_repos) = (share(2).max(1), share(20).max(1));
    let mut facts = Vec::with_capacity(n_facts);
    let mut role = |random: &mut StdRng, n: usize, roles: &[&str], ty: &str, n_objects: usize| {
        for _ in 0..n {
            let user = users.choose(random).unwrap();
            let role = roles.choose(random).unwrap();
            let object = random.random_range(0..n_objects).to_string();
            facts.push(Fact::new(
                "has_role",
                vec![Value::new("User", user), Value::new("String", role), Value::new(ty, &object)],
            ));
        }
    };
    role(&mut random, share(10), &["member", "admin"], "Organization", 1_000);
    role(&mut random, share(18), &["member"], "Group", n_groups);
    role(&mut random, share(12), &["reader", "maintainer", "admin"], "Repository", n_repos);
    let mut relation = |ty: &str, n: usize, name: &str, of: &str, n_objects: usize| {
        for id in 0..n {
            let object = random.random_range(0..n_objects).to_string();
            facts.push(Fact::new(
                "has_relation",
                vec![Value::new(ty, &id.to_string()), Value::new("String", name), Value::new(of, &object)],
            ));
        }
    };
    relation("Repository", n_repos, "organization", "Organization", 1_000);
    relation("Issue", n_facts - share(40) - n_repos, "repository", "Repository", n_repos);
    facts.shuffle(&mut StdRng::seed_from_u64(8));
    facts
}

fn uuid(random: &mut StdRng) -> String {
    let bits: u128 = random.random();
    let hex = format!("{bits:032x}");
    let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

fn rate(n: u64, elapsed: Duration) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a count of facts is far below 2^52")]
    let n = n as f64;
    n / elapsed.as_secs_f64()
}

fn quantiles(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| times.get(times.len() * percent / 100).copied().unwrap_or_default();
    format!("p50 {:.1?}, p99 {:.1?}", at(50), at(99))
}
