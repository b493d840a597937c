//! A process that is killed at any moment loses no acknowledged batch and leaves no half of one.
//!
//! The test starts itself as a child, which applies numbered batches and prints the number of each one that
//! is acknowledged. The parent kills it (SIGKILL) after a random time, opens the store, and compares. The
//! same directory is used in all rounds, so a child also meets what its killed predecessors left.

use portcullis::store::{ArgPattern, Change, Fact, FactPattern, Store, StoreOptions, Value};
use rand::RngExt;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where the store of the child is.
const DIRECTORY: &str = "PORTCULLIS_CRASH_TEST_DIRECTORY";

/// What precedes an acknowledged batch's number on the child's output.
const ACKNOWLEDGED: &str = "acknowledged ";

const ROUNDS: usize = 10;

/// Facts of a batch, in several relations; a batch also takes the former one's marks away.
const FACTS: usize = 50;

/// Writes that the child has under way at the same time, so that batches share commits.
const WRITERS: usize = 4;

fn options() -> StoreOptions {
    StoreOptions { readers: 2, ..StoreOptions::default() }
}

fn value(ty: &str, id: &str) -> Value {
    Value { ty: ty.into(), id: id.into() }
}

/// Facts that stay, one mark, and the removal of the same writer's former mark.
fn batch(writer: usize, n: usize) -> Vec<Change> {
    let id = format!("{writer}-{n:06}");
    let former = n.checked_sub(1).map(|n| format!("{writer}-{n:06}")).unwrap_or_default();
    let fact = |k: usize| Fact {
        predicate: format!("p{}", k % 3),
        args: vec![value("Batch", &id), value("Part", &format!("{k:03}"))],
    };
    let mark = Fact { predicate: "mark".into(), args: vec![value("Batch", &id)] };
    let gone = FactPattern::new("mark", vec![ArgPattern::Exact(value("Batch", &former))]);
    vec![
        Change::Insert((0..FACTS / 2).map(fact).collect()),
        Change::Insert(vec![mark]),
        Change::Delete(vec![gone]),
        Change::Insert((FACTS / 2..FACTS).map(fact).collect()),
    ]
}

/// How many batches of a writer are stored, after checking that each is whole and that none is missing.
async fn stored_batches(store: &Store, writer: usize) -> usize {
    let mut parts: Vec<(String, String)> = Vec::new();
    for predicate in ["p0", "p1", "p2"] {
        let pattern = FactPattern::new(predicate, vec![ArgPattern::Any, ArgPattern::Any]);
        let facts = store.facts(pattern, usize::MAX).await.unwrap().facts;
        parts.extend(facts.into_iter().map(|fact| {
            let mut ids = fact.args.into_iter().map(|arg| arg.id);
            (ids.next().unwrap(), ids.next().unwrap())
        }));
    }
    parts.retain(|(batch, _)| batch.starts_with(&format!("{writer}-")));
    parts.sort();
    let n = parts.len() / FACTS;
    let expected: Vec<(String, String)> = (0..n)
        .flat_map(|n| (0..FACTS).map(move |k| (format!("{writer}-{n:06}"), format!("{k:03}"))))
        .collect();
    assert!(parts == expected, "writer {writer}: {} facts are not {n} whole batches in a row", parts.len());

    let any_mark = FactPattern::new("mark", vec![ArgPattern::Any]);
    let marks = store.facts(any_mark, usize::MAX).await.unwrap().facts;
    let marks = marks.iter().filter_map(|fact| fact.args.first()).map(|arg| arg.id.clone());
    let marks: Vec<String> = marks.filter(|id| id.starts_with(&format!("{writer}-"))).collect();
    let last = n.checked_sub(1).map(|n| format!("{writer}-{n:06}"));
    assert_eq!(
        marks,
        last.into_iter().collect::<Vec<_>>(),
        "the mark belongs to the last batch of the writer"
    );
    n
}

/// The child: not a test of its own.
#[tokio::test]
async fn writes_until_it_is_killed() {
    let Some(dir) = std::env::var_os(DIRECTORY) else { return };
    let store = Store::open(Path::new(&dir), &options()).unwrap();
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = store.clone();
        writers.spawn(async move {
            let mut n = stored_batches(&store, writer).await;
            loop {
                store.apply(batch(writer, n)).await.unwrap();
                println!("{ACKNOWLEDGED}{writer} {n}");
                n += 1;
            }
        });
    }
    writers.join_all().await;
}

#[tokio::test]
async fn killing_the_process_loses_nothing_acknowledged() {
    let dir = tempfile::tempdir().unwrap();
    let mut random = rand::rng();
    let mut acknowledged = [0; WRITERS];
    let mut n_rounds_with_work = 0;
    for round in 0..ROUNDS {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::store::writes_until_it_is_killed", "--nocapture"])
            .env(DIRECTORY, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (started, first_line) = std::sync::mpsc::channel();
        let lines = std::thread::spawn(move || {
            let note = |line: &String| {
                if line.contains(ACKNOWLEDGED) {
                    let _ = started.send(());
                }
            };
            output.lines().map_while(Result::ok).inspect(note).collect::<Vec<_>>()
        });
        // Some are killed while they start; most while they write, however slow the machine is.
        if !round.is_multiple_of(5) {
            let _ = first_line.recv_timeout(Duration::from_secs(20));
        }
        std::thread::sleep(Duration::from_millis(random.random_range(0..200)));
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = lines.join().unwrap();

        let before = acknowledged;
        for line in &lines {
            // The last line may be cut off; a number that is cut is smaller, never larger.
            let numbers = line.split_once(ACKNOWLEDGED).and_then(|(_, numbers)| numbers.split_once(' '));
            let Some((writer, n)) = numbers else { continue };
            let (Ok(writer), Ok(n)) = (writer.parse::<usize>(), n.parse::<usize>()) else { continue };
            acknowledged[writer] = acknowledged[writer].max(n + 1);
        }
        n_rounds_with_work += usize::from(acknowledged != before);

        let store = Store::open(dir.path(), &options()).unwrap();
        let mut total = 0;
        for (writer, acknowledged) in acknowledged.iter_mut().enumerate() {
            let stored = stored_batches(&store, writer).await;
            assert!(stored >= *acknowledged, "round {round}: {stored} batches of {acknowledged} are stored");
            total += stored * FACTS + usize::from(stored > 0);
            *acknowledged = stored;
        }
        assert_eq!(store.stats().await.unwrap().total, total as u64, "the counters agree with the facts");
    }
    assert!(n_rounds_with_work >= ROUNDS / 3, "only {n_rounds_with_work} rounds got as far as a batch");
}
