//! Long questions next to checks and to each other, and products that no answer could hold.

use portcullis::config::Config;
use portcullis::http::{DEFAULT_ENVIRONMENT, DEVELOPMENT_KEY};
use portcullis::store::{Access, Store, StoreOptions};
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{Answer, bearer, question, read_answer};
use serde_json::{Value as Json, json};
use std::io::Write;
use std::net::TcpStream;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// `slow` takes a minute with as many numbers as [`numbered`] stores, and finds nothing.
const SLOW: &str = "
slow(x: Integer) if n(x) and n(y) and n(z) and x < y and y < z and z < x;
pair(x: Integer, y: Integer) if n(x) and n(y);
nothing(x: Integer) if n(x) and x < 0;
";

const N: usize = 20_000;

/// A server with [`POLICY`], [`SLOW`] and numbers, and a second key.
fn numbered(config: Config) -> (Server, String) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), &StoreOptions::default()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let key = store.create_key(DEFAULT_ENVIRONMENT.into(), "other".into(), Access::ReadOnly);
    let key = runtime.block_on(key).unwrap().text;
    drop(store);
    let server = Server::over(Config { dev: true, ..config }, folder);
    assert_eq!(server.post("/api/policy", &json!({ "src": format!("{POLICY}{SLOW}") })).status, 200);
    let number = |n: usize| json!({ "predicate": "n", "args": [{ "type": "Integer", "id": n.to_string() }] });
    let numbers: Vec<Json> = (0..N).map(number).collect();
    assert_eq!(server.post("/api/batch", &json!([{ "inserts": numbers }])).status, 200);
    (server, key)
}

fn few(n: usize) -> Option<NonZeroUsize> {
    NonZeroUsize::new(n)
}

/// An evaluation of calls, each a predicate and its variables, which are integers.
fn evaluation(calls: &[&str]) -> Json {
    let calls: Vec<(&str, Vec<&str>)> = calls
        .iter()
        .map(|call| {
            let mut words = call.split(' ');
            (words.next().unwrap(), words.collect())
        })
        .collect();
    let vars = calls.iter().flat_map(|(_, vars)| vars);
    let constraints: serde_json::Map<String, Json> =
        vars.map(|var| ((*var).to_owned(), json!({ "type": "Integer" }))).collect();
    json!({ "predicate": calls[0], "calls": calls[1..], "constraints": constraints })
}

/// Sends a question, without waiting for its answer.
fn ask(server: &Server, key: &str, body: &Json) -> TcpStream {
    let mut stream = server.connect();
    let (key, body) = (bearer(key), body.to_string());
    let length = body.len();
    write!(
        stream,
        "POST /api/evaluate_query HTTP/1.1\r\nHost: localhost\r\n{key}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

fn answer(mut stream: TcpStream) -> Answer {
    read_answer(&mut stream)
}

fn running(server: &Server) -> (u64, u64) {
    let text = server.get("/metrics").text;
    let of = |state: &str| {
        let series = format!(
            "portcullis_questions{{environment=\"{DEFAULT_ENVIRONMENT}\",kind=\"long\",state=\"{state}\"}} "
        );
        text.lines().find_map(|line| line.strip_prefix(&series)).unwrap().parse().unwrap()
    };
    (of("running"), of("waiting"))
}

/// Waits until these numbers of long questions run and wait.
fn until(server: &Server, state: (u64, u64)) {
    let began = Instant::now();
    while running(server) != state {
        assert!(began.elapsed() < Duration::from_secs(10), "{:?} is not {state:?}", running(server));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn time_spent_waiting_is_503_and_time_spent_running_400() {
    let (server, _) = numbered(Config {
        long_readers: few(1),
        query_time: Duration::from_secs(4),
        query_wait: Duration::from_secs(1),
        ..Config::default()
    });
    let slow = evaluation(&["slow x"]);
    let runs = ask(&server, DEVELOPMENT_KEY, &slow);
    until(&server, (1, 0));
    let began = Instant::now();
    let waits = server.post("/api/evaluate_query", &slow);
    waits.fails(503, "not available");
    assert_eq!(waits.header("retry-after"), Some("1"));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    // Checks, small lists and small evaluations wait for nothing.
    let began = Instant::now();
    assert!(!server.may("ada", "read", "a"));
    let small =
        json!({ "predicate": ["n", ["x"]], "constraints": { "x": { "type": "Integer", "ids": ["7"] } } });
    server.post("/api/evaluate_query", &small).is(200, &json!({ "results": [{ "x": "7" }] }));
    let mut list = question("ada", "read", "a");
    list.as_object_mut().unwrap().remove("resource_id");
    server.post("/api/list", &list).is(200, &json!({ "results": [] }));
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    answer(runs).fails(400, "the question took longer than 4s");
}

#[test]
fn a_key_with_many_long_questions_does_not_stop_that_of_another() {
    let (server, other) = numbered(Config { long_readers: few(2), ..Config::default() });
    let slow = evaluation(&["slow x"]);
    let greedy: Vec<_> = (0..12).map(|_| ask(&server, DEVELOPMENT_KEY, &slow)).collect();
    until(&server, (1, 11));
    let began = Instant::now();
    let all = answer(ask(&server, &other, &evaluation(&["n x"])));
    assert_eq!((all.status, all.json()["results"].as_array().unwrap().len()), (200, N));
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(!server.may("ada", "read", "a"));
    // Disconnecting dequeues and cancels the question.
    drop(greedy);
    until(&server, (0, 0));
}

#[test]
fn a_product_over_the_limit_is_refused_before_it_is_made() {
    // Enough memory for as many rows as an answer may have.
    let (server, _) = numbered(Config { max_memory: 1 << 30, ..Config::default() });
    for calls in [
        // Calls that have nothing to do with each other, and a rule that has nothing else to say.
        &["n x", "n y"] as &[_],
        &["n x", "n y", "n z", "n u"],
        &["pair x y"],
    ] {
        let began = Instant::now();
        let refused = server.post("/api/evaluate_query", &evaluation(calls));
        refused.fails(413, "the answer has more than 1000000 rows");
        assert!(began.elapsed() < Duration::from_secs(10), "{calls:?} took {:?}", began.elapsed());
    }
    // An empty factor empties the product.
    let nothing = server.post("/api/evaluate_query", &evaluation(&["n x", "n y", "nothing z"]));
    nothing.is(200, &json!({ "results": [] }));
    let ids: Vec<String> = (0..1_500).map(|n| n.to_string()).collect();
    let unused = json!({ "type": "Integer", "ids": ids });
    let body = json!({
        "predicate": ["n", ["x"]],
        "constraints": { "x": { "type": "Integer", "ids": ["7"] }, "y": unused, "z": unused },
    });
    server.post("/api/evaluate_query", &body).fails(413, "the answer has more than 1000000 rows");
}
