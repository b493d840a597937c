//! The program is killed at any moment, with writers on several connections, and started again over what it
//! left.

use super::new_keys::{Keys, make_keys};
use super::writers::{Held, Kind, Writer, held, policy};
use portcullis_testkit::program::{Caller, Program, Service, key};
use rand::RngExt;
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

/// Rounds of `cargo test`.
const ROUNDS: usize = 16;

/// Where `scripts/crash` says how many rounds it wants.
const ASKED: &str = "PORTCULLIS_CRASH_ROUNDS";

/// The environments with writers, by the names that their keys carry.
pub(crate) const ENVIRONMENTS: [&str; 3] = ["0123456789", "b", "whole"];

/// When the kill comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    /// Anywhere under load.
    Load,
    /// Between the start of the process and its first answer.
    Start,
    /// The same over a folder that has nothing in it.
    FirstStart,
    /// While a policy is on its way.
    Policy,
    /// While an environment is made.
    Environment,
    /// While the log is copied into the file, because nothing was written for a second.
    Checkpoint,
    /// After it was asked to stop.
    Stop,
}

/// One of each in turn; what happens most gets most.
const MOMENTS: [Moment; 10] = [
    Moment::Load,
    Moment::Start,
    Moment::Policy,
    Moment::Load,
    Moment::Environment,
    Moment::Checkpoint,
    Moment::Load,
    Moment::FirstStart,
    Moment::Stop,
    Moment::Policy,
];

/// What a round looks at while it runs.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) ending: AtomicBool,
    pub(crate) resting: AtomicBool,
    pub(crate) acknowledged: AtomicUsize,
    pub(crate) policies_sent: AtomicUsize,
    pub(crate) environments_asked: AtomicUsize,
}

/// How many rounds are asked for, if a number is.
pub(crate) fn rounds_asked() -> Option<usize> {
    std::env::var(ASKED).ok().map(|text| text.parse().unwrap())
}

fn wait_until(what: impl Fn() -> bool) {
    let began = Instant::now();
    while !what() && began.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// A random time below `millis` milliseconds.
pub(crate) fn within(millis: u64) -> Duration {
    Duration::from_micros(rand::rng().random_range(0..millis * 1_000))
}

/// When the file of an environment was written last.
fn written(folder: &Path, environment: &str) -> Option<std::time::SystemTime> {
    folder.join("d").join(environment).join("store.db").metadata().ok()?.modified().ok()
}

struct World {
    folder: tempfile::TempDir,
    writers: Vec<Writer>,
    keys: Keys,
    /// How long a start takes.
    start: Duration,
    /// Checkpoints that a kill interrupted.
    cut_checkpoints: usize,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let keys = ENVIRONMENTS.map(|name| key(folder.path(), name));
        let began = Instant::now();
        let service = Service::start(folder.path(), &[]);
        let start = began.elapsed();
        let writer = |kind, name: &str, key: usize, done| Writer {
            kind,
            name: name.into(),
            key: keys[key].clone(),
            done,
        };
        for key in &keys[..2] {
            assert_eq!(service.caller.post(key, "policy", &json!({ "src": policy(0) })).0, 200);
        }
        let writers = vec![
            writer(Kind::Batches, "ada", 0, 0),
            writer(Kind::Batches, "bob", 0, 0),
            writer(Kind::Batches, "cyd", 0, 0),
            writer(Kind::Policies, "policies", 0, 1),
            writer(Kind::Batches, "dan", 1, 0),
            writer(Kind::Batches, "eve", 1, 0),
            writer(Kind::Everything, "all", 2, 0),
        ];
        service.stop();
        Self { folder, writers, keys: Keys::good(keys), start, cut_checkpoints: 0 }
    }

    /// Compares what is stored with what was acknowledged.
    fn verify(&mut self, caller: &Caller) {
        for key in ENVIRONMENTS.map(|name| self.key_of(name)) {
            let held: Held = held(caller, &key);
            for writer in self.writers.iter_mut().filter(|writer| writer.key == key) {
                writer.settle(&held);
            }
            let own: Vec<&Writer> = self.writers.iter().filter(|writer| writer.key == key).collect();
            if own.iter().all(|writer| writer.kind != Kind::Everything) {
                held.is_all_of(&own);
            }
        }
        for (key, opens) in &self.keys.known {
            let (status, answer) = caller.get(key, "policy");
            assert_eq!(status, if *opens { 200 } else { 401 }, "{key}: {answer}");
        }
    }

    fn key_of(&self, environment: &str) -> String {
        let start = format!("e_{environment}_");
        self.writers.iter().find(|writer| writer.key.starts_with(&start)).unwrap().key.clone()
    }

    /// Starts the service, compares, writes, and kills it; whether writes were acknowledged.
    fn round(&mut self, moment: Moment) -> usize {
        match moment {
            Moment::Start => {
                let mut program = Program::spawn(self.folder.path(), "d", &[]);
                std::thread::sleep(self.start.mul_f64(rand::rng().random_range(0.0..1.2)));
                program.kill();
            }
            Moment::FirstStart => first_start(self.start),
            _ => {}
        }
        let began = Instant::now();
        let mut service = Service::start(self.folder.path(), &[]);
        self.start = began.elapsed();
        self.verify(&service.caller);
        let watch = Watch::default();
        let folder = self.folder.path().to_owned();
        let (writers, keys) = (&mut self.writers, &mut self.keys);
        let url = service.caller.url.clone();
        let makes_environments = moment == Moment::Environment;
        let cut = std::thread::scope(|scope| {
            for writer in writers.iter_mut() {
                let (watch, url) = (&watch, &url);
                scope.spawn(move || write(writer, &Caller::new(url), watch));
            }
            scope.spawn(|| make_keys(keys, &folder, makes_environments, &watch));
            kill_at(moment, &mut service.program, &folder, &watch)
        });
        self.cut_checkpoints += usize::from(cut);
        watch.acknowledged.load(SeqCst)
    }
}

/// Writes until the service ends.
pub(crate) fn write(writer: &mut Writer, caller: &Caller, watch: &Watch) {
    let is_ending = || watch.ending.load(SeqCst);
    while !is_ending() {
        if watch.resting.load(SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        if writer.kind == Kind::Policies {
            watch.policies_sent.fetch_add(1, SeqCst);
        }
        if !writer.advance(caller, is_ending) {
            return;
        }
        watch.acknowledged.fetch_add(1, SeqCst);
        if writer.kind != Kind::Batches {
            std::thread::sleep(Duration::from_millis(3));
        }
    }
}

/// Waits for the moment and kills the process; whether a checkpoint was under way.
fn kill_at(moment: Moment, program: &mut Program, folder: &Path, watch: &Watch) -> bool {
    wait_until(|| watch.acknowledged.load(SeqCst) > 0);
    match moment {
        Moment::Load | Moment::Start | Moment::FirstStart => std::thread::sleep(within(250)),
        Moment::Policy => {
            std::thread::sleep(within(60));
            let sent = watch.policies_sent.load(SeqCst);
            wait_until(|| watch.policies_sent.load(SeqCst) > sent);
            std::thread::sleep(within(30));
        }
        Moment::Environment => {
            let asked = watch.environments_asked.load(SeqCst);
            wait_until(|| watch.environments_asked.load(SeqCst) > asked);
            std::thread::sleep(within(100));
        }
        Moment::Checkpoint => {
            std::thread::sleep(Duration::from_millis(100));
            watch.resting.store(true, SeqCst);
            // The file is written only when the log is copied into it.
            let before = written(folder, ENVIRONMENTS[0]);
            wait_until(|| written(folder, ENVIRONMENTS[0]) != before);
            std::thread::sleep(within(2));
        }
        Moment::Stop => {
            std::thread::sleep(within(100));
            watch.ending.store(true, SeqCst);
            program.signal("TERM");
            std::thread::sleep(within(60));
        }
    }
    watch.ending.store(true, SeqCst);
    program.kill();
    let log = folder.join("d").join(ENVIRONMENTS[0]).join("store.db-wal");
    matches!(moment, Moment::Checkpoint) && log.metadata().is_ok_and(|log| log.len() > 0)
}

/// A folder in which the very first start was killed can be served.
fn first_start(usual: Duration) {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let mut program = Program::spawn(folder.path(), "d", &[]);
        std::thread::sleep(usual.mul_f64(rand::rng().random_range(0.0..1.0)));
        program.kill();
    }
    let key = key(folder.path(), ENVIRONMENTS[0]);
    let service = Service::start(folder.path(), &[]);
    assert_eq!(service.caller.get(&key, "facts"), (200, json!([])));
}

/// Whether each file agrees with itself, by SQLite's own full check.
fn check_files(folder: &Path) {
    for environment in ENVIRONMENTS {
        let file = folder.join("d").join(environment).join("store.db");
        let conn = Connection::open(file).unwrap();
        let verdict: String = conn.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
        assert_eq!(verdict, "ok", "{environment}");
    }
}

#[test]
fn a_kill_at_any_moment_loses_nothing_acknowledged() {
    let asked = rounds_asked();
    let rounds = asked.unwrap_or(ROUNDS);
    let began = Instant::now();
    let mut world = World::new();
    let mut rounds_of: BTreeMap<Moment, usize> = BTreeMap::new();
    let (mut acknowledged, mut busy) = (0, 0);
    for n in 0..rounds {
        let moment = MOMENTS[n % MOMENTS.len()];
        let n_writes = world.round(moment);
        acknowledged += n_writes;
        busy += usize::from(n_writes > 0);
        *rounds_of.entry(moment).or_default() += 1;
        if asked.is_some() && (n + 1).is_multiple_of(20) {
            println!("{} rounds, {acknowledged} acknowledged writes, {:.0?}", n + 1, began.elapsed());
        }
    }
    let service = Service::start(world.folder.path(), &[]);
    world.verify(&service.caller);
    service.stop();
    check_files(world.folder.path());
    println!(
        "{rounds} kills: {rounds_of:?}, {} of them within a checkpoint; {acknowledged} acknowledged writes, {} keys",
        world.cut_checkpoints, world.keys.made
    );
    assert!(busy * 10 >= rounds * 9, "only {busy} rounds of {rounds} got as far as a write");
}
