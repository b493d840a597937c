//! Portcullis, an authorization service: it compiles a policy to SQL and answers with it.
//!
//! The modules stand in the order in which a request meets them. `http` knows the wire and nothing of
//! policies, `engine` joins the compiler and the store, which do not know each other.
//!
//! ```text
//! cli ─→ config ─→ http ─→ engine ─┬→ portcullis_compiler   (text in, statement out)
//!                                  └→ store                 (facts and policy versions, runs statements)
//!        └→ control ─→ http, engine       (orders from commands on the same machine)
//!                       http, engine ─→ share          (memory and processors, which requests share)
//! ```

pub mod cli;
pub mod config;
pub mod control;
pub mod engine;
pub mod http;
pub mod share;
pub mod store;

use std::sync::Arc;

/// Returns the whole service as a router: what the listener serves, and what tests call directly.
pub fn app(state: Arc<http::AppState>) -> axum::Router {
    http::router(state)
}
