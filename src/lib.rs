//! Portcullis, an authorization service: it compiles a policy to SQL and answers with it.
//!
//! `http` knows the wire format and nothing about policies. `engine` connects the compiler and the store,
//! which do not know each other.
//!
//! ```text
//! cli ─→ config ─→ http ─→ engine ─┬→ portcullis_compiler   (text in, statement out)
//!                                  └→ store                 (facts and policy versions, runs statements)
//!        ├→ admin ─→ http, engine         (commands from the same machine)
//!        └→ lsp ─→ portcullis_compiler    (an editor asks about a policy)
//!                    http ─→ lsp                      (the editor of the studio)
//!                    http, engine ─→ share            (memory and processor time, which requests share)
//! ```

pub mod admin;
pub mod cli;
pub mod config;
pub mod engine;
pub mod http;
mod libpq;
pub mod lsp;
mod percent;
pub mod share;
pub mod store;

use std::sync::Arc;

/// Returns the whole service as a router: what the listener serves, and what tests call directly.
pub fn app(state: Arc<http::AppState>) -> axum::Router {
    http::router(state)
}
