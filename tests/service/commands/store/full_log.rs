//! What clients see when PostgreSQL runs out of space for its write-ahead log, and what is stored afterwards.

use portcullis::http::DEVELOPMENT_KEY;
use portcullis_testkit::cluster::Cluster;
use portcullis_testkit::program::Service;
use portcullis_testkit::server::POLICY;
use portcullis_testkit::wire::{fact_json, question};
use serde_json::{Value as Json, json};
use std::time::{Duration, Instant};

/// How many kibibytes the disk has.
const LOG: u64 = 32 * 1024;

/// How many facts a batch has.
const BATCH: usize = 2_000;

/// How long the service may need once there is space.
const PATIENCE: Duration = Duration::from_secs(20);

/// The statuses of a batch, of a check, and of `/ready`, without those of other endpoints.
fn statuses(service: &Service, nth: usize) -> [(u16, Json); 3] {
    let facts: Vec<Json> =
        (0..BATCH).map(|n| fact_json(&["is_public", &format!("Repo:{nth}.{n}")])).collect();
    let caller = &service.caller;
    let batch = caller.post(DEVELOPMENT_KEY, "batch", &json!([{ "inserts": facts }]));
    let check = caller.post(DEVELOPMENT_KEY, "authorize", &question("ada", "read", "0.0"));
    let (ready, text) = caller.send(DEVELOPMENT_KEY, "GET /ready", &[], None).unwrap();
    [batch, check, (ready, serde_json::from_str(&text).unwrap())]
}

#[test]
fn a_full_log_costs_answers_but_neither_facts_nor_a_restart() {
    let settings = ["shared_buffers=16MB", "synchronous_commit=on", "max_wal_size=8MB", "min_wal_size=2MB"];
    let Some((cluster, port)) = Cluster::with_small_log(LOG, &settings).unwrap() else {
        return;
    };
    let url = format!("postgres://postgres@127.0.0.1:{port}/postgres?connect_timeout=1");
    let service = Service::develop(&["--store", &url, "--query-wait", "1"]);
    assert_eq!(service.caller.post(DEVELOPMENT_KEY, "policy", &json!({ "src": POLICY })).0, 200);
    let mut n_stored = 0;
    let mut is_down = false;
    for nth in 0..1_000 {
        let [batch, check, ready] = statuses(&service, nth);
        match (batch.0, batch.1["code"].as_str().unwrap_or_default()) {
            (200, _) => n_stored += 1,
            (503, "cannot_store") => {
                assert!(batch.1.to_string().contains("free space on it"), "{}", batch.1);
            }
            (503, "unavailable") => {}
            _ => panic!("{batch:?}"),
        }
        for other in [&check, &ready] {
            assert!(matches!(other.0, 200 | 503), "{other:?}");
        }
        if check.0 == 200 {
            assert_eq!(check.1["allowed"], n_stored > 0);
        }
        if nth == 0 {
            assert_eq!((batch.0, check.0, ready.0), (200, 200, 200));
            cluster.fill_disk().unwrap();
        }
        is_down = [batch.0, check.0, ready.0] == [503; 3];
        if is_down {
            break;
        }
    }
    assert!(is_down, "the server still runs after {n_stored} batches");
    cluster.free_disk().unwrap();
    cluster.serve_again().unwrap();
    let began = Instant::now();
    while statuses(&service, 1_000).map(|(status, _)| status) != [200; 3] {
        assert!(began.elapsed() < PATIENCE, "the service does not go on");
    }
    let (_, stats) = service.caller.get(DEVELOPMENT_KEY, "stats");
    let total = usize::try_from(stats["facts"]["total"].as_u64().unwrap()).unwrap();
    // One batch whose fate nobody knows may be there as well.
    assert!([n_stored + 1, n_stored + 2].map(|n| n * BATCH).contains(&total), "{n_stored} batches, {stats}");
}
