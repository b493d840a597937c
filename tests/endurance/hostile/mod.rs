//! Hostile input: policies made to exhaust the compiler, and ids made to be mistaken for
//! something else. Each gets its right answer or a clear refusal, in bounded time and on the stack of a
//! worker thread.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    reason = "a test that cannot go on should stop where it is"
)]

mod extremes;
mod ids;
mod policies;
mod probe;
mod texts;
