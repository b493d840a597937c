//! Loads the code host of `fixtures/example` into a running service, at any size.
//!
//! ```text
//! cargo run --release -- serve --dev
//! cargo bench --bench load [-- FACTS [ADDRESS]]     100,000 facts into 127.0.0.1:8081 unless said otherwise
//! ```
//!
//! The service must run with `--dev`, whose key is used. The policy is replaced; facts are added in batches
//! of 10,000, each durable before the next is sent.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a tool that prints, and ends at the first error"
)]

mod code_host;

use code_host::http::Client;
use code_host::{CodeHost, POLICY, Size, user, value};
use portcullis::engine::Fact;
use serde_json::{Value as Json, json};

const BATCH: usize = 10_000;

fn main() {
    let mut args = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let n_facts = args.next().map_or(100_000, |arg| arg.parse().unwrap());
    let address = args.next().unwrap_or_else(|| "127.0.0.1:8081".into()).parse().unwrap();
    let mut service = Client::new(address);
    service.post("/policy?force=true", &json!({ "src": POLICY }).to_string());
    let facts = CodeHost::facts(Size::of(n_facts), 7);
    for (n, batch) in facts.chunks(BATCH).enumerate() {
        let batch: Vec<Json> = batch.iter().map(wire).collect();
        service.post("/batch", &json!([{ "inserts": batch }]).to_string());
        println!("{} of {} facts", (n * BATCH + batch.len()), facts.len());
    }
    println!("try: may {} read {}?", user(1).id, value("Issue", 1).id);
}

fn wire(fact: &Fact) -> Json {
    let args: Vec<Json> = fact.args.iter().map(|arg| json!({ "type": arg.ty, "id": arg.id })).collect();
    json!({ "predicate": fact.predicate, "args": args })
}
