//! What the tests and the benchmarks share: the oracle, the format of pages, the notation of facts and
//! questions, random policies, databases, and one way each to start the program and a server inside a test.
//!
//! | to | use |
//! | --- | --- |
//! | know the right answer | [`oracle`]: one small, naive evaluator |
//! | read a page of `fixtures/conformance` | [`fixture`] and [`notation`]; [`pages`] makes a trial of each heading |
//! | make random policies, facts and questions | [`generate`] and [`questions`] |
//! | ask the engine in every way that fits | [`hosted`] |
//! | judge an explanation | [`why`] |
//! | run printed statements on SQLite and PostgreSQL | [`statements`]; for a caller's own tables [`local`] |
//! | have a PostgreSQL | [`postgres`]: one server a process, or [`elsewhere`]; [`cluster`] starts others, [`pooler`] a pgbouncer before one, [`patroni`] three servers that replace their primary, [`trio`] a primary that dies, [`proxy`] a network that fails |
//! | run `portcullis`, or start `portcullis serve` | [`program`] |
//! | speak with the language server | [`lsp`] |
//! | bound the work of something | [`processor`] |
//! | start a server inside the test | [`server`] |
//! | try one input of the fuzzer | [`fuzz`] |

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::panic,
    clippy::missing_panics_doc,
    reason = "test code: a panic is the failure report"
)]
#![allow(missing_debug_implementations, reason = "only the tests of this repository hold these types")]

pub mod applications;
pub mod assertions;
pub mod cluster;
pub mod cycles;
pub mod desugar;
pub mod domain;
pub mod elsewhere;
pub mod entry_points;
pub mod expert;
pub mod fact_tables;
pub mod fixture;
pub mod fuzz;
pub mod generate;
pub mod hosted;
pub mod hostile_texts;
pub mod id_order;
pub mod local;
pub mod longhand;
pub mod lsp;
pub mod markdown;
pub mod model;
pub mod notation;
pub mod oracle;
pub mod outcome;
pub mod over_http;
pub mod pages;
pub mod patroni;
pub mod patterns;
pub mod policy;
pub mod pooler;
pub mod ports;
pub mod positive_body;
pub mod postgres;
pub mod processor;
pub mod program;
pub mod proxy;
pub mod questions;
pub mod quotas;
pub mod recursion;
pub mod refusal;
pub mod reorder;
pub mod reparse;
pub mod server;
pub mod several;
pub mod shared_calls;
pub mod shorthand;
pub mod spelling;
pub mod sql_limits;
pub mod statements;
pub mod tools;
pub mod trio;
pub mod vocabulary;
pub mod why;
pub mod wire;

use std::path::Path;

/// The root of the repository.
pub fn repository() -> &'static Path {
    // This crate lies two folders below it.
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}
