//! Findings about a policy: what is wrong, where, and what to write instead.
//!
//! Every stage that reads policy text returns `(value, Vec<Diagnostic>)`. A diagnostic is data: a [`Code`], a
//! title that makes sense on its own, labels with spans, notes, and at most one concrete fix.
//! [`render`](render::render) draws it as text; HTTP sends its fields.

mod code;
mod finding;
pub mod render;
mod settle;
pub mod suggest;

pub use code::{Code, Severity};
pub use finding::{Diagnostic, Fix, Label};
pub use settle::settle;
