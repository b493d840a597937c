//! The store in a PostgreSQL database. No other module of the store uses its driver.
//!
//! ```text
//! postgres://… ─address─▶ servers ─connect─▶ one that can be the store
//!                                    ├─ migrate: makes its schemas, or brings them to the newest format
//!                                    └─ check: says what is wrong with it
//! ```
//!
//! The schema `portcullis` lists the environments; each has a schema of its own, `portcullis_e<N>`.

mod address;
mod check;
mod connect;
mod error;
mod migrate;
mod schema;
mod session;
mod tls;

pub use address::Address;
pub use check::{FindingState, StoreFinding, check};
pub use connect::{ReachedServer, WantedServer, connect};
pub use migrate::{MigratedSchema, migrate};
pub use schema::{FORMAT, StoredEnvironment};
