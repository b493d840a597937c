//! What must hold for every policy and every data-bindings document of the repository.
//!
//! White space means nothing: laid out in every way that its language permits, each must mean what it meant.
//! And a fix that is offered mends what it is offered for.
//!
//! The texts are those of the pages, the documentation, the examples, the fuzzer's corpus, and of the tests
//! and benchmarks themselves.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop where it is")]

mod bindings;
mod fixes;
mod pieces;
mod policies;
mod repository;

/// Fails with the first few of what went wrong, and with their number.
fn none(complaints: &[String]) {
    let shown = complaints.iter().take(5).map(String::as_str).collect::<Vec<_>>().join("\n\n");
    assert!(complaints.is_empty(), "{} are wrong:\n\n{shown}", complaints.len());
}
