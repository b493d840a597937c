//! The program is killed while it brings a file of the first format up to date.
//!
//! The former file or the new one is there after every kill, and nothing between: a start that is left alone
//! ends with each fact once. Most of the time nothing has reached the disk when the kill comes; so half of
//! the kills wait until the log grows, which it does when the new file is committed.

use super::kills::{rounds_asked, within};
use portcullis_testkit::program::{Program, Service};
use rusqlite::Connection;
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// A store of the first format, as the tests of the store have it.
const FIRST: &str = include_str!("../../../src/store/embedded/tests/format_1.sql");

/// Facts of the file.
const FACTS: usize = 50_000;

/// Rounds of `cargo test`; of a longer run there is one for `OTHERS` rounds of the others.
const ROUNDS: usize = 2;
const OTHERS: usize = 10;

/// More rounds, if no kill has come in the midst.
const LATE: usize = 10;

/// Kills of a round before it is left alone.
const KILLS: usize = 3;

const FILE: &str = "d/0123456789/store.db";
const KEY: &str = "e_0123456789_1_a-key-of-the-first-format";

/// What a kill found on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Found {
    /// The former file, and nothing in the log.
    Former,
    /// The former file, and a part of the new one in the log.
    Cut,
    /// The new file.
    New,
}

/// Ids of every form.
fn id(n: usize) -> String {
    match n % 4 {
        0 => n.to_string(),
        1 => format!("{:08x}-c0de-4abc-8def-{n:012x}", n * 7_919 % 0xffff_ffff),
        2 => format!("0{n}"),
        _ => format!("name {n}"),
    }
}

/// The rows of the tables `f1`, `f2` and `f5`.
fn rows() -> impl Iterator<Item = (&'static str, Vec<String>)> {
    (0..FACTS).map(|n| match n % 10 {
        0 => ("f5", vec![id(n)]),
        1..4 => ("f1", vec![id(n), ["parent", "twin", "7"][n % 3].to_owned(), id(n / 9)]),
        _ => ("f2", vec![id(n / 7), ["reader", "writer", "07"][n % 3].to_owned(), id(n)]),
    })
}

/// Makes the file.
fn former(folder: &Path) {
    fs::create_dir_all(folder.join("d/0123456789")).unwrap();
    let mut conn = Connection::open(folder.join(FILE)).unwrap();
    conn.execute_batch("PRAGMA page_size = 8192; PRAGMA journal_mode = WAL;").unwrap();
    conn.execute_batch(FIRST).unwrap();
    let transaction = conn.transaction().unwrap();
    for (table, row) in rows() {
        let marks = vec!["?"; row.len()].join(", ");
        let insert = format!("INSERT INTO {table} VALUES ({marks})");
        transaction.prepare_cached(&insert).unwrap().execute(rusqlite::params_from_iter(&row)).unwrap();
    }
    for table in [1, 2, 5] {
        let counted =
            format!("UPDATE relation SET facts = (SELECT count(*) FROM f{table}) WHERE id = {table}");
        transaction.execute(&counted, []).unwrap();
    }
    let hash: [u8; 32] = Sha256::digest(KEY).into();
    let key = "INSERT INTO key VALUES ('1', '0123456789', '', 'read-write', 0, 0, ?1)";
    transaction.execute(key, [hash]).unwrap();
    transaction.commit().unwrap();
}

/// A fact as one text.
fn shown<'t>(predicate: &str, ids: impl Iterator<Item = &'t str>) -> String {
    format!("{predicate}({})", ids.collect::<Vec<_>>().join(","))
}

/// What must be there.
fn expected() -> BTreeSet<String> {
    let names = |table| match table {
        "f1" => "has_relation",
        "f2" => "has_role",
        _ => "p",
    };
    rows().map(|(table, ids)| shown(names(table), ids.iter().map(String::as_str))).collect()
}

/// Every fact is there, once, and the file agrees with itself.
fn is_whole(service: Service, folder: &Path, expected: &BTreeSet<String>) {
    let (status, facts) = service.caller.get(KEY, "facts");
    assert_eq!(status, 200, "{facts}");
    let ids = |fact: &Json| {
        let args = fact["args"].as_array().unwrap();
        shown(fact["predicate"].as_str().unwrap(), args.iter().map(|arg| arg["id"].as_str().unwrap()))
    };
    let facts = facts.as_array().unwrap();
    let found: BTreeSet<String> = facts.iter().map(ids).collect();
    assert!(found == *expected && facts.len() == FACTS, "{} facts, {} different", facts.len(), found.len());
    let (_, stats) = service.caller.get(KEY, "stats");
    assert_eq!(stats["facts"]["total"], FACTS, "{stats}");
    service.stop();
    let conn = Connection::open(folder.join(FILE)).unwrap();
    let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
}

/// Looks at a copy, so that the log stays as the kill left it.
fn found(folder: &Path) -> Found {
    let copy = tempfile::tempdir().unwrap();
    let (file, log) = (copy.path().join("store.db"), copy.path().join("store.db-wal"));
    fs::copy(folder.join(FILE), &file).unwrap();
    let n_logged = fs::copy(folder.join(format!("{FILE}-wal")), &log).unwrap_or_default();
    let conn = Connection::open(&file).unwrap();
    match conn.pragma_query_value(None, "user_version", |row| row.get::<_, i64>(0)).unwrap() {
        1 if n_logged == 0 => Found::Former,
        1 => Found::Cut,
        2 => Found::New,
        other => panic!("format {other}"),
    }
}

/// Starts the program and kills it: at any time, or when the log begins to grow.
fn kill(folder: &Path, usual: Duration, waits: bool) -> Found {
    let mut program = Program::spawn(folder, "d", &[]);
    let began = Instant::now();
    if waits {
        let log = folder.join(format!("{FILE}-wal"));
        let has_grown = || log.metadata().is_ok_and(|log| log.len() > 1 << 16);
        while !has_grown() && began.elapsed() < usual * 4 {
            std::thread::sleep(Duration::from_micros(50));
        }
        std::thread::sleep(within(2));
    } else {
        std::thread::sleep(within(u64::try_from(usual.as_millis()).unwrap()));
    }
    program.kill();
    found(folder)
}

#[test]
fn a_kill_while_an_old_file_is_brought_up_to_date_loses_and_repeats_nothing() {
    let expected = expected();
    assert_eq!(expected.len(), FACTS, "the facts differ");
    let template = tempfile::tempdir().unwrap();
    former(template.path());
    let new_folder = || {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("d/0123456789")).unwrap();
        fs::copy(template.path().join(FILE), folder.path().join(FILE)).unwrap();
        folder
    };
    let folder = new_folder();
    let began = Instant::now();
    let service = Service::start(folder.path(), &[]);
    let usual = began.elapsed();
    is_whole(service, folder.path(), &expected);

    let rounds = rounds_asked().map_or(ROUNDS, |asked| (asked / OTHERS).max(1));
    let mut kills = Vec::new();
    let n = |kills: &[Found], state| kills.iter().filter(|found| **found == state).count();
    // A kill that comes late because others want the processors, too, shows nothing.
    let is_enough = |kills: &[Found]| n(kills, Found::Cut) > 0;
    let mut round = 0;
    while round < rounds || !is_enough(&kills) && round < rounds + LATE {
        let folder = new_folder();
        for n in 0..KILLS {
            let state = kill(folder.path(), usual, (round + n) % 2 == 0);
            kills.push(state);
            if state == Found::New {
                break;
            }
        }
        is_whole(Service::start(folder.path(), &[]), folder.path(), &expected);
        round += 1;
    }
    println!(
        "{} kills within {usual:.1?} of a start over an old file: {} before the new one, {} within it, {} after it",
        kills.len(),
        n(&kills, Found::Former),
        n(&kills, Found::Cut),
        n(&kills, Found::New)
    );
    assert!(is_enough(&kills), "no kill came in time");
}
