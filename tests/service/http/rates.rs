//! How often a key may ask.

use portcullis::config::{Config, Secret};
use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::server::Server;
use portcullis_testkit::wire::{bearer, question};
use std::num::NonZeroU32;
use std::time::Duration;

/// A configured key, besides the development key.
const OTHER: &str = "e_0123456789_other_0f3c6a";

/// A server whose keys may ask once in a while, and so often at once.
fn limited(at_once: u32) -> Server {
    Server::with(Config {
        rate_limit: NonZeroU32::new(1),
        rate_burst: NonZeroU32::new(at_once),
        api_key: Some(Secret(OTHER.to_owned())),
        ..Config::default()
    })
}

#[test]
fn a_key_over_its_rate_is_429_with_a_time_to_come_back() {
    let server = limited(3);
    let answers: Vec<_> = (0..20).map(|_| server.get("/api/policy")).collect();
    assert!(answers[..3].iter().all(|answer| answer.status == 200));
    let refused: Vec<_> = answers.iter().filter(|answer| answer.status != 200).collect();
    assert!(!refused.is_empty(), "twenty requests took more than sixteen seconds");
    for answer in &refused {
        answer.fails(429, "1 requests per second");
        assert!(answer.header("x-request-id").is_some());
    }
    // A client that honours Retry-After is served.
    let seconds: u64 = refused[0].header("retry-after").unwrap().parse().unwrap();
    assert!((1..=3).contains(&seconds), "{seconds}");
    std::thread::sleep(Duration::from_secs(seconds));
    assert_eq!(server.get("/api/policy").status, 200);
}

#[test]
fn keys_do_not_use_up_what_others_may_ask() {
    let server = limited(2);
    let statuses = |key: &str| -> Vec<u16> {
        (0..10).map(|_| server.send("GET", "/api/policy", &[&bearer(key)], b"").status).collect()
    };
    assert!(statuses(DEVELOPMENT_KEY).contains(&429));
    assert_eq!(statuses(OTHER)[..2], [200, 200]);
    // Neither probes nor keys that are not known are counted.
    assert!((0..10).all(|_| server.send("GET", "/health", &[], b"").status == 200));
    assert!(statuses("e_0123456789_unknown_x").iter().all(|status| *status == 401));
}

#[test]
fn without_a_rate_a_key_may_ask_as_often_as_it_likes() {
    let server = Server::start();
    let asked = question("ada", "read", "a");
    assert!((0..300).all(|_| server.post("/api/authorize", &asked).status == 200));
}
