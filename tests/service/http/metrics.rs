//! `/metrics`: the form that scrapers read, and numbers that move as they should.
#![expect(clippy::float_cmp, reason = "what is counted is whole, and below what a float holds exactly")]

use portcullis::config::Config;
use portcullis::store::postgres::FORMAT;
use portcullis_testkit::postgres::{administer_in, new_database};
use portcullis_testkit::server::{POLICY, Server};
use portcullis_testkit::wire::{Answer, fact_json, question, read_answer};
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// What one scrape says: every series with its value.
struct Scrape(BTreeMap<String, f64>);

impl Scrape {
    /// Reads the text form, version 0.0.4, and holds it to its rules.
    fn parse(answer: &Answer) -> Self {
        assert_eq!(answer.status, 200, "{}", answer.text);
        assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4"));
        assert!(answer.text.ends_with('\n'));
        let mut series = BTreeMap::new();
        let mut families = BTreeMap::new();
        let mut current = String::new();
        for line in answer.text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, help) = rest.split_once(' ').unwrap();
                assert!(help.ends_with('.'), "{line}");
                name.clone_into(&mut current);
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, current, "a type follows its help");
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                let known = families.insert(name.to_owned(), kind.to_owned());
                assert_eq!(known, None, "a family is in one place: {name}");
            } else {
                let (name, value) = line.rsplit_once(' ').unwrap();
                let bare = name.split('{').next().unwrap();
                let suffixes: &[&str] =
                    if families[&current] == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
                let fits = suffixes.iter().any(|suffix| bare == format!("{current}{suffix}"));
                assert!(fits && bare.starts_with("portcullis_"), "{line} stands under {current}");
                assert_eq!(series.insert(name.to_owned(), value.parse().unwrap()), None, "{name}");
            }
        }
        Self(series)
    }

    #[track_caller]
    fn of(&self, name: &str) -> f64 {
        *self.0.get(name).unwrap_or_else(|| panic!("no {name} in {:#?}", self.0.keys()))
    }

    /// The names of the series that begin so.
    fn names(&self, start: &str) -> Vec<&str> {
        self.0.keys().map(String::as_str).filter(|name| name.starts_with(start)).collect()
    }
}

fn scrape(server: &Server) -> Scrape {
    Scrape::parse(&server.get("/metrics"))
}

/// A request without a key at an address.
fn plain(address: SocketAddr, method: &str, path: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    read_answer(&mut stream)
}

#[test]
fn requests_are_counted_by_declared_path_method_and_status() {
    let server = Server::start();
    let requests = |method: &str, path: &str, status: u16| {
        format!("portcullis_http_requests_total{{method=\"{method}\",path=\"{path}\",status=\"{status}\"}}")
    };
    for repo in ["a", "b", "c"] {
        assert!(!server.may("ada", "read", repo));
    }
    assert_eq!(server.post("/api/authorize", &json!({})).status, 400);
    for path in ["/api/nowhere", "/api/facts/7", "/ada", "/api/authorize/x?y=z"] {
        assert_eq!(server.get(path).status, 404);
    }
    assert_eq!(server.send("BREW", "/api/authorize", &[], b"").status, 405);
    assert_eq!(
        server.send("GET", "/api/policy", &["Authorization: Bearer e_0123456789_x_y"], b"").status,
        401
    );

    let first = scrape(&server);
    assert_eq!(first.of(&requests("POST", "/api/authorize", 200)), 3.0);
    assert_eq!(first.of(&requests("POST", "/api/authorize", 400)), 1.0);
    assert_eq!(first.of(&requests("GET", "unknown", 404)), 4.0);
    assert_eq!(first.of(&requests("other", "/api/authorize", 405)), 1.0);
    assert_eq!(first.of(&requests("GET", "/api/policy", 401)), 1.0);
    let second = scrape(&server);
    assert_eq!(second.of(&requests("GET", "/metrics", 200)), 1.0, "a scrape counts once it is answered");
    let open = || scrape(&server).of("portcullis_connections");
    let end = Instant::now() + Duration::from_secs(10);
    let mut n_open = open();
    while n_open > 1.0 {
        assert!(Instant::now() < end, "connections that were closed are counted");
        n_open = open();
    }
    assert_eq!(n_open, 1.0, "that of the scrape");
    assert!(second.of("portcullis_connections_total") > first.of("portcullis_connections_total"));
}

#[test]
fn a_histogram_grows_from_bucket_to_bucket_to_its_count() {
    let server = Server::start();
    for _ in 0..20 {
        server.may("ada", "read", "a");
    }
    let scraped = scrape(&server);
    let labels = "method=\"POST\",path=\"/api/authorize\"";
    let name = "portcullis_http_request_duration_seconds";
    let start = format!("{name}_bucket{{{labels},le=\"");
    let mut buckets: Vec<(f64, f64)> = scraped
        .names(&start)
        .into_iter()
        .map(|series| {
            let end = series.strip_prefix(&start).unwrap().strip_suffix("\"}").unwrap();
            (end.parse().unwrap_or(f64::INFINITY), scraped.of(series))
        })
        .collect();
    buckets.sort_by(|left, right| left.0.total_cmp(&right.0));
    assert!(buckets.len() > 10, "{buckets:?}");
    assert!(buckets.is_sorted_by(|left, right| left.1 <= right.1), "{buckets:?}");
    assert_eq!(*buckets.last().unwrap(), (f64::INFINITY, 20.0));
    assert_eq!(scraped.of(&format!("{name}_count{{{labels}}}")), 20.0);
    let sum = scraped.of(&format!("{name}_sum{{{labels}}}"));
    assert!(sum > 0.0 && sum < 20.0 * 30.0, "{sum}");
}

#[test]
fn what_is_stored_decided_and_compiled_is_counted_for_its_environment() {
    let server = Server::empty();
    let of = |name: &str, labels: &str| format!("portcullis_{name}{{{labels}environment=\"0123456789\"}}");
    assert!(!server.may("ada", "read", "a"), "there is no policy yet");
    let empty = scrape(&server);
    assert_eq!((empty.of(&of("facts", "")), empty.of(&of("policy_version", ""))), (0.0, 0.0));
    let decided = |version: &str, decision: &str| {
        let labels =
            format!("decision=\"{decision}\",environment=\"0123456789\",policy_version=\"{version}\"");
        format!("portcullis_decisions_total{{{labels}}}")
    };
    assert_eq!(empty.of(&decided("none", "denied")), 1.0);

    assert_eq!(server.post("/api/policy", &json!({ "src": portcullis_testkit::server::POLICY })).status, 200);
    server.add(&[&["is_public", "Repo:a"], &["is_public", "Repo:b"], &["is_public", "Repo:b"]]);
    let pattern = json!({ "predicate": "is_public", "args": [{ "type": "Repo", "id": "b" }] });
    assert_eq!(server.post("/api/batch", &json!([{ "deletes": [pattern] }])).status, 200);
    assert!(
        server.may("ada", "read", "a") && !server.may("ada", "read", "b") && server.may("eve", "read", "a")
    );
    let resources: Vec<_> = ["Repo:a", "Repo:b", "Repo:c"].map(portcullis_testkit::wire::value_json).to_vec();
    let several = json!({
        "actor_type": "User", "actor_id": "ada", "action": "read", "resources": resources,
    });
    assert_eq!(server.post("/api/authorize_resources", &several).status, 200);
    for _ in 0..3 {
        let asked = server.post(
            "/api/authorize_query",
            &json!({
                "query": question("ada", "read", "a"), "data_bindings": "",
                "actor_type": "User", "actor_id": "ada", "action": "read",
                "resource_type": "Repo", "resource_id": "a",
            }),
        );
        assert_eq!(asked.status, 200, "{}", asked.text);
    }

    let scraped = scrape(&server);
    assert_eq!(scraped.of(&of("facts", "")), 1.0);
    assert_eq!(scraped.of(&of("policy_version", "")), 1.0);
    assert!(scraped.of(&of("store_bytes", "")) > 8192.0);
    assert_eq!(scraped.of(&of("batches_written_total", "")), 2.0);
    assert_eq!(scraped.of(&of("facts_written_total", "change=\"inserted\",")), 2.0);
    assert_eq!(scraped.of(&of("facts_written_total", "change=\"deleted\",")), 1.0);
    assert_eq!(scraped.of(&decided("1", "allowed")), 3.0);
    assert_eq!(scraped.of(&decided("1", "denied")), 3.0);
    let lookups = |kind: &str, result: &str| {
        let labels = format!("environment=\"0123456789\",kind=\"{kind}\",result=\"{result}\"");
        scraped.of(&format!("portcullis_plan_cache_lookups_total{{{labels}}}"))
    };
    // One shape for a check, and one for several resources together.
    assert_eq!((lookups("hosted", "miss"), lookups("hosted", "hit")), (2.0, 2.0));
    assert_eq!((lookups("local", "miss"), lookups("local", "hit")), (1.0, 2.0));
}

#[test]
fn the_usual_address_wants_a_key_and_an_address_of_its_own_does_not() {
    let server =
        Server::with(Config { metrics_listen: Some("127.0.0.1:0".parse().unwrap()), ..Config::default() });
    server.send("GET", "/metrics", &[], b"").fails(401, "no API key");
    assert!(server.get("/metrics").text.contains("portcullis_facts{environment=\"0123456789\"} 0"));
    let open = server.metrics.unwrap();
    let scraped = Scrape::parse(&plain(open, "GET", "/metrics"));
    assert_eq!(scraped.of("portcullis_facts{environment=\"0123456789\"}"), 0.0);
    plain(open, "GET", "/api/policy").fails(404, "no such path");
    plain(open, "POST", "/metrics").fails(405, "method");
}

#[test]
fn without_the_store_the_metrics_lack_only_what_is_stored() {
    let database = new_database().unwrap();
    let node = Server::node(&database);
    assert_eq!(node.post("/api/policy", &json!({ "src": POLICY })).status, 200);
    let stored = ["portcullis_facts{", "portcullis_store_bytes{", "portcullis_policy_version{"];
    let others =
        ["portcullis_store_connections{", "portcullis_http_requests_total{", "portcullis_decisions_total{"];
    assert!(!node.may("ada", "read", "a"));
    for (min_reader, has_stored) in [(FORMAT, true), (FORMAT + 1, false), (FORMAT, true)] {
        administer_in(&database, &format!("UPDATE portcullis_e1.clock SET min_reader = {min_reader}"))
            .unwrap();
        let answer = plain(node.metrics.unwrap(), "GET", "/metrics");
        assert_eq!(answer.status, 200, "{}", answer.text);
        others.iter().for_each(|series| assert!(answer.text.contains(series), "{series} {}", answer.text));
        for series in stored {
            assert_eq!(answer.text.contains(series), has_stored, "{series} {}", answer.text);
        }
    }
}

#[test]
fn refusals_for_want_of_room_are_counted() {
    let metrics_listen = Some("127.0.0.1:0".parse().unwrap());
    let server = Server::full(Config { metrics_listen, ..Config::default() });
    let scrape = || Scrape::parse(&plain(server.metrics.unwrap(), "GET", "/metrics"));
    let refused = "portcullis_http_refused_total{reason=\"concurrency\"}";
    let before = scrape().of(refused);
    for _ in 0..3 {
        assert_eq!(server.get("/health").status, 503);
    }
    let scraped = scrape();
    assert_eq!(scraped.of(refused), before + 3.0);
    assert_eq!(scraped.of("portcullis_http_refused_total{reason=\"rate\"}"), 0.0);
}

#[test]
fn no_id_and_no_key_becomes_a_label() {
    let server = Server::start();
    server.add(&[&["has_role", "User:ada-lovelace", "String:reader", "Repo:engine-notes"]]);
    assert!(server.may("ada-lovelace", "read", "engine-notes"));
    assert_eq!(
        server.get("/api/facts?predicate=has_role&args.0.type=User&args.0.id=ada-lovelace").status,
        200
    );
    assert_eq!(server.get("/api/engine-notes").status, 404);
    let fact = fact_json(&["has_role", "User:ada-lovelace", "String:steward", "Repo:engine-notes"]);
    assert_eq!(server.post("/api/facts", &fact).status, 400);
    let text = server.get("/metrics").text;
    for secret in ["ada-lovelace", "engine-notes", "osotesttoken", "has_role", "steward"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
}

/// The name may have any characters.
#[test]
fn with_a_name_of_the_node_every_series_has_it() {
    let server = Server::with(Config { node: Some("east \"1\"".to_owned()), ..Config::default() });
    server.add(&[]);
    let answer = server.get("/metrics");
    let scrape = Scrape::parse(&answer);
    assert!(scrape.0.len() > 20, "{}", answer.text);
    for series in scrape.0.keys() {
        assert!(series.contains(r#"{node="east \"1\"""#), "{series}");
    }
    let plain = Server::empty().get("/metrics");
    assert!(!plain.text.contains("node="), "{}", plain.text);
}
