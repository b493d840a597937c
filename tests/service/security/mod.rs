//! The security review, as tests: nothing that is sent becomes SQL, no key opens more than its own, no
//! environment sees another, and neither the log nor an error reveals a secret.
//!
//! What hostile texts do inside the engine is tried in `tests/endurance/hostile`, and in the forms of local
//! checks in `tests/local`; here the program is asked over HTTP, as an attacker would.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "a test that cannot go on should stop where it is"
)]

mod environments;
mod injection;
mod injection_documents;
mod injection_local;
mod keys;
mod rebinding;
mod requests;
mod secrecy;
