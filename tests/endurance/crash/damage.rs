//! A file that is not what was written is found at the start, or by the request that reads the damaged part;
//! nothing panics, and nothing is answered from what SQLite can see is wrong.

use super::writers::{Kind, Writer, held, policy};
use portcullis::store::{Access, Change, Fact, FactPattern, Store, StoreError, StoreOptions, Value};
use portcullis_testkit::program::{Program, Service, key, run};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Random damages of each kind.
const TRIALS: usize = 60;

const KINDS: [&str; 3] = ["a bit", "a block", "an end"];

const FACTS: usize = 1_500;

fn options() -> StoreOptions {
    StoreOptions { readers: 1, ..StoreOptions::default() }
}

fn fact(predicate: &str, args: &[(&str, String)]) -> Fact {
    let value = |(ty, id): &(&str, String)| Value { ty: (*ty).into(), id: id.clone() };
    Fact { predicate: predicate.into(), args: args.iter().map(value).collect() }
}

/// Everything that a store can be asked for, as text; or the first error.
async fn content(store: &Store) -> Result<String, StoreError> {
    let facts = store.facts(FactPattern::everything(), usize::MAX).await?.facts;
    let by_user = FactPattern::new("role", vec![portcullis::store::ArgPattern::Any; 2]);
    let roles = store.facts(by_user, usize::MAX).await?.facts;
    let (stats, policy) = (store.stats().await?, store.policy(None).await?);
    let (versions, keys) = (store.policy_versions().await?, store.keys());
    Ok(format!(
        "{facts:?} {roles:?} {stats:?} {policy:?} {versions:?} {keys:?} {:?}",
        store.relations().relations
    ))
}

/// A store in a folder, and what it holds.
async fn filled(dir: &Path) -> String {
    let store = Store::open(dir, &options()).unwrap();
    let n = |n: usize| format!("{:05}", n * 7_919 % 100_000);
    let facts = (0..FACTS).flat_map(|k| {
        [
            fact("role", &[("User", n(k)), ("Repo", n(k * 3))]),
            fact("part", &[("Repo", n(k)), ("String", "of".into()), ("Repo", n(k + 1))]),
            fact("public", &[("Repo", n(k))]),
        ]
    });
    store.apply(vec![Change::Insert(facts.collect())]).await.unwrap();
    for n in 0..3 {
        store.put_policy(format!("actor User {{}} # {n}").repeat(300), "p.polar".into()).await.unwrap();
        store.create_key("0123456789".into(), "name".into(), Access::ReadWrite).await.unwrap();
    }
    content(&store).await.unwrap()
}

/// Opens a store. A process that another test is starting holds our locks until its program is loaded.
fn opened(dir: &Path) -> Result<Store, StoreError> {
    loop {
        match Store::open(dir, &options()) {
            Err(StoreError::Locked(_)) => std::thread::sleep(Duration::from_millis(1)),
            opened => return opened,
        }
    }
}

/// Whether SQLite's own full check finds nothing wrong.
fn is_whole(file: &Path) -> bool {
    let verdict = Connection::open(file)
        .and_then(|conn| conn.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)));
    verdict.is_ok_and(|text| text == "ok")
}

#[derive(Debug, Default)]
struct Outcomes {
    refused: usize,
    /// The start saw nothing, a question did.
    noticed: usize,
    /// It changed nothing that is read.
    harmless: usize,
    /// Not even SQLite's full check can see it.
    unseen: usize,
}

impl Outcomes {
    /// Starts a store over a damaged file and asks for everything.
    async fn add(&mut self, dir: &Path, whole: &str, damage: &str) {
        let copy = dir.join("copy.db");
        fs::copy(dir.join("store.db"), &copy).unwrap();
        let store = match opened(dir) {
            Ok(store) => store,
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains(dir.to_str().unwrap()), "{damage}: {text}");
                let is_named = matches!(error, StoreError::NotAStore(_) | StoreError::NewerFormat { .. })
                    || text.contains("damaged") && text.contains("restore");
                assert!(is_named, "{damage}: {text}");
                self.refused += 1;
                return;
            }
        };
        match content(&store).await {
            Err(_) => self.noticed += 1,
            Ok(found) if found == whole => self.harmless += 1,
            Ok(_) => {
                assert!(is_whole(&copy), "{damage}: answered from what SQLite knows is damaged");
                self.unseen += 1;
            }
        }
    }
}

#[tokio::test]
async fn damage_anywhere_in_the_file_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path();
    let whole = filled(dir).await;
    let file = dir.join("store.db");
    let original = fs::read(&file).unwrap();
    let mark = fs::read(dir.join("store.db-mark")).unwrap();
    let seed = rand::rng().random();
    let mut random = StdRng::seed_from_u64(seed);
    let mut outcomes: [Outcomes; 3] = Default::default();
    for n in 0..TRIALS * outcomes.len() {
        let at = random.random_range(1..original.len());
        let mut changed = original.clone();
        let kind = n % outcomes.len();
        match kind {
            0 => changed[at] ^= 1 << random.random_range(0..8),
            1 => {
                let end = (at + 512).min(changed.len());
                changed[at..end].fill(random.random());
            }
            _ => changed.truncate(at),
        }
        fs::write(&file, &changed).unwrap();
        fs::write(dir.join("store.db-mark"), &mark).unwrap();
        outcomes[kind].add(dir, &whole, &format!("seed {seed}, {} at {at}", KINDS[kind])).await;
        for name in ["store.db-wal", "store.db-shm"] {
            let _ = fs::remove_file(dir.join(name));
        }
    }
    for (kind, outcomes) in KINDS.iter().zip(&outcomes) {
        println!("{kind}: {outcomes:?}");
    }
    assert_eq!(outcomes[2].refused, TRIALS, "a file without its end is always found: {outcomes:?}");
    let unseen: usize = outcomes.iter().map(|outcomes| outcomes.unseen).sum();
    assert!(unseen * 20 <= TRIALS * 3, "hardly ever is a text changed that is in one place: {outcomes:?}");
}

/// A log that is damaged anywhere is refused: what its frames do not show, the mark next to it does. A torn
/// end after the last commit loses nothing and is served.
#[tokio::test]
async fn a_log_without_its_middle_is_refused() {
    const BATCHES: usize = 40;
    let dir = tempfile::tempdir().unwrap();
    let batch = |n: usize| {
        let facts = (0..5).map(|k| fact("part", &[("Repo", format!("{n:05}")), ("Repo", format!("{k}"))]));
        vec![Change::Insert(facts.collect())]
    };
    let store = Store::open(&dir.path().join("served"), &options()).unwrap();
    for n in 0..BATCHES {
        store.apply(batch(n)).await.unwrap();
    }
    let files = ["store.db", "store.db-wal", "store.db-mark", "lock"];
    let files = files.map(|name| (name, fs::read(dir.path().join("served").join(name)).unwrap()));
    drop(store);

    let seed = rand::rng().random();
    let mut random = StdRng::seed_from_u64(seed);
    let log = files[1].1.clone();
    assert!(log.len() > 100_000, "the log has not been copied yet");
    let copy = dir.path().join("copy");
    // The header byte by byte, then anywhere; at last a torn end, which loses nothing.
    let anywhere: Vec<usize> = (0..TRIALS).map(|_| random.random_range(0..log.len())).collect();
    let places = (0..32).chain(anywhere).chain([log.len()]);
    for at in places {
        let _ = fs::remove_dir_all(&copy);
        fs::create_dir(&copy).unwrap();
        let mut damaged = log.clone();
        match damaged.get_mut(at) {
            Some(byte) => *byte ^= 1 << random.random_range(0..8),
            None => damaged.extend(vec![0x5a; 10_000]),
        }
        for (name, bytes) in &files {
            fs::write(copy.join(name), if *name == "store.db-wal" { &damaged } else { bytes }).unwrap();
        }
        match opened(&copy) {
            Err(error) => {
                let text = error.to_string();
                let in_frame = text.contains("copy` is damaged: frame ");
                let behind_mark = text.contains("not in it: its log");
                assert!((in_frame || behind_mark) && at < log.len(), "seed {seed}, {at}: {text}");
            }
            Ok(store) => {
                let n_facts = store.stats().await.unwrap().total;
                assert!(at == log.len(), "seed {seed}, {at}: served with {n_facts} facts");
                assert_eq!(n_facts, BATCHES as u64 * 5, "seed {seed}");
            }
        }
    }
}

/// What is wrong, how it is made, and what the start says of it.
type State = (&'static str, fn(&Path), &'static str);

const STATES: &[State] = &[
    ("empty", |file| fs::write(file, "").unwrap(), "is damaged: `store.db` is empty"),
    ("missing", |file| fs::remove_file(file).unwrap(), "is damaged: `store.db` is missing"),
    (
        "a text",
        |file| fs::write(file, "some text\n".repeat(2_000)).unwrap(),
        "is damaged: file is not a database",
    ),
    ("one byte", |file| fs::write(file, "x").unwrap(), "is damaged: `store.db` is empty"),
    ("cut in a page", |file| cut(file, 5_000), "is damaged: it ends within a page"),
    ("cut at a page", |file| cut(file, 8_192), "is damaged: "),
    ("another database", |file| other_database(file), "`d/0123456789/store.db` is not a Portcullis store"),
    ("a page of zeros", |file| zeros(file), "is damaged: "),
    (
        "a policy of another letter",
        |file| other_policy(file),
        "is damaged: the active policy does not match its SHA-256",
    ),
];

fn cut(file: &Path, bytes: u64) {
    let opened = fs::File::options().write(true).open(file).unwrap();
    opened.set_len(opened.metadata().unwrap().len() - bytes).unwrap();
}

fn other_database(file: &Path) {
    fs::remove_file(file).unwrap();
    Connection::open(file).unwrap().execute_batch("CREATE TABLE theirs (x)").unwrap();
}

fn zeros(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    bytes[8_192..16_384].fill(0);
    fs::write(file, bytes).unwrap();
}

fn other_policy(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.windows(12).rposition(|window| window == b"declare mark").unwrap();
    bytes[at + 8] = b'd';
    fs::write(file, bytes).unwrap();
}

/// The program says what is wrong, where, and what to do; what it says to do helps.
#[test]
fn the_program_names_what_is_damaged_and_a_backup_helps() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let key = key(folder, "0123456789");
    let service = Service::start(folder, &[]);
    let (status, answer) = service.caller.post(&key, "policy", &json!({ "src": policy(0) }));
    assert_eq!(status, 200, "{answer}");
    let mut writer = Writer { kind: Kind::Batches, name: "ada".into(), key: key.clone(), done: 0 };
    for _ in 0..30 {
        assert_eq!(writer.try_step(&service.caller).unwrap().0, 200);
    }
    assert_eq!(run(folder, &["backup", "b.db", "--data", "d"]).0, Some(0));
    service.stop();
    let file = folder.join("d/0123456789/store.db");
    for (name, damage, said) in STATES {
        damage(&file);
        let refusal =
            Program::spawn(folder, "d", &[]).answering().err().unwrap_or_else(|| panic!("{name} starts"));
        assert!(refusal.starts_with("exit status: 1"), "{name}: {refusal}");
        let refusal = refusal.lines().rfind(|line| line.starts_with("error: ")).unwrap();
        assert!(refusal.contains("d/0123456789") && refusal.contains(said), "{name}: {refusal}");
        assert!(
            !said.contains("damaged") || refusal.contains("`portcullis restore --overwrite`"),
            "{refusal}"
        );
        let (code, _, err) = run(folder, &["restore", "b.db", "--data", "d", "--overwrite"]);
        assert_eq!(code, Some(0), "{name}: {err}");
        let service = Service::start(folder, &[]);
        held(&service.caller, &key).is_all_of(&[&writer]);
        service.stop();
    }
}
