//! The attacks: what each attacker sends, how many there are, and how they are answered.

use super::client::{ask, request};
use super::stage::{Stage, fact};
use parking_lot::Mutex;
use portcullis::http::DEVELOPMENT_KEY;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The size of a large body: a little less than what the service takes by default.
const LARGE_BODY: usize = 9_600_000;

/// The size of a small body.
const SMALL_BODY: usize = 500;

/// The tests of a policy that takes its time, in bytes.
const TESTS: usize = 248_000;

/// Several attackers who do the same.
#[derive(Debug)]
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    what: What,
    n_attackers: usize,
    /// Whether they ask what users ask of the service, so that some of them must be served.
    pub(crate) is_served: bool,
}

/// What an attacker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Nothing.
    Nothing,
    /// Asks for the product of two tables, as a conjunction.
    Conjunction,
    /// Asks for the same product through a rule.
    Rule,
    /// Uploads a policy whose tests take hours, and goes away.
    Upload,
    /// Sends all but the end of a large body.
    Unfinished,
    /// Sends the beginning of a small body, with a key of another environment.
    Begun,
    /// Reads all facts back.
    ReadBack,
    /// Stores large batches in another environment.
    Batches,
    /// Asks for local checks in another environment, each with a new document of this many bindings.
    Bindings(usize),
    /// Opens a connection and says nothing.
    Silent,
}

const fn attack(name: &'static str, what: What, n_attackers: usize, is_served: bool) -> Attack {
    Attack { name, what, n_attackers, is_served }
}

/// All of them.
pub(crate) const ALL: &[Attack] = &[
    attack("nobody", What::Nothing, 0, false),
    attack("products-4", What::Conjunction, 4, false),
    attack("products-64", What::Conjunction, 64, false),
    attack("rule-products-4", What::Rule, 4, false),
    attack("rule-products-64", What::Rule, 64, false),
    attack("uploads-4", What::Upload, 4, false),
    attack("unfinished-bodies-300", What::Unfinished, 300, false),
    attack("begun-bodies-600", What::Begun, 600, false),
    attack("facts-32", What::ReadBack, 32, true),
    attack("batches-8", What::Batches, 8, true),
    attack("batches-60", What::Batches, 60, true),
    attack("bindings-8", What::Bindings(600), 8, true),
    attack("bindings-64", What::Bindings(1_600), 64, true),
    attack("silent-2000", What::Silent, 2_000, false),
];

/// How attackers were answered: the statuses with how often; 0 is no answer.
#[derive(Debug, Default)]
pub(crate) struct Statuses(Mutex<BTreeMap<u16, usize>>);

impl Statuses {
    fn note(&self, status: u16) {
        *self.0.lock().entry(status).or_default() += 1;
    }

    /// What was counted so far.
    pub(crate) fn take(&self) -> BTreeMap<u16, usize> {
        std::mem::take(&mut *self.0.lock())
    }
}

impl Attack {
    /// Starts the attackers. They run until `stop` is set.
    pub(crate) fn start(
        &self,
        stage: &Arc<Stage>,
        stop: &Arc<AtomicBool>,
        statuses: &Arc<Statuses>,
    ) -> Vec<JoinHandle<()>> {
        if matches!(self.what, What::Silent | What::Unfinished | What::Begun) {
            // One thread holds all their connections.
            let (stage, stop, held) = (Arc::clone(stage), Arc::clone(stop), (self.what, self.n_attackers));
            return vec![std::thread::spawn(move || hold(&stage, held, &stop))];
        }
        // Made once and beforehand: the attackers should not need the processors.
        let batch = match self.what {
            What::Batches => Arc::new(request("POST", "/batch", &stage.writer, &batch())),
            _ => Arc::default(),
        };
        let start = |number| {
            let batch = Arc::clone(&batch);
            let attacker = Attacker { what: self.what, number, stage: Arc::clone(stage), batch };
            let (stop, statuses) = (Arc::clone(stop), Arc::clone(statuses));
            std::thread::spawn(move || {
                for round in (0_usize..).take_while(|_| !stop.load(Ordering::Relaxed)) {
                    statuses.note(attacker.attack(round));
                }
            })
        };
        (0..self.n_attackers).map(start).collect()
    }
}

/// Holds connections on which nothing, or only a part of a request, was sent.
fn hold(stage: &Stage, (what, n): (What, usize), stop: &AtomicBool) {
    let mut held = Vec::new();
    let (key, length, kept) = match what {
        What::Begun => (stage.stranger.as_str(), SMALL_BODY, SMALL_BODY - 1),
        _ => (DEVELOPMENT_KEY, LARGE_BODY, 1),
    };
    let mut unfinished = request("POST", "/authorize", key, &" ".repeat(length));
    unfinished.truncate(unfinished.len() - kept);
    while !stop.load(Ordering::Relaxed) {
        if held.len() < n
            && let Ok(mut stream) = TcpStream::connect_timeout(&stage.address, Duration::from_millis(200))
        {
            let _ = stream.set_write_timeout(Some(Duration::from_millis(200)));
            if what != What::Silent {
                // A refused write fails, which is fine.
                let _ = stream.write_all(&unfinished);
            }
            held.push(stream);
        } else {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// One attacker.
struct Attacker {
    what: What,
    number: usize,
    stage: Arc<Stage>,
    /// A large batch, if it sends such.
    batch: Arc<Vec<u8>>,
}

impl Attacker {
    /// One request; the status of its answer.
    fn attack(&self, round: usize) -> u16 {
        let Stage { address, reader, stranger, .. } = &*self.stage;
        let post = |path: &str, key: &str, body: &str| request("POST", path, key, body);
        let request = match self.what {
            What::Nothing | What::Silent | What::Unfinished | What::Begun => return 0,
            What::Conjunction => {
                post("/evaluate_query", reader, &product("left", &["x"], &json!([["right", ["y"]]])))
            }
            What::Rule => post("/evaluate_query", reader, &product("pair", &["x", "y"], &json!([]))),
            What::Upload => {
                let src = format!("{}# {} {round}\n", slow_policy(), self.number);
                let upload = post("/policy", DEVELOPMENT_KEY, &json!({ "src": src }).to_string());
                if let Ok(mut stream) = TcpStream::connect(address) {
                    let _ = stream.write_all(&upload);
                }
                std::thread::sleep(Duration::from_secs(1));
                return 0;
            }
            What::ReadBack => super::client::request("GET", "/facts?predicate=large", reader, ""),
            What::Batches => return ask(*address, &self.batch).map_or(0, |(status, _)| status),
            What::Bindings(n) => {
                let body = json!({
                    "query": { "actor_type": "User", "actor_id": "ada", "action": "read",
                        "resource_type": "Doc", "resource_id": "probed" },
                    "data_bindings": bindings(n, self.number, round),
                });
                post("/authorize_query", stranger, &body.to_string())
            }
        };
        ask(*address, &request).map_or(0, |(status, _)| status)
    }
}

fn product(predicate: &str, vars: &[&str], calls: &Json) -> String {
    let item = json!({ "type": "Item", "ids": null });
    json!({ "predicate": [predicate, vars], "calls": calls, "constraints": { "x": item, "y": item } })
        .to_string()
}

/// A policy with tests each of which tries billions of rows.
fn slow_policy() -> String {
    let mut src = String::from("actor User {}\nrises(a: Integer) if n(a)");
    for (less, more) in
        ["a", "b", "c", "d", "e", "f", "g", "h"].into_iter().zip(["b", "c", "d", "e", "f", "g", "h", "i"])
    {
        let _ = write!(src, " and n({more}) and {less} < {more}");
    }
    src.push_str(" and i < a;\n");
    let facts: String = (0..60).fold(String::new(), |facts, n| facts + &format!("n({n}); "));
    while src.len() < TESTS {
        let _ = writeln!(src, "test \"{}\" {{ setup {{ {facts} }} assert_not rises(0); }}", src.len());
    }
    src
}

/// A batch that is nearly as large as a body may be.
fn batch() -> String {
    let id = |n: usize| format!("an-item-with-a-long-id-{n}");
    let one = fact("large", &id(0)).to_string().len() + 1;
    let facts: Vec<Json> = (0..LARGE_BODY / (one + 6)).map(|n| fact("large", &id(n))).collect();
    json!([{ "inserts": facts }]).to_string()
}

/// A document of `n` bindings that was not sent before.
fn bindings(n: usize, number: usize, round: usize) -> String {
    let mut document = format!("# {number} {round}\ndialect: postgresql\nfacts:\n");
    for n in 0..n {
        let _ =
            writeln!(document, "  p{n}(Item:_, Doc:_):\n    query: SELECT a, b FROM t{n} WHERE c = {round}");
    }
    document
}
