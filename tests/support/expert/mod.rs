//! The questions of `docs/local-checks` next to the statements that an expert writes for them, and a database
//! to ask.
//!
//! `cargo bench --bench local` measures both; `tests/local/plans.rs` compares their plans. The expert's
//! statements are in `benches/local/expert`.

pub mod agree;
pub mod database;
pub mod questions;
pub mod scans;

use crate::server::Server;
use questions::Question;

const POLICY: &str = include_str!("../../../docs/local-checks/policy.polar");

/// A service with the example's policy and no facts.
pub fn service() -> Server {
    let server = Server::in_memory();
    let answer = server.post("/api/policy", &serde_json::json!({ "src": POLICY }));
    assert_eq!(answer.status, 200, "{}", answer.text);
    server
}

/// The SQL with which the service answers a question.
pub fn sql(service: &Server, question: &Question) -> String {
    let (path, body) = question.request();
    let answer = service.post(&format!("/api{path}"), &body);
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.json()["sql"].as_str().unwrap().to_owned()
}
